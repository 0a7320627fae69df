//! Running and compiling typed programs.

use super::acc::{Acc, Arrays, IntoAcc};
use super::pending::Pending;
use crate::build::{self, AccFun, AccOp, AccRef};
use crate::data::ArrayData;
use crate::error::Error;
use crate::exec::{Backend, Ready};
use crate::ir::{Loc, Program};
use crate::limits::RunLimits;
use std::marker::PhantomData;
use std::sync::Arc;

/// Running typed programs on a backend.
pub trait Run: Backend {
    /// Runs a program once. A program of the same structure as an earlier one is not compiled again, whatever its data.
    fn run<A: Arrays>(&self, program: impl IntoAcc<A>) -> Result<A, Error> {
        self.run_with(program, &RunLimits::none())
    }

    /// Runs a program once, within limits.
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

    /// Starts a run within limits on a thread of its own. Programs that cannot be built are an error at once.
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
        let built = build::build(&f.build());
        build::program_built(build::Purpose::Compile);
        let built = built?;
        let ready = Ready::new(self, &built.program)?;
        Ok(Compiled { ready, embedded: built.embedded, _type: PhantomData })
    }
}

impl<B: Backend> Run for B {}

/// A compiled array function. `Send + Sync`: many threads may call it at once.
pub struct Compiled<B: Backend, Args, Out> {
    ready: Ready<B>,
    embedded: Vec<ArrayData>,
    _type: PhantomData<fn(Args) -> Out>,
}

impl<B: Backend, Args, Out: Arrays> Compiled<B, Args, Out> {
    /// Applies the function: `f.call((&xs, &k))`.
    pub fn call(&self, args: impl HostArgs<Args>) -> Result<Out, Error> {
        self.call_with(args, &RunLimits::none())
    }

    /// Applies the function, within limits.
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
    pub fn call_async(&self, args: impl HostArgs<Args>) -> Result<Pending<Out>, Error>
    where
        Out: Send,
    {
        self.call_async_with(args, &RunLimits::none())
    }

    /// Applies the function, within limits, on a thread of its own.
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
    pub fn program(&self) -> &Arc<Program> {
        self.ready.program()
    }
    /// What the backend made of it.
    pub fn prepared(&self) -> &Arc<B::Prepared> {
        self.ready.prepared()
    }
    /// What the backend made of it, for people: on the native backend the kernels, what was fused and what was not.
    pub fn explain(&self) -> String {
        self.backend().explain(self.prepared())
    }
    /// The backend.
    pub fn backend(&self) -> &B {
        self.ready.backend()
    }
}

/// Array functions: closures from array programs to an array program, of up to eight arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array function",
    note = "annotate each argument: `|xs: Acc<Vector<f32>>, k: Acc<Scalar<f32>>| ...`, and return an array program"
)]
pub trait AccFn<Args, Out> {
    /// Calls the closure on parameters.
    fn build(self) -> AccFun;
}

/// Arguments of a call, by reference, `f.call((&xs, &k))`, or by value.
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
                let (lambda, _loc) = (build::lambda_id(), Loc::caller());
                let param = |index, ty| AccRef::new(AccOp::Param { lambda, index }, ty, _loc.clone());
                let _ = &param;
                build::scope(|| AccFun {
                    lambda,
                    params: vec![$($A::ty()),*],
                    body: self($(Acc::<$A>::raw(param($i, $A::ty()))),*).into_acc().node,
                })
            }
        }
        acc_fn!(@owned $($A $i),*);
        impl<'a, $($A: Arrays),*> HostArgs<($($A,)*)> for ($(&'a $A,)*) {
            #[allow(unused_mut)]
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
