//! Programs that find out whether an array they evaluate holds an infinity or a NaN.

use super::interpreted;
use super::points::numbers;
use acc_core::ad::Code;
use acc_core::data::{ArrayData, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Closed, Dir, Fun, Ir, Loc, Mapper, PrimOp, Program, Stmt};
use std::convert::Infallible;
use std::sync::Arc;

/// Whether an array of the program, or one in a branch that is taken or in a step of a loop, holds an infinity or a NaN at
/// this point, or elements that are combined give one in some order.
pub(super) fn has_infinities(program: &Program, args: &[ArrayData]) -> bool {
    let finite = |a: &ArrayData| numbers(a).all(f64::is_finite);
    !args.iter().all(finite) || interpreted(&Arc::new(checked(program)), args).is_err()
}

/// The program with a check of each array with floats that it is finite, and all of its arrays as results.
fn checked(program: &Program) -> Program {
    let mut all = program.clone();
    all.body.results = all.body.stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
    all.body = Checks { types: &mut all.types, stmts: Vec::new() }.checked(&all.body);
    all
}

struct Checks<'a> {
    types: &'a mut Vec<ArrayType>,
    /// Those of the block so far.
    stmts: Vec<Stmt>,
}

impl Checks<'_> {
    fn checked(&mut self, b: &Block) -> Block {
        let around = std::mem::take(&mut self.stmts);
        for s in &b.stmts {
            let mut s = Stmt { op: s.op.map(self), ..s.clone() };
            let with_float: Vec<ArrayId> = s.results.iter().copied().filter(|r| self.has_float(*r)).collect();
            // These are arrays by new names, and the checked ones have the old names.
            let unchecked: Vec<ArrayId> =
                with_float.iter().map(|r| self.array(self.types[r.index()].clone())).collect();
            let name = |r: &ArrayId| with_float.iter().position(|w| w == r).map_or(*r, |k| unchecked[k]);
            s.results = s.results.iter().map(name).collect();
            let (op, loc) = (s.op.clone(), s.loc.clone());
            self.stmts.push(s);
            for (xs, checked) in unchecked.into_iter().zip(with_float) {
                let flags = [xs].into_iter().chain(self.in_both_orders(&op, &loc)).collect::<Vec<_>>();
                let mut ok = Code::new([], &loc);
                let mut all = ok.truth(true);
                for a in flags {
                    let finite = self.all_finite(a, &loc);
                    let finite = ok.read(finite, &[ScalarType::Bool], &[])[0];
                    all = ok.two(PrimOp::AndP, all, finite);
                }
                let op = ArrayOp::Check { xs, ok: ok.done([all]), message: "an infinity".into() };
                self.stmts.push(Stmt { results: [checked].into_iter().collect(), op, loc: loc.clone() });
            }
        }
        let stmts = std::mem::replace(&mut self.stmts, around);
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    fn has_float(&self, a: ArrayId) -> bool {
        self.types[a.index()].elt.has_float()
    }

    fn array(&mut self, ty: ArrayType) -> ArrayId {
        self.types.push(ty);
        ArrayId(self.types.len() as u32 - 1)
    }

    fn stmt(&mut self, ty: ArrayType, op: ArrayOp, loc: &Loc) -> ArrayId {
        let result = self.array(ty);
        self.stmts.push(Stmt { results: [result].into_iter().collect(), op, loc: loc.clone() });
        result
    }

    /// The elements that an operation combines, combined from each end.
    fn in_both_orders(&mut self, op: &ArrayOp, loc: &Loc) -> Vec<ArrayId> {
        let f = op.funs().into_iter().find(|(key, _)| *key == "f").map(|(_, f)| f.clone());
        let (true, Some(&xs), Some(f)) = (op.class().reduces(), op.operand(), f) else { return Vec::new() };
        let scan = |dir| ArrayOp::Scan { dir, xs, f: f.clone(), init: None };
        let ty = self.types[xs.index()].clone();
        [Dir::Left, Dir::Right].map(|dir| self.stmt(ty.clone(), scan(dir), loc)).into()
    }

    /// Whether all of an array's floats are finite, as an array of rank 0.
    fn all_finite(&mut self, xs: ArrayId, loc: &Loc) -> ArrayId {
        let ArrayType { rank, elt } = self.types[xs.index()].clone();
        let mut c = Code::new(elt.leaves(), loc);
        let mut finite = c.truth(true);
        for v in c.params().into_iter().filter(|v| c.ty(*v).is_float()).collect::<Vec<_>>() {
            // Nothing but an infinity or a NaN has another difference from itself than 0.
            let (difference, zero) = (c.two(PrimOp::SubP, v, v), c.zero_like(v));
            let is_zero = c.two(PrimOp::EqP, difference, zero);
            finite = c.two(PrimOp::AndP, finite, is_zero);
        }
        let truths = |rank: usize| ArrayType { rank, elt: ScalarType::Bool.into() };
        let map = ArrayOp::Map { xs: vec![xs], f: c.done([finite]), indexed: false };
        let mut all = self.stmt(truths(rank), map, loc);
        for rank in (0..rank).rev() {
            let mut both = Code::new([ScalarType::Bool; 2], loc);
            let [a, b] = [both.params()[0], both.params()[1]];
            let and = both.two(PrimOp::AndP, a, b);
            let mut neutral = Code::new([], loc);
            let yes = neutral.truth(true);
            let fold = ArrayOp::Fold { xs: all, f: both.done([and]), init: Some(neutral.done([yes])) };
            all = self.stmt(truths(rank), fold, loc);
        }
        all
    }
}

impl Mapper<Ir, Ir> for Checks<'_> {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok(*a)
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(all.clone())
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, Infallible> {
        Ok(f.clone())
    }
    fn block(&mut self, b: &Block) -> Result<Block, Infallible> {
        Ok(self.checked(b))
    }
}

#[cfg(test)]
mod tests {
    use super::{checked, has_infinities};
    use acc_core::text::parse_test_file;

    #[test]
    fn infinities_in_steps_of_loops_and_in_branches_taken() {
        let source = "program(a: [2]f64, b: [1]f64) {
          n: [0]i64 = generate(shape: || (), f: || 0i64)
          k: [0]i64, end: [2]f64 = awhile(n, a, test: |k: [0]i64, xs: [2]f64| {
            more: [0]bool = map(k, f: |%k: i64| lt(%k, 2i64))
            yield more
          }, step: |k: [0]i64, xs: [2]f64| {
            roots: [1]f64 = map(b, f: |%b: f64| sqrt(%b))
            next: [0]i64 = map(k, f: |%k: i64| add(%k, 1i64))
            ys: [2]f64 = map(xs, f: |%x: f64| if gt(extent(roots, 0), 5i64) { yield roots[0i64] } else { yield %x })
            yield next, ys
          })
          yield end
        }
        run { a = [1, 2] f64 { 1.0, 2.0 } b = [2] f64 { 1.0, 4.0 } expect agree }
        run { a = [1, 2] f64 { 1.0, 2.0 } b = [6] f64 { 1.0, 4.0, 1.0, 4.0, -1.0, 4.0 } expect agree }
        run { a = [1, 2] f64 { 1.0, f64(inf) } b = [2] f64 { 1.0, 4.0 } expect agree }";
        let file = parse_test_file("p.acc", source).unwrap();
        acc_core::verify::verify(&checked(&file.program), None).unwrap();
        let found = file.runs.iter().map(|r| has_infinities(&file.program, &r.arrays().unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn products_that_are_too_large_in_one_order() {
        let source = "program(a: [1]f64) {
          b: [0]f64 = fold(a, f: |%x: f64, %y: f64| mul(%x, %y), init: || 1.0f64)
          yield b
        }
        run { a = [3] f64 { 0.0, 1e200, 1e200 } expect agree }
        run { a = [3] f64 { 1e200, 0.0, 1e200 } expect agree }";
        let file = parse_test_file("p.acc", source).unwrap();
        let found = file.runs.iter().map(|r| has_infinities(&file.program, &r.arrays().unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), [true, false]);
    }
}
