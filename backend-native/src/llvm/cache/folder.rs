//! A folder that this crate made, whose files nobody but the user of this process can have written.

use super::entry::random;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder's name.
const NAME: &str = "machine-code";

/// What marks the folder as one that can be removed (<https://bford.info/cachedir/>), and as one that this crate made.
const TAG: &str = "CACHEDIR.TAG";
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # Machine code of array programs, kept by acc. It can be removed at any time.\n";

/// The folder, open.
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// A regular file in the folder.
pub(super) struct Entry {
    pub name: String,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl Folder {
    /// The folder in another one, made if it is not there; the error says why it is not to be used.
    ///
    /// Whoever can write the other one can put another folder in its place, but none that is this user's and marked.
    pub(super) fn open(base: &Path) -> std::result::Result<Folder, String> {
        let path = base.join(NAME);
        let fd = opened(base).map_err(|why| format!("{}: {why}", path.display()))?;
        let folder = Folder { fd, path };
        match folder.read(TAG, TAG_TEXT.len() as u64) {
            Ok(Some((_, text))) if text == TAG_TEXT.as_bytes() => Ok(folder),
            Ok(_) => Err(format!("{}: it is not marked as a cache of acc", folder.path.display())),
            Err(why) => Err(format!("{}: {TAG}: {why}", folder.path.display())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file that is read, and all of its bytes; none if it is not there, an error if it is not to be trusted or larger.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Option<(File, Vec<u8>)>> {
        // A pipe or a device that has the name of a file must not stop the process: it is opened without waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&fd)?;
        trusted(&stat, FileType::RegularFile).map_err(Error::other)?;
        let size = u64::try_from(stat.st_size).map_err(Error::other)?;
        if size > most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let mut file = File::from(fd);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize)?;
        // What is written to it meanwhile would be damage.
        (&mut file).take(size).read_to_end(&mut bytes)?;
        Ok(Some((file, bytes)))
    }

    /// Writes a file under a name that is not there yet, and gives it its own then.
    pub(super) fn write(&self, name: &str, draft: &str, bytes: &[u8]) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.fd, draft, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(bytes).and_then(|()| Ok(renameat(&self.fd, draft, &self.fd, name)?));
        if written.is_err() {
            self.remove(draft)?;
        }
        written
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// The regular files in the folder.
    pub(super) fn files(&self) -> Result<Vec<Entry>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let Ok(stat) = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                continue;
            }
            let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
            let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
            let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
            files.push(Entry { name: name.to_string(), bytes: u64::try_from(stat.st_size).unwrap_or(0), modified });
        }
        Ok(files)
    }
}

/// The open folder in another one, both made if they are not there.
fn opened(base: &Path) -> Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let base = openat(CWD, base, directory, Mode::empty())?;
    let open = || openat(&base, NAME, directory | OFlags::NOFOLLOW, Mode::empty());
    let fd = match open() {
        Err(Errno::NOENT) => {
            // Another process may make it at the same time: then one of them has it.
            let made = make(&base);
            open().map_err(|error| made.err().unwrap_or_else(|| error.into()))?
        }
        opened => opened?,
    };
    trusted(&fstat(&fd)?, FileType::Directory).map_err(Error::other)?;
    Ok(fd)
}

/// Makes the folder, marked from the moment it has its name.
fn make(base: &OwnedFd) -> Result<()> {
    let draft = format!(".{NAME}.{:016x}", random());
    mkdirat(base, &draft, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(base, &draft, flags, Mode::empty()).map_err(Error::from).and_then(|fd| {
        let folder = Folder { fd, path: PathBuf::from(&draft) };
        folder.write(TAG, "tag.draft", TAG_TEXT.as_bytes())?;
        Ok((renameat(base, &draft, base, NAME), folder))
    });
    match made {
        Ok((Ok(()), _)) => Ok(()),
        Ok((Err(error), folder)) => {
            folder.remove(TAG)?;
            unlinkat(base, &draft, AtFlags::REMOVEDIR)?;
            Err(error.into())
        }
        Err(error) => {
            unlinkat(base, &draft, AtFlags::REMOVEDIR)?;
            Err(error)
        }
    }
}

/// Whether something is of a kind, and written by nobody but the user of this process; the error says what it is instead.
fn trusted(stat: &Stat, kind: FileType) -> std::result::Result<(), String> {
    if FileType::from_raw_mode(stat.st_mode) != kind {
        return Err(format!("it is no {}", if kind == FileType::Directory { "folder" } else { "regular file" }));
    }
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(format!("it belongs to the user {}, and this process runs as {user}", stat.st_uid));
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return Err("others may write it".to_string());
    }
    Ok(())
}
