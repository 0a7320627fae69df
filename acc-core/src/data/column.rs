//! Columns: the memory of arrays, one per scalar leaf, owned by whoever made it.

use super::scalar::scalar_types_list;
use super::{Lit, Prim, ScalarType};
use crate::memory::{self, NoMemory};
use half::f16;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

macro_rules! columns {
    ($(($V:ident, $t:ty)),*) => {
        /// A borrowed, typed view of a column.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum ColumnSlice<'a> { $($V(&'a [$t])),* }

        impl<'a> ColumnSlice<'a> {
            /// The scalar type.
            pub fn ty(self) -> ScalarType {
                match self { $(ColumnSlice::$V(_) => ScalarType::$V),* }
            }
            /// The number of scalars.
            pub fn len(self) -> usize {
                match self { $(ColumnSlice::$V(s) => s.len()),* }
            }
            /// Whether there are no elements.
            pub fn is_empty(self) -> bool {
                self.len() == 0
            }
            /// The scalar at a position, if there is one.
            pub fn get(self, i: usize) -> Option<Lit> {
                match self { $(ColumnSlice::$V(s) => s.get(i).map(|x| x.lit())),* }
            }
        }

        $(
            impl ColumnElt for $t {
                fn of_slice(slice: ColumnSlice<'_>) -> Option<&[$t]> {
                    match slice { ColumnSlice::$V(s) => Some(s), _ => None }
                }
            }
            impl ColumnOwner for Vec<$t> {
                fn slice(&self) -> ColumnSlice<'_> { ColumnSlice::$V(self) }
                fn as_any(&self) -> Option<&dyn Any> { Some(self) }
                fn into_any(self: Arc<Self>) -> Option<Arc<dyn Any + Send + Sync>> { Some(self) }
            }
        )*

        /// Collects literals of one type into a column; literals of another type are read as bits of this one.
        impl Column {
            /// A column of these literals, all of type `ty`.
            pub fn from_lits(ty: ScalarType, lits: impl IntoIterator<Item = Lit>) -> Column {
                match ty {
                    $(ScalarType::$V => Column::from_vec(lits.into_iter().map(|l| <$t>::from_bits64(l.bits)).collect::<Vec<$t>>())),*
                }
            }
        }

        /// A column in the making: scalars of one type, given by their bits.
        pub(crate) enum ColumnBuf { $($V(Vec<$t>)),* }

        impl ColumnBuf {
            /// An empty one with room for `len` scalars.
            pub(crate) fn with_capacity(ty: ScalarType, len: usize) -> Result<ColumnBuf, NoMemory> {
                match ty { $(ScalarType::$V => Ok(ColumnBuf::$V(memory::with_capacity(len)?))),* }
            }
            /// Appends a scalar.
            pub(crate) fn push(&mut self, bits: u64) -> Result<(), NoMemory> {
                match self { $(ColumnBuf::$V(v) => memory::push(v, <$t>::from_bits64(bits))),* }
            }
            /// Appends zeros; without a check, where the capacity is enough.
            pub(crate) fn push_zeros(&mut self, n: usize) -> Result<(), NoMemory> {
                match self {
                    $(ColumnBuf::$V(v) => {
                        if n > v.capacity() - v.len() {
                            memory::reserve(v, n)?;
                        }
                        v.resize(v.len() + n, <$t>::from_bits64(0));
                    })*
                }
                Ok(())
            }
            /// Changes the scalar at a position within the column.
            pub(crate) fn set(&mut self, at: usize, bits: u64) {
                match self { $(ColumnBuf::$V(v) => v[at] = <$t>::from_bits64(bits)),* }
            }
            /// The scalar at a position within the column.
            pub(crate) fn get(&self, at: usize) -> Lit {
                match self { $(ColumnBuf::$V(v) => v[at].lit()),* }
            }
            /// The column, without a copy.
            pub(crate) fn finish(self) -> Column {
                match self { $(ColumnBuf::$V(v) => Column::from_vec(v)),* }
            }
        }
    };
}
scalar_types_list!(columns);

/// Typed access to a column without a copy.
pub trait ColumnElt: Prim {
    /// The typed slice, if the column has this type.
    fn of_slice(slice: ColumnSlice<'_>) -> Option<&[Self]>;
}

/// An owner of column memory: a `Vec`, a pooled buffer, a tensor.
///
/// The slice must stay the same (same address, length and contents) for as long as the owner lives: columns are
/// immutable and shared.
pub trait ColumnOwner: Send + Sync + 'static {
    /// The memory.
    fn slice(&self) -> ColumnSlice<'_>;

    /// For a backend to recognise its own memory and use it without a copy.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// For taking the memory back from a column that nobody shares.
    fn into_any(self: Arc<Self>) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
}

/// An immutable, shared column of scalars.
#[derive(Clone)]
pub struct Column(Arc<dyn ColumnOwner>);

impl Column {
    /// Takes over a vector, without a copy.
    pub fn from_vec<T>(values: Vec<T>) -> Column
    where
        Vec<T>: ColumnOwner,
    {
        Column(Arc::new(values))
    }

    /// A column over foreign memory.
    pub fn from_owner(owner: Arc<dyn ColumnOwner>) -> Column {
        Column(owner)
    }

    /// Who owns the memory.
    pub fn owner(&self) -> &Arc<dyn ColumnOwner> {
        &self.0
    }

    /// The memory.
    pub fn slice(&self) -> ColumnSlice<'_> {
        self.0.slice()
    }

    /// The memory as a typed slice, if the type is `T`.
    pub fn as_slice<T: ColumnElt>(&self) -> Option<&[T]> {
        T::of_slice(self.slice())
    }

    /// The scalar type.
    pub fn ty(&self) -> ScalarType {
        self.slice().ty()
    }

    /// The number of scalars.
    pub fn len(&self) -> usize {
        self.slice().len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The owner of the memory, if it is a `T` and nobody else has it; the column itself if not.
    pub fn into_owner<T: ColumnOwner>(self) -> Result<T, Column> {
        let mine = Arc::strong_count(&self.0) == 1 && self.0.as_any().is_some_and(|owner| owner.is::<T>());
        if !mine {
            return Err(self);
        }
        // `as_any` found a `T`, so `into_any` gives one.
        let owner = self.0.into_any().and_then(|owner| Arc::into_inner(owner.downcast::<T>().ok()?));
        owner.map_or_else(|| unreachable!("a column's owner is of one type"), Ok)
    }

    /// Whether both share their memory.
    pub fn ptr_eq(&self, other: &Column) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Bitwise: a NaN equals itself, `-0.0` differs from `0.0`.
impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        fn same<T: Prim>(a: &[T], b: &[T]) -> bool {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits64() == y.to_bits64())
        }
        if self.ptr_eq(other) {
            return true;
        }
        macro_rules! eq {
            ($(($V:ident, $t:ty)),*) => {
                match (self.slice(), other.slice()) {
                    $((ColumnSlice::$V(a), ColumnSlice::$V(b)) => same(a, b),)*
                    _ => false,
                }
            };
        }
        scalar_types_list!(eq)
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slice().fmt(f)
    }
}
