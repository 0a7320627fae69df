//! Complex functions beside values computed with 4000 bits: for each function the numbers `x + iy` with `x` of both signs and
//! `y` positive, magnitudes from 1e-300 to 1e300.

use acc_core::prelude::*;

const MAGNITUDES: [f64; 14] =
    [1e-300, 1e-160, 1e-20, 1e-8, 0.1, 0.6, 0.999_999_9, 1.0, 1.5, 30.0, 800.0, 1e8, 1e160, 1e300];

type Apply = fn(Exp<Complex<f64>>) -> Exp<Complex<f64>>;

/// In the order of the file; and the greatest error of a part, in units in its last place.
const FUNCTIONS: [(&str, Apply, f64); 15] = [
    ("sqrt", |z| z.sqrt(), 3.0),
    ("exp", |z| z.exp(), 3.0),
    ("ln", |z| z.ln(), 3.0),
    ("sin", |z| z.sin(), 3.0),
    ("cos", |z| z.cos(), 3.0),
    ("tan", |z| z.tan(), 6.0),
    ("asin", |z| z.asin(), 4.0),
    ("acos", |z| z.acos(), 4.0),
    ("atan", |z| z.atan(), 4.0),
    ("sinh", |z| z.sinh(), 3.0),
    ("cosh", |z| z.cosh(), 3.0),
    ("tanh", |z| z.tanh(), 6.0),
    ("asinh", |z| z.asinh(), 4.0),
    ("acosh", |z| z.acosh(), 4.0),
    ("atanh", |z| z.atanh(), 4.0),
];

fn points() -> Vec<Complex<f64>> {
    let reals = MAGNITUDES.iter().rev().map(|m| -m).chain(MAGNITUDES);
    reals.flat_map(|x| MAGNITUDES.map(|y| Complex::new(x, y))).collect()
}

/// The nearest numbers, as the file has them; `None` where both parts are out of reach.
fn references() -> Vec<Option<Complex<f64>>> {
    let bits = |text: &str| f64::from_bits(u64::from_str_radix(text, 16).expect("the bits of a number"));
    let lines = include_str!("data/complex_functions.txt").lines();
    lines.map(|l| (l != "-").then(|| Complex::new(bits(&l[..16]), bits(&l[16..])))).collect()
}

/// The distance in units in the last place of `want`; infinite results must be met.
fn ulps(got: f64, want: f64) -> f64 {
    if got == want || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if !got.is_finite() || !want.is_finite() {
        return f64::INFINITY;
    }
    let unit = (f64::from_bits(want.abs().to_bits() + 1) - want.abs()).max(f64::from_bits(1));
    (got - want).abs() / unit
}

fn evaluated(f: Apply, zs: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let zs: Vector<Complex<f64>> = zs.iter().copied().collect();
    Interpreter::new().run(use_(&zs).map(f)).expect("no fault").to_vec()
}

#[test]
fn both_parts_are_near_the_true_ones_for_all_magnitudes() {
    let (points, references) = (points(), references());
    assert_eq!(references.len(), points.len() * FUNCTIONS.len());
    let mut wrong = Vec::new();
    for ((name, f, most), wants) in FUNCTIONS.iter().zip(references.chunks(points.len())) {
        let mut worst = (0.0, String::new());
        let mut off = 0;
        for ((z, got), want) in points.iter().zip(evaluated(*f, &points)).zip(wants) {
            let Some(want) = want else { continue };
            let error = ulps(got.re, want.re).max(ulps(got.im, want.im));
            off += usize::from(error > *most);
            if error > worst.0 {
                worst = (error, format!("{name}({z:e}) = {got:e}, not {want:e}"));
            }
        }
        println!("{name}: {:.2} ulp at {}", worst.0, worst.1);
        if off > 0 {
            wrong.push(format!("{off} points: {:.1} ulp: {}", worst.0, worst.1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_of_conjugates_are_conjugates() {
    let points = points();
    let conjugates: Vec<_> = points.iter().map(Complex::conj).collect();
    for (name, f, _) in FUNCTIONS {
        for ((z, a), b) in points.iter().zip(evaluated(f, &points)).zip(evaluated(f, &conjugates)) {
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            assert!(same(a.re, b.re) && same(a.im, -b.im), "{name}({z}) = {a}, but of its conjugate {b}");
        }
    }
}

/// Zeros of both signs, infinities, NaN and points on the branch cuts, with the results of NumPy 2, which follows C99.
#[test]
fn zeros_infinities_and_branch_cuts_are_those_of_c99() {
    let rows: Vec<(&str, Complex<f64>, Complex<f64>)> = include_str!("data/complex_special.txt")
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |k: usize| words[k].parse::<f64>().expect("a number");
            (words[0], Complex::new(number(1), number(2)), Complex::new(number(3), number(4)))
        })
        .collect();
    let mut wrong = Vec::new();
    for (name, f, _) in FUNCTIONS {
        let rows: Vec<_> = rows.iter().filter(|(function, ..)| *function == name).collect();
        let points: Vec<Complex<f64>> = rows.iter().map(|(_, z, _)| *z).collect();
        for ((_, z, want), got) in rows.iter().zip(evaluated(f, &points)) {
            // C99 leaves signs open beside a NaN, and of an exponential that vanishes at no angle.
            let open =
                want.re.is_nan() || want.im.is_nan() || (name == "exp" && z.re.is_infinite() && z.im.is_infinite());
            let same = |a: f64, b: f64| match open {
                true => ulps(a.abs(), b.abs()) < 4.0,
                false => a.is_sign_negative() == b.is_sign_negative() && ulps(a, b) < 4.0,
            };
            if !(same(got.re, want.re) && same(got.im, want.im)) {
                wrong.push(format!("{name}({z}) = {got}, not {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
