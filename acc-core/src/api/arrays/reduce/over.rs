//! Folds over axes of one's choice.

use crate::api::types::ranked::{self, Known};
use crate::api::{
    Acc, All, Any, Array, Count, Dim, Elt, Exp, ExpOrd, Floating, IntoExp, Num, NumScalar, Shape, constant,
};
use crate::builder::{AccRef, compose};
use crate::ir::Loc;

/// An axis that is folded, in the specifications of [`Acc::sum_over`] and its like.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// assert_eq!(Interpreter::new().run(m.sum_over((Over, All)))?.to_vec(), [5, 7, 9]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Over;

/// One component of a [`FoldSpec`]: [`Over`] or [`All`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` says neither to fold an axis nor to keep it",
    note = "use `Over` for an axis that is folded, `All` for one that is kept"
)]
pub trait FoldPart {
    /// Whether the axis is folded.
    const FOLDED: bool;
    /// The result's shape with this component's axis added.
    type Push<S: Count>: Count;
}
impl FoldPart for Over {
    const FOLDED: bool = true;
    type Push<S: Count> = S;
}
impl FoldPart for All {
    const FOLDED: bool = false;
    type Push<S: Count> = S::Next;
}

/// Which axes of an array of shape `Sh` are folded: a tuple of [`Over`] and [`All`], one per axis, or after [`Any`], which
/// keeps the outer axes, however many there are.
///
/// ```
/// use acc_core::prelude::*;
/// fn total_of_columns<S: FoldSpec<DIM2, Kept = DIM1>>(m: &Acc<Matrix<i32>>, axes: S) -> Acc<Vector<i32>> {
///     m.sum_over(axes)
/// }
/// let m = use_(&Matrix::from([[1, 2], [3, 4]]));
/// assert_eq!(Interpreter::new().run(total_of_columns(&m, (Over, All)))?.to_vec(), [4, 6]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which axes of an array of shape `{Sh}` to fold",
    note = "use a tuple of `Over` and `All`, one per axis, e.g. `(Over, All)` for the columns of a matrix; or `(Any, Over)` for any rank"
)]
pub trait FoldSpec<Sh: Shape> {
    /// The shape of what is left.
    type Kept: Shape;
    /// Whether `Any` comes first.
    const ANY: bool;
    /// Of the components after it, whether the axis is folded.
    const FOLDED: &'static [bool];
}

macro_rules! fold_spec {
    ($($n:tt $($A:ident)*; $Kept:ty;)*) => { $(
        impl<$($A: FoldPart),*> FoldSpec<Dim<$n>> for ($($A,)*)
        where
            $Kept: Shape,
        {
            type Kept = $Kept;
            const ANY: bool = false;
            const FOLDED: &'static [bool] = &[$($A::FOLDED),*];
        }
    )* };
}
fold_spec! {
    1 A; A::Push<Dim<0>>;
    2 A B; B::Push<A::Push<Dim<0>>>;
    3 A B C; C::Push<B::Push<A::Push<Dim<0>>>>;
    4 A B C D; D::Push<C::Push<B::Push<A::Push<Dim<0>>>>>;
    5 A B C D E; E::Push<D::Push<C::Push<B::Push<A::Push<Dim<0>>>>>>;
    6 A B C D E F; F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Dim<0>>>>>>>;
    7 A B C D E F G; G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Dim<0>>>>>>>>;
    8 A B C D E F G H; H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Dim<0>>>>>>>>>;
    9 A B C D E F G H I; I::Push<H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Dim<0>>>>>>>>>>;
}

type Pred<S> = <S as Count>::Pred;

macro_rules! any_fold_spec {
    ($($($A:ident)*; $Kept:ty;)*) => { $(
        impl<Sh: Shape, $($A: FoldPart),*> FoldSpec<Sh> for (Any, $($A,)*)
        where
            $Kept: Shape,
        {
            type Kept = $Kept;
            const ANY: bool = true;
            const FOLDED: &'static [bool] = &[$($A::FOLDED),*];
        }
    )* };
}
any_fold_spec! {
    A; A::Push<Pred<Sh>>;
    A B; B::Push<A::Push<Pred<Pred<Sh>>>>;
    A B C; C::Push<B::Push<A::Push<Pred<Pred<Pred<Sh>>>>>>;
    A B C D; D::Push<C::Push<B::Push<A::Push<Pred<Pred<Pred<Pred<Sh>>>>>>>>;
}

/// The positions of the axes that are kept, and of those that are folded.
fn split<Sh: Shape, S: FoldSpec<Sh>>() -> (Vec<usize>, Vec<usize>) {
    let outer = if S::ANY { Sh::RANK - S::FOLDED.len() } else { 0 };
    (0..Sh::RANK).partition(|axis| *axis < outer || !S::FOLDED[*axis - outer])
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The array with the axes that are folded innermost, its rank, and how many these are.
    #[track_caller]
    fn folded_innermost<S: FoldSpec<Sh>>(&self) -> (AccRef, usize) {
        let (kept, folded) = split::<Sh, S>();
        let order: Vec<usize> = kept.iter().chain(&folded).copied().collect();
        (ranked::permuted::<E>(&self.node, &order), folded.len())
    }

    #[track_caller]
    fn known_over<S: FoldSpec<Sh>>(&self, name: &'static &'static str, op: &Known<E>) -> Acc<Array<S::Kept, E>> {
        compose(name, || {
            let (xs, count) = self.folded_innermost::<S>();
            ranked::typed(op.folds(xs, Sh::RANK, count))
        })
    }

    /// Reduces the axes that are [`Over`], their elements in row-major order, with an associative function; `init` is
    /// included once per result, on the left.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((2, 2, 2), |(i, j, k)| i * 4 + j * 2 + k);
    /// let last = xs.fold_over((Over, All, Over), -1, |_, b| b);
    /// assert_eq!(Interpreter::new().run(last)?.to_vec(), [5, 7]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold_over<S: FoldSpec<Sh>, R: IntoExp<E>>(
        &self,
        _axes: S,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<S::Kept, E>> {
        compose(&"fold_over", || {
            let (xs, count) = self.folded_innermost::<S>();
            let kept = Sh::RANK - count;
            let mut shape = ranked::extents(&xs, Sh::RANK);
            let folded = shape.split_off(kept).into_iter().product();
            shape.push(folded);
            let rows = if count == 1 { xs } else { ranked::reshape::<E>(&xs, &shape) };
            ranked::typed(ranked::fold::<E>(&rows, kept + 1, Some(init.into_exp()), |a, b| {
                Loc::of_user(|| f(a, b).into_exp())
            }))
        })
    }

    /// The sums over the axes that are [`Over`].
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let images = fill((10, 3, 8, 8), 0.5f32);
    /// let of_channels = images.sum_over((Over, All, Over, Over));
    /// assert_eq!(Interpreter::new().run(of_channels)?.to_vec(), [320.0; 3]);
    /// let of_planes = images.sum_over((Any, Over, Over));
    /// assert_eq!(Interpreter::new().run(of_planes)?.shape(), Dim([10, 3]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sum_over<S: FoldSpec<Sh>>(&self, _axes: S) -> Acc<Array<S::Kept, E>>
    where
        E: Num,
    {
        self.known_over::<S>(&"sum_over", &Known::new(Some(|| E::from_i64(0).into_exp()), |a, b| E::add(a, b)))
    }

    /// The products over the axes that are [`Over`].
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.product_over((Over, All)))?.to_vec(), [4, 10, 18]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn product_over<S: FoldSpec<Sh>>(&self, _axes: S) -> Acc<Array<S::Kept, E>>
    where
        E: Num,
    {
        self.known_over::<S>(&"product_over", &Known::new(Some(|| E::from_i64(1).into_exp()), |a, b| E::mul(a, b)))
    }

    /// The greatest elements over the axes that are [`Over`], none of which may be empty; NaN where there is one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 7, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.maximum_over((Over, All)))?.to_vec(), [4, 7, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn maximum_over<S: FoldSpec<Sh>>(&self, _axes: S) -> Acc<Array<S::Kept, E>>
    where
        E: ExpOrd,
    {
        self.known_over::<S>(&"maximum_over", &Known::new(None, |a, b| E::greater(a, b)))
    }

    /// The least elements over the axes that are [`Over`], none of which may be empty; NaN where there is one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 7, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.minimum_over((Over, Over)))?.value(), 1);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn minimum_over<S: FoldSpec<Sh>>(&self, _axes: S) -> Acc<Array<S::Kept, E>>
    where
        E: ExpOrd,
    {
        self.known_over::<S>(&"minimum_over", &Known::new(None, |a, b| E::lesser(a, b)))
    }

    /// The means over the axes that are [`Over`]: NaN where there is no element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1.0, 2.0], [3.0, 6.0]]));
    /// assert_eq!(Interpreter::new().run(m.mean_over((Over, All)))?.to_vec(), [2.0, 4.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn mean_over<S: FoldSpec<Sh>>(&self, axes: S) -> Acc<Array<S::Kept, E>>
    where
        E: Floating + NumScalar,
    {
        compose(&"mean_over", || {
            let extents = self.extent().parts();
            let (_, folded) = split::<Sh, S>();
            let count: Exp<i64> = folded.into_iter().map(|axis| extents[axis]).product();
            let count = count.to::<E>();
            self.sum_over(axes).map(|sum| sum / count)
        })
    }
}

impl<Sh: Shape> Acc<Array<Sh, bool>> {
    /// Whether all elements over the axes that are [`Over`] are true.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[true, true], [true, false]]));
    /// assert_eq!(Interpreter::new().run(m.and_over((Over, All)))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and_over<S: FoldSpec<Sh>>(&self, _axes: S) -> Acc<Array<S::Kept, bool>> {
        self.known_over::<S>(&"and_over", &Known::new(Some(|| constant(true)), |a, b| a & b))
    }

    /// Whether some element over the axes that are [`Over`] is true.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[true, false], [true, false]]));
    /// assert_eq!(Interpreter::new().run(m.or_over((Over, All)))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn or_over<S: FoldSpec<Sh>>(&self, _axes: S) -> Acc<Array<S::Kept, bool>> {
        self.known_over::<S>(&"or_over", &Known::new(Some(|| constant(false)), |a, b| a | b))
    }
}
