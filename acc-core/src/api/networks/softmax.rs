//! Softmax, its logarithm, and cross-entropy.

use crate::api::types::shape::{Parts, parts};
use crate::api::{Acc, Array, Floating, Integral, IntoAcc, NumScalar, Reducible, Shape, constant};
use crate::builder::compose;

/// The index of an element's row.
#[track_caller]
fn row<Sh: Shape>(ix: Sh::Exp) -> Parts {
    let mut ix = parts::<Sh>(ix);
    ix.pop();
    Parts(ix)
}

/// The rows, moved so that their greatest elements are 0. By how much is a constant for derivatives: what is computed of
/// the rows does not depend on it.
#[track_caller]
fn below_greatest<Sh: Reducible, E: Floating + NumScalar>(xs: &Acc<Array<Sh, E>>) -> Acc<Array<Sh, E>> {
    let greatest = xs.fold(constant(E::LEAST), |a, b| E::greater(a, b)).stop_gradient();
    xs.imap(|ix, x| E::sub(x, greatest.index(row::<Sh>(ix))))
}

impl<Sh: Shape, E: Floating + NumScalar> Acc<Array<Sh, E>> {
    /// The exponentials of each row, divided by their sum. No exponential overflows.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let scores = use_(&Matrix::from([[0.0f32, 0.0], [1000.0, 0.0]]));
    /// assert_eq!(Interpreter::new().run(scores.softmax())?, Matrix::from([[0.5, 0.5], [1.0, 0.0]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn softmax<In: Shape>(&self) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"softmax", || {
            let powers = below_greatest(self).map(|x| x.exp());
            let sums = powers.sum();
            powers.imap(|ix, x| E::div(x, sums.index(row::<Sh>(ix))))
        })
    }

    /// The logarithms of [`softmax`](Acc::softmax): each element less the logarithm of the sum of the row's exponentials.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let scores = use_(&Vector::from([1000.0f64, 0.0]));
    /// assert_eq!(Interpreter::new().run(scores.log_softmax())?.to_vec(), [0.0, -1000.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn log_softmax<In: Shape>(&self) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"log_softmax", || {
            let below = below_greatest(self);
            let logs = below.map(|x| x.exp()).sum().map(|sum| sum.ln());
            below.imap(|ix, x| E::sub(x, logs.index(row::<Sh>(ix))))
        })
    }

    /// The cross-entropy of each row of scores and the class that is right: the negative logarithm of what
    /// [`softmax`](Acc::softmax) gives it. A class that there is not is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let scores = use_(&Matrix::from([[0.0f64, 0.0], [1000.0, 0.0]]));
    /// let losses = scores.cross_entropy(&Vector::from([0u8, 1]));
    /// assert_eq!(Interpreter::new().run(losses)?.to_vec(), [2f64.ln(), 1000.0]);
    ///
    /// // By the scores, its derivative is the softmax less 1 for the class that is right.
    /// let g = grad(&Vector::from([0.0, 0.0]), |scores| scores.cross_entropy(&Scalar::scalar(1i64)));
    /// assert_eq!(Interpreter::new().run(g)?.to_vec(), [0.5, -0.5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn cross_entropy<In: Shape, I: Integral>(&self, classes: impl IntoAcc<Array<In, I>>) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let classes = classes.into_acc();
        compose(&"cross_entropy", || {
            let below = below_greatest(self);
            let sums = below.map(|x| x.exp()).sum();
            sums.izip_with(classes, |ix, sum, class| {
                let mut at = parts::<In>(ix);
                at.push(class.to());
                E::sub(sum.ln(), below.index(Parts(at)))
            })
        })
    }
}
