//! The printer of kernels.

use crate::kernel::{Body, Initial, Kernel, KernelIr, Loop, Output, SegmentOperator, Sink, Update};
use acc_core::ir::PrimOp;
use acc_core::text::{Printer, Tables};
use acc_desugar::analysis::choice::{Choice, Nans, Ties};
use std::fmt::{self, Display, Formatter};

type Out<'p> = Printer<'p, KernelIr>;

/// Prints the text form, scalars numbered in order of definition. `{:#}` leaves out the source locations.
impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut p = Printer::new(&(), !f.alternate());
        kernel(&mut p, self);
        f.write_str(&p.out)
    }
}

fn kernel(p: &mut Out<'_>, k: &Kernel) {
    p.out.push_str("kernel(");
    p.list(&k.axes, |p, a| p.out.push_str(a.name()));
    p.out.push_str(") {");
    p.indented(|p| {
        if !k.fused.is_empty() {
            p.line();
            p.out.push_str("fused: ");
            bracketed(p, &k.fused);
        }
        if k.is_scheduled() {
            p.line();
            p.out.push_str(if k.has_schedule { "schedule: " } else { "loops: " });
            bracketed(p, &k.loops);
        }
        if !k.collapsed.is_empty() {
            p.line();
            p.out.push_str("collapsed: ");
            bracketed(p, k.collapsed.iter().map(|axis| format!("i{axis}")));
        }
        p.line();
        body(p, "element", &k.element);
        k.outputs.iter().for_each(|o| output(p, o));
        if let Some(e) = &k.epilogue {
            p.line();
            body(p, "epilogue", &e.body);
            if let Some(order) = &e.order {
                p.line();
                p.out.push_str("order: ");
                bracketed(p, order.iter().map(|axis| format!("i{axis}")));
            }
            e.outputs.iter().for_each(|o| output(p, o));
        }
    });
    p.out.push_str("}\n");
}

fn bracketed<T: Display>(p: &mut Out<'_>, items: impl IntoIterator<Item = T>) {
    p.out.push('[');
    p.list(items, |p, item| p.put(format_args!("{item}")));
    p.out.push(']');
}

fn body(p: &mut Out<'_>, key: &str, b: &Body) {
    let b = b.canonical();
    p.put(format_args!("{key}: {}", if b.relaxed { "relaxed " } else { "" }));
    p.function(&b.region, &Tables { types: &b.types, marked: &b.uniform, literals: &b.consts });
}

fn output(p: &mut Out<'_>, o: &Output) {
    p.line();
    p.put(format_args!("{} = {}(op: {}, values: ", o.result, o.sink.name(), o.op));
    bracketed(p, o.values.clone());
    if !o.stored {
        p.out.push_str(", unstored");
    }
    match &o.sink {
        Sink::Store | Sink::Compact => {}
        Sink::Scatter { initial, builtin, rank, .. } => {
            p.put(format_args!(", rank: {rank}, "));
            match initial {
                Initial::Array(a) => p.put(format_args!("into: {a}")),
                Initial::Computed(b) => body(p, "initial", b),
            }
            if let Some(updates) = builtin {
                p.out.push_str(", updates: ");
                bracketed(p, updates);
            }
        }
        Sink::Segments { offsets, .. } => p.put(format_args!(", offsets: {offsets}")),
        Sink::Fold { .. } | Sink::Scan { .. } => {}
    }
    if o.sink.is_fused() {
        p.out.push_str(", fused");
    }
    if o.sink.has_init() {
        p.out.push_str(", init");
    }
    if let Some(ops) = o.sink.builtin() {
        p.out.push_str(", builtin: ");
        prims(p, ops);
    }
    if let Sink::Segments { operator: SegmentOperator::Choice(Choice { leaf, best, ties, nans }), .. } = &o.sink {
        let first = if *ties == Ties::First { "first" } else { "last" };
        let nan = match nans {
            Nans::Lose => "",
            Nans::Win => " nan wins",
            Nans::Yield => " nan yields",
        };
        p.put(format_args!(", choice: {first} {} of {leaf}{nan}", best.name()));
    }
    if let Some(operator) = o.sink.segmented() {
        p.put(format_args!(", mark: {}, segmented: ", operator.mark));
        prims(p, &operator.ops);
    }
    if o.sink.scans_runs() {
        p.out.push_str(", runs");
    }
    if let Some(combine) = o.sink.combine() {
        p.out.push_str(", ");
        body(p, "combine", combine);
    }
    p.out.push(')');
    p.loc(&o.loc);
}

fn prims(p: &mut Out<'_>, ops: &[PrimOp]) {
    bracketed(p, ops.iter().map(|op| op.name()));
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Update::New => f.write_str("new"),
            Update::Old => f.write_str("old"),
            Update::Prim(op) => write!(f, "{}(new, old)", op.name()),
            Update::PrimOldFirst(op) => write!(f, "{}(old, new)", op.name()),
        }
    }
}

impl Display for Loop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Loop { axis, step, mark, .. } = *self;
        write!(f, "{}", acc_core::ir::Loop { axis, step, mark })?;
        self.at_most.map_or(Ok(()), |n| write!(f, " of {n}"))?;
        f.write_str(if self.in_pairs { " in pairs" } else { "" })?;
        f.write_str(if self.prefetches { " prefetching" } else { "" })
    }
}
