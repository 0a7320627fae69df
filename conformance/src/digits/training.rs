//! Epochs and tests of the network on an executor.

use super::data::Set;
use super::network::{self, Images, Net, State, Training};
use crate::executors::REFERENCE;
use crate::tour::differentiated;
use acc_core::api::{AccFn, HostArgs};
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::prelude::*;
use acc_core::{Executor, RunLimits};
use std::marker::PhantomData;
use std::sync::Arc;

/// As many images are tested at once.
const IMAGES_PER_TEST: usize = 500;

/// An array function for any executor.
struct Function<Args, Out> {
    program: Arc<Program>,
    embedded: Vec<ArrayData>,
    _type: PhantomData<fn(Args) -> Out>,
}

impl<Args, Out: Arrays> Function<Args, Out> {
    fn new(f: impl AccFn<Args, Out>) -> Result<Self, Error> {
        let built = acc_core::builder::build(&f.build())?;
        Ok(Function { program: built.program, embedded: built.embedded, _type: PhantomData })
    }

    fn call(&self, executor: &dyn Executor, args: impl HostArgs<Args>) -> Result<Out, Error> {
        let mut data = args.into_data();
        data.extend(self.embedded.iter().cloned());
        let results = executor.run_untyped(&self.program, &data, &RunLimits::none())?;
        Out::from_parts(&mut results.into_iter())
    }
}

/// The programs of a training, on an executor.
pub struct Trainer {
    executor: Arc<dyn Executor>,
    step: Function<(State, Images, Vector<u8>, Scalar<i64>), (Scalar<f32>, State)>,
    guesses: Function<(Net, Images), Vector<u8>>,
    confusion: Function<(Vector<u8>, Vector<u8>), Matrix<i64>>,
}

/// What a test found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// What each image is taken for.
    pub guesses: Vec<u8>,
    /// Row by row how many images of a digit are taken for each digit.
    pub confusion: Vec<i64>,
}

impl Test {
    /// The part of the images that are read rightly; 0 of none.
    pub fn accuracy(&self) -> f64 {
        let right: i64 = self.confusion.iter().step_by(11).sum();
        right as f64 / (self.guesses.len() as f64).max(1.0)
    }
}

impl Trainer {
    /// Builds and compiles the programs.
    ///
    /// # Errors
    ///
    /// Those of the executor.
    pub fn new(executor: Arc<dyn Executor>, how: Training) -> Result<Trainer, Error> {
        let step = |state: Acc<State>, x: Acc<Images>, t: Acc<Vector<u8>>, number: Acc<Scalar<i64>>| {
            network::step(how, state.unlift(), (&x, &t), number.the())
        };
        let guesses = |net: Acc<Net>, x: Acc<Images>| network::guesses(&net.unlift(), &x);
        let confusion = |labels: Acc<Vector<u8>>, guesses: Acc<Vector<u8>>| {
            let place = |n: Exp<i64>| Some((labels.index(n), guesses.index(n)));
            fill(labels.shape(), 1i64).permute(fill((10, 10), 0i64), |a, b| a + b, place)
        };
        let (mut step, guesses) = (Function::new(step)?, Function::new(guesses)?);
        let confusion = Function::new(confusion)?;
        if executor.name() == REFERENCE {
            step.program = differentiated(step.program)?;
        }
        for program in [&step.program, &guesses.program, &confusion.program] {
            executor.prepare(program)?;
        }
        Ok(Trainer { executor, step, guesses, confusion })
    }

    /// What is before the first step.
    ///
    /// # Errors
    ///
    /// Those of the executor.
    pub fn start(&self, seed: u64) -> Result<State, Error> {
        let start = Function::new(|seed: Acc<Scalar<u64>>| network::start(seed.the()))?;
        start.call(self.executor.as_ref(), (&Scalar::scalar(seed),))
    }

    /// A step on a batch, the first of which has the number 1: the loss of the batch before it, and what is after it.
    ///
    /// # Errors
    ///
    /// Those of the executor.
    pub fn step(&self, state: &State, x: &Images, t: &Vector<u8>, number: i64) -> Result<(f32, State), Error> {
        let number = Scalar::scalar(number);
        let (loss, state) = self.step.call(self.executor.as_ref(), (state, x, t, &number))?;
        Ok((loss.value(), state))
    }

    /// Reads images, and compares with what they are.
    ///
    /// # Errors
    ///
    /// Those of the executor, as a message.
    pub fn test(&self, net: &Net, set: &Set) -> Result<Test, String> {
        let mut guesses = Vec::with_capacity(set.len());
        for batch in set.batches(IMAGES_PER_TEST) {
            let (images, _) = batch?;
            let some = self.guesses.call(self.executor.as_ref(), (net, &images)).map_err(|e| e.to_string())?;
            guesses.extend_from_slice(some.as_slice());
        }
        let (labels, guessed) = (Vector::from(set.labels.clone()), Vector::from(guesses.clone()));
        let confusion = self.confusion.call(self.executor.as_ref(), (&labels, &guessed)).map_err(|e| e.to_string())?;
        Ok(Test { guesses, confusion: confusion.to_vec() })
    }
}
