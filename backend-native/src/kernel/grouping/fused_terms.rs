//! Sums of products: each product is added with one rounding (`fusedMultiplyAdd` of IEEE 754), so that all ways to compute such
//! a sum have the same bits, libraries for matrix products among them.
//!
//! A product that is 0 where a condition does not hold has the factors -0 and 0 there: their product, -0, changes no sum, so that
//! such terms may be left out, or computed under a mask.

use crate::kernel::math::Values;
use crate::kernel::{AxisKind, Body, Kernel, Node, Op, Region, Sink};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{Loc, PrimOp, Val};
use smallvec::smallvec;

impl Kernel {
    /// The kernel whose sums of products are fused: they take the factors in place of the products.
    pub(crate) fn with_fused_terms(mut self) -> Kernel {
        let sums: Vec<bool> = self.outputs.iter().map(|o| self.sums_products(&o.sink, self.values(o))).collect();
        // Beside a scan rows are not folded block by block.
        if !sums.contains(&true) || self.axes.last() != Some(&AxisKind::Reduction) {
            return self;
        }
        let mut rewritten = Rewritten::of(&self.element);
        let mut results = Vec::new();
        for (o, sums) in self.outputs.iter_mut().zip(sums) {
            let from = results.len();
            let values = self.element.region.results.get(o.values.clone()).unwrap_or(&[]);
            match &mut o.sink {
                Sink::Fold { fused, .. } if sums => {
                    *fused = true;
                    results.extend(values.iter().flat_map(|&v| rewritten.factors(v).unwrap_or([v, v])));
                }
                _ => results.extend_from_slice(values),
            }
            o.values = from..results.len();
        }
        rewritten.region.results = results;
        self.element = rewritten.values.into_body(rewritten.region, self.element.relaxed);
        remove_unused_products(&mut self.element);
        self
    }

    /// Whether an output is a sum of floats that are all products.
    fn sums_products(&self, sink: &Sink, values: &[Val]) -> bool {
        let Sink::Fold { builtin: Some(ops), fused: false, .. } = sink else { return false };
        let body = &self.element;
        let is_product =
            |&v: &Val| matches!(body.ty(v), ScalarType::F32 | ScalarType::F64) && term(&body.region, body, v).is_some();
        !values.is_empty() && ops.iter().all(|op| *op == PrimOp::AddP) && values.iter().all(is_product)
    }
}

impl Body {
    /// The condition that chooses a value, and the value where it does not hold.
    pub(crate) fn choice(&self, v: Val) -> Option<(Val, Val)> {
        let n = self.region.definition(v)?;
        match &n.op {
            Op::Select { cond, else_, .. } => Some((*cond, *else_)),
            Op::If { cond, else_, .. } => {
                let at = n.results.iter().position(|r| *r == v)?;
                Some((*cond, *else_.results.get(at)?))
            }
            _ => None,
        }
    }

    /// The condition of a fused sum's term with these factors: where it does not hold, the term adds nothing.
    pub(crate) fn condition_of_term(&self, factors: [Val; 2]) -> Option<Val> {
        let [(cond, x), (other, y)] = [self.choice(factors[0])?, self.choice(factors[1])?];
        let is_negative = self.consts.iter().any(|(c, l)| *c == x && *l == negative_zero(self.ty(x)));
        (cond == other && is_negative && self.is_zero(y)).then_some(cond)
    }
}

/// -0, which changes no sum.
fn negative_zero(ty: ScalarType) -> Lit {
    if ty == ScalarType::F64 { (-0f64).lit() } else { (-0f32).lit() }
}

/// A term that is a product, or 0 where a condition does not hold.
enum Term {
    Product([Val; 2]),
    Selected {
        cond: Val,
        factors: [Val; 2],
    },
    /// The node with this index is a conditional, and the factors are values of its first region.
    Conditional {
        node: usize,
        factors: [Val; 2],
    },
}

fn term(region: &Region, body: &Body, v: Val) -> Option<Term> {
    let node = region.nodes.iter().position(|n| n.results.contains(&v))?;
    let n = &region.nodes[node];
    match &n.op {
        Op::Prim(PrimOp::MulP, _) => factors(n).map(Term::Product),
        Op::Select { cond, then, else_ } if body.is_zero(*else_) => {
            Some(Term::Selected { cond: *cond, factors: factors(region.definition(*then)?)? })
        }
        Op::If { then, else_, .. } => {
            let at = n.results.iter().position(|r| *r == v)?;
            let product = then.definition(*then.results.get(at)?)?;
            let zero = body.is_zero(*else_.results.get(at)?);
            if zero { Some(Term::Conditional { node, factors: factors(product)? }) } else { None }
        }
        _ => None,
    }
}

fn factors(n: &Node) -> Option<[Val; 2]> {
    match &n.op {
        Op::Prim(PrimOp::MulP, factors) => factors[..].try_into().ok(),
        _ => None,
    }
}

/// A body that is being rewritten.
struct Rewritten<'a> {
    before: &'a Body,
    values: Values,
    region: Region,
}

impl<'a> Rewritten<'a> {
    fn of(before: &'a Body) -> Rewritten<'a> {
        Rewritten { before, values: Values::of(before), region: before.region.clone() }
    }

    /// The factors of a term. Where it is 0 by a condition both are: the other factor might be infinite.
    fn factors(&mut self, v: Val) -> Option<[Val; 2]> {
        let ty = self.before.ty(v);
        let zeros = |values: &mut Values| [negative_zero(ty), Lit::zero(ty)].map(|zero| values.constant(zero));
        Some(match term(&self.before.region, self.before, v)? {
            Term::Product(factors) => factors,
            Term::Selected { cond, factors } => {
                let of = self.before.region.definition(v).map_or_else(Loc::unknown, |n| n.loc.clone());
                let zeros = zeros(&mut self.values);
                [0, 1].map(|k| {
                    let selected = self.values.fresh(self.before.ty(v), false);
                    let op = Op::Select { cond, then: factors[k], else_: zeros[k] };
                    self.region.nodes.push(Node { results: smallvec![selected], op, loc: of.clone() });
                    selected
                })
            }
            Term::Conditional { node, factors } => {
                let zeros = zeros(&mut self.values);
                let fresh = factors.map(|_| self.values.fresh(self.before.ty(v), false));
                let n = &mut self.region.nodes[node];
                if let Op::If { then, else_, .. } = &mut n.op {
                    then.results.extend(factors);
                    else_.results.extend(zeros);
                    n.results.extend(fresh);
                }
                fresh
            }
        })
    }
}

/// Removes the products, and what selects them, that nothing uses any longer.
fn remove_unused_products(body: &mut Body) {
    fn unused_nodes(r: &mut Region, used: &[bool]) {
        r.nodes.retain(|n| {
            let is_term = matches!(n.op, Op::Prim(PrimOp::MulP, _) | Op::Select { .. });
            !is_term || n.results.iter().any(|v| used[v.index()])
        });
        for n in &mut r.nodes {
            let Op::If { then, else_, .. } = &mut n.op else { continue };
            for at in (0..n.results.len()).rev().filter(|&at| !used[n.results[at].index()]).collect::<Vec<_>>() {
                n.results.remove(at);
                then.results.remove(at);
                else_.results.remove(at);
            }
            unused_nodes(then, used);
        }
    }
    // What selects a product, then the product.
    for _ in 0..2 {
        let used = body.used();
        unused_nodes(&mut body.region, &used);
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::of_text;

    /// The element body and the outputs of a program's only kernel, without locations.
    fn kernel(text: &str) -> String {
        format!("{:#}", of_text("test", text).launches().next().unwrap().kernel)
    }

    #[test]
    fn sums_take_the_factors_of_products() {
        let dot = "program(a: [2]f32, b: [2]f32) {
            p: [2]f32 = zip_with(a, b, f: |%x: f32, %y: f32| mul(%x, %y))
            s: [1]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
            yield s
          }";
        let text = kernel(dot);
        assert!(text.contains("values: [0, 1], fused, init, builtin: [add]"), "{text}");
        assert!(!text.contains("mul("), "{text}");
        for other in ["max(%x, %y)", "mul(%x, %y)"] {
            let text = kernel(&dot.replace("add(%x, %y)", other));
            assert!(!text.contains("fused, init") && text.contains("mul("), "{text}");
        }
        for ty in ["f16", "i32"] {
            let zero = if ty == "i32" { "0i32" } else { "0.0f16" };
            let text = kernel(&dot.replace("0.0f32", zero).replace("f32", ty));
            assert!(!text.contains("fused, init") && text.contains("mul("), "{text}");
        }
    }

    #[test]
    fn factors_are_zeros_where_a_condition_does_not_hold() {
        let text = kernel(
            "program(a: [1]f32, b: [1]f32) {
               p: [2]f32 = generate(shape: || (extent(a, 0), extent(b, 0)),
                 f: |%i: i64, %j: i64| { %t: f32 = if le(%j, %i) { yield mul(a[sub(%i, %j)], b[%j]) } else { yield 0.0f32 }
                 yield %t })
               s: [1]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
               yield s
             }",
        );
        assert!(text.contains("fused, init"), "{text}");
        assert!(!text.contains("mul("), "{text}");
    }
}
