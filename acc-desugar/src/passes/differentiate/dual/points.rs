//! Tangents of element-wise operations.

use super::Forward;
use acc_core::ir::{ArrayId, ArrayOp, Boundary, Fun, StencilInput};
use std::collections::HashMap;

impl Forward<'_, '_> {
    pub(super) fn generate(&mut self, y: ArrayId, f: &Fun) -> ArrayId {
        let op = ArrayOp::Generate { shape: self.w.extents_of(y), f: self.tangent_function(f, |_| HashMap::new()) };
        self.like(y, op)
    }

    pub(super) fn map(&mut self, y: ArrayId, xs: &[ArrayId], f: &Fun, indexed: bool) -> ArrayId {
        let first = if indexed { self.w.rank(y) } else { 0 };
        let (mut all, mut active) = (xs.to_vec(), Vec::new());
        let mut next = first;
        for x in xs {
            if let Some(t) = self.tangents.get(x) {
                all.push(*t);
                active.extend(self.float_leaves(*x).into_iter().map(|leaf| next + leaf));
            }
            next += self.w.elt(*x).leaf_count();
        }
        let params = &f.body.params;
        let f = self.tangent_function(f, |code| {
            let of = |k: &usize| (params[*k], code.param(code.ty(params[*k])));
            active.iter().map(of).collect()
        });
        self.like(y, ArrayOp::Map { xs: all, f, indexed })
    }

    pub(super) fn stencil(&mut self, y: ArrayId, f: &Fun, inputs: &[StencilInput]) -> ArrayId {
        let (mut all, mut active) = (inputs.to_vec(), Vec::new());
        let mut next = 0;
        for input in inputs {
            let (leaves, count) = (self.w.elt(input.xs).leaf_count(), input.neighbours());
            let tangent = self.window_of_tangents(input);
            if let Some(tangent) = tangent {
                all.push(tangent);
                let floats = self.float_leaves(input.xs);
                let of_neighbour = |k: usize| floats.iter().map(move |leaf| k * leaves + leaf).collect::<Vec<_>>();
                active.extend((0..count).flat_map(of_neighbour).map(|k| next + k));
            }
            next += leaves * count;
        }
        let params = &f.body.params;
        let f = self.tangent_function(f, |code| {
            let of = |k: &usize| (params[*k], code.param(code.ty(params[*k])));
            active.iter().map(of).collect()
        });
        self.like(y, ArrayOp::Stencil { f, inputs: all })
    }

    /// The window of tangents beside a window, if the array or what is read beyond its edges has some.
    fn window_of_tangents(&mut self, input: &StencilInput) -> Option<StencilInput> {
        let boundary = match &input.boundary {
            Boundary::Clamp => Boundary::Clamp,
            Boundary::Mirror => Boundary::Mirror,
            Boundary::Wrap => Boundary::Wrap,
            Boundary::Function(b) => Boundary::Function(self.tangent_function(b, |_| HashMap::new())),
        };
        let beyond = matches!(&boundary, Boundary::Function(b) if !super::super::is_zero(b));
        let active = self.tangents.contains_key(&input.xs) || beyond;
        active.then(|| StencilInput { xs: self.tangent_of(input.xs), window: input.window.clone(), boundary })
    }
}
