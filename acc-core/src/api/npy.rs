//! Files of NumPy: `.npy`, one array, and `.npz`, several by name.
//!
//! Types are those of NumPy's numbers and booleans, of native byte order; `f16`, `char` and elements of several columns have
//! no form there. Formats: NEP 1 and the documentation of `numpy.savez`.

use super::array::Array;
use super::elt::ScalarElt;
use super::shape::Shape;
use ndarray::Dimension;
use ndarray_npy::{NpzReader, NpzWriter, ReadNpyError, ReadNpyExt, ReadableElement, WritableElement, WriteNpyExt};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};

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
    /// The file's contents are no array, or one of another type or rank.
    #[error("{path}{}: {message}", name.as_ref().map(|n| format!(", array {n:?}")).unwrap_or_default())]
    Contents {
        /// The file.
        path: PathBuf,
        /// The array's name, in a `.npz` file.
        name: Option<String>,
        /// What is wrong.
        message: String,
    },
}

/// Where an array is in which file.
struct Place<'a> {
    path: &'a Path,
    name: Option<&'a str>,
}

impl Place<'_> {
    fn file(&self, error: std::io::Error) -> NpyError {
        NpyError::File { path: self.path.to_path_buf(), error }
    }
    fn contents(&self, message: impl ToString) -> NpyError {
        let name = self.name.map(str::to_string);
        NpyError::Contents { path: self.path.to_path_buf(), name, message: message.to_string() }
    }
}

impl<Sh: Shape, E: ScalarElt + ReadableElement> Array<Sh, E> {
    /// Reads a `.npy` file; an array in column-major order is brought into row-major order.
    pub fn read_npy(path: impl AsRef<Path>) -> Result<Self, NpyError> {
        let place = Place { path: path.as_ref(), name: None };
        let file = File::open(place.path).map_err(|e| place.file(e))?;
        Self::read(file, &place)
    }

    /// Reads an array of a `.npz` file by its name.
    pub fn read_npz(path: impl AsRef<Path>, name: &str) -> Result<Self, NpyError> {
        let place = Place { path: path.as_ref(), name: Some(name) };
        let file = File::open(place.path).map_err(|e| place.file(e))?;
        let mut npz = NpzReader::new(BufReader::new(file)).map_err(|e| place.contents(e))?;
        let names = npz.names().map_err(|e| place.contents(e))?;
        if !names.iter().any(|n| n == name) {
            let there = names.join(", ");
            return Err(place.contents(format!("there is no such array in the file; there are: {there}")));
        }
        let array = npz.by_name::<ndarray::OwnedRepr<E>, ndarray::IxDyn>(name).map_err(|e| place.contents(e))?;
        Self::of_dynamic(array, &place)
    }

    fn read(mut file: File, place: &Place<'_>) -> Result<Self, NpyError> {
        // The header is believed only as far as the file is long: memory for all it claims would be asked for first.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| place.file(e))?;
        if let Some(elements) = claimed_elements(&bytes)
            && elements > bytes.len() as u128
        {
            let message = format!("its header claims {elements} elements, but it has {} bytes", bytes.len());
            return Err(place.contents(message));
        }
        let array = ndarray::ArrayD::<E>::read_npy(&bytes[..]).map_err(|e| match e {
            ReadNpyError::WrongDescriptor(found) => {
                place.contents(format!("its elements are of type {found}, not {}", E::ty()))
            }
            other => place.contents(other),
        })?;
        Self::of_dynamic(array, place)
    }

    fn of_dynamic(array: ndarray::ArrayD<E>, place: &Place<'_>) -> Result<Self, NpyError> {
        if array.ndim() != Sh::RANK {
            return Err(place.contents(format!("it has shape {:?}, which is not of rank {}", array.shape(), Sh::RANK)));
        }
        let shape = array.raw_dim();
        let array = if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() };
        let values = array.into_iter().collect::<Vec<E>>();
        let data = crate::data::ArrayData::new(shape.slice().iter().copied(), E::ty(), [E::into_column(values)]);
        data.and_then(Self::from_data).map_err(|e| place.contents(e))
    }
}

/// The number of elements that the header of a `.npy` file states, if it is one.
fn claimed_elements(bytes: &[u8]) -> Option<u128> {
    let header = bytes.get(..bytes.len().min(4096))?;
    let text = String::from_utf8_lossy(header);
    let (_, shape) = text.split_once("'shape':")?;
    let (_, shape) = shape.split_once('(')?;
    let (shape, _) = shape.split_once(')')?;
    shape
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .try_fold(1u128, |n, extent| n.checked_mul(extent.parse().ok()?).or(Some(u128::MAX)))
}

impl<Sh: Shape, E: ScalarElt + WritableElement> Array<Sh, E> {
    /// Writes a `.npy` file, over what is there.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<(), NpyError> {
        let place = Place { path: path.as_ref(), name: None };
        let mut file = BufWriter::new(File::create(place.path).map_err(|e| place.file(e))?);
        self.view().write_npy(&mut file).map_err(|e| place.contents(e))?;
        std::io::Write::flush(&mut file).map_err(|e| place.file(e))
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
        let place = Place { path: path.as_ref(), name: None };
        let file = File::create(place.path).map_err(|e| place.file(e))?;
        Ok(Npz { path: place.path.to_path_buf(), writer: NpzWriter::new_compressed(BufWriter::new(file)) })
    }

    /// Adds an array under a name.
    pub fn add<Sh: Shape, E: ScalarElt + WritableElement>(
        &mut self,
        name: &str,
        array: &Array<Sh, E>,
    ) -> Result<(), NpyError> {
        let place = Place { path: &self.path, name: Some(name) };
        self.writer.add_array(name, &array.view()).map_err(|e| place.contents(e))
    }

    /// Writes what is left, and the file's index.
    pub fn finish(self) -> Result<(), NpyError> {
        let place = Place { path: &self.path, name: None };
        let mut file = self.writer.finish().map_err(|e| place.contents(e))?;
        std::io::Write::flush(&mut file).map_err(|e| place.file(e))
    }
}
