//! Files of NumPy: `.npy`, one array, and `.npz`, several by name.
//!
//! Types are those of NumPy's numbers and booleans, read in either byte order and written in the machine's; `f16`, `char` and
//! elements of several columns have no form there. Formats: NEP 1 and the documentation of `numpy.savez`.

use crate::api::{Array, ScalarElt, Shape};
use ndarray_npy::{NpzWriter, ReadNpyError, ReadableElement, WritableElement, WriteNpyExt};
use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};
use zip::ZipArchive;
use zip::result::ZipError;

mod read;

/// Why a file of NumPy cannot be read or written.
///
/// ```
/// use acc_core::prelude::*;
/// let missing = Vector::<f32>::read_npy("no such file.npy").unwrap_err();
/// assert!(matches!(missing, npy::NpyError::File { .. }));
/// assert!(missing.to_string().starts_with("no such file.npy: "));
/// ```
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
///
/// ```
/// use acc_core::prelude::*;
/// let place = npy::NpyPlace { path: "points.npz".into(), name: Some("xs".to_string()) };
/// assert_eq!(place.to_string(), "points.npz, array \"xs\"");
/// ```
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
            ReadNpyError::Io(e) => self.file(e),
            other => self.contents(other),
        }
    }
}

/// Reading. A file is believed only as far as it goes: memory is taken for elements that are there, whatever the header
/// or the index of a `.npz` file says.
impl<Sh: Shape, E: ScalarElt + ReadableElement> Array<Sh, E> {
    /// Reads a `.npy` file; an array in column-major order is brought into row-major order. An error if the file's array is of
    /// another rank or element type.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-read-{}.npy", std::process::id()));
    /// Matrix::from([[1.0, 2.0], [3.0, 4.0]]).write_npy(&path)?;
    /// assert_eq!(Matrix::<f64>::read_npy(&path)?, Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert!(Vector::<f64>::read_npy(&path).is_err());
    /// assert!(Matrix::<i64>::read_npy(&path).is_err());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_npy(path: impl AsRef<Path>) -> Result<Self, NpyError> {
        Self::read_npy_within(path, u64::MAX)
    }

    /// [`read_npy`](Array::read_npy) for an array of at most `max_bytes` bytes; an error for a larger one, before memory is
    /// taken.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-within-{}.npy", std::process::id()));
    /// Vector::from([1.0, 2.0]).write_npy(&path)?;
    /// assert_eq!(Vector::<f64>::read_npy_within(&path, 16)?.to_vec(), [1.0, 2.0]);
    /// assert!(Vector::<f64>::read_npy_within(&path, 15).is_err());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_npy_within(path: impl AsRef<Path>, max_bytes: u64) -> Result<Self, NpyError> {
        let place = NpyPlace::new(path.as_ref(), None);
        let file = place.open()?;
        let meta = file.metadata().map_err(|e| place.file(e))?;
        // The length of a pipe or a device says nothing.
        let length = meta.is_file().then_some(meta.len());
        read::array(&mut BufReader::new(file), length, max_bytes, &place)
    }

    /// Reads the contents of a `.npy` file.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
    /// let file = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header, &[7, 8]].concat();
    /// assert_eq!(Vector::<u8>::from_npy(&file)?.to_vec(), [7, 8]);
    /// # Ok::<(), npy::NpyError>(())
    /// ```
    pub fn from_npy(mut contents: &[u8]) -> Result<Self, NpyError> {
        let length = contents.len() as u64;
        read::array(&mut contents, Some(length), u64::MAX, &NpyPlace::new(Path::new("npy"), None))
    }

    /// Reads an array of a `.npz` file by its name; an error if there is none of this name, or if its rank or element type is
    /// another.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-read-{}.npz", std::process::id()));
    /// let mut file = npy::Npz::create(&path)?;
    /// file.add("xs", &Vector::from([1, 2]))?;
    /// file.finish()?;
    /// assert_eq!(Vector::<i32>::read_npz(&path, "xs")?.to_vec(), [1, 2]);
    /// assert!(Vector::<i32>::read_npz(&path, "ys").is_err());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_npz(path: impl AsRef<Path>, name: &str) -> Result<Self, NpyError> {
        Self::read_npz_within(path, name, u64::MAX)
    }

    /// [`read_npz`](Array::read_npz) for an array of at most `max_bytes` bytes; an error for a larger one, before memory is
    /// taken. A few bytes of a compressed file can stand for a thousand times as many.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-within-{}.npz", std::process::id()));
    /// let mut file = npy::Npz::create(&path)?;
    /// file.add("zeros", &Vector::from(vec![0u8; 100_000]))?;
    /// file.finish()?;
    /// assert!(std::fs::metadata(&path)?.len() < 1000);
    /// assert!(Vector::<u8>::read_npz_within(&path, "zeros", 99_999).is_err());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_npz_within(path: impl AsRef<Path>, name: &str, max_bytes: u64) -> Result<Self, NpyError> {
        let place = NpyPlace::new(path.as_ref(), Some(name));
        Self::of_zip(BufReader::new(place.open()?), max_bytes, place)
    }

    /// Reads an array of the contents of a `.npz` file by its name, of at most `max_bytes` bytes.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-from-{}.npz", std::process::id()));
    /// # let mut file = npy::Npz::create(&path)?;
    /// # file.add("xs", &Vector::from([1, 2]))?;
    /// # file.finish()?;
    /// let contents: Vec<u8> = std::fs::read(&path)?;
    /// assert_eq!(Vector::<i32>::from_npz(&contents, "xs", 1 << 20)?.to_vec(), [1, 2]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_npz(contents: &[u8], name: &str, max_bytes: u64) -> Result<Self, NpyError> {
        Self::of_zip(Cursor::new(contents), max_bytes, NpyPlace::new(Path::new("npz"), Some(name)))
    }

    fn of_zip(file: impl Read + Seek, max_bytes: u64, place: NpyPlace) -> Result<Self, NpyError> {
        let wanted = place.name.as_deref().unwrap_or_default();
        let broken = |e: ZipError| place.contents(format!("zip file error: {e}"));
        let mut zip = ZipArchive::new(file).map_err(broken)?;
        let names = || zip.file_names().map(|n| n.strip_suffix(".npy").unwrap_or(n));
        let Some(at) = names().position(|n| n == wanted) else {
            let there = names().collect::<Vec<_>>().join(", ");
            return Err(place.contents(format!("there is no such array in the file; there are: {there}")));
        };
        let mut file = zip.by_index(at).map_err(broken)?;
        let length = file.size();
        read::array(&mut file, Some(length), max_bytes, &place)
    }
}

impl<Sh: Shape, E: ScalarElt + WritableElement> Array<Sh, E> {
    /// Writes a `.npy` file, and replaces one that exists.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-write-{}.npy", std::process::id()));
    /// let primes = use_(&Vector::from([2u64, 3, 5]));
    /// Interpreter::new().run(primes.map(|p| p * p))?.write_npy(&path)?;
    /// assert_eq!(Vector::<u64>::read_npy(&path)?.to_vec(), [4, 9, 25]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// Writes a compressed file, and replaces one that exists.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-create-{}.npz", std::process::id()));
    /// npy::Npz::create(&path)?.finish()?;
    /// let error = Vector::<f64>::read_npz(&path, "xs").unwrap_err();
    /// assert!(error.to_string().contains("there is no such array in the file"));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(path: impl AsRef<Path>) -> Result<Npz, NpyError> {
        let place = NpyPlace::new(path.as_ref(), None);
        Ok(Npz { writer: NpzWriter::new_compressed(place.create()?), path: place.path })
    }

    /// Adds an array, of any rank and element type, under a name.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-add-{}.npz", std::process::id()));
    /// let mut file = npy::Npz::create(&path)?;
    /// file.add("weights", &Matrix::from([[0.5f32, 1.5]]))?;
    /// file.add("labels", &Vector::from([7i64]))?;
    /// file.finish()?;
    /// assert_eq!(Matrix::<f32>::read_npz(&path, "weights")?.shape(), Dim([1, 2]));
    /// assert_eq!(Vector::<i64>::read_npz(&path, "labels")?.to_vec(), [7]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add<Sh: Shape, E: ScalarElt + WritableElement>(
        &mut self,
        name: &str,
        array: &Array<Sh, E>,
    ) -> Result<(), NpyError> {
        let place = NpyPlace::new(&self.path, Some(name));
        self.writer.add_array(name, &array.view()).map_err(|e| place.contents(e))
    }

    /// Writes what is left, and the file's index, without which the file cannot be read.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # let path = std::env::temp_dir().join(format!("acc-doc-finish-{}.npz", std::process::id()));
    /// let mut file = npy::Npz::create(&path)?;
    /// file.add("xs", &Vector::from([1, 2]))?;
    /// file.finish()?;
    /// assert_eq!(Vector::<i32>::read_npz(&path, "xs")?.to_vec(), [1, 2]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<(), NpyError> {
        let place = NpyPlace::new(&self.path, None);
        place.flush(self.writer.finish().map_err(|e| place.contents(e))?)
    }
}
