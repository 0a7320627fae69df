//! Pools: reductions of windows of a tensor, one axis after the other.
//!
//! What is reduced along a position in a window, and read at the other axes of the window, is reduced before it is read there. So a
//! window of `a` by `b` takes the steps of `a + b` elements, and no tensor has an axis for each.

use super::windows::{Along, Term, Viewed, are_zero_outside, viewed};
use crate::graph::builder::{Builder, Pooled, Windows};
use crate::graph::{Op, ReduceOp, Value, Values};

/// A reduction of windows.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Reduce(with, mut rows) = *op else { return None };
    // Windows whose ends are cut off are reduced along all of their axes at once.
    for reduced in 1..=b.rank(rows) {
        if let Some(pools) = Pools::of(b, with, rows, reduced) {
            return pools.write(b, with);
        }
        let Op::Reduce(again, inner) = *b.def(rows)? else { return None };
        if again != with {
            return None;
        }
        rows = inner;
    }
    None
}

/// A dimension that is reduced in windows.
struct Pool {
    dimension: usize,
    place: Term,
    window: Term,
    start: Value,
    padded: bool,
}

/// Pools that the reduction of some of the innermost axes of rows is.
struct Pools {
    from: Viewed,
    pools: Vec<Pool>,
    /// The axes of the result that nothing varies along.
    ones: Vec<u32>,
}

impl Pools {
    fn of(b: &Builder, with: ReduceOp, rows: Value, reduced: usize) -> Option<Pools> {
        let outer = b.rank(rows) - reduced;
        let (elements, masked) = kept_inside(b, with, rows);
        let mut from = viewed(b, elements, true)?;
        from.checked.extend(masked.iter().flat_map(|m| m.checked.iter().copied()));
        let mut pools = Vec::new();
        for (dimension, along) in from.along.iter().enumerate() {
            match along {
                Along::One => {}
                Along::Axis(axis) if *axis < outer => {}
                Along::Axis(_) => return None,
                Along::Window { start, terms, padded, .. } => {
                    if !terms.iter().any(|t| t.axis >= outer) {
                        // Elsewhere zeros are no elements that are left out.
                        if masked.is_some() && *padded {
                            return None;
                        }
                        continue;
                    }
                    let [x, y] = terms[..] else { return None };
                    let (place, window) = if x.axis < outer { (x, y) } else { (y, x) };
                    let fits = place.axis < outer && window.axis >= outer && place.step > 0 && window.step > 0;
                    let neutral = masked.is_some() || !*padded || with == ReduceOp::Sum;
                    if !fits || !neutral {
                        return None;
                    }
                    pools.push(Pool { dimension, place, window, start: *start, padded: *padded });
                }
            }
        }
        let ones: Vec<u32> = (0..outer).filter(|axis| !from.has(*axis)).map(|axis| axis as u32).collect();
        let known = ones.iter().all(|axis| b.axes(rows) >> axis & 1 == 0);
        (known && pools.len() == reduced).then_some(Pools { from, pools, ones })
    }

    fn write(&self, b: &mut Builder, with: ReduceOp) -> Option<Value> {
        let mut value = self.from.after_checks(b);
        let mut all = self.from.along.clone();
        for Pool { dimension, place, window, start, padded } in &self.pools {
            let [stride, dilation] = [place.step, window.step].map(|step| u32::try_from(step).ok());
            let (start, places, padded) = (*start, place.len, *padded);
            let windows = Pooled { start, places, window: window.len, stride: stride?, dilation: dilation?, padded };
            value = b.pool(with, value, *dimension as u32, windows);
            all[*dimension] = Along::Axis(place.axis);
        }
        let mut axes = Vec::new();
        // From the last dimension on, so that those before keep their numbers.
        for (k, along) in all.iter().enumerate().rev() {
            match along {
                Along::One => {
                    let first = b.size(0);
                    value = b.select(value, k as u32, first);
                }
                Along::Axis(axis) => axes.insert(0, *axis),
                Along::Window { start, terms, padded, .. } => {
                    let lens: Values = terms.iter().map(|t| t.len).collect();
                    let steps: Values = terms.iter().map(|t| b.size(t.step)).collect();
                    value = b.unfold(value, k as u32, Windows { start: *start, lens, steps, padded: *padded });
                    axes.splice(0..0, terms.iter().map(|t| t.axis));
                }
            }
        }
        let mut order: Vec<u32> = (0..axes.len() as u32).collect();
        order.sort_by_key(|k| axes[*k as usize]);
        let value = b.transpose(value, &order);
        Some(b.insert_axes(value, self.ones.as_slice().into()))
    }
}

/// That elements outside of a tensor are left out.
struct Masked {
    /// The checks that the choice waits for.
    checked: Vec<Value>,
}

/// The elements of rows that are the neutral element where all that a condition says is that positions are outside of a tensor.
fn kept_inside(b: &Builder, with: ReduceOp, rows: Value) -> (Value, Option<Masked>) {
    let mut checked = Vec::new();
    let chosen = b.unchecked(rows, &mut checked);
    let found = match b.def(chosen) {
        Some(Op::Where(mask, then, else_)) if b.constant_of(*else_) == Some(with.neutral(b.scalar(rows))) => {
            are_zero_outside(b, &[*then], *mask).then_some(*then)
        }
        _ => None,
    };
    found.map_or((rows, None), |then| (then, Some(Masked { checked })))
}
