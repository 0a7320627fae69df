//! The properties of Accelerate's own suite: take, drop, gather, scatter, accumulate and filter of random arrays.

use super::data::{Rows, Sample, Try, array, extents, within};
use crate::cases::{Case, Check, case};
use crate::choices::Choices;
use crate::compare::Near;
use acc_core::prelude::*;

/// How many random arrays a property is tried on.
const TRIES: usize = 6;

/// Counts from -2 to one more than there are.
fn take_and_drop<Sh: Reducible, E: Sample>(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(50 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 0 }, E::sample);
        let (own, n) = (use_(&xs.array), xs.n as i64);
        for count in [-2, -1, 0, 1, n - 1, n, n + 1, within(c, -2..n + 2)] {
            let k = count.clamp(0, n) as usize;
            // The count as a constant, and as a number that is known when the program runs.
            let given = use_(&Scalar::scalar(count));
            t.gives(own.take(lift(count)), xs.each(k, |r| r[..k].to_vec()));
            t.gives(own.drop(given.the()), xs.each(xs.n - k, |r| r[k..].to_vec()));
        }
    }
}

/// A gather from a vector into an array of any rank.
fn gather<Sh: Reducible, E: Sample>(t: &mut Check<'_>) {
    let c = &mut Choices::seeded(60 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let n = 1 + c.below(200);
        let source: Vec<E> = (0..n).map(|_| E::sample(c)).collect();
        let at: Rows<Sh, i64> = Rows::random(c, Try { nth, least: 0 }, |c| c.below(n) as i64);
        let want = at.each(at.n, |r| r.iter().map(|i| source[*i as usize]).collect());
        t.gives(use_(&Vector::from(source)).gather(&at.array), want);
    }
}

/// A random order of the numbers below `n`.
fn shuffled(c: &mut Choices, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| order.swap(i, c.below(i + 1)));
    order
}

/// Scatter and accumulate into an array of a rank: targets as its indices, from their places in row-major order.
macro_rules! permutations {
    ($name:ident, $Sh:ty, $Ix:ty, |$dims:ident, $k:ident| $index:expr) => {
        fn $name<E: Sample>(t: &mut Check<'_>) {
            let c = &mut Choices::seeded(70 + <$Sh as Shape>::RANK as u64);
            let index = |$dims: &[usize], $k: usize| -> $Ix { $index };
            for nth in 0..TRIES {
                let dims = extents(c, <$Sh as Shape>::RANK, Try { nth, least: 0 });
                let size: usize = dims.iter().product();
                let defaults: Vec<E> = (0..size).map(|_| E::sample(c)).collect();
                let before: Array<$Sh, E> = array(&dims, defaults.clone());
                let source: Vec<E> = (0..100).map(|_| E::sample(c)).collect();
                let unique = shuffled(c, size);
                // Each place once at most, and some elements nowhere; then with collisions.
                let once: Vec<Option<usize>> =
                    (0..100).map(|i| unique.get(i).copied().filter(|_| !c.chance(25))).collect();
                let often: Vec<Option<usize>> =
                    (0..100).map(|_| (size > 0 && c.chance(80)).then(|| c.below(size.min(30)))).collect();
                let (mut scattered, mut accumulated) = (defaults.clone(), defaults);
                for (i, x) in source.iter().enumerate() {
                    once[i].into_iter().for_each(|k| scattered[k] = *x);
                    often[i].into_iter().for_each(|k| accumulated[k] = accumulated[k].plus(*x));
                }
                let targets = |of: Vec<Option<usize>>| -> Vector<Option<$Ix>> {
                    of.into_iter().map(|k| k.map(|k| index(&dims, k))).collect()
                };
                let (once, often, xs) = (use_(&targets(once)), use_(&targets(often)), use_(&Vector::from(source)));
                t.gives(xs.permute(&before, |new, _| new, |i| once.index(i)), array(&dims, scattered));
                let sums = xs.permute(&before, |new, old| new + old, |i| often.index(i));
                t.gives_within(sums, array(&dims, accumulated), Near::Equal);
                t.gives(xs.take(0).permute(&before, |new, old| new + old, |i| often.index(i)), before);
            }
        }
    };
}
permutations!(into_vectors, DIM1, i64, |_dims, k| k as i64);
permutations!(into_matrices, DIM2, (i64, i64), |dims, k| ((k / dims[1]) as i64, (k % dims[1]) as i64));
permutations!(into_cubes, DIM3, (i64, i64, i64), |dims, k| (
    (k / dims[2] / dims[1]) as i64,
    (k / dims[2] % dims[1]) as i64,
    (k % dims[2]) as i64
));

/// The elements kept, and how many of each row.
fn filter<Sh: Reducible, E: Sample>(t: &mut Check<'_>, keep: fn(Exp<E>) -> Exp<bool>, keeps: fn(&E) -> bool) {
    let c = &mut Choices::seeded(80 + Sh::RANK as u64);
    for nth in 0..TRIES {
        let xs: Rows<Sh, E> = Rows::random(c, Try { nth, least: 0 }, E::sample);
        let kept: Vector<E> = xs.rows.concat().into_iter().filter(keeps).collect();
        let counts = xs.fold(|r| r.iter().filter(|x| keeps(x)).count() as i64);
        t.gives(use_(&xs.array).filter_rows(keep), (kept, counts));
        t.gives(use_(&xs.array).take(0).filter_rows(keep), (Vector::from_iter([]), xs.fold(|_| 0i64)));
    }
}

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/take-and-drop", "MOD-07 MOD-08", |t| {
            take_and_drop::<DIM1, i64>(t);
            take_and_drop::<DIM2, u8>(t);
            take_and_drop::<DIM2, f64>(t);
            take_and_drop::<DIM3, i16>(t);
        }),
        case("nofib/gather", "PRM-03 PRM-04", |t| {
            gather::<DIM1, i64>(t);
            gather::<DIM2, f32>(t);
            gather::<DIM3, u16>(t);
        }),
        case("nofib/scatter-and-accumulate-into-DIM1", "PRM-01", |t| {
            into_vectors::<i64>(t);
            into_vectors::<u8>(t);
            into_vectors::<f16>(t);
            into_vectors::<f64>(t);
        }),
        case("nofib/scatter-and-accumulate-into-DIM2", "PRM-01", |t| {
            into_matrices::<i64>(t);
            into_matrices::<f32>(t);
        }),
        case("nofib/scatter-and-accumulate-into-DIM3", "PRM-01", into_cubes::<i32>),
        case("nofib/filter", "FLT-01", |t| {
            filter::<DIM1, i64>(t, |x| (x % 2).eq(0), |x| x % 2 == 0);
            filter::<DIM2, u8>(t, |x| (x % 2).eq(0), |x| x % 2 == 0);
            filter::<DIM3, i32>(t, |x| (x % 2).eq(0), |x| x % 2 == 0);
            filter::<DIM1, f32>(t, |x| x.gt(0.0), |x| *x > 0.0);
            filter::<DIM2, f64>(t, |x| x.gt(0.0), |x| *x > 0.0);
        }),
    ]
}
