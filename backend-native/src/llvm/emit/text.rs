//! The text of a function in LLVM's language: registers, blocks, types and constants.

use acc_core::data::{Lit, Prim, ScalarType};
use std::fmt::{Arguments, Display, Formatter, Result, Write};
use std::rc::Rc;

/// What an instruction takes: a register or a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Operand {
    Register(u32),
    /// A constant or a register with a name, as text.
    Text(Rc<str>),
}

impl Operand {
    pub(super) fn text(s: impl Into<Rc<str>>) -> Operand {
        Operand::Text(s.into())
    }

    pub(super) fn int(x: i64) -> Operand {
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

/// A block of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(u32);

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "%b{}", self.0)
    }
}

/// The instructions of a function, written in order.
pub(super) struct Writer {
    out: String,
    registers: u32,
    labels: u32,
    /// The block being written.
    pub block: Label,
}

impl Writer {
    /// A function that begins with a block of its own.
    pub(super) fn new() -> Writer {
        let mut w = Writer { out: String::new(), registers: 0, labels: 0, block: Label(0) };
        let first = w.label();
        w.start(first);
        w
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Writes an instruction that yields a value.
    pub(super) fn put(&mut self, rest: Arguments<'_>) -> Operand {
        let n = self.registers;
        self.registers += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "  %v{n} = {rest}");
        Operand::Register(n)
    }

    /// Writes an instruction that yields nothing.
    pub(super) fn line(&mut self, text: Arguments<'_>) {
        let _ = writeln!(self.out, "  {text}");
    }

    /// A block to be written later.
    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Begins a block.
    pub(super) fn start(&mut self, l: Label) {
        let _ = writeln!(self.out, "b{}:", l.0);
        self.block = l;
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.line(format_args!("br label {to}"));
    }

    pub(super) fn branch(&mut self, cond: &Operand, yes: Label, no: Label) {
        self.line(format_args!("br i1 {cond}, label {yes}, label {no}"));
    }

    /// A branch hardly ever taken to `yes`.
    pub(super) fn rare(&mut self, cond: &Operand, yes: Label, no: Label) {
        self.line(format_args!("br i1 {cond}, label {yes}, label {no}, !prof !3"));
    }

    /// A register for a phi whose other end is not written yet.
    pub(super) fn promise(&mut self) -> Operand {
        self.registers += 1;
        Operand::Register(self.registers - 1)
    }

    /// A place in the text, for phis that are written when their block has ended.
    pub(super) fn mark(&self) -> usize {
        self.out.len()
    }

    /// Inserts lines at a mark.
    pub(super) fn insert(&mut self, mark: usize, lines: &str) {
        self.out.insert_str(mark, lines);
    }
}

/// Writes an instruction of an [`Emitter`](super::Emitter), or of anything with a writer `w`.
macro_rules! put {
    ($e:expr, $($text:tt)*) => { $e.w.put(format_args!($($text)*)) };
}
pub(super) use put;

/// The type of a scalar in a register. f16 are held as bits, and widened by each operation.
pub(super) fn element(ty: ScalarType) -> &'static str {
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
pub(super) fn stored(ty: ScalarType) -> &'static str {
    if ty == ScalarType::Bool { "i8" } else { element(ty) }
}

/// A float constant as text: the bits of the double of its value.
pub(super) fn double_bits(x: f64) -> String {
    format!("0x{:016X}", x.to_bits())
}

/// A literal as text.
pub(super) fn literal(l: Lit) -> String {
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

/// The number that a float constant is, or each lane of it.
pub(super) fn number(o: &Operand) -> Option<f64> {
    let Operand::Text(text) = o else { return None };
    let digits = text.split_once("0x")?.1.get(..16)?;
    u64::from_str_radix(digits, 16).ok().map(f64::from_bits)
}
