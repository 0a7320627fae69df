//! Dropout.

use crate::api::{Acc, Array, Floating, IntoExp, NumScalar, Shape, constant, random_f32};
use crate::builder::compose;

impl<Sh: Shape, E: Floating + NumScalar> Acc<Array<Sh, E>> {
    /// Each element 0 with probability `rate`, else divided by `1 - rate`. The same seed drops the same elements, on every
    /// executor: a step of a training takes its own.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let kept = fill((10, 100), 1.0f32).dropout(42u64, 0.25);
    /// let kept = Interpreter::new().run(kept)?.to_vec();
    /// assert!(kept.iter().all(|x| *x == 0.0 || *x == 1.0 / 0.75));
    /// assert!((700..800).contains(&kept.iter().filter(|x| **x > 0.0).count()));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn dropout(&self, seed: impl IntoExp<u64>, rate: impl IntoExp<E>) -> Self {
        compose(&"dropout", || {
            let rate = rate.into_exp();
            let (threshold, kept) = (rate.to::<f32>(), E::sub(constant(E::from_i64(1)), rate));
            self.zip_with(random_f32(seed, self.extent()), |x, random| {
                random.ge(threshold).then_else::<E, _>(E::div(x, kept), constant(E::from_i64(0)))
            })
        })
    }
}
