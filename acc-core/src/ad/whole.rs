//! The derivative of a whole program, as a program.

use crate::ir::{ArrayId, ArrayOp, ArrayType, Block, Loc, Mode, Names, Program, Stmt};

/// The program that yields a program's results and its derivative by all its parameters: its parameters are those of the
/// program, and then tangents of those with a float in their elements, or adjoints of such results.
///
/// ```
/// use acc_core::ad::derivative_of;
/// use acc_core::ir::Mode;
/// let program = acc_core::text::parse("squares.acc", "
///     program(xs: [1]f32, n: [0]i64) {
///       ys: [1]f32 = map(xs, f: |%x: f32| mul(%x, %x))
///       yield ys
///     }")?;
/// let derivative = derivative_of(&program, Mode::Reverse);
/// // The adjoint of `ys` comes in, and that of `xs` goes out.
/// assert_eq!(derivative.body.params.len(), 3);
/// assert_eq!(derivative.body.results.len(), 2);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn derivative_of(program: &Program, mode: Mode) -> Program {
    let mut types = program.types.clone();
    let mut new = |ty: &ArrayType| {
        types.push(ty.clone());
        ArrayId(types.len() as u32 - 1)
    };
    let at: Vec<ArrayId> = program.param_types().map(&mut new).collect();
    let values: Vec<ArrayId> = program.result_types().map(&mut new).collect();
    let tangents = |all: &mut dyn Iterator<Item = &ArrayType>| all.filter_map(ArrayType::tangent).collect::<Vec<_>>();
    let (params, results) = (tangents(&mut program.param_types()), tangents(&mut program.result_types()));
    let (given, yielded) = match mode {
        Mode::Forward => (params, results),
        Mode::Reverse => (results, params),
    };
    let along: Vec<ArrayId> = given.iter().map(&mut new).collect();
    let derivatives: Vec<ArrayId> = yielded.iter().map(&mut new).collect();
    let results: Vec<ArrayId> = values.into_iter().chain(derivatives).collect();
    let op = ArrayOp::Derivative { mode, at: at.clone(), along: along.clone(), f: program.body.clone() };
    let stmt = Stmt { results: results.iter().copied().collect(), op, loc: Loc::unknown() };
    let body = Block { params: at.into_iter().chain(along).collect(), stmts: vec![stmt], results };
    let names = (0..types.len() as u32).map(|k| program.names.get(ArrayId(k)).cloned());
    Program { names: Names::new(names), types, body }
}
