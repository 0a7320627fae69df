//! Segmented folds with operators that tensor libraries know; the pass `scan_segments` has made scans of
//! the others.

use crate::analysis::operators::built_in_reductions;
use crate::flatten::Flattener;
use crate::flatten::ops::fold::innermost;
use crate::flatten::scope::Flat;
use crate::graph::{FaultKind, SizeOp, Value};
use crate::settings::Faults;
use crate::settings::Segmented;
use acc_core::ir::{ArrayId, Fun, SEGMENTS_WRONG};

/// What a segmented fold is in a graph that does this about faults: it stays with a known operator, but not in graphs
/// that say which fault it is. An initial value that may fault is needed only if there is a segment.
pub(crate) fn segmented(faults: Faults, f: &Fun, init: Option<&Fun>) -> Segmented {
    let stays = !faults.exact() && built_in_reductions(f).is_some() && init.is_none_or(|i| !i.body.is_partial());
    if stays { Segmented::Kept } else { Segmented::Scan }
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
        let operations = built_in_reductions(f).unwrap_or_default();
        let sums: Vec<Value> = operations
            .iter()
            .zip(&from.columns)
            .map(|(k, c)| self.b.segment_reduce(*k, *c, None, offsets, init.is_none()))
            .collect();
        let columns = match init {
            None => sums,
            Some(init) => {
                let init = self.init(init);
                self.after_initial(f, &operations, &init, sums, &shape)
            }
        };
        Flat { shape, columns: columns.into() }
    }
}
