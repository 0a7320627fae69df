//! A large program: how long it takes until LLVM begins.

use crate::quantiles;
use acc_core::exec::Ready;
use acc_core::prelude::*;
use acc_core::timeline;
use backend_native::Native;
use std::time::{Duration, Instant};

/// Rounds of an iteration that no combinator is missing from, written out.
const STEPS: usize = 33;

/// A program of about a thousand nodes.
fn program(xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>) -> Acc<Vector<f32>> {
    (0..STEPS).fold(ys, |ys, k| {
        let c = 1.0 + k as f32;
        let mixed = xs.zip_with(&ys, |x, y| {
            let t = (x * c + y) * 0.5;
            let u = t.gt(y).then_else(t - y * y, (t * t + 1.0).sqrt());
            (u.max(x) / (u.abs() + c), u * 0.25 - x)
        });
        let (a, b) = (mixed.map(|(a, _)| a), mixed.map(|(_, b)| b));
        match k % 4 {
            0 => a.scanl1(|p, q| p + q).zip_with(&b, |p, q| p * 0.125 + q),
            1 => {
                let total = (a * &b).sum();
                b.map(|x| x / (total.the().abs() + 1.0))
            }
            2 => a.stencil(Edge::Clamp, |Window1([p, q, r]): Stencil3<f32>| 0.25 * (p + r) + 0.5 * q),
            _ => a.reverse().zip_with(&b, |p, q| p.min(q)),
        }
    })
}

/// Builds, verifies, simplifies, fuses and lowers it, and prints how long that takes.
pub fn measure(rounds: usize) -> Result<(), String> {
    let stages = ["build", "verify", "simplify", "fuse", "lower"];
    let mut all = Vec::new();
    let mut of: [Vec<Duration>; 5] = Default::default();
    let (mut nodes, mut statements) = (0, 0);
    for _ in 0..rounds {
        let recording = timeline::record();
        let start = Instant::now();
        let function = AccFn::<(Vector<f32>, Vector<f32>), _>::build(program);
        let built = acc_core::builder::build(&function).map_err(|e| e.to_string())?;
        Ready::new(&Native::tiles(), &built.program).map_err(|e| e.to_string())?;
        all.push(start.elapsed());
        let spans = recording.stop().spans;
        for (name, times) in stages.into_iter().zip(&mut of) {
            times.push(spans.iter().filter(|s| s.name == name).map(|s| Duration::from_nanos(s.duration)).sum());
        }
        (nodes, statements) = (built.program.locations().len(), built.program.body.stmts.len());
    }
    let [median, _] = quantiles(all);
    let each = stages.into_iter().zip(of).map(|(name, times)| format!("{name} {:.2}", quantiles(times)[0]));
    println!(
        "A program of {nodes} nodes, {statements} of them statements, from its closures to kernels before LLVM: \
         **{median:.1} ms** ({}), the median of {rounds}.",
        each.collect::<Vec<_>>().join(", ")
    );
    Ok(())
}
