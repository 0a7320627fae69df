//! What the tests share.

use acc_core::ir::{Fun, Program, Region};
use acc_core::prelude::*;

/// Runs a program on the reference interpreter.
#[track_caller]
pub fn run<A: Arrays>(p: impl IntoAcc<A>) -> A {
    match Interpreter::new().run(p) {
        Ok(a) => a,
        Err(e) => panic!("{e}"),
    }
}

/// The message of a program that must fail.
#[track_caller]
pub fn error_of<A: Arrays>(p: impl IntoAcc<A>) -> Error {
    match Interpreter::new().run(p) {
        Ok(_) => panic!("an error was expected"),
        Err(e) => e,
    }
}

/// The program as core IR, verified.
#[track_caller]
pub fn core_of<A: Arrays>(p: &Acc<A>) -> std::sync::Arc<Program> {
    let program = p.program().expect("the program builds").program;
    if let Err(e) = acc_core::verify::verify(&program, None) {
        panic!("{e}\n{program}");
    }
    program
}

/// The scalar functions of a program's outermost statements, with their roles.
pub fn functions(p: &Program) -> Vec<(&'static str, &Fun)> {
    p.body.stmts.iter().flat_map(|s| s.op.funs().into_iter()).collect()
}

/// The function of the last statement with this role.
pub fn function<'a>(p: &'a Program, role: &str) -> &'a Fun {
    functions(p).into_iter().rfind(|(r, _)| *r == role).expect("a function of this role").1
}

/// The number of scalar nodes, those of inner regions included.
pub fn count_nodes(r: &Region) -> usize {
    let mut n = 0;
    r.visit(0, &mut |_, _| n += 1);
    n
}

/// The number of nodes for which `p` holds.
pub fn count(p: &Program, what: impl Fn(&acc_core::ir::ScalarOp) -> bool) -> usize {
    let mut n = 0;
    for (_, f) in functions(p) {
        f.body.visit(0, &mut |node, _| n += usize::from(what(&node.op)));
    }
    n
}
