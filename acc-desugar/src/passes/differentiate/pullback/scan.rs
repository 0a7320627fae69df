//! Adjoints of scans.
//!
//! A scan's result at a position goes into the next one, so its whole adjoint is its own plus what comes back from there: a
//! linear recurrence `r[i] = v[i] + C[i] r[i + 1]` from the other end, with `C[i]` the derivatives of the next result by this
//! one. Of sums `C` is 1, and the recurrence is a scan of sums; of any other operator it is a scan that composes such linear
//! functions (Blelloch, Prefix sums and their applications, 1990).

use super::super::dual::sums;
use super::super::sweep::sweep;
use super::super::writer::{adder, float_leaves};
use super::Reverse;
use super::folds::{Beside, floats_from};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Dir, Fun, PrimOp, Val};

impl Reverse<'_, '_> {
    pub(super) fn scan(
        &mut self,
        y: ArrayId,
        dir: Dir,
        xs: ArrayId,
        f: &Fun,
        init: Option<&Fun>,
        by: ArrayId,
    ) -> Result<(), Error> {
        let back = match dir {
            Dir::Left => Dir::Right,
            Dir::Right => Dir::Left,
        };
        let how =
            if sums(f) { "a scan of sums from the other end" } else { "a recurrence from the other end, as a scan" };
        self.w.note(how);
        let whole = if sums(f) {
            let (rank, elt) = (self.w.rank(by), self.w.elt(by).clone());
            let op = ArrayOp::Scan { dir: back, xs: by, f: adder(&elt, &self.w.loc), init: None };
            self.w.stmt(rank, elt, op)
        } else {
            self.recurrence(y, dir, xs, f, init.is_some(), by)?
        };
        // The element at a position is combined with the result before it, into the result there: with an initial value
        // from the left that one stands one place on.
        let of_elements = match (dir, init) {
            (Dir::Left, Some(_)) => self.shifted(whole, xs, 1),
            (Dir::Right, Some(_)) => self.first_of(whole, xs),
            (Dir::Left | Dir::Right, None) => whole,
        };
        if sums(f) {
            self.contribute(xs, of_elements);
        } else {
            let (before, alone_at_start) = match (dir, init) {
                (Dir::Left, Some(_)) => (y, false),
                (Dir::Left, None) => (self.shifted(y, xs, -1), true),
                (Dir::Right, Some(_)) => (self.shifted(y, xs, 1), false),
                (Dir::Right, None) => (self.shifted(y, xs, 1), true),
            };
            let how = Beside { element_right: dir == Dir::Left, alone_at_start };
            self.elements(xs, before, f, how, of_elements)?;
        }
        match init {
            Some(init) if self.reads_active(init) => {
                let of_init = self.end_of_rows(whole, dir);
                self.initial(Some(init), of_init)
            }
            _ => Ok(()),
        }
    }

    /// An array's elements at the positions that another one has.
    fn first_of(&mut self, a: ArrayId, like: ArrayId) -> ArrayId {
        if self.w.same_extents(a, like) {
            return a;
        }
        let elt = self.w.elt(a).clone();
        let leaves = elt.leaves();
        self.over(like, elt, |c, index| c.read(a, &leaves, index))
    }

    /// The first element of each row, or from the right the last one.
    fn end_of_rows(&mut self, a: ArrayId, dir: Dir) -> ArrayId {
        let (rank, elt) = (self.w.rank(a), self.w.elt(a).clone());
        let mut shape = self.w.code([]);
        let extents: Vec<Val> = (0..rank - 1).map(|axis| shape.extent(a, axis)).collect();
        let mut c = Code::of_index(rank - 1, &self.w.loc);
        let mut at = c.params();
        at.push(match dir {
            Dir::Left => c.int(0),
            Dir::Right => {
                let (n, one) = (c.extent(a, rank - 1), c.int(1));
                c.two(PrimOp::SubP, n, one)
            }
        });
        let op = ArrayOp::Backpermute { xs: a, shape: shape.done(extents), index: c.done(at) };
        self.w.stmt(rank - 1, elt, op)
    }

    /// The whole adjoints of a scan's results.
    fn recurrence(
        &mut self,
        y: ArrayId,
        dir: Dir,
        xs: ArrayId,
        f: &Fun,
        initial: bool,
        by: ArrayId,
    ) -> Result<ArrayId, Error> {
        let elt = self.w.elt(y).clone();
        let (leaves, floats) = (elt.leaves(), float_leaves(&elt));
        let step = self.step(y, dir, xs, f, initial);
        // How the next result changes with each float of this one, row by row of the matrix.
        let (mut code, lanes) = self.lanes(&[y, by]);
        let rank = lanes.index.len();
        let args: Vec<Val> = lanes.index.iter().chain(&lanes.elements[0]).copied().collect();
        let active = floats_from(&step, rank, leaves.len());
        let m = floats.len();
        let mut columns: Vec<Vec<Val>> = Vec::new();
        let mut nonzero = vec![vec![false; m]; m];
        for (column, q) in floats.iter().enumerate() {
            let one = |c: &mut Code, k: usize| (k == *q).then(|| c.literal(Lit::one(leaves[k])));
            let mut swept = sweep(code, &step, &args, &[], &active, &|_, _| false, &one)?;
            for (row, p) in nonzero.iter_mut().zip(&floats) {
                row[column] = swept.has_adjoint(rank + p);
            }
            columns.push(floats.iter().map(|p| swept.adjoint(rank + p, leaves[*p])).collect());
            code = swept.code;
        }
        let linear = Linear::new(floats.iter().map(|k| leaves[*k]).collect(), nonzero);
        let matrix = linear.entries.iter().map(|(p, q)| columns[*q][*p]);
        let results: Vec<Val> = matrix.chain(lanes.elements[1].iter().copied()).collect();
        let functions = self.at_points(&lanes, code, results, linear.elt());
        let back = match dir {
            Dir::Left => Dir::Right,
            Dir::Right => Dir::Left,
        };
        let op = ArrayOp::Scan { dir: back, xs: functions, f: self.composed(&linear, dir), init: None };
        let rank = self.w.rank(by);
        let composed = self.w.stmt(rank, linear.elt(), op);
        let (code, lanes) = self.lanes(&[composed]);
        let values = lanes.elements[0][linear.entries.len()..].to_vec();
        let elt = self.w.elt(by).clone();
        Ok(self.at_points(&lanes, code, values, elt))
    }

    /// From the index and the leaves of a result to the next result, or zeros where there is none.
    fn step(&self, y: ArrayId, dir: Dir, xs: ArrayId, f: &Fun, initial: bool) -> Fun {
        let (rank, leaves) = (self.w.rank(y), self.w.elt(y).leaves());
        let mut g = self.w.code(vec![ScalarType::I64; rank].into_iter().chain(leaves.clone()));
        let params = g.params();
        let (index, own) = params.split_at(rank);
        let k = index[rank - 1];
        let one = g.int(1);
        let (more, at) = match dir {
            Dir::Left => {
                let n = g.extent(xs, rank - 1);
                // With an initial value the results stand one place on.
                let at = if initial { k } else { g.two(PrimOp::AddP, k, one) };
                (g.two(PrimOp::LtP, at, n), at)
            }
            Dir::Right => {
                let at = g.two(PrimOp::SubP, k, one);
                let zero = g.int(0);
                (g.two(PrimOp::GeP, at, zero), at)
            }
        };
        let at: Vec<Val> = index[..rank - 1].iter().copied().chain([at]).collect();
        let results = g.branch(
            more,
            &leaves,
            |c| {
                let x = c.read(xs, &leaves, &at);
                let args = match dir {
                    Dir::Left => [own, &x[..]].concat(),
                    Dir::Right => [&x[..], own].concat(),
                };
                c.inline(f, &args)
            },
            |c| c.zeros(&leaves),
        );
        g.done(results)
    }

    /// One linear function after the other: of that of a position and that of the position after it in the direction of the
    /// recurrence.
    fn composed(&self, linear: &Linear, dir: Dir) -> Fun {
        let leaves = linear.elt().leaves();
        let mut c = self.w.code([leaves.as_slice(), leaves.as_slice()].concat());
        let params = c.params();
        let (left, right) = params.split_at(leaves.len());
        // A recurrence from the right applies the left one last.
        let (outer, inner) = match dir {
            Dir::Left => (left, right),
            Dir::Right => (right, left),
        };
        let (entries, m) = (linear.entries.len(), linear.types.len());
        // A row of the outer matrix times the entries of a column.
        let dot = |c: &mut Code, p: usize, column: &dyn Fn(usize) -> Option<Val>, plus: Option<Val>| {
            let mut sum = plus;
            for k in 0..m {
                let (Some(factor), Some(other)) = (linear.place(p, k).map(|at| outer[at]), column(k)) else { continue };
                let ty = c.ty(factor);
                let other = c.cast(other, ty);
                let product = c.two(PrimOp::MulP, factor, other);
                sum = Some(match sum {
                    Some(s) => c.two(PrimOp::AddP, s, product),
                    None => product,
                });
            }
            sum
        };
        let mut results = Vec::new();
        for (p, q) in &linear.entries {
            let product = dot(&mut c, *p, &|k| linear.place(k, *q).map(|at| inner[at]), None);
            results.push(product.unwrap_or_else(|| c.literal(Lit::zero(linear.types[*p]))));
        }
        for p in 0..m {
            results.extend(dot(&mut c, p, &|k| Some(inner[entries + k]), Some(outer[entries + p])));
        }
        c.done(results)
    }
}

/// Linear functions of vectors: a matrix and a vector each.
struct Linear {
    /// The types of the components.
    types: Vec<ScalarType>,
    /// The entries of the matrices that may differ from 0, by row and column. Products of such matrices have no others.
    entries: Vec<(usize, usize)>,
}

impl Linear {
    fn new(types: Vec<ScalarType>, mut nonzero: Vec<Vec<bool>>) -> Linear {
        // The transitive closure (Warshall, A theorem on Boolean matrices, 1962).
        let m = types.len();
        for k in 0..m {
            for p in 0..m {
                for q in 0..m {
                    nonzero[p][q] |= nonzero[p][k] && nonzero[k][q];
                }
            }
        }
        let entries = (0..m).flat_map(|p| (0..m).map(move |q| (p, q))).filter(|(p, q)| nonzero[*p][*q]).collect();
        Linear { types, entries }
    }

    /// Where an entry is among those that may differ from 0.
    fn place(&self, row: usize, column: usize) -> Option<usize> {
        self.entries.iter().position(|entry| *entry == (row, column))
    }

    /// The type of a function: the entries of the matrix, row by row, each of the type of its row, and the vector.
    fn elt(&self) -> EltType {
        let rows = self.entries.iter().map(|(p, _)| self.types[*p]);
        EltType::tuple(rows.chain(self.types.iter().copied()).map(EltType::Scalar))
    }
}
