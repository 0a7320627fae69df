//! Reads of which no two points of a statement's space read the same element: what is read so may be computed where it is read.

use acc_core::data::ScalarType;
use acc_core::ir::{ArrayOp, Fun, PrimOp, Program, ScalarOp, Stmt, Val};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How the values of a function of a point change with its coordinates.
pub(super) struct Moves {
    /// A value that is a sum of some coordinates, each times a literal that is not 0, and of what is equal at all points. What may
    /// change in any other way is not there.
    along: HashMap<Val, BTreeMap<usize, i64>>,
    /// The extents of the point's space, where they are literals.
    extents: Vec<Option<i64>>,
}

/// Sums of products by such factors do not wrap around to one another.
const FACTORS: std::ops::Range<i64> = -(1 << 32)..1 << 32;

/// The values of a function that are literals.
fn literals(f: &Fun) -> HashMap<Val, i64> {
    let mut all = HashMap::new();
    f.body.visit(0, &mut |n, _| {
        if let (ScalarOp::Const(l), [result]) = (&n.op, &n.results[..])
            && l.ty == ScalarType::I64
        {
            all.insert(*result, l.bits as i64);
        }
    });
    all
}

impl Moves {
    /// Of a function of a statement whose first parameters are a point of the statement's result; none if it has no such.
    pub(super) fn at_points(p: &Program, s: &Stmt, role: &str, f: &Fun) -> Option<Moves> {
        let extents = match &s.op {
            ArrayOp::Generate { shape, .. } if role == "f" => {
                let literals = literals(shape);
                shape.body.results.iter().map(|v| literals.get(v).copied()).collect()
            }
            ArrayOp::Map { indexed: true, .. } if role == "f" => vec![None; p.ty(s.results[0]).rank],
            _ => return None,
        };
        Some(Moves::of(f, extents))
    }

    /// Of a function of a point.
    pub(super) fn of_index(f: &Fun) -> Moves {
        Moves::of(f, vec![None; f.body.params.len()])
    }

    /// Of a function whose first parameters are the point.
    fn of(f: &Fun, extents: Vec<Option<i64>>) -> Moves {
        let literals = literals(f);
        let point = f.body.params.iter().take(extents.len()).enumerate();
        let mut along: HashMap<Val, BTreeMap<usize, i64>> =
            point.map(|(k, v)| (*v, BTreeMap::from([(k, 1)]))).collect();
        f.body.visit(0, &mut |n, _| {
            let [result] = n.results[..] else { return };
            let operands = n.op.operands();
            let all: Option<Vec<&BTreeMap<usize, i64>>> = operands.iter().map(|v| along.get(v)).collect();
            let Some(all) = all.filter(|_| n.op.regions().is_empty()) else { return };
            let scaled = |sum: &BTreeMap<usize, i64>, by: i64| -> Option<BTreeMap<usize, i64>> {
                let products = sum.iter().map(|(axis, n)| Some((*axis, n.checked_mul(by).filter(|n| *n != 0)?)));
                products.collect::<Option<BTreeMap<_, _>>>().filter(|sum| sum.values().all(|n| FACTORS.contains(n)))
            };
            let factor = |k: usize| operands.get(k).and_then(|v| literals.get(v)).copied();
            let moves = match (&n.op, &all[..]) {
                (_, all) if all.iter().all(|sum| sum.is_empty()) => Some(BTreeMap::new()),
                (ScalarOp::Prim(PrimOp::NegP, _), [a]) => scaled(a, -1),
                // What both change with might cancel.
                (ScalarOp::Prim(op @ (PrimOp::AddP | PrimOp::SubP), _), [a, b])
                    if a.keys().all(|axis| !b.contains_key(axis)) =>
                {
                    let b = scaled(b, if *op == PrimOp::SubP { -1 } else { 1 });
                    b.map(|b| a.iter().map(|(axis, n)| (*axis, *n)).chain(b).collect())
                }
                (ScalarOp::Prim(PrimOp::MulP, _), [a, b]) => match (factor(0), factor(1)) {
                    (_, Some(by)) => scaled(a, by),
                    (Some(by), _) => scaled(b, by),
                    _ => None,
                },
                _ => None,
            };
            if let Some(moves) = moves {
                along.insert(result, moves);
            }
        });
        Moves { along, extents }
    }

    /// Whether no two points have the same index: each coordinate can be found from it and from the coordinates found before.
    pub(super) fn are_one_to_one(&self, index: &[Val]) -> bool {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let sums: Vec<&BTreeMap<usize, i64>> = index.iter().filter_map(|v| self.along.get(v)).collect();
        loop {
            let before = found.len();
            for sum in &sums {
                let unknown: Vec<(usize, i64)> =
                    sum.iter().map(|(axis, n)| (*axis, *n)).filter(|(axis, _)| !found.contains(axis)).collect();
                // Of two coordinates one may be the remainder by the other one's factor.
                let is_remainder = |(axis, n): (usize, i64), by: i64| {
                    self.extents[axis].and_then(|extent| extent.checked_mul(n.abs())).is_some_and(|end| end <= by.abs())
                };
                match unknown[..] {
                    [one] => found.extend([one.0]),
                    [a, b] if is_remainder(a, b.1) || is_remainder(b, a.1) => found.extend([a.0, b.0]),
                    _ => {}
                }
            }
            if found.len() == before {
                return found.len() == self.extents.len();
            }
        }
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
        let moves = Moves::at_points(&program, s, "f", f).unwrap();
        let mut found = None;
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Index(read) = &n.op
                && read.index.len() == 2
            {
                found = Some(moves.are_one_to_one(&read.index));
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
