//! The names of a launch whose neighbouring axes are one, where the arrays that are read as such have the extents of these axes.

use super::{Binding, Job, JobOutput};
use crate::bind::{Input, Names, SparseFlags};
use crate::kernel::{CollapsedPair, FIRST_INNER_EXTENT};
use crate::prepare::Launch;
use acc_core::ir::ArrayId;
use smallvec::SmallVec;

type Shape = SmallVec<[usize; 4]>;

/// The names of a launch, with neighbouring dimensions of arrays as one.
pub(in crate::run) struct Merged<'a> {
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
    pub(in crate::run) fn of(job: &Job<'a>, pairs: &[CollapsedPair]) -> Option<Merged<'a>> {
        let (launch, others) = (job.launch, job.names);
        let (mut extents, mut shapes) = (job.extents.clone(), Vec::<(ArrayId, Shape)>::new());
        let (mut all, mut per_index) = (SmallVec::new(), 1usize);
        let first_folded = extents.len().checked_sub(launch.kernel.folded())?;
        for pair in pairs {
            let inner = merge(&mut extents, pair.axis)?;
            all.push(inner);
            if pair.axis == first_folded {
                per_index = per_index.checked_mul(inner)?;
            }
            for &(array, dim) in &pair.merged {
                // The code does not look at the extents of what is not evaluated.
                let Some(input) = others.input(array) else { continue };
                let known = shapes.iter().position(|(a, _)| *a == array).unwrap_or(shapes.len());
                if known == shapes.len() {
                    shapes.push((array, input.shape.into()));
                }
                if merge(&mut shapes.get_mut(known)?.1, dim)? != inner {
                    return None;
                }
            }
        }
        Some(Merged { others, over: launch.over, inner: all, shapes, extents, per_index })
    }

    /// A launch with these names, that of a job with neighbouring axes as one. It has no epilogue.
    pub(in crate::run) fn job(&'a self, job: &Job<'a>, launch: &'a Launch) -> Job<'a> {
        let same = job.outputs.iter().zip(&launch.kernel.outputs);
        let outputs = same.map(|(o, output)| {
            let (init, types) = (o.init.clone(), o.types.clone());
            JobOutput { output, combine: None, init, types }
        });
        Job {
            launch,
            element: Binding::new(&launch.code.element, self, job.cx.limits),
            outputs: outputs.collect(),
            epilogue: None,
            extents: self.extents.clone(),
            // Blocks of terms are those of the axes that the program writes.
            terms: job.terms.times(self.per_index),
            names: self,
            cx: job.cx,
        }
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
    use crate::Compile;
    use crate::run::pool::thread_pool::ThreadPool;
    use crate::run::testing::{evaluate, evaluate_with, has_llvm, lowered};

    /// Whether code was asked for of the last kernel with its last axes as one, and of it as it is; machine code and tiles agree.
    fn asked(program: &str, arguments: &str) -> (bool, bool) {
        let (plan, runs) = lowered("joined", &format!("{program} run {{ {arguments} expect agree }}"));
        let threads = ThreadPool::new(2).unwrap();
        let by_machine = evaluate(&plan, &runs[0], &threads).unwrap();
        assert_eq!(by_machine, evaluate_with(&plan, &runs[0], &threads, Compile::Never).unwrap(), "{program}");
        let launch = plan.launches().last().unwrap();
        (launch.joined.as_ref().unwrap().launch.code.machine.was_asked(), launch.code.machine.was_asked())
    }

    #[test]
    fn elementwise_kernels_have_long_rows_where_extents_are_those_of_the_axes() {
        if !has_llvm() {
            return;
        }
        let program = "program(x: [3]f32, y: [3]f32, c: [1]f32) {
            z: [3]f32 = izip_with(x, y, f: |%n: i64, %i: i64, %j: i64, %x: f32, %y: f32| add(mul(%x, %y), c[%n]))
            yield z
          }";
        let all = "x = [3, 5, 7] f32 lcg(1) c = [3] f32 lcg(3)";
        assert_eq!(asked(program, &format!("{all} y = [3, 5, 7] f32 lcg(2)")), (true, false));
        assert_eq!(asked(program, &format!("{all} y = [3, 6, 7] f32 lcg(2)")), (true, false));
        // Rows of `y` do not follow those of the result.
        assert_eq!(asked(program, &format!("{all} y = [3, 5, 8] f32 lcg(2)")), (false, true));
    }

    #[test]
    fn rows_that_follow_each_other_are_folded_as_one() {
        if !has_llvm() {
            return;
        }
        // The gradient by the bias of each channel.
        let program = "program(x: [4]f32) {
            t: [4]f32 = backpermute(x, shape: || (extent(x, 1), extent(x, 0), extent(x, 2), extent(x, 3)),
              index: |%c: i64, %n: i64, %i: i64, %j: i64| (%n, %c, %i, %j))
            a: [3]f32 = fold(t, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)
            b: [2]f32 = fold(a, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)
            s: [1]f32 = fold(b, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)
            yield s
          }";
        assert_eq!(asked(program, "x = [20, 3, 7, 11] f32 lcg(1)"), (true, false));
        assert_eq!(asked(program, "x = [2, 3, 24, 24] f32 lcg(1)"), (true, false));
    }
}
