//! Sorts of which only the first or last elements of each row are read, as the least of an array and where they are.

use crate::graph::builder::Builder;
use crate::graph::{Body, Op, SizeOp, Value};
use std::collections::{HashMap, HashSet};

/// The name of the rule, which needs what [`mark`] finds.
pub(super) const NAME: &str = "selections";

/// A slice of sorted rows that has their first or last elements is what a sort finds that looks for no more than these.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Slice { x, axis, start, len, step: 1 } = *op else { return None };
    let mut checked = Vec::new();
    let sorted = b.unchecked(x, &mut checked);
    // In a loop, slices of a sort before it would find them in each step anew.
    if !b.is_read_in_parts(sorted) || b.is_within(sorted, b.depth() - 1) {
        return None;
    }
    let (Op::Sort { x: keys, count: None, .. }, results) = b.defining(sorted)? else { return None };
    let (keys, which) = (*keys, results.iter().position(|r| *r == sorted)?);
    let last = match b.const_size(start) {
        Some(0) => false,
        _ if is_end(b, keys, axis as usize, start, len) => true,
        _ => return None,
    };
    let selected = b.sort(keys, Some(len), last)[which];
    Some(b.after_checks(selected, checked))
}

/// Whether a range of an axis ends where the axis does.
fn is_end(b: &Builder, x: Value, axis: usize, start: Value, len: Value) -> bool {
    let Some(extent) = b.known_extent(x, axis) else { return false };
    let mut sum = Sum::default();
    for (size, times) in [(start, 1), (len, 1), (extent, -1)] {
        sum.add(b, size, times, MAX_SIZE_DEPTH);
    }
    sum.constant == 0 && sum.terms.values().all(|times| *times == 0)
}

/// So deep sums of sizes are looked into.
const MAX_SIZE_DEPTH: u32 = 8;

/// A sum of multiples of sizes, which wraps around as they do.
#[derive(Default)]
struct Sum {
    terms: HashMap<Value, i64>,
    constant: i64,
}

impl Sum {
    fn add(&mut self, b: &Builder, size: Value, times: i64, depth: u32) {
        let size = b.origin(size);
        let parts = match b.def(size) {
            Some(Op::Size(n)) => {
                self.constant = self.constant.wrapping_add(times.wrapping_mul(*n));
                return;
            }
            Some(Op::SizeOp(SizeOp::Add, x, y)) => Some([(*x, 1), (*y, 1)]),
            Some(Op::SizeOp(SizeOp::Sub, x, y)) => Some([(*x, 1), (*y, -1)]),
            Some(Op::SizeOp(SizeOp::Mul, x, y)) => b.const_size(*y).map(|k| [(*x, k), (*x, 0)]),
            _ => None,
        };
        match parts.filter(|_| depth > 0) {
            Some(parts) => parts.iter().for_each(|(part, k)| self.add(b, *part, times.wrapping_mul(*k), depth - 1)),
            None => {
                let term = self.terms.entry(size).or_default();
                *term = term.wrapping_add(times);
            }
        }
    }
}

/// Finds the sorts of a graph of which parts of rows are all that is read.
pub(super) fn mark(b: &mut Builder, body: &Body) {
    let mut sorts = Sorts::default();
    sorts.body(b, body);
    let Sorts { sort, read_whole } = sorts;
    b.set_read_in_parts(sort.into_iter().filter(|(_, sort)| !read_whole.contains(sort)).map(|(v, _)| v).collect());
}

#[derive(Default)]
struct Sorts {
    /// The results of sorts, also behind checks, and the first result of each.
    sort: HashMap<Value, Value>,
    /// Sorts of which whole rows are read.
    read_whole: HashSet<Value>,
}

impl Sorts {
    fn body(&mut self, b: &Builder, body: &Body) {
        for node in &body.nodes {
            match &node.op {
                Op::Sort { x, count: None, .. } => {
                    self.read([*x]);
                    self.sort.extend(node.results.iter().map(|r| (*r, node.results[0])));
                }
                Op::Checked { values, .. } => {
                    for (r, v) in node.results.iter().zip(values) {
                        if let Some(sort) = self.sort.get(v) {
                            self.sort.insert(*r, *sort);
                        }
                    }
                }
                Op::Slice { x, axis, step: 1, .. } if *axis as usize + 1 == b.rank(*x) => {}
                op => self.read(op.operands()),
            }
            for inner in node.op.bodies() {
                acc_core::grow_stack(|| self.body(b, inner));
            }
        }
        self.read(body.results.iter().copied());
    }

    fn read(&mut self, values: impl IntoIterator<Item = Value>) {
        let sorts = values.into_iter().filter_map(|v| self.sort.get(&v));
        self.read_whole.extend(sorts);
    }
}
