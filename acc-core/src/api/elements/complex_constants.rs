//! Constants beside complex expressions in arithmetic: real ones on the right, complex ones on the left.
//!
//! There is no `2.0 * z`, nor an operator of a real and a complex expression: with them `2.0 * pi()` and `z * x.to()` would
//! not infer.

use crate::api::{Exp, Num, Part, complex, constant};
use half::f16;
use num_complex::Complex;
use std::ops;

/// Host numbers on the right of complex expressions, as in `num_complex`: sums and differences leave the imaginary
/// part as it is, products and quotients are of both parts.
macro_rules! real_right {
    ($($Op:ident $op:ident $OpAssign:ident $op_assign:ident |$z:ident, $x:ident| $value:expr;)*) => { $(
        real_right!(@types $Op $op $OpAssign $op_assign |$z, $x| $value;
            i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64);
    )* };
    (@types $Op:ident $op:ident $OpAssign:ident $op_assign:ident |$z:ident, $x:ident| $value:expr; $($t:ty)*) => { $(
        impl ops::$Op<$t> for Exp<Complex<$t>> {
            type Output = Exp<Complex<$t>>;
            #[track_caller]
            fn $op(self, x: $t) -> Exp<Complex<$t>> {
                let ($z, $x) = (self, constant(x));
                $value
            }
        }
        impl ops::$OpAssign<$t> for Exp<Complex<$t>> {
            #[track_caller]
            fn $op_assign(&mut self, x: $t) {
                let ($z, $x) = (*self, constant(x));
                *self = $value;
            }
        }
    )* };
}
real_right! {
    Add add AddAssign add_assign |z, x| complex(z.re() + x, z.im());
    Sub sub SubAssign sub_assign |z, x| complex(z.re() - x, z.im());
    Mul mul MulAssign mul_assign |z, x| z.scale(x);
    Div div DivAssign div_assign |z, x| complex(z.re() / x, z.im() / x);
}

/// Complex constants on the left of an operator.
macro_rules! complex_left {
    ($($Op:ident $op:ident),*) => { $(
        impl<F: Part> ops::$Op<Exp<Complex<F>>> for Complex<F> {
            type Output = Exp<Complex<F>>;
            #[track_caller]
            fn $op(self, z: Exp<Complex<F>>) -> Exp<Complex<F>> {
                Num::$op(constant(self), z)
            }
        }
    )* };
}
complex_left!(Add add, Sub sub, Mul mul, Div div);
