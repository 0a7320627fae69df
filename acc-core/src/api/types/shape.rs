//! Shapes, indices and extents.

use super::exp::tuple_exp;
use crate::api::{Count, Elt, Exp, Integral, NumScalar, constant};
use crate::builder::{self, AccRef, ExpRef};
use crate::ir::Loc;
use std::fmt::Debug;
use std::marker::PhantomData;

/// A host-side array shape or index of rank `N`: extents, outermost first.
///
/// ```
/// use acc_core::prelude::*;
/// let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(m.shape(), Dim([2, 3]));
/// assert_eq!(Interpreter::new().run(fill(m.shape(), 0))?.shape(), m.shape());
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dim<const N: usize>(pub [usize; N]);

/// Rank 0.
pub type DIM0 = Dim<0>;
/// Rank 1.
pub type DIM1 = Dim<1>;
/// Rank 2.
pub type DIM2 = Dim<2>;
/// Rank 3.
pub type DIM3 = Dim<3>;
/// Rank 4.
pub type DIM4 = Dim<4>;
/// Rank 5.
pub type DIM5 = Dim<5>;
/// Rank 6.
pub type DIM6 = Dim<6>;
/// Rank 7.
pub type DIM7 = Dim<7>;
/// Rank 8.
pub type DIM8 = Dim<8>;
/// Rank 9.
pub type DIM9 = Dim<9>;

/// Array shapes: [`Dim<0>`](Dim) to `Dim<9>`.
///
/// ```
/// use acc_core::prelude::*;
/// fn rank_and_size<Sh: Shape>(shape: Sh) -> (usize, usize) {
///     (Sh::RANK, shape.dims().iter().product())
/// }
/// assert_eq!(rank_and_size(Dim([2, 3])), (2, 6));
/// assert_eq!(rank_and_size(Dim([])), (0, 1));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array shape",
    note = "shapes are DIM0 (scalar), DIM1, .. DIM9"
)]
pub trait Shape: Count + Copy + PartialEq + Debug + 'static {
    /// The number of dimensions.
    const RANK: usize;
    /// What closures over indices receive: `()`, `Exp<i64>`, `(Exp<i64>, Exp<i64>)`, ...
    type Exp: IntoIx<Self> + Copy;
    /// The dimension type of ndarray.
    type Nd: ndarray::Dimension;
    /// The extents, outermost first.
    fn dims(&self) -> &[usize];
    /// A shape of these extents; `None` if their number is not the rank.
    fn from_dims(dims: &[usize]) -> Option<Self>;
    #[doc(hidden)]
    fn unlift_index(r: ExpRef) -> Self::Exp;
}

/// Shapes of rank 1 or more: these have an innermost dimension.
///
/// ```
/// use acc_core::prelude::*;
/// fn row_lengths<Sh: Reducible>(xs: &Acc<Array<Sh, f32>>) -> Acc<Array<Sh::Inner, i64>> {
///     xs.map(|_| 1i64).sum()
/// }
/// let m = use_(&Matrix::from([[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]));
/// assert_eq!(Interpreter::new().run(row_lengths(&m))?.to_vec(), [2, 2, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "this operation needs an array of rank 1 or more, but the array is a rank-0 `Scalar`",
    label = "reduces or scans the innermost dimension, and `{Self}` has none"
)]
pub trait Reducible: Shape {
    /// The shape without the innermost dimension.
    type Inner: Extendable<Outer = Self>;
}

/// The shape of arrays of one element, [`DIM0`].
///
/// ```
/// use acc_core::prelude::*;
/// fn halved<Sh: RankZero>(total: &Acc<Array<Sh, f64>>) -> Exp<f64> {
///     total.the() / 2.0
/// }
/// let xs = use_(&Vector::from([1.0, 2.0]));
/// assert_eq!(Interpreter::new().run(unit(halved(&xs.sum())))?.value(), 1.5);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "only an array of rank 0 has one element to read by itself, and this one has the shape `{Self}`",
    note = "reduce it first, as in `xs.sum().the()`, or read at a position: `xs.index(0)`, `xs.index((i, j))`"
)]
pub trait RankZero: Shape {}
impl RankZero for DIM0 {}

/// The shape of vectors, [`DIM1`].
///
/// ```
/// use acc_core::prelude::*;
/// fn positive<Sh: RankOne>(xs: &Acc<Array<Sh, i32>>) -> Acc<Vector<i32>> {
///     xs.filter(|x| x.gt(0))
/// }
/// assert_eq!(Interpreter::new().run(positive(&use_(&Vector::from([3, -1, 2]))))?.to_vec(), [3, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "what is left of an array of shape `{Self}` is no array of that shape: rows keep different numbers of elements",
    note = "`filter_rows` and `compact_rows` yield all elements that are kept, and how many each row keeps; `xs.flatten()` is a vector"
)]
pub trait RankOne: Reducible {}
impl RankOne for DIM1 {}

/// Shapes that can get one more dimension.
#[diagnostic::on_unimplemented(message = "arrays of rank above 9 are not supported")]
pub trait Extendable: Shape {
    /// The shape with one more dimension.
    type Outer: Reducible<Inner = Self>;
}

/// Anything usable as an index or extent of rank `Sh`: `i`, `(i, j)`, `[i, j]`, of `usize` or integer expressions.
///
/// ```
/// use acc_core::prelude::*;
/// fn zeros<Sh: Shape>(shape: impl IntoIx<Sh>) -> Acc<Array<Sh, i32>> {
///     fill(shape, 0)
/// }
/// let m = use_(&Matrix::from([[1, 2, 3]]));
/// assert_eq!(Interpreter::new().run(zeros((2, 3)))?.shape(), Dim([2, 3]));
/// assert_eq!(Interpreter::new().run(zeros([2, 3]))?.shape(), Dim([2, 3]));
/// assert_eq!(Interpreter::new().run(zeros(m.extent()))?.shape(), Dim([1, 3]));
/// assert_eq!(Interpreter::new().run(zeros(m.size() * 2))?.shape(), Dim([6]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index or shape of type `{Sh}`",
    label = "wrong rank, or not `usize` and integer expressions",
    note = "use `i` for DIM1, `(i, j)` for DIM2, `(i, j, k)` for DIM3, `()` for DIM0; each part a `usize`, such as a plain `3`, or an integer expression",
    note = "a plain integer of another type becomes a `usize` by `as usize`, or an expression by `lift(n)`"
)]
pub trait IntoIx<Sh: Shape> {
    /// The index as an expression.
    fn into_ix(self) -> IxExp;
}

/// An index or extent expression; its rank is in the trait parameter of what made it.
#[derive(Clone, Copy, Debug)]
pub struct IxExp(pub(crate) ExpRef);

/// One component of an index: a `usize` or an integer expression.
///
/// ```
/// use acc_core::prelude::*;
/// fn first(xs: &Acc<Vector<i32>>, n: impl IxPart) -> Acc<Scalar<i32>> {
///     xs.take(n).sum()
/// }
/// let xs = use_(&Vector::from([1, 2, 3]));
/// assert_eq!(Interpreter::new().run(first(&xs, 2))?.value(), 3);
/// assert_eq!(Interpreter::new().run(first(&xs, xs.length() - 1))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index component: neither a `usize`, such as a plain `3`, nor an integer expression",
    note = "a plain integer of another type becomes a `usize` by `as usize`, or an expression by `lift(n)`",
    note = "an expression of another type becomes an integer by `.to::<i64>()`"
)]
pub trait IxPart {
    /// As `i64`.
    fn part(self) -> Exp<i64>;
}

impl IxPart for usize {
    #[track_caller]
    fn part(self) -> Exp<i64> {
        constant(self as i64)
    }
}
impl<T: Integral + NumScalar> IxPart for Exp<T> {
    #[track_caller]
    fn part(self) -> Exp<i64> {
        self.to()
    }
}

// Of the plain integers only `usize` is an index: with more, `generate(10, |i| i.to::<f32>())` would not infer.
impl IntoIx<DIM1> for usize {
    #[track_caller]
    fn into_ix(self) -> IxExp {
        IxExp(self.part().r)
    }
}
impl<T: Integral + NumScalar> IntoIx<DIM1> for Exp<T> {
    #[track_caller]
    fn into_ix(self) -> IxExp {
        IxExp(self.part().r)
    }
}
impl<const N: usize> IntoIx<Dim<N>> for Dim<N>
where
    Dim<N>: Shape,
{
    #[track_caller]
    fn into_ix(self) -> IxExp {
        IntoIx::<Dim<N>>::into_ix(self.0)
    }
}
impl<const N: usize, I: IxPart> IntoIx<Dim<N>> for [I; N]
where
    Dim<N>: Shape,
{
    #[track_caller]
    fn into_ix(self) -> IxExp {
        index_of(&self.map(IxPart::part))
    }
}
impl<Sh: Shape> IntoIx<Sh> for ShapeOf<Sh> {
    #[track_caller]
    fn into_ix(self) -> IxExp {
        IxExp(self.push())
    }
}

/// An index of these components.
#[track_caller]
pub(crate) fn index_of(parts: &[Exp<i64>]) -> IxExp {
    match parts {
        [one] => IxExp(one.r),
        _ => IxExp(builder::tuple(
            &parts.iter().map(|p| p.r).collect::<Vec<_>>(),
            crate::data::EltType::index(parts.len()),
            &Loc::caller(),
        )),
    }
}

/// An index given by its components, which must be as many as the rank.
pub(crate) struct Parts(pub(crate) Vec<Exp<i64>>);

impl<Sh: Shape> IntoIx<Sh> for Parts {
    #[track_caller]
    fn into_ix(self) -> IxExp {
        index_of(&self.0)
    }
}

/// The components of an index, outermost first.
#[track_caller]
pub(crate) fn parts<Sh: Shape>(ix: Sh::Exp) -> Vec<Exp<i64>> {
    parts_of(ix.into_ix().0, Sh::RANK)
}

/// The component along the innermost dimension of an index of rank 1 or more.
#[track_caller]
pub(crate) fn innermost<Sh: Reducible>(ix: Sh::Exp) -> Exp<i64> {
    parts::<Sh>(ix)[Sh::RANK - 1]
}

/// The index with another component along the innermost dimension.
#[track_caller]
pub(crate) fn with_innermost<Sh: Reducible>(ix: Sh::Exp, i: Exp<i64>) -> Parts {
    let mut ix = parts::<Sh>(ix);
    ix[Sh::RANK - 1] = i;
    Parts(ix)
}

/// The extent of an array program; becomes an expression only where it is used.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// let shape: ShapeOf<DIM2> = m.extent();
/// assert_eq!(Interpreter::new().run(generate(shape, |(i, j)| i + j))?, Matrix::from([[0, 1, 2], [1, 2, 3]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ShapeOf<Sh> {
    array: AccRef,
    _shape: PhantomData<fn() -> Sh>,
}

impl<Sh: Shape> ShapeOf<Sh> {
    pub(crate) fn new(array: AccRef) -> Self {
        ShapeOf { array, _shape: PhantomData }
    }
    #[track_caller]
    fn push(&self) -> ExpRef {
        builder::extent(&self.array, Sh::RANK, &Loc::caller())
    }
    /// Takes it apart: `let (n, m) = xs.extent().unlift();`
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// let (rows, columns) = m.extent().unlift();
    /// assert_eq!(Interpreter::new().run(unit((rows, columns)))?.value(), (2, 3));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn unlift(&self) -> Sh::Exp {
        Sh::unlift_index(self.push())
    }
    /// The components, outermost first: as many as the rank.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// let parts = m.extent().parts();
    /// assert_eq!(Interpreter::new().run(unit((parts[0], parts[1])))?.value(), (2, 3));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn parts(&self) -> Vec<Exp<i64>> {
        parts_of(self.push(), Sh::RANK)
    }
    /// The number of elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(unit(m.extent().size()))?.value(), 6);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn size(&self) -> Exp<i64> {
        self.parts().into_iter().product()
    }
}

/// The components of an index expression.
#[track_caller]
pub(crate) fn parts_of(r: ExpRef, rank: usize) -> Vec<Exp<i64>> {
    match rank {
        1 => vec![Exp::raw(r)],
        _ => (0..rank as u32).map(|i| Exp::raw(builder::proj(r, i, i64::ty(), &Loc::caller()))).collect(),
    }
}

/// Host-side shapes: `usize`, `(usize, usize)`, `[usize; N]`, `Dim<N>`.
///
/// ```
/// use acc_core::prelude::*;
/// fn zeros<Sh: Shape>(shape: impl IntoShape<Sh>) -> Array<Sh, i32> {
///     Array::from_list(shape, std::iter::repeat(0)).unwrap()
/// }
/// assert_eq!(zeros((2, 3)).shape(), zeros([2, 3]).shape());
/// assert_eq!(zeros(4).shape(), Dim([4]));
/// ```
pub trait IntoShape<Sh: Shape> {
    /// The shape.
    fn into_shape(self) -> Sh;
}
impl<const N: usize> IntoShape<Dim<N>> for Dim<N>
where
    Dim<N>: Shape,
{
    fn into_shape(self) -> Self {
        self
    }
}
impl<const N: usize> IntoShape<Dim<N>> for [usize; N]
where
    Dim<N>: Shape,
{
    fn into_shape(self) -> Dim<N> {
        Dim(self)
    }
}
impl IntoShape<DIM1> for usize {
    fn into_shape(self) -> DIM1 {
        Dim([self])
    }
}

/// Tuples of every rank as shapes, indices and host shapes.
macro_rules! rank {
    ($n:tt, $Exp:ty, $Lift:ty, ($($P:ident $i:tt),*), ($($U:ty),*)) => {
        impl Shape for Dim<$n> {
            const RANK: usize = $n;
            type Exp = $Exp;
            type Nd = rank!(@nd $n);
            fn dims(&self) -> &[usize] { &self.0 }
            fn from_dims(dims: &[usize]) -> Option<Self> { dims.try_into().ok().map(Dim) }
            #[track_caller]
            fn unlift_index(r: ExpRef) -> $Exp { Exp::<$Lift>::raw(r).unlift() }
        }
        rank!(@tuple $n, ($($P $i),*), ($($U),*));
    };
    (@nd 7) => { ndarray::IxDyn };
    (@nd 8) => { ndarray::IxDyn };
    (@nd 9) => { ndarray::IxDyn };
    (@nd $n:tt) => { ndarray::Dim<[usize; $n]> };
    (@tuple 1, $p:tt, $u:tt) => {};
    (@tuple $n:tt, ($($P:ident $i:tt),*), ($($U:ty),*)) => {
        impl<$($P: IxPart),*> IntoIx<Dim<$n>> for ($($P,)*) {
            #[track_caller]
            fn into_ix(self) -> IxExp {
                IxExp(tuple_exp::<rank!(@ints $($P)*)>(&[$(self.$i.part().r),*]).r)
            }
        }
        impl IntoShape<Dim<$n>> for ($($U,)*) {
            fn into_shape(self) -> Dim<$n> { Dim([$(self.$i),*]) }
        }
    };
    (@ints $($P:ident)*) => { ($(rank!(@i64 $P),)*) };
    (@i64 $P:ident) => { i64 };
}
rank!(0, (), (), (), ());
rank!(1, Exp<i64>, i64, (A 0), (usize));
rank!(2, (Exp<i64>, Exp<i64>), (i64, i64), (A 0, B 1), (usize, usize));
rank!(3, (Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64), (A 0, B 1, C 2), (usize, usize, usize));
rank!(4, (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64, i64), (A 0, B 1, C 2, D 3), (usize, usize, usize, usize));
rank!(5, (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64, i64, i64), (A 0, B 1, C 2, D 3, E 4), (usize, usize, usize, usize, usize));
rank!(6, (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64, i64, i64, i64), (A 0, B 1, C 2, D 3, E 4, F 5), (usize, usize, usize, usize, usize, usize));
rank!(7, (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64, i64, i64, i64, i64), (A 0, B 1, C 2, D 3, E 4, F 5, G 6), (usize, usize, usize, usize, usize, usize, usize));
rank!(8, (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64, i64, i64, i64, i64, i64), (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7), (usize, usize, usize, usize, usize, usize, usize, usize));
rank!(9, (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>), (i64, i64, i64, i64, i64, i64, i64, i64, i64), (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8), (usize, usize, usize, usize, usize, usize, usize, usize, usize));

macro_rules! successor {
    ($($a:tt $b:tt),*) => { $(
        impl Extendable for Dim<$a> { type Outer = Dim<$b>; }
        impl Reducible for Dim<$b> { type Inner = Dim<$a>; }
    )* };
}
successor!(0 1, 1 2, 2 3, 3 4, 4 5, 5 6, 6 7, 7 8, 8 9);
