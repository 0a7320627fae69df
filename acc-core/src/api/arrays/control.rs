//! Control flow over arrays.

use crate::api::types::acc::closed_exp;
use crate::api::{Acc, Arrays, Exp, IntoAcc, IntoExp, Scalar, unit};
use crate::builder::{self, AccFun, AccOp, AccRef, compose};
use crate::ir::{ArrayOp, Loc};

/// `if c { then } else { else_ }` over arrays: only the side taken is evaluated. The shapes of the sides may differ.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1i32, -3]));
/// assert_eq!(Interpreter::new().run(acond(xs.sum().gt(0), &xs, xs.map(|x| -x)))?.to_vec(), [-1, 3]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn acond<A: Arrays>(c: impl IntoExp<bool>, then: impl IntoAcc<A>, else_: impl IntoAcc<A>) -> A::Acc {
    let loc = Loc::caller();
    let cond = closed_exp(&loc, c);
    let (then, else_) = (then.into_acc().node, else_.into_acc().node);
    Acc::<A>::new(AccOp::Op(ArrayOp::If { cond, then: AccFun::branch(then), else_: AccFun::branch(else_) }), loc)
        .unlift()
}

#[track_caller]
pub(crate) fn function<A: Arrays>(f: impl FnOnce(A::Acc) -> AccRef) -> AccFun {
    builder::array_function(A::ty(), &Loc::caller(), |a| f(Acc::<A>::raw(a).unlift()))
}

/// A loop over arrays: while `test` holds of the state, the state becomes what `step` yields. Shapes may change from
/// step to step. Yields the last state.
///
/// A number in `init` is `unit(0i64)`, whose literal says its type.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1, 2]);
/// let (_, doubled) = awhile((unit(0i32), &xs), |(i, _)| i.the().lt(3), |(i, xs)| (i.map(|i| i + 1), xs.map(|x| x * 2)));
/// assert_eq!(Interpreter::new().run(doubled)?.to_vec(), [8, 16]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn awhile<A: Arrays, C: IntoTest, R: IntoAcc<A>>(
    init: impl IntoAcc<A>,
    test: impl FnOnce(A::Acc) -> C,
    step: impl FnOnce(A::Acc) -> R,
) -> A::Acc {
    let loc = Loc::caller();
    let init = init.into_acc().node;
    let test = function::<A>(|a| test(a).into_test().node);
    let step = function::<A>(|a| step(a).into_acc().node);
    Acc::<A>::new(AccOp::Op(ArrayOp::While { init, test, step }), loc).unlift()
}

/// Applies `step` to arrays `n` times; for `n` below 1 the result is `init`. Shapes may change from step to step.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1.0f32, 5.0, 3.0]));
/// let smooth = aiterate(2, &xs, |xs| xs.stencil(Edge::Clamp, |s: Stencil3<f32>| (s[-1] + s[0] + s[1]) / 3.0));
/// assert_eq!(Interpreter::new().run(smooth)?.len(), 3);
/// let (a, b) = aiterate(10, (unit(0u64), unit(1u64)), |(a, b)| (b.clone(), a + b));
/// assert_eq!(Interpreter::new().run((a, b))?.0.value(), 55);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn aiterate<A: Arrays, R: IntoAcc<A>>(
    n: impl IntoExp<i64>,
    init: impl IntoAcc<A>,
    step: impl FnOnce(A::Acc) -> R,
) -> A::Acc {
    counted(&"aiterate", n, init, |_, a| step(a))
}

/// A counted loop over arrays: `step` gets the number of the step, from 0 up to but without `n`, and the state.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2], [3, 4], [5, 6]]));
/// let weighted = afor(m.shape().0, fill(2, 0), |i, sums| {
///     sums.zip_with(m.slice((i, All)), |sum, x| sum * 10 + x)
/// });
/// assert_eq!(Interpreter::new().run(weighted)?.to_vec(), [135, 246]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn afor<A: Arrays, R: IntoAcc<A>>(
    n: impl IntoExp<i64>,
    init: impl IntoAcc<A>,
    step: impl FnOnce(Exp<i64>, A::Acc) -> R,
) -> A::Acc {
    counted(&"afor", n, init, step)
}

#[track_caller]
fn counted<A: Arrays, R: IntoAcc<A>>(
    name: &'static &'static str,
    n: impl IntoExp<i64>,
    init: impl IntoAcc<A>,
    step: impl FnOnce(Exp<i64>, A::Acc) -> R,
) -> A::Acc {
    let (n, init) = (unit(n), init.into_acc());
    compose(name, || {
        let (_, last) = awhile::<(Scalar<i64>, A), _, _>(
            (unit(0i64), init),
            |(i, _)| i.the().lt(n.the()),
            |(i, state)| {
                let next = Loc::of_user(|| step(i.the(), state).into_acc());
                (i.map(|i| i + 1), next)
            },
        );
        last
    })
}

/// Conditions of [`awhile`]: `Exp<bool>` or `Acc<Scalar<bool>>`.
///
/// ```
/// use acc_core::prelude::*;
/// let doubled = awhile(use_(&Vector::from([1i32, 30])), |xs| xs.any(|x| x.lt(10)), |xs| xs.map(|x| x * 2));
/// assert_eq!(Interpreter::new().run(doubled)?.to_vec(), [16, 480]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "the condition of `awhile` is `Exp<bool>` or `Acc<Scalar<bool>>`, not `{Self}`"
)]
pub trait IntoTest {
    /// As an array of rank 0.
    fn into_test(self) -> Acc<Scalar<bool>>;
}
impl IntoTest for Exp<bool> {
    #[track_caller]
    fn into_test(self) -> Acc<Scalar<bool>> {
        unit(self)
    }
}
impl IntoTest for Acc<Scalar<bool>> {
    fn into_test(self) -> Acc<Scalar<bool>> {
        self
    }
}
