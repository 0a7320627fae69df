//! Adjoints of stencils.
//!
//! The adjoints of all elements of a point's windows are computed at the point. An element of the array gathers them from the
//! points that have it in their windows, and so does a border around the array, which is then added, axis by axis, to the elements
//! from which the boundary took it.

use super::super::sweep::Swept;
use super::super::writer::float_leaves;
use super::Reverse;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, ScalarType, unlinear_index};
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Boundary, Fun, PrimOp, Read, ScalarOp, StencilInput, Stmt, Val};
use smallvec::SmallVec;

impl Reverse<'_, '_> {
    pub(super) fn stencil(&mut self, s: &Stmt, f: &Fun, inputs: &[StencilInput], by: ArrayId) -> Result<(), Error> {
        if self.reads_active(f) {
            return self.windows_first(s, f, inputs, by);
        }
        self.w.note("gathered from the windows that have an element; those of their elements are stored");
        let rank = self.w.rank(by);
        let own = StencilInput { xs: by, window: vec![1; rank], boundary: Boundary::Clamp };
        let mut types: Vec<ScalarType> = f.param_types().collect();
        let count = types.len();
        types.extend(self.w.elt(by).leaves());
        let code = self.w.code(types);
        let params = code.params();
        // What is read beyond an edge by a function has adjoints even where the array has none.
        let mut active = self.activity.active_params(&self.w.types, s, "f", f);
        let mut first = 0;
        for i in inputs {
            let leaves = self.w.elt(i.xs).leaves();
            if let Boundary::Function(b) = &i.boundary
                && self.reads_active(b)
            {
                for k in 0..i.neighbours() * leaves.len() {
                    active[first + k] |= leaves[k % leaves.len()].is_float();
                }
            }
            first += i.neighbours() * leaves.len();
        }
        let swept = self.swept(code, f, &params[..count], &[], &active, &params[count..])?;
        let all: Vec<StencilInput> = inputs.iter().cloned().chain([own]).collect();
        let mut first = 0;
        for i in inputs {
            let elt = self.w.elt(i.xs).clone();
            let beyond = matches!(&i.boundary, Boundary::Function(b) if self.reads_active(b));
            if self.is_active(i.xs) || beyond {
                let windows = self.windows(&all, &swept, first, i, &elt);
                self.spread(i, windows)?;
            }
            first += i.neighbours() * elt.leaf_count();
        }
        Ok(())
    }

    /// The adjoints of the elements of each point's window, one after the other.
    fn windows(
        &mut self,
        all: &[StencilInput],
        swept: &Swept,
        first: usize,
        input: &StencilInput,
        elt: &EltType,
    ) -> ArrayId {
        let mut swept = swept.clone();
        let leaves = elt.leaves();
        let mut results = Vec::new();
        for k in 0..input.neighbours() {
            for leaf in float_leaves(elt) {
                results.push(swept.adjoint(first + k * leaves.len() + leaf, leaves[leaf]));
            }
        }
        let parts = std::iter::repeat_n(elt.tangent(), input.neighbours());
        let op = ArrayOp::Stencil { f: swept.code.done(results), inputs: all.to_vec() };
        self.w.stmt(input.window.len(), EltType::tuple(parts), op)
    }

    /// From the adjoints of windows to those of what they hold.
    fn spread(&mut self, input: &StencilInput, windows: ArrayId) -> Result<(), Error> {
        let elt = self.w.tangent_elt(input.xs);
        let leaves = elt.leaves();
        let width = leaves.len();
        let offsets: Vec<Vec<i64>> = (0..input.neighbours())
            .map(|k| {
                let at = unlinear_index(&input.window, k);
                at.iter().zip(&input.window).map(|(o, w)| o - (*w / 2) as i64).collect()
            })
            .collect();
        let part = |c: &mut Code, k: usize, at: &[Val]| {
            let part: SmallVec<[u32; 4]> = (k * width..(k + 1) * width).map(|leaf| leaf as u32).collect();
            let op = ScalarOp::Index(Read::new(windows, part, SmallVec::from(at)));
            c.emit_all(op, &leaves)
        };
        if self.is_active(input.xs) {
            // With a border as wide as the windows reach, from which a function has taken nothing of the array.
            let mut border: Vec<i64> = input.window.iter().map(|w| (*w / 2) as i64).collect();
            if matches!(input.boundary, Boundary::Function(_)) {
                border.fill(0);
            }
            let mut adjoint = self.bordered(input.xs, &border, elt.clone(), |c, index| {
                let mut sum: Option<Vec<Val>> = None;
                for (k, offset) in offsets.iter().enumerate() {
                    let from: Vec<i64> = offset.iter().zip(&border).map(|(o, b)| o + b).collect();
                    let at = moved(c, index, &from, PrimOp::SubP);
                    let inside = c.within(&windows, &at);
                    let own = c.branch(inside, &leaves, |c| part(c, k, &at), |c| c.zeros(&leaves));
                    sum = Some(match sum {
                        Some(s) => s.into_iter().zip(own).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect(),
                        None => own,
                    });
                }
                sum.unwrap_or_default()
            });
            for axis in 0..border.len() {
                let width = std::mem::take(&mut border[axis]);
                if width > 0 {
                    adjoint = self.folded_back(input, adjoint, (axis, width), &border);
                }
            }
            self.shapes.insert(adjoint, self.shape(input.xs));
            self.contribute(input.xs, adjoint);
        }
        let Boundary::Function(b) = &input.boundary else { return Ok(()) };
        if !self.reads_active(b) {
            return Ok(());
        }
        for (k, offset) in offsets.iter().enumerate().filter(|(_, o)| o.iter().any(|d| *d != 0)) {
            let (code, lanes) = self.lanes(&[windows]);
            let own = lanes.elements[0][k * width..(k + 1) * width].to_vec();
            let by = self.at_points(&lanes, code, own, elt.clone());
            let types: Vec<ScalarType> = self.w.elt(input.xs).leaves().to_vec();
            let mut g = Code::of_index(lanes.index.len(), &self.w.loc);
            let index = g.params();
            let at = moved(&mut g, &index, offset, PrimOp::AddP);
            let inside = g.within(&input.xs, &at);
            let results = g.branch(inside, &types, |c| c.zeros(&types), |c| c.inline(b, &at));
            let (shape, f) = (self.w.extents_of(windows), g.done(results));
            let ty = ArrayType { rank: index.len(), elt: self.w.elt(input.xs).clone() };
            self.through(ty, ArrayOp::Generate { shape, f }, by)?;
        }
        Ok(())
    }

    /// An array of the extents of another one and a border on both sides of each axis, each element from its index.
    fn bordered(
        &mut self,
        a: ArrayId,
        border: &[i64],
        elt: EltType,
        write: impl FnOnce(&mut Code, &[Val]) -> Vec<Val>,
    ) -> ArrayId {
        let mut shape = self.w.code([]);
        let mut extents = Vec::new();
        for (axis, width) in border.iter().enumerate() {
            let (n, both) = (shape.extent(a, axis), shape.int(2 * width));
            extents.push(if *width == 0 { n } else { shape.two(PrimOp::AddP, n, both) });
        }
        let mut c = Code::of_index(border.len(), &self.w.loc);
        let index = c.params();
        let results = write(&mut c, &index);
        let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(results) };
        self.w.stmt(border.len(), elt, op)
    }

    /// Adds the border of an axis, of this width on either side, to the elements from which the boundary takes it. All of these
    /// are near an edge.
    fn folded_back(
        &mut self,
        input: &StencilInput,
        a: ArrayId,
        (axis, width): (usize, i64),
        border: &[i64],
    ) -> ArrayId {
        let elt = self.w.elt(a).clone();
        let leaves = elt.leaves();
        self.bordered(input.xs, border, elt, |c, index| {
            let read = |c: &mut Code, at: Val| {
                let mut there = index.to_vec();
                there[axis] = at;
                c.read(a, &leaves, &there)
            };
            let (i, n, width_) = (index[axis], c.extent(input.xs, axis), c.int(width));
            let own = c.two(PrimOp::AddP, i, width_);
            let inner = read(c, own);
            let last = c.int(width + 1);
            let last = c.two(PrimOp::SubP, n, last);
            let (low, high) = (c.two(PrimOp::LeP, i, width_), c.two(PrimOp::GeP, i, last));
            let near = c.two(PrimOp::OrP, low, high);
            let taken = c.branch(
                near,
                &leaves,
                |c| {
                    let mut sum = c.zeros(&leaves);
                    for step in 0..2 * width {
                        // Before the first element, then after the last one.
                        let place = if step < width {
                            c.int(step)
                        } else {
                            let step = c.int(step);
                            c.two(PrimOp::AddP, n, step)
                        };
                        let position = c.two(PrimOp::SubP, place, width_);
                        let from = taken_from(c, input, axis, position);
                        let own = c.two(PrimOp::EqP, from, i);
                        let value = c.branch(own, &leaves, |c| read(c, place), |c| c.zeros(&leaves));
                        sum = sum.into_iter().zip(value).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect();
                    }
                    sum
                },
                |c| c.zeros(&leaves),
            );
            inner.into_iter().zip(taken).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect()
        })
    }

    /// A stencil whose function reads other arrays: the windows, and an element-wise function of them.
    fn windows_first(&mut self, s: &Stmt, f: &Fun, inputs: &[StencilInput], by: ArrayId) -> Result<(), Error> {
        let ty = self.w.ty(s.results[0]).clone();
        let same = self.w.code(f.param_types());
        let elt = EltType::tuple(f.param_types().map(EltType::Scalar));
        let elements = same.params();
        let windows = self.w.array(ArrayType { rank: ty.rank, elt });
        let result = self.w.array(ty);
        let stmt = |result, op| Stmt { results: [result].into_iter().collect(), op, loc: s.loc.clone() };
        let stmts = [
            stmt(windows, ArrayOp::Stencil { f: same.done(elements), inputs: inputs.to_vec() }),
            stmt(result, ArrayOp::Map { xs: vec![windows], f: f.clone(), indexed: false }),
        ];
        self.replaced(&stmts, &[(result, by)])
    }
}

/// An index, moved by an offset.
fn moved(c: &mut Code, index: &[Val], offset: &[i64], by: PrimOp) -> Vec<Val> {
    let of = |(i, o): (&Val, &i64)| {
        if *o == 0 {
            return *i;
        }
        let o = c.int(*o);
        c.two(by, *i, o)
    };
    index.iter().zip(offset).map(of).collect()
}

/// Where a boundary takes an element from whose coordinate may be beyond an edge.
fn taken_from(c: &mut Code, input: &StencilInput, axis: usize, i: Val) -> Val {
    let (n, zero, one) = (c.extent(input.xs, axis), c.int(0), c.int(1));
    let last = c.two(PrimOp::SubP, n, one);
    match &input.boundary {
        Boundary::Clamp | Boundary::Function(_) => {
            let low = c.two(PrimOp::MaxP, i, zero);
            c.two(PrimOp::MinP, low, last)
        }
        Boundary::Mirror => {
            let low = c.op(PrimOp::AbsP, &[i]);
            let twice = c.two(PrimOp::AddP, last, last);
            let high = c.two(PrimOp::SubP, twice, low);
            c.two(PrimOp::MinP, low, high)
        }
        Boundary::Wrap => {
            let (more, less) = (c.two(PrimOp::AddP, i, n), c.two(PrimOp::SubP, i, n));
            let (low, high) = (c.two(PrimOp::LtP, i, zero), c.two(PrimOp::GtP, i, last));
            let inside = c.choose(high, less, i);
            c.choose(low, more, inside)
        }
    }
}
