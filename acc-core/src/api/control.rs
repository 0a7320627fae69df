//! Scalar control flow: conditionals and loops.

use super::elt::Elt;
use super::exp::{Exp, IntoExp, constant};
use super::option::{none, some};
use crate::build;
use crate::ir::Loc;

impl Exp<bool> {
    /// `if self { then } else { else_ }`: only the side taken is evaluated.
    #[track_caller]
    pub fn then_else<T: Elt>(self, then: impl IntoExp<T>, else_: impl IntoExp<T>) -> T::Exp {
        cond_exp(self, then.into_exp(), else_.into_exp()).unlift()
    }

    /// `Some(x)` where true, else `None`, as `bool::then_some`; `x` is evaluated only where true.
    #[track_caller]
    pub fn then_some<T: Elt>(self, x: impl IntoExp<T>) -> Exp<Option<T>> {
        let x = x.into_exp();
        cond_exp(self, some(x), none())
    }

    /// Short-circuiting and: `other` is evaluated only where this is true.
    #[track_caller]
    pub fn and(self, other: impl IntoExp<bool>) -> Exp<bool> {
        let other = other.into_exp();
        cond_exp(self, other, constant(false))
    }

    /// Short-circuiting or: `other` is evaluated only where this is false.
    #[track_caller]
    pub fn or(self, other: impl IntoExp<bool>) -> Exp<bool> {
        let other = other.into_exp();
        cond_exp(self, constant(true), other)
    }
}

#[track_caller]
fn cond_exp<T: Elt>(c: Exp<bool>, t: Exp<T>, e: Exp<T>) -> Exp<T> {
    Exp::raw(build::cond(c.r, t.r, e.r, T::ty(), &Loc::caller()))
}

/// `if c { then } else { else_ }`: only the side taken is evaluated.
#[track_caller]
pub fn cond<T: Elt>(c: impl IntoExp<bool>, then: impl IntoExp<T>, else_: impl IntoExp<T>) -> T::Exp {
    c.into_exp().then_else(then, else_)
}

/// A loop: while `test` holds of the state, the state becomes what `step` yields. Yields the last state.
#[track_caller]
pub fn while_<T: Elt, C: IntoExp<bool>, R: IntoExp<T>>(
    init: impl IntoExp<T>,
    test: impl FnOnce(T::Exp) -> C,
    step: impl FnOnce(T::Exp) -> R,
) -> T::Exp {
    let loc = Loc::caller();
    let init = init.into_exp();
    let test = build::loop_body(T::ty(), &loc, |p| test(Exp::<T>::raw(p).unlift()).into_exp().r);
    let step = build::loop_body(T::ty(), &loc, |p| step(Exp::<T>::raw(p).unlift()).into_exp().r);
    Exp::<T>::raw(build::while_loop(init.r, test, step, T::ty(), &loc)).unlift()
}
