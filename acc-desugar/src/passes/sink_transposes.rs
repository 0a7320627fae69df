//! Transpositions sink below element-wise statements: these are computed in the order in which their operands lie in
//! memory, and transposed afterwards.
//!
//! `map f (transpose a)` becomes `transpose (map f a)`, with any number of operands and any order of the axes, a check of a
//! transposed array the transposition of the checked one, and so on through chains of such statements. A transposition that is
//! computed where it is read costs nothing; results in between that are stored have the order of what they are computed of, so
//! that neighbours are next to each other in both.

use crate::analysis::extents::Extents;
use crate::analysis::transposition::{Transposed, Transpositions, axis_order, is_whole};
use crate::settings::Settings;
use acc_core::Error;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Axis, Block, Fun, Loc, Node, Program, Region, ScalarOp, Stmt, Val};
use smallvec::smallvec;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Sinks transpositions below the element-wise statements over them.
pub(crate) fn pass<'p>(program: &'p Program, _: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !transposes(&program.body) {
        return Ok(Cow::Borrowed(program));
    }
    let mut p = Pass {
        extents: Extents::new(program),
        types: program.types.clone(),
        replicates: HashMap::new(),
        transposed: Transpositions::default(),
        scanned: HashSet::new(),
        folds: HashSet::new(),
        folded: HashSet::new(),
        changes: false,
    };
    p.note_folds(&program.body);
    let body = p.block(&program.body);
    if !p.changes {
        return Ok(Cow::Borrowed(program));
    }
    Ok(Cow::Owned(Program { types: p.types, names: program.names.clone(), body }))
}

/// Whether anything changes the order of axes.
fn transposes(b: &Block) -> bool {
    b.stmts.iter().any(|s| match &s.op {
        ArrayOp::Backpermute { index, .. } => axis_order(index).is_some(),
        op => op.blocks().into_iter().any(|b| acc_core::grow_stack(|| transposes(b))),
    })
}

/// An array repeated along new axes.
struct Replicate {
    axes: Vec<Axis>,
    extents: Fun,
    xs: ArrayId,
}

struct Pass {
    extents: Extents,
    types: Vec<ArrayType>,
    replicates: HashMap<ArrayId, Replicate>,
    transposed: Transpositions,
    /// The results of scans: these are stored in the order in which they are read.
    scanned: HashSet<ArrayId>,
    /// The results of folds, and those of them that are folded again.
    folds: HashSet<ArrayId>,
    folded: HashSet<ArrayId>,
    changes: bool,
}

impl Pass {
    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            self.note(s);
            if !self.transposed(s, &mut stmts) && !self.folded(s, &mut stmts) {
                let op = crate::map_op(&s.op, &mut Fun::clone, &mut |a| a, &mut |b, _| self.block(b));
                stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
            }
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    /// Takes note of folds, and of those whose results are folded.
    fn note_folds(&mut self, b: &Block) {
        for s in &b.stmts {
            if let ArrayOp::Fold { xs, .. } = &s.op {
                self.folds.extend(&s.results);
                self.folded.extend(self.folds.get(xs));
            }
            s.op.blocks().into_iter().for_each(|b| acc_core::grow_stack(|| self.note_folds(b)));
        }
    }

    /// Takes note of arrays that other ones can be computed for in another order.
    fn note(&mut self, s: &Stmt) {
        let Some(&result) = s.results.first() else { return };
        match &s.op {
            ArrayOp::Scan { .. } => {
                self.scanned.insert(result);
            }
            ArrayOp::Backpermute { index, xs, .. } if !self.scanned.contains(xs) => {
                if let Some(order) = axis_order(index).filter(|order| is_whole(&self.extents, result, *xs, order)) {
                    self.transposed.note(result, *xs, order);
                }
            }
            ArrayOp::Replicate { axes, extents, xs } => {
                self.replicates.insert(result, Replicate { axes: axes.clone(), extents: extents.clone(), xs: *xs });
            }
            // Computed in the order in which they are stored.
            _ => {}
        }
    }

    /// Computes a statement over transposed arrays as these lie in memory, and transposes its result; whether it is one.
    fn transposed(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> bool {
        let xs = match &s.op {
            ArrayOp::Map { xs, indexed: false, .. } => &xs[..],
            ArrayOp::Check { xs, .. } => std::slice::from_ref(xs),
            _ => return false,
        };
        let Some(&result) = s.results.first() else { return false };
        let Some(order) = xs.iter().find_map(|x| self.transposed.get(*x)).map(|t| t.order.clone()) else {
            return false;
        };
        let mut stmts = Vec::new();
        let operands = xs.iter().map(|&x| Some((x, self.operand(x, &order, &s.loc, &mut stmts)?)));
        let Some(operands) = operands.collect::<Option<HashMap<_, _>>>() else { return false };
        out.extend(stmts);
        let of = self.array(self.types[result.index()].clone());
        let stmt = |result, op| Stmt { results: smallvec![result], op, loc: s.loc.clone() };
        let mut operand = |a| operands.get(&a).copied().unwrap_or(a);
        out.push(stmt(of, crate::map_op(&s.op, &mut Fun::clone, &mut operand, &mut |b, _| b.clone())));
        out.push(stmt(result, transposition(of, &order, &s.loc)));
        self.transposed.note(result, of, order);
        self.changes = true;
        true
    }

    /// Folds a transposed array with the axes that are not folded in the order in which they lie in memory, and transposes the
    /// result; whether that is worth it.
    fn folded(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> bool {
        let (ArrayOp::Fold { f, init, xs }, Some(&result)) = (&s.op, s.results.first()) else { return false };
        let Some(Transposed { of, order }) = self.transposed.get(*xs) else { return false };
        let (of, order) = (*of, order.clone());
        let Some((&along, outer)) = order.split_last() else { return false };
        // Both folds may become one.
        if self.folded.contains(&result) {
            return false;
        }
        // What runs along memory, or beside its neighbours there, is in a good order.
        let innermost = outer.len();
        if along == innermost || outer.last() == Some(&innermost) {
            return false;
        }
        let mut sorted = outer.to_vec();
        sorted.sort_unstable();
        // Of each axis of the result the one of the fold in memory's order.
        let places = outer.iter().filter_map(|axis| sorted.binary_search(axis).ok()).collect::<Vec<_>>();
        sorted.push(along);
        let stmt = |result, op| Stmt { results: smallvec![result], op, loc: s.loc.clone() };
        let operand = self.array(self.types[xs.index()].clone());
        out.push(stmt(operand, transposition(of, &sorted, &s.loc)));
        let fold = self.array(self.types[result.index()].clone());
        out.push(stmt(fold, ArrayOp::Fold { f: f.clone(), init: init.clone(), xs: operand }));
        out.push(stmt(result, transposition(fold, &places, &s.loc)));
        self.transposed.note(result, fold, places);
        self.changes = true;
        true
    }

    /// The array of which this one has the elements in another order, if it is this order; `out` takes statements that it needs.
    fn operand(&mut self, x: ArrayId, order: &[usize], loc: &Loc, out: &mut Vec<Stmt>) -> Option<ArrayId> {
        if let Some(transposed) = self.transposed.get(x) {
            return (transposed.order == order).then_some(transposed.of);
        }
        let Replicate { axes, extents, xs } = self.replicates.get(&x)?;
        // Where several axes are those of the operand they stay in their order.
        let kept: Vec<usize> =
            order.iter().zip(axes).filter(|(_, a)| **a == Axis::All).map(|(&axis, _)| axis).collect();
        if !kept.is_sorted() {
            return None;
        }
        let mut transposed: Vec<(usize, Axis)> = order.iter().copied().zip(axes.iter().copied()).collect();
        transposed.sort_unstable_by_key(|(axis, _)| *axis);
        let fixed = order.iter().zip(axes).filter(|(_, a)| **a == Axis::Fixed);
        let mut results: Vec<(usize, Val)> =
            fixed.zip(&extents.body.results).map(|((&axis, _), &extent)| (axis, extent)).collect();
        results.sort_unstable_by_key(|(axis, _)| *axis);
        let mut extents = extents.clone();
        extents.body.results = results.into_iter().map(|(_, extent)| extent).collect();
        let op = ArrayOp::Replicate { axes: transposed.into_iter().map(|(_, a)| a).collect(), extents, xs: *xs };
        let of = self.array(self.types[x.index()].clone());
        out.push(Stmt { results: smallvec![of], op, loc: loc.clone() });
        Some(of)
    }

    fn array(&mut self, ty: ArrayType) -> ArrayId {
        self.types.push(ty);
        ArrayId(self.types.len() as u32 - 1)
    }
}

/// An array with its axes in another order: for each the axis of the operand.
fn transposition(xs: ArrayId, order: &[usize], loc: &Loc) -> ArrayOp {
    let vals: Vec<Val> = (0..order.len() as u32).map(Val).collect();
    let types = vec![ScalarType::I64; order.len()];
    let extent = |(&v, &axis): (&Val, &usize)| Node {
        results: smallvec![v],
        op: ScalarOp::Extent { array: xs, axis: axis as u32 },
        loc: loc.clone(),
    };
    let nodes = vals.iter().zip(order).map(extent).collect();
    let shape = Region { params: Vec::new(), nodes, results: vals.clone() };
    let mut results = vals.clone();
    for (&v, &axis) in vals.iter().zip(order) {
        results[axis] = v;
    }
    let index = Region { params: vals, nodes: Vec::new(), results };
    ArrayOp::Backpermute { shape: Fun { types: types.clone(), body: shape }, index: Fun { types, body: index }, xs }
}

#[cfg(test)]
mod tests {
    use super::pass;
    use crate::analysis::transposition::axis_order;
    use crate::settings::Rules;
    use crate::settings::Settings;
    use acc_core::RunLimits;
    use acc_core::ir::{ArrayOp, Program};
    use acc_core::text::parse;
    use std::borrow::Cow;

    fn sunk(program: &Program) -> Cow<'_, Program> {
        pass(program, &Settings::new(&Rules::all(), &RunLimits::none())).unwrap()
    }

    const TRANSPOSED: &str =
        "t: [2]f32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))";

    /// The statements of a program over a matrix and a vector, transpositions sunk; none if nothing changes.
    fn names_of(stmts: &str) -> Option<Vec<String>> {
        let text = format!("program(a: [2]f32, v: [1]f32) {{ {TRANSPOSED} {stmts} }}");
        let program = parse("sunk.acc", &text).unwrap();
        match sunk(&program) {
            Cow::Borrowed(_) => None,
            Cow::Owned(p) => Some(p.body.stmts.iter().map(|s| s.op.name().to_string()).collect()),
        }
    }

    #[test]
    fn maps_and_checks_come_before_transpositions() {
        let double = "m: [2]f32 = map(t, f: |%x: f32| add(%x, %x))";
        assert_eq!(names_of(&format!("{double} yield m")).unwrap(), ["backpermute", "map", "backpermute"]);
        let chain = format!("{double} n: [2]f32 = map(m, t, f: |%x: f32, %y: f32| mul(%x, %y)) yield n");
        assert_eq!(names_of(&chain).unwrap(), ["backpermute", "map", "backpermute", "zip_with", "backpermute"]);
        // What is repeated along an axis is repeated along the other one.
        let with_rows = "r: [2]f32 = replicate(v, axes: [all, fixed], extents: || extent(a, 0))
            m: [2]f32 = map(t, r, f: |%x: f32, %y: f32| sub(%x, %y)) yield m";
        let names = ["backpermute", "replicate", "replicate", "zip_with", "backpermute"];
        assert_eq!(names_of(with_rows).unwrap(), names);
        let checked = r#"m: [2]f32 = check(t, ok: || eq(extent(t, 0), extent(v, 0)), message: "columns") yield m"#;
        assert_eq!(names_of(checked).unwrap(), ["backpermute", "check", "backpermute"]);
    }

    /// The orders of axes that a fold over an array of rank 3 in another order leaves, of all that change it.
    fn folded(index: &str) -> Option<Vec<Vec<usize>>> {
        let shape = index.split(", ").map(|v| match v {
            "%i" => 0,
            "%j" => 1,
            _ => 2,
        });
        let mut extents = [""; 3];
        for (axis, own) in shape.enumerate() {
            extents[own] = ["extent(a, 0)", "extent(a, 1)", "extent(a, 2)"][axis];
        }
        let text = format!(
            "program(a: [3]f32) {{
               t: [3]f32 = backpermute(a, shape: || ({}), index: |%i: i64, %j: i64, %k: i64| ({index}))
               s: [2]f32 = fold1(t, f: |%x: f32, %y: f32| add(%x, %y))
               yield s
             }}",
            extents.join(", ")
        );
        let program = parse("sunk.acc", &text).unwrap();
        match sunk(&program) {
            Cow::Borrowed(_) => None,
            Cow::Owned(p) => Some(
                p.body
                    .stmts
                    .iter()
                    .skip(1)
                    .filter_map(|s| match &s.op {
                        ArrayOp::Backpermute { index, .. } => axis_order(index),
                        _ => None,
                    })
                    .collect(),
            ),
        }
    }

    #[test]
    fn folds_go_along_memory() {
        // The first axis is folded, and then the others.
        assert_eq!(folded("%k, %j, %i").unwrap(), [vec![1, 2, 0], vec![1, 0]]);
        assert_eq!(folded("%j, %k, %i").unwrap(), [vec![0, 2, 1], vec![1, 0]]);
        // In the order of memory already, or with a row of memory to fold.
        assert_eq!(folded("%k, %i, %j"), None);
        assert_eq!(folded("%i, %k, %j"), None);
        assert_eq!(folded("%j, %i, %k"), None);
    }

    #[test]
    fn what_is_transposed_otherwise_stays() {
        assert_eq!(names_of("m: [2]f32 = map(t, a, f: |%x: f32, %y: f32| sub(%x, %y)) yield m"), None);
        assert_eq!(names_of("m: [2]f32 = map(a, f: |%x: f32| add(%x, %x)) yield m, t"), None);
        // A part of a transposition.
        let part = "p: [2]f32 = backpermute(a, shape: || (extent(a, 1), 1i64), index: |%i: i64, %j: i64| (%j, %i))
            m: [2]f32 = map(p, f: |%x: f32| add(%x, %x)) yield m";
        assert_eq!(names_of(part), None);
        // Twice is not at all.
        let twice =
            "u: [2]f32 = backpermute(t, shape: || (extent(t, 1), extent(t, 0)), index: |%i: i64, %j: i64| (%j, %i))
            m: [2]f32 = map(u, f: |%x: f32| add(%x, %x)) yield m";
        assert_eq!(names_of(twice), None);
    }
}
