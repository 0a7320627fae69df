//! Positions, extents and padding of tensors.

use super::proto::DataType;
use super::writer::{Name, Writer, along, int_attribute};
use acc_desugar::graph::PadMode;

impl Writer {
    /// Rank 0 as rank 1.
    pub(super) fn lifted(&mut self, x: &Name) -> Name {
        let zero = self.ints(&[0]);
        self.op2("Unsqueeze", x, &zero)
    }

    /// `0, 1, ..`.
    pub(super) fn range(&mut self, len: &Name) -> Name {
        let (zero, one) = (self.int(0), self.int(1));
        let len = self.greater(len, &zero);
        self.node("Range", &[&zero, &len, &one], Vec::new())
    }

    /// The extent of an axis.
    pub(super) fn extent(&mut self, x: &Name, axis: i64) -> Name {
        let (shape, at) = (self.op1("Shape", x), self.int(axis));
        self.op2("Gather", &shape, &at)
    }

    /// `len` positions of an axis from `start` on, `around` where there are none.
    pub(super) fn range_of(&mut self, x: &Name, axis: i64, start: &Name, len: &Name, around: &Name) -> Name {
        let (zero, n, at) = (self.int(0), self.extent(x, axis), self.ints(&[axis]));
        let len = self.greater(len, &zero);
        let end = self.op2("Add", start, &len);
        let inside = |w: &mut Writer, k: &Name| {
            let k = w.greater(k, &zero);
            w.lesser(&k, &n)
        };
        let (first, last) = (inside(self, start), inside(self, &end));
        let (from, to) = (self.lifted(&first), self.lifted(&last));
        let there = self.node("Slice", &[x, &from, &to, &at], Vec::new());
        let (before, count) = (self.op2("Sub", &first, start), self.op2("Sub", &last, &first));
        let before = self.lesser(&before, &len);
        let before = self.greater(&before, &zero);
        let after = self.op2("Sub", &len, &count);
        let after = self.op2("Sub", &after, &before);
        let (before, after) = (self.lifted(&before), self.lifted(&after));
        let widths = self.node("Concat", &[&before, &after], along(0));
        self.node("Pad", &[&there, &widths, around, &at], Vec::new())
    }

    /// A slice of these that goes beside a tensor along an axis.
    fn one_more(&mut self, x: &Name, axis: i64, rank: usize, what: &Name) -> Name {
        let shape = self.op1("Shape", x);
        let (at, one) = (self.ints(&[axis]), self.ints(&[1]));
        let shape = if rank == 1 { one } else { self.node("ScatterElements", &[&shape, &at, &one], along(0)) };
        self.op2("Expand", what, &shape)
    }

    /// A tensor with a slice of these more at the end of an axis.
    pub(super) fn with_one_more(&mut self, x: &Name, axis: i64, rank: usize, what: &Name) -> Name {
        let more = self.one_more(x, axis, rank, what);
        self.node("Concat", &[x, &more], along(axis))
    }

    /// Rows with one of these more before them.
    pub(super) fn with_one_before(&mut self, x: &Name, rank: usize, what: &Name) -> Name {
        let axis = rank as i64 - 1;
        let more = self.one_more(x, axis, rank, what);
        self.node("Concat", &[&more, x], along(axis))
    }

    /// The elements of a vector at positions; zero where there is none.
    pub(super) fn looked_up(&mut self, x: &Name, at: &Name, zero: &Name) -> Name {
        let n = self.extent(x, 0);
        let first = self.int(0);
        let (low, high) = (self.op2("GreaterOrEqual", at, &first), self.op2("Less", at, &n));
        let there = self.op2("And", &low, &high);
        let at = self.node("Where", &[&there, at, &n], Vec::new());
        let padded = self.with_one_more(x, 0, 1, zero);
        self.node("Gather", &[&padded, &at], along(0))
    }

    /// Places more at both ends of an axis, as reads at positions: `Pad` of onnxruntime 1.31 wraps no empty tensor.
    pub(super) fn padded(&mut self, x: &Name, axis: i64, width: i64, mode: PadMode) -> Name {
        let (n, zero, one, width) = (self.extent(x, axis), self.int(0), self.int(1), self.int(width));
        let some = self.lesser(&n, &one);
        let width = self.op2("Mul", &width, &some);
        let (both, last) = (self.op2("Add", &width, &width), self.op2("Sub", &n, &one));
        let len = self.op2("Add", &n, &both);
        let at = self.range(&len);
        let at = self.op2("Sub", &at, &width);
        let at = match mode {
            PadMode::Nearest => at,
            PadMode::Mirror => {
                let from_start = self.op1("Abs", &at);
                let from_end = self.op2("Sub", &last, &from_start);
                let from_end = self.op1("Abs", &from_end);
                self.op2("Sub", &last, &from_end)
            }
            PadMode::Wrap => {
                let n = self.greater(&n, &one);
                self.node("Mod", &[&at, &n], vec![int_attribute("fmod", 0)])
            }
        };
        let at = self.greater(&at, &zero);
        let at = self.lesser(&at, &last);
        self.node("Gather", &[x, &at], along(axis))
    }

    /// Whether any element is true, of any rank.
    pub(super) fn any(&mut self, x: &Name) -> Name {
        let (flat, none) = (self.ints(&[-1]), self.ints(&[0]));
        let x = self.cast(x, DataType::Int64);
        let x = self.op2("Reshape", &x, &flat);
        let x = self.node("Concat", &[&x, &none], along(0));
        let y = self.node("ReduceMax", &[&x], vec![int_attribute("keepdims", 0)]);
        self.cast(&y, DataType::Bool)
    }
}
