//! What every kernel obeys.
//!
//! * **K1** Values are defined once, before their uses, in the same region or one around it.
//! * **K2** Operands and results have the types that the operation asks for.
//! * **K3** The element body takes one `i64` per axis; affine indices name axes; their bases are uniform `i64`s.
//! * **K4** A combination takes the leaves of two elements and yields those of one.
//! * **K5** Uniform values depend on uniform values alone.
//! * **K6** There is an output; each takes results that exist; outputs agree on the axes (see [`super`]).
//! * **K7** An epilogue takes the index and the leaves of the outputs that are combined, and stores. Its results have axes in
//!   another order only after a single scan, whose own results are not stored.

use super::{AxisKind, Body, Epilogue, Initial, Ix, Kernel, KernelOp, Node, Op, Output, Region, Sink};
use acc_core::data::ScalarType::{self, Bool, F32, F64, I64, U64};
use acc_core::ir::{Dir, Val, bitcast_exists, cast_exists};

type Result<T = ()> = std::result::Result<T, String>;

/// Checks a kernel; the message names the rule.
pub(crate) fn verify(k: &Kernel) -> Result {
    let params = &k.element.region.params;
    if params.len() != k.axes.len() || params.iter().any(|&p| k.element.ty(p) != I64) {
        return Err(format!("K3: {} axes, parameters {params:?}", k.axes.len()));
    }
    body(&k.element, k.axes.len())?;
    if k.outputs.is_empty() {
        return Err("K6: no output".into());
    }
    k.outputs.iter().try_for_each(|o| output(k, o))?;
    k.epilogue.iter().try_for_each(|e| epilogue(k, e))
}

fn epilogue(k: &Kernel, e: &Epilogue) -> Result {
    let mut want = Vec::new();
    let mut rank = k.axes.len();
    for o in &k.outputs {
        let values = k.values(o);
        let leaves = match &o.sink {
            Sink::Store => continue,
            Sink::Fold { .. } => {
                rank = k.axes.len() - k.folded().max(1);
                values
            }
            Sink::Scan { .. } | Sink::Segments { .. } => values,
            Sink::Scatter { rank: target, .. } => {
                rank = *target;
                values.get(target + 1..).unwrap_or(&[])
            }
            Sink::Compact => values.get(1..).unwrap_or(&[]),
        };
        want.extend(leaves.iter().map(|&v| k.element.ty(v)));
    }
    let all = [vec![I64; rank], want].concat();
    let params: Vec<ScalarType> = e.body.region.params.iter().map(|&v| e.body.ty(v)).collect();
    if params != all || e.leaves + rank != params.len() {
        return Err(format!("K7: an epilogue from {params:?}, not from {all:?}"));
    }
    if e.outputs.iter().any(|o| !matches!(o.sink, Sink::Store) || o.values.end > e.body.region.results.len()) {
        return Err("K7: an output of the epilogue".into());
    }
    if let Some(order) = &e.order {
        let scan = |o: &Output| matches!(o.sink, Sink::Scan { .. }) && !o.stored;
        let each_once = (0..rank).all(|axis| order.contains(&axis)) && order.len() == rank;
        if !each_once || k.outputs.len() != 1 || !k.outputs.iter().all(scan) {
            return Err(format!("K7: an epilogue over axes {order:?}"));
        }
    }
    body(&e.body, rank)
}

fn output(k: &Kernel, o: &Output) -> Result {
    let taken = k.element.region.results.get(o.values.clone()).ok_or_else(|| format!("K6: {:?}", o.values))?;
    let (inner, outer) = match k.axes.split_last() {
        Some((inner, outer)) => (*inner, outer),
        None => (AxisKind::Parallel, &[][..]),
    };
    let fits = match o.sink {
        Sink::Store => true,
        Sink::Fold { .. } => matches!(inner, AxisKind::Reduction | AxisKind::Scan(Dir::Left)),
        Sink::Scan { .. } => matches!(inner, AxisKind::Scan(_)),
        Sink::Scatter { .. } | Sink::Segments { .. } => inner == AxisKind::Parallel && k.outputs.len() == 1,
        Sink::Compact => k.axes == [AxisKind::Parallel] && k.outputs.len() == 1,
    };
    // Several axes are folded by one fold alone.
    let nested = k.folded() > 1;
    let alone = k.outputs.len() == 1 && matches!(o.sink, Sink::Fold { builtin: Some(_), .. });
    let parallel = k.axes.len() - k.folded().max(1).min(k.axes.len());
    let outer = if nested { &k.axes[..parallel] } else { outer };
    if !fits || (nested && !alone) || outer.iter().any(|a| *a != AxisKind::Parallel) {
        return Err(format!("K6: axes {:?} for {}", k.axes, o.result));
    }
    let values: Vec<ScalarType> = taken.iter().map(|&v| k.element.ty(v)).collect();
    let (combine, leaves) = match &o.sink {
        Sink::Store => return Ok(()),
        Sink::Compact if values.first() == Some(&ScalarType::U8) => return Ok(()),
        Sink::Compact => return Err(format!("K6: whether an element is kept: {:?}", values.first())),
        Sink::Fold { combine, .. } | Sink::Scan { combine, .. } | Sink::Segments { combine, .. } => {
            (combine, &values[..])
        }
        Sink::Scatter { combine, rank, initial, .. } => {
            if let Initial::Computed(b) = initial {
                body(b, *rank)?;
            }
            (combine, values.get(rank + 1..).unwrap_or(&[]))
        }
    };
    body(combine, 0)?;
    let types = |v: &[Val]| v.iter().map(|&v| combine.ty(v)).collect::<Vec<_>>();
    if types(&combine.region.params) != [leaves, leaves].concat() || types(&combine.region.results) != leaves {
        return Err(format!("K4: a combination of elements {leaves:?}"));
    }
    Ok(())
}

fn body(b: &Body, axes: usize) -> Result {
    let mut c = Checker { b, axes, visible: vec![false; b.types.len()] };
    for (v, l) in &b.consts {
        c.define(*v)?;
        if b.ty(*v) != l.ty {
            return Err(format!("K2: constant {v} of {}", l.ty));
        }
    }
    c.region(&b.region)
}

struct Checker<'a> {
    b: &'a Body,
    axes: usize,
    visible: Vec<bool>,
}

impl Checker<'_> {
    fn define(&mut self, v: Val) -> Result {
        match self.visible.get_mut(v.index()) {
            Some(seen) if !*seen => {
                *seen = true;
                Ok(())
            }
            _ => Err(format!("K1: {v} is defined twice or has no type")),
        }
    }

    fn seen(&self, v: Val) -> Result<ScalarType> {
        match self.visible.get(v.index()) {
            Some(true) => Ok(self.b.ty(v)),
            _ => Err(format!("K1: {v} is used where it is not defined")),
        }
    }

    fn region(&mut self, r: &Region) -> Result {
        r.params.iter().try_for_each(|&p| self.define(p))?;
        for n in &r.nodes {
            self.node(n)?;
            n.results.iter().try_for_each(|&v| self.define(v))?;
        }
        r.results.iter().try_for_each(|&v| self.seen(v).map(|_| ()))?;
        Ok(())
    }

    fn inner(&mut self, r: &Region, params: &[ScalarType], results: &[ScalarType]) -> Result {
        let got: Vec<_> = r.params.iter().map(|&p| self.b.ty(p)).collect();
        let yields: Vec<_> = r.results.iter().map(|&p| self.b.ty(p)).collect();
        if got != params || yields != results {
            return Err(format!("K2: a region from {got:?} to {yields:?}"));
        }
        acc_core::grow_stack(|| self.region(r))?;
        for v in r.params.iter().chain(r.nodes.iter().flat_map(|n| &n.results)) {
            self.visible[v.index()] = false;
        }
        Ok(())
    }

    fn index(&self, index: &[Ix]) -> Result {
        for i in index {
            let (v, base) = match *i {
                Ix::At(v) => (Some(v), false),
                Ix::Affine { axis, base, .. } => {
                    if axis as usize >= self.axes {
                        return Err(format!("K3: no axis {axis}"));
                    }
                    (base, true)
                }
            };
            if let Some(v) = v
                && (self.seen(v)? != I64 || (base && !self.b.uniform[v.index()]))
            {
                return Err(format!("K3: {v} as an index"));
            }
        }
        Ok(())
    }

    fn node(&mut self, n: &Node) -> Result {
        let results: Vec<ScalarType> = n.results.iter().map(|&v| self.b.ty(v)).collect();
        let mut operands = Vec::new();
        let mut uniform = true;
        n.op.visit_operands(&mut |v| {
            operands.push(v);
            uniform &= self.b.uniform.get(v.index()).copied().unwrap_or(false);
        });
        let types = operands.iter().map(|&v| self.seen(v)).collect::<Result<Vec<_>>>()?;
        if !uniform && n.results.iter().any(|v| self.b.uniform[v.index()]) {
            return Err(format!("K5: {:?} is not uniform", n.results));
        }
        let wrong = || Err(format!("K2: {:?} of {types:?} yields {results:?}", n.op));
        match &n.op {
            Op::Const(none) => match *none {},
            Op::Prim(p, _) => {
                let ok = types.len() == p.arity()
                    && types.iter().all(|t| *t == types[0] && p.domain().contains(*t))
                    && results == [p.result_type(types[0])];
                if ok { Ok(()) } else { wrong() }
            }
            Op::Cast(_) if results.len() == 1 && cast_exists(types[0], results[0]) => Ok(()),
            Op::Bitcast(_) if results.len() == 1 && bitcast_exists(types[0], results[0]) => Ok(()),
            Op::Cast(_) | Op::Bitcast(_) => wrong(),
            Op::Own(KernelOp::Fma(..)) if matches!(results[..], [F32 | F64]) && types == [results[0]; 3] => Ok(()),
            Op::Own(KernelOp::Scale(..)) if matches!(results[..], [F32 | F64]) && types == [results[0]; 2] => Ok(()),
            Op::Own(KernelOp::Table { words, .. }) if types == [I64] && results == [U64] && !words.is_empty() => Ok(()),
            Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Table { .. }) => wrong(),
            Op::Select { .. } if types == [Bool, results[0], results[0]] => Ok(()),
            Op::Select { .. } => wrong(),
            Op::Own(KernelOp::Call { name, .. }) => match acc_core::foreign::scalars(name, &types, &results) {
                Some(_) => Ok(()),
                None => wrong(),
            },
            Op::Own(KernelOp::Scalar { .. }) | Op::Extent { .. } => {
                if results == [I64] {
                    Ok(())
                } else {
                    wrong()
                }
            }
            Op::Index(l) => {
                self.index(&l.index)?;
                if l.leaves.len() == results.len() { Ok(()) } else { wrong() }
            }
            Op::Own(KernelOp::Inside { index, .. }) => {
                self.index(index)?;
                if results == [Bool] { Ok(()) } else { wrong() }
            }
            Op::Own(KernelOp::Check { index, .. }) => self.index(index),
            Op::If { then, else_, .. } => {
                if types != [Bool] {
                    return wrong();
                }
                self.inner(then, &[], &results)?;
                self.inner(else_, &[], &results)
            }
            Op::While { test, step, .. } => {
                if types != results {
                    return wrong();
                }
                self.inner(test, &results, &[Bool])?;
                self.inner(step, &results, &results)
            }
        }
    }
}
