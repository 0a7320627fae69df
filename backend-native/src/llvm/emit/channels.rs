//! Reads of every second, third or fourth element: `image[i, j, 0]` or `points[i, 2]`, where the index before the last one
//! follows the lanes.
//!
//! How far apart the lanes' elements are, the extents of the axes after theirs tell when the kernel runs. If that is little,
//! as it is of the channels of an image and of the coordinates of points, vectors of all elements between are read and the
//! lanes' taken from them, which takes a few operations where a gather takes one for each lane or more.

use super::access::{APART, INPUT, Place};
use super::nest::Axis;
use super::text::{element, put};
use super::value::{Mask, V};
use super::{Emitter, Level};
use crate::kernel::{Ix, Load, Node, Op};

/// So many reads of a kernel at most have ways of their own for each distance, which take time to compile.
const MOST: usize = 8;

impl Emitter<'_> {
    /// Writes a read of lanes that are apart; whether it is one.
    pub(super) fn read_channels(&mut self, n: &Node, l: &Load) -> bool {
        if !matches!(self.mask, Mask::All) || !self.is_of_channels(l) || self.reads_of_channels() > MOST {
            return false;
        }
        let (index, good) = self.checked(l.array, &l.index, None);
        let lane = index.iter().position(|v| matches!(v, V::Linear(..)));
        let (Some(lane), None) = (lane, good) else { return false };
        let mut first = index.clone();
        if let V::Linear(at, _) = &index[lane] {
            first[lane] = V::One(at.clone());
        }
        let Place::One(start) = self.place(l.array, &first) else { return false };
        let distance = self.stride(l.array, lane, index.len());
        // What faulted so far is told before ways part.
        self.settle();

        let join = self.w.label();
        let mut ways = Vec::new();
        for step in 2..=APART {
            let [here, next] = [(); 2].map(|()| self.w.label());
            let is = put!(self, "icmp eq i64 {distance}, {step}");
            self.w.branch(&is, here, next);
            self.w.start(here);
            ways.push(self.way(n, l, join, |e, ty, column| e.apart(ty, column, &start, step as usize)));
            self.w.start(next);
        }
        let Place::Any(positions) = self.place(l.array, &index) else { return false };
        ways.push(self.way(n, l, join, |e, ty, column| {
            let values = e.gather(ty, column, &positions, INPUT);
            e.spread(&values, element(ty))
        }));
        self.ways_join(n, join, &ways);
        true
    }

    /// Whether one index, not the last one, follows the lanes, and the others are the same for all.
    fn is_of_channels(&self, l: &Load) -> bool {
        let level = |ix: &Ix| match *ix {
            Ix::At(v) if self.halved.has(v) => Level::Lanes,
            Ix::At(v) => self.levels[v.index()],
            Ix::Affine { axis, scale, .. } => match self.axes[axis as usize] {
                Axis::Lanes(_) if scale != 0 => Level::Linear(scale * self.lane_step),
                Axis::Lanes(_) | Axis::One(_) => Level::One,
            },
        };
        let Some((last, outer)) = l.index.split_last() else { return false };
        let mut lanes = outer.iter().map(level).filter(|of| *of != Level::One);
        l.edge.is_none()
            && level(last) == Level::One
            && lanes.next() == Some(Level::Linear(1))
            && lanes.next().is_none()
    }

    /// How many reads of the body are.
    fn reads_of_channels(&self) -> usize {
        let mut reads = 0;
        self.body.region.visit(0, &mut |n, _| {
            reads += usize::from(matches!(&n.op, Op::Load(l) if self.is_of_channels(l)));
        });
        reads
    }
}
