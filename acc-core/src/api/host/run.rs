//! Running and compiling typed programs.

use crate::api::{Acc, Arrays, IntoAcc, Pending};
use crate::builder::{self, AccFun, AccOp, AccRef};
use crate::data::ArrayData;
use crate::error::Error;
use crate::exec::{Backend, Ready};
use crate::ir::{Loc, Program};
use crate::limits::RunLimits;
use std::marker::PhantomData;
use std::sync::Arc;

/// Running typed programs on a backend: every [`Backend`] has it.
///
/// ```
/// use acc_core::prelude::*;
/// fn total<B: Run>(backend: &B, xs: &Vector<i32>) -> Result<i32, Error> {
///     Ok(backend.run(use_(xs).sum())?.value())
/// }
/// assert_eq!(total(&Interpreter::new(), &Vector::from([1, 2, 3]))?, 6);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub trait Run: Backend {
    /// Runs a program once, and yields its array, or its tuple of arrays. A program of the same structure as an earlier one
    /// is not compiled again, whatever its data.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let interpreter = Interpreter::new();
    /// let total = |xs: Vec<i32>| interpreter.run(use_(&Vector::from(xs)).sum());
    /// assert_eq!(total(vec![1, 2])?.value(), 3);
    /// assert_eq!(total(vec![3, 4, 5])?.value(), 12);
    /// assert!(matches!(interpreter.run(use_(&Vector::from([1, 0])).map(|x| 6 / x)), Err(Error::Fault { .. })));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    fn run<A: Arrays>(&self, program: impl IntoAcc<A>) -> Result<A, Error> {
        self.run_with(program, &RunLimits::none())
    }

    /// Runs a program once, within limits; one that is reached is an [`Error::Limit`].
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let limits = RunLimits::none().max_bytes(1000);
    /// let small = Interpreter::new().run_with(fill(10, 1.5f64), &limits)?;
    /// assert_eq!(small.len(), 10);
    /// assert!(matches!(Interpreter::new().run_with(fill(1000, 1.5f64), &limits), Err(Error::Limit(_))));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    fn run_with<A: Arrays>(&self, program: impl IntoAcc<A>, limits: &RunLimits) -> Result<A, Error> {
        let built = program.into_acc().into_program(limits)?;
        let results = Ready::within(self, &built.program, limits)?.run(&built.embedded, limits)?;
        A::from_parts(&mut results.into_iter())
    }

    /// Starts a run on a thread of its own.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let total = Interpreter::new().run_async(use_(&Vector::from([1, 2, 3])).sum())?;
    /// assert_eq!(total.wait()?.value(), 6);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    fn run_async<A: Arrays + Send>(&self, program: impl IntoAcc<A>) -> Result<Pending<A>, Error> {
        self.run_async_with(program, &RunLimits::none())
    }

    /// Starts a run within limits on a thread of its own. A program that cannot be built is an error at once; all else is
    /// told by [`Pending::wait`].
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let limits = RunLimits::none().max_bytes(1000);
    /// let large = Interpreter::new().run_async_with(fill(1000, 1.5f64), &limits)?;
    /// assert!(matches!(large.wait(), Err(Error::Limit(_))));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    fn run_async_with<A: Arrays + Send>(
        &self,
        program: impl IntoAcc<A>,
        limits: &RunLimits,
    ) -> Result<Pending<A>, Error> {
        let (backend, built) = (self.clone(), program.into_acc().into_program(limits));
        let built = match built {
            Err(stopped @ Error::Limit(_)) => return Ok(Pending::stopped(stopped)),
            built => built?,
        };
        Pending::start(limits, move |limits| {
            let results = Ready::within(&backend, &built.program, limits)?.run(&built.embedded, limits)?;
            A::from_parts(&mut results.into_iter())
        })
    }

    /// Compiles an array function, to be called many times with arguments of any extents.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let saxpy = Interpreter::new().compile(|a: Acc<Scalar<f32>>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
    ///     xs.zip_with(&ys, |x, y| x * &a + y)
    /// })?;
    /// let xs = Vector::from([1.0f32, 2.0]);
    /// assert_eq!(saxpy.call((&Scalar::scalar(2.0), &xs, &xs))?.to_vec(), [3.0, 6.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    fn compile<Args, Out: Arrays, F: AccFn<Args, Out>>(&self, f: F) -> Result<Compiled<Self, Args, Out>, Error> {
        let built = builder::build(&f.build());
        builder::program_built(builder::Purpose::Compile);
        let built = built?;
        let ready = Ready::new(self, &built.program)?;
        Ok(Compiled { ready, embedded: built.embedded, _type: PhantomData })
    }
}

impl<B: Backend> Run for B {}

/// A compiled array function. `Send + Sync`: many threads may call it at once.
///
/// ```
/// use acc_core::prelude::*;
/// let sum = Interpreter::new().compile(|xs: Acc<Vector<i32>>| xs.sum())?;
/// std::thread::scope(|threads| {
///     let one = threads.spawn(|| sum.call((&Vector::from([1, 2]),)));
///     assert_eq!(sum.call((&Vector::from([3, 4, 5]),))?.value(), 12);
///     assert_eq!(one.join().unwrap()?.value(), 3);
///     Ok::<(), Error>(())
/// })?;
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Compiled<B: Backend, Args, Out> {
    ready: Ready<B>,
    embedded: Vec<ArrayData>,
    _type: PhantomData<fn(Args) -> Out>,
}

impl<B: Backend, Args, Out: Arrays> Compiled<B, Args, Out> {
    /// Applies the function to arrays, one per parameter, by reference or by value.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let scale = Interpreter::new().compile(|xs: Acc<Vector<i32>>, k: Acc<Scalar<i32>>| xs.map(|x| x * &k))?;
    /// let xs = Vector::from([1, 2]);
    /// assert_eq!(scale.call((&xs, &Scalar::scalar(10)))?.to_vec(), [10, 20]);
    /// assert_eq!(scale.call((xs, Scalar::scalar(-1)))?.to_vec(), [-1, -2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn call(&self, args: impl HostArgs<Args>) -> Result<Out, Error> {
        self.call_with(args, &RunLimits::none())
    }

    /// Applies the function, within limits; one that is reached is an [`Error::Limit`].
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let doubled = Interpreter::new().compile(|xs: Acc<Vector<f64>>| xs.map(|x| x * 2.0))?;
    /// let limits = RunLimits::none().max_bytes(1000);
    /// assert_eq!(doubled.call_with((&Vector::from([1.5]),), &limits)?.to_vec(), [3.0]);
    /// assert!(matches!(doubled.call_with((&Vector::from([1.5; 1000]),), &limits), Err(Error::Limit(_))));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn call_with(&self, args: impl HostArgs<Args>, limits: &RunLimits) -> Result<Out, Error> {
        let results = self.ready.run(&self.data(args), limits)?;
        Out::from_parts(&mut results.into_iter())
    }

    fn data(&self, args: impl HostArgs<Args>) -> Vec<ArrayData> {
        let mut data = args.into_data();
        data.extend(self.embedded.iter().cloned());
        data
    }

    /// Applies the function on a thread of its own.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = Interpreter::new().compile(|xs: Acc<Vector<i32>>| xs.sum())?;
    /// let (one, other) = (sum.call_async((Vector::from([1, 2]),))?, sum.call_async((Vector::from([3, 4]),))?);
    /// assert_eq!(one.wait()?.value() + other.wait()?.value(), 10);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn call_async(&self, args: impl HostArgs<Args>) -> Result<Pending<Out>, Error>
    where
        Out: Send,
    {
        self.call_async_with(args, &RunLimits::none())
    }

    /// Applies the function, within limits, on a thread of its own.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let endless = Interpreter::new().compile(|x: Acc<Scalar<i64>>| x.map(|x| while_(x, |i| i.ge(0), |i| i * 1)))?;
    /// let token = CancelToken::new();
    /// let run = endless.call_async_with((Scalar::scalar(0),), &RunLimits::none().cancel(token.clone()))?;
    /// token.cancel();
    /// assert!(matches!(run.wait(), Err(Error::Limit(_))));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn call_async_with(&self, args: impl HostArgs<Args>, limits: &RunLimits) -> Result<Pending<Out>, Error>
    where
        Out: Send,
    {
        let (ready, data) = (self.ready.clone(), self.data(args));
        Pending::start(limits, move |limits| Out::from_parts(&mut ready.run(&data, limits)?.into_iter()))
    }

    /// Applies the function to one input after the other: an input is taken when its result is asked for.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = Interpreter::new().compile(|xs: Acc<Vector<i64>>| xs.sum())?;
    /// let inputs = (1..4).map(|n| (Vector::from(vec![2; n]),));
    /// let sums: Result<Vec<_>, _> = sum.stream(inputs).map(|s| s.map(|s| s.value())).collect();
    /// assert_eq!(sums?, [2, 4, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn stream<I: HostArgs<Args>>(
        &self,
        inputs: impl IntoIterator<Item = I>,
    ) -> impl Iterator<Item = Result<Out, Error>> {
        inputs.into_iter().map(|args| self.call(args))
    }
}

impl<B: Backend, Args, Out> Compiled<B, Args, Out> {
    /// The program in the core IR.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = Interpreter::new().compile(|xs: Acc<Vector<i32>>| xs.sum())?;
    /// assert!(sum.program().to_string().contains("fold"));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn program(&self) -> &Arc<Program> {
        self.ready.program()
    }
    /// What the backend made of it; of which type, the backend says ([`Backend::Prepared`]).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use std::sync::Arc;
    /// let interpreter = Interpreter::new();
    /// let function = |xs: Acc<Vector<i32>>| xs.sum();
    /// // Functions of the same structure are prepared once.
    /// let (one, other) = (interpreter.compile(function)?, interpreter.compile(function)?);
    /// assert!(Arc::ptr_eq(one.prepared(), other.prepared()));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn prepared(&self) -> &Arc<B::Prepared> {
        self.ready.prepared()
    }
    /// What the backend made of it, for people: on the native backend the kernels, what was fused and what was not; empty where
    /// there is nothing to tell.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = Interpreter::new().compile(|xs: Acc<Vector<i32>>| xs.sum())?;
    /// assert_eq!(sum.explain(), ""); // The interpreter runs the program as it is.
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        self.backend().explain(self.prepared())
    }
    /// The arrays that the function's closures have brought with them: the last arguments of the program.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let ys = Vector::from([1, 2]);
    /// let sums = Interpreter::new().compile(|xs: Acc<Vector<i32>>| xs.zip_with(&ys, |x, y| x + y))?;
    /// assert_eq!(sums.embedded(), [ys.into_data()]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn embedded(&self) -> &[ArrayData] {
        &self.embedded
    }
    /// The backend.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sum = Interpreter::new().compile(|xs: Acc<Vector<i32>>| xs.sum())?;
    /// assert_eq!(sum.backend().name(), Interpreter::new().name());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn backend(&self) -> &B {
        self.ready.backend()
    }
}

/// Array functions: closures from array programs to an array program, of up to eight arguments.
///
/// ```
/// use acc_core::prelude::*;
/// fn compiled<Args, Out: Arrays>(f: impl AccFn<Args, Out>) -> Result<Compiled<Interpreter, Args, Out>, Error> {
///     Interpreter::new().compile(f)
/// }
/// let sum = compiled(|xs: Acc<Vector<i32>>| xs.sum())?;
/// assert_eq!(sum.call((&Vector::from([1, 2]),))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array function",
    note = "annotate each argument: `|xs: Acc<Vector<f32>>, k: Acc<Scalar<f32>>| ...`, and return an array program"
)]
pub trait AccFn<Args, Out> {
    /// Calls the closure on parameters.
    fn build(self) -> AccFun;
}

/// Arguments of a call, by reference, `f.call((&xs, &k))`, or by value.
///
/// ```
/// use acc_core::prelude::*;
/// let dot = Interpreter::new().compile(|xs: Acc<Vector<i32>>, ys: Acc<Vector<i32>>| xs.zip_with(&ys, |x, y| x * y).sum())?;
/// let xs = Vector::from([1, 2, 3]);
/// assert_eq!(dot.call((&xs, &xs))?.value(), 14);
/// assert_eq!(dot.call((xs.clone(), xs))?.value(), 14);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "the compiled function takes `{P}`, but is called with `{Self}`",
    note = "pass a tuple of references to host arrays, one per parameter, e.g. `f.call((&xs, &k))`"
)]
pub trait HostArgs<P> {
    /// The arrays, left to right.
    fn into_data(self) -> Vec<ArrayData>;
}

macro_rules! acc_fn {
    // No arguments are none either way.
    (@owned) => {};
    (@owned $($A:ident $i:tt),*) => {
        impl<$($A: Arrays),*> HostArgs<($($A,)*)> for ($($A,)*) {
            fn into_data(self) -> Vec<ArrayData> {
                let mut out = Vec::new();
                $(self.$i.push_parts(&mut out);)*
                out
            }
        }
    };
    ($($A:ident $i:tt),*) => {
        impl<Fun, Out: Arrays, Ret: IntoAcc<Out>, $($A: Arrays),*> AccFn<($($A,)*), Out> for Fun
        where
            Fun: FnOnce($(Acc<$A>),*) -> Ret,
        {
            #[track_caller]
            fn build(self) -> AccFun {
                let (lambda, _loc) = (builder::lambda_id(), Loc::caller());
                let param = |index, ty| AccRef::new(AccOp::Param { lambda, index }, ty, _loc.clone());
                let _ = &param;
                builder::scope(|| AccFun {
                    lambda,
                    params: vec![$($A::ty()),*],
                    body: self($(Acc::<$A>::raw(param($i, $A::ty()))),*).into_acc().node,
                })
            }
        }
        acc_fn!(@owned $($A $i),*);
        impl<'a, $($A: Arrays),*> HostArgs<($($A,)*)> for ($(&'a $A,)*) {
            #[allow(unused_mut, reason = "the empty tuple has no parts")]
            fn into_data(self) -> Vec<ArrayData> {
                let mut out = Vec::new();
                $(self.$i.push_parts(&mut out);)*
                out
            }
        }
    };
}
acc_fn!();
acc_fn!(A 0);
acc_fn!(A 0, B 1);
acc_fn!(A 0, B 1, C 2);
acc_fn!(A 0, B 1, C 2, D 3);
acc_fn!(A 0, B 1, C 2, D 3, E 4);
acc_fn!(A 0, B 1, C 2, D 3, E 4, F 5);
acc_fn!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
acc_fn!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
