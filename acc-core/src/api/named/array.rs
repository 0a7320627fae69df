//! Arrays with named axes.

use super::axis::{Axes, Axis, Indices, Pair};
use super::scope;
use crate::api::types::ranked;
use crate::api::{
    Acc, Array, Arrays, Diff, Elt, Exp, Floating, HasFloat, IntoAcc, IntoExp, IxPart, Num, NumScalar, Parameters,
    Point, Scalar, Shape, TangentElt, use_,
};
use crate::builder::{AccType, compose};
use crate::data::ArrayData;
use crate::error::Error;
use crate::ir::Loc;
use std::fmt;
use std::marker::PhantomData;

/// A host array with a name for each axis.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Batch, Feature);
/// let x = NamedArray::<(Batch, Feature), f32>::of(Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
/// let sums = Interpreter::new().compile(|x: Named<(Batch, Feature), f32>| {
///     let sums: Named<Batch, f32> = each(|b| total(|f| x.at((b, f))));
///     sums
/// })?;
/// let sums: NamedArray<Batch, f32> = sums.call((&x,))?;
/// assert_eq!(sums.plain().to_vec(), [3.0, 7.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct NamedArray<Ax: Axes, E: Elt> {
    array: Array<Ax::Shape, E>,
    _axes: PhantomData<fn() -> Ax>,
}

/// An array program with a name for each axis: see [`each`](crate::api::each).
///
/// It may be the point of a derivative, and an argument or a result of compiled functions.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Feature);
/// let w = NamedArray::<Feature, f64>::of(Vector::from([1.0, 2.0]));
/// let x: Named<Feature, f64> = Named::of(&Vector::from([3.0, 4.0]));
/// let g: Named<Feature, f64> = grad(&w, |w| unit(total(|f| w.at(f) * w.at(f) * x.at(f))));
/// assert_eq!(Interpreter::new().run(g)?.plain().to_vec(), [6.0, 16.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub type Named<Ax, E> = Acc<NamedArray<Ax, E>>;

impl<Ax: Axes, E: Elt> NamedArray<Ax, E> {
    /// An array under these names.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = NamedArray::<Day, i32>::of(Vector::from([1, 2]));
    /// assert_eq!(xs.plain().to_vec(), [1, 2]);
    /// ```
    pub fn of(array: Array<Ax::Shape, E>) -> Self {
        NamedArray { array, _axes: PhantomData }
    }
    /// The array without names.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// assert_eq!(NamedArray::<Day, i32>::of(Vector::from([1, 2])).plain().len(), 2);
    /// ```
    pub fn plain(&self) -> &Array<Ax::Shape, E> {
        &self.array
    }
}

impl<Ax: Axes, E: Elt> Clone for NamedArray<Ax, E> {
    fn clone(&self) -> Self {
        NamedArray::of(self.array.clone())
    }
}
impl<Ax: Axes, E: Elt + fmt::Debug> fmt::Debug for NamedArray<Ax, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Ax::names().into_iter().map(|name| name.text).collect();
        write!(f, "({}) {:?}", names.join(", "), self.array)
    }
}

impl<Ax: Axes, E: Elt> Arrays for NamedArray<Ax, E> {
    type Acc = Acc<Self>;
    fn ty() -> AccType {
        AccType::array(Ax::Shape::RANK, E::ty())
    }
    fn unlift(a: Acc<Self>) -> Acc<Self> {
        a
    }
    fn from_parts(parts: &mut dyn Iterator<Item = ArrayData>) -> Result<Self, Error> {
        Array::from_parts(parts).map(Self::of)
    }
    fn push_parts(&self, out: &mut Vec<ArrayData>) {
        self.array.push_parts(out);
    }
}
impl<Ax: Axes, E: TangentElt> Diff for NamedArray<Ax, E> {
    type Tan = NamedArray<Ax, E::Tan>;
}
impl<Ax: Axes, E: HasFloat> Point for NamedArray<Ax, E> {}
impl<Ax: Axes, E: Floating + NumScalar> Parameters<E> for NamedArray<Ax, E> {}
#[diagnostic::do_not_recommend]
impl<Ax: Axes, E: Elt> IntoAcc<NamedArray<Ax, E>> for &NamedArray<Ax, E> {
    #[track_caller]
    fn into_acc(self) -> Acc<NamedArray<Ax, E>> {
        Named::of(use_(&self.array))
    }
}

impl<Ax: Axes, E: Elt> Acc<NamedArray<Ax, E>> {
    /// An array under these names.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let m: Named<(Row, Column), i32> = Named::of(fill((2, 3), 1));
    /// assert_eq!(Interpreter::new().run(m.plain())?.to_vec(), [1; 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn of(array: impl IntoAcc<Array<Ax::Shape, E>>) -> Self {
        Acc::raw(array.into_acc().node)
    }

    /// The array without names.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let m: Named<(Row, Column), i32> = Named::of(fill((2, 3), 1));
    /// assert_eq!(Interpreter::new().run(m.plain().sum())?.to_vec(), [3, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn plain(&self) -> Acc<Array<Ax::Shape, E>> {
        Acc::raw(self.node.clone())
    }

    /// The element at an index. In the closure of [`each`](crate::api::each) and its like, the array says how long the axes
    /// are of its names: an array that has another size for a name is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
    /// let transposed: Named<(Column, Row), i32> = each(|(c, r)| m.at((r, c)));
    /// assert_eq!(Interpreter::new().run(transposed.plain())?, Matrix::from([[1, 3], [2, 4]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn at(&self, index: Ax::Ix) -> E::Exp {
        let loc = Loc::caller();
        let places: Vec<_> = index.places().into_iter().map(|place| place.0.r).collect();
        Exp::<E>::raw(scope::read(&self.node, &Ax::names(), &places, E::ty(), &loc)).unlift()
    }

    /// A function of each element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs: Named<Day, i32> = Named::of(&Vector::from([1, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * x).plain())?.to_vec(), [1, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn map<B: Elt, R: IntoExp<B>>(&self, f: impl FnOnce(E::Exp) -> R) -> Named<Ax, B> {
        Named::of(self.plain().map(f))
    }

    /// A function of the elements of two arrays with the same names. Another size is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs: Named<Day, i32> = Named::of(&Vector::from([1, 2]));
    /// assert_eq!(Interpreter::new().run(xs.zip_with(&xs, |a, b| a + b).plain())?.to_vec(), [2, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn zip_with<B: Elt, C: Elt, R: IntoExp<C>>(
        &self,
        other: impl IntoAcc<NamedArray<Ax, B>>,
        f: impl FnOnce(E::Exp, B::Exp) -> R,
    ) -> Named<Ax, C> {
        let loc = Loc::caller();
        let other = other.into_acc();
        let both = scope::of_one_size(&self.node, &other.node, &Ax::names(), &loc);
        Named::of(self.plain().zip_with(Acc::<Array<Ax::Shape, B>>::raw(both), f))
    }

    /// The sum of all elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
    /// assert_eq!(Interpreter::new().run(m.sum_all())?.value(), 10);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sum_all(&self) -> Acc<Scalar<E>>
    where
        E: Num,
    {
        self.plain().fold_all(E::from_i64(0), |a, b| a + b)
    }
}

impl<A: Axis, B: Axis, E: Elt> Acc<NamedArray<(A, B), E>> {
    /// The two axes exchanged.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
    /// let transposed: Named<(Column, Row), i32> = m.transposed();
    /// assert_eq!(Interpreter::new().run(transposed.plain())?, Matrix::from([[1, 3], [2, 4]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn transposed(&self) -> Named<(B, A), E> {
        Named::of(self.plain().transpose())
    }
}

/// Arrays the innermost two axes of which may become one.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Batch, Row, Column);
/// fn pixels<Ax: Flat>(images: &Named<Ax, f32>) -> Named<Ax::Joined, f32> {
///     images.flat()
/// }
/// let images: Named<(Batch, Row, Column), f32> = Named::of(fill((2, 3, 4), 1.0));
/// let flat: Named<(Batch, Pair<Row, Column>), f32> = pixels(&images);
/// assert_eq!(Interpreter::new().run(flat.plain())?.shape(), Dim([2, 12]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not two axes or more",
    note = "`flat` joins the innermost two of two to six axes"
)]
pub trait Flat: Axes {
    /// The axes, the innermost two of them as one.
    type Joined: Axes;
}

/// Arrays whose innermost axis is one of pairs: what [`Flat`] makes.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let pixels: Named<Pair<Row, Column>, i32> = Named::of(enum_from(6, 0));
/// let m: Named<(Row, Column), i32> = pixels.split(3);
/// assert_eq!(Interpreter::new().run(m.plain())?, Matrix::from([[0, 1, 2], [3, 4, 5]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "the innermost of `{Self}` is no axis of pairs",
    note = "`split` takes an axis `Pair<A, B>` apart"
)]
pub trait Split: Axes {
    /// The axes, the innermost of them as two.
    type Parted: Axes;
}

macro_rules! pairs {
    ($($($X:ident)*;)*) => { $(
        impl<$($X: Axis,)* A: Axis, B: Axis> Flat for ($($X,)* A, B) {
            type Joined = pairs!(@joined $($X)*; A B);
        }
        impl<$($X: Axis,)* A: Axis, B: Axis> Split for pairs!(@joined $($X)*; A B) {
            type Parted = ($($X,)* A, B);
        }
    )* };
    (@joined; $A:ident $B:ident) => { Pair<$A, $B> };
    (@joined $($X:ident)+; $A:ident $B:ident) => { ($($X,)+ Pair<$A, $B>) };
}
pairs! {
    ;
    C;
    C D;
    C D E;
    C D E F;
}

impl<Ax: Axes, E: Elt> Acc<NamedArray<Ax, E>> {
    /// The innermost two axes as one of pairs, in row-major order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let m = Named::<(Row, Column), i32>::of(&Matrix::from([[1, 2], [3, 4]]));
    /// let pixels: Named<Pair<Row, Column>, i32> = m.flat();
    /// assert_eq!(Interpreter::new().run(unit(total(|p| pixels.at(p))))?.value(), 10);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn flat(&self) -> Named<Ax::Joined, E>
    where
        Ax: Flat,
    {
        compose(&"flat", || {
            let mut shape = ranked::extents(&self.node, Ax::Shape::RANK);
            let inner = shape.split_off(Ax::Shape::RANK - 2).into_iter().product();
            shape.push(inner);
            Acc::raw(ranked::reshape::<E>(&self.node, &shape))
        })
    }

    /// The innermost axis, of pairs, as two, the inner one of this extent, of which the axis must be a multiple.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Row, Column);
    /// let pixels = Named::<Pair<Row, Column>, i32>::of(enum_from(6, 0));
    /// let m: Named<(Row, Column), i32> = pixels.split(3);
    /// assert_eq!(Interpreter::new().run(unit(m.at((Ix::of(1), Ix::of(0)))))?.value(), 3);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn split(&self, inner: impl IxPart) -> Named<Ax::Parted, E>
    where
        Ax: Split,
    {
        compose(&"split", || {
            let inner = inner.part();
            let mut shape = ranked::extents(&self.node, Ax::Shape::RANK);
            let last = Ax::Shape::RANK - 1;
            shape[last] /= inner;
            shape.push(inner);
            Acc::raw(ranked::reshape::<E>(&self.node, &shape))
        })
    }
}
