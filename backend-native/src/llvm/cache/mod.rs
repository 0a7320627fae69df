//! The on-disk cache of machine code: a process does not compile what an earlier one has compiled.
//!
//! Whoever can write to the cache can have their code executed. So:
//!
//! * [`folder`] accesses files of one folder only, which this module created and marked, and only those that nobody but
//!   the user of this process can have written. All accesses are relative to the open folder, and checks are made on
//!   open files, so that nothing can change between a check and its use.
//! * [`entry`] is the content of a file: code, and the whole text that it was generated from, which is compared before
//!   the code is used. The file's name is a collision-resistant hash of that text, but safety does not depend on it.
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

use super::c::Object;
pub(super) use entry::Key;
use folder::Folder;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The most bytes in the folder: several thousand kernels.
const MAX_FOLDER_BYTES: u64 = 256 << 20;
/// The largest file that is cached: a larger one would evict many others.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Files written between two checks of the folder's size, which lists all files.
const WRITES_PER_TRIM: u64 = 64;
/// The modification time of a file records its last use, with this precision, so that most reads do not write.
const USE_MARK_INTERVAL: Duration = Duration::from_secs(3600);
/// A temporary file older than this was left over by a process that ended.
const DRAFT_LIFETIME: Duration = Duration::from_secs(3600);

/// The on-disk cache.
pub(super) struct Cache {
    folder: Folder,
    most: u64,
    written: AtomicU64,
}

/// The cache of this process; the error says why there is none.
pub(super) fn of_process() -> &'static Result<Cache, String> {
    static CACHE: LazyLock<Result<Cache, String>> = LazyLock::new(|| Cache::at(&location::base()?, MAX_FOLDER_BYTES));
    &CACHE
}

/// The folder of cached machine code, or why there is none.
///
/// It is `machine-code` in the folder given by the environment variable `ACC_CACHE` (`off` for none), else in `acc` in
/// the user's cache folder. It must have been created by this crate, belong to the user of this process, and be
/// writable by nobody else.
pub fn cache() -> Result<PathBuf, String> {
    of_process().as_ref().map(|cache| cache.folder.path().to_path_buf()).map_err(Clone::clone)
}

impl Cache {
    /// The cache inside a folder, which is created if it does not exist.
    fn at(base: &Path, most: u64) -> Result<Cache, String> {
        Ok(Cache { folder: Folder::open(base)?, most, written: AtomicU64::new(0) })
    }

    /// The object of a key.
    pub(super) fn get(&self, key: &Key) -> Option<Object> {
        let name = key.file_name();
        let (file, bytes) = match self.folder.read(&name, MAX_FILE_BYTES) {
            Ok(Some(found)) => found,
            Ok(None) => return None,
            Err(_) => {
                self.forget(key);
                return None;
            }
        };
        let Some(object) = entry::decode(&bytes, key) else {
            self.forget(key);
            return None;
        };
        // Eviction is by last use.
        let old = |t: SystemTime| t.elapsed().is_ok_and(|age| age > USE_MARK_INTERVAL);
        if file.metadata().and_then(|m| m.modified()).is_ok_and(old) {
            // If this fails the file is evicted earlier, which is harmless.
            let _ = file.set_modified(SystemTime::now());
        }
        Some(object.to_vec())
    }

    /// Stores an object under a key. Failure, such as a full disk, is ignored.
    pub(super) fn put(&self, key: &Key, object: &[u8]) {
        let bytes = entry::encode(key, object);
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return;
        }
        let _ = self.folder.write(&key.file_name(), &entry::draft_name(key), &bytes);
        if self.written.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_TRIM) {
            self.trim();
        }
    }

    /// Removes the object of a key.
    pub(super) fn forget(&self, key: &Key) {
        // An object that cannot be removed is not used either.
        let _ = self.folder.remove(&key.file_name());
    }

    /// Evicts the least recently used files if the folder is too large, and removes stale temporary files. Files with
    /// names of another form are left untouched.
    fn trim(&self) {
        let Ok(entries) = self.folder.files() else { return };
        let mut kept = Vec::new();
        for file in entries {
            let stale = || file.modified.elapsed().is_ok_and(|age| age > DRAFT_LIFETIME);
            if entry::is_file_name(&file.name) {
                kept.push((file.modified, file.bytes, file.name));
            } else if entry::is_draft_name(&file.name) && stale() {
                let _ = self.folder.remove(&file.name);
            }
        }
        let mut held: u64 = kept.iter().map(|f| f.1).sum();
        if held <= self.most {
            return;
        }
        kept.sort();
        for (_, bytes, name) in kept {
            if held <= self.most / 4 * 3 {
                break;
            }
            if self.folder.remove(&name).is_ok() {
                held -= bytes;
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests;
