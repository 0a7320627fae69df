//! The verifier of plans. (Kernels have [their own](crate::kernel::verify).)
//!
//! * **N1** The step recorded as the definition of an array has it among its results, and every step is in one block.
//! * **N2** What a step needs or a block yields is a parameter or defined by a step.
//! * **N3** An array freed after a step is not used by a later step or one evaluated on demand, nor yielded by the
//!   block; and it is freed once.

use super::{BlockPlan, Closed, Plan, Step, Work};
use acc_core::ir::{ArrayId, arrays_of_fun};
use std::collections::HashSet;

/// Which rule is violated, and where.
type Broken = String;

impl Plan {
    /// Checks the rules.
    pub(crate) fn verify(&self) -> Result<(), Broken> {
        for (a, def) in self.def.iter().enumerate() {
            let a = ArrayId(a as u32);
            if let Some(step) = def
                && !self.steps.get(*step).is_some_and(|s| defines(s, a))
            {
                return Err(format!("N1: step {step} does not define {a}"));
            }
        }
        let mut met = vec![false; self.steps.len()];
        let params = self.body.params.iter().copied().collect();
        self.verify_block(&self.body, &params, &mut met)?;
        match met.iter().position(|met| !met) {
            Some(step) => Err(format!("N1: step {step} stands in no block")),
            None => Ok(()),
        }
    }

    /// Checks a block with the given parameters.
    fn verify_block(&self, b: &BlockPlan, params: &HashSet<ArrayId>, met: &mut [bool]) -> Result<(), Broken> {
        let known = |a: &ArrayId| params.contains(a) || self.def.get(a.index()).copied().flatten().is_some();
        for &k in &b.steps {
            let Some(step) = self.steps.get(k) else { return Err(format!("N1: there is no step {k}")) };
            if std::mem::replace(&mut met[k], true) {
                return Err(format!("N1: step {k} stands in two places"));
            }
            if let Some(a) = step.needs.iter().find(|a| !known(a)) {
                return Err(format!("N2: step {k} (`{}`) needs {a}, which nothing defines", step.op));
            }
            for (_, inner) in step.blocks() {
                let params = params.iter().chain(&inner.params).copied().collect();
                acc_core::grow_stack(|| self.verify_block(inner, &params, met))?;
            }
        }
        if let Some(a) = b.results.iter().find(|a| !known(a)) {
            return Err(format!("N2: a block yields {a}, which nothing defines"));
        }
        self.verify_lifetimes(b)
    }

    fn verify_lifetimes(&self, b: &BlockPlan) -> Result<(), Broken> {
        let mut used: HashSet<ArrayId> = b.results.iter().copied().collect();
        for (&k, _) in b.steps.iter().zip(&b.strict).filter(|(_, strict)| !**strict) {
            used.extend(self.used_by(k));
        }
        for ((&k, dead), last) in b.steps.iter().zip(&b.dead).zip(&b.last).rev() {
            if let Some(a) = dead.iter().chain(last).find(|a| !used.insert(**a)) {
                let others = b.steps.iter().filter(|other| self.used_by(**other).contains(a));
                let others: Vec<String> = others.map(|&k| format!("{k} (`{}`)", self.steps[k].op)).collect();
                return Err(format!(
                    "N3: step {k} frees {a}, which is freed twice or used later: by {}",
                    others.join(", ")
                ));
            }
            used.extend(self.used_by(k));
        }
        Ok(())
    }

    /// The arrays of others that the evaluation of a step may read.
    fn used_by(&self, k: usize) -> HashSet<ArrayId> {
        let mut used = HashSet::new();
        self.steps[k].uses(self, &mut used);
        self.steps[k].results.iter().for_each(|r| {
            used.remove(r);
        });
        used
    }
}

fn defines(s: &Step, a: ArrayId) -> bool {
    s.results.contains(&a)
}

impl Step {
    /// Adds the arrays that its evaluation may read.
    fn uses(&self, plan: &Plan, out: &mut HashSet<ArrayId>) {
        out.extend(&self.needs);
        match &self.work {
            Work::Array { op, closed, .. } => {
                out.extend(op.arrays());
                out.extend(op.funs().into_iter().flat_map(|(_, f)| arrays_of_fun(f)).map(|(a, _)| a));
                closed.iter().for_each(|f| closed_uses(f, out));
            }
            Work::Kernel { launch, parts } => {
                out.extend(&launch.arrays);
                for part in parts {
                    out.extend(&part.needs);
                    part.closed.iter().for_each(|f| closed_uses(f, out));
                }
            }
            Work::If { cond, .. } => closed_uses(cond, out),
            Work::While { init, .. } => out.extend(init),
            Work::Foreign { xs, .. } => out.extend(xs),
        }
        for (_, b) in self.blocks() {
            out.extend(&b.results);
            for &k in &b.steps {
                acc_core::grow_stack(|| plan.steps[k].uses(plan, out));
            }
        }
    }
}

fn closed_uses(f: &Closed, out: &mut HashSet<ArrayId>) {
    match f {
        Closed::Known(_) => {}
        Closed::Code(body) => out.extend(body.arrays()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ArrayId, Plan};
    use crate::lower::of_text;

    /// The rule that a modified plan violates.
    fn broken(change: impl FnOnce(&mut Plan)) -> String {
        let text = "program(xs: [1]i64) {
            s: [1]i64 = scanl1(xs, f: |%x: i64, %y: i64| add(%x, %y))
            t: [0]i64 = fold1(s, f: |%x: i64, %y: i64| mul(%x, %y))
            u: [1]i64 = map(xs, f: |%x: i64| add(%x, t[]))
            yield u
          }";
        let mut plan = of_text("plan.acc", text);
        assert_eq!(plan.verify(), Ok(()));
        change(&mut plan);
        plan.verify().unwrap_err()[..2].to_string()
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_found() {
        assert_eq!(broken(|p| p.def.rotate_right(1)), "N1");
        assert_eq!(broken(|p| p.body.steps.push(0)), "N1");
        assert_eq!(broken(|p| p.steps[0].needs.push(ArrayId(99))), "N2");
        assert_eq!(broken(|p| p.body.dead.swap(0, 2)), "N3");
        assert_eq!(broken(|p| p.body.dead[2].push(p.body.results[0])), "N3");
    }
}
