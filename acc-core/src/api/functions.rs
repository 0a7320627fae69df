//! Combinators as free functions, arguments in Accelerate's order.

use super::acc::{Acc, IntoAcc};
use super::array::Array;
use super::elt::Elt;
use super::exp::IntoExp;
use super::shape::{Reducible, Shape};

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
