//! Scatters with simple combinations: one loop per operation and type.

use super::int::Int;
use super::prims::{maximum, minimum};
use crate::buffer::OutSlice;
use crate::kernel::Update;
use acc_core::data::ColumnSlice;
use acc_core::ir::PrimOp;
use backend_native_lanes::{bitwise, comparisons, of_floats, of_integers, unary};
use half::f16;

#[inline(always)]
fn each<T: Copy>(values: &[T], list: Option<&[u32]>, at: &[usize], out: &mut [T], f: impl Fn(T, T) -> T) {
    match list {
        None => {
            for (&x, &p) in values.iter().zip(at) {
                out[p] = f(x, out[p]);
            }
        }
        Some(list) => {
            for (&k, &p) in list.iter().zip(at) {
                out[p] = f(values[k as usize], out[p]);
            }
        }
    }
}

fn int<T: Int>(op: PrimOp, values: &[T], list: Option<&[u32]>, at: &[usize], out: &mut [T]) -> bool {
    match op {
        PrimOp::AddP => each(values, list, at, out, T::add),
        PrimOp::SubP => each(values, list, at, out, T::sub),
        PrimOp::MulP => each(values, list, at, out, T::mul),
        PrimOp::MinP => each(values, list, at, out, minimum),
        PrimOp::MaxP => each(values, list, at, out, maximum),
        PrimOp::AndP => each(values, list, at, out, T::and),
        PrimOp::OrP => each(values, list, at, out, T::or),
        PrimOp::XorP => each(values, list, at, out, T::xor),
        comparisons!() | of_integers!() | of_floats!() | unary!() => return false,
    }
    true
}

macro_rules! float {
    ($name:ident, $t:ty) => {
        fn $name(op: PrimOp, values: &[$t], list: Option<&[u32]>, at: &[usize], out: &mut [$t]) -> bool {
            match op {
                PrimOp::AddP => each(values, list, at, out, |x, y| x + y),
                PrimOp::SubP => each(values, list, at, out, |x, y| x - y),
                PrimOp::MulP => each(values, list, at, out, |x, y| x * y),
                PrimOp::DivP => each(values, list, at, out, |x, y| x / y),
                PrimOp::MinP => each(values, list, at, out, minimum),
                PrimOp::MaxP => each(values, list, at, out, maximum),
                PrimOp::FmodP | PrimOp::PowP | PrimOp::Atan2P => return false,
                comparisons!() | bitwise!() | of_integers!() | unary!() => return false,
            }
            true
        }
    };
}
float!(float16, f16);
float!(float32, f32);
float!(float64, f64);

/// `out[at[k]] = update(values[k], out[at[k]])` in order; `list` picks the values if given. The operation is
/// one [with a loop](Update::has_loop); the operand order of the commutative ones does not matter.
pub(crate) fn update(u: Update, values: ColumnSlice<'_>, list: Option<&[u32]>, at: &[usize], out: OutSlice<'_>) {
    macro_rules! new {
        ($(($V:ident, $t:ty)),*) => {
            match (values, out) {
                $((ColumnSlice::$V(x), OutSlice::$V(o)) => each(x, list, at, o, |x, _| x),)*
                _ => debug_assert!(false, "lanes of another type"),
            }
        };
    }
    let op = match u {
        Update::Old => return,
        Update::New => return backend_native_lanes::all_types!(new),
        Update::Prim(op) | Update::PrimOldFirst(op) => op,
    };
    use ColumnSlice as C;
    let done = match (values, out) {
        (C::I8(x), OutSlice::I8(o)) => int(op, x, list, at, o),
        (C::I16(x), OutSlice::I16(o)) => int(op, x, list, at, o),
        (C::I32(x), OutSlice::I32(o)) => int(op, x, list, at, o),
        (C::I64(x), OutSlice::I64(o)) => int(op, x, list, at, o),
        (C::U8(x), OutSlice::U8(o)) => int(op, x, list, at, o),
        (C::U16(x), OutSlice::U16(o)) => int(op, x, list, at, o),
        (C::U32(x), OutSlice::U32(o)) => int(op, x, list, at, o),
        (C::U64(x), OutSlice::U64(o)) => int(op, x, list, at, o),
        (C::F16(x), OutSlice::F16(o)) => float16(op, x, list, at, o),
        (C::F32(x), OutSlice::F32(o)) => float32(op, x, list, at, o),
        (C::F64(x), OutSlice::F64(o)) => float64(op, x, list, at, o),
        _ => false,
    };
    debug_assert!(done, "a scatter with {}", op.name());
}
