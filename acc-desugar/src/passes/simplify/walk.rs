//! Programs and their operations, rebuilt with parts replaced.

use acc_core::ir::{ArrayId, ArrayOp, Block, Closed, Fun, Ir, Mapper, OpPart, Program, ScalarOp, Stmt};
use acc_core::{Error, RunLimits};
use std::collections::HashSet;
use std::convert::Infallible;
use std::hash::Hash;

/// Whether a node may be evaluated where it was not: it cannot fault, it ends, and it evaluates no array.
pub(crate) fn is_speculable(op: &ScalarOp) -> bool {
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

/// Which items of a loop's body may stand before the loop and are to: those that use nothing that the body defines and others that
/// stay, if it pays or one that leaves uses them.
pub(super) fn invariants<T, V: Copy + Eq + Hash>(
    items: &[T],
    params: &[V],
    uses: impl Fn(&T) -> Vec<V>,
    defines: impl Fn(&T) -> &[V],
    may_leave: impl Fn(&T) -> bool,
    pays: impl Fn(&T) -> bool,
) -> Vec<bool> {
    let mut inside: HashSet<V> = params.iter().copied().collect();
    let mut leave: Vec<bool> = Vec::with_capacity(items.len());
    for item in items {
        let invariant = may_leave(item) && uses(item).iter().all(|v| !inside.contains(v));
        if !invariant {
            inside.extend(defines(item));
        }
        leave.push(invariant);
    }
    let mut needed: HashSet<V> = HashSet::new();
    for (item, leaves) in items.iter().zip(&mut leave).rev() {
        *leaves &= pays(item) || defines(item).iter().any(|v| needed.contains(v));
        if *leaves {
            needed.extend(uses(item));
        }
    }
    leave
}

/// The program with every scalar function replaced.
pub fn map_funs(p: &Program, f: &mut dyn FnMut(&Fun) -> Fun) -> Program {
    let mapped = try_map_funs(p, &mut |_, fun| Ok::<_, Infallible>(f(fun)));
    mapped.unwrap_or_else(|never| match never {})
}

/// The same with functions that may fail, the first error of which ends it, given the statement of each.
pub(super) fn try_map_funs<E>(p: &Program, f: &mut OnFun<'_, E>) -> Result<Program, E> {
    Ok(Program { types: p.types.clone(), names: p.names.clone(), body: block_funs(&p.body, f)? })
}

/// What becomes of the function of a statement.
pub(super) type OnFun<'a, E> = dyn FnMut(&Stmt, &Fun) -> Result<Fun, E> + 'a;

/// The function of a statement whose first parameters are the coordinates of a point, and the array whose extents the
/// coordinates are in.
pub(super) fn of_points(s: &Stmt) -> Option<(&Fun, ArrayId)> {
    let result = s.results.first().copied()?;
    match &s.op {
        ArrayOp::Generate { f, .. } | ArrayOp::Map { f, indexed: true, .. } => Some((f, result)),
        ArrayOp::Backpermute { index, .. } => Some((index, result)),
        ArrayOp::Permute { target, xs, .. } => Some((target, *xs)),
        _ => None,
    }
}

/// The array in whose extents the first parameters of a function of a statement are, if they are coordinates.
pub(super) fn space_of(s: &Stmt, f: &Fun) -> Option<ArrayId> {
    of_points(s).filter(|(of, _)| std::ptr::eq(*of, f)).map(|(_, space)| space)
}

fn block_funs<E>(b: &Block, f: &mut OnFun<'_, E>) -> Result<Block, E> {
    let stmts = b.stmts.iter().map(|s| {
        let op = s.op.try_map(&mut Functions { of: s, f: &mut *f })?;
        Ok(Stmt { results: s.results.clone(), op, loc: s.loc.clone() })
    });
    let stmts = stmts.collect::<Result<_, E>>()?;
    Ok(Block { params: b.params.clone(), stmts, results: b.results.clone() })
}

struct Functions<'a, 'b, E> {
    of: &'a Stmt,
    f: &'a mut OnFun<'b, E>,
}

impl<E> Mapper<Ir, Ir> for Functions<'_, '_, E> {
    type Error = E;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, E> {
        Ok(*a)
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, E> {
        Ok(all.clone())
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, E> {
        (self.f)(self.of, f)
    }
    fn block(&mut self, b: &Block) -> Result<Block, E> {
        block_funs(b, self.f)
    }
}

/// The arrays whose extents are known when an operation evaluates its functions of elements: its operands, and those that the
/// extents of its result depend on.
pub(super) fn known_extents(op: &ArrayOp) -> HashSet<ArrayId> {
    let mut known: HashSet<ArrayId> = op.arrays().into_iter().collect();
    for part in op.parts() {
        if let OpPart::Fun(_, Closed::Extents, f) = part {
            known.extend(f.body.nodes.iter().filter_map(|n| match n.op {
                ScalarOp::Extent { array, .. } => Some(array),
                _ => None,
            }));
        }
    }
    known
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
