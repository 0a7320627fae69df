//! Caches on disk: what an earlier process has found out, a later one reads.
//!
//! There is a folder for each [`Kind`] of value: machine code of kernels, and schedules that search found. Whoever can write to them can
//! have their code executed. So:
//!
//! * [`folder`] accesses files of one folder only, which this module created and marked, and only those that nobody but
//!   the user of this process can have written. All accesses are relative to the open folder, and checks are made on
//!   open files, so that nothing can change between a check and its use.
//! * [`entry`] is the content of a file: a value, and the whole text of the key that it is of, which is compared before
//!   the value is used. The file's name is a collision-resistant hash of that text, but safety does not depend on it.
//!
//! A file is written under a temporary name and then renamed, so that concurrent processes see complete files only.
//! Damaged files are detected by a checksum and removed. Without a trusted folder nothing is cached, which only costs
//! time.

mod entry;
#[cfg(unix)]
mod folder;
#[cfg(not(unix))]
#[path = "unsupported.rs"]
mod folder;
mod location;

pub(crate) use entry::{Format, Key};
use folder::Folder;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Files written between two checks of the folder's size, which lists all files.
const WRITES_PER_TRIM: u64 = 64;
/// The modification time of a file records its last use, with this precision, so that most reads do not write.
const USE_MARK_INTERVAL: Duration = Duration::from_secs(3600);
/// A temporary file older than this was left over by a process that ended.
const DRAFT_LIFETIME: Duration = Duration::from_secs(3600);

/// What is kept in a folder.
pub(crate) struct Kind {
    /// The folder's name, in the folder given by the environment variable `ACC_CACHE`, else in `acc` in the user's cache folder.
    pub folder: &'static str,
    /// What it has, for the file that marks the folder.
    pub what: &'static str,
    /// The suffix of files.
    pub suffix: &'static str,
    /// Their contents.
    pub format: Format,
    /// The most bytes in the folder.
    pub max_folder_bytes: u64,
    /// The largest file that is kept: a larger one would evict many others.
    pub max_file_bytes: u64,
}

/// A cache on disk.
pub(crate) struct Cache {
    kind: &'static Kind,
    folder: Folder,
    written: AtomicU64,
}

impl Cache {
    /// The cache of this process's user; the error says why there is none.
    pub(crate) fn open(kind: &'static Kind) -> Result<Cache, String> {
        Cache::at(&location::base()?, kind)
    }

    /// The cache inside a folder, which is created if it does not exist.
    pub(crate) fn at(base: &Path, kind: &'static Kind) -> Result<Cache, String> {
        Ok(Cache { kind, folder: Folder::open(base, kind)?, written: AtomicU64::new(0) })
    }

    /// Where the folder of a kind is, or would be; the error says why nothing is kept.
    pub(crate) fn place(kind: &Kind) -> Result<PathBuf, String> {
        Ok(location::base()?.join(kind.folder))
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The name of a key's file in the folder.
    pub(crate) fn file_name(&self, key: &Key) -> String {
        key.file_name(self.kind.suffix)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let (file, bytes) = match self.folder.read(&self.file_name(key), self.kind.max_file_bytes) {
            Ok(Some(found)) => found,
            Ok(None) => return None,
            Err(_) => {
                self.forget(key);
                return None;
            }
        };
        let Some(value) = self.kind.format.decode(&bytes, key) else {
            self.forget(key);
            return None;
        };
        // Eviction is by last use.
        let old = |t: SystemTime| t.elapsed().is_ok_and(|age| age > USE_MARK_INTERVAL);
        if file.metadata().and_then(|m| m.modified()).is_ok_and(old) {
            // If this fails the file is evicted earlier, which is harmless.
            let _ = file.set_modified(SystemTime::now());
        }
        Some(value.to_vec())
    }

    /// Stores a value under a key. Failure, such as a full disk, is ignored.
    pub(crate) fn put(&self, key: &Key, value: &[u8]) {
        let bytes = self.kind.format.encode(key, value);
        if bytes.len() as u64 > self.kind.max_file_bytes {
            return;
        }
        let _ = self.folder.write(&self.file_name(key), &entry::draft_name(key), &bytes);
        if self.written.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_TRIM) {
            self.trim();
        }
    }

    /// Removes the value of a key.
    pub(crate) fn forget(&self, key: &Key) {
        // A file that cannot be removed is not used either.
        let _ = self.folder.remove(&self.file_name(key));
    }

    /// Evicts the least recently used files if the folder is too large, and removes stale temporary files. Files with
    /// names of another form are left untouched.
    fn trim(&self) {
        let Ok(entries) = self.folder.files() else { return };
        let mut kept = Vec::new();
        for file in entries {
            let stale = || file.modified.elapsed().is_ok_and(|age| age > DRAFT_LIFETIME);
            if entry::is_file_name(&file.name, self.kind.suffix) {
                kept.push((file.modified, file.bytes, file.name));
            } else if entry::is_draft_name(&file.name) && stale() {
                let _ = self.folder.remove(&file.name);
            }
        }
        let mut held: u64 = kept.iter().map(|f| f.1).sum();
        if held <= self.kind.max_folder_bytes {
            return;
        }
        kept.sort();
        for (_, bytes, name) in kept {
            if held <= self.kind.max_folder_bytes / 4 * 3 {
                break;
            }
            if self.folder.remove(&name).is_ok() {
                held -= bytes;
            }
        }
    }
}

#[cfg(all(test, unix))]
pub(crate) mod tests;
