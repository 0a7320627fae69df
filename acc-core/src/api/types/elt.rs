//! Element types.

use super::exp::tuple_exp;
use crate::api::{Exp, IntoExp, constant};
use crate::data::{Column, ColumnElt, ColumnOwner, EltType, HasScalarType, Lit, Prim};
use half::f16;

/// Types that may be array elements and scalar values: `i8` to `i64`, `u8` to `u64`, `f16`, `f32`, `f64`, `bool`, `char`, `()`,
/// tuples, `Option`, `Either`, `Ordering`, `Complex`, `Simd`, and structs and enums with `#[derive(Elt)]`.
///
/// ```
/// use acc_core::prelude::*;
/// #[derive(Elt, Clone, Debug, PartialEq)]
/// struct Point { x: f32, y: f32 }
///
/// let points = use_(&Vector::from([Point { x: 1.0, y: 2.0 }]));
/// let mirrored = points.map(|p| PointExp { x: -p.x, ..p });
/// assert_eq!(Interpreter::new().run(mirrored)?.to_vec(), [Point { x: -1.0, y: 2.0 }]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an array element",
    label = "not an element type (`Elt`)",
    note = "element types are i8..i64, u8..u64, f16, f32, f64, bool, char, (), tuples, Option<T>, Complex<T>, structs and enums with #[derive(Elt)]; `usize`/`isize` are not: use i64 or u64"
)]
pub trait Elt: Clone + 'static {
    /// What closures receive: `Exp<Self>` for scalars, a tuple of these for tuples, `FooExp` for a derived struct `Foo`.
    type Exp: IntoExp<Self> + Copy;
    /// The dynamic type.
    fn ty() -> EltType;
    /// Splits an expression into what closures receive.
    fn unlift(e: Exp<Self>) -> Self::Exp;
    /// Hands over the scalar leaves, left to right.
    fn write(&self, out: &mut dyn FnMut(Lit));
    /// Takes a value from its scalar leaves, left to right.
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self;
}

/// What closures over elements of type `T` receive: `ExpOf<(i32, bool)>` is `(Exp<i32>, Exp<bool>)`.
///
/// ```
/// use acc_core::prelude::*;
/// fn negated_if((x, negative): ExpOf<(i32, bool)>) -> Exp<i32> {
///     cond(negative, -x, x)
/// }
/// let xs = use_(&Vector::from([(1, true), (2, false)]));
/// assert_eq!(Interpreter::new().run(xs.map(negated_if))?.to_vec(), [-1, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub type ExpOf<T> = <T as Elt>::Exp;

/// Element types of a single column: numbers, `bool` and `char`.
///
/// ```
/// use acc_core::prelude::*;
/// fn maximum_of<T: ScalarElt + ExpOrd>(values: Vec<T>) -> Acc<Scalar<T>> {
///     use_(&Vector::from(values)).fold1(|a, b| a.max(b))
/// }
/// assert_eq!(Interpreter::new().run(maximum_of(vec!['a', 'c', 'b']))?.value(), 'c');
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of a single column",
    label = "not i8..i64, u8..u64, f16, f32, f64, `bool` or `char`",
    note = "collect tuples, options, structs and enums: `values.into_iter().collect::<Vector<_>>()`, or `Array::from_elts(shape, values)`"
)]
pub trait ScalarElt: Elt<Exp = Exp<Self>> + ColumnElt + IntoExp<Self> {
    /// Takes over a vector as a column, without a copy.
    fn into_column(values: Vec<Self>) -> Column;
}

macro_rules! scalar_elt {
    ($($t:ty),*) => { $(
        impl Elt for $t {
            type Exp = Exp<$t>;
            fn ty() -> EltType { EltType::Scalar(<$t as HasScalarType>::TYPE) }
            fn unlift(e: Exp<$t>) -> Exp<$t> { e }
            fn write(&self, out: &mut dyn FnMut(Lit)) { out(self.lit()) }
            fn read(leaves: &mut dyn FnMut() -> Lit) -> $t { <$t as Prim>::from_bits64(leaves().bits) }
        }
        #[diagnostic::do_not_recommend]
        impl IntoExp<$t> for $t {
            #[track_caller]
            fn into_exp(self) -> Exp<$t> { constant(self) }
        }
        impl ScalarElt for $t {
            fn into_column(values: Vec<$t>) -> Column where Vec<$t>: ColumnOwner { Column::from_vec(values) }
        }
    )* };
}
scalar_elt!(i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, bool, char);

macro_rules! tuple_elt {
    ($($A:ident $X:ident $i:tt),*) => {
        impl<$($A: Elt),*> Elt for ($($A,)*) {
            type Exp = ($(<$A as Elt>::Exp,)*);
            fn ty() -> EltType { EltType::tuple([$($A::ty()),*]) }
            #[track_caller]
            #[allow(clippy::unused_unit, reason = "of the empty tuple too")]
            fn unlift(_e: Exp<Self>) -> Self::Exp { ($(_e.proj::<$A>($i).unlift(),)*) }
            fn write(&self, _out: &mut dyn FnMut(Lit)) { $(self.$i.write(_out);)* }
            #[allow(clippy::unused_unit, reason = "of the empty tuple too")]
            fn read(_leaves: &mut dyn FnMut() -> Lit) -> Self { ($($A::read(_leaves),)*) }
        }
        #[diagnostic::do_not_recommend]
        impl<$($A: Elt, $X: IntoExp<$A>),*> IntoExp<($($A,)*)> for ($($X,)*) {
            #[track_caller]
            fn into_exp(self) -> Exp<($($A,)*)> { tuple_exp(&[$(self.$i.into_exp().r),*]) }
        }
    };
}
tuple_elt!();
tuple_elt!(A XA 0);
tuple_elt!(A XA 0, B XB 1);
tuple_elt!(A XA 0, B XB 1, C XC 2);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12, N XN 13);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12, N XN 13, O XO 14);
tuple_elt!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12, N XN 13, O XO 14, P XP 15);
