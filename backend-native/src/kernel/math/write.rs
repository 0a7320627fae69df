//! Writing floating-point code as nodes of a body.

use crate::kernel::{Body, KernelOp, Node, Op, Region};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{Loc, PrimOp, Val};
use smallvec::smallvec;
use std::collections::HashMap;
use std::sync::Arc;

/// The values of a body that is being rewritten.
pub(in crate::kernel) struct Values {
    pub types: Vec<ScalarType>,
    pub uniform: Vec<bool>,
    pub consts: Vec<(Val, Lit)>,
    known: HashMap<Lit, Val>,
}

impl Values {
    pub(in crate::kernel) fn of(body: &Body) -> Values {
        Values {
            types: body.types.clone(),
            uniform: body.uniform.clone(),
            consts: body.consts.clone(),
            known: body.consts.iter().map(|&(v, l)| (l, v)).collect(),
        }
    }

    pub(in crate::kernel) fn fresh(&mut self, ty: ScalarType, uniform: bool) -> Val {
        self.types.push(ty);
        self.uniform.push(uniform);
        Val(self.types.len() as u32 - 1)
    }

    pub(in crate::kernel) fn constant(&mut self, l: Lit) -> Val {
        if let Some(&v) = self.known.get(&l) {
            return v;
        }
        let v = self.fresh(l.ty, true);
        self.known.insert(l, v);
        self.consts.push((v, l));
        v
    }

    /// The body with these values.
    pub(in crate::kernel) fn into_body(self, region: Region, relaxed: bool) -> Body {
        let Values { types, uniform, consts, known: _ } = self;
        Body { types, uniform, consts, relaxed, region }
    }
}

/// Writes code in one floating-point type, `f32` or `f64`; `ints` are the integers of its width.
pub(super) struct Writer<'a> {
    pub values: &'a mut Values,
    pub nodes: Vec<Node>,
    pub loc: Loc,
    /// Whether what is written is the same for all points.
    pub uniform: bool,
    /// The type that floats are computed in.
    pub float: ScalarType,
}

impl Writer<'_> {
    pub(super) fn is_double(&self) -> bool {
        self.float == ScalarType::F64
    }

    fn ints(&self) -> ScalarType {
        if self.is_double() { ScalarType::I64 } else { ScalarType::I32 }
    }

    pub(super) fn ty(&self, v: Val) -> ScalarType {
        self.values.types[v.index()]
    }

    fn emit(&mut self, op: Op, ty: ScalarType) -> Val {
        let v = self.values.fresh(ty, self.uniform);
        self.nodes.push(Node { results: smallvec![v], op, loc: self.loc.clone() });
        v
    }

    /// A float constant, rounded to the type.
    pub(super) fn c(&mut self, x: f64) -> Val {
        let l = if self.is_double() { x.lit() } else { (x as f32).lit() };
        self.values.constant(l)
    }

    /// An integer constant of the type's width.
    pub(super) fn i(&mut self, x: i64) -> Val {
        let l = if self.is_double() { x.lit() } else { (x as i32).lit() };
        self.values.constant(l)
    }

    /// A `u64` constant.
    pub(super) fn u(&mut self, x: u64) -> Val {
        self.values.constant(x.lit())
    }

    pub(super) fn unary(&mut self, p: PrimOp, a: Val) -> Val {
        let ty = p.result_type(self.ty(a));
        self.emit(Op::Prim(p, smallvec![a]), ty)
    }

    pub(super) fn binary(&mut self, p: PrimOp, a: Val, b: Val) -> Val {
        let ty = p.result_type(self.ty(a));
        self.emit(Op::Prim(p, smallvec![a, b]), ty)
    }

    pub(super) fn add(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::AddP, a, b)
    }

    pub(super) fn sub(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::SubP, a, b)
    }

    pub(super) fn mul(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::MulP, a, b)
    }

    pub(super) fn div(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::DivP, a, b)
    }

    pub(super) fn neg(&mut self, a: Val) -> Val {
        self.unary(PrimOp::NegP, a)
    }

    pub(super) fn abs(&mut self, a: Val) -> Val {
        self.unary(PrimOp::AbsP, a)
    }

    pub(super) fn sqrt(&mut self, a: Val) -> Val {
        self.unary(PrimOp::SqrtP, a)
    }

    pub(super) fn lt(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::LtP, a, b)
    }

    pub(super) fn eq(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::EqP, a, b)
    }

    pub(super) fn and(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::AndP, a, b)
    }

    pub(super) fn or(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::OrP, a, b)
    }

    pub(super) fn xor(&mut self, a: Val, b: Val) -> Val {
        self.binary(PrimOp::XorP, a, b)
    }

    pub(super) fn not(&mut self, a: Val) -> Val {
        self.unary(PrimOp::NotP, a)
    }

    /// `a * b + c`, rounded once.
    pub(super) fn fma(&mut self, a: Val, b: Val, c: Val) -> Val {
        let ty = self.ty(a);
        self.emit(Op::Own(KernelOp::Fma(a, b, c)), ty)
    }

    /// `a * b + c` with a constant `c`.
    pub(super) fn fma_c(&mut self, a: Val, b: Val, c: f64) -> Val {
        let c = self.c(c);
        self.fma(a, b, c)
    }

    pub(super) fn add_c(&mut self, a: Val, c: f64) -> Val {
        let c = self.c(c);
        self.add(a, c)
    }

    pub(super) fn mul_c(&mut self, a: Val, c: f64) -> Val {
        let c = self.c(c);
        self.mul(a, c)
    }

    pub(super) fn lt_c(&mut self, a: Val, c: f64) -> Val {
        let c = self.c(c);
        self.lt(a, c)
    }

    pub(super) fn select(&mut self, cond: Val, then: Val, else_: Val) -> Val {
        let ty = self.ty(then);
        self.emit(Op::Select { cond, then, else_ }, ty)
    }

    pub(super) fn cast(&mut self, a: Val, ty: ScalarType) -> Val {
        self.emit(Op::Cast(a), ty)
    }

    pub(super) fn bitcast(&mut self, a: Val, ty: ScalarType) -> Val {
        self.emit(Op::Bitcast(a), ty)
    }

    /// The bits of a float as a signed integer of its width.
    pub(super) fn bits(&mut self, a: Val) -> Val {
        let ints = self.ints();
        self.bitcast(a, ints)
    }

    /// The float of these bits.
    pub(super) fn float_of(&mut self, a: Val) -> Val {
        let float = self.float;
        self.bitcast(a, float)
    }

    /// A word of a table of constants; the index, an `i64`, is within it.
    pub(super) fn table(&mut self, words: &Arc<[u64]>, index: Val) -> Val {
        self.emit(Op::Own(KernelOp::Table { words: words.clone(), index }), ScalarType::U64)
    }

    /// `c[0] + x * (c[1] + x * (c[2] + ...))`
    pub(super) fn poly(&mut self, x: Val, coefficients: &[f64]) -> Val {
        let mut rest = coefficients.iter().rev();
        let mut sum = self.c(rest.next().copied().unwrap_or(0.0));
        for &c in rest {
            sum = self.fma_c(sum, x, c);
        }
        sum
    }

    /// That added to the exponent of a float.
    fn bias(&self) -> i64 {
        if self.is_double() { 1023 } else { 127 }
    }

    /// The power of two whose exponent, the bias in it, is this integer.
    fn power_of_two(&mut self, biased: Val) -> Val {
        let digits = self.i(if self.is_double() { 52 } else { 23 });
        let bits = self.binary(PrimOp::ShlP, biased, digits);
        self.float_of(bits)
    }

    /// `x * 2^n` for an integer `n`, also where the power is no normal number, but its root is.
    pub(super) fn scale(&mut self, x: Val, n: Val) -> Val {
        let both = self.i(2 * self.bias());
        let biased = self.add(n, both);
        self.scale_biased(x, biased)
    }

    /// What [`KernelOp::Scale`] stands for: `n` is a float.
    pub(super) fn scale_written_out(&mut self, x: Val, n: Val) -> Val {
        let magic = self.magic();
        let shifted = self.add_c(n, magic);
        let biased = self.unshifted(shifted, 2 * self.bias());
        self.scale_biased(x, biased)
    }

    /// Two powers, each with its bias, multiply `x`.
    fn scale_biased(&mut self, x: Val, biased: Val) -> Val {
        let one = self.i(1);
        let half = self.binary(PrimOp::ShrP, biased, one);
        let rest = self.sub(biased, half);
        let (a, b) = (self.power_of_two(half), self.power_of_two(rest));
        let y = self.mul(x, a);
        self.mul(y, b)
    }

    /// `x * 2^n` for a float `n`, as [`KernelOp::Scale`] has it.
    pub(super) fn scale_float(&mut self, x: Val, n: Val) -> Val {
        let ty = self.ty(x);
        self.emit(Op::Own(KernelOp::Scale(x, n)), ty)
    }

    /// The float that leaves no bits for fractions when it is added: the last bits of the sum are those of an integer.
    fn magic(&self) -> f64 {
        if self.is_double() { 6_755_399_441_055_744.0 } else { 12_582_912.0 }
    }

    /// The integer nearest to `x * by`, less than 2^22 (2^51 of `f64`), as a float.
    pub(super) fn nearest(&mut self, x: Val, by: f64) -> Val {
        self.nearest_shifted(x, by).0
    }

    /// The same, and as an integer.
    pub(super) fn nearest_integer(&mut self, x: Val, by: f64) -> (Val, Val) {
        let (float, shifted) = self.nearest_shifted(x, by);
        (float, self.unshifted(shifted, 0))
    }

    fn nearest_shifted(&mut self, x: Val, by: f64) -> (Val, Val) {
        let magic = self.magic();
        let (by, magic) = (self.c(by), self.c(magic));
        let shifted = self.fma(x, by, magic);
        (self.sub(shifted, magic), shifted)
    }

    /// The integer, and `more`, of which this is the float, shifted.
    fn unshifted(&mut self, shifted: Val, more: i64) -> Val {
        let magic =
            if self.is_double() { self.magic().to_bits() as i64 } else { i64::from((self.magic() as f32).to_bits()) };
        let (bits, magic) = (self.bits(shifted), self.i(magic - more));
        self.sub(bits, magic)
    }

    /// The sign bit of a float.
    pub(super) fn sign(&mut self, x: Val) -> Val {
        let bits = self.bits(x);
        let mask = self.i(if self.is_double() { i64::MIN } else { i64::from(i32::MIN) });
        self.and(bits, mask)
    }

    /// A float with the bits of `sign` inverted in it.
    pub(super) fn with_sign(&mut self, x: Val, sign: Val) -> Val {
        let bits = self.bits(x);
        let bits = self.xor(bits, sign);
        self.float_of(bits)
    }

    /// A conditional whose first side hardly any point takes. Both sides yield values of the same types.
    pub(super) fn unlikely(
        &mut self,
        cond: Val,
        then: impl FnOnce(&mut Self) -> Vec<Val>,
        else_: impl FnOnce(&mut Self) -> Vec<Val>,
    ) -> Vec<Val> {
        let cond = self.emit(Op::Own(KernelOp::Unlikely(cond)), ScalarType::Bool);
        let outer = std::mem::take(&mut self.nodes);
        let uniform = std::mem::replace(&mut self.uniform, false);
        let results = then(self);
        let then = Region { params: Vec::new(), nodes: std::mem::take(&mut self.nodes), results };
        let results = else_(self);
        let else_ = Region { params: Vec::new(), nodes: std::mem::replace(&mut self.nodes, outer), results };
        self.uniform = uniform;
        let types: Vec<ScalarType> = then.results.iter().map(|&v| self.ty(v)).collect();
        let results: Vec<Val> = types.into_iter().map(|ty| self.values.fresh(ty, self.uniform)).collect();
        let op = Op::If { cond, then, else_ };
        self.nodes.push(Node { results: results.iter().copied().collect(), op, loc: self.loc.clone() });
        results
    }

    /// While `test` holds of a value, it becomes what `step` yields.
    pub(super) fn repeat(
        &mut self,
        init: Val,
        test: impl FnOnce(&mut Self, Val) -> Val,
        step: impl FnOnce(&mut Self, Val) -> Val,
    ) -> Val {
        let ty = self.ty(init);
        let outer = std::mem::take(&mut self.nodes);
        // Values of regions are not uniform, but what they yield may be.
        let uniform = std::mem::replace(&mut self.uniform, false);
        let x = self.values.fresh(ty, self.uniform);
        let results = vec![test(self, x)];
        let test = Region { params: vec![x], nodes: std::mem::take(&mut self.nodes), results };
        let x = self.values.fresh(ty, self.uniform);
        let results = vec![step(self, x)];
        let step = Region { params: vec![x], nodes: std::mem::replace(&mut self.nodes, outer), results };
        self.uniform = uniform;
        self.emit(Op::While { init: smallvec![init], test, step }, ty)
    }

    /// Writes code in another floating-point type.
    pub(super) fn in_type<T>(&mut self, float: ScalarType, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.float, float);
        let result = write(self);
        self.float = outer;
        result
    }

    /// The smallest normal number.
    pub(super) fn min_normal(&mut self) -> Val {
        let x = if self.is_double() { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        self.c(x)
    }

    pub(super) fn nan(&mut self) -> Val {
        self.c(f64::NAN)
    }
}
