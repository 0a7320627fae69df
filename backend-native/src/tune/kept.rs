//! What search found, on disk: text files that can be read, and whose schedules can be copied into programs.
//!
//! ```text
//! a3 = [i0 by 8, lanes i1, i2, unrolled i0]  # `c`: 23.1 ms, 31.0 ms before
//!
//! of:
//! ...the program, the extents of its arguments, and the machine
//! sha256: ...
//! ```
//!
//! A file is used for the program, extents and machine alone whose whole text it has. It holds loops and no code, and loops that do not
//! fit the program are not used.

use super::Chosen;
use crate::cache::{Cache, Format, Key, Kind};
use crate::{Options, llvm};
use acc_core::data::ArrayData;
use acc_core::ir::{ArrayId, Program, Schedule};
use acc_core::text::schedule_of;
use std::path::PathBuf;
use std::sync::LazyLock;

const TUNED: Kind = Kind {
    folder: "tuned",
    what: "Loop nests",
    suffix: ".schedules",
    format: Format::Text,
    max_folder_bytes: 64 << 20,
    max_file_bytes: 4 << 20,
};

/// Part of the key. To be changed whenever the text of a file gets another meaning.
const VERSION: &str = concat!("acc ", env!("CARGO_PKG_VERSION"), " schedules 1");

fn cache() -> Result<&'static Cache, String> {
    static CACHE: LazyLock<Result<Cache, String>> = LazyLock::new(|| Cache::open(&TUNED));
    CACHE.as_ref().map_err(Clone::clone)
}

/// The folder of kept schedules, or why there is none.
///
/// It is `tuned` in the folder given by the environment variable `ACC_CACHE` (`off` for none), else in `acc` in the user's cache
/// folder. Nothing is kept before the first search.
pub fn folder() -> Result<PathBuf, String> {
    Cache::place(&TUNED)
}

/// Whether there were kept schedules when the process first asked.
pub(super) fn exist() -> bool {
    static EXIST: LazyLock<bool> = LazyLock::new(|| folder().is_ok_and(|folder| folder.is_dir()));
    *EXIST
}

/// All that a choice depends on; an error without a library of LLVM.
fn key(program: &Program, args: &[ArrayData], options: &Options) -> Result<Key, String> {
    let library = llvm::status().library.ok_or("there is no machine code on this machine")?;
    let (major, minor, patch) = library.version;
    let machine = format!("llvm {major}.{minor}.{patch}, {}, {}", library.cpu, library.features);
    let threads = options.threads.filter(|n| *n > 0).unwrap_or_else(crate::threads);
    let run = format!("{threads} threads, indices checked: {}, {:?}", options.checks, options.rules);
    let extents: Vec<String> = args.iter().map(|a| format!("{:?}", a.shape())).collect();
    Ok(Key::new(&[VERSION, &machine, &run, &extents.join(" "), &format!("{program:#}")]))
}

/// What was found for a program on arguments of these extents; none if nobody has searched.
pub(super) fn get(program: &Program, args: &[ArrayData], options: &Options) -> Option<Vec<Chosen>> {
    let (cache, key) = (cache().ok()?, key(program, args, options).ok()?);
    let text = cache.get(&key)?;
    let read = std::str::from_utf8(&text).ok().and_then(|text| text.lines().map(line).collect());
    if read.is_none() {
        cache.forget(&key);
    }
    read
}

/// Keeps what was found, in a file that it yields. That nothing was faster is kept, too: nobody needs to search again.
pub(super) fn put(
    program: &Program,
    args: &[ArrayData],
    options: &Options,
    chosen: &[Chosen],
) -> Result<PathBuf, String> {
    let (cache, key) = (cache()?, key(program, args, options)?);
    let text: String = chosen.iter().map(|c| shown(c, &program.names.show(c.array)) + "\n").collect();
    cache.put(&key, text.as_bytes());
    Ok(cache.path().join(cache.file_name(&key)))
}

/// A line of a file: the assignment, and in a comment the array's name and the times.
fn shown(c: &Chosen, name: &str) -> String {
    format!("{} = {}  # {name}: {:.3} ms, {:.3} ms before", c.array, c.schedule, c.median / 1e6, c.before / 1e6)
}

/// What a line says.
fn line(text: &str) -> Option<Chosen> {
    let (assigned, comment) = text.split_once('#')?;
    let (array, schedule) = assigned.split_once('=')?;
    let array = ArrayId(array.trim().strip_prefix('a')?.parse().ok()?);
    let schedule: Schedule = schedule_of(schedule.trim()).ok()?;
    let (median, before) = comment.rsplit_once(": ")?.1.strip_suffix(" ms before")?.split_once(" ms, ")?;
    let nanoseconds = |milliseconds: &str| Some(milliseconds.parse::<f64>().ok()? * 1e6);
    Some(Chosen { array, schedule, median: nanoseconds(median)?, before: nanoseconds(before)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let schedule = schedule_of("[i0 by 8, lanes i1, i2, unrolled i0]").unwrap();
        let text = shown(&Chosen { array: ArrayId(3), schedule, median: 23.25e6, before: 31.5e6 }, "`c`");
        assert_eq!(text, "a3 = [i0 by 8, lanes i1, i2, unrolled i0]  # `c`: 23.250 ms, 31.500 ms before");
        let read = line(&text).unwrap();
        assert_eq!(shown(&read, "`c`"), text);
        assert!(line("a3 = [i0]").is_none() && line("a3 = [i0]  # `c`: 1 ms").is_none());
    }
}
