//! Rule `common_arrays`: an operation that a block, or one around it, has done already on the same arrays.

use super::walk::{Watch, map_op};
use crate::settings::Settings;
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Fun, Program, Stmt};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("common_arrays") {
        return Ok(Cow::Borrowed(p));
    }
    let mut c = Common { program: p, to: HashMap::new(), done: HashMap::new(), watch: Watch::new(limits) };
    let body = c.block(&p.body);
    c.watch.end()?;
    Ok(Cow::Owned(Program { types: p.types.clone(), names: p.names.clone(), body }))
}

/// An operation and the types of its results.
type Key = (ArrayOp, Vec<ArrayType>);

struct Common<'a> {
    program: &'a Program,
    to: HashMap<ArrayId, ArrayId>,
    /// What was done in this block and those around.
    done: HashMap<Key, Vec<ArrayId>>,
    watch: Watch<'a>,
}

impl Common<'_> {
    fn block(&mut self, b: &Block) -> Block {
        let mut added: Vec<Key> = Vec::new();
        let mut stmts = Vec::new();
        for s in &b.stmts {
            if self.watch.stops() {
                break;
            }
            let op = self.op(&s.op);
            if !comparable(&op) {
                stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
                continue;
            }
            let key = (op, s.results.iter().map(|&r| self.program.ty(r).clone()).collect::<Vec<_>>());
            if let Some(done) = self.done.get(&key) {
                self.to.extend(s.results.iter().copied().zip(done.iter().copied()));
                continue;
            }
            stmts.push(Stmt { results: s.results.clone(), op: key.0.clone(), loc: s.loc.clone() });
            self.done.insert(key.clone(), s.results.to_vec());
            added.push(key);
        }
        for key in &added {
            self.done.remove(key);
        }
        Block { params: b.params.clone(), stmts, results: b.results.iter().map(|&a| self.get(a)).collect() }
    }

    fn get(&self, a: ArrayId) -> ArrayId {
        self.to.get(&a).copied().unwrap_or(a)
    }

    fn op(&mut self, op: &ArrayOp) -> ArrayOp {
        let this = RefCell::new(self);
        let get = |a: ArrayId| this.borrow().get(a);
        let mut block = |b: &Block, _: &mut dyn FnMut(&Fun) -> Fun| this.borrow_mut().block(b);
        map_op(op, &mut |f| f.map_arrays(&mut |a| get(*a)), &mut |a| get(a), &mut block)
    }
}

/// How many statements the blocks of an operation may hold to be compared with others: comparing blocks nested deep
/// costs as much as all of them at each level.
const MAX_COMPARED_STATEMENTS: usize = 64;

fn comparable(op: &ArrayOp) -> bool {
    fn within(op: &ArrayOp, left: &mut usize) -> bool {
        op.blocks().into_iter().flat_map(|b| &b.stmts).all(|s| {
            *left = left.saturating_sub(1);
            *left > 0 && within(&s.op, left)
        })
    }
    // Two traces print twice.
    !matches!(op, ArrayOp::Foreign { .. }) && within(op, &mut MAX_COMPARED_STATEMENTS.clone())
}
