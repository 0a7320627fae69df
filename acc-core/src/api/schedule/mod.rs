//! Schedules of arrays: in which order, and how, the native executor runs the loops that compute them.

mod nest;

pub use nest::{LoopVar, Nest};

use super::{Acc, Array, Elt, Shape};
use crate::builder::AccOp;
use crate::error::{BuildError, Error};
use crate::ir::{self, ArrayOp, Loc};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

/// Why a nest is no schedule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Wrong {
    why: String,
    loops: String,
}

impl Wrong {
    fn error(&self, used: &Loc) -> BuildError {
        BuildError::Schedule { array: None, why: self.why.clone(), loops: self.loops.clone(), used: used.clone() }
    }
}

/// A schedule as a value, for [`Acc::scheduled`]: the loops over the axes of an array and those that are folded to make it.
///
/// Two are equal if their loops are, however they were made. As a text it is what `compute(.., loops: ..)` has in the text form of
/// programs.
///
/// ```
/// use acc_core::prelude::*;
/// let tiled = Schedule::new(|s, [i, j]| {
///     let ([ib, jb], [i, j]) = s.tile([(i, 8), (j, 64)]);
///     s.parallel(ib).vectorize(j);
///     (jb, i);
/// });
/// assert_eq!(tiled.to_string(), "[threads i0 by 8, i1 by 64, i0, lanes i1]");
/// assert_eq!("[threads i0 by 8, i1 by 64, i0, lanes i1]".parse::<Schedule>()?, tiled);
/// let swapped = tiled.then(|s, [ib, jb, _, _]| { s.interchange(ib, jb).parallel(jb); });
/// assert_eq!(swapped.to_string(), "[threads i1 by 64, threads i0 by 8, i0, lanes i1]");
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Schedule(Result<Arc<ir::Schedule>, Arc<Wrong>>);

impl Schedule {
    /// The schedule that these steps make of one loop for each axis, outermost first. What is wrong with it is told where it is
    /// used.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let tall = Schedule::new(|s, [i, _j]| { s.split(i, 1024); });
    /// assert_eq!(tall.to_string(), "[i0 by 1024, i0, i1]");
    /// ```
    pub fn new<const N: usize>(steps: impl FnOnce(&mut Nest, [LoopVar; N])) -> Schedule {
        Schedule::of(&ir::Schedule::row_major(N), steps)
    }

    /// The schedule that further steps make of this one; they are given its loops, outermost first.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let halves = Schedule::new(|s, [i]| { s.split(i, 2); });
    /// let quarters = halves.then(|s, [outer, _]| { s.split(outer, 2); });
    /// assert_eq!(quarters.to_string(), "[i0 by 4, i0 by 2, i0]");
    /// ```
    #[must_use]
    pub fn then<const N: usize>(&self, steps: impl FnOnce(&mut Nest, [LoopVar; N])) -> Schedule {
        match &self.0 {
            Ok(before) => Schedule::of(before, steps),
            Err(_) => self.clone(),
        }
    }

    fn of<const N: usize>(before: &ir::Schedule, steps: impl FnOnce(&mut Nest, [LoopVar; N])) -> Schedule {
        let mut nest = Nest::new(before);
        match nest.vars() {
            Some(vars) => steps(&mut nest, vars),
            None => nest.fail(|| format!("the steps take {N} loops, but there are {}", before.loops().len())),
        }
        Schedule(nest.finish().map(Arc::new).map_err(Arc::new))
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(schedule) => schedule.fmt(f),
            Err(wrong) => write!(f, "{}: {}", wrong.loops, wrong.why),
        }
    }
}

impl FromStr for Schedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Schedule, Error> {
        crate::text::schedule_of(text).map(|schedule| Schedule(Ok(Arc::new(schedule))))
    }
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The same array, stored, computed by a loop nest that these steps make.
    ///
    /// The steps are given a loop for each axis of the array, then one for each axis that is folded to make it, outermost first: of
    /// a product of matrices `[i, j, k]`. The nest is that of the kernel that stores the array: what is element-wise at
    /// its own point, after at most one fold. A schedule changes no element: it says in which order points are computed, by which
    /// loops, lanes and threads, on the native executor; others ignore it. Elements of floats that are folded are added in
    /// order then, products in blocks of 256 terms (docs/SEMANTICS.md).
    ///
    /// # Errors
    ///
    /// Running or compiling fails with [`BuildError::Schedule`] where a step cannot be done, where the loops are no nest of the array,
    /// where they would combine elements in another order, and where machine code for them cannot be written.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// // A transformation of loops is a function: a few rows at a time, for vectors of columns.
    /// fn register_tile(s: &mut Nest, [i, j, k]: [LoopVar; 3], rows: usize) -> LoopVar {
    ///     let (tiles, i) = s.split(i, rows);
    ///     s.order(&[tiles, j, k, i]).vectorize(j).unroll(i);
    ///     tiles
    /// }
    /// let (a, b) = (Matrix::from([[1.0, 2.0], [3.0, 4.0]]), Matrix::from([[0.0, 1.0], [1.0, 0.0]]));
    /// let product = use_(&a).matmul(&use_(&b)).schedule(|s, loops| {
    ///     let tiles = register_tile(s, loops, 4);
    ///     s.parallel(tiles);
    /// });
    /// assert_eq!(Interpreter::new().run(product)?, Matrix::from([[2.0, 1.0], [4.0, 3.0]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn schedule<const N: usize>(&self, steps: impl FnOnce(&mut Nest, [LoopVar; N])) -> Acc<Array<Sh, E>> {
        self.scheduled(&Schedule::new(steps))
    }

    /// The same array, stored, computed by the loops of a [`Schedule`]: see [`schedule`](Acc::schedule).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let columns = Schedule::new(|s, [i, j]| { s.interchange(i, j); });
    /// let xs = use_(&Matrix::from([[1, 2], [3, 4]]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * x).scheduled(&columns))?, Matrix::from([[1, 4], [9, 16]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scheduled(&self, schedule: &Schedule) -> Acc<Array<Sh, E>> {
        let loc = Loc::caller();
        let fits = match &schedule.0 {
            Ok(s) => s.check_rank(Sh::RANK).map(|()| s).map_err(|why| Wrong { why, loops: s.to_string() }),
            Err(wrong) => Err(Wrong::clone(wrong)),
        };
        Acc::new(
            match fits {
                Ok(s) => AccOp::Op(ArrayOp::Compute { xs: self.node.clone(), schedule: Some(ir::Schedule::clone(s)) }),
                Err(wrong) => AccOp::Invalid(Arc::new(wrong.error(&loc))),
            },
            loc,
        )
    }
}
