//! Functions with rules, in the place of their calls: what is left of them when all derivatives are expanded.

use super::{Rename, renamed};
use acc_core::ad::Code;
use acc_core::ir::{
    ArrayId, ArrayOp, Block, Closed, Foreign, Fun, Ir, Loc, Mapper, Node, Program, Region, ScalarOp, Stmt, Val,
};
use acc_core::{Error, RunLimits, grow_stack};
use std::collections::HashMap;

/// The program without functions with rules.
pub(super) fn pass(program: Program, limits: &RunLimits) -> Result<Program, Error> {
    if !program.has_rules() {
        return Ok(program);
    }
    let mut i = Inline { known: HashMap::new(), stmts: Vec::new(), limits };
    let body = i.block(&program.body)?;
    Ok(Program { types: program.types, names: program.names, body })
}

struct Inline<'a> {
    /// What parameters and results of functions are now.
    known: HashMap<ArrayId, ArrayId>,
    /// The statements of the block at hand.
    stmts: Vec<Stmt>,
    limits: &'a RunLimits,
}

impl Inline<'_> {
    fn statements(&mut self, b: &Block) -> Result<(), Error> {
        for s in &b.stmts {
            self.limits.check()?;
            grow_stack(|| self.stmt(s))?;
        }
        Ok(())
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Error> {
        if let ArrayOp::Ruled { at, f, .. } = &s.op {
            self.call(&f.params, at);
            self.statements(f)?;
            self.call(&s.results, &f.results);
            return Ok(());
        }
        let op = s.op.try_map(self)?;
        self.stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
        Ok(())
    }

    /// Names for these arrays.
    fn call(&mut self, names: &[ArrayId], of: &[ArrayId]) {
        let of: Vec<ArrayId> = of.iter().map(|a| renamed(&self.known, *a)).collect();
        self.known.extend(names.iter().copied().zip(of));
    }
}

impl Mapper<Ir, Ir> for Inline<'_> {
    type Error = Error;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Error> {
        Ok(renamed(&self.known, *a))
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Error> {
        Ok(all.iter().map(|a| renamed(&self.known, *a)).collect())
    }
    fn fun(&mut self, closed: Closed, f: &Fun) -> Result<Fun, Error> {
        let Ok(f) = Rename(&self.known).fun(closed, f);
        if !f.body.has_rules() {
            return Ok(f);
        }
        let host = |f: &Foreign| !f.name.is_empty();
        Ok(inlined(&f, &|f| host(f).then(|| Foreign { partials: None, ..f.clone() })))
    }
    fn block(&mut self, b: &Block) -> Result<Block, Error> {
        let around = std::mem::take(&mut self.stmts);
        let done = self.statements(b);
        let stmts = std::mem::replace(&mut self.stmts, around);
        done?;
        let results = b.results.iter().map(|r| renamed(&self.known, *r)).collect();
        Ok(Block { params: b.params.clone(), stmts, results })
    }
}

/// A function with the fallbacks of foreign functions in their place, but for those that are kept, in some form.
pub(super) fn inlined(f: &Fun, kept: &dyn Fn(&Foreign) -> Option<Foreign>) -> Fun {
    let mut any = false;
    f.body.visit(0, &mut |n, _| any |= matches!(n.op, ScalarOp::Own(_)));
    if !any {
        return f.clone();
    }
    let mut s = Scalars { code: Code::of_function(f, &Loc::unknown()), names: HashMap::new(), kept };
    s.region(&f.body);
    let results: Vec<Val> = f.body.results.iter().map(|v| s.name(*v)).collect();
    s.code.done(results)
}

struct Scalars<'a> {
    code: Code,
    /// What parameters and results of fallbacks are now.
    names: HashMap<Val, Val>,
    kept: &'a dyn Fn(&Foreign) -> Option<Foreign>,
}

impl Scalars<'_> {
    fn name(&self, v: Val) -> Val {
        self.names.get(&v).copied().unwrap_or(v)
    }

    fn region(&mut self, r: &Region) {
        for n in &r.nodes {
            grow_stack(|| self.node(n));
        }
    }

    fn node(&mut self, n: &Node) {
        let op = match &n.op {
            ScalarOp::Own(f) => match (self.kept)(f) {
                Some(f) => ScalarOp::Own(Foreign {
                    args: f.args.iter().map(|v| self.name(*v)).collect(),
                    fallback: self.inner(&f.fallback),
                    partials: f.partials.as_ref().map(|r| self.inner(r)),
                    name: f.name,
                }),
                None => {
                    for (p, a) in f.fallback.params.iter().zip(&f.args) {
                        self.names.insert(*p, self.name(*a));
                    }
                    self.region(&f.fallback);
                    for (v, r) in n.results.iter().zip(&f.fallback.results) {
                        self.names.insert(*v, self.name(*r));
                    }
                    return;
                }
            },
            ScalarOp::If { cond, then, else_ } => {
                ScalarOp::If { cond: self.name(*cond), then: self.inner(then), else_: self.inner(else_) }
            }
            ScalarOp::While { init, test, step } => ScalarOp::While {
                init: init.iter().map(|v| self.name(*v)).collect(),
                test: self.inner(test),
                step: self.inner(step),
            },
            op => op.map(&mut |a| *a, &mut |v| self.name(v)),
        };
        self.code.push(Node { results: n.results.clone(), op, loc: n.loc.clone() });
    }

    fn inner(&mut self, r: &Region) -> Region {
        self.code.open();
        self.region(r);
        let results = r.results.iter().map(|v| self.name(*v)).collect();
        self.code.close(r.params.clone(), results)
    }
}
