//! Writing scalar functions.

use acc_core::ad::Arithmetic;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::eval::eval_cast;
use acc_core::grow_stack;
use acc_core::ir::{ArrayId, Fun, Loc, Node, PrimOp, Region, ScalarOp, Val, Vals};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// A scalar function in the making: regions inside one another, of which the innermost is written.
#[derive(Clone)]
pub(super) struct Code {
    pub(super) types: Vec<ScalarType>,
    params: Vec<Val>,
    /// The nodes of the region at hand, and of those around it.
    nodes: Vec<Vec<Node>>,
    /// Where the user wrote what is written.
    pub(super) loc: Loc,
    /// Literals that are numbers other than 0 and the infinities.
    ordinary: HashSet<Val>,
}

impl Code {
    /// A function of these parameters.
    pub(super) fn new(params: impl IntoIterator<Item = ScalarType>, loc: &Loc) -> Code {
        let types: Vec<ScalarType> = params.into_iter().collect();
        let params = (0..types.len() as u32).map(Val).collect();
        Code { types, params, nodes: vec![Vec::new()], loc: loc.clone(), ordinary: HashSet::new() }
    }

    /// A function of an index.
    pub(super) fn of_index(rank: usize, loc: &Loc) -> Code {
        Code::new(vec![ScalarType::I64; rank], loc)
    }

    /// A function in the making with the values of this one, of which no node is written yet.
    pub(super) fn of_function(f: &Fun, loc: &Loc) -> Code {
        Code {
            types: f.types.clone(),
            params: f.body.params.clone(),
            nodes: vec![Vec::new()],
            loc: loc.clone(),
            ordinary: HashSet::new(),
        }
    }

    /// Takes these parameters in place of those so far.
    pub(super) fn set_params(&mut self, params: Vec<Val>) {
        self.params = params;
    }

    pub(super) fn params(&self) -> Vec<Val> {
        self.params.clone()
    }

    /// One more parameter.
    pub(super) fn param(&mut self, ty: ScalarType) -> Val {
        let v = self.fresh(ty);
        self.params.push(v);
        v
    }

    pub(super) fn fresh(&mut self, ty: ScalarType) -> Val {
        self.types.push(ty);
        Val(self.types.len() as u32 - 1)
    }

    pub(super) fn ty(&self, v: Val) -> ScalarType {
        self.types[v.index()]
    }

    /// The function of these results, without what they do not need.
    pub(super) fn done(self, results: impl IntoIterator<Item = Val>) -> Fun {
        let nodes = self.nodes.into_iter().flatten().collect();
        let mut body = Region { params: self.params, nodes, results: results.into_iter().collect() };
        prune(&mut body);
        Fun { types: self.types, body }
    }

    /// Starts a region inside.
    pub(super) fn open(&mut self) {
        self.nodes.push(Vec::new());
    }

    /// Ends it.
    pub(super) fn close(&mut self, params: Vec<Val>, results: Vec<Val>) -> Region {
        Region { params, nodes: self.nodes.pop().unwrap_or_default(), results }
    }

    /// A node with results that exist already.
    pub(super) fn push(&mut self, node: Node) {
        if let (ScalarOp::Const(l), [v]) = (&node.op, &node.results[..])
            && is_ordinary(*l)
        {
            self.ordinary.insert(*v);
        }
        if let Some(nodes) = self.nodes.last_mut() {
            nodes.push(node);
        }
    }

    pub(super) fn emit_all(&mut self, op: ScalarOp, types: &[ScalarType]) -> Vec<Val> {
        let results: Vec<Val> = types.iter().map(|ty| self.fresh(*ty)).collect();
        self.push(Node { results: results.iter().copied().collect::<Vals>(), op, loc: self.loc.clone() });
        results
    }

    pub(super) fn emit(&mut self, op: ScalarOp, ty: ScalarType) -> Val {
        self.emit_all(op, &[ty])[0]
    }

    pub(super) fn literal(&mut self, l: Lit) -> Val {
        self.emit(ScalarOp::Const(l), l.ty)
    }

    pub(super) fn int(&mut self, n: i64) -> Val {
        self.literal(n.lit())
    }

    pub(super) fn truth(&mut self, b: bool) -> Val {
        self.literal(b.lit())
    }

    pub(super) fn zero_like(&mut self, v: Val) -> Val {
        self.literal(Lit::zero(self.ty(v)))
    }

    pub(super) fn op(&mut self, op: PrimOp, args: &[Val]) -> Val {
        let ty = op.result_type(self.ty(args[0]));
        self.emit(ScalarOp::Prim(op, args.iter().copied().collect()), ty)
    }

    pub(super) fn two(&mut self, op: PrimOp, a: Val, b: Val) -> Val {
        self.op(op, &[a, b])
    }

    pub(super) fn choose(&mut self, cond: Val, then: Val, else_: Val) -> Val {
        let ty = self.ty(then);
        self.emit(ScalarOp::Select { cond, then, else_ }, ty)
    }

    pub(super) fn cast(&mut self, v: Val, ty: ScalarType) -> Val {
        if self.ty(v) == ty { v } else { self.emit(ScalarOp::Cast(v), ty) }
    }

    pub(super) fn extent(&mut self, array: ArrayId, axis: usize) -> Val {
        self.emit(ScalarOp::Extent { array, axis: axis as u32 }, ScalarType::I64)
    }

    /// All leaves of an element of an array.
    pub(super) fn read(&mut self, array: ArrayId, leaves: &[ScalarType], index: &[Val]) -> Vec<Val> {
        let op = ScalarOp::Index {
            array,
            leaves: (0..leaves.len() as u32).collect(),
            index: index.iter().copied().collect(),
        };
        self.emit_all(op, leaves)
    }

    /// A conditional: `then` and `else_` write the branches and yield their results.
    pub(super) fn branch(
        &mut self,
        cond: Val,
        types: &[ScalarType],
        then: impl FnOnce(&mut Code) -> Vec<Val>,
        else_: impl FnOnce(&mut Code) -> Vec<Val>,
    ) -> Vec<Val> {
        self.open();
        let results = then(self);
        let then = self.close(Vec::new(), results);
        self.open();
        let results = else_(self);
        let else_ = self.close(Vec::new(), results);
        self.emit_all(ScalarOp::If { cond, then, else_ }, types)
    }

    /// Whether an index is within the extents of an array.
    pub(super) fn within(&mut self, array: ArrayId, index: &[Val]) -> Val {
        let mut all = self.truth(true);
        for (axis, i) in index.iter().enumerate() {
            let (n, zero) = (self.extent(array, axis), self.int(0));
            let (low, high) = (self.two(PrimOp::GeP, *i, zero), self.two(PrimOp::LtP, *i, n));
            let both = self.two(PrimOp::AndP, low, high);
            all = self.two(PrimOp::AndP, all, both);
        }
        all
    }

    /// The results of a function of these arguments, evaluated here.
    pub(super) fn inline(&mut self, f: &Fun, args: &[Val]) -> Vec<Val> {
        let mut names: HashMap<Val, Val> = f.body.params.iter().copied().zip(args.iter().copied()).collect();
        for (k, ty) in f.types.iter().enumerate() {
            names.entry(Val(k as u32)).or_insert_with(|| {
                self.types.push(*ty);
                Val(self.types.len() as u32 - 1)
            });
        }
        let body = f.body.map(&mut |a| *a, &mut |v| names.get(&v).copied().unwrap_or(v));
        body.nodes.iter().for_each(|n| self.push(n.clone()));
        body.results.clone()
    }

    /// A copy of a region with new values for all that it defines.
    pub(super) fn copy(&mut self, r: &Region) -> Region {
        let mut names: HashMap<Val, Val> = HashMap::new();
        for v in defined(r) {
            names.insert(v, self.fresh(self.ty(v)));
        }
        r.map(&mut |a| *a, &mut |v| names.get(&v).copied().unwrap_or(v))
    }

    /// A copy of a node with new results, and new values for all that its regions define.
    pub(super) fn copy_node(&mut self, n: &Node) -> Node {
        let whole = Region { params: Vec::new(), nodes: vec![n.clone()], results: Vec::new() };
        let mut copied = self.copy(&whole);
        copied.nodes.pop().unwrap_or_else(|| n.clone())
    }
}

/// All values that a region defines, those of regions inside included.
pub(super) fn defined(r: &Region) -> Vec<Val> {
    let mut out = r.params.clone();
    r.visit(0, &mut |n, _| {
        out.extend(n.results.iter().copied());
        out.extend(n.op.regions().into_iter().flat_map(|r| r.params.iter().copied()));
    });
    out
}

/// The values of the regions around that a region uses, each once.
pub(super) fn used_from_around(r: &Region) -> Vec<Val> {
    let own: HashSet<Val> = defined(r).into_iter().collect();
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    let mut note = |v: Val| {
        if !own.contains(&v) && seen.insert(v) {
            out.push(v);
        }
    };
    r.visit(0, &mut |n, _| {
        n.op.operands().into_iter().for_each(&mut note);
        n.op.regions().into_iter().flat_map(|r| r.results.clone()).for_each(&mut note);
    });
    r.results.iter().copied().for_each(&mut note);
    out
}

/// Removes nodes that the results do not need.
fn prune(r: &mut Region) {
    fn uses(r: &Region, needed: &mut HashSet<Val>) {
        needed.extend(r.results.iter().copied());
        r.visit(0, &mut |n, _| {
            needed.extend(n.op.operands());
            needed.extend(n.op.regions().into_iter().flat_map(|r| r.results.iter().copied()));
        });
    }
    let mut needed: HashSet<Val> = r.results.iter().copied().collect();
    let mut kept = Vec::new();
    for n in std::mem::take(&mut r.nodes).into_iter().rev() {
        if n.results.iter().any(|v| needed.contains(v)) {
            needed.extend(n.op.operands());
            for inner in n.op.regions() {
                grow_stack(|| uses(inner, &mut needed));
            }
            kept.push(n);
        }
    }
    kept.reverse();
    r.nodes = kept;
}

fn is_ordinary(l: Lit) -> bool {
    let number = eval_cast(l, ScalarType::F64).ok().filter(|_| l.ty.is_float()).and_then(|l| l.get::<f64>());
    number.is_some_and(|x| x.is_finite() && x != 0.0)
}

impl Arithmetic for Code {
    type Value = Val;
    type Error = Infallible;

    fn ty(&self, x: &Val) -> ScalarType {
        self.types[x.index()]
    }
    fn literal(&mut self, l: Lit) -> Val {
        Code::literal(self, l)
    }
    fn prim(&mut self, op: PrimOp, args: &[Val]) -> Result<Val, Infallible> {
        Ok(self.op(op, args))
    }
    fn select(&mut self, cond: &Val, then: &Val, else_: &Val) -> Result<Val, Infallible> {
        Ok(self.choose(*cond, *then, *else_))
    }
    fn is_ordinary(&self, x: &Val) -> bool {
        self.ordinary.contains(x)
    }
}

/// What cannot fail.
pub(super) fn sure<T>(r: Result<T, Infallible>) -> T {
    match r {
        Ok(x) => x,
    }
}
