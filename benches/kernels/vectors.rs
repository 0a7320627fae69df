//! What kernels written by hand have in common: eight lanes of single precision.

use std::arch::x86_64::*;

/// All lanes the same.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn all(x: f32) -> __m256 {
    _mm256_set1_ps(x)
}

/// The sum of the lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn across(x: __m256) -> f32 {
    let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
    let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
}

/// The sum of a slice.
#[target_feature(enable = "avx2,fma")]
pub fn sum(x: &[f32]) -> f32 {
    let mut sums = [all(0.0); 8];
    let (chunks, rest) = x.as_chunks::<64>();
    for chunk in chunks {
        for k in 0..8 {
            // SAFETY: the chunk has 64 elements.
            sums[k] = _mm256_add_ps(sums[k], unsafe { _mm256_loadu_ps(chunk.as_ptr().add(8 * k)) });
        }
    }
    let mut total = all(0.0);
    for s in sums {
        total = _mm256_add_ps(total, s);
    }
    across(total) + rest.iter().sum::<f32>()
}

/// A non-temporal store, or a plain one.
///
/// # Safety
///
/// Eight floats can be written; a non-temporal store is to a multiple of 32 bytes.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub unsafe fn store<const STREAM: bool>(to: *mut f32, x: __m256) {
    // SAFETY: by the contract.
    unsafe { if STREAM { _mm256_stream_ps(to, x) } else { _mm256_storeu_ps(to, x) } }
}

/// Copies four-byte elements by non-temporal stores.
#[target_feature(enable = "avx2,fma")]
pub fn streamed<T: Copy>(out: &mut [T], from: &[T]) {
    assert!(size_of::<T>() == 4 && out.len() == from.len());
    let skip = out.as_ptr().align_offset(32).min(out.len());
    out[..skip].copy_from_slice(&from[..skip]);
    let (out, rest) = out[skip..].as_chunks_mut::<8>();
    let (from, last) = from[skip..].as_chunks::<8>();
    for (o, a) in out.iter_mut().zip(from) {
        // SAFETY: both have 32 bytes, and `o` is aligned.
        unsafe { _mm256_stream_si256(o.as_mut_ptr().cast(), _mm256_loadu_si256(a.as_ptr().cast())) };
    }
    rest.copy_from_slice(last);
    _mm_sfence();
}

/// Transposes a block of 8 x 8 in registers.
///
/// # Safety
///
/// Eight rows of eight elements, `apart`, can be written, and such rows, `n` apart, read.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub unsafe fn transpose_eight(out: *mut f32, apart: usize, a: *const f32, n: usize) {
    let (mut r, mut pairs) = ([all(0.0); 8], [all(0.0); 8]);
    for k in 0..8 {
        // SAFETY: by the contract.
        r[k] = unsafe { _mm256_loadu_ps(a.add(k * n)) };
    }
    for k in (0..8).step_by(2) {
        pairs[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
        pairs[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
    }
    let mut quads = [all(0.0); 8];
    for k in [0, 4] {
        quads[k] = _mm256_shuffle_ps::<0x44>(pairs[k], pairs[k + 2]);
        quads[k + 1] = _mm256_shuffle_ps::<0xee>(pairs[k], pairs[k + 2]);
        quads[k + 2] = _mm256_shuffle_ps::<0x44>(pairs[k + 1], pairs[k + 3]);
        quads[k + 3] = _mm256_shuffle_ps::<0xee>(pairs[k + 1], pairs[k + 3]);
    }
    for k in 0..4 {
        // SAFETY: by the contract.
        unsafe {
            _mm256_storeu_ps(out.add(k * apart), _mm256_permute2f128_ps::<0x20>(quads[k], quads[k + 4]));
            _mm256_storeu_ps(out.add((k + 4) * apart), _mm256_permute2f128_ps::<0x31>(quads[k], quads[k + 4]));
        }
    }
}

/// Rows of `d` elements as columns, `apart` in the output.
#[target_feature(enable = "avx2,fma")]
pub fn columns(out: &mut [f32], apart: usize, rows: &[f32], d: usize) {
    let count = rows.len() / d;
    assert!(count <= apart && out.len() >= (d - 1) * apart + count);
    let (whole, blocks) = (d / 8 * 8, count / 8 * 8);
    for i in (0..blocks).step_by(8) {
        for j in (0..whole).step_by(8) {
            // SAFETY: there are eight rows from `i` on and eight elements from `j` on, and room for them.
            unsafe { transpose_eight(out.as_mut_ptr().add(j * apart + i), apart, rows.as_ptr().add(i * d + j), d) };
        }
        for j in whole..d {
            for i in i..i + 8 {
                out[j * apart + i] = rows[i * d + j];
            }
        }
    }
    for i in blocks..count {
        for j in 0..d {
            out[j * apart + i] = rows[i * d + j];
        }
    }
}
