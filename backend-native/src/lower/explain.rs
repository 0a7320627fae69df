//! The text form of plans.

use super::{BlockPlan, How, Plan, Work};
use std::fmt::{Display, Formatter, Result};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        block(self, &self.body, 0, f)?;
        self.notes.iter().try_for_each(|n| writeln!(f, "{n}"))?;
        Ok(())
    }
}

fn block(p: &Plan, b: &BlockPlan, indent: usize, f: &mut Formatter<'_>) -> Result {
    for (&s, strict) in b.steps.iter().zip(&b.strict) {
        let step = &p.steps[s];
        let lazy = if *strict { "" } else { "on demand: " };
        match &step.work {
            Work::Array { how: How::Fused, .. } => {
                writeln!(f, "{:indent$}{lazy}{} = {} is fused", "", step.results[0], step.op)?;
            }
            Work::Array { how: How::View, .. } => {
                writeln!(f, "{:indent$}{lazy}{} = {} is a view", "", step.results[0], step.op)?;
            }
            Work::Array { how: How::Sort, .. } => {
                writeln!(f, "{:indent$}{lazy}{} = {} sorts rows", "", step.results[0], step.op)?;
            }
            Work::Kernel { launch, .. } => {
                for (k, line) in launch.kernel.to_string().lines().enumerate() {
                    writeln!(f, "{:indent$}{}{line}", "", if k == 0 { lazy } else { "" })?;
                }
            }
            Work::If { then, else_, .. } => {
                writeln!(f, "{:indent$}{lazy}{:?} = if {{", "", step.results)?;
                block(p, then, indent + 2, f)?;
                writeln!(f, "{:indent$}}} else {{", "")?;
                block(p, else_, indent + 2, f)?;
                writeln!(f, "{:indent$}}}", "")?;
            }
            Work::Foreign { xs, fallback, .. } => {
                writeln!(f, "{:indent$}{lazy}{:?} = {} of {xs:?}, or {{", "", step.results, step.op)?;
                block(p, fallback, indent + 2, f)?;
                writeln!(f, "{:indent$}}}", "")?;
            }
            Work::While { test, step: body, .. } => {
                writeln!(f, "{:indent$}{lazy}{:?} = while {{", "", step.results)?;
                block(p, test, indent + 2, f)?;
                writeln!(f, "{:indent$}}} do {{", "")?;
                block(p, body, indent + 2, f)?;
                writeln!(f, "{:indent$}}}", "")?;
            }
        }
    }
    Ok(())
}
