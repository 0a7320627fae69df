//! Least and greatest values, successors and predecessors.

use super::class::Num;
use super::compare::choose;
use super::elt::Elt;
use super::exp::{Exp, constant};

/// Types with a least and a greatest value: integers, `bool`, `char`, and tuples of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no least and greatest value (`Bounded`)",
    note = "integers, bool, char and tuples of these have; of floats, infinities are constants as they are in Rust"
)]
pub trait Bounded: Elt {
    /// The least value.
    const MIN_VALUE: Self;
    /// The greatest value.
    const MAX_VALUE: Self;
}

/// The least value of a type.
#[track_caller]
pub fn min_value<T: Bounded>() -> Exp<T> {
    constant(T::MIN_VALUE)
}

/// The greatest value of a type.
#[track_caller]
pub fn max_value<T: Bounded>() -> Exp<T> {
    constant(T::MAX_VALUE)
}

macro_rules! bounded {
    ($($t:ty),*) => { $(
        impl Bounded for $t {
            const MIN_VALUE: $t = <$t>::MIN;
            const MAX_VALUE: $t = <$t>::MAX;
        }
    )* };
}
bounded!(i8, i16, i32, i64, u8, u16, u32, u64, char);

impl Bounded for bool {
    const MIN_VALUE: bool = false;
    const MAX_VALUE: bool = true;
}

macro_rules! tuple {
    ($($A:ident)*) => {
        impl<$($A: Bounded),*> Bounded for ($($A,)*) {
            const MIN_VALUE: Self = ($($A::MIN_VALUE,)*);
            const MAX_VALUE: Self = ($($A::MAX_VALUE,)*);
        }
    };
}
tuple!();
tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);
tuple!(A B C D E F G H);
tuple!(A B C D E F G H I);
tuple!(A B C D E F G H I J);
tuple!(A B C D E F G H I J K);
tuple!(A B C D E F G H I J K L);

impl<T: Num> Exp<T> {
    /// One more; wraps.
    #[track_caller]
    pub fn succ(self) -> Exp<T> {
        T::add(self, constant(T::from_i64(1)))
    }
    /// One less; wraps.
    #[track_caller]
    pub fn pred(self) -> Exp<T> {
        T::sub(self, constant(T::from_i64(1)))
    }
}

impl Exp<char> {
    /// The next character; after the last one the first.
    #[track_caller]
    pub fn succ(self) -> Exp<char> {
        let next = choose(self.eq('\u{D7FF}'), constant(0xE000), self.ord() + 1);
        choose(self.eq(char::MAX), constant('\0'), next.chr())
    }
    /// The character before; before the first one the last.
    #[track_caller]
    pub fn pred(self) -> Exp<char> {
        let previous = choose(self.eq('\u{E000}'), constant(0xD7FF), self.ord() - 1);
        choose(self.eq('\0'), constant(char::MAX), previous.chr())
    }
}

impl Exp<bool> {
    /// The other value: after `false` comes `true`, which wraps.
    #[track_caller]
    pub fn succ(self) -> Exp<bool> {
        !self
    }
    /// The other value.
    #[track_caller]
    pub fn pred(self) -> Exp<bool> {
        !self
    }
}
