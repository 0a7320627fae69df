//! Elementary functions, of floats and of complex numbers.

use super::class::{Fractional, Num, Signed};
use super::exp::{Exp, IntoExp, constant, prim1, prim2};
use crate::data::nearest_f16;
use crate::ir::PrimOp;
use half::f16;

macro_rules! elementary {
    ($($(#[doc = $doc:literal])* $f:ident $of:ident $P:ident;)*) => {
        /// Types with the elementary functions: floats, and `Complex` of these.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` is not a floating-point type (`Floating`)",
            note = "cast first: `x.to::<f64>().sqrt()`"
        )]
        pub trait Floating: Fractional {
            /// The nearest value of this type.
            fn from_f64(x: f64) -> Self;
            /// `x` to the power of `y`.
            fn powf_of(x: Exp<Self>, y: Exp<Self>) -> Exp<Self>;
            $($(#[doc = $doc])* fn $of(x: Exp<Self>) -> Exp<Self>;)*
        }

        macro_rules! floats {
            (|$x:ident| $from:expr; $t:ty) => {
                impl Floating for $t {
                    fn from_f64($x: f64) -> $t { $from }
                    #[track_caller]
                    fn powf_of(x: Exp<$t>, y: Exp<$t>) -> Exp<$t> { prim2(PrimOp::PowP, x, y) }
                    $(#[track_caller]
                    fn $of(x: Exp<$t>) -> Exp<$t> { prim1(PrimOp::$P, x) })*
                }
            };
        }

        impl<T: Floating> Exp<T> {
            $($(#[doc = $doc])*
            #[track_caller]
            pub fn $f(self) -> Exp<T> { T::$of(self) })*

            /// This to the power of `other`.
            ///
            /// ```
            /// use acc_core::prelude::*;
            /// let xs = use_(&Vector::from([2.0f64, 9.0]));
            /// assert_eq!(Interpreter::new().run(xs.map(|x| x.powf(0.5).round()))?.to_vec(), [1.0, 3.0]);
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            pub fn powf(self, other: impl IntoExp<T>) -> Exp<T> {
                T::powf_of(self, other.into_exp())
            }
            /// The logarithm to a base: `ln(self) / ln(base)`.
            #[track_caller]
            pub fn log_base(self, base: impl IntoExp<T>) -> Exp<T> {
                T::div(T::ln_of(self), T::ln_of(base.into_exp()))
            }
        }
    };
}
elementary! {
    /// Square root.
    sqrt sqrt_of SqrtP;
    /// e to the power of this.
    exp exp_of ExpP;
    /// Natural logarithm.
    ln ln_of LnP;
    /// Sine of an angle in radians.
    sin sin_of SinP;
    /// Cosine of an angle in radians.
    cos cos_of CosP;
    /// Tangent of an angle in radians.
    tan tan_of TanP;
    /// Inverse sine, in radians.
    asin asin_of AsinP;
    /// Inverse cosine, in radians.
    acos acos_of AcosP;
    /// Inverse tangent, in radians.
    atan atan_of AtanP;
    /// Hyperbolic sine.
    sinh sinh_of SinhP;
    /// Hyperbolic cosine.
    cosh cosh_of CoshP;
    /// Hyperbolic tangent.
    tanh tanh_of TanhP;
    /// Inverse hyperbolic sine.
    asinh asinh_of AsinhP;
    /// Inverse hyperbolic cosine.
    acosh acosh_of AcoshP;
    /// Inverse hyperbolic tangent.
    atanh atanh_of AtanhP;
}
floats!(|x| nearest_f16(x); f16);
floats!(|x| x as f32; f32);
floats!(|x| x; f64);

/// The ratio of a circle's circumference to its diameter.
#[track_caller]
pub fn pi<T: Floating>() -> Exp<T> {
    constant(T::from_f64(std::f64::consts::PI))
}

/// The fraction `numer / denom`, rounded once.
#[track_caller]
pub fn from_rational<T: Fractional>(numer: i64, denom: i64) -> Exp<T> {
    constant(T::from_ratio(numer, denom))
}

impl<T: Fractional> Exp<T> {
    /// 1 divided by this.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2.0f64, 0.25]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.recip()))?.to_vec(), [0.5, 4.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn recip(self) -> Exp<T> {
        T::div(constant(T::from_i64(1)), self)
    }
}

impl<T: Signed> Exp<T> {
    /// Absolute value, of the same type; of integers, `MIN` stays `MIN`; of complex numbers, the magnitude with an imaginary part of 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([-2i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.abs()))?.to_vec(), [2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn abs(self) -> Exp<T> {
        T::abs_of(self)
    }
    /// -1, 0 or 1, of the same type; of floats, zeros keep their sign and NaN stays NaN; of complex numbers, the number of magnitude 1 in
    /// the same direction.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([-2i32, 0, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.signum()))?.to_vec(), [-1, 0, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn signum(self) -> Exp<T> {
        T::signum_of(self)
    }
}

impl<T: Num> Exp<T> {
    /// `other - self` (Accelerate's `subtract`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.subtract(10)))?.to_vec(), [9, 8]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn subtract(self, other: impl IntoExp<T>) -> Exp<T> {
        T::sub(other.into_exp(), self)
    }
}
