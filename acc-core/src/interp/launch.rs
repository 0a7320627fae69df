//! Evaluation of array operations.

use super::machine::Machine;
use super::number::{Number, Values};
pub(super) use super::scalar::Scalars;
use super::scalar::{Launch, out_of_bounds};
use super::{Host, fault, internal, sort, stencil};
use crate::data::{ArrayData, ColumnBuf, EltType, ScalarType, linear_index, shape_size, unlinear_index};
use crate::error::{Error, Fault};
use crate::ir::{
    ArrayId, ArrayOp, Axis, Dir, Extents, Fun, Loc, SEGMENT_EMPTY, SEGMENTS_WRONG, Sizes, Stmt, result_extents,
};
use crate::limits::{Charge, Meter};
use crate::memory;
use smallvec::SmallVec;
use std::sync::Arc;

/// Evaluates a statement whose operands are evaluated.
pub(super) fn stmt<'p, N: Number>(m: &mut Machine<'p, N>, s: &'p Stmt) -> Result<Vec<Values<N>>, Error> {
    let result = match &s.op {
        ArrayOp::Generate { f, shape: _ } => {
            let shape = extents(m, s)?;
            let mut f = launch(s, f);
            each(m, s, shape, |m, _, index| f.call(index.iter().map(N::of_int), m))
        }
        ArrayOp::Map { f, xs, indexed } => {
            let xs = xs.iter().map(|&x| m.value(x)).collect::<Result<Vec<_>, _>>()?;
            let shape = extents(m, s)?;
            let mut f = launch(s, f);
            each(m, s, shape, |m, _, index| {
                let mut args: Scalars<N> =
                    if *indexed { index.iter().map(N::of_int).collect() } else { Scalars::new() };
                for x in &xs {
                    args.extend(x.read(index)?);
                }
                f.call(args, m)
            })
        }
        ArrayOp::Fold { f, init, xs } => fold(m, s, f, init.as_ref(), *xs),
        ArrayOp::FoldSeg { f, init, xs, offsets } => fold_seg(m, s, f, init.as_ref(), [*xs, *offsets]),
        ArrayOp::Scan { dir, f, init, xs } => scan(m, s, *dir, f, init.as_ref(), *xs),
        ArrayOp::Permute { combine, defaults, target, xs } => permute(m, s, combine, *defaults, target, *xs),
        ArrayOp::Backpermute { shape: _, index: f, xs } => {
            let shape = extents(m, s)?;
            let source = m.value(*xs)?;
            let mut f = launch(s, f);
            each(m, s, shape, |m, _, index| {
                let from: SmallVec<[i64; 4]> =
                    f.call(index.iter().map(N::of_int), m)?.iter().map(|l| l.int()).collect();
                match source.data.position(&from) {
                    Some(at) => source.element(at),
                    None => Err(fault(out_of_bounds(*xs, &from, source.shape()), s.operation(), &s.loc)),
                }
            })
        }
        ArrayOp::Stencil { f, inputs } => stencil::stencil(m, s, f, inputs),
        ArrayOp::Argsort { xs } => sort::argsort(m, s, *xs),
        ArrayOp::Check { ok, message, xs } => {
            let answer = closed(m, s, ok)?;
            let numbers: Vec<i64> = answer.iter().skip(1).map(|l| l.int()).collect();
            match answer.first() {
                Some(ok) if ok.lit().bits == 0 => {
                    Err(fault(Fault::check_failed(message, &numbers), s.operation(), &s.loc))
                }
                _ => m.value(*xs),
            }
        }
        ArrayOp::Reshape { shape: _, xs } => {
            let shape = extents(m, s)?;
            let source = m.value(*xs)?;
            source.reshaped(&shape).map_err(|_| {
                let from = source.shape().to_vec();
                fault(Fault::ReshapeSize { from, to: shape }, s.operation(), &s.loc)
            })
        }
        ArrayOp::Replicate { axes, extents: _, xs } => {
            let shape = extents(m, s)?;
            let source = m.value(*xs)?;
            each(m, s, shape, |_, _, index| {
                let from: SmallVec<[i64; 4]> =
                    index.iter().zip(axes).filter(|(_, a)| **a == Axis::All).map(|(i, _)| *i).collect();
                source.read(&from)
            })
        }
        ArrayOp::Slice { axes, index, xs } => slice(m, s, axes, index, *xs),
        ArrayOp::Compute { xs, .. } => m.value(*xs),
        ArrayOp::Foreign { function, xs, fallback } => return m.foreign(function, xs, fallback),
        ArrayOp::If { cond, then, else_ } => {
            let holds = closed(m, s, cond)?.iter().all(|l| l.lit().bits != 0);
            return m.block(if holds { then } else { else_ }, &[]);
        }
        ArrayOp::While { init, test, step } => return m.repeat(init, test, step),
        ArrayOp::Derivative { .. } => return N::derivative(m, s),
        ArrayOp::Ruled { .. } => return N::ruled(m, s),
    };
    Ok(vec![result?])
}

/// Whether the result of a loop's test is true.
pub(super) fn is_true<N: Number>(results: &[Values<N>]) -> Result<bool, Error> {
    match results {
        [one] => Ok(one.element(0)?.iter().all(|l| l.lit().bits != 0)),
        _ => Err(internal("a loop's test does not yield one array")),
    }
}

/// The shape that an extent function asks for: an error if an extent is negative or the shape too large.
pub fn shape_of_extents(extents: &[i64], op: &'static str, loc: &Loc) -> Result<Vec<usize>, Error> {
    let shape = extents.iter().map(|&e| usize::try_from(e)).collect::<Result<Vec<_>, _>>();
    let shape = shape.map_err(|_| fault(Fault::NegativeExtent { shape: extents.to_vec() }, op, loc))?;
    shape_size(&shape).map_err(|_| fault(Fault::ShapeOverflow { shape: extents.to_vec() }, op, loc))?;
    Ok(shape)
}

pub(super) fn launch<'f, N: Number>(s: &'f Stmt, f: &'f Fun) -> Launch<'f, N> {
    Launch::new(f, s.operation(), &s.loc)
}

fn closed<'p, N: Number>(m: &mut Machine<'p, N>, s: &'p Stmt, f: &'p Fun) -> Result<Scalars<N>, Error> {
    launch(s, f).call([], m)
}

/// The extents of a statement's result.
pub(super) fn extents<'p, N: Number>(m: &mut Machine<'p, N>, s: &'p Stmt) -> Result<Vec<usize>, Error> {
    let extents = result_extents(&s.op, &mut Operands { m, s })?;
    Ok(extents.ok_or_else(|| internal("the extents of an operation with blocks"))?.into_vec())
}

/// The extents of a statement's operands.
struct Operands<'m, 'p, N: Number> {
    m: &'m mut Machine<'p, N>,
    s: &'p Stmt,
}

impl<'p, N: Number> Sizes<'p> for Operands<'_, 'p, N> {
    type Size = usize;
    type Error = Error;

    fn of(&self, a: ArrayId) -> Result<Extents<usize>, Error> {
        Ok(self.m.value(a)?.shape().into())
    }
    fn closed(&mut self, f: &'p Fun) -> Result<Extents<usize>, Error> {
        let extents: Vec<i64> = closed(self.m, self.s, f)?.iter().map(|l| l.int()).collect();
        Ok(shape_of_extents(&extents, self.s.operation(), &self.s.loc)?.into())
    }
    fn least(&mut self, sizes: &[usize]) -> usize {
        sizes.iter().copied().min().unwrap_or(0)
    }
    fn succ(&mut self, n: usize) -> usize {
        n + 1
    }
    fn pred(&mut self, n: usize) -> usize {
        n.saturating_sub(1)
    }
}

/// Computes an array in row-major order; `f` gives each element from its position and index.
pub(super) fn each<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    shape: Vec<usize>,
    mut f: impl FnMut(&mut Machine<'p, N>, usize, &[i64]) -> Result<Scalars<N>, Error>,
) -> Result<Values<N>, Error> {
    let mut out = Output::new(shape.clone(), m.result_elt(s)?, s, &m.meter)?;
    for at in 0..out.size {
        m.tick()?;
        let element = f(m, at, &unlinear_index(&shape, at))?;
        out.push(&element)?;
    }
    out.finish()
}

/// An array in the making.
pub(super) struct Output<N: Number> {
    shape: Vec<usize>,
    size: usize,
    elt: EltType,
    columns: Vec<ColumnBuf>,
    beside: N::Beside,
    /// How many elements there are so far.
    pushed: usize,
    charge: Arc<Charge>,
}

impl<N: Number> Output<N> {
    pub(super) fn new(shape: Vec<usize>, elt: &EltType, s: &Stmt, meter: &Meter) -> Result<Self, Error> {
        let overflow = || {
            let shape = shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
            fault(Fault::ShapeOverflow { shape }, s.operation(), &s.loc)
        };
        let size = shape_size(&shape).map_err(|_| overflow())?;
        let floats = elt.leaves().iter().filter(|ty| ty.is_float()).count();
        let bytes = size
            .checked_mul(elt.size() + floats * N::BYTES_BESIDE)
            .filter(|&b| b <= isize::MAX as usize)
            .ok_or_else(overflow)?;
        let charge = Arc::new(meter.charge(bytes as u64)?);
        let column = |ty: ScalarType| ColumnBuf::with_capacity(ty, size).map_err(|_| Error::no_memory(size, ty.size()));
        let columns = elt.leaves().into_iter().map(column);
        let (columns, beside) = (columns.collect::<Result<_, _>>()?, N::Beside::default());
        Ok(Output { shape, size, elt: elt.clone(), columns, beside, pushed: 0, charge })
    }

    /// Zeros everywhere, to be set in any order.
    fn fill(&mut self, host: &mut dyn Host<N>) -> Result<(), Error> {
        // In pieces, with a look at the limits after each: the system takes long to provide much memory.
        const ELEMENTS_PER_PIECE: usize = 1 << 16;
        for start in (0..self.size).step_by(ELEMENTS_PER_PIECE) {
            host.pause()?;
            for c in &mut self.columns {
                c.push_zeros(ELEMENTS_PER_PIECE.min(self.size - start))?;
            }
        }
        Ok(())
    }

    /// Appends an element, given as its leaves.
    pub(super) fn push(&mut self, leaves: &[N]) -> Result<(), Error> {
        let first = self.pushed * self.columns.len();
        self.pushed += 1;
        for (k, (c, x)) in self.columns.iter_mut().zip(leaves).enumerate() {
            c.push(x.lit().bits)?;
            x.store(&mut self.beside, first + k);
        }
        Ok(())
    }

    fn set(&mut self, at: usize, leaves: &[N]) {
        let first = at * self.columns.len();
        for (k, (c, x)) in self.columns.iter_mut().zip(leaves).enumerate() {
            c.set(at, x.lit().bits);
            x.store(&mut self.beside, first + k);
        }
    }

    fn get(&self, at: usize) -> Scalars<N> {
        let first = at * self.columns.len();
        self.columns.iter().enumerate().map(|(k, c)| N::load(c.get(at), &self.beside, first + k)).collect()
    }

    pub(super) fn finish(self) -> Result<Values<N>, Error> {
        let columns: Vec<_> = self.columns.into_iter().map(|c| self.charge.of(c.finish())).collect();
        let data = ArrayData::new(self.shape, self.elt, columns).map_err(|e| internal(e.to_string()))?;
        Ok(Values { data, beside: self.beside })
    }
}

/// The extents but the innermost one, and that one.
pub(super) fn rows(shape: &[usize]) -> Result<(Vec<usize>, usize), Error> {
    let (&inner, outer) =
        shape.split_last().ok_or_else(|| internal("an array of rank 0 has no innermost dimension"))?;
    Ok((outer.to_vec(), inner))
}

fn fold<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    f: &'p Fun,
    init: Option<&'p Fun>,
    xs: ArrayId,
) -> Result<Values<N>, Error> {
    let init = init.map(|i| closed(m, s, i)).transpose()?;
    let source = m.value(xs)?;
    let (_, inner) = rows(source.shape())?;
    if init.is_none() && inner == 0 {
        return Err(fault(Fault::EmptyFold { shape: source.shape().to_vec() }, s.operation(), &s.loc));
    }
    let outer = extents(m, s)?;
    let mut f = launch(s, f);
    each(m, s, outer, |m, row, _| reduce(m, &mut f, init.as_ref(), &source, row * inner..(row + 1) * inner))
}

/// Combines the elements at these positions, from `init` or the first of them.
fn reduce<N: Number>(
    host: &mut dyn Host<N>,
    f: &mut Launch<'_, N>,
    init: Option<&Scalars<N>>,
    source: &Values<N>,
    mut positions: impl Iterator<Item = usize>,
) -> Result<Scalars<N>, Error> {
    let mut acc = match init {
        Some(init) => init.clone(),
        None => source.element(positions.next().ok_or_else(|| internal("nothing to reduce"))?)?,
    };
    for at in positions {
        let x = source.element(at)?;
        acc = f.call(acc.into_iter().chain(x), host)?;
    }
    Ok(acc)
}

fn fold_seg<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    f: &'p Fun,
    init: Option<&'p Fun>,
    [xs, offsets]: [ArrayId; 2],
) -> Result<Values<N>, Error> {
    let (source, offsets) = (m.value(xs)?, m.value(offsets)?);
    let (_, inner) = rows(source.shape())?;
    let failed = |message: &str, numbers: &[i64]| fault(Fault::check_failed(message, numbers), s.operation(), &s.loc);
    // Where each segment begins, and where the last one ends.
    let _charge = m.meter.charge((offsets.size() * size_of::<usize>()) as u64)?;
    let mut bounds: Vec<usize> = memory::with_capacity(offsets.size())?;
    for k in 0..offsets.size() {
        m.tick()?;
        let at = offsets.element(k)?.first().map_or(-1, N::int);
        let least = bounds.last().copied().unwrap_or(0);
        match usize::try_from(at) {
            Ok(at) if (least..=inner).contains(&at) => bounds.push(at),
            _ => return Err(failed(SEGMENTS_WRONG, &[inner as i64])),
        }
    }
    let Some(count) = bounds.len().checked_sub(1) else { return Err(failed(SEGMENTS_WRONG, &[inner as i64])) };
    if init.is_none() && bounds.windows(2).any(|w| w[0] == w[1]) {
        return Err(failed(SEGMENT_EMPTY, &[]));
    }
    let shape = extents(m, s)?;
    // Unused where no segment begins here.
    let init = init.filter(|_| !shape.contains(&0)).map(|i| closed(m, s, i)).transpose()?;
    let mut f = launch(s, f);
    each(m, s, shape, |m, at, _| {
        let (row, segment) = (at / count, at % count);
        let positions = (bounds[segment]..bounds[segment + 1]).map(|k| row * inner + k);
        reduce(m, &mut f, init.as_ref(), &source, positions)
    })
}

fn scan<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    dir: Dir,
    f: &'p Fun,
    init: Option<&'p Fun>,
    xs: ArrayId,
) -> Result<Values<N>, Error> {
    let init = init.map(|i| closed(m, s, i)).transpose()?;
    let source = m.value(xs)?;
    let (outer, inner) = rows(source.shape())?;
    let (shape, length) = (extents(m, s)?, inner + usize::from(init.is_some()));
    let mut f = launch(s, f);
    let mut out = Output::new(shape, m.result_elt(s)?, s, &m.meter)?;
    out.fill(m)?;
    for row in 0..outer.iter().product() {
        let start = row * inner;
        // The row's elements, from the end where the scan starts.
        let mut order: Box<dyn Iterator<Item = usize>> = match dir {
            Dir::Left => Box::new(start..start + inner),
            Dir::Right => Box::new((start..start + inner).rev()),
        };
        let mut acc = match &init {
            Some(init) => Some(init.clone()),
            None => order.next().map(|at| source.element(at)).transpose()?,
        };
        let mut states = 0..length;
        while let Some(state) = acc.take() {
            m.tick()?;
            if let Some(at) = order.next() {
                let x = source.element(at)?;
                let next = match dir {
                    Dir::Left => f.call(state.iter().cloned().chain(x), m)?,
                    Dir::Right => f.call(x.into_iter().chain(state.iter().cloned()), m)?,
                };
                acc = Some(next);
            }
            let at = match dir {
                Dir::Left => states.next(),
                Dir::Right => states.next_back(),
            };
            out.set(row * length + at.ok_or_else(|| internal("a state too many"))?, &state);
        }
    }
    out.finish()
}

fn permute<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    combine: &'p Fun,
    defaults: ArrayId,
    target: &'p Fun,
    xs: ArrayId,
) -> Result<Values<N>, Error> {
    let (defaults, source) = (m.value(defaults)?, m.value(xs)?);
    let mut out = Output::new(defaults.shape().to_vec(), m.result_elt(s)?, s, &m.meter)?;
    for at in 0..defaults.size() {
        m.tick()?;
        out.push(&defaults.element(at)?)?;
    }
    let (mut combine, mut target) = (launch(s, combine), launch(s, target));
    for from in 0..source.size() {
        m.tick()?;
        let index = unlinear_index(source.shape(), from);
        let answer = target.call(index.iter().map(N::of_int), m)?;
        let Some((tag, to)) = answer.split_first() else { return Err(internal("a target without a tag")) };
        if tag.lit().bits == 0 {
            continue;
        }
        let to: SmallVec<[i64; 4]> = to.iter().map(|l| l.int()).collect();
        let Some(at) = linear_index(defaults.shape(), &to) else {
            let result = s.results.first().copied().unwrap_or(xs);
            return Err(fault(out_of_bounds(result, &to, defaults.shape()), s.operation(), &s.loc));
        };
        let (new, old) = (source.element(from)?, out.get(at));
        let combined = combine.call(new.into_iter().chain(old), m)?;
        out.set(at, &combined);
    }
    out.finish()
}

fn slice<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    axes: &'p [Axis],
    position: &'p Fun,
    xs: ArrayId,
) -> Result<Values<N>, Error> {
    let fixed: Vec<i64> = closed(m, s, position)?.iter().map(|l| l.int()).collect();
    let source = m.value(xs)?;
    // The fixed positions at their axes, 0 elsewhere.
    let mut fixed = fixed.into_iter();
    let first: Vec<i64> = axes
        .iter()
        .map(|a| match a {
            Axis::All => 0,
            Axis::Fixed => fixed.next().unwrap_or_default(),
        })
        .collect();
    let inside = |((axis, &i), &n): ((&Axis, &i64), &usize)| *axis == Axis::All || (0..n as i64).contains(&i);
    if !axes.iter().zip(&first).zip(source.shape()).all(inside) {
        return Err(fault(out_of_bounds(xs, &first, source.shape()), s.operation(), &s.loc));
    }
    let shape = extents(m, s)?;
    each(m, s, shape, |_, _, index| {
        let mut kept = index.iter();
        let from: SmallVec<[i64; 4]> = axes
            .iter()
            .zip(&first)
            .map(|(a, &i)| if *a == Axis::All { kept.next().copied().unwrap_or_default() } else { i })
            .collect();
        source.read(&from)
    })
}
