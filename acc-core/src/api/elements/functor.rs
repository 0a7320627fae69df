//! Containers as elements: `Option`, `Either`, `Complex`, the monoid wrappers.

use crate::api::{Elt, Exp, IntoExp, Num, ScalarElt, complex, lift};
use either::Either;
use num_complex::Complex;

/// Element types that contain values of another type, which may become values of type `B`.
///
/// ```
/// use acc_core::prelude::*;
/// fn doubled<F: Functor<i32, Item = i32>>(x: Exp<F>) -> Exp<F::Of> {
///     x.fmap(|x| x * 2)
/// }
/// let xs = use_(&Vector::from([Some(1), None]));
/// assert_eq!(Interpreter::new().run(xs.map(doubled))?.to_vec(), [Some(2), None]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a container that can hold `{B}` (`Functor`)",
    note = "containers are Option, Either, Complex, Sum, Product, Min and Max; the latter five hold numbers alone"
)]
pub trait Functor<B: Elt>: Elt {
    /// What it contains.
    type Item: Elt;
    /// The same container of `B`.
    type Of: Elt;
    /// Applies a function to what it contains.
    fn fmap(e: Exp<Self>, f: impl FnMut(<Self::Item as Elt>::Exp) -> Exp<B>) -> Exp<Self::Of>;
}

impl<F: Elt> Exp<F> {
    /// Applies a function to what the container holds, where it holds something.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(1), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.fmap(|n| n + 1)))?.to_vec(), [Some(2), None]);
    /// let zs = use_(&Vector::from([Complex::new(1.0, 2.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.fmap(|part| part * 10.0)))?.to_vec(), [Complex::new(10.0, 20.0)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fmap<B: Elt, R: IntoExp<B>>(self, mut f: impl FnMut(<F::Item as Elt>::Exp) -> R) -> Exp<F::Of>
    where
        F: Functor<B>,
    {
        F::fmap(self, |x| f(x).into_exp())
    }
    /// The container with its contents replaced (Accelerate's `$>`, and `<$` with the operands swapped).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(1), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.replace(true)))?.to_vec(), [Some(true), None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn replace<B: Elt>(self, with: impl IntoExp<B>) -> Exp<F::Of>
    where
        F: Functor<B>,
    {
        let with = with.into_exp();
        F::fmap(self, |_| with)
    }
    /// The container with `()` in place of its contents.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(1), None]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.void()))?.to_vec(), [Some(()), None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn void(self) -> Exp<F::Of>
    where
        F: Functor<()>,
    {
        F::fmap(self, |_| lift(()))
    }
}

impl<A: Elt, B: Elt> Functor<B> for Option<A> {
    type Item = A;
    type Of = Option<B>;
    #[track_caller]
    fn fmap(e: Exp<Self>, f: impl FnMut(A::Exp) -> Exp<B>) -> Exp<Option<B>> {
        e.map(f)
    }
}

impl<L: Elt, A: Elt, B: Elt> Functor<B> for Either<L, A> {
    type Item = A;
    type Of = Either<L, B>;
    #[track_caller]
    fn fmap(e: Exp<Self>, f: impl FnMut(A::Exp) -> Exp<B>) -> Exp<Either<L, B>> {
        e.map(f)
    }
}

impl<A: ScalarElt + Num, B: ScalarElt + Num> Functor<B> for Complex<A> {
    type Item = A;
    type Of = Complex<B>;
    #[track_caller]
    fn fmap(e: Exp<Self>, mut f: impl FnMut(Exp<A>) -> Exp<B>) -> Exp<Complex<B>> {
        complex(f(e.re()), f(e.im()))
    }
}
