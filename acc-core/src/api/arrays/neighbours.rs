//! What looks at other elements of the same row: differences, rotation, shifting, the greatest few, search in sorted rows.

use crate::api::types::shape::{innermost, with_innermost};
use crate::api::{Acc, Array, Elt, Exp, ExpOrd, IntoAcc, IntoExp, IxPart, Num, Reducible, Shape, Vector, lift, while_};
use crate::builder::compose;

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Each row rotated to the right by `k` places, `k` modulo its length; by a negative number to the left (NumPy's
    /// `roll` along the last axis).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.roll(1))?.to_vec(), [4, 1, 2, 3]);
    /// assert_eq!(Interpreter::new().run(xs.roll(-1))?.to_vec(), [2, 3, 4, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn roll<In: Shape>(&self, k: impl IntoExp<i64>) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"roll", || {
            let k = k.into_exp();
            let n = self.extent().parts()[Sh::RANK - 1];
            self.backpermute(self.extent(), |ix: Sh::Exp| {
                let source = (innermost::<Sh>(ix) - k).mod_floor(n);
                with_innermost::<Sh>(ix, source)
            })
        })
    }

    /// Each row moved to the right by `k` places, to the left by a negative number; places without an element have
    /// `default`. `xs.shift(1, 0)` has each element's predecessor.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// assert_eq!(Interpreter::new().run(xs.shift(1, 0))?.to_vec(), [0, 1, 2]);
    /// assert_eq!(Interpreter::new().run(xs.shift(-2, 9))?.to_vec(), [3, 9, 9]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn shift<In: Shape>(&self, k: impl IntoExp<i64>, default: impl IntoExp<E>) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"shift", || {
            let (k, default) = (k.into_exp(), default.into_exp());
            let n = self.extent().parts()[Sh::RANK - 1];
            self.imap(|ix: Sh::Exp, _| {
                let source = innermost::<Sh>(ix) - k;
                let there = source.ge(0) & source.lt(n);
                there.then_else::<E, _>(self.index(with_innermost::<Sh>(ix, source)), default)
            })
        })
    }

    /// The differences of neighbours in each row, `x[i + 1] - x[i]`: one element less than the row has, none of an empty
    /// one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 4, 9, 16]));
    /// assert_eq!(Interpreter::new().run(xs.diff())?.to_vec(), [3, 5, 7]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn diff<In: Shape>(&self) -> Self
    where
        Sh: Reducible<Inner = In>,
        E: Num,
    {
        compose(&"diff", || self.tail().zip_with(self.init(), |next, x| lift::<E>(next) - lift::<E>(x)))
    }

    /// The `k` greatest elements of each row in descending order, and their positions; fewer if there are fewer. The order
    /// is that of [`sort_descending`](Acc::sort_descending): equal elements keep theirs, NaN comes first.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3, 1, 7, 5]));
    /// let (greatest, positions) = Interpreter::new().run(xs.top_k(2))?;
    /// assert_eq!((greatest.to_vec(), positions.to_vec()), (vec![7, 5], vec![2, 3]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn top_k<In: Shape>(&self, k: impl IxPart) -> (Self, Acc<Array<Sh, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"top_k", || {
            // The last ones of the row that `argsort_descending` sorts: nothing else of it is read.
            let order = self.reverse().argsort();
            let last = self.extent().parts()[Sh::RANK - 1] - 1;
            let reversed = |ix: Sh::Exp| with_innermost::<Sh>(ix, last - innermost::<Sh>(ix));
            let positions = order.backpermute(order.take(k).extent(), reversed).map(|at| last - at);
            let elements =
                self.backpermute(positions.extent(), |ix: Sh::Exp| with_innermost::<Sh>(ix, positions.index(ix)));
            (elements, positions)
        })
    }
}

impl<E: Elt + ExpOrd> Acc<Vector<E>> {
    /// For each value the number of elements of this sorted vector that are less: where it would be inserted before equal
    /// ones (NumPy's `searchsorted`, by binary search). Of a vector that is not sorted the results are unspecified.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let sorted = use_(&Vector::from([10, 20, 20, 30]));
    /// let values = use_(&Vector::from([5, 20, 25, 40]));
    /// assert_eq!(Interpreter::new().run(sorted.searchsorted(&values))?.to_vec(), [0, 1, 3, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted<Sh: Shape>(&self, values: impl IntoAcc<Array<Sh, E>>) -> Acc<Array<Sh, i64>> {
        let values = values.into_acc();
        compose(&"searchsorted", || {
            let n = self.length();
            values.map(|value| {
                let value = lift::<E>(value);
                let step = |(low, high): (Exp<i64>, Exp<i64>)| {
                    let middle = low + ((high - low) >> 1);
                    let less = E::less(lift::<E>(self.index(middle)), value);
                    (less.then_else(middle + 1, low), less.then_else(high, middle))
                };
                let (low, _) = while_((0i64, n), |(low, high)| low.lt(high), step);
                low
            })
        })
    }
}
