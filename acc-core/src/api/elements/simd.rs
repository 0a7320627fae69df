//! Short vectors of a fixed length as elements.

use crate::api::types::exp::tuple_exp;
use crate::api::{Elt, Exp, IntoExp, Num, ScalarElt, Signed, constant};
use crate::data::{EltType, Lit};

/// `N` scalars of one type as one element, with lane-wise arithmetic: Accelerate's `Vec n a`.
///
/// In arrays it is `N` columns, as a tuple of `N` is. `[a, b]` of expressions is an expression of type `Simd<T, 2>`, and
/// [`lanes`](Exp::lanes) takes one apart.
///
/// ```
/// use acc_core::prelude::*;
/// let xs: Vector<Simd<f32, 2>> = [Simd([1.0, 2.0]), Simd([3.0, 4.0])].into_iter().collect();
/// let ys = use_(&xs).map(|v| {
///     let [a, b] = (v * v).lanes();
///     simd([b, a])
/// });
/// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [Simd([4.0, 1.0]), Simd([16.0, 9.0])]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Simd<T, const N: usize>(
    /// The lanes.
    pub [T; N],
);

impl<T: Copy, const N: usize> Simd<T, N> {
    /// The same scalar in every lane.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Simd::<f32, 3>::splat(1.5), Simd([1.5, 1.5, 1.5]));
    /// ```
    pub fn splat(x: T) -> Self {
        Simd([x; N])
    }
}

impl<T: ScalarElt, const N: usize> Elt for Simd<T, N> {
    type Exp = Exp<Self>;
    fn ty() -> EltType {
        EltType::tuple((0..N).map(|_| T::ty()))
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        self.0.iter().for_each(|x| x.write(out));
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        Simd(std::array::from_fn(|_| T::read(leaves)))
    }
}

#[diagnostic::do_not_recommend]
impl<T: ScalarElt, const N: usize> IntoExp<Self> for Simd<T, N> {
    #[track_caller]
    fn into_exp(self) -> Exp<Self> {
        constant(self)
    }
}
#[diagnostic::do_not_recommend]
impl<T: ScalarElt, X: IntoExp<T>, const N: usize> IntoExp<Simd<T, N>> for [X; N] {
    #[track_caller]
    fn into_exp(self) -> Exp<Simd<T, N>> {
        simd(self)
    }
}

/// A short vector of these lanes, which are values or expressions.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| simd([x, x * 10])))?.to_vec(), [Simd([1, 10]), Simd([2, 20])]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn simd<T: ScalarElt, const N: usize>(lanes: [impl IntoExp<T>; N]) -> Exp<Simd<T, N>> {
    tuple_exp(&lanes.map(|x| x.into_exp().r))
}

impl<T: ScalarElt, const N: usize> Exp<Simd<T, N>> {
    /// The lanes.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Simd([1, 2, 3])]));
    /// let sums = xs.map(|v| {
    ///     let [a, b, c] = v.lanes();
    ///     a + b + c
    /// });
    /// assert_eq!(Interpreter::new().run(sums)?.to_vec(), [6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn lanes(self) -> [Exp<T>; N] {
        // Not `from_fn`: a closure in between would lose the caller's location.
        let mut lanes = [Exp::<T>::raw(self.r); N];
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = self.proj(i as u32);
        }
        lanes
    }
}

impl<T: ScalarElt + Num, const N: usize> Simd<T, N> {
    #[track_caller]
    fn lane_wise(a: Exp<Self>, b: Exp<Self>, f: impl Fn(Exp<T>, Exp<T>) -> Exp<T>) -> Exp<Self> {
        let (mut a, b) = (a.lanes(), b.lanes());
        for (x, y) in a.iter_mut().zip(b) {
            *x = f(*x, y);
        }
        simd(a)
    }
}

impl<T: ScalarElt + Num, const N: usize> Num for Simd<T, N> {
    fn from_i64(x: i64) -> Self {
        Simd::splat(T::from_i64(x))
    }
    #[track_caller]
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        Self::lane_wise(a, b, T::add)
    }
    #[track_caller]
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        Self::lane_wise(a, b, T::sub)
    }
    #[track_caller]
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        Self::lane_wise(a, b, T::mul)
    }
    #[track_caller]
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        Self::lane_wise(a, b, T::div)
    }
    #[track_caller]
    fn neg(a: Exp<Self>) -> Exp<Self> {
        simd(a.lanes().map(T::neg))
    }
}

impl<T: ScalarElt + Signed, const N: usize> Signed for Simd<T, N> {
    #[track_caller]
    fn abs_of(a: Exp<Self>) -> Exp<Self> {
        simd(a.lanes().map(T::abs_of))
    }
    #[track_caller]
    fn signum_of(a: Exp<Self>) -> Exp<Self> {
        simd(a.lanes().map(T::signum_of))
    }
}
