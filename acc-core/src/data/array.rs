//! Untyped host arrays.

use super::{Column, ColumnBuf, EltType, Lit};
use crate::memory::NoMemory;
use smallvec::SmallVec;

/// An untyped array: a shape and one column per scalar leaf of the element type, elements in row-major order.
///
/// Cloning shares the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayData {
    shape: SmallVec<[usize; 4]>,
    elt: EltType,
    columns: SmallVec<[Column; 2]>,
}

/// Why columns and a shape do not make an array.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ShapeError {
    /// The number of elements is not the product of the extents.
    #[error("{got} elements do not fill shape {shape:?}, which has {want}")]
    Size {
        /// The shape.
        shape: Vec<usize>,
        /// Its number of elements.
        want: usize,
        /// The number of elements given.
        got: usize,
    },
    /// The rank differs.
    #[error("an array of rank {got} where rank {want} is wanted")]
    Rank {
        /// Wanted.
        want: usize,
        /// Given.
        got: usize,
    },
    /// The product of the extents does not fit in memory.
    #[error("shape {shape:?} has more elements than memory can address")]
    Overflow {
        /// The shape.
        shape: Vec<usize>,
    },
    /// The element type differs.
    #[error("elements of type {got} where {want} is wanted")]
    Element {
        /// Wanted.
        want: String,
        /// Given.
        got: String,
    },
    /// There is no memory for the elements.
    #[error("{0}")]
    Memory(#[from] NoMemory),
}

/// The number of elements of a shape; an error if it or an extent does not fit an `isize` (Rust's limit for allocations,
/// and what programs see of an extent).
pub fn shape_size(shape: &[usize]) -> Result<usize, ShapeError> {
    if shape.iter().any(|&n| isize::try_from(n).is_err()) {
        return Err(ShapeError::Overflow { shape: shape.to_vec() });
    }
    // An extent of zero makes the array empty however large the others are.
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |n, &d| n.checked_mul(d))
        .filter(|&n| n <= isize::MAX as usize)
        .ok_or_else(|| ShapeError::Overflow { shape: shape.to_vec() })
}

impl ArrayData {
    /// Puts columns together; checks their number, types and lengths.
    pub fn new(
        shape: impl IntoIterator<Item = usize>,
        elt: EltType,
        columns: impl IntoIterator<Item = Column>,
    ) -> Result<ArrayData, ShapeError> {
        let shape: SmallVec<[usize; 4]> = shape.into_iter().collect();
        let columns: SmallVec<[Column; 2]> = columns.into_iter().collect();
        let want = shape_size(&shape)?;
        let leaves = elt.leaves();
        let got: Vec<_> = columns.iter().map(Column::ty).collect();
        if got != leaves.as_slice() {
            let got = EltType::tuple(got.into_iter().map(EltType::Scalar)).to_string();
            return Err(ShapeError::Element { want: elt.to_string(), got });
        }
        if let Some(c) = columns.iter().find(|c| c.len() != want) {
            return Err(ShapeError::Size { shape: shape.to_vec(), want, got: c.len() });
        }
        Ok(ArrayData { shape, elt, columns })
    }

    /// Builds an array from elements, each given as its leaves.
    pub fn from_leaves<I>(shape: impl IntoIterator<Item = usize>, elt: EltType, elements: I) -> Result<Self, ShapeError>
    where
        I: IntoIterator,
        I::Item: AsRef<[Lit]>,
    {
        let mut columns =
            elt.leaves().into_iter().map(|t| ColumnBuf::with_capacity(t, 0)).collect::<Result<Vec<_>, _>>()?;
        let shape: Vec<usize> = shape.into_iter().collect();
        let want = shape_size(&shape)?;
        let mut got = 0;
        // One too many is enough to know: the elements may be endless.
        for element in elements.into_iter().take(want.saturating_add(1)) {
            got += 1;
            for (column, lit) in columns.iter_mut().zip(element.as_ref()) {
                column.push(lit.bits)?;
            }
        }
        if got != want {
            return Err(ShapeError::Size { shape, want, got });
        }
        ArrayData::new(shape, elt, columns.into_iter().map(ColumnBuf::finish))
    }

    /// The extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }
    /// The number of elements.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }
    /// The element type.
    pub fn elt(&self) -> &EltType {
        &self.elt
    }
    /// One column per scalar leaf of the element type.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// Bytes held by the columns.
    pub fn bytes(&self) -> usize {
        self.size() * self.elt.size()
    }

    /// The leaves of the element at a row-major position, if there is one.
    pub fn element(&self, i: usize) -> Option<SmallVec<[Lit; 4]>> {
        if i >= self.size() {
            return None;
        }
        self.columns.iter().map(|c| c.slice().get(i)).collect()
    }

    /// The row-major position of an index, if it is in bounds.
    pub fn position(&self, index: &[i64]) -> Option<usize> {
        linear_index(&self.shape, index)
    }

    /// The same elements under another shape of the same size.
    pub fn reshaped(&self, shape: &[usize]) -> Result<ArrayData, ShapeError> {
        let want = shape_size(shape)?;
        if want != self.size() {
            return Err(ShapeError::Size { shape: shape.to_vec(), want, got: self.size() });
        }
        Ok(ArrayData { shape: shape.into(), elt: self.elt.clone(), columns: self.columns.clone() })
    }

    /// The columns.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns.into_iter().collect()
    }

    /// The same columns under another element type with the same leaves.
    pub fn retyped(&self, elt: &EltType) -> Option<ArrayData> {
        (elt.leaves() == self.elt.leaves()).then(|| ArrayData { elt: elt.clone(), ..self.clone() })
    }

    /// Whether both are the same memory under the same shape and type.
    pub fn ptr_eq(&self, other: &ArrayData) -> bool {
        self.shape == other.shape
            && self.elt == other.elt
            && self.columns.iter().zip(&other.columns).all(|(a, b)| a.ptr_eq(b))
    }
}

/// The row-major position of `index` in `shape`, or `None` if a component is out of its bounds.
pub fn linear_index(shape: &[usize], index: &[i64]) -> Option<usize> {
    let mut k = 0;
    for (&i, &n) in index.iter().zip(shape) {
        let i = usize::try_from(i).ok().filter(|&i| i < n)?;
        k = k * n + i;
    }
    Some(k)
}

/// The index of a row-major position; `position` must be less than the size of `shape`.
pub fn unlinear_index(shape: &[usize], mut position: usize) -> SmallVec<[i64; 4]> {
    let mut index: SmallVec<[i64; 4]> = smallvec::smallvec![0; shape.len()];
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        let n = n.max(1);
        *i = (position % n) as i64;
        position /= n;
    }
    index
}
