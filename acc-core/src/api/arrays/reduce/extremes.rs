//! Extremes of rows, and where they are.

use crate::api::types::shape::innermost;
use crate::api::{Acc, Array, Elt, Exp, ExpOrd, Reducible, Shape, lift};
use crate::builder::compose;

/// A name for messages.
type Name = &'static &'static str;

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The position of the least element of each row, an `i64`: the first if there are several; that of the first NaN if
    /// there is one. A row without elements is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 1, 2, 1]));
    /// assert_eq!(Interpreter::new().run(xs.arg_min())?.value(), 1);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn arg_min<In: Shape>(&self) -> Acc<Array<In, i64>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        compose(&"arg_min", || self.first(&"arg_min", |b, a| b.lt(a)).map(|(_, i)| i))
    }

    /// The position of the greatest element of each row, an `i64`: the first if there are several; that of the first NaN if
    /// there is one. A row without elements is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 1, 4, 4]));
    /// assert_eq!(Interpreter::new().run(xs.arg_max())?.value(), 2);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn arg_max<In: Shape>(&self) -> Acc<Array<In, i64>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        compose(&"arg_max", || self.first(&"arg_max", |b, a| b.gt(a)).map(|(_, i)| i))
    }

    /// The least element of each row and its position, in one traversal: see [`arg_min`](Acc::arg_min).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[3, 1, 2], [5, 4, 4]]));
    /// let (least, at) = Interpreter::new().run(m.minimum_at())?;
    /// assert_eq!((least.to_vec(), at.to_vec()), (vec![1, 4], vec![1, 1]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn minimum_at<In: Shape>(&self) -> (Acc<Array<In, E>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        self.first(&"minimum_at", |b, a| b.lt(a)).unzip()
    }

    /// The greatest element of each row and its position, in one traversal: see [`arg_max`](Acc::arg_max).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3.0, 1.0, 7.0]));
    /// let (greatest, at) = Interpreter::new().run(xs.maximum_at())?;
    /// assert_eq!((greatest.value(), at.value()), (7.0, 2));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn maximum_at<In: Shape>(&self) -> (Acc<Array<In, E>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        self.first(&"maximum_at", |b, a| b.gt(a)).unzip()
    }

    /// The first element that none is `better` than, and its position.
    #[track_caller]
    fn first<In: Shape>(&self, name: Name, better: impl Fn(Exp<E>, Exp<E>) -> Exp<bool>) -> Acc<Array<In, (E, i64)>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        compose(name, || {
            let pairs: Acc<Array<Sh, (E, i64)>> = self.imap(|ix, x| (x, innermost::<Sh>(ix)));
            pairs.fold1(|(a, i), (b, j)| earlier(&better, (lift(a), i), (lift(b), j)))
        })
    }
}

/// The better of two elements with their positions, of which the first is the earlier one. A NaN is better than a number.
#[track_caller]
pub(in crate::api) fn earlier<E: ExpOrd>(
    better: impl Fn(Exp<E>, Exp<E>) -> Exp<bool>,
    (a, i): (Exp<E>, Exp<i64>),
    (b, j): (Exp<E>, Exp<i64>),
) -> (E::Exp, Exp<i64>) {
    // Only a NaN differs from itself.
    let later = a.eq(a) & (better(b, a) | b.ne(b));
    (later.then_else(b, a), later.then_else(j, i))
}
