//! Programs evaluated in intervals: where the values of every correct executor lie.
//!
//! An executor may have other last bits in a mathematical function, and may associate sums and products of floats in
//! another way. What follows from that is bounded by interval arithmetic, rounded outwards. A value that depends on a
//! decision that is not the same in the whole interval (a branch, a conversion to an integer, an index) is not stable:
//! any value is right, and the comparison leaves it out and counts it.

mod arrays;
mod scalar;
mod value;

pub use value::Near;

use acc_core::data::{ArrayData, unlinear_index};
use acc_core::ir::{PrimOp, Program};

/// The results of a program in intervals.
pub struct Evaluated {
    /// One for each result.
    pub results: Vec<Bounds>,
    /// Whether a decision about what is evaluated was not stable, so that another executor may meet a fault.
    pub may_fault: bool,
}

/// An array in intervals.
#[derive(Clone, Debug)]
pub struct Bounds {
    shape: Vec<usize>,
    /// By leaf, then by position.
    columns: Vec<Vec<Near>>,
}

/// How an executor computes floats next to 0 (docs/SEMANTICS.md).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zeros {
    /// As IEEE 754 says.
    Exact,
    /// Subnormal numbers may be 0, and a sum that is 0 may have either sign.
    Flushed,
}

impl Zeros {
    fn of(self, x: Near) -> Near {
        if self == Zeros::Flushed { x.flushed() } else { x }
    }

    fn of_prim(self, op: PrimOp, x: Near) -> Near {
        let x = self.of(x);
        if self == Zeros::Flushed && op == PrimOp::AddP { x.of_either_sign() } else { x }
    }
}

/// Evaluates a program whose run on the interpreter has a result; `None` if not even the shapes are stable.
pub fn evaluate(program: &Program, args: &[ArrayData], zeros: Zeros) -> Option<Evaluated> {
    let mut machine = arrays::Machine::new(program, zeros);
    let mut args = args.iter().map(Bounds::exact).collect::<Option<Vec<_>>>()?;
    args.iter_mut().flat_map(|a| a.columns.iter_mut().flatten()).for_each(|x| *x = zeros.of(*x));
    let results = machine.run(args)?;
    Some(Evaluated { results, may_fault: machine.may_fault })
}

impl Bounds {
    fn exact(a: &ArrayData) -> Option<Bounds> {
        let column = |c: &acc_core::data::Column| -> Option<Vec<Near>> {
            (0..a.size()).map(|k| c.slice().get(k).map(Near::exact)).collect()
        };
        Some(Bounds { shape: a.shape().to_vec(), columns: a.columns().iter().map(column).collect::<Option<_>>()? })
    }

    fn element(&self, at: usize) -> Vec<Near> {
        self.columns.iter().map(|c| c[at]).collect()
    }

    /// These or those, whichever an executor decides for: stable where both are the same; `None` if the shapes differ.
    fn either(&self, other: &Bounds) -> Option<Bounds> {
        let same = |a: &Near, b: &Near| a.is_exact() && b.is_exact() && a.lit == b.lit;
        let near = |(a, b): (&Near, &Near)| if same(a, b) { *a } else { a.unstable() };
        let columns =
            self.columns.iter().zip(&other.columns).map(|(a, b)| a.iter().zip(b).map(near).collect()).collect();
        (self.shape == other.shape).then(|| Bounds { shape: self.shape.clone(), columns })
    }

    /// Holds an executor's result to the bounds: how many elements are left out, or what differs.
    pub fn compare(&self, got: &ArrayData) -> Result<u64, String> {
        if got.shape() != self.shape {
            return Err(format!("shape {:?} where {:?} is expected", got.shape(), self.shape));
        }
        let mut excluded = 0;
        for (leaf, (bounds, column)) in self.columns.iter().zip(got.columns()).enumerate() {
            for (k, near) in bounds.iter().enumerate() {
                if !near.stable {
                    excluded += 1;
                } else if let Some(value) = column.slice().get(k).filter(|v| !near.holds(*v)) {
                    let at = unlinear_index(&self.shape, k);
                    return Err(format!("leaf {leaf} at {at:?}: {value:?} is outside of {near:?}"));
                }
            }
        }
        Ok(excluded)
    }
}
