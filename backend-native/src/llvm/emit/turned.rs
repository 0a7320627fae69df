//! Reads across rows, as in a transposition: blocks that are turned in registers.
//!
//! Where neighbouring lanes lie far apart in memory, and points along another axis next to each other, several rows along
//! that axis are read together: for each lane a vector along memory. These vectors are transposed, and kept in memory of
//! the function, where each of the rows finds its lanes side by side.
//!
//! Such rows follow one another if that axis is the next one from within. If it lies further out, rows are visited in
//! blocks of as many points along it as are turned at once: of a block those with the same indices along the axes in
//! between, then those with the next ones.
//!
//! Rows that are lanes lie across in the same way: see `abreast`.

use super::nest::Axis;
use super::steps::State;
use super::text::{Label, Operand, put};
use super::value::V;
use super::{Emitter, Word};
use crate::kernel::{Ix, Kernel, Load, Node, Op};
use acc_core::ir::Val;
use std::ops::Range;

/// Columns that are turned at once at most.
pub(crate) const PANEL: usize = 128;
/// Leaves that are turned at most: more would not stay in the nearest cache.
const MOST: usize = 4;
/// Bytes within which registers are shuffled at the least cost.
pub(super) const LANE: usize = 16;
/// Points along the axis that is turned of a block of rows: as many as are turned at once of the narrowest elements.
pub(crate) const BLOCK: usize = 16;

/// A leaf of a read that is turned.
pub(super) struct Turned {
    /// The value that is read.
    pub of: Val,
    /// The axis of lanes, and the one whose points lie side by side.
    lane: usize,
    pub axis: usize,
    /// The memory of the function that has it, the lanes for each point there, and the first of them.
    buffer: Operand,
    width: usize,
    origin: Operand,
}

/// A leaf of a read whose lanes lie along this dimension.
pub(super) struct Read<'l> {
    pub of: Val,
    pub l: &'l Load,
    pub leaf: u32,
    pub across: usize,
}

/// The dimension of an array along which the lanes of a read lie, and the axis, another one, whose points lie side by side;
/// none if that is not so.
pub(super) fn across(l: &Load, lane: usize) -> Option<(usize, usize)> {
    let (last, outer) = l.index.split_last()?;
    let &Ix::Affine { axis: side, scale: 1, base: None, .. } = last else { return None };
    let steady = |ix: &Ix| matches!(*ix, Ix::Affine { axis, base: None, .. } if axis != side && (axis as usize) < lane);
    let along = |ix: &Ix| matches!(*ix, Ix::Affine { axis, scale: 1.., base: None, .. } if axis as usize == lane);
    let across = outer.iter().position(along)?;
    let others = outer.iter().enumerate().all(|(dim, ix)| dim == across || steady(ix));
    (l.edge.is_none() && side as usize != lane && others).then_some((across, side as usize))
}

/// The axis with which the innermost one changes places in reads that are turned, the inner one if there are several; none
/// if nothing is turned.
pub(crate) fn axis_turned(kernel: &Kernel) -> Option<usize> {
    let lane = kernel.axes.len().checked_sub(1)?;
    let loads = kernel.element.region.nodes.iter().filter_map(|n| match &n.op {
        Op::Load(l) => across(l, lane),
        _ => None,
    });
    loads.map(|(_, side)| side).filter(|side| *side < lane).max()
}

/// The axes between the one that is turned and that of lanes.
pub(crate) fn between(kernel: &Kernel, turned: usize) -> Range<usize> {
    turned + 1..kernel.axes.len() - 1
}

/// Rows visited in blocks. They lie as a matrix: a line of it for each point along the axes up to the one that is turned,
/// and in a line the points along those in between. A block is some lines, of which one column after the other is visited,
/// those [`From`](Word::From) one [`To`](Word::To) another.
pub(super) struct Visit {
    axis: usize,
    /// The first line, and the one after the last; the same of columns.
    ends: [Operand; 2],
    columns: [Operand; 2],
    /// Where the loop is entered from, and its phis: the first line of a block, the line and the column of the row.
    before: Label,
    mark: usize,
    block: Operand,
    line: Operand,
    column: Operand,
    /// The row, and whether it is the first one of its column in the block.
    pub row: Operand,
    pub begins: Operand,
}

impl Emitter<'_> {
    /// Starts a loop over the rows of the function in blocks.
    pub(super) fn visit(&mut self, kernel: &Kernel, axis: usize) -> Visit {
        let mut length = Operand::int(1);
        for axis in between(kernel, axis) {
            let extent = self.word(Word::Extent(axis as u32));
            length = put!(self, "mul i64 {length}, {extent}");
        }
        // Whole lines are asked for.
        let ends = ["%r0", "%r1"].map(|row| {
            let rest = put!(self, "urem i64 {row}, {length}");
            let some = put!(self, "icmp ne i64 {rest}, 0");
            self.decline_if(&some);
            put!(self, "udiv i64 {row}, {length}")
        });
        let columns = [Word::From, Word::To].map(|word| self.word(word));
        let (head, before) = (self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let mark = self.w.mark();
        let [block, line, column] = [0; 3].map(|_| self.w.promise());
        let row = put!(self, "mul i64 {line}, {length}");
        let row = put!(self, "add i64 {row}, {column}");
        let begins = put!(self, "icmp eq i64 {line}, {block}");
        Visit { axis, ends, columns, before, mark, block, line, column, row, begins }
    }

    /// Goes on to the next row, of which each costs so much.
    pub(super) fn visit_next(&mut self, v: &Visit, head: Label, done: Label, cost: usize) {
        self.tick(cost);
        let (Visit { block, line, column, .. }, [from, to]) = (v, &v.ends);
        let [first, last] = &v.columns;
        let extent = self.word(Word::Extent(v.axis as u32));
        // Blocks begin at multiples along the axis, and end with it.
        let at = put!(self, "urem i64 {block}, {extent}");
        let start = put!(self, "sub i64 {block}, {at}");
        let next = put!(self, "and i64 {at}, {}", -(BLOCK as i64));
        let next = put!(self, "add i64 {next}, {BLOCK}");
        let next = put!(self, "call i64 @llvm.umin.i64(i64 {next}, i64 {extent})");
        let end = put!(self, "add i64 {start}, {next}");
        let end = put!(self, "call i64 @llvm.smin.i64(i64 {end}, i64 {to})");
        let below = put!(self, "add i64 {line}, 1");
        let beside = put!(self, "add i64 {column}, 1");
        let down = put!(self, "icmp slt i64 {below}, {end}");
        let right = put!(self, "icmp slt i64 {beside}, {last}");
        let after = put!(self, "select i1 {right}, i64 {block}, i64 {end}");
        let beside = put!(self, "select i1 {right}, i64 {beside}, i64 {first}");
        let blocks = put!(self, "select i1 {down}, i64 {block}, i64 {after}");
        let lines = put!(self, "select i1 {down}, i64 {below}, i64 {after}");
        let columns = put!(self, "select i1 {down}, i64 {column}, i64 {beside}");
        let more = put!(self, "icmp slt i64 {lines}, {to}");
        let last = self.w.block;
        self.w.branch(&more, head, done);
        let phis = [(block, from, &blocks), (line, from, &lines), (column, first, &columns)];
        let phi = |(register, first, next): (&Operand, &Operand, &Operand)| {
            format!("  {register} = phi i64 [ {first}, {} ], [ {next}, {last} ]\n", v.before)
        };
        self.w.insert(v.mark, &phis.map(phi).concat());
    }

    /// Reads the columns between two of what is turned of a row and the ones after it, if the row is the first of a block, or
    /// `begins` to be visited; indices are checked for the row.
    pub(super) fn turn<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n Node>,
        lane: usize,
        axis: usize,
        [from, to]: &[Operand; 2],
        begins: &Operand,
    ) {
        let loads = nodes.filter_map(|n| match &n.op {
            Op::Load(l) => across(l, lane).filter(|(_, side)| *side == axis).map(|(across, _)| (n, l, across)),
            _ => None,
        });
        let (mut turned, width) = (Vec::new(), PANEL);
        for (n, l, across) in loads {
            let turns = self.turns(l);
            for (&leaf, &of) in l.leaves.iter().zip(&n.results).filter(|_| turns) {
                turned.push((Read { of, l, leaf, across }, self.turned_later((of, lane, axis), width, from)));
            }
        }
        let Axis::One(at) = self.axes[axis].clone() else { return };
        for (read, buffer) in turned {
            let rows = self.rows_turned(self.ty(read.of).size());
            let within = put!(self, "and i64 {at}, {}", rows - 1);
            let first = put!(self, "icmp eq i64 {within}, 0");
            let needed = put!(self, "or i1 {first}, {begins}");
            self.only_if(&needed, &[], Vec::new(), |e, none| {
                e.axes[axis] = Axis::One(put!(e, "sub i64 {at}, {within}"));
                e.axes[lane] = Axis::One(from.clone());
                let columns = put!(e, "sub i64 {to}, {from}");
                e.turn_block(&read, rows, &columns, Some(&first), &buffer, width);
                e.axes[axis] = Axis::One(at.clone());
                none
            });
        }
    }

    /// Whether a read that lies across is turned.
    pub(super) fn turns(&self, l: &Load) -> bool {
        let proven = l.index.iter().enumerate().all(|(dim, ix)| self.is_proven(l.array, dim, ix));
        proven && self.turned.len() + l.leaves.len() <= MOST
    }

    /// Memory of the function for a value that is turned, and the lanes from `origin` on, `width` for each point.
    pub(super) fn turned_later(
        &mut self,
        (of, lane, axis): (Val, usize, usize),
        width: usize,
        origin: &Operand,
    ) -> Operand {
        let buffer = self.turning_memory(self.ty(of).size(), width);
        self.turned.push(Turned { of, lane, axis, buffer: buffer.clone(), width, origin: origin.clone() });
        buffer
    }

    /// Rows of a block: as many elements as a register has, or nearly so.
    pub(super) fn rows_turned(&self, size: usize) -> usize {
        (self.target.register / size).clamp(4, BLOCK)
    }

    /// Memory of the function for so many lanes of each point of a block.
    pub(super) fn turning_memory(&mut self, size: usize, width: usize) -> Operand {
        self.memory(self.rows_turned(size) * width * size)
    }

    /// Reads of what is turned, if it is, a vector for each part of a step.
    pub(super) fn turned(&mut self, of: Val) -> Option<V> {
        let t = self.turned.iter().find(|t| t.of == of)?;
        let (Axis::One(at), Axis::Lanes(first)) = (self.axes[t.axis].clone(), self.axes[t.lane].clone()) else {
            return None;
        };
        let (buffer, width, origin) = (t.buffer.clone(), t.width, t.origin.clone());
        let ty = self.ty(of);
        let within = put!(self, "and i64 {at}, {}", self.rows_turned(ty.size()) - 1);
        let start = put!(self, "mul i64 {within}, {width}");
        let column = put!(self, "sub i64 {first}, {origin}");
        let start = put!(self, "add i64 {start}, {column}");
        Some(V::Lanes(self.neighbours(ty, &buffer, &start, 1, None, "")))
    }

    /// Turns so many columns for the rows of a block, of which axes are at the first, whether or not that is one of the
    /// index space, which `whole` tells if that is asked. What is left of columns is read one by one, and so is all that would
    /// end beyond the array.
    pub(super) fn turn_block(
        &mut self,
        &Read { of, l, leaf, across }: &Read<'_>,
        rows: usize,
        columns: &Operand,
        whole: Option<&Operand>,
        buffer: &Operand,
        width: usize,
    ) {
        let (rank, size) = (l.index.len(), self.ty(of).size());
        let (mem, mut first, mut step) = (format!("i{}", size * 8), Operand::int(0), Operand::int(0));
        let mut along = Operand::int(0);
        for (dim, ix) in l.index.iter().enumerate() {
            let (Ix::Affine { scale, .. }, V::One(at)) = (ix, self.index(ix)) else { return };
            let stride = self.stride(l.array, dim, rank);
            let term = put!(self, "mul i64 {at}, {stride}");
            first = put!(self, "add i64 {first}, {term}");
            if dim == across {
                step = put!(self, "mul i64 {stride}, {scale}");
            }
            along = at;
        }
        let extent = self.word(Word::ArrayExtent(l.array, rank as u32 - 1));
        let column = self.word(Word::Column(l.array, leaf));
        let start = put!(self, "getelementptr {mem}, ptr {column}, i64 {first}");
        let zero = Operand::int(0);
        // Beyond the end of a row of memory lies the next one.
        let last = put!(self, "sub i64 {columns}, 1");
        let last = put!(self, "mul i64 {last}, {step}");
        let last = put!(self, "add i64 {first}, {last}");
        let end = put!(self, "add i64 {last}, {rows}");
        let all = self.word(Word::End(l.array));
        let mut inside = put!(self, "icmp ule i64 {end}, {all}");
        if let Some(whole) = whole {
            inside = put!(self, "and i1 {inside}, {whole}");
        }
        let squares = put!(self, "and i64 {columns}, {}", -(rows as i64));
        let squares = put!(self, "select i1 {inside}, i64 {squares}, i64 0");
        let some = put!(self, "icmp sgt i64 {squares}, 0");
        let vector = format!("<{rows} x {mem}>");
        self.only_if(&some, &[], Vec::new(), |e, none| {
            e.along([&zero, &squares], rows, State::default(), None, |e, j, _| {
                let mut square = Vec::new();
                for t in 0..rows {
                    let at = put!(e, "add i64 {j}, {t}");
                    let at = put!(e, "mul i64 {at}, {step}");
                    let p = put!(e, "getelementptr {mem}, ptr {start}, i64 {at}");
                    square.push(put!(e, "load {vector}, ptr {p}, align {size}, !alias.scope !2"));
                    // Of the next block: each row is another page, which no processor goes on reading by itself.
                    let ahead = put!(e, "getelementptr i8, ptr {p}, i64 {}", 2 * rows * size - 1);
                    e.w.line(format_args!("call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)"));
                }
                for (k, turned) in e.transpose(square, &mem, LANE / size).into_iter().enumerate() {
                    let at = put!(e, "add i64 {j}, {}", k * width);
                    let p = put!(e, "getelementptr {mem}, ptr {buffer}, i64 {at}");
                    e.w.line(format_args!("store {vector} {turned}, ptr {p}, align {size}"));
                }
                Vec::new()
            });
            none
        });
        // What is left of columns, or of the rows that the array has, one by one.
        let left = put!(self, "icmp slt i64 {squares}, {columns}");
        self.only_if(&left, &[], Vec::new(), |e, none| {
            let low = put!(e, "sub i64 0, {along}");
            let low = put!(e, "call i64 @llvm.smax.i64(i64 {low}, i64 0)");
            let high = put!(e, "sub i64 {extent}, {along}");
            let high = put!(e, "call i64 @llvm.smin.i64(i64 {high}, i64 {rows})");
            e.along([&squares, columns], 1, State::default(), None, |e, j, _| {
                let lane = put!(e, "mul i64 {j}, {step}");
                e.along([&low, &high], 1, State::default(), None, |e, k, _| {
                    let at = put!(e, "add i64 {lane}, {k}");
                    let p = put!(e, "getelementptr {mem}, ptr {start}, i64 {at}");
                    let x = put!(e, "load {mem}, ptr {p}, align {size}, !alias.scope !2");
                    let at = put!(e, "mul i64 {k}, {width}");
                    let at = put!(e, "add i64 {at}, {j}");
                    let p = put!(e, "getelementptr {mem}, ptr {buffer}, i64 {at}");
                    e.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}"));
                    Vec::new()
                });
                Vec::new()
            });
            none
        });
    }

    /// The columns of a square of rows, of which each is a vector; `lane` of its elements are shuffled at the least cost.
    pub(super) fn transpose(&mut self, rows: Vec<Operand>, element: &str, lane: usize) -> Vec<Operand> {
        let n = rows.len();
        let lane = lane.clamp(1, n);
        let mut shuffle = |a: &Operand, b: &Operand, of: &dyn Fn(usize) -> usize| {
            let order: Vec<String> = (0..n).map(|k| format!("i32 {}", of(k))).collect();
            put!(self, "shufflevector <{n} x {element}> {a}, <{n} x {element}> {b}, <{n} x i32> <{}>", order.join(", "))
        };
        // Groups of `merged` rows have as many vectors: in the parts of each, as long as `lane`, some columns of that
        // part of all rows of the group.
        let mut at = rows;
        let mut merged = 1;
        while merged < lane {
            let mut next = Vec::new();
            for group in at.chunks(2 * merged) {
                let (a, b) = group.split_at(merged);
                for (x, y) in a.iter().zip(b) {
                    for half in 0..2 {
                        next.push(shuffle(x, y, &|k| {
                            let (part, k) = (k / lane * lane, k % lane);
                            let run = k / merged;
                            let from = (run / 2 + half * lane / (2 * merged)) * merged + k % merged;
                            part + from + run % 2 * n
                        }));
                    }
                }
            }
            at = next;
            merged *= 2;
        }
        // Now parts change places between the groups of `lane` rows.
        let mut by = n / lane / 2;
        while by > 0 {
            for v in (0..n).filter(|v| (v / lane) & by == 0) {
                let (x, y) = (at[v].clone(), at[v + by * lane].clone());
                at[v] = shuffle(&x, &y, &|k| if (k / lane) & by == 0 { k } else { k - by * lane + n });
                at[v + by * lane] = shuffle(&x, &y, &|k| if (k / lane) & by == 0 { k + by * lane } else { k + n });
            }
            by /= 2;
        }
        at
    }
}
