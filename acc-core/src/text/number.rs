//! The canonical numbering of a program: arrays and scalars in the order in which the text form defines them.

use crate::grow_stack;
use crate::ir::{ArrayId, Block, Closed, Fun, Ir, Mapper, Names, Program, Stmt};
use std::convert::Infallible;

/// The same program with arrays and scalar values numbered from 0 in the order in which its text defines them, and
/// nothing unused in the type tables. Two programs with the same text are structurally equal in this form.
///
/// The program must be verified, or at least define what it uses.
pub fn canonical(program: &Program) -> Program {
    let mut n = Numbering { new: vec![None; program.types.len()], next: 0 };
    n.define_block(&program.body);
    let body = n.renumbered(&program.body);
    let (mut types, mut names) = (vec![None; n.next as usize], vec![None; n.next as usize]);
    for (old, new) in n.new.iter().enumerate() {
        if let Some(new) = new {
            types[*new as usize] = program.types.get(old).cloned();
            names[*new as usize] = program.names.get(ArrayId(old as u32)).cloned();
        }
    }
    Program { types: types.into_iter().flatten().collect(), names: Names::new(names), body }
}

/// New numbers by old ones.
struct Numbering {
    new: Vec<Option<u32>>,
    next: u32,
}

impl Numbering {
    fn define(&mut self, old: usize) {
        if let Some(slot @ None) = self.new.get_mut(old) {
            *slot = Some(self.next);
            self.next += 1;
        }
    }

    /// An array that was never defined keeps its number, for the verifier to report.
    fn get(&self, old: u32) -> u32 {
        self.new.get(old as usize).copied().flatten().unwrap_or(old)
    }

    fn id(&self, a: ArrayId) -> ArrayId {
        ArrayId(self.get(a.0))
    }

    fn ids(&self, all: &[ArrayId]) -> Vec<ArrayId> {
        all.iter().map(|&a| self.id(a)).collect()
    }

    fn define_block(&mut self, b: &Block) {
        grow_stack(|| {
            b.params.iter().for_each(|p| self.define(p.index()));
            for s in &b.stmts {
                s.results.iter().for_each(|a| self.define(a.index()));
                s.op.blocks().into_iter().for_each(|b| self.define_block(b));
            }
        });
    }

    fn renumbered(&mut self, b: &Block) -> Block {
        let stmts = b.stmts.iter().map(|s| Stmt {
            results: s.results.iter().map(|&a| self.id(a)).collect(),
            op: s.op.map(self),
            loc: s.loc.clone(),
        });
        let stmts = stmts.collect();
        Block { params: self.ids(&b.params), stmts, results: self.ids(&b.results) }
    }
}

impl Mapper<Ir, Ir> for Numbering {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok(self.id(*a))
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(self.ids(all))
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, Infallible> {
        Ok(grow_stack(|| f.map_arrays(&mut |&a| self.id(a))).renumbered())
    }
    fn block(&mut self, b: &Block) -> Result<Block, Infallible> {
        Ok(self.renumbered(b))
    }
}
