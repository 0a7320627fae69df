//! Bodies of kernels: the operation's function with fused producers inlined.

use super::Lowering;
use crate::kernel::{Body, Builder, Edge, Op};
use acc_core::Error;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Boundary, Fun, Loc, StencilInput, Stmt, Val};
use std::collections::HashMap;

/// Elements that a body computes already, by array and index.
type Memo = HashMap<(ArrayId, Vec<Val>), Vec<Val>>;

impl Lowering<'_> {
    /// The body of a kernel that stores what a statement computes at each index.
    pub(super) fn body_of(&self, s: &Stmt, rank: usize) -> Result<Body, Error> {
        let mut b = Builder::over_axes(rank, s.loc.clone());
        let index = b.params();
        let results = self.compute(&mut b, &mut Memo::new(), s, &index)?;
        Ok(b.finish(results))
    }

    /// The body of a kernel over the elements of an array.
    pub(super) fn element_of(&self, xs: ArrayId, loc: &Loc) -> Result<Body, Error> {
        let mut b = Builder::over_axes(self.program.ty(xs).rank, loc.clone());
        let index = b.params();
        let results = self.read(&mut b, &mut Memo::new(), xs, &index)?;
        Ok(b.finish(results))
    }

    /// The body of a scatter: the target, then the element.
    pub(super) fn scatter_of(&self, xs: ArrayId, target: &Fun, loc: &Loc) -> Result<Body, Error> {
        let mut b = Builder::over_axes(self.program.ty(xs).rank, loc.clone());
        let index = b.params();
        let element = self.read(&mut b, &mut Memo::new(), xs, &index)?;
        let mut results = b.inline(target, &index);
        results.extend(element);
        Ok(b.finish(results))
    }

    /// The leaves of an array's element at an index: computed where the array is fused, loaded where it is stored.
    fn read(&self, b: &mut Builder, memo: &mut Memo, array: ArrayId, index: &[Val]) -> Result<Vec<Val>, Error> {
        let key = (array, index.to_vec());
        if let Some(v) = memo.get(&key) {
            return Ok(v.clone());
        }
        let leaves = match self.stmts[array.index()].filter(|_| self.fusion.is_fused(array)) {
            Some(s) => self.compute(b, memo, s, index)?,
            None => b.load(array, &self.program.ty(array).elt.leaves(), index, None).to_vec(),
        };
        memo.insert(key, leaves.clone());
        Ok(leaves)
    }

    /// The leaves that an element-wise statement computes at an index of its result.
    fn compute(&self, b: &mut Builder, memo: &mut Memo, s: &Stmt, index: &[Val]) -> Result<Vec<Val>, Error> {
        b.at(&s.loc);
        match &s.op {
            ArrayOp::Generate { f, .. } => Ok(b.inline(f, index)),
            ArrayOp::Map { f, xs, indexed } => {
                let mut args = if *indexed { index.to_vec() } else { Vec::new() };
                for &x in xs {
                    args.extend(self.read(b, memo, x, index)?);
                }
                b.at(&s.loc);
                Ok(b.inline(f, &args))
            }
            ArrayOp::Backpermute { index: f, xs, .. } => {
                let source = b.inline(f, index);
                if self.fusion.is_fused(*xs) {
                    // The producer may not read memory at this index, so that no load would find it out of bounds.
                    let index = source.iter().map(|&v| b.ix(v)).collect();
                    b.emit(Op::Check { array: *xs, index }, &[]);
                }
                self.read(b, memo, *xs, &source)
            }
            ArrayOp::Replicate { axes, xs, .. } => {
                let source: Vec<Val> =
                    axes.iter().zip(index).filter(|(a, _)| **a == Axis::All).map(|(_, &v)| v).collect();
                self.read(b, memo, *xs, &source)
            }
            ArrayOp::Slice { axes, xs, .. } => {
                let mut all = index.iter();
                let mut position = 0;
                let mut source = Vec::new();
                for a in axes {
                    match a {
                        Axis::All => source.extend(all.next()),
                        Axis::Fixed => {
                            source.push(b.emit1(Op::Scalar { array: s.results[0], position }, ScalarType::I64));
                            position += 1;
                        }
                    }
                }
                self.read(b, memo, *xs, &source)
            }
            ArrayOp::Stencil { f, inputs } => {
                let mut args = Vec::new();
                for i in inputs {
                    args.extend(self.window(b, i, index)?);
                }
                Ok(b.inline(f, &args))
            }
            ArrayOp::Fold { .. }
            | ArrayOp::Scan { .. }
            | ArrayOp::Permute { .. }
            | ArrayOp::Argsort { .. }
            | ArrayOp::Check { .. }
            | ArrayOp::Reshape { .. }
            | ArrayOp::Compute { .. }
            | ArrayOp::Foreign { .. }
            | ArrayOp::If { .. }
            | ArrayOp::While { .. } => Err(Error::Backend {
                backend: crate::NAME,
                message: format!("defect: `{}` at {} has no element function", s.op.name(), s.loc),
            }),
        }
    }

    /// The leaves of a stencil's window around an index, in row-major order.
    fn window(&self, b: &mut Builder, input: &StencilInput, index: &[Val]) -> Result<Vec<Val>, Error> {
        let (xs, window, boundary) = (input.xs, &input.window[..], &input.boundary);
        let leaves = self.program.ty(xs).elt.leaves();
        let count: usize = window.iter().product();
        let mut args = Vec::with_capacity(count * leaves.len());
        for position in 0..count {
            let offsets = acc_core::data::unlinear_index(window, position);
            let at: Vec<Val> = index
                .iter()
                .zip(offsets.iter().zip(window))
                .map(|(&v, (&o, &w))| b.shifted(v, o - (w / 2) as i64))
                .collect();
            let edge = match boundary {
                Boundary::Clamp => Some(Edge::Clamp),
                Boundary::Mirror => Some(Edge::Mirror),
                Boundary::Wrap => Some(Edge::Wrap),
                Boundary::Function(_) => None,
            };
            // The centre is always inside.
            let centre = offsets.iter().zip(window).all(|(&o, &w)| o == (w / 2) as i64);
            args.extend(match boundary {
                Boundary::Function(f) if !centre => {
                    let ix = at.iter().map(|&v| b.ix(v)).collect();
                    let cond = b.emit1(Op::Inside { array: xs, index: ix }, ScalarType::Bool);
                    b.open();
                    let inside = b.load(xs, &leaves, &at, None).to_vec();
                    let then = b.close(Vec::new(), inside);
                    b.open();
                    let outside = b.inline(f, &at);
                    let else_ = b.close(Vec::new(), outside);
                    b.emit(Op::If { cond, then, else_ }, &leaves)
                }
                _ => b.load(xs, &leaves, &at, edge.filter(|_| !centre)),
            });
        }
        Ok(args)
    }
}
