//! Errors.

mod build;

pub use build::BuildError;

use crate::data::ShapeError;
use crate::ir::{ArrayName, Loc, Program};
use crate::memory::NoMemory;
use std::sync::Arc;

/// What can go wrong when a program is built, prepared or run.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be built: a mistake in how the typed API was used.
    #[error("invalid program: {0}")]
    Build(#[from] Arc<BuildError>),
    /// The program breaks a rule of the core IR: a defect in the front end or a pass, or a wrong program text.
    #[error("malformed program: {0}")]
    Verify(Box<VerifyError>),
    /// The program text cannot be read.
    #[error("{0}")]
    Parse(Box<ParseError>),
    /// A run-time fault of the user's program.
    #[error("{}", fault_message(.fault, .op, .loc))]
    Fault {
        /// What happened.
        fault: Fault,
        /// The array operation during which it happened.
        op: &'static str,
        /// Where the user wrote the operation or expression that faulted.
        loc: Loc,
    },
    /// The arguments of a call do not fit the program.
    #[error("argument {position}: {error}")]
    Argument {
        /// Counted from 0.
        position: usize,
        /// What does not fit.
        error: ShapeError,
    },
    /// The number of arguments is wrong.
    #[error("the program takes {want} arguments, but {got} were given")]
    ArgumentCount {
        /// Wanted.
        want: usize,
        /// Given.
        got: usize,
    },
    /// A limit of the run was reached.
    #[error("stopped: {0}")]
    Limit(LimitError),
    /// There is no memory for an array, or for something else that grows with the data.
    #[error("no memory for {what}{}", during(.at))]
    OutOfMemory {
        /// For what: `an array of 1000000 elements of 8 bytes`.
        what: String,
        /// How many bytes were asked for, where that is known.
        bytes: Option<u64>,
        /// During which operation.
        at: Option<Box<Site>>,
    },
    /// There is no such device, or it cannot be used.
    #[error("{executor}: {message}")]
    Device {
        /// The executor.
        executor: &'static str,
        /// What is wrong, and what there is.
        message: String,
    },
    /// No thread could be started.
    #[error("no thread can be started: {source}")]
    Threads {
        /// What the operating system says.
        source: Cause,
    },
    /// A library that an executor uses failed.
    #[error("{library}: {source}{}", during(.at))]
    Library {
        /// The library: `libtorch`.
        library: &'static str,
        /// What it says.
        source: Cause,
        /// During which operation.
        at: Option<Box<Site>>,
    },
    /// The program cannot be written in a format.
    #[error("cannot be written as {format}: {source}")]
    Export {
        /// The format: `ONNX`.
        format: &'static str,
        /// Why.
        source: Cause,
    },
    /// A foreign function of the user's failed.
    #[error("the foreign function `{name}` at {loc} failed: {source}")]
    Foreign {
        /// The function.
        name: Arc<str>,
        /// The call.
        loc: Loc,
        /// Its error.
        source: Cause,
    },
    /// A defect of an executor: what cannot be in a verified program. Please report it.
    #[error("{executor}: a defect: {message}{}", during(.at))]
    Defect {
        /// The executor.
        executor: &'static str,
        /// What was found.
        message: String,
        /// During which operation.
        at: Option<Box<Site>>,
    },
}

impl Error {
    /// A defect of an executor.
    pub fn defect(executor: &'static str, message: impl Into<String>) -> Error {
        Error::Defect { executor, message: message.into(), at: None }
    }

    /// No memory for an array of so many elements of so many bytes each.
    pub fn no_memory(elements: usize, width: usize) -> Error {
        let bytes = (elements as u64).checked_mul(width as u64);
        let unit = if width == 1 { "byte" } else { "bytes" };
        Error::OutOfMemory { what: format!("an array of {elements} elements of {width} {unit}"), bytes, at: None }
    }

    /// The error, with the operation during which it happened where it tells none.
    #[must_use]
    pub fn during(mut self, op: &'static str, loc: &Loc) -> Error {
        if let Error::OutOfMemory { at, .. } | Error::Library { at, .. } | Error::Defect { at, .. } = &mut self {
            at.get_or_insert_with(|| Box::new(Site { op, loc: loc.clone() }));
        }
        self
    }
}

/// An array operation of the program, and where the user wrote it.
#[derive(Clone, PartialEq, Debug)]
pub struct Site {
    /// The operation.
    pub op: &'static str,
    /// Its line.
    pub loc: Loc,
}

fn during(at: &Option<Box<Site>>) -> String {
    at.as_ref().map(|site| format!("\n  in `{}` at {}", site.op, site.loc)).unwrap_or_default()
}

/// The error of a library, of the system or of a foreign function: the [`source`](std::error::Error::source) of an
/// [`Error`]. Two are equal if they say the same.
///
/// ```
/// use acc_core::prelude::*;
/// use acc_core::Cause;
/// use std::error::Error as _;
/// let text = Cause::new("the file is gone");
/// assert_eq!(text.to_string(), "the file is gone");
/// let error = Error::Threads { source: text };
/// assert_eq!(error.source().unwrap().to_string(), "the file is gone");
/// ```
#[derive(Clone)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// An error, or a text as one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use acc_core::Cause;
    /// assert_eq!(Cause::new("too slow"), Cause::new("too slow".to_string()));
    /// ```
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Cause {
        Cause(error.into().into())
    }

    /// The error itself, to be downcast to its type.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use acc_core::Cause;
    /// let cause = Cause::new("7x".parse::<i32>().unwrap_err());
    /// assert!(cause.get().is::<std::num::ParseIntError>());
    /// ```
    pub fn get(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_string() == other.to_string()
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Debug for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

fn fault_message(fault: &Fault, op: &str, loc: &Loc) -> String {
    let mut text = format!("{fault}\n  in `{op}` at {loc}");
    if let Fault::IndexOutOfBounds { array, .. } = fault
        && let Some(defined) = array.defined().filter(|defined| !defined.is_at(loc))
    {
        text += &format!("\n  {} is defined at {defined}", array.again());
    }
    text
}

/// A run-time fault.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// A read or a target position out of bounds.
    #[error("index {} is out of bounds for {array} of shape {}", tuple(.index), tuple(.shape))]
    IndexOutOfBounds {
        /// The array.
        array: ArrayName,
        /// The index.
        index: Vec<i64>,
        /// The array's extents.
        shape: Vec<usize>,
    },
    /// An integer division or remainder by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// A negative extent.
    #[error("negative extent in shape {}", tuple(.shape))]
    NegativeExtent {
        /// The shape asked for.
        shape: Vec<i64>,
    },
    /// A shape too large to address.
    #[error("shape {} has more elements than memory can address", tuple(.shape))]
    ShapeOverflow {
        /// The shape asked for.
        shape: Vec<i64>,
    },
    /// A `fold1` over a dimension without elements.
    #[error("empty array: a fold without an initial value needs at least one element, but the shape is {}", tuple(.shape))]
    EmptyFold {
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// A `reshape` to a shape of another size.
    #[error("cannot reshape {} to {}: the number of elements differs", tuple(.from), tuple(.to))]
    ReshapeSize {
        /// The shape of the array.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },
    /// An array too small for the single reflection or wrap of a stencil's boundary.
    #[error("an array of shape {} is too small for a {boundary} boundary of a stencil of extent {}", tuple(.shape), tuple(.window))]
    StencilExtent {
        /// The shape of the array.
        shape: Vec<usize>,
        /// The extents of the window.
        window: Vec<usize>,
        /// `mirror` or `wrap`.
        boundary: &'static str,
    },
    /// A condition of the program does not hold: see [`Acc::check`](crate::Acc::check).
    #[error("{message}")]
    CheckFailed {
        /// What is wrong.
        message: String,
    },
}

impl Fault {
    /// A fault that names arrays as a program does.
    #[must_use]
    pub fn in_program(self, program: &Program) -> Fault {
        match self {
            Fault::IndexOutOfBounds { array, index, shape } => {
                Fault::IndexOutOfBounds { array: array.in_program(program), index, shape }
            }
            other => other,
        }
    }

    /// A condition that does not hold: each `{}` of the message stands for the next of the numbers.
    pub fn check_failed(message: &str, numbers: &[i64]) -> Fault {
        let mut parts = message.split("{}");
        let mut text = parts.next().unwrap_or_default().to_string();
        let mut numbers = numbers.iter();
        for part in parts {
            text.push_str(&numbers.next().map_or("{}".into(), i64::to_string));
            text.push_str(part);
        }
        Fault::CheckFailed { message: text }
    }

    /// Every kind of fault.
    pub const KINDS: &'static [&'static str] = &[
        "index_out_of_bounds",
        "division_by_zero",
        "negative_extent",
        "shape_overflow",
        "empty_fold",
        "reshape_size",
        "stencil_extent",
        "check_failed",
    ];

    /// The kind of fault, one of [`KINDS`](Fault::KINDS): what test files write.
    pub fn kind(&self) -> &'static str {
        match self {
            Fault::IndexOutOfBounds { .. } => "index_out_of_bounds",
            Fault::DivisionByZero => "division_by_zero",
            Fault::NegativeExtent { .. } => "negative_extent",
            Fault::ShapeOverflow { .. } => "shape_overflow",
            Fault::EmptyFold { .. } => "empty_fold",
            Fault::ReshapeSize { .. } => "reshape_size",
            Fault::StencilExtent { .. } => "stencil_extent",
            Fault::CheckFailed { .. } => "check_failed",
        }
    }
}

fn tuple<T: std::fmt::Display>(v: &[T]) -> String {
    let parts: Vec<String> = v.iter().map(T::to_string).collect();
    format!("({}{})", parts.join(", "), if v.len() == 1 { "," } else { "" })
}

/// Why a run stopped early.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LimitError {
    /// The deadline passed.
    #[error("the deadline passed")]
    Deadline,
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// More memory was asked for than allowed.
    #[error("{asked} bytes of array memory asked for, {allowed} allowed")]
    Memory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes allowed.
        allowed: u64,
    },
}

/// A rule of the core IR is broken.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[error("{op} at {loc}: {message} (rule {rule}{})", .pass.map(|p| format!(", after pass {p}")).unwrap_or_default())]
pub struct VerifyError {
    /// The number of the rule in the documentation of [`verify`](crate::verify).
    pub rule: &'static str,
    /// The array operation.
    pub op: &'static str,
    /// Where the user wrote it.
    pub loc: Loc,
    /// What is wrong.
    pub message: String,
    /// The pass that made it, if one did.
    pub pass: Option<&'static str>,
}

/// A program text cannot be read.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[error("{file}:{line}:{col}: {}\n{}", shortened(.message), caret(.source_line, *.line, *.col))]
pub struct ParseError {
    /// The file's name.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub col: u32,
    /// What is wrong, and what was expected.
    pub message: String,
    /// The line's text.
    pub source_line: String,
}

impl From<NoMemory> for Error {
    fn from(NoMemory { bytes }: NoMemory) -> Error {
        Error::OutOfMemory { what: format!("{bytes} bytes more"), bytes: Some(bytes as u64), at: None }
    }
}

/// A message without the middle of a name or number that fills pages.
fn shortened(message: &str) -> String {
    const CHARS_PER_END: usize = 1000;
    let mut chars = message.char_indices();
    match (chars.nth(CHARS_PER_END), chars.nth_back(CHARS_PER_END)) {
        (Some((head, _)), Some((tail, _))) => format!("{} ... {}", &message[..head], &message[tail..]),
        _ => message.into(),
    }
}

/// The line with a caret under the column; of a long line, the part around it.
fn caret(text: &str, line: u32, col: u32) -> String {
    const MAX_CHARS: usize = 120;
    let at = col.saturating_sub(1) as usize;
    let start = if at < MAX_CHARS { 0 } else { at - MAX_CHARS / 2 };
    let shown: String = text.chars().skip(start).take(MAX_CHARS.max(at - start + 1)).collect();
    let number = line.to_string();
    let pad = " ".repeat(number.len());
    let space: String = shown.chars().take(at - start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("{pad} |\n{number} | {shown}\n{pad} | {space}^")
}
