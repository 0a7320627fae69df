//! The verifier of fusion.
//!
//! * **F1** The result of a statement that computes is in one kernel, or computed where it is read, or taken over by a
//!   compaction, a sort or an outer fold. A check may be none of these: then it is a view of what it checks.
//! * **F2** No other statement's result is in a kernel.
//! * **F3** The statements of a kernel stand in one block.
//! * **F4** What a block yields is not computed where it is read, and no kernel keeps it for itself.
//! * **F5** The order of an epilogue's axes is a permutation.
//! * **F6** What is selected are the positions that sort an array, which no block yields.

use super::Fusion;
use super::kernel::kind;
use super::sorted::keys;
use acc_core::ir::{ArrayId, ArrayOp, Block, Program};
use std::collections::HashMap;

/// Which rule is broken, and where.
type Broken = String;

impl Fusion {
    /// Checks the rules for the program that was decided for.
    pub fn verify(&self, program: &Program) -> Result<(), Broken> {
        let mut kernel_of: HashMap<ArrayId, usize> = HashMap::new();
        for (k, group) in self.kernels.iter().enumerate() {
            for &a in group.main.iter().chain(&group.epilogue) {
                if kernel_of.insert(a, k).is_some() {
                    return Err(format!("F1: {a} is computed twice"));
                }
            }
            if let Some(a) = group.transient.iter().find(|a| !group.main.contains(a)) {
                return Err(format!("F4: {a} is said not to be stored by a kernel that does not compute it"));
            }
            if let Some(order) = &group.order {
                let mut axes = order.clone();
                axes.sort_unstable();
                if axes.iter().enumerate().any(|(k, axis)| k != *axis) {
                    return Err(format!("F5: {order:?} is the order of an epilogue's axes"));
                }
            }
        }
        let blocks = &mut vec![None; self.kernels.len()];
        let mut number = 0;
        self.block(&program.body, &kernel_of, blocks, &mut number)
    }

    /// Checks a block; `blocks` holds for each kernel the number of the block in which its statements met so far stand.
    fn block(
        &self,
        b: &Block,
        kernel_of: &HashMap<ArrayId, usize>,
        blocks: &mut Vec<Option<usize>>,
        number: &mut usize,
    ) -> Result<(), Broken> {
        let here = *number;
        *number += 1;
        for s in &b.stmts {
            for inner in s.op.blocks() {
                acc_core::grow_stack(|| self.block(inner, kernel_of, blocks, number))?;
            }
            let computes = kind(s).is_some();
            for &a in &s.results {
                if self.selected.contains_key(&a) && keys(s).is_none() {
                    return Err(format!("F6: {a}, the result of `{}`, is selected", s.op.name()));
                }
                let kernel = kernel_of.get(&a).copied();
                if kernel != self.kernel_of.get(a.index()).copied().flatten() {
                    return Err(format!("F1: the kernel of {a} is not noted"));
                }
                if kernel.is_some() && !computes {
                    return Err(format!("F2: {a}, the result of `{}`, is in a kernel", s.op.name()));
                }
                let ways = usize::from(kernel.is_some()) + usize::from(self.is_inlined(a));
                let may_be_none = matches!(s.op, ArrayOp::Check { .. }) || self.is_taken_over(a);
                if computes && ways != 1 && !(ways == 0 && may_be_none) {
                    return Err(format!("F1: {a}, the result of `{}`, is computed in {ways} ways", s.op.name()));
                }
                if let Some(k) = kernel
                    && *blocks[k].get_or_insert(here) != here
                {
                    return Err(format!("F3: {a} is in a kernel of statements of another block"));
                }
            }
        }
        for &a in &b.results {
            let transient = self.kernel(a).is_some_and(|group| group.transient.contains(&a));
            if self.is_inlined(a) || transient {
                return Err(format!("F4: {a} is not stored, but a block yields it"));
            }
            if self.selected.contains_key(&a) {
                return Err(format!("F6: {a} is selected, but a block yields it"));
            }
        }
        Ok(())
    }

    /// Whether something else yields what needs an array, so that nothing computes it.
    fn is_taken_over(&self, a: ArrayId) -> bool {
        self.is_sorted(a)
            || self.compactions.values().any(|c| c.defaults == a || c.absorbed.contains(&a))
            || self.nested.values().any(|inner| inner.contains(&a))
    }
}
