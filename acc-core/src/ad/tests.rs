//! Every primitive's partial derivatives against differences, and at special points against what the table says.

use super::{Arithmetic, partial, scaled, tangent};
use crate::data::{Lit, Prim, ScalarType};
use crate::eval::{PrimError, eval_prim};
use crate::ir::{Domain, PrimOp};

/// Computes.
struct Plain;

impl Arithmetic for Plain {
    type Value = Lit;
    type Error = PrimError;
    fn ty(&self, x: &Lit) -> ScalarType {
        x.ty
    }
    fn literal(&mut self, l: Lit) -> Lit {
        l
    }
    fn prim(&mut self, op: PrimOp, args: &[Lit]) -> Result<Lit, PrimError> {
        eval_prim(op, args)
    }
    fn select(&mut self, cond: &Lit, then: &Lit, else_: &Lit) -> Result<Lit, PrimError> {
        Ok(if cond.bits != 0 { *then } else { *else_ })
    }
}

fn float(l: Lit) -> f64 {
    match l.ty {
        ScalarType::F32 => f64::from(f32::from_bits64(l.bits)),
        _ => f64::from_bits64(l.bits),
    }
}

fn eval(op: PrimOp, args: &[f64]) -> f64 {
    let args: Vec<Lit> = args.iter().map(|x| x.lit()).collect();
    float(eval_prim(op, &args).unwrap())
}

/// The partial derivative by the operand `which`, in `f64`; `None` if there is none.
fn by(op: PrimOp, args: &[f64], which: usize) -> Option<f64> {
    let lits: Vec<Lit> = args.iter().map(|x| x.lit()).collect();
    let y = eval_prim(op, &lits).unwrap();
    let p = partial(&mut Plain, op, &lits, &y, which).unwrap();
    scaled(&mut Plain, p, &1f64.lit(), false).unwrap().map(float)
}

/// Points where the operation has a slope.
fn points(op: PrimOp) -> Vec<Vec<f64>> {
    use PrimOp as P;
    let some = [-2.75, -1.45, -0.625, -0.1, 0.3, 0.875, 1.25, 3.55];
    let positive = [0.02, 0.3, 0.875, 1.25, 3.5, 40.0];
    let one = |xs: &[f64]| xs.iter().map(|x| vec![*x]).collect();
    let two =
        |xs: &[f64], ys: &[f64]| xs.iter().flat_map(|x| ys.iter().map(move |y| vec![*x, y * 1.01])).collect::<Vec<_>>();
    match op {
        P::SqrtP | P::LnP | P::Log2P | P::Log10P => one(&positive),
        P::AsinP | P::AcosP | P::AtanhP => one(&[-0.95, -0.5, -0.01, 0.2, 0.7, 0.99]),
        P::AcoshP => one(&[1.01, 1.5, 3.0, 20.0]),
        P::PowP => two(&positive, &some),
        // Away from where the quotient jumps.
        P::FmodP => two(&some, &[-1.97, -0.77, 0.79, 4.3]),
        _ if op.arity() == 1 => one(&some),
        _ => two(&some, &some),
    }
}

/// The derivative of `f` at `x` by central differences of three steps, extrapolated (Richardson, 1911), and how far the last
/// two extrapolations are apart.
fn richardson(f: impl Fn(f64) -> f64, x: f64) -> (f64, f64) {
    let step = 1e-2 * x.abs().clamp(0.01, 1.0);
    let d = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
    let (a, b, c) = (d(step), d(step / 2.0), d(step / 4.0));
    let (first, second) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
    let best = (16.0 * second - first) / 15.0;
    (best, (best - second).abs())
}

#[test]
fn partials_are_what_differences_say() {
    let mut checks = 0;
    for &op in PrimOp::ALL.iter().filter(|op| op.domain() != Domain::Int && op.domain() != Domain::Bits) {
        for args in points(op) {
            for which in 0..op.arity() {
                let f = |x: f64| {
                    let mut args = args.clone();
                    args[which] = x;
                    let y = eval_prim(op, &args.iter().map(|x| x.lit()).collect::<Vec<_>>()).unwrap();
                    if y.ty == ScalarType::F64 { float(y) } else { y.bits as f64 }
                };
                let (want, spread) = richardson(f, args[which]);
                let got = by(op, &args, which).unwrap_or(0.0);
                let tolerance = 2.0 * spread + 1e-9 * (1.0 + want.abs());
                assert!((got - want).abs() <= tolerance, "{} {args:?} by {which}: {got}, not {want}", op.name());
                checks += 1;
            }
        }
    }
    assert!(checks > 1000, "{checks}");
}

#[test]
fn operations_on_integers_have_no_partials() {
    for &op in PrimOp::ALL.iter().filter(|op| op.domain().contains(ScalarType::I64)) {
        let args = vec![3i64.lit(); op.arity()];
        let y = eval_prim(op, &args).unwrap();
        assert_eq!(tangent(&mut Plain, op, &args, &y, &vec![None; op.arity()], false), Ok(None));
        let p = partial(&mut Plain, op, &args, &y, 0).unwrap();
        assert_eq!(scaled(&mut Plain, p, &1f64.lit(), false), Ok(None), "{}", op.name());
    }
}

#[test]
fn special_points() {
    use PrimOp as P;
    let inf = f64::INFINITY;
    for (op, args, want) in [
        // Ties: all to the first.
        (P::MinP, &[2.0, 2.0][..], [1.0, 0.0]),
        (P::MaxP, &[2.0, 2.0], [1.0, 0.0]),
        (P::MaxP, &[0.0, 0.0], [1.0, 0.0]),
        (P::MaxP, &[1.0, 2.0], [0.0, 1.0]),
        (P::MinP, &[f64::NAN, 2.0], [1.0, 0.0]),
        (P::MinP, &[2.0, f64::NAN], [0.0, 1.0]),
        (P::PowP, &[-2.0, 3.0], [12.0, f64::NAN]),
        (P::PowP, &[0.0, 0.0], [0.0, 0.0]),
        (P::PowP, &[0.0, 1.0], [1.0, 0.0]),
        (P::PowP, &[0.0, 2.0], [0.0, 0.0]),
        (P::PowP, &[0.0, 0.5], [inf, 0.0]),
        (P::Atan2P, &[0.0, 0.0], [f64::NAN, f64::NAN]),
        (P::DivP, &[6.0, 4.0], [0.25, -0.375]),
    ] {
        for (which, want) in want.into_iter().enumerate() {
            let got = by(op, args, which).unwrap();
            assert!(got == want || got.is_nan() && want.is_nan(), "{} {args:?}: {got}, not {want}", op.name());
        }
    }
    for (op, x, want) in [
        (P::AbsP, 0.0, Some(0.0)),
        (P::SqrtP, 0.0, Some(inf)),
        (P::LnP, 0.0, Some(inf)),
        (P::AsinP, 1.0, Some(inf)),
        (P::AtanhP, 1.0, Some(inf)),
        (P::AcoshP, 1.0, Some(inf)),
        (P::AtanP, 1e200, Some(0.0)),
        (P::AsinhP, 1e200, Some(1e-200)),
        (P::AsinhP, -1e200, Some(1e-200)),
        (P::FloorP, 1.0, None),
        (P::SignumP, 0.0, None),
        (P::RoundP, 0.5, None),
    ] {
        assert_eq!(by(op, &[x], 0), want, "{} {x}", op.name());
    }
}

#[test]
fn zero_times_a_slope_that_is_no_number_is_zero() {
    for (op, args, which) in [
        (PrimOp::SqrtP, &[0.0][..], 0),
        (PrimOp::LnP, &[0.0], 0),
        (PrimOp::DivP, &[1.0, 0.0], 0),
        (PrimOp::DivP, &[1.0, 0.0], 1),
        (PrimOp::PowP, &[-2.0, 3.0], 1),
        (PrimOp::Atan2P, &[0.0, 0.0], 0),
    ] {
        let lits: Vec<Lit> = args.iter().map(|x| x.lit()).collect();
        let y = eval_prim(op, &lits).unwrap();
        let p = partial(&mut Plain, op, &lits, &y, which).unwrap();
        let got = scaled(&mut Plain, p, &0f64.lit(), false).unwrap().map(float);
        assert_eq!(got, Some(0.0), "{} {args:?}", op.name());
    }
    // A product is left alone, unless its factor may be such a zero.
    let args = [2f64.lit(), f64::INFINITY.lit()];
    let y = eval_prim(PrimOp::MulP, &args).unwrap();
    for (careful, zero) in [(false, false), (true, true)] {
        let t = tangent(&mut Plain, PrimOp::MulP, &args, &y, &[Some(0f64.lit()), None], careful).unwrap();
        assert_eq!(t.map(float) == Some(0.0), zero);
    }
}

#[test]
fn values_of_f32_have_partials_of_f32() {
    let x = 0.7f32.lit();
    for &op in PrimOp::ALL.iter().filter(|op| op.arity() == 1 && op.domain().contains(ScalarType::F32)) {
        let y = eval_prim(op, &[x]).unwrap();
        if let Some(t) = tangent(&mut Plain, op, &[x], &y, &[Some(1f32.lit())], false).unwrap() {
            assert_eq!(t.ty, ScalarType::F32, "{}", op.name());
            let exact = by(op, &[f64::from(0.7f32)], 0).unwrap();
            let same = float(t) == exact || (float(t) - exact).abs() <= 1e-5 * exact.abs();
            assert!(same || exact.is_nan() && float(t).is_nan(), "{}: {t:?}, not {exact}", op.name());
        }
    }
    assert!(eval(PrimOp::SqrtP, &[4.0]) == 2.0);
}
