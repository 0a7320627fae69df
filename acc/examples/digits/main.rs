//! A network that reads digits: two convolutions, each with means of two by two, and a layer of all with all, trained by
//! the gradient of its loss. (Šinkarovs, Vießmann, Scholz: *Array Languages Make Neural Networks Fast*, 2021.)
//! Here it learns a few drawn digits by heart. `acc digits` trains it on thousands, MNIST's for example.
//!
//! ```text
//! after 20 steps: mean loss 1.9
//! after 40 steps: mean loss 0.5
//! after 60 steps: mean loss 0.1
//! 30 of 30 are read rightly
//! ```

pub mod drawn;

use acc_array::array::{AccOf, DIM3, DIM4, IntoIx};
use acc_array::derivative::value_and_grad;
use acc_array::network::{Adam, momentum_step, sgd_step};
use acc_array::prelude::*;
use acc_array::random::random_f32;
pub use drawn::digits;

/// Filters and bias of two convolutions, weights and bias of the last layer: 3,898 numbers.
pub type Net = (Array<DIM4, f32>, Vector<f32>, Array<DIM4, f32>, Vector<f32>, Matrix<f32>, Vector<f32>);
/// A network, and as many numbers twice that optimisers keep from step to step.
pub type State = (Net, Net, Net);
/// Grey levels, an image after the other.
pub type Images = Array<DIM3, u8>;

/// What training makes small.
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

pub(crate) fn sigmoid(x: Exp<f32>) -> Exp<f32> {
    1.0 / (1.0 + (-x).exp())
}

/// Each filter over each image, all channels, and means of two by two.
fn layer(x: &Acc<Array<DIM4, f32>>, filters: &Acc<Array<DIM4, f32>>, bias: &Acc<Vector<f32>>) -> Acc<Array<DIM4, f32>> {
    let outputs = x.conv(filters, Windows::valid()).imap(|(_, o, _, _), z| sigmoid(z + bias.index(o)));
    outputs.mean_pool(2, Windows::valid().stride(2))
}

/// How much each image looks like each digit; the last layer may drop a part of what it reads.
fn scores(net: &AccOf<Net>, images: &Acc<Images>, dropout: Option<(Exp<u64>, f32)>) -> Acc<Matrix<f32>> {
    let ((k1, b1, k2, b2, w, b), (n, h, v)) = (net, images.shape());
    let x = images.reshape((n, 1, h, v)).map(|level| level.to::<f32>() / 255.0);
    let all = layer(&layer(&x, k1, b1), k2, b2).reshape((n, w.shape().1));
    let read = dropout.map_or(all.clone(), |(seed, rate)| all.dropout(seed, rate));
    read.matmul(w.transpose()).imap(|(_, o), z| z + b.index(o))
}

/// What each image is taken for.
pub fn guesses(net: &AccOf<Net>, images: &Acc<Images>) -> Acc<Vector<u8>> {
    scores(net, images, None).arg_max().map(|o| o.to::<u8>())
}

/// The loss of a batch: a sum over its images.
pub fn loss(how: Training, net: &AccOf<Net>, x: &Acc<Images>, t: &Acc<Vector<u8>>, step: Exp<i64>) -> Acc<Scalar<f32>> {
    let z = scores(net, x, (how.dropout > 0.0).then(|| (step.to::<u64>() + (how.seed << 32), how.dropout)));
    let miss = |(n, o): (Exp<i64>, Exp<i64>), z| sigmoid(z) - t.index(n).to::<i64>().eq(o).to_num::<f32>();
    match how.loss {
        Loss::Squares => z.imap(miss).map(|miss| 0.5 * miss * miss).sum().sum(),
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
    let after = match how.optimiser {
        Optimiser::Sgd => (sgd_step::<Net, _>(net, slope, how.rate), first, second),
        Optimiser::Momentum => {
            let (net, sums) = momentum_step::<Net, _>(net, slope, first, how.rate, 0.9);
            (net, sums, second)
        }
        Optimiser::Adam => {
            let adam = Adam { rate: how.rate, ..Adam::default() };
            let (net, (means, squares)) = adam.step::<Net>(net, slope, (first, second), number);
            (net, means, squares)
        }
    };
    (loss, after)
}

/// Before the first step: numbers up to 1 by the root of how many are summed up, four times that for filters. Outputs begin near 0.1, without which nothing is learned for a while.
pub fn start(seed: Exp<u64>) -> AccOf<State> {
    fn uniform<Sh: Shape>(seed: Exp<u64>, shape: impl IntoIx<Sh>, most: f32) -> Acc<Array<Sh, f32>> {
        random_f32(seed, shape).map(|x| (x * 2.0 - 1.0) * most)
    }
    let (key, part) = (|k: u64| seed * 5 + k, |n: f32| n.sqrt().recip());
    let (k1, b1) = (uniform(key(0), (6, 1, 5, 5), 4.0 * part(25.0)), uniform(key(1), 6, part(25.0)));
    let (k2, b2) = (uniform(key(2), (12, 6, 5, 5), 4.0 * part(150.0)), uniform(key(3), 12, part(150.0)));
    let net = (k1, b1, k2, b2, uniform(key(4), (10, 192), part(192.0)), fill(10, -2.2));
    let zeros = || sgd_step::<Net, _>(net.clone(), net.clone(), 1.0);
    (net.clone(), zeros(), zeros())
}

fn main() -> Result<(), Error> {
    let how = Training { loss: Loss::CrossEntropy, optimiser: Optimiser::Adam, rate: 0.01, dropout: 0.0, seed: 0 };
    let step = compile(|state: Acc<State>, x: Acc<Images>, t: Acc<Vector<u8>>, number: Acc<Scalar<i64>>| {
        step(how, state.unlift(), (&x, &t), number.the())
    })?;
    let ((x, t), mut state) = run((digits(lift(0u64), 30), start(lift(0u64))))?;
    for number in 1..=60 {
        let (loss, next) = step.call((&state, &x, &t, &Scalar::scalar(number)))?;
        state = next;
        if number % 20 == 0 {
            println!("after {number} steps: mean loss {:.1}", loss.value() / 30.0);
        }
    }
    let read = compile(|net: Acc<Net>, x: Acc<Images>| guesses(&net.unlift(), &x))?.call((&state.0, &x))?;
    let right = read.iter().zip(t.iter()).filter(|(guess, digit)| guess == digit).count();
    println!("{right} of 30 are read rightly");
    Ok(())
}
