//! Which rows of an array a kernel reads for a row of its own: the same one, or a window around it, such as that of a stencil.
//!
//! The index along the first dimension never decreases along the kernel's first axis. So the rows that a block of rows reads lie
//! between those that its first and its last row read.

use crate::kernel::access::{Accesses, Affine, Index, Sum};
use crate::kernel::{Body, Edge, Ix, Kernel, Load, Op};
use acc_core::data::Prim;
use acc_core::ir::{ArrayId, PrimOp, Val};
use acc_desugar::analysis::access::Bound;
use smallvec::{SmallVec, smallvec};

/// The rows of an array that a read needs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RowRead {
    pub array: ArrayId,
    /// By how many rows of the array the window moves from one row of the kernel to the next, at least 1.
    pub step: i64,
    /// Where the window of row 0 begins and ends, without the steps along folded axes.
    pub window: [Number; 2],
    /// Steps along axes that are folded.
    pub folded: SmallVec<[(usize, i64); 1]>,
    /// Bounds of the index, in the order in which they are applied. Beyond the array there are no rows.
    pub bounds: SmallVec<[Bound<Number>; 2]>,
    /// Whether rows beyond the array are those mirrored at its borders, within the window.
    pub is_mirrored: bool,
}

/// A literal plus multiples of extents.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Number {
    pub literal: i64,
    /// Extents, by array and dimension, with their factors.
    pub extents: SmallVec<[(ArrayId, u32, i64); 1]>,
}

impl RowRead {
    /// None if the rows are no window that moves with the kernel's own.
    fn of(kernel: &Kernel, body: &Body, accesses: &Accesses, l: &Load) -> Option<RowRead> {
        let (sum, bounds) = match *l.index.first()? {
            Ix::Affine { axis, scale, offset, base } => {
                let mut at = base.map_or_else(Sum::default, Sum::value);
                at.offset = offset;
                (Affine::along(axis, at, Sum { offset: scale, ..Sum::default() }), SmallVec::new())
            }
            Ix::At(v) => match accesses.index(v) {
                Index::Affine(sum) => (sum, SmallVec::new()),
                Index::Clamped(clamped) => (clamped.of, clamped.bounds),
                Index::Wrapped(_) => return None,
            },
        };
        let parallel = kernel.axes.len() - kernel.folded();
        let mut step = 0;
        let mut folded = SmallVec::new();
        for term in &sum.terms {
            let by = term.step.terms.is_empty().then_some(term.step.offset)?;
            match term.axis as usize {
                0 => step = by,
                axis if axis >= parallel => folded.push((axis, by)),
                _ => return None,
            }
        }
        let at = Number::of(body, &sum.base)?;
        let bounds = bounds.iter().map(|bound| {
            Some(match bound {
                Bound::AtLeast(n) => Bound::AtLeast(Number::of(body, n)?),
                Bound::AtMost(n) => Bound::AtMost(Number::of(body, n)?),
            })
        });
        let mut read = RowRead {
            array: l.array,
            step,
            window: [at.clone(), at],
            folded,
            bounds: bounds.collect::<Option<_>>()?,
            is_mirrored: false,
        };
        match l.edge {
            None | Some(Edge::Clamp | Edge::Any) => {}
            Some(Edge::Mirror) => read.mirror()?,
            Some(Edge::Wrap) => return None,
        }
        (read.step > 0).then_some(read)
    }

    /// Row `i + c`, mirrored at a border, is at most `c` rows from row `i`.
    fn mirror(&mut self) -> Option<()> {
        let [at, _] = &self.window;
        let is_neighbour = self.step == 1 && self.folded.is_empty() && self.bounds.is_empty() && at.extents.is_empty();
        let reach = at.literal.checked_abs().filter(|_| is_neighbour)?;
        self.window = [-reach, reach].map(Number::literal);
        self.is_mirrored = reach > 0;
        Some(())
    }

    /// Whether each row reads the row of the same number alone.
    pub(crate) fn is_own_row(&self) -> bool {
        let at_zero = self.window.iter().all(|at| *at == Number::literal(0));
        self.step == 1 && at_zero && self.folded.is_empty() && self.bounds.is_empty()
    }
}

/// The operations that lead from extents to a number, one upon the other.
const MAX_DEPTH: usize = 8;

impl Number {
    fn literal(literal: i64) -> Number {
        Number { literal, extents: SmallVec::new() }
    }

    /// None if a term is made of anything but literals and extents.
    fn of(body: &Body, sum: &Sum) -> Option<Number> {
        sum.terms
            .iter()
            .try_fold(Number::literal(sum.offset), |all, (v, by)| all.plus(&Number::value(body, *v, MAX_DEPTH)?, *by))
    }

    fn value(body: &Body, v: Val, depth: usize) -> Option<Number> {
        if let Some((_, literal)) = body.consts.iter().find(|(c, _)| *c == v) {
            return Some(Number::literal(i64::from_bits64(literal.bits)));
        }
        let operand = |v: Val| Number::value(body, v, depth.checked_sub(1)?);
        match &body.region.definition(v)?.op {
            Op::Extent { array, axis } => Some(Number { literal: 0, extents: smallvec![(*array, *axis, 1)] }),
            Op::Prim(PrimOp::AddP, args) => operand(args[0])?.plus(&operand(args[1])?, 1),
            Op::Prim(PrimOp::SubP, args) => operand(args[0])?.plus(&operand(args[1])?, -1),
            _ => None,
        }
    }

    /// The sum with so many times another number.
    fn plus(mut self, other: &Number, by: i64) -> Option<Number> {
        self.literal = self.literal.checked_add(other.literal.checked_mul(by)?)?;
        for (array, dim, factor) in &other.extents {
            self.extents.push((*array, *dim, factor.checked_mul(by)?));
        }
        Some(self)
    }
}

/// The reads of some arrays in a kernel; none if the rows that one needs are no window, or if a combination reads one.
pub(crate) fn row_reads(kernel: &Kernel, is_read: impl Fn(ArrayId) -> bool) -> Option<Vec<RowRead>> {
    let mut reads: Option<Vec<RowRead>> = Some(Vec::new());
    let mut accesses = None;
    kernel.element.region.visit(0, &mut |n, _| {
        if let (Op::Index(l), Some(all)) = (&n.op, &mut reads)
            && is_read(l.array)
        {
            let accesses = accesses.get_or_insert_with(|| Accesses::of(&kernel.element));
            match RowRead::of(kernel, &kernel.element, accesses, l) {
                Some(read) if all.contains(&read) => {}
                Some(read) => all.push(read),
                None => reads = None,
            }
        }
    });
    for combine in kernel.outputs.iter().filter_map(|o| o.sink.combine()) {
        combine.region.visit(0, &mut |n, _| {
            if matches!(&n.op, Op::Index(l) if is_read(l.array)) {
                reads = None;
            }
        });
    }
    reads
}
