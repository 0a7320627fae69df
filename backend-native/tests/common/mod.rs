//! Runs program texts on the native backend and on the interpreter.
#![allow(dead_code, reason = "each test file uses a part")]

use acc_core::data::{ArrayData, Column, ColumnSlice, EltType, Lit, Prim, ScalarType};
use acc_core::interp::Interpreter;
use acc_core::ir::Program;
use acc_core::prelude::f16;
use acc_core::{Error, Executor, RunLimits, text};
use backend_native::Native;
use std::sync::Arc;

pub fn parse(text: &str) -> Arc<Program> {
    let p = text::parse("test.acc", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    acc_core::verify::verify(&p, None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Arc::new(p)
}

/// Pseudo-random bits, the same in every run.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A scalar: small numbers, with some extreme ones.
pub fn scalar(ty: ScalarType, r: &mut Rng) -> Lit {
    let bits = r.next();
    let small = (bits >> 8) % 17;
    let special = bits.is_multiple_of(16);
    let pick = (bits >> 4) % 5;
    match ty {
        ScalarType::F32 if special => [f32::NAN, -0.0, f32::INFINITY, f32::MIN_POSITIVE, -1e30][pick as usize].lit(),
        ScalarType::F64 if special => [f64::NAN, -0.0, f64::NEG_INFINITY, 1e300, -5e-324][pick as usize].lit(),
        ScalarType::F16 if special => {
            [f16::NAN, f16::NEG_ZERO, f16::INFINITY, f16::MIN_POSITIVE, f16::MIN][pick as usize].lit()
        }
        ScalarType::F16 => f16::from_f64(small as f64 / 2.0 - 4.0).lit(),
        ScalarType::F32 => (small as f32 - 8.0).lit(),
        ScalarType::F64 => (small as f64 / 2.0 - 4.0).lit(),
        ScalarType::Bool => (small.is_multiple_of(2)).lit(),
        ScalarType::Char => char::from_u32(small as u32 + 60).unwrap().lit(),
        _ => {
            let v = if special { bits as i64 } else { small as i64 - 8 };
            macro_rules! int {
                ($($V:ident $t:ty),*) => { match ty { $(ScalarType::$V => (if special && pick == 0 { <$t>::MIN } else { v as $t }).lit(),)* _ => unreachable!() } };
            }
            int!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
        }
    }
}

pub fn array(shape: &[usize], elt: &EltType, r: &mut Rng) -> ArrayData {
    let n: usize = shape.iter().product();
    let columns: Vec<Column> =
        elt.leaves().iter().map(|&ty| Column::from_lits(ty, (0..n).map(|_| scalar(ty, r)))).collect();
    ArrayData::new(shape.iter().copied(), elt.clone(), columns).unwrap()
}

/// An array of the given type, from the lowest bits of numbers.
pub fn numbers(ty: ScalarType, shape: &[usize], xs: &[i128]) -> ArrayData {
    macro_rules! column {
        ($($V:ident $t:ty),*) => {
            match ty {
                $(ScalarType::$V => Column::from_vec(xs.iter().map(|&x| x as $t).collect::<Vec<$t>>()),)*
                _ => unreachable!("no integers"),
            }
        };
    }
    let column = column!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64);
    ArrayData::new(shape.iter().copied(), ty.into(), [column]).unwrap()
}

pub fn ints(xs: &[i64]) -> ArrayData {
    ArrayData::from_leaves([xs.len()], ScalarType::I64.into(), xs.iter().map(|x| [x.lit()])).unwrap()
}

pub fn int(x: i64) -> ArrayData {
    ArrayData::from_leaves([], ScalarType::I64.into(), [[x.lit()]]).unwrap()
}

pub fn native(program: &Arc<Program>, args: &[ArrayData]) -> Result<Vec<ArrayData>, Error> {
    Native::compiled().run_untyped(program, args, &RunLimits::none())
}

pub fn reference(program: &Arc<Program>, args: &[ArrayData]) -> Result<Vec<ArrayData>, Error> {
    Interpreter::new().run_untyped(program, args, &RunLimits::none())
}

/// Equal bits, except the payload of a NaN, and with a tolerance the last digits and the sign of zero.
pub fn same(a: &ArrayData, b: &ArrayData, tolerance: f64) -> Result<(), String> {
    if a.shape() != b.shape() || a.elt() != b.elt() {
        return Err(format!("{:?} {} and {:?} {}", a.shape(), a.elt(), b.shape(), b.elt()));
    }
    for (ca, cb) in a.columns().iter().zip(b.columns()) {
        for k in 0..ca.len() {
            let ok = match (ca.slice(), cb.slice()) {
                (ColumnSlice::F16(x), ColumnSlice::F16(y)) => close(x[k].into(), y[k].into(), tolerance),
                (ColumnSlice::F32(x), ColumnSlice::F32(y)) => close(x[k].into(), y[k].into(), tolerance),
                (ColumnSlice::F64(x), ColumnSlice::F64(y)) => close(x[k], y[k], tolerance),
                (x, y) => x.get(k) == y.get(k),
            };
            if !ok {
                return Err(format!("element {k}: {:?} and {:?}", ca.slice().get(k), cb.slice().get(k)));
            }
        }
    }
    Ok(())
}

fn close(x: f64, y: f64, tolerance: f64) -> bool {
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    x.to_bits() == y.to_bits()
        || (tolerance > 0.0 && (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs())))
        || (tolerance > 0.0 && x == y)
}

/// Checks that the executors agree on a program's values or fault; the tile executor and machine code in every bit.
pub fn agree_within(text: &str, args: &[ArrayData], tolerance: f64) {
    let program = parse(text);
    let want = reference(&program, args);
    let tiles = Native::tiles().run_untyped(&program, args, &RunLimits::none());
    let compiled = native(&program, args);
    same_outcome(text, args, ("interpreter", &want), ("tiles", &tiles), tolerance);
    same_outcome(text, args, ("tiles", &tiles), ("machine code", &compiled), 0.0);
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

type Outcome = Result<Vec<ArrayData>, Error>;

/// Checks that two named executors have the same outcome: values or fault.
pub fn same_outcome(text: &str, args: &[ArrayData], want: (&str, &Outcome), got: (&str, &Outcome), tolerance: f64) {
    let shapes: Vec<_> = args.iter().map(|a| a.shape().to_vec()).collect();
    match (want.1, got.1) {
        (Ok(w), Ok(g)) => {
            assert_eq!(w.len(), g.len());
            for (w, g) in w.iter().zip(g) {
                if let Err(e) = same(w, g, tolerance) {
                    let ready = acc_core::exec::Ready::new(&Native::new(), &parse(text)).unwrap();
                    let explain = ready.prepared().explain().kernel_ir();
                    panic!("{e} ({}, {})\n{text}\narguments {shapes:?}\n{explain}", want.0, got.0);
                }
            }
        }
        (Err(Error::Fault { fault: f, op, loc }), Err(Error::Fault { fault: g, op: op2, loc: loc2 })) => {
            assert_eq!(
                (f, op, loc.line(), loc.col()),
                (g, op2, loc2.line(), loc2.col()),
                "{text}\narguments {shapes:?}"
            );
        }
        (w, g) => panic!("{} {w:?}\n{} {g:?}\n{text}\narguments {shapes:?}", want.0, got.0),
    }
}

pub fn agree(text: &str, args: &[ArrayData]) {
    agree_within(text, args, 0.0);
}

/// Runs a program on random arguments of the shapes given, one list of shapes per run.
pub fn agree_on(text: &str, shapes: &[&[&[usize]]]) {
    let program = parse(text);
    let mut r = Rng(0x1234_5678_9abc_def1);
    for shapes in shapes {
        let args: Vec<_> = program.param_types().zip(*shapes).map(|(t, s)| array(s, &t.elt, &mut r)).collect();
        agree(text, &args);
    }
}

/// Extents around all boundaries of tiles and chunks.
pub const LENGTHS: [usize; 10] = [0, 1, 2, 3, 31, 64, 1000, 1024, 1025, 2500];
