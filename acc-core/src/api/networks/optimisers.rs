//! Steps of optimisers, over all parameters of a network.

use crate::api::derivatives::parts::{leaves, typed};
use crate::api::types::ranked;
use crate::api::{Array, Arrays, Exp, Floating, IntoAcc, IntoExp, NumScalar, Shape, constant, unit};
use crate::builder::{AccRef, compose};
use crate::ir::Loc;

/// What an optimiser changes: an array of floats of type `E`, or a tuple of such arrays.
///
/// ```
/// use acc_core::prelude::*;
/// fn halved<A: Parameters<f32>>(w: impl IntoAcc<A>) -> A::Acc {
///     let w = w.into_acc();
///     sgd_step(&w, &w, 0.5)
/// }
/// let (w, b) = (Matrix::from([[2.0f32, 4.0]]), Vector::from([8.0f32]));
/// let (w, b) = Interpreter::new().run(halved((&w, &b)))?;
/// assert_eq!((w.to_vec(), b.to_vec()), (vec![1.0, 2.0], vec![4.0]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no parameters of type `{E}`",
    note = "parameters are an array of floats, or a tuple of arrays of floats of one type"
)]
pub trait Parameters<E: Floating + NumScalar>: Arrays {}
impl<Sh: Shape, E: Floating + NumScalar> Parameters<E> for Array<Sh, E> {}

macro_rules! tuples {
    ($($($A:ident)*;)*) => { $(
        impl<E: Floating + NumScalar, $($A: Parameters<E>),*> Parameters<E> for ($($A,)*) {}
    )* };
}
tuples! {
    A; A B; A B C; A B C D; A B C D F; A B C D F G; A B C D F G H; A B C D F G H I; A B C D F G H I J;
    A B C D F G H I J K; A B C D F G H I J K L; A B C D F G H I J K L M; A B C D F G H I J K L M N;
    A B C D F G H I J K L M N O; A B C D F G H I J K L M N O P; A B C D F G H I J K L M N O P Q;
}

/// `f` of the elements of the same place of all these.
#[track_caller]
fn elementwise<E: Floating + NumScalar, A: Parameters<E>, const N: usize>(
    all: [&AccRef; N],
    f: impl Fn([Exp<E>; N]) -> Exp<E>,
) -> A::Acc {
    let loc = Loc::caller();
    let all = all.map(|one| leaves(one, &loc));
    let count = all.first().map_or(0, Vec::len);
    let results: Vec<AccRef> = (0..count)
        .map(|k| {
            let arrays: Vec<AccRef> = all.iter().map(|one| one[k].clone()).collect();
            let rank = arrays[0].ty.as_array().map_or(0, |ty| ty.rank);
            ranked::map::<E>(&arrays, rank, |x| f(std::array::from_fn(|i| x[i])))
        })
        .collect();
    typed::<A>(&mut results.into_iter(), &loc)
}

/// Parameters less `rate` times their gradient.
///
/// ```
/// use acc_core::prelude::*;
/// let w = Vector::from([1.0, 2.0]);
/// let g = grad(&w, |w| w.map(|w| w * w).sum());
/// assert_eq!(Interpreter::new().run(sgd_step(&w, g, 0.25))?.to_vec(), [0.5, 1.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn sgd_step<A: Parameters<E>, E: Floating + NumScalar>(
    parameters: impl IntoAcc<A>,
    gradient: impl IntoAcc<A>,
    rate: impl IntoExp<E>,
) -> A::Acc {
    let (w, g, rate) = (parameters.into_acc(), gradient.into_acc(), rate.into_exp());
    compose(&"sgd_step", || elementwise::<E, A, 2>([&w.node, &g.node], |[w, g]| w - g * rate))
}

/// A step with momentum: the velocity becomes `momentum` times itself plus the gradient, and parameters lose `rate` times the
/// new velocity. Yields both; the first velocity is 0.
///
/// ```
/// use acc_core::prelude::*;
/// let (w, velocity) = (Vector::from([1.0f32]), Vector::from([2.0f32]));
/// let g = grad(&w, |w| w.map(|w| w * w).sum());
/// let (w, velocity) = Interpreter::new().run(momentum_step(&w, g, &velocity, 0.25, 0.5))?;
/// assert_eq!((w.to_vec(), velocity.to_vec()), (vec![0.25], vec![3.0]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn momentum_step<A: Parameters<E>, E: Floating + NumScalar>(
    parameters: impl IntoAcc<A>,
    gradient: impl IntoAcc<A>,
    velocity: impl IntoAcc<A>,
    rate: impl IntoExp<E>,
    momentum: impl IntoExp<E>,
) -> (A::Acc, A::Acc) {
    let (w, g, v) = (parameters.into_acc(), gradient.into_acc(), velocity.into_acc());
    let (rate, momentum) = (rate.into_exp(), momentum.into_exp());
    compose(&"momentum_step", || {
        let velocity = |g: Exp<E>, v: Exp<E>| v * momentum + g;
        let parameters = elementwise::<E, A, 3>([&w.node, &g.node, &v.node], |[w, g, v]| w - velocity(g, v) * rate);
        (parameters, elementwise::<E, A, 2>([&g.node, &v.node], |[g, v]| velocity(g, v)))
    })
}

/// Adam (Kingma and Ba, *Adam: A method for stochastic optimization*, 2015): its numbers.
///
/// ```
/// use acc_core::prelude::*;
/// let adam = Adam { rate: 0.01f32, ..Adam::default() };
/// assert_eq!((adam.beta1, adam.beta2, adam.epsilon), (0.9, 0.999, 1e-8));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adam<E> {
    /// The rate of learning.
    pub rate: E,
    /// How much of the mean of gradients stays.
    pub beta1: E,
    /// How much of the mean of their squares stays.
    pub beta2: E,
    /// What is added to the root of the mean of squares.
    pub epsilon: E,
}

impl<E: Floating> Default for Adam<E> {
    fn default() -> Self {
        let [rate, beta1, beta2, epsilon] = [1e-3, 0.9, 0.999, 1e-8].map(E::from_f64);
        Adam { rate, beta1, beta2, epsilon }
    }
}

impl<E: Floating + NumScalar> Adam<E> {
    /// A step, the first of which has the number 1: yields the new parameters, and the new means of the gradients and of
    /// their squares, which are 0 at first.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (w, zero) = (Vector::from([1.0f64, -3.0]), Vector::from([0.0f64, 0.0]));
    /// let g = grad(&w, |w| w.map(|w| w * w).sum());
    /// let adam = Adam { rate: 0.5, ..Adam::default() };
    /// let (w, means) = Interpreter::new().run(adam.step(&w, g, (&zero, &zero), 1))?;
    /// assert!(w.iter().zip([0.5, -2.5]).all(|(w, to)| (w - to).abs() < 1e-6));
    /// assert!((means.0.to_vec()[0] - 0.2).abs() < 1e-12);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn step<A: Parameters<E>>(
        &self,
        parameters: impl IntoAcc<A>,
        gradient: impl IntoAcc<A>,
        means: (impl IntoAcc<A>, impl IntoAcc<A>),
        step: impl IntoExp<i64>,
    ) -> (A::Acc, (A::Acc, A::Acc)) {
        let (w, g, m, v) = (parameters.into_acc(), gradient.into_acc(), means.0.into_acc(), means.1.into_acc());
        let step = step.into_exp();
        compose(&"adam", || {
            let one = || constant(E::from_i64(1));
            let [rate, beta1, beta2, epsilon] = [self.rate, self.beta1, self.beta2, self.epsilon].map(|x| constant(x));
            // Means of few gradients are near their first value, 0.
            let so_far = |beta: Exp<E>| unit(one() - beta.powf(step.to::<E>()));
            let (of_m, of_v) = (so_far(beta1), so_far(beta2));
            let mean = |m: Exp<E>, g: Exp<E>| m * beta1 + g * (one() - beta1);
            let square = |v: Exp<E>, g: Exp<E>| v * beta2 + g * g * (one() - beta2);
            let parameters = elementwise::<E, A, 4>([&w.node, &g.node, &m.node, &v.node], |[w, g, m, v]| {
                let root = (square(v, g) / of_v.the()).sqrt() + epsilon;
                w - rate * (mean(m, g) / of_m.the()) / root
            });
            let means = elementwise::<E, A, 2>([&m.node, &g.node], |[m, g]| mean(m, g));
            let squares = elementwise::<E, A, 2>([&v.node, &g.node], |[v, g]| square(v, g));
            (parameters, (means, squares))
        })
    }
}
