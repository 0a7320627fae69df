//! The number of elements per step.

use crate::kernel::{Accesses, Body, Op, visit_likely};
use crate::llvm::Target;
use crate::llvm::emit::Uniformity;
use crate::llvm::emit::loops::control::{by_lanes, is_computed_ahead};
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use std::collections::HashSet;

/// Bodies up to this size are computed for two vectors side by side: out-of-order execution does not look far enough
/// ahead to overlap longer dependency chains. Mathematical functions take 0.8 of the time, Black-Scholes, with 230
/// operations, 0.65.
const MAX_PAIRED_BODY_NODES: usize = 400;
/// Loop bodies up to this size are computed for [`LOOP_VECTORS`] vectors side by side, if registers hold the
/// loop-carried values of all: each iteration depends on the one before. Mandelbrot takes 0.83 of the time.
const MAX_LOOP_BODY_NODES: usize = 100;
const LOOP_VECTORS: usize = 4;
/// Registers that an iteration needs beside loop-carried values: constants, and temporaries of one vector.
const RESERVED_REGISTERS: usize = 10;

/// The vectors of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Width {
    /// Lanes of one vector.
    pub lanes: usize,
    /// Vectors per step of the innermost loop.
    pub parts: usize,
}

impl Width {
    /// As many lanes as a register has of the body's dominant type; as many vectors as a processor overlaps. `axes` says
    /// how each axis varies over the lanes.
    pub(crate) fn of(body: &Body, axes: &[Uniformity], target: &Target) -> Width {
        let (lanes, size) = Width::lanes_of(body, target);
        let parts = match () {
            () if size > MAX_PAIRED_BODY_NODES || lanes >= 32 => 1,
            () if size <= MAX_LOOP_BODY_NODES
                && carried(body, axes).is_some_and(|n| n * LOOP_VECTORS + RESERVED_REGISTERS <= target.registers()) =>
            {
                LOOP_VECTORS
            }
            () => 2,
        };
        Width { lanes, parts }
    }

    /// As many lanes as a register has of the body's dominant type, and the number of the nodes that are likely computed.
    pub(crate) fn lanes_of(body: &Body, target: &Target) -> (usize, usize) {
        let (mut by_size, mut size) = ([0usize; 9], 0);
        visit_likely(&body.region, &mut |n| {
            size += 1;
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
        ((target.register / widest).clamp(4, 32), size)
    }

    /// Elements of a step.
    pub(crate) fn step(self) -> usize {
        self.lanes * self.parts
    }
}

/// The vectors per part that loops carry in registers; none without loops, or for loops that are not written vector by
/// vector.
fn carried(body: &Body, axes: &[Uniformity]) -> Option<usize> {
    let (uniformities, used) = (Accesses::of(body).uniformities(axes), body.used());
    let varies = |v: &&Val| uniformities[v.index()] == Uniformity::Varying;
    let (mut carried, mut are_plain) = (None, true);
    body.region.visit(0, &mut |n, _| {
        let Op::While { test, step, .. } = &n.op else { return };
        are_plain &= is_computed_ahead(body, step) && by_lanes(body, &uniformities, &[test, step]).is_some();
        let mut taken: HashSet<Val> = HashSet::new();
        let nodes = || test.nodes.iter().chain(&step.nodes);
        nodes().for_each(|n| n.op.visit_operands(&mut |v| taken.extend([v])));
        let own = nodes().flat_map(|n| &n.results).chain(&test.params).chain(&step.params);
        let own: HashSet<Val> = own.copied().collect();
        let left = n.results.iter().filter(|r| used[r.index()]).filter(varies).count();
        *carried.get_or_insert(0) +=
            test.params.iter().filter(varies).count() + left + taken.difference(&own).filter(varies).count();
    });
    carried.filter(|_| are_plain)
}
