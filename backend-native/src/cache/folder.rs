//! A folder created by this crate, whose files only the user of this process can have written.

use super::Kind;
use super::entry::random;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file that marks the folder as disposable (<https://bford.info/cachedir/>), and as created by this crate.
const TAG: &str = "CACHEDIR.TAG";

/// The contents of that file.
fn tag_text(kind: &Kind) -> String {
    format!(
        "Signature: 8a477f597d28d172789f06886806bc55\n\
         # {} of array programs, kept by acc. It can be removed at any time.\n",
        kind.what
    )
}

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
    /// Opens the folder of a kind inside another one; creates it if it does not exist. The error says why it must not be used.
    ///
    /// Whoever can write the other folder can replace this one, but not by one that belongs to this user and is marked.
    pub(super) fn open(base: &Path, kind: &Kind) -> std::result::Result<Folder, String> {
        let path = base.join(kind.folder);
        let fd = opened(base, kind).map_err(|why| format!("{}: {why}", path.display()))?;
        let folder = Folder { fd, path };
        let tag = tag_text(kind);
        match folder.read(TAG, tag.len() as u64) {
            Ok(Some((_, text))) if text == tag.as_bytes() => Ok(folder),
            Ok(_) => Err(format!("{}: it is not marked as a cache of acc", folder.path.display())),
            Err(why) => Err(format!("{}: {TAG}: {why}", folder.path.display())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens and reads a file; none if it does not exist, an error if it is not trusted or too large.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Option<(File, Vec<u8>)>> {
        // A pipe or device of that name must not block the process: open without waiting.
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
        // If it is written to meanwhile, the checksum detects that.
        (&mut file).take(size).read_to_end(&mut bytes)?;
        Ok(Some((file, bytes)))
    }

    /// Writes a file under a fresh temporary name, then renames it.
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

/// Opens the folder inside another one; creates both if they do not exist.
fn opened(base: &Path, kind: &Kind) -> Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let base = openat(CWD, base, directory, Mode::empty())?;
    let open = || openat(&base, kind.folder, directory | OFlags::NOFOLLOW, Mode::empty());
    let fd = match open() {
        Err(Errno::NOENT) => {
            // Another process may create it at the same time: then one of them succeeds.
            let made = make(&base, kind);
            open().map_err(|error| made.err().unwrap_or_else(|| error.into()))?
        }
        opened => opened?,
    };
    trusted(&fstat(&fd)?, FileType::Directory).map_err(Error::other)?;
    Ok(fd)
}

/// Creates the folder. It is marked before it gets its name.
fn make(base: &OwnedFd, kind: &Kind) -> Result<()> {
    let draft = format!(".{}.{:016x}", kind.folder, random());
    mkdirat(base, &draft, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(base, &draft, flags, Mode::empty()).map_err(Error::from).and_then(|fd| {
        let folder = Folder { fd, path: PathBuf::from(&draft) };
        folder.write(TAG, "tag.draft", tag_text(kind).as_bytes())?;
        Ok((renameat(base, &draft, base, kind.folder), folder))
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

/// Whether a file is of the given kind and only the user of this process can write it; the error says what is wrong.
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
