//! Writing scalar functions node by node.

use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{ArrayId, Fun, Loc, Node, PrimOp, Read, Region, ScalarOp, Val, Vals};

/// A scalar function in the making.
pub(super) struct Code {
    fun: Fun,
    loc: Loc,
}

impl Code {
    pub(super) fn new(params: impl IntoIterator<Item = ScalarType>, loc: &Loc) -> Code {
        let types: Vec<ScalarType> = params.into_iter().collect();
        let params = (0..types.len() as u32).map(Val).collect();
        Code { fun: Fun { types, body: Region { params, nodes: Vec::new(), results: Vec::new() } }, loc: loc.clone() }
    }

    pub(super) fn params(&self) -> Vec<Val> {
        self.fun.body.params.clone()
    }

    pub(super) fn done(mut self, results: impl IntoIterator<Item = Val>) -> Fun {
        self.fun.body.results = results.into_iter().collect();
        self.fun
    }

    pub(super) fn fresh(&mut self, types: &[ScalarType]) -> Vec<Val> {
        types.iter().map(|t| self.fun.new_val(*t)).collect()
    }

    pub(super) fn node(&self, results: impl IntoIterator<Item = Val>, op: ScalarOp) -> Node {
        Node { results: results.into_iter().collect::<Vals>(), op, loc: self.loc.clone() }
    }

    pub(super) fn emit_all(&mut self, op: ScalarOp, types: &[ScalarType]) -> Vec<Val> {
        let results = self.fresh(types);
        self.fun.body.nodes.push(self.node(results.iter().copied(), op));
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

    pub(super) fn prim(&mut self, p: PrimOp, args: [Val; 2]) -> Val {
        let ty = p.result_type(self.fun.ty(args[0]));
        self.emit(ScalarOp::Prim(p, args.into_iter().collect()), ty)
    }

    pub(super) fn extent(&mut self, array: ArrayId, axis: usize) -> Val {
        self.emit(ScalarOp::Extent { array, axis: axis as u32 }, ScalarType::I64)
    }

    /// An element of an array of `i64`.
    pub(super) fn element(&mut self, array: ArrayId, index: &[Val]) -> Val {
        self.emit(ScalarOp::Index(Read::new(array, [0].as_slice(), index)), ScalarType::I64)
    }

    /// How many segments there are.
    pub(super) fn count(&mut self, offsets: ArrayId) -> Val {
        let (n, one) = (self.extent(offsets, 0), self.int(1));
        self.prim(PrimOp::SubP, [n, one])
    }

    /// Where a segment begins, and where it ends.
    pub(super) fn segment(&mut self, offsets: ArrayId, k: Val) -> (Val, Val) {
        let (start, one) = (self.element(offsets, &[k]), self.int(1));
        let next = self.prim(PrimOp::AddP, [k, one]);
        (start, self.element(offsets, &[next]))
    }

    /// The nodes of a function of these arguments, and its results.
    pub(super) fn apart(&mut self, f: &Fun, args: &[Val]) -> (Vec<Node>, Vec<Val>) {
        let base = self.fun.types.len() as u32;
        self.fun.types.extend(&f.types);
        let at = |v: Val| match f.body.params.iter().position(|p| *p == v) {
            Some(k) => args[k],
            None => Val(base + v.0),
        };
        let body = f.body.map(&mut |a| *a, &mut |v| at(v));
        (body.nodes.clone(), body.results.clone())
    }

    /// The results of a function of these arguments, evaluated here.
    pub(super) fn inline(&mut self, f: &Fun, args: &[Val]) -> Vec<Val> {
        let (nodes, results) = self.apart(f, args);
        self.fun.body.nodes.extend(nodes);
        results
    }

    pub(super) fn choice(&mut self, cond: Val, then: Region, else_: Region, types: &[ScalarType]) -> Vec<Val> {
        self.emit_all(ScalarOp::If { cond, then, else_ }, types)
    }
}
