//! Folds, scans and folds of segments that keep whole elements: what is kept is looked for by its position.

use crate::analysis::choice::{Choice, Nans, Ties};
use crate::flatten::Flattener;
use crate::flatten::ops::fold::{at_positions, innermost, is_own_index};
use crate::flatten::ops::sort::along_rows;
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{ReduceOp, ScatterMode, SizeOp, Value, Values};
use acc_core::data::Prim;
use acc_core::ir::PrimOp;

/// What elements are compared by, with the worst number in place of a NaN that loses.
pub(crate) fn comparable(b: &mut Builder, choice: Choice, key: Value) -> Value {
    let ty = b.scalar(key);
    if !ty.is_float() || choice.nans == Nans::Win {
        return key;
    }
    let (nan, worst) = (b.prim(PrimOp::IsNanP, &[key]), b.constant(choice.best.neutral(ty)));
    b.where_(nan, worst, key)
}

/// Whether elements are no numbers, if those that come first stay, or last.
fn stays(b: &mut Builder, choice: Choice, end: Value) -> Option<Value> {
    let stays = b.scalar(end).is_float() && choice.nans != Nans::Win;
    stays.then(|| b.prim(PrimOp::IsNanP, &[end]))
}

/// The elements that rows of `n` elements keep, of which there is one.
pub(crate) fn fold_chosen(b: &mut Builder, choice: Choice, columns: &[Value], outer: &[Value], n: Value) -> Vec<Value> {
    let (key, axis) = (columns[choice.leaf], outer.len() as u32);
    let counted = comparable(b, choice, key);
    let mut at = match choice.ties {
        Ties::First => b.arg_extreme(choice.best, counted),
        Ties::Last => {
            let backwards = b.flip(counted, axis);
            let behind = b.arg_extreme(choice.best, backwards);
            let (n, one) = (b.tensor_of_size(n), b.constant(1i64.lit()));
            let last = b.prim(PrimOp::SubP, &[n, one]);
            b.prim(PrimOp::SubP, &[last, behind])
        }
    };
    let zero = b.size(0);
    let first = b.select(key, axis, zero);
    if let Some(stays) = stays(b, choice, first) {
        let none = b.constant(0i64.lit());
        at = b.where_(stays, none, at);
    }
    columns.iter().map(|c| at_positions(b, *c, at, outer, n)).collect()
}

/// The elements that rows of `n` elements keep up to each of them.
pub(crate) fn scan_chosen(b: &mut Builder, choice: Choice, columns: &[Value], outer: &[Value], n: Value) -> Vec<Value> {
    let (key, axis) = (columns[choice.leaf], outer.len() as u32);
    let counted = comparable(b, choice, key);
    let best = b.cumulative(choice.best, counted);
    let (zero, one) = (b.size(0), b.size(1));
    let first = b.size_op(SizeOp::Min, n, one);
    let fewer = b.size_op(SizeOp::Sub, n, first);
    let before = b.slice(best, axis, zero, fewer, 1);
    let [later, own] = [counted, key].map(|c| b.slice(c, axis, first, fewer, 1));
    let compares = match (choice.best, choice.ties) {
        (ReduceOp::Max, Ties::First) => PrimOp::GtP,
        (ReduceOp::Max, Ties::Last) => PrimOp::GeP,
        (_, Ties::First) => PrimOp::LtP,
        (_, Ties::Last) => PrimOp::LeP,
    };
    let mut taken = b.prim(compares, &[later, before]);
    if b.scalar(key).is_float() {
        let nan = b.prim(PrimOp::IsNanP, &[own]);
        let fixed = match choice.nans {
            Nans::Win => {
                taken = b.prim(PrimOp::OrP, &[taken, nan]);
                b.prim(PrimOp::IsNanP, &[before])
            }
            Nans::Lose | Nans::Yield => {
                let number = b.not(nan);
                taken = b.and(taken, number);
                let first = b.slice(key, axis, zero, first, 1);
                b.prim(PrimOp::IsNanP, &[first])
            }
        };
        let open = b.not(fixed);
        taken = b.and(taken, open);
    }
    // The first element is kept up to itself.
    let mut shape: Values = outer.into();
    shape.push(first);
    let start = b.constant(0i64.lit());
    let kept_first = b.full(start, &shape);
    let positions = b.iota_from(fewer, one, one);
    let positions = b.insert_axes(positions, (0..axis).collect());
    let positions = b.where_(taken, positions, start);
    let positions = b.concat(&[kept_first, positions], axis);
    let at = b.cumulative(ReduceOp::Max, positions);
    shape.pop();
    shape.push(n);
    let read = |c: &Value| if is_own_index(b, *c, axis) { at } else { along_rows(b, *c, at, &shape) };
    columns.iter().map(read).collect()
}

impl Flattener<'_> {
    /// The elements that segments keep, which are there: of those without elements any one. `full` says that all have some.
    pub(crate) fn segments_chosen(&mut self, choice: Choice, from: &Flat, offsets: Value, full: bool) -> Vec<Value> {
        let (outer, n) = innermost(&from.shape);
        let (axis, key) = (outer.len() as u32, from.columns[choice.leaf]);
        let b = &mut self.b;
        let (zero, one) = (b.size(0), b.size(1));
        let all_offsets = b.extent(offsets, 0);
        let count = b.size_op(SizeOp::Sub, all_offsets, one);
        let places = b.size_op(SizeOp::Add, n, one);
        let slots = b.size_op(SizeOp::Add, all_offsets, one);
        let bounds = offsets;

        // How many offsets are at or before an element: 0 before all segments, and one more than there are behind them.
        let offsets = b.in_bounds(bounds, places, true);
        let (none, each) = (b.constant(0i64.lit()), b.constant(1i64.lit()));
        let (none_of_all, each_of_all) = (b.full(none, &[places]), b.full(each, &[all_offsets]));
        let marks = b.scatter(none_of_all, offsets, each_of_all, ScatterMode::Combine(ReduceOp::Sum));
        let numbers = b.cumulative(ReduceOp::Sum, marks);
        let numbers = b.slice(numbers, 0, zero, n, 1);

        // For each element the greatest or least number of its segment.
        let mut shape = outer.clone();
        shape.push(one);
        let extreme = |b: &mut Builder, of: ReduceOp, x: Value| {
            let worst = b.constant(of.neutral(b.scalar(x)));
            let beside = b.full(worst, &shape);
            let best = b.segment_reduce(of, x, None, bounds, full);
            let best = b.concat(&[beside, best, beside], axis);
            b.take(best, axis, numbers)
        };
        // Where one that is no number takes any place and keeps none, the elements behind the last such are compared.
        let yields = b.scalar(key).is_float() && choice.nans == Nans::Yield;
        let behind = yields.then(|| {
            let (nan, positions) = (b.prim(PrimOp::IsNanP, &[key]), b.iota(n));
            let positions = b.insert_axes(positions, (0..axis).collect());
            let before_all = b.constant((-1i64).lit());
            let places = b.where_(nan, positions, before_all);
            let last = extreme(b, ReduceOp::Max, places);
            b.prim(PrimOp::GtP, &[positions, last])
        });
        let counted = match behind {
            Some(behind) => {
                let worst = b.constant(choice.best.neutral(b.scalar(key)));
                b.where_(behind, key, worst)
            }
            None => comparable(b, choice, key),
        };

        // Which elements are as good as the best one of their segment.
        let of_each = extreme(b, choice.best, counted);
        let mut good = b.prim(PrimOp::EqP, &[key, of_each]);
        if let Some(behind) = behind {
            good = b.and(good, behind);
        }
        if b.scalar(key).is_float() && choice.nans == Nans::Win {
            let nan = b.prim(PrimOp::IsNanP, &[key]);
            good = b.prim(PrimOp::OrP, &[good, nan]);
        }

        // The last one of these that is put into its segment's place stays.
        let rows = b.product(&outer);
        let row = b.iota(rows);
        let in_row = |b: &mut Builder, at: Value, len: Value| {
            let len_of_rows = b.tensor_of_size(len);
            let start = b.prim(PrimOp::MulP, &[row, len_of_rows]);
            let [start, at] = [(start, 1), (at, 0)].map(|(v, axis)| b.insert_axes(v, [axis].into_iter().collect()));
            b.prim(PrimOp::AddP, &[start, at])
        };
        let all = b.product(&from.shape);
        let all_slots = b.size_op(SizeOp::Mul, rows, slots);
        let numbers = in_row(b, numbers, slots);
        let numbers = b.reshape(numbers, &[all]);
        let good = b.reshape(good, &[all]);
        let mut found = b.nonzero(good);
        if choice.ties == Ties::First {
            found = b.flip(found, 0);
        }
        let segments = b.gather(numbers, found);
        let nobody = b.full(none, &[all_slots]);
        let kept = b.scatter(nobody, segments, found, ScatterMode::Last);
        let kept = b.reshape(kept, &[rows, slots]);
        let mut at = b.slice(kept, 1, one, count, 1);
        let flat: Vec<Value> = from.columns.iter().map(|c| b.reshape(*c, &[all])).collect();
        // The element that stays if it is no number: the first one of a segment, or the last.
        let ends = b.slice(offsets, 0, if yields { one } else { zero }, count, 1);
        let ends = if yields { b.prim(PrimOp::SubP, &[ends, each]) } else { ends };
        let ends = b.clamp(ends, n);
        let ends = in_row(b, ends, n);
        let end = b.gather(flat[choice.leaf], ends);
        if let Some(stays) = stays(b, choice, end) {
            at = b.where_(stays, ends, at);
        }
        shape.pop();
        shape.push(count);
        let at = b.reshape(at, &shape);
        let own = |c: &Value| axis == 0 && is_own_index(b, *c, axis);
        let own: Vec<bool> = from.columns.iter().map(own).collect();
        flat.iter().zip(own).map(|(c, own)| if own { at } else { b.gather(*c, at) }).collect()
    }
}
