//! Squares of values of four bytes, turned by shuffles. Compilers make of copies one by one reads and writes of scattered
//! values.

use super::versions::{Version, version};

/// Rows and lanes of a square.
const SQUARE: usize = 8;

/// Whether squares of values of a type are turned here, on this processor.
pub(super) fn known<T>() -> bool {
    cfg!(target_arch = "x86_64") && size_of::<T>() == 4 && version() != Version::Baseline
}

/// A square, given line by line, turned.
///
/// # Safety
///
/// It is [`known`].
#[inline(always)]
pub(super) unsafe fn turned<T: Copy>(lines: [&[T; SQUARE]; SQUARE]) -> [[T; SQUARE]; SQUARE] {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: values of four bytes, eight of which are a vector, whatever their bits are; the processor has AVX.
    unsafe {
        use std::arch::x86_64::_mm256_loadu_ps;
        let vectors = by_shuffles(lines.map(|line| _mm256_loadu_ps(line.as_ptr().cast())));
        std::mem::transmute_copy(&vectors)
    }
    #[cfg(not(target_arch = "x86_64"))]
    lines.map(|line| *line)
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256;

/// Neighbouring lines lane by lane, then pairs of pairs, then halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
fn by_shuffles(x: [__m256; SQUARE]) -> [__m256; SQUARE] {
    use std::arch::x86_64::{_mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps};
    let pair = |k: usize| [_mm256_unpacklo_ps(x[k], x[k + 1]), _mm256_unpackhi_ps(x[k], x[k + 1])];
    let first = |a, b| _mm256_shuffle_ps::<0b01_00_01_00>(a, b);
    let second = |a, b| _mm256_shuffle_ps::<0b11_10_11_10>(a, b);
    let four = |[a, b]: [__m256; 2], [c, d]: [__m256; 2]| [first(a, c), second(a, c), first(b, d), second(b, d)];
    let (above, below) = (four(pair(0), pair(2)), four(pair(4), pair(6)));
    let left = |k: usize| _mm256_permute2f128_ps::<0x20>(above[k], below[k]);
    let right = |k: usize| _mm256_permute2f128_ps::<0x31>(above[k], below[k]);
    [left(0), left(1), left(2), left(3), right(0), right(1), right(2), right(3)]
}
