//! The matrix says what the tests say.

use acc_core::data::ArrayData;
use acc_core::ir::{ArrayOp, Block, Dir, PrimOp, Program, ScalarOp, Stmt};
use acc_core::{Error, Executor, Interpreter, RunLimits};
use acc_desugar::{map_funs, map_op};
use conformance::executors::{Registered, State};
use conformance::{executors, matrix, suite};
use std::path::Path;
use std::sync::Arc;

/// An interpreter with a fault in it.
struct Faulty {
    interpreter: Interpreter,
    fault: fn(&Program) -> Program,
}

impl Executor for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }
    fn prepare(&self, program: &Arc<Program>) -> Result<(), Error> {
        self.interpreter.prepare(program)
    }
    fn run_untyped(
        &self,
        program: &Arc<Program>,
        args: &[ArrayData],
        limits: &RunLimits,
    ) -> Result<Vec<ArrayData>, Error> {
        self.interpreter.run_untyped(&Arc::new((self.fault)(program)), args, limits)
    }
    fn compiled(&self) -> u64 {
        self.interpreter.compiled()
    }
}

/// Every array operation replaced by `f`, where that says so.
fn change(p: &Program, f: fn(&ArrayOp) -> Option<ArrayOp>) -> Program {
    fn block(b: &Block, f: fn(&ArrayOp) -> Option<ArrayOp>) -> Block {
        let stmts = b.stmts.iter().map(|s| {
            let op = map_op(&s.op, &mut |f| f.clone(), &mut |a| a, &mut |b, _| block(b, f));
            Stmt { results: s.results.clone(), op: f(&op).unwrap_or(op), loc: s.loc.clone() }
        });
        Block { params: b.params.clone(), stmts: stmts.collect(), results: b.results.clone() }
    }
    Program { types: p.types.clone(), names: p.names.clone(), body: block(&p.body, f) }
}

fn sine_for_cosine(p: &Program) -> Program {
    fn region(r: &acc_core::ir::Region) -> acc_core::ir::Region {
        let mut r = r.clone();
        for n in &mut r.nodes {
            match &mut n.op {
                ScalarOp::Prim(op @ PrimOp::CosP, _) => *op = PrimOp::SinP,
                ScalarOp::If { then, else_, .. } => (*then, *else_) = (region(then), region(else_)),
                _ => {}
            }
        }
        r
    }
    map_funs(p, &mut |f| acc_core::ir::Fun { types: f.types.clone(), body: region(&f.body) })
}

fn reversed_scans(p: &Program) -> Program {
    change(p, |op| match op {
        ArrayOp::Scan { dir: Dir::Left, f, init, xs } => {
            Some(ArrayOp::Scan { dir: Dir::Right, f: f.clone(), init: init.clone(), xs: *xs })
        }
        _ => None,
    })
}

/// The new value where the old one belongs.
fn permutations_combined_the_other_way(p: &Program) -> Program {
    change(p, |op| match op {
        ArrayOp::Permute { combine, defaults, target, xs } => {
            let mut combine = combine.clone();
            let half = combine.body.params.len() / 2;
            combine.body.params.rotate_left(half);
            Some(ArrayOp::Permute { combine, defaults: *defaults, target: target.clone(), xs: *xs })
        }
        _ => None,
    })
}

/// Every row has its tests, and they pass. The table of docs/MATRIX.md is what they say, where the graph executor is there;
/// of executors that are not there it keeps what another machine said.
#[test]
fn every_component_and_edge_case_passes_on_every_executor() {
    let tests = suite::load(None).unwrap_or_else(|e| panic!("{e}"));
    let matrix = matrix::run(&tests, executors::all(), |_| {});
    let rows = matrix.to_text();
    let lines: Vec<&str> = rows.lines().filter(|l| l.contains("no ") || l.contains("FAILED ")).collect();
    assert!(matrix.complete(), "{}\n{}\n{}", lines.join("\n"), matrix.edge_summary(), matrix.summary());
    let there = |name: &str| matrix.executors.iter().any(|e| e.name == name && e.present().is_some());
    if there("graph") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/MATRIX.md");
        let page = std::fs::read_to_string(&path).expect("docs/MATRIX.md");
        assert!(
            matrix.put_into(&page).as_ref() == Some(&page),
            "the table of docs/MATRIX.md is another: run make matrix"
        );
    }
}

/// Components whose tests have none of the operations with faults.
const OTHERS: [&str; 2] = ["MOD-03", "CON-04"];

/// A fault in one operation makes the cells of its components red, and leaves those of others as they are.
#[test]
fn a_fault_in_an_operation_makes_its_cell_red() {
    let faults: [(&str, fn(&Program) -> Program, &[&str]); 3] = [
        ("cos", sine_for_cosine, &["FLO-04"]),
        ("scanl", reversed_scans, &["SCN-01", "SCN-02"]),
        ("permute", permutations_combined_the_other_way, &["PRM-01"]),
    ];
    for (name, fault, red) in faults {
        let tests: Vec<_> = suite::load(None)
            .unwrap_or_else(|e| panic!("{e}"))
            .into_iter()
            .filter(|t| t.rows.iter().any(|r| red.contains(&r.as_str()) || OTHERS.contains(&r.as_str())))
            .collect();
        let faulty = Faulty { interpreter: Interpreter::new(), fault };
        let executors = vec![
            Registered { name: "interpreter", state: State::Present(Arc::new(Interpreter::new())) },
            Registered { name: "faulty", state: State::Present(Arc::new(faulty)) },
        ];
        let matrix = matrix::run(&tests, executors, |_| {});
        let cell = |id: &str, column: usize| {
            let row = matrix.components.iter().find(|(c, _)| c.id == id).unwrap_or_else(|| panic!("no row {id}"));
            row.1[column]
        };
        for id in red {
            assert!(cell(id, 0).clean() && cell(id, 1).word() == "FAILED", "{name}: {id}");
        }
        assert!(OTHERS.iter().all(|id| cell(id, 1).clean()), "{name} leaves other operations as they are");
    }
}
