//! Files of NumPy: `.npy`, one array, and `.npz`, several by name.
//!
//! Types are those of NumPy's numbers and booleans, read in either byte order and written in the machine's; `f16`, `char` and
//! elements of several columns have no form there. Formats: NEP 1 and the documentation of `numpy.savez`.

use super::array::Array;
use super::elt::ScalarElt;
use super::host::row_major;
use super::shape::Shape;
use crate::data::ArrayData;
use ndarray_npy::{NpzWriter, ReadNpyError, ReadNpyExt, ReadableElement, WritableElement, WriteNpyExt};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use zip::ZipArchive;
use zip::result::ZipError;

/// Why a file of NumPy cannot be read or written.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum NpyError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// The array's elements are of another type.
    #[error("{place}: its elements are of type {found}, not {wanted}")]
    Type {
        /// The array.
        place: NpyPlace,
        /// NumPy's name of the type, such as `<i4`.
        found: String,
        /// The element type asked for.
        wanted: String,
    },
    /// The array is of another rank.
    #[error("{place}: it has shape {shape:?}, which is not of rank {rank}")]
    Rank {
        /// The array.
        place: NpyPlace,
        /// Its extents.
        shape: Vec<usize>,
        /// The rank asked for.
        rank: usize,
    },
    /// The file's contents are no array.
    #[error("{place}: {message}")]
    Contents {
        /// The array.
        place: NpyPlace,
        /// What is wrong.
        message: String,
    },
}

/// Where an array is: in which file, and in a `.npz` file under which name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NpyPlace {
    /// The file.
    pub path: PathBuf,
    /// The array's name, in a `.npz` file.
    pub name: Option<String>,
}

impl std::fmt::Display for NpyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.name.iter().try_for_each(|n| write!(f, ", array {n:?}"))
    }
}

impl NpyPlace {
    fn new(path: &Path, name: Option<&str>) -> NpyPlace {
        NpyPlace { path: path.to_path_buf(), name: name.map(str::to_string) }
    }
    fn open(&self) -> Result<File, NpyError> {
        File::open(&self.path).map_err(|e| self.file(e))
    }
    fn create(&self) -> Result<BufWriter<File>, NpyError> {
        File::create(&self.path).map(BufWriter::new).map_err(|e| self.file(e))
    }
    fn flush(&self, mut file: BufWriter<File>) -> Result<(), NpyError> {
        file.flush().map_err(|e| self.file(e))
    }
    fn file(&self, error: std::io::Error) -> NpyError {
        NpyError::File { path: self.path.clone(), error }
    }
    fn contents(&self, message: impl ToString) -> NpyError {
        NpyError::Contents { place: self.clone(), message: message.to_string() }
    }
    fn unread(&self, error: ReadNpyError, wanted: impl ToString) -> NpyError {
        match error {
            ReadNpyError::WrongDescriptor(found) => {
                let found = found.to_string().trim_matches('\'').to_string();
                NpyError::Type { place: self.clone(), found, wanted: wanted.to_string() }
            }
            ReadNpyError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                self.contents("the file ends within its header")
            }
            other => self.contents(other),
        }
    }
}

impl<Sh: Shape, E: ScalarElt + ReadableElement> Array<Sh, E> {
    /// Reads a `.npy` file; an array in column-major order is brought into row-major order.
    pub fn read_npy(path: impl AsRef<Path>) -> Result<Self, NpyError> {
        let place = NpyPlace::new(path.as_ref(), None);
        let file = place.open()?;
        Self::read_from(file, place)
    }

    /// Reads an array of a `.npz` file by its name.
    pub fn read_npz(path: impl AsRef<Path>, name: &str) -> Result<Self, NpyError> {
        let place = NpyPlace::new(path.as_ref(), Some(name));
        let broken = |e: ZipError| place.contents(format!("zip file error: {e}"));
        let mut zip = ZipArchive::new(BufReader::new(place.open()?)).map_err(broken)?;
        let names = || zip.file_names().map(|n| n.strip_suffix(".npy").unwrap_or(n));
        let Some(at) = names().position(|n| n == name) else {
            let there = names().collect::<Vec<_>>().join(", ");
            return Err(place.contents(format!("there is no such array in the file; there are: {there}")));
        };
        let file = zip.by_index(at).map_err(broken)?;
        Self::read_from(file, place.clone())
    }

    fn read_from(mut file: impl Read, place: NpyPlace) -> Result<Self, NpyError> {
        // The header is believed only as far as the file is long: memory for all it claims would be asked for first.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| place.file(e))?;
        if let Some(elements) = claimed_elements(&bytes)
            && elements > bytes.len() as u128
        {
            let bytes = bytes.len();
            let message = format!("it has {bytes} bytes, too few for the {elements} elements that its header says");
            return Err(place.contents(message));
        }
        let array = ndarray::ArrayD::read_npy(&bytes[..]).map_err(|e| place.unread(e, E::ty()))?;
        Self::of_dynamic(array, place)
    }

    fn of_dynamic(array: ndarray::ArrayD<E>, place: NpyPlace) -> Result<Self, NpyError> {
        if array.ndim() != Sh::RANK {
            return Err(NpyError::Rank { place, shape: array.shape().to_vec(), rank: Sh::RANK });
        }
        let (shape, values) = row_major(array);
        let data = ArrayData::new(shape, E::ty(), [E::into_column(values)]);
        data.and_then(Self::from_data).map_err(|e| place.contents(e))
    }
}

/// The number of elements that the header of a `.npy` file states, if it is one: the greatest, if it states several.
fn claimed_elements(bytes: &[u8]) -> Option<u128> {
    // The length of the header has two bytes in version 1 and four in those after it.
    let length = if bytes.get(6) == Some(&1) { 10 } else { 12 };
    let header = match *bytes.get(8..length)? {
        [a, b] => bytes.get(length..)?.get(..usize::from(u16::from_le_bytes([a, b])))?,
        [a, b, c, d] => bytes.get(length..)?.get(..u32::from_le_bytes([a, b, c, d]) as usize)?,
        _ => return None,
    };
    let header = String::from_utf8_lossy(header);
    header.match_indices("shape").filter_map(|(at, key)| product_of_tuple(&header[at + key.len()..])).max()
}

/// The product of a tuple after a key of a dictionary of Python, which may have either quotes and any spaces.
fn product_of_tuple(text: &str) -> Option<u128> {
    let text = text.strip_prefix(['\'', '"'])?.trim_start().strip_prefix(':')?.trim_start().strip_prefix('(')?;
    let (numbers, _) = text.split_once(')')?;
    numbers
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .try_fold(1u128, |product, extent| product.checked_mul(natural(extent)?).or(Some(u128::MAX)))
}

/// A number as Python writes it, in any of its bases.
fn natural(text: &str) -> Option<u128> {
    let digits = text.replace('_', "").to_ascii_lowercase();
    let (digits, base) = match digits.get(..2) {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        _ => (&digits[..], 10),
    };
    u128::from_str_radix(digits, base).ok()
}

impl<Sh: Shape, E: ScalarElt + WritableElement> Array<Sh, E> {
    /// Writes a `.npy` file, over what is there.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<(), NpyError> {
        let place = NpyPlace::new(path.as_ref(), None);
        let mut file = place.create()?;
        self.view().write_npy(&mut file).map_err(|e| place.contents(e))?;
        place.flush(file)
    }
}

/// A `.npz` file in the making.
///
/// ```no_run
/// use acc_core::prelude::*;
/// let mut file = npy::Npz::create("points.npz")?;
/// file.add("xs", &Vector::from([1.0, 2.0]))?;
/// file.finish()?;
/// let xs = Vector::<f64>::read_npz("points.npz", "xs")?;
/// # Ok::<(), npy::NpyError>(())
/// ```
pub struct Npz {
    path: PathBuf,
    writer: NpzWriter<BufWriter<File>>,
}

impl Npz {
    /// A compressed file, over what is there.
    pub fn create(path: impl AsRef<Path>) -> Result<Npz, NpyError> {
        let place = NpyPlace::new(path.as_ref(), None);
        Ok(Npz { writer: NpzWriter::new_compressed(place.create()?), path: place.path })
    }

    /// Adds an array under a name.
    pub fn add<Sh: Shape, E: ScalarElt + WritableElement>(
        &mut self,
        name: &str,
        array: &Array<Sh, E>,
    ) -> Result<(), NpyError> {
        let place = NpyPlace::new(&self.path, Some(name));
        self.writer.add_array(name, &array.view()).map_err(|e| place.contents(e))
    }

    /// Writes what is left, and the file's index.
    pub fn finish(self) -> Result<(), NpyError> {
        let place = NpyPlace::new(&self.path, None);
        place.flush(self.writer.finish().map_err(|e| place.contents(e))?)
    }
}
