//! Steps over patches of the index space: each vector of a step is another row.
//!
//! Where lanes leave loops at different times, a step goes on until the last one has left. Points that lie near each other
//! leave at about the same time, and those of a patch of 4 by 16 lie nearer than 64 of one row: the Mandelbrot set takes 0.89
//! of the time so.

use super::control::is_uniform;
use super::ending::Ending;
use super::nest::depths;
use super::steps::State;
use super::text::{Operand, put};
use super::value::{Mask, Parts, V};
use super::{Emitter, Form, Level, Word};
use crate::kernel::{Body, Ix, Kernel, Node, Op, levels};

/// How the axes of a body vary: each over the lanes of a patch.
pub(super) fn axes(body: &Body) -> Vec<Level> {
    vec![Level::Lanes; body.region.params.len()]
}

/// Whether lanes leave a loop of a kernel at different times, and no read follows an axis: reads would become gathers.
pub(crate) fn leaves_apart(kernel: &Kernel) -> bool {
    let body = &kernel.element;
    let (mut loops, mut follows) = (false, false);
    body.region.visit(0, &mut |n, _| {
        loops |= matches!(n.op, Op::While { .. });
        follows |= n.op.index().iter().any(|ix| matches!(ix, Ix::Affine { .. }));
    });
    if !loops || follows {
        return false;
    }
    let (levels, mut apart) = (levels(body, &axes(body)), false);
    body.region.visit(0, &mut |n, _| {
        if let Op::While { test, .. } = &n.op {
            apart |= !is_uniform(&levels, test);
        }
    });
    apart
}

impl<'a> Emitter<'a> {
    /// Writes the function's loops: over patches of as many rows as a step has vectors.
    pub(super) fn patches(&mut self, kernel: &'a Kernel) {
        let body = self.body;
        let lane = kernel.axes.len() - 1;
        self.levels = levels(body, &axes(body));
        self.constants_of(body);
        let depth = depths(&body.region, &|axis| if axis == lane { 2 } else { 1 });
        let of_depth = |d: usize| -> Vec<&'a Node> {
            body.region.nodes.iter().zip(&depth).filter(|(_, of)| **of == d).map(|(n, _)| n).collect()
        };
        of_depth(0).into_iter().for_each(|n| self.node(n));
        self.settle();
        let ending = Ending::new(self, kernel, Form::Patches, Operand::int(0));
        let (base, extent) = (self.word(Word::Base), self.word(Word::Extent(lane as u32)));
        let (width, nothing) = (self.width, State::default);
        let ends = ["%r0", "%r1", "%c0", "%c1"].map(Operand::text);
        let [r0, r1, c0, c1] = &ends;
        let last_row = put!(self, "sub i64 {r1}, 1");
        self.along([r0, r1], width.parts, nothing(), None, |e, r, _| {
            let rows: Parts = (0..width.parts).map(|p| put!(e, "add i64 {r}, {p}")).collect();
            let there: Parts = rows.iter().map(|row| put!(e, "icmp slt i64 {row}, {r1}")).collect();
            let there: Parts = there.iter().map(|flag| e.splat(flag, "i1")).collect();
            // Memory behind the last row may not be there, and stores to it take long even where no lane is on.
            let within = |e: &mut Self, row| put!(e, "call i64 @llvm.smin.i64(i64 {row}, i64 {last_row})");
            let rows: Parts = rows.iter().map(|row| within(e, row)).collect();
            let indices: Vec<_> = rows.iter().map(|row| e.outer_index(lane, row)).collect();
            for axis in 0..lane {
                let parts = indices.iter().map(|index| e.splat(&index[axis], "i64")).collect();
                e.set(body.region.params[axis], V::Lanes(parts));
            }
            e.mask = Mask::Lanes(there.clone());
            of_depth(1).into_iter().for_each(|n| e.node(n));
            e.settle();
            e.along([c0, c1], width.lanes, nothing(), None, |e, c, _| {
                let (ty, last) = (e.shape().of("i64"), e.splat(c1, "i64"));
                let from = e.splat(c, "i64");
                let offsets = e.offsets(1, 0);
                let columns = put!(e, "add {ty} {from}, {offsets}");
                let within = put!(e, "icmp slt {ty} {columns}, {last}");
                let flags = e.mask_type();
                let on: Parts = there.iter().map(|row| put!(e, "and {flags} {row}, {within}")).collect();
                e.mask = Mask::Lanes(on.clone());
                e.set(body.region.params[lane], V::Lanes(smallvec::smallvec![columns; width.parts]));
                of_depth(2).into_iter().for_each(|n| e.node(n));
                e.settle();
                // Row by row, as results lie in memory.
                let results: Vec<Parts> = ending.leaves_taken().into_iter().map(|v| e.lanes(v)).collect();
                e.width.parts = 1;
                for (p, row) in rows.iter().enumerate() {
                    let start = put!(e, "mul i64 {row}, {extent}");
                    let start = put!(e, "sub i64 {start}, {base}");
                    e.mask = Mask::Lanes(smallvec::smallvec![on[p].clone()]);
                    for ((o, k), parts) in ending.leaves().into_iter().zip(&results) {
                        let leaf = ending.outs[o].leaves[k];
                        ending.store_in(e, leaf, &smallvec::smallvec![parts[p].clone()], &start, c);
                    }
                }
                e.width.parts = width.parts;
                Vec::new()
            });
            Vec::new()
        });
        self.mask = Mask::All;
        self.w.line(format_args!("ret i64 0"));
    }
}
