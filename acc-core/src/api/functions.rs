//! Combinators as free functions, arguments in Accelerate's order.

use crate::api::{Acc, Array, Arrays, Elt, Exp, IntoAcc, IntoExp, IntoIx, Reducible, Shape};

/// [`Acc::map`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 2]);
/// assert_eq!(Interpreter::new().run(functions::map(|x: Exp<i32>| x + 1, &xs))?.to_vec(), [2, 3]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn map<Sh: Shape, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(A::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, A>>,
) -> Acc<Array<Sh, B>> {
    xs.into_acc().map(f)
}

/// [`Acc::imap`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([5i64, 5]);
/// assert_eq!(Interpreter::new().run(functions::imap(|i: Exp<i64>, x: Exp<i64>| i * x, &xs))?.to_vec(), [0, 5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn imap<Sh: Shape, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(Sh::Exp, A::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, A>>,
) -> Acc<Array<Sh, B>> {
    xs.into_acc().imap(f)
}

/// [`Acc::zip_with`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, ys) = (Vector::from([1, 2, 3]), Vector::from([10, 20]));
/// let sums = functions::zip_with(|x: Exp<i32>, y: Exp<i32>| x + y, &xs, &ys);
/// assert_eq!(Interpreter::new().run(sums)?.to_vec(), [11, 22]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn zip_with<Sh: Shape, A: Elt, B: Elt, C: Elt, R: IntoExp<C>>(
    f: impl FnOnce(A::Exp, B::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, A>>,
    ys: impl IntoAcc<Array<Sh, B>>,
) -> Acc<Array<Sh, C>> {
    xs.into_acc().zip_with(ys, f)
}

/// [`Acc::fold`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 2, 3]);
/// assert_eq!(Interpreter::new().run(functions::fold(|a: Exp<i32>, b: Exp<i32>| a + b, 10, &xs))?.value(), 16);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn fold<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    init: impl IntoExp<E>,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh::Inner, E>> {
    xs.into_acc().fold(init, f)
}

/// [`Acc::fold1`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 3, 2]);
/// assert_eq!(Interpreter::new().run(functions::fold1(|a: Exp<i32>, b: Exp<i32>| a.max(b), &xs))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn fold1<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh::Inner, E>> {
    xs.into_acc().fold1(f)
}

/// [`Acc::scanl`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 2, 3]);
/// let result = Interpreter::new().run(functions::scanl(|a: Exp<i32>, b: Exp<i32>| a + b, 10, &xs))?;
/// assert_eq!(result.to_vec(), [10, 11, 13, 16]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn scanl<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    init: impl IntoExp<E>,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh, E>> {
    xs.into_acc().scanl(init, f)
}

/// [`Acc::scanl1`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 2, 3]);
/// assert_eq!(Interpreter::new().run(functions::scanl1(|a: Exp<i32>, b: Exp<i32>| a + b, &xs))?.to_vec(), [1, 3, 6]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn scanl1<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    f: impl FnOnce(E::Exp, E::Exp) -> R,
    xs: impl IntoAcc<Array<Sh, E>>,
) -> Acc<Array<Sh, E>> {
    xs.into_acc().scanl1(f)
}

// ---- functions of expressions

/// [`iterate`](crate::api::iterate), the initial value last.
///
/// ```
/// use acc_core::prelude::*;
/// let powers = generate(4, |n| functions::iterate(n, |x: Exp<i64>| x * 3, 1));
/// assert_eq!(Interpreter::new().run(powers)?.to_vec(), [1, 3, 9, 27]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn iterate<T: Elt, R: IntoExp<T>>(n: impl IntoExp<i64>, f: impl FnOnce(T::Exp) -> R, x: impl IntoExp<T>) -> T::Exp {
    crate::api::iterate(n, x, f)
}

/// [`Acc::sfoldl`], the function first.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// let ys = generate(2, |i: Exp<i64>| functions::sfoldl(|a: Exp<i32>, x: Exp<i32>| a - x, 10, i, &m));
/// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [4, -5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
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
///
/// ```
/// use acc_core::prelude::*;
/// let swap = functions::lift1(|(x, y): (Exp<i32>, Exp<bool>)| (y, x));
/// let pair: Exp<(bool, i32)> = swap(lift((1, true)));
/// assert_eq!(Interpreter::new().run(unit(pair))?.value(), (true, 1));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn lift1<A: Elt, B: Elt, R: IntoExp<B>>(f: impl FnOnce(A::Exp) -> R) -> impl FnOnce(Exp<A>) -> Exp<B> {
    |a| f(a.unlift()).into_exp()
}

/// A function of two expressions, whatever form its arguments and its result have.
///
/// ```
/// use acc_core::prelude::*;
/// let add = functions::lift2(|(a, b): (Exp<i32>, Exp<i32>), k: Exp<i32>| (a * k, b * k));
/// let scaled: Exp<(i32, i32)> = add(lift((1, 2)), constant(10));
/// assert_eq!(Interpreter::new().run(unit(scaled))?.value(), (10, 20));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn lift2<A: Elt, B: Elt, C: Elt, R: IntoExp<C>>(
    f: impl FnOnce(A::Exp, B::Exp) -> R,
) -> impl FnOnce(Exp<A>, Exp<B>) -> Exp<C> {
    |a, b| f(a.unlift(), b.unlift()).into_exp()
}

/// A function of three expressions, whatever form its arguments and its result have.
///
/// ```
/// use acc_core::prelude::*;
/// let tuple = functions::lift3(|a: Exp<i32>, b: Exp<bool>, c: Exp<f64>| (a, b, c));
/// let x: Exp<(i32, bool, f64)> = tuple(constant(1), constant(true), constant(2.5));
/// assert_eq!(Interpreter::new().run(unit(x))?.value(), (1, true, 2.5));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn lift3<A: Elt, B: Elt, C: Elt, D: Elt, R: IntoExp<D>>(
    f: impl FnOnce(A::Exp, B::Exp, C::Exp) -> R,
) -> impl FnOnce(Exp<A>, Exp<B>, Exp<C>) -> Exp<D> {
    |a, b, c| f(a.unlift(), b.unlift(), c.unlift()).into_exp()
}

/// A function of an integer as one of an index of rank 1.
///
/// ```
/// use acc_core::prelude::*;
/// let next = functions::ilift1(|i| i + 1);
/// assert_eq!(Interpreter::new().run(unit(next(index1(3))))?.value(), 4);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn ilift1<R: IntoExp<i64>>(f: impl FnOnce(Exp<i64>) -> R) -> impl FnOnce(Exp<i64>) -> Exp<i64> {
    lift1(f)
}

/// A function of two integers as one of indices of rank 1.
///
/// ```
/// use acc_core::prelude::*;
/// let last = functions::ilift2(|i, n| n - 1 - i);
/// assert_eq!(Interpreter::new().run(unit(last(index1(0), index1(5))))?.value(), 4);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn ilift2<R: IntoExp<i64>>(f: impl FnOnce(Exp<i64>, Exp<i64>) -> R) -> impl FnOnce(Exp<i64>, Exp<i64>) -> Exp<i64> {
    lift2(f)
}

/// A function of three integers as one of indices of rank 1.
///
/// ```
/// use acc_core::prelude::*;
/// let clamped = functions::ilift3(|i, low, high| i.clamp(low, high));
/// assert_eq!(Interpreter::new().run(unit(clamped(index1(7), index1(0), index1(5))))?.value(), 5);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn ilift3<R: IntoExp<i64>>(
    f: impl FnOnce(Exp<i64>, Exp<i64>, Exp<i64>) -> R,
) -> impl FnOnce(Exp<i64>, Exp<i64>, Exp<i64>) -> Exp<i64> {
    lift3(f)
}

/// The first component of a pair, of expressions or of array programs.
///
/// ```
/// use acc_core::prelude::*;
/// let pairs = use_(&Vector::from([(1, true), (2, false)]));
/// assert_eq!(Interpreter::new().run(pairs.map(functions::fst))?.to_vec(), [1, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn fst<A, B>(pair: (A, B)) -> A {
    pair.0
}

/// The second component of a pair, of expressions or of array programs.
///
/// ```
/// use acc_core::prelude::*;
/// let pairs = use_(&Vector::from([(1, true), (2, false)]));
/// assert_eq!(Interpreter::new().run(pairs.map(functions::snd))?.to_vec(), [true, false]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn snd<A, B>(pair: (A, B)) -> B {
    pair.1
}

/// A function of a pair as one of two arguments, over expressions or array programs.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, ys) = (use_(&Vector::from([1, 2])), use_(&Vector::from([10, 20])));
/// let products = xs.zip_with(&ys, functions::curry(|(x, y): (Exp<i32>, Exp<i32>)| x * y));
/// assert_eq!(Interpreter::new().run(products)?.to_vec(), [10, 40]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn curry<A, B, C>(f: impl FnOnce((A, B)) -> C) -> impl FnOnce(A, B) -> C {
    |a, b| f((a, b))
}

/// A function of two arguments as one of a pair, over expressions or array programs.
///
/// ```
/// use acc_core::prelude::*;
/// let pairs = use_(&Vector::from([(1, 10), (2, 20)]));
/// let products = pairs.map(functions::uncurry(|x: Exp<i32>, y: Exp<i32>| x * y));
/// assert_eq!(Interpreter::new().run(products)?.to_vec(), [10, 40]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn uncurry<A, B, C>(f: impl FnOnce(A, B) -> C) -> impl FnOnce((A, B)) -> C {
    |(a, b)| f(a, b)
}

/// [`Acc::compute`], of a tuple of arrays, too.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 2]);
/// let (xs, sum) = functions::compute::<(Vector<i32>, Scalar<i32>)>((&xs, use_(&xs).sum()));
/// assert_eq!(Interpreter::new().run(xs.map(|x| x * sum.the()))?.to_vec(), [3, 6]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn compute<A: Arrays>(xs: impl IntoAcc<A>) -> A::Acc {
    xs.into_acc().compute().unlift()
}

/// Swaps the arguments of a function.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2, 3]));
/// let difference = xs.sfoldl(0, (), functions::flip(|x: Exp<i32>, a: Exp<i32>| x - a));
/// assert_eq!(Interpreter::new().run(unit(difference))?.value(), 2);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn flip<A, B, C>(f: impl FnOnce(A, B) -> C) -> impl FnOnce(B, A) -> C {
    |b, a| f(a, b)
}
