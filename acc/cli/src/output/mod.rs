//! Files in and out.

pub mod progress;
pub mod trace;

use acc_core::text::{TestFile, verified_test_file};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// Prints a line to standard output.
macro_rules! say {
    ($($arg:tt)*) => { $crate::output::line(format_args!($($arg)*)) };
}
pub(crate) use say;

/// Prints a line to standard error.
macro_rules! complain {
    ($($arg:tt)*) => { $crate::output::complaint(format_args!($($arg)*)) };
}
pub(crate) use complain;

/// Prints a line to standard error; where that takes none (it is closed, or a device that is full), the exit status alone
/// says what happened.
pub(crate) fn complaint(text: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// Prints a line; a reader that has seen enough (`acc list | head`) ends the command without an error.
pub(crate) fn line(text: std::fmt::Arguments<'_>) {
    bytes(format!("{text}\n").as_bytes());
}

/// Prints bytes, with the same mercy.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if let Err(e) = out.write_all(bytes).and_then(|()| out.flush()) {
        let enough = e.kind() == std::io::ErrorKind::BrokenPipe;
        if !enough {
            complain!("error: cannot write to standard output: {e}");
        }
        std::process::exit(i32::from(!enough));
    }
}

/// Reads a test file or a bare program, and verifies it and what its header names.
pub fn read_program(path: &Path) -> Result<TestFile, String> {
    Ok(read_program_text(path)?.0)
}

/// The same, with its text.
pub fn read_program_text(path: &Path) -> Result<(TestFile, String), String> {
    let (name, text) = read_text(path)?;
    Ok((program_of(&name, &text)?, text))
}

/// The program of a text, verified.
pub fn program_of(name: &str, text: &str) -> Result<TestFile, String> {
    let file = verified_test_file(name, text).map_err(|e| e.to_string())?;
    conformance::headers::check(&file, name, text).map_err(|e| e.to_string())?;
    Ok(file)
}

/// Reads a text, from standard input if the path is `-`; also gives its name for messages.
pub fn read_text(path: &Path) -> Result<(String, String), String> {
    let input = path == Path::new("-");
    let name = if input { "standard input".to_string() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let read =
        if input { io::stdin().lock().read_to_end(&mut bytes).map(drop) } else { fs::read(path).map(|b| bytes = b) };
    read.map_err(|e| format!("cannot read {name}: {e}\n  help: give the path of a program in text form; `acc list` shows those that come with acc"))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        format!("{name} is not UTF-8 text\n  help: a program is a text file; docs/TEXT.md describes it")
    })?;
    Ok((name, text))
}

/// Writes a file whole or not at all: to a temporary one beside it, which then takes its name. What exists and is no file
/// (a device, a pipe) is written to directly; a link stays one.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), String> {
    let write = || -> io::Result<()> {
        let file = match fs::metadata(path) {
            Ok(there) if !there.is_file() => return fs::write(path, contents),
            Ok(_) => path.canonicalize()?,
            Err(_) => path.to_path_buf(),
        };
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // An error of the folder is reported without the name of the temporary file.
        if !fs::metadata(folder)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut builder = tempfile::Builder::new();
        // A temporary file is private; a file that the user asked for has the permissions of any other.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut new = builder.tempfile_in(folder)?;
        new.write_all(contents)?;
        new.persist(file).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| format!("cannot write {}: {e}", path.display()))
}
