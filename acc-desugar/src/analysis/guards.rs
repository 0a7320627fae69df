//! Reads that the conditions of the branches around them keep in bounds.

use super::comparison::{Comparison, add_conjuncts, comparison};
use acc_core::grow_stack;
use acc_core::ir::{Fun, Node, Read, Region, ScalarOp, Val};
use std::collections::HashMap;

/// Whether every read of a function is in a branch whose condition says that its index is in bounds.
pub(crate) fn reads_are_guarded(f: &Fun) -> bool {
    let (mut any, mut outside) = (false, false);
    f.body.visit(0, &mut |n, depth| {
        if matches!(&n.op, ScalarOp::Index(read) if !read.index.is_empty()) {
            any = true;
            outside |= depth == 0;
        }
    });
    // Most functions read outside of branches, or nothing.
    if outside || !any {
        return !outside;
    }
    let mut nodes: HashMap<Val, &Node> = HashMap::new();
    f.body.visit(0, &mut |n, _| nodes.extend(n.results.iter().map(|v| (*v, n))));
    Guards { f, nodes }.region(&f.body, &[])
}

struct Guards<'f> {
    f: &'f Fun,
    nodes: HashMap<Val, &'f Node>,
}

impl Guards<'_> {
    /// Whether the reads of a region are in bounds where these values are true.
    fn region(&self, r: &Region, known: &[Val]) -> bool {
        r.nodes.iter().all(|n| match &n.op {
            ScalarOp::Index(read) => self.is_inside(read, known),
            ScalarOp::If { cond, then, else_ } => {
                let mut taken = known.to_vec();
                let definition = |v: Val| self.nodes.get(&v).map(|n| &n.op);
                add_conjuncts(self.f, &definition, *cond, &mut taken);
                grow_stack(|| self.region(then, &taken) && self.region(else_, known))
            }
            op => op.regions().into_iter().all(|r| grow_stack(|| self.region(r, known))),
        })
    }

    fn is_inside(&self, read: &Read, known: &[Val]) -> bool {
        let said = |how: Comparison, i: Val, holds: &dyn Fn(Val) -> bool| {
            let same = |a: Val| a == i || (self.literal(a).is_some() && self.literal(a) == self.literal(i));
            let says = |v: &Val| {
                let n = self.nodes.get(v)?;
                comparison(self.f, &n.op).filter(|(by, a, end)| *by == how && same(*a) && holds(*end))
            };
            known.iter().any(|v| says(v).is_some())
        };
        let natural = |v: Val| self.literal(v).is_some_and(|n| n >= 0);
        let is_extent = |v: Val, axis: usize| match self.nodes.get(&v).map(|n| &n.op) {
            Some(ScalarOp::Extent { array, axis: of }) => *array == read.array && *of as usize == axis,
            _ => false,
        };
        read.index.iter().enumerate().all(|(axis, &i)| {
            let from_zero = natural(i) || said(Comparison::AtLeast, i, &natural);
            from_zero && said(Comparison::Below, i, &|end| is_extent(end, axis))
        })
    }

    fn literal(&self, v: Val) -> Option<i64> {
        match self.nodes.get(&v).map(|n| &n.op) {
            Some(ScalarOp::Const(l)) => l.get(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reads_are_guarded;
    use acc_core::ir::ArrayOp;

    fn is_guarded(element: &str) -> bool {
        let text = format!("program(x: [1]f64, c: [1]i64) {{ y: [1]f64 = map(c, f: |%i: i64| {element}) yield y }}");
        let p = acc_core::text::parse("p.acc", &text).unwrap();
        let ArrayOp::Map { f, .. } = &p.body.stmts[0].op else { panic!("a map") };
        reads_are_guarded(f)
    }

    #[test]
    fn a_read_is_guarded_by_both_bounds_of_its_own_array() {
        let read = |cond: &str, i: &str| is_guarded(&format!("if {cond} {{ yield x[{i}] }} else {{ yield 0.0f64 }}"));
        assert!(read("and(ge(%i, 0i64), lt(%i, extent(x, 0)))", "%i"));
        assert!(read("gt(extent(x, 0), 2i64)", "2i64"));
        assert!(!read("lt(%i, extent(x, 0))", "%i"));
        assert!(!read("and(ge(%i, 0i64), lt(%i, extent(c, 0)))", "%i"));
        assert!(!read("or(ge(%i, 0i64), lt(%i, extent(x, 0)))", "%i"));
        assert!(!is_guarded("if and(ge(%i, 0i64), lt(%i, extent(x, 0))) { yield 0.0f64 } else { yield x[%i] }"));
        assert!(!is_guarded("x[%i]"));
    }
}
