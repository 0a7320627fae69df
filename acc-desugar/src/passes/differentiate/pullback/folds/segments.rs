//! Adjoints of folds of segments.

use super::super::super::writer::{Writer, adder};
use super::super::Reverse;
use super::super::adjoint::Adjoint;
use super::shares::{Folded, shares};
use crate::passes::scan_segments;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Dir, PrimOp, Stmt};

impl Reverse<'_, '_> {
    pub(in super::super) fn fold_seg(&mut self, s: &Stmt, by: ArrayId) -> Result<(), Error> {
        let function = |name: &str| s.op.funs().into_iter().find(|(key, _)| *key == name).map(|(_, f)| f.clone());
        let (&[xs, offsets], Some(f), init) = (&s.op.arrays()[..], function("f"), function("init")) else {
            return self.w.no_rule(s.op.name(), &s.loc);
        };
        if let Some(shares) = shares(&f) {
            let segments = Some(self.segment_numbers(xs, offsets));
            let fold = Folded { op: &s.op, xs, y: s.results[0], init: init.as_ref(), segments };
            return self.shared(fold, &shares, Adjoint::Dense(vec![by]));
        }
        // As a scan with flags, of which adjoints are known.
        self.w.note("as a scan with flags");
        let y = s.results[0];
        let result = self.w.array(self.w.ty(y).clone());
        let own = Stmt { results: [result].into_iter().collect(), op: s.op.clone(), loc: s.loc.clone() };
        let stmts = scan_segments::as_scan(&mut self.w.types, &own);
        self.replaced(&stmts, &[(result, by)])
    }

    /// For each position of a row the number of its segment; -1 before the first one, and their number after the last one.
    fn segment_numbers(&mut self, xs: ArrayId, offsets: ArrayId) -> ArrayId {
        let int = EltType::Scalar(ScalarType::I64);
        let axis = self.w.rank(xs) - 1;
        let constant = |w: &Writer<'_>, rank: usize, n: i64| {
            let mut c = Code::of_index(rank, &w.loc);
            let n = c.int(n);
            c.done([n])
        };
        // How many offsets there are at each position, of which one more may be an end.
        let mut shape = self.w.code([]);
        let (n, one) = (shape.extent(xs, axis), shape.int(1));
        let more = shape.two(PrimOp::AddP, n, one);
        let op = ArrayOp::Generate { shape: shape.done([more]), f: constant(self.w, 1, 0) };
        let zeros = self.w.stmt(1, int.clone(), op);
        let op = ArrayOp::Generate { shape: self.w.extents_of(offsets), f: constant(self.w, 1, 1) };
        let ones = self.w.stmt(1, int.clone(), op);
        let mut target = Code::of_index(1, &self.w.loc);
        let k = target.params();
        let taken = target.literal(Lit::one(ScalarType::U8));
        let at = target.read(offsets, &[ScalarType::I64], &k)[0];
        let op = ArrayOp::Permute {
            defaults: zeros,
            xs: ones,
            combine: adder(&int, &self.w.loc),
            target: target.done([taken, at]),
        };
        let starts = self.w.stmt(1, int.clone(), op);
        let op = ArrayOp::Scan { dir: Dir::Left, xs: starts, f: adder(&int, &self.w.loc), init: None };
        let counts = self.w.stmt(1, int.clone(), op);
        let mut c = self.w.code([ScalarType::I64]);
        let (count, one) = (c.params()[0], c.int(1));
        let number = c.two(PrimOp::SubP, count, one);
        self.w.stmt(1, int, ArrayOp::Map { xs: vec![counts], f: c.done([number]), indexed: false })
    }
}
