//! The text form of kernels.

use super::{Body, Initial, Ix, Kernel, KernelOp, Op, Output, Region, Sink};
use acc_core::ir::Val;
use std::fmt::{Display, Formatter, Result, Write};

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("kernel ")?;
        let stored = self.outputs.iter().filter(|o| o.stored).chain(self.epilogue.iter().flat_map(|e| &e.outputs));
        for (k, o) in stored.enumerate() {
            write!(f, "{}{} = {}", if k > 0 { ", " } else { "" }, o.result, o.op)?;
        }
        f.write_char('(')?;
        for (k, axis) in self.axes.iter().enumerate() {
            write!(f, "{}i{k}: {}", if k > 0 { ", " } else { "" }, axis.name())?;
        }
        f.write_str(")")?;
        for (k, a) in self.fused.iter().enumerate() {
            write!(f, "{}{a}", if k > 0 { ", " } else { " with fused " })?;
        }
        f.write_str(" {\n")?;
        if self.is_scheduled() {
            f.write_str("  loops ")?;
            for (k, l) in self.loops.iter().enumerate() {
                let how = if l.unrolled { "unrolled " } else { "" };
                write!(f, "{}{how}i{}", if k > 0 { ", " } else { "" }, l.axis)?;
                if l.step > 1 {
                    write!(f, " by {}", l.step)?;
                }
            }
            f.write_char('\n')?;
        }
        body(f, "element", &self.element)?;
        self.outputs.iter().try_for_each(|o| output(f, o, self.values(o)))?;
        if let Some(e) = &self.epilogue {
            body(f, "epilogue", &e.body)?;
            if let Some(order) = &e.order {
                let axes: Vec<String> = order.iter().map(|axis| format!("i{axis}")).collect();
                writeln!(f, "  in the order {}", axes.join(", "))?;
            }
            let values = |o: &Output| e.body.region.results.get(o.values.clone()).unwrap_or(&[]).to_vec();
            e.outputs.iter().try_for_each(|o| output(f, o, &values(o)))?;
        }
        f.write_str("}\n")
    }
}

fn output(f: &mut Formatter<'_>, o: &Output, values: &[Val]) -> Result {
    write!(f, "  {} ", o.result)?;
    match &o.sink {
        Sink::Store => f.write_str("store")?,
        Sink::Compact => f.write_str("compact")?,
        Sink::Fold { .. } => f.write_str("fold")?,
        Sink::Scan { .. } => f.write_str("scan")?,
        Sink::Segments { offsets, .. } => write!(f, "fold the segments at {offsets}")?,
        Sink::Scatter { initial: Initial::Array(a), .. } => write!(f, "scatter into {a}")?,
        Sink::Scatter { initial: Initial::Computed(_), .. } => f.write_str("scatter into what is computed")?,
    }
    f.write_str(if o.sink.has_init() { " from init of " } else { " of " })?;
    list(f, values)?;
    for op in o.sink.builtin().into_iter().flatten() {
        write!(f, " {}", op.name())?;
    }
    if let Some(r) = o.sink.segmented() {
        write!(f, " segmented at .{}", r.mark)?;
        r.ops.iter().try_for_each(|op| write!(f, " {}", op.name()))?;
    }
    f.write_char('\n')?;
    if let Sink::Scatter { initial: Initial::Computed(b), .. } = &o.sink {
        body(f, "initial", b)?;
    }
    o.sink.combine().map_or(Ok(()), |c| body(f, "combine", c))
}

fn body(f: &mut Formatter<'_>, name: &str, b: &Body) -> Result {
    write!(f, "  {name}")?;
    params(f, b, &b.region.params)?;
    f.write_str(":\n")?;
    for (v, l) in &b.consts {
        writeln!(f, "    {v} = {l:?}")?;
    }
    region(f, b, &b.region, 4)
}

fn params(f: &mut Formatter<'_>, b: &Body, vals: &[Val]) -> Result {
    f.write_char('(')?;
    for (k, v) in vals.iter().enumerate() {
        write!(f, "{}{v}: {}", if k > 0 { ", " } else { "" }, b.ty(*v))?;
    }
    f.write_char(')')
}

fn list(f: &mut Formatter<'_>, vals: &[Val]) -> Result {
    for (k, v) in vals.iter().enumerate() {
        write!(f, "{}{v}", if k > 0 { ", " } else { "" })?;
    }
    Ok(())
}

fn index(f: &mut Formatter<'_>, ix: &[Ix]) -> Result {
    f.write_char('[')?;
    for (k, i) in ix.iter().enumerate() {
        if k > 0 {
            f.write_str(", ")?;
        }
        match i {
            Ix::At(v) => write!(f, "{v}")?,
            Ix::Affine { axis, scale, offset, base } => {
                if *scale != 1 {
                    write!(f, "{scale}*")?;
                }
                write!(f, "i{axis}")?;
                if *offset != 0 {
                    write!(f, "{offset:+}")?;
                }
                if let Some(v) = base {
                    write!(f, "+{v}")?;
                }
            }
        }
    }
    f.write_char(']')
}

fn region(f: &mut Formatter<'_>, b: &Body, r: &Region, indent: usize) -> Result {
    for n in &r.nodes {
        write!(f, "{:indent$}", "")?;
        list(f, &n.results)?;
        if !n.results.is_empty() {
            f.write_str(" = ")?;
        }
        if n.results.first().is_some_and(|v| b.uniform[v.index()]) {
            f.write_str("uniform ")?;
        }
        match &n.op {
            Op::Const(none) => match *none {},
            Op::Prim(p, v) => {
                write!(f, "{} ", p.name())?;
                list(f, v)?;
            }
            Op::Cast(v) => write!(f, "cast {v} to {}", b.ty(n.results[0]))?,
            Op::Own(KernelOp::Call { name, args }) => write!(f, "call {name:?} {args:?}")?,
            Op::Bitcast(v) => write!(f, "bitcast {v} to {}", b.ty(n.results[0]))?,
            Op::Own(KernelOp::Fma(x, y, z)) => write!(f, "fma {x}, {y}, {z}")?,
            Op::Own(KernelOp::Scale(x, n)) => write!(f, "scale {x}, {n}")?,
            Op::Own(KernelOp::Table { words, index }) => write!(f, "word {index} of {}", words.len())?,
            Op::Select { cond, then, else_ } => write!(f, "select {cond}, {then}, {else_}")?,
            Op::Own(KernelOp::Scalar { array, position }) => write!(f, "scalar {position} of {array}")?,
            Op::Extent { array, axis } => write!(f, "extent {axis} of {array}")?,
            Op::Index(l) => {
                write!(f, "load {}", l.array)?;
                index(f, &l.index)?;
                write!(f, ".{:?}", l.leaves)?;
                if let Some(e) = l.edge {
                    write!(f, " {}", format!("{e:?}").to_lowercase())?;
                }
            }
            Op::Own(KernelOp::Inside { array, index: ix }) => {
                write!(f, "inside {array}")?;
                index(f, ix)?;
            }
            Op::Own(KernelOp::Check { array, index: ix }) => {
                write!(f, "check {array}")?;
                index(f, ix)?;
            }
            Op::If { cond, then, else_ } => {
                writeln!(f, "if {cond} {{")?;
                acc_core::grow_stack(|| region(f, b, then, indent + 2))?;
                writeln!(f, "{:indent$}}} else {{", "")?;
                acc_core::grow_stack(|| region(f, b, else_, indent + 2))?;
                write!(f, "{:indent$}}}", "")?;
            }
            Op::While { init, test, step } => {
                f.write_str("while ")?;
                list(f, init)?;
                f.write_str(" test ")?;
                params(f, b, &test.params)?;
                f.write_str(" {\n")?;
                acc_core::grow_stack(|| region(f, b, test, indent + 2))?;
                write!(f, "{:indent$}}} step ", "")?;
                params(f, b, &step.params)?;
                f.write_str(" {\n")?;
                acc_core::grow_stack(|| region(f, b, step, indent + 2))?;
                write!(f, "{:indent$}}}", "")?;
            }
        }
        f.write_char('\n')?;
    }
    write!(f, "{:indent$}yield ", "")?;
    list(f, &r.results)?;
    f.write_char('\n')
}
