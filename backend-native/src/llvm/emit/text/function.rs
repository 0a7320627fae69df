//! The LLVM function being written: its text, arguments, constants and stack buffers.

use super::value::Shape;
use super::{Label, Operand, Writer};
use crate::llvm::emit::loops::control::FUEL_PER_POLL;
use crate::llvm::emit::{Emitted, KernelArg};
use crate::llvm::{Target, c};
use acc_core::ir::ArrayId;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// A function, up to the instruction that is written next.
pub(crate) struct Function {
    pub w: Writer,
    pub target: Target,
    /// Where the function bails out.
    pub bail_out: Label,
    /// Where the function stops because the run reached a limit.
    pub stop: Label,
    pub prologue: Prologue,
    /// Constant tables of the module.
    tables: Vec<Arc<[u64]>>,
    /// The number of stack buffers.
    pub buffers: usize,
}

/// Text before the first block, and the registers that it defines.
#[derive(Default)]
pub(crate) struct Prologue {
    pub text: String,
    args: Vec<KernelArg>,
    arg_of: HashMap<KernelArg, Operand>,
    strides: HashMap<(ArrayId, usize, usize), Operand>,
    /// Multiples of the lane numbers of a part.
    pub constants: HashMap<(i64, usize), Operand>,
}

impl Function {
    pub(crate) fn new(target: Target) -> Function {
        let mut w = Writer::new();
        let (bail_out, stop) = (w.label(), w.label());
        Function { w, target, bail_out, stop, prologue: Prologue::default(), tables: Vec::new(), buffers: 0 }
    }

    /// An argument of the function, loaded once, at entry.
    pub(crate) fn arg(&mut self, arg: KernelArg) -> Operand {
        if let Some(known) = self.prologue.arg_of.get(&arg) {
            return known.clone();
        }
        let k = self.prologue.args.len();
        let ty = match arg {
            KernelArg::Poll
            | KernelArg::PollContext
            | KernelArg::Column(..)
            | KernelArg::Output(_)
            | KernelArg::Total(_)
            | KernelArg::RunTotals(_)
            | KernelArg::Progress => "ptr",
            KernelArg::Extent(_) | KernelArg::ArrayExtent(..) | KernelArg::Evaluated(_) | KernelArg::Scalar(..) => {
                "i64"
            }
            KernelArg::OutputStart
            | KernelArg::RangeStart
            | KernelArg::RangeEnd
            | KernelArg::PrefetchDistance
            | KernelArg::CarryIn(_)
            | KernelArg::HasCarryIn(_) => "i64",
            KernelArg::TargetExtent(_) | KernelArg::ReadableStart(_) | KernelArg::ReadableEnd(_) => "i64",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.prologue.text, "  %p{k} = getelementptr i64, ptr %args, i64 {k}");
        let _ = writeln!(self.prologue.text, "  %w{k} = load {ty}, ptr %p{k}, align 8");
        self.prologue.args.push(arg);
        let operand = Operand::text(format!("%w{k}"));
        self.prologue.arg_of.insert(arg, operand.clone());
        operand
    }

    /// The row-major stride of an array along an axis, of `rank` axes.
    pub(crate) fn stride(&mut self, array: ArrayId, axis: usize, rank: usize) -> Operand {
        if axis + 1 >= rank {
            return Operand::int(1);
        }
        if let Some(known) = self.prologue.strides.get(&(array, axis, rank)) {
            return known.clone();
        }
        let inner = self.stride(array, axis + 1, rank);
        let extent = self.arg(KernelArg::ArrayExtent(array, axis as u32 + 1));
        let k = self.prologue.strides.len();
        let _ = writeln!(self.prologue.text, "  %s{k} = mul i64 {inner}, {extent}");
        let operand = Operand::text(format!("%s{k}"));
        self.prologue.strides.insert((array, axis, rank), operand.clone());
        operand
    }

    /// The number of a constant table of the module.
    pub(crate) fn table_of(&mut self, args: &Arc<[u64]>) -> usize {
        self.tables.iter().position(|t| t == args).unwrap_or_else(|| {
            self.tables.push(args.clone());
            self.tables.len() - 1
        })
    }

    /// A constant of a shape, without its type.
    pub(crate) fn constant(&self, shape: Shape, element: &str, text: &str) -> Operand {
        match shape {
            Shape::Scalar => Operand::text(text),
            Shape::Vector(_) if text == "zeroinitializer" => Operand::text(text),
            Shape::Vector(_) if self.target.splats => Operand::text(format!("splat ({element} {text})")),
            Shape::Vector(n) => {
                let each = format!("{element} {text}");
                Operand::text(format!("<{}>", vec![each; n].join(", ")))
            }
        }
    }

    /// Bails out if a scalar flag is set.
    pub(crate) fn bail_out_if(&mut self, flag: &Operand) {
        let go_on = self.w.label();
        self.w.unlikely_branch(flag, self.bail_out, go_on);
        self.w.start(go_on);
    }

    /// Ends the function; returns its module.
    pub(crate) fn finish(mut self) -> Emitted {
        let first = "b0";
        self.w.start(self.bail_out);
        self.w.line(format_args!("ret i64 1"));
        self.w.start(self.stop);
        self.w.line(format_args!("ret i64 2"));
        let mut tables = String::new();
        for (k, args) in self.tables.iter().enumerate() {
            let each: Vec<String> = args.iter().map(|w| format!("i64 {}", *w as i64)).collect();
            let _ = writeln!(tables, "@t{k} = private constant [{} x i64] [{}]", args.len(), each.join(", "));
        }
        let text = format!(
            "{tables}define i64 @{}(ptr noalias %args, i64 %r0, i64 %r1, i64 %c0, i64 %c1) nounwind {{\nentry:\n  %fuel = alloca i64, align 8\n  store i64 {}, ptr %fuel, align 8\n{}  br label %{first}\n{}}}\n{METADATA}",
            c::ENTRY,
            FUEL_PER_POLL,
            self.prologue.text,
            self.w.finish(),
        );
        Emitted { text, args: self.prologue.args }
    }
}

/// Alias scopes (arrays that are read never overlap results), branch weights of unlikely branches, and the mark of
/// non-temporal stores.
const METADATA: &str = "!0 = distinct !{!0}\n!1 = distinct !{!1, !0}\n!2 = !{!1}\n!3 = !{!\"branch_weights\", i32 1, i32 65536}\n!4 = !{i32 1}\n";
