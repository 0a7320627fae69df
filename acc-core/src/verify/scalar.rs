//! The rules of scalar code, in any dialect.

use super::{Checked as Result, Failure, Site};
use crate::data::{Lit, ScalarType};
use crate::ir::{
    ArrayId, ArrayType, Dialect, Foreign, Ir, Node, OwnOp, Read, Region, ScalarOp, Val, bitcast_exists, cast_exists,
};
use crate::limits::RunLimits;

/// What differs between the rules of dialects: their numbers, and what there is to check of reads and of the operations of a
/// dialect alone.
pub trait Rules {
    /// The dialect.
    type Dialect: Dialect;
    /// The number of the rule that values are defined once, before their uses.
    const DEFINED: &'static str;
    /// The number of the rule that operands and results fit the operation.
    const TYPED: &'static str;
    /// The number of the rule that regions take and yield what is around them.
    const REGIONS: &'static str;

    /// Checks a read, given the types of operands and results.
    fn read(&self, site: &Site, read: &Read<Self::Dialect>, operands: &[ScalarType], results: &[ScalarType]) -> Result;

    /// Checks the axis of an extent.
    fn extent(&self, site: &Site, array: &<Self::Dialect as Dialect>::Array, axis: u32) -> Result;

    /// Checks an operation of the dialect alone, but for a region inside.
    fn own(
        &self,
        site: &Site,
        op: &<Self::Dialect as Dialect>::Own,
        operands: &[ScalarType],
        results: &[ScalarType],
    ) -> Result;

    /// What the regions of such an operation take and yield; the first one is from the operands to the results.
    fn own_regions(
        &self,
        _: &<Self::Dialect as Dialect>::Own,
        operands: &[ScalarType],
        results: &[ScalarType],
    ) -> Vec<OwnRegion> {
        vec![OwnRegion { name: "a fallback", params: operands.to_vec(), results: results.to_vec() }]
    }

    /// Checks what all nodes obey.
    fn node(&self, _: &Site, _: &Node<Self::Dialect>) -> Result {
        Ok(())
    }
}

/// What a region of an operation of one dialect takes and yields.
pub struct OwnRegion {
    /// What it is called.
    pub name: &'static str,
    /// The types of its parameters.
    pub params: Vec<ScalarType>,
    /// The types of its results.
    pub results: Vec<ScalarType>,
}

/// A function to be checked.
pub struct Code<'a, D: Dialect> {
    /// The type of every value.
    pub types: &'a [ScalarType],
    /// Values that are literals and defined by no node.
    pub literals: &'a [(Val, Lit)],
    /// The body.
    pub region: &'a Region<D>,
}

/// What the parameters of a function must be.
pub struct Params<'a> {
    /// The number of the rule.
    pub rule: &'static str,
    /// What the function is called.
    pub of: &'a str,
    /// Their types.
    pub types: &'a [ScalarType],
}

/// Checks a function; returns the types of its results.
pub fn code<R: Rules>(
    code: Code<'_, R::Dialect>,
    params: Params<'_>,
    rules: &R,
    site: &Site,
    limits: &RunLimits,
) -> Result<Vec<ScalarType>> {
    let Code { types, literals, region } = code;
    let (visible, defined) = (vec![false; types.len()], vec![false; types.len()]);
    let left = NODES_PER_LIMIT_CHECK;
    let mut scope = Scope { types, rules, visible, defined, site: site.clone(), limits, left };
    let got = scope.types_of(&region.params)?;
    site.types(params.rule, &format!("the parameters of `{}`", params.of), &got, params.types)?;
    for (v, l) in literals {
        scope.define(*v)?;
        site.types(R::TYPED, "a constant", &scope.types_of(&[*v])?, &[l.ty])?;
    }
    scope.region(region)
}

/// What a function may read, and how its values are defined so far.
struct Scope<'a, R> {
    types: &'a [ScalarType],
    rules: &'a R,
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

impl<R: Rules> Scope<'_, R> {
    fn ty(&self, v: Val) -> Result<ScalarType> {
        match self.visible.get(v.index()) {
            Some(true) => Ok(self.types[v.index()]),
            Some(false) => {
                self.site.fail(R::DEFINED, format!("{v} is used before it is defined, or outside its region"))
            }
            None => self.site.fail(R::DEFINED, format!("{v} is not in the type table")),
        }
    }

    /// The types of values that need not be visible.
    fn types_of(&self, vals: &[Val]) -> Result<Vec<ScalarType>> {
        let ty = |v: &Val| match self.types.get(v.index()) {
            Some(t) => Ok(*t),
            None => self.site.fail(R::DEFINED, format!("{v} is not in the type table")),
        };
        vals.iter().map(ty).collect()
    }

    fn define(&mut self, v: Val) -> Result {
        match self.defined.get(v.index()) {
            None => return self.site.fail(R::DEFINED, format!("{v} is not in the type table")),
            Some(true) => return self.site.fail(R::DEFINED, format!("{v} is defined twice")),
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
    fn region(&mut self, r: &Region<R::Dialect>) -> Result<Vec<ScalarType>> {
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
        for &v in r.params.iter().chain(r.nodes.iter().flat_map(|n| &n.results)) {
            self.visible[v.index()] = false;
        }
        Ok(types)
    }

    fn node(&mut self, n: &Node<R::Dialect>) -> Result {
        let operands = n.op.operands().iter().map(|&v| self.ty(v)).collect::<Result<Vec<_>>>()?;
        let results = self.types_of(&n.results)?;
        let site = self.site.clone();
        self.rules.node(&site, n)?;
        let one = |rule| match results[..] {
            [t] => Ok(t),
            _ => site.fail(rule, format!("{:?} defines {} values, not one", n.op, results.len())),
        };
        match &n.op {
            ScalarOp::Const(l) => site.types(R::TYPED, "a constant", &results, &[(*l).into().ty]),
            ScalarOp::Prim(p, v) => {
                site.check(v.len() == p.arity(), R::TYPED, || format!("`{}` takes {} operands", p.name(), p.arity()))?;
                let t = operands[0];
                site.check(p.domain().contains(t) && operands.iter().all(|&o| o == t), R::TYPED, || {
                    format!("`{}` does not take operands of types {operands:?}", p.name())
                })?;
                site.types(R::TYPED, p.name(), &results, &[p.result_type(t)])
            }
            ScalarOp::Cast(_) => {
                let to = one(R::TYPED)?;
                site.check(cast_exists(operands[0], to), R::TYPED, || format!("no cast from {} to {to}", operands[0]))
            }
            ScalarOp::Bitcast(_) => {
                let to = one(R::TYPED)?;
                site.check(bitcast_exists(operands[0], to), R::TYPED, || {
                    format!("no bitcast from {} to {to}", operands[0])
                })
            }
            ScalarOp::Select { .. } => {
                site.types(R::TYPED, "a select", &operands, &[ScalarType::Bool, operands[1], operands[1]])?;
                site.types(R::TYPED, "a select", &results, &operands[1..2])
            }
            ScalarOp::If { then, else_, .. } => {
                site.types(R::REGIONS, "the condition of an `if`", &operands, &[ScalarType::Bool])?;
                for r in [then, else_] {
                    site.check(r.params.is_empty(), R::REGIONS, || "a branch has parameters".into())?;
                    let got = self.region(r)?;
                    site.types(R::REGIONS, "a branch", &got, &results)?;
                }
                Ok(())
            }
            ScalarOp::While { test, step, .. } => {
                site.types(R::REGIONS, "the state of a loop", &operands, &results)?;
                for (r, want) in [(test, &[ScalarType::Bool][..]), (step, &results[..])] {
                    site.types(R::REGIONS, "a loop region's parameters", &self.types_of(&r.params)?, &results)?;
                    let got = self.region(r)?;
                    site.types(R::REGIONS, "a loop region", &got, want)?;
                }
                Ok(())
            }
            ScalarOp::Index(read) => self.rules.read(&site, read, &operands, &results),
            ScalarOp::Extent { array, axis } => {
                self.rules.extent(&site, array, *axis)?;
                site.types(R::TYPED, "an extent", &results, &[ScalarType::I64])
            }
            ScalarOp::Own(op) => {
                self.rules.own(&site, op, &operands, &results)?;
                for (r, want) in op.regions().into_iter().zip(self.rules.own_regions(op, &operands, &results)) {
                    let params = format!("the parameters of {}", want.name);
                    site.types(R::REGIONS, &params, &self.types_of(&r.params)?, &want.params)?;
                    let got = self.region(r)?;
                    site.types(R::REGIONS, want.name, &got, &want.results)?;
                }
                Ok(())
            }
        }
    }
}

/// The rules of programs, whose functions see these arrays.
pub(super) struct Arrays<'a>(pub &'a dyn Fn(ArrayId) -> Option<&'a ArrayType>);

impl<'a> Arrays<'a> {
    fn ty(&self, site: &Site, a: ArrayId) -> Result<&'a ArrayType> {
        match (self.0)(a) {
            Some(t) => Ok(t),
            None => site.fail("V1", format!("{} is used before it is defined, or outside its block", site.array(a))),
        }
    }
}

impl Rules for Arrays<'_> {
    type Dialect = Ir;
    const DEFINED: &'static str = "V1";
    const TYPED: &'static str = "V3";
    const REGIONS: &'static str = "V5";

    fn read(&self, site: &Site, read: &Read, operands: &[ScalarType], results: &[ScalarType]) -> Result {
        let ty = self.ty(site, read.array)?;
        let all = ty.elt.leaves();
        site.types("V3", "an index", operands, &vec![ScalarType::I64; ty.rank])?;
        let want = read.leaves.iter().map(|&l| all.get(l as usize).copied()).collect::<Option<Vec<_>>>();
        match want {
            Some(want) => site.types("V3", "an array read", results, &want),
            None => {
                let (array, leaf) = (site.array(read.array), read.leaves.iter().max().unwrap_or(&0));
                site.fail("V3", format!("{array} of type {ty} has no leaf {leaf}"))
            }
        }
    }

    fn extent(&self, site: &Site, array: &ArrayId, axis: u32) -> Result {
        let rank = self.ty(site, *array)?.rank;
        site.check((axis as usize) < rank, "V3", || format!("{} of rank {rank} has no axis {axis}", site.array(*array)))
    }

    fn own(&self, _: &Site, Foreign { .. }: &Foreign, _: &[ScalarType], _: &[ScalarType]) -> Result {
        Ok(())
    }

    fn own_regions(&self, _: &Foreign, operands: &[ScalarType], results: &[ScalarType]) -> Vec<OwnRegion> {
        let floats = |types: &[ScalarType]| types.iter().copied().filter(|t| t.is_float()).collect::<Vec<_>>();
        let partials = floats(operands).repeat(floats(results).len());
        vec![
            OwnRegion { name: "a fallback", params: operands.to_vec(), results: results.to_vec() },
            OwnRegion { name: "partial derivatives", params: [operands, results].concat(), results: partials },
        ]
    }
}
