//! How often a program reads an array's elements.

use acc_core::grow_stack;
use acc_core::ir::{ArrayId, Block, ScalarOp, Stmt};
use std::collections::HashMap;

/// Calls `f` on each array that a statement reads elements of, as often as its operands and functions name it. What its blocks
/// read is not among them.
pub(crate) fn visit_reads(s: &Stmt, f: &mut dyn FnMut(ArrayId)) {
    s.op.arrays().into_iter().for_each(&mut *f);
    for (_, fun) in s.op.funs() {
        fun.body.visit(0, &mut |n, _| {
            if let ScalarOp::Index(read) = &n.op {
                f(read.array);
            }
        });
    }
}

/// How often a block names each array, but for its extents: as an operand, in a function, or as a result.
pub(crate) struct Readers {
    of: HashMap<ArrayId, usize>,
}

impl Readers {
    pub(crate) fn new(b: &Block) -> Readers {
        let mut readers = Readers { of: HashMap::new() };
        readers.count(b);
        readers
    }

    fn count(&mut self, b: &Block) {
        for s in &b.stmts {
            visit_reads(s, &mut |a| *self.of.entry(a).or_default() += 1);
            s.op.blocks().into_iter().for_each(|b| grow_stack(|| self.count(b)));
        }
        b.results.iter().for_each(|a| *self.of.entry(*a).or_default() += 1);
    }

    /// Whether an array is read in one place.
    pub(crate) fn is_one(&self, a: ArrayId) -> bool {
        self.of.get(&a) == Some(&1)
    }
}
