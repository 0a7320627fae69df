//! Forward and backward permutations.

use crate::api::types::acc::{closed_ix, fun2};
use crate::api::types::shape::{Parts, parts};
use crate::api::{
    Acc, Array, DIM1, Elt, Exp, Integral, IntoAcc, IntoExp, IntoIx, IxExp, NumScalar, Reducible, Shape, Vector,
    constant,
};
use crate::builder::{self, AccOp, compose};
use crate::data::EltType;
use crate::ir::{ArrayOp, Loc};

/// The target of an element in [`Acc::permute`]: `Some(ix)`, `None` (the element is dropped), or an expression of type
/// `Option` of an index tuple, e.g. `cond.then_some(i)`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([3i64, -1, 0]));
/// let seen = fill(3, true).permute(fill(4, false), |new, _| new, |k| {
///     let x = xs.index(k);
///     x.ge(0).then_some(x)
/// });
/// assert_eq!(Interpreter::new().run(seen)?.to_vec(), [true, false, false, true]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an optional index of type `{Sh}`",
    note = "the index function of `permute` returns `Some(ix)`, `cond.then_some(ix)` or `none()`"
)]
pub trait IntoMaybeIx<Sh: Shape> {
    /// A tag and an index.
    fn into_maybe_ix(self) -> IxExp;
}

#[track_caller]
fn maybe(tag: Exp<u8>, index: builder::ExpRef, rank: usize) -> IxExp {
    let ty = EltType::tuple([u8::ty(), EltType::index(rank)]);
    IxExp(builder::tuple(&[tag.r, index], ty, &Loc::caller()))
}

impl<Sh: Shape, I: IntoIx<Sh>> IntoMaybeIx<Sh> for Option<I> {
    #[track_caller]
    fn into_maybe_ix(self) -> IxExp {
        match self {
            Some(i) => maybe(constant(1u8), i.into_ix().0, Sh::RANK),
            None => maybe(constant(0u8), builder::zero(&EltType::index(Sh::RANK), &Loc::caller()), Sh::RANK),
        }
    }
}

impl<T: Integral + NumScalar> IntoMaybeIx<DIM1> for Exp<Option<T>> {
    #[track_caller]
    fn into_maybe_ix(self) -> IxExp {
        maybe(self.proj::<u8>(0), self.proj::<T>(1).into_ix().0, 1)
    }
}

macro_rules! maybe_index {
    ($($Sh:ty, $Ix:ty;)*) => { $(
        impl IntoMaybeIx<$Sh> for Exp<Option<$Ix>> {
            fn into_maybe_ix(self) -> IxExp { IxExp(self.r) }
        }
    )* };
}
maybe_index! {
    crate::api::DIM0, ();
    crate::api::DIM2, (i64, i64);
    crate::api::DIM3, (i64, i64, i64);
    crate::api::DIM4, (i64, i64, i64, i64);
    crate::api::DIM5, (i64, i64, i64, i64, i64);
    crate::api::DIM6, (i64, i64, i64, i64, i64, i64);
    crate::api::DIM7, (i64, i64, i64, i64, i64, i64, i64);
    crate::api::DIM8, (i64, i64, i64, i64, i64, i64, i64, i64);
    crate::api::DIM9, (i64, i64, i64, i64, i64, i64, i64, i64, i64);
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Writes each element to a target position of a copy of `defaults`, combining it with the current value by
    /// `combine(new, old)`. `target` gives the position from the source index, or `None` to drop the element. Out of
    /// bounds is a fault. Where targets repeat, elements are combined in the order of the source; sums of floats may
    /// associate in another order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0, 2, 2, 1, 2]));
    /// let counts = fill(xs.extent(), 1).permute(fill(4, 0), |a, b| a + b, |i| Some(xs.index(i)));
    /// assert_eq!(Interpreter::new().run(counts)?.to_vec(), [1, 1, 3, 0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn permute<Sh2: Shape, I: IntoMaybeIx<Sh2>, R: IntoExp<E>>(
        &self,
        defaults: impl IntoAcc<Array<Sh2, E>>,
        combine: impl FnOnce(E::Exp, E::Exp) -> R,
        target: impl FnOnce(Sh::Exp) -> I,
    ) -> Acc<Array<Sh2, E>> {
        let loc = Loc::caller();
        let target = builder::lambda(vec![EltType::index(Sh::RANK)], loc.clone(), |p| {
            target(Sh::unlift_index(p[0])).into_maybe_ix().0
        });
        let combine = fun2::<E, E, E, R>(&loc, combine);
        let defaults = defaults.into_acc().node;
        Acc::new(AccOp::Op(ArrayOp::Permute { combine, defaults, target, xs: self.node.clone() }), loc)
    }

    /// An array of a shape, each element read at the position that `index` gives. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.backpermute(2, |i| i * 2 + 1))?.to_vec(), [2, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn backpermute<Sh2: Shape, I: IntoIx<Sh>>(
        &self,
        shape: impl IntoIx<Sh2>,
        index: impl FnOnce(Sh2::Exp) -> I,
    ) -> Acc<Array<Sh2, E>> {
        let loc = Loc::caller();
        let shape = closed_ix(&loc, shape);
        let index = builder::lambda(vec![EltType::index(Sh2::RANK)], loc.clone(), |p| {
            index(Sh2::unlift_index(p[0])).into_ix().0
        });
        Acc::new(AccOp::Op(ArrayOp::Backpermute { shape, index, xs: self.node.clone() }), loc)
    }
}

impl<E: Elt> Acc<Vector<E>> {
    /// The elements at the positions in `indices`, in its shape. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([5i32, 6, 7]));
    /// assert_eq!(Interpreter::new().run(xs.gather(use_(&Vector::from([2i64, 0, 2]))))?.to_vec(), [7, 5, 7]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn gather<Sh: Shape>(&self, indices: impl IntoAcc<Array<Sh, i64>>) -> Acc<Array<Sh, E>> {
        let indices = indices.into_acc();
        compose(&"gather", || self.backpermute(indices.extent(), |ix| indices.index(ix)))
    }

    /// Overwrites positions of `defaults`: element `k` goes to position `targets[k]`. Where positions repeat the last
    /// element wins. Only as many elements are used as both vectors have. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([5i32, 6]));
    /// assert_eq!(Interpreter::new().run(xs.scatter(use_(&Vector::from([2i64, 0])), fill(3, 0)))?.to_vec(), [6, 0, 5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter(&self, targets: impl IntoAcc<Vector<i64>>, defaults: impl IntoAcc<Vector<E>>) -> Acc<Vector<E>> {
        let targets = targets.into_acc();
        let defaults = defaults.into_acc();
        compose(&"scatter", || {
            let n = self.length().min(targets.length());
            let xs = self.backpermute(n, |i: Exp<i64>| i);
            xs.permute::<DIM1, _, _>(defaults, |new, _| new, |i| Some(targets.index(i)))
        })
    }
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Overwrites rows of `defaults`, along the outermost axis: row `k`, of any rank, becomes row `targets[k]`. Where
    /// targets repeat the last row wins. Only as many rows are used as there are targets. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let rows = use_(&Matrix::from([[1, 2], [3, 4]]));
    /// let written = rows.scatter_rows(&Vector::from([2i64, 0]), fill((3, 2), 0));
    /// assert_eq!(Interpreter::new().run(written)?, Matrix::from([[3, 4], [0, 0], [1, 2]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_rows(&self, targets: impl IntoAcc<Vector<i64>>, defaults: impl IntoAcc<Array<Sh, E>>) -> Self
    where
        Sh: Reducible,
    {
        self.scatter_rows_with(targets, defaults, |new, _| new)
    }

    /// [`scatter_rows`](Acc::scatter_rows) where rows are combined with those that are there, by `combine(new, old)` of
    /// their elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let rows = use_(&Matrix::from([[1, 2], [3, 4], [5, 6]]));
    /// let sums = rows.scatter_rows_with(&Vector::from([1i64, 0, 1]), fill((2, 2), 0), |new, old| new + old);
    /// assert_eq!(Interpreter::new().run(sums)?, Matrix::from([[3, 4], [6, 8]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_rows_with<R: IntoExp<E>>(
        &self,
        targets: impl IntoAcc<Vector<i64>>,
        defaults: impl IntoAcc<Array<Sh, E>>,
        combine: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Self
    where
        Sh: Reducible,
    {
        let (targets, defaults) = (targets.into_acc(), defaults.into_acc());
        compose(&"scatter_rows", || {
            let mut used = self.extent().parts();
            used[0] = used[0].min(targets.length());
            let rows: Self = self.backpermute(Parts(used), |ix: Sh::Exp| ix);
            let combine = |new, old| Loc::of_user(|| combine(new, old).into_exp());
            rows.permute::<Sh, _, _>(defaults, combine, |ix| {
                let mut target = parts::<Sh>(ix);
                target[0] = targets.index(target[0]);
                Some(Parts(target))
            })
        })
    }

    /// The rows at these positions, along the outermost axis: as many as there are indices. Out of bounds is a fault. Its derivative adds rows up.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let table = use_(&Matrix::from([[1, 2], [3, 4], [5, 6]]));
    /// let rows = table.gather_rows(&Vector::from([2i64, 0, 2]));
    /// assert_eq!(Interpreter::new().run(rows)?, Matrix::from([[5, 6], [1, 2], [5, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_rows(&self, indices: impl IntoAcc<Vector<i64>>) -> Self
    where
        Sh: Reducible,
    {
        let indices = indices.into_acc();
        compose(&"gather_rows", || {
            let mut shape = self.extent().parts();
            shape[0] = indices.length();
            self.backpermute(Parts(shape), |ix: Sh::Exp| {
                let mut source = parts::<Sh>(ix);
                source[0] = indices.index(source[0]);
                Parts(source)
            })
        })
    }
}
