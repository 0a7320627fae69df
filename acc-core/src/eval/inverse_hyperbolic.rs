//! Inverse hyperbolic functions where std's lose digits or overflow: near 1, near -1, and for large arguments.

/// Floats with accurate inverse hyperbolic functions, off by at most 2 units in the last place.
pub trait InverseHyperbolic: Copy {
    /// The inverse hyperbolic sine.
    fn inverse_sinh(self) -> Self;
    /// The inverse hyperbolic cosine; NaN below 1.
    fn inverse_cosh(self) -> Self;
    /// The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.
    fn inverse_tanh(self) -> Self;
}

macro_rules! by_libm {
    ($t:ty, $asinh:path, $acosh:path, $atanh:path) => {
        impl InverseHyperbolic for $t {
            #[inline]
            fn inverse_sinh(self) -> $t {
                $asinh(self)
            }
            #[inline]
            fn inverse_cosh(self) -> $t {
                if self < 1.0 { <$t>::NAN } else { $acosh(self) }
            }
            #[inline]
            fn inverse_tanh(self) -> $t {
                if self.abs() > 1.0 { <$t>::NAN } else { $atanh(self) }
            }
        }
    };
}
by_libm!(f32, libm::asinhf, libm::acoshf, libm::atanhf);
by_libm!(f64, libm::asinh, libm::acosh, libm::atanh);

#[cfg(test)]
mod tests {
    use super::*;

    // Values of Wolfram's functions to 17 digits.
    #[test]
    fn large_small_and_near_one() {
        assert_eq!(1.7976931348623157e308f64.inverse_cosh(), 710.4758600739439);
        assert_eq!(1.7976931348623157e308f64.inverse_sinh(), 710.4758600739439);
        assert_eq!((-1e-300f64).inverse_sinh(), -1e-300);
        approx::assert_relative_eq!(1.0000000001f64.inverse_cosh(), 1.4142136208675862e-5, max_relative = 1e-15);
        assert_eq!(1f64.inverse_cosh(), 0.0);
        assert_eq!((1f64.inverse_tanh(), (-1f64).inverse_tanh()), (f64::INFINITY, f64::NEG_INFINITY));
        assert!([0.5f32, -4.5, f32::NEG_INFINITY, f32::NAN].iter().all(|x| x.inverse_cosh().is_nan()));
        assert!([1.5f32, -1.5, f32::INFINITY, f32::NAN].iter().all(|x| x.inverse_tanh().is_nan()));
    }
}
