//! LLVM's language as text: registers, blocks, types and constants.

pub(crate) mod function;
pub(crate) mod value;
pub(crate) mod vector_code;

use acc_core::data::{Lit, Prim, ScalarType};
use std::fmt::{Arguments, Display, Formatter, Result, Write};
use std::rc::Rc;

/// An operand: a register or a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operand {
    Register(u32),
    /// A constant or a named register, as text.
    Text(Rc<str>),
}

impl Operand {
    pub(crate) fn text(s: impl Into<Rc<str>>) -> Operand {
        Operand::Text(s.into())
    }

    pub(crate) fn int(x: i64) -> Operand {
        Operand::text(x.to_string())
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Operand::Register(n) => write!(f, "%v{n}"),
            Operand::Text(s) => f.write_str(s),
        }
    }
}

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(u32);

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "%b{}", self.0)
    }
}

/// The instructions of a function, written in order.
pub(crate) struct Writer {
    out: String,
    registers: u32,
    labels: u32,
    /// The current block.
    pub block: Label,
}

impl Writer {
    /// A function with its first block.
    pub(crate) fn new() -> Writer {
        let mut w = Writer { out: String::new(), registers: 0, labels: 0, block: Label(0) };
        let first = w.label();
        w.start(first);
        w
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// Writes an instruction that yields a value.
    pub(crate) fn put(&mut self, rest: Arguments<'_>) -> Operand {
        let n = self.registers;
        self.registers += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "  %v{n} = {rest}");
        Operand::Register(n)
    }

    /// Writes an instruction that yields nothing.
    pub(crate) fn line(&mut self, text: Arguments<'_>) {
        let _ = writeln!(self.out, "  {text}");
    }

    /// A block to be written later.
    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Begins a block.
    pub(crate) fn start(&mut self, l: Label) {
        let _ = writeln!(self.out, "b{}:", l.0);
        self.block = l;
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.line(format_args!("br label {to}"));
    }

    pub(crate) fn branch(&mut self, cond: &Operand, yes: Label, no: Label) {
        self.line(format_args!("br i1 {cond}, label {yes}, label {no}"));
    }

    /// A branch that is hardly ever taken.
    pub(crate) fn unlikely_branch(&mut self, cond: &Operand, yes: Label, no: Label) {
        self.line(format_args!("br i1 {cond}, label {yes}, label {no}, !prof !3"));
    }

    /// Reserves a register for a phi that is written later.
    pub(crate) fn reserve_register(&mut self) -> Operand {
        self.registers += 1;
        Operand::Register(self.registers - 1)
    }

    /// The current position in the text, for phis that are inserted when their block has ended.
    pub(crate) fn position(&self) -> usize {
        self.out.len()
    }

    /// Inserts lines at a position.
    pub(crate) fn insert(&mut self, mark: usize, lines: &str) {
        self.out.insert_str(mark, lines);
    }
}

/// Writes an instruction of a [`Function`](function::Function), or of anything with a writer `w`.
macro_rules! put {
    ($e:expr, $($text:tt)*) => { $e.w.put(format_args!($($text)*)) };
}
pub(crate) use put;

/// The type of a scalar in a register. An f16 is held as bits, and widened by each operation.
pub(crate) fn element(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "i1",
        ScalarType::I8 | ScalarType::U8 => "i8",
        ScalarType::I16 | ScalarType::U16 | ScalarType::F16 => "i16",
        ScalarType::I32 | ScalarType::U32 | ScalarType::Char => "i32",
        ScalarType::I64 | ScalarType::U64 => "i64",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
    }
}

/// The type of a scalar in memory.
pub(crate) fn stored(ty: ScalarType) -> &'static str {
    if ty == ScalarType::Bool { "i8" } else { element(ty) }
}

/// A float constant as text: the bits of the double.
pub(crate) fn double_bits(x: f64) -> String {
    format!("0x{:016X}", x.to_bits())
}

/// A literal as text.
pub(crate) fn literal(l: Lit) -> String {
    match l.ty {
        ScalarType::Bool => (l.bits != 0).to_string(),
        ScalarType::F32 => double_bits(f64::from(f32::from_bits64(l.bits))),
        ScalarType::F64 => double_bits(f64::from_bits(l.bits)),
        ScalarType::I8 | ScalarType::U8 => (l.bits as i8).to_string(),
        ScalarType::I16 | ScalarType::U16 | ScalarType::F16 => (l.bits as i16).to_string(),
        ScalarType::I32 | ScalarType::U32 | ScalarType::Char => (l.bits as i32).to_string(),
        ScalarType::I64 | ScalarType::U64 => (l.bits as i64).to_string(),
    }
}

/// The value of a float constant, scalar or splat.
pub(crate) fn number(o: &Operand) -> Option<f64> {
    let Operand::Text(text) = o else { return None };
    let digits = text.split_once("0x")?.1.get(..16)?;
    u64::from_str_radix(digits, 16).ok().map(f64::from_bits)
}
