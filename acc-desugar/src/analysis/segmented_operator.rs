//! Operators of segmented scans: those that restart where a mark is set.
//!
//! `(m1, a) . (m2, b) = (m1 | m2, if m2 { b } else { a op b })` is associative if `op` is, and a scan with it is a scan of
//! each of the segments that marks begin (Blelloch, *Prefix sums and their applications*, 1990). [`segmented_operator`] finds such
//! operators however they are written: leaves in any order, conditionals or selections, conditions negated or not.

use crate::analysis::operators::is_of;
use acc_core::data::ScalarType;
use acc_core::ir::{Dir, Fun, PrimOp, Region, ScalarOp, Val};

/// An operator that restarts where the element that is later in the order of the scan is marked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SegmentedOperator {
    /// The leaf that is the mark, a truth value.
    pub mark: usize,
    /// What it does to each leaf between marks; of the mark itself that is `or`.
    pub ops: Vec<PrimOp>,
}

/// What an operator of a scan is, if it restarts at marks and does to each other leaf an operation known to be
/// associative and commutative.
///
/// ```
/// use acc_core::ir::{ArrayOp, Dir, PrimOp};
/// use acc_desugar::analysis::segmented_operator::segmented_operator;
/// let program = acc_core::text::parse("p.acc", "
///     program(xs: [1](bool, i64)) {
///       ys: [1](bool, i64) = scanl1(xs, f: |%f: bool, %a: i64, %g: bool, %b: i64|
///         (or(%f, %g), if %g { yield %b } else { yield add(%a, %b) }))
///       yield ys
///     }")?;
/// let ArrayOp::Scan { f, .. } = &program.body.stmts[0].op else { unreachable!() };
/// assert_eq!(segmented_operator(f, Dir::Left).map(|r| (r.mark, r.ops)), Some((0, vec![PrimOp::OrP, PrimOp::AddP])));
/// assert_eq!(segmented_operator(f, Dir::Right), None);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn segmented_operator(f: &Fun, dir: Dir) -> Option<SegmentedOperator> {
    let n = f.body.results.len();
    let (low, high) = f.body.params.split_at_checked(n)?;
    let (earlier, later) = if dir == Dir::Left { (low, high) } else { (high, low) };
    let operator = Operator { f };
    (0..n).find_map(|mark| {
        if f.ty(later[mark]) != ScalarType::Bool {
            return None;
        }
        let leaf = |k: usize| {
            let result = f.body.results[k];
            if k == mark {
                return operator.is_or(result, earlier[k], later[k]).then_some(PrimOp::OrP);
            }
            let (first, on) = operator.chosen(result, later[mark])?;
            (first == later[k]).then(|| operator.operation(on, earlier[k], later[k]))?
        };
        let ops: Option<Vec<PrimOp>> = (0..n).map(leaf).collect();
        ops.filter(|_| n > 1).map(|ops| SegmentedOperator { mark, ops })
    })
}

struct Operator<'a> {
    f: &'a Fun,
}

impl Operator<'_> {
    fn def(&self, v: Val) -> Option<(&ScalarOp, usize)> {
        fn within(region: &Region, v: Val) -> Option<(&ScalarOp, usize)> {
            region.nodes.iter().find_map(|node| {
                let own = node.results.iter().position(|r| *r == v).map(|at| (&node.op, at));
                own.or_else(|| match &node.op {
                    ScalarOp::If { then, else_, .. } => within(then, v).or_else(|| within(else_, v)),
                    _ => None,
                })
            })
        }
        within(&self.f.body, v)
    }

    fn prim(&self, v: Val) -> Option<(PrimOp, &[Val])> {
        match self.def(v)? {
            (ScalarOp::Prim(p, args), _) => Some((*p, args)),
            _ => None,
        }
    }

    fn is_or(&self, v: Val, a: Val, b: Val) -> bool {
        let or = |p| matches!(p, PrimOp::OrP | PrimOp::MaxP);
        self.prim(v).is_some_and(|(p, args)| or(p) && (args == [a, b] || args == [b, a]))
            || self.chosen(v, a).is_some_and(|(then, else_)| else_ == b && (then == a || self.is_true(then)))
            || self.chosen(v, b).is_some_and(|(then, else_)| else_ == a && (then == b || self.is_true(then)))
    }

    fn is_true(&self, v: Val) -> bool {
        matches!(self.def(v), Some((ScalarOp::Const(lit), _)) if lit.bits == 1)
    }

    /// What a value is if a condition holds, and if it does not.
    fn chosen(&self, v: Val, condition: Val) -> Option<(Val, Val)> {
        let (cond, then, else_) = match self.def(v)? {
            (ScalarOp::Select { cond, then, else_ }, _) => (*cond, *then, *else_),
            (ScalarOp::If { cond, then, else_ }, at) => (*cond, *then.results.get(at)?, *else_.results.get(at)?),
            _ => return None,
        };
        let negated = matches!(self.prim(cond), Some((PrimOp::NotP, [c])) if *c == condition);
        match cond == condition {
            true => Some((then, else_)),
            false => negated.then_some((else_, then)),
        }
    }

    /// The operation of two values that a value is.
    fn operation(&self, v: Val, a: Val, b: Val) -> Option<PrimOp> {
        let (p, args) = self.prim(v)?;
        is_of(p, args, a, b).then_some(p)
    }
}
