//! The properties of Accelerate's own suite: scans and segmented scans of random rows.

use super::data::{Rows, Sample, Try, left, left1, lengths, right, right1, segments};
use crate::cases::arrays::fold::{Affine, compose};
use crate::cases::{Case, Check, case, host};
use crate::choices::Choices;
use crate::compare::Near;
use acc_core::prelude::*;

/// How many random arrays a property is tried on.
const TRIES: usize = 6;

/// Composition of affine maps on the host.
fn composed(a: &Affine, b: &Affine) -> Affine {
    (a.0.wrapping_mul(b.0), a.0.wrapping_mul(b.1).wrapping_add(a.1))
}

fn affine(c: &mut Choices) -> Affine {
    (c.bits() as i64, c.bits() as i64)
}

/// Every scan with an associative function, which need not be commutative.
fn scans<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    t: &mut Check<'_>,
    element: fn(&mut Choices) -> E,
    f: fn(E::Exp, E::Exp) -> R,
    g: fn(&E, &E) -> E,
) {
    let c = &mut Choices::seeded(30 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 0 }, element);
        let (own, init, n) = (use_(&xs.array), element(c), xs.n);
        let start = || constant(init.clone());
        let (lefts, rights) = (|r: &[E]| left(&init, r, g), |r: &[E]| right(&init, r, g));
        let total_left = xs.fold(|r| left(&init, r, g)[n].clone());
        let total_right = xs.fold(|r| right(&init, r, g)[0].clone());
        let near = Near::Equal;
        t.gives_within(own.scanl(start(), f), xs.each(n + 1, lefts), near);
        t.gives_within(own.scanr(start(), f), xs.each(n + 1, rights), near);
        t.gives_within(own.scanl1(f), xs.each(n, |r| left1(r, g)), near);
        t.gives_within(own.scanr1(f), xs.each(n, |r| right1(r, g)), near);
        let before = xs.each(n, |r| lefts(r)[..n].to_vec());
        t.gives_within(own.prescanl(start(), f), before.clone(), near);
        t.gives_within(own.scanl_with_total(start(), f), (before, total_left), near);
        t.gives_within(own.postscanl(start(), f), xs.each(n, |r| lefts(r)[1..].to_vec()), near);
        let after = xs.each(n, |r| rights(r)[1..].to_vec());
        t.gives_within(own.prescanr(start(), f), after.clone(), near);
        t.gives_within(own.scanr_with_total(start(), f), (after, total_right), near);
        t.gives_within(own.postscanr(start(), f), xs.each(n, |r| rights(r)[..n].to_vec()), near);
        t.gives_within(own.take(0).scanl(start(), f), xs.each(1, |_| vec![init.clone()]), near);
    }
}

/// Every segmented scan, the ones without an initial value over segments that may be empty, too.
fn segmented<Sh: Reducible, E: Elt, R: IntoExp<E>>(
    t: &mut Check<'_>,
    element: fn(&mut Choices) -> E,
    f: fn(E::Exp, E::Exp) -> R,
    g: fn(&E, &E) -> E,
) {
    let c = &mut Choices::seeded(40 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 0 }, element);
        let (own, init, of) = (use_(&xs.array), element(c), lengths(c, xs.n, 0));
        let start = || constant(init.clone());
        let descriptor: Vector<i32> = of.iter().map(|n| *n as i32).collect();
        let (n, count) = (of.iter().sum::<usize>(), of.len());
        let each = |n: usize, scan: &dyn Fn(&[E]) -> Vec<E>| xs.each(n, |r| segments(r, &of).flat_map(scan).collect());
        let lefts = |s: &[E]| left(&init, s, g);
        let rights = |s: &[E]| right(&init, s, g);
        t.gives(own.scanl_seg(&descriptor, start(), f), each(n + count, &lefts));
        t.gives(own.scanr_seg(&descriptor, start(), f), each(n + count, &rights));
        t.gives(own.scanl1_seg(&descriptor, f), each(n, &|s| left1(s, g)));
        t.gives(own.scanr1_seg(&descriptor, f), each(n, &|s| right1(s, g)));
        let before = each(n, &|s| lefts(s)[..s.len()].to_vec());
        t.gives(own.prescanl_seg(&descriptor, start(), f), before.clone());
        let totals = each(count, &|s| lefts(s)[s.len()..].to_vec());
        t.gives(own.scanl_with_total_seg(&descriptor, start(), f), (before, totals));
        t.gives(own.postscanl_seg(&descriptor, start(), f), each(n, &|s| lefts(s)[1..].to_vec()));
        let after = each(n, &|s| rights(s)[1..].to_vec());
        t.gives(own.prescanr_seg(&descriptor, start(), f), after.clone());
        let totals = each(count, &|s| rights(s)[..1].to_vec());
        t.gives(own.scanr_with_total_seg(&descriptor, start(), f), (after, totals));
        t.gives(own.postscanr_seg(&descriptor, start(), f), each(n, &|s| rights(s)[..s.len()].to_vec()));
        let none = Vector::from([0i32; 0]);
        t.gives(own.scanl_seg(&none, start(), f), xs.each(0, |_| vec![]));
    }
}

/// The scans with sums.
fn sums<Sh: Reducible, E: Sample>(t: &mut Check<'_>) {
    scans::<Sh, E, Exp<E>>(t, E::sample, |a, b| a + b, |a, b| a.plus(*b));
}

const SCANS: &str = "SCN-01 SCN-02 SCN-03 SCN-04 SCN-05 SCN-06 SCN-07 SCN-08 SCN-09 SCN-10";
const SEGMENTED: &str = "SSC-01 SSC-02 SSC-03 SSC-04 SSC-05 SSC-06 SSC-07 SSC-08 SSC-09 SSC-10";

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/scan-sums-DIM1", SCANS, sums::<DIM1, i64>),
        case("nofib/scan-sums-DIM2-of-every-type", SCANS, |t| {
            sums::<DIM2, i8>(t);
            sums::<DIM2, i16>(t);
            sums::<DIM2, i32>(t);
            sums::<DIM2, i64>(t);
            sums::<DIM2, u8>(t);
            sums::<DIM2, u16>(t);
            sums::<DIM2, u32>(t);
            sums::<DIM2, u64>(t);
            sums::<DIM2, f16>(t);
            sums::<DIM2, f32>(t);
            sums::<DIM2, f64>(t);
        }),
        case("nofib/scan-sums-DIM3", SCANS, sums::<DIM3, f64>),
        case("nofib/scan-affine-maps", SCANS, |t| {
            scans::<DIM1, Affine, _>(t, affine, compose, composed);
            scans::<DIM2, Affine, _>(t, affine, compose, composed);
            scans::<DIM3, Affine, _>(t, affine, compose, composed);
        }),
        case("nofib/scan-seg-sums", SEGMENTED, |t| {
            segmented::<DIM1, i64, _>(t, i64::sample, |a, b| a + b, |a, b| a.plus(*b));
            segmented::<DIM2, u16, _>(t, u16::sample, |a, b| a + b, |a, b| a.plus(*b));
            segmented::<DIM3, i64, _>(t, i64::sample, |a, b| a + b, |a, b| a.plus(*b));
        }),
        case("nofib/scan-seg-affine-maps", SEGMENTED, |t| {
            segmented::<DIM1, Affine, _>(t, affine, compose, composed);
            segmented::<DIM2, Affine, _>(t, affine, compose, composed);
        }),
        case("nofib/scanl1-257-x-31", "SCN-02", |t| {
            let square = generate((257, 31), |(i, j)| i * 31 + j).scanl1(|a, b| a + b);
            let want = (0..257i64).flat_map(|i| (0..31i64).map(move |j| (j + 1) * i * 31 + j * (j + 1) / 2));
            t.gives(square, host((257, 31), want));
            t.shape(fill((257, 0), 1i64).scanl1(|a, b| a + b), [257, 0]);
        }),
    ]
}
