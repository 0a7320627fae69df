//! Products of matrices.

use super::matrix;
use crate::data::{doubles, floats};
use crate::pool::threads;
use crate::row::{Outputs, Row, hand, program};
use acc_core::prelude::*;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    let mut out: Vec<Box<dyn Fn() -> Row>> = Vec::new();
    for n in [512, 1024] {
        out.push(Box::new(move || product::<f32>("matrix product, f32", n, floats)));
        out.push(Box::new(move || product::<f64>("matrix product, f64", n, doubles)));
    }
    out
}

/// By the `gemm` crate, which is what a program's product becomes, on all threads.
fn product<E>(name: &'static str, n: usize, numbers: fn(u64, usize, f64, f64) -> Vec<E>) -> Row
where
    E: NumScalar + Copy + 'static,
    Vec<E>: Outputs,
{
    let (a, b) = (numbers(28, n * n, -1.0, 1.0), numbers(29, n * n, -1.0, 1.0));
    let (program, args) =
        program(|a: Acc<Matrix<E>>, b: Acc<Matrix<E>>| a.matmul(&b), (&matrix(n, &a), &matrix(n, &b)).into_data());
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
    let bytes = (n * n * size_of::<E>()) as f64;
    Row {
        name,
        size: format!("{n}²"),
        read: 2.0 * bytes,
        written: bytes,
        flops: 2.0 * (n as f64).powi(3),
        program,
        args,
        hand,
        tolerance: 1e-4,
    }
}
