//! Rounding to integers.

use crate::api::{Exp, ExpOrd, Fractional, Integral, IntoExp};

/// Numbers that can be rounded to integers: floats and `Ratio`.
///
/// ```
/// use acc_core::prelude::*;
/// fn fraction<T: RealFrac>(x: Exp<T>) -> Exp<T> {
///     x - x.floor()
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([1.75f64, -1.75])).map(fraction))?.to_vec(), [0.75, 0.25]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be rounded to an integer (`RealFrac`)")]
pub trait RealFrac: Fractional + ExpOrd {
    /// Rounded towards zero.
    fn whole(x: Exp<Self>) -> Exp<Self>;
    /// Rounded down.
    fn down(x: Exp<Self>) -> Exp<Self>;
    /// Rounded up.
    fn up(x: Exp<Self>) -> Exp<Self>;
    /// Rounded to nearest, ties to even.
    fn nearest(x: Exp<Self>) -> Exp<Self>;
    /// A whole number as an integer. A float out of range is the nearest of the type, NaN is 0; a `Ratio` wraps.
    fn integer<B: Integral>(x: Exp<Self>) -> Exp<B>;
}

impl<T: RealFrac> Exp<T> {
    /// Rounded towards zero, in the same type; [`trunc_to`](Exp::trunc_to) yields an integer.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.7f64, -1.7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.trunc()))?.to_vec(), [1.0, -1.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn trunc(self) -> Exp<T> {
        T::whole(self)
    }
    /// Rounded down, in the same type; [`floor_to`](Exp::floor_to) yields an integer.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.7f64, -1.7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.floor()))?.to_vec(), [1.0, -2.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn floor(self) -> Exp<T> {
        T::down(self)
    }
    /// Rounded up, in the same type; [`ceil_to`](Exp::ceil_to) yields an integer.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.2f64, -1.2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.ceil()))?.to_vec(), [2.0, -1.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn ceil(self) -> Exp<T> {
        T::up(self)
    }
    /// Rounded to nearest, ties to even (as Accelerate; std's `round` goes away from zero), in the same type;
    /// [`round_to`](Exp::round_to) yields an integer.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.5f64, 1.5, 2.4]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.round()))?.to_vec(), [0.0, 2.0, 2.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn round(self) -> Exp<T> {
        T::nearest(self)
    }
    /// Rounded towards zero, as an integer of any type. A float out of range gives the nearest of the type, NaN 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.7f64, -1.7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.trunc_to::<i32>()))?.to_vec(), [1, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn trunc_to<B: Integral>(self) -> Exp<B> {
        T::integer(T::whole(self))
    }
    /// Rounded down, as an integer of any type. A float out of range gives the nearest of the type, NaN 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.7f64, -1.7]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.floor_to::<i32>()))?.to_vec(), [1, -2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn floor_to<B: Integral>(self) -> Exp<B> {
        T::integer(T::down(self))
    }
    /// Rounded up, as an integer of any type. A float out of range gives the nearest of the type, NaN 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.2f64, -1.2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.ceil_to::<i32>()))?.to_vec(), [2, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn ceil_to<B: Integral>(self) -> Exp<B> {
        T::integer(T::up(self))
    }
    /// Rounded to nearest, ties to even, as an integer of any type. A float out of range gives the nearest of the type, NaN 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.5f64, 1.5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.round_to::<i32>()))?.to_vec(), [0, 2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn round_to<B: Integral>(self) -> Exp<B> {
        T::integer(T::nearest(self))
    }
    /// The number rounded towards zero, as an integer (out of range the nearest of the type), and the fraction that this
    /// cuts off, which has the number's sign.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.75f64, -1.75]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.proper_fraction::<i32>()))?.to_vec(), [(1, 0.75), (-1, -0.75)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn proper_fraction<B: Integral>(self) -> (Exp<B>, Exp<T>) {
        let whole = T::whole(self);
        (T::integer(whole), T::sub(self, whole))
    }
    /// The quotient rounded down, as an integer (Accelerate's `div'`); of floats out of range the nearest of the type.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7.5f64, -7.5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.floor_div::<i32>(2.0)))?.to_vec(), [3, -4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn floor_div<B: Integral>(self, other: impl IntoExp<T>) -> Exp<B> {
        T::div(self, other.into_exp()).floor_to()
    }
    /// `x - y * floor(x / y)`, which has the sign of the divisor (Accelerate's `mod'`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7.5f64, -7.5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.floor_mod(2.0)))?.to_vec(), [1.5, 0.5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn floor_mod(self, other: impl IntoExp<T>) -> Exp<T> {
        let other = other.into_exp();
        T::sub(self, T::mul(other, T::down(T::div(self, other))))
    }
    /// Quotient rounded down, as an integer, and remainder with the sign of the divisor: [`floor_div`](Exp::floor_div) and
    /// [`floor_mod`](Exp::floor_mod) (Accelerate's `divMod'`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7.5f64, -7.5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.floor_div_mod::<i32>(2.0)))?.to_vec(), [(3, 1.5), (-4, 0.5)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn floor_div_mod<B: Integral>(self, other: impl IntoExp<T>) -> (Exp<B>, Exp<T>) {
        let other = other.into_exp();
        (self.floor_div(other), self.floor_mod(other))
    }
}
