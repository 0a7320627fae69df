//! Launches by machine code with neighbouring axes as one, where the arrays that are read as such have the extents of these axes.

use super::follow;
use crate::bind::{Input, Names, SparseFlags};
use crate::buffer::AnyBuffer;
use crate::kernel::{CollapsedPair, FIRST_INNER_EXTENT};
use crate::run::launch::{Binding, Job, JobOutput};
use crate::tile::machine::Stop;
use acc_core::ir::ArrayId;
use smallvec::SmallVec;

type Shape = SmallVec<[usize; 4]>;

/// Runs the loops over collapsed axes; false if the schedule has none, if extents do not allow it, or if a task bailed out.
pub(super) fn run(job: &Job<'_>, out: &mut [Vec<AnyBuffer>], widths: &[usize], before: &[u64]) -> Result<bool, Stop> {
    let Some(collapsed) = &job.launch.collapsed else { return Ok(false) };
    let launch = &collapsed.launch;
    let Some(names) = Merged::of(job, &collapsed.pairs) else { return Ok(false) };
    let same = job.outputs.iter().zip(&launch.kernel.outputs);
    let outputs = same.map(|(o, output)| {
        let (init, types) = (o.init.clone(), o.types.clone());
        JobOutput { output, combine: None, init, types }
    });
    let merged = Job {
        launch,
        element: Binding::new(&launch.code.element, &names, job.cx.limits),
        outputs: outputs.collect(),
        epilogue: None,
        extents: names.extents.clone(),
        // Blocks of terms are those of the axes that the program writes.
        terms: job.terms.times(names.per_index),
        names: &names,
        cx: job.cx,
    };
    follow(&merged, out, widths, before)
}

/// The names of a launch, with neighbouring dimensions of arrays as one.
struct Merged<'a> {
    others: &'a dyn Names,
    /// The array whose scalars are the extents of the inner axes that are collapsed, and these.
    over: ArrayId,
    inner: SmallVec<[usize; 2]>,
    /// The shapes of arrays that are others here.
    shapes: Vec<(ArrayId, Shape)>,
    /// The extents of the axes.
    extents: Shape,
    /// Indices of the first folded axis for each that it had before.
    per_index: usize,
}

impl<'a> Merged<'a> {
    /// None if an array has other extents than the axes that it is read along.
    fn of(job: &'a Job<'_>, pairs: &[CollapsedPair]) -> Option<Merged<'a>> {
        let (mut extents, mut shapes) = (job.extents.clone(), Vec::<(ArrayId, Shape)>::new());
        let (mut all, mut per_index) = (SmallVec::new(), 1usize);
        let first_folded = extents.len().checked_sub(job.launch.kernel.folded())?;
        for pair in pairs {
            let inner = merge(&mut extents, pair.axis)?;
            all.push(inner);
            if pair.axis == first_folded {
                per_index = per_index.checked_mul(inner)?;
            }
            for &(array, dim) in &pair.merged {
                // The code does not look at the extents of what is not evaluated.
                let Some(input) = job.names.input(array) else { continue };
                let known = shapes.iter().position(|(a, _)| *a == array).unwrap_or(shapes.len());
                if known == shapes.len() {
                    shapes.push((array, input.shape.into()));
                }
                if merge(&mut shapes.get_mut(known)?.1, dim)? != inner {
                    return None;
                }
            }
        }
        Some(Merged { others: job.names, over: job.launch.over, inner: all, shapes, extents, per_index })
    }
}

/// Makes one dimension of a dimension and the next one; the extent of that one.
fn merge(shape: &mut Shape, dim: usize) -> Option<usize> {
    let inner = *shape.get(dim + 1)?;
    let outer = shape.get_mut(dim)?;
    *outer = outer.checked_mul(inner)?;
    shape.remove(dim + 1);
    Some(inner)
}

impl Names for Merged<'_> {
    fn input(&self, a: ArrayId) -> Option<Input<'_>> {
        let input = self.others.input(a)?;
        match self.shapes.iter().find(|(of, _)| *of == a) {
            Some((_, shape)) => Some(Input { shape, ..input }),
            None => Some(input),
        }
    }

    fn flags(&self, a: ArrayId) -> Option<(&SparseFlags, usize)> {
        self.others.flags(a)
    }

    fn scalar(&self, a: ArrayId, position: u32) -> u64 {
        let inner = position.checked_sub(FIRST_INNER_EXTENT).filter(|_| a == self.over);
        match inner.and_then(|k| self.inner.get(k as usize)) {
            Some(extent) => *extent as u64,
            None => self.others.scalar(a, position),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::run::pool::thread_pool::ThreadPool;
    use crate::run::testing::{evaluate, has_llvm, lowered};

    /// Whether code was asked for of the kernel with collapsed axes, and of that without.
    fn asked(loops: &str, extents: &str) -> (bool, bool) {
        let text = format!(
            "program(a: [2]f32, b: [2]f32, c: [1]f32) {{
               x: [2]f32 = izip_with(a, b, f: |%i: i64, %j: i64, %x: f32, %y: f32| add(mul(%x, %y), c[%j]))
               s: [2]f32 = compute(x, loops: {loops})
               yield s
             }}
             run {{ {extents} c = [13] f32 lcg(3) expect agree }}"
        );
        let (plan, runs) = lowered("collapsed", &text);
        let threads = ThreadPool::new(2).unwrap();
        runs.iter().for_each(|args| assert!(evaluate(&plan, args, &threads).is_ok()));
        let launch = plan.launches().next().unwrap();
        (launch.collapsed.as_ref().unwrap().launch.code.machine.was_asked(), launch.code.machine.was_asked())
    }

    #[test]
    fn collapsed_loops_run_where_extents_are_those_of_the_axes() {
        if !has_llvm() {
            return;
        }
        let equal = "a = [7, 13] f32 lcg(1) b = [7, 13] f32 lcg(2)";
        for loops in ["[lanes i0] collapse i0 to i1", "[threads i0 by 16, lanes i0] collapse i0 to i1"] {
            assert_eq!(asked(loops, equal), (true, false), "{loops}");
            // Rows of `b` are longer than those of the result, or there are more of them.
            assert_eq!(asked(loops, "a = [7, 13] f32 lcg(1) b = [7, 14] f32 lcg(2)"), (false, true), "{loops}");
            assert_eq!(asked(loops, "a = [7, 13] f32 lcg(1) b = [9, 13] f32 lcg(2)"), (true, false), "{loops}");
        }
    }
}
