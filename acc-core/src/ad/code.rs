//! Writing scalar functions.

use super::Arithmetic;
use crate::data::{Lit, Prim, ScalarType};
use crate::eval::eval_cast;
use crate::grow_stack;
use crate::ir::{Fun, Ir, Loc, Node, PrimOp, Programs, Read, Region, ScalarOp, Val, Vals};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// A scalar function in the making: regions inside one another, of which the innermost is written.
#[derive(Clone)]
pub struct Code<D: Programs = Ir> {
    /// The types of all values.
    pub types: Vec<ScalarType>,
    params: Vec<Val>,
    /// The nodes of the region at hand, and of those around it.
    nodes: Vec<Vec<Node<D>>>,
    /// Where the user wrote what is written.
    pub loc: Loc,
    /// Literals that are numbers other than 0 and the infinities, and whether they are 1.
    ordinary: HashMap<Val, bool>,
    /// The reciprocals of values, of those written outside of regions inside.
    reciprocals: HashMap<Val, Val>,
}

impl<D: Programs> Code<D> {
    /// A function of these parameters.
    pub fn new(params: impl IntoIterator<Item = ScalarType>, loc: &Loc) -> Code<D> {
        let types: Vec<ScalarType> = params.into_iter().collect();
        let params = (0..types.len() as u32).map(Val).collect();
        Code { params, ..Code::of_values(types, loc) }
    }

    /// A function of an index.
    pub fn of_index(rank: usize, loc: &Loc) -> Code<D> {
        Code::new(vec![ScalarType::I64; rank], loc)
    }

    /// A function in the making with the values of this one, of which no node is written yet.
    pub fn of_function(f: &Fun<D>, loc: &Loc) -> Code<D> {
        Code { params: f.body.params.clone(), ..Code::of_values(f.types.clone(), loc) }
    }

    /// Nodes in the making, of a function with these values so far.
    pub fn of_values(types: Vec<ScalarType>, loc: &Loc) -> Code<D> {
        Code {
            types,
            params: Vec::new(),
            nodes: vec![Vec::new()],
            loc: loc.clone(),
            ordinary: HashMap::new(),
            reciprocals: HashMap::new(),
        }
    }

    /// The nodes written.
    pub fn take(&mut self) -> Vec<Node<D>> {
        std::mem::replace(&mut self.nodes, vec![Vec::new()]).into_iter().flatten().collect()
    }

    /// Takes these parameters in place of those so far.
    pub fn set_params(&mut self, params: Vec<Val>) {
        self.params = params;
    }

    /// Its parameters.
    pub fn params(&self) -> Vec<Val> {
        self.params.clone()
    }

    /// One more parameter.
    pub fn param(&mut self, ty: ScalarType) -> Val {
        let v = self.fresh(ty);
        self.params.push(v);
        v
    }

    /// A new value, which no node defines yet.
    pub fn fresh(&mut self, ty: ScalarType) -> Val {
        self.types.push(ty);
        Val(self.types.len() as u32 - 1)
    }

    /// The type of a value.
    pub fn ty(&self, v: Val) -> ScalarType {
        self.types[v.index()]
    }

    /// The function of these results, without what they do not need.
    pub fn done(self, results: impl IntoIterator<Item = Val>) -> Fun<D> {
        let nodes = self.nodes.into_iter().flatten().collect();
        let mut body = Region { params: self.params, nodes, results: results.into_iter().collect() };
        prune(&mut body);
        Fun { types: self.types, body }
    }

    /// Starts a region inside.
    pub fn open(&mut self) {
        self.nodes.push(Vec::new());
    }

    /// Ends it.
    pub fn close(&mut self, params: Vec<Val>, results: Vec<Val>) -> Region<D> {
        Region { params, nodes: self.nodes.pop().unwrap_or_default(), results }
    }

    /// A node with results that exist already.
    pub fn push(&mut self, node: Node<D>) {
        if let (ScalarOp::Const(l), [v]) = (&node.op, &node.results[..])
            && is_ordinary(*l)
        {
            self.ordinary.insert(*v, *l == Lit::one(l.ty));
        }
        if let (ScalarOp::Prim(PrimOp::DivP, args), [v]) = (&node.op, &node.results[..])
            && self.nodes.len() == 1
            && self.is_one(&args[0])
        {
            self.reciprocals.insert(args[1], *v);
        }
        if let Some(nodes) = self.nodes.last_mut() {
            nodes.push(node);
        }
    }

    /// A node with results of these types.
    pub fn emit_all(&mut self, op: ScalarOp<D>, types: &[ScalarType]) -> Vec<Val> {
        let results: Vec<Val> = types.iter().map(|ty| self.fresh(*ty)).collect();
        self.push(Node { results: results.iter().copied().collect::<Vals>(), op, loc: self.loc.clone() });
        results
    }

    /// A node with one result.
    pub fn emit(&mut self, op: ScalarOp<D>, ty: ScalarType) -> Val {
        self.emit_all(op, &[ty])[0]
    }

    /// A literal.
    pub fn literal(&mut self, l: Lit) -> Val {
        self.emit(ScalarOp::Const(l), l.ty)
    }

    /// An integer literal.
    pub fn int(&mut self, n: i64) -> Val {
        self.literal(n.lit())
    }

    /// A boolean literal.
    pub fn truth(&mut self, b: bool) -> Val {
        self.literal(b.lit())
    }

    /// Zero, of a value's type.
    pub fn zero_like(&mut self, v: Val) -> Val {
        self.literal(Lit::zero(self.ty(v)))
    }

    /// Zeros of these types.
    pub fn zeros(&mut self, types: &[ScalarType]) -> Vec<Val> {
        types.iter().map(|ty| self.literal(Lit::zero(*ty))).collect()
    }

    /// A primitive operation.
    pub fn op(&mut self, op: PrimOp, args: &[Val]) -> Val {
        let ty = op.result_type(self.ty(args[0]));
        self.emit(ScalarOp::Prim(op, args.iter().copied().collect()), ty)
    }

    /// A primitive operation of two operands.
    pub fn two(&mut self, op: PrimOp, a: Val, b: Val) -> Val {
        self.op(op, &[a, b])
    }

    /// One of two values.
    pub fn choose(&mut self, cond: Val, then: Val, else_: Val) -> Val {
        let ty = self.ty(then);
        self.emit(ScalarOp::Select { cond, then, else_ }, ty)
    }

    /// A value converted to a type, unless it is of that type.
    pub fn cast(&mut self, v: Val, ty: ScalarType) -> Val {
        if self.ty(v) == ty { v } else { self.emit(ScalarOp::Cast(v), ty) }
    }

    /// The extent of an array along an axis.
    pub fn extent(&mut self, array: D::Array, axis: usize) -> Val {
        self.emit(ScalarOp::Extent { array, axis: axis as u32 }, ScalarType::I64)
    }

    /// All leaves of an element of an array.
    pub fn read(&mut self, array: D::Array, leaves: &[ScalarType], index: &[Val]) -> Vec<Val> {
        let all: SmallVec<[u32; 4]> = (0..leaves.len() as u32).collect();
        let op = ScalarOp::Index(Read::new(array, all, SmallVec::from(index)));
        self.emit_all(op, leaves)
    }

    /// A conditional: `then` and `else_` write the branches and yield their results.
    pub fn branch(
        &mut self,
        cond: Val,
        types: &[ScalarType],
        then: impl FnOnce(&mut Code<D>) -> Vec<Val>,
        else_: impl FnOnce(&mut Code<D>) -> Vec<Val>,
    ) -> Vec<Val> {
        self.open();
        let results = then(self);
        let then = self.close(Vec::new(), results);
        self.open();
        let results = else_(self);
        let else_ = self.close(Vec::new(), results);
        self.emit_all(ScalarOp::If { cond, then, else_ }, types)
    }

    /// A loop: `test` and `step` write its regions, of the state, and yield whether it goes on and the next state.
    pub fn while_(
        &mut self,
        init: &[Val],
        test: impl FnOnce(&mut Code<D>, &[Val]) -> Val,
        step: impl FnOnce(&mut Code<D>, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let types: Vec<ScalarType> = init.iter().map(|v| self.ty(*v)).collect();
        let state = |c: &mut Code<D>| types.iter().map(|ty| c.fresh(*ty)).collect::<Vec<Val>>();
        let params = state(self);
        self.open();
        let more = test(self, &params);
        let test = self.close(params, vec![more]);
        let params = state(self);
        self.open();
        let next = step(self, &params);
        let step = self.close(params, next);
        self.emit_all(ScalarOp::While { init: init.iter().copied().collect(), test, step }, &types)
    }

    /// All leaves of an element of an array where a condition holds, zeros elsewhere.
    pub fn read_where(&mut self, cond: Val, array: D::Array, leaves: &[ScalarType], index: &[Val]) -> Vec<Val> {
        self.branch(cond, leaves, |c| c.read(array, leaves, index), |c| c.zeros(leaves))
    }

    /// Whether an index is within the extents of an array.
    pub fn within(&mut self, array: &D::Array, index: &[Val]) -> Val {
        let mut all = self.truth(true);
        for (axis, i) in index.iter().enumerate() {
            let both = self.within_axis(array, axis, *i);
            all = self.two(PrimOp::AndP, all, both);
        }
        all
    }

    /// Whether a position is within the extent of an axis.
    pub fn within_axis(&mut self, array: &D::Array, axis: usize, at: Val) -> Val {
        let (n, zero) = (self.extent(array.clone(), axis), self.int(0));
        let (low, high) = (self.two(PrimOp::GeP, at, zero), self.two(PrimOp::LtP, at, n));
        self.two(PrimOp::AndP, low, high)
    }

    /// The results of a function of these arguments, evaluated here.
    pub fn inline(&mut self, f: &Fun<D>, args: &[Val]) -> Vec<Val> {
        let mut names: HashMap<Val, Val> = f.body.params.iter().copied().zip(args.iter().copied()).collect();
        for (k, ty) in f.types.iter().enumerate() {
            names.entry(Val(k as u32)).or_insert_with(|| {
                self.types.push(*ty);
                Val(self.types.len() as u32 - 1)
            });
        }
        let body = f.body.map(&mut |a| a.clone(), &mut |v| names.get(&v).copied().unwrap_or(v));
        body.nodes.iter().for_each(|n| self.push(n.clone()));
        body.results.clone()
    }

    /// A copy of a region with new values for all that it defines.
    pub fn copy(&mut self, r: &Region<D>) -> Region<D> {
        let mut names: HashMap<Val, Val> = HashMap::new();
        for v in defined(r) {
            names.insert(v, self.fresh(self.ty(v)));
        }
        r.map(&mut |a| a.clone(), &mut |v| names.get(&v).copied().unwrap_or(v))
    }

    /// The results of a region of these arguments, evaluated here once more.
    pub fn placed(&mut self, r: &Region<D>, args: &[Val]) -> Vec<Val> {
        let copied = self.copy(r);
        let names: HashMap<Val, Val> = copied.params.iter().copied().zip(args.iter().copied()).collect();
        let body = copied.map(&mut |a| a.clone(), &mut |v| names.get(&v).copied().unwrap_or(v));
        body.nodes.iter().for_each(|n| self.push(n.clone()));
        body.results.clone()
    }

    /// A copy of a node with new results, and new values for all that its regions define.
    pub fn copy_node(&mut self, n: &Node<D>) -> Node<D> {
        let whole = Region { params: Vec::new(), nodes: vec![n.clone()], results: Vec::new() };
        let mut copied = self.copy(&whole);
        copied.nodes.pop().unwrap_or_else(|| n.clone())
    }
}

/// All values that a region defines, those of regions inside included.
pub fn defined<D: Programs>(r: &Region<D>) -> Vec<Val> {
    let mut out = r.params.clone();
    r.visit(0, &mut |n, _| {
        out.extend(n.results.iter().copied());
        out.extend(n.op.regions().into_iter().flat_map(|r| r.params.iter().copied()));
    });
    out
}

/// The values of the regions around that a region uses, each once.
pub fn used_from_around<D: Programs>(r: &Region<D>) -> Vec<Val> {
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
fn prune<D: Programs>(r: &mut Region<D>) {
    fn uses<D: Programs>(r: &Region<D>, needed: &mut HashSet<Val>) {
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

impl<D: Programs> Arithmetic for Code<D> {
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
        self.ordinary.contains_key(x)
    }
    fn is_one(&self, x: &Val) -> bool {
        self.ordinary.get(x) == Some(&true)
    }
    fn reciprocal(&self, x: &Val) -> Option<Val> {
        self.reciprocals.get(x).copied()
    }
}

/// What cannot fail.
pub fn sure<T>(r: Result<T, Infallible>) -> T {
    match r {
        Ok(x) => x,
    }
}
