//! Rows along the innermost axis: sorted, reduced, searched.

use super::Unsupported;
use super::body::Exporter;
use super::proto::DataType;
use super::writer::{Name, Writer, along, int_attribute};
use acc_core::data::{Lit, ScalarType as T};
use acc_desugar::graph::ReduceOp;

impl Exporter<'_> {
    /// What is sorted along the innermost axis, and the positions it had.
    pub(super) fn sorted(&mut self, x: &Name, ty: T) -> Vec<Name> {
        let at = self.sorting(x, ty);
        vec![self.w.node("GatherElements", &[x, &at], along(-1)), at]
    }

    /// The positions that sort the innermost axis: stable, since equal elements stay in order.
    fn sorting(&mut self, x: &Name, ty: T) -> Name {
        let key = if ty.is_float() {
            let (nan, zero) = (self.w.op1("IsNaN", x), self.w.literal(Lit::zero(ty)));
            self.w.node("Where", &[&nan, &zero, x], Vec::new())
        } else {
            self.key(x, ty)
        };
        let at = self.top(&key, false, None);
        if !ty.is_float() {
            return at;
        }
        // Then the NaNs to the end.
        let nan = self.w.op1("IsNaN", x);
        let nan = self.w.cast(&nan, DataType::Int64);
        let nan = self.w.node("GatherElements", &[&nan, &at], along(-1));
        let last = self.top(&nan, false, None);
        self.w.node("GatherElements", &[&at, &last], along(-1))
    }

    /// Integers in the order of the values.
    pub(super) fn key(&mut self, x: &Name, ty: T) -> Name {
        match ty {
            T::Bool => self.w.cast(x, DataType::Int64),
            T::U64 => {
                let least = self.w.int(i64::MIN);
                self.w.op2("Add", x, &least)
            }
            _ => x.clone(),
        }
    }

    /// The positions of the least or greatest elements of rows, in order: all, or so many.
    pub(super) fn top(&mut self, x: &Name, largest: bool, count: Option<i64>) -> Name {
        let count = match count {
            Some(n) => self.w.ints(&[n]),
            None => {
                let n = self.w.extent(x, -1);
                self.w.lifted(&n)
            }
        };
        let (values, at) = (self.w.fresh(), self.w.fresh());
        let attributes = vec![int_attribute("axis", -1), int_attribute("largest", i64::from(largest))];
        self.w.node_into("TopK", &[x, &count], attributes, vec![values, at.clone()]);
        at
    }

    /// A reduction of the innermost axis.
    pub(super) fn reduced(&mut self, k: ReduceOp, x: &Name, ty: T, rank: usize) -> Result<Name, Unsupported> {
        let axis = rank as i64 - 1;
        let shape = self.w.op1("Shape", x);
        let (start, end) = (self.w.ints(&[0]), self.w.ints(&[axis]));
        let outer = self.w.node("Slice", &[&shape, &start, &end], Vec::new());
        // One neutral element more, so that no row is empty.
        let neutral = self.w.literal(k.neutral(ty));
        let x = self.w.with_one_more(x, axis, rank, &neutral);
        let last = self.w.ints(&[-1]);
        // Of no rows at all runtimes may keep the axis, which is why the shape is said.
        let reduce = |w: &mut Writer, op: &str, x: &Name| {
            let y = w.node(op, &[x, &last], vec![int_attribute("keepdims", 0)]);
            w.node("Reshape", &[&y, &outer], vec![int_attribute("allowzero", 1)])
        };
        Ok(match (k, ty) {
            (ReduceOp::All | ReduceOp::Any, _) | (_, T::Bool) => {
                let least = matches!(k, ReduceOp::All | ReduceOp::Min | ReduceOp::Product);
                let x = self.w.cast(&x, DataType::Int64);
                let y = reduce(&mut self.w, if least { "ReduceMin" } else { "ReduceMax" }, &x);
                self.w.cast(&y, DataType::Bool)
            }
            // Sums of 64 bits must wrap; runtimes may add them as floats, but for running sums.
            (ReduceOp::Sum, T::I64 | T::U64) => {
                let end = self.w.int(-1);
                let sums = self.w.op2("CumSum", &x, &end);
                self.w.node("Gather", &[&sums, &end], along(-1))
            }
            (ReduceOp::Sum, _) => {
                let y = reduce(&mut self.w, "ReduceSum", &x);
                self.w.wrapped(&y, ty)
            }
            // Products of integers must wrap at each step.
            (ReduceOp::Product, _) if !ty.is_float() => {
                let (products, end) = (self.cumulative(k, &x, ty, rank)?, self.w.int(-1));
                self.w.node("Gather", &[&products, &end], along(-1))
            }
            (ReduceOp::Product, _) => {
                let y = reduce(&mut self.w, "ReduceProd", &x);
                self.w.wrapped(&y, ty)
            }
            (ReduceOp::Min | ReduceOp::Max, _) => {
                let op = if k == ReduceOp::Min { "ReduceMin" } else { "ReduceMax" };
                if ty.is_float() {
                    let nan = self.w.op1("IsNaN", &x);
                    let nan = self.w.cast(&nan, DataType::Int64);
                    let nan = reduce(&mut self.w, "ReduceMax", &nan);
                    let nan = self.w.cast(&nan, DataType::Bool);
                    let (y, not) = (reduce(&mut self.w, op, &x), self.not_a_number(ty));
                    return Ok(self.w.node("Where", &[&nan, &not, &y], Vec::new()));
                }
                // `ReduceMin` and `ReduceMax` of onnxruntime 1.31 compare the low 32 bits of long rows.
                let key = self.key(&x, ty);
                let at = self.top(&key, k == ReduceOp::Max, Some(1));
                let y = self.w.node("GatherElements", &[&x, &at], along(-1));
                self.w.node("Reshape", &[&y, &outer], vec![int_attribute("allowzero", 1)])
            }
        })
    }

    pub(super) fn not_a_number(&mut self, ty: T) -> Name {
        let bits = match ty {
            T::F64 => f64::NAN.to_bits(),
            T::F32 => u64::from(f32::NAN.to_bits()),
            _ => 0x7e00,
        };
        self.w.literal(Lit { ty, bits })
    }

    pub(super) fn arg_extreme(&mut self, k: ReduceOp, x: &Name, ty: T) -> Name {
        let largest = k == ReduceOp::Max;
        let last = self.w.ints(&[-1]);
        if !ty.is_float() {
            let key = self.key(x, ty);
            let at = self.top(&key, largest, Some(1));
            return self.w.op2("Squeeze", &at, &last);
        }
        let (nan, zero) = (self.w.op1("IsNaN", x), self.w.literal(Lit::zero(ty)));
        let key = self.w.node("Where", &[&nan, &zero, x], Vec::new());
        let at = self.top(&key, largest, Some(1));
        let flags = self.w.cast(&nan, DataType::Int64);
        let first = self.top(&flags, true, Some(1));
        let there = self.w.node("GatherElements", &[&flags, &first], along(-1));
        let there = self.w.cast(&there, DataType::Bool);
        let at = self.w.node("Where", &[&there, &first, &at], Vec::new());
        self.w.op2("Squeeze", &at, &last)
    }
}
