//! The schedules that a program gives its arrays.

use crate::kernel::Kernel;
use acc_core::ir::{ArrayId, ArrayOp, Block, Loc, Program, Schedule};
use acc_core::{BuildError, Error};
use acc_desugar::fuse::Fusion;
use std::collections::HashMap;
use std::sync::Arc;

/// The schedules, by the array that they are of.
#[derive(Default)]
pub(super) struct Schedules<'a> {
    of: HashMap<ArrayId, Wanted<'a>>,
}

/// A schedule of an array, and where the program says it.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    program: &'a Program,
    array: ArrayId,
    schedule: &'a Schedule,
    loc: &'a Loc,
}

impl<'a> Schedules<'a> {
    /// Those of a program, one at most of an array; an error if one is of an array that no kernel stores.
    pub(super) fn of(program: &'a Program, fusion: &Fusion) -> Result<Schedules<'a>, Error> {
        let mut all = Schedules::default();
        each(program, &program.body, &mut |wanted| {
            if fusion.kernel(wanted.array).is_none() {
                let why = "no loop nest computes the array: it is an argument, a view of another array, or sorted";
                return Err(wanted.refused(why.into()));
            }
            all.of.insert(wanted.array, wanted);
            Ok(())
        })?;
        Ok(all)
    }

    /// Whether an array is computed within the loops of its reader.
    pub(super) fn within(&self, a: ArrayId) -> bool {
        self.of.get(&a).is_some_and(|wanted| wanted.schedule.reader_loops() > 0)
    }

    /// An error if an array of these, which are of one block, is to be computed within the loops of its reader and is not.
    pub(super) fn check_within(
        &self,
        arrays: impl Iterator<Item = ArrayId>,
        is_within: impl Fn(ArrayId) -> bool,
        why_not: impl Fn(ArrayId) -> String,
    ) -> Result<(), Error> {
        let mut missing = arrays.filter(|a| self.within(*a) && !is_within(*a));
        match missing.find_map(|a| Some((a, self.of.get(&a)?))) {
            Some((a, wanted)) => {
                Err(wanted.refused(format!("it cannot be computed within the loops of its reader: {}", why_not(a))))
            }
            None => Ok(()),
        }
    }

    /// The schedule of an array.
    pub(super) fn of_array(&self, a: ArrayId) -> Option<Wanted<'a>> {
        self.of.get(&a).copied()
    }
}

/// Calls `f` for each schedule in a block.
fn each<'a>(
    program: &'a Program,
    b: &'a Block,
    f: &mut dyn FnMut(Wanted<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    for s in &b.stmts {
        if let ArrayOp::Compute { xs, schedule: Some(schedule) } = &s.op {
            f(Wanted { program, array: *xs, schedule, loc: &s.loc })?;
        }
        s.op.blocks().into_iter().try_for_each(|b| acc_core::grow_stack(|| each(program, b, f)))?;
    }
    Ok(())
}

/// The error of a kernel that cannot follow the loops of its schedule.
pub(crate) fn refused_schedule(program: &Program, kernel: &Kernel, why: &str) -> Error {
    let stores = |a: ArrayId| kernel.stored().any(|o| o.result == a);
    let found = each(program, &program.body, &mut |wanted| {
        let why = format!("there is no machine code for its loops: {why}");
        if stores(wanted.array) { Err(wanted.refused(why)) } else { Ok(()) }
    });
    let defect = || Error::defect(crate::NAME, format!("a schedule that no array has: {why}"));
    found.err().unwrap_or_else(defect)
}

impl<'a> Wanted<'a> {
    /// The kernel with these loops.
    pub(super) fn apply(self, kernel: Kernel) -> Result<Kernel, Error> {
        kernel.with_schedule(self.schedule).map_err(|why| self.refused(why))
    }

    /// The schedule, if it collapses axes.
    pub(super) fn collapsing(self) -> Option<&'a Schedule> {
        Some(self.schedule).filter(|schedule| !schedule.collapsed().is_empty())
    }

    fn refused(self, why: String) -> Error {
        let array = Some(self.program.names.show(self.array));
        let (loops, used) = (self.schedule.to_string(), self.loc.clone());
        Error::from(Arc::new(BuildError::Schedule { array, why, loops, used }))
    }
}
