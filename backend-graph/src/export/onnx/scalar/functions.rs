//! Functions of doubles that runtimes have for single precision alone, from those that they have for doubles. Like those
//! of libraries they lose no digits near zeros, and do not overflow before their results do.

use crate::export::onnx::proto::DataType;
use crate::export::onnx::writer::{Name, Writer};
use acc_core::data::ScalarType;
use std::f64::consts::{FRAC_PI_2, LN_2};

/// From here on the square of a number is more than its double precision has digits for: one more changes nothing.
const SQUARE_IS_INEXACT_FROM: f64 = (1u64 << 28) as f64;
/// From here on the inverse of an exponential is nothing beside it.
const STEEP: f64 = 22.0;

impl Writer {
    fn plus(&mut self, x: &Name, y: f64) -> Name {
        let y = self.double(y);
        self.op2("Add", x, &y)
    }

    fn times(&mut self, x: &Name, y: f64) -> Name {
        let y = self.double(y);
        self.op2("Mul", x, &y)
    }

    fn over(&mut self, x: f64, y: &Name) -> Name {
        let x = self.double(x);
        self.op2("Div", &x, y)
    }

    fn exceeds(&mut self, x: &Name, bound: f64) -> Name {
        let bound = self.double(bound);
        self.op2("Greater", x, &bound)
    }

    /// An odd function from what it is of the magnitude.
    fn odd(&mut self, x: &Name, f: impl FnOnce(&mut Writer, &Name) -> Name) -> Name {
        let size = self.op1("Abs", x);
        let y = f(self, &size);
        self.with_sign(&y, x, ScalarType::F64)
    }

    /// `ln(1 + x)`, with all digits near 0: what rounding adds to `1 + x` is taken back by the quotient.
    fn ln_1p(&mut self, x: &Name) -> Name {
        let u = self.plus(x, 1.0);
        let rounded = self.plus(&u, -1.0);
        let (ln, quotient) = (self.op1("Log", &u), self.op2("Div", x, &rounded));
        let y = self.op2("Mul", &ln, &quotient);
        let (nought, infinity) = (self.double(0.0), self.double(f64::INFINITY));
        let (none, all) = (self.op2("Equal", &rounded, &nought), self.op2("Equal", x, &infinity));
        let as_it_is = self.op2("Or", &none, &all);
        self.node("Where", &[&as_it_is, x, &y], Vec::new())
    }

    /// `exp(x) - 1`, with all digits near 0, of what is not negative and less than [`STEEP`].
    fn exp_m1(&mut self, x: &Name) -> Name {
        let u = self.op1("Exp", x);
        let (less, ln) = (self.plus(&u, -1.0), self.op1("Log", &u));
        let quotient = self.op2("Div", x, &ln);
        let y = self.op2("Mul", &less, &quotient);
        let nought = self.double(0.0);
        let none = self.op2("Equal", &less, &nought);
        self.node("Where", &[&none, x, &y], Vec::new())
    }

    /// Half of `exp(x)`, which may be infinite where that is not.
    fn half_exp(&mut self, x: &Name) -> Name {
        let half = self.times(x, 0.5);
        let root = self.op1("Exp", &half);
        let half = self.times(&root, 0.5);
        self.op2("Mul", &half, &root)
    }

    pub(super) fn tan(&mut self, x: &Name) -> Name {
        let (sin, cos) = (self.op1("Sin", x), self.op1("Cos", x));
        self.op2("Div", &sin, &cos)
    }

    /// The angle in single precision, and one step of Newton's method: what is left of its tangent.
    pub(super) fn atan(&mut self, x: &Name) -> Name {
        self.odd(x, |w, x| {
            let (steep, inverse) = (w.exceeds(x, 1.0), w.over(1.0, x));
            let t = w.node("Where", &[&steep, &inverse, x], Vec::new());
            let near = w.cast(&t, DataType::Float);
            let near = w.op1("Atan", &near);
            let near = w.cast(&near, DataType::Double);
            let (sin, cos) = (w.op1("Sin", &near), w.op1("Cos", &near));
            let (rise, run) = (w.op2("Mul", &t, &cos), w.op2("Mul", &t, &sin));
            let (rise, run) = (w.op2("Sub", &rise, &sin), w.op2("Add", &cos, &run));
            let rest = w.op2("Div", &rise, &run);
            let angle = w.op2("Add", &near, &rest);
            let quarter = w.double(FRAC_PI_2);
            let other = w.op2("Sub", &quarter, &angle);
            w.node("Where", &[&steep, &other, &angle], Vec::new())
        })
    }

    /// Twice the angle of half of it.
    pub(super) fn asin(&mut self, x: &Name) -> Name {
        let minus = self.op1("Neg", x);
        let (below, above) = (self.plus(&minus, 1.0), self.plus(x, 1.0));
        let square = self.op2("Mul", &below, &above);
        let cos = self.op1("Sqrt", &square);
        let base = self.plus(&cos, 1.0);
        let half = self.op2("Div", x, &base);
        let half = self.atan(&half);
        self.times(&half, 2.0)
    }

    pub(super) fn acos(&mut self, x: &Name) -> Name {
        let minus = self.op1("Neg", x);
        let (below, above) = (self.plus(&minus, 1.0), self.plus(x, 1.0));
        let square = self.op2("Div", &below, &above);
        let half = self.op1("Sqrt", &square);
        let half = self.atan(&half);
        self.times(&half, 2.0)
    }

    pub(super) fn sinh(&mut self, x: &Name) -> Name {
        self.odd(x, |w, x| {
            let e = w.exp_m1(x);
            let more = w.plus(&e, 1.0);
            let inverse = w.op2("Div", &e, &more);
            let sum = w.op2("Add", &e, &inverse);
            let (near, far, steep) = (w.times(&sum, 0.5), w.half_exp(x), w.exceeds(x, STEEP));
            w.node("Where", &[&steep, &far, &near], Vec::new())
        })
    }

    pub(super) fn cosh(&mut self, x: &Name) -> Name {
        let x = self.op1("Abs", x);
        let e = self.op1("Exp", &x);
        let inverse = self.over(1.0, &e);
        let sum = self.op2("Add", &e, &inverse);
        let (near, far, steep) = (self.times(&sum, 0.5), self.half_exp(&x), self.exceeds(&x, STEEP));
        self.node("Where", &[&steep, &far, &near], Vec::new())
    }

    /// The logarithm of twice a number where that is [`SQUARE_IS_INEXACT_FROM`], else what is near.
    fn ln_of_double(&mut self, x: &Name, near: &Name) -> Name {
        let (ln, large) = (self.op1("Log", x), self.exceeds(x, SQUARE_IS_INEXACT_FROM));
        let far = self.plus(&ln, LN_2);
        self.node("Where", &[&large, &far, near], Vec::new())
    }

    pub(super) fn asinh(&mut self, x: &Name) -> Name {
        self.odd(x, |w, x| {
            let square = w.op2("Mul", x, x);
            let more = w.plus(&square, 1.0);
            let root = w.op1("Sqrt", &more);
            let base = w.plus(&root, 1.0);
            let rest = w.op2("Div", &square, &base);
            let sum = w.op2("Add", x, &rest);
            let near = w.ln_1p(&sum);
            w.ln_of_double(x, &near)
        })
    }

    pub(super) fn acosh(&mut self, x: &Name) -> Name {
        let (below, above) = (self.plus(x, -1.0), self.plus(x, 1.0));
        let square = self.op2("Mul", &below, &above);
        let root = self.op1("Sqrt", &square);
        let sum = self.op2("Add", &below, &root);
        let near = self.ln_1p(&sum);
        self.ln_of_double(x, &near)
    }

    pub(super) fn atanh(&mut self, x: &Name) -> Name {
        self.odd(x, |w, x| {
            let minus = w.op1("Neg", x);
            let (below, twice) = (w.plus(&minus, 1.0), w.times(x, 2.0));
            let quotient = w.op2("Div", &twice, &below);
            let ln = w.ln_1p(&quotient);
            w.times(&ln, 0.5)
        })
    }
}
