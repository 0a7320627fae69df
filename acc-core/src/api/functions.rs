//! Combinators as free functions, arguments in Accelerate's order.

use super::acc::{Acc, Arrays, IntoAcc};
use super::array::Array;
use super::elt::Elt;
use super::exp::{Exp, IntoExp};
use super::shape::{IntoIx, Reducible, Shape};

/// [`Acc::map`].
#[track_caller]
pub fn map<Sh: Shape, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(A::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, A>>,
) -> Acc<Array<Sh, B>> {
    xs.into_acc().map(f)
}

/// [`Acc::imap`].
#[track_caller]
pub fn imap<Sh: Shape, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(Sh::Exp, A::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, A>>,
) -> Acc<Array<Sh, B>> {
    xs.into_acc().imap(f)
}

/// [`Acc::zip_with`].
#[track_caller]
pub fn zip_with<Sh: Shape, A: Elt, B: Elt, C: Elt, R: IntoExp<C>>(
    f: impl FnOnce(A::Exp, B::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, A>>,
    ys: impl IntoAcc<Array<Sh, B>>,
) -> Acc<Array<Sh, C>> {
    xs.into_acc().zip_with(ys, f)
}

/// [`Acc::fold`].
#[track_caller]
pub fn fold<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    init: impl IntoExp<E>,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh::Inner, E>> {
    xs.into_acc().fold(init, f)
}

/// [`Acc::fold1`].
#[track_caller]
pub fn fold1<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh::Inner, E>> {
    xs.into_acc().fold1(f)
}

/// [`Acc::scanl`].
#[track_caller]
pub fn scanl<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    init: impl IntoExp<E>,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh, E>> {
    xs.into_acc().scanl(init, f)
}

/// [`Acc::scanl1`].
#[track_caller]
pub fn scanl1<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh, E>> {
    xs.into_acc().scanl1(f)
}

// ---- functions of expressions

/// [`iterate`](super::iterate).
#[track_caller]
pub fn iterate<T: Elt, R: IntoExp<T>>(n: impl IntoExp<i64>, f: impl FnOnce(T::Exp) -> R, x: impl IntoExp<T>) -> T::Exp {
    super::iterate(n, x, f)
}

/// [`Acc::sfoldl`].
#[track_caller]
pub fn sfoldl<Sh: Reducible, A: Elt, E: Elt, R: IntoExp<A>>(
    f: impl FnOnce(A::Exp, E::Exp) -> R,
    z: impl IntoExp<A>,
    ix: impl IntoIx<Sh::Inner>,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> A::Exp {
    xs.into_acc().sfoldl(z, ix, f)
}

/// A function of one expression, whatever form its argument and its result have.
pub fn lift1<A: Elt, B: Elt, R: IntoExp<B>>(f: impl FnOnce(A::Exp) -> R) -> impl FnOnce(Exp<A>) -> Exp<B> {
    |a| f(a.unlift()).into_exp()
}

/// A function of two expressions, whatever form its arguments and its result have.
pub fn lift2<A: Elt, B: Elt, C: Elt, R: IntoExp<C>>(
    f: impl FnOnce(A::Exp, B::Exp) -> R,
) -> impl FnOnce(Exp<A>, Exp<B>) -> Exp<C> {
    |a, b| f(a.unlift(), b.unlift()).into_exp()
}

/// A function of three expressions, whatever form its arguments and its result have.
pub fn lift3<A: Elt, B: Elt, C: Elt, D: Elt, R: IntoExp<D>>(
    f: impl FnOnce(A::Exp, B::Exp, C::Exp) -> R,
) -> impl FnOnce(Exp<A>, Exp<B>, Exp<C>) -> Exp<D> {
    |a, b, c| f(a.unlift(), b.unlift(), c.unlift()).into_exp()
}

/// A function of an integer as one of an index of rank 1.
pub fn ilift1<R: IntoExp<i64>>(f: impl FnOnce(Exp<i64>) -> R) -> impl FnOnce(Exp<i64>) -> Exp<i64> {
    lift1(f)
}

/// A function of two integers as one of indices of rank 1.
pub fn ilift2<R: IntoExp<i64>>(f: impl FnOnce(Exp<i64>, Exp<i64>) -> R) -> impl FnOnce(Exp<i64>, Exp<i64>) -> Exp<i64> {
    lift2(f)
}

/// A function of three integers as one of indices of rank 1.
pub fn ilift3<R: IntoExp<i64>>(
    f: impl FnOnce(Exp<i64>, Exp<i64>, Exp<i64>) -> R,
) -> impl FnOnce(Exp<i64>, Exp<i64>, Exp<i64>) -> Exp<i64> {
    lift3(f)
}

/// The first component of a pair, of expressions or of array programs.
pub fn fst<A, B>(pair: (A, B)) -> A {
    pair.0
}

/// The second component of a pair, of expressions or of array programs.
pub fn snd<A, B>(pair: (A, B)) -> B {
    pair.1
}

/// A function of a pair as one of two arguments, over expressions or array programs.
pub fn curry<A, B, C>(f: impl FnOnce((A, B)) -> C) -> impl FnOnce(A, B) -> C {
    |a, b| f((a, b))
}

/// A function of two arguments as one of a pair, over expressions or array programs.
pub fn uncurry<A, B, C>(f: impl FnOnce(A, B) -> C) -> impl FnOnce((A, B)) -> C {
    |(a, b)| f(a, b)
}

/// [`Acc::compute`].
#[track_caller]
pub fn compute<A: Arrays>(xs: impl IntoAcc<A>) -> A::Acc {
    xs.into_acc().compute().unlift()
}

/// Swaps the arguments of a function.
pub fn flip<A, B, C>(f: impl FnOnce(A, B) -> C) -> impl FnOnce(B, A) -> C {
    |b, a| f(a, b)
}
