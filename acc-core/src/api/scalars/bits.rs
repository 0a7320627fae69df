//! Bits of integers and `bool`.

use super::compare::choose;
use crate::api::types::exp::{prim1, prim2};
use crate::api::{Exp, IntoExp, ScalarElt, bitcast, constant};
use crate::builder;
use crate::data::HasScalarType;
use crate::ir::{Loc, PrimOp};

/// Types with `& | ^ !` and single bits: integers and `bool`, which has one bit.
///
/// ```
/// use acc_core::prelude::*;
/// fn low_bit<T: Bits>(x: Exp<T>) -> Exp<bool> {
///     x.test_bit(0)
/// }
/// let xs = use_(&Vector::from([4u8, 5]));
/// assert_eq!(Interpreter::new().run(xs.map(low_bit))?.to_vec(), [false, true]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "no bitwise operators on `{Self}` (`Bits`)",
    note = "`&`, `|`, `^`, `!` work on integers and bool"
)]
pub trait Bits: ScalarElt {
    /// The width in bits.
    const WIDTH: i64;
    /// Whether the type is signed.
    const SIGNED: bool;
    /// No bit set.
    const ZERO_BITS: Self;
    #[doc(hidden)]
    fn shl_bits(x: Exp<Self>, k: Exp<i64>) -> Exp<Self>;
    #[doc(hidden)]
    fn shr_bits(x: Exp<Self>, k: Exp<i64>) -> Exp<Self>;
    #[doc(hidden)]
    fn rotl_bits(x: Exp<Self>, k: Exp<i64>) -> Exp<Self>;
    #[doc(hidden)]
    fn bit_at(k: Exp<i64>) -> Exp<Self>;
    #[doc(hidden)]
    fn count(op: PrimOp, x: Exp<Self>) -> Exp<i32>;
}

/// A shift amount in the type of what is shifted: negative ones and those beyond the width count as the width.
#[track_caller]
fn amount<T: Bits>(k: Exp<i64>) -> Exp<T> {
    let k = bitcast::<i64, u64>(k).min(T::WIDTH as u64);
    Exp::raw(builder::cast(k.r, u64::TYPE, T::TYPE, &Loc::caller()))
}

macro_rules! bits {
    ($signed:literal; $($t:ty),*) => { $(
        impl Bits for $t {
            const WIDTH: i64 = <$t>::BITS as i64;
            const SIGNED: bool = $signed;
            const ZERO_BITS: $t = 0;
            #[track_caller]
            fn shl_bits(x: Exp<$t>, k: Exp<i64>) -> Exp<$t> { x << amount::<$t>(k) }
            #[track_caller]
            fn shr_bits(x: Exp<$t>, k: Exp<i64>) -> Exp<$t> { x >> amount::<$t>(k) }
            #[track_caller]
            fn rotl_bits(x: Exp<$t>, k: Exp<i64>) -> Exp<$t> {
                // The width is a power of two.
                let k = (k & (Self::WIDTH - 1)).to::<$t>();
                let around = (x >> (constant(Self::WIDTH as $t) - k)) & ((constant(1 as $t) << k) - 1);
                (x << k) | around
            }
            #[track_caller]
            fn bit_at(k: Exp<i64>) -> Exp<$t> { constant(1 as $t) << amount::<$t>(k) }
            #[track_caller]
            fn count(op: PrimOp, x: Exp<$t>) -> Exp<i32> { prim1(op, x) }
        }
    )* };
}
bits!(true; i8, i16, i32, i64);
bits!(false; u8, u16, u32, u64);

impl Bits for bool {
    const WIDTH: i64 = 1;
    const SIGNED: bool = false;
    const ZERO_BITS: bool = false;
    #[track_caller]
    fn shl_bits(x: Exp<bool>, k: Exp<i64>) -> Exp<bool> {
        x & k.eq(0)
    }
    #[track_caller]
    fn shr_bits(x: Exp<bool>, k: Exp<i64>) -> Exp<bool> {
        x & k.eq(0)
    }
    #[track_caller]
    fn rotl_bits(x: Exp<bool>, _: Exp<i64>) -> Exp<bool> {
        x
    }
    #[track_caller]
    fn bit_at(k: Exp<i64>) -> Exp<bool> {
        k.eq(0)
    }
    #[track_caller]
    fn count(op: PrimOp, x: Exp<bool>) -> Exp<i32> {
        // Of one bit: it is set, or it is a zero at either end.
        if op == PrimOp::PopCountP { x.to_num() } else { (!x).to_num() }
    }
}

/// The value with bit `k` alone set; out of range: no bit (Accelerate's `bit`).
///
/// ```
/// use acc_core::prelude::*;
/// let ks = enum_from(4, 0i64);
/// assert_eq!(Interpreter::new().run(ks.map(|k| bit::<u8>(k)))?.to_vec(), [1, 2, 4, 8]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn bit<T: Bits>(k: impl IntoExp<i64>) -> Exp<T> {
    T::bit_at(k.into_exp())
}

/// The value with no bit set.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit(zero_bits::<u8>().set_bit(3)))?.value(), 8);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn zero_bits<T: Bits>() -> Exp<T> {
    constant(T::ZERO_BITS)
}

/// Bits are numbered from 0, the lowest. A shift by the width or more, or by a negative amount, leaves no bit of the value:
/// 0, or -1 to the right of a negative number.
impl<T: Bits> Exp<T> {
    /// The bits shifted left.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1u8, 255]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.shift_left(4)))?.to_vec(), [16, 240]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn shift_left(self, k: impl IntoExp<i64>) -> Exp<T> {
        T::shl_bits(self, k.into_exp())
    }
    /// The bits shifted right; of signed numbers copies of the sign come in.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([-16i32, 15]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.shift_right(2)))?.to_vec(), [-4, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn shift_right(self, k: impl IntoExp<i64>) -> Exp<T> {
        T::shr_bits(self, k.into_exp())
    }
    /// The bits shifted left by `k`, or right by `-k` if it is negative.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let by = use_(&Vector::from([2i64, -2, -100]));
    /// assert_eq!(Interpreter::new().run(by.map(|k| constant(-8i32).shift(k)))?.to_vec(), [-32, -2, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn shift(self, k: impl IntoExp<i64>) -> Exp<T> {
        let k = k.into_exp();
        choose(k.ge(0), T::shl_bits(self, k), T::shr_bits(self, -k))
    }
    /// The bits rotated left, by `k` modulo the width; by a negative amount right.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0x81u8]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.rotate_left(1)))?.to_vec(), [3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn rotate_left(self, k: impl IntoExp<i64>) -> Exp<T> {
        T::rotl_bits(self, k.into_exp())
    }
    /// The bits rotated right, by `k` modulo the width; by a negative amount left.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0x81u8]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.rotate_right(1)))?.to_vec(), [0xC0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn rotate_right(self, k: impl IntoExp<i64>) -> Exp<T> {
        T::rotl_bits(self, -k.into_exp())
    }
    /// The bits rotated left by `k` modulo the width, or right by `-k` if it is negative: another name of
    /// [`rotate_left`](Exp::rotate_left) (Accelerate's `rotate`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let by = use_(&Vector::from([1i64, -1, 9]));
    /// assert_eq!(Interpreter::new().run(by.map(|k| constant(0x81u8).rotate(k)))?.to_vec(), [3, 0xC0, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn rotate(self, k: impl IntoExp<i64>) -> Exp<T> {
        self.rotate_left(k)
    }
    /// The value with bit `k` set; out of range: the value.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0i32, 1]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.set_bit(1)))?.to_vec(), [2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn set_bit(self, k: impl IntoExp<i64>) -> Exp<T> {
        self | bit::<T>(k)
    }
    /// The value with bit `k` clear; out of range: the value.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.clear_bit(1)))?.to_vec(), [0, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn clear_bit(self, k: impl IntoExp<i64>) -> Exp<T> {
        self & !bit::<T>(k)
    }
    /// The value with bit `k` flipped; out of range: the value.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 1]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.complement_bit(1)))?.to_vec(), [0, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn complement_bit(self, k: impl IntoExp<i64>) -> Exp<T> {
        self ^ bit::<T>(k)
    }
    /// Whether bit `k` is set; out of range: false.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 1]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.test_bit(1)))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn test_bit(self, k: impl IntoExp<i64>) -> Exp<bool> {
        prim2(PrimOp::NeP, self & bit::<T>(k), zero_bits::<T>())
    }
    /// Whether the type is signed.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let signed = (constant(1i8).is_signed(), constant(1u8).is_signed());
    /// assert_eq!(Interpreter::new().run(unit(signed))?.value(), (true, false));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_signed(self) -> Exp<bool> {
        constant(T::SIGNED)
    }
    /// The width of the type in bits, as an `i64`, the type of what shifts are by.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let widths = (constant(1u16).bit_size(), constant(true).bit_size());
    /// assert_eq!(Interpreter::new().run(unit(widths))?.value(), (16, 1));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn bit_size(self) -> Exp<i64> {
        constant(T::WIDTH)
    }
    /// The number of one bits, an `i32` whatever the type: `x.count_ones().to::<u64>()` for another.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7u64, u64::MAX]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.count_ones()))?.to_vec(), [3, 64]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn count_ones(self) -> Exp<i32> {
        T::count(PrimOp::PopCountP, self)
    }
    /// The number of leading zero bits, an `i32` whatever the type; the width for zero.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1u8, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.leading_zeros()))?.to_vec(), [7, 8]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn leading_zeros(self) -> Exp<i32> {
        T::count(PrimOp::LeadingZerosP, self)
    }
    /// The number of trailing zero bits, an `i32` whatever the type; the width for zero.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([8u8, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.trailing_zeros()))?.to_vec(), [3, 8]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn trailing_zeros(self) -> Exp<i32> {
        T::count(PrimOp::TrailingZerosP, self)
    }
}
