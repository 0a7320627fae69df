//! Host arrays: other ways to make them, look at them and hand them on.

use crate::api::types::array::Shaped;
use crate::api::{Array, Elt, IntoShape, NdShape, ScalarElt, Shape, Vector};
use crate::data::{Column, ColumnOwner, ShapeError, shape_size, unlinear_index};
use smallvec::SmallVec;

impl<Sh: Shape, E: Elt> Array<Sh, E> {
    /// The number of dimensions.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Matrix::from([[1, 2], [3, 4]]).rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        Sh::RANK
    }

    /// As many elements as the shape has, in row-major order; what the iterator has beyond them is not asked for, so
    /// that it may be endless. An error if there are too few.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m: Matrix<i32> = Array::from_list((2, 3), 1..)?;
    /// assert_eq!(m.to_vec(), [1, 2, 3, 4, 5, 6]);
    /// assert!(Matrix::from_list((2, 3), [1, 2]).is_err());
    /// # Ok::<(), acc_core::data::ShapeError>(())
    /// ```
    pub fn from_list(shape: impl IntoShape<Sh>, elements: impl IntoIterator<Item = E>) -> Result<Self, ShapeError> {
        let shape = shape.into_shape();
        let size = shape_size(shape.dims())?;
        Self::from_elts(Shaped(shape), elements.into_iter().take(size))
    }

    /// Each element from its index, in row-major order, by a function that may fail; its first error ends it. A shape that
    /// is too large is an error, too.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let digits = ["7", "8", "x"];
    /// let parsed = |n: usize| {
    ///     Vector::try_from_fn(n, |ix| Ok::<i32, Box<dyn std::error::Error>>(digits[ix[0]].parse()?))
    /// };
    /// assert_eq!(parsed(2)?.to_vec(), [7, 8]);
    /// assert!(parsed(3).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_from_fn<Err: From<ShapeError>>(
        shape: impl IntoShape<Sh>,
        mut f: impl FnMut(&[usize]) -> Result<E, Err>,
    ) -> Result<Self, Err> {
        let shape = shape.into_shape();
        let mut elements = Vec::new();
        for k in 0..shape_size(shape.dims())? {
            let index: SmallVec<[usize; 4]> = unlinear_index(shape.dims(), k).iter().map(|i| *i as usize).collect();
            elements.push(f(&index)?);
        }
        Ok(Self::from_elts(Shaped(shape), elements)?)
    }

    /// The element at a row-major position; `None` out of bounds.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!((m.get_linear(4), m.get_linear(6)), (Some(5), None));
    /// ```
    pub fn get_linear(&self, position: usize) -> Option<E> {
        (position < self.len()).then(|| self.iter().nth(position)).flatten()
    }

    /// The same elements in row-major order under another shape, without a copy; an error if the shape is of another size.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m: Matrix<i32> = Vector::from([1, 2, 3, 4]).reshaped((2, 2))?;
    /// assert_eq!(m, Matrix::from([[1, 2], [3, 4]]));
    /// assert!(m.reshaped(5).is_err());
    /// # Ok::<(), acc_core::data::ShapeError>(())
    /// ```
    pub fn reshaped<To: Shape>(&self, shape: impl IntoShape<To>) -> Result<Array<To, E>, ShapeError> {
        Array::from_data(self.data().reshaped(shape.into_shape().dims())?)
    }
}

impl<Sh: Shape, E: ScalarElt> Array<Sh, E>
where
    Vec<E>: ColumnOwner,
{
    /// The elements in row-major order: the memory itself, if it is a vector's that nobody shares, else a copy.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Matrix::from([[1, 2], [3, 4]]).into_vec(), [1, 2, 3, 4]);
    /// ```
    pub fn into_vec(self) -> Vec<E> {
        match self.into_data().into_columns().pop().map(Column::into_owner::<Vec<E>>) {
            Some(Ok(values)) => values,
            Some(Err(column)) => column.as_slice::<E>().map(<[E]>::to_vec).unwrap_or_default(),
            // A scalar has one column.
            None => Vec::new(),
        }
    }
}

/// The extents, and the elements in row-major order: the array's own memory where that is in this order.
pub(in crate::api) fn row_major<E: Clone, D: ndarray::Dimension>(
    a: ndarray::Array<E, D>,
) -> (SmallVec<[usize; 4]>, Vec<E>) {
    let a = if a.is_standard_layout() { a } else { a.as_standard_layout().into_owned() };
    let (extents, size) = (a.shape().into(), a.len());
    let (mut values, start) = a.into_raw_vec_and_offset();
    values.drain(..start.unwrap_or_default());
    values.truncate(size);
    (extents, values)
}

impl<E: ScalarElt, D: NdShape> From<ndarray::Array<E, D>> for Array<D::Shape, E> {
    /// Takes over the memory of an array in row-major order; copies others.
    fn from(a: ndarray::Array<E, D>) -> Self {
        let (extents, values) = row_major(a);
        match D::Shape::from_dims(&extents).map(|shape| Array::from_vec(Shaped(shape), values)) {
            Some(Ok(a)) => a,
            // `Shape` has the rank of `D`, and the vector holds as many elements as the shape has.
            other => unreachable!("{:?}", other.map(|r| r.err())),
        }
    }
}

impl<Sh: Shape, E: ScalarElt> Array<Sh, E> {
    /// The elements as an ndarray view, without a copy.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(m.view().column(1).to_vec(), [2, 5]);
    /// ```
    pub fn view(&self) -> ndarray::ArrayView<'_, E, Sh::Nd> {
        let dynamic = ndarray::ArrayViewD::from_shape(self.data().shape(), self.as_slice());
        match dynamic.and_then(|a| a.into_dimensionality()) {
            Ok(a) => a,
            // The number of elements is the product of the extents, and `Nd` has the shape's rank.
            Err(e) => unreachable!("{e}"),
        }
    }
}

impl From<&str> for Vector<char> {
    /// The characters of a text.
    fn from(text: &str) -> Self {
        text.chars().collect()
    }
}
