//! Counter-based random numbers: Philox4x32-10.
//!
//! Salmon, Moraes, Dror, Shaw: *Parallel random numbers: as easy as 1, 2, 3*, SC '11. Integer operations alone, so that
//! every executor gives the same bits, and every element is made on its own.

use crate::api::{Acc, Array, Elt, Exp, Integral, IntoExp, IntoIx, Shape, bitcast, enum_from, pi};
use crate::builder::compose;

const ROUNDS: usize = 10;
const MULTIPLIERS: [i64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Four random words of a block, from a key and the block's number.
///
/// ```
/// use acc_core::prelude::*;
/// fn coin(words: Words) -> Exp<bool> {
///     words.0.odd()
/// }
/// let tosses = generate(1000, |i: Exp<i64>| coin(philox((1, 2), (i.to::<u32>(), 0, 0, 0))));
/// let heads = Interpreter::new().run(tosses)?.iter().filter(|heads| *heads).count();
/// assert!((400..600).contains(&heads));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub type Words = (Exp<u32>, Exp<u32>, Exp<u32>, Exp<u32>);

/// The block of random words with this number, of the sequence that the key selects: Philox4x32-10.
///
/// ```
/// use acc_core::prelude::*;
/// let block = unit(lift(philox((0, 0), (0, 0, 0, 0))));
/// let words: (u32, u32, u32, u32) = Interpreter::new().run(block)?.value();
/// assert_eq!(words, (0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn philox(key: impl IntoExp<(u32, u32)>, counter: impl IntoExp<(u32, u32, u32, u32)>) -> Words {
    let (mut k0, mut k1) = key.into_exp().unlift();
    let (mut x0, mut x1, mut x2, mut x3) = counter.into_exp().unlift();
    for _ in 0..ROUNDS {
        let (high0, low0) = product(x0, MULTIPLIERS[0]);
        let (high1, low1) = product(x2, MULTIPLIERS[1]);
        (x0, x1, x2, x3) = (high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0);
        (k0, k1) = (k0 + KEY_STEPS[0], k1 + KEY_STEPS[1]);
    }
    (x0, x1, x2, x3)
}

/// The upper and the lower word of a product.
#[track_caller]
fn product(x: Exp<u32>, by: i64) -> (Exp<u32>, Exp<u32>) {
    // Bits 32 to 63 are the same of the signed product; it is the faster one on some executors.
    let product = x.to::<i64>() * by;
    ((product >> 32).to(), product.to())
}

#[track_caller]
fn halves<T: Integral>(x: Exp<T>) -> (Exp<u32>, Exp<u32>) {
    (x.to(), x.shift_right(32).to())
}

/// An array of values made of one block each: element `i` in row-major order of the block with the number `i`.
#[track_caller]
fn from_blocks<Sh: Shape, E: Elt, R: IntoExp<E>>(
    seed: impl IntoExp<u64>,
    shape: impl IntoIx<Sh>,
    f: impl FnOnce(Words) -> R,
) -> Acc<Array<Sh, E>> {
    compose(&"random", || {
        let key = halves(seed.into_exp());
        enum_from(shape, 0i64).map(|i| {
            let (low, high) = halves(i);
            f(philox(key, (low, high, 0, 0)))
        })
    })
}

/// Random `u32`, uniform. The same seed gives the same numbers, on every executor; element `i` in row-major order does not
/// depend on the shape.
///
/// ```
/// use acc_core::prelude::*;
/// let (a, b) = (Interpreter::new().run(random_u32(42u64, 4))?, Interpreter::new().run(random_u32(42u64, 8))?);
/// assert_eq!(a.to_vec(), b.to_vec()[..4]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn random_u32<Sh: Shape>(seed: impl IntoExp<u64>, shape: impl IntoIx<Sh>) -> Acc<Array<Sh, u32>> {
    from_blocks(seed, shape, |(a, _, _, _)| a)
}

/// Random `u64`, uniform; see [`random_u32`].
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Interpreter::new().run(random_u64(42u64, 1000))?;
/// assert!(xs.iter().any(|x| x > u64::MAX / 2) && xs.iter().any(|x| x < u64::MAX / 2));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn random_u64<Sh: Shape>(seed: impl IntoExp<u64>, shape: impl IntoIx<Sh>) -> Acc<Array<Sh, u64>> {
    from_blocks(seed, shape, |(a, b, _, _)| bitcast::<i64, u64>(wide(a, b)))
}

/// Random `f32`, uniform from 0 up to but without 1, in steps of 2^-24; see [`random_u32`].
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Interpreter::new().run(random_f32(42u64, 1000))?;
/// assert!(xs.to_vec().iter().all(|x| (0.0..1.0).contains(x)));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn random_f32<Sh: Shape>(seed: impl IntoExp<u64>, shape: impl IntoIx<Sh>) -> Acc<Array<Sh, f32>> {
    from_blocks(seed, shape, |(a, _, _, _)| (a >> 8).to::<f32>() * 2f32.powi(-24))
}

/// Random `f64`, uniform from 0 up to but without 1, in steps of 2^-53; see [`random_u32`].
///
/// ```
/// use acc_core::prelude::*;
/// let m = Interpreter::new().run(random_f64(42u64, (30, 30)))?;
/// assert_eq!(m.shape(), Dim([30, 30]));
/// let mean = m.iter().sum::<f64>() / 900.0;
/// assert!((mean - 0.5).abs() < 0.05);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn random_f64<Sh: Shape>(seed: impl IntoExp<u64>, shape: impl IntoIx<Sh>) -> Acc<Array<Sh, f64>> {
    from_blocks(seed, shape, |(a, b, _, _)| unit_interval(a, b))
}

/// Random `f64`, normally distributed with mean 0 and variance 1 (Box and Muller's method); see [`random_u32`]. Executors
/// may differ in the last places, as their logarithms and cosines do.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = random_normal(42u64, 10_000);
/// let (mean, variance) = Interpreter::new().run((xs.mean(), xs.map(|x| x * x).mean()))?;
/// assert!(mean.value().abs() < 0.05 && (variance.value() - 1.0).abs() < 0.05);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn random_normal<Sh: Shape>(seed: impl IntoExp<u64>, shape: impl IntoIx<Sh>) -> Acc<Array<Sh, f64>> {
    from_blocks(seed, shape, |(a, b, c, d)| {
        // Of a number above 0, up to 1.
        let radius = ((1.0 - unit_interval(a, b)).ln() * -2.0).sqrt();
        radius * (unit_interval(c, d) * (pi::<f64>() * 2.0)).cos()
    })
}

#[track_caller]
fn wide(low: Exp<u32>, high: Exp<u32>) -> Exp<i64> {
    low.to::<i64>() | (high.to::<i64>() << 32)
}

#[track_caller]
fn unit_interval(low: Exp<u32>, high: Exp<u32>) -> Exp<f64> {
    let upper_53 = (high.to::<i64>() << 21) | (low >> 11).to::<i64>();
    upper_53.to::<f64>() * 2f64.powi(-53)
}
