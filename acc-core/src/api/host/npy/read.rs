//! Reading the contents of a `.npy` file, a piece at a time.

use super::{NpyError, NpyPlace};
use crate::api::types::array::Array;
use crate::api::types::elt::ScalarElt;
use crate::api::types::shape::Shape;
use crate::data::{ArrayData, shape_size};
use crate::memory;
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use ndarray_npy::npy::header::{Header, Layout};
use ndarray_npy::{ReadDataError, ReadNpyError, ReadableElement};
use std::io::{self, Read};

/// The longest header: as long as NumPy reads one, for the same reason. It is parsed as an expression of Python.
const MAX_HEADER: usize = 10_000;

/// How deep brackets nest in a header. Those of arrays of numbers do not nest.
const MAX_NESTING: usize = 8;

/// The bytes that are read at once.
const BYTES_PER_READ: usize = 1 << 15;

/// Reads an array of at most `max_bytes` bytes from contents of `length` bytes, where that is known.
pub(super) fn array<Sh: Shape, E: ScalarElt + ReadableElement>(
    file: &mut impl Read,
    length: Option<u64>,
    max_bytes: u64,
    place: &NpyPlace,
) -> Result<Array<Sh, E>, NpyError> {
    let (header, header_length) = header(file, place)?;
    let data = |e: ReadDataError| place.unread(e.into(), E::ty());
    // Of no elements the type alone is looked at.
    E::read_to_end_exact_vec(io::empty(), &header.type_descriptor, 0).map_err(data)?;
    if header.shape.len() != Sh::RANK {
        return Err(NpyError::Rank { place: place.clone(), shape: header.shape, rank: Sh::RANK });
    }
    let too_large = |_| {
        let elements = header.shape.iter().fold(1u128, |n, &d| n.saturating_mul(d as u128));
        match length {
            Some(bytes) => too_few(bytes, elements, place),
            None => place.contents(format!("its header says that it has {elements} elements")),
        }
    };
    let size = shape_size(&header.shape).map_err(too_large)?;
    let needed = (size as u64).saturating_mul(size_of::<E>() as u64);
    if let Some(bytes) = length
        && needed > bytes.saturating_sub(header_length as u64)
    {
        return Err(too_few(bytes, size as u128, place));
    }
    if needed > max_bytes {
        return Err(place.contents(format!("its elements take {needed} bytes, but {max_bytes} are allowed")));
    }
    let values = elements::<E>(file, &header, size, place)?;
    let values = match header.layout {
        Layout::Fortran if header.shape.len() > 1 => row_major(&values, &header.shape, place)?,
        Layout::Fortran | Layout::Standard => values,
    };
    let array = ArrayData::new(header.shape, E::ty(), [E::into_column(values)]);
    array.and_then(Array::from_data).map_err(|e| place.contents(e))
}

fn too_few(bytes: u64, elements: u128, place: &NpyPlace) -> NpyError {
    place.contents(format!("it has {bytes} bytes, too few for the {elements} elements that its header says"))
}

/// The header, and how many bytes it has.
fn header(file: &mut impl Read, place: &NpyPlace) -> Result<(Header, usize), NpyError> {
    let short = |e: io::Error| place.unread(ReadNpyError::Io(e), "");
    // The magic number and the version, then the length of the rest: two bytes in version 1, four in those after it.
    let mut bytes = vec![0; 8];
    file.read_exact(&mut bytes).map_err(short)?;
    let known = bytes.starts_with(b"\x93NUMPY") && matches!(bytes[6..], [1..=3, 0]);
    if known {
        let width = if bytes[6] == 1 { 2 } else { 4 };
        let mut length = [0; 4];
        file.read_exact(&mut length[..width]).map_err(short)?;
        bytes.extend_from_slice(&length[..width]);
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER {
            return Err(place.contents(format!("its header has {length} bytes; at most {MAX_HEADER} are read")));
        }
        let start = bytes.len();
        bytes.resize(start + length, 0);
        file.read_exact(&mut bytes[start..]).map_err(short)?;
        if nesting(&bytes[start..]) > MAX_NESTING {
            return Err(place.contents("its header is no description of an array: brackets nest too deep"));
        }
    }
    // What is not known is said by the one who knows what is.
    let header = Header::from_reader(&mut &bytes[..]).map_err(|e| place.unread(e.into(), ""))?;
    Ok((header, bytes.len()))
}

/// How deep brackets nest, those in texts included.
fn nesting(header: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for b in header {
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The elements, which must be all that is left.
fn elements<E: ScalarElt + ReadableElement>(
    file: &mut impl Read,
    header: &Header,
    size: usize,
    place: &NpyPlace,
) -> Result<Vec<E>, NpyError> {
    let no_memory = |e: memory::NoMemory| place.contents(e);
    let data = |e: ReadDataError| place.unread(e.into(), E::ty());
    let mut values: Vec<E> = Vec::new();
    let mut piece = memory::with_capacity(BYTES_PER_READ).map_err(no_memory)?;
    piece.resize(BYTES_PER_READ, 0u8);
    while values.len() < size {
        let n = (size - values.len()).min(BYTES_PER_READ / size_of::<E>());
        let bytes = &mut piece[..n * size_of::<E>()];
        file.read_exact(bytes).map_err(|e| data(e.into()))?;
        let some = E::read_to_end_exact_vec(&*bytes, &header.type_descriptor, n).map_err(data)?;
        // Twice as much at a time, and in the end no more than needed: as the elements come, not as the header says.
        if values.capacity() - values.len() < n {
            let more = values.len().max(n).min(size - values.len());
            memory::reserve(&mut values, more).map_err(no_memory)?;
        }
        values.extend(some);
    }
    let mut extra = 0;
    while extra < BYTES_PER_READ {
        match file.read(&mut piece).map_err(|e| place.file(e))? {
            0 => break,
            n => extra += n,
        }
    }
    if extra > 0 { Err(data(ReadDataError::ExtraBytes(extra))) } else { Ok(values) }
}

/// Elements in column-major order, in row-major order.
fn row_major<E: Copy>(values: &[E], shape: &[usize], place: &NpyPlace) -> Result<Vec<E>, NpyError> {
    let view = ArrayViewD::from_shape(IxDyn(shape).f(), values).map_err(|e| place.contents(e))?;
    let mut ordered = memory::with_capacity(values.len()).map_err(|e| place.contents(e))?;
    ordered.extend(view.iter().copied());
    Ok(ordered)
}
