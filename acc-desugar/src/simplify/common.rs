//! Rule `common_arrays`: an operation that a block, or one around it, has done already on the same arrays.

use super::Rules;
use super::walk::map_op;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Program, Stmt};
use std::collections::HashMap;

pub(super) fn pass(p: &Program, rules: &Rules) -> Program {
    if !rules.on("common_arrays") {
        return p.clone();
    }
    let mut c = Common { program: p, to: HashMap::new(), scopes: Vec::new() };
    let body = c.block(&p.body);
    Program { types: p.types.clone(), body }
}

struct Common<'a> {
    program: &'a Program,
    to: HashMap<ArrayId, ArrayId>,
    /// What was done in the blocks around, innermost last.
    scopes: Vec<HashMap<(ArrayOp, Vec<ArrayType>), Vec<ArrayId>>>,
}

impl Common<'_> {
    fn block(&mut self, b: &Block) -> Block {
        self.scopes.push(HashMap::new());
        let mut stmts = Vec::new();
        for s in &b.stmts {
            let to = self.to.clone();
            let get = |a: ArrayId| to.get(&a).copied().unwrap_or(a);
            let op = map_op(&s.op, &mut |f| f.map_arrays(&mut |a| get(*a)), &mut |a| get(a), &mut |b, _| self.block(b));
            if let ArrayOp::Foreign { .. } = op {
                // Two traces print twice.
                stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
                continue;
            }
            let key = (op, s.results.iter().map(|&r| self.program.ty(r).clone()).collect::<Vec<_>>());
            if let Some(done) = self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
                self.to.extend(s.results.iter().copied().zip(done.iter().copied()));
                continue;
            }
            stmts.push(Stmt { results: s.results.clone(), op: key.0.clone(), loc: s.loc.clone() });
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(key, s.results.to_vec());
            }
        }
        self.scopes.pop();
        let results = b.results.iter().map(|a| self.to.get(a).copied().unwrap_or(*a)).collect();
        Block { params: b.params.clone(), stmts, results }
    }
}
