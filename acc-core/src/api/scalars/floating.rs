//! Elementary functions, of floats and of complex numbers.

use crate::api::types::exp::{prim1, prim2};
use crate::api::{Exp, Fractional, IntoExp, Num, Signed, constant};
use crate::data::nearest_f16;
use crate::ir::PrimOp;
use half::f16;

macro_rules! elementary {
    ($($(#[doc = $doc:literal])* $f:ident $of:ident $P:ident;)*) => {
        /// Types with the elementary functions: floats, and `Complex` of these.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// fn sigmoid<T: Floating>(x: Exp<T>) -> Exp<T> {
        ///     ((-x).exp() + T::from_i64(1)).recip()
        /// }
        /// assert_eq!(Interpreter::new().run(use_(&Vector::from([0.0f32])).map(sigmoid))?.to_vec(), [0.5]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
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
            /// The logarithm to a base: `ln(self) / ln(base)`, rounded three times; [`log2`](Exp::log2) and [`log10`](Exp::log10)
            /// are nearer.
            ///
            /// ```
            /// use acc_core::prelude::*;
            /// let xs = use_(&Vector::from([9.0f64, 1.0]));
            /// assert_eq!(Interpreter::new().run(xs.map(|x| x.log_base(3.0)))?.to_vec(), [2.0, 0.0]);
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            pub fn log_base(self, base: impl IntoExp<T>) -> Exp<T> {
                T::div(T::ln_of(self), T::ln_of(base.into_exp()))
            }
        }
    };
}
elementary! {
    /// Square root; of a negative real number NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([4.0f64, -4.0]));
    /// let roots = Interpreter::new().run(xs.map(|x| x.sqrt()))?.to_vec();
    /// assert!(roots[0] == 2.0 && roots[1].is_nan());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    sqrt sqrt_of SqrtP;
    /// e to the power of this; infinity where it is too large.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, 1000.0, -1000.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.exp()))?.to_vec(), [1.0, f64::INFINITY, 0.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    exp exp_of ExpP;
    /// Natural logarithm; of 0 negative infinity, of a negative real number NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, 0.0, -1.0]));
    /// let logarithms = Interpreter::new().run(xs.map(|x| x.ln()))?.to_vec();
    /// assert!(logarithms[..2] == [0.0, f64::NEG_INFINITY] && logarithms[2].is_nan());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    ln ln_of LnP;
    /// Sine of an angle in radians.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sines = use_(&Vector::from([0.0, 0.5])).map(|x| (pi::<f64>() * x).sin());
    /// assert_eq!(Interpreter::new().run(sines)?.to_vec(), [0.0, 1.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    sin sin_of SinP;
    /// Cosine of an angle in radians.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let cosines = use_(&Vector::from([0.0, 1.0])).map(|x| (pi::<f64>() * x).cos());
    /// assert_eq!(Interpreter::new().run(cosines)?.to_vec(), [1.0, -1.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    cos cos_of CosP;
    /// Tangent of an angle in radians.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let tangent = Interpreter::new().run(unit((pi::<f64>() / 4.0).tan()))?.value();
    /// assert!((tangent - 1.0).abs() < 1e-15);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    tan tan_of TanP;
    /// Inverse sine, in radians, from -pi/2 to pi/2; of a real number beyond -1 and 1 NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, 1.0, 2.0]));
    /// let angles = Interpreter::new().run(xs.map(|x| x.asin()))?.to_vec();
    /// assert!(angles[..2] == [0.0, std::f64::consts::FRAC_PI_2] && angles[2].is_nan());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    asin asin_of AsinP;
    /// Inverse cosine, in radians, from 0 to pi; of a real number beyond -1 and 1 NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, -1.0, 2.0]));
    /// let angles = Interpreter::new().run(xs.map(|x| x.acos()))?.to_vec();
    /// assert!(angles[..2] == [0.0, std::f64::consts::PI] && angles[2].is_nan());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    acos acos_of AcosP;
    /// Inverse tangent, in radians, from -pi/2 to pi/2.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, f64::INFINITY]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.atan()))?.to_vec(), [0.0, std::f64::consts::FRAC_PI_2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    atan atan_of AtanP;
    /// Hyperbolic sine.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, -1000.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.sinh()))?.to_vec(), [0.0, f64::NEG_INFINITY]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    sinh sinh_of SinhP;
    /// Hyperbolic cosine.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, -1000.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.cosh()))?.to_vec(), [1.0, f64::INFINITY]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    cosh cosh_of CoshP;
    /// Hyperbolic tangent.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, -1000.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.tanh()))?.to_vec(), [0.0, -1.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    tanh tanh_of TanhP;
    /// Inverse hyperbolic sine.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, f64::INFINITY]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.asinh()))?.to_vec(), [0.0, f64::INFINITY]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    asinh asinh_of AsinhP;
    /// Inverse hyperbolic cosine; of a real number below 1 NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, 0.5]));
    /// let ys = Interpreter::new().run(xs.map(|x| x.acosh()))?.to_vec();
    /// assert!(ys[0] == 0.0 && ys[1].is_nan());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    acosh acosh_of AcoshP;
    /// Inverse hyperbolic tangent; of -1 and 1 an infinity, of a real number beyond them NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.0f64, 1.0, 2.0]));
    /// let ys = Interpreter::new().run(xs.map(|x| x.atanh()))?.to_vec();
    /// assert!(ys[..2] == [0.0, f64::INFINITY] && ys[2].is_nan());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    atanh atanh_of AtanhP;
}
floats!(|x| nearest_f16(x); f16);
floats!(|x| x as f32; f32);
floats!(|x| x; f64);

/// The ratio of a circle's circumference to its diameter, as the nearest number of the type.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit(pi::<f32>()))?.value(), std::f32::consts::PI);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn pi<T: Floating>() -> Exp<T> {
    constant(T::from_f64(std::f64::consts::PI))
}

/// The fraction `numer / denom`, rounded once; of floats, `x / 0` is an infinity, and `0 / 0` is NaN.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Interpreter::new().run(unit((from_rational::<f64>(1, 3), from_rational::<f64>(-1, 0))))?;
/// assert_eq!(xs.value(), (1.0 / 3.0, f64::NEG_INFINITY));
/// # Ok::<(), acc_core::Error>(())
/// ```
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
