//! Times of typical kernels compared to a plain Rust loop on one thread. `cargo bench -p backend-native [filter]`

use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::exec::Ready;
use acc_core::ir::Program;
use acc_core::{RunLimits, text};
use backend_native::Native;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

fn floats(n: usize, scale: f32) -> ArrayData {
    let v: Vec<f32> = (0..n).map(|k| (k % 1000) as f32 * scale + 0.5).collect();
    ArrayData::new([n], ScalarType::F32.into(), [Column::from_vec(v)]).unwrap()
}

fn matrix(n: usize, m: usize) -> ArrayData {
    floats(n * m, 0.001).reshaped(&[n, m]).unwrap()
}

fn integers(n: usize, below: u64) -> ArrayData {
    let mut x = 88172645463325252u64;
    let v: Vec<i32> = (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x % below) as i32
        })
        .collect();
    ArrayData::new([n], ScalarType::I32.into(), [Column::from_vec(v)]).unwrap()
}

fn column(a: &ArrayData) -> &[f32] {
    a.columns()[0].as_slice::<f32>().unwrap()
}

fn parse(text: &str) -> Arc<Program> {
    Arc::new(text::parse("bench.acc", text).unwrap_or_else(|e| panic!("{e}")))
}

/// Median of some rounds, in microseconds.
fn time(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let once = start.elapsed().as_secs_f64().max(1e-7);
    let rounds = ((0.4 / once) as usize).clamp(5, 2000);
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

struct Bench {
    filter: String,
    all: Native,
    one: Native,
}

impl Bench {
    fn run(&self, name: &str, program: &str, args: &[ArrayData], mut plain: impl FnMut()) {
        if !name.contains(&self.filter) {
            return;
        }
        let program = parse(program);
        let limits = RunLimits::none();
        let call = |b: &Native| {
            let ready = Ready::new(b, &program).unwrap();
            time(|| drop(black_box(ready.run(black_box(args), &limits).unwrap())))
        };
        let limit = time(&mut plain);
        let (one, all) = (call(&self.one), call(&self.all));
        println!(
            "{name:28} plain {limit:10.1} us   one thread {one:10.1} us ({:5.2})   all threads {all:10.1} us ({:5.2})",
            one / limit,
            all / limit
        );
    }
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let b = Bench { filter, all: Native::new(), one: Native::with_threads(1).unwrap() };
    for n in [1, 1_000, 10_000, 1_000_000, 16_000_000] {
        let (x, y) = (floats(n, 0.01), floats(n, 0.02));
        let mut out = vec![0f32; n];
        b.run(
            &format!("saxpy {n}"),
            "program(x: [1]f32, y: [1]f32) { r: [1]f32 = zip_with(x, y, f: |%x: f32, %y: f32| add(mul(2.5f32, %x), %y)) yield r }",
            &[x.clone(), y.clone()],
            || {
                for ((o, x), y) in out.iter_mut().zip(column(black_box(&x))).zip(column(&y)) {
                    *o = 2.5 * x + y;
                }
                black_box(&mut out);
            },
        );
        b.run(
            &format!("dot {n}"),
            "program(x: [1]f32, y: [1]f32) {
               p: [1]f32 = zip_with(x, y, f: |%x: f32, %y: f32| mul(%x, %y))
               r: [0]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
               yield r }",
            &[x.clone(), y.clone()],
            || {
                let mut acc = [0f32; 32];
                for (x, y) in column(black_box(&x)).chunks(32).zip(column(&y).chunks(32)) {
                    for ((a, x), y) in acc.iter_mut().zip(x).zip(y) {
                        *a += x * y;
                    }
                }
                black_box(acc.iter().sum::<f32>());
            },
        );
    }
    for n in [10_000, 1_000_000, 16_000_000] {
        let x = floats(n, 0.001);
        let mut out = vec![0f32; n];
        let poly = (0..10).fold("1.0f32".to_string(), |s, k| format!("add(mul({s}, %x), {}.5f32)", k % 3));
        b.run(
            &format!("poly {n}"),
            &format!("program(x: [1]f32) {{ r: [1]f32 = map(x, f: |%x: f32| {poly}) yield r }}"),
            std::slice::from_ref(&x),
            || {
                for (o, x) in out.iter_mut().zip(column(black_box(&x))) {
                    *o = (0..10).fold(1.0, |s, k| s * x + ((k % 3) as f32 + 0.5));
                }
                black_box(&mut out);
            },
        );
        b.run(
            &format!("scan {n}"),
            "program(x: [1]f32) { r: [1]f32 = scanl1(x, f: |%x: f32, %y: f32| add(%x, %y)) yield r }",
            std::slice::from_ref(&x),
            || {
                let mut s = 0.0;
                for (o, x) in out.iter_mut().zip(column(black_box(&x))) {
                    s += x;
                    *o = s;
                }
                black_box(&mut out);
            },
        );
    }
    let n = 1_000_000;
    let x = floats(n, 0.001);
    let mut out = vec![0f32; n];
    let plain = |s: f32| {
        let (k, r, v, t) = (1.0f32, 0.02f32, 0.3f32, 1.5f32);
        let d1 = ((s / k).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        let cdf = |d: f32| {
            let k = 1.0 / (1.0 + 0.2316419 * d.abs());
            let p = ((((1.330_274_5 * k - 1.821_256) * k + 1.781_477_9) * k - 0.356_563_78) * k + 0.319_381_54) * k;
            let w = 0.398_942_3 * (-0.5 * d * d).exp() * p;
            if d > 0.0 { 1.0 - w } else { w }
        };
        s * cdf(d1) - k * (-r * t).exp() * cdf(d2)
    };
    let cdf = |d: &str, p: &str| {
        format!(
            "%k{p} = div(1.0f32, add(1.0f32, mul(0.2316419f32, abs({d}))))
             %q{p} = mul(add(mul(add(mul(add(mul(add(mul(1.3302745f32, %k{p}), -1.821256f32), %k{p}), 1.7814779f32), %k{p}), -0.35656378f32), %k{p}), 0.31938154f32), %k{p})
             %w{p} = mul(mul(0.3989423f32, exp(mul(-0.5f32, mul({d}, {d})))), %q{p})
             %c{p}: f32 = if gt({d}, 0.0f32) {{ yield sub(1.0f32, %w{p}) }} else {{ yield %w{p} }}"
        )
    };
    b.run(
        "black-scholes 1000000",
        &format!(
            "program(x: [1]f32) {{ r: [1]f32 = map(x, f: |%s: f32| {{
               %d1 = div(add(ln(div(%s, 1.0f32)), 0.0975f32), 0.36742346f32)
               %d2 = sub(%d1, 0.36742346f32)
               {}
               {}
               yield sub(mul(%s, %ca), mul(0.97044553f32, %cb)) }}) yield r }}",
            cdf("%d1", "a"),
            cdf("%d2", "b")
        ),
        std::slice::from_ref(&x),
        || {
            for (o, x) in out.iter_mut().zip(column(black_box(&x))) {
                *o = plain(*x);
            }
            black_box(&mut out);
        },
    );
    let (h, w) = (2048, 2048);
    let image = matrix(h, w);
    let mut out = vec![0f32; h * w];
    let params: Vec<String> = (0..9).map(|k| format!("%x{k}: f32")).collect();
    let weights = [0.1f32, 0.2, 0.1, 0.2, 0.4, 0.2, 0.1, 0.2, 0.1];
    let sum =
        weights.iter().enumerate().fold("0.0f32".to_string(), |s, (k, w)| format!("add({s}, mul({w:?}f32, %x{k}))"));
    b.run(
        "stencil 3x3 2048x2048",
        &format!(
            "program(x: [2]f32) {{ r: [2]f32 = stencil(x, window: [3, 3], boundary: clamp, f: |{}| {sum}) yield r }}",
            params.join(", ")
        ),
        std::slice::from_ref(&image),
        || {
            let x = column(black_box(&image));
            for i in 1..h - 1 {
                let (above, here, below) =
                    (&x[(i - 1) * w..i * w], &x[i * w..(i + 1) * w], &x[(i + 1) * w..(i + 2) * w]);
                let o = &mut out[i * w..(i + 1) * w];
                for j in 1..w - 1 {
                    let mut s = 0.0;
                    for (r, row) in [above, here, below].into_iter().enumerate() {
                        for k in 0..3 {
                            s += weights[r * 3 + k] * row[j + k - 1];
                        }
                    }
                    o[j] = s;
                }
            }
            black_box(&mut out);
        },
    );
    let side = 1024;
    let mut pixels = vec![0i32; side * side];
    b.run(
        "mandelbrot 1024x1024x256",
        "program() { r: [2]i32 = generate(shape: || (1024i64, 1024i64), f: |%i: i64, %j: i64| {
           %x0: f32 = sub(mul(cast(%j, f32), 0.0029296875f32), 2.0f32)
           %y0: f32 = sub(mul(cast(%i, f32), 0.0029296875f32), 1.5f32)
           %x: f32, %y: f32, %n: i32 = while (0.0f32, 0.0f32, 0i32)
             test |%x: f32, %y: f32, %n: i32| { yield and(lt(%n, 256i32), lt(add(mul(%x, %x), mul(%y, %y)), 4.0f32)) }
             step |%x: f32, %y: f32, %n: i32| {
               yield add(sub(mul(%x, %x), mul(%y, %y)), %x0), add(mul(mul(2.0f32, %x), %y), %y0), add(%n, 1i32) }
           yield %n }) yield r }",
        &[],
        || {
            for (k, p) in pixels.iter_mut().enumerate() {
                let (x0, y0) = ((k % side) as f32 * 0.0029296875 - 2.0, (k / side) as f32 * 0.0029296875 - 1.5);
                let (mut x, mut y, mut n) = (0.0, 0.0, 0);
                while n < 256 && x * x + y * y < 4.0 {
                    (x, y) = (x * x - y * y + x0, 2.0 * x * y + y0);
                    n += 1;
                }
                *p = n;
            }
            black_box(&mut pixels);
        },
    );
    for bins in [256, 1_000_000] {
        let n = 16_000_000;
        let x = integers(n, bins as u64);
        let mut out = vec![0i32; bins];
        b.run(
            &format!("histogram {bins}"),
            &format!(
                "program(x: [1]i32) {{
                   z: [1]i32 = generate(shape: || {bins}i64, f: |%i: i64| 0i32)
                   o: [1]i32 = map(x, f: |%x: i32| 1i32)
                   r: [1]i32 = permute(o, into: z, combine: |%a: i32, %b: i32| add(%a, %b), target: |%i: i64| (1u8, cast(x[%i], i64)))
                   yield r }}"
            ),
            std::slice::from_ref(&x),
            || {
                out.fill(0);
                for k in black_box(&x).columns()[0].as_slice::<i32>().unwrap() {
                    out[*k as usize] += 1;
                }
                black_box(&mut out);
            },
        );
    }
    let m = matrix(4000, 4000);
    for (name, sum) in [("sum rows", "x"), ("sum columns", "t")] {
        let mut out = vec![0f32; 4000];
        b.run(
            name,
            &format!(
                "program(x: [2]f32) {{
                   t: [2]f32 = backpermute(x, shape: || (extent(x, 1), extent(x, 0)), index: |%i: i64, %j: i64| (%j, %i))
                   r: [1]f32 = fold({sum}, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32) yield r }}"
            ),
            std::slice::from_ref(&m),
            || {
                out.fill(0.0);
                for row in column(black_box(&m)).chunks(4000) {
                    for (o, x) in out.iter_mut().zip(row) {
                        *o += x;
                    }
                }
                black_box(&mut out);
            },
        );
    }
    let mut out = vec![0f32; 16_000_000];
    b.run(
        "transpose 4000x4000",
        "program(x: [2]f32) { t: [2]f32 = backpermute(x, shape: || (extent(x, 1), extent(x, 0)), index: |%i: i64, %j: i64| (%j, %i)) yield t }",
        std::slice::from_ref(&m),
        || {
            let x = column(black_box(&m));
            for bi in (0..4000).step_by(32) {
                for bj in (0..4000).step_by(32) {
                    for i in bi..(bi + 32).min(4000) {
                        for j in bj..(bj + 32).min(4000) {
                            out[j * 4000 + i] = x[i * 4000 + j];
                        }
                    }
                }
            }
            black_box(&mut out);
        },
    );
    let (p, q) = (matrix(512, 512), matrix(512, 512));
    let mut out = vec![0f32; 512 * 512];
    b.run(
        "matrix product 512",
        "program(a: [2]f32, b: [2]f32) {
           l: [3]f32 = replicate(a, axes: [all, fixed, all], extents: || extent(b, 1))
           t: [2]f32 = backpermute(b, shape: || (extent(b, 1), extent(b, 0)), index: |%i: i64, %j: i64| (%j, %i))
           r: [3]f32 = replicate(t, axes: [fixed, all, all], extents: || extent(a, 0))
           p: [3]f32 = zip_with(l, r, f: |%x: f32, %y: f32| mul(%x, %y))
           s: [2]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
           yield s }",
        &[p.clone(), q.clone()],
        || {
            out.fill(0.0);
            let (p, q) = (column(black_box(&p)), column(&q));
            for i in 0..512 {
                for k in 0..512 {
                    let x = p[i * 512 + k];
                    for j in 0..512 {
                        out[i * 512 + j] += x * q[k * 512 + j];
                    }
                }
            }
            black_box(&mut out);
        },
    );
}
