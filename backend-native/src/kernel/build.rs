//! Builds bodies: inlines scalar functions, tracks which values are affine in an axis, removes dead nodes.

use super::access::{Affine, Index, Sum, Sums, is_small};
use super::{Body, Ix, KernelOp, Load, Node, Op, OpExt as _, Region};
use acc_core::Error;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, Foreign, Fun, Loc, PrimOp, Read, ScalarOp, Val, Vals};
use acc_desugar::analysis::access::Numbers as _;
use acc_desugar::analysis::cost::prim_cost;
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};

/// Arrays that are computed where they are read.
pub(crate) trait Reads {
    /// The leaves of an array's element; none if it is loaded.
    fn element(&mut self, b: &mut Builder, array: ArrayId, index: &[Val]) -> Result<Option<Vec<Val>>, Error>;
}

/// All arrays are loaded.
pub(crate) struct Loads;

impl Reads for Loads {
    fn element(&mut self, _: &mut Builder, _: ArrayId, _: &[Val]) -> Result<Option<Vec<Val>>, Error> {
        Ok(None)
    }
}

/// A region under construction, whose values are visible in it and in inner regions.
struct Open {
    id: usize,
    nodes: Vec<Node>,
}

/// Builds one body. An operation that is available already, in this region or one around it, is reused.
pub(crate) struct Builder {
    types: Vec<ScalarType>,
    uniform: Vec<bool>,
    consts: Vec<(Val, Lit)>,
    const_of: HashMap<Lit, Val>,
    literal: HashMap<Val, Lit>,
    indices: HashMap<Val, Index>,
    /// The operands of differences.
    differences: HashMap<Val, [Val; 2]>,
    stack: Vec<Open>,
    regions: usize,
    done: HashMap<(Op, SmallVec<[ScalarType; 4]>), (usize, Vals)>,
    params: Vec<Val>,
    loc: Loc,
}

impl Builder {
    /// A body with one `i64` parameter per axis.
    pub(crate) fn over_axes(axes: usize, loc: Loc) -> Builder {
        let mut b = Builder::with_params(&vec![ScalarType::I64; axes], loc);
        for (axis, v) in (0..).zip(b.params.clone()) {
            b.indices.insert(v, Index::Affine(Affine::along(axis, Sum::default(), Sums.literal(1))));
        }
        b
    }

    /// A body with one `i64` parameter per axis, then these.
    pub(crate) fn over_axes_and(axes: usize, params: &[ScalarType], loc: Loc) -> Builder {
        let mut b = Builder::over_axes(axes, loc);
        for &ty in params {
            let v = b.value(ty, false);
            b.params.push(v);
        }
        b
    }

    /// A body with these parameters, none of them an axis.
    pub(crate) fn with_params(params: &[ScalarType], loc: Loc) -> Builder {
        let mut b = Builder {
            types: Vec::new(),
            uniform: Vec::new(),
            consts: Vec::new(),
            const_of: HashMap::new(),
            literal: HashMap::new(),
            indices: HashMap::new(),
            differences: HashMap::new(),
            stack: vec![Open { id: 0, nodes: Vec::new() }],
            regions: 1,
            done: HashMap::new(),
            params: Vec::new(),
            loc,
        };
        b.params = params.iter().map(|&t| b.value(t, false)).collect();
        b
    }

    pub(crate) fn params(&self) -> Vec<Val> {
        self.params.clone()
    }

    /// Sets the location of what is emitted next, if `loc` is known.
    pub(crate) fn at(&mut self, loc: &Loc) {
        if loc.is_known() {
            self.loc = loc.clone();
        }
    }

    fn value(&mut self, ty: ScalarType, uniform: bool) -> Val {
        self.types.push(ty);
        self.uniform.push(uniform);
        Val(self.types.len() as u32 - 1)
    }

    pub(crate) fn constant(&mut self, l: Lit) -> Val {
        if let Some(&v) = self.const_of.get(&l) {
            return v;
        }
        let v = self.value(l.ty, true);
        self.const_of.insert(l, v);
        self.literal.insert(v, l);
        self.consts.push((v, l));
        v
    }

    /// Emits a node; the types of its results.
    pub(crate) fn emit(&mut self, op: Op, types: &[ScalarType]) -> Vals {
        let op = self.of_known_difference(op);
        let key = is_repeatable(&op).then(|| (op.clone(), SmallVec::from_slice(types)));
        if let Some((region, known)) = key.as_ref().and_then(|key| self.done.get(key))
            && self.is_open(*region)
        {
            return known.clone();
        }
        let uniform = self.op_is_uniform(&op);
        let results: Vals = types.iter().map(|&t| self.value(t, uniform)).collect();
        if let (Op::Prim(p, v), [r]) = (&op, &results[..])
            && !uniform
            && let Some(index) = self.index_prim(*p, v)
        {
            self.indices.insert(*r, index);
        }
        if let (Op::Prim(PrimOp::SubP, v), [r]) = (&op, &results[..]) {
            self.differences.insert(*r, [v[0], v[1]]);
        }
        let node = Node { results: results.clone(), op, loc: self.loc.clone() };
        if let Some(top) = self.stack.last_mut() {
            top.nodes.push(node);
        }
        if let Some(key) = key {
            self.done.insert(key, (self.region(), results.clone()));
        }
        results
    }

    /// The square or the absolute value of a difference as that of the opposite one, if that is available: distances of two
    /// points are computed once, whichever is subtracted. Both have the same bits.
    fn of_known_difference(&self, op: Op) -> Op {
        let x = match &op {
            Op::Prim(PrimOp::MulP, v) if v[0] == v[1] => v[0],
            Op::Prim(PrimOp::AbsP, v) if self.types[v[0].index()].is_float() => v[0],
            _ => return op,
        };
        let opposite = self.differences.get(&x).and_then(|&[a, b]| {
            let key = (Op::Prim(PrimOp::SubP, smallvec![b, a]), SmallVec::from_slice(&[self.types[x.index()]]));
            let (_, known) = self.done.get(&key).filter(|(region, _)| self.is_open(*region))?;
            known.first().copied().filter(|v| v.index() < x.index())
        });
        match (op, opposite) {
            (Op::Prim(p, v), Some(opposite)) => Op::Prim(p, v.iter().map(|_| opposite).collect()),
            (op, _) => op,
        }
    }

    /// The number of the innermost region that is open.
    pub(crate) fn region(&self) -> usize {
        self.stack.last().map_or(0, |r| r.id)
    }

    /// Whether the values of a region are visible here.
    pub(crate) fn is_open(&self, region: usize) -> bool {
        self.stack.iter().any(|r| r.id == region)
    }

    pub(crate) fn emit1(&mut self, op: Op, ty: ScalarType) -> Val {
        // One type gives one result.
        self.emit(op, &[ty])[0]
    }

    fn op_is_uniform(&self, op: &Op) -> bool {
        let mut uniform = op.index().iter().all(|i| matches!(i, Ix::At(_)));
        op.visit_operands(&mut |v| uniform &= self.uniform[v.index()]);
        let mut inside = HashSet::new();
        for r in op.regions() {
            if uniform {
                self.region_is_uniform(r, &mut inside, &mut uniform);
            }
        }
        uniform
    }

    /// Whether a region uses no varying value from outside.
    fn region_is_uniform(&self, r: &Region, inside: &mut HashSet<Val>, uniform: &mut bool) {
        inside.extend(&r.params);
        for n in &r.nodes {
            if !*uniform {
                return;
            }
            *uniform &= n.op.index().iter().all(|i| matches!(i, Ix::At(_)));
            n.op.visit_operands(&mut |v| *uniform &= self.uniform[v.index()] || inside.contains(&v));
            for r in n.op.regions() {
                acc_core::grow_stack(|| self.region_is_uniform(r, inside, uniform));
            }
            inside.extend(&n.results);
        }
        for v in &r.results {
            *uniform &= self.uniform[v.index()] || inside.contains(v);
        }
    }

    /// The index that a primitive operation yields.
    fn index_prim(&self, p: PrimOp, args: &[Val]) -> Option<Index> {
        if self.types[args.first()?.index()] != ScalarType::I64 {
            return None;
        }
        let operand = |v: &Val| match (self.indices.get(v), self.literal.get(v)) {
            (Some(index), _) => Some(index.clone()),
            (None, Some(l)) if is_small(l.bits as i64) => {
                Some(Index::Affine(Affine::uniform(Sums.literal(l.bits as i64))))
            }
            (None, _) => self.uniform[v.index()].then(|| Index::Affine(Affine::uniform(Sum::value(*v)))),
        };
        let operands: SmallVec<[Index; 2]> = args.iter().map(operand).collect::<Option<_>>()?;
        Index::prim(&mut Sums, p, &operands)
    }

    /// An index value in the form that loads take.
    pub(crate) fn ix(&self, v: Val) -> Ix {
        let Some(Index::Affine(a)) = self.indices.get(&v) else { return Ix::At(v) };
        let base = match a.base.terms[..] {
            [] => None,
            [(base, 1)] => Some(base),
            _ => return Ix::At(v),
        };
        match (&a.terms[..], a.base.offset) {
            ([t], offset) if t.step.terms.is_empty() && is_small(t.step.offset) && is_small(offset) => {
                Ix::Affine { axis: t.axis, scale: t.step.offset, offset, base }
            }
            _ => Ix::At(v),
        }
    }

    /// An index shifted by a constant.
    pub(crate) fn shifted(&mut self, v: Val, by: i64) -> Val {
        if by == 0 {
            return v;
        }
        let c = self.constant(Lit { ty: ScalarType::I64, bits: by as u64 });
        self.emit1(Op::Prim(PrimOp::AddP, smallvec![v, c]), ScalarType::I64)
    }

    /// All leaves of an array element.
    pub(crate) fn load(
        &mut self,
        array: ArrayId,
        types: &[ScalarType],
        index: &[Val],
        edge: Option<super::Edge>,
    ) -> Vals {
        let index = index.iter().map(|&v| self.ix(v)).collect();
        self.emit(Op::Index(Load { array, leaves: (0..types.len() as u32).collect(), index, edge }), types)
    }

    /// Opens a region.
    pub(crate) fn open(&mut self) {
        self.stack.push(Open { id: self.regions, nodes: Vec::new() });
        self.regions += 1;
    }

    /// Closes the region opened last.
    pub(crate) fn close(&mut self, params: Vec<Val>, results: Vec<Val>) -> Region {
        Region { params, nodes: self.stack.pop().map(|r| r.nodes).unwrap_or_default(), results }
    }

    /// Copies a function's code here, its parameters replaced by `args`; yields its results.
    pub(crate) fn inline(&mut self, f: &Fun, args: &[Val], reads: &mut dyn Reads) -> Result<Vec<Val>, Error> {
        let mut map: HashMap<Val, Val> = f.body.params.iter().copied().zip(args.iter().copied()).collect();
        self.copy_nodes(f, &f.body, &mut map, reads)?;
        Ok(f.body.results.iter().map(|v| map[v]).collect())
    }

    fn copy_region(
        &mut self,
        f: &Fun,
        r: &acc_core::ir::Region,
        map: &mut HashMap<Val, Val>,
        reads: &mut dyn Reads,
    ) -> Result<Region, Error> {
        self.open();
        let params: Vec<Val> = r
            .params
            .iter()
            .map(|&p| {
                let v = self.value(f.ty(p), false);
                map.insert(p, v);
                v
            })
            .collect();
        acc_core::grow_stack(|| self.copy_nodes(f, r, map, reads))?;
        let results = r.results.iter().map(|v| map[v]).collect();
        Ok(self.close(params, results))
    }

    fn copy_nodes(
        &mut self,
        f: &Fun,
        r: &acc_core::ir::Region,
        map: &mut HashMap<Val, Val>,
        reads: &mut dyn Reads,
    ) -> Result<(), Error> {
        let outer = self.loc.clone();
        for n in &r.nodes {
            self.loc = if n.loc.is_known() { n.loc.clone() } else { outer.clone() };
            let loc = self.loc.clone();
            let types: SmallVec<[ScalarType; 4]> = n.results.iter().map(|&v| f.ty(v)).collect();
            let op = match &n.op {
                ScalarOp::Const(l) => {
                    let v = self.constant(*l);
                    map.insert(n.results[0], v);
                    continue;
                }
                ScalarOp::Prim(p, v) => Op::Prim(*p, v.iter().map(|x| map[x]).collect()),
                ScalarOp::Cast(v) => Op::Cast(map[v]),
                ScalarOp::Bitcast(v) => Op::Bitcast(map[v]),
                ScalarOp::Select { cond, then, else_ } => {
                    Op::Select { cond: map[cond], then: map[then], else_: map[else_] }
                }
                ScalarOp::If { cond, then, else_ } => {
                    let then = self.copy_region(f, then, map, reads)?;
                    let else_ = self.copy_region(f, else_, map, reads)?;
                    Op::If { cond: map[cond], then, else_ }
                }
                ScalarOp::While { init, test, step } => {
                    let test = self.copy_region(f, test, map, reads)?;
                    let step = self.copy_region(f, step, map, reads)?;
                    Op::While { init: init.iter().map(|x| map[x]).collect(), test, step }
                }
                ScalarOp::Own(Foreign { name, args, fallback, .. }) => {
                    let params: Vec<ScalarType> = args.iter().map(|&x| f.ty(x)).collect();
                    let args: Vals = args.iter().map(|x| map[x]).collect();
                    if acc_core::foreign::scalars(name, &params, &types).is_none() {
                        map.extend(fallback.params.iter().copied().zip(args));
                        acc_core::grow_stack(|| self.copy_nodes(f, fallback, map, reads))?;
                        for (&v, r) in n.results.iter().zip(&fallback.results) {
                            map.insert(v, map[r]);
                        }
                        self.loc = loc;
                        continue;
                    }
                    Op::Own(KernelOp::Call { name: name.clone(), args })
                }
                ScalarOp::Index(Read { array, leaves, index, .. }) => {
                    let index: Vec<Val> = index.iter().map(|x| map[x]).collect();
                    if let Some(all) = reads.element(self, *array, &index)? {
                        map.extend(n.results.iter().copied().zip(leaves.iter().map(|&k| all[k as usize])));
                        continue;
                    }
                    let index = index.into_iter().map(|v| self.ix(v)).collect();
                    Op::Index(Load { array: *array, leaves: leaves.clone(), index, edge: None })
                }
                ScalarOp::Extent { array, axis } => Op::Extent { array: *array, axis: *axis },
            };
            self.loc = loc;
            if let Op::If { cond, then, else_ } = op {
                self.branch(cond, then, else_, &types, &n.results, map);
                continue;
            }
            let results = self.emit(op, &types);
            for (&from, &to) in n.results.iter().zip(&results) {
                map.insert(from, to);
            }
        }
        self.loc = outer;
        Ok(())
    }

    /// A conditional, or selects if both sides are total and cheaper than partitioning lanes.
    fn branch(
        &mut self,
        cond: Val,
        then: Region,
        else_: Region,
        types: &[ScalarType],
        names: &[Val],
        map: &mut HashMap<Val, Val>,
    ) {
        const MAX_SELECT_COST: usize = 10;
        let plain = |r: &Region| {
            let total = r.nodes.iter().all(|n| n.op.regions().is_empty() && !n.op.is_partial(&self.consts));
            total && region_cost(r) <= MAX_SELECT_COST
        };
        if plain(&then) && plain(&else_) {
            for r in [&then, &else_] {
                if let Some(top) = self.stack.last_mut() {
                    top.nodes.extend(r.nodes.iter().cloned());
                }
            }
            for (((&name, &ty), &a), &b) in names.iter().zip(types).zip(&then.results).zip(&else_.results) {
                let v = if a == b { a } else { self.emit1(Op::Select { cond, then: a, else_: b }, ty) };
                map.insert(name, v);
            }
            return;
        }
        let results = self.emit(Op::If { cond, then, else_ }, types);
        for (&from, &to) in names.iter().zip(&results) {
            map.insert(from, to);
        }
    }

    /// The finished body without dead nodes, except those to be kept.
    pub(crate) fn finish(mut self, results: Vec<Val>, keep: Keep) -> Body {
        let nodes = self.stack.pop().map(|r| r.nodes).unwrap_or_default();
        let mut region = Region { params: self.params, nodes, results };
        let mut live = vec![false; self.types.len()];
        eliminate_dead(&mut region, &mut live, keep);
        self.consts.retain(|(v, _)| live[v.index()]);
        Body { types: self.types, uniform: self.uniform, consts: self.consts, relaxed: false, region }
    }
}

/// The body with these results alone, and without what they do not need.
pub(crate) fn only(body: &Body, results: Vec<Val>) -> Body {
    let mut body = body.clone();
    body.region.results = results;
    let mut live = vec![false; body.types.len()];
    eliminate_dead(&mut body.region, &mut live, Keep::Checks);
    body.consts.retain(|(v, _)| live[v.index()]);
    body
}

/// Removes dead nodes, except those to be kept.
fn eliminate_dead(r: &mut Region, live: &mut [bool], unused: Keep) {
    for v in &r.results {
        live[v.index()] = true;
    }
    let mut keep = vec![true; r.nodes.len()];
    for (k, n) in r.nodes.iter_mut().enumerate().rev() {
        keep[k] = n.results.iter().any(|v| live[v.index()]) || unused.keeps(&n.op);
        if !keep[k] {
            continue;
        }
        if let Op::Index(l) = &mut n.op {
            // Unused leaves are not read; one stays, for the check of bounds.
            let mut used: Vec<bool> = n.results.iter().map(|v| live[v.index()]).collect();
            if let Some(first) = used.first_mut()
                && !n.results.iter().any(|v| live[v.index()])
            {
                *first = true;
            }
            let mut at = 0..used.len();
            l.leaves.retain(|_| at.next().is_some_and(|k| used[k]));
            let mut at = 0..used.len();
            n.results.retain(|_| at.next().is_some_and(|k| used[k]));
        }
        for inner in n.op.regions_mut() {
            acc_core::grow_stack(|| eliminate_dead(inner, live, unused));
        }
        n.op.visit_operands(&mut |v| live[v.index()] = true);
    }
    let mut at = keep.into_iter();
    r.nodes.retain(|_| at.next().unwrap_or(true));
}

/// Whether an operation can be reused.
pub(super) fn is_repeatable(op: &Op) -> bool {
    match op {
        Op::If { .. } | Op::While { .. } | Op::Own(KernelOp::Call { .. }) => false,
        Op::Const(_)
        | Op::Prim(..)
        | Op::Cast(_)
        | Op::Bitcast(_)
        | Op::Select { .. }
        | Op::Extent { .. }
        | Op::Index(_)
        | Op::Own(_) => true,
    }
}

/// Which dead nodes stay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Checks.
    Checks,
    /// Whatever may fault, demand an array or not end: the body behaves as its function.
    Partial,
}

impl Keep {
    fn keeps(self, op: &Op) -> bool {
        let inside = |r: &Region| acc_core::grow_stack(|| r.nodes.iter().any(|n| self.keeps(&n.op)));
        match self {
            Keep::Checks => matches!(op, Op::Own(KernelOp::Check { .. })) || op.regions().into_iter().any(inside),
            Keep::Partial => op.is_partial(&[]),
        }
    }
}

/// A rough cost, in units of one addition over a lane.
fn op_cost(op: &Op) -> usize {
    match op {
        Op::Prim(p, _) => prim_cost(*p),
        Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } | Op::Own(KernelOp::Fma(..)) => 1,
        Op::Own(KernelOp::Scale(..) | KernelOp::Table { .. }) => 4,
        Op::Const(_) | Op::Extent { .. } | Op::Own(KernelOp::Scalar { .. } | KernelOp::Unlikely(_)) => 0,
        Op::Index(l) => l.index.len().max(1) * if l.index.iter().any(|i| matches!(i, Ix::At(_))) { 4 } else { 1 },
        Op::Own(KernelOp::Inside { .. } | KernelOp::Check { .. }) => 2,
        Op::If { then, else_, .. } => 4 + acc_core::grow_stack(|| region_cost(then) + region_cost(else_)),
        Op::Own(KernelOp::Call { .. }) => 100,
        // How often a loop runs is unknown; any loop makes the body worth a thread.
        Op::While { test, step, .. } => {
            64usize.saturating_mul(1 + acc_core::grow_stack(|| region_cost(test) + region_cost(step)))
        }
    }
}

/// The rough cost of a region's nodes, each evaluated once.
pub(crate) fn region_cost(r: &Region) -> usize {
    r.nodes.iter().fold(0, |sum: usize, n| sum.saturating_add(op_cost(&n.op)).min(1 << 40))
}
