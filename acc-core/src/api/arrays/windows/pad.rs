//! Arrays with a margin.

use crate::api::types::shape::{Parts, parts};
use crate::api::{Acc, Array, Dim, Elt, Exp, IntoExp, IxPart, Shape, generate};
use crate::builder::{self, compose};

impl<const N: usize, E: Elt> Acc<Array<Dim<N>, E>>
where
    Dim<N>: Shape,
{
    /// The array with a margin of `value`: along each axis, the outermost first, so many positions before and after it. A
    /// negative number (of an expression) takes positions away.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2], [3, 4]]));
    /// let wide = Interpreter::new().run(m.pad([(0, 1), (1, 0)], 9))?;
    /// assert_eq!(wide, Matrix::from([[9, 1, 2], [9, 3, 4], [9, 9, 9]]));
    /// let narrow = Interpreter::new().run(m.pad([(0, 0), (-1, 0)].map(|(low, high)| (lift(low), lift(high))), 0))?;
    /// assert_eq!(narrow, Matrix::from([[2], [4]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn pad<P: IxPart>(&self, amounts: [(P, P); N], value: impl IntoExp<E>) -> Self {
        compose(&"pad", || {
            let amounts = amounts.map(|(low, high)| (low.part(), high.part()));
            let own = self.extent().parts();
            let shape = own.iter().zip(&amounts).map(|(n, (low, high))| (*n + *low + *high).max(0)).collect();
            generate(Parts(shape), |ix| {
                let mut source = parts::<Dim<N>>(ix);
                let mut inside: Option<Exp<bool>> = None;
                for ((i, n), (low, high)) in source.iter_mut().zip(&own).zip(&amounts) {
                    if is_zero(*low) && is_zero(*high) {
                        continue;
                    }
                    *i -= *low;
                    let here = i.ge(0) & i.lt(*n);
                    inside = Some(inside.map_or(here, |inside| inside & here));
                }
                let element = self.index(Parts(source)).into_exp();
                match inside {
                    Some(inside) => inside.then_else::<E, _>(element, value.into_exp()).into_exp(),
                    None => element,
                }
            })
        })
    }
}

/// Whether an expression is the literal 0.
fn is_zero(x: Exp<i64>) -> bool {
    builder::literal(x.r).is_some_and(|l| l.bits == 0)
}
