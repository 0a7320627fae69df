//! The mathematical functions of bodies, written out as arithmetic.
//!
//! Every executor of a body computes the same operations, so that results are the same bits everywhere, and the code
//! vectorises like any other. The greatest error, in units in the last place of the result, over the arguments stated, as
//! `tests/operations/math.rs` measures it:
//!
//! | function | `f32` | `f64` | arguments |
//! |---|---|---|---|
//! | `exp` | 0.9 | 0.9 | all |
//! | `ln` | 0.8 | 0.8 | all positive ones |
//! | `log2` | 0.7 | 0.7 | all positive ones |
//! | `log10` | 0.7 | 0.7 | all positive ones |
//! | `sin` | 1.4 | 0.8 | all |
//! | `cos` | 1.4 | 0.8 | all |
//! | `tan` | 2.5 | 1.8 | all |
//! | `asin` | 0.7 | 0.6 | from -1 to 1 |
//! | `acos` | 0.7 | 0.6 | from -1 to 1 |
//! | `atan` | 1.1 | 0.7 | all |
//! | `sinh` | 1.3 | 1.2 | all |
//! | `cosh` | 1.3 | 1.2 | all |
//! | `tanh` | 1.1 | 1.1 | all |
//! | `asinh` | 1.3 | 1.4 | all |
//! | `acosh` | 1.0 | 1.4 | from 1 |
//! | `atanh` | 0.9 | 1.5 | from -1 to 1 |
//! | `pow` | 0.51 | 1.4 | positive bases, all exponents |
//! | `atan2` | 1.1 | 1.1 | all |
//! | `fmod` | 0 | 0 | all |
//!
//! Functions of `f16` are those of `f32`, rounded: they are right but for ties.

mod common;
mod exponential;
mod inverse;
mod inverse_hyperbolic;
mod inverse_single;
mod logarithmic;
mod power;
mod remainder;
mod trigonometric;
mod write;

use super::{Body, KernelOp, Node, Op, Region};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use smallvec::smallvec;
use std::borrow::Cow;
pub(super) use write::Values;
use write::Writer;

/// The same body with its mathematical functions written out.
pub(crate) fn expand(body: Body) -> Body {
    let function_of = |n: &Node| match &n.op {
        Op::Prim(p, _) => function(*p),
        _ => None,
    };
    if !has(&body.region, &|n| function_of(n).is_some()) {
        return body;
    }
    let (mut values, relaxed, mut region) = (Values::of(&body), body.relaxed, body.region);
    replace(&mut region, &mut values, &|n, values| match &n.op {
        Op::Prim(_, args) => Some(written(function_of(n)?, args, n, values)),
        _ => None,
    });
    common::share(&mut region, &values);
    values.into_body(region, relaxed)
}

/// The body with each [`KernelOp::Scale`] written out, for executors that have no instruction for it.
pub(crate) fn without_scales(body: &Body) -> Cow<'_, Body> {
    let is_scale = |n: &Node| matches!(n.op, Op::Own(KernelOp::Scale(..)));
    if !has(&body.region, &is_scale) {
        return Cow::Borrowed(body);
    }
    let (mut values, mut region) = (Values::of(body), body.region.clone());
    replace(&mut region, &mut values, &|n, values| match n.op {
        Op::Own(KernelOp::Scale(x, by)) => {
            Some(written(Function::Two(|w, x, by| w.scale_written_out(x, by)), &[x, by], n, values))
        }
        _ => None,
    });
    Cow::Owned(values.into_body(region, body.relaxed))
}

/// Whether a region has such a node.
fn has(r: &Region, is: &dyn Fn(&Node) -> bool) -> bool {
    let inside = |n: &Node| n.op.regions().into_iter().any(|r| has(r, is));
    acc_core::grow_stack(|| r.nodes.iter().any(|n| is(n) || inside(n)))
}

/// Replaces nodes of a region by other nodes, where there are some.
fn replace(r: &mut Region, values: &mut Values, by: &dyn Fn(&Node, &mut Values) -> Option<Vec<Node>>) {
    let nodes = std::mem::take(&mut r.nodes);
    r.nodes.reserve(nodes.len());
    for mut n in nodes {
        if let Some(written) = by(&n, values) {
            r.nodes.extend(written);
            continue;
        }
        for inner in n.op.regions_mut() {
            acc_core::grow_stack(|| replace(inner, values, by));
        }
        r.nodes.push(n);
    }
}

/// The code of a function; it defines the result of the node that it replaces.
fn written(function: Function, args: &[Val], n: &Node, values: &mut Values) -> Vec<Node> {
    let Some(&result) = n.results.first() else { return Vec::new() };
    let uniform = values.uniform[result.index()];
    let ty = values.types[result.index()];
    let float = if ty == ScalarType::F64 { ScalarType::F64 } else { ScalarType::F32 };
    let mut w = Writer { values, nodes: Vec::new(), loc: n.loc.clone(), uniform, float };
    let half = ty == ScalarType::F16;
    let args: Vec<Val> = args.iter().map(|&a| if half { w.cast(a, ScalarType::F32) } else { a }).collect();
    let mut y = match (function, &args[..]) {
        (Function::One(f), [x]) => f(&mut w, *x),
        (Function::Two(f), [x, y]) => f(&mut w, *x, *y),
        // Verified bodies give functions their arguments.
        _ => return Vec::new(),
    };
    if half {
        y = w.cast(y, ScalarType::F16);
    }
    let mut nodes = w.nodes;
    // The last value takes the name of the result.
    match nodes.last_mut() {
        Some(last) if last.results[..] == [y] => last.results = smallvec![result],
        _ => nodes.push(Node { results: smallvec![result], op: Op::Bitcast(y), loc: n.loc.clone() }),
    }
    nodes
}

/// How a function is written, in the type of its arguments.
#[derive(Clone, Copy)]
enum Function {
    One(fn(&mut Writer<'_>, Val) -> Val),
    Two(fn(&mut Writer<'_>, Val, Val) -> Val),
}

/// The functions that are expanded.
fn function(p: PrimOp) -> Option<Function> {
    use Function::{One, Two};
    use PrimOp as P;
    Some(match p {
        P::ExpP => One(exponential::exp),
        P::SinhP => One(exponential::sinh),
        P::CoshP => One(exponential::cosh),
        P::TanhP => One(exponential::tanh),
        P::LnP => One(logarithmic::ln),
        P::Log2P => One(logarithmic::log2),
        P::Log10P => One(logarithmic::log10),
        P::AsinhP => One(inverse_hyperbolic::asinh),
        P::AcoshP => One(inverse_hyperbolic::acosh),
        P::AtanhP => One(inverse_hyperbolic::atanh),
        P::SinP => One(trigonometric::sin),
        P::CosP => One(trigonometric::cos),
        P::TanP => One(trigonometric::tan),
        P::AsinP => One(inverse::asin),
        P::AcosP => One(inverse::acos),
        P::AtanP => One(inverse::atan),
        P::Atan2P => Two(inverse::atan2),
        P::PowP => Two(power::pow),
        P::FmodP => Two(remainder::fmod),
        P::AddP | P::SubP | P::MulP | P::DivP | P::QuotP | P::RemP | P::DivFloorP | P::ModFloorP => return None,
        P::MinP | P::MaxP | P::AndP | P::OrP | P::XorP | P::ShlP | P::ShrP => return None,
        P::EqP | P::NeP | P::LtP | P::LeP | P::GtP | P::GeP => return None,
        P::NegP | P::AbsP | P::SignumP | P::NotP | P::PopCountP | P::LeadingZerosP | P::TrailingZerosP => return None,
        P::SqrtP | P::FloorP | P::CeilP | P::RoundP | P::TruncP | P::IsNanP | P::IsInfiniteP => return None,
    })
}
