//! The programs of the papers beside what someone writes who knows libtorch well.

use crate::row::{Facts, PAPER, device, row};
use crate::thesis::{Rows, table};
use acc_benches::papers::{dex, network, tensors};
use acc_core::prelude::*;
use tch::{Kind, Tensor};

/// Numbers between two, in no order that shows.
fn numbers(count: usize, low: f64, high: f64) -> Vec<f64> {
    (0..count as u64).map(|k| low + (high - low) * ((k * 2_654_435_761 + 97) % 65_521) as f64 / 65_521.0).collect()
}

pub(crate) fn singles(count: usize, low: f64, high: f64) -> Vec<f32> {
    numbers(count, low, high).into_iter().map(|x| x as f32).collect()
}

/// An array, and the same for code by hand.
pub(crate) fn both<Sh: Shape, E: ScalarElt + tch::kind::Element>(
    shape: impl IntoShape<Sh>,
    extents: &[usize],
    values: Vec<E>,
) -> (Array<Sh, E>, Tensor) {
    let extents: Vec<i64> = extents.iter().map(|n| *n as i64).collect();
    let tensor = Tensor::from_slice(&values).view(extents.as_slice()).to_device(device());
    (Array::from_vec(shape, values).unwrap_or_else(|e| panic!("{e}")), tensor)
}

macro_rules! array {
    ($kind:ident, $($n:expr),+; $low:expr, $high:expr) => {{
        let extents = [$($n),+];
        both(($($n),+), &extents, $kind(extents.iter().product(), $low, $high))
    }};
}

pub(crate) use array;

fn hotspot_by_hand(start: &Tensor, power: &Tensor) -> Tensor {
    use dex::hotspot::{AMBIENT, HORIZONTAL, OUTSIDE, RATE, STEPS, VERTICAL};
    let [rate, vertical, horizontal, outside] = [RATE, VERTICAL, HORIZONTAL, OUTSIDE].map(f64::from);
    let own = 1.0 - rate * (2.0 * vertical + 2.0 * horizontal + outside);
    let given = power * rate + rate * outside * f64::from(AMBIENT);
    let n = start.size()[0];
    let mut x = start.shallow_clone();
    for _ in 0..STEPS {
        let padded = x.unsqueeze(0).unsqueeze(0).pad([1i64, 1, 1, 1].as_slice(), "replicate", None).squeeze();
        let at = |i: i64, j: i64| padded.narrow(0, 1 + i, n).narrow(1, 1 + j, n);
        let mut next = x * own + &given;
        next += (at(-1, 0) + at(1, 0)) * (rate * vertical);
        next += (at(0, -1) + at(0, 1)) * (rate * horizontal);
        x = next;
    }
    x
}

fn pathfinder_by_hand(costs: &Tensor) -> Tensor {
    let (rows, columns) = (costs.size()[0], costs.size()[1]);
    let mut least = costs.select(0, 0);
    for row in 1..rows {
        let padded = Tensor::cat(&[least.narrow(0, 0, 1), least.shallow_clone(), least.narrow(0, columns - 1, 1)], 0);
        let sides = padded.narrow(0, 0, columns).minimum(&padded.narrow(0, 2, columns));
        least = sides.minimum(&least) + costs.select(0, row);
    }
    least
}

fn mri_by_hand([x, y, z]: &[Tensor; 3], [kx, ky, kz]: &[Tensor; 3], magnitude: &Tensor) -> Vec<Tensor> {
    let at = Tensor::stack(&[x, y, z], 1);
    let k = Tensor::stack(&[kx, ky, kz], 0) * std::f64::consts::TAU;
    let angles = at.matmul(&k);
    vec![angles.cos().matmul(magnitude), angles.sin().matmul(magnitude)]
}

fn stencil_by_hand(start: &Tensor, steps: i32) -> Tensor {
    use dex::stencil::{BESIDE, CENTRE};
    let mut states = [start.copy(), start.copy()];
    let inner = |t: &Tensor, [a, b, c]: [i64; 3]| {
        let s = t.size();
        t.narrow(0, 1 + a, s[0] - 2).narrow(1, 1 + b, s[1] - 2).narrow(2, 1 + c, s[2] - 2)
    };
    for _ in 0..steps {
        let [from, to] = &mut states;
        let mut sum = inner(from, [-1, 0, 0]) + inner(from, [1, 0, 0]);
        for at in [[0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]] {
            sum += inner(from, at);
        }
        sum *= f64::from(BESIDE);
        sum += inner(from, [0, 0, 0]) * f64::from(CENTRE);
        inner(to, [0, 0, 0]).copy_(&sum);
        states.swap(0, 1);
    }
    let [end, _] = states;
    end
}

/// Products of every image's windows with the filters of its group.
fn gconv_by_hand(x: &Tensor, w: &Tensor) -> Tensor {
    let (s, f) = (x.size(), w.size());
    let flat = x.view([s[0], s[1] * s[2], s[3], s[4]]);
    let filters = w.view([f[0] * f[1], f[2], f[3], f[4]]);
    let [one, none] = [[1i64, 1], [0i64, 0]];
    let y = flat.conv2d(&filters, None::<Tensor>, one.as_slice(), none.as_slice(), one.as_slice(), s[1]);
    y.view([s[0], f[0], f[1], y.size()[2], y.size()[3]])
}

fn along_all(m: &Tensor, u: &Tensor) -> Tensor {
    let (e, n) = (u.size()[0], u.size()[1]);
    let u = m.matmul(&u.reshape([e, n, n * n])).view([e, n, n, n]);
    let u = m.matmul(&u);
    u.matmul(&m.transpose(0, 1))
}

fn helm_by_hand(u: &Tensor, s: &Tensor, w: &Tensor) -> Tensor {
    let inside = along_all(&s.transpose(0, 1), u);
    let scale = w.unsqueeze(1).unsqueeze(2) * w.unsqueeze(1) * w + 1.0;
    along_all(s, &(inside / scale))
}

fn blur_by_hand(x: &Tensor) -> Tensor {
    let s = x.size();
    let wide = (x.narrow(1, 0, s[1] - 2) + x.narrow(1, 1, s[1] - 2) + x.narrow(1, 2, s[1] - 2)) / 3.0;
    (wide.narrow(0, 0, s[0] - 2) + wide.narrow(0, 1, s[0] - 2) + wide.narrow(0, 2, s[0] - 2)) / 3.0
}

/// The layers of the network, their filters with channels.
struct Layers {
    parameters: [Tensor; 6],
}

impl Layers {
    fn forward(&self, x: &Tensor) -> Tensor {
        let [k1, b1, k2, b2, w, b] = &self.parameters;
        let [one, two, none] = [[1i64, 1], [2i64, 2], [0i64, 0]];
        let layer = |x: &Tensor, k: &Tensor, b: &Tensor| {
            let y = x.conv2d(k, Some(b), one.as_slice(), none.as_slice(), one.as_slice(), 1).sigmoid();
            y.avg_pool2d(two.as_slice(), two.as_slice(), none.as_slice(), false, true, None::<i64>)
        };
        let first = layer(&x.unsqueeze(1), &k1.unsqueeze(1), b1);
        layer(&first, k2, b2).view([x.size()[0], -1]).linear(w, Some(b)).sigmoid()
    }
}

fn training_by_hand(parameters: &[Tensor; 6], images: &Tensor, labels: &Tensor) -> Vec<Tensor> {
    let mut layers = Layers { parameters: parameters.each_ref().map(|p| p.detach().copy().set_requires_grad(true)) };
    let mut sum = Tensor::zeros([], (Kind::Float, device()));
    let targets = labels.to_kind(Kind::Int64).one_hot(10).to_kind(Kind::Float);
    for from in (0..images.size()[0]).step_by(network::BATCH) {
        let batch = |t: &Tensor| t.narrow(0, from, network::BATCH as i64);
        let miss = layers.forward(&batch(images)) - batch(&targets);
        let loss = (&miss * &miss).sum(Kind::Float) * 0.5;
        let gradients = Tensor::run_backward(&[&loss], &layers.parameters.each_ref(), false, false);
        sum += loss.detach();
        tch::no_grad(|| {
            for (p, g) in layers.parameters.iter_mut().zip(gradients) {
                let _ = p.g_sub_(&(g * f64::from(network::RATE)));
            }
        });
    }
    std::iter::once(sum).chain(layers.parameters.iter().map(Tensor::detach)).collect()
}

fn test_by_hand(parameters: &[Tensor; 6], images: &Tensor, labels: &Tensor) -> Tensor {
    let layers = Layers { parameters: parameters.each_ref().map(Tensor::shallow_clone) };
    let guesses = layers.forward(images).argmax(1, false);
    (labels.to_kind(Kind::Int64) * 10 + guesses).bincount(None::<Tensor>, 100).view([10, 10])
}

/// A network before it has learned, images and labels; for code by hand, too.
type Examples = ((network::Net, Array<DIM3, f32>, Vector<u8>), ([Tensor; 6], Tensor, Tensor));

fn examples(count: usize) -> Examples {
    let (k1, k1_t) = array!(singles, 6, 5, 5; -0.8, 0.8);
    let (b1, b1_t) = both(6, &[6], singles(6, -0.2, 0.2));
    let (k2, k2_t) = array!(singles, 12, 6, 5, 5; -0.3, 0.3);
    let (b2, b2_t) = both(12, &[12], singles(12, -0.08, 0.08));
    let (w, w_t) = array!(singles, 10, 192; -0.07, 0.07);
    let (b, b_t) = both(10, &[10], vec![-2.2; 10]);
    let (x, x_t) = array!(singles, count, 28, 28; 0.0, 1.0);
    let (t, t_t) = both(count, &[count], (0..count).map(|k| (k * 7 % 10) as u8).collect());
    (((k1, b1, k2, b2, w, b), x, t), ([k1_t, b1_t, k2_t, b2_t, w_t, b_t], x_t, t_t))
}

/// All rows.
pub(crate) fn rows() -> Rows {
    let mut out: Rows = Vec::new();
    table! { out, [64, 512];
        PAPER, "hotspot, 360 steps", 1e-5, |n| { let (start, x) = array!(singles, n, n; 320.0, 330.0); let (power, p) = array!(singles, n, n; 0.0, 5.0); }
            dex::hotspot, (start, power), move || vec![hotspot_by_hand(&x, &p)];
    }
    table! { out, [100_000];
        PAPER, "pathfinder of 100 rows", 0.0, |n| { let (costs, c) = both((100, n), &[100, n], (0..100 * n).map(|k| (k * 7919 % 10_007 % 10) as i32).collect()); }
            dex::pathfinder, (costs,), move || vec![pathfinder_by_hand(&c)];
    }
    table! { out, [4096];
        PAPER, "MRI-Q, 1024 samples", 1e-4, |n| {
                let at = [-0.5, -0.4, -0.3].map(|low| both(n, &[n], singles(n, low, low + 0.9)));
                let k = [-8.0, -7.0, -6.0].map(|low| both(1024, &[1024], singles(1024, low, low + 14.0)));
                let (magnitude, m) = both(1024, &[1024], singles(1024, 0.0, 1.0));
                let (at_t, k_t) = (at.each_ref().map(|p| p.1.shallow_clone()), k.each_ref().map(|p| p.1.shallow_clone()));
                let [at, k] = [at, k].map(|[(x, _), (y, _), (z, _)]| (x, y, z)); }
            dex::mri, (at, k, magnitude), move || mri_by_hand(&at_t, &k_t, &m);
    }
    table! { out, [128];
        PAPER, "stencil, 20 steps", 1e-5, |n| { let (start, x) = array!(singles, n, n, 32usize; 0.0, 1.0); }
            dex::stencil(20), (start,), move || vec![stencil_by_hand(&x, 20)];
    }
    table! { out, [512];
        PAPER, "mm", 1e-10, |n| { let (a, x) = array!(numbers, n, n; -1.0, 1.0); let (b, y) = array!(numbers, n, n; -1.0, 0.9); }
            |a: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>| a.matmul(&b), (a, b), move || vec![x.matmul(&y)];
        PAPER, "tmm", 1e-10, |n| { let (a, x) = array!(numbers, n, n; -1.0, 1.0); let (b, y) = array!(numbers, n, n; -1.0, 0.9); }
            |a: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>| a.transpose().matmul(&b), (a, b), move || vec![x.transpose(0, 1).matmul(&y)];
        PAPER, "sddmm", 1e-10, |n| { let (s, w) = array!(numbers, n, n; 0.0, 1.0); let (b, x) = array!(numbers, n, 64usize; -1.0, 1.0); let (c, y) = array!(numbers, 64usize, n; -1.0, 0.9); }
            tensors::sddmm, (s, b, c), move || vec![x.matmul(&y) * &w];
        PAPER, "blur", 1e-10, |n| { let (x, t) = array!(numbers, n, n; 0.0, 1.0); }
            tensors::blur, (x,), move || vec![blur_by_hand(&t)];
        PAPER, "coars", 1e-10, |n| { let [(x, a), (y, b), (z, c)] = [-1.0, -0.9, -0.8].map(|low| array!(numbers, n, n; low, 1.0)); }
            tensors::coars, (x, y, z), move || { let trace = &a + &b; vec![&a * &b - &c * &c - &trace * &trace * tensors::TRACE] };
    }
    table! { out, [1024];
        PAPER, "bmm", 1e-10, |n| { let (a, x) = array!(numbers, n, 72usize, 26usize; -1.0, 1.0); let (b, y) = array!(numbers, n, 26usize, 72usize; -1.0, 0.9); }
            tensors::bmm, (a, b), move || vec![x.bmm(&y)];
        PAPER, "interp", 1e-10, |n| { let (u, x) = array!(numbers, n, 7usize, 7usize, 7usize; -1.0, 1.0); let (a, y) = array!(numbers, 7usize, 7usize; -1.0, 0.9); }
            tensors::interp, (u, a), move || vec![along_all(&y, &x)];
    }
    table! { out, [256];
        PAPER, "helm", 1e-10, |n| { let (u, x) = array!(numbers, n, 13usize, 13usize, 13usize; -1.0, 1.0); let (s, y) = array!(numbers, 13usize, 13usize; -1.0, 0.9); let (w, z) = both(13, &[13], numbers(13, 0.5, 2.0)); }
            tensors::helm, (u, s, w), move || vec![helm_by_hand(&x, &y, &z)];
    }
    table! { out, [64];
        PAPER, "mttkrp", 1e-10, |n| { let (b, x) = array!(numbers, n, n, n; -1.0, 1.0); let (d, y) = array!(numbers, n, n; -1.0, 0.9); let (c, z) = array!(numbers, n, n; -1.0, 0.8); }
            tensors::mttkrp, (b, d, c), move || vec![(x.matmul(&y) * &z).sum_dim_intlist([1i64].as_slice(), false, Kind::Double)];
    }
    table! { out, [8];
        PAPER, "gconv", 1e-10, |n| { let (x, a) = array!(numbers, n, 32usize, 32usize, 9usize, 9usize; -1.0, 1.0); let (w, b) = array!(numbers, 32usize, 32usize, 32usize, 3usize, 3usize; -1.0, 0.9); }
            tensors::gconv, (x, w), move || vec![gconv_by_hand(&a, &b)];
    }
    table! { out, [200];
        PAPER, "network, training", 1e-3, |n| { let ((net, x, t), (p, images, labels)) = examples(n); }
            network::training, (net, x, t), move || training_by_hand(&p, &images, &labels);
        PAPER, "network, test", 1e-2, |n| { let ((net, x, t), (p, images, labels)) = examples(n); }
            network::test, (net, x, t), move || vec![test_by_hand(&p, &images, &labels)];
    }
    out
}
