//! The network of Šinkarovs, Vießmann, Scholz: Array Languages Make Neural Networks Fast (2021): two convolutions, each with
//! means of two by two, and a layer of all with all. Two steps of training, and a pass over the images for a test.

mod backward;
mod forward;
mod network;

use super::super::vector;
use crate::data::{Numbers, floats};
use crate::pool::{Shared, split, threads};
use crate::row::{Row, hand, program};
use acc_benches::papers::network as papers;
use acc_core::prelude::*;
use network::{Gradient, Image, Network};
use papers::{BATCH, Net, RATE};

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    vec![Box::new(|| training(2 * BATCH)), Box::new(|| test(10_000))]
}

/// Images and labels: of each label a pattern, under noise.
fn examples(count: usize) -> (Vec<f32>, Vec<u8>) {
    let mut numbers = Numbers::new(110);
    let labels: Vec<u8> = (0..count).map(|_| numbers.below(10) as u8).collect();
    let patterns = floats(111, 10 * network::PIXELS, 0.0, 0.5);
    let mut images = floats(112, count * network::PIXELS, 0.0, 0.5);
    for (image, label) in images.chunks_exact_mut(network::PIXELS).zip(&labels) {
        let pattern = &patterns[usize::from(*label) * network::PIXELS..];
        image.iter_mut().zip(pattern).for_each(|(x, p)| *x += p);
    }
    (images, labels)
}

fn arrays(net: &Network, images: &[f32], labels: &[u8]) -> (Net, Array<DIM3, f32>, Vector<u8>) {
    let [h, w] = [network::SIDE; 2];
    let net = (
        shaped((6, 5, 5), &net.k1),
        vector(&net.b1),
        shaped((12, 6, 5, 5), &net.k2),
        vector(&net.b2),
        shaped((10, 192), &net.w),
        vector(&net.b[..10]),
    );
    (net, shaped((labels.len(), h, w), images), vector(labels))
}

fn shaped<Sh: Shape>(shape: impl IntoShape<Sh>, values: &[f32]) -> Array<Sh, f32> {
    Array::from_vec(shape, values.to_vec()).unwrap_or_else(|e| panic!("an array of the network: {e}"))
}

/// Operations of an image: those of the two convolutions, and as many for each of their gradients.
const FORWARD: usize = 2 * (6 * 24 * 24 * 25 + 12 * 8 * 8 * 150);
const BOTH: usize = 2 * FORWARD + 2 * 12 * 8 * 8 * 150;

fn training(count: usize) -> Row {
    let (images, labels) = examples(count);
    let start = Network::new();
    let (net, x, t) = arrays(&start, &images, &labels);
    let (program, args) = program(papers::training, (&net, &x, &t).into_data());
    let mut gradients: Vec<Gradient> = (0..threads()).map(|_| Gradient::new()).collect();
    let hand = hand((0f32, start.clone()), move |(loss, net)| {
        (*loss, *net) = (0.0, start.clone());
        for (images, labels) in images.chunks(BATCH * network::PIXELS).zip(labels.chunks(BATCH)) {
            *loss += backward::step(net, &mut gradients, images, labels, RATE);
        }
    });
    Row {
        name: "cnn: training",
        size: format!("{} steps of {BATCH} images", count / BATCH),
        read: 4.0 * (count * network::PIXELS) as f64,
        written: 0.0,
        flops: (count * BOTH) as f64,
        program,
        args,
        hand,
        tolerance: 1e-3,
    }
}

fn test(count: usize) -> Row {
    let (images, labels) = examples(count);
    let start = Network::new();
    let (net, x, t) = arrays(&start, &images, &labels);
    let (program, args) = program(papers::test, (&net, &x, &t).into_data());
    let mut guesses = vec![0u8; count];
    let hand = hand(vec![0i64; 100], move |confusion| {
        let shared = Shared::new(&mut guesses);
        split(count, 1, |r| {
            let mut image = Image::new();
            // SAFETY: the parts are disjoint.
            for (guess, n) in unsafe { shared.part(r.clone()) }.iter_mut().zip(r) {
                forward::outputs(&mut image, &start, &images[n * network::PIXELS..][..network::PIXELS]);
                let better = |best: usize, o: usize| if image.y[o] > image.y[best] { o } else { best };
                *guess = (1..10).fold(0, better) as u8;
            }
        });
        confusion.fill(0);
        for (guess, label) in guesses.iter().zip(&labels) {
            confusion[usize::from(*label) * 10 + usize::from(*guess)] += 1;
        }
    });
    Row {
        name: "cnn: a test pass",
        size: format!("{count} images"),
        read: 4.0 * (count * network::PIXELS) as f64,
        written: 0.0,
        flops: (count * FORWARD) as f64,
        program,
        args,
        hand,
        // Some images whose guesses are near each other may be told the other way.
        tolerance: 1e-2,
    }
}
