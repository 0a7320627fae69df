//! Machine code kept on the disk, so that a process compiles nothing that one before it did.
//!
//! Whoever can write what is kept here can have it run. So:
//!
//! * [`folder`] gives out files of one folder alone, which this module made and marked, and only those that nobody but the
//!   user of this process can have written. Everything happens relative to the open folder, and is checked on open files,
//!   so that nothing changes between a check and what relies on it.
//! * [`entry`] is what a file holds: code, and the whole text that it was generated from, which is compared before the code
//!   is used. The file's name is a collision-resistant hash of that text, but nothing depends on that for safety.
//!
//! A file is written under another name first and then renamed, so that processes that run at the same time see whole files;
//! what is damaged all the same is told by its checksum, and removed. Without a folder that can be trusted nothing is kept,
//! which costs time and nothing else.

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

/// Bytes that the folder may hold.
const MAX_FOLDER_BYTES: u64 = 256 << 20;
/// Bytes of the largest file that is kept.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Files written between two looks at how much the folder holds.
const WRITES_PER_TRIM: u64 = 64;
/// A file that was used is marked so, if that is older.
const USE_MARK_INTERVAL: Duration = Duration::from_secs(3600);
/// A file under the name that it is written under is left over from a process that ended, if it is older.
const DRAFT_LIFETIME: Duration = Duration::from_secs(3600);

/// Code on the disk.
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

/// The folder where machine code is kept, or why none is.
///
/// It is `machine-code` in the folder that the environment variable `ACC_CACHE` names (`off` for none), else in `acc` among
/// the user's caches. It must have been made by this crate, belong to the user of this process, and be writable by nobody
/// else.
pub fn cache() -> Result<PathBuf, String> {
    of_process().as_ref().map(|cache| cache.folder.path().to_path_buf()).map_err(Clone::clone)
}

impl Cache {
    /// The cache in a folder, which is made if it is not there.
    fn at(base: &Path, most: u64) -> Result<Cache, String> {
        Ok(Cache { folder: Folder::open(base)?, most, written: AtomicU64::new(0) })
    }

    /// The object kept under a key.
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
        // The files used last are kept longest.
        let old = |t: SystemTime| t.elapsed().is_ok_and(|age| age > USE_MARK_INTERVAL);
        if file.metadata().and_then(|m| m.modified()).is_ok_and(old) {
            // A file that is not marked is removed earlier: nothing else.
            let _ = file.set_modified(SystemTime::now());
        }
        Some(object.to_vec())
    }

    /// Keeps an object under a key. A disk that is full, for one, keeps less.
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

    /// Removes what is kept under a key.
    pub(super) fn forget(&self, key: &Key) {
        // What cannot be removed is not used either.
        let _ = self.folder.remove(&key.file_name());
    }

    /// Removes the files that were used longest ago, where the folder holds too much, and what is left over of others. What
    /// has a name of another form stays.
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
