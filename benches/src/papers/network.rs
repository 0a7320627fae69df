//! The network of Šinkarovs, Vießmann, Scholz: Array Languages Make Neural Networks Fast (2021): two convolutions, each with
//! means of two by two, and a layer of all with all.

use acc_core::prelude::*;

/// Images of a step.
pub const BATCH: usize = 100;
/// The length of a step.
pub const RATE: f32 = 0.05;

/// Filters and biases of the two convolutions, weights and biases of the last layer.
pub type Net = (Array<DIM3, f32>, Vector<f32>, Array<DIM4, f32>, Vector<f32>, Matrix<f32>, Vector<f32>);
type Layers = AccOf<Net>;
type Images = Acc<Array<DIM4, f32>>;

fn sigmoid(x: Exp<f32>) -> Exp<f32> {
    1.0 / (1.0 + (-x).exp())
}

/// Each filter over each image, all channels.
fn layer(x: &Images, k: &Images, b: &Acc<Vector<f32>>) -> Images {
    let ((n, i, h, w), (o, _, r, c)) = (x.shape(), k.shape());
    let terms = generate((n, o, h - r + 1, w - c + 1, i, r, c), |(n, o, y, z, i, r, c)| {
        x.index((n, i, y + r, z + c)) * k.index((o, i, r, c))
    });
    terms.sum().sum().sum().imap(|(_, o, _, _), z| sigmoid(z + b.index(o)))
}

/// Means of two by two.
fn pool(x: &Images) -> Images {
    let (n, c, h, w) = x.shape();
    generate((n, c, h / 2, w / 2), |(n, c, y, z)| {
        let at = |r: i64, s: i64| x.index((n, c, y * 2 + r, z * 2 + s));
        (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) * 0.25
    })
}

fn forward((k1, b1, k2, b2, w, b): &Layers, x: &Acc<Array<DIM3, f32>>) -> Acc<Matrix<f32>> {
    let ((n, h, v), (o, r, c)) = (x.shape(), k1.shape());
    let one = || lift(1i64);
    let first = pool(&layer(&x.reshape((n, one(), h, v)), &k1.reshape((o, one(), r, c)), b1));
    let second = pool(&layer(&first, k2, b2));
    second.reshape((n, w.shape().1)).matmul(w.transpose()).imap(|(_, o), z| sigmoid(z + b.index(o)))
}

fn loss(net: &Layers, x: &Acc<Array<DIM3, f32>>, labels: &Acc<Vector<u8>>) -> Acc<Scalar<f32>> {
    let misses = forward(net, x).imap(|(n, o), y| {
        let miss = y - labels.index(n).to::<i64>().eq(o).to_num::<f32>();
        0.5 * miss * miss
    });
    misses.sum().sum()
}

/// A step on a batch: the loss before it, and the network after it.
fn step(net: &Layers, x: &Acc<Array<DIM3, f32>>, labels: &Acc<Vector<u8>>) -> (Acc<Scalar<f32>>, Layers) {
    let (loss, (k1, b1, k2, b2, w, b)) = value_and_grad(net.clone(), |net| loss(&net, x, labels));
    let of = net;
    let next = (
        &of.0 - k1 * RATE,
        &of.1 - b1 * RATE,
        &of.2 - k2 * RATE,
        &of.3 - b2 * RATE,
        &of.4 - w * RATE,
        &of.5 - b * RATE,
    );
    (loss, next)
}

/// A step on each batch of the images, one after the other: the sum of their losses, and the network at the end.
pub fn training(net: Acc<Net>, images: Acc<Array<DIM3, f32>>, labels: Acc<Vector<u8>>) -> (Acc<Scalar<f32>>, Layers) {
    let (count, h, w) = images.shape();
    let batch = lift(BATCH as i64);
    let (_, sum, net) = awhile(
        (unit(0i64), unit(0f32), &net),
        |(from, _, _)| from.the().lt(count),
        |(from, sum, net): AccOf<(Scalar<i64>, Scalar<f32>, Net)>| {
            let first = from.the();
            let x = images.backpermute((batch, h, w), |(n, i, j)| (n + first, i, j));
            let (loss, net) = step(&net, &x, &labels.slit(first, batch));
            (from.map(|from| from + batch), sum + loss, net)
        },
    );
    (sum, net)
}

/// How many images of each label are taken for which.
pub fn test(net: Acc<Net>, images: Acc<Array<DIM3, f32>>, labels: Acc<Vector<u8>>) -> Acc<Matrix<i64>> {
    let guesses = forward(&net.unlift(), &images).arg_max();
    let place = |n: Exp<i64>| Some((labels.index(n).to::<i64>(), guesses.index(n)));
    fill(labels.shape(), 1i64).permute(fill((10, 10), 0i64), |a, b| a + b, place)
}
