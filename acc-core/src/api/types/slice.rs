//! Slice specifications: tuples of [`All`] and integers, perhaps after [`Any`].

use crate::api::{DIM0, DIM1, Dim, Exp, IxPart, Shape};
use crate::ir::Axis;

/// Keeps a whole axis.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// assert_eq!(Interpreter::new().run(m.slice((All, 0)))?.to_vec(), [1, 4]);
/// assert_eq!(Interpreter::new().run(m.slice((1, All)))?.to_vec(), [4, 5, 6]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct All;

/// Keeps the outer axes, however many there are: the first component of a specification.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// assert_eq!(Interpreter::new().run(m.slice((Any, 2)))?.to_vec(), [3, 6]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// One component of a slice specification: `All`, or an integer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a slice component",
    note = "use `All`, or a `usize`, such as a plain `3`, or an integer expression"
)]
pub trait SlicePart {
    /// What it does to its axis.
    const AXIS: Axis;
    /// The slice's shape with this component's axis added.
    type Push<S: Count>: Count;
    /// The slice's shape without this component's axis.
    type Pop<S: Count>: Count;
    /// The position or extent, if it is an integer.
    fn fixed(self) -> Option<Exp<i64>>;
}

/// Ranks under construction: they saturate into [`NoRank`], so that signatures need no limit.
pub trait Count {
    /// One more.
    type Next: Count;
    /// One less.
    type Pred: Count;
}
/// A rank below 0 or above the highest.
pub struct NoRank;
impl Count for NoRank {
    type Next = NoRank;
    type Pred = NoRank;
}
macro_rules! count {
    ($($a:tt $next:ty, $pred:ty;)*) => { $(impl Count for Dim<$a> { type Next = $next; type Pred = $pred; })* };
}
count! {
    0 Dim<1>, NoRank;
    1 Dim<2>, Dim<0>;
    2 Dim<3>, Dim<1>;
    3 Dim<4>, Dim<2>;
    4 Dim<5>, Dim<3>;
    5 Dim<6>, Dim<4>;
    6 Dim<7>, Dim<5>;
    7 Dim<8>, Dim<6>;
    8 Dim<9>, Dim<7>;
    9 NoRank, Dim<8>;
}

impl SlicePart for All {
    const AXIS: Axis = Axis::All;
    type Push<S: Count> = S::Next;
    type Pop<S: Count> = S::Pred;
    fn fixed(self) -> Option<Exp<i64>> {
        None
    }
}
impl<I: IxPart> SlicePart for I {
    const AXIS: Axis = Axis::Fixed;
    type Push<S: Count> = S;
    type Pop<S: Count> = S;
    #[track_caller]
    fn fixed(self) -> Option<Exp<i64>> {
        Some(self.part())
    }
}

/// The components of a slice specification: `(All, i)`, one for each axis of the larger array, `i` for the only axis of a
/// vector; or `Any`, `(Any, i)`, ..., which keep the axes that are left.
pub trait SliceParts {
    /// Whether `Any` comes first.
    const ANY: bool;
    /// The other components.
    const AXES: &'static [Axis];
    /// The integers, in order.
    fn fixed(self) -> Vec<Exp<i64>>;
}

/// Specifications of slices of arrays of shape `Sh`: one component per axis, `All` or an integer. The `All`s are the
/// axes of the slice.
///
/// ```
/// use acc_core::prelude::*;
/// fn corner<Sh: Shape, S>(xs: &Acc<Array<Sh, i32>>, at: S) -> Acc<Scalar<i32>>
/// where
///     S: SliceSpec<Sh, Slice = DIM0>,
/// {
///     xs.slice(at)
/// }
/// let m = use_(&Matrix::from([[1, 2], [3, 4]]));
/// assert_eq!(Interpreter::new().run(corner(&m, (1, 0)))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a slice specification for an array of shape `{Sh}`",
    note = "use a tuple of `All` and integers, one per axis, e.g. `(All, 0)` for a matrix; `0` for a vector; or `(Any, 0)` for any rank",
    note = "each integer is a `usize`, such as a plain `3`, or an integer expression"
)]
pub trait SliceSpec<Sh: Shape>: SliceParts {
    /// The shape of the slice.
    type Slice;
}

/// Specifications of replications of arrays of shape `Sh`: one component per axis of the result, `All` or an integer.
/// The `All`s are the axes of the array.
///
/// ```
/// use acc_core::prelude::*;
/// fn rows<S>(xs: &Acc<Vector<i32>>, spec: S) -> Acc<Matrix<i32>>
/// where
///     S: ReplicateSpec<DIM1, Full = DIM2>,
/// {
///     xs.replicate(spec)
/// }
/// let xs = use_(&Vector::from([1, 2]));
/// assert_eq!(Interpreter::new().run(rows(&xs, (2, All)))?, Matrix::from([[1, 2], [1, 2]]));
/// assert_eq!(Interpreter::new().run(rows(&xs, (All, 3)))?, Matrix::from([[1, 1, 1], [2, 2, 2]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to replicate an array of shape `{Sh}`",
    note = "use a tuple of `All`, one per axis of the array, and integers, e.g. `(3, All)` for a vector, `(2, 3)` or `3` for a scalar; or `(Any, 3)` for any rank",
    note = "each integer is a `usize`, such as a plain `3`, or an integer expression"
)]
pub trait ReplicateSpec<Sh: Shape>: SliceParts {
    /// The shape of the result.
    type Full;
}

impl SliceParts for Any {
    const ANY: bool = true;
    const AXES: &'static [Axis] = &[];
    fn fixed(self) -> Vec<Exp<i64>> {
        Vec::new()
    }
}
impl<Sh: Shape> SliceSpec<Sh> for Any {
    type Slice = Sh;
}
impl<Sh: Shape> ReplicateSpec<Sh> for Any {
    type Full = Sh;
}

// An integer alone: the only axis.
impl<I: IxPart> SliceParts for I {
    const ANY: bool = false;
    const AXES: &'static [Axis] = &[Axis::Fixed];
    #[track_caller]
    fn fixed(self) -> Vec<Exp<i64>> {
        vec![self.part()]
    }
}
impl<I: IxPart> SliceSpec<DIM1> for I {
    type Slice = DIM0;
}
impl<I: IxPart> ReplicateSpec<DIM0> for I {
    type Full = DIM1;
}

type Next<S> = <S as Count>::Next;
type Pred<S> = <S as Count>::Pred;

/// Components that are one per axis of the larger array.
macro_rules! slice_spec {
    ($n:tt $($A:ident $i:tt),*; $Slice:ty) => {
        impl<$($A: SlicePart),*> SliceParts for ($($A,)*) {
            const ANY: bool = false;
            const AXES: &'static [Axis] = &[$($A::AXIS),*];
            #[track_caller]
            fn fixed(self) -> Vec<Exp<i64>> {
                [$(self.$i.fixed()),*].into_iter().flatten().collect()
            }
        }
        impl<$($A: SlicePart),*> SliceSpec<Dim<$n>> for ($($A,)*) {
            type Slice = $Slice;
        }
        impl<Sh: Shape, $($A: SlicePart),*> ReplicateSpec<Sh> for ($($A,)*)
        where
            ($($A,)*): SliceSpec<Dim<$n>, Slice = Sh>,
        {
            type Full = Dim<$n>;
        }
    };
}
slice_spec!(1 A 0; A::Push<DIM0>);
slice_spec!(2 A 0, B 1; B::Push<A::Push<DIM0>>);
slice_spec!(3 A 0, B 1, C 2; C::Push<B::Push<A::Push<DIM0>>>);
slice_spec!(4 A 0, B 1, C 2, D 3; D::Push<C::Push<B::Push<A::Push<DIM0>>>>);
slice_spec!(5 A 0, B 1, C 2, D 3, E 4; E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>);
slice_spec!(6 A 0, B 1, C 2, D 3, E 4, F 5; F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>>);
slice_spec!(7 A 0, B 1, C 2, D 3, E 4, F 5, G 6; G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>>>);
slice_spec!(8 A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7; H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>>>>);
slice_spec!(9 A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8; I::Push<H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>>>>>);

/// Components after `Any`.
macro_rules! any_spec {
    ($($A:ident $i:tt),*; $Slice:ty; $Full:ty) => {
        impl<$($A: SlicePart),*> SliceParts for (Any, $($A,)*) {
            const ANY: bool = true;
            const AXES: &'static [Axis] = &[$($A::AXIS),*];
            #[track_caller]
            fn fixed(self) -> Vec<Exp<i64>> {
                [$(self.$i.fixed()),*].into_iter().flatten().collect()
            }
        }
        impl<Sh: Shape, $($A: SlicePart),*> SliceSpec<Sh> for (Any, $($A,)*) {
            type Slice = $Slice;
        }
        impl<Sh: Shape, $($A: SlicePart),*> ReplicateSpec<Sh> for (Any, $($A,)*) {
            type Full = $Full;
        }
    };
}
any_spec!(A 1; A::Push<Pred<Sh>>; Next<A::Pop<Sh>>);
any_spec!(A 1, B 2; B::Push<A::Push<Pred<Pred<Sh>>>>; Next<Next<A::Pop<B::Pop<Sh>>>>);
any_spec!(A 1, B 2, C 3; C::Push<B::Push<A::Push<Pred<Pred<Pred<Sh>>>>>>; Next<Next<Next<A::Pop<B::Pop<C::Pop<Sh>>>>>>);
any_spec!(A 1, B 2, C 3, D 4; D::Push<C::Push<B::Push<A::Push<Pred<Pred<Pred<Pred<Sh>>>>>>>>; Next<Next<Next<Next<A::Pop<B::Pop<C::Pop<D::Pop<Sh>>>>>>>>);
any_spec!(A 1, B 2, C 3, D 4, E 5; E::Push<D::Push<C::Push<B::Push<A::Push<Pred<Pred<Pred<Pred<Pred<Sh>>>>>>>>>>; Next<Next<Next<Next<Next<A::Pop<B::Pop<C::Pop<D::Pop<E::Pop<Sh>>>>>>>>>>);
any_spec!(A 1, B 2, C 3, D 4, E 5, F 6; F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Pred<Pred<Pred<Pred<Pred<Pred<Sh>>>>>>>>>>>>; Next<Next<Next<Next<Next<Next<A::Pop<B::Pop<C::Pop<D::Pop<E::Pop<F::Pop<Sh>>>>>>>>>>>>);
any_spec!(A 1, B 2, C 3, D 4, E 5, F 6, G 7; G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Pred<Pred<Pred<Pred<Pred<Pred<Pred<Sh>>>>>>>>>>>>>>; Next<Next<Next<Next<Next<Next<Next<A::Pop<B::Pop<C::Pop<D::Pop<E::Pop<F::Pop<G::Pop<Sh>>>>>>>>>>>>>>);
any_spec!(A 1, B 2, C 3, D 4, E 5, F 6, G 7, H 8; H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<Pred<Pred<Pred<Pred<Pred<Pred<Pred<Pred<Sh>>>>>>>>>>>>>>>>; Next<Next<Next<Next<Next<Next<Next<Next<A::Pop<B::Pop<C::Pop<D::Pop<E::Pop<F::Pop<G::Pop<H::Pop<Sh>>>>>>>>>>>>>>>>);
