//! Machine code kept on the disk, so that a process compiles nothing that one before it did.
//!
//! A file per kernel, named by the hash of all that its code depends on. Files are written under another name first and
//! then renamed, so that processes that run at the same time see whole files; what is damaged all the same is told by
//! its checksum, and removed. Whatever goes wrong here costs time, and nothing else.

use super::c::Object;
use super::hash::checksum;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The environment variable that names the folder; `off` for none.
const FOLDER: &str = "ACC_CACHE";
/// Bytes that the folder may hold.
const MOST: u64 = 256 << 20;
/// Files written between two looks at how much the folder holds.
const LOOK: u64 = 64;
/// A file that was used is marked so, if that is older.
const FRESH: Duration = Duration::from_secs(3600);
/// What files begin with.
const MAGIC: &[u8; 8] = b"acckern1";

pub(super) struct Disk {
    folder: PathBuf,
    most: u64,
    written: AtomicU64,
}

/// The folder where machine code is kept, if any.
pub fn folder() -> Option<PathBuf> {
    match std::env::var_os(FOLDER) {
        Some(named) if named == "off" => None,
        Some(named) => Some(PathBuf::from(named)),
        None => {
            let absolute = |v: &OsStr| Path::new(v).is_absolute().then(|| PathBuf::from(v));
            let caches = std::env::var_os("XDG_CACHE_HOME").and_then(|v| absolute(&v));
            Some(caches.or_else(|| Some(std::env::home_dir()?.join(".cache")))?.join("acc").join("kernels"))
        }
    }
}

impl Disk {
    /// The folder, made if it is not there; none if there is to be none, or it cannot be made.
    pub(super) fn open() -> Option<Disk> {
        Disk::at(folder()?, MOST)
    }

    fn at(folder: PathBuf, most: u64) -> Option<Disk> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        // What lies there is run: nobody else may write it.
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).ok()?;
        Some(Disk { folder, most, written: AtomicU64::new(0) })
    }

    fn path(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}.kernel"))
    }

    /// The object kept under a key.
    pub(super) fn get(&self, key: u128) -> Option<Object> {
        let path = self.path(key);
        let mut bytes = fs::read(&path).ok()?;
        let (head, object) = bytes.split_at_checked(40)?;
        let good = head.starts_with(MAGIC)
            && head[8..24] == key.to_le_bytes()
            && head[24..40] == checksum(object).to_le_bytes();
        if !good {
            self.forget(key);
            return None;
        }
        // The files used last are kept longest.
        if let Ok(file) = File::options().append(true).open(&path) {
            let old = |t: SystemTime| t.elapsed().is_ok_and(|age| age > FRESH);
            if file.metadata().and_then(|m| m.modified()).is_ok_and(old) {
                let _ = file.set_modified(SystemTime::now());
            }
        }
        bytes.drain(..40);
        Some(bytes)
    }

    /// Keeps an object under a key.
    pub(super) fn put(&self, key: u128, object: &[u8]) {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        // Several of a process may keep their files in one folder.
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let draft = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("{key:032x}.{}.{draft}", std::process::id()));
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(MAGIC)?;
            file.write_all(&key.to_le_bytes())?;
            file.write_all(&checksum(object).to_le_bytes())?;
            file.write_all(object)?;
            file.flush()?;
            fs::rename(&draft, self.path(key))
        };
        if write().is_err() {
            let _ = fs::remove_file(&draft);
        }
        if number.is_multiple_of(LOOK) {
            self.trim();
        }
    }

    /// Removes what is kept under a key.
    pub(super) fn forget(&self, key: u128) {
        let _ = fs::remove_file(self.path(key));
    }

    /// Removes the files that were used longest ago, where the folder holds too much.
    fn trim(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let file = |e: fs::DirEntry| {
            let m = e.metadata().ok()?;
            Some((m.modified().ok()?, m.len(), e.path()))
        };
        let mut files: Vec<_> = entries.flatten().filter_map(file).collect();
        let mut held: u64 = files.iter().map(|f| f.1).sum();
        if held <= self.most {
            return;
        }
        files.sort();
        for (_, len, path) in files {
            if held <= self.most / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                held -= len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("acc-disk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn what_was_put_is_there_and_what_is_damaged_is_not() {
        let disk = Disk::at(folder("damage"), MOST).unwrap();
        assert_eq!(disk.get(1), None);
        disk.put(1, b"code");
        assert_eq!(disk.get(1).as_deref(), Some(&b"code"[..]));
        // Cut short, changed, under another key, empty.
        let whole = fs::read(disk.path(1)).unwrap();
        let mut changed = whole.clone();
        changed[42] ^= 1;
        for bytes in [&whole[..41], &whole[..20], &changed, &[]] {
            fs::write(disk.path(1), bytes).unwrap();
            assert_eq!(disk.get(1), None);
            assert!(bytes.len() < 40 || !disk.path(1).exists());
        }
        fs::write(disk.path(2), &whole).unwrap();
        assert_eq!(disk.get(2), None);
        disk.put(1, b"code");
        assert_eq!(disk.get(1).as_deref(), Some(&b"code"[..]));
        fs::remove_dir_all(&disk.folder).unwrap();
    }

    #[test]
    fn the_folder_stays_small() {
        let disk = Disk::at(folder("size"), 100_000).unwrap();
        for key in 0..4 * u128::from(LOOK) + 1 {
            disk.put(key, &[7; 1000]);
        }
        let held: u64 = fs::read_dir(&disk.folder).unwrap().flatten().map(|e| e.metadata().unwrap().len()).sum();
        assert!(held <= 100_000 && held > 10_000, "{held}");
        fs::remove_dir_all(&disk.folder).unwrap();
    }

    #[test]
    fn many_writers_leave_whole_files() {
        let at = folder("writers");
        let disks: Vec<Disk> = (0..4).map(|_| Disk::at(at.clone(), MOST).unwrap()).collect();
        std::thread::scope(|s| {
            for (k, disk) in disks.iter().enumerate() {
                s.spawn(move || {
                    for round in 0..50u8 {
                        disk.put(9, &vec![k as u8; 1000 + usize::from(round)]);
                        let seen = disk.get(9).unwrap();
                        assert!(seen.len() >= 1000 && seen.iter().all(|b| *b == seen[0]));
                    }
                });
            }
        });
        fs::remove_dir_all(&at).unwrap();
    }
}
