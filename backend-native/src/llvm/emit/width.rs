//! How many elements a step computes.

use super::Level;
use super::control::{by_lanes, is_computed_ahead};
use crate::kernel::{Body, Op, levels};
use crate::llvm::Target;
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use std::collections::HashSet;

/// Nodes up to which a body is computed for two vectors side by side: a processor does not look so far ahead that it would
/// begin with the next vector while the operations of one wait for each other. Mathematical functions take 0.8 of the time
/// so, and Black-Scholes, whose operations are 230, takes 0.65.
const LONG: usize = 400;
/// Nodes up to which a body with loops is computed for [`MANY`] vectors side by side, if registers hold what the loops carry
/// of each: a turn waits for the one before. Mandelbrot takes 0.83 of the time so.
const SHORT: usize = 100;
const MANY: usize = 4;
/// Registers that a turn takes beside what it carries: for constants, and for what it computes of one vector.
const BESIDE: usize = 10;

/// The vectors of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Width {
    /// Lanes of one vector.
    pub lanes: usize,
    /// Vectors that a step of the innermost loop computes side by side.
    pub parts: usize,
}

impl Width {
    /// As many lanes as a register has of the type that most of a body, of so many nodes, computes with; as many vectors as
    /// processors compute at a time; the axes vary so over the lanes.
    pub(super) fn of(body: &Body, axes: &[Level], size: usize, target: &Target) -> Width {
        let mut by_size = [0usize; 9];
        body.region.visit(0, &mut |n, _| {
            for &v in n.results.iter().filter(|v| !body.uniform[v.index()] && body.ty(**v) != ScalarType::Bool) {
                // Indices take no vectors where reads follow the lanes.
                let weight = if body.ty(v) == ScalarType::I64 { 1 } else { 3 };
                by_size[body.ty(v).size()] += weight;
            }
        });
        for &v in &body.region.results {
            by_size[body.ty(v).size()] += 1;
        }
        let widest = (1..=8).rev().max_by_key(|&s| by_size[s]).unwrap_or(4);
        let lanes = (target.register / widest).clamp(4, 32);
        let parts = match () {
            () if size > LONG || lanes >= 32 => 1,
            () if size <= SHORT && carried(body, axes).is_some_and(|n| n * MANY + BESIDE <= target.registers()) => MANY,
            () => 2,
        };
        Width { lanes, parts }
    }

    /// Elements of a step.
    pub(super) fn step(self) -> usize {
        self.lanes * self.parts
    }
}

/// The vectors of each part of a step that a body's loops keep in registers from turn to turn; none if there are no loops, or
/// loops whose turns are not written vector by vector.
fn carried(body: &Body, axes: &[Level]) -> Option<usize> {
    let (levels, used) = (levels(body, axes), body.used());
    let varies = |v: &&Val| levels[v.index()] == Level::Lanes;
    let (mut carried, mut are_plain) = (None, true);
    body.region.visit(0, &mut |n, _| {
        let Op::While { test, step, .. } = &n.op else { return };
        are_plain &= is_computed_ahead(body, step) && by_lanes(body, &levels, &[test, step]).is_some();
        let mut taken: HashSet<Val> = HashSet::new();
        let nodes = || test.nodes.iter().chain(&step.nodes);
        nodes().for_each(|n| n.op.operands(&mut |v| taken.extend([v])));
        let own = nodes().flat_map(|n| &n.results).chain(&test.params).chain(&step.params);
        let own: HashSet<Val> = own.copied().collect();
        let left = n.results.iter().filter(|r| used[r.index()]).filter(varies).count();
        *carried.get_or_insert(0) +=
            test.params.iter().filter(varies).count() + left + taken.difference(&own).filter(varies).count();
    });
    carried.filter(|_| are_plain)
}
