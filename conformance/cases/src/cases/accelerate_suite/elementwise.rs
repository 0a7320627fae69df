//! The properties of Accelerate's own suite: element-wise functions of random arrays of every element type.

use super::data::{Sample, Try, array, extents};
use crate::cases::{Case, case};
use crate::choices::Choices;
use acc_core::prelude::*;

/// How many random arrays a property is tried on, for each rank up to 2.
const TRIES: usize = 3;

/// Random extents and a generator of elements for each try and each rank.
macro_rules! each_rank {
    ($c:ident, $Sh:ident $dims:ident $body:block) => { each_rank!(@ $c, $Sh $dims $body, DIM0 DIM1 DIM2); };
    (@ $c:ident, $Sh:ident $dims:ident $body:block, $($Rank:ident)*) => {
        for nth in 0..TRIES {
            $({
                type $Sh = $Rank;
                let $dims = extents(&mut $c, $Sh::RANK, Try { nth, least: 0 });
                $body
            })*
        }
    };
}

fn some<E>(c: &mut Choices, dims: &[usize], mut element: impl FnMut(&mut Choices) -> E) -> Vec<E> {
    (0..dims.iter().product()).map(|_| element(c)).collect()
}

/// The extents that two arrays have in common, and their elements there.
fn common<A: Copy, B: Copy>(a: (&[usize], &[A]), b: (&[usize], &[B])) -> (Vec<usize>, Vec<(A, B)>) {
    let dims: Vec<usize> = a.0.iter().zip(b.0).map(|(m, n)| *m.min(n)).collect();
    let at = |of: &[usize], mut k: usize| {
        let (mut position, mut stride) = (0, 1);
        for (n, extent) in dims.iter().zip(of).rev() {
            position += k % n * stride;
            k /= n;
            stride *= extent;
        }
        position
    };
    let pairs = (0..dims.iter().product()).map(|k| (a.1[at(a.0, k)], b.1[at(b.0, k)])).collect();
    (dims, pairs)
}

macro_rules! map_integers {
    ($t:ident, $c:ident, $T:ident, $signum:expr, $abs:expr) => {
        each_rank!($c, Sh dims {
            let xs = some(&mut $c, &dims, $T::sample);
            let of = |x: Exp<$T>| {
                let bits = (x.count_ones(), x.leading_zeros(), x.trailing_zeros());
                (-x, x.abs(), x.signum(), !x, bits, x.to::<f64>())
            };
            let want = |x: $T| {
                let bits = (x.count_ones() as i32, x.leading_zeros() as i32, x.trailing_zeros() as i32);
                (x.wrapping_neg(), $abs(x), $signum(x), !x, bits, x as f64)
            };
            let device: Array<Sh, $T> = array(&dims, xs.clone());
            $t.gives(use_(&device).map(of), array::<Sh, _>(&dims, xs.into_iter().map(want)));
        });
    };
}

macro_rules! zip_integers {
    ($t:ident, $c:ident, $T:ident) => {
        each_rank!($c, Sh dims {
            let other = extents(&mut $c, Sh::RANK, Try { nth: TRIES, least: 0 });
            let (xs, ys) = (some(&mut $c, &dims, $T::sample), some(&mut $c, &other, $T::sample));
            let a: Acc<Array<Sh, $T>> = use_(&array(&dims, xs.clone()));
            let b: Acc<Array<Sh, $T>> = use_(&array(&other, ys.clone()));
            let (both, pairs) = common((&dims, &xs), (&other, &ys));
            let of = |x: Exp<$T>, y: Exp<$T>| ((x + y, x - y, x * y), (x & y, x | y, x ^ y), (x.min(y), x.max(y)));
            let want = |(x, y): ($T, $T)| {
                let sums = (x.wrapping_add(y), x.wrapping_sub(y), x.wrapping_mul(y));
                (sums, (x & y, x | y, x ^ y), (x.min(y), x.max(y)))
            };
            $t.gives(a.zip_with(&b, of), array::<Sh, _>(&both, pairs.iter().copied().map(want)));
            let of = |x: Exp<$T>, y: Exp<$T>| (x.lt(y), x.gt(y), x.le(y), x.ge(y), x.eq(y), x.ne(y));
            let want = |(x, y): ($T, $T)| (x < y, x > y, x <= y, x >= y, x == y, x != y);
            $t.gives(a.zip_with(&b, of), array::<Sh, _>(&both, pairs.iter().copied().map(want)));
            // No divisor is zero, and none overflows.
            let divisors: Vec<$T> = ys.iter().map(|y| if *y == 0 || y.wrapping_neg() == 1 { 3 } else { *y }).collect();
            let b: Acc<Array<Sh, $T>> = use_(&array(&other, divisors.clone()));
            let (_, pairs) = common((&dims, &xs), (&other, &divisors));
            let of = |x: Exp<$T>, y: Exp<$T>| (x.quot(y), x.rem(y), x.quot_rem(y), x.div_floor(y), x.mod_floor(y), x.div_mod(y));
            let want = |(x, y): ($T, $T)| {
                let (q, r) = (x / y, x % y);
                // The floor is one less where the remainder and the divisor differ in sign.
                let (d, m) = if r != 0 && (r < 0 as $T) != (y < 0 as $T) { (q - 1, r + y) } else { (q, r) };
                (q, r, (q, r), d, m, (d, m))
            };
            $t.gives(a.zip_with(&b, of), array::<Sh, _>(&both, pairs.into_iter().map(want)));
            let counts = some(&mut $c, &other, |c| c.below($T::BITS as usize) as i64);
            let b: Acc<Array<Sh, i64>> = use_(&array(&other, counts.clone()));
            let (_, pairs) = common((&dims, &xs), (&other, &counts));
            let of = |x: Exp<$T>, k: Exp<i64>| {
                ((x.shift(k), x.shift(-k), x.shift_left(k), x.shift_right(k)), (x.rotate(k), x.rotate_left(k), x.rotate_right(k)))
            };
            let want = |(x, k): ($T, i64)| {
                let k = k as u32;
                let (left, right) = (x << k, x >> k);
                ((left, right, left, right), (x.rotate_left(k), x.rotate_left(k), x.rotate_right(k)))
            };
            $t.gives(a.zip_with(&b, of), array::<Sh, _>(&both, pairs.into_iter().map(want)));
        });
    };
}

/// A float up to 80, whose exponential every type but `f16` has.
fn level(c: &mut Choices) -> f64 {
    (c.below(16_001) as f64 - 8000.0) / 100.0
}

macro_rules! floats {
    ($t:ident, $c:ident, $T:ident) => {
        each_rank!($c, Sh dims {
            let xs = some(&mut $c, &dims, |c| level(c) as $T);
            let own: Acc<Array<Sh, $T>> = use_(&array(&dims, xs.clone()));
            let host = |f: &dyn Fn($T) -> $T| array::<Sh, $T>(&dims, xs.iter().map(|x| f(*x)));
            macro_rules! same {
                ($of:expr, $want:expr) => { $t.gives(own.map::<$T, _>($of), host(&$want)); };
            }
            same!(|x| -x, |x| -x);
            same!(|x| x.abs(), |x| x.abs());
            same!(|x| x.signum(), |x| if x == 0.0 { x } else { x.signum() });
            same!(|x| (x.abs() + 0.5).recip(), |x| (x.abs() + 0.5).recip());
            same!(|x| x.sin(), |x| x.sin());
            same!(|x| x.cos(), |x| x.cos());
            same!(|x| (x / 60.0).tan(), |x| (x / 60.0).tan());
            same!(|x| (x / 81.0).asin(), |x| (x / 81.0).asin());
            same!(|x| (x / 81.0).acos(), |x| (x / 81.0).acos());
            same!(|x| x.atan(), |x| x.atan());
            same!(|x| x.sinh(), |x| x.sinh());
            same!(|x| x.cosh(), |x| x.cosh());
            same!(|x| x.tanh(), |x| x.tanh());
            same!(|x| (x.abs() + 1.0).acosh(), |x| f64::from(x.abs() + 1.0).acosh() as $T);
            same!(|x| x.exp(), |x| x.exp());
            same!(|x| (x.abs() + 0.25).sqrt(), |x| (x.abs() + 0.25).sqrt());
            same!(|x| (x.abs() + 0.25).ln(), |x| (x.abs() + 0.25).ln());
            let of = |x: Exp<$T>| (x.trunc_to::<i64>(), x.round_to::<i64>(), x.floor_to::<i64>(), x.ceil_to::<i64>());
            let want = |x: $T| (x.trunc() as i64, x.round_ties_even() as i64, x.floor() as i64, x.ceil() as i64);
            $t.gives(own.map(of), array::<Sh, _>(&dims, xs.iter().copied().map(want)));

            let other = extents(&mut $c, Sh::RANK, Try { nth: TRIES, least: 0 });
            let ys = some(&mut $c, &other, |c| level(c) as $T);
            let b: Acc<Array<Sh, $T>> = use_(&array(&other, ys.clone()));
            let (both, pairs) = common((&dims, &xs), (&other, &ys));
            let of = |x: Exp<$T>, y: Exp<$T>| ((x + y, x - y, x * y), (x.min(y), x.max(y)));
            let want = |(x, y): ($T, $T)| ((x + y, x - y, x * y), (x.min(y), x.max(y)));
            $t.gives(own.zip_with(&b, of), array::<Sh, _>(&both, pairs.iter().copied().map(want)));
            let of = |x: Exp<$T>, y: Exp<$T>| (x.lt(y), x.gt(y), x.le(y), x.ge(y), x.eq(y), x.ne(y));
            let want = |(x, y): ($T, $T)| (x < y, x > y, x <= y, x >= y, x == y, x != y);
            $t.gives(own.zip_with(&b, of), array::<Sh, _>(&both, pairs.iter().copied().map(want)));
            let of = |x: Exp<$T>, y: Exp<$T>| (x / (y.abs() + 0.5), x.atan2(y), (x.abs() + 1.0).powf(y / 8.0));
            let want = |(x, y): ($T, $T)| (x / (y.abs() + 0.5), x.atan2(y), (x.abs() + 1.0).powf(y / 8.0));
            $t.gives(own.zip_with(&b, of), array::<Sh, _>(&both, pairs.iter().copied().map(want)));
            let of = |x: Exp<$T>, y: Exp<$T>| (x.abs() + 2.0).log_base(y.abs() + 2.0);
            let want = |(x, y): ($T, $T)| (x.abs() + 2.0).log(y.abs() + 2.0);
            $t.gives(own.zip_with(&b, of), array::<Sh, _>(&both, pairs.into_iter().map(want)));
        });
    };
}

/// Lanes out of vectors and into them.
macro_rules! lanes {
    ($t:ident, $c:ident, $T:ident, $($n:literal)*) => { $(
        for nth in 0..TRIES {
            let dims = extents(&mut $c, 1, Try { nth, least: 0 });
            let rows: Vec<[$T; $n]> = some(&mut $c, &dims, |c| std::array::from_fn(|_| $T::sample(c)));
            let vectors: Vector<Simd<$T, $n>> = rows.iter().map(|r| Simd(*r)).collect();
            let lane = |k: usize| rows.iter().map(|r| r[k]).collect::<Vector<$T>>();
            for k in 0..$n {
                $t.gives(use_(&vectors).map(|v| v.lanes()[k]), lane(k));
            }
            let made = use_(&lane(0)).zip_with(use_(&lane($n - 1)), |a, b| {
                simd::<$T, $n>(std::array::from_fn(|k| if k == 0 { a } else { b }))
            });
            let want = rows.iter().map(|r| Simd(std::array::from_fn(|k| if k == 0 { r[0] } else { r[$n - 1] })));
            $t.gives(made, want.collect::<Vector<Simd<$T, $n>>>());
        }
    )* };
}

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/map-integers", "ELW-02 NUM-05 NUM-06 NUM-07 BIT-04", |t| {
            let mut c = Choices::seeded(31);
            each!([i8, i16, i32, i64] T { map_integers!(t, c, T, T::signum, T::wrapping_abs); });
            each!([u8, u16, u32, u64] T { map_integers!(t, c, T, |x: T| x.min(1), |x: T| x); });
        }),
        case("nofib/zip-with-integers", "ELW-04 NUM-02 NUM-03 NUM-04 BIT-01 BIT-02 BIT-03", |t| {
            let mut c = Choices::seeded(31);
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T { zip_integers!(t, c, T); });
        }),
        case("nofib/map-and-zip-with-floats", "ELW-02 ELW-04", |t| {
            let mut c = Choices::seeded(31);
            each!([f32, f64] T { floats!(t, c, T); });
        }),
        case("nofib/lanes-of-vectors", "PAT-30 PAT-32 PAT-34 TYP-17", |t| {
            let mut c = Choices::seeded(31);
            each!([i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64] T { lanes!(t, c, T, 2 3 4); });
        }),
    ]
}
