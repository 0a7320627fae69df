//! The machine code that is kept on disk: a process does not compile what an earlier one has compiled.

use crate::cache::{Cache, Format, Kind};
use std::path::PathBuf;
use std::sync::LazyLock;

const MACHINE_CODE: Kind = Kind {
    folder: "machine-code",
    what: "Machine code",
    suffix: ".kernel",
    format: Format::Binary,
    // Several thousand kernels.
    max_folder_bytes: 256 << 20,
    max_file_bytes: 16 << 20,
};

/// The cache of this process; the error says why there is none.
pub(super) fn cache() -> &'static Result<Cache, String> {
    static CACHE: LazyLock<Result<Cache, String>> = LazyLock::new(|| Cache::open(&MACHINE_CODE));
    &CACHE
}

/// The folder of cached machine code, or why there is none.
///
/// It is `machine-code` in the folder given by the environment variable `ACC_CACHE` (`off` for none), else in `acc` in
/// the user's cache folder. It must have been created by this crate, belong to the user of this process, and be
/// writable by nobody else.
pub fn machine_code_folder() -> Result<PathBuf, String> {
    cache().as_ref().map(|cache| cache.path().to_path_buf()).map_err(Clone::clone)
}
