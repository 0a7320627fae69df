//! Smaller scalar functions.

use super::{Proposal, Sample};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{Block, Fun, Node, Program, Region, ScalarOp, Val};
use acc_desugar::map_funs;
use std::collections::HashMap;

/// Ways to make a node smaller.
const EDITS: [Edit; 8] = [
    Edit::Constant(0),
    Edit::Constant(1),
    Edit::Operand(0),
    Edit::Operand(1),
    Edit::Operand(2),
    Edit::Then,
    Edit::Else,
    Edit::Parameter,
];

#[derive(Clone, Copy)]
enum Edit {
    /// 0 or 1 in its place.
    Constant(u8),
    /// One of its operands in its place.
    Operand(usize),
    /// The first branch in its place; of a loop what it starts with.
    Then,
    /// The second branch in its place.
    Else,
    /// A parameter of the function in its place.
    Parameter,
}

/// How many statements and nodes a program has; a literal counts least.
pub(super) fn nodes(p: &Program) -> usize {
    fn block(b: &Block) -> usize {
        let stmt = |s: &acc_core::ir::Stmt| {
            let mut n = 40 + s.op.blocks().into_iter().map(block).sum::<usize>();
            for (_, f) in s.op.funs() {
                f.body.visit(0, &mut |node, _| n += if matches!(node.op, ScalarOp::Const(_)) { 1 } else { 4 });
            }
            n
        };
        b.stmts.iter().map(stmt).sum::<usize>()
    }
    block(&p.body) + 10 * p.body.params.len() + 2 * p.body.results.len()
}

pub(super) fn proposals(s: &Sample, at: usize) -> Proposal {
    let (node, edit) = (at / EDITS.len(), EDITS[at % EDITS.len()]);
    let mut counter = 0;
    let mut edited = false;
    let program = map_funs(&s.program, &mut |f| {
        let mut e = Editing { target: node, edit, counter, fun: f.clone(), instead: HashMap::new(), done: false };
        let body = e.region(&f.body);
        counter = e.counter;
        edited |= e.done;
        if !e.done {
            return f.clone();
        }
        let instead = e.instead;
        // A replacement may itself be replaced: by an operand, which stands before it.
        let find = |mut v: Val| {
            while let Some(&to) = instead.get(&v) {
                v = to;
            }
            v
        };
        Fun { types: e.fun.types, body: body.map(&mut |a| *a, &mut |v| find(v)) }
    });
    if counter <= node {
        return None;
    }
    Some(edited.then(|| Sample::cleaned(&program, &s.args)).flatten())
}

/// One edit of one node of a function.
struct Editing {
    /// The number of the node, counted over all functions.
    target: usize,
    edit: Edit,
    counter: usize,
    fun: Fun,
    /// Values in place of others.
    instead: HashMap<Val, Val>,
    done: bool,
}

impl Editing {
    fn region(&mut self, r: &Region) -> Region {
        let mut nodes = Vec::new();
        for n in &r.nodes {
            let here = self.counter == self.target;
            self.counter += 1;
            let edited = if here { self.edited(n) } else { None };
            match edited {
                Some(instead) => {
                    self.done = true;
                    nodes.extend(instead);
                }
                None => {
                    let op = match &n.op {
                        ScalarOp::If { cond, then, else_ } => {
                            ScalarOp::If { cond: *cond, then: self.region(then), else_: self.region(else_) }
                        }
                        ScalarOp::While { init, test, step } => {
                            ScalarOp::While { init: init.clone(), test: self.region(test), step: self.region(step) }
                        }
                        other => other.clone(),
                    };
                    nodes.push(Node { results: n.results.clone(), op, loc: n.loc.clone() });
                }
            }
        }
        Region { params: r.params.clone(), nodes, results: r.results.clone() }
    }

    /// What stands in place of a node; `None` if the edit does not apply.
    fn edited(&mut self, n: &Node) -> Option<Vec<Node>> {
        match self.edit {
            Edit::Constant(one) => {
                if matches!(n.op, ScalarOp::Const(_)) {
                    return None;
                }
                let constant = |v: &Val| {
                    let ty = self.fun.ty(*v);
                    let lit = match one {
                        0 => Lit::zero(ty),
                        _ if ty == ScalarType::Char => Lit { ty, bits: u64::from(b'a') },
                        _ => Lit::one(ty),
                    };
                    Node { results: [*v].into_iter().collect(), op: ScalarOp::Const(lit), loc: n.loc.clone() }
                };
                Some(n.results.iter().map(constant).collect())
            }
            Edit::Operand(k) => {
                let [result] = n.results[..] else { return None };
                let operand = *n.op.operands().get(k)?;
                (self.fun.ty(operand) == self.fun.ty(result)).then(|| {
                    self.instead.insert(result, operand);
                    Vec::new()
                })
            }
            Edit::Parameter => {
                let [result] = n.results[..] else { return None };
                let ty = self.fun.ty(result);
                let parameter = self.fun.body.params.iter().copied().find(|p| self.fun.ty(*p) == ty)?;
                self.instead.insert(result, parameter);
                Some(Vec::new())
            }
            Edit::Then | Edit::Else => {
                let first = matches!(self.edit, Edit::Then);
                match &n.op {
                    ScalarOp::If { then, else_, .. } => {
                        let taken = if first { then } else { else_ };
                        self.instead.extend(n.results.iter().copied().zip(taken.results.iter().copied()));
                        Some(taken.nodes.clone())
                    }
                    ScalarOp::While { init, .. } if first => {
                        self.instead.extend(n.results.iter().copied().zip(init.iter().copied()));
                        Some(Vec::new())
                    }
                    _ => None,
                }
            }
        }
    }
}
