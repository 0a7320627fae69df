//! Source locations.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

/// Where in the user's source an operation was written.
///
/// All locations are equal, and so are their hashes: two programs that differ in nothing else are the same program.
#[derive(Clone, Debug)]
pub struct Loc(Place);

#[derive(Clone, Debug)]
enum Place {
    /// In Rust, and the combinator that the user called there, where it is composed of others: by reference, to keep errors
    /// small.
    Rust(&'static Location<'static>, Option<&'static &'static str>),
    Text {
        file: Arc<str>,
        line: u32,
        col: u32,
    },
    Unknown,
}

thread_local! {
    /// Where the user called the combinator whose code runs now, if it is composed of others.
    static COMPOSED: RefCell<Option<Loc>> = const { RefCell::new(None) };
}

impl Loc {
    /// A position in a named file; line and column count from 1.
    pub fn new(file: Arc<str>, line: u32, col: u32) -> Loc {
        Loc(Place::Text { file, line, col })
    }

    /// No position is known: the operation was made by a pass.
    pub fn unknown() -> Loc {
        Loc(Place::Unknown)
    }

    /// The caller's position; that of the user's call inside of a combinator that is composed of others.
    #[track_caller]
    pub fn caller() -> Loc {
        match COMPOSED.with_borrow(Option::clone) {
            Some(loc) => loc,
            None => Location::caller().into(),
        }
    }

    /// Runs the code of a combinator of this name that is composed of others: all that it builds has the caller's position,
    /// which is the user's, and not one in this library. Of nested ones the outermost counts.
    #[track_caller]
    pub(crate) fn composed<R>(name: &'static &'static str, f: impl FnOnce() -> R) -> R {
        let mut loc = Loc::caller();
        if let Place::Rust(_, operation) = &mut loc.0 {
            operation.get_or_insert(name);
        }
        Self::with_composed(Some(loc), f)
    }

    /// The combinator that the user called here, where it is composed of others.
    pub fn operation(&self) -> Option<&'static str> {
        match &self.0 {
            Place::Rust(_, operation) => operation.copied(),
            Place::Text { .. } | Place::Unknown => None,
        }
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
        /// Restores the former location, also after a panic.
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
        match &self.0 {
            Place::Rust(l, _) => Some(l.file()),
            Place::Text { file, .. } => Some(file),
            Place::Unknown => None,
        }
    }
    /// The line, from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        match &self.0 {
            Place::Rust(l, _) => l.line(),
            Place::Text { line, .. } => *line,
            Place::Unknown => 0,
        }
    }
    /// The column, from 1; 0 if unknown.
    pub fn col(&self) -> u32 {
        match &self.0 {
            Place::Rust(l, _) => l.column(),
            Place::Text { col, .. } => *col,
            Place::Unknown => 0,
        }
    }
    /// Whether both are the same position; `==` does not tell.
    pub fn is_at(&self, other: &Loc) -> bool {
        (self.file(), self.line(), self.col()) == (other.file(), other.line(), other.col())
    }
    /// Whether the position is known.
    pub fn is_known(&self) -> bool {
        !matches!(self.0, Place::Unknown)
    }
}

impl From<&'static Location<'static>> for Loc {
    fn from(l: &'static Location<'static>) -> Loc {
        Loc(Place::Rust(l, None))
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file() {
            Some(file) => write!(f, "{file}:{}:{}", self.line(), self.col()),
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
