//! Sharded arrays in files of NumPy: a folder with a file for the rows of each process, from which as many or another number of
//! processes read theirs. All processes must see the folder.

use super::Sharded;
use crate::ffi;
use crate::mesh::Mesh;
use crate::worker::refused;
use acc_core::api::npy::NpyError;
use acc_core::api::{Array, ScalarElt, Shape};
use acc_core::data::ArrayData;
use acc_core::{Error, RunLimits};
use ndarray_npy::{ReadableElement, WritableElement};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a sharded array cannot be saved or loaded.
#[derive(thiserror::Error, Debug)]
pub enum FilesError {
    /// The mesh failed, or another process cannot read or write: it says why.
    #[error(transparent)]
    Mesh(#[from] Error),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] NpyError),
    /// The folder cannot be made or read, or is none of such an array.
    #[error("{path}: {problem}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

fn folder_error(path: &Path, problem: impl ToString) -> FilesError {
    FilesError::Folder { path: path.to_path_buf(), problem: problem.to_string() }
}

/// The file of some rows.
fn name_of(rows: &Range<usize>) -> String {
    format!("rows-{:012}-{:012}.npy", rows.start, rows.end)
}

/// The rows that a file has by its name.
fn rows_of(name: &str) -> Option<Range<usize>> {
    let (start, end) = name.strip_prefix("rows-")?.strip_suffix(".npy")?.split_once('-')?;
    Some(start.parse().ok()?..end.parse().ok()?)
}

impl Mesh {
    /// Goes on where all processes can, and is an error on all otherwise.
    fn all<V>(&self, what: &str, done: Result<V, FilesError>) -> Result<V, FilesError> {
        match done {
            Ok(value) => {
                self.worker.agree(what, &RunLimits::none())?;
                Ok(value)
            }
            Err(e) => {
                self.worker.refuse(refused(e.to_string()), &RunLimits::none());
                Err(e)
            }
        }
    }

    /// An array from the folder in which it was saved, by however many processes: each reads its rows.
    pub fn load<Sh: Shape, E: ScalarElt + ReadableElement>(
        &self,
        folder: impl AsRef<Path>,
    ) -> Result<Sharded<Array<Sh, E>>, FilesError> {
        let folder = folder.as_ref();
        let (shape, own) = self.all("rows of an array that is loaded", self.own_rows(folder))?;
        Ok(self.cut_to(shape, &own)?)
    }

    fn own_rows<Sh: Shape, E: ScalarElt + ReadableElement>(
        &self,
        folder: &Path,
    ) -> Result<(Vec<usize>, Array<Sh, E>), FilesError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(|e| folder_error(folder, e))? {
            let path = entry.map_err(|e| folder_error(folder, e))?.path();
            files.extend(path.file_name().and_then(|n| rows_of(n.to_str()?)).map(|rows| (rows, path)));
        }
        files.sort_by_key(|(rows, _)| (rows.start, rows.end));
        let mut total = 0;
        for (rows, _) in &files {
            if rows.start != total {
                return Err(folder_error(folder, format!("rows {total} to {} are missing", rows.start)));
            }
            total = rows.end;
        }
        let own = self.rows(total);
        let (mut bytes, mut inner) = (Vec::new(), None);
        for (k, (rows, path)) in files.iter().enumerate() {
            // The first one says what rows are.
            if k > 0 && (rows.end <= own.start || own.end <= rows.start) {
                continue;
            }
            let part = Array::<Sh, E>::read_npy(path)?;
            let found = part.data().shape().get(1..).unwrap_or(&[]).to_vec();
            let inner = inner.get_or_insert_with(|| found.clone());
            if part.data().shape().first() != Some(&rows.len()) || found != *inner {
                return Err(folder_error(path, format!("its shape is {:?}", part.data().shape())));
            }
            let row_bytes = inner.iter().product::<usize>() * E::ty().leaves().iter().map(|l| l.size()).sum::<usize>();
            let wanted = own.start.max(rows.start)..own.end.min(rows.end).max(own.start.max(rows.start));
            for column in part.data().columns() {
                let all = ffi::bytes(column.slice());
                let (start, end) = ((wanted.start - rows.start) * row_bytes, (wanted.end - rows.start) * row_bytes);
                bytes.extend_from_slice(all.get(start..end).unwrap_or(&[]));
            }
        }
        let inner = inner.ok_or_else(|| folder_error(folder, "there are no rows of an array in it"))?;
        let with = |rows: usize| std::iter::once(rows).chain(inner.iter().copied()).collect::<Vec<usize>>();
        let ty = E::ty();
        let [leaf] = ty.leaves()[..] else { return Err(folder_error(folder, "its elements are no scalars")) };
        let column = ffi::column(leaf, bytes.len() / leaf.size().max(1), |into| {
            into.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
            Ok(())
        });
        let column = column.map_err(|e| folder_error(folder, e))?;
        let data = ArrayData::new(with(own.len()), ty, [column]).map_err(|e| folder_error(folder, e))?;
        let own = Array::from_data(data).map_err(|e| folder_error(folder, e))?;
        Ok((with(total), own))
    }
}

impl<Sh: Shape, E: ScalarElt + WritableElement> Sharded<Array<Sh, E>> {
    /// Writes it into a folder that is not there yet, each process its rows; all must. The folder is there once all are
    /// written, and not at all if one process fails.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), FilesError> {
        let (mesh, folder) = (&self.mesh, folder.as_ref());
        let mut new = folder.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        let begun = if mesh.is_first() { begin(folder, &new) } else { Ok(()) };
        mesh.all("a folder for an array", begun)?;
        mesh.all("rows of an array that is saved", self.write_own(&new))?;
        let named =
            if mesh.is_first() { fs::rename(&new, folder).map_err(|e| folder_error(folder, e)) } else { Ok(()) };
        mesh.all("an array that is saved", named)
    }

    fn write_own(&self, folder: &Path) -> Result<(), FilesError> {
        let total = self.extents().first().copied().unwrap_or(1);
        let rows = if self.is_cut() { self.mesh.rows(total) } else { 0..total };
        if (self.is_cut() || self.mesh.is_first()) && (!rows.is_empty() || rows.start == 0) {
            self.own()?.write_npy(folder.join(name_of(&rows)))?;
        }
        Ok(())
    }
}

/// Makes the folder that is written into, in place of one that a process which failed has left.
fn begin(folder: &Path, new: &Path) -> Result<(), FilesError> {
    if folder.exists() {
        return Err(folder_error(folder, "it exists already"));
    }
    if new.exists() {
        fs::remove_dir_all(new).map_err(|e| folder_error(new, e))?;
    }
    fs::create_dir_all(new).map_err(|e| folder_error(new, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_rows() {
        for rows in [0..0, 0..7, 1_000_000..1_234_567] {
            assert_eq!(rows_of(&name_of(&rows)), Some(rows));
        }
        assert_eq!(rows_of("rows-1-2.npy.new"), None);
        assert_eq!(rows_of("other.npy"), None);
    }
}
