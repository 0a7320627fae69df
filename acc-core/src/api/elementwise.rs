//! Element-wise operations: map, zip, unzip.

use super::acc::{Acc, IntoAcc};
use super::array::Array;
use super::elt::Elt;
use super::exp::{Exp, IntoExp};
use super::shape::Shape;
use crate::build::{self, AccOp, Frozen};
use crate::data::EltType;
use crate::ir::Loc;

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Applies a function to each element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f32, 2.0, 3.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * x + 1.0))?.to_vec(), [2.0, 5.0, 10.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn map<B: Elt, R: IntoExp<B>>(&self, f: impl FnOnce(E::Exp) -> R) -> Acc<Array<Sh, B>> {
        let loc = Loc::caller();
        let f = build::lambda(vec![E::ty()], loc.clone(), |p| f(Exp::<E>::raw(p[0]).unlift()).into_exp().r);
        self.mapped(f, Vec::new(), false, loc)
    }

    /// Applies a function to each index and element.
    #[track_caller]
    pub fn imap<B: Elt, R: IntoExp<B>>(&self, f: impl FnOnce(Sh::Exp, E::Exp) -> R) -> Acc<Array<Sh, B>> {
        let loc = Loc::caller();
        let types = vec![EltType::index(Sh::RANK), E::ty()];
        let f =
            build::lambda(types, loc.clone(), |p| f(Sh::unlift_index(p[0]), Exp::<E>::raw(p[1]).unlift()).into_exp().r);
        self.mapped(f, Vec::new(), true, loc)
    }

    fn mapped<B: Elt>(&self, f: Frozen, more: Vec<build::AccRef>, indexed: bool, loc: Loc) -> Acc<Array<Sh, B>> {
        let mut xs = vec![self.node.clone()];
        xs.extend(more);
        Acc::new(AccOp::Map { f, xs, indexed }, loc)
    }

    /// Applies a function to the elements of 2 arrays at each index of the intersection of their shapes.
    #[track_caller]
    pub fn zip_with<B: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        f: impl FnOnce(E::Exp, B::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![E::ty(), B::ty()];
        let f = build::lambda(types, loc.clone(), |p| {
            f(Exp::<E>::raw(p[0]).unlift(), Exp::<B>::raw(p[1]).unlift()).into_exp().r
        });
        self.mapped(f, vec![bs.into_acc().node], false, loc)
    }

    /// Applies a function to the index and the elements of 2 arrays, on the intersection of their shapes.
    #[track_caller]
    pub fn izip_with<B: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        f: impl FnOnce(Sh::Exp, E::Exp, B::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![EltType::index(Sh::RANK), E::ty(), B::ty()];
        let f = build::lambda(types, loc.clone(), |p| {
            f(Sh::unlift_index(p[0]), Exp::<E>::raw(p[1]).unlift(), Exp::<B>::raw(p[2]).unlift()).into_exp().r
        });
        self.mapped(f, vec![bs.into_acc().node], true, loc)
    }

    /// The tuples of the elements of 2 arrays, on the intersection of their shapes.
    #[track_caller]
    pub fn zip<B: Elt>(&self, bs: impl IntoAcc<Array<Sh, B>>) -> Acc<Array<Sh, (E, B)>> {
        self.zip_with(bs, |a, b| (a, b))
    }

    /// Applies a function to the elements of 3 arrays at each index of the intersection of their shapes.
    #[track_caller]
    pub fn zip_with3<B: Elt, C: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        cs: impl IntoAcc<Array<Sh, C>>,
        f: impl FnOnce(E::Exp, B::Exp, C::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![E::ty(), B::ty(), C::ty()];
        let f = build::lambda(types, loc.clone(), |p| {
            f(Exp::<E>::raw(p[0]).unlift(), Exp::<B>::raw(p[1]).unlift(), Exp::<C>::raw(p[2]).unlift()).into_exp().r
        });
        self.mapped(f, vec![bs.into_acc().node, cs.into_acc().node], false, loc)
    }

    /// Applies a function to the index and the elements of 3 arrays, on the intersection of their shapes.
    #[track_caller]
    pub fn izip_with3<B: Elt, C: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        cs: impl IntoAcc<Array<Sh, C>>,
        f: impl FnOnce(Sh::Exp, E::Exp, B::Exp, C::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![EltType::index(Sh::RANK), E::ty(), B::ty(), C::ty()];
        let f = build::lambda(types, loc.clone(), |p| {
            f(
                Sh::unlift_index(p[0]),
                Exp::<E>::raw(p[1]).unlift(),
                Exp::<B>::raw(p[2]).unlift(),
                Exp::<C>::raw(p[3]).unlift(),
            )
            .into_exp()
            .r
        });
        self.mapped(f, vec![bs.into_acc().node, cs.into_acc().node], true, loc)
    }

    /// The tuples of the elements of 3 arrays, on the intersection of their shapes.
    #[track_caller]
    pub fn zip3<B: Elt, C: Elt>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        cs: impl IntoAcc<Array<Sh, C>>,
    ) -> Acc<Array<Sh, (E, B, C)>> {
        self.zip_with3(bs, cs, |a, b, c| (a, b, c))
    }

    /// Applies a function to the elements of 4 arrays at each index of the intersection of their shapes.
    #[track_caller]
    pub fn zip_with4<B: Elt, C: Elt, D: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        cs: impl IntoAcc<Array<Sh, C>>,
        ds: impl IntoAcc<Array<Sh, D>>,
        f: impl FnOnce(E::Exp, B::Exp, C::Exp, D::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![E::ty(), B::ty(), C::ty(), D::ty()];
        let f = build::lambda(types, loc.clone(), |p| {
            f(
                Exp::<E>::raw(p[0]).unlift(),
                Exp::<B>::raw(p[1]).unlift(),
                Exp::<C>::raw(p[2]).unlift(),
                Exp::<D>::raw(p[3]).unlift(),
            )
            .into_exp()
            .r
        });
        self.mapped(f, vec![bs.into_acc().node, cs.into_acc().node, ds.into_acc().node], false, loc)
    }

    /// Applies a function to the index and the elements of 4 arrays, on the intersection of their shapes.
    #[track_caller]
    pub fn izip_with4<B: Elt, C: Elt, D: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        cs: impl IntoAcc<Array<Sh, C>>,
        ds: impl IntoAcc<Array<Sh, D>>,
        f: impl FnOnce(Sh::Exp, E::Exp, B::Exp, C::Exp, D::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![EltType::index(Sh::RANK), E::ty(), B::ty(), C::ty(), D::ty()];
        let f = build::lambda(types, loc.clone(), |p| {
            f(
                Sh::unlift_index(p[0]),
                Exp::<E>::raw(p[1]).unlift(),
                Exp::<B>::raw(p[2]).unlift(),
                Exp::<C>::raw(p[3]).unlift(),
                Exp::<D>::raw(p[4]).unlift(),
            )
            .into_exp()
            .r
        });
        self.mapped(f, vec![bs.into_acc().node, cs.into_acc().node, ds.into_acc().node], true, loc)
    }

    /// The tuples of the elements of 4 arrays, on the intersection of their shapes.
    #[track_caller]
    pub fn zip4<B: Elt, C: Elt, D: Elt>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        cs: impl IntoAcc<Array<Sh, C>>,
        ds: impl IntoAcc<Array<Sh, D>>,
    ) -> Acc<Array<Sh, (E, B, C, D)>> {
        self.zip_with4(bs, cs, ds, |a, b, c, d| (a, b, c, d))
    }

    /// Each element with its index.
    #[track_caller]
    pub fn indexed<I: Elt>(&self) -> Acc<Array<Sh, (I, E)>>
    where
        Sh::Exp: IntoExp<I>,
    {
        self.imap(|ix, x| (ix, x))
    }
}

impl<Sh: Shape, A: Elt, B: Elt> Acc<Array<Sh, (A, B)>> {
    /// The components as arrays of their own.
    #[track_caller]
    pub fn unzip(&self) -> (Acc<Array<Sh, A>>, Acc<Array<Sh, B>>) {
        (self.map(|(a, _)| a), self.map(|(_, b)| b))
    }
}

impl<Sh: Shape, A: Elt, B: Elt, C: Elt> Acc<Array<Sh, (A, B, C)>> {
    /// The components as arrays of their own.
    #[track_caller]
    pub fn unzip3(&self) -> (Acc<Array<Sh, A>>, Acc<Array<Sh, B>>, Acc<Array<Sh, C>>) {
        (self.map(|(a, _, _)| a), self.map(|(_, b, _)| b), self.map(|(_, _, c)| c))
    }
}

impl<Sh: Shape, A: Elt, B: Elt, C: Elt, D: Elt> Acc<Array<Sh, (A, B, C, D)>> {
    /// The components as arrays of their own.
    #[track_caller]
    pub fn unzip4(&self) -> (Acc<Array<Sh, A>>, Acc<Array<Sh, B>>, Acc<Array<Sh, C>>, Acc<Array<Sh, D>>) {
        (self.map(|(a, _, _, _)| a), self.map(|(_, b, _, _)| b), self.map(|(_, _, c, _)| c), self.map(|(_, _, _, d)| d))
    }
}
