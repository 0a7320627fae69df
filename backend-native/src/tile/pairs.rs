//! Two float operations in one loop: the value between them stays in a register.
//!
//! Each is rounded on its own, as if they were apart; nothing is contracted to a fused multiply-add.

use super::lanes::{Lane, Lanes};
use super::ops::{bitwise, comparisons, extremes, of_floats, of_integers, unary};
use super::versions::multiversion;
use acc_core::data::{ColumnSlice, ScalarType};
use acc_core::ir::PrimOp;

/// The second operation, of the first one's result `t` and `c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Second {
    /// `t + c`
    Add,
    /// `t - c`
    Sub,
    /// `c - t`
    SubFrom,
    /// `t * c`
    Mul,
}

/// A pair: `second(first(a, b), c)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    /// `AddP`, `SubP` or `MulP`.
    pub first: PrimOp,
    pub second: Second,
    /// Whether `b` is the same in every lane.
    pub b: bool,
    /// Whether `c` is.
    pub c: bool,
}

impl Pair {
    /// The second operation for an operator and the side on which the first one's result stands, if there is one.
    pub(crate) fn second(op: PrimOp, left: bool) -> Option<Second> {
        match (op, left) {
            (PrimOp::AddP, _) => Some(Second::Add),
            (PrimOp::SubP, true) => Some(Second::Sub),
            (PrimOp::SubP, false) => Some(Second::SubFrom),
            (PrimOp::MulP, _) => Some(Second::Mul),
            (comparisons!() | extremes!() | bitwise!() | of_integers!() | of_floats!() | unary!(), _) => None,
        }
    }

    /// Whether there is a loop for operands of this type.
    pub(crate) fn on(ty: ScalarType) -> bool {
        matches!(ty, ScalarType::F32 | ScalarType::F64)
    }

    /// Whether an operator can come first.
    pub(crate) fn first(op: PrimOp) -> bool {
        matches!(op, PrimOp::AddP | PrimOp::SubP | PrimOp::MulP)
    }
}

#[inline(always)]
fn run<T: Lane>(p: Pair, a: &[T], b: &[T], c: &[T], out: &mut [T], f: impl Fn(T, T, T) -> T) {
    let (Some(&b0), Some(&c0)) = (b.first(), c.first()) else { return };
    match (p.b, p.c) {
        (false, false) => {
            for (((o, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
                *o = f(x, y, z);
            }
        }
        (true, false) => {
            for ((o, &x), &z) in out.iter_mut().zip(a).zip(c) {
                *o = f(x, b0, z);
            }
        }
        (false, true) => {
            for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                *o = f(x, y, c0);
            }
        }
        (true, true) => {
            for (o, &x) in out.iter_mut().zip(a) {
                *o = f(x, b0, c0);
            }
        }
    }
}

macro_rules! seconds {
    ($p:ident, $a:ident, $b:ident, $c:ident, $out:ident, $first:expr) => {
        match $p.second {
            Second::Add => run($p, $a, $b, $c, $out, |x, y, z| $first(x, y) + z),
            Second::Sub => run($p, $a, $b, $c, $out, |x, y, z| $first(x, y) - z),
            Second::SubFrom => run($p, $a, $b, $c, $out, |x, y, z| z - $first(x, y)),
            Second::Mul => run($p, $a, $b, $c, $out, |x, y, z| $first(x, y) * z),
        }
    };
}

macro_rules! typed {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name(p: Pair, a: &[$t], b: &[$t], c: &[$t], out: &mut Lanes) {
            let out = <$t>::of_mut(out);
            match p.first {
                PrimOp::AddP => seconds!(p, a, b, c, out, |x: $t, y: $t| x + y),
                PrimOp::SubP => seconds!(p, a, b, c, out, |x: $t, y: $t| x - y),
                PrimOp::MulP => seconds!(p, a, b, c, out, |x: $t, y: $t| x * y),
                comparisons!() | extremes!() | bitwise!() | of_integers!() | of_floats!() | unary!() => {
                    debug_assert!(false, "{} in a pair", p.first.name());
                }
            }
        }
    };
}
typed!(pair_f32, f32);
typed!(pair_f64, f64);

#[inline(always)]
fn pair_impl(p: Pair, a: ColumnSlice<'_>, b: ColumnSlice<'_>, c: ColumnSlice<'_>, out: &mut Lanes) {
    match (a, b, c) {
        (ColumnSlice::F32(a), ColumnSlice::F32(b), ColumnSlice::F32(c)) => pair_f32(p, a, b, c, out),
        (ColumnSlice::F64(a), ColumnSlice::F64(b), ColumnSlice::F64(c)) => pair_f64(p, a, b, c, out),
        _ => debug_assert!(false, "a pair of operations on other than floats"),
    }
}

multiversion!(
    /// `out = second(first(a, b), c)` on the lanes of `a`.
    pair, pair_impl, (p: Pair, a: ColumnSlice<'_>, b: ColumnSlice<'_>, c: ColumnSlice<'_>, out: &mut Lanes) -> ()
);
