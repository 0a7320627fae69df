//! A network that reads digits: two convolutions, each with means of two by two, and a layer of all with all, trained by
//! the gradient of its loss. (Šinkarovs, Vießmann, Scholz: *Array Languages Make Neural Networks Fast*, 2021.)
//!
//! Here it learns from a few drawn digits. `acc digits` trains it on files, MNIST's for example, and shows how it goes.
//!
//! ```text
//! ```

mod drawn;

use acc_array::array::{AccOf, DIM3, DIM4};
use acc_array::derivative::value_and_grad;
use acc_array::network::{Adam, momentum_step, sgd_step};
use acc_array::prelude::*;
use acc_array::random::random_f32;
pub use drawn::{SIDE, digits};

/// Filters and bias of two convolutions, weights and bias of the last layer: 3,898 numbers.
pub type Net = (Array<DIM4, f32>, Vector<f32>, Array<DIM4, f32>, Vector<f32>, Matrix<f32>, Vector<f32>);
/// A network, and as many numbers twice that optimisers keep from step to step.
pub type State = (Net, Net, Net);
/// Grey levels, an image after the other.
pub type Images = Array<DIM3, u8>;

/// What is made small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Half the square of each output's distance from 1 for the digit, from 0 for the others.
    Squares,
    /// The negative logarithm of the probability that the network gives the digit.
    CrossEntropy,
}

/// By which steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optimiser {
    /// Against the gradient.
    Sgd,
    /// Against a running sum of gradients.
    Momentum,
    /// Adam.
    Adam,
}

/// How the network is trained.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Training {
    /// What is made small.
    pub loss: Loss,
    /// By which steps.
    pub optimiser: Optimiser,
    /// The length of steps, along the sum of a batch's gradients.
    pub rate: f32,
    /// The part of what the last layer reads that is dropped in a step.
    pub dropout: f32,
    /// Says what is dropped.
    pub seed: u64,
}

/// From 0 to 1.
pub fn sigmoid(x: Exp<f32>) -> Exp<f32> {
    1.0 / (1.0 + (-x).exp())
}

/// Each filter over each image, all channels, and means of two by two.
fn layer(x: &Acc<Array<DIM4, f32>>, filters: &Acc<Array<DIM4, f32>>, bias: &Acc<Vector<f32>>) -> Acc<Array<DIM4, f32>> {
    let outputs = x.conv(filters, Windows::valid()).imap(|(_, o, _, _), z| sigmoid(z + bias.index(o)));
    outputs.mean_pool(2, Windows::valid().stride(2))
}

/// What the last layer reads, a row for each image.
fn features((k1, b1, k2, b2, w, _): &AccOf<Net>, images: &Acc<Images>) -> Acc<Matrix<f32>> {
    let (n, h, v) = images.shape();
    let x = images.reshape((n, 1, h, v)).map(|level| level.to::<f32>() / 255.0);
    layer(&layer(&x, k1, b1), k2, b2).reshape((n, w.shape().1))
}

fn scores((_, _, _, _, w, b): &AccOf<Net>, features: &Acc<Matrix<f32>>) -> Acc<Matrix<f32>> {
    features.matmul(w.transpose()).imap(|(_, o), z| z + b.index(o))
}

/// The digit that each image is taken for.
pub fn guesses(net: &AccOf<Net>, images: &Acc<Images>) -> Acc<Vector<u8>> {
    scores(net, &features(net, images)).arg_max().map(|o| o.to::<u8>())
}

/// How many images of each digit are taken for each digit.
pub fn confusion(labels: &Acc<Vector<u8>>, guesses: &Acc<Vector<u8>>) -> Acc<Matrix<i64>> {
    let place = |n: Exp<i64>| Some((labels.index(n), guesses.index(n)));
    fill(labels.shape(), 1i64).permute(fill((10, 10), 0i64), |a, b| a + b, place)
}

/// The loss of a batch: a sum over its images.
pub fn loss(how: Training, net: &AccOf<Net>, x: &Acc<Images>, t: &Acc<Vector<u8>>, step: Exp<i64>) -> Acc<Scalar<f32>> {
    let mut read = features(net, x);
    if how.dropout > 0.0 {
        read = read.dropout(step.to::<u64>() + (how.seed << 32), how.dropout);
    }
    let z = scores(net, &read);
    let squares = |(n, o): (Exp<i64>, Exp<i64>), z| {
        let miss = sigmoid(z) - t.index(n).to::<i64>().eq(o).to_num::<f32>();
        0.5 * miss * miss
    };
    match how.loss {
        Loss::Squares => z.imap(squares).sum().sum(),
        Loss::CrossEntropy => z.cross_entropy(t).sum(),
    }
}

/// A step on a batch, the first of which has the number 1: the loss before it, and what is after it.
pub fn step(
    how: Training,
    (net, first, second): AccOf<State>,
    (x, t): (&Acc<Images>, &Acc<Vector<u8>>),
    number: Exp<i64>,
) -> (Acc<Scalar<f32>>, AccOf<State>) {
    let (loss, slope) = value_and_grad(net.clone(), |net| loss(how, &net, x, t, number));
    let rate = how.rate;
    let after = match how.optimiser {
        Optimiser::Sgd => (sgd_step::<Net, _>(net, slope, rate), first, second),
        Optimiser::Momentum => {
            let (net, first) = momentum_step::<Net, _>(net, slope, first, rate, 0.9);
            (net, first, second)
        }
        Optimiser::Adam => {
            let adam = Adam { rate, ..Adam::default() };
            let (net, (first, second)) = adam.step::<Net>(net, slope, (first, second), number);
            (net, first, second)
        }
    };
    (loss, after)
}

/// Before the first step: numbers between plus and minus 1 by the root of how many are summed up, four times as many for
/// filters. Outputs begin near 0.1, without which nothing is learned for a while.
pub fn start(seed: Exp<u64>) -> AccOf<State> {
    fn uniform<Sh: Shape>(seed: Exp<u64>, shape: impl acc_array::array::IntoIx<Sh>, most: f32) -> Acc<Array<Sh, f32>> {
        random_f32(seed, shape).map(|x| (x * 2.0 - 1.0) * most)
    }
    let key = |k: u64| seed * 5 + k;
    let first = (uniform(key(0), (6, 1, 5, 5), 0.8), uniform(key(1), 6, 0.2));
    let second = (uniform(key(2), (12, 6, 5, 5), 4.0 / 150f32.sqrt()), uniform(key(3), 12, 150f32.sqrt().recip()));
    let last = uniform(key(4), (10, 192), 192f32.sqrt().recip());
    let zeros = || (fill((6, 1, 5, 5), 0.0), fill(6, 0.0), fill((12, 6, 5, 5), 0.0), fill(12, 0.0), fill((10, 192), 0.0), fill(10, 0.0));
    ((first.0, first.1, second.0, second.1, last, fill(10, -2.2)), zeros(), zeros())
}

fn main() -> Result<(), Error> {
    let how = Training { loss: Loss::Squares, optimiser: Optimiser::Adam, rate: 0.01, dropout: 0.0, seed: 0 };
    let draw = compile(|seed: Acc<Scalar<u64>>| digits(seed.the(), 100))?;
    let step = compile(|state: Acc<State>, x: Acc<Images>, t: Acc<Vector<u8>>, number: Acc<Scalar<i64>>| {
        step(how, state.unlift(), (&x, &t), number.the())
    })?;
    let test = compile(|net: Acc<Net>, x: Acc<Images>, t: Acc<Vector<u8>>| {
        confusion(&t, &guesses(&net.unlift(), &x))
    })?;
    let mut state = run(start(lift(0u64)))?;
    for number in 1..=60 {
        let (x, t) = draw.call((&Scalar::scalar(number as u64),))?;
        let (loss, next) = step.call((&state, &x, &t, &Scalar::scalar(number)))?;
        state = next;
        if number % 20 == 0 { println!("after {number} batches: loss {:.3}", loss.value()); }
    }
    let (x, t) = draw.call((&Scalar::scalar(0),))?;
    let found = test.call((&state.0, &x, &t))?.to_vec();
    println!("{} of 100 new digits are read rightly", found.iter().step_by(11).sum::<i64>());
    Ok(())
}
