//! Programs on a mesh whose arrays stay on the devices: how long a call takes, the best of several. `make bench-xla` runs it on one
//! process and on two.
//!
//! Each process makes its rows; sizes are those of all processes together.

use acc_core::api::Compiled;
use acc_core::prelude::*;
use backend_xla::{CallOn, Cut, Mesh, MeshArguments, OnMesh, Sharded, Xla};
use std::time::{Duration, Instant};

/// How often each program is called; the first call compiles it.
const CALLS: usize = 10;

fn best<Args, Out: OnMesh, A: MeshArguments<Args>>(
    mesh: &Mesh,
    name: &str,
    step: &Compiled<Xla, Args, Out>,
    args: impl Fn() -> A,
) -> Result<(), Error> {
    let mut times = Vec::new();
    for _ in 0..=CALLS {
        let start = Instant::now();
        step.call_on(args())?;
        times.push(start.elapsed());
    }
    let (first, best) = (times.first(), times.iter().skip(1).min());
    let milliseconds = |t: Option<&Duration>| t.map_or(0.0, |t| t.as_secs_f64() * 1e3);
    if mesh.is_first() {
        let processes = mesh.processes();
        println!("| {name} | {processes} | {:.2} | {:.0} |", milliseconds(best), milliseconds(first));
    }
    Ok(())
}

/// A vector of so many elements, of which this process makes its own.
fn vector<E: Elt>(mesh: &Mesh, n: usize, f: impl Fn(usize) -> E) -> Result<Sharded<Vector<E>>, Error> {
    mesh.cut(n, &mesh.rows(n).map(f).collect())
}

fn matrix(mesh: &Mesh, n: usize, m: usize) -> Result<Sharded<Matrix<f32>>, Error> {
    let rows = mesh.rows(n);
    let own = Matrix::from_fn((rows.len(), m), |ix| (((rows.start + ix[0]) * 31 + ix[1]) % 1000) as f32 / 500.0 - 1.0);
    mesh.cut((n, m), &own.map_err(|e| Error::Argument { position: 0, error: e })?)
}

fn main() -> Result<(), Error> {
    let mesh = Mesh::from_env()?;
    let xla = Xla::on(&mesh)?;
    if mesh.is_first() && mesh.processes() == 1 {
        println!("| program | processes | best, ms | first call, ms |\n|---|--:|--:|--:|");
    }
    let n = 1 << 22;
    let xs = vector(&mesh, n, |k| (k % 1000) as f64 / 500.0 - 1.0)?;
    let ints = vector(&mesh, n, |k| (k * 7919 % 2001) as i64 - 1000)?;
    let small = vector(&mesh, n / 8, |k| (k * 7919 % 100_003) as f64)?;
    let image = matrix(&mesh, 2048, 2048)?;

    let dot = xla.compile(|xs: Acc<Vector<f64>>| xs.zip_with(&xs, |x, y| x * y).sum())?;
    best(&mesh, "sum of products, 4 M f64", &dot, || (&xs,))?;
    let map = xla.compile(|xs: Acc<Vector<f64>>| xs.map(|x| x * 2.5 + 1.0))?;
    best(&mesh, "map, 4 M f64", &map, || (&xs,))?;
    let bins = xla.compile(|xs: Acc<Vector<i64>>| {
        fill(xs.extent(), 1i64).permute(fill(256, 0i64), |a, b| a + b, |i| Some(xs.index(i).mod_floor(256)))
    })?;
    best(&mesh, "histogram of 256 bins, 4 M i64", &bins, || (&ints,))?;
    let product = xla.compile(|a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| {
        let (rows, columns) = (a.shape().0, b.shape().1);
        let right = b.transpose().replicate((rows, All, All));
        a.replicate((All, columns, All)).zip_with(right, |x, y| x * y).sum()
    })?;
    let (left, right) = (matrix(&mesh, 1024, 1024)?, matrix(&mesh, 1024, 1024)?.whole()?);
    best(&mesh, "product of matrices, 1024² f32", &product, || (&left, (&right, Cut::Whole)))?;
    let blur = xla.compile(|xs: Acc<Matrix<f32>>| {
        xs.stencil(Edge::Clamp, |s: Stencil3x3<f32>| {
            (s[(-1, 0)] + s[(1, 0)] + s[(0, -1)] + s[(0, 1)]) * 0.125 + s[(0, 0)] * 0.5
        })
    })?;
    best(&mesh, "stencil of 5 points, 2048² f32", &blur, || (&image,))?;
    let step = xla.compile(|xs: Acc<Vector<f64>>, centres: Acc<Vector<f64>>| {
        let (points, clusters) = (xs.length(), centres.length());
        let distance = |x: Exp<f64>, c: Exp<f64>| (x - c) * (x - c);
        let distances = xs.replicate((All, clusters)).zip_with(centres.replicate((points, All)), distance);
        let (_, near) = distances.minimum_at();
        let none = centres.map(|_| (0.0f64, 0i64));
        let sums = xs.map(|x| (x, 1i64)).permute(none, |(x, n), (y, m)| (x + y, n + m), |i| Some(near.index(i)));
        sums.map(|(x, n)| x / n.max(1).to::<f64>())
    })?;
    let centres: Vector<f64> = (0..16).map(|k| f64::from(k) * 6000.0).collect();
    best(&mesh, "step of k-means, 16 centres, 0.5 M f64", &step, || (&small, &centres))?;
    let scan = xla.compile(|xs: Acc<Vector<i64>>| xs.scanl1(|a, b| a + b))?;
    best(&mesh, "scan, 4 M i64", &scan, || (&ints,))?;
    let sort = xla.compile(|xs: Acc<Vector<f64>>| xs.sort())?;
    best(&mesh, "sort, 0.5 M f64", &sort, || (&small,))?;
    let relaxed = xla.compile(|xs: Acc<Vector<f64>>| {
        afor(64, &xs, |_, xs: Acc<Vector<f64>>| {
            xs.stencil(Edge::Clamp, |s: Stencil3<f64>| (s[-1] + s[1]) * 0.25 + s[0] * 0.5)
        })
    })?;
    best(&mesh, "64 steps of relaxation, 0.5 M f64", &relaxed, || (&small,))?;
    Ok(())
}
