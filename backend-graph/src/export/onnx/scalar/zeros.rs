//! Choices between floats, their signs, and what is added to them, so that -0 stays itself: runtimes are careless about it.

use crate::export::onnx::stored::stored;
use crate::export::onnx::writer::{Name, Writer};
use acc_core::data::{Prim, ScalarType as T};

impl Writer {
    /// One of two values. There is no `Where` of booleans, and that of onnxruntime 1.32 makes 0 of a first float that is -0.
    pub(in crate::export::onnx) fn select(&mut self, cond: &Name, x: &Name, y: &Name, ty: T) -> Name {
        if ty == T::Bool {
            let then = self.op2("And", cond, x);
            let not = self.op1("Not", cond);
            let else_ = self.op2("And", &not, y);
            return self.op2("Or", &then, &else_);
        }
        let chosen = self.either(cond, x, y);
        if !ty.is_float() {
            return chosen;
        }
        match (self.minus_zeros(x, ty), self.minus_zeros(y, ty)) {
            (None, None) => chosen,
            (then, else_) => {
                let never = self.truth(false);
                let minus = self.select(cond, &then.unwrap_or(never.clone()), &else_.unwrap_or(never), T::Bool);
                // Which zeros that are chosen are still -0 depends on the runtime: none is, first.
                let zero = self.float(0.0, ty);
                let zeros = self.op2("Equal", &chosen, &zero);
                let plain = self.either(&zeros, &zero, &chosen);
                self.negated_where(&minus, &plain, ty)
            }
        }
    }

    /// A float literal.
    pub(in crate::export::onnx) fn float(&mut self, x: f64, ty: T) -> Name {
        if ty == T::F64 { self.double(x) } else { self.literal((x as f32).lit()) }
    }

    /// Where floats are -0; `None` if they are a constant that is not.
    fn minus_zeros(&mut self, x: &Name, ty: T) -> Option<Name> {
        if self.constant_float(x, stored(ty)).is_some_and(|x| x != 0.0 || x.is_sign_positive()) {
            return None;
        }
        let zero = self.float(0.0, ty);
        let (zeros, negative) = (self.op2("Equal", x, &zero), self.is_negative(x, ty));
        Some(self.op2("And", &zeros, &negative))
    }

    /// Whether floats have the sign of negative numbers, zeros included: the reciprocal of a zero is an infinity.
    pub(in crate::export::onnx) fn is_negative(&mut self, x: &Name, ty: T) -> Name {
        let (zero, one) = (self.float(0.0, ty), self.float(1.0, ty));
        let reciprocal = self.op2("Div", &one, x);
        let (of_zero, of_other) = (self.op2("Less", &reciprocal, &zero), self.op2("Less", x, &zero));
        self.op2("Or", &of_zero, &of_other)
    }

    /// Floats with the other sign where a mask holds. A product keeps the sign of a zero.
    fn negated_where(&mut self, mask: &Name, x: &Name, ty: T) -> Name {
        let (one, minus) = (self.float(1.0, ty), self.float(-1.0, ty));
        let sign = self.either(mask, &minus, &one);
        self.op2("Mul", x, &sign)
    }

    /// What is not negative with the sign of another float.
    pub(in crate::export::onnx) fn with_sign(&mut self, size: &Name, of: &Name, ty: T) -> Name {
        let negative = self.is_negative(of, ty);
        self.negated_where(&negative, size, ty)
    }

    /// A sum of floats. The optimiser of onnxruntime drops what adds 0, which makes 0 of -0: it is a choice here, in which no
    /// zero keeps its sign.
    pub(in crate::export::onnx) fn sum(&mut self, a: &Name, b: &Name, ty: T) -> Name {
        for (x, added) in [(a, b), (b, a)] {
            match self.constant_float(added, stored(ty)) {
                Some(0.0) if self.is_minus_zero(added, ty) => return x.clone(),
                Some(0.0) => {
                    let zeros = self.op2("Equal", x, added);
                    return self.either(&zeros, added, x);
                }
                Some(_) | None => {}
            }
        }
        self.op2("Add", a, b)
    }

    pub(in crate::export::onnx) fn is_minus_zero(&self, x: &Name, ty: T) -> bool {
        self.constant_float(x, stored(ty)).is_some_and(|x| x == 0.0 && x.is_sign_negative())
    }

    /// One of two values that are no booleans, and not -0.
    pub(in crate::export::onnx) fn either(&mut self, cond: &Name, x: &Name, y: &Name) -> Name {
        self.node("Where", &[cond, x, y], Vec::new())
    }
}
