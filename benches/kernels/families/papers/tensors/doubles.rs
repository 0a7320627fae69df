//! Vectors of double precision of either width, and the register tile of sums of products that tensor kernels are made of.

use std::arch::x86_64::*;

/// A vector of doubles. Only unsafe functions make one, so that where there is one the processor has its features.
pub trait Doubles: Copy {
    const LANES: usize;

    /// # Safety
    ///
    /// The machine has the features of the width.
    unsafe fn all(x: f64) -> Self;
    /// # Safety
    ///
    /// The same, and all lanes can be read.
    unsafe fn load(from: *const f64) -> Self;
    /// # Safety
    ///
    /// All lanes can be written.
    unsafe fn store(self, to: *mut f64);
    /// By a non-temporal store.
    ///
    /// # Safety
    ///
    /// The same, at a multiple of the vector's size.
    unsafe fn stream(self, to: *mut f64);
    /// `self * y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
    fn times(self, y: Self) -> Self;
    fn plus(self, y: Self) -> Self;
}

macro_rules! doubles {
    (
        $(#[$doc:meta])* $name:ident($t:ident), $lanes:literal: $all:ident, $load:ident, $store:ident, $stream:ident, $fma:ident,
        $mul:ident, $add:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name($t);

        #[allow(clippy::undocumented_unsafe_blocks, reason = "there are vectors of this width, or the caller vouches for it")]
        impl Doubles for $name {
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn all(x: f64) -> $name {
                $name(unsafe { $all(x) })
            }
            #[inline(always)]
            unsafe fn load(from: *const f64) -> $name {
                $name(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f64) {
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, to: *mut f64) {
                unsafe { $stream(to, self.0) }
            }
            #[inline(always)]
            fn mul_add(self, y: $name, z: $name) -> $name {
                $name(unsafe { $fma(self.0, y.0, z.0) })
            }
            #[inline(always)]
            fn times(self, y: $name) -> $name {
                $name(unsafe { $mul(self.0, y.0) })
            }
            #[inline(always)]
            fn plus(self, y: $name) -> $name {
                $name(unsafe { $add(self.0, y.0) })
            }
        }
    };
}

doubles! {
    /// Four lanes; features `avx2` and `fma`.
    Four(__m256d), 4: _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_stream_pd, _mm256_fmadd_pd, _mm256_mul_pd,
    _mm256_add_pd
}
doubles! {
    /// Eight lanes; feature `avx512f`.
    Eight(__m512d), 8: _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_stream_pd, _mm512_fmadd_pd, _mm512_mul_pd,
    _mm512_add_pd
}

/// A function that calls another one over the widest [`Doubles`] that the machine has, and the rows and vectors of a tile whose
/// sums its registers hold.
macro_rules! on_widest_doubles {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($x:ident: $t:ty),*) = $kernel:ident;) => {
        $(#[$doc])*
        $vis fn $name($($x: $t),*) {
            #[target_feature(enable = "avx2,fma")]
            fn four($($x: $t),*) {
                // SAFETY: here are the features.
                unsafe { $kernel::<$crate::families::papers::tensors::doubles::Four, 6, 2>($($x),*) }
            }
            #[target_feature(enable = "avx512f,avx2,fma")]
            fn eight($($x: $t),*) {
                // SAFETY: here are the features.
                unsafe { $kernel::<$crate::families::papers::tensors::doubles::Eight, 8, 3>($($x),*) }
            }
            // SAFETY: the benchmark runs on machines with the former alone, and this one has the latter where it is called.
            unsafe { if std::arch::is_x86_feature_detected!("avx512f") { eight($($x),*) } else { four($($x),*) } }
        }
    };
}
pub(super) use on_widest_doubles;

/// Where the rows of a factor are: the first element, and how far rows and columns are apart.
#[derive(Clone, Copy)]
pub struct Rows {
    pub at: *const f64,
    pub apart: usize,
    pub step: usize,
}

/// `ROWS` rows of `VECTORS` vectors of a product: of `k` elements of rows of `a`, and as many rows of `b`, `apart`.
///
/// # Safety
///
/// The machine has the features of the lanes, and all that is named can be read.
#[inline(always)]
pub unsafe fn tile<V: Doubles, const ROWS: usize, const VECTORS: usize>(
    k: usize,
    a: Rows,
    b: *const f64,
    apart: usize,
) -> [[V; VECTORS]; ROWS] {
    // SAFETY: by the contract.
    unsafe {
        let mut sums = [[V::all(0.0); VECTORS]; ROWS];
        for k in 0..k {
            let mut vectors = [V::all(0.0); VECTORS];
            for v in 0..VECTORS {
                vectors[v] = V::load(b.add(k * apart + v * V::LANES));
            }
            for r in 0..ROWS {
                let x = V::all(*a.at.add(r * a.apart + k * a.step));
                for v in 0..VECTORS {
                    sums[r][v] = x.mul_add(vectors[v], sums[r][v]);
                }
            }
        }
        sums
    }
}

/// The lanes of the widest vectors that the machine has.
pub fn lanes() -> usize {
    if is_x86_feature_detected!("avx512f") { Eight::LANES } else { Four::LANES }
}

/// The columns of a tile of these.
pub fn tile_width() -> usize {
    if is_x86_feature_detected!("avx512f") { 3 * Eight::LANES } else { 2 * Four::LANES }
}

/// Copies columns of a matrix of `columns` from `first` on into a panel, as many as it has; zeros beside the last ones.
pub fn pack(panel: &mut [f64], matrix: &[f64], columns: usize, first: usize) {
    let width = panel.len() / (matrix.len() / columns);
    let count = width.min(columns - first);
    for (to, row) in panel.chunks_exact_mut(width).zip(matrix.chunks_exact(columns)) {
        to[..count].copy_from_slice(&row[first..first + count]);
        to[count..].fill(0.0);
    }
}
