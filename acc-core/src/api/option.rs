//! `Option` as an element type: a tag (`u8`, 0 for `None`) and the payload, zero where there is none.

use super::elt::Elt;
use super::exp::{Exp, IntoExp, constant, tuple_exp};
use crate::build;
use crate::data::{EltType, Lit};
use crate::ir::Loc;

impl<T: Elt> Elt for Option<T> {
    type Exp = Exp<Option<T>>;
    fn ty() -> EltType {
        EltType::tuple([u8::ty(), T::ty()])
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        match self {
            Some(x) => {
                1u8.write(out);
                x.write(out);
            }
            None => {
                0u8.write(out);
                T::ty().leaves().into_iter().for_each(|s| out(Lit::zero(s)));
            }
        }
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        let tag = u8::read(leaves);
        let payload = T::read(leaves);
        (tag != 0).then_some(payload)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elt, X: IntoExp<T>> IntoExp<Option<T>> for Option<X> {
    #[track_caller]
    fn into_exp(self) -> Exp<Option<T>> {
        match self {
            Some(x) => some(x),
            None => none(),
        }
    }
}

/// `Some(x)`.
#[track_caller]
pub fn some<T: Elt>(x: impl IntoExp<T>) -> Exp<Option<T>> {
    let x = x.into_exp();
    tuple_exp(&[constant(1u8).r, x.r])
}

/// `None`.
#[track_caller]
pub fn none<T: Elt>() -> Exp<Option<T>> {
    let payload = build::zero(&T::ty(), &Loc::caller());
    tuple_exp(&[constant(0u8).r, payload])
}

impl<T: Elt> Exp<Option<T>> {
    /// Whether there is a value.
    #[track_caller]
    pub fn is_some(self) -> Exp<bool> {
        self.proj::<u8>(0).ne(0)
    }
    /// Whether there is none.
    #[track_caller]
    pub fn is_none(self) -> Exp<bool> {
        self.proj::<u8>(0).eq(0)
    }
    /// `f` of the value, or `default`; only one of the two is evaluated.
    #[track_caller]
    pub fn map_or<R: Elt, X: IntoExp<R>>(self, default: impl IntoExp<R>, f: impl FnOnce(T::Exp) -> X) -> R::Exp {
        self.is_some().then_else(f(self.proj::<T>(1).unlift()), default)
    }
    /// The value, or `default`, which is evaluated only where there is none.
    #[track_caller]
    pub fn unwrap_or(self, default: impl IntoExp<T>) -> T::Exp {
        self.is_some().then_else(self.proj::<T>(1), default)
    }
}
