//! What a training makes, as pictures: curves, the confusion of digits, filters, wrong guesses.

use super::chart::{self, Curve};
use super::checkpoint::Epoch;
use super::data::Set;
use super::network::Net;
use super::network::drawn::SIDE;
use super::training::Test;
use crate::tour::Picture;
use crate::tour::picture::{Align, BLACK, Colour};
use embedded_graphics::prelude::RgbColor;

const BLUE: Colour = Colour::new(31, 98, 178);
const RED: Colour = Colour::new(196, 52, 45);
const PALE: Colour = Colour::new(150, 150, 150);
const WHITE: Colour = Colour::new(255, 255, 255);

/// Loss and accuracy over epochs.
pub fn curves(epochs: &[Epoch]) -> [Curve<'static>; 2] {
    [
        Curve {
            title: "mean loss of an image",
            values: epochs.iter().map(|e| e.loss).collect(),
            write: |x| format!("{x:.3}"),
            colour: BLUE,
        },
        Curve {
            title: "read rightly, of the test",
            values: epochs.iter().map(|e| e.accuracy).collect(),
            write: |x| format!("{:.1} %", 100.0 * x),
            colour: RED,
        },
    ]
}

/// All pictures, by the names of their files.
///
/// # Errors
///
/// A message, if one cannot be encoded.
pub fn all(
    epochs: &[Epoch],
    set: &Set,
    test: &Test,
    before: &Net,
    after: &Net,
) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let curves = curves(epochs);
    let png = |picture: Picture| {
        let mut bytes = Vec::new();
        picture.write_png(&mut bytes).map(|()| bytes)
    };
    Ok(vec![
        ("loss.png", chart::png(&curves)?),
        ("loss.svg", chart::svg(&curves).into_bytes()),
        ("confusion.png", png(confusion(test))?),
        ("filters.png", png(filters(before, after))?),
        ("wrong.png", png(wrong(set, test))?),
    ])
}

/// A colour on the way from one to another.
fn between(from: Colour, to: Colour, part: f64) -> Colour {
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part.clamp(0.0, 1.0)).round() as u8;
    Colour::new(mix(from.r(), to.r()), mix(from.g(), to.g()), mix(from.b(), to.b()))
}

/// Digits by row, guesses by column: how many, the more of the row the darker.
fn confusion(test: &Test) -> Picture {
    const CELL: i32 = 46;
    const LEFT: i32 = 56;
    const TOP: i32 = 56;
    let mut picture = Picture::blank((LEFT + 10 * CELL + 16) as usize, (TOP + 10 * CELL + 16) as usize);
    picture.label((LEFT + 5 * CELL, 16), Align::Middle, "read as", BLACK);
    picture.label((LEFT - 6, 38), Align::Right, "digit", BLACK);
    for (digit, row) in test.confusion.chunks(10).enumerate() {
        let middle = |k: usize| k as i32 * CELL + CELL / 2;
        picture.label((LEFT + middle(digit), 38), Align::Middle, &digit.to_string(), BLACK);
        picture.label((LEFT - 14, TOP + middle(digit)), Align::Right, &digit.to_string(), BLACK);
        let all = row.iter().sum::<i64>().max(1) as f64;
        for (guess, count) in row.iter().enumerate() {
            let colour = if guess == digit { BLUE } else { RED };
            // Errors are few: a tenth of the row is as dark as they get.
            let part = *count as f64 / all * if guess == digit { 1.0 } else { 10.0 };
            let corner = (LEFT + guess as i32 * CELL, TOP + digit as i32 * CELL);
            picture.square(corner, CELL as u32 - 2, between(Colour::new(244, 244, 244), colour, part));
            if *count > 0 {
                let ink = if part > 0.5 { WHITE } else { BLACK };
                picture.label(
                    (LEFT + middle(guess) - 1, TOP + middle(digit) - 1),
                    Align::Middle,
                    &count.to_string(),
                    ink,
                );
            }
        }
    }
    picture
}

/// The filters of the first convolution: red where they are negative, blue where they are positive.
fn filters(before: &Net, after: &Net) -> Picture {
    const FILTERS: usize = 6;
    const WIDTH: usize = 5;
    const SIDE: usize = 16;
    const GAP: usize = 16;
    const LEFT: usize = 64;
    const STEP: usize = WIDTH * SIDE + GAP;
    let mut picture = Picture::blank(LEFT + FILTERS * STEP, GAP + 2 * STEP);
    let most = before.0.iter().chain(after.0.iter()).fold(f32::MIN_POSITIVE, |most, w| most.max(w.abs()));
    for (row, (name, net)) in [("before", before), ("after", after)].into_iter().enumerate() {
        let top = GAP + row * STEP;
        picture.label(((LEFT - 10) as i32, (top + WIDTH * SIDE / 2) as i32), Align::Right, name, BLACK);
        for (k, filter) in net.0.as_slice().chunks(WIDTH * WIDTH).enumerate() {
            let colours = filter.iter().map(|w| {
                let part = f64::from(w.abs() / most);
                between(WHITE, if *w < 0.0 { RED } else { BLUE }, part)
            });
            picture.frame(((LEFT + k * STEP) as i32, top as i32), (WIDTH * SIDE) as u32, PALE);
            picture.cells(((LEFT + k * STEP) as i32, top as i32), WIDTH, SIDE as u32, colours);
        }
    }
    picture
}

/// The first 25 images that are read wrongly, with what they are and what they are read as.
fn wrong(set: &Set, test: &Test) -> Picture {
    const ROW: usize = 5;
    const SCALE: usize = 3;
    const GAP: usize = 14;
    const CAPTION: usize = 22;
    const ACROSS: usize = SIDE * SCALE + GAP;
    const DOWN: usize = SIDE * SCALE + GAP + CAPTION;
    let mut picture = Picture::blank(GAP + ROW * ACROSS, GAP + ROW * DOWN);
    let missed: Vec<usize> =
        (0..set.len().min(test.guesses.len())).filter(|n| set.labels[*n] != test.guesses[*n]).collect();
    for (k, n) in missed.iter().take(ROW * ROW).enumerate() {
        let corner = ((GAP + k % ROW * ACROSS) as i32, (GAP + k / ROW * DOWN) as i32);
        let ink = set.image(*n).iter().map(|level| Colour::new(255 - level, 255 - level, 255 - level));
        picture.frame(corner, (SIDE * SCALE) as u32, PALE);
        picture.cells(corner, SIDE, SCALE as u32, ink);
        let caption = format!("{} read as {}", set.labels[*n], test.guesses[*n]);
        let middle = (corner.0 + (SIDE * SCALE / 2) as i32, corner.1 + (SIDE * SCALE + CAPTION / 2) as i32);
        picture.label(middle, Align::Middle, &caption, BLACK);
    }
    if missed.is_empty() {
        let middle = ((GAP + ROW * ACROSS) / 2) as i32;
        picture.label((middle, middle), Align::Middle, "no wrong guesses", BLACK);
    }
    picture
}
