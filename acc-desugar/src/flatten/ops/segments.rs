//! Segmented folds with operators that tensor libraries know, or that keep whole elements; the pass `scan_segments` has made scans
//! of the others.

use crate::analysis::choice::{Choice, Nans};
use crate::analysis::operators::built_in_reductions;
use crate::flatten::Flattener;
use crate::flatten::ops::fold::innermost;
use crate::flatten::scope::Flat;
use crate::graph::{FaultKind, SizeOp, Value};
use crate::settings::Faults;
use crate::settings::Segmented;
use acc_core::ir::{ArrayId, Dir, Fun, PrimOp, SEGMENTS_WRONG};

/// What a segmented fold is in a graph that does this about faults: it stays with a known operator, but not in graphs
/// that say which fault it is. An initial value that may fault is needed only if there is a segment.
pub(crate) fn segmented(faults: Faults, f: &Fun, init: Option<&Fun>) -> Segmented {
    let known = built_in_reductions(f).is_some() || kept(f, init).is_some();
    let stays = !faults.exact() && known && init.is_none_or(|i| !i.body.is_partial());
    if stays { Segmented::Kept } else { Segmented::Scan }
}

/// The operator that keeps one of two elements, if a segmented fold has one that is looked for by its position.
fn kept(f: &Fun, init: Option<&Fun>) -> Option<Choice> {
    // An initial value is in the first element's place, and one that yields to those that are no numbers is not known then.
    Choice::of_either(f, Dir::Left).filter(|choice| choice.nans != Nans::Yield || init.is_none())
}

impl Flattener<'_> {
    pub(crate) fn fold_seg(&mut self, f: &Fun, init: Option<&Fun>, xs: ArrayId, offsets: ArrayId) -> Flat {
        let (from, at) = (self.array(xs), self.array(offsets));
        let (outer, n) = innermost(&from.shape);
        let (len, one) = (at.shape[0], self.b.size(1));
        let none = self.b.size_op(SizeOp::Lt, len, one);
        self.check_stmt(FaultKind::CheckFailed { message: SEGMENTS_WRONG.into() }, none, &[], vec![n]);
        let count = self.b.size_op(SizeOp::Sub, len, one);
        let checked = self.after_raise(&[count, at.columns[0]]);
        let (count, offsets) = (checked[0], checked[1]);
        self.scope.extents.insert(count);
        let mut shape = outer;
        shape.push(count);
        let columns = match (built_in_reductions(f), kept(f, init)) {
            (None, Some(choice)) => {
                let kept = self.segments_chosen(choice, &from, offsets, init.is_none());
                match init {
                    None => kept,
                    Some(init) => self.after_initial_if_some(f, init, kept, offsets, &shape),
                }
            }
            (operations, _) => {
                let operations = operations.unwrap_or_default();
                let sums: Vec<Value> = operations
                    .iter()
                    .zip(&from.columns)
                    .map(|(k, c)| self.b.segment_reduce(*k, *c, None, offsets, init.is_none()))
                    .collect();
                match init {
                    None => sums,
                    Some(init) => {
                        let init = self.init(init);
                        self.after_initial(f, &operations, &init, sums, &shape)
                    }
                }
            }
        };
        Flat { shape, columns: columns.into() }
    }

    /// What segments keep after an initial value, which segments without elements yield.
    fn after_initial_if_some(
        &mut self,
        f: &Fun,
        init: &Fun,
        kept: Vec<Value>,
        offsets: Value,
        shape: &[Value],
    ) -> Vec<Value> {
        let Some(count) = shape.last() else { return kept };
        let (zero, one) = (self.b.size(0), self.b.size(1));
        let [starts, ends] = [zero, one].map(|from| self.b.slice(offsets, 0, from, *count, 1));
        let some = self.b.prim(PrimOp::LtP, &[starts, ends]);
        let some = self.b.insert_axes(some, (0..shape.len() as u32 - 1).collect());
        let init = self.init(init).into_iter().map(|v| self.b.lift(v, shape.len())).collect::<Vec<_>>();
        let args: Vec<Value> = init.iter().copied().chain(kept).collect();
        let combined = self.map_lanes(f, false, &args, shape, None);
        init.iter().zip(combined).map(|(init, both)| self.b.where_(some, both, *init)).collect()
    }
}
