//! Slice specifications: tuples of [`All`] and integers.

use super::class::{Integral, NumScalar};
use super::exp::Exp;
use super::shape::{DIM0, Dim, IxPart, Shape};
use crate::ir::Axis;

/// Keeps a whole axis.
#[derive(Clone, Copy, Debug)]
pub struct All;

/// One component of a slice specification: `All`, or an integer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a slice component",
    note = "use `All` or an integer (expression)"
)]
pub trait SlicePart {
    /// What it does to its axis.
    const AXIS: Axis;
    /// The slice's shape with this component's axis added.
    type Push<S: Count>: Count;
    /// The position or extent, if it is an integer.
    fn fixed(self) -> Option<Exp<i64>>;
}

/// Ranks under construction: they saturate into [`TooDeep`], so that signatures need no limit.
pub trait Count {
    /// One more.
    type Next: Count;
}
/// A rank above the highest.
pub struct TooDeep;
impl Count for TooDeep {
    type Next = TooDeep;
}
macro_rules! count {
    ($($a:tt $b:ty),*) => { $(impl Count for Dim<$a> { type Next = $b; })* };
}
count!(0 Dim<1>, 1 Dim<2>, 2 Dim<3>, 3 Dim<4>, 4 Dim<5>, 5 Dim<6>, 6 Dim<7>, 7 Dim<8>, 8 Dim<9>, 9 TooDeep);

impl SlicePart for All {
    const AXIS: Axis = Axis::All;
    type Push<S: Count> = S::Next;
    fn fixed(self) -> Option<Exp<i64>> {
        None
    }
}
impl SlicePart for usize {
    const AXIS: Axis = Axis::Fixed;
    type Push<S: Count> = S;
    #[track_caller]
    fn fixed(self) -> Option<Exp<i64>> {
        Some(self.part())
    }
}
impl<T: Integral + NumScalar> SlicePart for Exp<T> {
    const AXIS: Axis = Axis::Fixed;
    type Push<S: Count> = S;
    #[track_caller]
    fn fixed(self) -> Option<Exp<i64>> {
        Some(self.part())
    }
}

/// `(All, i)`: one component per axis of the larger array, `Full`; the `All`s are the axes of the smaller, `Slice`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a slice specification",
    note = "use a tuple of `All` and integers, one per axis of the larger array, e.g. `(All, 0)`"
)]
pub trait SliceSpec {
    /// The shape of the larger array.
    type Full: Shape;
    /// The shape of the smaller array.
    type Slice;
    /// One entry per axis of the larger array.
    const AXES: &'static [Axis];
    /// The integers, in order.
    fn fixed(self) -> Vec<Exp<i64>>;
}

macro_rules! slice_spec {
    ($n:tt $($A:ident $i:tt),*; $Slice:ty) => {
        impl<$($A: SlicePart),*> SliceSpec for ($($A,)*) {
            type Full = Dim<$n>;
            type Slice = $Slice;
            const AXES: &'static [Axis] = &[$($A::AXIS),*];
            #[track_caller]
            fn fixed(self) -> Vec<Exp<i64>> {
                [$(self.$i.fixed()),*].into_iter().flatten().collect()
            }
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
slice_spec!(8 A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>>>>);
slice_spec!(9 A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    I::Push<H::Push<G::Push<F::Push<E::Push<D::Push<C::Push<B::Push<A::Push<DIM0>>>>>>>>>);
