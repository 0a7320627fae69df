//! Array operations in intervals.

use super::value::Near;
use super::{Bounds, Zeros, scalar};
use acc_core::data::{Prim, linear_index, shape_size, unlinear_index};
use acc_core::grow_stack;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Block, Boundary, Dir, Fun, PrimOp, Program, ScalarOp, Stmt};
use std::ops::Range;
use std::rc::Rc;

/// One evaluation of a program, on demand as the interpreter's.
pub struct Machine<'p> {
    definitions: Vec<Option<&'p Stmt>>,
    values: Vec<Option<Rc<Bounds>>>,
    /// Whether a decision about what is evaluated was not stable.
    pub may_fault: bool,
    /// How floats next to 0 are computed.
    pub zeros: Zeros,
    program: &'p Program,
}

impl<'p> Machine<'p> {
    pub fn new(program: &'p Program, zeros: Zeros) -> Machine<'p> {
        let n = program.types.len();
        let mut definitions = vec![None; n];
        define(&program.body, &mut definitions);
        Machine { definitions, values: vec![None; n], may_fault: false, zeros, program }
    }

    pub fn run(&mut self, args: Vec<Bounds>) -> Option<Vec<Bounds>> {
        let results = self.block(&self.program.body, args.into_iter().map(Rc::new).collect())?;
        Some(results.into_iter().map(|r| (*r).clone()).collect())
    }

    fn block(&mut self, block: &'p Block, args: Vec<Rc<Bounds>>) -> Option<Vec<Rc<Bounds>>> {
        for (p, arg) in block.params.iter().zip(args) {
            self.values[p.index()] = Some(arg);
        }
        let results = block.results.iter().map(|&r| self.array(r)).collect();
        for a in block.params.iter().chain(block.stmts.iter().flat_map(|s| &s.results)) {
            self.values[a.index()] = None;
        }
        results
    }

    pub(super) fn array(&mut self, a: ArrayId) -> Option<Rc<Bounds>> {
        if self.values[a.index()].is_none() {
            let stmt = self.definitions[a.index()]?;
            let results = grow_stack(|| self.stmt(stmt))?;
            for (r, value) in stmt.results.iter().zip(results) {
                self.values[r.index()] = Some(value);
            }
        }
        self.values[a.index()].clone()
    }

    /// Decisions about extents and blocks must be stable.
    fn closed(&mut self, f: &Fun) -> Option<Vec<i64>> {
        let values = scalar::call(self, f, &[])?;
        values.iter().all(|v| v.stable).then(|| values.iter().map(|v| v.lit.bits as i64).collect())
    }

    fn extents(&mut self, f: &Fun) -> Option<Vec<usize>> {
        self.closed(f)?.into_iter().map(|n| usize::try_from(n).ok()).collect()
    }

    fn each(
        &mut self,
        s: &Stmt,
        shape: Vec<usize>,
        mut f: impl FnMut(&mut Self, &[i64]) -> Option<Vec<Near>>,
    ) -> Option<Rc<Bounds>> {
        let size = shape_size(&shape).ok()?;
        let leaves = self.program.types[s.results.first()?.index()].elt.leaves().len();
        let mut columns = vec![Vec::with_capacity(size); leaves];
        for at in 0..size {
            let element = f(self, &unlinear_index(&shape, at))?;
            columns.iter_mut().zip(element).for_each(|(c, x)| c.push(x));
        }
        Some(Rc::new(Bounds { shape, columns }))
    }

    fn stmt(&mut self, s: &'p Stmt) -> Option<Vec<Rc<Bounds>>> {
        let one = match &s.op {
            ArrayOp::If { cond, then, else_ } => {
                let answer = *scalar::call(self, cond, &[])?.first()?;
                let (taken, other) = if answer.lit.bits == 0 { (else_, then) } else { (then, else_) };
                let results = self.block(taken, Vec::new())?;
                if answer.stable {
                    return Some(results);
                }
                self.may_fault = true;
                let others = self.block(other, Vec::new())?;
                return results.iter().zip(&others).map(|(a, b)| a.either(b).map(Rc::new)).collect();
            }
            ArrayOp::While { init, test, step } => {
                let mut state = init.iter().map(|&a| self.array(a)).collect::<Option<Vec<_>>>()?;
                loop {
                    let go_on = self.block(test, state.clone())?.first()?.element(0);
                    if !go_on.iter().all(|c| c.stable) {
                        return None;
                    }
                    if go_on.iter().any(|c| c.lit.bits == 0) {
                        return Some(state);
                    }
                    state = self.block(step, state)?;
                }
            }
            ArrayOp::Compute { xs, .. } => self.array(*xs)?,
            ArrayOp::Foreign { xs, fallback, .. } | ArrayOp::Ruled { at: xs, f: fallback, .. } => {
                let args = xs.iter().map(|&a| self.array(a)).collect::<Option<Vec<_>>>()?;
                return self.block(fallback, args);
            }
            // How far rounding takes a derivative, the code that it is expanded to says.
            ArrayOp::Derivative { .. } => return None,
            ArrayOp::Generate { shape, f } => {
                let shape = self.extents(shape)?;
                self.each(s, shape, |m, index| scalar::call(m, f, &ints(index)))?
            }
            ArrayOp::Map { f, xs, indexed } => {
                let xs = xs.iter().map(|&x| self.array(x)).collect::<Option<Vec<_>>>()?;
                let shape = intersection(&xs)?;
                self.each(s, shape, |m, index| {
                    let mut args = if *indexed { ints(index) } else { Vec::new() };
                    for x in &xs {
                        args.extend(x.element(linear_index(&x.shape, index)?));
                    }
                    scalar::call(m, f, &args)
                })?
            }
            ArrayOp::Fold { f, init, xs } => self.fold(s, f, init.as_ref(), *xs)?,
            ArrayOp::FoldSeg { f, init, xs, offsets } => self.fold_seg(s, f, init.as_ref(), [*xs, *offsets])?,
            ArrayOp::Scan { dir, f, init, xs } => self.scan(*dir, f, init.as_ref(), *xs)?,
            ArrayOp::Permute { combine, defaults, target, xs } => self.permute(combine, *defaults, target, *xs)?,
            ArrayOp::Backpermute { shape, index, xs } => {
                let (shape, source) = (self.extents(shape)?, self.array(*xs)?);
                self.each(s, shape, |m, at| {
                    let from = scalar::call(m, index, &ints(at))?;
                    let to: Vec<i64> = from.iter().map(|v| v.lit.bits as i64).collect();
                    let element = source.element(linear_index(&source.shape, &to)?);
                    let stable = from.iter().all(|v| v.stable);
                    m.may_fault |= !stable;
                    Some(if stable { element } else { element.into_iter().map(Near::unstable).collect() })
                })?
            }
            ArrayOp::Stencil { f, inputs } => {
                let sources = inputs.iter().map(|i| self.array(i.xs)).collect::<Option<Vec<_>>>()?;
                self.each(s, intersection(&sources)?, |m, index| {
                    let mut args = Vec::new();
                    for (source, input) in sources.iter().zip(inputs) {
                        let window = &input.window;
                        for k in 0..input.neighbours() {
                            let offset = unlinear_index(window, k);
                            let at = index.iter().zip(&offset).zip(window).map(|((i, o), &w)| i + o - (w / 2) as i64);
                            args.extend(neighbour(m, source, &at.collect::<Vec<_>>(), &input.boundary)?);
                        }
                    }
                    scalar::call(m, f, &args)
                })?
            }
            ArrayOp::Argsort { xs } => self.argsort(*xs)?,
            ArrayOp::Check { ok, message: _, xs } => {
                let source = self.array(*xs)?;
                (self.closed(ok)?.first() != Some(&0)).then_some(source)?
            }
            ArrayOp::Reshape { shape, xs } => {
                let (shape, source) = (self.extents(shape)?, self.array(*xs)?);
                Rc::new(Bounds { shape, columns: source.columns.clone() })
            }
            ArrayOp::Replicate { axes, extents, xs } => {
                let mut fixed = self.extents(extents)?.into_iter();
                let source = self.array(*xs)?;
                let mut kept = source.shape.iter().copied();
                let shape = axes.iter().map(|a| if *a == Axis::All { kept.next() } else { fixed.next() });
                let shape = shape.collect::<Option<Vec<_>>>()?;
                self.each(s, shape, |_, index| {
                    let from: Vec<i64> =
                        index.iter().zip(axes).filter(|(_, a)| **a == Axis::All).map(|(i, _)| *i).collect();
                    Some(source.element(linear_index(&source.shape, &from)?))
                })?
            }
            ArrayOp::Slice { axes, index, xs } => {
                let mut fixed = self.closed(index)?.into_iter();
                let source = self.array(*xs)?;
                let at: Vec<Option<i64>> =
                    axes.iter().map(|a| if *a == Axis::Fixed { fixed.next() } else { None }).collect();
                let shape = source.shape.iter().zip(&at).filter(|(_, a)| a.is_none()).map(|(n, _)| *n).collect();
                self.each(s, shape, |_, index| {
                    let mut kept = index.iter().copied();
                    let from = at.iter().map(|a| a.or_else(|| kept.next())).collect::<Option<Vec<_>>>()?;
                    Some(source.element(linear_index(&source.shape, &from)?))
                })?
            }
        };
        Some(vec![one])
    }

    /// Positions are the same everywhere if the keys of their row are.
    fn argsort(&mut self, xs: ArrayId) -> Option<Rc<Bounds>> {
        let source = self.array(xs)?;
        let (&inner, outer) = source.shape.split_last()?;
        let mut positions = Vec::new();
        for row in 0..outer.iter().product() {
            let mut keys: Vec<(Vec<Near>, i64)> =
                (0..inner).map(|k| (source.element(row * inner + k), k as i64)).collect();
            let exact = keys.iter().flat_map(|(key, _)| key).all(Near::is_exact);
            keys.sort_by_key(|(key, _)| key.iter().map(|leaf| leaf.lit.sort_key()).collect::<Vec<_>>());
            let places = keys.into_iter().map(|(_, k)| Near::exact(k.lit()));
            positions.extend(places.map(|place| if exact { place } else { place.unstable() }));
        }
        Some(Rc::new(Bounds { shape: source.shape.clone(), columns: vec![positions] }))
    }

    fn fold(&mut self, s: &Stmt, f: &Fun, init: Option<&Fun>, xs: ArrayId) -> Option<Rc<Bounds>> {
        let init = init.map(|i| scalar::call(self, i, &[])).unwrap_or(Some(Vec::new()))?;
        let source = self.array(xs)?;
        let (&inner, outer) = source.shape.split_last()?;
        self.each(s, outer.to_vec(), |m, index| {
            let row = linear_index(outer, index)? * inner;
            m.reduced(f, &init, &source, row..row + inner)
        })
    }

    /// The reduction of some elements, from `init` if that has leaves.
    fn reduced(&mut self, f: &Fun, init: &[Near], source: &Bounds, mut places: Range<usize>) -> Option<Vec<Near>> {
        let mut acc = if init.is_empty() { source.element(places.next()?) } else { init.to_vec() };
        let mut sums = Sums::new(&acc);
        for at in places {
            let x = source.element(at);
            sums.add(&x);
            acc = scalar::call(self, f, &[acc, x].concat())?;
        }
        Some(sums.widen(acc, Rounding::of(f)))
    }

    fn fold_seg(&mut self, s: &Stmt, f: &Fun, init: Option<&Fun>, [xs, offsets]: [ArrayId; 2]) -> Option<Rc<Bounds>> {
        let init = init.map(|i| scalar::call(self, i, &[])).unwrap_or(Some(Vec::new()))?;
        let (source, offsets) = (self.array(xs)?, self.array(offsets)?);
        let (&inner, outer) = source.shape.split_last()?;
        let offsets = offsets.columns.first()?;
        if !offsets.iter().all(|o| o.stable) {
            return None;
        }
        let bounds: Vec<usize> = offsets.iter().map(|o| o.lit.bits as usize).collect();
        let shape = [outer, &[bounds.len().checked_sub(1)?]].concat();
        self.each(s, shape, |m, index| {
            let (&segment, row) = index.split_last()?;
            let (row, segment) = (linear_index(outer, row)? * inner, usize::try_from(segment).ok()?);
            m.reduced(f, &init, &source, row + bounds.get(segment)?..row + bounds.get(segment + 1)?)
        })
    }

    fn scan(&mut self, dir: Dir, f: &Fun, init: Option<&Fun>, xs: ArrayId) -> Option<Rc<Bounds>> {
        let init = init.map(|i| scalar::call(self, i, &[])).unwrap_or(Some(Vec::new()))?;
        let source = self.array(xs)?;
        let (&inner, outer) = source.shape.split_last()?;
        let rounds = Rounding::of(f);
        let longer = usize::from(!init.is_empty());
        let mut columns = vec![Vec::new(); source.columns.len()];
        for row in 0..outer.iter().product() {
            let mut order: Vec<usize> = (row * inner..(row + 1) * inner).collect();
            if dir == Dir::Right {
                order.reverse();
            }
            let mut order = order.into_iter();
            let mut acc = match longer {
                0 => order.next().map(|at| source.element(at)),
                _ => Some(init.clone()),
            };
            let mut sums = acc.as_ref().map(|a| Sums::new(a));
            let mut states = Vec::new();
            while let Some(state) = acc.take() {
                if let Some(at) = order.next() {
                    let x = source.element(at);
                    let args = match dir {
                        Dir::Left => [state.clone(), x.clone()].concat(),
                        Dir::Right => [x.clone(), state.clone()].concat(),
                    };
                    acc = Some(scalar::call(self, f, &args)?);
                    states.push(sums.as_ref()?.widen(state, rounds));
                    sums.as_mut()?.add(&x);
                } else {
                    states.push(sums.as_ref()?.widen(state, rounds));
                }
            }
            if dir == Dir::Right {
                states.reverse();
            }
            for state in states {
                columns.iter_mut().zip(state).for_each(|(c, x)| c.push(x));
            }
        }
        let shape = [outer, &[inner + longer]].concat();
        Some(Rc::new(Bounds { shape, columns }))
    }

    fn permute(&mut self, combine: &Fun, defaults: ArrayId, target: &Fun, xs: ArrayId) -> Option<Rc<Bounds>> {
        let (defaults, source) = (self.array(defaults)?, self.array(xs)?);
        let mut out = (*defaults).clone();
        let size = shape_size(&out.shape).ok()?;
        let mut sums: Vec<Sums> = (0..size).map(|at| Sums::new(&out.element(at))).collect();
        let (rounds, mut stable) = (Rounding::of(combine), true);
        for from in 0..shape_size(&source.shape).ok()? {
            let answer = scalar::call(self, target, &ints(&unlinear_index(&source.shape, from)))?;
            stable &= answer.iter().all(|a| a.stable);
            let (tag, to) = answer.split_first()?;
            if tag.lit.bits == 0 {
                continue;
            }
            let to: Vec<i64> = to.iter().map(|v| v.lit.bits as i64).collect();
            let at = linear_index(&out.shape, &to)?;
            let new = source.element(from);
            sums[at].add(&new);
            let combined = scalar::call(self, combine, &[new, out.element(at)].concat())?;
            out.columns.iter_mut().zip(combined).for_each(|(c, x)| c[at] = x);
        }
        for (at, sum) in sums.iter().enumerate() {
            let widened = sum.widen(out.element(at), rounds);
            out.columns.iter_mut().zip(widened).for_each(|(c, x)| c[at] = x);
        }
        if !stable {
            self.may_fault = true;
            out.columns.iter_mut().flatten().for_each(|x| *x = x.unstable());
        }
        Some(Rc::new(out))
    }
}

fn define<'p>(block: &'p Block, definitions: &mut [Option<&'p Stmt>]) {
    grow_stack(|| {
        for s in &block.stmts {
            s.results.iter().for_each(|r| definitions[r.index()] = Some(s));
            s.op.blocks().into_iter().for_each(|b| define(b, definitions));
        }
    });
}

fn ints(index: &[i64]) -> Vec<Near> {
    index.iter().map(|&i| Near::exact(i.lit())).collect()
}

fn intersection(xs: &[Rc<Bounds>]) -> Option<Vec<usize>> {
    let shapes = xs.iter().map(|x| x.shape.clone());
    shapes.reduce(|a, b| a.iter().zip(&b).map(|(m, n)| *m.min(n)).collect())
}

fn neighbour(m: &mut Machine<'_>, source: &Bounds, at: &[i64], boundary: &Boundary) -> Option<Vec<Near>> {
    if let Some(at) = linear_index(&source.shape, at) {
        return Some(source.element(at));
    }
    let inside: fn(i64, i64) -> i64 = match boundary {
        Boundary::Function(f) => return scalar::call(m, f, &ints(at)),
        Boundary::Clamp => |i, n| i.clamp(0, n - 1),
        Boundary::Mirror => |i, n| (n - 1 - (n - 1 - i.abs()).abs()).max(0),
        Boundary::Wrap => |i, n| i.rem_euclid(n),
    };
    let at: Vec<i64> = at.iter().zip(&source.shape).map(|(&i, &n)| inside(i, n as i64)).collect();
    Some(source.element(linear_index(&source.shape, &at)?))
}

/// Which roundings of floats a repeated operator has: their association is free.
#[derive(Clone, Copy)]
pub(super) struct Rounding {
    sums: bool,
    products: bool,
}

impl Rounding {
    /// Those of sums.
    pub(super) const SUMS: Rounding = Rounding { sums: true, products: false };

    fn of(f: &Fun) -> Rounding {
        let mut found = Rounding { sums: false, products: false };
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Prim(op, args) = &n.op
                && args.first().is_some_and(|&a| f.ty(a).is_float())
            {
                found.sums |= matches!(op, PrimOp::AddP | PrimOp::SubP);
                found.products |= matches!(op, PrimOp::MulP | PrimOp::DivP);
            }
        });
        found
    }
}

/// What an operator was applied to: how far results in another association may lie apart.
pub(super) struct Sums {
    count: f64,
    /// By leaf: the sum of magnitudes, the product of those above 1, and of those below 1.
    leaves: Vec<(f64, f64, f64)>,
}

impl Sums {
    pub(super) fn new(first: &[Near]) -> Sums {
        let mut sums = Sums { count: 0.0, leaves: vec![(0.0, 1.0, 1.0); first.len()] };
        sums.add(first);
        sums
    }

    pub(super) fn add(&mut self, x: &[Near]) {
        self.count += 1.0;
        for ((sum, above, below), x) in self.leaves.iter_mut().zip(x).filter(|(_, x)| x.lit.ty.is_float()) {
            let m = x.magnitude();
            // Infinities and NaNs have the same sum in every order.
            if m.is_finite() {
                *sum += m;
                *above *= m.max(1.0);
                *below *= if m == 0.0 { 1.0 } else { m.min(1.0) };
            }
        }
    }

    pub(super) fn widen(&self, acc: Vec<Near>, rounds: Rounding) -> Vec<Near> {
        let widened = acc.into_iter().zip(&self.leaves).map(|(x, &(sum, above, below))| {
            use acc_core::data::ScalarType as T;
            let (epsilon, greatest, least) = match x.lit.ty {
                T::F64 => (f64::EPSILON, f64::MAX, f64::MIN_POSITIVE),
                T::F32 => (f64::from(f32::EPSILON), f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
                // Half precision.
                ty if ty.is_float() => (2f64.powi(-10), 65504.0, 2f64.powi(-14)),
                _ => return x,
            };
            let mut x = x;
            // How far roundings on the way may take a partial result: in one order it may overflow, in another not.
            let off = 2.0 * self.count * epsilon;
            if self.count > 1.0 && rounds.sums {
                x = if sum * (1.0 + off) < greatest { x.widened(off * sum) } else { x.unstable() };
            }
            if self.count > 1.0 && rounds.products {
                let safe = above * (1.0 + off) < greatest && below > least * (1.0 + off);
                x = if safe { x.widened(off * x.magnitude()) } else { x.unstable() };
            }
            x
        });
        widened.collect()
    }
}
