//! Transposed loads: blocks of a matrix are transposed in registers.
//!
//! Where the lane axis is not contiguous in memory, but another axis is, several rows along that other axis are loaded
//! together: one vector along memory per lane. The square of vectors is transposed and kept in a stack buffer, in which
//! each row finds its lanes side by side.
//!
//! These rows are consecutive if the other axis is the second innermost one. If it lies further out, rows are visited
//! in blocks: of a block first the rows with equal indices along the axes in between, then those with the next ones.
//!
//! Rows that are lanes are transposed in the same way: see `row_lanes`.

use crate::kernel::{Ix, Kernel, Load, Node, Op};
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::Value;
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Label, Operand, put};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::ir::Val;
use std::ops::Range;

/// Columns that are transposed at a time: the buffer of a leaf is a few KiB and stays in L1.
pub(crate) const MAX_PANEL_COLUMNS: usize = 128;
/// Reads of more leaves are gathered: their buffers would not fit into L1.
const MAX_TRANSPOSED_LEAVES: usize = 4;
/// Bytes within which registers are shuffled cheapest (the 128-bit lanes of x86).
pub(crate) const SHUFFLE_LANE_BYTES: usize = 16;
/// Rows of a block: as many as are transposed at once for the narrowest elements.
pub(crate) const MAX_BLOCK_ROWS: usize = 16;

/// A leaf of a read that is transposed.
pub(crate) struct TransposedLoad {
    /// The value that is loaded.
    pub of: Val,
    /// The lane axis, and the axis that is contiguous in memory.
    lane: usize,
    pub axis: usize,
    /// The stack buffer, its lanes per row, and the first of them.
    buffer: Operand,
    width: usize,
    origin: Operand,
}

/// A leaf of a read whose lanes run along dimension `across`.
pub(crate) struct TransposedRead<'l> {
    pub of: Val,
    pub l: &'l Load,
    pub leaf: u32,
    pub across: usize,
}

/// The dimension along which the lanes of a read run, and the other axis, which is contiguous in memory; none if the
/// read is no transposed one.
pub(crate) fn transposed_dims(l: &Load, lane: usize) -> Option<(usize, usize)> {
    let (last, outer) = l.index.split_last()?;
    let &Ix::Affine { axis: side, scale: 1, base: None, .. } = last else { return None };
    let steady = |ix: &Ix| matches!(*ix, Ix::Affine { axis, base: None, .. } if axis != side && (axis as usize) < lane);
    let along = |ix: &Ix| matches!(*ix, Ix::Affine { axis, scale: 1.., base: None, .. } if axis as usize == lane);
    let across = outer.iter().position(along)?;
    let others = outer.iter().enumerate().all(|(dim, ix)| dim == across || steady(ix));
    (l.edge.is_none() && side as usize != lane && others).then_some((across, side as usize))
}

/// The axis that is swapped with the innermost one in transposed loads, the inner one of several; none without
/// transposed loads.
pub(crate) fn transposed_axis(kernel: &Kernel) -> Option<usize> {
    let lane = kernel.axes.len().checked_sub(1)?;
    let loads = kernel.element.region.nodes.iter().filter_map(|n| match &n.op {
        Op::Index(l) => transposed_dims(l, lane),
        _ => None,
    });
    loads.map(|(_, side)| side).filter(|side| *side < lane).max()
}

/// The axes between the transposed one and the lane axis.
pub(crate) fn axes_between(kernel: &Kernel, transposed: usize) -> Range<usize> {
    transposed + 1..kernel.axes.len() - 1
}

/// A loop over rows in blocks. The rows form a matrix: a line for each point along the axes up to the transposed one,
/// and in a line the points along the axes in between. A block is a few lines, visited column by column, for the
/// columns in [`RangeStart`](KernelArg::RangeStart)..[`RangeEnd`](KernelArg::RangeEnd).
pub(crate) struct BlockedRows {
    axis: usize,
    /// The range of lines; that of columns.
    ends: [Operand; 2],
    columns: [Operand; 2],
    /// The predecessor of the loop, and its phis: the first line of the block, the line and the column of the row.
    before: Label,
    mark: usize,
    block: Operand,
    line: Operand,
    column: Operand,
    /// The row, and whether it is the first one of its column in the block.
    pub row: Operand,
    pub begins: Operand,
}

impl Function {
    /// Starts a loop over the rows of the function in blocks.
    pub(crate) fn begin_blocked_rows(&mut self, kernel: &Kernel, axis: usize) -> BlockedRows {
        let mut length = Operand::int(1);
        for axis in axes_between(kernel, axis) {
            let extent = self.arg(KernelArg::Extent(axis as u32));
            length = put!(self, "mul i64 {length}, {extent}");
        }
        // Callers ask for whole lines.
        let ends = ["%r0", "%r1"].map(|row| {
            let rest = put!(self, "urem i64 {row}, {length}");
            let some = put!(self, "icmp ne i64 {rest}, 0");
            self.bail_out_if(&some);
            put!(self, "udiv i64 {row}, {length}")
        });
        let columns = [KernelArg::RangeStart, KernelArg::RangeEnd].map(|word| self.arg(word));
        let (head, before) = (self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let mark = self.w.position();
        let [block, line, column] = [0; 3].map(|_| self.w.reserve_register());
        let row = put!(self, "mul i64 {line}, {length}");
        let row = put!(self, "add i64 {row}, {column}");
        let begins = put!(self, "icmp eq i64 {line}, {block}");
        BlockedRows { axis, ends, columns, before, mark, block, line, column, row, begins }
    }

    /// Rows of a block: as many elements as fit into a register, within bounds.
    pub(crate) fn transposed_rows(&self, size: usize) -> usize {
        (self.target.register / size).clamp(4, MAX_BLOCK_ROWS)
    }

    /// A stack buffer for so many lanes of each row of a block.
    pub(crate) fn transpose_buffer(&mut self, size: usize, width: usize) -> Operand {
        self.memory(self.transposed_rows(size) * width * size)
    }

    /// Transposes a square of vectors; shuffles within `lane` elements are cheapest.
    pub(crate) fn transpose(&mut self, rows: Vec<Operand>, element: &str, lane: usize) -> Vec<Operand> {
        let n = rows.len();
        let lane = lane.clamp(1, n);
        let mut shuffle = |a: &Operand, b: &Operand, of: &dyn Fn(usize) -> usize| {
            let order: Vec<String> = (0..n).map(|k| format!("i32 {}", of(k))).collect();
            put!(self, "shufflevector <{n} x {element}> {a}, <{n} x {element}> {b}, <{n} x i32> <{}>", order.join(", "))
        };
        // Groups of `merged` rows have as many vectors: each part of `lane` elements holds some columns of that part of
        // all rows of the group.
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
        // Then parts are exchanged between the groups of `lane` rows.
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

impl VectorCode {
    /// Advances to the next row; `cost` is that of one row.
    pub(crate) fn next_blocked_row(&mut self, v: &BlockedRows, head: Label, done: Label, cost: usize) {
        self.count_fuel(cost);
        let (BlockedRows { block, line, column, .. }, [from, to]) = (v, &v.ends);
        let [first, last] = &v.columns;
        let extent = self.f.arg(KernelArg::Extent(v.axis as u32));
        // Blocks begin at multiples along the axis, and end with it.
        let at = put!(self.f, "urem i64 {block}, {extent}");
        let start = put!(self.f, "sub i64 {block}, {at}");
        let next = put!(self.f, "and i64 {at}, {}", -(MAX_BLOCK_ROWS as i64));
        let next = put!(self.f, "add i64 {next}, {MAX_BLOCK_ROWS}");
        let next = put!(self.f, "call i64 @llvm.umin.i64(i64 {next}, i64 {extent})");
        let end = put!(self.f, "add i64 {start}, {next}");
        let end = put!(self.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {to})");
        let below = put!(self.f, "add i64 {line}, 1");
        let beside = put!(self.f, "add i64 {column}, 1");
        let down = put!(self.f, "icmp slt i64 {below}, {end}");
        let right = put!(self.f, "icmp slt i64 {beside}, {last}");
        let after = put!(self.f, "select i1 {right}, i64 {block}, i64 {end}");
        let beside = put!(self.f, "select i1 {right}, i64 {beside}, i64 {first}");
        let blocks = put!(self.f, "select i1 {down}, i64 {block}, i64 {after}");
        let lines = put!(self.f, "select i1 {down}, i64 {below}, i64 {after}");
        let columns = put!(self.f, "select i1 {down}, i64 {column}, i64 {beside}");
        let more = put!(self.f, "icmp slt i64 {lines}, {to}");
        let last = self.f.w.block;
        self.f.w.branch(&more, head, done);
        let phis = [(block, from, &blocks), (line, from, &lines), (column, first, &columns)];
        let phi = |(register, first, next): (&Operand, &Operand, &Operand)| {
            format!("  {register} = phi i64 [ {first}, {} ], [ {next}, {last} ]\n", v.before)
        };
        self.f.w.insert(v.mark, &phis.map(phi).concat());
    }
}

impl Emitter<'_> {
    /// Transposes a range of columns of this row and the following ones into the buffers, if the row is the first of a
    /// block, or the first that is visited (`begins`). Indices are checked for the whole row.
    pub(crate) fn transpose_loads<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n Node>,
        lane: usize,
        axis: usize,
        [from, to]: &[Operand; 2],
        begins: &Operand,
    ) {
        let loads = nodes.filter_map(|n| match &n.op {
            Op::Index(l) => {
                transposed_dims(l, lane).filter(|(_, side)| *side == axis).map(|(across, _)| (n, l, across))
            }
            _ => None,
        });
        let (mut transposed, width) = (Vec::new(), MAX_PANEL_COLUMNS);
        for (n, l, across) in loads {
            let is_transposed = self.is_transposable(l);
            for (&leaf, &of) in l.leaves.iter().zip(&n.results).filter(|_| is_transposed) {
                transposed.push((
                    TransposedRead { of, l, leaf, across },
                    self.reserve_transposed((of, lane, axis), width, from),
                ));
            }
        }
        let Axis::Uniform(at) = self.scope.axes[axis].clone() else { return };
        for (read, buffer) in transposed {
            let rows = self.code.f.transposed_rows(self.ty(read.of).size());
            let within = put!(self.code.f, "and i64 {at}, {}", rows - 1);
            let first = put!(self.code.f, "icmp eq i64 {within}, 0");
            let needed = put!(self.code.f, "or i1 {first}, {begins}");
            self.if_then(&needed, &[], Vec::new(), |e, none| {
                e.scope.axes[axis] = Axis::Uniform(put!(e.code.f, "sub i64 {at}, {within}"));
                e.scope.axes[lane] = Axis::Uniform(from.clone());
                let columns = put!(e.code.f, "sub i64 {to}, {from}");
                e.transpose_block(&read, rows, &columns, Some(&first), &buffer, width);
                e.scope.axes[axis] = Axis::Uniform(at.clone());
                none
            });
        }
    }

    /// Whether a read can be transposed: its indices are proven in bounds, and there is room.
    pub(crate) fn is_transposable(&self, l: &Load) -> bool {
        let proven = l.index.iter().enumerate().all(|(dim, ix)| self.is_proven(l.array, dim, ix));
        proven && self.scope.transposed.len() + l.leaves.len() <= MAX_TRANSPOSED_LEAVES
    }

    /// Reserves the buffer of a transposed value, which holds the lanes from `origin` on, `width` per row.
    pub(crate) fn reserve_transposed(
        &mut self,
        (of, lane, axis): (Val, usize, usize),
        width: usize,
        origin: &Operand,
    ) -> Operand {
        let buffer = self.code.f.transpose_buffer(self.ty(of).size(), width);
        self.scope.transposed.push(TransposedLoad {
            of,
            lane,
            axis,
            buffer: buffer.clone(),
            width,
            origin: origin.clone(),
        });
        buffer
    }

    /// Loads a transposed value from its buffer, a vector per part; none if it has no buffer.
    pub(crate) fn load_transposed(&mut self, of: Val) -> Option<Value> {
        let t = self.scope.transposed.iter().find(|t| t.of == of)?;
        let (Axis::Uniform(at), Axis::Lanes(first)) =
            (self.scope.axes[t.axis].clone(), self.scope.axes[t.lane].clone())
        else {
            return None;
        };
        let (buffer, width, origin) = (t.buffer.clone(), t.width, t.origin.clone());
        let ty = self.ty(of);
        let within = put!(self.code.f, "and i64 {at}, {}", self.code.f.transposed_rows(ty.size()) - 1);
        let start = put!(self.code.f, "mul i64 {within}, {width}");
        let column = put!(self.code.f, "sub i64 {first}, {origin}");
        let start = put!(self.code.f, "add i64 {start}, {column}");
        Some(Value::Varying(self.code.load_contiguous(ty, &buffer, &start, 1, None, "")))
    }

    /// Transposes so many columns of a block of rows. The axes are bound to the block's first row, which may lie before
    /// the index space; `whole`, if given, tells that it does not. Remaining columns, and rows that would end beyond
    /// the array, are copied element by element.
    pub(crate) fn transpose_block(
        &mut self,
        &TransposedRead { of, l, leaf, across }: &TransposedRead<'_>,
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
            let (Ix::Affine { scale, .. }, Value::Uniform(at)) = (ix, self.index(ix)) else { return };
            let stride = self.code.f.stride(l.array, dim, rank);
            let term = put!(self.code.f, "mul i64 {at}, {stride}");
            first = put!(self.code.f, "add i64 {first}, {term}");
            if dim == across {
                step = put!(self.code.f, "mul i64 {stride}, {scale}");
            }
            along = at;
        }
        let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, rank as u32 - 1));
        let column = self.code.f.arg(KernelArg::Column(l.array, leaf));
        let start = put!(self.code.f, "getelementptr {mem}, ptr {column}, i64 {first}");
        let zero = Operand::int(0);
        // Beyond the end of a row of memory lies the next row.
        let last = put!(self.code.f, "sub i64 {columns}, 1");
        let last = put!(self.code.f, "mul i64 {last}, {step}");
        let last = put!(self.code.f, "add i64 {first}, {last}");
        let end = put!(self.code.f, "add i64 {last}, {rows}");
        let all = self.code.f.arg(KernelArg::ReadableEnd(l.array));
        let mut inside = put!(self.code.f, "icmp ule i64 {end}, {all}");
        if let Some(whole) = whole {
            inside = put!(self.code.f, "and i1 {inside}, {whole}");
        }
        let squares = put!(self.code.f, "and i64 {columns}, {}", -(rows as i64));
        let squares = put!(self.code.f, "select i1 {inside}, i64 {squares}, i64 0");
        let some = put!(self.code.f, "icmp sgt i64 {squares}, 0");
        let vector = format!("<{rows} x {mem}>");
        self.if_then(&some, &[], Vec::new(), |e, none| {
            e.counted_loop([&zero, &squares], rows, LoopState::default(), None, |e, j, _| {
                let mut square = Vec::new();
                for t in 0..rows {
                    let at = put!(e.code.f, "add i64 {j}, {t}");
                    let at = put!(e.code.f, "mul i64 {at}, {step}");
                    let p = put!(e.code.f, "getelementptr {mem}, ptr {start}, i64 {at}");
                    square.push(put!(e.code.f, "load {vector}, ptr {p}, align {size}, !alias.scope !2"));
                    // Prefetches the next block: each row is on another page, where hardware prefetchers stop.
                    let ahead = put!(e.code.f, "getelementptr i8, ptr {p}, i64 {}", 2 * rows * size - 1);
                    e.code.f.w.line(format_args!("call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)"));
                }
                for (k, transposed) in
                    e.code.f.transpose(square, &mem, SHUFFLE_LANE_BYTES / size).into_iter().enumerate()
                {
                    let at = put!(e.code.f, "add i64 {j}, {}", k * width);
                    let p = put!(e.code.f, "getelementptr {mem}, ptr {buffer}, i64 {at}");
                    e.code.f.w.line(format_args!("store {vector} {transposed}, ptr {p}, align {size}"));
                }
                Vec::new()
            });
            none
        });
        // The remaining columns, or the rows that exist, element by element.
        let left = put!(self.code.f, "icmp slt i64 {squares}, {columns}");
        self.if_then(&left, &[], Vec::new(), |e, none| {
            let low = put!(e.code.f, "sub i64 0, {along}");
            let low = put!(e.code.f, "call i64 @llvm.smax.i64(i64 {low}, i64 0)");
            let high = put!(e.code.f, "sub i64 {extent}, {along}");
            let high = put!(e.code.f, "call i64 @llvm.smin.i64(i64 {high}, i64 {rows})");
            e.counted_loop([&squares, columns], 1, LoopState::default(), None, |e, j, _| {
                let lane = put!(e.code.f, "mul i64 {j}, {step}");
                e.counted_loop([&low, &high], 1, LoopState::default(), None, |e, k, _| {
                    let at = put!(e.code.f, "add i64 {lane}, {k}");
                    let p = put!(e.code.f, "getelementptr {mem}, ptr {start}, i64 {at}");
                    let x = put!(e.code.f, "load {mem}, ptr {p}, align {size}, !alias.scope !2");
                    let at = put!(e.code.f, "mul i64 {k}, {width}");
                    let at = put!(e.code.f, "add i64 {at}, {j}");
                    let p = put!(e.code.f, "getelementptr {mem}, ptr {buffer}, i64 {at}");
                    e.code.f.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}"));
                    Vec::new()
                });
                Vec::new()
            });
            none
        });
    }
}
