//! Source locations.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

/// Where in the user's source an operation was written.
///
/// All locations compare equal and hash alike: two programs that differ in nothing else are the same program.
#[derive(Clone, Debug)]
pub struct Loc {
    file: File,
    line: u32,
    col: u32,
    /// The combinator that the user called, where it is composed of others.
    operation: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum File {
    Static(&'static str),
    Named(Arc<str>),
    Unknown,
}

thread_local! {
    /// Where the user wrote the combinator that is being composed of others, if one is.
    static COMPOSED: RefCell<Option<Loc>> = const { RefCell::new(None) };
}

impl Loc {
    /// A position in a named file; line and column count from 1.
    pub fn new(file: Arc<str>, line: u32, col: u32) -> Loc {
        Loc { file: File::Named(file), line, col, operation: None }
    }

    /// No position is known: the operation was made by a pass.
    pub fn unknown() -> Loc {
        Loc { file: File::Unknown, line: 0, col: 0, operation: None }
    }

    /// The caller's position; that of the user's call inside of a combinator that is composed of others.
    #[track_caller]
    pub fn caller() -> Loc {
        match COMPOSED.with_borrow(Option::clone) {
            Some(loc) => loc,
            None => Location::caller().into(),
        }
    }

    /// Runs code that composes a combinator of this name of others: all that it builds is at the caller's position, which is
    /// the user's. (The position of a closure's code would be the library's.) Of nested ones the outermost names it.
    #[track_caller]
    pub(crate) fn composed<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
        let mut loc = Loc::caller();
        loc.operation.get_or_insert(name);
        Self::with_composed(Some(loc), f)
    }

    /// The combinator that the user called here, where it is composed of others.
    pub fn operation(&self) -> Option<&'static str> {
        self.operation
    }

    /// Runs a closure of the user's inside of [`composed`](Loc::composed): what it builds has its own positions.
    pub(crate) fn of_user<R>(f: impl FnOnce() -> R) -> R {
        Self::with_composed(None, f)
    }

    /// Runs code whose position is this one.
    pub(crate) fn at<R>(self, f: impl FnOnce() -> R) -> R {
        Self::with_composed(Some(self), f)
    }

    fn with_composed<R>(loc: Option<Loc>, f: impl FnOnce() -> R) -> R {
        /// Restores what was there also after a panic.
        struct Restore(Option<Loc>);
        impl Drop for Restore {
            fn drop(&mut self) {
                COMPOSED.set(self.0.take());
            }
        }
        let _restore = Restore(COMPOSED.replace(loc));
        f()
    }

    /// The file, if known.
    pub fn file(&self) -> Option<&str> {
        match &self.file {
            File::Static(f) => Some(f),
            File::Named(f) => Some(f),
            File::Unknown => None,
        }
    }
    /// The line, from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.line
    }
    /// The column, from 1; 0 if unknown.
    pub fn col(&self) -> u32 {
        self.col
    }
    /// Whether both are the same position; `==` does not tell.
    pub fn is_at(&self, other: &Loc) -> bool {
        (self.file(), self.line, self.col) == (other.file(), other.line, other.col)
    }
    /// Whether the position is known.
    pub fn is_known(&self) -> bool {
        !matches!(self.file, File::Unknown)
    }
}

impl From<&'static Location<'static>> for Loc {
    fn from(l: &'static Location<'static>) -> Loc {
        Loc { file: File::Static(l.file()), line: l.line(), col: l.column(), operation: None }
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file() {
            Some(file) => write!(f, "{file}:{}:{}", self.line, self.col),
            None => f.write_str("<unknown>"),
        }
    }
}

impl PartialEq for Loc {
    fn eq(&self, _: &Loc) -> bool {
        true
    }
}
impl Eq for Loc {}
impl Hash for Loc {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
