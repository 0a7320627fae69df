//! Arithmetic of integers, and powers with integer exponents.

use super::compare::choose;
use crate::api::types::exp::prim2;
use crate::api::{Exp, Fractional, Integral, IntoExp, Num, bitcast, constant, while_};
use crate::builder;
use crate::ir::PrimOp;

/// Division by zero is a fault; `MIN / -1` is `MIN`.
impl<T: Integral> Exp<T> {
    /// Quotient truncated towards zero, the same as `/`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, -7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.quot(2)))?.to_vec(), [3, -3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn quot(self, other: impl IntoExp<T>) -> Exp<T> {
        prim2(PrimOp::QuotP, self, other.into_exp())
    }
    /// Remainder with the sign of the dividend, the same as `%`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, -7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.rem(2)))?.to_vec(), [1, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn rem(self, other: impl IntoExp<T>) -> Exp<T> {
        prim2(PrimOp::RemP, self, other.into_exp())
    }
    /// Quotient rounded down (Accelerate's `div`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, -7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.div_floor(2)))?.to_vec(), [3, -4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn div_floor(self, other: impl IntoExp<T>) -> Exp<T> {
        prim2(PrimOp::DivFloorP, self, other.into_exp())
    }
    /// Remainder with the sign of the divisor (Accelerate's `mod`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, -7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.mod_floor(2)))?.to_vec(), [1, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn mod_floor(self, other: impl IntoExp<T>) -> Exp<T> {
        prim2(PrimOp::ModFloorP, self, other.into_exp())
    }
    /// Quotient truncated towards zero, and remainder with the sign of the dividend: [`quot`](Exp::quot) and
    /// [`rem`](Exp::rem).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, -7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.quot_rem(2)))?.to_vec(), [(3, 1), (-3, -1)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn quot_rem(self, other: impl IntoExp<T>) -> (Exp<T>, Exp<T>) {
        let other = other.into_exp();
        (self.quot(other), self.rem(other))
    }
    /// Quotient rounded down, and remainder with the sign of the divisor: [`div_floor`](Exp::div_floor) and
    /// [`mod_floor`](Exp::mod_floor).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, -7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.div_mod(2)))?.to_vec(), [(3, 1), (-4, 1)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn div_mod(self, other: impl IntoExp<T>) -> (Exp<T>, Exp<T>) {
        let other = other.into_exp();
        (self.div_floor(other), self.mod_floor(other))
    }
    /// Whether divisible by two.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.even()))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn even(self) -> Exp<bool> {
        !self.odd()
    }
    /// Whether not divisible by two.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.odd()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn odd(self) -> Exp<bool> {
        self.test_bit(0)
    }
    /// The greatest common divisor, not negative (but for `MIN`, whose absolute value wraps); of zeros 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([12i32, 7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.gcd(18)))?.to_vec(), [6, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn gcd(self, other: impl IntoExp<T>) -> Exp<T> {
        let (zero, other) = (T::from_i64(0), other.into_exp());
        let (x, _) = while_::<(T, T), _, _>((self, other), |(_, y)| y.ne(zero), |(x, y)| (y, x.rem(y)));
        x.abs()
    }
    /// The least common multiple, not negative unless it wraps; 0 if either is.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([4i32, 7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.lcm(6)))?.to_vec(), [12, 42]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn lcm(self, other: impl IntoExp<T>) -> Exp<T> {
        let (zero, other) = (constant(T::from_i64(0)), other.into_exp());
        let multiple = (self.quot(self.gcd(other)) * other).abs();
        choose(self.eq(zero) | other.eq(zero), zero, multiple)
    }
}

impl<T: Num> Exp<T> {
    /// To an integer power, by squaring: 1 if the exponent is zero or negative (Accelerate's `^`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i64, -3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.pow(3)))?.to_vec(), [8, -27]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn pow<N: Integral>(self, exponent: impl IntoExp<N>) -> Exp<T> {
        let (n, one) = (exponent.into_exp(), constant(T::from_i64(1)));
        if let Some(n) = builder::literal(n.r) {
            let n = if N::SIGNED && (n.bits as i64) < 0 { 0 } else { n.bits };
            return squaring(self, n).unwrap_or(one);
        }
        // Squares of `self`, what is left of the exponent, the product so far.
        let (_, _, power) = while_::<(T, N, T), _, _>(
            (self, n, one),
            |(_, n, _)| n.gt(N::from_i64(0)),
            |(x, n, power)| {
                let next = choose(n.odd(), power * x, power);
                (x * x, n.shift_right(1), next)
            },
        );
        power
    }
}

/// The product of the loop in [`Exp::pow`], written out; none for the exponent 0.
#[track_caller]
fn squaring<T: Num>(x: Exp<T>, mut n: u64) -> Option<Exp<T>> {
    let (mut square, mut power) = (x, None);
    while n > 0 {
        if n % 2 == 1 {
            power = Some(power.map_or(square, |p: Exp<T>| p * square));
        }
        n /= 2;
        if n > 0 {
            square *= square;
        }
    }
    power
}

impl<T: Fractional> Exp<T> {
    /// To an integer power, negative ones too: then of the reciprocal (Accelerate's `^^`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let by = use_(&Vector::from([3i32, 0, -2]));
    /// assert_eq!(Interpreter::new().run(by.map(|n| constant(2.0f64).powi(n)))?.to_vec(), [8.0, 1.0, 0.25]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn powi<N: Integral>(self, exponent: impl IntoExp<N>) -> Exp<T> {
        let (n, one) = (exponent.into_exp(), constant(T::from_i64(1)));
        if !N::SIGNED {
            return self.pow(n);
        }
        if let Some(n) = builder::literal(n.r) {
            let power = squaring(self, (n.bits as i64).unsigned_abs()).unwrap_or(one);
            return if (n.bits as i64) < 0 { T::div(one, power) } else { power };
        }
        let n = n.to::<i64>();
        // The absolute value of `MIN` is right as an unsigned number.
        let power = self.pow(bitcast::<i64, u64>(n.abs()));
        choose(n.ge(0), power, T::div(one, power))
    }
}
