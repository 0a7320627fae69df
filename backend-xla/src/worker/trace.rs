//! What a process of a launch did when, for traces of all processes.

use super::place::{Place, variables};
use acc_core::timeline::{self, Recording};
use std::io;
use std::path::{Path, PathBuf};

/// Where this process writes a trace of what it did, if its launch asks for that.
pub fn trace_file() -> Option<PathBuf> {
    let place = Place::read(|name| std::env::var(name).ok()).ok()?;
    Some(PathBuf::from(std::env::var_os(variables::TRACE)?).join(trace_name(place.process)))
}

/// The name of the file with the trace of a process.
pub fn trace_name(process: u32) -> String {
    format!("process-{process}.json")
}

/// A recording that is written when it is dropped.
pub(crate) struct Trace {
    file: PathBuf,
    recording: Option<Recording>,
}

impl Trace {
    /// A recording from now on, if the launch asks for it.
    pub(crate) fn wanted() -> Option<Trace> {
        trace_file().map(|file| Trace { file, recording: Some(timeline::record()) })
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let Some(recording) = self.recording.take() else { return };
        if let Err(e) = write(&self.file, &recording.stop().to_chrome()) {
            // Nobody takes an error of what is dropped.
            eprintln!("cannot write the trace {}: {e}", self.file.display());
        }
    }
}

/// Writes a file whole or not at all.
fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let new = file.with_extension("json.new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, file)
}
