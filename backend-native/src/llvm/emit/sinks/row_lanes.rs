//! Folds and scans of whole rows, one row per lane.

use crate::kernel::{Epilogue, Node, Sink};
use crate::llvm::emit::access::row_lanes::{RowTarget, RowWalk};
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::sinks::sink::{Leaf, SinkEmitter, SinkOutput};
use crate::llvm::emit::text::value::{Parts, Value};
use crate::llvm::emit::text::{Operand, element, literal, put, stored};
use crate::llvm::emit::{Emitter, KernelArg};

impl<'a> SinkEmitter<'a> {
    /// Writes the loop along the rows.
    pub(crate) fn rows(&self, e: &mut Emitter<'a>, along: &[&'a Node], first: &Operand) {
        let axis = self.kernel.axes.len() - 1;
        let row = e.code.f.arg(KernelArg::Extent(axis as u32));
        let at = &self.row;
        // The position of the first lane's row, and the row lengths of the outputs.
        let position = put!(e.code.f, "add i64 {at}, {first}");
        let widths: Vec<Operand> = self.outs.iter().map(|o| self.width(e, o, &row)).collect();
        // Scans resume from memory only if nothing but the permuted epilogue is stored.
        let transposed = self.kernel.epilogue.as_ref().and_then(|e| Some((e, e.order.as_deref()?)));
        let goes_on = !self.scans() || transposed.is_some();
        let (from, to) = match goes_on {
            false => (Operand::int(0), row.clone()),
            true => (e.code.f.arg(KernelArg::RangeStart), e.code.f.arg(KernelArg::RangeEnd)),
        };
        let mut state = LoopState::default();
        let mut initial: Vec<Parts> = Vec::new();
        let end = if self.right { row.clone() } else { Operand::int(0) };
        for (o, width) in self.outs.iter().zip(&widths) {
            for (k, &leaf) in o.leaves.iter().enumerate() {
                let Some(start) = self.start(e, o, k) else { continue };
                let ty = e.code.vector(leaf.ty);
                state.0.extend(start.iter().map(|x| (x.clone(), ty.clone())));
                if o.output.sink.has_init() && o.is_scan() {
                    if o.output.stored {
                        self.store_in_rows(e, leaf, &start, &position, width, &end);
                    }
                    initial.push(start);
                }
            }
        }
        if let Some((epilogue, order)) = transposed.filter(|_| !initial.is_empty()) {
            let begins = put!(e.code.f, "icmp eq i64 {from}, 0");
            e.if_then(&begins, &[], Vec::new(), |e, none| {
                self.store_epilogue_permuted(e, epilogue, order, &initial, first, end);
                none
            });
        }
        if goes_on {
            self.resume(e, &from, first, &mut state);
        }
        let mut after: Vec<Parts> = Vec::new();
        e.counted_loop([&from, &to], 1, state, Some(self.cost), |e, t, accs| {
            let index = if self.right {
                let last = put!(e.code.f, "sub i64 {row}, 1");
                put!(e.code.f, "sub i64 {last}, {t}")
            } else {
                t.clone()
            };
            e.scope.axes[axis] = Axis::Uniform(index.clone());
            e.scope.set(e.facts.body.region.params[axis], Value::Uniform(index.clone()));
            let walk = RowWalk { axes: [axis - 1, axis], ends: [&from, &to], t, down: self.right };
            e.transpose_reads(along, &walk);
            for n in along {
                e.node(n);
            }
            e.scope.forget_transposed(&walk);
            e.code.bail_out_on_fault();
            let mut before_accs = accs.0.into_iter().map(|(o, _)| o);
            let mut results: Vec<(Leaf, Parts, Operand, Operand)> = Vec::new();
            let mut scanned: Vec<Parts> = Vec::new();
            let mut scanned_to = index.clone();
            for (o, width) in self.outs.iter().zip(&widths) {
                let elements = o.elements(e);
                let combined = match o.output.sink {
                    Sink::Store | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => elements,
                    Sink::Fold { .. } | Sink::Scan { .. } => {
                        let parts = e.code.width.parts;
                        let accs: Vec<Parts> =
                            o.leaves.iter().map(|_| before_accs.by_ref().take(parts).collect()).collect();
                        let next = self.combine(e, o, t, &accs, &elements);
                        after.extend(next.iter().cloned());
                        next
                    }
                };
                let place = match o.output.sink {
                    Sink::Store => index.clone(),
                    Sink::Scan { .. } if self.right => index.clone(),
                    Sink::Scan { .. } => {
                        let lead = put!(e.code.f, "sub i64 {width}, {row}");
                        put!(e.code.f, "add i64 {index}, {lead}")
                    }
                    Sink::Fold { .. } | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => {
                        continue;
                    }
                };
                if let Sink::Scan { .. } = o.output.sink {
                    scanned.extend(combined.iter().cloned());
                    scanned_to = place.clone();
                }
                if o.output.stored {
                    let leaves = o.leaves.iter().copied().zip(combined);
                    results.extend(leaves.map(|(leaf, parts)| (leaf, parts, width.clone(), place.clone())));
                }
            }
            if let Some((epilogue, order)) = transposed {
                self.store_epilogue_permuted(e, epilogue, order, &scanned, first, scanned_to);
            } else if let Some(epilogue) = self.kernel.epilogue.as_ref().filter(|_| self.scans()) {
                let values = e.inline_here(&epilogue.body, &scanned);
                for &(number, k, ty) in &self.after {
                    let leaf = Leaf { number, value: epilogue.body.region.results[k], ty };
                    results.push((leaf, values[k].clone(), row.clone(), index.clone()));
                }
            }
            for (leaf, parts, width, place) in results {
                let to = RowTarget { number: leaf.number, ty: leaf.ty, row: &position, width: &width, place: &place };
                if !e.store_transposed(&parts, &to, &walk) {
                    self.store_in_rows(e, leaf, &parts, &position, &width, &place);
                }
            }
            after.iter().flatten().cloned().collect()
        });
        let mut after = after.into_iter();
        for o in &self.outs {
            match o.output.sink {
                Sink::Fold { .. } | Sink::Scan { .. } => {
                    for (k, (&leaf, parts)) in o.leaves.iter().zip(after.by_ref()).enumerate() {
                        if o.is_fused() {
                            // The sum of the only block of terms follows the initial value; others are added by the caller.
                            let ends = put!(e.code.f, "icmp eq i64 {to}, {row}");
                            let (initial, ty) = (self.initial(e, o, k), element(leaf.ty));
                            let initial = put!(e.code.f, "select i1 {ends}, {ty} {initial}, {ty} -0.0");
                            let parts = e.code.added_to(leaf.ty, &initial, &parts);
                            self.store(e, leaf, &parts, first);
                        } else if goes_on || !o.is_scan() {
                            self.store(e, leaf, &parts, first);
                        }
                    }
                }
                Sink::Store | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => {}
            }
        }
    }

    /// Folds or scans that do not begin at the start of their rows resume from the results in memory.
    fn resume(&self, e: &mut Emitter<'a>, from: &Operand, first: &Operand, state: &mut LoopState) {
        let begins = put!(e.code.f, "icmp eq i64 {from}, 0");
        let (so_far, join, begun) = (e.code.f.w.label(), e.code.f.w.label(), e.code.f.w.block);
        e.code.f.w.branch(&begins, join, so_far);
        e.code.f.w.start(so_far);
        let mut parts: Vec<Operand> = Vec::new();
        for o in self.outs.iter().filter(|o| o.is_scan() || matches!(o.output.sink, Sink::Fold { .. })) {
            for leaf in &o.leaves {
                let (out, mem, row) = (e.code.f.arg(KernelArg::Output(leaf.number)), stored(leaf.ty), &self.row);
                let start = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {row}");
                parts.extend(e.code.load_contiguous(leaf.ty, &start, first, 1, None, ""));
            }
        }
        let last = e.code.f.w.block;
        e.code.f.w.jump(join);
        e.code.f.w.start(join);
        for ((x, ty), y) in state.0.iter_mut().zip(parts) {
            *x = put!(e.code.f, "phi {ty} [ {x}, {begun} ], [ {y}, {last} ]");
        }
    }

    /// The elements of an output per row.
    fn width(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>, row: &Operand) -> Operand {
        match o.output.sink {
            Sink::Scan { .. } if o.output.sink.has_init() => put!(e.code.f, "add i64 {row}, 1"),
            Sink::Scan { .. } | Sink::Store => row.clone(),
            Sink::Fold { .. } | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => Operand::int(1),
        }
    }

    /// The start of a leaf's fold or scan of a row. Blocks of terms start with 0.
    pub(crate) fn start(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>, k: usize) -> Option<Parts> {
        let leaf = o.leaves[k];
        let value = match o.output.sink {
            Sink::Store | Sink::Scatter { .. } | Sink::Segments { .. } | Sink::Compact => return None,
            Sink::Fold { .. } if o.is_fused() => Operand::text("0.0"),
            Sink::Fold { .. } | Sink::Scan { .. } => self.initial(e, o, k),
        };
        let splat = e.code.splat(&value, element(leaf.ty));
        Some(smallvec::smallvec![splat; e.code.width.parts])
    }

    /// The initial value of a leaf's fold or scan, or the neutral element of a built-in operator. Other operators start with the
    /// first element.
    pub(crate) fn initial(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>, k: usize) -> Operand {
        let leaf = o.leaves[k];
        if o.output.sink.has_init() {
            let bits = e.code.f.arg(KernelArg::CarryIn(leaf.number));
            return e.code.f.scalar_of_bits(leaf.ty, &bits);
        }
        let op = o.builtin.map(|ops| ops[k]);
        Operand::text(op.map_or("zeroinitializer".to_string(), |op| literal(leaf.identity(op))))
    }

    /// Combines elements, lane by lane, with those before them; `t` counts iterations along the row.
    pub(crate) fn combine(
        &self,
        e: &mut Emitter<'a>,
        o: &SinkOutput<'a>,
        t: &Operand,
        accs: &[Parts],
        xs: &[Parts],
    ) -> Vec<Parts> {
        if o.is_fused() {
            let leaves = o.leaves.iter().zip(accs).zip(xs.chunks(2));
            let sums = leaves.map(|((leaf, accs), factors)| {
                let terms = accs.iter().zip(factors[0].iter().zip(&factors[1]));
                let sums = terms.map(|(acc, (x, y))| e.code.f.fma(leaf.ty, e.code.shape(), [x, y, acc])).collect();
                match e.scope.terms_under.get(&leaf.value).copied() {
                    Some(cond) => {
                        let lanes = e.vectors(cond);
                        e.code.selected(leaf.ty, &lanes, &sums, accs)
                    }
                    None => sums,
                }
            });
            return sums.collect();
        }
        if let (Some(ops), None) = (o.builtin, o.mark) {
            let leaves = accs.iter().zip(xs).zip(ops.iter().zip(&o.leaves));
            return leaves
                .map(|((accs, xs), (&op, leaf))| {
                    let pairs = accs.iter().zip(xs);
                    pairs.map(|(a, x)| e.code.operation(op, leaf.ty, e.code.shape(), &[a.clone(), x.clone()])).collect()
                })
                .collect();
        }
        let Some(body) = o.output.sink.combine() else { return xs.to_vec() };
        let (left, right) = if self.right { (xs, accs) } else { (accs, xs) };
        let args: Vec<Value> = left.iter().chain(right).map(|p| Value::Varying(p.clone())).collect();
        if o.output.sink.has_init() {
            return e.inline(body, &args);
        }
        let is_first = put!(e.code.f, "icmp eq i64 {t}, 0");
        let (rest, join, from) = (e.code.f.w.label(), e.code.f.w.label(), e.code.f.w.block);
        e.code.f.w.branch(&is_first, join, rest);
        e.code.f.w.start(rest);
        let combined = e.inline(body, &args);
        let last = e.code.f.w.block;
        e.code.f.w.jump(join);
        e.code.f.w.start(join);
        let leaves = o.leaves.iter().zip(xs.iter().zip(&combined));
        leaves
            .map(|(leaf, (xs, ys))| {
                let ty = e.code.vector(leaf.ty);
                xs.iter().zip(ys).map(|(x, y)| put!(e.code.f, "phi {ty} [ {x}, {from} ], [ {y}, {last} ]")).collect()
            })
            .collect()
    }

    /// Stores the epilogue of one column in arrays whose axes are permuted.
    fn store_epilogue_permuted(
        &self,
        e: &mut Emitter<'a>,
        epilogue: &'a Epilogue,
        order: &[usize],
        scanned: &[Parts],
        first: &Operand,
        place: Operand,
    ) {
        let axis = self.kernel.axes.len() - 1;
        e.scope.axes[axis] = Axis::Uniform(place.clone());
        e.scope.set(e.facts.body.region.params[axis], Value::Uniform(place));
        let values = e.inline_here(&epilogue.body, scanned);
        for &(number, k, ty) in &self.after {
            let leaf = Leaf { number, value: epilogue.body.region.results[k], ty };
            self.store_permuted(e, leaf, &values[k], order, first);
        }
    }

    /// Stores an element of each row, all of one column, in an array whose axes are permuted.
    fn store_permuted(&self, e: &mut Emitter<'a>, leaf: Leaf, parts: &Parts, order: &[usize], first: &Operand) {
        let (out, mem) = (e.code.f.arg(KernelArg::Output(leaf.number)), stored(leaf.ty));
        let lane = self.kernel.axes.len() - 2;
        let (mut start, mut stride, mut between) = (Operand::int(0), Operand::int(1), Operand::int(1));
        for &axis in order.iter().rev() {
            let at = match &e.scope.axes[axis] {
                Axis::Uniform(at) => at.clone(),
                Axis::Lanes(_) => first.clone(),
            };
            if axis == lane {
                between = stride.clone();
            }
            let term = put!(e.code.f, "mul i64 {at}, {stride}");
            start = put!(e.code.f, "add i64 {start}, {term}");
            let extent = e.code.f.arg(KernelArg::Extent(axis as u32));
            let extent = match self.outs.first() {
                Some(o) if axis > lane => self.width(e, o, &extent),
                _ => extent,
            };
            stride = put!(e.code.f, "mul i64 {stride}, {extent}");
        }
        if order.last() == Some(&lane) {
            let start = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {start}");
            e.store(leaf.ty, parts, &start, &Operand::int(0));
        } else {
            e.code.store_strided(leaf.ty, parts, &out, &start, &between);
        }
    }

    /// Stores an element of each row, `place` elements from the row's start.
    fn store_in_rows(
        &self,
        e: &mut Emitter<'a>,
        leaf: Leaf,
        parts: &Parts,
        position: &Operand,
        width: &Operand,
        place: &Operand,
    ) {
        let out = e.code.f.arg(KernelArg::Output(leaf.number));
        let start = put!(e.code.f, "mul i64 {position}, {width}");
        let start = put!(e.code.f, "add i64 {start}, {place}");
        e.code.store_strided(leaf.ty, parts, &out, &start, width);
    }
}
