//! Typed host arrays.

use crate::api::{DIM0, DIM1, DIM2, Dim, Elt, IntoShape, ScalarElt, Shape};
use crate::data::{ArrayData, ColumnSlice, Lit, ShapeError};
use smallvec::SmallVec;
use std::fmt;
use std::marker::PhantomData;

/// A host array of shape `Sh` and element type `E`, in row-major order: one column per scalar leaf of `E`. Cloning
/// shares the columns.
///
/// ```
/// use acc_core::prelude::*;
/// let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(m.shape(), Dim([2, 3]));
/// assert_eq!(m.get((1, 2)), Some(6));
/// ```
#[derive(Clone, PartialEq)]
pub struct Array<Sh, E> {
    data: ArrayData,
    _type: PhantomData<fn() -> (Sh, E)>,
}

/// An array of rank 0: one element.
///
/// ```
/// use acc_core::prelude::*;
/// let x: Scalar<f64> = Scalar::scalar(2.5);
/// assert_eq!((x.shape(), x.value()), (Dim([]), 2.5));
/// ```
pub type Scalar<E> = Array<DIM0, E>;
/// An array of rank 1.
///
/// ```
/// use acc_core::prelude::*;
/// let xs: Vector<i64> = (1..4).collect();
/// assert_eq!((xs.shape(), xs.to_vec()), (Dim([3]), vec![1, 2, 3]));
/// ```
pub type Vector<E> = Array<DIM1, E>;
/// An array of rank 2: rows of columns.
///
/// ```
/// use acc_core::prelude::*;
/// let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!((m.shape(), m.get((1, 0))), (Dim([2, 3]), Some(4)));
/// ```
pub type Matrix<E> = Array<DIM2, E>;

impl<Sh: Shape, E: Elt> Array<Sh, E> {
    /// From untyped data; an error if its rank or element type is another.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let data = Vector::from([1, 2]).into_data();
    /// assert_eq!(Vector::<i32>::from_data(data.clone())?.to_vec(), [1, 2]);
    /// assert!(Vector::<f32>::from_data(data.clone()).is_err());
    /// assert!(Matrix::<i32>::from_data(data).is_err());
    /// # Ok::<(), acc_core::data::ShapeError>(())
    /// ```
    pub fn from_data(data: ArrayData) -> Result<Self, ShapeError> {
        if data.rank() != Sh::RANK {
            return Err(ShapeError::Rank { want: Sh::RANK, got: data.rank() });
        }
        if *data.elt() != E::ty() {
            return Err(ShapeError::Element { want: E::ty().to_string(), got: data.elt().to_string() });
        }
        Ok(Array { data, _type: PhantomData })
    }

    /// The untyped data: the shape, and a column for each scalar leaf of the element type.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let pairs = Vector::from([(1, true), (2, false), (3, true)]);
    /// assert_eq!((pairs.data().shape(), pairs.data().columns().len()), (&[3][..], 2));
    /// ```
    pub fn data(&self) -> &ArrayData {
        &self.data
    }

    /// The untyped data, without a copy.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let data = Vector::from([1, 2]).into_data();
    /// assert_eq!(data.columns()[0].as_slice::<i32>(), Some(&[1, 2][..]));
    /// ```
    pub fn into_data(self) -> ArrayData {
        self.data
    }

    /// From elements in row-major order; an error if their number is not the shape's.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from_elts((2, 1), [(1, 'a'), (2, 'b')])?;
    /// assert_eq!(m.get((1, 0)), Some((2, 'b')));
    /// assert!(Matrix::from_elts((2, 2), [1, 2, 3]).is_err());
    /// # Ok::<(), acc_core::data::ShapeError>(())
    /// ```
    pub fn from_elts(shape: impl IntoShape<Sh>, elements: impl IntoIterator<Item = E>) -> Result<Self, ShapeError> {
        let shape = shape.into_shape();
        let leaves = elements.into_iter().map(|x| {
            let mut out: SmallVec<[Lit; 4]> = SmallVec::new();
            x.write(&mut |l| out.push(l));
            out
        });
        let data = ArrayData::from_leaves(shape.dims().iter().copied(), E::ty(), leaves)?;
        Self::from_data(data)
    }

    /// Each element from its index; an error if the shape is too large.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from_fn((2, 3), |ix| (ix[0] * 10 + ix[1]) as i64)?;
    /// assert_eq!(m, Matrix::from([[0, 1, 2], [10, 11, 12]]));
    /// # Ok::<(), acc_core::data::ShapeError>(())
    /// ```
    pub fn from_fn(shape: impl IntoShape<Sh>, mut f: impl FnMut(&[usize]) -> E) -> Result<Self, ShapeError> {
        Self::try_from_fn(shape, |index| Ok::<E, ShapeError>(f(index)))
    }

    /// The shape: the extents, outermost first.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Matrix::from([[1, 2, 3], [4, 5, 6]]).shape(), Dim([2, 3]));
    /// ```
    pub fn shape(&self) -> Sh {
        match Sh::from_dims(self.data.shape()) {
            Some(sh) => sh,
            // `from_data` is the only constructor and checks the rank.
            None => unreachable!("an array of rank {} holds {:?}", Sh::RANK, self.data.shape()),
        }
    }
    /// The number of elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Matrix::from([[1, 2, 3], [4, 5, 6]]).len(), 6);
    /// ```
    pub fn len(&self) -> usize {
        self.data.size()
    }
    /// Whether there are no elements: an extent is 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert!(Matrix::from([[0.0; 0]; 2]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements in row-major order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from([[1, 2], [3, 4]]);
    /// assert_eq!(m.iter().map(|x| x * x).sum::<i32>(), 30);
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = E> + '_ {
        let columns: SmallVec<[ColumnSlice<'_>; 4]> = self.data.columns().iter().map(|c| c.slice()).collect();
        let leaves = self.data.elt().leaves();
        (0..self.len()).map(move |i| {
            let mut k = 0;
            E::read(&mut || {
                k += 1;
                // Columns are as long as the array and one per leaf.
                columns.get(k - 1).and_then(|c| c.get(i)).unwrap_or_else(|| Lit::zero(leaves[k - 1]))
            })
        })
    }

    /// The elements in row-major order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Matrix::from([[1, 2], [3, 4]]).to_vec(), [1, 2, 3, 4]);
    /// ```
    pub fn to_vec(&self) -> Vec<E> {
        self.iter().collect()
    }

    /// The element at an index, outermost component first; `None` out of bounds.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!((m.get((1, 2)), m.get((2, 0))), (Some(6), None));
    /// ```
    pub fn get(&self, index: impl IntoShape<Sh>) -> Option<E> {
        let index: SmallVec<[i64; 4]> =
            index.into_shape().dims().iter().map(|&i| i64::try_from(i).unwrap_or(i64::MAX)).collect();
        let mut leaves = self.data.element(self.data.position(&index)?)?.into_iter();
        let mut types = self.data.elt().leaves().into_iter();
        Some(E::read(&mut || {
            let zero = types.next().map(Lit::zero);
            leaves.next().or(zero).unwrap_or(Lit::zero(crate::data::ScalarType::U8))
        }))
    }

    /// As an array of the crate ndarray: a copy in row-major order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from([[1, 2], [3, 4]]).to_ndarray();
    /// assert_eq!(m, ndarray::arr2(&[[1, 2], [3, 4]]));
    /// ```
    pub fn to_ndarray(&self) -> ndarray::Array<E, Sh::Nd> {
        let dynamic = ndarray::ArrayD::from_shape_vec(self.data.shape(), self.to_vec());
        match dynamic.and_then(|a| a.into_dimensionality()) {
            Ok(a) => a,
            // The number of elements is the product of the extents, and `Nd` has the shape's rank.
            Err(e) => unreachable!("{e}"),
        }
    }
}

/// A shape of any rank, as itself.
pub(in crate::api) struct Shaped<Sh>(pub(in crate::api) Sh);
impl<Sh: Shape> IntoShape<Sh> for Shaped<Sh> {
    fn into_shape(self) -> Sh {
        self.0
    }
}

impl<Sh: Shape, E: ScalarElt> Array<Sh, E> {
    /// From a vector in row-major order, without a copy; an error if its length is not the shape's size.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from_vec((2, 3), vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(m.get((1, 0)), Some(4));
    /// assert!(Matrix::from_vec((2, 3), vec![1, 2]).is_err());
    /// # Ok::<(), acc_core::data::ShapeError>(())
    /// ```
    pub fn from_vec(shape: impl IntoShape<Sh>, values: Vec<E>) -> Result<Self, ShapeError> {
        let shape = shape.into_shape();
        Self::from_data(ArrayData::new(shape.dims().iter().copied(), E::ty(), [E::into_column(values)])?)
    }

    /// The elements in row-major order, without a copy.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Matrix::from([[1, 2], [3, 4]]).as_slice(), [1, 2, 3, 4]);
    /// ```
    pub fn as_slice(&self) -> &[E] {
        self.data.columns().first().and_then(|c| c.as_slice()).unwrap_or(&[])
    }
}

impl<E: Elt> Scalar<E> {
    /// An array of rank 0 with this element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let k = Scalar::scalar(10);
    /// assert_eq!(Interpreter::new().run(use_(&k).map(|k| k + 1))?.value(), 11);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn scalar(x: E) -> Self {
        match Self::from_elts((), [x]) {
            Ok(a) => a,
            Err(e) => unreachable!("{e}"),
        }
    }
    /// The element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let total = Interpreter::new().run(use_(&Vector::from([1, 2, 3])).sum())?;
    /// assert_eq!(total.value(), 6);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn value(&self) -> E {
        match self.iter().next() {
            Some(x) => x,
            None => unreachable!("an array of rank 0 has one element"),
        }
    }
}

impl<E: ScalarElt> From<Vec<E>> for Vector<E> {
    fn from(values: Vec<E>) -> Self {
        let n = values.len();
        match Array::from_vec(n, values) {
            Ok(a) => a,
            Err(e) => unreachable!("{e}"),
        }
    }
}
impl<E: Elt, const N: usize> From<[E; N]> for Vector<E> {
    fn from(values: [E; N]) -> Self {
        values.into_iter().collect()
    }
}
impl<E: Elt, const M: usize, const N: usize> From<[[E; N]; M]> for Matrix<E> {
    fn from(rows: [[E; N]; M]) -> Self {
        match Array::from_elts(Dim([M, N]), rows.into_iter().flatten()) {
            Ok(a) => a,
            Err(e) => unreachable!("{e}"),
        }
    }
}
impl<E: Elt> FromIterator<E> for Vector<E> {
    fn from_iter<I: IntoIterator<Item = E>>(it: I) -> Self {
        let values: Vec<E> = it.into_iter().collect();
        let n = values.len();
        match Array::from_elts(n, values) {
            Ok(a) => a,
            Err(e) => unreachable!("{e}"),
        }
    }
}

/// The shape type of an ndarray dimension type, of rank 0 to 6: arrays of the crate ndarray become host arrays.
///
/// ```
/// use acc_core::prelude::*;
/// let m = ndarray::arr2(&[[1, 2], [3, 4]]);
/// assert_eq!(Array::from(&m), Matrix::from([[1, 2], [3, 4]]));
/// assert_eq!(Array::from(m.reversed_axes()), Matrix::from([[1, 3], [2, 4]]));
/// ```
pub trait NdShape: ndarray::Dimension {
    /// The shape type.
    type Shape: Shape;
}
macro_rules! nd_shape {
    ($($n:tt),*) => { $(impl NdShape for ndarray::Dim<[usize; $n]> { type Shape = Dim<$n>; })* };
}
nd_shape!(0, 1, 2, 3, 4, 5, 6);

impl<S: ndarray::Data<Elem = E>, D: NdShape, E: Elt> From<&ndarray::ArrayBase<S, D>> for Array<D::Shape, E> {
    fn from(a: &ndarray::ArrayBase<S, D>) -> Self {
        let shape = D::Shape::from_dims(a.shape());
        match shape.map(|sh| Array::from_elts(Shaped(sh), a.iter().cloned())) {
            Some(Ok(a)) => a,
            // `Shape` has the rank of `D`, and an ndarray holds as many elements as its shape has.
            other => unreachable!("{:?}", other.map(|r| r.err())),
        }
    }
}

impl<Sh: Shape, E: Elt + fmt::Debug> fmt::Display for Array<Sh, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut elements = self.iter();
        fn go<E: fmt::Debug>(
            f: &mut fmt::Formatter<'_>,
            shape: &[usize],
            next: &mut dyn Iterator<Item = E>,
        ) -> fmt::Result {
            let Some((&n, inner)) = shape.split_first() else {
                return match next.next() {
                    Some(x) => write!(f, "{x:?}"),
                    None => Ok(()),
                };
            };
            f.write_str("[")?;
            for i in 0..n {
                if i > 0 {
                    f.write_str(if inner.is_empty() { ", " } else { ",\n " })?;
                }
                go(f, inner, next)?;
            }
            f.write_str("]")
        }
        go(f, self.data.shape(), &mut elements)
    }
}
impl<Sh: Shape, E: Elt + fmt::Debug> fmt::Debug for Array<Sh, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array {:?} {self}", self.data.shape())
    }
}
