//! The maximum errors of the mathematical functions, against results of 160 bits.

use crate::common::{Rng, agree_within, parse};
use acc_core::data::{ArrayData, Column, Prim, ScalarType};
use acc_core::prelude::f16;
use acc_core::{Executor, RunLimits};
use astro_float_num::{BigFloat, Consts, RoundingMode};
use backend_native::{Compile, Native, Options};

const PRECISION: usize = 160;
const ROUND: RoundingMode = RoundingMode::ToEven;

/// The distribution of arguments.
#[derive(Clone, Copy)]
enum Range {
    /// Uniform between two numbers.
    Line(f64, f64),
    /// Between two positive numbers or their negatives, with uniform exponents.
    Exponents(f64, f64),
    /// The same, for positive numbers only.
    Positive(f64, f64),
}

impl Range {
    fn draw(self, r: &mut Rng) -> f64 {
        let unit = |r: &mut Rng| (r.next() >> 11) as f64 / (1u64 << 53) as f64;
        match self {
            Range::Line(a, b) => a + (b - a) * unit(r),
            Range::Positive(a, b) => (a.ln() + (b.ln() - a.ln()) * unit(r)).exp(),
            Range::Exponents(a, b) => {
                let x = Range::Positive(a, b).draw(r);
                if r.next().is_multiple_of(2) { x } else { -x }
            }
        }
    }
}

type Exact = fn(&BigFloat, &BigFloat, &mut Consts) -> BigFloat;

/// A function: its name, its value to many digits, the distributions of its arguments for `f32` and `f64`, and the
/// documented errors.
struct Function {
    name: &'static str,
    exact: Exact,
    /// For `f32` and `f64`: one or two arguments.
    args: [&'static [(Range, Range)]; 2],
    errors: [f64; 2],
}

/// One argument.
macro_rules! one {
    ($name:literal, $method:ident, [$($f32:expr),*], [$($f64:expr),*], $e32:literal, $e64:literal) => {
        Function {
            name: $name,
            exact: |x, _, c| x.$method(PRECISION, ROUND, c),
            args: [&[$(($f32, Range::Line(0.0, 0.0))),*], &[$(($f64, Range::Line(0.0, 0.0))),*]],
            errors: [$e32, $e64],
        }
    };
}

fn functions() -> Vec<Function> {
    use Range::{Exponents, Line, Positive};
    const TINY: f64 = 1e-300;
    const MIN_SINGLE: f64 = 1e-37;
    vec![
        one!(
            "exp",
            exp,
            [Line(-103.0, 88.7), Exponents(MIN_SINGLE, 10.0)],
            [Line(-745.0, 709.7), Exponents(TINY, 10.0)],
            0.9,
            0.9
        ),
        one!("ln", ln, [Positive(1e-45, 3e38), Line(0.5, 2.0)], [Positive(1e-310, 1e308), Line(0.5, 2.0)], 0.8, 0.8),
        one!(
            "log2",
            log2,
            [Positive(1e-45, 3e38), Line(0.5, 2.0)],
            [Positive(1e-310, 1e308), Line(0.5, 2.0)],
            0.7,
            0.7
        ),
        one!(
            "log10",
            log10,
            [Positive(1e-45, 3e38), Line(0.5, 2.0)],
            [Positive(1e-310, 1e308), Line(0.5, 2.0)],
            0.7,
            0.7
        ),
        one!(
            "sin",
            sin,
            [Line(-10.0, 10.0), Exponents(MIN_SINGLE, 3e38)],
            [Line(-10.0, 10.0), Exponents(TINY, 1e300)],
            1.4,
            0.8
        ),
        one!(
            "cos",
            cos,
            [Line(-10.0, 10.0), Exponents(MIN_SINGLE, 3e38)],
            [Line(-10.0, 10.0), Exponents(TINY, 1e300)],
            1.4,
            0.8
        ),
        one!(
            "tan",
            tan,
            [Line(-10.0, 10.0), Exponents(MIN_SINGLE, 3e38)],
            [Line(-10.0, 10.0), Exponents(TINY, 1e300)],
            2.5,
            1.8
        ),
        one!(
            "asin",
            asin,
            [Line(-1.0, 1.0), Exponents(MIN_SINGLE, 1.0)],
            [Line(-1.0, 1.0), Exponents(TINY, 1.0)],
            0.7,
            0.6
        ),
        one!(
            "acos",
            acos,
            [Line(-1.0, 1.0), Exponents(MIN_SINGLE, 1.0)],
            [Line(-1.0, 1.0), Exponents(TINY, 1.0)],
            0.7,
            0.6
        ),
        one!(
            "atan",
            atan,
            [Line(-5.0, 5.0), Exponents(MIN_SINGLE, 3e38)],
            [Line(-5.0, 5.0), Exponents(TINY, 1e300)],
            1.1,
            0.7
        ),
        one!(
            "sinh",
            sinh,
            [Line(-89.0, 89.0), Exponents(MIN_SINGLE, 10.0)],
            [Line(-710.0, 710.0), Exponents(TINY, 10.0)],
            1.3,
            1.2
        ),
        one!(
            "cosh",
            cosh,
            [Line(-89.0, 89.0), Exponents(MIN_SINGLE, 10.0)],
            [Line(-710.0, 710.0), Exponents(TINY, 10.0)],
            1.3,
            1.2
        ),
        one!(
            "tanh",
            tanh,
            [Line(-10.0, 10.0), Exponents(MIN_SINGLE, 50.0)],
            [Line(-20.0, 20.0), Exponents(TINY, 50.0)],
            1.1,
            1.1
        ),
        one!(
            "asinh",
            asinh,
            [Line(-5.0, 5.0), Exponents(MIN_SINGLE, 3e38)],
            [Line(-5.0, 5.0), Exponents(1e-50, 1e300)],
            1.3,
            1.4
        ),
        one!("acosh", acosh, [Line(1.0, 5.0), Positive(1.0, 3e38)], [Line(1.0, 5.0), Positive(1.0, 1e300)], 1.0, 1.4),
        one!(
            "atanh",
            atanh,
            [Line(-1.0, 1.0), Exponents(MIN_SINGLE, 1.0)],
            [Line(-1.0, 1.0), Exponents(1e-50, 1.0)],
            0.9,
            1.5
        ),
        Function {
            name: "pow",
            exact: |x, y, c| x.pow(y, PRECISION, ROUND, c),
            args: [
                &[(Positive(1e-37, 1e38), Line(-1.0, 1.0)), (Line(0.5, 2.0), Line(-80.0, 80.0))],
                &[(Positive(1e-300, 1e300), Line(-1.0, 1.0)), (Line(0.5, 2.0), Line(-600.0, 600.0))],
            ],
            errors: [0.51, 1.4],
        },
        Function {
            name: "atan2",
            exact: |y, x, c| y.div(x, PRECISION, ROUND).atan(PRECISION, ROUND, c),
            args: [
                &[(Line(-9.0, 9.0), Line(1e-3, 9.0)), (Exponents(1e-18, 1e18), Positive(1e-18, 1e18))],
                &[(Line(-9.0, 9.0), Line(1e-3, 9.0)), (Exponents(1e-100, 1e100), Positive(1e-100, 1e100))],
            ],
            errors: [1.1, 1.1],
        },
    ]
}

fn column(values: &[f64], double: bool) -> ArrayData {
    let (ty, column) = if double {
        (ScalarType::F64, Column::from_vec(values.to_vec()))
    } else {
        (ScalarType::F32, Column::from_vec(values.iter().map(|&x| x as f32).collect::<Vec<f32>>()))
    };
    ArrayData::new([values.len()], ty.into(), [column]).unwrap()
}

fn values(a: &ArrayData) -> Vec<f64> {
    match a.columns()[0].slice() {
        acc_core::data::ColumnSlice::F32(x) => x.iter().map(|&x| f64::from(x)).collect(),
        acc_core::data::ColumnSlice::F64(x) => x.to_vec(),
        _ => Vec::new(),
    }
}

/// The exact value of a number, scaled up first, since subnormal ones are converted wrongly.
fn big(x: f64) -> BigFloat {
    let up = 2f64.powi(120);
    if x.abs() < 1e-200 {
        return BigFloat::from_f64(x * up, PRECISION).div(&BigFloat::from_f64(up, PRECISION), PRECISION, ROUND);
    }
    BigFloat::from_f64(x, PRECISION)
}

/// The distance of a result from the exact value, in units in the last place at the exact value's exponent.
fn error(got: f64, exact: &BigFloat, double: bool, c: &mut Consts) -> f64 {
    let (digits, least) = if double { (53, -1074) } else { (24, -149) };
    let exponent = exact.exponent().unwrap_or(0);
    let unit = (exponent - digits).max(least);
    let distance = big(got).sub(exact, PRECISION, ROUND);
    let two = BigFloat::from_i32(2, PRECISION).powi(unit.unsigned_abs() as usize, PRECISION, ROUND);
    let scaled = if unit < 0 { distance.mul(&two, PRECISION, ROUND) } else { distance.div(&two, PRECISION, ROUND) };
    let text = scaled.format(astro_float_num::Radix::Dec, ROUND, c).unwrap();
    text.parse::<f64>().unwrap().abs()
}

#[test]
fn errors_are_as_documented() {
    const POINTS: usize = 1500;
    let mut c = Consts::new().unwrap();
    let mut r = Rng(0x9e37_79b9_7f4a_7c15);
    let (native, tiles) = (Native::compiled(), Native::tiles());
    let relaxed = Native::with(Options::new().relaxed(true).compile(Compile::Now)).unwrap();
    let mut wrong = Vec::new();
    for f in functions() {
        let mut measured = Vec::new();
        for double in [false, true] {
            let arguments = f.args[usize::from(double)];
            let mut pairs = Vec::new();
            for &(x, y) in arguments {
                pairs.extend((0..POINTS).map(|_| (x.draw(&mut r), y.draw(&mut r))));
            }
            let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let args = [column(&xs, double), column(&ys, double)];
            let ty = if double { "f64" } else { "f32" };
            let call = if matches!(f.name, "pow" | "atan2") { "%x, %y" } else { "%x" };
            let program = parse(&format!(
                "program(xs: [1]{ty}, ys: [1]{ty}) {{ r: [1]{ty} = zip_with(xs, ys, f: |%x: {ty}, %y: {ty}| {}({call})) yield r }}",
                f.name
            ));
            let run = |n: &Native| n.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            let (got, same) = (run(&native), run(&tiles));
            crate::common::same(&got[0], &same[0], 0.0).unwrap_or_else(|e| panic!("{} of {ty}: {e}", f.name));
            let (xs, ys) = (values(&args[0]), values(&args[1]));
            let relaxed = values(&run(&relaxed)[0]);
            let mut greatest = [(0.0f64, 0.0, 0.0); 2];
            for (((&x, &y), got), relaxed) in xs.iter().zip(&ys).zip(values(&got[0])).zip(relaxed) {
                let exact = (f.exact)(&big(x), &big(y), &mut c);
                for (greatest, got) in greatest.iter_mut().zip([got, relaxed]) {
                    let e = if got.is_finite() { error(got, &exact, double, &mut c) } else { f64::INFINITY };
                    if e > greatest.0 {
                        *greatest = (e, x, y);
                    }
                }
            }
            for ((e, x, y), how) in greatest.into_iter().zip(["", ", relaxed"]) {
                if e > f.errors[usize::from(double)] {
                    wrong.push(format!("{} of {ty}{how}: {e:.3} ulp at {x:e}, {y:e}", f.name));
                }
            }
            measured.push(greatest[0].0);
        }
        println!("//! | `{}` | {:.2} | {:.2} |", f.name, measured[0], measured[1]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn remainders_are_exact() {
    let extreme =
        [0.0, 5e-324, 63.0 * 5e-324, 2.2e-308, 1e-300, 0.1, 1.0, 3.5, 7.25, 1e16, 1.7e308, f64::INFINITY, f64::NAN];
    let mut r = Rng(0xabcd_ef01_2345_6789);
    let mut pairs: Vec<(f64, f64)> = extreme.iter().flat_map(|&x| extreme.map(|y| (x, -y))).collect();
    pairs.extend((0..2000).map(|_| (f64::from_bits(r.next()), f64::from_bits(r.next()))));
    for double in [false, true] {
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let args = [column(&xs, double), column(&ys, double)];
        let ty = if double { "f64" } else { "f32" };
        let program = parse(&format!(
            "program(xs: [1]{ty}, ys: [1]{ty}) {{ r: [1]{ty} = zip_with(xs, ys, f: |%x: {ty}, %y: {ty}| fmod(%x, %y)) yield r }}"
        ));
        for native in [Native::compiled(), Native::tiles()] {
            let got = native.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            let (xs, ys) = (values(&args[0]), values(&args[1]));
            for ((x, y), got) in xs.iter().zip(&ys).zip(values(&got[0])) {
                let want = if double { x % y } else { f64::from(*x as f32 % *y as f32) };
                assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{x:e} % {y:e}: {got:e}");
            }
        }
    }
}

/// The standard library's function is imprecise near 1.
fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    if x < 1.0 {
        return f64::NAN;
    }
    if x > 1e9 { x.ln() + std::f64::consts::LN_2 } else { (t + (t * (t + 2.0)).sqrt()).ln_1p() }
}

type OfOne = (&'static str, fn(f64) -> f64);
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// Zeros, infinities, the smallest and largest numbers, NaN, and numbers next to the ends of domains and pieces.
#[test]
fn functions_are_right_at_their_ends() {
    let one: [OfOne; 15] = [
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("asin", f64::asin),
        ("acos", f64::acos),
        ("atan", f64::atan),
        ("sinh", f64::sinh),
        ("cosh", f64::cosh),
        ("tanh", f64::tanh),
        ("asinh", f64::asinh),
        ("acosh", acosh),
        ("atanh", f64::atanh),
        ("exp", f64::exp),
        ("ln", f64::ln),
        ("log10", f64::log10),
    ];
    let two: [OfTwo; 2] = [("atan2", f64::atan2), ("pow", f64::powf)];
    for double in [false, true] {
        let (least, normal, most, next) = if double {
            (5e-324, f64::MIN_POSITIVE, 1e300, f64::EPSILON)
        } else {
            (1e-45, f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX), f64::from(f32::EPSILON))
        };
        let sizes = [0.0, least, normal, 1e-20, 0.25, 0.5, 0.53, 1.0 - next, 1.0, 1.0 + next, 1.5, 1.55, 2.0, 3.0];
        let large = [4096.0, 4097.0, 16_777_217.0, 1e9, 1e20, 2e38, most, f64::INFINITY, f64::NAN];
        let values_of: Vec<f64> = sizes.into_iter().chain(large).flat_map(|x| [x, -x]).collect();
        let pairs = values_of.iter().flat_map(|&x| values_of.iter().map(move |&y| (x, y)));
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let args = [column(&xs, double), column(&ys, double)];
        let (xs, ys) = (values(&args[0]), values(&args[1]));
        let ty = if double { "f64" } else { "f32" };
        let check = |call: &str, want: &dyn Fn(f64, f64) -> f64| {
            let program = parse(&format!(
                "program(xs: [1]{ty}, ys: [1]{ty}) {{ r: [1]{ty} = zip_with(xs, ys, f: |%x: {ty}, %y: {ty}| {call}) yield r }}"
            ));
            let run = |n: &Native| n.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            let (got, same) = (run(&Native::compiled()), run(&Native::tiles()));
            crate::common::same(&got[0], &same[0], 0.0).unwrap_or_else(|e| panic!("{call} of {ty}: {e}"));
            for ((&x, &y), got) in xs.iter().zip(&ys).zip(values(&got[0])) {
                let exact = want(x, y);
                let want = if double { exact } else { f64::from(exact as f32) };
                let near = (got - want).abs() <= 4.0 * next * want.abs() + 2.0 * least;
                let ok = want.is_nan() && got.is_nan() || got == want || want.is_finite() && near;
                assert!(
                    ok && (got.is_nan() || got.is_sign_negative() == want.is_sign_negative()),
                    "{call} of {ty}: {x:e}, {y:e}: {got:e}, not {want:e}"
                );
            }
        };
        for (name, f) in one {
            check(&format!("{name}(%x)"), &|x, _| f(x));
        }
        for (name, f) in two {
            check(&format!("{name}(%x, %y)"), &|x, y| f(x, y));
        }
    }
}

/// In bodies with vectors of other widths, on scalars, and where results are subnormal, infinite or NaN.
#[test]
fn exponentials_are_the_same_bits_on_tiles_wherever_they_end() {
    for (ty, low, high) in [("f32", -104.5, 89.5), ("f64", -746.0, 711.0), ("f16", -18.0, 12.0)] {
        let text = "program(a: [1]T, b: [1](u8, T), c: [0]T, d: [1](f64, T)) {
            x: [1]T = map(a, f: |%x: T| exp(%x))
            y: [1](u8, T) = map(b, f: |%k: u8, %x: T| (add(%k, 1u8), exp(%x)))
            z: [0]T = map(c, f: |%x: T| exp(%x))
            w: [1](f64, T) = map(d, f: |%y: f64, %x: T| (sqrt(mul(add(%y, 1.0f64), 2.0f64)), sinh(%x)))
            yield x, y, z, w
          }";
        let text = text.replace('T', ty);
        let program = parse(&text);
        let near = |end: f64| (-200..200).map(move |k| end + f64::from(k) / 256.0);
        let ends = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e300, -1e300];
        let xs: Vec<f64> = near(low).chain(near(high)).chain(near(0.0)).chain(ends).collect();
        let lit = |x: f64| match ty {
            "f32" => (x as f32).lit(),
            "f64" => x.lit(),
            _ => f16::from_f64(x).lit(),
        };
        let types: Vec<_> = program.param_types().map(|t| t.elt.clone()).collect();
        let args = |c: f64| {
            let one = ArrayData::from_leaves([xs.len()], types[0].clone(), xs.iter().map(|&x| [lit(x)]));
            let two = ArrayData::from_leaves([xs.len()], types[1].clone(), xs.iter().map(|&x| [7u8.lit(), lit(x)]));
            let scalar = ArrayData::from_leaves([], types[2].clone(), [[lit(c)]]);
            let wide = ArrayData::from_leaves([xs.len()], types[3].clone(), xs.iter().map(|&x| [2f64.lit(), lit(x)]));
            [one, two, scalar, wide].map(Result::unwrap)
        };
        for c in [1.0, f64::NAN, -1e300, low + 0.25, high] {
            agree_within(&text, &args(c), 1e-2);
        }
    }
}
