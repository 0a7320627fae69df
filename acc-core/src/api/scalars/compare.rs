//! Comparisons.

use crate::api::types::exp::prim2;
use crate::api::{Elt, Exp, IntoExp, constant};
use crate::ir::PrimOp;
use half::f16;
use std::cmp::Ordering;

/// Types with equality.
///
/// ```
/// use acc_core::prelude::*;
/// fn one_of<T: ExpEq>(x: Exp<T>, a: Exp<T>, b: Exp<T>) -> Exp<bool> {
///     x.eq(a) | x.eq(b)
/// }
/// let xs = use_(&Vector::from(['a', 'b', 'c']));
/// let result = Interpreter::new().run(xs.map(|x| one_of(x, constant('a'), constant('c'))))?;
/// assert_eq!(result.to_vec(), [true, false, true]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared (`ExpEq`)",
    note = "equality is defined for numbers, bool, char, Ordering, and tuples, Option and Either of these; compare the parts of structs"
)]
pub trait ExpEq: Elt {
    /// Whether equal.
    fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool>;
    /// Whether different.
    #[track_caller]
    fn different(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        !Self::equal(a, b)
    }
}

/// Types with comparisons, `min` and `max`. Tuples are compared lexicographically, the first component first.
///
/// ```
/// use acc_core::prelude::*;
/// fn in_order<T: ExpOrd>(a: Exp<T>, b: Exp<T>, c: Exp<T>) -> Exp<bool> {
///     a.le(b) & b.le(c)
/// }
/// let pairs = use_(&Vector::from([(1, 'b'), (2, 'b')]));
/// let between = pairs.map(|x| in_order(constant((1, 'c')), lift(x), constant((2, 'b'))));
/// assert_eq!(Interpreter::new().run(between)?.to_vec(), [false, true]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared (`ExpOrd`)",
    note = "comparisons are defined for numbers, bool, char, Ordering, and tuples, Option and Either of these; compare the parts of structs"
)]
pub trait ExpOrd: ExpEq {
    /// Whether `a` comes before `b`.
    fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool>;
    /// Whether `a` comes before `b` or equals it.
    fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool>;
    /// Whether `a` comes after `b`.
    #[track_caller]
    fn more(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        Self::less(b, a)
    }
    /// Whether `a` comes after `b` or equals it.
    #[track_caller]
    fn more_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        Self::less_or_equal(b, a)
    }
    /// The lesser; of equal ones `a`.
    #[track_caller]
    fn lesser(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        choose(Self::less_or_equal(a, b), a, b)
    }
    /// The greater; of equal ones `a`.
    #[track_caller]
    fn greater(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        choose(Self::less_or_equal(b, a), a, b)
    }
}

#[track_caller]
pub(in crate::api) fn choose<T: Elt>(c: Exp<bool>, then: Exp<T>, else_: Exp<T>) -> Exp<T> {
    c.then_else::<T, _>(then, else_).into_exp()
}

macro_rules! scalars {
    ($($t:ty),*) => { $(
        impl ExpEq for $t {
            #[track_caller]
            fn equal(a: Exp<$t>, b: Exp<$t>) -> Exp<bool> { prim2(PrimOp::EqP, a, b) }
            #[track_caller]
            fn different(a: Exp<$t>, b: Exp<$t>) -> Exp<bool> { prim2(PrimOp::NeP, a, b) }
        }
        impl ExpOrd for $t {
            #[track_caller]
            fn less(a: Exp<$t>, b: Exp<$t>) -> Exp<bool> { prim2(PrimOp::LtP, a, b) }
            #[track_caller]
            fn less_or_equal(a: Exp<$t>, b: Exp<$t>) -> Exp<bool> { prim2(PrimOp::LeP, a, b) }
            #[track_caller]
            fn more(a: Exp<$t>, b: Exp<$t>) -> Exp<bool> { prim2(PrimOp::GtP, a, b) }
            #[track_caller]
            fn more_or_equal(a: Exp<$t>, b: Exp<$t>) -> Exp<bool> { prim2(PrimOp::GeP, a, b) }
            #[track_caller]
            fn lesser(a: Exp<$t>, b: Exp<$t>) -> Exp<$t> { prim2(PrimOp::MinP, a, b) }
            #[track_caller]
            fn greater(a: Exp<$t>, b: Exp<$t>) -> Exp<$t> { prim2(PrimOp::MaxP, a, b) }
        }
    )* };
}
scalars!(i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, bool, char);

impl ExpEq for () {
    #[track_caller]
    fn equal(_: Exp<()>, _: Exp<()>) -> Exp<bool> {
        constant(true)
    }
}
impl ExpOrd for () {
    #[track_caller]
    fn less(_: Exp<()>, _: Exp<()>) -> Exp<bool> {
        constant(false)
    }
    #[track_caller]
    fn less_or_equal(_: Exp<()>, _: Exp<()>) -> Exp<bool> {
        constant(true)
    }
}

macro_rules! tuples {
    ($($A:ident $i:tt),*; $Last:ident $last:tt) => {
        impl<$($A: ExpEq,)* $Last: ExpEq> ExpEq for ($($A,)* $Last,) {
            #[track_caller]
            fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
                let last = $Last::equal(a.proj($last), b.proj($last));
                $(let last = $A::equal(a.proj($i), b.proj($i)) & last;)*
                last
            }
        }
        impl<$($A: ExpOrd,)* $Last: ExpOrd> ExpOrd for ($($A,)* $Last,) {
            #[track_caller]
            fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
                let rest = $Last::less(a.proj($last), b.proj($last));
                tuples!(@first a, b, rest, [$($A $i),*]);
                rest
            }
            #[track_caller]
            fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
                let rest = $Last::less_or_equal(a.proj($last), b.proj($last));
                tuples!(@first a, b, rest, [$($A $i),*]);
                rest
            }
        }
    };
    // The components before, the last of them first.
    (@first $a:ident, $b:ident, $rest:ident, []) => {};
    (@first $a:ident, $b:ident, $rest:ident, [$A:ident $i:tt $(, $B:ident $j:tt)*]) => {
        tuples!(@first $a, $b, $rest, [$($B $j),*]);
        let (x, y) = ($a.proj::<$A>($i), $b.proj::<$A>($i));
        let $rest = $A::less(x, y) | ($A::equal(x, y) & $rest);
    };
}
tuples!(; A 0);
tuples!(A 0; B 1);
tuples!(A 0, B 1; C 2);
tuples!(A 0, B 1, C 2; D 3);
tuples!(A 0, B 1, C 2, D 3; E 4);
tuples!(A 0, B 1, C 2, D 3, E 4; F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5; G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6; H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7; I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8; J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9; K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10; L 11);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11; M 12);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12; N 13);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13; O 14);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14; P 15);

impl<T: ExpEq> Exp<T> {
    /// Whether equal (floats: IEEE 754, a NaN equals nothing).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.eq(2)))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn eq(self, other: impl IntoExp<T>) -> Exp<bool> {
        T::equal(self, other.into_exp())
    }
    /// Whether different.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.ne(2)))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn ne(self, other: impl IntoExp<T>) -> Exp<bool> {
        T::different(self, other.into_exp())
    }
}

/// Tuples are compared lexicographically: `lift((a, b)).lt((c, d))`.
impl<T: ExpOrd> Exp<T> {
    /// Whether less.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.lt(2)))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn lt(self, other: impl IntoExp<T>) -> Exp<bool> {
        T::less(self, other.into_exp())
    }
    /// Whether less or equal.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.le(2)))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn le(self, other: impl IntoExp<T>) -> Exp<bool> {
        T::less_or_equal(self, other.into_exp())
    }
    /// Whether greater.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.gt(2)))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn gt(self, other: impl IntoExp<T>) -> Exp<bool> {
        T::more(self, other.into_exp())
    }
    /// Whether greater or equal.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.ge(2)))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn ge(self, other: impl IntoExp<T>) -> Exp<bool> {
        T::more_or_equal(self, other.into_exp())
    }
    /// The lesser; of floats, NaN if either is NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.min(2)))?.to_vec(), [1, 2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn min(self, other: impl IntoExp<T>) -> Exp<T> {
        T::lesser(self, other.into_exp())
    }
    /// The greater; of floats, NaN if either is NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 3]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.max(2)))?.to_vec(), [2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn max(self, other: impl IntoExp<T>) -> Exp<T> {
        T::greater(self, other.into_exp())
    }
    /// Which of the two comes first; of floats, `Greater` if either is NaN.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use std::cmp::Ordering;
    /// let xs = use_(&Vector::from([1i32, 2, 3]));
    /// let compared = Interpreter::new().run(xs.map(|x| x.compare(2)))?.to_vec();
    /// assert_eq!(compared, [Ordering::Less, Ordering::Equal, Ordering::Greater]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn compare(self, other: impl IntoExp<T>) -> Exp<Ordering> {
        let other = other.into_exp();
        let rest = choose(T::equal(self, other), constant(Ordering::Equal), constant(Ordering::Greater));
        choose(T::less(self, other), constant(Ordering::Less), rest)
    }
    /// The value between `low` and `high` nearest to this.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([-5i32, 5, 50]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.clamp(0, 10)))?.to_vec(), [0, 5, 10]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "the traits of this name yield no expressions")]
    pub fn clamp(self, low: impl IntoExp<T>, high: impl IntoExp<T>) -> Exp<T> {
        T::lesser(T::greater(self, low.into_exp()), high.into_exp())
    }
}
