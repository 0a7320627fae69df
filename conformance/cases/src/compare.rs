//! When two results are equal.
//!
//! Shapes, types, integers, booleans and characters must be equal exactly. Floats are held to a [`Near`], which comes
//! from the test file or from what the program computes (see [`bound`](crate::bound)); a NaN equals every NaN, and an
//! infinity only itself. There is no tolerance that holds for all programs.

use acc_core::data::{ArrayData, Column, ColumnSlice};
use acc_core::prelude::f16;
use acc_core::text::Tolerance;

/// How near a float must be to the expected one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Near {
    /// The same bits (any two NaNs, though).
    Exact,
    /// Equal as numbers: zeros of either sign are the same.
    Equal,
    /// At most so many units in the last place apart.
    Ulp(u64),
    /// At most so many units in the last place of the greatest magnitude in the column: for sums, whose error goes
    /// with the size of what is summed, not with that of the sum.
    ColumnUlp(u64),
    /// At most this difference.
    Absolute(f64),
    /// At most this difference, relative to the greater magnitude.
    Relative(f64),
}

impl From<Tolerance> for Near {
    fn from(t: Tolerance) -> Near {
        match t {
            Tolerance::Ulp(n) => Near::Ulp(n),
            Tolerance::Absolute(d) => Near::Absolute(d),
            Tolerance::Relative(d) => Near::Relative(d),
        }
    }
}

/// Compares a result with what is expected; the error says what differs, and where first.
pub fn compare(got: &ArrayData, want: &ArrayData, near: Near) -> Result<(), String> {
    if got.elt() != want.elt() {
        return Err(format!("elements of type {} where {} is expected", got.elt(), want.elt()));
    }
    if got.shape() != want.shape() {
        return Err(format!("shape {:?} where {:?} is expected", got.shape(), want.shape()));
    }
    for (leaf, (g, w)) in got.columns().iter().zip(want.columns()).enumerate() {
        let (differing, first) = differences(g, w, near);
        if let Some(k) = first {
            let at = acc_core::data::unlinear_index(want.shape(), k);
            let show = |c: &Column| c.slice().get(k).map(|l| format!("{l:?}")).unwrap_or_default();
            let (g, w) = (show(g), show(w));
            return Err(format!(
                "{differing} of {} values differ in leaf {leaf}; the first at {at:?}: {g} where {w} is expected ({near:?})",
                want.size()
            ));
        }
    }
    Ok(())
}

/// How many values differ, and the position of the first.
fn differences(got: &Column, want: &Column, near: Near) -> (usize, Option<usize>) {
    macro_rules! count {
        ($g:expr, $w:expr, $same:expr) => {{
            let mut different = $g.iter().zip($w).enumerate().filter(|(_, (g, w))| !$same(**g, **w)).map(|(k, _)| k);
            let first = different.next();
            (usize::from(first.is_some()) + different.count(), first)
        }};
    }
    match (got.slice(), want.slice()) {
        (ColumnSlice::F16(g), ColumnSlice::F16(w)) => {
            let scale = w.iter().filter(|x| x.is_finite()).fold(0f32, |m, x| m.max(x.to_f32().abs()));
            let scale = Float::of16(f16::from_f32(scale));
            count!(g, w, |g, w| same(Float::of16(g), Float::of16(w), scale, near))
        }
        (ColumnSlice::F32(g), ColumnSlice::F32(w)) => {
            let scale = w.iter().filter(|x| x.is_finite()).fold(0f32, |m, x| m.max(x.abs()));
            count!(g, w, |g, w| same(Float::of32(g), Float::of32(w), Float::of32(scale), near))
        }
        (ColumnSlice::F64(g), ColumnSlice::F64(w)) => {
            let scale = w.iter().filter(|x| x.is_finite()).fold(0f64, |m, x| m.max(x.abs()));
            count!(g, w, |g, w| same(Float::of64(g), Float::of64(w), Float::of64(scale), near))
        }
        // Everything else is exact; a column that differs without a first difference cannot be.
        (g, w) => {
            let mut different = (0..w.len().max(g.len())).filter(|&k| g.get(k) != w.get(k));
            let first = different.next();
            (usize::from(first.is_some()) + different.count(), first)
        }
    }
}

/// A float with its neighbourhood.
#[derive(Clone, Copy)]
struct Float {
    value: f64,
    /// Floats of its type in order: neighbours differ by one; both zeros are 0.
    rank: i64,
    bits: u64,
    /// The distance to the next float away from zero.
    ulp: f64,
}

/// The distance to the next float away from zero.
pub fn ulp16(x: f16) -> f64 {
    let magnitude = x.to_bits() & 0x7fff;
    f16::from_bits(magnitude + 1).to_f64() - f16::from_bits(magnitude).to_f64()
}
/// The same for single precision.
pub fn ulp32(x: f32) -> f64 {
    f64::from(x.abs().next_up()) - f64::from(x.abs())
}
/// The same for double precision.
pub fn ulp64(x: f64) -> f64 {
    x.abs().next_up() - x.abs()
}

impl Float {
    fn of16(x: f16) -> Float {
        let magnitude = x.to_bits() & 0x7fff;
        Float {
            value: x.to_f64(),
            rank: if x.is_sign_negative() { -i64::from(magnitude) } else { i64::from(magnitude) },
            bits: u64::from(x.to_bits()),
            ulp: ulp16(x),
        }
    }
    fn of32(x: f32) -> Float {
        let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
        Float {
            value: f64::from(x),
            rank: if x.is_sign_negative() { -magnitude } else { magnitude },
            bits: u64::from(x.to_bits()),
            ulp: ulp32(x),
        }
    }
    fn of64(x: f64) -> Float {
        let magnitude = (x.to_bits() & 0x7fff_ffff_ffff_ffff) as i64;
        Float {
            value: x,
            rank: if x.is_sign_negative() { -magnitude } else { magnitude },
            bits: x.to_bits(),
            ulp: ulp64(x),
        }
    }
}

fn same(got: Float, want: Float, scale: Float, near: Near) -> bool {
    if got.value.is_nan() || want.value.is_nan() {
        return got.value.is_nan() && want.value.is_nan();
    }
    if got.bits == want.bits {
        return true;
    }
    if got.value.is_infinite() || want.value.is_infinite() {
        return false;
    }
    let difference = (got.value - want.value).abs();
    match near {
        Near::Exact => false,
        Near::Equal => difference == 0.0,
        Near::Ulp(n) => got.rank.abs_diff(want.rank) <= n,
        Near::ColumnUlp(n) => difference <= n as f64 * scale.ulp,
        Near::Absolute(d) => difference <= d,
        Near::Relative(d) => difference <= d * got.value.abs().max(want.value.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::{Prim, ScalarType};

    fn f32s(xs: &[f32]) -> ArrayData {
        ArrayData::from_leaves([xs.len()], ScalarType::F32.into(), xs.iter().map(|x| [x.lit()])).unwrap()
    }

    fn near(got: f32, want: f32, near: Near) -> bool {
        compare(&f32s(&[got]), &f32s(&[want]), near).is_ok()
    }

    #[test]
    fn floats_are_compared_as_stated() {
        let next = 1f32.next_up();
        assert!(!near(next, 1.0, Near::Exact) && near(1.0, 1.0, Near::Exact));
        assert!(near(next, 1.0, Near::Ulp(1)) && !near(next.next_up(), 1.0, Near::Ulp(1)));
        assert!(!near(0.0, -0.0, Near::Exact) && near(0.0, -0.0, Near::Equal) && near(0.0, -0.0, Near::Ulp(0)));
        assert!(near(-f32::from_bits(1), f32::from_bits(1), Near::Ulp(2)));
        assert!(near(1.5, 1.0, Near::Absolute(0.5)) && !near(1.5, 1.0, Near::Absolute(0.4)));
        assert!(near(101.0, 100.0, Near::Relative(0.01)) && !near(101.0, 100.0, Near::Relative(0.009)));
    }

    #[test]
    fn nan_is_nan_and_infinity_only_itself() {
        for n in [Near::Exact, Near::Ulp(5), Near::Absolute(f64::INFINITY)] {
            assert!(near(f32::NAN, -f32::NAN, n));
            assert!(!near(f32::NAN, 1.0, n) && !near(1.0, f32::NAN, n));
            assert!(!near(f32::INFINITY, f32::MAX, n) && !near(f32::INFINITY, f32::NEG_INFINITY, n));
        }
    }

    #[test]
    fn sums_are_held_to_the_size_of_their_column() {
        let (got, want) = (f32s(&[1000.0, 1e-5]), f32s(&[1000.0, 0.0]));
        assert!(compare(&got, &want, Near::ColumnUlp(1)).is_ok());
        let message = compare(&got, &want, Near::Ulp(1)).unwrap_err();
        assert!(
            message.starts_with("1 of 2 values differ in leaf 0; the first at [1]: 1e-5f32 where 0.0f32"),
            "{message}"
        );
    }

    #[test]
    fn shapes_and_types_are_exact() {
        let a = f32s(&[1.0, 2.0]);
        let b = ArrayData::from_leaves([2], ScalarType::F64.into(), [[1f64.lit()], [2f64.lit()]]).unwrap();
        assert_eq!(compare(&a, &b, Near::Exact).unwrap_err(), "elements of type f32 where f64 is expected");
        let m = a.reshaped(&[2, 1]).unwrap();
        assert_eq!(compare(&m, &a, Near::Exact).unwrap_err(), "shape [2, 1] where [2] is expected");
    }
}
