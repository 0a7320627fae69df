//! Reductions of windows of an axis: element by element of the windows, all places at once, or by windows of twice the extent.
//!
//! libtorch's own pools go through each window by itself, which takes five to fifty times as long.

use super::elementwise;
use super::reduce::{operation, reduce};
use super::views::{Positions, slice, unfold};
use crate::torch::transfer::literal;
use crate::torch::{Device, TorchError};
use acc_core::data::ScalarType;
use acc_desugar::graph::ReduceOp;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// See [`Op::Pool`](acc_desugar::graph::Op::Pool).
pub(crate) struct Pool {
    pub(crate) with: ReduceOp,
    pub(crate) ty: ScalarType,
    pub(crate) axis: usize,
    pub(crate) start: i64,
    pub(crate) places: i64,
    pub(crate) window: i64,
    pub(crate) stride: i64,
    pub(crate) dilation: i64,
    pub(crate) padded: bool,
}

impl Pool {
    pub(crate) fn run(&self, x: &Tensor) -> Result<Tensor> {
        if self.ty == ScalarType::F16 {
            let wide = Pool { ty: ScalarType::F32, ..*self };
            return Ok(wide.run(&x.f_to_kind(Kind::Float)?)?.f_to_kind(Kind::Half)?);
        }
        let extent = x.size().get(self.axis).copied().unwrap_or(0);
        let span = self.span();
        let inside = self.start >= 0 && span.is_some_and(|span| self.start.saturating_add(span) <= extent);
        match span {
            Some(span) if inside => self.reduced(&x.f_narrow(self.axis as i64, self.start, span)?),
            Some(span) if self.padded => self.reduced(&self.surrounded(x, extent, span)?),
            // Of nothing, or of what is not there.
            _ => {
                let at = Positions {
                    start: self.start,
                    lens: &[self.places, self.window],
                    steps: &[self.stride, self.dilation],
                    padded: false,
                };
                let windows = unfold(x, self.axis, &at)?.f_movedim_int(self.axis as i64 + 1, -1)?;
                reduce(self.with, &windows, self.ty)
            }
        }
    }

    /// How many positions there are from the first to the last one, if there are any.
    fn span(&self) -> Option<i64> {
        let some = self.places > 0 && self.window > 0;
        let ways =
            [(self.places, self.stride), (self.window, self.dilation)].map(|(n, step)| (n - 1).saturating_mul(step));
        some.then(|| ways.iter().fold(1, |sum: i64, way| sum.saturating_add(*way)))
    }

    /// The positions from the first to the last one, with neutral elements where there are none.
    fn surrounded(&self, x: &Tensor, extent: i64, span: i64) -> Result<Tensor> {
        let mut shape = x.size();
        if let Some(n) = shape.get_mut(self.axis) {
            *n = span;
        }
        let neutral = literal(self.with.neutral(self.ty), Device::Cpu)?.f_to_device(x.device())?;
        let all = neutral.f_expand(shape, false)?.f_contiguous()?;
        let (first, end) = (self.start.clamp(0, extent), self.start.saturating_add(span).clamp(0, extent));
        if first < end {
            let axis = self.axis as i64;
            let mut there = all.f_narrow(axis, first - self.start, end - first)?;
            there.f_copy_(&x.f_narrow(axis, first, end - first)?)?;
        }
        Ok(all)
    }

    /// The reductions of the windows of an axis that begins with the first one and ends with the last one.
    fn reduced(&self, x: &Tensor) -> Result<Tensor> {
        let doublings = i64::from(self.window.ilog2());
        let pieces = i64::from(self.window.count_ones());
        // What goes through the operation: the elements of each place, or those between, for each doubling.
        let one_by_one = (self.window - 1).saturating_mul(self.places);
        let doubled = doublings
            .saturating_mul(self.places.saturating_mul(self.stride))
            .saturating_add((pieces - 1) * self.places);
        if one_by_one <= doubled {
            let pieces = (0..self.window).map(|k| self.at_places(x, k));
            return self.combined(pieces);
        }
        // Reductions of 1, 2, 4, .. neighbours, of which the windows consist.
        let (mut of_neighbours, mut pieces, mut done) = (x.shallow_clone(), Vec::new(), 0);
        for bit in 0..=doublings {
            let count = 1i64 << bit;
            if self.window & count != 0 {
                pieces.push(self.at_places(&of_neighbours, done));
                done += count;
            }
            if bit < doublings {
                let len = of_neighbours.size().get(self.axis).copied().unwrap_or(0) - count * self.dilation;
                let part = |start: i64| slice(&of_neighbours, self.axis, start, len, 1);
                of_neighbours = self.apply(&part(0)?, &part(count * self.dilation)?, None)?;
            }
        }
        self.combined(pieces.into_iter())
    }

    /// The elements at a position of each window.
    fn at_places(&self, x: &Tensor, position: i64) -> Result<Tensor> {
        slice(x, self.axis, position * self.dilation, self.places, self.stride)
    }

    fn combined(&self, mut pieces: impl Iterator<Item = Result<Tensor>>) -> Result<Tensor> {
        let first = pieces.next().ok_or_else(|| TorchError::new("a window has no element"))??;
        let Some(second) = pieces.next() else { return Ok(first) };
        let mut all = self.apply(&first, &second?, None)?;
        for piece in pieces {
            all = self.apply(&all, &piece?, Some((&all, true)))?;
        }
        Ok(all)
    }

    fn apply(&self, x: &Tensor, y: &Tensor, place: Option<(&Tensor, bool)>) -> Result<Tensor> {
        elementwise::apply(operation(self.with), self.ty, &[x, y], None, place)
    }
}
