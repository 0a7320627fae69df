//! Operations of StableHLO as text, and the tensors that they yield.
//!
//! Extents are numbers. Element-wise operations take operands that broadcast as those of graphs do: of rank 0, or with
//! extents of 1 that repeat.

use super::Stop;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::Loc;
use acc_desugar::graph::Value;
use smallvec::SmallVec;
use std::fmt::{self, Write};

pub(super) type Result<T = Tensor> = std::result::Result<T, Stop>;

/// Extents.
pub(super) type Shape = SmallVec<[i64; 4]>;

/// A value of the module: the results of one operation have one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name {
    number: u32,
    result: Option<u32>,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.result {
            Some(k) => write!(f, "%{}#{k}", self.number),
            None => write!(f, "%{}", self.number),
        }
    }
}

/// A tensor of the module.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub name: Name,
    pub shape: Shape,
    pub ty: ScalarType,
    /// Of rank 0, what it is, where the module is specialised to that.
    pub number: Option<i64>,
    /// Of rank 0, the value of the graph that the host looks at to know it.
    pub root: Option<Value>,
}

impl Tensor {
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn elements(&self) -> i64 {
        self.shape.iter().product()
    }

    /// The extent of an axis.
    pub fn extent(&self, axis: usize) -> i64 {
        self.shape.get(axis).copied().unwrap_or(1)
    }

    /// The extent of the innermost axis.
    pub fn columns(&self) -> i64 {
        self.shape.last().copied().unwrap_or(1)
    }

    pub fn form(&self) -> Form {
        Form { shape: self.shape.clone(), ty: self.ty }
    }
}

/// What a tensor is, without its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    pub shape: Shape,
    pub ty: ScalarType,
}

impl Form {
    pub fn scalar(ty: ScalarType) -> Form {
        Form { shape: Shape::new(), ty }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", tensor_type(&self.shape, self.ty))
    }
}

/// The most bytes of a tensor. XLA ends the process where a product of extents does not fit its integers.
const MAX_TENSOR_BYTES: i64 = 1 << 47;

/// A shape that XLA has room for.
pub(super) fn checked(shape: Shape) -> Result<Shape> {
    let bytes = shape.iter().fold(8i64, |product, n| product.saturating_mul((*n).max(1)));
    if bytes <= MAX_TENSOR_BYTES { Ok(shape) } else { Err(Stop::TooLarge(shape.to_vec())) }
}

fn scalar_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "i1",
        ScalarType::I8 => "i8",
        ScalarType::I16 => "i16",
        ScalarType::I32 => "i32",
        ScalarType::I64 => "i64",
        ScalarType::U8 => "ui8",
        ScalarType::U16 => "ui16",
        ScalarType::U32 | ScalarType::Char => "ui32",
        ScalarType::U64 => "ui64",
        ScalarType::F16 => "f16",
        ScalarType::F32 => "f32",
        ScalarType::F64 => "f64",
    }
}

pub(super) fn tensor_type(shape: &[i64], ty: ScalarType) -> String {
    let mut out = String::from("tensor<");
    for n in shape {
        let _ = write!(out, "{n}x");
    }
    out + scalar_type(ty) + ">"
}

/// A scalar between the brackets of `dense`; floats by their bits.
fn dense(l: Lit) -> String {
    match l.ty {
        ScalarType::Bool => (l.bits != 0).to_string(),
        ScalarType::F16 => format!("0x{:04X}", l.bits),
        ScalarType::F32 => format!("0x{:08X}", l.bits),
        ScalarType::F64 => format!("0x{:016X}", l.bits),
        ScalarType::I8 => (l.bits as i8).to_string(),
        ScalarType::I16 => (l.bits as i16).to_string(),
        ScalarType::I32 => (l.bits as i32).to_string(),
        ScalarType::I64 => (l.bits as i64).to_string(),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 | ScalarType::Char => l.bits.to_string(),
    }
}

/// Numbers between brackets.
pub(super) fn list<T: fmt::Display>(numbers: impl IntoIterator<Item = T>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    format!("[{}]", numbers.join(", "))
}

/// Numbers as an attribute.
pub(super) fn array_attribute(numbers: &[i64]) -> String {
    if numbers.is_empty() {
        return "array<i64>".to_string();
    }
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("array<i64: {}>", numbers.join(", "))
}

/// The name of an operation, and what it has beside operands.
pub(super) struct Operation<'a> {
    pub name: &'a str,
    pub attributes: String,
}

impl Operation<'_> {
    pub(super) fn plain(name: &str) -> Operation<'_> {
        Operation { name, attributes: String::new() }
    }
}

/// The text of regions, innermost last.
pub(super) struct Writer {
    regions: Vec<String>,
    names: u32,
    /// The last comment.
    noted: String,
}

/// The depth of the function's own region.
pub(super) const OUTERMOST: usize = 1;

impl Writer {
    pub fn new() -> Writer {
        Writer { regions: vec![String::new()], names: 0, noted: String::new() }
    }

    // ---- regions

    /// How many regions are open.
    pub fn depth(&self) -> usize {
        self.regions.len()
    }

    /// Opens a region with parameters.
    pub fn open(&mut self, params: &[Form]) -> Vec<Tensor> {
        let params: Vec<Tensor> = params.iter().map(|p| self.fresh(p)).collect();
        let mut text = String::new();
        if !params.is_empty() {
            let typed: Vec<String> = params.iter().map(|p| format!("{}: {}", p.name, p.form())).collect();
            let _ = writeln!(text, "^bb0({}):", typed.join(", "));
        }
        self.regions.push(text);
        params
    }

    /// Takes the text of the innermost region, to go on with it by [`Writer::resume`].
    pub fn suspend(&mut self) -> String {
        self.regions.pop().unwrap_or_default()
    }

    pub fn resume(&mut self, text: String) {
        self.regions.push(text);
    }

    /// Drops regions down to a depth.
    pub fn abandon(&mut self, depth: usize) {
        self.regions.truncate(depth);
    }

    /// Closes the innermost region, which yields these.
    pub fn close(&mut self, results: &[Tensor]) -> String {
        let (names, types) = (names(results), types(results));
        self.line(format!("\"stablehlo.return\"({names}) : ({types}) -> ()"));
        let mut text = self.suspend();
        text.insert_str(0, "{\n");
        text.push('}');
        text
    }

    /// The function's text, which yields these.
    pub fn finish(&mut self, results: &[Tensor]) -> String {
        let (names, types) = (names(results), types(results));
        self.line(format!("return {names} : {types}"));
        self.suspend()
    }

    fn line(&mut self, text: String) {
        if let Some(region) = self.regions.last_mut() {
            region.push_str(&text);
            region.push('\n');
        }
    }

    /// Notes where what follows comes from.
    pub fn note(&mut self, combinator: &str, loc: &Loc) {
        let note = format!("// {combinator} at {loc}").replace('\n', " ");
        if self.noted != note {
            self.line(note.clone());
            self.noted = note;
        }
    }

    /// A tensor that is not defined yet.
    pub fn fresh(&mut self, form: &Form) -> Tensor {
        let name = Name { number: self.names, result: None };
        self.names += 1;
        Tensor { name, shape: form.shape.clone(), ty: form.ty, number: None, root: None }
    }

    // ---- operations

    /// `%n = text`.
    pub fn define(&mut self, text: &str, shape: Shape, ty: ScalarType) -> Result {
        let y = self.fresh(&Form { shape: checked(shape)?, ty });
        self.line(format!("{} = {text}", y.name));
        Ok(y)
    }

    /// An operation in its general form, with regions.
    pub fn general(
        &mut self,
        operation: &Operation<'_>,
        operands: &[Tensor],
        regions: &[String],
        results: &[Form],
    ) -> Result<Vec<Tensor>> {
        for r in results {
            checked(r.shape.clone())?;
        }
        let (names, ins) = (names(operands), types(operands));
        let number = self.names;
        self.names += 1;
        let count = if results.len() == 1 { String::new() } else { format!(":{}", results.len()) };
        let left = if results.is_empty() { String::new() } else { format!("%{number}{count} = ") };
        let attributes = &operation.attributes;
        let attributes = if attributes.is_empty() { String::new() } else { format!(" <{{{attributes}}}>") };
        let regions = if regions.is_empty() { String::new() } else { format!(" ({})", regions.join(", ")) };
        let outs: Vec<String> = results.iter().map(Form::to_string).collect();
        self.line(format!(
            "{left}\"stablehlo.{}\"({names}){attributes}{regions} : ({ins}) -> ({})",
            operation.name,
            outs.join(", ")
        ));
        let many = results.len() > 1;
        let result = |(k, r): (usize, &Form)| {
            let name = Name { number, result: many.then_some(k as u32) };
            Tensor { name, shape: r.shape.clone(), ty: r.ty, number: None, root: None }
        };
        Ok(results.iter().enumerate().map(result).collect())
    }

    /// The same with one result.
    pub fn general1(
        &mut self,
        operation: &Operation<'_>,
        operands: &[Tensor],
        regions: &[String],
        result: Form,
    ) -> Result {
        let all = self.general(operation, operands, regions, &[result])?;
        all.into_iter().next().ok_or(Stop::Defect("an operation without results"))
    }

    pub fn unary(&mut self, op: &str, x: &Tensor) -> Result {
        self.define(&format!("stablehlo.{op} {} : {}", x.name, x.form()), x.shape.clone(), x.ty)
    }

    /// An operation whose result has another type or shape.
    pub fn reformed(&mut self, op: &str, x: &Tensor, form: Form) -> Result {
        let text = format!("stablehlo.{op} {} : ({}) -> {form}", x.name, x.form());
        self.define(&text, form.shape, form.ty)
    }

    pub fn binary(&mut self, op: &str, x: &Tensor, y: &Tensor) -> Result {
        let (x, y) = self.both(x, y)?;
        self.define(&format!("stablehlo.{op} {}, {} : {}", x.name, y.name, x.form()), x.shape.clone(), x.ty)
    }

    /// `EQ`, `NE`, `LT`, `LE`, `GT` or `GE`.
    pub fn compare(&mut self, direction: &str, x: &Tensor, y: &Tensor) -> Result {
        let (x, y) = self.both(x, y)?;
        let kind = match x.ty {
            t if t.is_float() => "FLOAT",
            t if t.is_signed() => "SIGNED",
            _ => "UNSIGNED",
        };
        let result = Form { shape: x.shape.clone(), ty: ScalarType::Bool };
        let text = format!(
            "stablehlo.compare {direction}, {}, {}, {kind} : ({}, {}) -> {result}",
            x.name,
            y.name,
            x.form(),
            y.form()
        );
        self.define(&text, result.shape, result.ty)
    }

    pub fn select(&mut self, cond: &Tensor, then: &Tensor, other: &Tensor) -> Result {
        let shape = joined(&[&cond.shape, &then.shape, &other.shape])?;
        let (c, t) = (self.spread(cond, &shape)?, self.spread(then, &shape)?);
        let e = self.spread(other, &shape)?;
        let text = format!("stablehlo.select {}, {}, {} : {}, {}", c.name, t.name, e.name, c.form(), t.form());
        self.define(&text, shape, then.ty)
    }

    pub fn not(&mut self, x: &Tensor) -> Result {
        self.unary("not", x)
    }

    // ---- constants

    /// A tensor that holds one scalar everywhere.
    pub fn filled(&mut self, l: Lit, shape: &[i64]) -> Result {
        let text = format!("stablehlo.constant dense<{}> : {}", dense(l), tensor_type(shape, l.ty));
        let mut y = self.define(&text, shape.into(), l.ty)?;
        if shape.is_empty() && matches!(l.ty, ScalarType::I64 | ScalarType::Bool) {
            y.number = Some(l.bits as i64);
        }
        Ok(y)
    }

    pub fn scalar(&mut self, l: Lit) -> Result {
        self.filled(l, &[])
    }

    pub fn int(&mut self, n: i64) -> Result {
        self.scalar(n.lit())
    }

    pub fn truth(&mut self, b: bool) -> Result {
        self.scalar(b.lit())
    }

    /// A scalar as small integers are in every type.
    pub fn small(&mut self, n: u8, ty: ScalarType) -> Result {
        self.scalar(small(n, ty))
    }

    pub fn zeros(&mut self, ty: ScalarType, shape: &[i64]) -> Result {
        self.filled(Lit::zero(ty), shape)
    }

    /// A vector of numbers.
    pub fn ints(&mut self, numbers: &[i64]) -> Result {
        if numbers.is_empty() {
            return self.zeros(ScalarType::I64, &[0]);
        }
        let shape = Shape::from_slice(&[numbers.len() as i64]);
        let text = format!("stablehlo.constant dense<{}> : {}", list(numbers), tensor_type(&shape, ScalarType::I64));
        self.define(&text, shape, ScalarType::I64)
    }

    /// The positions along an axis, in `i64`.
    pub fn iota(&mut self, shape: &[i64], axis: usize) -> Result {
        let text = format!("stablehlo.iota dim = {axis} : {}", tensor_type(shape, ScalarType::I64));
        self.define(&text, shape.into(), ScalarType::I64)
    }

    // ---- shapes

    /// A tensor that broadcasts to this shape, as one of it.
    pub fn spread(&mut self, x: &Tensor, shape: &[i64]) -> Result {
        if x.shape.as_slice() == shape {
            return Ok(x.clone());
        }
        let fits = x.rank() == shape.len() && x.shape.iter().zip(shape).all(|(d, n)| *d == 1 || d == n);
        if x.rank() != 0 && !fits {
            return Err(Stop::Shapes);
        }
        let form = Form { shape: shape.into(), ty: x.ty };
        let text =
            format!("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {form}", x.name, list(0..x.rank()), x.form());
        self.define(&text, form.shape, x.ty)
    }

    fn both(&mut self, x: &Tensor, y: &Tensor) -> Result<(Tensor, Tensor)> {
        let shape = joined(&[&x.shape, &y.shape])?;
        Ok((self.spread(x, &shape)?, self.spread(y, &shape)?))
    }

    pub fn convert(&mut self, x: &Tensor, ty: ScalarType) -> Result {
        if x.ty == ty {
            return Ok(x.clone());
        }
        self.reformed("convert", x, Form { shape: x.shape.clone(), ty })
    }

    pub fn reshape(&mut self, x: &Tensor, shape: &[i64]) -> Result {
        if x.shape.as_slice() == shape {
            return Ok(x.clone());
        }
        self.reformed("reshape", x, Form { shape: shape.into(), ty: x.ty })
    }

    pub fn transpose(&mut self, x: &Tensor, axes: &[usize]) -> Result {
        if axes.iter().copied().eq(0..x.rank()) {
            return Ok(x.clone());
        }
        let shape: Shape = axes.iter().map(|a| x.extent(*a)).collect();
        let form = Form { shape, ty: x.ty };
        let text = format!("stablehlo.transpose {}, dims = {} : ({}) -> {form}", x.name, list(axes), x.form());
        self.define(&text, form.shape, x.ty)
    }

    pub fn reverse(&mut self, x: &Tensor, axis: usize) -> Result {
        let text = format!("stablehlo.reverse {}, dims = [{axis}] : {}", x.name, x.form());
        self.define(&text, x.shape.clone(), x.ty)
    }

    /// Every `step`-th position of an axis from `start` to before `end`.
    pub fn slice(&mut self, x: &Tensor, axis: usize, [start, end, step]: [i64; 3]) -> Result {
        let mut shape = x.shape.clone();
        let mut parts = Vec::new();
        for (k, n) in shape.iter_mut().enumerate() {
            if k == axis {
                parts.push(format!("{start}:{end}:{step}"));
                *n = (end - start + step - 1).max(0) / step;
            } else {
                parts.push(format!("0:{n}:1"));
            }
        }
        if shape == x.shape && step == 1 {
            return Ok(x.clone());
        }
        let form = Form { shape, ty: x.ty };
        let text = format!("stablehlo.slice {} {} : ({}) -> {form}", x.name, list(parts), x.form());
        self.define(&text, form.shape, x.ty)
    }

    pub fn concat(&mut self, xs: &[Tensor], axis: usize) -> Result {
        let first = xs.first().ok_or(Stop::Defect("a concatenation of nothing"))?;
        let xs: Vec<Tensor> = xs.iter().filter(|x| x.extent(axis) > 0).cloned().collect();
        if let [] | [_] = xs[..] {
            return Ok(xs.into_iter().next().unwrap_or_else(|| first.clone()));
        }
        let mut shape = first.shape.clone();
        if let Some(n) = shape.get_mut(axis) {
            *n = xs.iter().map(|x| x.extent(axis)).sum();
        }
        let form = Form { shape, ty: first.ty };
        let text = format!("stablehlo.concatenate {}, dim = {axis} : ({}) -> {form}", names(&xs), types(&xs));
        self.define(&text, form.shape, form.ty)
    }
}

/// A small number of a type.
pub(super) fn small(n: u8, ty: ScalarType) -> Lit {
    match ty {
        ScalarType::F16 => half_of(n),
        ScalarType::F32 => f32::from(n).lit(),
        ScalarType::F64 => f64::from(n).lit(),
        _ => Lit { ty, bits: u64::from(n) },
    }
}

fn half_of(n: u8) -> Lit {
    acc_core::data::nearest_f16(f64::from(n)).lit()
}

/// The shape that shapes broadcast to.
pub(super) fn joined(shapes: &[&[i64]]) -> Result<Shape> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = Shape::from_elem(1, rank);
    for shape in shapes.iter().filter(|s| s.len() == rank) {
        for (o, n) in out.iter_mut().zip(*shape) {
            if *o == 1 {
                *o = *n;
            } else if *n != 1 && n != o {
                return Err(Stop::Shapes);
            }
        }
    }
    if shapes.iter().any(|s| s.len() != rank && !s.is_empty()) {
        return Err(Stop::Shapes);
    }
    Ok(out)
}

fn names(xs: &[Tensor]) -> String {
    xs.iter().map(|x| x.name.to_string()).collect::<Vec<_>>().join(", ")
}

fn types(xs: &[Tensor]) -> String {
    xs.iter().map(|x| x.form().to_string()).collect::<Vec<_>>().join(", ")
}
