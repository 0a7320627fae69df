//! Functions of lanes: polynomials, exponentials and logarithms.

use crate::lanes::Lanes;

/// A polynomial, the highest coefficient first: its even and its odd powers each by Horner's rule, side by side.
///
/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
pub unsafe fn polynomial<V: Lanes, const N: usize>(x: V, coefficients: &[f32; N]) -> V {
    let square = x * x;
    // SAFETY: by the contract.
    unsafe {
        let (mut sum, mut other) = (V::all(coefficients[0]), V::all(coefficients[1]));
        for k in 2..N {
            (sum, other) = (other, sum.mul_add(square, V::all(coefficients[k])));
        }
        sum.mul_add(x, other)
    }
}

/// The exponential of what is not positive: Cephes' `expf`.
///
/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
pub unsafe fn exp<V: Lanes>(x: V) -> V {
    // SAFETY: by the contract.
    unsafe {
        let x = x.max(V::all(-87.3));
        let n = (x * V::all(std::f32::consts::LOG2_E)).round();
        let r = n.mul_add(V::all(2.121_944_4e-4), n.mul_add(V::all(-0.693_359_4), x));
        let p = polynomial(r, &[1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5]);
        p.mul_add(r * r, r + V::all(1.0)).scale(n)
    }
}

/// The logarithm of positive normal numbers: Cephes' `logf`.
///
/// # Safety
///
/// The machine has the features of the lanes.
#[inline(always)]
pub unsafe fn ln<V: Lanes>(x: V) -> V {
    const P: [f32; 9] = [
        7.037_683_6e-2,
        -0.115_146_1,
        0.116_769_98,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_58,
        0.200_007_14,
        -0.249_999_94,
        0.333_333_3,
    ];
    let (e, m) = x.split();
    // SAFETY: by the contract.
    unsafe {
        let v = m - V::all(1.0);
        let square = v * v;
        let y = polynomial(v, &P) * v * square;
        let y = e.mul_add(V::all(-2.121_944_4e-4), y);
        let y = square.mul_add(V::all(-0.5), y);
        e.mul_add(V::all(0.693_359_4), v + y)
    }
}
