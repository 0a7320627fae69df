//! Reads of which no two points of a statement's space read the same element: what is read so may be computed where it is read.

use crate::analysis::access::{Affine, Index, Numbers, Term};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayOp, Fun, Node, PrimOp, Program, ScalarOp, Stmt, Val};
use std::collections::{HashMap, HashSet};

/// What is equal at all points: a literal, or not known.
type Uniform = Option<i64>;

struct Uniforms;

impl Numbers for Uniforms {
    type Number = Uniform;
    type Axis = u32;

    fn literal(&mut self, n: i64) -> Uniform {
        Some(n)
    }

    fn constant(&self, n: &Uniform) -> Option<i64> {
        *n
    }

    fn apply(&mut self, op: PrimOp, a: &Uniform, b: &Uniform) -> Option<Uniform> {
        Some(match (op, *a, *b) {
            (PrimOp::MulP, Some(0), _) | (PrimOp::MulP, _, Some(0)) => Some(0),
            (PrimOp::AddP, Some(a), Some(b)) => Some(a.wrapping_add(b)),
            (PrimOp::SubP, Some(a), Some(b)) => Some(a.wrapping_sub(b)),
            (PrimOp::MulP, Some(a), Some(b)) => Some(a.wrapping_mul(b)),
            _ => None,
        })
    }
}

/// Products of indices by such steps do not wrap around to one another.
const STEPS: std::ops::Range<i64> = -(1 << 32)..1 << 32;

/// The values of a function as sums of the coordinates of a point.
pub(super) struct Sums {
    of: HashMap<Val, Index<Uniform, u32>>,
    /// The extents of the point's space, where they are literals.
    extents: Vec<Uniform>,
}

impl Sums {
    /// Of a function of a statement whose first parameters are a point of the statement's result; none if it has no such.
    pub(super) fn at_points(p: &Program, s: &Stmt, role: &str, f: &Fun) -> Option<Sums> {
        let extents = match &s.op {
            ArrayOp::Generate { shape, .. } if role == "f" => {
                let extents = Sums::of(shape, Vec::new());
                shape.body.results.iter().map(|v| extents.of.get(v)?.affine().base).collect()
            }
            ArrayOp::Map { indexed: true, .. } if role == "f" => vec![None; p.ty(s.results[0]).rank],
            _ => return None,
        };
        Some(Sums::of(f, extents))
    }

    /// Of a function of a point.
    pub(super) fn of_index(f: &Fun) -> Sums {
        Sums::of(f, vec![None; f.body.params.len()])
    }

    /// Of a function whose first parameters are the point.
    fn of(f: &Fun, extents: Vec<Uniform>) -> Sums {
        let point = f.body.params.iter().zip(0..extents.len() as u32);
        let along = |axis| Index::Affine(Affine::along(axis, Some(0), Some(1)));
        let mut of: HashMap<Val, _> = point.map(|(v, axis)| (*v, along(axis))).collect();
        f.body.visit(0, &mut |n, _| {
            if let ([result], Some(sum)) = (&n.results[..], sum(n, &of)) {
                of.insert(*result, sum);
            }
        });
        Sums { of, extents }
    }

    /// Whether no two points have the same index: each coordinate can be found from it and from the coordinates found before.
    pub(super) fn are_one_to_one(&self, index: &[Val]) -> bool {
        let mut found: HashSet<u32> = HashSet::new();
        loop {
            let before = found.len();
            for v in index {
                let Some(Index::Affine(sum)) = self.of.get(v) else { continue };
                let unknown: Vec<&Term<Uniform, u32>> = sum.terms.iter().filter(|t| !found.contains(&t.axis)).collect();
                match unknown[..] {
                    [one] if literal(one).is_some() => found.extend([one.axis]),
                    [a, b] if self.is_remainder(a, b) || self.is_remainder(b, a) => found.extend([a.axis, b.axis]),
                    _ => {}
                }
            }
            if found.len() == before {
                return found.len() == self.extents.len();
            }
        }
    }

    /// Whether points are a row of an array in order: the first coordinate of the index is equal at all of them.
    pub(super) fn are_row(&self, index: &[Val]) -> bool {
        let Some((row, within)) = index.split_first() else { return false };
        let is_axis = |(v, axis): (&Val, u32)| {
            let sum = self.of.get(v);
            matches!(sum, Some(Index::Affine(sum)) if *sum == Affine::along(axis, Some(0), Some(1)))
        };
        self.of.get(row).is_some_and(is_uniform)
            && within.len() == self.extents.len()
            && within.iter().zip(0..).all(is_axis)
    }

    /// Whether a coordinate is the remainder by the step of another one.
    fn is_remainder(&self, a: &Term<Uniform, u32>, b: &Term<Uniform, u32>) -> bool {
        let ends = || self.extents[a.axis as usize]?.checked_mul(literal(a)?.abs());
        literal(b).zip(ends()).is_some_and(|(by, end)| end <= by.abs())
    }
}

/// The step of a coordinate that can be found.
fn literal(t: &Term<Uniform, u32>) -> Option<i64> {
    t.step.filter(|step| *step != 0 && STEPS.contains(step))
}

fn is_uniform(x: &Index<Uniform, u32>) -> bool {
    matches!(x, Index::Affine(sum) if sum.is_uniform())
}

/// What a node yields, of what its operands are.
fn sum(n: &Node, of: &HashMap<Val, Index<Uniform, u32>>) -> Option<Index<Uniform, u32>> {
    if let ScalarOp::Const(l) = &n.op {
        let n = (l.ty == ScalarType::I64).then_some(l.bits as i64);
        return Some(Index::Affine(Affine::uniform(n)));
    }
    let operands: Vec<_> = n.op.operands().iter().map(|v| of.get(v).cloned()).collect::<Option<_>>()?;
    match &n.op {
        op if !op.regions().is_empty() => None,
        ScalarOp::Prim(op @ (PrimOp::AddP | PrimOp::SubP | PrimOp::MulP | PrimOp::NegP), _) => {
            Index::prim(&mut Uniforms, *op, &operands)
        }
        _ => operands.iter().all(is_uniform).then(|| Index::Affine(Affine::uniform(None))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an element of `a` is read by one point alone of a space with these extents.
    fn is_read_once(shape: &str, index: &str) -> bool {
        let params = ["%i", "%j", "%k"][..shape.split(',').count()].join(": i64, ");
        let text = format!(
            "program(a: [2]f32, n: [0]i64) {{
               g: [{}]f32 = generate(shape: || ({shape}), f: |{params}: i64| {{
                 %x: f32 = if lt(%i, 5i64) {{ yield a[{index}] }} else {{ yield 0.0f32 }}
                 yield %x
               }})
               yield g
             }}",
            shape.split(',').count()
        );
        let program = acc_core::text::parse("test.acc", &text).unwrap();
        let s = &program.body.stmts[0];
        let ArrayOp::Generate { f, .. } = &s.op else { panic!("{text}") };
        let sums = Sums::at_points(&program, s, "f", f).unwrap();
        let mut found = None;
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Index(read) = &n.op
                && read.index.len() == 2
            {
                found = Some(sums.are_one_to_one(&read.index));
            }
        });
        found.unwrap()
    }

    #[test]
    fn points_are_found_from_what_they_read() {
        let of_two = "n[], n[]";
        for (index, is_once) in [
            ("%i, %j", true),
            ("%j, sub(7i64, %i)", true),
            ("%j, sub(%i, mul(%j, 3i64))", true),
            ("add(%i, n[]), %j", true),
            ("%i, %i", false),
            ("add(%i, %j), 0i64", false),
            ("%i, mul(%j, 0i64)", false),
            ("%i, mul(%j, n[])", false),
            ("%i, sub(%j, %j)", false),
            ("%i, mul(%j, %j)", false),
        ] {
            assert_eq!(is_read_once(of_two, index), is_once, "{index}");
        }
        // A remainder, and what is divided.
        let of_three = |extent: &str, index: &str| is_read_once(&format!("n[], {extent}, n[]"), index);
        assert!(of_three("2i64", "%i, add(%j, mul(%k, 2i64))"));
        assert!(of_three("2i64", "sub(%i, %k), add(%j, mul(%k, 2i64))"));
        assert!(!of_three("3i64", "%i, add(%j, mul(%k, 2i64))"));
        assert!(!of_three("n[]", "%i, add(%j, mul(%k, 2i64))"));
    }
}
