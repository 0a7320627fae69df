//! Forwards loads through compactions.
//!
//! A filter keeps the positions of elements, and its epilogue reads the elements there. If the element body has loaded
//! the same elements, to decide which to keep, it can hand their values on.

use super::{Ix, Kernel, Op, Sink};
use acc_core::ir::{ArrayId, Val};

impl Kernel {
    /// The kernel with a compaction that keeps values in place of a position, if the epilogue uses the position only to
    /// read them again.
    pub(crate) fn forward_loads(mut self) -> Kernel {
        let ([output], Some(epilogue)) = (&mut self.outputs[..], &mut self.epilogue) else { return self };
        let results = &mut self.element.region.results;
        let Some(&point) = self.element.region.params.first() else { return self };
        let Some(k) = results.iter().skip(1).position(|v| *v == point) else { return self };
        if !matches!(output.sink, Sink::Compact) || output.stored {
            return self;
        }
        // The first parameter is the place in the result.
        let mut body = epilogue.body.clone();
        let rest = &mut body.region;
        let at = rest.params[1 + k];
        let mut carried: Vec<(Val, Val)> = Vec::new();
        rest.nodes.retain(|n| {
            let Op::Index(l) = &n.op else { return true };
            if l.index[..] != [Ix::At(at)] || l.edge.is_some() {
                return true;
            }
            let read = |leaf: &u32| read_at_point(&self.element.region.nodes, l.array, *leaf);
            let Some(values) = l.leaves.iter().map(read).collect::<Option<Vec<_>>>() else { return true };
            carried.extend(n.results.iter().copied().zip(values));
            false
        });
        if carried.is_empty() || body.used()[at.index()] {
            return self;
        }
        let rest = &mut body.region;
        rest.params.remove(1 + k);
        results.remove(1 + k);
        for (param, value) in carried {
            rest.params.push(param);
            results.push(value);
        }
        epilogue.leaves = rest.params.len() - 1;
        epilogue.body = body;
        output.values = 0..results.len();
        self
    }
}

/// The value of an array's leaf that the element body reads at its own point.
fn read_at_point(nodes: &[super::Node], array: ArrayId, leaf: u32) -> Option<Val> {
    let here = [Ix::Affine { axis: 0, scale: 1, offset: 0, base: None }];
    nodes.iter().find_map(|n| match &n.op {
        Op::Index(l) if l.array == array && l.index[..] == here && l.edge.is_none() => {
            l.leaves.iter().position(|k| *k == leaf).map(|k| n.results[k])
        }
        _ => None,
    })
}
