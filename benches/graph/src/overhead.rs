//! What a cached call costs beside the calls of libtorch that it makes.

use crate::row::{device, libtorch};
use crate::{ROUNDS, Timed};
use acc_core::prelude::*;
use backend_graph::Options;
use std::fmt::Write;
use tch::Tensor;

/// So many operations the programs have.
const OPERATIONS: [usize; 3] = [1, 8, 64];

/// What operation `k` multiplies with, or adds.
fn operand(k: usize) -> f32 {
    1.5 + k as f32 / 128.0
}

/// Nanoseconds by which a cached call of a chain of so many element-wise operations, on ten elements, takes longer than
/// the calls of libtorch that it makes: the first one allocates, the others write in place.
fn beyond_replay(operations: usize) -> f64 {
    let chain = move |xs: Acc<Vector<f32>>| {
        xs.map(|x| (0..operations).fold(x, |x, k| if k % 2 == 0 { x * operand(k) } else { x + operand(k) }))
    };
    let compiled = libtorch(Options::new()).compile(chain).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compiled.prepared().counts().launches, operations);
    let xs: Vector<f32> = (0..10).map(|k| k as f32).collect();
    let x = Tensor::from_slice(&(0..10).map(|k| k as f32).collect::<Vec<_>>());
    let constants: Vec<Tensor> = (0..operations).map(|k| Tensor::from(operand(k))).collect();
    let call = || match compiled.call((xs.clone(),)) {
        Ok(result) => drop(std::hint::black_box(result)),
        Err(e) => panic!("{e}"),
    };
    let replay = || {
        let _guard = tch::no_grad_guard();
        let mut y = x.to_device(device()) * &constants[0];
        for (k, c) in constants.iter().enumerate().skip(1) {
            y = if k % 2 == 0 { y.mul_out(&y, c) } else { y.add_out(&y, c) };
        }
        drop(std::hint::black_box(y.to_device(tch::Device::Cpu)));
    };
    let (mut call, mut replay) = (Timed::new(&call), Timed::new(&replay));
    for round in 0..ROUNDS {
        for k in 0..2 {
            if (round + k) % 2 == 0 { call.sample() } else { replay.sample() }
        }
    }
    call.median() - replay.median()
}

/// A line about it.
pub(crate) fn line() -> String {
    let mut out =
        String::from("At ten elements a cached call takes longer than the calls of libtorch that it makes, alone: by");
    for (k, operations) in OPERATIONS.into_iter().enumerate() {
        let before = if k == 0 { "" } else { "," };
        let ending = if operations == 1 { "" } else { "s" };
        let beyond = beyond_replay(operations) / 1e3;
        let allowed = 2.0 + 0.05 * operations as f64;
        // Writing to a string cannot fail.
        let _ = write!(out, "{before} {beyond:.2} µs of {operations} operation{ending} ({allowed:.2} is the limit)");
    }
    out + "."
}
