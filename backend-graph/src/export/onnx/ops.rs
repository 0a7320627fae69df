//! Tensor operations.

use super::Unsupported;
use super::body::Exporter;
use super::proto::DataType;
use super::stored::stored;
use super::writer::{Name, Writer, along, graph_attribute, int_attribute, ints_attribute, text_attribute};
use acc_core::data::{Lit, ScalarType as T};
use acc_core::ir::PrimOp;
use acc_desugar::graph::{Node, Op, ReduceOp, ScatterMode, SizeOp, Type, Value};

impl<'g> Exporter<'g> {
    /// Writes a node; the names of its results.
    pub(super) fn node(&mut self, node: &'g Node) -> Result<Vec<Name>, Unsupported> {
        let one = match &node.op {
            Op::If { cond, then, else_ } => return self.branch(*cond, then, else_),
            Op::While { init, test, step } => return self.whiles(init, test, step),
            Op::LaneLoop { on, space, init, captured, test, step, .. } => {
                return self.lanes(*on, space, init, captured, test, step);
            }
            Op::Sort { x, count, last } => {
                let (name, ty) = (self.value(*x)?, self.scalar(*x));
                let both = self.sorted(&name, ty);
                let Some(count) = count else { return Ok(both) };
                let count = self.value(*count)?;
                let start = if *last {
                    let n = self.w.extent(&name, -1);
                    self.w.op2("Sub", &n, &count)
                } else {
                    self.w.int(0)
                };
                let (axis, zeros) = (self.rank(*x) as i64 - 1, [ty, T::I64].map(Lit::zero));
                let cut = |(of, zero)| {
                    let zero = self.w.literal(zero);
                    self.w.range_of(of, axis, &start, &count, &zero)
                };
                return Ok(both.iter().zip(zeros).map(cut).collect());
            }
            Op::Fold { columns, combine } => return self.fold(columns, combine),
            Op::Scan { columns, combine } => return self.scan(columns, combine),
            Op::Checked { values, tokens, raise } => return self.checked(values, tokens, *raise),
            Op::Trace { values, .. } => return self.values(values),
            Op::Confine { mask, tokens, .. } => {
                self.values(tokens)?;
                self.value(*mask)?
            }
            Op::Fault { bad, space, .. } => {
                let x = self.value(*bad)?;
                let mut bad = match self.graph.ty(*bad) {
                    Type::Size => self.w.cast(&x, DataType::Bool),
                    Type::Tensor { .. } | Type::Token => self.w.any(&x),
                };
                // Where there is no point, nothing is evaluated.
                for len in self.values(space)? {
                    let zero = self.w.int(0);
                    let some = self.w.op2("Greater", &len, &zero);
                    bad = self.w.op2("And", &bad, &some);
                }
                self.fault(bad.clone());
                bad
            }
            op => self.simple(op)?,
        };
        Ok(vec![one])
    }

    fn simple(&mut self, op: &Op) -> Result<Name, Unsupported> {
        Ok(match op {
            Op::Size(n) => self.w.int(*n),
            Op::SizeOp(op, a, b) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                self.size_op(*op, &a, &b)?
            }
            Op::ReadBack(x) | Op::Argument(x) => {
                let (name, ty) = (self.value(*x)?, self.scalar(*x));
                self.w.convert(&name, stored(ty), DataType::Int64)
            }
            Op::Outside { base, steps, lens, extent } => self.outside(*base, steps, lens, *extent)?,
            Op::Extent(x, axis) => {
                let x = self.value(*x)?;
                self.w.extent(&x, i64::from(*axis))
            }
            Op::FromSize(n) => self.value(*n)?,
            Op::Const(l) => self.w.literal(*l),
            Op::Iota { len, start, step, ty } => {
                let [len, start, step] = [self.value(*len)?, self.value(*start)?, self.value(*step)?];
                let k = self.w.range(&len);
                let k = self.w.op2("Mul", &k, &step);
                let k = self.w.op2("Add", &k, &start);
                if *ty == T::I64 { k } else { self.w.converted(&k, T::I64, *ty) }
            }
            Op::Prim(p, args) => {
                let (names, ty) = (self.values(args)?, self.scalar(args[0]));
                self.w.prim(*p, ty, &names)?
            }
            Op::Cast(x, to) => {
                let (name, from) = (self.value(*x)?, self.scalar(*x));
                self.w.converted(&name, from, *to)
            }
            Op::Clip { x, low, high } => {
                let (name, low, high) = (self.value(*x)?, self.w.literal(*low), self.w.literal(*high));
                let above = self.w.prim(PrimOp::MaxP, self.scalar(*x), &[name, low])?;
                self.w.prim(PrimOp::MinP, self.scalar(*x), &[above, high])?
            }
            Op::Bitcast(x, to) => {
                let (name, from) = (self.value(*x)?, self.scalar(*x));
                self.w.same_bits(&name, from, *to)
            }
            Op::Where(c, a, b) => {
                let [c, x, y] = [self.value(*c)?, self.value(*a)?, self.value(*b)?];
                self.w.select(&c, &x, &y, self.scalar(*a))
            }
            Op::Clamp(at, extent) => {
                let (at, n) = (self.value(*at)?, self.value(*extent)?);
                self.clamped(&at, &n)
            }
            Op::InBounds { at, extent, .. } => {
                let (at, n) = (self.value(*at)?, self.value(*extent)?);
                let zero = self.w.int(0);
                let (low, high) = (self.w.op2("Less", &at, &zero), self.w.op2("GreaterOrEqual", &at, &n));
                let bad = self.w.op2("Or", &low, &high);
                let bad = self.w.any(&bad);
                self.fault(bad);
                self.clamped(&at, &n)
            }
            Op::Divisor(y) => {
                let (name, ty) = (self.value(*y)?, self.scalar(*y));
                let (zero, one) = (self.w.literal(Lit::zero(ty)), self.w.literal(Lit::one(ty)));
                let none = self.w.op2("Equal", &name, &zero);
                let bad = self.w.any(&none);
                self.fault(bad);
                self.w.node("Where", &[&none, &one, &name], Vec::new())
            }
            Op::Reshape(x, shape) => {
                let (name, shape) = (self.value(*x)?, self.shape(shape)?);
                self.shaped(&shape, self.scalar(*x), |w| {
                    w.node("Reshape", &[&name, &shape], vec![int_attribute("allowzero", 1)])
                })
            }
            Op::Broadcast(x, shape) => {
                let (name, shape) = (self.value(*x)?, self.shape(shape)?);
                self.shaped(&shape, self.scalar(*x), |w| w.op2("Expand", &name, &shape))
            }
            Op::Transpose(x, axes) => {
                let x = self.value(*x)?;
                let axes = axes.iter().map(|a| i64::from(*a)).collect();
                self.w.node("Transpose", &[&x], vec![ints_attribute("perm", axes)])
            }
            Op::InsertAxes(x, axes) => {
                let x = self.value(*x)?;
                let axes: Vec<i64> = axes.iter().map(|a| i64::from(*a)).collect();
                if axes.is_empty() {
                    return Ok(x);
                }
                let axes = self.w.ints(&axes);
                self.w.op2("Unsqueeze", &x, &axes)
            }
            Op::Slice { x, axis, start, len, step } => {
                let [start, len] = [self.value(*start)?, self.value(*len)?];
                self.slice(*x, i64::from(*axis), &start, &len, i64::from(*step))?
            }
            Op::Select { x, axis, at } => {
                let (at, one) = (self.value(*at)?, self.w.int(1));
                let y = self.slice(*x, i64::from(*axis), &at, &one, 1)?;
                let axes = self.w.ints(&[i64::from(*axis)]);
                self.w.op2("Squeeze", &y, &axes)
            }
            Op::Flip(x, axis) => {
                let x = self.value(*x)?;
                let (start, end) = (self.w.ints(&[-1]), self.w.ints(&[i64::MIN]));
                let (axes, step) = (self.w.ints(&[i64::from(*axis)]), self.w.ints(&[-1]));
                self.w.node("Slice", &[&x, &start, &end, &axes, &step], Vec::new())
            }
            Op::Pool { .. } => self.pooled(op)?,
            Op::Unfold { .. } | Op::Take { .. } | Op::Contract { .. } | Op::Convolve { .. } => self.windows(op)?,
            Op::Gather(x, at) => {
                let (name, at, ty) = (self.value(*x)?, self.value(*at)?, self.scalar(*x));
                self.gathered(&name, &at, ty)
            }
            Op::Pad { x, widths, mode } => {
                let mut name = self.value(*x)?;
                for (axis, width) in widths.iter().enumerate().filter(|(_, w)| **w > 0) {
                    name = self.w.padded(&name, axis as i64, i64::from(*width), *mode);
                }
                name
            }
            Op::Scatter { base, at, values, mode } => {
                let ty = self.scalar(*base);
                let names = self.values(&[*base, *at, *values])?;
                self.scatter(&names, *mode, ty)
            }
            Op::Concat(xs, axis) => {
                let xs = self.values(xs)?;
                let xs: Vec<&Name> = xs.iter().collect();
                self.w.node("Concat", &xs, along(i64::from(*axis)))
            }
            Op::Nonzero(x) => {
                let (x, zero) = (self.value(*x)?, self.w.ints(&[0]));
                let at = self.w.op1("NonZero", &x);
                self.w.op2("Squeeze", &at, &zero)
            }
            Op::Reduce(k, x) => {
                let (name, ty, rank) = (self.value(*x)?, self.scalar(*x), self.rank(*x));
                self.reduced(*k, &name, ty, rank)?
            }
            Op::ArgExtreme(k, x) => {
                let (name, ty) = (self.value(*x)?, self.scalar(*x));
                self.arg_extreme(*k, &name, ty)
            }
            Op::Softmax { x, axis, log } => {
                let x = self.value(*x)?;
                self.w.node(if *log { "LogSoftmax" } else { "Softmax" }, &[&x], along(i64::from(*axis)))
            }
            Op::Normalize { x, axes, epsilon, scale, shift } => {
                let x = self.value(*x)?;
                let axes = self.w.ints(&axes.iter().map(|a| i64::from(*a)).collect::<Vec<_>>());
                let mean = self.w.node("ReduceMean", &[&x, &axes], Vec::new());
                let less = self.w.op2("Sub", &x, &mean);
                let squares = self.w.op2("Mul", &less, &less);
                let variance = self.w.node("ReduceMean", &[&squares, &axes], Vec::new());
                let epsilon = self.w.literal(*epsilon);
                let sum = self.w.op2("Add", &variance, &epsilon);
                let root = self.w.op1("Sqrt", &sum);
                let mut y = self.w.op2("Div", &less, &root);
                for (op, by) in [("Mul", scale), ("Add", shift)] {
                    if let Some(by) = by {
                        let by = self.value(*by)?;
                        y = self.w.op2(op, &y, &by);
                    }
                }
                y
            }
            Op::Cumulative(k, x) => {
                let (name, ty, rank) = (self.value(*x)?, self.scalar(*x), self.rank(*x));
                self.cumulative(*k, &name, ty, rank)?
            }
            Op::Exclusive(k, x) => {
                let (name, ty, rank) = (self.value(*x)?, self.scalar(*x), self.rank(*x));
                let scanned = self.cumulative(*k, &name, ty, rank)?;
                let neutral = self.w.literal(k.neutral(ty));
                self.w.with_one_before(&scanned, rank, &neutral)
            }
            Op::AnyLane(x) => {
                let x = self.value(*x)?;
                self.w.any(&x)
            }
            // Graphs whose faults are exact have scans instead.
            Op::SegmentReduce { .. }
            | Op::SegmentScan { .. }
            | Op::If { .. }
            | Op::While { .. }
            | Op::LaneLoop { .. }
            | Op::Sort { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Fault { .. }
            | Op::Checked { .. }
            | Op::Trace { .. }
            | Op::Confine { .. } => return Err(Unsupported { what: op.name().to_string() }),
        })
    }

    fn size_op(&mut self, op: SizeOp, a: &Name, b: &Name) -> Result<Name, Unsupported> {
        let w = &mut self.w;
        Ok(match op {
            SizeOp::Add => w.op2("Add", a, b),
            SizeOp::Sub => w.op2("Sub", a, b),
            SizeOp::Mul => w.op2("Mul", a, b),
            SizeOp::Min => w.lesser(a, b),
            SizeOp::Max => w.greater(a, b),
            SizeOp::Count => {
                // Doubles show whether the product is too large for 64 bits.
                let (product, x, y) = (w.op2("Mul", a, b), w.cast(a, DataType::Double), w.cast(b, DataType::Double));
                let (wide, bound) = (w.op2("Mul", &x, &y), w.double(2f64.powi(63)));
                let (over, most) = (w.op2("GreaterOrEqual", &wide, &bound), w.int(i64::MAX));
                w.node("Where", &[&over, &most, &product], Vec::new())
            }
            SizeOp::Quot => self.divided(PrimOp::QuotP, a, b)?,
            SizeOp::Rem => self.divided(PrimOp::RemP, a, b)?,
            SizeOp::Div => self.divided(PrimOp::DivFloorP, a, b)?,
            SizeOp::Mod => self.divided(PrimOp::ModFloorP, a, b)?,
            SizeOp::Eq => {
                let y = w.op2("Equal", a, b);
                w.cast(&y, DataType::Int64)
            }
            SizeOp::Lt => {
                let y = w.op2("Less", a, b);
                w.cast(&y, DataType::Int64)
            }
        })
    }

    /// A quotient or remainder of sizes; by 0 it is 0.
    fn divided(&mut self, p: PrimOp, a: &Name, b: &Name) -> Result<Name, Unsupported> {
        let (zero, one) = (self.w.int(0), self.w.int(1));
        let none = self.w.op2("Equal", b, &zero);
        let divisor = self.w.node("Where", &[&none, &one, b], Vec::new());
        let y = self.w.prim(p, T::I64, &[a.clone(), divisor])?;
        Ok(self.w.node("Where", &[&none, &zero, &y], Vec::new()))
    }

    fn outside(&mut self, base: Value, steps: &[Value], lens: &[Value], extent: Value) -> Result<Name, Unsupported> {
        // In doubles, which do not wrap, and are exact as far as memory reaches.
        let [base, extent] = [self.value(base)?, self.value(extent)?].map(|n| self.w.cast(&n, DataType::Double));
        let (zero, one, none) = (self.w.double(0.0), self.w.double(1.0), self.w.truth(false));
        let (mut low, mut high, mut empty) = (base.clone(), base, none);
        for (step, len) in steps.iter().zip(lens) {
            let [step, len] = [self.value(*step)?, self.value(*len)?].map(|n| self.w.cast(&n, DataType::Double));
            let no = self.w.op2("LessOrEqual", &len, &zero);
            empty = self.w.op2("Or", &empty, &no);
            let last = self.w.op2("Sub", &len, &one);
            let far = self.w.op2("Mul", &step, &last);
            let (down, up) = (self.w.op2("Min", &far, &zero), self.w.op2("Max", &far, &zero));
            low = self.w.op2("Add", &low, &down);
            high = self.w.op2("Add", &high, &up);
        }
        let (under, over) = (self.w.op2("Less", &low, &zero), self.w.op2("GreaterOrEqual", &high, &extent));
        let out = self.w.op2("Or", &under, &over);
        let some = self.w.op1("Not", &empty);
        let out = self.w.op2("And", &out, &some);
        Ok(self.w.cast(&out, DataType::Int64))
    }

    /// The nearest position; without any, one that differs.
    fn clamped(&mut self, at: &Name, n: &Name) -> Name {
        let (zero, one) = (self.w.int(0), self.w.int(1));
        let last = self.w.op2("Sub", n, &one);
        let y = self.w.lesser(at, &last);
        let y = self.w.greater(&y, &zero);
        let (some, other) = (self.w.op2("Greater", n, &zero), self.w.op1("BitwiseNot", at));
        self.w.node("Where", &[&some, &y, &other], Vec::new())
    }

    fn gathered(&mut self, x: &Name, at: &Name, ty: T) -> Name {
        let zero = self.w.literal(Lit::zero(ty));
        self.w.looked_up(x, at, &zero)
    }

    /// A tensor of a shape that fits what it is made of unless there was a fault; then zeros.
    fn shaped(&mut self, shape: &Name, ty: T, make: impl FnOnce(&mut Writer) -> Name) -> Name {
        let Some(fault) = self.fault_before() else { return make(&mut self.w) };
        self.w.open();
        let zero = self.w.literal(Lit::zero(ty));
        let zeros = self.w.op2("Expand", &zero, shape);
        let then = self.w.close(Vec::new(), &[zeros]);
        self.w.open();
        let made = make(&mut self.w);
        let else_ = self.w.close(Vec::new(), &[made]);
        let bodies = vec![graph_attribute("then_branch", then), graph_attribute("else_branch", else_)];
        self.w.node("If", &[&fault], bodies)
    }

    /// Positions of an axis, zeros where there are none.
    pub(super) fn slice(
        &mut self,
        x: Value,
        axis: i64,
        start: &Name,
        len: &Name,
        step: i64,
    ) -> Result<Name, Unsupported> {
        let (ty, name) = (self.scalar(x), self.value(x)?);
        let around = self.w.literal(Lit::zero(ty));
        if step == 1 {
            return Ok(self.w.range_of(&name, axis, start, len, &around));
        }
        let (one, stride, at) = (self.w.int(1), self.w.int(step), self.w.ints(&[axis]));
        let steps = self.w.op2("Sub", len, &one);
        let far = self.w.op2("Mul", &steps, &stride);
        let all = self.w.op2("Add", &far, &one);
        let all = self.w.range_of(&name, axis, start, &all, &around);
        let [from, to, by] = [0, i64::MAX, step].map(|k| self.w.ints(&[k]));
        Ok(self.w.node("Slice", &[&all, &from, &to, &at, &by], Vec::new()))
    }

    fn scatter(&mut self, of: &[Name], mode: ScatterMode, ty: T) -> Name {
        let [base, at, values] = of else { return of[0].clone() };
        let reduction = match mode {
            ScatterMode::Bits(k) => return self.scattered_bits([base, at, values], k, ty),
            ScatterMode::Last => "none",
            ScatterMode::Combine(ReduceOp::Sum) => "add",
            ScatterMode::Combine(ReduceOp::Product) => "mul",
            ScatterMode::Combine(ReduceOp::Min | ReduceOp::All) => "min",
            ScatterMode::Combine(ReduceOp::Max | ReduceOp::Any) => "max",
        };
        let booleans = ty == T::Bool;
        let shifted = ty == T::U64 && matches!(mode, ScatterMode::Combine(ReduceOp::Min | ReduceOp::Max));
        let least = self.w.int(i64::MIN);
        let mut enter = |x: &Name| match (booleans, shifted) {
            (true, _) => self.w.cast(x, DataType::Int64),
            (_, true) => self.w.op2("Add", x, &least),
            (false, false) => x.clone(),
        };
        let (base, values) = (enter(base), enter(values));
        let attributes = vec![int_attribute("axis", 0), text_attribute("reduction", reduction)];
        let y = self.w.node("ScatterElements", &[&base, at, &values], attributes);
        match (booleans, shifted) {
            (true, _) => self.w.cast(&y, DataType::Bool),
            (_, true) => self.w.op2("Add", &y, &least),
            (false, false) => self.w.wrapped(&y, ty),
        }
    }

    fn checked(&mut self, values: &[Value], tokens: &[Value], raise: bool) -> Result<Vec<Name>, Unsupported> {
        self.values(tokens)?;
        let names = self.values(values)?;
        if !raise {
            return Ok(names);
        }
        // The run would end here. What goes on must not ask for much memory.
        let (fault, zero) = (self.faulted(), self.w.int(0));
        let safe = names.into_iter().zip(values).map(|(x, v)| match self.graph.ty(*v) {
            Type::Size => self.w.node("Where", &[&fault, &zero, &x], Vec::new()),
            Type::Tensor { .. } | Type::Token => x,
        });
        Ok(safe.collect())
    }
}
