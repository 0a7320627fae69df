//! Element types: trees of scalars.

use super::ScalarType;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The type of an array element: a scalar or a tuple of element types; `Tuple([])` is the unit type.
///
/// Scalar code sees only the leaves of this tree, from left to right; arrays store one column per leaf.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum EltType {
    /// One scalar.
    Scalar(ScalarType),
    /// A product, possibly empty.
    Tuple(Arc<[EltType]>),
}

/// The scalar leaves of an element type.
pub type Leaves = SmallVec<[ScalarType; 4]>;

impl EltType {
    /// The unit type.
    pub fn unit() -> EltType {
        EltType::Tuple(Arc::new([]))
    }

    /// A tuple of these.
    pub fn tuple(parts: impl IntoIterator<Item = EltType>) -> EltType {
        EltType::Tuple(parts.into_iter().collect())
    }

    /// The type of an index of this rank: `()`, `i64`, `(i64, i64)`, ...
    pub fn index(rank: usize) -> EltType {
        if rank == 1 {
            EltType::Scalar(ScalarType::I64)
        } else {
            EltType::tuple((0..rank).map(|_| EltType::Scalar(ScalarType::I64)))
        }
    }

    /// The scalar leaves, left to right.
    pub fn leaves(&self) -> Leaves {
        fn go(t: &EltType, out: &mut Leaves) {
            match t {
                EltType::Scalar(s) => out.push(*s),
                EltType::Tuple(parts) => parts.iter().for_each(|p| go(p, out)),
            }
        }
        let mut out = Leaves::new();
        go(self, &mut out);
        out
    }

    /// The type of its tangents and adjoints: floats as they are, nothing for other scalars, tuples part by part.
    ///
    /// ```
    /// use acc_core::data::{EltType, ScalarType};
    /// let element = EltType::tuple([ScalarType::F32.into(), ScalarType::I64.into()]);
    /// assert_eq!(element.tangent().to_string(), "(f32, ())");
    /// ```
    #[must_use]
    pub fn tangent(&self) -> EltType {
        match self {
            EltType::Scalar(s) if s.is_float() => self.clone(),
            EltType::Scalar(_) => EltType::unit(),
            EltType::Tuple(parts) => EltType::tuple(parts.iter().map(EltType::tangent)),
        }
    }

    /// Whether it has a tangent: there is a float in it.
    pub fn has_float(&self) -> bool {
        self.leaves().iter().any(|s| s.is_float())
    }

    /// The number of scalar leaves.
    pub fn leaf_count(&self) -> usize {
        match self {
            EltType::Scalar(_) => 1,
            EltType::Tuple(parts) => parts.iter().map(EltType::leaf_count).sum(),
        }
    }

    /// Bytes of one element, summed over its columns.
    pub fn size(&self) -> usize {
        self.leaves().iter().map(|s| s.size()).sum()
    }
}

impl From<ScalarType> for EltType {
    fn from(s: ScalarType) -> Self {
        EltType::Scalar(s)
    }
}

impl fmt::Display for EltType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EltType::Scalar(s) => write!(f, "{s}"),
            EltType::Tuple(parts) => {
                f.write_str("(")?;
                for (i, p) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{p}")?;
                }
                // A one-tuple keeps its comma, as in Rust.
                f.write_str(if parts.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}
impl fmt::Debug for EltType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
