//! The printer of scalar functions.

use super::Syntax;
use crate::data::{Lit, ScalarType};
use crate::grow_stack;
use crate::ir::{Ir, Loc, Node, Region, ScalarOp, Val};
use crate::text::literal::write_lit;
use std::fmt::{self, Write as _};

/// Levels of indentation beyond which lines move no further: the length of a text stays linear in its program's.
const MAX_INDENT: usize = 32;

/// Prints code, line by line.
pub struct Printer<'p, D: Syntax = Ir> {
    /// What is printed so far.
    pub out: String,
    pub(in crate::text) known: &'p D::Known,
    pub(in crate::text) indent: usize,
    locations: bool,
}

/// The values of a function.
#[derive(Clone, Copy, Default)]
pub struct Tables<'f> {
    /// The type of each.
    pub types: &'f [ScalarType],
    /// Which are [marked](Syntax::MARK); the others are not.
    pub marked: &'f [bool],
    /// Those that are literals and defined by no node.
    pub literals: &'f [(Val, Lit)],
}

impl<'p, D: Syntax> Printer<'p, D> {
    /// Prints nothing yet; whether it will print source locations.
    pub fn new(known: &'p D::Known, locations: bool) -> Printer<'p, D> {
        Printer { out: String::new(), known, indent: 0, locations }
    }

    /// Prints text. Writing to a string cannot fail.
    pub fn put(&mut self, args: fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(args);
    }

    /// Begins a line.
    pub fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.indent.min(MAX_INDENT)));
    }

    /// Prints lines, one level of indentation deeper, and begins the next.
    pub fn indented(&mut self, lines: impl FnOnce(&mut Self)) {
        self.indent += 1;
        lines(self);
        self.indent -= 1;
        self.line();
    }

    /// Prints items with commas between them.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut one: impl FnMut(&mut Self, T)) {
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            one(self, item);
        }
    }

    /// Prints a source location, if it is to.
    pub fn loc(&mut self, loc: &Loc) {
        match loc.file() {
            _ if !self.locations => {}
            Some(file) => self.put(format_args!(" @{file:?}:{}:{}", loc.line(), loc.col())),
            None => self.out.push_str(" @?"),
        }
    }

    /// Prints a function: `|parameters| { nodes yield values }`.
    pub fn function(&mut self, r: &Region<D>, tables: &Tables<'_>) {
        self.out.push('|');
        self.vals_with_types(&r.params, tables);
        self.out.push_str("| ");
        self.region(r, tables.literals, tables);
    }

    /// Prints the names of values.
    pub fn vals(&mut self, vals: &[Val]) {
        self.list(vals, |p, v| p.put(format_args!("{v}")));
    }

    fn vals_with_types(&mut self, vals: &[Val], tables: &Tables<'_>) {
        self.list(vals, |p, &v| {
            p.put(format_args!("{v}: "));
            if let Some(mark) = D::MARK
                && tables.marked.get(v.index()).is_some_and(|marked| *marked)
            {
                p.put(format_args!("{mark} "));
            }
            p.out.push_str(tables.types.get(v.index()).map_or("?", |t| t.name()));
        });
    }

    /// A region after its parameters, with these literals before its nodes.
    fn region(&mut self, r: &Region<D>, literals: &[(Val, Lit)], tables: &Tables<'_>) {
        let ends = |p: &mut Self| if literals.is_empty() && r.nodes.is_empty() { p.out.push(' ') } else { p.line() };
        self.out.push('{');
        self.indent += 1;
        for (v, l) in literals {
            self.line();
            self.vals_with_types(&[*v], tables);
            self.out.push_str(" = ");
            let _ = write_lit(&mut self.out, *l);
        }
        for n in &r.nodes {
            self.line();
            if n.results.is_empty() {
                self.out.push_str("()");
            }
            self.vals_with_types(&n.results, tables);
            self.out.push_str(" = ");
            grow_stack(|| self.node(n, tables));
            self.loc(&n.loc);
        }
        ends(self);
        self.out.push_str("yield");
        if !r.results.is_empty() {
            self.out.push(' ');
        }
        self.vals(&r.results);
        self.indent -= 1;
        ends(self);
        self.out.push('}');
    }

    fn node(&mut self, n: &Node<D>, tables: &Tables<'_>) {
        // The type that a conversion goes to is that of its result.
        let to = n.results.first().and_then(|v| tables.types.get(v.index()));
        let to = to.map_or("?", |t| t.name());
        match &n.op {
            ScalarOp::Const(l) => {
                let _ = write_lit(&mut self.out, (*l).into());
            }
            ScalarOp::Prim(op, args) => {
                self.put(format_args!("{}(", op.name()));
                self.vals(args);
                self.out.push(')');
            }
            ScalarOp::Cast(x) => self.put(format_args!("cast({x}, {to})")),
            ScalarOp::Bitcast(x) => self.put(format_args!("bitcast({x}, {to})")),
            ScalarOp::Select { cond, then, else_ } => self.put(format_args!("select({cond}, {then}, {else_})")),
            ScalarOp::If { cond, then, else_ } => {
                self.put(format_args!("if {cond} "));
                self.region(then, &[], tables);
                self.out.push_str(" else ");
                self.region(else_, &[], tables);
            }
            ScalarOp::While { init, test, step } => {
                self.out.push_str("while (");
                self.vals(init);
                self.out.push_str(") test ");
                self.inner(test, tables);
                self.out.push_str(" step ");
                self.inner(step, tables);
            }
            ScalarOp::Index(read) => {
                self.place(&read.array, &read.index);
                let all = D::leaf_count(self.known, &read.array).unwrap_or(n.results.len());
                if all != read.leaves.len() || read.leaves.iter().enumerate().any(|(k, &l)| k != l as usize) {
                    self.out.push_str(".(");
                    self.list(&read.leaves, |p, l| p.put(format_args!("{l}")));
                    self.out.push(')');
                }
                D::print_edge(self, read.edge);
            }
            ScalarOp::Extent { array, axis } => self.put(format_args!("extent({array}, {axis})")),
            ScalarOp::Own(op) => D::print_own(self, op, tables),
        }
    }

    /// Prints a region inside a node, with its parameters.
    pub fn inner(&mut self, r: &Region<D>, tables: &Tables<'_>) {
        self.function(r, &Tables { literals: &[], ..*tables });
    }

    /// Prints an element of an array: `xs[%i, %j]`.
    pub fn place(&mut self, array: &D::Array, index: &[D::Index]) {
        self.put(format_args!("{array}["));
        self.list(index, |p, i| p.put(format_args!("{i}")));
        self.out.push(']');
    }
}
