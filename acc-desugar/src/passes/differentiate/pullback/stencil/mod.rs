//! Adjoints of stencils.
//!
//! Each point has adjoints for the elements of its window. An element gathers them by a stencil with mirrored offsets, beyond
//! whose edges there are zeros; what windows hold beyond an edge is added where the boundary took it from
//! ([`border`]). The windows' adjoints are stored, unless they are multiples of the point's own adjoint.

mod border;

use super::super::sweep::Swept;
use super::super::writer::float_leaves;
use super::Reverse;
use super::lanes::used;
use acc_core::Error;
use acc_core::ad::{Arithmetic, Code};
use acc_core::data::{EltType, ScalarType, unlinear_index};
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Boundary, Fun, PrimOp, Read, ScalarOp, StencilInput, Stmt, Val};
use smallvec::SmallVec;
use std::collections::HashSet;

/// The adjoints of the elements of all windows of an input, by point.
struct Windows {
    array: ArrayId,
    /// Those elements of a window that have one.
    neighbours: Vec<Neighbour>,
}

/// An element of a window.
struct Neighbour {
    position: usize,
    /// From the point to it.
    offset: Vec<i64>,
    /// Its adjoint, as a function of these leaves of the array.
    leaves: Vec<u32>,
    adjoint: Fun,
}

impl Neighbour {
    /// Its adjoint at a point, of which leaves of the array these are.
    fn adjoint(&self, c: &mut Code, point: &[Val]) -> Vec<Val> {
        let leaves: Vec<Val> = self.leaves.iter().map(|leaf| point[*leaf as usize]).collect();
        c.inline(&self.adjoint, &leaves)
    }

    /// The same of a point of the array, whose leaves are of these types.
    fn adjoint_at(&self, c: &mut Code, array: ArrayId, types: &[ScalarType], at: &[Val]) -> Vec<Val> {
        let types: Vec<ScalarType> = self.leaves.iter().map(|leaf| types[*leaf as usize]).collect();
        let leaves = c.emit_all(ScalarOp::Index(Read::new(array, &self.leaves[..], SmallVec::from(at))), &types);
        c.inline(&self.adjoint, &leaves)
    }
}

impl Reverse<'_, '_> {
    pub(super) fn stencil(&mut self, s: &Stmt, f: &Fun, inputs: &[StencilInput], by: ArrayId) -> Result<(), Error> {
        if self.reads_active(f) {
            return self.windows_first(s, f, inputs, by);
        }
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
        let mut first = 0;
        for i in inputs {
            let elt = self.w.elt(i.xs).clone();
            let beyond = matches!(&i.boundary, Boundary::Function(b) if self.reads_active(b));
            if (self.is_active(i.xs) || beyond)
                && let Some(windows) = self.windows((inputs, &own), &swept, first, i, &elt)
            {
                self.beyond(i, &windows)?;
                self.spread(i, windows);
            }
            first += i.neighbours() * elt.leaf_count();
        }
        Ok(())
    }

    /// The adjoints of the elements of each point's window of an input, whose leaves are parameters from `first` on; the last
    /// parameters are those of `own`, the point's adjoint.
    fn windows(
        &mut self,
        (inputs, own): (&[StencilInput], &StencilInput),
        swept: &Swept,
        first: usize,
        input: &StencilInput,
        elt: &EltType,
    ) -> Option<Windows> {
        let mut swept = swept.clone();
        let leaves = elt.leaves();
        let floats = float_leaves(elt);
        let at = |k: usize, leaf: usize| first + k * leaves.len() + leaf;
        let reached: Vec<usize> =
            (0..input.neighbours()).filter(|k| floats.iter().any(|leaf| swept.has_adjoint(at(*k, *leaf)))).collect();
        if reached.is_empty() {
            return None;
        }
        let adjoints: Vec<Vec<Val>> = reached
            .iter()
            .map(|k| floats.iter().map(|leaf| swept.adjoint(at(*k, *leaf), leaves[*leaf])).collect())
            .collect();
        let mut f = swept.code.clone().done(adjoints.iter().flatten().copied());
        let inputs = self.inputs_used(&mut f, inputs, own);
        let neighbour = |k: usize, leaves: Vec<u32>, adjoint: Fun| {
            let at = unlinear_index(&input.window, k);
            let offset = at.iter().zip(&input.window).map(|(o, w)| o - (*w / 2) as i64).collect();
            Neighbour { position: k, offset, leaves, adjoint }
        };
        if inputs.len() == 1 && keeps_zeros(&f) {
            self.w.note("gathered from the windows that have an element");
            let all = 0..f.body.params.len() as u32;
            let neighbours = reached.into_iter().zip(adjoints).map(|(k, own)| {
                let mut adjoint = swept.code.clone().done(own);
                adjoint.body.params.clone_from(&f.body.params);
                neighbour(k, all.clone().collect(), adjoint)
            });
            return Some(Windows { array: own.xs, neighbours: neighbours.collect() });
        }
        self.w.note("gathered from the windows that have an element; those of their elements are stored");
        let same = self.w.code(elt.tangent().leaves());
        let params = same.params();
        let same = same.done(params);
        let width = floats.len();
        let part = |(n, k): (usize, usize)| {
            neighbour(k, (n * width..(n + 1) * width).map(|l| l as u32).collect(), same.clone())
        };
        let neighbours: Vec<Neighbour> = reached.into_iter().enumerate().map(part).collect();
        let op = match &inputs[..] {
            [own] => ArrayOp::Map { xs: vec![own.xs], f, indexed: false },
            _ => ArrayOp::Stencil { f, inputs },
        };
        let parts = std::iter::repeat_n(elt.tangent(), neighbours.len());
        let array = self.w.stmt(input.window.len(), EltType::tuple(parts), op);
        Some(Windows { array, neighbours })
    }

    /// Those of the inputs whose elements a function uses, and the last one, which has the extents of the result. The others'
    /// parameters go.
    fn inputs_used(&self, f: &mut Fun, others: &[StencilInput], last: &StencilInput) -> Vec<StencilInput> {
        let seen = used(f);
        let mut params = std::mem::take(&mut f.body.params).into_iter();
        let mut inputs = Vec::new();
        for i in others {
            let own: Vec<Val> = params.by_ref().take(i.neighbours() * self.w.elt(i.xs).leaf_count()).collect();
            if own.iter().any(|v| seen.contains(v)) {
                f.body.params.extend(own);
                inputs.push(i.clone());
            }
        }
        f.body.params.extend(params);
        inputs.push(last.clone());
        inputs
    }

    /// From the adjoints of windows to those of what they hold.
    fn spread(&mut self, input: &StencilInput, mut windows: Windows) {
        if !self.is_active(input.xs) {
            return;
        }
        windows.array = self.padded(windows.array, input.xs);
        let elt = self.w.tangent_elt(input.xs);
        let point = self.w.elt(windows.array).leaves();
        let count = input.neighbours();
        let mut c = self.w.code((0..count).flat_map(|_| point.iter().copied()));
        let params = c.params();
        let mut sum: Option<Vec<Val>> = None;
        for n in &windows.neighbours {
            // Windows reach as far to both sides.
            let position = count - 1 - n.position;
            let own = n.adjoint(&mut c, &params[position * point.len()..][..point.len()]);
            sum = Some(match sum {
                Some(s) => s.into_iter().zip(own).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect(),
                None => own,
            });
        }
        let f = c.done(sum.unwrap_or_default());
        let mut zero = Code::of_index(input.window.len(), &self.w.loc);
        let zeros = zero.zeros(&point);
        let boundary = Boundary::Function(zero.done(zeros));
        let gathered = StencilInput { xs: windows.array, window: input.window.clone(), boundary };
        let mut adjoint = self.w.stmt(input.window.len(), elt, ArrayOp::Stencil { f, inputs: vec![gathered] });
        if !matches!(input.boundary, Boundary::Function(_)) {
            adjoint = self.with_border(input, &windows, adjoint);
        }
        self.contribute(input.xs, adjoint);
    }

    /// The contributions of what a boundary's function reads.
    fn beyond(&mut self, input: &StencilInput, windows: &Windows) -> Result<(), Error> {
        let Boundary::Function(b) = &input.boundary else { return Ok(()) };
        if !self.reads_active(b) {
            return Ok(());
        }
        let elt = self.w.tangent_elt(input.xs);
        for n in windows.neighbours.iter().filter(|n| n.offset.iter().any(|d| *d != 0)) {
            let (mut code, lanes) = self.lanes(&[windows.array]);
            let own = n.adjoint(&mut code, &lanes.elements[0]);
            let by = self.at_points(&lanes, code, own, elt.clone());
            let types: Vec<ScalarType> = self.w.elt(input.xs).leaves().to_vec();
            let mut g = Code::of_index(lanes.index.len(), &self.w.loc);
            let index = g.params();
            let at = moved(&mut g, &index, &n.offset, PrimOp::AddP);
            let inside = g.within(&input.xs, &at);
            let results = g.branch(inside, &types, |c| c.zeros(&types), |c| c.inline(b, &at));
            let (shape, f) = (self.w.extents_of(windows.array), g.done(results));
            let ty = ArrayType { rank: index.len(), elt: self.w.elt(input.xs).clone() };
            self.through(ty, ArrayOp::Generate { shape, f }, by)?;
        }
        Ok(())
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

/// Whether the results of a function are 0 where its parameters are: they are sums of multiples of these.
fn keeps_zeros(f: &Fun) -> bool {
    let mut zeros: HashSet<Val> = f.body.params.iter().copied().filter(|p| f.ty(*p).is_float()).collect();
    let mut ordinary = Code::of_function(f, &acc_core::ir::Loc::unknown());
    for n in &f.body.nodes {
        let is_zero = match &n.op {
            ScalarOp::Const(l) => f.ty(n.results[0]).is_float() && l.bits == 0,
            ScalarOp::Cast(x) => zeros.contains(x) && n.results.iter().all(|v| f.ty(*v).is_float()),
            ScalarOp::Prim(PrimOp::NegP | PrimOp::AddP | PrimOp::SubP, args) => args.iter().all(|v| zeros.contains(v)),
            ScalarOp::Prim(PrimOp::MulP, args) => {
                let finite = args.iter().all(|v| zeros.contains(v) || ordinary.is_ordinary(v));
                finite && args.iter().any(|v| zeros.contains(v))
            }
            ScalarOp::Prim(PrimOp::DivP, args) => zeros.contains(&args[0]) && ordinary.is_ordinary(&args[1]),
            _ => false,
        };
        if is_zero {
            zeros.extend(n.results.iter().copied());
        }
        ordinary.push(n.clone());
    }
    f.body.results.iter().all(|v| zeros.contains(v))
}
