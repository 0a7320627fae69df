//! The gradient of the network in `digits/main.rs` written by hand, beside that of `value_and_grad`: no fewer kernels, and the
//! same numbers within rounding.
//!
//! ```text
//! kernels of a step by grad: 21, by hand: 23
//! loss by grad: 22.6, by hand: 22.6
//! the gradients are the same within rounding: true
//! ```

#[path = "digits/main.rs"]
#[allow(dead_code, reason = "its steps, start and main are the other example's")]
mod digits;

use acc_array::array::{AccOf, DIM4, Over};
use acc_array::derivative::value_and_grad;
use acc_array::network::sgd_step;
use acc_array::prelude::*;
use digits::{Images, Loss, Net, Optimiser, Training, sigmoid, start};

type Gradient = (Acc<Scalar<f32>>, AccOf<Net>);
type Channels = Acc<Array<DIM4, f32>>;

/// What a convolution gives, and its means of two by two.
fn layer(x: &Channels, filters: &Channels, bias: &Acc<Vector<f32>>) -> (Channels, Channels) {
    let outputs = x.conv(filters, Windows::valid()).imap(|(_, o, _, _), z| sigmoid(z + bias.index(o)));
    (outputs.clone(), outputs.mean_pool(2, Windows::valid().stride(2)))
}

/// From the adjoints of means to those of sums before the sigmoid: a quarter for each, times its slope.
fn before_layer(means: &Channels, outputs: &Channels) -> Channels {
    outputs.imap(|(n, o, y, x), a| means.index((n, o, y / 2, x / 2)) * 0.25 * (a * (1.0 - a)))
}

/// From adjoints of sums to those of filters: each sums what it was multiplied with.
fn by_filters(x: &Channels, adjoints: &Channels) -> Channels {
    let ((_, i, h, v), (n, o, rows, columns)) = (x.shape(), adjoints.shape());
    let terms = generate((o, i, h - rows + 1, v - columns + 1, n, rows, columns), |(o, i, r, c, n, y, z)| {
        x.index((n, i, y + r, z + c)) * adjoints.index((n, o, y, z))
    });
    terms.sum().sum().sum()
}

/// From adjoints of sums to those of the images: each sums the windows that it was in.
fn by_images(x: &Channels, filters: &Channels, adjoints: &Channels) -> Channels {
    let ((n, i, h, v), (o, _, r, c)) = (x.shape(), filters.shape());
    let (_, _, rows, columns) = adjoints.shape();
    let terms = generate((n, i, h, v, o, r, c), |(n, i, y, z, o, r, c)| {
        let (y, z) = (y - r, z - c);
        let inside = y.ge(0).and(y.lt(rows)).and(z.ge(0)).and(z.lt(columns));
        inside.then_else(filters.index((o, i, r, c)) * adjoints.index((n, o, y, z)), 0.0)
    });
    terms.sum().sum().sum()
}

/// The loss of a batch and its gradient, backwards through the layers.
fn by_hand((k1, b1, k2, b2, w, b): &AccOf<Net>, images: &Acc<Images>, t: &Acc<Vector<u8>>) -> Gradient {
    let (n, h, v) = images.shape();
    let x = images.reshape((n, 1, h, v)).map(|level| level.to::<f32>() / 255.0);
    let (a1, s1) = layer(&x, k1, b1);
    let (a2, s2) = layer(&s1, k2, b2);
    let read = s2.reshape((n, w.shape().1));
    let outputs = read.matmul(w.transpose()).imap(|(_, o), z| sigmoid(z + b.index(o)));
    let misses = outputs.imap(|(n, o), y| y - t.index(n).to::<i64>().eq(o).to_num::<f32>());
    let loss = misses.map(|miss| 0.5 * miss * miss).sum().sum();

    let of_scores = misses.zip_with(&outputs, |miss, y| miss * (y * (1.0 - y)));
    let of_w = of_scores.transpose().matmul(&read);
    let of_s2 = of_scores.matmul(w).reshape(s2.shape());
    let of_z2 = before_layer(&of_s2, &a2);
    let of_s1 = by_images(&s1, k2, &of_z2);
    let of_z1 = before_layer(&of_s1, &a1);
    let bias = |adjoints: &Channels| adjoints.sum_over((Over, All, Over, Over));
    let of_b = of_scores.sum_over((Over, All));
    (loss, (by_filters(&x, &of_z1), bias(&of_z1), by_filters(&s1, &of_z2), bias(&of_z2), of_w, of_b))
}

/// By how much the numbers of an array differ at most, as a part of the greatest.
fn apart<Sh: Shape>(a: &Array<Sh, f32>, b: &Array<Sh, f32>) -> f32 {
    let most = |xs: &mut dyn Iterator<Item = f32>| xs.fold(0.0f32, |most, x| most.max(x.abs()));
    most(&mut a.iter().zip(b.iter()).map(|(a, b)| a - b)) / most(&mut b.iter())
}

fn by_grad(net: &AccOf<Net>, images: &Acc<Images>, t: &Acc<Vector<u8>>) -> Gradient {
    let how = Training { loss: Loss::Squares, optimiser: Optimiser::Sgd, rate: 0.05, dropout: 0.0, seed: 0 };
    value_and_grad(net.clone(), |net| digits::loss(how, &net, images, t, lift(1)))
}

/// The kernels of a step.
fn kernels(gradient: fn(&AccOf<Net>, &Acc<Images>, &Acc<Vector<u8>>) -> Gradient) -> Result<usize, Error> {
    let step = compile(move |net: Acc<Net>, x: Acc<Images>, t: Acc<Vector<u8>>| {
        let (loss, slope) = gradient(&net.clone().unlift(), &x, &t);
        (loss, sgd_step::<Net, _>(net, slope, 0.05))
    })?;
    Ok(step.prepared().explain().kernels.len())
}

fn main() -> Result<(), Error> {
    println!("kernels of a step by grad: {}, by hand: {}", kernels(by_grad)?, kernels(by_hand)?);
    let ((net, _, _), (x, t)) = (start(lift(1u64)), digits::digits(lift(1u64), 50));
    let ((loss, g), (loss_by_hand, h)) = (run(by_grad(&net, &x, &t))?, run(by_hand(&net, &x, &t))?);
    println!("loss by grad: {:.1}, by hand: {:.1}", loss.value(), loss_by_hand.value());
    let filters = [apart(&g.0, &h.0), apart(&g.2, &h.2), apart(&g.4, &h.4)];
    let biases = [apart(&g.1, &h.1), apart(&g.3, &h.3), apart(&g.5, &h.5)];
    let most = filters.into_iter().chain(biases).fold(0.0, f32::max);
    println!("the gradients are the same within rounding: {}", most < 1e-5);
    Ok(())
}
