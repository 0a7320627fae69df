//! Loops that are compiled for several processors; the processor at hand is looked up once.
//!
//! All versions compute the same: rustc never contracts or reorders floating-point operations.

use std::sync::LazyLock;

/// The instruction sets that loops are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))] // Other processors have one.
pub enum Version {
    /// What the target certainly has.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 with the instructions for bytes, for 64-bit integers, and on shorter vectors.
    Avx512,
}

static VERSION: LazyLock<Version> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if !has!("avx2") || !has!("fma") {
            return Version::Baseline;
        }
        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            return Version::Avx512;
        }
        Version::Avx2
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        Version::Baseline
    }
});

/// The loops that run on this processor.
#[inline]
pub fn version() -> Version {
    *VERSION
}

/// Defines a function once for each [`Version`], and one that picks.
#[macro_export]
macro_rules! multiversion {
    ($(#[$doc:meta])* $name:ident, $impl:ident, ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) -> $ret {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) -> $ret {
                $impl($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $ty),*) -> $ret {
                $impl($($arg),*)
            }
            match $crate::versions::version() {
                // SAFETY: the processor has what this version is compiled for: it was looked up.
                #[cfg(target_arch = "x86_64")]
                $crate::versions::Version::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::versions::Version::Avx2 => unsafe { avx2($($arg),*) },
                _ => $impl($($arg),*),
            }
        }
    };
}
