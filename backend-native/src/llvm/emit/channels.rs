//! Reads of every second, third or fourth element: `image[i, j, 0]` or `points[i, 2]`, where the index before the last one
//! follows the lanes.
//!
//! How far apart the lanes' elements are, the extents of the axes after theirs tell when the kernel runs. If that is little,
//! as it is of the channels of an image and of the coordinates of points, vectors of all elements between are read and the
//! lanes' taken from them, which takes a few operations where a gather takes one for each lane or more. Results of which a row
//! is so short are written in the same way.

use super::access::{APART, INPUT, Index, Place};
use super::nest::Axis;
use super::text::{Label, Operand, element, put, stored};
use super::turned::across;
use super::value::{Mask, Parts, V};
use super::{Emitter, Level, Word};
use crate::kernel::{Ix, Kernel, Load, Node, Op};
use acc_core::data::ScalarType;
use acc_core::ir::ArrayId;

/// So many reads of a kernel at most have ways of their own for each distance, which take time to compile.
const MOST: usize = 8;
/// Bytes of the largest elements that are shuffled under a mask.
const SHUFFLED: usize = 4;

/// Whether all that a kernel reads across rows are channels that vectors are taken from: lanes are so little apart, in arrays
/// of these extents.
pub(crate) fn reads_channels<'s>(kernel: &Kernel, extents: impl Fn(ArrayId) -> Option<&'s [usize]>) -> bool {
    let lane = kernel.axes.len().saturating_sub(1);
    let few = |l: &Load, across: usize| {
        let follows = matches!(l.index[across], Ix::Affine { scale: 1, .. });
        let distance = extents(l.array).and_then(|e| e.get(across + 1..)).map(|inner| inner.iter().product::<usize>());
        follows && distance.is_some_and(|d| d <= APART as usize)
    };
    let loads = kernel.element.region.nodes.iter().filter_map(|n| match &n.op {
        Op::Load(l) => across(l, lane).map(|(across, _)| few(l, across)),
        _ => None,
    });
    let (mut count, mut all) = (0, true);
    loads.for_each(|few| (count, all) = (count + 1, all && few));
    all && (1..=MOST).contains(&count)
}

impl Emitter<'_> {
    /// Writes a read of lanes that are apart; whether it is one.
    pub(super) fn read_channels(&mut self, n: &Node, l: &Load) -> bool {
        if !self.is_of_channels(l) || self.reads(Self::is_of_channels) > MOST {
            return false;
        }
        let (index, _) = self.checked(l.array, &l.index, None);
        let Some(lane) = index.iter().position(|v| matches!(v, V::Linear(..))) else { return false };
        let mut first = index.clone();
        if let V::Linear(at, _) = &index[lane] {
            first[lane] = V::One(at.clone());
        }
        let Place::One(start) = self.place(l.array, &first) else { return false };
        let distance = self.stride(l.array, lane, index.len());
        // What faulted so far is told before ways part: all lanes that are on are in bounds.
        self.settle();
        let there = match self.mask {
            Mask::All => Operand::text("true"),
            Mask::Lanes(_) => self.all_are_there(l.array, &start, &distance),
        };

        let join = self.w.label();
        let mut ways = Vec::new();
        for step in 1..=APART {
            let [here, next] = [(); 2].map(|()| self.w.label());
            let is = put!(self, "icmp eq i64 {distance}, {step}");
            let is = put!(self, "and i1 {is}, {there}");
            self.w.branch(&is, here, next);
            self.w.start(here);
            ways.push(self.way(n, l, join, |e, ty, column| e.apart(ty, column, &start, step as usize)));
            self.w.start(next);
        }
        let Some(any) = self.way_of_any(n, l, join, &index) else { return false };
        ways.push(any);
        self.ways_join(n, join, &ways);
        true
    }

    /// Writes a read of neighbours that are a few places apart in memory, under a mask; whether it is one.
    pub(super) fn read_apart(&mut self, n: &Node, l: &Load) -> bool {
        if matches!(self.mask, Mask::All) || !self.is_apart(l) || self.reads(Self::is_apart) > MOST {
            return false;
        }
        // A gather of larger ones takes no longer, of which a vector has few lanes.
        if n.results.iter().any(|&r| self.ty(r).size() > SHUFFLED) {
            return false;
        }
        let (index, _) = self.checked(l.array, &l.index, None);
        let mut first = index.clone();
        let Some(V::Linear(at, step)) = first.pop() else { return false };
        first.push(V::One(at));
        let Place::One(start) = self.place(l.array, &first) else { return false };
        // What faulted so far is told before ways part: all lanes that are on are in bounds.
        self.settle();
        let there = self.all_are_there(l.array, &start, &Operand::int(step));
        let [near, far, join] = [(); 3].map(|()| self.w.label());
        self.w.branch(&there, near, far);
        self.w.start(near);
        let near = self.way(n, l, join, |e, ty, column| e.apart(ty, column, &start, step as usize));
        self.w.start(far);
        let far = self.way_of_any(n, l, join, &index);
        let Some(far) = far else { return false };
        self.ways_join(n, join, &[near, far]);
        true
    }

    /// A way of a read of any places.
    fn way_of_any(&mut self, n: &Node, l: &Load, join: Label, index: &Index) -> Option<(Vec<Parts>, Label)> {
        let Place::Any(positions) = self.place(l.array, index) else { return None };
        let positions = self.safe(l.array, index.len(), positions);
        Some(self.way(n, l, join, |e, ty, column| {
            let values = e.gather(ty, column, &positions, INPUT);
            e.spread(&values, element(ty))
        }))
    }

    /// Whether an array has elements at the places of all lanes, so far from each other, and between them, whether or not the
    /// lanes are on.
    fn all_are_there(&mut self, array: ArrayId, start: &Operand, distance: &Operand) -> Operand {
        let [first, end] = [Word::First(array), Word::End(array)].map(|word| self.word(word));
        let last = put!(self, "mul i64 {distance}, {}", self.width.step() - 1);
        let count = put!(self, "sub i64 {end}, {first}");
        let most = put!(self, "sub i64 {count}, {last}");
        let before = put!(self, "sub i64 {start}, {first}");
        let some = put!(self, "icmp sgt i64 {most}, 0");
        let below = put!(self, "icmp ult i64 {before}, {most}");
        put!(self, "and i1 {some}, {below}")
    }

    /// Whether one index, not the last one, follows the lanes, and the others are the same for all.
    fn is_of_channels(&self, l: &Load) -> bool {
        let Some((last, outer)) = l.index.split_last() else { return false };
        let mut lanes = outer.iter().map(|ix| self.index_level(ix)).filter(|of| *of != Level::One);
        l.edge.is_none()
            && self.index_level(last) == Level::One
            && lanes.next() == Some(Level::Linear(1))
            && lanes.next().is_none()
    }

    /// Whether the last index grows by some places from lane to lane, and the others are the same for all.
    fn is_apart(&self, l: &Load) -> bool {
        let Some((last, outer)) = l.index.split_last() else { return false };
        l.edge.is_none()
            && matches!(self.index_level(last), Level::Linear(2..=APART))
            && outer.iter().all(|ix| self.index_level(ix) == Level::One)
    }

    /// How an index varies.
    fn index_level(&self, ix: &Ix) -> Level {
        match *ix {
            Ix::At(v) if self.halved.has(v) => Level::Lanes,
            Ix::At(v) => self.levels[v.index()],
            Ix::Affine { axis, scale, .. } => match self.axes[axis as usize] {
                Axis::Lanes(_) if scale != 0 => Level::Linear(scale * self.lane_step),
                Axis::Lanes(_) | Axis::One(_) => Level::One,
            },
        }
    }

    /// Writes the lanes of so many channels, those of each channel kept side by side, with the channels of each lane side by
    /// side.
    pub(super) fn interleave(&mut self, ty: ScalarType, channels: usize, kept: &Operand, to: &Operand) {
        let (lanes, parts) = (self.width.lanes, self.width.parts);
        let (mem, size) = (stored(ty), ty.size());
        let vector = self.shape().of(mem);
        for part in 0..parts {
            for k in 0..channels {
                // The channel of an element of the vector that is written, and its lane.
                let of = |l: usize| ((k * lanes + l) % channels, (k * lanes + l) / channels);
                let mut all: Option<Operand> = None;
                for channel in 0..channels {
                    let p = put!(self, "getelementptr {mem}, ptr {kept}, i64 {}", (channel * parts + part) * lanes);
                    let x = put!(self, "load {vector}, ptr {p}, align {size}");
                    all = Some(match all {
                        None => x,
                        Some(before) => {
                            let lane = |l: usize| match of(l) {
                                (c, lane) if c == channel => lanes + lane,
                                // The first channel's lanes are brought to their places together with the second one's.
                                (0, lane) if channel == 1 => lane,
                                _ => l,
                            };
                            let order: Vec<String> = (0..lanes).map(|l| format!("i32 {}", lane(l))).collect();
                            put!(
                                self,
                                "shufflevector {vector} {before}, {vector} {x}, <{lanes} x i32> <{}>",
                                order.join(", ")
                            )
                        }
                    });
                }
                let Some(x) = all else { continue };
                let p = put!(self, "getelementptr {mem}, ptr {to}, i64 {}", (part * channels + k) * lanes);
                self.w.line(format_args!("store {vector} {x}, ptr {p}, align {size}, !noalias !2"));
            }
        }
    }

    /// How many reads of the body are such.
    fn reads(&self, such: fn(&Self, &Load) -> bool) -> usize {
        let mut reads = 0;
        self.body.region.visit(0, &mut |n, _| {
            reads += usize::from(matches!(&n.op, Op::Load(l) if such(self, l)));
        });
        reads
    }
}
