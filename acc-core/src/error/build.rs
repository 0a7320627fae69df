//! Mistakes in how the typed API was used.

use crate::ir::Loc;

/// A mistake in how the typed API was used.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A scalar expression left its closure.
    #[error(
        "scalar expression used after its closure ended\n  created in the closure opened at {created}\n  used at {used}\n  help: an `Exp` lives only inside the combinator closure that made it; return it, or pass it through an array"
    )]
    EscapedExp {
        /// The closure that made it.
        created: Loc,
        /// The use.
        used: Loc,
    },
    /// A scalar expression that was made outside of every closure was used when it was gone.
    #[error(
        "scalar expression used when it was gone\n  made outside of every closure at {created}\n  used at {used}\n  help: such an expression lasts until the second program after its last use, and as long as the array that it reads is held elsewhere; keep that array in a variable, or make the expression for each program"
    )]
    StaleExp {
        /// Where it was made.
        created: Loc,
        /// The use.
        used: Loc,
    },
    /// An array operation inside a scalar function depends on that function's argument.
    #[error(
        "nested data parallelism: an array operation at {used} depends on the per-element variable of the closure at {lambda}\n  help: hoist the inner array operation out, or use replicate/zip_with/segmented operations; to use the element of a rank-0 array here, read it with `.the()`"
    )]
    NestedParallelism {
        /// The closure.
        lambda: Loc,
        /// The array operation.
        used: Loc,
    },
    /// A value that may fault is shared by so many branches, within each other, that copying it into each of them makes
    /// the function too large.
    #[error(
        "too many copies: values that may fault (array reads, integer divisions, loops) are shared by branches inside branches, at {used}\n  help: compute the shared value before the first branch, or in an array operation of its own"
    )]
    TooManyCopies {
        /// The closure.
        used: Loc,
    },
    /// A value was read as a type with other scalar leaves.
    #[error(
        "`coerce` from {from} to {to} at {used}\n  help: the types must have the same scalar leaves in the same order"
    )]
    Coerce {
        /// The type of the value.
        from: String,
        /// The type asked for.
        to: String,
        /// The use.
        used: Loc,
    },
    /// A schedule that an array cannot have.
    #[error("the schedule {}at {used} cannot be: {why}\n  its loops are {loops}", .array.as_ref().map(|a| format!("of {a} ")).unwrap_or_default())]
    Schedule {
        /// The array, where its name is known.
        array: Option<String>,
        /// What is wrong, and what would be right.
        why: String,
        /// The loops, outermost first.
        loops: String,
        /// Where the array gets it.
        used: Loc,
    },
    /// A derivative of a function that does not depend smoothly on its arguments.
    #[error(
        "the derivative is identically zero: {}\n  in the derivative at {used}\n  help: a derivative is by the arguments of its closure; what the closure takes from around it is constant",
        .blocked.as_ref().map_or("no result depends on the point".into(), |(op, loc)| format!("the only path passes `{op}` at {loc}"))
    )]
    ZeroDerivative {
        /// The first operation on the way through which no derivative goes.
        blocked: Option<(&'static str, Loc)>,
        /// The derivative.
        used: Loc,
    },
    /// A function with a rule for its derivative reads what the derivative is by, beside its arguments.
    #[error(
        "a rule without all of the point: the function with a rule at {used} reads, at {read}, what depends on the point of a derivative and is none of its arguments\n  help: pass it among the arguments, for the rule to give its part; or take it for a constant, by `stop_gradient`"
    )]
    ActiveCapture {
        /// The function with the rule.
        used: Loc,
        /// The read.
        read: Loc,
    },
    /// A rule for a derivative that is not linear.
    #[error(
        "a rule that is not linear: `{op}` at {at}, in the rule of the function at {used}\n  help: a rule adds up tangents or adjoints and multiplies them by what does not depend on them; what else it needs of the function are its arguments or residuals"
    )]
    NonlinearRule {
        /// The first operation that is not linear.
        op: &'static str,
        /// Where it was written.
        at: Loc,
        /// The function with the rule.
        used: Loc,
    },
    /// An array of a function body was used outside of it.
    #[error(
        "array used outside the array function that made it\n  used at {used}\n  help: return the array from the function, or pass it in as an argument"
    )]
    EscapedArray {
        /// The use.
        used: Loc,
    },
    /// An index over a named axis whose size no array says.
    #[error(
        "axis {name} has no size: no array with this axis is read in the closure at {closure}\n  its index is made at {used}\n  help: read an array with this axis at the index, or give the extents: `each_of(extents, ..)`"
    )]
    UnboundAxis {
        /// The name of the axis.
        name: String,
        /// The closure in which sizes are looked for.
        closure: Loc,
        /// The index.
        used: Loc,
    },
}
