//! Permutes by any combining function, as loops of arrays.
//!
//! A combining function need not be associative: elements are combined one after the other. In each step of the loop every
//! target takes the next of its elements, in the order of the source, which a stable sort by targets finds.

use super::super::Reverse;
use super::super::permute::linear;
use super::int;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Dir, Fun, PrimOp, Stmt, Val};

/// A permute.
#[derive(Clone, Copy)]
pub(in super::super) struct Permute<'s> {
    pub(in super::super) defaults: ArrayId,
    pub(in super::super) xs: ArrayId,
    pub(in super::super) combine: &'s Fun,
    pub(in super::super) target: &'s Fun,
}

const INT: ScalarType = ScalarType::I64;

impl Reverse<'_, '_> {
    /// The statements that a permute becomes, and the array of its results.
    pub(in super::super) fn in_rounds(&mut self, p: Permute<'_>) -> Result<(Vec<Stmt>, ArrayId), Error> {
        let (stmts, result) = self.inner(|this| this.rounds(p));
        Ok((stmts, result?))
    }

    fn rounds(&mut self, p: Permute<'_>) -> Result<ArrayId, Error> {
        // The elements by targets: those that are dropped come last.
        let into = (p.defaults, self.w.rank(p.defaults));
        let targets = self.over(p.xs, INT.into(), |c, index| {
            let place = c.inline(p.target, index);
            let size = product(c, into, 0);
            let Some((tag, at)) = place.split_first() else { return vec![size] };
            let dropped = c.literal(Lit::zero(ScalarType::U8));
            let taken = c.two(PrimOp::NeP, *tag, dropped);
            c.branch(taken, &[INT], |c| vec![linear(c, p.defaults, at)], |_| vec![size])
        });
        let targets = self.flat(targets);
        let order = self.w.stmt(1, INT.into(), ArrayOp::Argsort { xs: targets });
        // How many each target has, and where they begin.
        let none = self.over(p.defaults, INT.into(), |c, _| vec![c.int(0)]);
        let ones = self.over(p.xs, INT.into(), |c, _| vec![c.int(1)]);
        let add = super::super::super::writer::adder(&INT.into(), &self.w.loc);
        let op = ArrayOp::Permute { defaults: none, xs: ones, combine: add.clone(), target: p.target.clone() };
        let rank = into.1;
        let counts = self.w.stmt(rank, INT.into(), op);
        let counts = self.flat(counts);
        let mut zero = self.w.code([]);
        let none = zero.int(0);
        let zero = zero.done([none]);
        let op = ArrayOp::Scan { dir: Dir::Left, xs: counts, f: add, init: Some(zero.clone()) };
        let starts = self.w.stmt(1, INT.into(), op);
        let mut max = self.w.code([INT, INT]);
        let both = max.params();
        let greater = max.two(PrimOp::MaxP, both[0], both[1]);
        let op = ArrayOp::Fold { xs: counts, f: max.done([greater]), init: Some(zero) };
        let most = self.w.stmt(0, INT.into(), op);
        // The loop.
        let init = vec![self.number(|c| c.int(0)), p.defaults];
        let test = self.block(&init, |this, state| {
            let more = this.number(|c| {
                let (n, most) = (int(c, state[0]), int(c, most));
                c.two(PrimOp::LtP, n, most)
            });
            Ok(vec![more])
        })?;
        let step = self
            .block(&init, |this, state| Ok(vec![this.next(state[0]), this.round(p, state, [counts, starts, order])]))?;
        Ok(self.while_(init, test, step)[1])
    }

    /// All targets, each combined with its next element if there is one.
    fn round(&mut self, p: Permute<'_>, state: &[ArrayId], [counts, starts, order]: [ArrayId; 3]) -> ArrayId {
        let (n, so_far) = (state[0], state[1]);
        let (mut c, lanes) = self.lanes(&[so_far]);
        let own = lanes.elements[0].clone();
        let elt = self.w.elt(so_far).clone();
        let leaves = elt.leaves();
        let n = int(&mut c, n);
        let at = linear(&mut c, p.defaults, &lanes.index);
        let count = c.read(counts, &[INT], &[at])[0];
        let more = c.two(PrimOp::LtP, n, count);
        let rank = self.w.rank(p.xs);
        let next = c.branch(
            more,
            &leaves,
            |c| {
                let start = c.read(starts, &[INT], &[at])[0];
                let place = c.two(PrimOp::AddP, start, n);
                let from = c.read(order, &[INT], &[place])[0];
                let mut index: Vec<Val> = Vec::new();
                for axis in 0..rank {
                    let (stride, extent) = (product(c, (p.xs, rank), axis + 1), c.extent(p.xs, axis));
                    let whole = c.two(PrimOp::QuotP, from, stride);
                    index.push(c.two(PrimOp::RemP, whole, extent));
                }
                let new = c.read(p.xs, &leaves, &index);
                c.inline(p.combine, &[new, own.clone()].concat())
            },
            |_| own.clone(),
        );
        self.at_points(&lanes, c, next, elt)
    }

    /// The elements of an array of integers as a vector.
    fn flat(&mut self, a: ArrayId) -> ArrayId {
        let mut c = self.w.code([]);
        let size = product(&mut c, (a, self.w.rank(a)), 0);
        let elt: EltType = self.w.elt(a).clone();
        self.w.stmt(1, elt, ArrayOp::Reshape { xs: a, shape: c.done([size]) })
    }
}

/// The product of the extents from an axis on, of an array of this rank.
fn product(c: &mut Code, (a, rank): (ArrayId, usize), from: usize) -> Val {
    let mut size = c.int(1);
    for axis in from..rank {
        let n = c.extent(a, axis);
        size = c.two(PrimOp::MulP, size, n);
    }
    size
}
