//! Lanes of single precision of either width, for kernels by hand that gain by more: sixteen where the machine has them,
//! else eight.
//!
//! A kernel is an `#[inline(always)]` function over [`Lanes`], which becomes code for a width in the function with that
//! width's features that calls it.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

/// A vector of floats. Only unsafe functions make one, so that where there is one the processor has its features.
pub trait Lanes: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    const LANES: usize;
    /// A 32-bit integer per lane.
    type Counts: Copy;

    /// # Safety
    ///
    /// The machine has the features of the width.
    unsafe fn all(x: f32) -> Self;
    /// # Safety
    ///
    /// The same, and all lanes can be read.
    unsafe fn load(from: *const f32) -> Self;
    /// # Safety
    ///
    /// All lanes can be written.
    unsafe fn store(self, to: *mut f32);
    fn max(self, y: Self) -> Self;
    /// The sum of the lanes.
    fn total(self) -> f32;
    /// `self * y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    /// The nearest whole number.
    fn round(self) -> Self;
    /// An estimate of `1 / sqrt(self)`, right to 11 bits at least.
    fn inverse_root(self) -> Self;
    /// `self * 2^n` for a whole number `n`, where that is a normal number.
    fn scale(self, n: Self) -> Self;
    /// A positive normal number as `m * 2^e`: `e`, and `m` from the square root of a half up to that of 2.
    fn split(self) -> (Self, Self);
    /// `y` where `sign` is negative.
    fn or_if_negative(self, y: Self, sign: Self) -> Self;
    /// Zeros.
    ///
    /// # Safety
    ///
    /// The machine has the features of the width.
    unsafe fn counts() -> Self::Counts;
    /// Counts the lanes that are at most `y`; whether there is one.
    fn count_at_most(self, y: Self, counts: &mut Self::Counts) -> bool;
    /// Where a lane is less than what was least, it is now, and `k` is its number.
    fn least(self, k: i32, least: &mut Self, number: &mut Self::Counts);
    /// # Safety
    ///
    /// All lanes can be written.
    unsafe fn store_counts(counts: Self::Counts, to: *mut i32);
}

/// The bits of the square root of a half.
const ROOT: i32 = std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32;

/// The operations that are one instruction at either width.
macro_rules! operators {
    ($t:ident: $($trait:ident $name:ident $with:ident),*) => { $(
        impl $trait for $t {
            type Output = $t;
            #[inline(always)]
            fn $name(self, y: $t) -> $t {
                // SAFETY: there are vectors of this width.
                $t(unsafe { $with(self.0, y.0) })
            }
        }
    )* };
}
macro_rules! methods {
    ($t:ident: $($name:ident($self:ident $(, $y:ident)*) $with:ident),*) => { $(
        #[inline(always)]
        fn $name($self $(, $y: $t)*) -> $t {
            // SAFETY: there are vectors of this width.
            $t(unsafe { $with($self.0 $(, $y.0)*) })
        }
    )* };
}
macro_rules! memory {
    ($t:ident: all $all:ident, load $load:ident, store $store:ident) => {
        #[inline(always)]
        unsafe fn all(x: f32) -> $t {
            // SAFETY: by the contract.
            $t(unsafe { $all(x) })
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> $t {
            // SAFETY: by the contract.
            $t(unsafe { $load(from) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: by the contract.
            unsafe { $store(to, self.0) }
        }
    };
}

/// Eight lanes; features `avx2` and `fma`.
#[derive(Clone, Copy)]
pub struct Eight(__m256);

operators!(Eight: Add add _mm256_add_ps, Sub sub _mm256_sub_ps, Mul mul _mm256_mul_ps, Div div _mm256_div_ps);

#[allow(clippy::undocumented_unsafe_blocks, reason = "there are vectors of this width, or the caller vouches for it")]
impl Lanes for Eight {
    const LANES: usize = 8;
    type Counts = __m256i;

    memory!(Eight: all _mm256_set1_ps, load _mm256_loadu_ps, store _mm256_storeu_ps);
    methods!(
        Eight: max(self, y) _mm256_max_ps, mul_add(self, y, z) _mm256_fmadd_ps, sqrt(self) _mm256_sqrt_ps,
        inverse_root(self) _mm256_rsqrt_ps
    );

    #[inline(always)]
    fn total(self) -> f32 {
        unsafe { crate::vectors::across(self.0) }
    }
    #[inline(always)]
    fn abs(self) -> Eight {
        Eight(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn round(self) -> Eight {
        Eight(unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn scale(self, n: Eight) -> Eight {
        unsafe {
            let power = _mm256_slli_epi32::<23>(_mm256_cvttps_epi32(n.0));
            Eight(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(self.0), power)))
        }
    }
    #[inline(always)]
    fn split(self) -> (Eight, Eight) {
        unsafe {
            let bits = _mm256_castps_si256(self.0);
            let e = _mm256_srai_epi32::<23>(_mm256_sub_epi32(bits, _mm256_set1_epi32(ROOT)));
            let m = _mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(e));
            (Eight(_mm256_cvtepi32_ps(e)), Eight(_mm256_castsi256_ps(m)))
        }
    }
    #[inline(always)]
    fn or_if_negative(self, y: Eight, sign: Eight) -> Eight {
        Eight(unsafe { _mm256_blendv_ps(self.0, y.0, sign.0) })
    }
    #[inline(always)]
    unsafe fn counts() -> __m256i {
        unsafe { _mm256_setzero_si256() }
    }
    #[inline(always)]
    fn count_at_most(self, y: Eight, counts: &mut __m256i) -> bool {
        unsafe {
            let mask = _mm256_cmp_ps::<_CMP_LE_OQ>(self.0, y.0);
            *counts = _mm256_sub_epi32(*counts, _mm256_castps_si256(mask));
            _mm256_movemask_ps(mask) != 0
        }
    }
    #[inline(always)]
    fn least(self, k: i32, least: &mut Eight, number: &mut __m256i) {
        unsafe {
            let less = _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, least.0);
            least.0 = _mm256_min_ps(self.0, least.0);
            *number = _mm256_blendv_epi8(*number, _mm256_set1_epi32(k), _mm256_castps_si256(less));
        }
    }
    #[inline(always)]
    unsafe fn store_counts(counts: __m256i, to: *mut i32) {
        unsafe { _mm256_storeu_si256(to.cast(), counts) }
    }
}

/// Sixteen lanes; feature `avx512f`.
#[derive(Clone, Copy)]
pub struct Sixteen(__m512);

operators!(Sixteen: Add add _mm512_add_ps, Sub sub _mm512_sub_ps, Mul mul _mm512_mul_ps, Div div _mm512_div_ps);

#[allow(clippy::undocumented_unsafe_blocks, reason = "as above")]
impl Lanes for Sixteen {
    const LANES: usize = 16;
    type Counts = __m512i;

    memory!(Sixteen: all _mm512_set1_ps, load _mm512_loadu_ps, store _mm512_storeu_ps);
    methods!(
        Sixteen: max(self, y) _mm512_max_ps, mul_add(self, y, z) _mm512_fmadd_ps, sqrt(self) _mm512_sqrt_ps,
        inverse_root(self) _mm512_rsqrt14_ps, abs(self) _mm512_abs_ps
    );

    #[inline(always)]
    fn total(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    fn round(self) -> Sixteen {
        Sixteen(unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn scale(self, n: Sixteen) -> Sixteen {
        Sixteen(unsafe { _mm512_scalef_ps(self.0, n.0) })
    }
    #[inline(always)]
    fn split(self) -> (Sixteen, Sixteen) {
        unsafe {
            let bits = _mm512_castps_si512(self.0);
            let e = _mm512_srai_epi32::<23>(_mm512_sub_epi32(bits, _mm512_set1_epi32(ROOT)));
            let m = _mm512_sub_epi32(bits, _mm512_slli_epi32::<23>(e));
            (Sixteen(_mm512_cvtepi32_ps(e)), Sixteen(_mm512_castsi512_ps(m)))
        }
    }
    #[inline(always)]
    fn or_if_negative(self, y: Sixteen, sign: Sixteen) -> Sixteen {
        unsafe {
            let negative = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(sign.0, _mm512_setzero_ps());
            Sixteen(_mm512_mask_blend_ps(negative, self.0, y.0))
        }
    }
    #[inline(always)]
    unsafe fn counts() -> __m512i {
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    fn count_at_most(self, y: Sixteen, counts: &mut __m512i) -> bool {
        unsafe {
            let mask = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, y.0);
            *counts = _mm512_mask_add_epi32(*counts, mask, *counts, _mm512_set1_epi32(1));
            mask != 0
        }
    }
    #[inline(always)]
    fn least(self, k: i32, least: &mut Sixteen, number: &mut __m512i) {
        unsafe {
            let less = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, least.0);
            least.0 = _mm512_min_ps(self.0, least.0);
            *number = _mm512_mask_mov_epi32(*number, less, _mm512_set1_epi32(k));
        }
    }
    #[inline(always)]
    unsafe fn store_counts(counts: __m512i, to: *mut i32) {
        unsafe { _mm512_storeu_si512(to.cast(), counts) }
    }
}

/// A function that calls another one over the widest [`Lanes`] that the machine has.
macro_rules! on_widest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($x:ident: $t:ty),*) = $kernel:ident;) => {
        $(#[$doc])*
        $vis fn $name($($x: $t),*) {
            #[target_feature(enable = "avx2,fma")]
            fn eight($($x: $t),*) {
                // SAFETY: here are the features.
                unsafe { $kernel::<crate::lanes::Eight>($($x),*) }
            }
            #[target_feature(enable = "avx512f,avx2,fma")]
            fn sixteen($($x: $t),*) {
                // SAFETY: here are the features.
                unsafe { $kernel::<crate::lanes::Sixteen>($($x),*) }
            }
            // SAFETY: the benchmark runs on machines with the former alone, and this one has the latter where it is called.
            unsafe { if std::arch::is_x86_feature_detected!("avx512f") { sixteen($($x),*) } else { eight($($x),*) } }
        }
    };
}
pub(crate) use on_widest;
