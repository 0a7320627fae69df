//! Scalar code over an index space, under masks.

pub(crate) mod uniformity;

use crate::analysis::access::Index;
use crate::flatten::Flattener;
use crate::flatten::access::Indices;
use crate::flatten::access::affine::AffineId;
use crate::flatten::access::affine::on_host_if_known;
use crate::flatten::access::read::Lookup;
use crate::flatten::scalar::uniformity::{Uniformity, on_host, uniformities};
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, SizeOp, Type, Value, Values};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{Foreign, Fun, Node, PrimOp, Read, Region, ScalarOp, Val};
use smallvec::SmallVec;

/// A scalar value in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    /// An integer or `bool` on the host.
    Size(Value),
    /// A tensor: of rank 0 if uniform, else of the space's rank.
    Tensor(Value),
    /// An `i64` that is affine in the index of the space.
    Affine(AffineId),
}

/// A scalar function on its way into the graph.
pub(crate) struct Lanes<'f> {
    pub(crate) fun: &'f Fun,
    pub(crate) uniformities: Vec<Uniformity>,
    pub(crate) vals: Vec<Option<Scalar>>,
    /// The extents of the index space.
    pub(crate) space: Values,
}

impl Flattener<'_> {
    /// Applies a function to lanes. Its parameters are the index, if it is `indexed`, then `args`, tensors of the
    /// space's rank.
    pub(crate) fn apply(
        &mut self,
        f: &Fun,
        indexed: bool,
        args: &[Value],
        space: &[Value],
        mask: Option<Value>,
    ) -> Vec<Scalar> {
        let index = if indexed { self.indices.index_of(&mut self.b, space) } else { Vec::new() };
        self.apply_at(f, index, args, space, mask)
    }

    /// The same at this index.
    pub(crate) fn apply_at(
        &mut self,
        f: &Fun,
        index: Vec<Scalar>,
        args: &[Value],
        space: &[Value],
        mask: Option<Value>,
    ) -> Vec<Scalar> {
        let mut params = index;
        params.extend(args.iter().map(|a| on_host_if_known(&mut self.b, *a)).collect::<Vec<_>>());
        let level = |s: &Scalar| if matches!(s, Scalar::Size(_)) { Uniformity::Host } else { Uniformity::Varying };
        let uniformities = uniformities(f, params.iter().map(level));
        let mut lanes = Lanes { fun: f, uniformities, vals: vec![None; f.types.len()], space: space.into() };
        for (p, a) in f.body.params.iter().zip(params) {
            lanes.vals[p.index()] = Some(a);
        }
        self.region(&mut lanes, &f.body, mask)
    }

    /// Applies a function to lanes; the results are tensors of the space's rank and extents.
    pub(crate) fn map_lanes(
        &mut self,
        f: &Fun,
        indexed: bool,
        args: &[Value],
        space: &[Value],
        mask: Option<Value>,
    ) -> Vec<Value> {
        let mut columns = |this: &mut Self, results: Vec<Scalar>, space: &[Value]| -> Vec<Value> {
            let columns = results.into_iter().zip(f.result_types()).map(|(s, ty)| {
                let v = this.indices.tensor(&mut this.b, s, ty);
                spread(&mut this.b, v, space)
            });
            columns.collect()
        };
        if mask.is_none() {
            return self.over_split_space(f, indexed, args, space, &mut columns);
        }
        let results = self.apply(f, indexed, args, space, mask);
        columns(self, results, space)
    }

    /// A closed function's results: on the host where that is possible.
    pub(crate) fn closed(&mut self, f: &Fun) -> Vec<Scalar> {
        self.apply(f, false, &[], &[], None)
    }

    /// A closed function's results as sizes.
    pub(crate) fn closed_sizes(&mut self, f: &Fun) -> Values {
        let results = self.closed(f);
        results.into_iter().map(|s| self.size(s)).collect()
    }

    pub(crate) fn size(&mut self, s: Scalar) -> Value {
        match s {
            Scalar::Size(v) => v,
            s => {
                let v = self.indices.value(&mut self.b, s);
                let v = self.after_checks(v);
                self.b.read_back(v)
            }
        }
    }

    pub(crate) fn masked(&mut self, mask: Option<Value>, bad: Value) -> Value {
        match mask {
            Some(m) if self.b.ty(bad) == Type::Size && !self.faults().exact() => {
                // The host looks at the mask only if there is something to look for.
                if self.b.const_size(bad) == Some(0) {
                    return bad;
                }
                self.b.size_if(bad, |b| {
                    let any = b.any(m);
                    b.read_back(any)
                })
            }
            Some(m) if self.b.ty(bad) == Type::Size => {
                let bad = self.indices.tensor(&mut self.b, Scalar::Size(bad), ScalarType::Bool);
                self.b.and(m, bad)
            }
            Some(m) => self.b.and(m, bad),
            None => bad,
        }
    }

    pub(crate) fn region(&mut self, lanes: &mut Lanes<'_>, r: &Region, mask: Option<Value>) -> Vec<Scalar> {
        for n in &r.nodes {
            self.b.at(&n.loc);
            let results = match self.stopped_node(n, &lanes.fun.types) {
                Some(zeros) => SmallVec::from(zeros),
                None => acc_core::grow_stack(|| self.node(lanes, n, mask)),
            };
            for (v, s) in n.results.iter().zip(results) {
                lanes.vals[v.index()] = Some(s);
            }
        }
        r.results.iter().map(|v| val(&mut self.b, lanes, *v)).collect()
    }

    pub(crate) fn node(&mut self, lanes: &mut Lanes<'_>, n: &Node, mask: Option<Value>) -> SmallVec<[Scalar; 2]> {
        let one = |s| SmallVec::from_iter([s]);
        match &n.op {
            ScalarOp::Const(l) => one(match l.ty {
                ScalarType::I64 | ScalarType::Bool => Scalar::Size(self.b.size(l.bits as i64)),
                _ => Scalar::Tensor(self.b.constant(*l)),
            }),
            ScalarOp::Extent { array, axis } => {
                let extents = Flat { columns: Values::new(), ..self.array(*array) };
                let flat = self.demanded(*array, extents, lanes, mask);
                one(Scalar::Size(flat.shape[*axis as usize]))
            }
            ScalarOp::Prim(p, args) => one(self.prim(lanes, *p, args, mask)),
            ScalarOp::Cast(a) => {
                let x = self.indices.val_tensor(&mut self.b, lanes, *a);
                one(Scalar::Tensor(self.b.cast(x, lanes.fun.ty(n.results[0]))))
            }
            ScalarOp::Bitcast(a) => {
                let x = self.indices.val_tensor(&mut self.b, lanes, *a);
                one(Scalar::Tensor(self.b.bitcast(x, lanes.fun.ty(n.results[0]))))
            }
            ScalarOp::Select { cond, then, else_ } => {
                let [c, t, e] = [*cond, *then, *else_].map(|v| val(&mut self.b, lanes, v));
                one(match (c, t, e) {
                    (Scalar::Size(c), t, e) if self.b.const_size(c).is_some() => match self.b.const_size(c) {
                        Some(0) => e,
                        _ => t,
                    },
                    (Scalar::Size(c), Scalar::Size(t), Scalar::Size(e)) => {
                        Scalar::Size(select_size(&mut self.b, c, t, e))
                    }
                    _ => {
                        let c = self.indices.tensor(&mut self.b, c, ScalarType::Bool);
                        let [t, e] = [*then, *else_].map(|v| self.indices.val_tensor(&mut self.b, lanes, v));
                        Scalar::Tensor(self.b.where_(c, t, e))
                    }
                })
            }
            ScalarOp::If { cond, then, else_ } => self.conditional(lanes, n, *cond, then, else_, mask),
            ScalarOp::While { init, test, step } => {
                self.loops += 1;
                let results = self.scalar_loop(lanes, n, init, test, step, mask);
                self.loops -= 1;
                results
            }
            ScalarOp::Own(Foreign { args, fallback, .. }) => {
                for (p, a) in fallback.params.iter().zip(args) {
                    lanes.vals[p.index()] = Some(val(&mut self.b, lanes, *a));
                }
                self.region(lanes, fallback, mask).into()
            }
            ScalarOp::Index(Read { array, leaves, index, .. }) => {
                let index: Vec<Scalar> = index.iter().map(|v| val(&mut self.b, lanes, *v)).collect();
                let at = Lookup { array: *array, space: &lanes.space, mask };
                if let Some(read) = self.read_smaller(&at, lanes, leaves, &index) {
                    return one(Scalar::Tensor(read));
                }
                let flat = self.readable(*array, lanes, mask);
                let columns: Vec<Value> = leaves.iter().map(|l| flat.columns[*l as usize]).collect();
                let read = self.read(&at, &flat.shape, &columns, &index);
                read.into_iter().map(|v| on_host_if_known(&mut self.b, v)).collect()
            }
        }
    }

    pub(crate) fn prim(&mut self, lanes: &Lanes<'_>, p: PrimOp, args: &[Val], mask: Option<Value>) -> Scalar {
        let scalars: SmallVec<[Scalar; 2]> = args.iter().map(|v| val(&mut self.b, lanes, *v)).collect();
        let ty = lanes.fun.ty(args[0]);
        if on_host(p, ty) && scalars.iter().all(|s| matches!(s, Scalar::Size(_))) {
            let sizes: SmallVec<[Value; 2]> = scalars.iter().map(|s| self.size(*s)).collect();
            return Scalar::Size(self.b.size_prim(p, &sizes));
        }
        if ty == ScalarType::I64
            && let Some(divided) = self.affine_division(lanes, p, &scalars, mask)
        {
            return divided;
        }
        if ty == ScalarType::I64
            && let Some(quotient) = self.host_quotient(p, &scalars, &lanes.space, mask)
        {
            return quotient;
        }
        let index = if ty == ScalarType::I64 { self.index_prim(p, &scalars) } else { None };
        if let Some(Index::Affine(a)) = index {
            return self.indices.affine(a);
        }
        if ty == ScalarType::Bool
            && let Some(decided) = self.decided(p, &scalars)
        {
            return decided;
        }
        let given = scalars.clone();
        let mut tensors: SmallVec<[Value; 2]> =
            scalars.into_iter().map(|s| self.indices.tensor(&mut self.b, s, ty)).collect();
        if p.is_partial() {
            tensors[1] = self.divisor(tensors[1], ty, lanes, mask);
        }
        let result = self.b.prim(p, &tensors);
        if ty == ScalarType::I64 {
            self.note_border(p, &given, result);
            self.indices.note_bounds(&self.b, p, &given, result);
        }
        if let Some(index) = index {
            self.indices.known.insert(result, index);
        }
        if ty == ScalarType::Bool {
            self.indices.note_borders(p, &given, result);
            self.indices.note_bounds(&self.b, p, &given, result);
        }
        Scalar::Tensor(result)
    }

    /// A conjunction or disjunction with one known side.
    fn decided(&self, p: PrimOp, operands: &[Scalar]) -> Option<Scalar> {
        let [a, b] = *operands else { return None };
        let known = |s: Scalar| match s {
            Scalar::Size(v) => self.b.const_size(v).map(|n| n != 0),
            Scalar::Tensor(v) => self.b.const_bool(v),
            Scalar::Affine(_) => None,
        };
        let decides = match p {
            PrimOp::AndP => false,
            PrimOp::OrP => true,
            _ => return None,
        };
        let (known, other) = known(a).map(|k| (k, b)).or_else(|| known(b).map(|k| (k, a)))?;
        Some(if known != decides {
            other
        } else if other == a {
            b
        } else {
            a
        })
    }

    /// A quotient or remainder of sizes, on the host; a shift to the right is a quotient.
    fn host_quotient(
        &mut self,
        p: PrimOp,
        operands: &[Scalar],
        space: &[Value],
        mask: Option<Value>,
    ) -> Option<Scalar> {
        let [Scalar::Size(a), Scalar::Size(b)] = *operands else { return None };
        let op = match p {
            PrimOp::QuotP => SizeOp::Quot,
            PrimOp::RemP => SizeOp::Rem,
            PrimOp::DivFloorP => SizeOp::Div,
            PrimOp::ModFloorP => SizeOp::Mod,
            PrimOp::ShrP => {
                let bits = self.b.const_size(b).and_then(|n| u32::try_from(n).ok())?;
                let by = self.b.size(1i64.checked_shl(bits).filter(|by| *by > 0)?);
                return Some(Scalar::Size(self.b.size_op(SizeOp::Div, a, by)));
            }
            _ => return None,
        };
        let zero = self.b.not_size(b);
        if self.b.const_size(zero) != Some(0) {
            let bad = self.masked(mask, zero);
            self.check(FaultKind::DivisionByZero, bad, space, vec![]);
        }
        Some(Scalar::Size(self.b.size_op(op, a, b)))
    }

    /// A divisor that is never zero: where it was, a fault is noted for lanes that are on, or found by its use.
    pub(crate) fn divisor(&mut self, y: Value, ty: ScalarType, lanes: &Lanes<'_>, mask: Option<Value>) -> Value {
        let zero = Lit::zero(ty);
        if let Some(crate::graph::Op::Const(l)) = self.b.def(y)
            && *l != zero
        {
            return y;
        }
        if mask.is_none() && !self.faults().exact() {
            return self.b.divisor(y);
        }
        let (zero, one) = (self.b.constant(zero), self.b.constant(Lit::one(ty)));
        let is_zero = self.b.prim(PrimOp::EqP, &[y, zero]);
        let bad = self.masked(mask, is_zero);
        self.check(FaultKind::DivisionByZero, bad, &lanes.space.clone(), vec![]);
        self.b.where_(is_zero, one, y)
    }
}

impl Indices {
    /// A scalar as a tensor; `ty` is its type.
    pub(crate) fn tensor(&self, b: &mut Builder, s: Scalar, ty: ScalarType) -> Value {
        match s {
            Scalar::Tensor(_) | Scalar::Affine(_) => self.value(b, s),
            Scalar::Size(v) if ty == ScalarType::Bool => match b.const_size(v) {
                Some(n) => b.bool(n != 0),
                None => {
                    let (x, zero) = (b.tensor_of_size(v), b.constant(0i64.lit()));
                    b.prim(PrimOp::NeP, &[x, zero])
                }
            },
            Scalar::Size(v) => b.tensor_of_size(v),
        }
    }

    /// A scalar at a level, which is its own or above.
    pub(crate) fn raise(&self, b: &mut Builder, s: Scalar, ty: ScalarType, level: Uniformity, rank: usize) -> Scalar {
        match level {
            Uniformity::Host => s,
            Uniformity::Uniform => Scalar::Tensor(self.tensor(b, s, ty)),
            Uniformity::Varying => {
                let v = self.tensor(b, s, ty);
                Scalar::Tensor(b.lift(v, rank))
            }
        }
    }

    pub(crate) fn val_tensor(&self, b: &mut Builder, lanes: &Lanes<'_>, v: Val) -> Value {
        let s = val(b, lanes, v);
        self.tensor(b, s, lanes.fun.ty(v))
    }
}

/// A tensor of lanes with the whole space's extents.
pub(crate) fn spread(b: &mut Builder, v: Value, space: &[Value]) -> Value {
    let v = b.lift(v, space.len());
    if b.is_full(v) { v } else { b.broadcast(v, space) }
}

pub(crate) fn val(b: &mut Builder, lanes: &Lanes<'_>, v: Val) -> Scalar {
    match lanes.vals[v.index()] {
        Some(s) => s,
        // The verifier has seen every use after its definition.
        None => Scalar::Tensor(b.constant(Lit::zero(lanes.fun.ty(v)))),
    }
}

fn select_size(b: &mut Builder, c: Value, t: Value, e: Value) -> Value {
    // e + c (t - e), with c 0 or 1; wrapping, so any sizes will do.
    let d = b.size_op(SizeOp::Sub, t, e);
    let d = b.size_op(SizeOp::Mul, c, d);
    b.size_op(SizeOp::Add, e, d)
}
