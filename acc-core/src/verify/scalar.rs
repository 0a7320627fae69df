//! Rules V1, V2, V3, V5 and V6 for scalar functions.

use super::{Checked as Result, Failure, Site};
use crate::data::ScalarType;
use crate::ir::{ArrayId, ArrayType, Foreign, Fun, Node, Read, Region, ScalarOp, Val, bitcast_exists, cast_exists};
use crate::limits::RunLimits;

/// What a function may read, and how its values are defined so far.
struct Scope<'a> {
    fun: &'a Fun,
    arrays: &'a dyn Fn(ArrayId) -> Option<&'a ArrayType>,
    /// Whether a value is defined and visible.
    visible: Vec<bool>,
    /// Whether a value was ever defined.
    defined: Vec<bool>,
    site: Site,
    limits: &'a RunLimits,
    /// Nodes until the limits are looked at again.
    left: u32,
}

/// How many nodes are checked between two looks at the limits.
const NODES_PER_LIMIT_CHECK: u32 = 1000;

/// Checks a function: its parameters' types must be `params`; returns its results' types.
pub(super) fn fun<'a>(
    f: &'a Fun,
    params: &[ScalarType],
    what: &str,
    site: &Site,
    arrays: &'a dyn Fn(ArrayId) -> Option<&'a ArrayType>,
    limits: &'a RunLimits,
) -> Result<Vec<ScalarType>> {
    let n = f.types.len();
    let (visible, defined) = (vec![false; n], vec![false; n]);
    let mut scope = Scope { fun: f, arrays, visible, defined, site: site.clone(), limits, left: NODES_PER_LIMIT_CHECK };
    let got = scope.region_types(&f.body)?;
    site.types("V2", &format!("the parameters of `{what}`"), &got, params)?;
    scope.region(&f.body)?;
    f.body.results.iter().map(|&v| scope.ty(v)).collect()
}

impl Scope<'_> {
    fn ty(&self, v: Val) -> Result<ScalarType> {
        match self.visible.get(v.index()) {
            Some(true) => Ok(self.fun.types[v.index()]),
            Some(false) => self.site.fail("V1", format!("{v} is used before it is defined, or outside its region")),
            None => self.site.fail("V1", format!("{v} is not in the type table")),
        }
    }

    fn region_types(&self, r: &Region) -> Result<Vec<ScalarType>> {
        let ty = |v: &Val| match self.fun.types.get(v.index()) {
            Some(t) => Ok(*t),
            None => self.site.fail("V1", format!("{v} is not in the type table")),
        };
        r.params.iter().map(ty).collect()
    }

    fn define(&mut self, v: Val) -> Result {
        match self.defined.get(v.index()) {
            None => return self.site.fail("V1", format!("{v} is not in the type table")),
            Some(true) => return self.site.fail("V1", format!("{v} is defined twice")),
            Some(false) => {}
        }
        self.defined[v.index()] = true;
        self.visible[v.index()] = true;
        Ok(())
    }

    /// Looks at the limits now and then.
    fn pause(&mut self) -> Result {
        self.left -= 1;
        if self.left == 0 {
            self.left = NODES_PER_LIMIT_CHECK;
            self.limits.check().map_err(Failure::Stopped)?;
        }
        Ok(())
    }

    /// Checks a region and returns its results' types; its values are visible in it alone.
    fn region(&mut self, r: &Region) -> Result<Vec<ScalarType>> {
        for &p in &r.params {
            self.define(p)?;
        }
        for n in &r.nodes {
            if n.loc.is_known() {
                self.site.loc = n.loc.clone();
            }
            self.pause()?;
            crate::grow_stack(|| self.node(n))?;
            for &v in &n.results {
                self.define(v)?;
            }
        }
        let types = r.results.iter().map(|&v| self.ty(v)).collect::<Result<Vec<_>>>()?;
        // The outermost region stays visible, for the caller to look at its results.
        if !std::ptr::eq(r, &self.fun.body) {
            for &v in r.params.iter().chain(r.nodes.iter().flat_map(|n| &n.results)) {
                self.visible[v.index()] = false;
            }
        }
        Ok(types)
    }

    fn node(&mut self, n: &Node) -> Result {
        let operands = n.op.operands().iter().map(|&v| self.ty(v)).collect::<Result<Vec<_>>>()?;
        let mut results = Vec::new();
        for v in &n.results {
            match self.fun.types.get(v.index()) {
                Some(t) => results.push(*t),
                None => return self.site.fail("V1", format!("{v} is not in the type table")),
            }
        }
        let site = self.site.clone();
        let one = |rule| match results[..] {
            [t] => Ok(t),
            _ => site.fail(rule, format!("{:?} defines {} values, not one", n.op, results.len())),
        };
        match &n.op {
            ScalarOp::Const(l) => site.types("V3", "a constant", &results, &[l.ty]),
            ScalarOp::Prim(p, v) => {
                site.check(v.len() == p.arity(), "V3", || format!("`{}` takes {} operands", p.name(), p.arity()))?;
                let t = operands[0];
                site.check(p.domain().contains(t) && operands.iter().all(|&o| o == t), "V3", || {
                    format!("`{}` does not take operands of types {operands:?}", p.name())
                })?;
                site.types("V3", p.name(), &results, &[p.result_type(t)])
            }
            ScalarOp::Cast(_) => {
                let to = one("V3")?;
                site.check(cast_exists(operands[0], to), "V3", || format!("no cast from {} to {to}", operands[0]))
            }
            ScalarOp::Bitcast(_) => {
                let to = one("V3")?;
                site.check(bitcast_exists(operands[0], to), "V3", || format!("no bitcast from {} to {to}", operands[0]))
            }
            ScalarOp::Select { .. } => {
                site.types("V3", "a select", &operands, &[ScalarType::Bool, operands[1], operands[1]])?;
                site.types("V3", "a select", &results, &operands[1..2])
            }
            ScalarOp::If { then, else_, .. } => {
                site.types("V5", "the condition of an `if`", &operands, &[ScalarType::Bool])?;
                for r in [then, else_] {
                    site.check(r.params.is_empty(), "V5", || "a branch has parameters".into())?;
                    let got = self.region(r)?;
                    site.types("V5", "a branch", &got, &results)?;
                }
                Ok(())
            }
            ScalarOp::While { test, step, .. } => {
                site.types("V5", "the state of a loop", &operands, &results)?;
                for (r, want) in [(test, &[ScalarType::Bool][..]), (step, &results[..])] {
                    site.types("V5", "a loop region's parameters", &self.region_types(r)?, &results)?;
                    let got = self.region(r)?;
                    site.types("V5", "a loop region", &got, want)?;
                }
                Ok(())
            }
            ScalarOp::Own(Foreign { fallback, .. }) => {
                let params = self.region_types(fallback)?;
                site.types("V5", "the parameters of a fallback", &params, &operands)?;
                let got = self.region(fallback)?;
                site.types("V5", "a fallback", &got, &results)
            }
            ScalarOp::Index(Read { array, leaves, .. }) => {
                let ty = self.array(*array)?;
                let all = ty.elt.leaves();
                site.types("V3", "an index", &operands, &vec![ScalarType::I64; ty.rank])?;
                let want = leaves.iter().map(|&l| all.get(l as usize).copied()).collect::<Option<Vec<_>>>();
                match want {
                    Some(want) => site.types("V3", "an array read", &results, &want),
                    None => {
                        let (array, leaf) = (site.array(*array), leaves.iter().max().unwrap_or(&0));
                        site.fail("V3", format!("{array} of type {ty} has no leaf {leaf}"))
                    }
                }
            }
            ScalarOp::Extent { array, axis } => {
                let rank = self.array(*array)?.rank;
                site.check((*axis as usize) < rank, "V3", || {
                    format!("{} of rank {rank} has no axis {axis}", site.array(*array))
                })?;
                site.types("V3", "an extent", &results, &[ScalarType::I64])
            }
        }
    }

    fn array(&self, a: ArrayId) -> Result<&ArrayType> {
        match (self.arrays)(a) {
            Some(t) => Ok(t),
            None => {
                let a = self.site.array(a);
                self.site.fail("V1", format!("{a} is used before it is defined, or outside its block"))
            }
        }
    }
}
