//! Reads of every second, third or fourth element: `image[i, j, 0]` or `points[i, 2]`, where an outer index follows the
//! lanes.
//!
//! The distance between the lanes' elements is the product of the inner extents, which is known at run time. If it is
//! small, as for the channels of an image or the coordinates of points, all elements in between are loaded as vectors
//! and the lanes' are shuffled out, which takes a few instructions where a gather takes one or more per lane. Results
//! with such short rows are stored in the same way.

use crate::kernel::{Ix, Kernel, Load, Node, Op};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE, Index, MAX_SHUFFLED_STRIDE};
use crate::llvm::emit::access::transposed_load::transposed_dims;
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Label, Operand, element, put, stored};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::data::ScalarType;
use acc_core::ir::ArrayId;
use acc_desugar::analysis::access::Access;

/// More reads than this are gathered: each has code for every distance, which takes time to compile.
const MAX_SPECIALISED_LOADS: usize = 8;
/// Larger elements are gathered under a mask: a vector has few of them, and the gather is as fast.
const MAX_SHUFFLED_ELEMENT_BYTES: usize = 4;

/// Whether all reads of a kernel across rows are interleaved, for arrays of these extents.
pub(crate) fn reads_interleaved<'s>(kernel: &Kernel, extents: impl Fn(ArrayId) -> Option<&'s [usize]>) -> bool {
    let lane = kernel.axes.len().saturating_sub(1);
    let few = |l: &Load, across: usize| {
        let follows = matches!(l.index[across], Ix::Affine { scale: 1, .. });
        let distance = extents(l.array).and_then(|e| e.get(across + 1..)).map(|inner| inner.iter().product::<usize>());
        follows && distance.is_some_and(|d| d <= MAX_SHUFFLED_STRIDE as usize)
    };
    let loads = kernel.element.region.nodes.iter().filter_map(|n| match &n.op {
        Op::Index(l) => transposed_dims(l, lane).map(|(across, _)| few(l, across)),
        _ => None,
    });
    let (mut count, mut all) = (0, true);
    loads.for_each(|few| (count, all) = (count + 1, all && few));
    all && (1..=MAX_SPECIALISED_LOADS).contains(&count)
}

impl Emitter<'_> {
    /// Writes an interleaved read; false if it is to be gathered.
    pub(crate) fn load_interleaved(&mut self, n: &Node, l: &Load) -> bool {
        if self.count_loads(|access| matches!(access, Access::Across { step: 1, .. })) > MAX_SPECIALISED_LOADS {
            return false;
        }
        let (index, _) = self.checked_index(l.array, &l.index, None);
        let Some(lane) = index.iter().position(|v| matches!(v, Value::Affine(..))) else { return false };
        let mut first = index.clone();
        if let Value::Affine(at, _) = &index[lane] {
            first[lane] = Value::Uniform(at.clone());
        }
        let Address::Uniform(start) = self.code.address(l.array, &first) else { return false };
        let distance = self.code.f.stride(l.array, lane, index.len());
        // Pending faults must be checked before control flow splits: then all active lanes are in bounds.
        self.code.bail_out_on_fault();
        let there = match self.code.mask {
            Mask::All => Operand::text("true"),
            Mask::Lanes(_) => self.code.all_readable(l.array, &start, &distance),
        };

        let join = self.code.f.w.label();
        let mut ways = Vec::new();
        for step in 1..=MAX_SHUFFLED_STRIDE {
            let [here, next] = [(); 2].map(|()| self.code.f.w.label());
            let is = put!(self.code.f, "icmp eq i64 {distance}, {step}");
            let is = put!(self.code.f, "and i1 {is}, {there}");
            self.code.f.w.branch(&is, here, next);
            self.code.f.w.start(here);
            ways.push(
                self.load_path(n, l, join, |e, ty, column| e.code.strided_load(ty, column, &start, step as usize)),
            );
            self.code.f.w.start(next);
        }
        let Some(any) = self.gather_path(n, l, join, &index) else { return false };
        ways.push(any);
        self.join_paths(n, join, &ways);
        true
    }

    /// Writes a strided read under a mask; false if there is no mask, or it is to be gathered.
    pub(crate) fn load_strided_masked(&mut self, n: &Node, l: &Load) -> bool {
        if matches!(self.code.mask, Mask::All)
            || self.count_loads(|access| matches!(access, Access::Strided(2..=MAX_SHUFFLED_STRIDE)))
                > MAX_SPECIALISED_LOADS
        {
            return false;
        }
        // A gather of larger elements takes no longer.
        if n.results.iter().any(|&r| self.ty(r).size() > MAX_SHUFFLED_ELEMENT_BYTES) {
            return false;
        }
        let (index, _) = self.checked_index(l.array, &l.index, None);
        let mut first = index.clone();
        let Some(Value::Affine(at, step)) = first.pop() else { return false };
        first.push(Value::Uniform(at));
        let Address::Uniform(start) = self.code.address(l.array, &first) else { return false };
        // Pending faults must be checked before control flow splits: then all active lanes are in bounds.
        self.code.bail_out_on_fault();
        let there = self.code.all_readable(l.array, &start, &Operand::int(step));
        let [near, far, join] = [(); 3].map(|()| self.code.f.w.label());
        self.code.f.w.branch(&there, near, far);
        self.code.f.w.start(near);
        let near = self.load_path(n, l, join, |e, ty, column| e.code.strided_load(ty, column, &start, step as usize));
        self.code.f.w.start(far);
        let far = self.gather_path(n, l, join, &index);
        let Some(far) = far else { return false };
        self.join_paths(n, join, &[near, far]);
        true
    }

    /// The path of a read that gathers.
    fn gather_path(&mut self, n: &Node, l: &Load, join: Label, index: &Index) -> Option<(Vec<Parts>, Label)> {
        let Address::Gathered(positions) = self.code.address(l.array, index) else { return None };
        let positions = self.code.readable_positions(l.array, index.len(), positions);
        Some(self.load_path(n, l, join, |e, ty, column| {
            let values = e.code.gather(ty, column, &positions, INPUT_SCOPE);
            e.code.broadcast(&values, element(ty))
        }))
    }

    /// How many reads of the body, but those of stencils, have such an access.
    fn count_loads(&self, such: fn(Access) -> bool) -> usize {
        let mut reads = 0;
        self.facts.body.region.visit(0, &mut |n, _| {
            reads += usize::from(matches!(&n.op, Op::Index(l) if l.edge.is_none() && such(self.lane_access(l))));
        });
        reads
    }
}

impl VectorCode {
    /// Whether an array has elements at the positions of all lanes, at this distance, and between them, whether or not
    /// the lanes are active.
    fn all_readable(&mut self, array: ArrayId, start: &Operand, distance: &Operand) -> Operand {
        let [first, end] =
            [KernelArg::ReadableStart(array), KernelArg::ReadableEnd(array)].map(|word| self.f.arg(word));
        let last = put!(self.f, "mul i64 {distance}, {}", self.width.step() - 1);
        let count = put!(self.f, "sub i64 {end}, {first}");
        let most = put!(self.f, "sub i64 {count}, {last}");
        let before = put!(self.f, "sub i64 {start}, {first}");
        let some = put!(self.f, "icmp sgt i64 {most}, 0");
        let below = put!(self.f, "icmp ult i64 {before}, {most}");
        put!(self.f, "and i1 {some}, {below}")
    }

    /// Stores channels that are kept one after the other with the channels of each lane side by side.
    pub(crate) fn interleave(&mut self, ty: ScalarType, channels: usize, kept: &Operand, to: &Operand) {
        let (lanes, parts) = (self.width.lanes, self.width.parts);
        let (mem, size) = (stored(ty), ty.size());
        let vector = self.shape().of(mem);
        for part in 0..parts {
            for k in 0..channels {
                // The channel and the lane of element `l` of the vector.
                let of = |l: usize| ((k * lanes + l) % channels, (k * lanes + l) / channels);
                let mut all: Option<Operand> = None;
                for channel in 0..channels {
                    let p = put!(self.f, "getelementptr {mem}, ptr {kept}, i64 {}", (channel * parts + part) * lanes);
                    let x = put!(self.f, "load {vector}, ptr {p}, align {size}");
                    all = Some(match all {
                        None => x,
                        Some(before) => {
                            let lane = |l: usize| match of(l) {
                                (c, lane) if c == channel => lanes + lane,
                                // The first channel's lanes are placed together with those of the second one.
                                (0, lane) if channel == 1 => lane,
                                _ => l,
                            };
                            let order: Vec<String> = (0..lanes).map(|l| format!("i32 {}", lane(l))).collect();
                            put!(
                                self.f,
                                "shufflevector {vector} {before}, {vector} {x}, <{lanes} x i32> <{}>",
                                order.join(", ")
                            )
                        }
                    });
                }
                let Some(x) = all else { continue };
                let p = put!(self.f, "getelementptr {mem}, ptr {to}, i64 {}", (part * channels + k) * lanes);
                self.f.w.line(format_args!("store {vector} {x}, ptr {p}, align {size}, !noalias !2"));
            }
        }
    }
}
