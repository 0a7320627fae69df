//! Which arrays an evaluation certainly needs, and which only on some paths.

use super::{ArrayId, Block, Fun, Read, ScalarOp, Stmt};
use std::collections::HashSet;

/// How a function uses an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Whenever the function is called (an operand, or a read outside any branch or loop).
    Always,
    /// Only inside a branch or a loop.
    Sometimes,
}

/// Every array that a function reads or measures, with how: `Always` wins over `Sometimes`. In order of first use.
pub fn arrays_of_fun(f: &Fun) -> Vec<(ArrayId, Use)> {
    let mut out: Vec<(ArrayId, Use)> = Vec::new();
    f.body.visit(0, &mut |node, depth| {
        if let ScalarOp::Index(Read { array, .. }) | ScalarOp::Extent { array, .. } = &node.op {
            let how = if depth == 0 { Use::Always } else { Use::Sometimes };
            match out.iter_mut().find(|(a, _)| a == array) {
                Some((_, u)) if how == Use::Always => *u = how,
                Some(_) => {}
                None => out.push((*array, how)),
            }
        }
    });
    out
}

/// The arrays that evaluating a statement certainly needs: its operands, and those that its closed functions read
/// outside branches and loops. (A function of elements runs once per element, perhaps for none.)
pub fn arrays_needed(stmt: &Stmt) -> Vec<ArrayId> {
    let mut out: Vec<ArrayId> = stmt.op.arrays().into_vec();
    for (_, f) in stmt.op.funs() {
        if f.body.params.is_empty() {
            out.extend(arrays_of_fun(f).into_iter().filter(|(_, u)| *u == Use::Always).map(|(a, _)| a));
        }
    }
    dedup(out)
}

/// The arrays that evaluating a statement may need: read by its functions for some elements or on some paths, or
/// used by its blocks. They are to be evaluated when first demanded, or ahead with their faults held back.
pub fn arrays_on_demand(stmt: &Stmt) -> Vec<ArrayId> {
    let needed: HashSet<ArrayId> = arrays_needed(stmt).into_iter().collect();
    let mut out: Vec<ArrayId> = Vec::new();
    for (_, f) in stmt.op.funs() {
        out.extend(arrays_of_fun(f).into_iter().map(|(a, _)| a));
    }
    for b in stmt.op.blocks() {
        out.extend(free_arrays(b));
    }
    dedup(out).into_iter().filter(|a| !needed.contains(a)).collect()
}

/// The arrays a block uses from outside, in order of first use.
pub fn free_arrays(block: &Block) -> Vec<ArrayId> {
    let mut defined: HashSet<ArrayId> = block.params.iter().copied().collect();
    let mut out = Vec::new();
    for s in &block.stmts {
        out.extend(arrays_needed(s));
        out.extend(arrays_on_demand(s));
        defined.extend(s.results.iter().copied());
    }
    out.extend(block.results.iter().copied());
    dedup(out).into_iter().filter(|a| !defined.contains(a)).collect()
}

/// For each statement of a block with these results, whether it is evaluated whenever the block is: its value is needed by the results
/// through statements that are evaluated too. The others are evaluated on demand.
pub fn strict_statements(stmts: &[Stmt], results: &[ArrayId]) -> Vec<bool> {
    let mut strict = vec![false; stmts.len()];
    let mut needed: HashSet<ArrayId> = results.iter().copied().collect();
    for (k, s) in stmts.iter().enumerate().rev() {
        if s.results.iter().any(|r| needed.contains(r)) {
            strict[k] = true;
            needed.extend(arrays_needed(s));
        }
    }
    strict
}

fn dedup(v: Vec<ArrayId>) -> Vec<ArrayId> {
    let mut seen = HashSet::new();
    v.into_iter().filter(|a| seen.insert(*a)).collect()
}
