//! Bodies of kernels: the operation's function with fused producers inlined.

use super::Lowering;
use crate::kernel::{Builder, Edge, KernelOp, Op, Reads};
use acc_core::Error;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Boundary, StencilInput, Stmt, Val};
use std::collections::HashMap;

/// The key of a computed element: its array, its index, and what stands for out-of-range indices.
type Key = (ArrayId, Vec<Val>, Option<Edge>);

/// Builds elements within one body.
pub(super) struct Elements<'l, 'p> {
    lowering: &'l Lowering<'p>,
    /// The index of the body's point.
    point: Vec<Val>,
    /// Arrays of the kernel itself that are stored but that the body also computes at its own point.
    own: &'l [ArrayId],
    /// Leaves that are parameters, and at which index.
    given: HashMap<ArrayId, (Vec<Val>, Vec<Val>)>,
    /// Elements computed so far, and in which region.
    memo: HashMap<Key, (usize, Vec<Val>)>,
}

impl Reads for Elements<'_, '_> {
    fn element(&mut self, b: &mut Builder, array: ArrayId, index: &[Val]) -> Result<Option<Vec<Val>>, Error> {
        let here = (index == self.point && self.own.contains(&array)) || self.given_at(array, index).is_some();
        if self.lowering.fusion.is_inlined(array) {
            self.check(b, array, index);
        } else if !here {
            return Ok(None);
        }
        self.read(b, array, index).map(Some)
    }
}

impl<'l, 'p> Elements<'l, 'p> {
    pub(super) fn new(lowering: &'l Lowering<'p>, point: Vec<Val>, own: &'l [ArrayId]) -> Elements<'l, 'p> {
        Elements { lowering, point, own, given: HashMap::new(), memo: HashMap::new() }
    }

    /// Supplies the leaves of an array at the body's point.
    pub(super) fn bind(&mut self, array: ArrayId, leaves: Vec<Val>) {
        self.bind_at(array, self.point.clone(), leaves);
    }

    /// Supplies the leaves of an array at an index.
    pub(super) fn bind_at(&mut self, array: ArrayId, index: Vec<Val>, leaves: Vec<Val>) {
        self.given.insert(array, (index, leaves));
    }

    fn given_at(&self, array: ArrayId, index: &[Val]) -> Option<&Vec<Val>> {
        self.given.get(&array).filter(|(at, _)| at == index).map(|(_, leaves)| leaves)
    }

    /// Emits a bounds check where the producer may not load at this index, so that no load would fault.
    fn check(&self, b: &mut Builder, array: ArrayId, index: &[Val]) {
        let index = index.iter().map(|&v| b.ix(v)).collect();
        b.emit(Op::Own(KernelOp::Check { array, index }), &[]);
    }

    /// The leaves of an array element at an index: computed if the array is fused, loaded if it is stored.
    pub(super) fn read(&mut self, b: &mut Builder, array: ArrayId, index: &[Val]) -> Result<Vec<Val>, Error> {
        self.read_at(b, array, index, None)
    }

    /// The leaves of an array element, with a boundary rule for indices out of range.
    fn read_at(
        &mut self,
        b: &mut Builder,
        array: ArrayId,
        index: &[Val],
        edge: Option<Edge>,
    ) -> Result<Vec<Val>, Error> {
        let here = index == self.point && edge.is_none();
        if edge.is_none()
            && let Some(v) = self.given_at(array, index)
        {
            return Ok(v.clone());
        }
        let key = (array, index.to_vec(), edge);
        if let Some((region, v)) = self.memo.get(&key)
            && b.is_open(*region)
        {
            return Ok(v.clone());
        }
        let computed = self.lowering.fusion.is_inlined(array) || (here && self.own.contains(&array));
        let region = b.region();
        let leaves = match self.lowering.stmts[array.index()].filter(|_| computed) {
            Some(s) => acc_core::grow_stack(|| self.compute(b, s, index, edge))?,
            None => b.load(array, &self.lowering.program.ty(array).elt.leaves(), index, edge).to_vec(),
        };
        self.memo.insert(key, (region, leaves.clone()));
        Ok(leaves)
    }

    /// Computes the leaves of an elementwise statement at an index of its result.
    pub(super) fn compute(
        &mut self,
        b: &mut Builder,
        s: &Stmt,
        index: &[Val],
        edge: Option<Edge>,
    ) -> Result<Vec<Val>, Error> {
        b.at(&s.loc);
        match &s.op {
            ArrayOp::Generate { f, .. } => b.inline(f, index, self),
            ArrayOp::Map { f, xs, indexed } => {
                let mut args = if *indexed { index.to_vec() } else { Vec::new() };
                for &x in xs {
                    args.extend(self.read_at(b, x, index, edge)?);
                }
                b.at(&s.loc);
                b.inline(f, &args, self)
            }
            ArrayOp::Check { xs, .. } => self.read_at(b, *xs, index, edge),
            ArrayOp::Backpermute { index: f, xs, .. } => {
                let source = b.inline(f, index, self)?;
                if self.lowering.fusion.is_inlined(*xs) {
                    self.check(b, *xs, &source);
                }
                self.read(b, *xs, &source)
            }
            ArrayOp::Replicate { axes, xs, .. } => {
                let source: Vec<Val> =
                    axes.iter().zip(index).filter(|(a, _)| **a == Axis::All).map(|(_, &v)| v).collect();
                self.read(b, *xs, &source)
            }
            ArrayOp::Slice { axes, xs, .. } => {
                let mut all = index.iter();
                let mut position = 0;
                let mut source = Vec::new();
                for a in axes {
                    match a {
                        Axis::All => source.extend(all.next()),
                        Axis::Fixed => {
                            source.push(
                                b.emit1(Op::Own(KernelOp::Scalar { array: s.results[0], position }), ScalarType::I64),
                            );
                            position += 1;
                        }
                    }
                }
                self.read(b, *xs, &source)
            }
            ArrayOp::Stencil { f, inputs } => {
                let mut args = Vec::new();
                for i in inputs {
                    args.extend(self.window(b, i, index)?);
                }
                b.at(&s.loc);
                b.inline(f, &args, self)
            }
            // Other classes are never inlined by fusion.
            _ => Err(Error::defect(crate::NAME, "it has no element function").during(s.operation(), &s.loc)),
        }
    }

    /// The leaves of a stencil's window around an index, in row-major order.
    fn window(&mut self, b: &mut Builder, input: &StencilInput, index: &[Val]) -> Result<Vec<Val>, Error> {
        let (xs, window, boundary) = (input.xs, &input.window[..], &input.boundary);
        let leaves = self.lowering.program.ty(xs).elt.leaves();
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
            // The centre is always in bounds.
            let centre = offsets.iter().zip(window).all(|(&o, &w)| o == (w / 2) as i64);
            args.extend(match boundary {
                Boundary::Function(f) if !centre => {
                    let ix = at.iter().map(|&v| b.ix(v)).collect();
                    let cond = b.emit1(Op::Own(KernelOp::Inside { array: xs, index: ix }), ScalarType::Bool);
                    b.open();
                    let inside = self.read(b, xs, &at)?;
                    let then = b.close(Vec::new(), inside);
                    b.open();
                    let outside = b.inline(f, &at, self)?;
                    let else_ = b.close(Vec::new(), outside);
                    b.emit(Op::If { cond, then, else_ }, &leaves).to_vec()
                }
                _ => self.read_at(b, xs, &at, edge.filter(|_| !centre))?,
            });
        }
        Ok(args)
    }
}
