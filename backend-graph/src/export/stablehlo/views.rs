//! Views, and reads at positions that follow from extents.

use super::body::{Emitter, Size};
use super::writer::{Result, Shape, Tensor};
use acc_desugar::graph::PadMode;

impl Emitter<'_> {
    /// The elements under another shape; zeros where it is of another size, since the run has a fault then.
    pub(super) fn reshaped(&mut self, x: &Tensor, shape: &[i64]) -> Result {
        if x.elements() == shape.iter().product::<i64>() { self.w.reshape(x, shape) } else { self.w.zeros(x.ty, shape) }
    }

    /// Extents of 1 repeated; zeros where the shape does not fit.
    pub(super) fn broadcast(&mut self, x: &Tensor, shape: &[i64]) -> Result {
        let fits = x.shape.iter().zip(shape).all(|(d, n)| *d == 1 || d == n);
        if fits { self.w.spread(x, shape) } else { self.w.zeros(x.ty, shape) }
    }

    /// Every `step`-th of `len` positions of an axis; zeros if they are not all there.
    pub(super) fn sliced(&mut self, x: &Tensor, axis: usize, start: &Size, len: i64, step: i64) -> Result {
        let mut shape = x.shape.clone();
        if let Some(n) = shape.get_mut(axis) {
            *n = len;
        }
        let span = len.saturating_sub(1).saturating_mul(step).saturating_add(1);
        let room = x.extent(axis).saturating_sub(span);
        if len == 0 || room < 0 {
            return self.w.zeros(x.ty, &shape);
        }
        match start {
            Size::Number(s) if (0..=room).contains(s) => self.w.slice(x, axis, [*s, s + span, step]),
            Size::Number(_) => self.w.zeros(x.ty, &shape),
            Size::Device(start) => {
                let y = self.w.dynamic_slice(x, axis, start, span)?;
                let y = self.w.slice(&y, axis, [0, span, step])?;
                let bound = self.w.int(room + 1)?;
                let outside = self.out_of_bounds(start, &bound)?;
                let zero = self.w.small(0, x.ty)?;
                self.w.select(&outside, &zero, &y)
            }
        }
    }

    /// An axis at the positions `start + Σ steps[k]·i[k]`; `outside` is what is read out of bounds, if positions may be.
    pub(super) fn unfolded(
        &mut self,
        x: &Tensor,
        axis: usize,
        start: &Tensor,
        lens: &[i64],
        steps: &[Tensor],
        outside: Option<Tensor>,
    ) -> Result {
        let mut at = self.w.spread(start, lens)?;
        for (k, step) in steps.iter().enumerate() {
            let position = self.w.iota(lens, k)?;
            let far = self.w.binary("multiply", &position, step)?;
            at = self.w.binary("add", &at, &far)?;
        }
        let y = self.taken(x, axis, &at)?;
        let Some(there) = outside else { return Ok(y) };
        let extent = self.w.int(x.extent(axis))?;
        let outside = self.out_of_bounds(&at, &extent)?;
        // As an axis of the result for each of its own.
        let mut shape = Shape::from_elem(1, axis);
        shape.extend_from_slice(lens);
        shape.resize(y.rank(), 1);
        let outside = self.w.reshape(&outside, &shape)?;
        self.w.select(&outside, &there, &y)
    }

    /// A tensor with more places at both ends of an axis.
    pub(super) fn padded(&mut self, x: &Tensor, axis: usize, width: i64, mode: PadMode) -> Result {
        let n = x.extent(axis);
        if width == 0 || n == 0 {
            return Ok(x.clone());
        }
        let (before, after) = match mode {
            PadMode::Nearest => {
                let mut shape = x.shape.clone();
                if let Some(n) = shape.get_mut(axis) {
                    *n = width;
                }
                let (first, last) = (self.w.slice(x, axis, [0, 1, 1])?, self.w.slice(x, axis, [n - 1, n, 1])?);
                (self.w.spread(&first, &shape)?, self.w.spread(&last, &shape)?)
            }
            PadMode::Wrap if width <= n => {
                (self.w.slice(x, axis, [n - width, n, 1])?, self.w.slice(x, axis, [0, width, 1])?)
            }
            PadMode::Mirror if width < n => {
                let before = self.w.slice(x, axis, [1, width + 1, 1])?;
                let after = self.w.slice(x, axis, [n - 1 - width, n - 1, 1])?;
                (self.w.reverse(&before, axis)?, self.w.reverse(&after, axis)?)
            }
            PadMode::Wrap | PadMode::Mirror => {
                let position = |k: i64| match mode {
                    PadMode::Wrap => k.rem_euclid(n),
                    PadMode::Mirror | PadMode::Nearest => (n - 1 - (n - 1 - k.abs()).abs()).clamp(0, n - 1),
                };
                let positions: Vec<i64> = (-width..n + width).map(position).collect();
                let at = self.w.ints(&positions)?;
                return self.taken(x, axis, &at);
            }
        };
        self.w.concat(&[before, x.clone(), after], axis)
    }
}
