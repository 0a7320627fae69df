//! An array function applied: its body with arguments in the place of its parameter.

use super::{AccFun, AccOp, AccRef, Building, Frozen};
use crate::ir::{Closed, Mapper};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// The results of a function of one parameter at `arg`. What does not depend on the parameter is shared with the function.
pub(crate) fn applied(f: &AccFun, arg: &AccRef) -> AccRef {
    let mut s = Substitution { lambda: f.lambda, arg, done: HashMap::new() };
    s.expression(&f.body)
}

struct Substitution<'a> {
    lambda: u64,
    arg: &'a AccRef,
    /// What expressions became, by their number, and themselves: numbers are those of expressions that live.
    done: HashMap<usize, (AccRef, AccRef)>,
}

impl Substitution<'_> {
    fn expression(&mut self, a: &AccRef) -> AccRef {
        if let Some((_, done)) = self.done.get(&a.id()) {
            return done.clone();
        }
        let new = crate::grow_stack(|| self.anew(a)).unwrap_or_else(|| a.clone());
        self.done.insert(a.id(), (a.clone(), new.clone()));
        new
    }

    /// The expression, if it is another one.
    fn anew(&mut self, a: &AccRef) -> Option<AccRef> {
        let op = match &a.op {
            AccOp::Param { lambda, .. } if *lambda == self.lambda => return Some(self.arg.clone()),
            AccOp::Use(_) | AccOp::Param { .. } | AccOp::Element(_) | AccOp::Invalid(_) => return None,
            AccOp::Tuple(parts) => {
                let new: Vec<AccRef> = parts.iter().map(|p| self.expression(p)).collect();
                if new == *parts {
                    return None;
                }
                AccOp::Tuple(new)
            }
            AccOp::Proj(of, i) => {
                let new = self.expression(of);
                if new == *of {
                    return None;
                }
                match &new.op {
                    AccOp::Tuple(parts) => return parts.get(*i).cloned(),
                    _ => AccOp::Proj(new, *i),
                }
            }
            AccOp::Op(op) => {
                let mut changed = Changed { within: self, any: false };
                let new = op.map(&mut changed);
                if !changed.any {
                    return None;
                }
                AccOp::Op(new)
            }
        };
        Some(AccRef::new(op, a.ty.clone(), a.loc.clone()))
    }
}

/// Replaces the parts of an operation.
struct Changed<'s, 'a> {
    within: &'s mut Substitution<'a>,
    any: bool,
}

impl Mapper<Building, Building> for Changed<'_, '_> {
    type Error = Infallible;

    fn array(&mut self, a: &AccRef) -> Result<AccRef, Infallible> {
        let new = self.within.expression(a);
        self.any |= new != *a;
        Ok(new)
    }
    fn arrays(&mut self, a: &AccRef) -> Result<AccRef, Infallible> {
        self.array(a)
    }
    fn fun(&mut self, _: Closed, f: &Frozen) -> Result<Frozen, Infallible> {
        let Ok(fun) = f else { return Ok(f.clone()) };
        let before = self.any;
        self.any = false;
        let new = fun.map_arrays(&mut |a| match self.array(a) {
            Ok(a) => a,
        });
        let changed = std::mem::replace(&mut self.any, before);
        self.any |= changed;
        Ok(if changed { Ok(Arc::new(new)) } else { f.clone() })
    }
    fn block(&mut self, b: &AccFun) -> Result<AccFun, Infallible> {
        Ok(AccFun { lambda: b.lambda, params: b.params.clone(), body: self.array(&b.body)? })
    }
}
