//! Adjoints of folds.
//!
//! Sums and extremes are in [`mod@shares`], operators that choose an element in [`choices`]. For any other operator, with `l` what lies left of an element `x` in the
//! row and `r` what lies right of it, the row's result is `(l ⊕ x) ⊕ r`: the adjoint of `l ⊕ x` is had from the outer
//! application, and that of `x` from the inner one. What lies left and right are scans (as in Bruun, Larsen, Munksgaard and
//! Oancea, Reverse-mode AD of reduce-by-index and scan, IFL 2023).

mod choices;
mod segments;
pub(super) mod shares;

use super::super::writer::float_leaves;
use super::Reverse;
use super::adjoint::Adjoint;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Dir, Fun, PrimOp, Val};
use choices::choice;
use shares::{Folded, shares};

/// On which side of a neighbour's result an element stands, and where that is.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// The element is the operator's right operand: what is combined so far stands left.
    pub(super) element_right: bool,
    /// Whether there is an element with nothing to be combined with, at the end where the scan begins.
    pub(super) alone_at_start: bool,
}

impl Reverse<'_, '_> {
    pub(super) fn fold(
        &mut self,
        (op, y): (&ArrayOp, ArrayId),
        xs: ArrayId,
        f: &Fun,
        init: Option<&Fun>,
        by: Adjoint,
    ) -> Result<(), Error> {
        if let Some(shares) = shares(f) {
            return self.shared(Folded { op, xs, y, init, segments: None }, &shares, by);
        }
        if let Some(choice) = choice(f) {
            self.w.note("of each result, the element that it is");
            let winner = self.chosen(xs, y, f, choice, init);
            let floats = float_leaves(self.w.elt(xs)).len();
            return self.of_winners(Folded { op, xs, y, init, segments: None }, &vec![Some(winner); floats], by);
        }
        let by = self.dense(y, by);
        self.w.note("by what is left and right of each element: two scans");
        let elt = self.w.elt(xs).clone();
        let before = self.scanned(xs, Dir::Left, f, init);
        let after = self.scanned(xs, Dir::Right, f, None);
        // What is combined up to each element, itself included.
        let up_to = if init.is_some() { self.shifted(before, xs, 1) } else { before };
        let of_up_to = self.adjoint_left_of(up_to, after, f, by)?;
        // What is combined before each element.
        let (left, beside) = match init {
            Some(_) => (before, Beside { element_right: true, alone_at_start: false }),
            None => (self.shifted(before, xs, -1), Beside { element_right: true, alone_at_start: true }),
        };
        self.elements(xs, left, f, beside, of_up_to)?;
        if let Some(init) = init
            && self.reads_active(init)
        {
            let of_init = self.adjoint_of_first(&elt, init, after, f, by)?;
            self.initial(Some(init), of_init)?;
        }
        Ok(())
    }

    fn scanned(&mut self, xs: ArrayId, dir: Dir, f: &Fun, init: Option<&Fun>) -> ArrayId {
        let (rank, elt) = (self.w.rank(xs), self.w.elt(xs).clone());
        self.w.stmt(rank, elt, ArrayOp::Scan { dir, xs, f: f.clone(), init: init.cloned() })
    }

    /// For each position of `like` the element of `a` so many places on along the rows, 0 where there is none.
    pub(super) fn shifted(&mut self, a: ArrayId, like: ArrayId, by: i64) -> ArrayId {
        let elt = self.w.elt(a).clone();
        let leaves = elt.leaves();
        self.over(like, elt, |c, index| {
            let Some((k, outer)) = index.split_last() else { return Vec::new() };
            let by = c.int(by);
            let at = c.two(PrimOp::AddP, *k, by);
            let there: Vec<Val> = outer.iter().copied().chain([at]).collect();
            let inside = c.within_axis(&a, outer.len(), at);
            c.read_where(inside, a, &leaves, &there)
        })
    }

    /// The adjoint of what is combined up to each element, of that of the rows' results.
    fn adjoint_left_of(&mut self, up_to: ArrayId, after: ArrayId, f: &Fun, by: ArrayId) -> Result<ArrayId, Error> {
        let elt = self.w.elt(up_to).clone();
        let leaves = elt.leaves();
        let (mut code, lanes) = self.lanes(&[up_to]);
        let rank = lanes.index.len();
        let by = code.read(by, &elt.tangent().leaves(), &lanes.index[..rank - 1]);
        // As a function of the point: the operator with what comes after, if something does.
        let mut g = self.w.code(code.params().iter().map(|v| code.ty(*v)).collect::<Vec<_>>());
        let params = g.params();
        let (n, one) = (g.extent(after, rank - 1), g.int(1));
        let next = g.two(PrimOp::AddP, params[rank - 1], one);
        let more = g.two(PrimOp::LtP, next, n);
        let at: Vec<Val> = params[..rank - 1].iter().copied().chain([next]).collect();
        let results = with_rest(&mut g, f, &params[rank..rank + leaves.len()], (after, more, &at), &leaves);
        let g = g.done(results);
        let args: Vec<Val> = lanes.index.iter().chain(&lanes.elements[0]).copied().collect();
        let active = floats_from(&g, rank, leaves.len());
        let swept = self.swept_alone(code, &g, &args, &active, &by)?;
        Ok(self.adjoint_of(&lanes, &swept, rank, &elt))
    }

    /// The adjoints of a row's elements and of what the operator reads, of those of each combined with what is beside it.
    pub(super) fn elements(
        &mut self,
        xs: ArrayId,
        beside: ArrayId,
        f: &Fun,
        how: Beside,
        by: ArrayId,
    ) -> Result<(), Error> {
        let ty = self.w.ty(xs).clone();
        let (rank, leaves) = (ty.rank, ty.elt.leaves());
        let index = vec![ScalarType::I64; rank];
        let mut g = self.w.code([&index[..], &leaves, &leaves].concat());
        let params = g.params();
        let (own, other) = params[rank..].split_at(leaves.len());
        let apply = |c: &mut Code| {
            let args = if how.element_right { [other, own].concat() } else { [own, other].concat() };
            c.inline(f, &args)
        };
        let results = if how.alone_at_start {
            let edge = if how.element_right {
                g.int(0)
            } else {
                let (n, one) = (g.extent(xs, rank - 1), g.int(1));
                g.two(PrimOp::SubP, n, one)
            };
            let alone = g.two(PrimOp::EqP, params[rank - 1], edge);
            g.branch(alone, &leaves, |_| own.to_vec(), apply)
        } else {
            apply(&mut g)
        };
        // As an element-wise statement, of which adjoints are known.
        let xs = vec![xs, self.constant(beside)];
        self.through(ty, ArrayOp::Map { xs, f: g.done(results), indexed: true }, by)
    }

    /// The adjoint of each row's initial value.
    fn adjoint_of_first(
        &mut self,
        elt: &EltType,
        init: &Fun,
        after: ArrayId,
        f: &Fun,
        by: ArrayId,
    ) -> Result<ArrayId, Error> {
        let leaves = elt.leaves();
        let (mut code, lanes) = self.lanes(&[by]);
        let start = code.inline(init, &[]);
        let rank = lanes.index.len();
        let mut g = self.w.code(vec![ScalarType::I64; rank].into_iter().chain(leaves.clone()));
        let params = g.params();
        let (zero, n) = (g.int(0), g.extent(after, rank));
        let any = g.two(PrimOp::LtP, zero, n);
        let at: Vec<Val> = params[..rank].iter().copied().chain([zero]).collect();
        let results = with_rest(&mut g, f, &params[rank..], (after, any, &at), &leaves);
        let g = g.done(results);
        let args: Vec<Val> = lanes.index.iter().chain(&start).copied().collect();
        let active = floats_from(&g, rank, leaves.len());
        let swept = self.swept_alone(code, &g, &args, &active, &lanes.elements[0])?;
        Ok(self.adjoint_of(&lanes, &swept, rank, elt))
    }

    /// What an initial value reads has the sum of the adjoints of all rows.
    pub(super) fn initial(&mut self, init: Option<&Fun>, of_rows: ArrayId) -> Result<(), Error> {
        let Some(init) = init.filter(|f| self.reads_active(f)) else { return Ok(()) };
        let elt = EltType::tuple(init.result_types().map(EltType::Scalar));
        if !self.w.assumes {
            // Without rows it is not evaluated.
            let rank = self.w.rank(of_rows);
            let mut c = Code::of_index(rank, &self.w.loc);
            let results = c.inline(init, &[]);
            let op = ArrayOp::Generate { shape: self.w.extents_of(of_rows), f: c.done(results) };
            return self.through(ArrayType { rank, elt }, op, of_rows);
        }
        let total = self.fold_axes(of_rows, &[]);
        let op = ArrayOp::Generate { shape: self.w.code([]).done([]), f: init.clone() };
        self.through(ArrayType { rank: 0, elt }, op, total)
    }
}

/// Which parameters of a function are active: the floats among `count` ones from this position on.
pub(super) fn floats_from(f: &Fun, first: usize, count: usize) -> Vec<bool> {
    f.param_types().enumerate().map(|(k, ty)| (first..first + count).contains(&k) && ty.is_float()).collect()
}

/// An element combined with what comes after it in its row: with the element there of the scan from the right, if there is
/// one.
fn with_rest(
    c: &mut Code,
    f: &Fun,
    own: &[Val],
    (after, there, at): (ArrayId, Val, &[Val]),
    leaves: &[ScalarType],
) -> Vec<Val> {
    c.branch(
        there,
        leaves,
        |c| {
            let rest = c.read(after, leaves, at);
            c.inline(f, &[own, &rest].concat())
        },
        |_| own.to_vec(),
    )
}
