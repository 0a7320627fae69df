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

    /// The last element of an array of `i64`.
    pub(super) fn last(&mut self, xs: ArrayId) -> Val {
        let last = self.count(xs);
        self.element(xs, &[last])
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

    /// A region of its own: its parameters, and the results of what is written in it.
    pub(super) fn region(
        &mut self,
        params: &[ScalarType],
        write: impl FnOnce(&mut Code, &[Val]) -> Vec<Val>,
    ) -> Region {
        let params = self.fresh(params);
        let outer = std::mem::take(&mut self.fun.body.nodes);
        let results = write(self, &params);
        let nodes = std::mem::replace(&mut self.fun.body.nodes, outer);
        Region { params: params.into_iter().collect(), nodes, results: results.into_iter().collect() }
    }

    /// The state after a loop that counts from one number to below another; `step` maps a number and the state to the next state.
    pub(super) fn counted(
        &mut self,
        [from, to]: [Val; 2],
        state: &[Val],
        step: impl FnOnce(&mut Code, Val, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let init: Vals = std::iter::once(from).chain(state.iter().copied()).collect();
        let types: Vec<ScalarType> = init.iter().map(|&v| self.fun.ty(v)).collect();
        let test = self.region(&types, |c, now| vec![c.prim(PrimOp::LtP, [now[0], to])]);
        let step = self.region(&types, |c, now| {
            let next = step(c, now[0], &now[1..]);
            let one = c.int(1);
            std::iter::once(c.prim(PrimOp::AddP, [now[0], one])).chain(next).collect()
        });
        self.emit_all(ScalarOp::While { init, test, step }, &types).split_off(1)
    }

    pub(super) fn choice(&mut self, cond: Val, then: Region, else_: Region, types: &[ScalarType]) -> Vec<Val> {
        self.emit_all(ScalarOp::If { cond, then, else_ }, types)
    }
}
