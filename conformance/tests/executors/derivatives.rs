//! What the code of derivatives is, without a clock: beside that of the functions they are of.

use acc_core::ad::derivative_of;
use acc_core::ir::Mode;
use conformance::{structure, suite};
use std::sync::Arc;

/// Of so many programs at most the reverse derivative has more kernels than twice the program's and one: loops, stencils with
/// a boundary and reads at clamped positions, of which what is beyond each edge is a small sum, permutes and scans by operators without a
/// rule of their own, and several arrays of different extents.
const MAX_WITH_MORE_KERNELS: usize = 66;

fn kernels(program: &acc_core::ir::Program) -> Result<usize, String> {
    structure::of("native", &Arc::new(program.clone())).map(|s| s.kernels.len())
}

#[test]
fn a_reverse_derivative_has_few_kernels_more_than_its_function() {
    let (mut seen, mut more) = (0, Vec::new());
    for test in suite::load(None).unwrap_or_else(|e| panic!("{e}")) {
        let Some(file) = test.file() else { continue };
        let p = &file.program;
        let floats = |types: &[&acc_core::ir::ArrayType]| types.iter().any(|t| t.elt.has_float());
        let (params, results) = (p.param_types().collect::<Vec<_>>(), p.result_types().collect::<Vec<_>>());
        if p.has_derivatives() || !floats(&params) || !floats(&results) {
            continue;
        }
        // One that has no code has no more of it.
        let (Ok(primal), Ok(derivative)) = (kernels(p), kernels(&derivative_of(p, Mode::Reverse))) else { continue };
        seen += 1;
        if derivative > 2 * primal + 1 {
            more.push(format!("{}: {derivative} kernels, of {primal}", test.name));
        }
    }
    assert!(seen > 100, "only {seen} programs");
    assert!(more.len() <= MAX_WITH_MORE_KERNELS, "{} of {seen}:\n{}", more.len(), more.join("\n"));
}
