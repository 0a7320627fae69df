//! Tensor operations.

use super::walk::Field;
use super::{BitOp, Body, ReduceOp, SizeOp, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayType, PrimOp};
use smallvec::SmallVec;
use std::sync::Arc;

/// How values are put into a tensor at positions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScatterMode {
    /// The last value wins, in order of the source.
    Last,
    /// Combined with the current value.
    Combine(ReduceOp),
    /// Combined with the current value bit by bit.
    Bits(BitOp),
}

impl ScatterMode {
    /// The name in exports.
    pub fn name(self) -> &'static str {
        match self {
            ScatterMode::Last => "last",
            ScatterMode::Combine(k) => k.name(),
            ScatterMode::Bits(k) => k.name(),
        }
    }

    /// Every mode.
    pub fn all() -> impl Iterator<Item = ScatterMode> {
        let combined = ReduceOp::ALL.into_iter().map(ScatterMode::Combine);
        std::iter::once(ScatterMode::Last).chain(combined).chain(BitOp::ALL.into_iter().map(ScatterMode::Bits))
    }
}

/// Whether reads and writes at positions take them as this type: as integers that no more than the greatest half of
/// `u32` makes negative ones of libtorch's types, which are out of bounds.
pub(crate) fn is_position(ty: ScalarType) -> bool {
    use ScalarType::{I8, I16, I32, I64, U8, U32};
    matches!(ty, I64 | I32 | U32 | I16 | I8 | U8)
}

/// What stands beyond the ends of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PadMode {
    /// The nearest element.
    Nearest,
    /// What lies as far on the other side of the last element, which is not repeated.
    Mirror,
    /// The axis again.
    Wrap,
}

impl PadMode {
    /// Every mode.
    pub const ALL: [PadMode; 3] = [PadMode::Nearest, PadMode::Mirror, PadMode::Wrap];

    /// The name in exports.
    pub fn name(self) -> &'static str {
        match self {
            PadMode::Nearest => "nearest",
            PadMode::Mirror => "mirror",
            PadMode::Wrap => "wrap",
        }
    }
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// An index out of bounds. Details: the index, the extents.
    IndexOutOfBounds {
        /// The array, by its number in the program.
        array: u32,
    },
    /// An integer division by zero.
    DivisionByZero,
    /// A negative extent. Details: the shape.
    NegativeExtent,
    /// A shape too large. Details: the shape.
    ShapeOverflow,
    /// A fold without initial value of no element. Details: the shape.
    EmptyFold,
    /// A reshape to another size. Details: the shapes, of `from` dimensions before.
    ReshapeSize {
        /// The rank before.
        from: u32,
    },
    /// An array too small for a boundary. Details: the shape, the window.
    StencilExtent {
        /// `mirror` or `wrap`.
        boundary: &'static str,
    },
    /// A condition of the program that does not hold. Details: the numbers of the message.
    CheckFailed {
        /// What is wrong.
        message: Arc<str>,
    },
}

/// Axes, widths and other numbers of an operation.
pub type Numbers = SmallVec<[u32; 4]>;

/// Truth values of an operation.
pub type Flags = SmallVec<[bool; 4]>;

/// Calls a macro with the table of operations: for each its documentation, its name, and its fields. A macro that names
/// the types of the fields has them in scope.
#[macro_export]
macro_rules! with_graph_ops {
    ($callback:ident) => {
        $callback! {
            // ---- sizes
            /// A constant size.
            "size" Size(value: i64);
            /// Arithmetic on sizes.
            "size_op" SizeOp(with: SizeOp, left: Value, right: Value);
            /// The value of a rank-0 tensor of `i64` or `bool`: read back from the device.
            "read_back" ReadBack(x: Value);
            /// The value of a rank-0 parameter of the graph, of `bool` or integers other than `u64`: the host has it.
            "argument" Argument(x: Value);
            /// Whether some lane's position `base + Σ steps[k]·i[k]`, with `i[k]` in `0..lens[k]`, is out of `0..extent`: 0 or 1,
            /// computed without wrapping.
            "outside" Outside {
                /// The position of the first lane.
                base: Value,
                /// The distance along each axis.
                steps: Values,
                /// The extent of each axis.
                lens: Values,
                /// The extent of what is read.
                extent: Value,
            };
            /// The extent of a tensor along an axis.
            "extent" Extent(x: Value, axis: u32);
            /// A size as a rank-0 tensor of `i64`.
            "from_size" FromSize(size: Value);
            // ---- sources
            /// A rank-0 tensor.
            "const" Const(value: Lit);
            /// `start, start + step, ..` as `i64`, converted to a type.
            "iota" Iota {
                /// How many.
                len: Value,
                /// The first.
                start: Value,
                /// The distance, not 0.
                step: Value,
                /// The type.
                ty: ScalarType,
            };
            // ---- element-wise
            /// A primitive operation. Integer divisors are never zero here: flattening guards them, or they are
            /// [`Op::Divisor`]s.
            "prim" Prim(with: PrimOp, xs: Values);
            /// A numeric conversion.
            "cast" Cast(x: Value, to: ScalarType);
            /// The same bits as another scalar type.
            "bitcast" Bitcast(x: Value, to: ScalarType);
            /// Numbers clamped between two; NaN stays.
            "clip" Clip {
                /// The operand.
                x: Value,
                /// The least result.
                low: Lit,
                /// The greatest one.
                high: Lit,
            };
            /// The second operand where the first (of `bool`) is true, else the third.
            "where" Where(cond: Value, then: Value, else_: Value);
            /// The nearest position in `0..extent`; if there is none, one that differs from what it was.
            "clamp" Clamp(at: Value, extent: Value);
            /// Positions, all of them in `0..extent`: if one is not, the run has a fault. As those of reads and writes they are of
            /// type `i64`, or of a narrower integer type.
            "in_bounds" InBounds {
                /// The positions.
                at: Value,
                /// The extent, a size.
                extent: Value,
                /// Whether all of it goes into reads or writes that find such a position themselves.
                by_use: bool,
            };
            /// Divisors, none of them 0: if one is, the run has a fault. All of it goes into divisions.
            "divisor" Divisor(x: Value);
            // ---- views
            /// The same elements in row-major order under another shape of the same size.
            "reshape" Reshape(x: Value, shape: Values);
            /// Extents of 1 repeated to this shape.
            "broadcast" Broadcast(x: Value, shape: Values);
            /// Axes reordered: result axis `i` is operand axis `axes[i]`.
            "transpose" Transpose(x: Value, axes: Numbers);
            /// New axes of extent 1 at these positions of the result, in increasing order.
            "insert_axes" InsertAxes(x: Value, axes: Numbers);
            /// Every `step`-th position of an axis: `len` of them from `start`. If they are not all there, zeros: then the run
            /// has a fault, or nobody looks at the result.
            "slice" Slice {
                /// The operand.
                x: Value,
                /// The axis.
                axis: u32,
                /// The first position.
                start: Value,
                /// How many.
                len: Value,
                /// The distance between them.
                step: u32,
            };
            /// One position of an axis, which goes; zeros as for a slice.
            "select" Select {
                /// The operand.
                x: Value,
                /// The axis.
                axis: u32,
                /// The position.
                at: Value,
            };
            /// An axis reversed.
            "flip" Flip(x: Value, axis: u32);
            /// An axis read at the positions `start + Σ steps[k]·i[k]`, with `i[k]` in `0..lens[k]`, which are the axes of the
            /// result in its place. Where a position is out of bounds there is a zero if `padded`; else zeros as for a slice.
            "unfold" Unfold {
                /// The operand.
                x: Value,
                /// The axis.
                axis: u32,
                /// The position of the first element.
                start: Value,
                /// The extents in place of the axis.
                lens: Values,
                /// The distance along each of them; may be negative or 0.
                steps: Values,
                /// Whether there are zeros around the axis.
                padded: bool,
            };
            // ---- data movement
            /// Elements of a rank-1 tensor at positions, which are in bounds, or zeros if it is empty; of the positions' shape.
            "gather" Gather(x: Value, at: Value);
            /// A tensor with places more at both ends of its axes; none on an axis without elements.
            "pad" Pad {
                /// The operand.
                x: Value,
                /// How many at each end of each axis.
                widths: Numbers,
                /// What the places hold.
                mode: PadMode,
            };
            /// Slices of a tensor at positions (rank 1) of an axis, which are in bounds, or zeros if that is empty.
            "take" Take {
                /// The operand.
                x: Value,
                /// The axis.
                axis: u32,
                /// The positions.
                at: Value,
            };
            /// A rank-1 tensor with values put at positions, which are in bounds.
            "tensor_scatter" Scatter {
                /// The tensor.
                base: Value,
                /// The positions (rank 1).
                at: Value,
                /// The values (rank 1).
                values: Value,
                /// What happens to current values, and where positions repeat.
                mode: ScatterMode,
            };
            /// Tensors joined along an axis.
            "concat" Concat(xs: Values, axis: u32);
            /// A tensor of rank 1 or more sorted along its innermost axis (ascending, stable, NaN last), and the positions that
            /// the elements had.
            "sort" Sort {
                /// The operand.
                x: Value,
                /// How many elements of each sorted row there are in the results: zeros, if it has fewer. Without it, all.
                count: Option<Value>,
                /// Whether these are the last elements, not the first.
                last: bool,
            };
            /// The positions where a rank-1 tensor of `bool` is true.
            "nonzero" Nonzero(x: Value);
            // ---- reductions, along the innermost axis
            /// A reduction.
            "reduce" Reduce(with: ReduceOp, x: Value);
            /// A reduction of segments of the rows, the same in each: segment `k` are the elements from `offsets[k]` to before
            /// `offsets[k + 1]`. If these do not ascend in `0..=` their number, the run has a fault.
            "segment_reduce" SegmentReduce {
                /// The operation; where a segment has no element the result is neutral.
                with: ReduceOp,
                /// The operand.
                x: Value,
                /// The positions (rank 1) of the rows' elements along the innermost axis of the operand, as [`Op::Take`] has them;
                /// without it the elements are the operand's.
                at: Option<Value>,
                /// One more than segments, of `i64` and rank 1.
                offsets: Value,
                /// Whether a segment without elements is a fault, too.
                full: bool,
            };
            /// The sums along the innermost axes of the products of two tensors, which broadcast: a matrix product of some kind.
            "contract" Contract {
                /// The one factor.
                left: Value,
                /// The other one.
                right: Value,
                /// Of `bool`: where it is false, one of the factors is 0, and so is the product whatever the other one is.
                mask: Option<Value>,
                /// How many axes are summed.
                axes: u32,
            };
            /// A convolution of `[image, group, channel, position..]` with filters `[group, filter, channel, window..]`, of one to
            /// three dimensions: `y[n, g, f, i..] = Σ x[n, g, c, start + i·stride + w·dilation..] · filters[g, f, c, w..]` over `c`
            /// and `w..`, with zeros at positions out of bounds.
            "convolve" Convolve {
                /// The operand.
                x: Value,
                /// The filters.
                filters: Value,
                /// The positions of the first element of the first window.
                starts: Values,
                /// The extents of the result's places.
                places: Values,
                /// The distance between the windows of neighbours.
                strides: Numbers,
                /// The distance between neighbours in a window.
                dilations: Numbers,
            };
            /// The reductions of windows of an axis: at place `i` of the elements at `start + i·stride + w·dilation`, with `w` in
            /// `0..window`. Positions out of bounds are left out if `padded`; else the elements there are zeros as for a slice.
            "pool" Pool {
                /// The operation.
                with: ReduceOp,
                /// The operand.
                x: Value,
                /// The axis.
                axis: u32,
                /// The position of the first element.
                start: Value,
                /// The extent in place of the axis.
                places: Value,
                /// How many elements a window has.
                window: Value,
                /// The distance between the windows of neighbours.
                stride: u32,
                /// The distance between neighbours in a window.
                dilation: u32,
                /// Whether positions may be out of bounds.
                padded: bool,
            };
            /// The position of the first least or greatest element, or of the first NaN; of rows that are not empty.
            "arg_extreme" ArgExtreme(with: ReduceOp, x: Value);
            /// The exponential function of floats less the greatest along an axis, over the sum of these along it; or the logarithm
            /// of that.
            "softmax" Softmax {
                /// The operand.
                x: Value,
                /// The axis.
                axis: u32,
                /// Whether it is the logarithm.
                log: bool,
            };
            /// Floats less their mean along some axes, over the root of the sum of their variance along these (the mean of squares)
            /// and `epsilon`; times `scale`, and `shift` added, each of which has the operand's rank.
            "normalize" Normalize {
                /// The operand.
                x: Value,
                /// The axes, ascending.
                axes: Numbers,
                /// A positive number.
                epsilon: Lit,
                /// Without it 1.
                scale: Option<Value>,
                /// Without it 0.
                shift: Option<Value>,
            };
            /// An inclusive scan.
            "cumulative" Cumulative(with: ReduceOp, x: Value);
            /// The totals of the elements before each one of a row, and then of all: one more than elements, the first neutral.
            "exclusive" Exclusive(with: ReduceOp, x: Value);
            /// An inclusive scan of each row that restarts where `starts` (of `bool`, of the shape of the operand) is true.
            "segment_scan" SegmentScan {
                /// The operation.
                with: ReduceOp,
                /// The operand.
                x: Value,
                /// The first elements of segments; the first of a row is one in any case.
                starts: Value,
            };
            /// A reduction of rows, which are not empty, with an associative operator, in order.
            "fold" Fold {
                /// The rows' columns, of one shape.
                columns: Values,
                /// The operator, on many pairs at once: from their number, and the columns of the left and of the right
                /// operands, of the rows' shape with that number as the innermost extent, to those of the results.
                combine: Body,
            };
            /// An inclusive scan of rows with an associative operator, in order.
            "scan" Scan {
                /// The rows' columns, of one shape.
                columns: Values,
                /// As of a fold.
                combine: Body,
            };
            /// Whether any element of a tensor of `bool`, of any rank, is true; of rank 0.
            "any_lane" AnyLane(x: Value);
            // ---- control
            /// One of two bodies (without parameters), chosen by a size or a rank-0 `bool`.
            "if" If {
                /// The condition.
                cond: Value,
                /// Evaluated if true.
                then: Body,
                /// Evaluated if false.
                else_: Body,
            };
            /// While `test` yields true of the state, the state becomes what `step` yields.
            "while" While {
                /// The initial state.
                init: Values,
                /// From the state to a size or a rank-0 `bool`.
                test: Body,
                /// From the state to the next state.
                step: Body,
            };
            /// A loop that lanes leave one by one: while `test` holds for a lane, its state becomes what `step` yields.
            "lane_loop" LaneLoop {
                /// Which lanes enter: of the space's rank, or uniform.
                on: Value,
                /// The extents of the index space.
                space: Values,
                /// The initial state, which broadcasts to the space.
                init: Values,
                /// What else differs between lanes; it broadcasts to the space.
                captured: Values,
                /// Which results are used; the others are unspecified.
                kept: Flags,
                /// From a number of lanes, which of them are on, their state and what they captured, all of rank 1, to which
                /// of them go on.
                test: Body,
                /// From the same to the next state; of a lane that is off anything.
                step: Body,
            };
            // ---- faults
            /// Notes a fault for the first lane, in row-major order, where `bad` (a size or a tensor of `bool`) is true.
            "fault" Fault {
                /// What it is.
                kind: FaultKind,
                /// Where it happened; of the lanes' rank, or uniform.
                bad: Value,
                /// The extents of the index space.
                space: Values,
                /// Integers for the message: sizes, or tensors that broadcast to the space.
                details: Vec<Value>,
                /// The order of this check among those of the statement.
                site: u32,
            };
            /// The values, after checks were made; if `raise`, and one of this statement's checks found a fault, the run ends
            /// with it.
            "checked" Checked {
                /// The values.
                values: Values,
                /// The checks.
                tokens: Vec<Value>,
                /// Whether the run ends here.
                raise: bool,
            };
            /// The values, after a message that shows arrays was printed.
            "trace" Trace {
                /// The message.
                message: Arc<str>,
                /// The types of the arrays shown.
                types: Vec<ArrayType>,
                /// The extents and columns of each.
                shown: Values,
                /// The values.
                values: Values,
            };
            /// A mask without the lanes that need no more evaluation, because one before them or they themselves have a fault.
            "confine" Confine {
                /// The mask.
                mask: Value,
                /// The checks.
                tokens: Vec<Value>,
                /// The extents of the index space.
                space: Values,
            };
        }
    };
}

macro_rules! define_ops {
    ($(
        $(#[$doc:meta])*
        $name:literal $Op:ident
        $(($($t:ident: $T:ty),*))? $({$($(#[$about:meta])* $f:ident: $F:ty,)*})?;
    )*) => {
        /// A tensor operation. Element-wise operations broadcast: operands have rank 0 or the result's, and extents of 1 repeat.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            $($(#[$doc])* $Op $(($($T),*))? $({$($(#[$about])* $f: $F,)*})?,)*
        }

        impl Op {
            /// The name of the kind of operation, as in JSON.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Op::$Op { .. } => $name,)*
                }
            }

            /// The values used directly, not those used inside bodies.
            pub fn operands(&self) -> SmallVec<[Value; 6]> {
                let mut out = SmallVec::new();
                match self {
                    $(Op::$Op $(($($t),*))? $({$($f),*})? => { $($($t.values(&mut out);)*)? $($($f.values(&mut out);)*)? })*
                }
                out
            }

            /// Replaces every value, those inside bodies included.
            pub(crate) fn rename(&mut self, rename: &dyn Fn(Value) -> Value) {
                match self {
                    $(Op::$Op $(($($t),*))? $({$($f),*})? => { $($(Field::rename($t, rename);)*)? $($(Field::rename($f, rename);)*)? })*
                }
            }

            /// Replaces every operand, those inside bodies left out.
            pub(super) fn rename_operands(&mut self, rename: &dyn Fn(Value) -> Value) {
                match self {
                    $(Op::$Op $(($($t),*))? $({$($f),*})? => { $($(Field::rename_here($t, rename);)*)? $($(Field::rename_here($f, rename);)*)? })*
                }
            }

            /// The bodies inside.
            pub fn bodies(&self) -> SmallVec<[&Body; 2]> {
                let mut out = SmallVec::new();
                match self {
                    $(Op::$Op $(($($t),*))? $({$($f),*})? => { $($(out.extend($t.body());)*)? $($(out.extend($f.body());)*)? })*
                }
                out
            }

            /// The bodies inside.
            pub fn bodies_mut(&mut self) -> SmallVec<[&mut Body; 2]> {
                let mut out = SmallVec::new();
                match self {
                    $(Op::$Op $(($($t),*))? $({$($f),*})? => { $($(out.extend($t.body_mut());)*)? $($(out.extend($f.body_mut());)*)? })*
                }
                out
            }

            /// The same, its bodies empty: a copy that is as small as the operation itself.
            pub fn without_bodies(&self) -> Op {
                match self {
                    $(Op::$Op $(($($t),*))? $({$($f),*})? => {
                        Op::$Op $(($($t.bare()),*))? $({$($f: $f.bare()),*})?
                    })*
                }
            }
        }
    };
}
with_graph_ops!(define_ops);

impl Op {
    /// The name in exports.
    pub fn name(&self) -> &'static str {
        match self {
            Op::SizeOp(op, ..) => op.name(),
            Op::Prim(op, _) => op.name(),
            Op::Softmax { log: true, .. } => "log_softmax",
            _ => self.kind(),
        }
    }
}
