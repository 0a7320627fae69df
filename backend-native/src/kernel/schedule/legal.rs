//! Which schedules of the program's a kernel can have.
//!
//! That the loops are a nest is checked where they are made ([`Schedule::new`]). Here it is whether they combine the elements of the
//! kernel in its order, and whether what they say of lanes and threads can be done.

use super::Loop;
use crate::kernel::{AxisKind, Kernel, Sink};
use acc_core::data::ScalarType;
use acc_core::ir::{self, Collapse, Mark, Schedule};

/// Threads divide the points along so many of the first axes.
const MAX_SHARED_AXES: usize = 2;

impl Kernel {
    /// The kernel with the loops of a schedule; the error says why it cannot have those.
    pub(crate) fn with_schedule(self, schedule: &Schedule) -> Result<Kernel, String> {
        self.accepts(schedule)?;
        // Without axes there is nothing to order.
        if self.ordered_operation().is_some() || self.axes.is_empty() {
            return Ok(self);
        }
        // Where axes are collapsed, these are the loops where that is not possible.
        let expanded = (!schedule.collapsed().is_empty()).then(|| schedule.expanded());
        expanded.iter().try_for_each(|expanded| self.accepts(expanded))?;
        let loops = expanded.as_ref().unwrap_or(schedule).loops().iter().copied().map(Loop::from).collect();
        Ok(Kernel { has_schedule: true, loops, ..self })
    }

    /// Whether it can have the loops of a schedule; the error says why not.
    pub(crate) fn accepts(&self, schedule: &Schedule) -> Result<(), String> {
        if schedule.axes() != self.axes.len() {
            return Err(format!("it has {} axes, but the nest has {}", schedule.axes(), self.about_axes()));
        }
        if let Some(op) = self.ordered_operation() {
            let own = Schedule::row_major(self.axes.len());
            return if *schedule == own {
                Ok(())
            } else {
                Err(format!("`{op}` combines elements in row-major order: only {own} is a schedule of it"))
            };
        }
        schedule.collapsed().iter().try_for_each(|c| self.check_collapsed(*c))?;
        schedule.loops().iter().try_for_each(|l| self.check_mark(l, schedule.number_of_collapsed(l.axis)))?;
        self.check_folded(schedule)
    }

    /// The operation that combines elements in row-major order, if there is one.
    fn ordered_operation(&self) -> Option<&'static str> {
        let ordered = |sink: &Sink| !matches!(sink, Sink::Store | Sink::Fold { .. });
        self.outputs.iter().find(|o| ordered(&o.sink)).map(|o| o.op)
    }

    /// What its axes are, for messages.
    fn about_axes(&self) -> String {
        let axes: Vec<String> =
            self.axes.iter().enumerate().map(|(axis, kind)| format!("i{axis} {}", about(*kind))).collect();
        format!("{}: {}", axes.len(), axes.join(", "))
    }

    /// Axes that are collapsed are all folded, or none of them is.
    fn check_collapsed(&self, c: Collapse) -> Result<(), String> {
        let of_another_kind = (c.first..=c.last).find(|&axis| self.axes.get(axis) != self.axes.get(c.first));
        match of_another_kind {
            Some(axis) => {
                Err(format!("`{c}`: i{} is not folded, but i{axis} is: one loop cannot be over both", c.first))
            }
            None => Ok(()),
        }
    }

    /// `number` is that of its axis without those that are collapsed.
    fn check_mark(&self, l: &ir::Loop, number: usize) -> Result<(), String> {
        let is_parallel = self.axes.get(l.axis) == Some(&AxisKind::Parallel);
        match l.mark {
            Mark::Sequential | Mark::Unrolled => Ok(()),
            Mark::Lanes if is_parallel => Ok(()),
            Mark::Lanes => Err(format!(
                "`{l}` would fold into partial results, lane by lane: i{} is folded; vectorize a loop over {}",
                l.axis,
                self.parallel_axes()
            )),
            Mark::Threads if is_parallel && number < MAX_SHARED_AXES => Ok(()),
            Mark::Threads => {
                Err(format!("`{l}`: threads divide the first two axes of an array, here {}", self.parallel_axes()))
            }
        }
    }

    /// The axes that are not folded, for messages.
    fn parallel_axes(&self) -> String {
        let own = (0..self.axes.len()).filter(|&axis| self.axes[axis] == AxisKind::Parallel);
        let own: Vec<String> = own.map(|axis| format!("i{axis}")).collect();
        if own.is_empty() { "none: all its axes are folded".into() } else { own.join(", ") }
    }

    /// Several folded axes are combined in row-major order, unless the order changes nothing.
    fn check_folded(&self, schedule: &Schedule) -> Result<(), String> {
        if self.folds_exactly() {
            return Ok(());
        }
        let loops = schedule.loops();
        let folded = |l: &&ir::Loop| self.axes[l.axis] != AxisKind::Parallel;
        for (at, outer) in loops.iter().enumerate().filter(|(_, l)| folded(l)) {
            if let Some(inner) = loops[at..].iter().filter(folded).find(|l| l.axis < outer.axis) {
                return Err(format!(
                    "i{} and i{} are folded in order: all loops over i{} are outside of those over i{}, for another order \
                     would combine elements otherwise, and `{inner}` is inside of `{outer}`",
                    inner.axis, outer.axis, inner.axis, outer.axis
                ));
            }
        }
        Ok(())
    }

    /// Whether elements are folded to the same results in any order.
    pub(crate) fn folds_exactly(&self) -> bool {
        self.outputs.iter().all(|o| match &o.sink {
            Sink::Fold { builtin: Some(_), .. } => {
                self.leaf_types(o).iter().all(|ty| ty.is_int() || *ty == ScalarType::Bool)
            }
            Sink::Store => true,
            Sink::Fold { .. } | Sink::Scan { .. } | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => {
                false
            }
        })
    }
}

fn about(kind: AxisKind) -> &'static str {
    match kind {
        AxisKind::Parallel => "its own",
        AxisKind::Reduction => "folded",
        AxisKind::Scan(_) => "scanned",
    }
}
