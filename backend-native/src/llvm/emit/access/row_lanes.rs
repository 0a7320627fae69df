//! Transposition of what rows read and store where each lane is a row.
//!
//! The lanes are a row length apart in memory. So before the first point of a block of columns is computed, each lane
//! loads a vector along its row; the square of vectors is transposed in registers and kept in a stack buffer, in which
//! the lanes of each column lie side by side. Results take the opposite way, after the last point of the block.

use crate::kernel::{Node, Op};
use crate::llvm::emit::access::address::MAX_SHUFFLED_STRIDE;
use crate::llvm::emit::access::transposed_load::{SHUFFLE_LANE_BYTES, TransposedRead, transposed_dims};
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::scope::Scope;
use crate::llvm::emit::text::value::{Mask, Parts};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put, stored};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::data::ScalarType;

/// A loop along rows that are lanes.
pub(crate) struct RowWalk<'o> {
    /// The lane axis, and the axis of the rows.
    pub axes: [usize; 2],
    /// The first iteration, and the one after the last.
    pub ends: [&'o Operand; 2],
    /// The number of the current iteration.
    pub t: &'o Operand,
    /// Whether rows are walked from right to left.
    pub down: bool,
}

/// Where elements of rows are stored.
pub(crate) struct RowTarget<'o> {
    /// The number of the result's leaf.
    pub number: u32,
    pub ty: ScalarType,
    /// The first lane's row.
    pub row: &'o Operand,
    /// The row length in memory.
    pub width: &'o Operand,
    /// The column of the element.
    pub place: &'o Operand,
}

impl Emitter<'_> {
    /// Loads and transposes the current block of columns, at the first iteration that needs it. The buffers are
    /// [dropped](Self::forget_transposed) at the end of the iteration.
    pub(crate) fn transpose_reads(&mut self, nodes: &[&Node], walk: &RowWalk<'_>) {
        // Under a mask, inactive lanes may lie outside the array.
        let Some((first, at)) = self.transposes_along(walk).filter(|_| matches!(self.code.mask, Mask::All)) else {
            return;
        };
        let ([lane, axis], width) = (walk.axes, self.code.width.step());
        let begins = put!(self.code.f, "icmp eq i64 {}, {}", walk.t, walk.ends[0]);
        for n in nodes {
            let Op::Index(l) = &n.op else { continue };
            let Some((across, _)) =
                transposed_dims(l, lane).filter(|(_, side)| *side == axis && self.is_transposable(l))
            else {
                continue;
            };
            // All leaves or none: a normal load would not find those in buffers.
            if !n.results.iter().all(|&of| width.is_multiple_of(self.code.f.transposed_rows(self.ty(of).size()))) {
                continue;
            }
            for (&leaf, &of) in l.leaves.iter().zip(&n.results) {
                let rows = self.code.f.transposed_rows(self.ty(of).size());
                let buffer = self.reserve_transposed((of, lane, axis), width, &first);
                let within = put!(self.code.f, "and i64 {at}, {}", rows - 1);
                let next = put!(self.code.f, "icmp eq i64 {within}, {}", if walk.down { rows - 1 } else { 0 });
                let needed = put!(self.code.f, "or i1 {next}, {begins}");
                self.if_then(&needed, &[], Vec::new(), |e, none| {
                    e.scope.axes[axis] = Axis::Uniform(put!(e.code.f, "sub i64 {at}, {within}"));
                    e.scope.axes[lane] = Axis::Uniform(first.clone());
                    let columns = Operand::int(width as i64);
                    e.transpose_block(&TransposedRead { of, l, leaf, across }, rows, &columns, None, &buffer, width);
                    e.scope.axes[axis] = Axis::Uniform(at.clone());
                    e.scope.axes[lane] = Axis::Lanes(first.clone());
                    none
                });
            }
        }
    }

    /// Stores an element of each row through the buffer of its block; false if that cannot be done.
    pub(crate) fn store_transposed(&mut self, parts: &Parts, to: &RowTarget<'_>, walk: &RowWalk<'_>) -> bool {
        let (size, width) = (to.ty.size(), self.code.width.step());
        let rows = self.code.f.transposed_rows(size);
        let Some((_, at)) = self.transposes_along(walk).filter(|_| width.is_multiple_of(rows)) else { return false };
        let (mem, buffer) = (stored(to.ty), self.code.f.transpose_buffer(size, width));
        let within = put!(self.code.f, "and i64 {at}, {}", rows - 1);
        let start = put!(self.code.f, "mul i64 {within}, {width}");
        // The buffer has room for all lanes.
        let mask = std::mem::replace(&mut self.code.mask, Mask::All);
        self.store(to.ty, parts, &buffer, &start);
        self.code.mask = mask;
        let [from, end] = walk.ends;
        let next = put!(self.code.f, "add i64 {}, 1", walk.t);
        let last = put!(self.code.f, "icmp eq i64 {next}, {end}");
        let edge = put!(self.code.f, "icmp eq i64 {within}, {}", if walk.down { 0 } else { rows - 1 });
        let complete = put!(self.code.f, "or i1 {last}, {edge}");
        self.if_then(&complete, &[], Vec::new(), |e, none| {
            // The columns of the block that were computed: those since the first one, or since the block's boundary.
            let visited = put!(e.code.f, "sub i64 {next}, {from}");
            let most = if walk.down {
                put!(e.code.f, "sub i64 {rows}, {within}")
            } else {
                put!(e.code.f, "add i64 {within}, 1")
            };
            let visited = put!(e.code.f, "call i64 @llvm.umin.i64(i64 {visited}, i64 {most})");
            let low = if walk.down {
                within.clone()
            } else {
                let after = put!(e.code.f, "add i64 {within}, 1");
                put!(e.code.f, "sub i64 {after}, {visited}")
            };
            // Complete short rows are contiguous in memory: they are interleaved and stored as vectors.
            let mut others = Operand::text("true");
            if matches!(e.code.mask, Mask::All) {
                let all = put!(e.code.f, "icmp eq i64 {visited}, {}", to.width);
                let few = put!(e.code.f, "icmp ule i64 {visited}, {MAX_SHUFFLED_STRIDE}");
                let short = put!(e.code.f, "and i1 {all}, {few}");
                others = put!(e.code.f, "xor i1 {short}, true");
                let first = put!(e.code.f, "mul i64 {}, {visited}", to.row);
                let out = e.code.f.arg(KernelArg::Output(to.number));
                let first = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {first}");
                e.if_then(&short, &[], Vec::new(), |e, none| {
                    for points in 1..=MAX_SHUFFLED_STRIDE {
                        let are = put!(e.code.f, "icmp eq i64 {visited}, {points}");
                        e.if_then(&are, &[], Vec::new(), |e, none| {
                            e.code.interleave(to.ty, points as usize, &buffer, &first);
                            none
                        });
                    }
                    none
                });
            }
            let whole = put!(e.code.f, "icmp eq i64 {visited}, {rows}");
            let out = e.code.f.arg(KernelArg::Output(to.number));
            let block = put!(e.code.f, "sub i64 {}, {within}", to.place);
            let first = put!(e.code.f, "mul i64 {}, {}", to.row, to.width);
            let first = put!(e.code.f, "add i64 {first}, {block}");
            let first = put!(e.code.f, "getelementptr {mem}, ptr {out}, i64 {first}");
            // The active lanes are the first ones of a step.
            let lanes = match e.code.mask.clone() {
                Mask::All => None,
                Mask::Lanes(on) => Some(on.iter().fold(Operand::int(0), |lanes, on| {
                    let n = e.code.width.lanes;
                    let bits = put!(e.code.f, "bitcast <{n} x i1> {on} to i{n}");
                    let count = put!(e.code.f, "call i{n} @llvm.ctpop.i{n}(i{n} {bits})");
                    let count = if n < 64 { put!(e.code.f, "zext i{n} {count} to i64") } else { count };
                    put!(e.code.f, "add i64 {lanes}, {count}")
                })),
            };
            let some = put!(e.code.f, "xor i1 {whole}, true");
            let bytes = (rows * size) as i64;
            let ahead = if walk.down { -bytes } else { 2 * bytes - 1 };
            let [whole, some] = [whole, some].map(|way| put!(e.code.f, "and i1 {way}, {others}"));
            e.if_then(&whole, &[], Vec::new(), |e, none| {
                e.code.write_block(&first, to, rows, &buffer, (None, lanes.as_ref()), ahead);
                none
            });
            e.if_then(&some, &[], Vec::new(), |e, none| {
                if e.code.f.target.has_mask_registers() {
                    let numbers: Vec<String> = (0..rows).map(|k| format!("i64 {k}")).collect();
                    let numbers = format!("<{}>", numbers.join(", "));
                    let splat = |e: &mut Self, x: &Operand| {
                        let x = put!(e.code.f, "insertelement <{rows} x i64> poison, i64 {x}, i64 0");
                        put!(
                            e.code.f,
                            "shufflevector <{rows} x i64> {x}, <{rows} x i64> poison, <{rows} x i32> zeroinitializer"
                        )
                    };
                    let (lows, counts) = (splat(e, &low), splat(e, &visited));
                    let numbers = put!(e.code.f, "sub <{rows} x i64> {numbers}, {lows}");
                    let mask = put!(e.code.f, "icmp ult <{rows} x i64> {numbers}, {counts}");
                    e.code.write_block(&first, to, rows, &buffer, (Some(&mask), lanes.as_ref()), ahead);
                } else {
                    // Masked stores are slower than stores of single elements here.
                    let lanes = lanes.unwrap_or(Operand::int(width as i64));
                    let high = put!(e.code.f, "add i64 {low}, {visited}");
                    e.code.write_points(&first, to, [&low, &high], &lanes, &buffer);
                }
                none
            });
            none
        });
        true
    }

    /// The first lane and the column index, if they are such that blocks can be transposed.
    fn transposes_along(&self, walk: &RowWalk<'_>) -> Option<(Operand, Operand)> {
        let [lane, axis] = walk.axes;
        let (Axis::Lanes(first), Axis::Uniform(at)) = (&self.scope.axes[lane], &self.scope.axes[axis]) else {
            return None;
        };
        (self.code.lane_step == 1 && !self.hints.stream).then(|| (first.clone(), at.clone()))
    }
}

impl Scope {
    /// Drops what [`transpose_reads`](Self::transpose_reads) has set up.
    pub(crate) fn forget_transposed(&mut self, walk: &RowWalk<'_>) {
        self.transposed.retain(|t| t.axis != walk.axes[1]);
    }
}

impl VectorCode {
    /// Stores a range of columns of a block element by element, for so many lanes.
    fn write_points(
        &mut self,
        first: &Operand,
        to: &RowTarget<'_>,
        [low, high]: [&Operand; 2],
        lanes: &Operand,
        buffer: &Operand,
    ) {
        let (size, width) = (to.ty.size(), self.width.step());
        let mem = format!("i{}", size * 8);
        self.counted_loop([&Operand::int(0), lanes], 1, LoopState::default(), None, |e, lane, _| {
            let row = put!(e.f, "mul i64 {lane}, {}", to.width);
            e.counted_loop([low, high], 1, LoopState::default(), None, |e, point, _| {
                let from = put!(e.f, "mul i64 {point}, {width}");
                let from = put!(e.f, "add i64 {from}, {lane}");
                let from = put!(e.f, "getelementptr {mem}, ptr {buffer}, i64 {from}");
                let x = put!(e.f, "load {mem}, ptr {from}, align {size}");
                let at = put!(e.f, "add i64 {row}, {point}");
                let at = put!(e.f, "getelementptr {mem}, ptr {first}, i64 {at}");
                e.f.w.line(format_args!("store {mem} {x}, ptr {at}, align {size}, !noalias !2"));
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Stores a block along the rows, the first row's part at `first`; with a mask some columns only, and for so many
    /// lanes. `ahead` is the distance in bytes to the end of the row's part in the next block.
    fn write_block(
        &mut self,
        first: &Operand,
        to: &RowTarget<'_>,
        rows: usize,
        buffer: &Operand,
        (points, lanes): (Option<&Operand>, Option<&Operand>),
        ahead: i64,
    ) {
        let (size, width) = (to.ty.size(), self.width.step());
        let mem = format!("i{}", size * 8);
        let vector = format!("<{rows} x {mem}>");
        let ends = [&Operand::int(0), &Operand::int(width as i64)];
        self.counted_loop(ends, rows, LoopState::default(), None, |e, j, _| {
            let mut square = Vec::new();
            for k in 0..rows {
                let at = put!(e.f, "add i64 {j}, {}", k * width);
                let p = put!(e.f, "getelementptr {mem}, ptr {buffer}, i64 {at}");
                square.push(put!(e.f, "load {vector}, ptr {p}, align {size}"));
            }
            for (k, x) in e.f.transpose(square, &mem, SHUFFLE_LANE_BYTES / size).into_iter().enumerate() {
                let lane = put!(e.f, "add i64 {j}, {k}");
                let at = put!(e.f, "mul i64 {lane}, {}", to.width);
                let p = put!(e.f, "getelementptr {mem}, ptr {first}, i64 {at}");
                // Prefetched for writing: a vector that straddles two cache lines would wait for one after the other.
                let next = put!(e.f, "getelementptr i8, ptr {p}, i64 {ahead}");
                e.f.w.line(format_args!("call void @llvm.prefetch.p0(ptr {next}, i32 1, i32 3, i32 1)"));
                let write = |e: &mut Self| match points {
                    None => e.f.w.line(format_args!("store {vector} {x}, ptr {p}, align {size}, !noalias !2")),
                    Some(mask) => e.f.w.line(format_args!(
                        "call void @llvm.masked.store.v{rows}{mem}.p0({vector} {x}, ptr {p}, i32 {size}, <{rows} x i1> {mask}), !noalias !2"
                    )),
                };
                let Some(lanes) = lanes else {
                    write(e);
                    continue;
                };
                // A branch, since there may be no memory behind the last row, and masked stores to an invalid page are
                // slow.
                let on = put!(e.f, "icmp slt i64 {lane}, {lanes}");
                e.if_then(&on, &[], Vec::new(), |e, none| {
                    write(e);
                    none
                });
            }
            Vec::new()
        });
    }
}
