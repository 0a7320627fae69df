//! The printer of the text form.

use super::{Printer, Tables};
use crate::grow_stack;
use crate::ir::{
    ArrayId, ArrayOp, Axis, Block, Boundary, ForeignFun, Fun, Program, Schedule, StencilInput, with_array_ops,
};
use std::fmt;

/// Prints the text form, numbered in order of definition. `{:#}` leaves out the source locations.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = super::canonical(self);
        let mut p = Printer::new(&program, !f.alternate());
        p.out.push_str("program(");
        p.array_params(&program.body.params);
        p.out.push_str(") ");
        p.block(&program.body);
        p.out.push('\n');
        f.write_str(&p.out)
    }
}

impl Printer<'_> {
    fn array_type(&mut self, a: ArrayId) {
        match self.known.types.get(a.index()) {
            Some(t) => self.put(format_args!("{a}: {t}")),
            None => self.put(format_args!("{a}: ?")),
        }
    }

    fn array_params(&mut self, params: &[ArrayId]) {
        self.list(params, |p, &a| p.array_type(a));
    }

    fn block(&mut self, b: &Block) {
        self.out.push('{');
        self.indented(|p| {
            for s in &b.stmts {
                p.line();
                if s.results.is_empty() {
                    p.out.push_str("()");
                }
                p.list(&s.results, |p, &a| p.array_type(a));
                p.out.push_str(" = ");
                grow_stack(|| p.op(&s.op));
                p.loc(&s.loc);
            }
            p.line();
            p.out.push_str("yield");
            if !b.results.is_empty() {
                p.out.push(' ');
            }
            p.list(&b.results, |p, a| p.put(format_args!("{a}")));
        });
        self.out.push('}');
    }

    fn op(&mut self, op: &ArrayOp) {
        self.put(format_args!("{}(", op.name()));
        print_op(op, Args { printer: self, first: true, name_at: 0 });
        self.out.push(')');
    }

    fn window(&mut self, window: &[usize]) {
        self.out.push('[');
        self.list(window, |p, w| p.put(format_args!("{w}")));
        self.out.push(']');
    }

    fn boundary(&mut self, boundary: &Boundary) {
        match boundary {
            Boundary::Clamp => self.out.push_str("clamp"),
            Boundary::Mirror => self.out.push_str("mirror"),
            Boundary::Wrap => self.out.push_str("wrap"),
            Boundary::Function(b) => self.fun(b),
        }
    }

    fn fun(&mut self, f: &Fun) {
        self.function(&f.body, &Tables { types: &f.types, ..Tables::default() });
    }
}

/// The arguments of an array operation.
struct Args<'a, 'p> {
    printer: &'a mut Printer<'p>,
    first: bool,
    /// Which of its names the operation has.
    name_at: usize,
}

impl Args<'_, '_> {
    fn sep(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.printer.out.push_str(", ");
        }
    }

    fn key(&mut self, key: &str) {
        self.sep();
        self.printer.put(format_args!("{key}: "));
    }

    fn array(&mut self, x: ArrayId) {
        self.sep();
        self.printer.put(format_args!("{x}"));
    }

    fn fun(&mut self, key: &str, f: &Fun) {
        self.key(key);
        self.printer.fun(f);
    }

    fn keyed_array(&mut self, key: &str, x: ArrayId) {
        self.key(key);
        self.printer.put(format_args!("{x}"));
    }

    fn string(&mut self, key: &str, text: &str) {
        self.key(key);
        self.printer.put(format_args!("{text:?}"));
    }

    /// A number other than 0.
    fn count(&mut self, key: &str, n: usize) {
        if n != 0 {
            self.key(key);
            self.printer.put(format_args!("{n}"));
        }
    }

    /// A schedule, if there is one.
    fn loops(&mut self, key: &str, schedule: Option<&Schedule>) {
        if let Some(schedule) = schedule {
            self.key(key);
            self.printer.put(format_args!("{schedule}"));
        }
    }

    /// A list, each item printed by `f`.
    fn list<T>(&mut self, key: &str, items: &[T], f: impl Fn(&mut Printer<'_>, &T)) {
        self.key(key);
        self.printer.out.push('[');
        self.printer.list(items, |p, i| f(p, i));
        self.printer.out.push(']');
    }

    fn windows(&mut self, inputs: &[StencilInput]) {
        match inputs {
            [one] => {
                self.key("window");
                self.printer.window(&one.window);
                self.key("boundary");
                self.printer.boundary(&one.boundary);
            }
            _ => {
                self.list("windows", inputs, |p, i| p.window(&i.window));
                self.list("boundaries", inputs, |p, i| p.boundary(&i.boundary));
            }
        }
    }

    fn axes(&mut self, key: &str, axes: &[Axis]) {
        self.list(key, axes, |p, axis| {
            p.out.push_str(match axis {
                Axis::All => "all",
                Axis::Fixed => "fixed",
            });
        });
    }

    fn foreign(&mut self, function: &ForeignFun) {
        match function {
            ForeignFun::Host(name) => self.string("name", name),
            ForeignFun::Trace(message) => self.string("message", message),
        }
    }

    fn block(&mut self, key: &str, b: &Block) {
        self.key(key);
        if !b.params.is_empty() {
            self.printer.out.push('|');
            self.printer.array_params(&b.params);
            self.printer.out.push_str("| ");
        }
        self.printer.block(b);
    }
}

/// Prints a part if it is arrays without a key.
macro_rules! print_arrays {
    ($args:ident $x:ident, operand) => {
        $args.array(*$x)
    };
    ($args:ident $x:ident, operands $several:tt) => {
        $x.iter().for_each(|a| $args.array(*a))
    };
    ($args:ident $x:ident, arrays) => {
        $x.iter().for_each(|a| $args.array(*a))
    };
    ($args:ident $x:ident, inputs) => {{
        $x.iter().for_each(|i| $args.array(i.xs));
        $args.windows($x);
    }};
    ($args:ident $x:ident, $($other:tt)*) => {};
}

/// Prints a part if it has a key.
macro_rules! print_keyed {
    ($args:ident $x:ident, array $key:literal) => {
        $args.keyed_array($key, *$x)
    };
    ($args:ident $x:ident, keyed_arrays $keys:tt) => {
        $args.list($keys[$args.name_at], $x, |p, a| p.put(format_args!("{a}")))
    };
    ($args:ident $x:ident, initial $key:literal $there:tt) => {
        $x.iter().for_each(|f| $args.fun($key, f))
    };
    ($args:ident $x:ident, block $key:literal) => {
        $args.block($key, $x)
    };
    ($args:ident $x:ident, rule $key:literal $there:tt) => {
        $x.iter().for_each(|b| $args.block($key, b))
    };
    ($args:ident $x:ident, count $key:literal) => {
        $args.count($key, *$x)
    };
    ($args:ident $x:ident, loops $key:literal) => {
        $args.loops($key, $x.as_ref())
    };
    ($args:ident $x:ident, axes $key:literal) => {
        $args.axes($key, $x)
    };
    ($args:ident $x:ident, message $key:literal) => {
        $args.string($key, $x)
    };
    ($args:ident $x:ident, foreign) => {
        $args.foreign($x)
    };
    ($args:ident $x:ident, $fun:ident $key:literal) => {
        $args.fun($key, $x)
    };
    // By name, or printed already.
    ($args:ident $x:ident, $($other:tt)*) => {
        let _ = $x;
    };
}

macro_rules! define_print {
    ($(
        $(#[$doc:meta])*
        $Op:ident $class:ident $names:tt { $($(#[$about:meta])* $part:ident: $T:ty = ($($kind:tt)*),)* }
    )*) => {
        /// The parts of an operation: arrays without a key first, then `key: value`.
        fn print_op(op: &ArrayOp, mut args: Args<'_, '_>) {
            match op {
                $(ArrayOp::$Op { $($part),* } => {
                    args.name_at = $names.iter().position(|name| *name == op.name()).unwrap_or(0);
                    $(print_arrays!(args $part, $($kind)*);)*
                    $(print_keyed!(args $part, $($kind)*);)*
                })*
            }
        }
    };
}
with_array_ops!(define_print);
