//! What every kernel obeys.
//!
//! * **K1** Values are defined once, before their uses, in the same region or one around it.
//! * **K2** Operands and results have the types that the operation asks for.
//! * **K3** The element body takes one `i64` per axis; affine indices name axes; their bases are uniform `i64`s.
//! * **K4** A combination takes the leaves of two elements and yields those of one. A choice is by one of these leaves.
//! * **K5** Uniform values depend on uniform values alone.
//! * **K6** There is an output; each takes results that exist; outputs agree on the axes (see [`super`]).
//! * **K7** An epilogue takes the index and the leaves of the outputs that are combined, and stores. Its results have axes in
//!   another order only after a single scan, whose own results are not stored.
//! * **K8** A fused fold has two factors for each leaf, of one type, `f32` or `f64`, and adds; beside it nothing is scanned.

use super::{
    AxisKind, Body, Epilogue, Initial, Ix, Kernel, KernelIr, KernelOp, Load, Node, Output, SegmentOperator, Sink,
};
use acc_core::RunLimits;
use acc_core::data::ScalarType::{self, Bool, F32, F64, I64, U8, U64};
use acc_core::ir::{ArrayId, Dir, Loc, PrimOp};
use acc_core::verify::{self, Checked, Code, Params, Rules, Site};

/// Checks a kernel.
pub(crate) fn verify(k: &Kernel) -> verify::Result {
    let loc = k.stored().next().map_or_else(Loc::unknown, |o| o.loc.clone());
    verify::unlimited(kernel(k, &Site::new("a kernel", loc)))
}

fn kernel(k: &Kernel, site: &Site) -> Checked {
    let params = Params { rule: "K3", of: "element", types: &vec![I64; k.axes.len()] };
    let results = body(&k.element, k.axes.len(), params, site)?;
    site.check(!k.outputs.is_empty(), "K6", || "no output".into())?;
    for o in &k.outputs {
        output(k, o, &results, &Site::new(o.op, o.loc.clone()))?;
    }
    k.epilogue.iter().try_for_each(|e| epilogue(k, e, &results, site))
}

/// Checks a body over these axes; returns the types of its results.
fn body(b: &Body, axes: usize, params: Params<'_>, site: &Site) -> Checked<Vec<ScalarType>> {
    let code = Code { types: &b.types, literals: &b.consts, region: &b.region };
    verify::code(code, params, &KernelRules { uniform: &b.uniform, axes }, site, &RunLimits::none())
}

fn epilogue(k: &Kernel, e: &Epilogue, results: &[ScalarType], site: &Site) -> Checked {
    let rank = k.result_rank();
    let mut params = vec![I64; rank];
    for o in k.outputs.iter().filter(|o| o.sink.is_combined()) {
        params.extend(results[o.values.clone()].iter().skip(o.sink.lead()).step_by(o.sink.values_per_leaf()));
    }
    let results = body(&e.body, rank, Params { rule: "K7", of: "epilogue", types: &params }, site)?;
    site.check(e.leaves + rank == params.len(), "K7", || format!("an epilogue of {} leaves", e.leaves))?;
    for o in &e.outputs {
        let fits = matches!(o.sink, Sink::Store) && o.values.end <= results.len();
        Site::new(o.op, o.loc.clone()).check(fits, "K7", || "an output of the epilogue".into())?;
    }
    let Some(order) = &e.order else { return Ok(()) };
    let scan = |o: &Output| matches!(o.sink, Sink::Scan { .. }) && !o.stored;
    let each_once = (0..rank).all(|axis| order.contains(&axis)) && order.len() == rank;
    let fits = each_once && k.outputs.len() == 1 && k.outputs.iter().all(scan);
    site.check(fits, "K7", || format!("an epilogue over axes {order:?}"))
}

fn output(k: &Kernel, o: &Output, results: &[ScalarType], site: &Site) -> Checked {
    let Some(values) = results.get(o.values.clone()) else {
        return site.fail("K6", format!("results {:?} of {}", o.values, results.len()));
    };
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
    let fits = fits && (!nested || alone) && outer.iter().all(|a| *a == AxisKind::Parallel);
    site.check(fits, "K6", || format!("axes {:?} for {}", k.axes, o.result))?;
    let (lead, leaves) = values.split_at(o.sink.lead().min(values.len()));
    site.check(lead.len() == o.sink.lead() && lead.first().is_none_or(|t| *t == U8), "K6", || {
        format!("whether an element is kept, and where: {lead:?}")
    })?;
    if let Sink::Scatter { initial: Initial::Computed(b), rank, .. } = &o.sink {
        body(b, *rank, Params { rule: "K4", of: "initial", types: &vec![I64; *rank] }, site)?;
    }
    if o.sink.is_fused() {
        let are_factors = leaves.chunks(2).all(|f| matches!(f, [F32, F32] | [F64, F64]));
        let adds = o.sink.builtin().is_some_and(|ops| ops.iter().all(|op| *op == PrimOp::AddP));
        site.check(are_factors && adds && inner == AxisKind::Reduction, "K8", || {
            format!("a fused fold of {leaves:?}")
        })?;
    }
    let leaves = &leaves.iter().copied().step_by(o.sink.values_per_leaf()).collect::<Vec<_>>()[..];
    if let Sink::Segments { operator: SegmentOperator::Choice(choice), .. } = &o.sink {
        site.check(choice.leaf < leaves.len(), "K4", || {
            format!("a choice by leaf {} of {}", choice.leaf, leaves.len())
        })?;
    }
    let Some(combine) = o.sink.combine() else { return Ok(()) };
    let params = Params { rule: "K4", of: "combine", types: &[leaves, leaves].concat() };
    let got = body(combine, 0, params, site)?;
    site.types("K4", "the results of `combine`", &got, leaves)
}

/// The rules of the code of a body.
struct KernelRules<'a> {
    uniform: &'a [bool],
    axes: usize,
}

impl KernelRules<'_> {
    fn index(&self, site: &Site, index: &[Ix], operands: &[ScalarType]) -> Checked {
        site.check(operands.iter().all(|t| *t == I64), "K3", || format!("an index of types {operands:?}"))?;
        for i in index {
            let Ix::Affine { axis, base, .. } = *i else { continue };
            site.check((axis as usize) < self.axes, "K3", || format!("there is no axis i{axis}"))?;
            let uniform = base.is_none_or(|v| self.uniform.get(v.index()) == Some(&true));
            site.check(uniform, "K3", || format!("{i}: what is added is not uniform"))?;
        }
        Ok(())
    }
}

impl Rules for KernelRules<'_> {
    type Dialect = KernelIr;
    const DEFINED: &'static str = "K1";
    const TYPED: &'static str = "K2";
    const REGIONS: &'static str = "K2";

    fn read(&self, site: &Site, read: &Load, operands: &[ScalarType], results: &[ScalarType]) -> Checked {
        self.index(site, &read.index, operands)?;
        let (read, defined) = (read.leaves.len(), results.len());
        site.check(read == defined, "K2", || format!("{read} leaves are read, but {defined} values are defined"))
    }

    fn extent(&self, _: &Site, _: &ArrayId, _: u32) -> Checked {
        Ok(())
    }

    fn own(&self, site: &Site, op: &KernelOp, operands: &[ScalarType], results: &[ScalarType]) -> Checked {
        let float = |n: usize| matches!(results, [F32 | F64]) && operands == vec![results[0]; n];
        let fits = match op {
            KernelOp::Fma(..) => float(3),
            KernelOp::Scale(..) => float(2),
            KernelOp::Unlikely(_) => operands == [Bool] && results == [Bool],
            KernelOp::Table { words, .. } => operands == [I64] && results == [U64] && !words.is_empty(),
            KernelOp::Call { name, .. } => acc_core::foreign::scalars(name, operands, results).is_some(),
            KernelOp::Scalar { .. } => results == [I64],
            KernelOp::Inside { index, .. } => {
                self.index(site, index, operands)?;
                results == [Bool]
            }
            KernelOp::Check { index, .. } => {
                self.index(site, index, operands)?;
                results.is_empty()
            }
        };
        site.check(fits, "K2", || format!("{op:?} of {operands:?} yields {results:?}"))
    }

    fn node(&self, site: &Site, n: &Node) -> Checked {
        let is_uniform = |v: &acc_core::ir::Val| self.uniform.get(v.index()) == Some(&true);
        let ok = !n.results.iter().any(is_uniform) || n.op.operands().iter().all(is_uniform);
        site.check(ok, "K5", || format!("{:?} is not uniform, since it depends on what is not", n.results))
    }
}
