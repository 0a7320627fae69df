//! Products: of matrices, and of a sparse matrix and a vector.

use super::scans::shares;
use super::{label, vector};
use crate::data::{Numbers, doubles, floats};
use crate::pool::{Shared, run, threads};
use crate::row::{Outputs, Row, hand, program};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    let mut out: Vec<Box<dyn Fn() -> Row>> = Vec::new();
    for n in [512, 1024] {
        out.push(Box::new(move || product::<f32>("matrix product, f32", n, floats)));
        out.push(Box::new(move || product::<f64>("matrix product, f64", n, doubles)));
    }
    out.push(Box::new(|| sparse(1_000_000)));
    out
}

/// By the `gemm` crate, which is what a program's product becomes, on all threads.
fn product<E>(name: &'static str, n: usize, numbers: fn(u64, usize, f64, f64) -> Vec<E>) -> Row
where
    E: NumScalar + Copy + 'static,
    Vec<E>: Outputs,
{
    let (a, b) = (numbers(28, n * n, -1.0, 1.0), numbers(29, n * n, -1.0, 1.0));
    let matrix = |v: &[E]| Matrix::from_vec((n, n), v.to_vec()).unwrap_or_else(|e| panic!("a square matrix: {e}"));
    let (program, args) =
        program(|a: Acc<Matrix<E>>, b: Acc<Matrix<E>>| a.matmul(&b), (&matrix(&a), &matrix(&b)).into_data());
    let zero = E::from_i64(0);
    let hand = hand(vec![zero; n * n], move |c| {
        let stride = n as isize;
        // SAFETY: the three are matrices of `n` rows and columns in row-major order.
        unsafe {
            gemm::gemm(
                n,
                n,
                n,
                c.as_mut_ptr(),
                1,
                stride,
                false,
                a.as_ptr(),
                1,
                stride,
                b.as_ptr(),
                1,
                stride,
                zero,
                E::from_i64(1),
                false,
                false,
                false,
                gemm::Parallelism::Rayon(threads()),
            );
        }
    });
    let bytes = (3 * n * n * size_of::<E>()) as f64;
    let flops = 2.0 * (n as f64).powi(3);
    Row { name, size: format!("{n}²"), bytes, flops, program, args, hand, tolerance: 1e-4 }
}

/// A square sparse matrix of about ten entries a row, by rows.
fn sparse(n: usize) -> Row {
    let mut numbers = Numbers::new(30);
    let lengths: Vec<i32> = (0..n).map(|_| numbers.below(21) as i32).collect();
    let entries: usize = lengths.iter().map(|l| *l as usize).sum();
    let columns: Vec<i64> = (0..entries).map(|_| i64::from(numbers.below(n as u32))).collect();
    let (values, x) = (floats(31, entries, -1.0, 1.0), floats(32, n, -1.0, 1.0));
    let (program, args) = program(
        |lengths: Acc<Vector<i32>>, columns: Acc<Vector<i64>>, values: Acc<Vector<f32>>, x: Acc<Vector<f32>>| {
            x.gather(&columns).zip_with(&values, |x, v| x * v).fold_seg(&lengths, 0.0, |a, b| a + b)
        },
        (&vector(&lengths), &vector(&columns), &vector(&values), &vector(&x)).into_data(),
    );
    let parts = shares(&lengths, entries);
    let hand = hand(vec![0f32; n], move |out| {
        let out = Shared::new(out);
        run(&|t| {
            let ((first, mut at), (end, _)) = (parts[t], parts[t + 1]);
            // SAFETY: the parts are disjoint.
            let out = unsafe { out.part(first..end) };
            for (o, length) in out.iter_mut().zip(&lengths[first..end]) {
                let r = at..at + *length as usize;
                *o = columns[r.clone()].iter().zip(&values[r.clone()]).map(|(c, v)| x[*c as usize] * v).sum();
                at = r.end;
            }
        });
    });
    let bytes = (12 * entries + 12 * n) as f64;
    let size = format!("{} rows", label(n));
    Row {
        name: "sparse matrix times vector",
        size,
        bytes,
        flops: 2.0 * entries as f64,
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}
