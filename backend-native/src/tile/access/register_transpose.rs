//! Transposition of 8 by 8 squares of 4-byte values by shuffles. Compilers would make scattered loads and stores of
//! element-wise copies.

use crate::tile::versions::{Version, version};

/// Rows and lanes of a square.
pub(crate) const SQUARE: usize = 8;

/// Whether squares of a type are transposed here, on this processor.
pub(crate) fn is_supported<T>() -> bool {
    cfg!(target_arch = "x86_64") && size_of::<T>() == 4 && version() != Version::Baseline
}

/// A square, given line by line, transposed.
///
/// # Safety
///
/// [`is_supported`] holds for the type.
#[inline(always)]
pub(crate) unsafe fn transposed<T: Copy>(lines: [&[T; SQUARE]; SQUARE]) -> [[T; SQUARE]; SQUARE] {
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

/// Interleaves neighbouring lines, then pairs of them, then exchanges halves.
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
