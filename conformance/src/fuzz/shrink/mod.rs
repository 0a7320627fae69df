//! Makes a program small that shows something, while it still shows it.
//!
//! Each step proposes a smaller program: fewer results, an array that is an input instead of being computed, a branch
//! instead of a conditional, a literal instead of a node, smaller inputs. The first that is well formed and still shows
//! it is taken; the end is reached when none is.

mod arrays;
mod inputs;
mod scalars;

use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::text::{canonical, show_array};
use acc_core::verify::verify;
use acc_desugar::{Rules, simplify_with};
use std::sync::Arc;

/// A program with arguments.
#[derive(Clone)]
pub struct Sample {
    /// The program.
    pub program: Arc<Program>,
    /// One array per parameter.
    pub args: Vec<ArrayData>,
}

impl Sample {
    /// As a test file that expects executors to agree.
    pub fn text(&self) -> String {
        let program = format!("{:#}", self.program);
        let args = self.program.body.params.iter().zip(&self.args);
        let args: String = args.map(|(p, a)| format!("  {p} = {}\n", show_array(a, usize::MAX))).collect();
        format!("{}\n\nrun {{\n{args}  expect agree\n}}\n", program.trim_end())
    }

    /// The same without what nothing needs; `None` if it is not well formed.
    fn cleaned(program: &Program, args: &[ArrayData]) -> Option<Sample> {
        verify(program, None).ok()?;
        let rules = Rules::none().with("dead_arrays")?.with("dead_scalars")?;
        let program = canonical(&simplify_with(program, &rules));
        verify(&program, None).ok()?;
        Some(arrays::without_unused_inputs(Sample { program: Arc::new(program), args: args.to_vec() }))
    }

    /// What a step must make less: statements and nodes, then elements of inputs, then how odd these are.
    fn weight(&self) -> (usize, usize, u64) {
        let elements = self.args.iter().map(|a| a.size() * a.columns().len().max(1)).sum();
        (scalars::nodes(&self.program), elements, inputs::oddness(&self.args))
    }
}

/// The smallest program found that still `shows` it, in at most so many attempts.
pub fn shrink(sample: &Sample, attempts: usize, mut shows: impl FnMut(&Sample) -> bool) -> Sample {
    let mut best = sample.clone();
    let mut left = attempts;
    let mut attempt = |best: &mut Sample, candidate: Sample| -> bool {
        if left == 0 || candidate.weight() >= best.weight() {
            return false;
        }
        left -= 1;
        let better = shows(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let before = best.weight();
        for proposals in [arrays::proposals, scalars::proposals, inputs::proposals] {
            // After a success the positions of what is left are others: the proposals are made anew, and those before
            // the one taken are not tried again in this round.
            let mut at = 0;
            while let Some(candidate) = proposals(&best, at) {
                match candidate {
                    Some(candidate) if attempt(&mut best, candidate.clone()) => {}
                    _ => at += 1,
                }
            }
        }
        if best.weight() >= before {
            return best;
        }
    }
}

/// The proposal of this number, which need not be well formed; `None` beyond the last one.
type Proposal = Option<Option<Sample>>;
