//! Rows that are lanes: what a step of them reads and stores at some points along its rows is turned in registers.
//!
//! Lanes lie as far apart in memory as rows are long. So a block of points is read, for each lane a vector along its row, before
//! the first of them is visited, and kept in memory of the function with the lanes of each point side by side. Results are
//! kept in the same way, and are written, again along rows, after the last point of a block.

use super::access::APART;
use super::nest::Axis;
use super::steps::State;
use super::text::{Operand, put, stored};
use super::turned::{LANE, Read, across};
use super::value::{Mask, Parts};
use super::{Emitter, Word};
use crate::kernel::{Node, Op};
use acc_core::data::ScalarType;

/// A walk along rows that are lanes.
pub(super) struct Walk<'o> {
    /// The axis of lanes, and that of the rows.
    pub axes: [usize; 2],
    /// The numbers of the points that are visited: the first, and the one after the last.
    pub ends: [&'o Operand; 2],
    /// The number of the point that is visited now.
    pub t: &'o Operand,
    /// Whether rows are visited from right to left.
    pub down: bool,
}

/// Where elements of rows are stored.
pub(super) struct Target<'o> {
    /// The number of the array.
    pub number: u32,
    pub ty: ScalarType,
    /// The first lane's row.
    pub row: &'o Operand,
    /// The elements of a row in memory.
    pub width: &'o Operand,
    /// The place of the point's element in it.
    pub place: &'o Operand,
}

impl Emitter<'_> {
    /// Before a point is visited: reads what is turned of it and of the points next to it, if that has not been done. It is
    /// [forgotten](Self::forget_turned) where the point ends.
    pub(super) fn turn_reads(&mut self, nodes: &[&Node], walk: &Walk<'_>) {
        // Under a mask lanes may lie beyond an array.
        let Some((first, at)) = self.turns_along(walk).filter(|_| matches!(self.mask, Mask::All)) else { return };
        let ([lane, axis], width) = (walk.axes, self.width.step());
        let begins = put!(self, "icmp eq i64 {}, {}", walk.t, walk.ends[0]);
        for n in nodes {
            let Op::Load(l) = &n.op else { continue };
            let Some((across, _)) = across(l, lane).filter(|(_, side)| *side == axis && self.turns(l)) else {
                continue;
            };
            // All leaves or none: what reads the rest of them would not find those that are turned.
            if !n.results.iter().all(|&of| width.is_multiple_of(self.rows_turned(self.ty(of).size()))) {
                continue;
            }
            for (&leaf, &of) in l.leaves.iter().zip(&n.results) {
                let rows = self.rows_turned(self.ty(of).size());
                let buffer = self.turned_later((of, lane, axis), width, &first);
                let within = put!(self, "and i64 {at}, {}", rows - 1);
                let next = put!(self, "icmp eq i64 {within}, {}", if walk.down { rows - 1 } else { 0 });
                let needed = put!(self, "or i1 {next}, {begins}");
                self.only_if(&needed, &[], Vec::new(), |e, none| {
                    e.axes[axis] = Axis::One(put!(e, "sub i64 {at}, {within}"));
                    e.axes[lane] = Axis::One(first.clone());
                    let columns = Operand::int(width as i64);
                    e.turn_block(&Read { of, l, leaf, across }, rows, &columns, None, &buffer, width);
                    e.axes[axis] = Axis::One(at.clone());
                    e.axes[lane] = Axis::Lanes(first.clone());
                    none
                });
            }
        }
    }

    /// Ends what [`turn_reads`](Self::turn_reads) begins.
    pub(super) fn forget_turned(&mut self, walk: &Walk<'_>) {
        self.turned.retain(|t| t.axis != walk.axes[1]);
    }

    /// Stores an element of each row, with those of the points next to it; whether that is done.
    pub(super) fn store_turned(&mut self, parts: &Parts, to: &Target<'_>, walk: &Walk<'_>) -> bool {
        let (size, width) = (to.ty.size(), self.width.step());
        let rows = self.rows_turned(size);
        let Some((_, at)) = self.turns_along(walk).filter(|_| width.is_multiple_of(rows)) else { return false };
        let (mem, buffer) = (stored(to.ty), self.turning_memory(size, width));
        let within = put!(self, "and i64 {at}, {}", rows - 1);
        let start = put!(self, "mul i64 {within}, {width}");
        // There is room for all lanes.
        let mask = std::mem::replace(&mut self.mask, Mask::All);
        self.store(to.ty, parts, &buffer, &start);
        self.mask = mask;
        let [from, end] = walk.ends;
        let next = put!(self, "add i64 {}, 1", walk.t);
        let last = put!(self, "icmp eq i64 {next}, {end}");
        let edge = put!(self, "icmp eq i64 {within}, {}", if walk.down { 0 } else { rows - 1 });
        let complete = put!(self, "or i1 {last}, {edge}");
        self.only_if(&complete, &[], Vec::new(), |e, none| {
            // Points of the block that were visited: those since the first, or since the block's edge.
            let visited = put!(e, "sub i64 {next}, {from}");
            let most = if walk.down { put!(e, "sub i64 {rows}, {within}") } else { put!(e, "add i64 {within}, 1") };
            let visited = put!(e, "call i64 @llvm.umin.i64(i64 {visited}, i64 {most})");
            let low = if walk.down {
                within.clone()
            } else {
                let after = put!(e, "add i64 {within}, 1");
                put!(e, "sub i64 {after}, {visited}")
            };
            // Whole rows of few points lie in memory as one.
            let mut others = Operand::text("true");
            if matches!(e.mask, Mask::All) {
                let all = put!(e, "icmp eq i64 {visited}, {}", to.width);
                let few = put!(e, "icmp ule i64 {visited}, {APART}");
                let short = put!(e, "and i1 {all}, {few}");
                others = put!(e, "xor i1 {short}, true");
                let first = put!(e, "mul i64 {}, {visited}", to.row);
                let out = e.word(Word::Out(to.number));
                let first = put!(e, "getelementptr {mem}, ptr {out}, i64 {first}");
                e.only_if(&short, &[], Vec::new(), |e, none| {
                    for points in 1..=APART {
                        let are = put!(e, "icmp eq i64 {visited}, {points}");
                        e.only_if(&are, &[], Vec::new(), |e, none| {
                            e.interleave(to.ty, points as usize, &buffer, &first);
                            none
                        });
                    }
                    none
                });
            }
            let whole = put!(e, "icmp eq i64 {visited}, {rows}");
            let out = e.word(Word::Out(to.number));
            let block = put!(e, "sub i64 {}, {within}", to.place);
            let first = put!(e, "mul i64 {}, {}", to.row, to.width);
            let first = put!(e, "add i64 {first}, {block}");
            let first = put!(e, "getelementptr {mem}, ptr {out}, i64 {first}");
            // The lanes that are on are the first ones of a step.
            let lanes = match e.mask.clone() {
                Mask::All => None,
                Mask::Lanes(on) => Some(on.iter().fold(Operand::int(0), |lanes, on| {
                    let n = e.width.lanes;
                    let bits = put!(e, "bitcast <{n} x i1> {on} to i{n}");
                    let count = put!(e, "call i{n} @llvm.ctpop.i{n}(i{n} {bits})");
                    let count = if n < 64 { put!(e, "zext i{n} {count} to i64") } else { count };
                    put!(e, "add i64 {lanes}, {count}")
                })),
            };
            let some = put!(e, "xor i1 {whole}, true");
            let bytes = (rows * size) as i64;
            let ahead = if walk.down { -bytes } else { 2 * bytes - 1 };
            let [whole, some] = [whole, some].map(|way| put!(e, "and i1 {way}, {others}"));
            e.only_if(&whole, &[], Vec::new(), |e, none| {
                e.write_block(&first, to, rows, &buffer, (None, lanes.as_ref()), ahead);
                none
            });
            e.only_if(&some, &[], Vec::new(), |e, none| {
                if e.target.has_mask_registers() {
                    let numbers: Vec<String> = (0..rows).map(|k| format!("i64 {k}")).collect();
                    let numbers = format!("<{}>", numbers.join(", "));
                    let splat = |e: &mut Self, x: &Operand| {
                        let x = put!(e, "insertelement <{rows} x i64> poison, i64 {x}, i64 0");
                        put!(
                            e,
                            "shufflevector <{rows} x i64> {x}, <{rows} x i64> poison, <{rows} x i32> zeroinitializer"
                        )
                    };
                    let (lows, counts) = (splat(e, &low), splat(e, &visited));
                    let numbers = put!(e, "sub <{rows} x i64> {numbers}, {lows}");
                    let mask = put!(e, "icmp ult <{rows} x i64> {numbers}, {counts}");
                    e.write_block(&first, to, rows, &buffer, (Some(&mask), lanes.as_ref()), ahead);
                } else {
                    // Stores under masks take longer than those of single elements.
                    let lanes = lanes.unwrap_or(Operand::int(width as i64));
                    let high = put!(e, "add i64 {low}, {visited}");
                    e.write_points(&first, to, [&low, &high], &lanes, &buffer);
                }
                none
            });
            none
        });
        true
    }

    /// Writes some points of a block, of so many lanes, one by one.
    fn write_points(
        &mut self,
        first: &Operand,
        to: &Target<'_>,
        [low, high]: [&Operand; 2],
        lanes: &Operand,
        buffer: &Operand,
    ) {
        let (size, width) = (to.ty.size(), self.width.step());
        let mem = format!("i{}", size * 8);
        self.along([&Operand::int(0), lanes], 1, State::default(), None, |e, lane, _| {
            let row = put!(e, "mul i64 {lane}, {}", to.width);
            e.along([low, high], 1, State::default(), None, |e, point, _| {
                let from = put!(e, "mul i64 {point}, {width}");
                let from = put!(e, "add i64 {from}, {lane}");
                let from = put!(e, "getelementptr {mem}, ptr {buffer}, i64 {from}");
                let x = put!(e, "load {mem}, ptr {from}, align {size}");
                let at = put!(e, "add i64 {row}, {point}");
                let at = put!(e, "getelementptr {mem}, ptr {first}, i64 {at}");
                e.w.line(format_args!("store {mem} {x}, ptr {at}, align {size}, !noalias !2"));
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Writes a block that is kept for each lane along its row, the first of which has its place at `first`; with a mask only
    /// some of the points, and of so many lanes. What the next block takes of a row ends, in bytes, `ahead` of this one's start.
    fn write_block(
        &mut self,
        first: &Operand,
        to: &Target<'_>,
        rows: usize,
        buffer: &Operand,
        (points, lanes): (Option<&Operand>, Option<&Operand>),
        ahead: i64,
    ) {
        let (size, width) = (to.ty.size(), self.width.step());
        let mem = format!("i{}", size * 8);
        let vector = format!("<{rows} x {mem}>");
        let ends = [&Operand::int(0), &Operand::int(width as i64)];
        self.along(ends, rows, State::default(), None, |e, j, _| {
            let mut square = Vec::new();
            for k in 0..rows {
                let at = put!(e, "add i64 {j}, {}", k * width);
                let p = put!(e, "getelementptr {mem}, ptr {buffer}, i64 {at}");
                square.push(put!(e, "load {vector}, ptr {p}, align {size}"));
            }
            for (k, x) in e.transpose(square, &mem, LANE / size).into_iter().enumerate() {
                let lane = put!(e, "add i64 {j}, {k}");
                let at = put!(e, "mul i64 {lane}, {}", to.width);
                let p = put!(e, "getelementptr {mem}, ptr {first}, i64 {at}");
                // Memory that a store has to wait for is asked for ahead: a vector that lies in two lines of the caches waits
                // for each in turn.
                let next = put!(e, "getelementptr i8, ptr {p}, i64 {ahead}");
                e.w.line(format_args!("call void @llvm.prefetch.p0(ptr {next}, i32 1, i32 3, i32 1)"));
                let write = |e: &mut Self| match points {
                    None => e.w.line(format_args!("store {vector} {x}, ptr {p}, align {size}, !noalias !2")),
                    Some(mask) => e.w.line(format_args!(
                        "call void @llvm.masked.store.v{rows}{mem}.p0({vector} {x}, ptr {p}, i32 {size}, <{rows} x i1> {mask}), !noalias !2"
                    )),
                };
                let Some(lanes) = lanes else {
                    write(e);
                    continue;
                };
                // Where nothing is stored there may be no memory: a mask would be slow then.
                let on = put!(e, "icmp slt i64 {lane}, {lanes}");
                e.only_if(&on, &[], Vec::new(), |e, none| {
                    write(e);
                    none
                });
            }
            Vec::new()
        });
    }

    /// The first lane, and the index of the point, if they are where what is read and stored may be turned.
    fn turns_along(&self, walk: &Walk<'_>) -> Option<(Operand, Operand)> {
        let [lane, axis] = walk.axes;
        let (Axis::Lanes(first), Axis::One(at)) = (&self.axes[lane], &self.axes[axis]) else { return None };
        (self.lane_step == 1 && !self.stream).then(|| (first.clone(), at.clone()))
    }
}
