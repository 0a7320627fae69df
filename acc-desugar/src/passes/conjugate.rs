//! Operators that are sums of transformed operands: `f(a, b) = g(h(a) + h(b))` with `h(g(s)) = s`.
//!
//! The logarithm of a sum of exponentials is one, and the root of a sum of squares. A fold or scan by such an operator is `g` of
//! the fold or scan by addition of `h` of each element: the functions are evaluated once for each element, not for each step,
//! and sums are what executors have for themselves. Where the operator is applied to nothing, which is at the first element or
//! the initial value, the result is that itself.

use crate::settings::Settings;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Dir, Fun, Loc, PrimOp, Program, ScalarOp, Stmt, Val};
use smallvec::smallvec;
use std::borrow::Cow;

/// Makes sums of folds and scans by such operators.
pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !settings.rules.on("conjugate") || !any(&program.body) {
        return Ok(Cow::Borrowed(program));
    }
    let mut p = Pass { types: program.types.clone() };
    let body = p.block(&program.body);
    Ok(Cow::Owned(Program { types: p.types, names: program.names.clone(), body }))
}

/// The function of each operand, and that of the sum.
#[derive(Clone, Copy)]
enum Conjugate {
    /// `ln(exp(a) + exp(b))`
    Exp,
    /// `sqrt(a * a + b * b)`
    Square,
}

impl Conjugate {
    /// The operator of a fold or scan as one of these.
    fn of(op: &ArrayOp) -> Option<Conjugate> {
        let (ArrayOp::Fold { f, .. } | ArrayOp::Scan { f, .. }) = op else { return None };
        let ([a, b], [result]) = (&f.body.params[..], &f.body.results[..]) else { return None };
        let (conjugate, sum) = match applied(f, *result)? {
            (PrimOp::LnP, [sum]) => (Conjugate::Exp, *sum),
            (PrimOp::SqrtP, [sum]) => (Conjugate::Square, *sum),
            _ => return None,
        };
        let (PrimOp::AddP, [left, right]) = applied(f, sum)? else { return None };
        let is_of = |v: Val, x: Val| match (conjugate, applied(f, v)) {
            (Conjugate::Exp, Some((PrimOp::ExpP, [y]))) => *y == x,
            (Conjugate::Square, Some((PrimOp::MulP, [y, z]))) => *y == x && *z == x,
            _ => false,
        };
        let both = is_of(*left, *a) && is_of(*right, *b) || is_of(*left, *b) && is_of(*right, *a);
        both.then_some(conjugate)
    }

    /// The function of an operand.
    fn transformed(self, c: &mut Code, x: Val) -> Val {
        match self {
            Conjugate::Exp => c.op(PrimOp::ExpP, &[x]),
            Conjugate::Square => c.two(PrimOp::MulP, x, x),
        }
    }

    /// Its inverse.
    fn back(self, c: &mut Code, sum: Val) -> Val {
        match self {
            Conjugate::Exp => c.op(PrimOp::LnP, &[sum]),
            Conjugate::Square => c.op(PrimOp::SqrtP, &[sum]),
        }
    }
}

/// The primitive that yields a value, and its arguments.
fn applied(f: &Fun, v: Val) -> Option<(PrimOp, &[Val])> {
    let ScalarOp::Prim(op, args) = &f.body.definition(v)?.op else { return None };
    Some((*op, args))
}

fn any(b: &Block) -> bool {
    b.stmts
        .iter()
        .any(|s| Conjugate::of(&s.op).is_some() || s.op.blocks().into_iter().any(|b| acc_core::grow_stack(|| any(b))))
}

struct Pass {
    types: Vec<ArrayType>,
}

impl Pass {
    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            match Conjugate::of(&s.op) {
                Some(conjugate) => self.sums(s, conjugate, &mut stmts),
                None => {
                    let op = crate::map_op(&s.op, &mut |f: &Fun| f.clone(), &mut |a| a, &mut |b, _| {
                        acc_core::grow_stack(|| self.block(b))
                    });
                    stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
                }
            }
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    fn sums(&mut self, s: &Stmt, conjugate: Conjugate, out: &mut Vec<Stmt>) {
        let (dir, xs, init) = match &s.op {
            ArrayOp::Fold { xs, init, .. } => (None, *xs, init.as_ref()),
            ArrayOp::Scan { dir, xs, init, .. } => (Some(*dir), *xs, init.as_ref()),
            _ => return,
        };
        let loc = &s.loc;
        let ArrayType { rank, elt } = self.types[xs.index()].clone();
        let [ty] = elt.leaves()[..] else { return };
        let mut add = |types: &mut Vec<ArrayType>, rank: usize, op: ArrayOp| {
            types.push(ArrayType { rank, elt: elt.clone() });
            let result = ArrayId(types.len() as u32 - 1);
            out.push(Stmt { results: smallvec![result], op, loc: loc.clone() });
            result
        };
        let mut c = Code::new([ty], loc);
        let h = conjugate.transformed(&mut c, Val(0));
        let transformed = add(&mut self.types, rank, ArrayOp::Map { f: c.done([h]), xs: vec![xs], indexed: false });

        let mut c = Code::new([ty; 2], loc);
        let sum = c.two(PrimOp::AddP, Val(0), Val(1));
        let f = c.done([sum]);
        let start = init.map(|init| {
            let mut c = Code::new([], loc);
            let z = c.inline(init, &[])[0];
            let h = conjugate.transformed(&mut c, z);
            c.done([h])
        });
        let rank = self.types[s.results[0].index()].rank;
        let op = match dir {
            None => ArrayOp::Fold { f, init: start, xs: transformed },
            Some(dir) => ArrayOp::Scan { dir, f, init: start, xs: transformed },
        };
        let summed = add(&mut self.types, rank, op);
        let f = restored(conjugate, dir, (xs, init), summed, (rank, ty), loc);
        let op = ArrayOp::Map { f, xs: vec![summed], indexed: true };
        out.push(Stmt { results: s.results.clone(), op, loc: loc.clone() });
    }
}

/// From an index and the sum there to the result.
fn restored(
    conjugate: Conjugate,
    dir: Option<Dir>,
    (xs, init): (ArrayId, Option<&Fun>),
    summed: ArrayId,
    (rank, ty): (usize, ScalarType),
    loc: &Loc,
) -> Fun {
    let mut c = Code::new(vec![ScalarType::I64; rank].into_iter().chain([ty]), loc);
    let params = c.params();
    let (index, sum) = params.split_at(rank);
    // Whether the operator was applied, and the index of the first element.
    let alone = match dir {
        None => {
            let (n, least) = (c.extent(xs, rank), c.int(i64::from(init.is_none())));
            c.two(PrimOp::LeP, n, least)
        }
        Some(Dir::Left) => {
            let zero = c.int(0);
            c.two(PrimOp::EqP, index[rank - 1], zero)
        }
        Some(Dir::Right) => {
            let (n, one) = (c.extent(summed, rank - 1), c.int(1));
            let last = c.two(PrimOp::SubP, n, one);
            c.two(PrimOp::EqP, index[rank - 1], last)
        }
    };
    let first = |c: &mut Code| match init {
        Some(init) => c.inline(init, &[]),
        None => {
            let mut at = index.to_vec();
            if dir.is_none() {
                at.push(c.int(0));
            }
            c.read(xs, &[ty], &at)
        }
    };
    let results = c.branch(alone, &[ty], first, |c| vec![conjugate.back(c, sum[0])]);
    c.done(results)
}

#[cfg(test)]
mod tests {
    use super::pass;
    use crate::{Rules, Settings};
    use acc_core::RunLimits;
    use std::borrow::Cow;

    /// Whether a scan by this operator becomes a sum.
    fn is_sum(operator: &str) -> bool {
        let text = format!("program(x: [1]f64) {{ y: [1]f64 = scanl1(x, f: |%a: f64, %b: f64| {operator}) yield y }}");
        let program = acc_core::text::parse("scan.acc", &text).unwrap();
        let (rules, limits) = (Rules::all(), RunLimits::none());
        let made = pass(&program, &Settings::new(&rules, &limits)).unwrap();
        acc_core::verify::verify(&made, None).unwrap();
        matches!(made, Cow::Owned(_))
    }

    #[test]
    fn sums_of_transformed_operands_are_found() {
        assert!(is_sum("ln(add(exp(%a), exp(%b)))") && is_sum("ln(add(exp(%b), exp(%a)))"));
        assert!(is_sum("sqrt(add(mul(%a, %a), mul(%b, %b)))"));
    }

    #[test]
    fn others_are_not() {
        for operator in [
            "ln(add(exp(%a), exp(%a)))",
            "ln(add(exp(%a), mul(%b, %b)))",
            "sqrt(add(exp(%a), exp(%b)))",
            "sqrt(add(mul(%a, %b), mul(%b, %b)))",
            "ln(mul(exp(%a), exp(%b)))",
            "add(%a, %b)",
        ] {
            assert!(!is_sum(operator), "{operator}");
        }
    }
}
