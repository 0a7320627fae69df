//! Launches by machine code with neighbouring axes as one, where the arrays that are read as such have the extents of these axes.

use super::follow;
use crate::buffer::AnyBuffer;
use crate::run::launch::Job;
use crate::run::launch::merged::Merged;
use crate::tile::machine::Stop;

/// Runs the loops over collapsed axes; false if the schedule has none, if extents do not allow it, or if a task bailed out.
pub(super) fn run(job: &Job<'_>, out: &mut [Vec<AnyBuffer>], widths: &[usize], before: &[u64]) -> Result<bool, Stop> {
    let Some(collapsed) = &job.launch.collapsed else { return Ok(false) };
    let Some(names) = Merged::of(job, &collapsed.pairs) else { return Ok(false) };
    follow(&names.job(job, &collapsed.launch), out, widths, before)
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
