//! Programs and their operations, rebuilt with parts replaced.

use acc_core::ir::{ArrayId, ArrayOp, Block, Closed, Fun, Ir, Mapper, Program, Region, ScalarOp, Stmt};
use acc_core::{Error, RunLimits};
use std::convert::Infallible;

/// Whether a node may be evaluated where it was not: it cannot fault, it ends, and it evaluates no array.
pub(super) fn is_speculable(op: &ScalarOp) -> bool {
    match op {
        ScalarOp::Const(_) | ScalarOp::Cast(_) | ScalarOp::Bitcast(_) | ScalarOp::Select { .. } => true,
        ScalarOp::Prim(p, _) => !p.is_partial(),
        ScalarOp::If { .. }
        | ScalarOp::While { .. }
        | ScalarOp::Own(_)
        | ScalarOp::Index(_)
        | ScalarOp::Extent { .. } => false,
    }
}

/// Looks at the limits of a run for a pass that goes from statement to statement, and remembers which one was reached.
pub(super) struct Watch<'a> {
    limits: &'a RunLimits,
    reached: Option<Error>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(limits: &'a RunLimits) -> Watch<'a> {
        Watch { limits, reached: None }
    }

    /// Whether the pass is to leave off; what it has made is then of no use.
    pub(super) fn stops(&mut self) -> bool {
        if self.reached.is_none() {
            self.reached = self.limits.check().err();
        }
        self.reached.is_some()
    }

    /// The limit that was reached, if one was.
    pub(super) fn end(self) -> Result<(), Error> {
        self.reached.map_or(Ok(()), Err)
    }
}

/// The program with every scalar function replaced.
pub fn map_funs(p: &Program, f: &mut dyn FnMut(&Fun) -> Fun) -> Program {
    Program { types: p.types.clone(), names: p.names.clone(), body: block_funs(&p.body, f) }
}

/// The same with functions that may fail: the first error ends it.
pub(super) fn try_map_funs<E>(p: &Program, f: &mut dyn FnMut(&Fun) -> Result<Fun, E>) -> Result<Program, E> {
    let mut failed = None;
    let mapped = map_funs(p, &mut |fun| {
        // After an error nothing is of use: what is left becomes nothing, at no cost.
        let outcome = if failed.is_none() { f(fun).map_err(|e| failed = Some(e)) } else { Err(()) };
        let nothing = Region { params: Vec::new(), nodes: Vec::new(), results: Vec::new() };
        outcome.unwrap_or(Fun { types: Vec::new(), body: nothing })
    });
    match failed {
        Some(e) => Err(e),
        None => Ok(mapped),
    }
}

fn block_funs(b: &Block, f: &mut dyn FnMut(&Fun) -> Fun) -> Block {
    let stmt = |s: &Stmt, f: &mut dyn FnMut(&Fun) -> Fun| Stmt {
        results: s.results.clone(),
        op: map_op(&s.op, f, &mut |a| a, &mut block_funs),
        loc: s.loc.clone(),
    };
    let stmts = b.stmts.iter().map(|s| stmt(s, f)).collect();
    Block { params: b.params.clone(), stmts, results: b.results.clone() }
}

/// What [`map_op`] does with an inner block, given what it does with functions.
pub type OnBlock<'a> = dyn FnMut(&Block, &mut dyn FnMut(&Fun) -> Fun) -> Block + 'a;

/// The operation with its functions, operands and blocks replaced.
pub fn map_op(
    op: &ArrayOp,
    fun: &mut dyn FnMut(&Fun) -> Fun,
    array: &mut dyn FnMut(ArrayId) -> ArrayId,
    block: &mut OnBlock<'_>,
) -> ArrayOp {
    op.map(&mut Replace { fun, array, block })
}

struct Replace<'a, 'b> {
    fun: &'a mut dyn FnMut(&Fun) -> Fun,
    array: &'a mut dyn FnMut(ArrayId) -> ArrayId,
    block: &'a mut OnBlock<'b>,
}

impl Mapper<Ir, Ir> for Replace<'_, '_> {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok((self.array)(*a))
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(all.iter().map(|&a| (self.array)(a)).collect())
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, Infallible> {
        Ok((self.fun)(f))
    }
    fn block(&mut self, b: &Block) -> Result<Block, Infallible> {
        Ok((self.block)(b, self.fun))
    }
}
