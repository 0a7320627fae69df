//! Second-order fusion: which statements of a program become one kernel.
//!
//! A *kernel* runs over one index space once. What it stores are the results of its *main* statements, computed at the
//! points of the space (stored, folded, scanned or permuted), and of its *epilogue*, element-wise statements over the
//! results of its folds, scans or permutes. Every other element-wise statement that it needs is *inlined*: computed
//! where it is read, never stored.
//!
//! | what | file |
//! |---|---|
//! | how statements read arrays | `uses` |
//! | what they cost, and whether they fault or loop | `cost` |
//! | which statements end, which without a fault, and which are needed | `total` |
//! | which arrays have the same extents | `analysis::extents` |
//! | which permutes keep elements in order | `compaction` |
//! | which folds of folds are one | `nested` |
//! | which arrays are read in the order that sorts them | `sorted` |
//! | which sorts are read from one end alone | `selected` |
//! | what a kernel in the making holds | `kernel` |
//! | the decisions, consumers first | `decide` |
//! | what must hold of them | `verify` |
//!
//! The rules:
//!
//! 1. *Element-wise* statements may be inlined: `generate`, `map`, `backpermute`, `replicate`, `slice`, `stencil`, and
//!    `check`, whose condition is still tested. Any other result is stored, except that of a fold, scan or permute
//!    that its epilogue alone reads.
//! 2. *Cost.* Work is done again only where that is cheaper than memory: a statement whose element costs `c` additions
//!    and is computed `r` times is inlined if `c * (r - 1)`, with the same of the consumers it is inlined into, is at
//!    most [`STORE`]. It is computed once at each kernel's own points, however many statements read it there. A gather
//!    counts as [`GATHER`], a new axis, and a read inside of a loop, as [`COPIES`], a window as its extent.
//! 3. *Siblings* over one index space that read each element of an array once, mostly at their own points, become one kernel,
//!    with what they read, if every evaluation of the block needs one of them, the others are needed too or end without a
//!    fault, and none depends on another in any other way. What is read behind a comparison of coordinates with its own
//!    extents alone counts as needed.
//! 4. *Barriers.* What a barrier, a sort, a view, a foreign function, a loop or a conditional takes, what a loop puts into a
//!    row of an array, and what a block yields, is stored.
//! 5. *Faults.* What may fault does not join what comes after it and may not end, nor what then evaluates an array on
//!    demand that may not end: its fault could be lost. (Which of several faults is the first is for the executor to find
//!    out, without fusion.)
//! 6. *Compactions.* A permute that puts elements one after the other needs no counts: what counts them for it alone is
//!    not computed.
//! 7. *Folds of folds* by one operator are one, along several axes, if rows run side by side in memory.
//! 8. *Sorts.* What reads an array at the positions that sort it, where nothing else needs these, sorts it; they are not
//!    stored.
//! 9. *Selections.* A sort of which a few elements at one end of each row are read, and nothing else, selects them.
//! 10. *Permuted axes.* What reads the results of a scan with axes in another order alone is its epilogue, too.
//! 11. *Schedules.* The kernel of an array that the program has a schedule for has no siblings.
//! 12. *Size.* The body of a kernel has at most [`KERNEL_NODES`] nodes.

mod compaction;
mod cost;
mod decide;
mod kernel;
mod nested;
mod one_to_one;
mod selected;
mod sorted;
mod total;
mod uses;
mod verify;

pub use compaction::Compaction;
pub use selected::{End, Selection};

/// The matrix product that a statement is, if fusion stores its factors for one.
pub fn matrix_product(defs: &Definitions<'_>, s: &Stmt) -> Option<Contraction> {
    contraction(defs, s).filter(uses::is_matrix_product)
}

use crate::analysis::contraction::{Contraction, Definitions, contraction};
use crate::settings::Settings;
use acc_core::Error;
use acc_core::ir::{ArrayId, Program, Stmt};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// What storing an element and reading it again costs, in additions over a vector of lanes.
pub const STORE: usize = 10;
/// How often a gather is taken to read an element.
pub const GATHER: usize = 2;
/// How often an element is taken to be read along a new axis, or by a loop.
pub const COPIES: usize = 6;
/// Nodes of a kernel's body at most.
pub const KERNEL_NODES: usize = 600;

/// The kernels of a program.
#[derive(Debug, Default)]
pub struct Fusion {
    /// The kernels, in no order.
    pub kernels: Vec<Group>,
    /// For each array the kernel that computes it, if one does.
    kernel_of: Vec<Option<usize>>,
    /// For each array whether it is computed where it is read.
    inlined: Vec<bool>,
    /// The permutes that are compactions, by their results.
    compactions: HashMap<ArrayId, Compaction>,
    /// The folds that are one with an outer one, by the outermost's result: each the elements of the one before it.
    nested: HashMap<ArrayId, Vec<ArrayId>>,
    /// The arrays that are sorted without the positions that sort them.
    sorted: HashSet<ArrayId>,
    /// What is read of the positions that sort rows, where that is not all, by the results of the sorts.
    selected: BTreeMap<ArrayId, Selection>,
    /// What was decided for each array that might have been fused, in program order.
    pub notes: Vec<Note>,
}

/// The statements of one kernel, by their results.
#[derive(Debug, Default, Clone)]
pub struct Group {
    /// Over the kernel's index space, in program order.
    pub main: Vec<ArrayId>,
    /// Over the results of its folds, scans or permutes, in program order.
    pub epilogue: Vec<ArrayId>,
    /// Those of the main results that nothing but the epilogue reads: they are not stored.
    pub transient: Vec<ArrayId>,
    /// The permutation of the epilogue's axes: for each of them the axis of the results that it reads. `None` is the
    /// identity.
    pub order: Option<Vec<usize>>,
}

impl Group {
    /// The results that are stored.
    pub fn stored(&self) -> impl Iterator<Item = ArrayId> + '_ {
        let main = self.main.iter().filter(|a| !self.transient.contains(a));
        main.chain(&self.epilogue).copied()
    }
}

/// A decision.
#[derive(Debug, Clone)]
pub struct Note {
    /// The array.
    pub array: ArrayId,
    /// What became of it.
    pub what: What,
}

/// What became of an array that might have been fused.
#[derive(Debug, Clone)]
pub enum What {
    /// Computed where these kernels read it; a kernel is named by its first result.
    Inlined(Vec<ArrayId>),
    /// Stored by the kernel that also computes the array named.
    With(ArrayId),
    /// Not stored: elements go, as they are computed, to what else its kernel computes at them, this array first.
    Followed(ArrayId),
    /// Stored, with the reason.
    Stored(&'static str),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Inlined(into) if into.is_empty() => {
                write!(f, "{} is not computed: its extents alone are read", self.array)
            }
            What::Inlined(into) => {
                write!(f, "{} is fused into ", self.array)?;
                into.iter().enumerate().try_for_each(|(k, a)| write!(f, "{}{a}", if k > 0 { ", " } else { "" }))
            }
            What::With(other) => write!(f, "{} is computed with {other}", self.array),
            What::Followed(by) => write!(f, "{by} is fused with {}, which is not stored", self.array),
            What::Stored(why) => write!(f, "{} is stored: {why}", self.array),
        }
    }
}

/// One kernel a line, then the decisions.
impl fmt::Display for Fusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |arrays: &[ArrayId]| arrays.iter().map(ArrayId::to_string).collect::<Vec<_>>().join(", ");
        for Group { main, epilogue, transient, order } in &self.kernels {
            write!(f, "kernel {}", list(main))?;
            if !epilogue.is_empty() {
                write!(f, ", then {}", list(epilogue))?;
            }
            if let Some(order) = order {
                write!(f, " with axes in the order {order:?}")?;
            }
            if !transient.is_empty() {
                write!(f, "; not stored: {}", list(transient))?;
            }
            writeln!(f)?;
        }
        for (positions, Selection { end, .. }) in &self.selected {
            let end = if *end == End::First { "first" } else { "last" };
            writeln!(f, "{positions} is selected: the {end} elements of each row alone are read")?;
        }
        self.notes.iter().try_for_each(|n| writeln!(f, "{n}"))
    }
}

impl Fusion {
    /// Every statement a kernel of its own.
    pub fn none(program: &Program) -> Fusion {
        decide::alone(program)
    }

    /// Whether an array is computed where it is read.
    pub fn is_inlined(&self, a: ArrayId) -> bool {
        self.inlined.get(a.index()).copied().unwrap_or(false)
    }

    /// The compaction that a permute is.
    pub fn compaction(&self, a: ArrayId) -> Option<&Compaction> {
        self.compactions.get(&a)
    }

    /// All compactions, by the results of their permutes.
    pub fn compactions(&self) -> impl Iterator<Item = (ArrayId, &Compaction)> {
        self.compactions.iter().map(|(a, c)| (*a, c))
    }

    /// The folds whose axes a fold runs along besides its own: the first are its elements, the next those of that one.
    pub fn nested(&self, a: ArrayId) -> &[ArrayId] {
        self.nested.get(&a).map_or(&[], Vec::as_slice)
    }

    /// Whether an array holds the elements of the one that its statement reads, each row sorted.
    pub fn is_sorted(&self, a: ArrayId) -> bool {
        self.sorted.contains(&a)
    }

    /// What is read of the positions that sort rows, if that is not all.
    pub fn selection(&self, positions: ArrayId) -> Option<&Selection> {
        self.selected.get(&positions)
    }

    /// The kernel that computes an array.
    pub fn kernel(&self, a: ArrayId) -> Option<&Group> {
        self.kernels.get(self.kernel_of.get(a.index()).copied().flatten()?)
    }
}

/// Decides for a verified program, unless the settings say that every statement is a kernel of its own.
pub(crate) fn fuse(program: &Program, settings: &Settings<'_>) -> Result<Fusion, Error> {
    if settings.fuse { decide::decide(program, settings.limits) } else { Ok(Fusion::none(program)) }
}
