//! Foreign functions and traces.

use crate::api::arrays::control::function as function_of;
use crate::api::{Acc, Arrays, Elt, Exp, IntoAcc, IntoExp, unit};
use crate::builder::{self, AccOp, AccRef, AccType};
use crate::error::Cause;
use crate::foreign;
use crate::ir::{ArrayOp, ArrayType, ForeignFun, Loc};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::sync::Arc;

/// What a foreign function fails with: any error, or a text.
///
/// ```
/// use acc_core::prelude::*;
/// fn checked_sum(xs: Vector<i32>) -> Result<Scalar<i32>, ForeignError> {
///     let sum = xs.iter().try_fold(0i32, |sum, x| sum.checked_add(x)).ok_or("the sum is too large")?;
///     Ok(Scalar::scalar(sum))
/// }
/// assert_eq!(checked_sum(Vector::from([i32::MAX, 1])).unwrap_err().to_string(), "the sum is too large");
/// let checked = ForeignAcc::new("doc.checked_sum", checked_sum);
/// assert_eq!(Interpreter::new().run(foreign_acc(&checked, |xs| xs.sum(), &Vector::from([1, 2])))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub type ForeignError = Box<dyn std::error::Error + Send + Sync>;

/// A host function from arrays `A` to arrays `B` that programs may call: see [`foreign_acc`].
///
/// ```
/// use acc_core::prelude::*;
/// let sum = ForeignAcc::new("doc.sum", |xs: Vector<i32>| Ok(Scalar::scalar(xs.iter().sum::<i32>())));
/// assert_eq!(Interpreter::new().run(foreign_acc(&sum, |xs| xs.sum(), &Vector::from([1, 2])))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct ForeignAcc<A, B> {
    name: Arc<str>,
    _type: PhantomData<fn(A) -> B>,
}

fn array_types<A: Arrays>() -> Vec<ArrayType> {
    A::ty().leaves().into_iter().cloned().collect()
}

impl<A: Arrays, B: Arrays> ForeignAcc<A, B> {
    /// Defines a function under a name, for the whole process; a second one of the same name replaces the first. It
    /// must give the same result as the fallback of its calls, up to rounding. It may fail with any error, or with a text
    /// (`Err("..".into())`): the run then ends with [`Error::Foreign`](crate::Error::Foreign).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let largest = ForeignAcc::new("doc.largest", |xs: Vector<i32>| match xs.iter().max() {
    ///     Some(x) => Ok(Scalar::scalar(x)),
    ///     None => Err("there are no elements".into()),
    /// });
    /// let x = foreign_acc(&largest, |xs| xs.maximum(), &Vector::from([3, 1, 4]));
    /// assert_eq!(Interpreter::new().run(x)?.value(), 4);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn new(name: &str, f: impl Fn(A) -> Result<B, ForeignError> + Send + Sync + 'static) -> Self {
        let fun = move |args: &[crate::data::ArrayData]| {
            let args = A::from_parts(&mut args.iter().cloned()).map_err(Cause::new)?;
            let mut results = Vec::new();
            f(args).map_err(Cause::new)?.push_parts(&mut results);
            Ok(results)
        };
        foreign::define_arrays(name, array_types::<A>(), array_types::<B>(), Arc::new(fun));
        ForeignAcc { name: name.into(), _type: PhantomData }
    }
}

/// Calls a host function on arrays. An executor that cannot run it evaluates `fallback`, the same function in the
/// language. The native executor runs host functions; the interpreter and the graph executor do not.
///
/// ```
/// use acc_core::prelude::*;
/// let sort = ForeignAcc::new("doc.sort", |xs: Vector<i32>| {
///     let mut xs = xs.to_vec();
///     xs.sort();
///     Ok(Vector::from(xs))
/// });
/// let xs = Vector::from([3, 1, 2, 1]);
/// let sorted = foreign_acc(
///     &sort,
///     |xs| {
///         // The place of an element is the number of those that come before it.
///         let place = xs.imap(|i, x| {
///             let before = |j: Exp<i64>, y: Exp<i32>| y.lt(x).or(y.eq(x).and(j.lt(i))).then_else(1i64, 0);
///             xs.indexed().sfoldl(0, (), |n: Exp<i64>, (j, y)| n + before(j, y))
///         });
///         xs.scatter(&place, &xs)
///     },
///     &xs,
/// );
/// assert_eq!(Interpreter::new().run(sorted)?.to_vec(), [1, 1, 2, 3]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn foreign_acc<A: Arrays, B: Arrays, R: IntoAcc<B>>(
    function: &ForeignAcc<A, B>,
    fallback: impl FnOnce(A::Acc) -> R,
    xs: impl IntoAcc<A>,
) -> B::Acc {
    let loc = Loc::caller();
    let fallback = function_of::<A>(|a| fallback(a).into_acc().node);
    let function = ForeignFun::Host(function.name.clone());
    Acc::<B>::new(AccOp::Op(ArrayOp::Foreign { function, xs: xs.into_acc().node, fallback }), loc).unlift()
}

/// A host function from `A` to `B` that scalar code may call: see [`foreign_exp`].
///
/// ```
/// use acc_core::prelude::*;
/// let cube = ForeignExp::new("doc.cube", |x: i64| x.wrapping_pow(3));
/// let cubes = use_(&Vector::from([2i64, 3])).map(|x| foreign_exp(&cube, |x| x * x * x, x));
/// assert_eq!(Interpreter::new().run(cubes)?.to_vec(), [8, 27]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct ForeignExp<A, B> {
    name: Arc<str>,
    _type: PhantomData<fn(A) -> B>,
}

impl<A: Elt, B: Elt> ForeignExp<A, B> {
    /// Defines a function under a name, for the whole process; a second one of the same name replaces the first. It
    /// must give the same result as the fallback of its calls, up to rounding.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let hypot = ForeignExp::new("doc.hypot", |(x, y): (f64, f64)| x.hypot(y));
    /// let xs = use_(&Vector::from([3.0]));
    /// let ys = xs.map(|x| foreign_exp(&hypot, |(x, y)| (x * x + y * y).sqrt(), (x, 4.0)));
    /// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [5.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn new(name: &str, f: impl Fn(A) -> B + Send + Sync + 'static) -> Self {
        let zeros = A::ty().leaves();
        let fun = move |args: &[crate::data::Lit]| {
            let mut leaves = args.iter().copied().chain(zeros.iter().map(|t| crate::data::Lit::zero(*t)));
            let zero = crate::data::Lit::zero(crate::data::ScalarType::U8);
            let mut results = SmallVec::new();
            f(A::read(&mut || leaves.next().unwrap_or(zero))).write(&mut |l| results.push(l));
            results
        };
        foreign::define_scalars(name, A::ty().leaves(), B::ty().leaves(), Arc::new(fun));
        ForeignExp { name: name.into(), _type: PhantomData }
    }
}

/// Calls a host function in scalar code. An executor that cannot run it evaluates `fallback`, the same function in the
/// language. The native executor runs host functions; the interpreter and the graph executor do not.
///
/// ```
/// use acc_core::prelude::*;
/// let cbrt = ForeignExp::new("doc.cbrt", |x: f64| x.cbrt());
/// let xs = use_(&Vector::from([8.0, 27.0]));
/// let ys = xs.map(|x| foreign_exp(&cbrt, |x| x.powf(1.0 / 3.0), x).round());
/// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [2.0, 3.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn foreign_exp<A: Elt, B: Elt, R: IntoExp<B>>(
    function: &ForeignExp<A, B>,
    fallback: impl FnOnce(A::Exp) -> R,
    x: impl IntoExp<A>,
) -> B::Exp {
    let loc = Loc::caller();
    let x = x.into_exp();
    let fallback = builder::loop_body(A::ty(), &loc, |p| fallback(Exp::<A>::raw(p).unlift()).into_exp().r);
    Exp::<B>::raw(builder::foreign(&function.name, x.r, fallback, B::ty(), &loc)).unlift()
}

// ---- traces

impl<A: Arrays> Acc<A> {
    /// These arrays, with a message when they are evaluated, and only if they are: see [`trace`](crate::foreign::trace).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # use std::sync::{Arc, Mutex};
    /// # let heard = Arc::new(Mutex::new(Vec::new()));
    /// # let sink = Arc::clone(&heard);
    /// # acc_core::foreign::trace::set_sink(Some(Arc::new(move |message: &str| sink.lock().unwrap().push(message.to_string()))));
    /// let (xs, ys) = (use_(&Vector::from([1, 2])).atrace("left"), use_(&Vector::from([3])).atrace("right"));
    /// assert_eq!(Interpreter::new().run(acond(true, xs, ys))?.to_vec(), [1, 2]); // Prints "left" alone.
    /// # assert_eq!(*heard.lock().unwrap(), ["left"]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn atrace(&self, message: &str) -> Acc<A> {
        let loc = Loc::caller();
        let nothing = AccRef::new(AccOp::Tuple(Vec::new()), AccType::Tuple(Vec::new()), loc.clone());
        traced(message, nothing, self, loc)
    }

    /// These arrays, with a message that shows `shown` when these are evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # use std::sync::{Arc, Mutex};
    /// # let heard = Arc::new(Mutex::new(Vec::new()));
    /// # let sink = Arc::clone(&heard);
    /// # acc_core::foreign::trace::set_sink(Some(Arc::new(move |message: &str| sink.lock().unwrap().push(message.to_string()))));
    /// let xs = use_(&Vector::from([1, 2]));
    /// let sum = xs.sum().atrace_array("the sum of", &xs);
    /// assert_eq!(Interpreter::new().run(sum)?.value(), 3); // Prints "the sum of: [1, 2]".
    /// # assert!(heard.lock().unwrap()[0].starts_with("the sum of: "));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn atrace_array<B: Arrays>(&self, message: &str, shown: impl IntoAcc<B>) -> Acc<A> {
        traced(message, shown.into_acc().node, self, Loc::caller())
    }

    /// These arrays, with a message that shows them when they are evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # use std::sync::{Arc, Mutex};
    /// # let heard = Arc::new(Mutex::new(Vec::new()));
    /// # let sink = Arc::clone(&heard);
    /// # acc_core::foreign::trace::set_sink(Some(Arc::new(move |message: &str| sink.lock().unwrap().push(message.to_string()))));
    /// let squares = use_(&Vector::from([1, 2])).map(|x| x * x).atrace_id("squares");
    /// assert_eq!(Interpreter::new().run(squares.sum())?.value(), 5); // Prints "squares: [1, 4]".
    /// # assert!(heard.lock().unwrap()[0].starts_with("squares: "));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn atrace_id(&self, message: &str) -> Acc<A> {
        traced(message, self.node.clone(), self, Loc::caller())
    }

    /// These arrays, with a message that shows the value of `shown` when they are evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// # use std::sync::{Arc, Mutex};
    /// # let heard = Arc::new(Mutex::new(Vec::new()));
    /// # let sink = Arc::clone(&heard);
    /// # acc_core::foreign::trace::set_sink(Some(Arc::new(move |message: &str| sink.lock().unwrap().push(message.to_string()))));
    /// let xs = use_(&Vector::from([1, 2]));
    /// let sum = xs.sum().atrace_exp("elements", xs.length());
    /// assert_eq!(Interpreter::new().run(sum)?.value(), 3); // Prints "elements: 2".
    /// # assert!(heard.lock().unwrap()[0].starts_with("elements: "));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn atrace_exp<E: Elt>(&self, message: &str, shown: impl IntoExp<E>) -> Acc<A> {
        traced(message, unit(shown).node, self, Loc::caller())
    }
}

fn traced<A: Arrays>(message: &str, shown: AccRef, of: &Acc<A>, loc: Loc) -> Acc<A> {
    let types = AccType::Tuple(vec![shown.ty.clone(), A::ty()]);
    let xs = AccRef::new(AccOp::Tuple(vec![shown, of.node.clone()]), types.clone(), loc.clone());
    let fallback = builder::array_function(types, &loc, |both| AccRef::new(AccOp::Proj(both, 1), A::ty(), loc.clone()));
    Acc::new(AccOp::Op(ArrayOp::Foreign { function: ForeignFun::Trace(message.into()), xs, fallback }), loc)
}

// ---- barriers

impl<A: Arrays> Acc<A> {
    /// The same arrays, stored: what comes after is not fused with what comes before. The result is the same.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let stored = use_(&Vector::from([1, 2])).map(|x| x + 1).compute();
    /// assert_eq!(Interpreter::new().run(stored.map(|x| x * x))?.to_vec(), [4, 9]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn compute(&self) -> Acc<A> {
        Acc::new(AccOp::Op(ArrayOp::Compute { xs: self.node.clone(), schedule: None }), Loc::caller())
    }
}

/// One array function after another, with what is between them stored (Accelerate's `>->`).
///
/// ```
/// use acc_core::prelude::*;
/// let f = pipe(|xs: Acc<Vector<f32>>| xs.map(|x| x * 2.0), |ys: Acc<Vector<f32>>| ys.sum());
/// let f = Interpreter::new().compile(f)?;
/// assert_eq!(f.call((&Vector::from([1.0, 2.0]),))?.value(), 6.0);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn pipe<X, B: Arrays, R: IntoAcc<B>, Y>(
    f: impl FnOnce(X) -> R,
    g: impl FnOnce(B::Acc) -> Y,
) -> impl FnOnce(X) -> Y {
    |x| g(f(x).into_acc().compute().unlift())
}
