//! Least and greatest values, successors and predecessors.

use super::compare::choose;
use crate::api::{Elt, Exp, Num, constant};

/// Types with a least and a greatest value: integers, `bool`, `char`, and tuples of these.
///
/// ```
/// use acc_core::prelude::*;
/// fn is_extreme<T: Bounded + ExpEq>(x: Exp<T>) -> Exp<bool> {
///     x.eq(min_value::<T>()) | x.eq(max_value::<T>())
/// }
/// let xs = use_(&Vector::from([-128i8, 0, 127]));
/// assert_eq!(Interpreter::new().run(xs.map(is_extreme))?.to_vec(), [true, false, true]);
/// # Ok::<(), acc_core::Error>(())
/// ```
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
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit(min_value::<(i8, bool)>()))?.value(), (-128, false));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn min_value<T: Bounded>() -> Exp<T> {
    constant(T::MIN_VALUE)
}

/// The greatest value of a type.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit(max_value::<(u8, char)>()))?.value(), (255, char::MAX));
/// # Ok::<(), acc_core::Error>(())
/// ```
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
    /// One more; integers wrap.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1u8, 255]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.succ()))?.to_vec(), [2, 0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn succ(self) -> Exp<T> {
        T::add(self, constant(T::from_i64(1)))
    }
    /// One less; integers wrap.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1u8, 0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.pred()))?.to_vec(), [0, 255]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn pred(self) -> Exp<T> {
        T::sub(self, constant(T::from_i64(1)))
    }
}

impl Exp<char> {
    /// The next character, over the gap of the surrogates; after the last one the first.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from(['a', '\u{D7FF}', char::MAX]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.succ()))?.to_vec(), ['b', '\u{E000}', '\0']);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn succ(self) -> Exp<char> {
        let next = choose(self.eq('\u{D7FF}'), constant(0xE000), self.ord() + 1);
        choose(self.eq(char::MAX), constant('\0'), next.chr())
    }
    /// The character before, over the gap of the surrogates; before the first one the last.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from(['b', '\u{E000}', '\0']));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.pred()))?.to_vec(), ['a', '\u{D7FF}', char::MAX]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn pred(self) -> Exp<char> {
        let previous = choose(self.eq('\u{E000}'), constant(0xD7FF), self.ord() - 1);
        choose(self.eq('\0'), constant(char::MAX), previous.chr())
    }
}

impl Exp<bool> {
    /// The other value: after `false` comes `true`, which wraps.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([false, true]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.succ()))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn succ(self) -> Exp<bool> {
        !self
    }
    /// The other value: before `true` comes `false`, before which it wraps.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([false, true]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.pred()))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn pred(self) -> Exp<bool> {
        !self
    }
}
