//! The operations and their fields, in one table.

use super::field::{Field, Fields, Place, Read, Reader};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayType, PrimOp};
use acc_desugar::graph::{Body, FaultKind, Known, Op, PadMode, ScatterMode, SizeOp, Value, Values};
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;
use std::sync::Arc;

type Numbers = SmallVec<[u32; 4]>;
type Flags = SmallVec<[bool; 4]>;

/// What a node's objects hold, to be taken out by name.
pub(super) struct Given<'a> {
    pub(super) fields: [Map<String, Json>; 3],
    pub(super) reader: &'a mut Reader,
}

impl Given<'_> {
    fn take<T: Field>(&mut self, name: &str) -> Read<T> {
        let place = T::PLACE;
        let found = self.fields.get_mut(place as usize).and_then(|fields| fields.shift_remove(name));
        let json = found.ok_or_else(|| format!("`{name}` is missing among the {}", place.name()))?;
        T::read(&json, self.reader).map_err(|e| format!("`{name}`: {e}"))
    }
}

/// A field of an operation, for the schema.
pub(super) struct FieldSchema {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) schema: Json,
}

/// The name of a field in JSON: that in Rust, but for keywords.
fn plain(name: &'static str) -> &'static str {
    name.trim_end_matches('_')
}

macro_rules! operations {
    ($($name:literal $Variant:ident $(($($t:ident: $T:ty),*))? $({$($f:ident: $F:ty),*})?;)*) => {
        /// Writes the fields of an operation; its name.
        pub(super) fn write<'a>(op: &'a Op, out: &mut Fields<'a>) -> &'static str {
            match op {
                $(Op::$Variant $(($($t),*))? $({$($f),*})? => {
                    $($($t.write(plain(stringify!($t)), out);)*)?
                    $($($f.write(plain(stringify!($f)), out);)*)?
                    $name
                })*
            }
        }

        /// Reads the operation of this name.
        pub(super) fn read(name: &str, given: &mut Given<'_>) -> Read<Op> {
            Ok(match name {
                $($name => Op::$Variant
                    $(($(given.take::<$T>(plain(stringify!($t)))?),*))?
                    $({$($f: given.take::<$F>(plain(stringify!($f)))?),*})?,)*
                _ => return Err(format!("there is no operation `{name}`")),
            })
        }

        /// Every operation and its fields.
        pub(super) fn fields() -> Vec<(&'static str, Vec<FieldSchema>)> {
            vec![$(($name, vec![
                $($(FieldSchema { name: plain(stringify!($t)), place: <$T>::PLACE, schema: <$T>::schema() },)*)?
                $($(FieldSchema { name: plain(stringify!($f)), place: <$F>::PLACE, schema: <$F>::schema() },)*)?
            ])),*]
        }
    };
}

operations! {
    "size" Size(value: i64);
    "size_op" SizeOp(with: SizeOp, left: Value, right: Value);
    "read_back" ReadBack(x: Value);
    "argument" Argument(x: Value);
    "outside" Outside { base: Value, steps: Values, lens: Values, extent: Value };
    "extent" Extent(x: Value, axis: u32);
    "from_size" FromSize(size: Value);
    "const" Const(value: Lit);
    "iota" Iota { len: Value, start: Value, step: Value, ty: ScalarType };
    "prim" Prim(with: PrimOp, xs: Values);
    "cast" Cast(x: Value, to: ScalarType);
    "bitcast" Bitcast(x: Value, to: ScalarType);
    "clip" Clip { x: Value, low: Lit, high: Lit };
    "where" Where(cond: Value, then: Value, else_: Value);
    "clamp" Clamp(at: Value, extent: Value);
    "in_bounds" InBounds { at: Value, extent: Value, by_use: bool };
    "divisor" Divisor(x: Value);
    "reshape" Reshape(x: Value, shape: Values);
    "broadcast" Broadcast(x: Value, shape: Values);
    "transpose" Transpose(x: Value, axes: Numbers);
    "insert_axes" InsertAxes(x: Value, axes: Numbers);
    "slice" Slice { x: Value, axis: u32, start: Value, len: Value, step: u32 };
    "select" Select { x: Value, axis: u32, at: Value };
    "flip" Flip(x: Value, axis: u32);
    "unfold" Unfold { x: Value, start: Value, lens: Values, steps: Values };
    "gather" Gather(x: Value, at: Value);
    "pad" Pad { x: Value, widths: Numbers, mode: PadMode };
    "take" Take { x: Value, axis: u32, at: Value };
    "tensor_scatter" Scatter { base: Value, at: Value, values: Value, mode: ScatterMode };
    "concat" Concat(xs: Values, axis: u32);
    "sort" Sort(x: Value);
    "nonzero" Nonzero(x: Value);
    "reduce" Reduce(with: Known, x: Value);
    "segment_reduce" SegmentReduce { with: Known, x: Value, at: Option<Value>, offsets: Value, full: bool };
    "contract" Contract(left: Value, right: Value);
    "arg_extreme" ArgExtreme(with: Known, x: Value);
    "softmax" Softmax { x: Value, axis: u32, log: bool };
    "normalize" Normalize { x: Value, axes: Numbers, epsilon: Lit, scale: Option<Value>, shift: Option<Value> };
    "cumulative" Cumulative(with: Known, x: Value);
    "exclusive" Exclusive(with: Known, x: Value);
    "segment_scan" SegmentScan { with: Known, x: Value, starts: Value };
    "fold" Fold { columns: Values, combine: Body };
    "scan" Scan { columns: Values, combine: Body };
    "any_lane" AnyLane(x: Value);
    "if" If { cond: Value, then: Body, else_: Body };
    "while" While { init: Values, test: Body, step: Body };
    "lane_loop" LaneLoop { on: Value, space: Values, init: Values, captured: Values, kept: Flags, test: Body, step: Body };
    "fault" Fault { kind: FaultKind, bad: Value, space: Values, details: Vec<Value>, site: u32 };
    "checked" Checked { values: Values, tokens: Vec<Value>, raise: bool };
    "trace" Trace { message: Arc<str>, types: Vec<ArrayType>, shown: Values, values: Values };
    "confine" Confine { mask: Value, tokens: Vec<Value>, space: Values };
}
