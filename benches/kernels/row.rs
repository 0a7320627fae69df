//! A kernel to time: as a program, and written by hand.

use acc_core::api::AccFn;
use acc_core::data::{ArrayData, ColumnSlice};
use acc_core::ir::Program;
use std::sync::Arc;

/// A kernel at one size.
pub struct Row {
    pub name: &'static str,
    pub size: String,
    /// Bytes that must be read at least.
    pub read: f64,
    /// Bytes that must be written at least.
    pub written: f64,
    /// Arithmetic operations on floats.
    pub flops: f64,
    pub program: Arc<Program>,
    pub args: Vec<ArrayData>,
    /// The kernel written by hand.
    pub hand: Box<dyn Hand>,
    /// How far a float may be from that of the kernel written by hand, relative to the largest.
    pub tolerance: f64,
}

/// A kernel written by hand, with its inputs and outputs.
pub trait Hand {
    /// Runs it once.
    fn run(&mut self);
    /// Its outputs, one per column of the program's results.
    fn outputs(&self) -> Vec<Vec<f64>>;
}

/// A program from an array function and its arguments.
pub fn program<Args, Out>(f: impl AccFn<Args, Out>, mut args: Vec<ArrayData>) -> (Arc<Program>, Vec<ArrayData>) {
    let built = acc_core::builder::build(&f.build()).unwrap_or_else(|e| panic!("a program of the benchmark: {e}"));
    args.extend(built.embedded);
    (built.program, args)
}

/// Outputs of a kernel written by hand.
pub trait Outputs {
    fn columns(&self) -> Vec<Vec<f64>>;
}

macro_rules! columns {
    ($($t:ty),*) => { $(
        impl Outputs for Vec<$t> {
            fn columns(&self) -> Vec<Vec<f64>> {
                vec![self.iter().map(|x| *x as f64).collect()]
            }
        }
        impl Outputs for $t {
            fn columns(&self) -> Vec<Vec<f64>> {
                vec![vec![*self as f64]]
            }
        }
    )* };
}
columns!(f32, f64, i32, u32, i64);

impl<A: Outputs, B: Outputs> Outputs for (A, B) {
    fn columns(&self) -> Vec<Vec<f64>> {
        [self.0.columns(), self.1.columns()].concat()
    }
}
impl<A: Outputs, B: Outputs, C: Outputs> Outputs for (A, B, C) {
    fn columns(&self) -> Vec<Vec<f64>> {
        [self.0.columns(), self.1.columns(), self.2.columns()].concat()
    }
}

struct ByHand<O, F> {
    outputs: O,
    run: F,
}

impl<O: Outputs, F: FnMut(&mut O)> Hand for ByHand<O, F> {
    fn run(&mut self) {
        (self.run)(&mut self.outputs);
    }
    fn outputs(&self) -> Vec<Vec<f64>> {
        self.outputs.columns()
    }
}

/// A kernel that writes these outputs.
pub fn hand<O: Outputs + 'static>(outputs: O, run: impl FnMut(&mut O) + 'static) -> Box<dyn Hand> {
    Box::new(ByHand { outputs, run })
}

fn floats(column: ColumnSlice<'_>) -> Vec<f64> {
    use acc_core::data::ScalarType as T;
    (0..column.len())
        .filter_map(|k| column.get(k))
        .map(|l| match l.ty {
            T::F64 => f64::from_bits(l.bits),
            T::F32 => f64::from(f32::from_bits(l.bits as u32)),
            T::I32 => f64::from(l.bits as u32 as i32),
            T::I64 => l.bits as i64 as f64,
            T::Bool | T::Char | T::U8 | T::U16 | T::U32 | T::U64 | T::I8 | T::I16 | T::F16 => l.bits as f64,
        })
        .collect()
}

impl Row {
    /// The name and the size.
    pub fn id(&self) -> String {
        format!("{} {}", self.name, self.size)
    }

    /// How a program's results differ from those of the kernel written by hand.
    pub fn difference(&self, results: &[ArrayData]) -> Option<String> {
        let got: Vec<Vec<f64>> = results.iter().flat_map(ArrayData::columns).map(|c| floats(c.slice())).collect();
        let want = self.hand.outputs();
        if got.len() != want.len() {
            return Some(format!("{} columns where the kernel by hand has {}", got.len(), want.len()));
        }
        for (c, (g, w)) in got.iter().zip(&want).enumerate() {
            if g.len() != w.len() {
                return Some(format!("column {c}: {} elements where the kernel by hand has {}", g.len(), w.len()));
            }
            let scale = w.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
            let far = |(g, w): (&f64, &f64)| (g - w).abs() > self.tolerance * scale || g.is_nan() != w.is_nan();
            if let Some(k) = g.iter().zip(w).position(far) {
                return Some(format!("column {c}, element {k}: {} where the kernel by hand has {}", g[k], w[k]));
            }
        }
        None
    }
}
