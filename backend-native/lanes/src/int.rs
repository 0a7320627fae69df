//! Integer operations, exactly as the language defines them.

use super::lanes::Lane;

/// Integer arithmetic that generic loops need, by the names that the language has for it.
#[allow(missing_docs, reason = "the names say it")]
pub trait Int: Lane + Ord {
    fn add(self, y: Self) -> Self;
    fn sub(self, y: Self) -> Self;
    fn mul(self, y: Self) -> Self;
    /// The divisor is not zero.
    fn quot(self, y: Self) -> Self;
    fn rem(self, y: Self) -> Self;
    fn div_floor(self, y: Self) -> Self;
    fn mod_floor(self, y: Self) -> Self;
    fn and(self, y: Self) -> Self;
    fn or(self, y: Self) -> Self;
    fn xor(self, y: Self) -> Self;
    fn shl(self, y: Self) -> Self;
    fn shr(self, y: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn signum(self) -> Self;
    fn not(self) -> Self;
    fn count_ones(self) -> i32;
    fn leading_zeros(self) -> i32;
    fn trailing_zeros(self) -> i32;
}

macro_rules! int_common {
    ($t:ty) => {
        #[inline(always)]
        fn add(self, y: $t) -> $t {
            self.wrapping_add(y)
        }
        #[inline(always)]
        fn sub(self, y: $t) -> $t {
            self.wrapping_sub(y)
        }
        #[inline(always)]
        fn mul(self, y: $t) -> $t {
            self.wrapping_mul(y)
        }
        #[inline(always)]
        fn quot(self, y: $t) -> $t {
            self.wrapping_div(y)
        }
        #[inline(always)]
        fn rem(self, y: $t) -> $t {
            self.wrapping_rem(y)
        }
        #[inline(always)]
        fn and(self, y: $t) -> $t {
            self & y
        }
        #[inline(always)]
        fn or(self, y: $t) -> $t {
            self | y
        }
        #[inline(always)]
        fn xor(self, y: $t) -> $t {
            self ^ y
        }
        #[inline(always)]
        fn neg(self) -> $t {
            self.wrapping_neg()
        }
        #[inline(always)]
        fn not(self) -> $t {
            !self
        }
        #[inline(always)]
        fn count_ones(self) -> i32 {
            self.count_ones() as i32
        }
        #[inline(always)]
        fn leading_zeros(self) -> i32 {
            self.leading_zeros() as i32
        }
        #[inline(always)]
        fn trailing_zeros(self) -> i32 {
            self.trailing_zeros() as i32
        }
    };
}

macro_rules! signed {
    ($($t:ty),*) => { $(impl Int for $t {
        int_common!($t);
        #[inline(always)]
        fn div_floor(self, y: $t) -> $t {
            let q = self.wrapping_div(y);
            if (self.wrapping_rem(y) != 0) && ((self < 0) != (y < 0)) { q.wrapping_sub(1) } else { q }
        }
        #[inline(always)]
        fn mod_floor(self, y: $t) -> $t {
            let r = self.wrapping_rem(y);
            if r != 0 && ((r < 0) != (y < 0)) { r.wrapping_add(y) } else { r }
        }
        #[inline(always)]
        fn shl(self, y: $t) -> $t {
            if y >= 0 && (y as u64) < <$t>::BITS as u64 { self.wrapping_shl(y as u32) } else { 0 }
        }
        #[inline(always)]
        fn shr(self, y: $t) -> $t {
            let by = if y >= 0 && (y as u64) < <$t>::BITS as u64 { y as u32 } else { <$t>::BITS - 1 };
            self.wrapping_shr(by)
        }
        #[inline(always)]
        fn abs(self) -> $t { self.wrapping_abs() }
        #[inline(always)]
        fn signum(self) -> $t { self.signum() }
    })* };
}
signed!(i8, i16, i32, i64);

macro_rules! unsigned {
    ($($t:ty),*) => { $(impl Int for $t {
        int_common!($t);
        #[inline(always)]
        fn div_floor(self, y: $t) -> $t { self / y }
        #[inline(always)]
        fn mod_floor(self, y: $t) -> $t { self % y }
        #[inline(always)]
        fn shl(self, y: $t) -> $t {
            if (y as u64) < <$t>::BITS as u64 { self.wrapping_shl(y as u32) } else { 0 }
        }
        #[inline(always)]
        fn shr(self, y: $t) -> $t {
            if (y as u64) < <$t>::BITS as u64 { self.wrapping_shr(y as u32) } else { 0 }
        }
        #[inline(always)]
        fn abs(self) -> $t { self }
        #[inline(always)]
        fn signum(self) -> $t { <$t>::from(self != 0) }
    })* };
}
unsigned!(u8, u16, u32, u64);
