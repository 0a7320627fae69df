//! Chains: operations applied one after the other to a *block* of lanes that stays in registers.
//!
//! A step takes the accumulator, which is a few vectors, and operands in memory; its result is the accumulator of the
//! next step. So an operation loads one operand from L1, where a loop of its own would load two and store one. Lanes
//! have one width, 32 or 64 bits, whatever their types; each step is rounded on its own, as separate loops would.

#![allow(clippy::needless_range_loop, reason = "Arrays of lanes, side by side: what vector operations are made of")]

use super::chain_ops::{NO_OPERAND, Step, StepOp};
use super::int::Int;
use super::prims::{maximum, minimum};
use super::versions::{Version, version};
use std::ops::Range;

/// The greatest number of lanes in a block.
pub const MAX_BLOCK_LANES: usize = 128;

/// Bytes of a block: enough vectors that the first result is ready before the last one is started.
#[inline]
pub fn block_bytes() -> usize {
    match version() {
        Version::Avx512 => 8 * 64,
        Version::Avx2 | Version::Baseline => 256,
    }
}

/// Where an operand is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its first block.
    pub at: *mut u8,
    /// Bytes from one block to the next.
    pub stride: usize,
}

/// Lanes that are handled as an array: compilers vectorise what is done to all of them.
const GROUP_LANES: usize = 16;

/// Group `i` of the accumulator, which is `N` vectors.
#[inline(always)]
fn group<V: Copy, T: Copy, const N: usize>(acc: &[V; N], i: usize) -> [T; GROUP_LANES] {
    assert!((i + 1) * size_of::<[T; GROUP_LANES]>() <= size_of::<[V; N]>());
    // SAFETY: it lies inside (asserted), and all bits of numbers and vectors are valid.
    unsafe { std::ptr::from_ref(acc).cast::<[T; GROUP_LANES]>().add(i).read() }
}

#[inline(always)]
fn set_group<V: Copy, T: Copy, const N: usize>(acc: &mut [V; N], i: usize, group: [T; GROUP_LANES]) {
    assert!((i + 1) * size_of::<[T; GROUP_LANES]>() <= size_of::<[V; N]>());
    // SAFETY: as for `group`.
    unsafe { std::ptr::from_mut(acc).cast::<[T; GROUP_LANES]>().add(i).write(group) }
}

/// A body for each of up to 8 groups: compilers vectorise loops that are unrolled late along the wrong axis.
macro_rules! unrolled {
    ($i:ident in $n:expr => $block:block) => { unrolled!($i in $n => $block 0 1 2 3 4 5 6 7) };
    ($i:ident in $n:expr => $block:block $($k:literal)*) => {
        const { assert!($n <= 8) }
        $(if $k < const { $n } {
            let $i = $k;
            $block
        })*
    };
}

/// The number of groups of the accumulator.
const fn groups<V, T, const N: usize>() -> usize {
    size_of::<[V; N]>() / size_of::<[T; GROUP_LANES]>()
}

/// A group of an operand. A uniform one (`ONE`) is read once.
///
/// # Safety
///
/// It can be read.
#[inline(always)]
unsafe fn read<T: Copy, const ONE: bool>(from: *const u8, i: usize) -> [T; GROUP_LANES] {
    // SAFETY: by the contract.
    unsafe {
        if ONE {
            [from.cast::<T>().read_unaligned(); GROUP_LANES]
        } else {
            from.cast::<[T; GROUP_LANES]>().add(i).read_unaligned()
        }
    }
}

/// `acc = f(acc)`
#[inline(always)]
fn map<V: Copy, A: Copy, R: Copy + Default, const N: usize>(acc: &mut [V; N], f: impl Fn(A) -> R) {
    unrolled!(i in groups::<V, A, N>() => {
        let x = group(acc, i);
        let mut r = [R::default(); GROUP_LANES];
        for k in 0..GROUP_LANES {
            r[k] = f(x[k]);
        }
        set_group(acc, i, r);
    });
}

/// `acc = f(acc, a)`
///
/// # Safety
///
/// `a` can be read for a block.
#[inline(always)]
unsafe fn zip<V: Copy, T: Copy, const N: usize, const ONE: bool>(
    acc: &mut [V; N],
    a: *const u8,
    f: impl Fn(T, T) -> T,
) {
    unrolled!(i in groups::<V, T, N>() => {
        // SAFETY: by the contract.
        let (x, y): ([T; GROUP_LANES], [T; GROUP_LANES]) = (group(acc, i), unsafe { read::<T, ONE>(a, i) });
        let mut r = x;
        for k in 0..GROUP_LANES {
            r[k] = f(x[k], y[k]);
        }
        set_group(acc, i, r);
    });
}

/// `acc = f(acc, a, b)`, where `b` may be flags.
///
/// # Safety
///
/// `a` and `b` can be read for a block.
#[inline(always)]
unsafe fn zip3<V: Copy, T: Copy, B: Copy, const N: usize, const A_ONE: bool, const B_ONE: bool>(
    acc: &mut [V; N],
    a: *const u8,
    b: *const u8,
    f: impl Fn(T, T, B) -> T,
) {
    unrolled!(i in groups::<V, T, N>() => {
        // SAFETY: by the contract.
        let (x, y, z): ([T; GROUP_LANES], [T; GROUP_LANES], [B; GROUP_LANES]) = (group(acc, i), unsafe { read::<T, A_ONE>(a, i) }, unsafe { read::<B, B_ONE>(b, i) });
        let mut r = x;
        for k in 0..GROUP_LANES {
            r[k] = f(x[k], y[k], z[k]);
        }
        set_group(acc, i, r);
    });
}

/// `out = f(acc, a)`, flags.
///
/// # Safety
///
/// `a` can be read for a piece, and the flags of one be written to `out`.
#[inline(always)]
unsafe fn compare<V: Copy, T: Copy, const N: usize, const ONE: bool>(
    acc: &[V; N],
    a: *const u8,
    out: *mut u8,
    f: impl Fn(T, T) -> bool,
) {
    unrolled!(i in groups::<V, T, N>() => {
        // SAFETY: by the contract.
        let (x, y): ([T; GROUP_LANES], [T; GROUP_LANES]) = (group(acc, i), unsafe { read::<T, ONE>(a, i) });
        let mut r = [0u8; GROUP_LANES];
        for k in 0..GROUP_LANES {
            r[k] = u8::from(f(x[k], y[k]));
        }
        // SAFETY: by the contract.
        unsafe { out.cast::<[u8; GROUP_LANES]>().add(i).write(r) };
    });
}

/// `out = f(a, b)`, as many flags as an accumulator of `T` has lanes.
///
/// # Safety
///
/// The flags can be read and written.
#[inline(always)]
unsafe fn flags<V: Copy, T: Copy, const N: usize, const A_ONE: bool, const B_ONE: bool>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    f: impl Fn(u8, u8) -> u8,
) {
    unrolled!(i in groups::<V, T, N>() => {
        // SAFETY: by the contract.
        let (x, y): ([u8; GROUP_LANES], [u8; GROUP_LANES]) = unsafe { (read::<u8, A_ONE>(a, i), read::<u8, B_ONE>(b, i)) };
        let mut r = x;
        for k in 0..GROUP_LANES {
            r[k] = f(x[k], y[k]);
        }
        // SAFETY: by the contract.
        unsafe { out.cast::<[u8; GROUP_LANES]>().add(i).write(r) };
    });
}

macro_rules! steps {
    ($name:ident, $F:ty, $S:ty, $U:ty) => {
        /// Runs steps on whole blocks, which are `N` vectors.
        ///
        /// # Safety
        ///
        /// For these blocks each place can be read, and those stored to can be written; operand numbers of steps are
        /// valid.
        #[inline(always)]
        unsafe fn $name<V: Copy, const N: usize>(zero: V, steps: &[Step], places: &[Place], pieces: Range<usize>) {
            for piece in pieces {
                let mut acc = [zero; N];
                let at = |k: u16| {
                    let place = places[usize::from(k)];
                    place.at.wrapping_add(place.stride * piece)
                };
                for s in steps {
                    // SAFETY: by the contract.
                    unsafe {
                        macro_rules! zip {
                            ($t:ty, $f:expr) => {
                                match s.one {
                                    [true, _] => zip::<V, $t, N, true>(&mut acc, at(s.a), $f),
                                    [false, _] => zip::<V, $t, N, false>(&mut acc, at(s.a), $f),
                                }
                            };
                        }
                        macro_rules! map {
                            ($a:ty, $r:ty, $f:expr) => {
                                map::<V, $a, $r, N>(&mut acc, $f)
                            };
                        }
                        macro_rules! compare {
                            ($t:ty, $f:expr) => {{
                                match s.one {
                                    [true, _] => compare::<V, $t, N, true>(&acc, at(s.a), at(s.out), $f),
                                    [false, _] => compare::<V, $t, N, false>(&acc, at(s.a), at(s.out), $f),
                                }
                                continue;
                            }};
                        }
                        macro_rules! flags {
                            ($f:expr) => {{
                                match s.one {
                                    [false, false] => flags::<V, $F, N, false, false>(at(s.a), at(s.b), at(s.out), $f),
                                    [false, true] => flags::<V, $F, N, false, true>(at(s.a), at(s.b), at(s.out), $f),
                                    [true, false] => flags::<V, $F, N, true, false>(at(s.a), at(s.b), at(s.out), $f),
                                    [true, true] => flags::<V, $F, N, true, true>(at(s.a), at(s.b), at(s.out), $f),
                                }
                                continue;
                            }};
                        }
                        macro_rules! product {
                            ($f:expr) => {
                                match s.one {
                                    [false, false] => {
                                        zip3::<V, $F, $F, N, false, false>(&mut acc, at(s.a), at(s.b), $f)
                                    }
                                    [false, true] => zip3::<V, $F, $F, N, false, true>(&mut acc, at(s.a), at(s.b), $f),
                                    [true, false] => zip3::<V, $F, $F, N, true, false>(&mut acc, at(s.a), at(s.b), $f),
                                    [true, true] => zip3::<V, $F, $F, N, true, true>(&mut acc, at(s.a), at(s.b), $f),
                                }
                            };
                        }
                        macro_rules! select {
                            ($f:expr) => {
                                match s.one {
                                    [false, false] => {
                                        zip3::<V, $U, u8, N, false, false>(&mut acc, at(s.a), at(s.b), $f)
                                    }
                                    [false, true] => zip3::<V, $U, u8, N, false, true>(&mut acc, at(s.a), at(s.b), $f),
                                    [true, false] => zip3::<V, $U, u8, N, true, false>(&mut acc, at(s.a), at(s.b), $f),
                                    [true, true] => zip3::<V, $U, u8, N, true, true>(&mut acc, at(s.a), at(s.b), $f),
                                }
                            };
                        }
                        match s.does {
                            // All lanes of the operand, whatever the accumulator was.
                            StepOp::Load if s.one[0] => zip::<V, $U, N, true>(&mut acc, at(s.a), |_, y| y),
                            StepOp::Load => {
                                let from = at(s.a).cast::<V>();
                                for (i, v) in acc.iter_mut().enumerate() {
                                    *v = from.add(i).read_unaligned();
                                }
                            }
                            StepOp::Keep => {}
                            StepOp::Add => zip!($F, |x, y| x + y),
                            StepOp::Sub => zip!($F, |x, y| x - y),
                            StepOp::SubFrom => zip!($F, |x, y| y - x),
                            StepOp::Mul => zip!($F, |x, y| x * y),
                            StepOp::Div => zip!($F, |x, y| x / y),
                            StepOp::DivFrom => zip!($F, |x, y| y / x),
                            StepOp::Min => zip!($F, minimum),
                            StepOp::MinFrom => zip!($F, |x, y| minimum(y, x)),
                            StepOp::Max => zip!($F, maximum),
                            StepOp::MaxFrom => zip!($F, |x, y| maximum(y, x)),
                            StepOp::Double => map!($F, $F, |x| x + x),
                            StepOp::Square => map!($F, $F, |x| x * x),
                            StepOp::Neg => map!($F, $F, |x| -x),
                            StepOp::Abs => map!($F, $F, <$F>::abs),
                            StepOp::Sqrt => map!($F, $F, <$F>::sqrt),
                            StepOp::Floor => map!($F, $F, <$F>::floor),
                            StepOp::Ceil => map!($F, $F, <$F>::ceil),
                            StepOp::Round => map!($F, $F, <$F>::round_ties_even),
                            StepOp::Trunc => map!($F, $F, <$F>::trunc),
                            StepOp::Fma => product!(|x, y, z| x.mul_add(y, z)),
                            StepOp::FmaOnto => product!(|x, y, z| y.mul_add(z, x)),
                            StepOp::AddProduct => product!(|x, y, z| x + y * z),
                            StepOp::SubProduct => product!(|x, y, z| x - y * z),
                            StepOp::SubFromProduct => product!(|x, y, z| y * z - x),
                            StepOp::Eq => compare!($F, |x, y| x == y),
                            StepOp::Ne => compare!($F, |x, y| x != y),
                            StepOp::Lt => compare!($F, |x, y| x < y),
                            StepOp::Le => compare!($F, |x, y| x <= y),
                            StepOp::Gt => compare!($F, |x, y| x > y),
                            StepOp::Ge => compare!($F, |x, y| x >= y),
                            StepOp::AddInt => zip!($U, <$U as Int>::add),
                            StepOp::SubInt => zip!($U, <$U as Int>::sub),
                            StepOp::SubFromInt => zip!($U, |x, y| Int::sub(y, x)),
                            StepOp::MulInt => zip!($U, <$U as Int>::mul),
                            StepOp::NegInt => map!($U, $U, <$U as Int>::neg),
                            StepOp::And => zip!($U, <$U as Int>::and),
                            StepOp::Or => zip!($U, <$U as Int>::or),
                            StepOp::Xor => zip!($U, <$U as Int>::xor),
                            StepOp::Not => map!($U, $U, <$U as Int>::not),
                            StepOp::Shl => zip!($U, <$U as Int>::shl),
                            StepOp::ShrSigned => zip!($S, <$S as Int>::shr),
                            StepOp::ShrUnsigned => zip!($U, <$U as Int>::shr),
                            StepOp::MinSigned => zip!($S, <$S as Ord>::min),
                            StepOp::MaxSigned => zip!($S, <$S as Ord>::max),
                            StepOp::MinUnsigned => zip!($U, <$U as Ord>::min),
                            StepOp::MaxUnsigned => zip!($U, <$U as Ord>::max),
                            StepOp::AbsSigned => map!($S, $S, <$S as Int>::abs),
                            StepOp::EqInt => compare!($U, |x, y| x == y),
                            StepOp::NeInt => compare!($U, |x, y| x != y),
                            StepOp::LtSigned => compare!($S, |x, y| x < y),
                            StepOp::LeSigned => compare!($S, |x, y| x <= y),
                            StepOp::GtSigned => compare!($S, |x, y| x > y),
                            StepOp::GeSigned => compare!($S, |x, y| x >= y),
                            StepOp::LtUnsigned => compare!($U, |x, y| x < y),
                            StepOp::LeUnsigned => compare!($U, |x, y| x <= y),
                            StepOp::GtUnsigned => compare!($U, |x, y| x > y),
                            StepOp::GeUnsigned => compare!($U, |x, y| x >= y),
                            StepOp::OfSigned => map!($S, $F, |x| x as $F),
                            StepOp::OfUnsigned => map!($U, $F, |x| x as $F),
                            StepOp::Select => select!(|x, y, c| if c != 0 { x } else { y }),
                            StepOp::SelectNot => select!(|x, y, c| if c != 0 { y } else { x }),
                            StepOp::BothFlags => flags!(|x, y| x & y),
                            StepOp::EitherFlag => flags!(|x, y| x | y),
                            StepOp::OneFlag => flags!(|x, y| x ^ y),
                            StepOp::NoFlag => flags!(|x, _| x ^ 1),
                        }
                        if s.out != NO_OPERAND {
                            let to = at(s.out).cast::<V>();
                            for (i, v) in acc.iter().enumerate() {
                                to.add(i).write_unaligned(*v);
                            }
                        }
                    }
                }
            }
        }
    };
}
steps!(steps_32, f32, i32, u32);
steps!(steps_64, f64, i64, u64);

/// The vectors that every processor of the target has.
mod baseline {
    #[cfg(target_arch = "aarch64")]
    pub(super) type Vector = std::arch::aarch64::uint64x2_t;
    #[cfg(target_arch = "x86_64")]
    pub(super) type Vector = std::arch::x86_64::__m128i;
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    pub(super) type Vector = [u64; 2];
}

/// A zero vector of any type.
#[inline(always)]
fn zero<V: Copy>() -> V {
    // SAFETY: vectors are arrays of integers.
    unsafe { std::mem::zeroed() }
}

macro_rules! run {
    ($width:ident, $steps:ident, $places:ident, $pieces:ident, $V:ty, $N:literal) => {
        match $width {
            4 => steps_32::<$V, $N>(zero(), $steps, $places, $pieces),
            _ => steps_64::<$V, $N>(zero(), $steps, $places, $pieces),
        }
    };
}

/// Runs steps on a range of whole blocks, with lanes of `width` bytes.
///
/// # Safety
///
/// For these blocks each place can be read, and those stored to can be written; operand numbers of steps are valid.
pub unsafe fn run(width: usize, steps: &[Step], places: &[Place], pieces: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m256i, __m512i};
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(width: usize, steps: &[Step], places: &[Place], pieces: Range<usize>) {
            // SAFETY: the caller's contract.
            unsafe { run!(width, steps, places, pieces, __m256i, 8) }
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn avx512(width: usize, steps: &[Step], places: &[Place], pieces: Range<usize>) {
            // SAFETY: the caller's contract.
            unsafe { run!(width, steps, places, pieces, __m512i, 8) }
        }
        match version() {
            // SAFETY: the processor has what this version is compiled for; the rest is the caller's contract.
            Version::Avx512 => return unsafe { avx512(width, steps, places, pieces) },
            // SAFETY: as above.
            Version::Avx2 => return unsafe { avx2(width, steps, places, pieces) },
            Version::Baseline => {}
        }
    }
    // SAFETY: the caller's contract.
    unsafe { run!(width, steps, places, pieces, baseline::Vector, 16) }
}
