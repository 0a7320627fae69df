//! What the interpreter computes with: plain scalars, or scalars with tangents.

use super::internal;
use super::launch::Scalars;
use super::machine::Machine;
use crate::data::{ArrayData, Lit, Prim, ScalarType, ShapeError};
use crate::error::Error;
use crate::eval::{self, PrimError};
use crate::ir::{ArrayOp, Stmt};

/// A scalar.
pub(super) trait Number: Clone {
    /// What arrays hold beside the plain scalars, by position: the number of an element times the number of leaves, and the
    /// leaf.
    type Beside: Clone + Default;
    /// At most so many bytes for a float.
    const BYTES_BESIDE: usize;

    /// A constant.
    fn plain(lit: Lit) -> Self;
    /// The scalar itself.
    fn lit(&self) -> Lit;
    /// The scalar at a position of an array.
    fn load(lit: Lit, beside: &Self::Beside, position: usize) -> Self;
    /// Puts what belongs beside an array to its position there.
    fn store(&self, beside: &mut Self::Beside, position: usize);
    /// The value of a primitive operation.
    fn prim(op: crate::ir::PrimOp, args: &[Self]) -> Result<Self, PrimError>;
    /// A numeric conversion.
    fn cast(&self, to: ScalarType) -> Result<Self, PrimError>;
    /// The results of a derivative.
    fn derivative<'p>(m: &mut Machine<'p, Self>, s: &'p Stmt) -> Result<Vec<Values<Self>>, Error>;

    /// The results of a function with rules for its derivatives.
    fn ruled<'p>(m: &mut Machine<'p, Self>, s: &'p Stmt) -> Result<Vec<Values<Self>>, Error>;
    /// The levels of derivatives at which it has a tangent, one bit for each.
    fn levels(&self) -> u32;
    /// What it is without a level that no other is above, and its tangent there.
    fn split(&self, level: u32) -> (Self, Option<Self>);
    /// A number of the levels below this one, with a tangent there.
    fn join(self, level: u32, tangent: Option<Self>) -> Self;
    /// A tangent times a slope.
    fn times_slope(tangent: &Self, slope: Self) -> Result<Self, PrimError>;

    /// An integer, as an index.
    fn int(&self) -> i64 {
        self.lit().bits as i64
    }
    /// An index, as an integer.
    fn of_int(i: &i64) -> Self {
        Self::plain(i.lit())
    }
}

impl Number for Lit {
    type Beside = ();
    const BYTES_BESIDE: usize = 0;

    fn plain(lit: Lit) -> Lit {
        lit
    }
    fn lit(&self) -> Lit {
        *self
    }
    fn load(lit: Lit, (): &(), _: usize) -> Lit {
        lit
    }
    fn store(&self, (): &mut (), _: usize) {}
    fn prim(op: crate::ir::PrimOp, args: &[Lit]) -> Result<Lit, PrimError> {
        eval::eval_prim(op, args)
    }
    fn cast(&self, to: ScalarType) -> Result<Lit, PrimError> {
        eval::eval_cast(*self, to)
    }
    fn derivative<'p>(_: &mut Machine<'p, Lit>, _: &'p Stmt) -> Result<Vec<Values<Lit>>, Error> {
        Err(internal("a derivative of numbers without tangents"))
    }
    fn ruled<'p>(m: &mut Machine<'p, Lit>, s: &'p Stmt) -> Result<Vec<Values<Lit>>, Error> {
        match &s.op {
            ArrayOp::Ruled { at, f, .. } => {
                let args = m.all(at)?;
                m.block(f, &args)
            }
            _ => Err(internal("no function with rules")),
        }
    }
    fn levels(&self) -> u32 {
        0
    }
    fn split(&self, _: u32) -> (Lit, Option<Lit>) {
        (*self, None)
    }
    fn join(self, _: u32, _: Option<Lit>) -> Lit {
        self
    }
    fn times_slope(tangent: &Lit, slope: Lit) -> Result<Lit, PrimError> {
        eval::eval_prim(crate::ir::PrimOp::MulP, &[*tangent, slope])
    }
}

/// An array of scalars.
#[derive(Clone)]
pub(super) struct Values<N: Number> {
    pub(super) data: ArrayData,
    pub(super) beside: N::Beside,
}

impl<N: Number> Values<N> {
    /// An array of constants.
    pub(super) fn plain(data: ArrayData) -> Values<N> {
        Values { data, beside: N::Beside::default() }
    }

    pub(super) fn shape(&self) -> &[usize] {
        self.data.shape()
    }

    pub(super) fn size(&self) -> usize {
        self.data.size()
    }

    /// A leaf of the element at a row-major position, if there is one.
    pub(super) fn leaf(&self, leaf: usize, at: usize) -> Option<N> {
        let columns = self.data.columns();
        Some(N::load(columns.get(leaf)?.slice().get(at)?, &self.beside, at * columns.len() + leaf))
    }

    /// The leaves of the element at a row-major position.
    pub(super) fn element(&self, at: usize) -> Result<Scalars<N>, Error> {
        if at >= self.size() {
            return Err(internal("an element that is not there"));
        }
        let leaves = (0..self.data.columns().len()).map(|leaf| self.leaf(leaf, at));
        leaves.collect::<Option<_>>().ok_or_else(|| internal("a column is shorter than its array"))
    }

    /// The element at an index that is in bounds.
    pub(super) fn read(&self, index: &[i64]) -> Result<Scalars<N>, Error> {
        let at = self.data.position(index).ok_or_else(|| internal("an index that is not there"))?;
        self.element(at)
    }

    /// The same elements under another shape of the same size.
    pub(super) fn reshaped(&self, shape: &[usize]) -> Result<Values<N>, ShapeError> {
        Ok(Values { data: self.data.reshaped(shape)?, beside: self.beside.clone() })
    }
}
