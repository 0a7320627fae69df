//! Scalar control flow: conditionals and loops.

use crate::api::types::shape::{index_of, parts_of};
use crate::api::{Acc, Array, Elt, Exp, IntoExp, IntoIx, Reducible, Shape, constant, none, some};
use crate::builder;
use crate::ir::Loc;

impl Exp<bool> {
    /// `if self { then } else { else_ }`: only the side taken is evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.eq(0).then_else(-1, 10 / x)))?.to_vec(), [5, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    ///
    /// If both sides are literals, they have the type that is declared for the result; as an operand the result has none,
    /// and one of them says it.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// fn sign(x: Exp<f32>) -> Exp<f32> {
    ///     x.lt(0.0).then_else(-1.0, 1.0)
    /// }
    /// let xs = use_(&Vector::from([2.0f32, -3.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * sign(x)))?.to_vec(), [2.0, 3.0]);
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * x.lt(0.0).then_else(-1.0f32, 1.0)))?.to_vec(), [2.0, 3.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn then_else<T: Elt<Exp = X>, X: IntoExp<T>>(self, then: impl IntoExp<T>, else_: impl IntoExp<T>) -> X {
        cond_exp(self, then.into_exp(), else_.into_exp()).unlift()
    }

    /// `Some(x)` where true, else `None`, as `bool::then_some`; `x` is evaluated only where true.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.gt(0).then_some(x)))?.to_vec(), [Some(2), None]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn then_some<T: Elt>(self, x: impl IntoExp<T>) -> Exp<Option<T>> {
        let x = x.into_exp();
        cond_exp(self, some(x), none())
    }

    /// Short-circuiting and: `other` is evaluated only where this is true.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.ne(0).and((10 / x).gt(3))))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and(self, other: impl IntoExp<bool>) -> Exp<bool> {
        let other = other.into_exp();
        cond_exp(self, other, constant(false))
    }

    /// Short-circuiting or: `other` is evaluated only where this is false.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.eq(0).or((10 / x).gt(3))))?.to_vec(), [true, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn or(self, other: impl IntoExp<bool>) -> Exp<bool> {
        let other = other.into_exp();
        cond_exp(self, constant(true), other)
    }
}

#[track_caller]
fn cond_exp<T: Elt>(c: Exp<bool>, t: Exp<T>, e: Exp<T>) -> Exp<T> {
    Exp::raw(builder::cond(c.r, t.r, e.r, T::ty(), &Loc::caller()))
}

/// `if c { then } else { else_ }`: only the side taken is evaluated.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([2i32, 0]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| cond(x.eq(0), -1, 10 / x)))?.to_vec(), [5, -1]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn cond<T: Elt<Exp = X>, X: IntoExp<T>>(c: impl IntoExp<bool>, then: impl IntoExp<T>, else_: impl IntoExp<T>) -> X {
    c.into_exp().then_else(then, else_)
}

/// A loop: while `test` holds of the state, the state becomes what `step` yields. Yields the last state.
///
/// A literal in `init` says its type, as in `(x, 0i64)`, where `test` or `step` calls a method of that part of the state.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([12i64, 7]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| while_(x, |x| x.gt(1), |x| x / 2)))?.to_vec(), [1, 1]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn while_<T: Elt, C: IntoExp<bool>, R: IntoExp<T>>(
    init: impl IntoExp<T>,
    test: impl FnOnce(T::Exp) -> C,
    step: impl FnOnce(T::Exp) -> R,
) -> T::Exp {
    let loc = Loc::caller();
    let init = init.into_exp();
    let test = builder::loop_body(T::ty(), &loc, |p| test(Exp::<T>::raw(p).unlift()).into_exp().r);
    let step = builder::loop_body(T::ty(), &loc, |p| step(Exp::<T>::raw(p).unlift()).into_exp().r);
    Exp::<T>::raw(builder::while_loop(init.r, test, step, T::ty(), &loc)).unlift()
}

/// Applies `step` to `init` `n` times; for `n` below 1 the result is `init`.
///
/// ```
/// use acc_core::prelude::*;
/// let powers = generate(5, |i| iterate(i, 1i64, |x| x * 3));
/// assert_eq!(Interpreter::new().run(powers)?.to_vec(), [1, 3, 9, 27, 81]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn iterate<T: Elt, R: IntoExp<T>>(
    n: impl IntoExp<i64>,
    init: impl IntoExp<T>,
    step: impl FnOnce(T::Exp) -> R,
) -> T::Exp {
    let n = n.into_exp();
    let (_, last) =
        while_::<(i64, T), _, _>((0, init.into_exp()), |(i, _)| i.lt(n), |(i, x)| (i + 1, step(x).into_exp()));
    last
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The elements of one innermost row, combined from left to right, starting with `init`: a loop inside a scalar
    /// expression, which may stand in the function of a `map`. `ix` is the index of the row; `f` need not be
    /// associative.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// let ys = generate(2, |i| m.sfoldl(10, i, |a, x| a - x));
    /// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [4, -5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sfoldl<In: Shape, A: Elt, R: IntoExp<A>>(
        &self,
        init: impl IntoExp<A>,
        ix: impl IntoIx<In>,
        f: impl FnOnce(A::Exp, E::Exp) -> R,
    ) -> A::Exp
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        let row = parts_of(ix.into_ix().0, In::RANK);
        let n =
            Exp::<i64>::raw(builder::push(builder::ExpOp::Extent(self.node.clone(), In::RANK as u32), i64::ty(), &loc));
        let element = |i: Exp<i64>| {
            let index: Vec<Exp<i64>> = row.iter().copied().chain([i]).collect();
            Exp::<E>::raw(builder::element(&self.node, index_of(&index).0, E::ty(), &loc)).unlift()
        };
        let (_, last) = while_::<(i64, A), _, _>(
            (0, init.into_exp()),
            |(i, _)| i.lt(n),
            |(i, a)| (i + 1, f(a, element(i)).into_exp()),
        );
        last
    }
}
