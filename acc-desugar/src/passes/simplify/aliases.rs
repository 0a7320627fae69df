//! Rule `aliases`: operations whose result is an array that exists already, and conditionals decided in advance.
//!
//! * a map that yields the elements of one of its arrays, at all of its indices;
//! * a reshape to the extents of the array itself, and its elements at all of its indices;
//! * a transposition of a transposition, or of several, that is none;
//! * `acond` with a constant condition: its branch, in the block around.

use super::walk::{Watch, map_op};
use crate::analysis::extents::Extents;
use crate::analysis::transposition::{Transpositions, axes, is_whole};
use crate::settings::Settings;
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, Block, Fun, Node, Program, Read, ScalarOp, Stmt};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("aliases") {
        return Ok(Cow::Borrowed(p));
    }
    let mut a = Aliases {
        program: p,
        extents: None,
        to: HashMap::new(),
        transposed: Transpositions::default(),
        watch: Watch::new(limits),
    };
    let body = a.block(&p.body);
    a.watch.end()?;
    Ok(Cow::Owned(Program { types: p.types.clone(), names: p.names.clone(), body }))
}

struct Aliases<'a> {
    program: &'a Program,
    /// Found where they are needed.
    extents: Option<Extents>,
    to: HashMap<ArrayId, ArrayId>,
    transposed: Transpositions,
    watch: Watch<'a>,
}

impl Aliases<'_> {
    fn get(&self, a: ArrayId) -> ArrayId {
        self.to.get(&a).copied().unwrap_or(a)
    }

    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::new();
        self.stmts(b, &mut stmts);
        Block { params: b.params.clone(), stmts, results: b.results.iter().map(|&a| self.get(a)).collect() }
    }

    fn stmts(&mut self, b: &Block, out: &mut Vec<Stmt>) {
        for s in &b.stmts {
            if self.watch.stops() {
                return;
            }
            if let Some(source) = self.same_array(s) {
                let source = self.get(source);
                self.to.extend(s.results.iter().map(|r| (*r, source)));
                continue;
            }
            if let ArrayOp::If { cond, then, else_ } = &s.op
                && let Some(c) = constant(cond)
            {
                // Statements are evaluated on demand, wherever they stand.
                let taken = if c { then } else { else_ };
                acc_core::grow_stack(|| self.stmts(taken, out));
                let results: Vec<ArrayId> = taken.results.iter().map(|&a| self.get(a)).collect();
                self.to.extend(s.results.iter().copied().zip(results));
                continue;
            }
            out.push(Stmt { results: s.results.clone(), op: self.op(&s.op), loc: s.loc.clone() });
        }
    }

    fn op(&mut self, op: &ArrayOp) -> ArrayOp {
        let this = RefCell::new(self);
        let get = |a: ArrayId| this.borrow().get(a);
        let mut block = |b: &Block, _: &mut dyn FnMut(&Fun) -> Fun| this.borrow_mut().block(b);
        map_op(op, &mut |f| f.map_arrays(&mut |a| get(*a)), &mut |a| get(a), &mut block)
    }

    /// The array that the statement's result is equal to.
    fn same_array(&mut self, s: &Stmt) -> Option<ArrayId> {
        let source = match &s.op {
            ArrayOp::Map { f, xs, indexed } => {
                let skipped = if *indexed { self.program.ty(*s.results.first()?).rank } else { 0 };
                let source = self.operand(f, skipped, xs)?;
                if xs.len() == 1 { source } else { self.of_same_extents(s, source)? }
            }
            ArrayOp::Reshape { shape, xs } if is_shape_of(shape, *xs) => *xs,
            ArrayOp::Generate { f, .. } => {
                let source = copied(f)?;
                self.of_same_extents(s, source)?
            }
            ArrayOp::Backpermute { index, xs, .. } => self.transposed_back(s, index, *xs)?,
            _ => return None,
        };
        let result = *s.results.first()?;
        (self.program.ty(result) == self.program.ty(source)).then_some(source)
    }

    /// The array of which a backpermute is the transposition of a transposition, if it has its axes in their order again.
    fn transposed_back(&mut self, s: &Stmt, index: &Fun, xs: ArrayId) -> Option<ArrayId> {
        let (program, result, order) = (self.program, *s.results.first()?, axes(index)?);
        let extents = self.extents.get_or_insert_with(|| Extents::without_assumptions(program));
        if is_whole(extents, result, xs, &order) { self.transposed.note(result, xs, order) } else { None }
    }

    /// The operand whose element a function yields, of the elements of these behind so many other parameters.
    fn operand(&self, f: &Fun, skipped: usize, xs: &[ArrayId]) -> Option<ArrayId> {
        let mut first = skipped;
        xs.iter().copied().find(|x| {
            let own = first..first + self.program.ty(*x).elt.leaf_count();
            first = own.end;
            !own.is_empty() && f.body.params.get(own) == Some(&f.body.results)
        })
    }

    /// An array, if its extents are those of the statement's result.
    fn of_same_extents(&mut self, s: &Stmt, a: ArrayId) -> Option<ArrayId> {
        let program = self.program;
        let extents = self.extents.get_or_insert_with(|| Extents::without_assumptions(program));
        (extents.of(a) == extents.of(*s.results.first()?)).then_some(a)
    }
}

/// The array whose element at the same index a function of indices yields.
fn copied(f: &Fun) -> Option<ArrayId> {
    let [n] = &f.body.nodes[..] else { return None };
    let ScalarOp::Index(Read { array, leaves, index, .. }) = &n.op else { return None };
    let whole = leaves.iter().enumerate().all(|(k, leaf)| k == *leaf as usize);
    (whole && index[..] == f.body.params[..] && n.results[..] == f.body.results[..]).then_some(*array)
}

fn is_shape_of(shape: &Fun, xs: ArrayId) -> bool {
    shape.body.results.iter().enumerate().all(|(k, v)| {
        let extent =
            |n: &Node| matches!(&n.op, ScalarOp::Extent { array, axis } if *array == xs && *axis as usize == k);
        shape.body.definition(*v).is_some_and(extent)
    })
}

fn constant(cond: &Fun) -> Option<bool> {
    cond.body.literal(*cond.body.results.first()?).map(|l| l.bits != 0)
}
