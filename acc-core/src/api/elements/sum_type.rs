//! Sum types: case analysis that evaluates one arm alone.

use crate::api::{Elt, Exp, IntoExp};
use crate::builder;
use crate::ir::Loc;

/// Expressions that can be matched: of `bool`, `Ordering`, `Option`, `Either`, enums with `#[derive(Elt)]`, and tuples
/// of such expressions.
///
/// The function is called once for each case, to build its arm; when the program runs, only the arm of the case at
/// hand is evaluated. Patterns are Rust's, and rustc checks that they are exhaustive.
///
/// Arms are of one Rust type: a constant beside expressions is `0.0.into()`.
///
/// ```
/// use acc_core::prelude::*;
/// #[derive(Elt, Clone, Debug, PartialEq)]
/// enum Shape { Circle(f32), Rect { w: f32, h: f32 }, Point }
///
/// let shapes: Vector<Shape> = [Shape::Circle(2.0), Shape::Rect { w: 2.0, h: 5.0 }, Shape::Point].into_iter().collect();
/// let areas = use_(&shapes).map(|s| {
///     s.match_(|s| match s {
///         ShapeExp::Circle(r) => r * r * 3.0,
///         ShapeExp::Rect { w, h } => w * h,
///         ShapeExp::Point => 0.0.into(),
///     })
/// });
/// assert_eq!(Interpreter::new().run(areas)?.to_vec(), [12.0, 10.0, 0.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no cases to match",
    note = "`match_` is for expressions of bool, Ordering, Option, Either, enums with #[derive(Elt)], and tuples of these"
)]
pub trait Match: Copy {
    /// One case, with its fields as expressions.
    type Case: Copy;

    #[doc(hidden)]
    fn cases<T: Elt>(self, loc: &Loc, arm: &mut dyn FnMut(Self::Case) -> Exp<T>) -> Exp<T>;

    /// Case analysis: what `arm` yields for the case at hand. Only that arm is evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Some(5), None, Some(0)]));
    /// let ys = xs.map(|x| {
    ///     (x, x.eq(Some(0))).match_(|case| match case {
    ///         (Some(_), true) | (None, _) => lift(-1),
    ///         (Some(n), false) => 10 / n,
    ///     })
    /// });
    /// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [2, -1, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    fn match_<T: Elt<Exp = X>, R: IntoExp<T>, X: IntoExp<T>>(self, mut arm: impl FnMut(Self::Case) -> R) -> X {
        self.cases(&Loc::caller(), &mut |case| arm(case).into_exp()).unlift()
    }
}

/// Element types with cases. Implemented by `#[derive(Elt)]` for enums.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!((bool::CASES, Option::<i32>::CASES), (2, 2));
/// let xs = use_(&Vector::from([Some(7), None]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| Option::<i32>::is_case(x, 0)))?.to_vec(), [true, false]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no cases to match",
    note = "`match_` is for expressions of bool, Ordering, Option, Either and enums with #[derive(Elt)]"
)]
pub trait SumElt: Elt<Exp = Exp<Self>> {
    /// One case, with its fields as expressions.
    type Case: Copy;
    /// The number of cases, 1 or more.
    const CASES: usize;
    /// Whether the expression is of case `k`; asked for all cases but the last.
    fn is_case(e: Exp<Self>, k: usize) -> Exp<bool>;
    /// The fields of case `k`, if the expression is of that case.
    fn case(e: Exp<Self>, k: usize) -> Self::Case;
}

impl<S: SumElt> Match for Exp<S> {
    type Case = S::Case;

    fn cases<T: Elt>(self, loc: &Loc, arm: &mut dyn FnMut(S::Case) -> Exp<T>) -> Exp<T> {
        let arms: Vec<Exp<T>> = (0..S::CASES).map(|k| arm(S::case(self, k))).collect();
        let last = S::CASES - 1;
        (0..last)
            .rev()
            .fold(arms[last], |rest, k| Exp::raw(builder::cond(S::is_case(self, k).r, arms[k].r, rest.r, T::ty(), loc)))
    }
}

macro_rules! match_tuple {
    ($head:ident $($tail:ident)*) => {
        impl<$head: Match, $($tail: Match),*> Match for ($head, $($tail,)*) {
            type Case = ($head::Case, $($tail::Case,)*);

            #[allow(non_snake_case, reason = "variables are named as the types are")]
            fn cases<Out: Elt>(self, loc: &Loc, arm: &mut dyn FnMut(Self::Case) -> Exp<Out>) -> Exp<Out> {
                let ($head, $($tail,)*) = self;
                $head.cases(loc, &mut |head| {
                    ($($tail,)*).cases(loc, &mut |tail: ($($tail::Case,)*)| {
                        let ($($tail,)*) = tail;
                        arm((head, $($tail,)*))
                    })
                })
            }
        }
    };
}
/// The end of a tuple.
impl Match for () {
    type Case = ();
    fn cases<T: Elt>(self, _: &Loc, arm: &mut dyn FnMut(()) -> Exp<T>) -> Exp<T> {
        arm(())
    }
}
match_tuple!(A);
match_tuple!(A B);
match_tuple!(A B C);
match_tuple!(A B C D);

impl SumElt for bool {
    type Case = bool;
    const CASES: usize = 2;
    fn is_case(e: Exp<bool>, _: usize) -> Exp<bool> {
        e
    }
    fn case(_: Exp<bool>, k: usize) -> bool {
        k == 0
    }
}

// ---- for the code that `#[derive(Elt)]` makes

/// Whether the tag of an enum is `k`.
#[doc(hidden)]
pub fn tag_is<S: Elt>(e: Exp<S>, k: usize) -> Exp<bool> {
    // The derive macro refuses enums of more than 256 variants.
    e.proj::<u8>(0).eq(k as u8)
}
