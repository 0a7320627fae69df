//! Typed array programs, in the style of Haskell's [Accelerate](https://www.acceleratehs.org): `map`, `fold`, `scan`,
//! `permute`, `stencil` and their like over multi-dimensional arrays, with ordinary Rust closures for the scalar code.
//!
//! A program is a value. Nothing is computed while it is written; an executor takes it whole, fuses its operations and
//! compiles what is left to machine code for the processor at hand.
//!
//! ```
//! use acc_array::prelude::*;
//!
//! # fn main() -> Result<(), Error> {
//! let xs = use_(&Vector::from([1.0f32, 7.0, 5.0, 5.0]));
//! let mean_square = xs.map(|x| x * x).sum().map(|sum| sum / xs.length().to::<f32>());
//! assert_eq!(acc_array::run(mean_square)?.value(), 25.0);
//! # Ok(())
//! # }
//! ```
//!
//! # Reading programs
//!
//! * [`Array`]`<Sh, E>` is an array in memory, of rank 0 to 9: [`Scalar`], [`Vector`], [`Matrix`] are short names.
//!   [`Acc`]`<Array<Sh, E>>` is a program that yields one, [`Exp`]`<E>` a scalar expression inside of it.
//! * [`use_`](fn@array::use_) makes a program of an array. Combinators are methods of [`Acc`].
//! * [`run`] evaluates a program once, [`compile`] makes a function of a closure over programs, to be called often and
//!   from many threads. Programs of the same structure are compiled once either way.
//! * What only a run can find out (an index out of bounds, a division by zero, a limit reached) is an [`Error`] that names
//!   the line of your closure. Branches are lazy: what is not taken is not evaluated, and cannot fail.
//!
//! # Operations
//!
//! | family | methods and functions | where |
//! |---|---|---|
//! | construction | `use_`, `generate`, `fill`, `unit`, `enum_from`, `concat` | [`array`](mod@array) |
//! | element by element | `map`, `zip_with`, `imap`, `zip`, operators on arrays | [`Acc`] |
//! | shapes and parts | `reshape`, `transpose`, `replicate`, `slice`, `take`, `drop`, `reverse`, `pad`, `concat_all_on` | [`array`](mod@array), [`Acc`] |
//! | permutations | `backpermute`, `gather`, `permute`, `scatter`, `scatter_rows`, `gather_rows` | [`Acc`] |
//! | folds | `fold`, `fold1`, `sum`, `minimum`, `all`, `fold_seg`, `matmul`, `mean`, `arg_max`, `maximum_at`; over chosen axes `sum_over`, `fold_over`, .. | [`Acc`] |
//! | scans | `scanl`, `scanr`, `scanl1`, `prescanl`, `postscanl`, segmented ones | [`Acc`] |
//! | filters | `filter`, `compact`, `expand` | [`Acc`] |
//! | stencils | `stencil`, `istencil`, [`Edge`](stencil::Edge), windows | [`stencil`] |
//! | networks | `conv`, `max_pool`, `mean_pool`, `patches`, `softmax`, `cross_entropy`, `dropout`, optimisers | [`Acc`], [`network`] |
//! | tensor expressions | `tensor!`, `einsum!` | [`array`](mod@array) |
//! | schedules | `schedule`, `scheduled`: the loops that compute an array | [`schedule`] |
//! | named axes | `axes!`, `each`, `total`, `most`, `accumulate` | [`named`] |
//! | sorting | `sort`, `sort_by_key`, `argsort`, `unique` | [`Acc`] |
//! | branches and loops | `cond`, `while_`, `acond`, `awhile`, `aiterate`, `afor`, `match_` | [`control`] |
//! | derivatives | `grad`, `jvp`, `vjp`, `hvp`, `deriv`, `with_vjp`, `checkpoint`, `fixpoint` | [`derivative`] |
//! | scalars | arithmetic, comparisons, bits, mathematical functions, conversions | [`scalar`] |
//! | elements | `#[derive(Elt)]`, options, complex numbers, fractions, `f16` | [`element`] |
//! | random numbers | `random_f32`, `random_normal`, .. | [`random`] |
//! | files | `read_npy`, `write_npy`, `.npz` (feature `npy`) | `npy` |
//!
//! # Executors
//!
//! | executor | feature | what it is for |
//! |---|---|---|
//! | `Native` | `native` (default) | a CPU: fused loops on all cores, machine code where an LLVM is found at run time |
//! | [`Interpreter`] | | the reference: sequential and slow; what programs mean |
//! | `Libtorch` | `libtorch` | a CPU or a CUDA device, as tensor operations; building it needs libtorch |
//!
//! All give the same integers, and floats within stated bounds. The feature `graph` exports programs as tensor graphs
//! (text, DOT, Mermaid, JSON, ONNX) and needs no library.
//!
//! # Rust versions
//!
//! The oldest Rust that is supported is the current stable one less two; raising it is a minor release.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod families;
pub mod prelude;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../docs/GRADIENTS.md")]
struct Gradients;

#[cfg(doctest)]
#[doc = include_str!("../../docs/DEX.md")]
struct Dex;

#[cfg(doctest)]
#[doc = include_str!("../../docs/SCHEDULES.md")]
struct Schedules;

#[cfg(feature = "npy")]
pub use families::npy;
pub use families::{
    array, control, derivative, element, foreign, haskell, named, network, random, scalar, schedule, stencil,
};

pub use acc_core::FacadeElt as Elt;
pub use acc_core::api::Elt;
pub use acc_core::api::{Acc, AccFn, Array, Compiled, Exp, Matrix, Pending, Run, Scalar, Vector};
/// What each pass and each kernel did when, as a trace for Perfetto.
pub use acc_core::timeline;
pub use acc_core::{
    Backend, BuildError, CancelToken, Cause, Error, Executor, Fault, Interpreter, LimitError, RunLimits, Site,
    VerifyError,
};

#[cfg(feature = "native")]
#[cfg_attr(docsrs, doc(cfg(feature = "native")))]
pub use backend_native::Native;

/// The native executor: its options, what it made of a program, and the LLVM that it found.
#[cfg(feature = "native")]
#[cfg_attr(docsrs, doc(cfg(feature = "native")))]
pub mod native {
    pub use backend_native::*;
}

/// Programs as first-order tensor graphs, and their exports.
#[cfg(feature = "graph")]
#[cfg_attr(docsrs, doc(cfg(feature = "graph")))]
pub mod graph {
    pub use backend_graph::*;
}

#[cfg(feature = "libtorch")]
#[cfg_attr(docsrs, doc(cfg(feature = "libtorch")))]
pub use backend_graph::Libtorch;

/// What `#[derive(Elt)]` writes refers to.
#[doc(hidden)]
pub use acc_core as __core;

#[cfg(feature = "native")]
mod default {
    use acc_core::api::{AccFn, Arrays, Compiled, IntoAcc, Run};
    use acc_core::{Error, RunLimits};
    use backend_native::Native;
    use std::sync::LazyLock;

    static EXECUTOR: LazyLock<Native> = LazyLock::new(Native::new);

    /// Runs a program on this process's native executor, and yields its array, or its tuple of arrays.
    ///
    /// A program of the same structure as an earlier one is not compiled again, whatever its data.
    ///
    /// # Errors
    ///
    /// [`Error::Build`] if the program cannot be, [`Error::Fault`] if it faults, [`Error::OutOfMemory`].
    ///
    /// ```
    /// use acc_array::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// assert_eq!(acc_array::run(xs.map(|x| x * x).sum())?.value(), 14);
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "native")))]
    pub fn run<A: Arrays>(program: impl IntoAcc<A>) -> Result<A, Error> {
        EXECUTOR.run(program)
    }

    /// [`run`], within limits of memory and time.
    ///
    /// # Errors
    ///
    /// Those of [`run`], and [`Error::Limit`] for a limit that is reached.
    ///
    /// ```
    /// use acc_array::prelude::*;
    /// let limits = RunLimits::none().max_bytes(1000);
    /// assert_eq!(acc_array::run_with(fill(10, 1.5), &limits)?.to_vec(), [1.5; 10]);
    /// assert!(matches!(acc_array::run_with(fill(10_000, 1.5), &limits), Err(Error::Limit(_))));
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "native")))]
    pub fn run_with<A: Arrays>(program: impl IntoAcc<A>, limits: &RunLimits) -> Result<A, Error> {
        EXECUTOR.run_with(program, limits)
    }

    /// Compiles an array function on this process's native executor, to be called many times with arrays of any extents.
    ///
    /// ```
    /// use acc_array::prelude::*;
    /// let dot = compile(|xs: Acc<Vector<f64>>, ys: Acc<Vector<f64>>| xs.zip_with(&ys, |x, y| x * y).sum())?;
    /// let xs = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(dot.call((&xs, &xs))?.value(), 14.0);
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "native")))]
    #[track_caller]
    pub fn compile<Args, Out: Arrays, F: AccFn<Args, Out>>(f: F) -> Result<Compiled<Native, Args, Out>, Error> {
        EXECUTOR.compile(f)
    }
}
#[cfg(feature = "native")]
pub use default::{compile, run, run_with};
