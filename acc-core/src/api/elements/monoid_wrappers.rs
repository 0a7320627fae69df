//! `Sum`, `Product`, `Min`, `Max`: numbers with a chosen way to combine them.

use crate::api::{
    Elt, Exp, ExpEq, ExpOrd, Extremes, Functor, IntoExp, Monoid, Num, ScalarElt, Semigroup, Signed, constant,
};
use crate::data::{EltType, Lit};

macro_rules! wrapper {
    ($(#[doc = $doc:literal])* $W:ident $wrap:ident $get:ident; $a:literal $b:literal) => {
        $(#[doc = $doc])*
        ///
        /// The same representation as the number alone.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $W<T>(
            /// The number.
            pub T,
        );

        impl<T: ScalarElt> Elt for $W<T> {
            type Exp = Exp<Self>;
            fn ty() -> EltType { T::ty() }
            fn unlift(e: Exp<Self>) -> Exp<Self> { e }
            fn write(&self, out: &mut dyn FnMut(Lit)) { self.0.write(out) }
            fn read(leaves: &mut dyn FnMut() -> Lit) -> Self { $W(T::read(leaves)) }
        }
        #[diagnostic::do_not_recommend]
        impl<T: ScalarElt> IntoExp<Self> for $W<T> {
            #[track_caller]
            fn into_exp(self) -> Exp<Self> { constant(self) }
        }

        #[doc = concat!("An expression wrapped as [`", stringify!($W), "`].")]
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([3, 5]));
        #[doc = concat!("let combined = xs.map(|x| ", stringify!($wrap), "(x).mappend(", stringify!($wrap), "(4)));")]
        #[doc = concat!("assert_eq!(Interpreter::new().run(combined)?.to_vec(), [", stringify!($W), "(", $a, "), ", stringify!($W), "(", $b, ")]);")]
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        #[track_caller]
        pub fn $wrap<T: ScalarElt>(x: impl IntoExp<T>) -> Exp<$W<T>> {
            Exp::raw(x.into_exp().r)
        }
        impl<T: ScalarElt> Exp<$W<T>> {
            /// The number.
            ///
            /// ```
            /// use acc_core::prelude::*;
            #[doc = concat!("let xs = use_(&Vector::from([", stringify!($W), "(3), ", stringify!($W), "(5)]));")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(xs.map(|x| x.", stringify!($get), "()))?.to_vec(), [3, 5]);")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            pub fn $get(self) -> Exp<T> { Exp::raw(self.r) }
        }
        impl<T: ScalarElt + Signed> Signed for $W<T> {
            #[track_caller]
            fn abs_of(a: Exp<Self>) -> Exp<Self> { $wrap(T::abs_of(a.$get())) }
            #[track_caller]
            fn signum_of(a: Exp<Self>) -> Exp<Self> { $wrap(T::signum_of(a.$get())) }
        }
        impl<T: ScalarElt + ExpEq> ExpEq for $W<T> {
            #[track_caller]
            fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> { T::equal(a.$get(), b.$get()) }
            #[track_caller]
            fn different(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> { T::different(a.$get(), b.$get()) }
        }
        impl<T: ScalarElt + ExpOrd> ExpOrd for $W<T> {
            #[track_caller]
            fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> { T::less(a.$get(), b.$get()) }
            #[track_caller]
            fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> { T::less_or_equal(a.$get(), b.$get()) }
            #[track_caller]
            fn lesser(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { $wrap(T::lesser(a.$get(), b.$get())) }
            #[track_caller]
            fn greater(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { $wrap(T::greater(a.$get(), b.$get())) }
        }
        impl<T: ScalarElt, U: ScalarElt> Functor<U> for $W<T> {
            type Item = T;
            type Of = $W<U>;
            #[track_caller]
            fn fmap(e: Exp<Self>, mut f: impl FnMut(Exp<T>) -> Exp<U>) -> Exp<$W<U>> { $wrap(f(e.$get())) }
        }
        impl<T: ScalarElt + Num> Num for $W<T> {
            fn from_i64(x: i64) -> Self { $W(T::from_i64(x)) }
            #[track_caller]
            fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { $wrap(T::add(a.$get(), b.$get())) }
            #[track_caller]
            fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { $wrap(T::sub(a.$get(), b.$get())) }
            #[track_caller]
            fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { $wrap(T::mul(a.$get(), b.$get())) }
            #[track_caller]
            fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> { $wrap(T::div(a.$get(), b.$get())) }
            #[track_caller]
            fn neg(a: Exp<Self>) -> Exp<Self> { $wrap(T::neg(a.$get())) }
        }
    };
}

wrapper! {
    /// Combined by addition.
    Sum sum_ get_sum; 7 9
}
wrapper! {
    /// Combined by multiplication.
    Product product_ get_product; 12 20
}
wrapper! {
    /// Combined by taking the lesser.
    Min min_ get_min; 3 4
}
wrapper! {
    /// Combined by taking the greater.
    Max max_ get_max; 4 5
}

impl<T: ScalarElt + Num> Semigroup for Sum<T> {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        a + b
    }
}
impl<T: ScalarElt + Num> Monoid for Sum<T> {
    #[track_caller]
    fn empty() -> Exp<Self> {
        constant(Self::from_i64(0))
    }
}
impl<T: ScalarElt + Num> Semigroup for Product<T> {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        a * b
    }
}
impl<T: ScalarElt + Num> Monoid for Product<T> {
    #[track_caller]
    fn empty() -> Exp<Self> {
        constant(Self::from_i64(1))
    }
}
impl<T: ScalarElt + ExpOrd> Semigroup for Min<T> {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        min_(a.get_min().min(b.get_min()))
    }
}
impl<T: Extremes> Monoid for Min<T> {
    #[track_caller]
    fn empty() -> Exp<Self> {
        min_(constant(T::GREATEST))
    }
}
impl<T: ScalarElt + ExpOrd> Semigroup for Max<T> {
    #[track_caller]
    fn append(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        max_(a.get_max().max(b.get_max()))
    }
}
impl<T: Extremes> Monoid for Max<T> {
    #[track_caller]
    fn empty() -> Exp<Self> {
        max_(constant(T::LEAST))
    }
}
