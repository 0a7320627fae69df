//! Programs and their operations, rebuilt with parts replaced.

use acc_core::ir::{ArrayId, ArrayOp, Block, Boundary, Fun, Program, Region, ScalarOp, StencilInput, Stmt};
use acc_core::{Error, RunLimits, grow_stack};

/// Whether a node may be evaluated where it was not: it cannot fault, it ends, and it evaluates no array.
pub(super) fn is_speculable(op: &ScalarOp) -> bool {
    match op {
        ScalarOp::Const(_) | ScalarOp::Cast(_) | ScalarOp::Bitcast(_) | ScalarOp::Select { .. } => true,
        ScalarOp::Prim(p, _) => !p.is_partial(),
        ScalarOp::If { .. }
        | ScalarOp::While { .. }
        | ScalarOp::Foreign { .. }
        | ScalarOp::Index { .. }
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
    match op {
        ArrayOp::Generate { shape, f } => ArrayOp::Generate { shape: fun(shape), f: fun(f) },
        ArrayOp::Map { f, xs, indexed } => {
            ArrayOp::Map { f: fun(f), xs: xs.iter().map(|&x| array(x)).collect(), indexed: *indexed }
        }
        ArrayOp::Fold { f, init, xs } => {
            ArrayOp::Fold { f: fun(f), init: init.as_ref().map(&mut *fun), xs: array(*xs) }
        }
        ArrayOp::FoldSeg { f, init, xs, offsets } => {
            ArrayOp::FoldSeg { f: fun(f), init: init.as_ref().map(&mut *fun), xs: array(*xs), offsets: array(*offsets) }
        }
        ArrayOp::Scan { dir, f, init, xs } => {
            ArrayOp::Scan { dir: *dir, f: fun(f), init: init.as_ref().map(&mut *fun), xs: array(*xs) }
        }
        ArrayOp::Permute { combine, defaults, target, xs } => {
            ArrayOp::Permute { combine: fun(combine), defaults: array(*defaults), target: fun(target), xs: array(*xs) }
        }
        ArrayOp::Backpermute { shape, index, xs } => {
            ArrayOp::Backpermute { shape: fun(shape), index: fun(index), xs: array(*xs) }
        }
        ArrayOp::Stencil { f, inputs } => {
            let f = fun(f);
            let input = |i: &StencilInput| StencilInput {
                xs: array(i.xs),
                window: i.window.clone(),
                boundary: match &i.boundary {
                    Boundary::Clamp => Boundary::Clamp,
                    Boundary::Mirror => Boundary::Mirror,
                    Boundary::Wrap => Boundary::Wrap,
                    Boundary::Function(b) => Boundary::Function(fun(b)),
                },
            };
            ArrayOp::Stencil { f, inputs: inputs.iter().map(input).collect() }
        }
        ArrayOp::Argsort { xs } => ArrayOp::Argsort { xs: array(*xs) },
        ArrayOp::Check { ok, message, xs } => ArrayOp::Check { ok: fun(ok), message: message.clone(), xs: array(*xs) },
        ArrayOp::Reshape { shape, xs } => ArrayOp::Reshape { shape: fun(shape), xs: array(*xs) },
        ArrayOp::Replicate { axes, extents, xs } => {
            ArrayOp::Replicate { axes: axes.clone(), extents: fun(extents), xs: array(*xs) }
        }
        ArrayOp::Slice { axes, index, xs } => ArrayOp::Slice { axes: axes.clone(), index: fun(index), xs: array(*xs) },
        ArrayOp::Compute { xs } => ArrayOp::Compute { xs: array(*xs) },
        ArrayOp::Foreign { function, xs, fallback } => ArrayOp::Foreign {
            function: function.clone(),
            xs: xs.iter().map(|&a| array(a)).collect(),
            fallback: grow_stack(|| block(fallback, fun)),
        },
        ArrayOp::If { cond, then, else_ } => ArrayOp::If {
            cond: fun(cond),
            then: grow_stack(|| block(then, fun)),
            else_: grow_stack(|| block(else_, fun)),
        },
        ArrayOp::While { init, test, step } => ArrayOp::While {
            init: init.iter().map(|&a| array(a)).collect(),
            test: grow_stack(|| block(test, fun)),
            step: grow_stack(|| block(step, fun)),
        },
    }
}
