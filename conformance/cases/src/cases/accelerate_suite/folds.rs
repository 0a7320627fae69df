//! The properties of Accelerate's own suite: folds and segmented folds of random rows.

use super::data::{Rows, Sample, Try, lengths, segments};
use crate::cases::{Case, Check, case};
use crate::choices::Choices;
use crate::compare::Near;
use acc_core::prelude::*;

/// How many random arrays a property is tried on.
const TRIES: usize = 6;

fn sum<E: Sample>(init: E, row: &[E]) -> E {
    row.iter().fold(init, |a, b| a.plus(*b))
}

fn least<E: Sample>(row: &[E]) -> E {
    row.iter().copied().reduce(|a, b| if b < a { b } else { a }).unwrap_or(row[0])
}

fn greatest<E: Sample>(row: &[E]) -> E {
    row.iter().copied().reduce(|a, b| if b > a { b } else { a }).unwrap_or(row[0])
}

/// Sums, from zero and not, and extremes.
fn folds<Sh: Reducible, E: Sample>(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 0 }, E::sample);
        let (own, init) = (use_(&xs.array), E::sample(c));
        t.gives_within(own.sum(), xs.fold(|r| sum(E::from_i64(0), r)), Near::Equal);
        t.gives_within(own.fold(init, |a, b| a + b), xs.fold(|r| sum(init, r)), Near::Equal);
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 1 }, E::sample);
        let own = use_(&xs.array);
        t.gives((own.minimum(), own.maximum()), (xs.fold(least), xs.fold(greatest)));
    }
}

/// The same of segments.
fn segmented<Sh: Reducible, E: Sample>(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(10 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 0 }, E::sample);
        let (own, init, of) = (use_(&xs.array), E::sample(c), lengths(c, xs.n, 0));
        let descriptor: Vector<i64> = of.iter().map(|n| *n as i64).collect();
        let want = |init: E| xs.each(of.len(), |r| segments(r, &of).map(|s| sum(init, s)).collect());
        t.gives_within(own.fold_seg(&descriptor, E::from_i64(0), |a, b| a + b), want(E::from_i64(0)), Near::Equal);
        t.gives_within(own.fold_seg(&descriptor, init, |a, b| a + b), want(init), Near::Equal);
        let ends = of.iter().scan(0, |end, n| {
            *end += *n as i32;
            Some(*end)
        });
        let offsets: Vector<i32> = [0].into_iter().chain(ends).collect();
        t.gives_within(own.fold_seg_offsets(&offsets, init, |a, b| a + b), want(init), Near::Equal);
        let of = lengths(c, xs.n, 1);
        let descriptor: Vector<u8> = of.iter().map(|n| *n as u8).collect();
        let want = |f: fn(&[E]) -> E| xs.each(of.len(), |r| segments(r, &of).map(f).collect());
        t.gives(own.fold1_seg(&descriptor, |a, b| a.min(b)), want(least));
        t.gives(own.fold1_seg(&descriptor, |a, b| a.max(b)), want(greatest));
    }
    let xs: Rows<Sh, E> = Rows::random(c, Try { nth: TRIES, least: 0 }, E::sample);
    t.gives(use_(&xs.array).fold_seg(&Vector::from([0i64; 0]), E::from_i64(0), |a, b| a + b), xs.each(0, |_| vec![]));
}

/// The greatest sum of a segment, of a beginning, of an end, and of all: associative, not commutative.
type Mss = (i64, i64, i64, i64);
type MssExp = (Exp<i64>, Exp<i64>, Exp<i64>, Exp<i64>);

fn combine((a_best, a_head, a_tail, a_all): MssExp, (b_best, b_head, b_tail, b_all): MssExp) -> MssExp {
    (a_best.max(b_best).max(a_tail + b_head), a_head.max(a_all + b_head), b_tail.max(a_tail + b_all), a_all + b_all)
}

/// By its definition: all segments, tried one by one.
fn mss(row: &[Mss]) -> Mss {
    let sum = |from: usize, to: usize| row[from..to].iter().map(|x| x.3).sum::<i64>();
    let n = row.len();
    let best = |cuts: &mut dyn Iterator<Item = (usize, usize)>| cuts.map(|(i, j)| sum(i, j)).max().unwrap_or(0).max(0);
    (
        best(&mut (0..n).flat_map(|i| (i + 1..=n).map(move |j| (i, j)))),
        best(&mut (1..=n).map(|j| (0, j))),
        best(&mut (0..n).map(|i| (i, n))),
        sum(0, n),
    )
}

fn greatest_segments<Sh: Reducible>(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(20 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, Mss> = Rows::random(c, Try { nth, least: 1 }, |c| {
            let x = c.below(201) as i64 - 100;
            (x.max(0), x.max(0), x.max(0), x)
        });
        t.gives(use_(&xs.array).fold1(combine), xs.fold(mss));
        t.gives(use_(&xs.array).take(0).fold((0i64, 0i64, 0i64, 0i64), combine), xs.fold(|_| (0, 0, 0, 0)));
    }
}

macro_rules! every_type {
    ($f:ident, $Sh:ty, $t:expr) => {{
        $f::<$Sh, i8>($t);
        $f::<$Sh, i16>($t);
        $f::<$Sh, i32>($t);
        $f::<$Sh, i64>($t);
        $f::<$Sh, u8>($t);
        $f::<$Sh, u16>($t);
        $f::<$Sh, u32>($t);
        $f::<$Sh, u64>($t);
        $f::<$Sh, f16>($t);
        $f::<$Sh, f32>($t);
        $f::<$Sh, f64>($t);
    }};
}

const FOLDS: &str = "FLD-01 RED-05 RED-07 RED-08";
const SEGMENTED: &str = "SEG-01 SEG-02 SEG-03";

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/fold-DIM1", FOLDS, |t| {
            folds::<DIM1, i64>(t);
            folds::<DIM1, f64>(t);
        }),
        case("nofib/fold-DIM2-of-every-type", FOLDS, |t| every_type!(folds, DIM2, t)),
        case("nofib/fold-DIM3", FOLDS, |t| {
            folds::<DIM3, i64>(t);
            folds::<DIM3, f64>(t);
        }),
        case("nofib/fold-greatest-segment-sum", "FLD-01 FLD-02", |t| {
            greatest_segments::<DIM1>(t);
            greatest_segments::<DIM2>(t);
            greatest_segments::<DIM3>(t);
        }),
        case("nofib/fold-seg-DIM1", SEGMENTED, |t| {
            segmented::<DIM1, i64>(t);
            segmented::<DIM1, f64>(t);
        }),
        case("nofib/fold-seg-DIM2", SEGMENTED, |t| {
            segmented::<DIM2, i64>(t);
            segmented::<DIM2, u8>(t);
            segmented::<DIM2, f16>(t);
        }),
        case("nofib/fold-seg-DIM3", SEGMENTED, |t| {
            segmented::<DIM3, i64>(t);
            segmented::<DIM3, f32>(t);
        }),
    ]
}
