//! Operators of finite and spectral elements: a small matrix along each of the three axes of an element. Interpolation, and
//! the inverse of the Helmholtz operator, which goes to the eigenvectors of the matrix, divides, and comes back.

use super::doubles::{Doubles, Rows, on_widest_doubles, tile};
use super::{TOLERANCE, tensor};
use crate::data::doubles;
use crate::pool::{Shared, split};
use crate::row::{Hand, Row, hand, program};
use acc_benches::papers::{scheduled, tensors as papers};
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::prelude::*;
use std::sync::Arc;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![
        Box::new(|| interpolation("tensor: interp", 50_000, papers::interp)),
        Box::new(|| interpolation("scheduled: interp", 50_000, scheduled::interp)),
        Box::new(|| helmholtz("tensor: helm", 5000, papers::helm)),
        Box::new(|| helmholtz("scheduled: helm", 5000, scheduled::helm)),
    ]
}

const I: usize = 7;

type Blocks = Acc<Array<DIM4, f64>>;

fn interpolation(name: &'static str, elements: usize, f: fn(Blocks, Acc<Matrix<f64>>) -> Blocks) -> Row {
    let (u, a) = (doubles(72, elements * I * I * I, -1.0, 1.0), doubles(73, I * I, -1.0, 1.0));
    let (program, args) = program(f, (&tensor((elements, I, I, I), &u), &tensor((I, I), &a)).into_data());
    let hand = hand(vec![0f64; u.len()], move |out| {
        let a = Factor::new(|x, i| a[x * I + i]);
        let out = Shared::new(out);
        split(elements, 1, |r| {
            let r = r.start * I * I * I..r.end * I * I * I;
            // SAFETY: the parts are disjoint.
            interpolate(unsafe { out.part(r.clone()) }, &u[r], &a);
        });
    });
    row(name, elements, I, 3, (program, args), hand)
}

const H: usize = 13;

fn helmholtz(name: &'static str, elements: usize, f: fn(Blocks, Acc<Matrix<f64>>, Acc<Vector<f64>>) -> Blocks) -> Row {
    let (u, s) = (doubles(74, elements * H * H * H, -1.0, 1.0), doubles(75, H * H, -1.0, 1.0));
    let w = doubles(76, H, 1.0, 2.0);
    let (program, args) =
        program(f, (&tensor((elements, H, H, H), &u), &tensor((H, H), &s), &tensor(H, &w)).into_data());
    let hand = hand(vec![0f64; u.len()], move |out| {
        let (there, back) = (Factor::new(|x, i| s[i * H + x]), Factor::new(|x, i| s[x * H + i]));
        let mut inverse = Element::<H>::new();
        for (x, y, z) in (0..H * H * H).map(|k| (k / (H * H), k / H % H, k % H)) {
            inverse.0[x][y][z] = 1.0 / (1.0 + w[x] * w[y] * w[z]);
        }
        let (out, factors) = (Shared::new(out), [there, back]);
        split(elements, 1, |r| {
            let r = r.start * H * H * H..r.end * H * H * H;
            // SAFETY: the parts are disjoint.
            solve(unsafe { out.part(r.clone()) }, &u[r], &factors, &inverse);
        });
    });
    row(name, elements, H, 6, (program, args), hand)
}

fn row(
    name: &'static str,
    elements: usize,
    n: usize,
    contractions: usize,
    (program, args): (Arc<Program>, Vec<ArrayData>),
    hand: Box<dyn Hand>,
) -> Row {
    let bytes = 8.0 * (elements * n * n * n) as f64;
    Row {
        name,
        size: format!("{elements} of {n}³"),
        read: bytes,
        written: bytes,
        flops: 2.0 * (contractions * elements * n.pow(4)) as f64,
        program,
        args,
        hand,
        tolerance: TOLERANCE,
    }
}

/// The last axis of an element is padded to this, a whole number of vectors.
const PADDED: usize = 16;

/// An element.
#[repr(align(64))]
struct Element<const N: usize>([[[f64; PADDED]; N]; N]);

impl<const N: usize> Element<N> {
    fn new() -> Element<N> {
        Element([[[0.0; PADDED]; N]; N])
    }
}

/// A matrix, and its transpose with padded rows.
#[repr(align(64))]
struct Factor<const N: usize> {
    rows: [[f64; N]; N],
    columns: [[f64; PADDED]; N],
}

impl<const N: usize> Factor<N> {
    fn new(at: impl Fn(usize, usize) -> f64) -> Factor<N> {
        let mut factor = Factor { rows: [[0.0; N]; N], columns: [[0.0; PADDED]; N] };
        for (x, i) in (0..N * N).map(|k| (k / N, k % N)) {
            factor.rows[x][i] = at(x, i);
            factor.columns[i][x] = at(x, i);
        }
        factor
    }
}

/// `N` rows of a product with `N` rows of two vectors.
///
/// # Safety
///
/// The machine has the features of the lanes, and all of it can be read and written.
#[inline(always)]
unsafe fn product<V: Doubles, const N: usize>(out: *mut f64, apart: usize, a: Rows, b: *const f64, b_apart: usize) {
    // SAFETY: by the contract.
    unsafe {
        let mut first = 0;
        while first < N {
            let left = N - first;
            let (out, a) = (out.add(first * apart), Rows { at: a.at.add(first * a.apart), ..a });
            // Seven rows are four and three, thirteen are five and twice four.
            first += match left {
                5 | 9.. => some::<V, N, 5>(out, apart, a, b, b_apart),
                4 | 6.. => some::<V, N, 4>(out, apart, a, b, b_apart),
                _ => some::<V, N, 3>(out, apart, a, b, b_apart),
            };
        }
    }
}

/// Rows of a product; how many.
#[inline(always)]
unsafe fn some<V: Doubles, const N: usize, const ROWS: usize>(
    out: *mut f64,
    apart: usize,
    a: Rows,
    b: *const f64,
    b_apart: usize,
) -> usize {
    // SAFETY: by the contract.
    unsafe {
        let sums = tile::<V, ROWS, 2>(N, a, b, b_apart);
        for r in 0..ROWS {
            for v in 0..2 {
                sums[r][v].store(out.add(r * apart + v * V::LANES));
            }
        }
    }
    ROWS
}

/// A matrix along each axis of an element, in place: along the first one with memory for all of it, then plane by plane.
#[inline(always)]
unsafe fn along<V: Doubles, const N: usize>(m: &Factor<N>, u: &mut Element<N>, memory: &mut Element<N>) {
    let (size, matrix) = (N * PADDED, Rows { at: m.rows.as_ptr().cast(), apart: N, step: 1 });
    let (u, t): (*mut f64, *mut f64) = (u.0.as_mut_ptr().cast(), memory.0.as_mut_ptr().cast());
    let columns: *const f64 = m.columns.as_ptr().cast();
    let mut plane = [[0f64; PADDED]; N];
    let plane: *mut f64 = plane.as_mut_ptr().cast();
    // SAFETY: by the contract; all rows are padded.
    unsafe {
        for at in (0..N).flat_map(|j| (0..N).step_by(2 * V::LANES).map(move |column| j * PADDED + column)) {
            product::<V, N>(t.add(at), size, matrix, u.add(at), size);
        }
        for x in 0..N {
            let (t, u) = (t.add(x * size), u.add(x * size));
            for column in (0..N).step_by(2 * V::LANES) {
                product::<V, N>(plane.add(column), PADDED, matrix, t.add(column), PADDED);
            }
            let rows = Rows { at: plane, apart: PADDED, step: 1 };
            for column in (0..N).step_by(2 * V::LANES) {
                product::<V, N>(u.add(column), PADDED, rows, columns.add(column), PADDED);
            }
        }
    }
}

fn fill<const N: usize>(element: &mut Element<N>, from: &[f64]) {
    for (to, from) in element.0.as_flattened_mut().iter_mut().zip(from.as_chunks::<N>().0) {
        to[..N].copy_from_slice(from);
    }
}

fn take<const N: usize>(to: &mut [f64], element: &Element<N>) {
    for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(element.0.as_flattened()) {
        to.copy_from_slice(&from[..N]);
    }
}

on_widest_doubles! {
    /// A matrix along each axis of elements.
    fn interpolate(out: &mut [f64], u: &[f64], a: &Factor<I>) = interpolate_in;
}

#[inline(always)]
unsafe fn interpolate_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    out: &mut [f64],
    u: &[f64],
    a: &Factor<I>,
) {
    let (mut element, mut memory) = (Element::<I>::new(), Element::<I>::new());
    for (out, u) in out.chunks_exact_mut(I * I * I).zip(u.chunks_exact(I * I * I)) {
        fill(&mut element, u);
        // SAFETY: by the contract.
        unsafe { along::<V, I>(a, &mut element, &mut memory) };
        take(out, &element);
    }
}

on_widest_doubles! {
    /// A matrix along each axis of elements, factors, and another matrix along each axis.
    fn solve(out: &mut [f64], u: &[f64], matrices: &[Factor<H>; 2], factors: &Element<H>) = solve_in;
}

#[inline(always)]
unsafe fn solve_in<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    out: &mut [f64],
    u: &[f64],
    [there, back]: &[Factor<H>; 2],
    factors: &Element<H>,
) {
    let (mut element, mut memory) = (Element::<H>::new(), Element::<H>::new());
    for (out, u) in out.chunks_exact_mut(H * H * H).zip(u.chunks_exact(H * H * H)) {
        fill(&mut element, u);
        // SAFETY: by the contract.
        unsafe { along::<V, H>(there, &mut element, &mut memory) };
        for (x, f) in element.0.as_flattened_mut().iter_mut().zip(factors.0.as_flattened()) {
            for (x, f) in x.iter_mut().zip(f) {
                *x *= f;
            }
        }
        // SAFETY: by the contract.
        unsafe { along::<V, H>(back, &mut element, &mut memory) };
        take(out, &element);
    }
}
