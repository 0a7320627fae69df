//! Operations whose results are as long as the data say: filter, compact, expand; gather and scatter under a condition.

use crate::api::{Acc, Array, DIM1, Elt, Exp, IntoAcc, IntoExp, RankOne, Reducible, Shape, Vector, fill, generate};
use crate::builder::compose;
use crate::ir::Loc;
use either::Either;

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The elements of a vector that the predicate holds of; of other arrays, see [`filter_rows`](Acc::filter_rows).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 4, 5]));
    /// let squares = xs.filter(|x| (x % 2).eq(1)).map(|x| x * x);
    /// assert_eq!(Interpreter::new().run(squares)?.to_vec(), [9, 25]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn filter<R: IntoExp<bool>>(&self, predicate: impl FnOnce(E::Exp) -> R) -> Acc<Vector<E>>
    where
        Sh: RankOne,
    {
        self.filter_rows(predicate).0
    }

    /// The elements of a vector where the mask is true; of other arrays, see [`compact_rows`](Acc::compact_rows). A mask of another length is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, mask) = (use_(&Vector::from([3, 4, 5])), use_(&Vector::from([true, false, true])));
    /// assert_eq!(Interpreter::new().run(xs.compact(&mask))?.to_vec(), [3, 5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn compact(&self, mask: impl IntoAcc<Array<Sh, bool>>) -> Acc<Vector<E>>
    where
        Sh: RankOne,
    {
        self.compact_rows(mask).0
    }

    /// The elements that the predicate holds of, in row-major order, and how many there are in each row (usable as a
    /// [segment descriptor](crate::api::Segments)). Of a vector the elements alone are [`filter`](Acc::filter).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[3i32, 4, 5], [6, 7, 8]]));
    /// let (odd, counts) = Interpreter::new().run(m.filter_rows(|x| (x % 2).eq(1)))?;
    /// assert_eq!((odd.to_vec(), counts.to_vec()), (vec![3, 5, 7], vec![2, 1]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "filter")]
    pub fn filter_rows<In: Shape, R: IntoExp<bool>>(
        &self,
        predicate: impl FnOnce(E::Exp) -> R,
    ) -> (Acc<Vector<E>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        self.kept(&self.map(predicate))
    }

    /// The elements where the mask is true, in row-major order, and how many there are in each row. A mask of another
    /// shape is a fault. Of a vector the elements alone are [`compact`](Acc::compact).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (m, mask) = (use_(&Matrix::from([[1, 2], [3, 4]])), use_(&Matrix::from([[true, false], [true, true]])));
    /// let (kept, counts) = Interpreter::new().run(m.compact_rows(&mask))?;
    /// assert_eq!((kept.to_vec(), counts.to_vec()), (vec![1, 3, 4], vec![1, 2]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "compact")]
    pub fn compact_rows<In: Shape>(&self, mask: impl IntoAcc<Array<Sh, bool>>) -> (Acc<Vector<E>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        let mask = mask.into_acc();
        compose(&"compact", || {
            let shapes = self.extent().parts().into_iter().zip(mask.extent().parts());
            let mut mask = mask.clone();
            for (own, its) in shapes {
                let message = "compact: an extent of the mask is {}, that of the array {}";
                mask = mask.check_with(own.eq(its), message, &[its, own]);
            }
            self.kept(&mask)
        })
    }

    #[track_caller]
    fn kept<In: Shape>(&self, mask: &Acc<Array<Sh, bool>>) -> (Acc<Vector<E>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"filter", || {
            let ones = mask.map(|keep| keep.to_num::<i64>());
            let positions = positions(&mask.flatten());
            let elements = self.flatten();
            (elements.gather(positions), ones.sum())
        })
    }
}

/// The positions where a vector is true.
fn positions(mask: &Acc<Vector<bool>>) -> Acc<Vector<i64>> {
    let counted = mask.map(|keep| keep.to_num::<i64>()).scanl(0, |a, b| a + b);
    let count = counted.index(mask.length());
    let own = generate(mask.length(), |i: Exp<i64>| i);
    own.permute::<DIM1, _, _>(fill(count, 0i64), |new, _| new, |i| mask.index(i).then_some(counted.index(i)))
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, Option<E>>> {
    /// The values that there are, in row-major order, and how many there are in each row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs: Vector<Option<i32>> = [Some(1), None, Some(3)].into_iter().collect();
    /// let (some, count) = Interpreter::new().run(use_(&xs).justs())?;
    /// assert_eq!((some.to_vec(), count.value()), (vec![1, 3], 2));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn justs<In: Shape>(&self) -> (Acc<Vector<E>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"justs", || {
            let (some, counts) = self.filter_rows(|x| x.is_some());
            (some.map(|x| x.proj::<E>(1)), counts)
        })
    }
}

impl<Sh: Shape, A: Elt, B: Elt> Acc<Array<Sh, Either<A, B>>> {
    /// The values of the `Left`s, in row-major order, and how many there are in each row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left(1), Either::Right(true), Either::Left(3)]));
    /// let (lefts, count) = Interpreter::new().run(xs.lefts())?;
    /// assert_eq!((lefts.to_vec(), count.value()), (vec![1, 3], 2));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn lefts<In: Shape>(&self) -> (Acc<Vector<A>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"lefts", || {
            let (lefts, counts) = self.filter_rows(|x| x.is_left());
            (lefts.map(|x| x.from_left()), counts)
        })
    }

    /// The values of the `Right`s, in row-major order, and how many there are in each row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Matrix::from([[Either::Left(1), Either::Right('a')], [Either::Left(2), Either::Left(3)]]));
    /// let (rights, counts) = Interpreter::new().run(xs.rights())?;
    /// assert_eq!((rights.to_vec(), counts.to_vec()), (vec!['a'], vec![1, 0]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn rights<In: Shape>(&self) -> (Acc<Vector<B>>, Acc<Array<In, i64>>)
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"rights", || {
            let (rights, counts) = self.filter_rows(|x| x.is_right());
            (rights.map(|x| x.from_right()), counts)
        })
    }
}

impl<E: Elt> Acc<Vector<E>> {
    /// Each element makes a number of others: `count(x)` many, the `i`-th of which is `get(x, i)`. A negative number is
    /// a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([2i64, 0, 3]));
    /// let all = xs.expand(|x| x, |x, i| x * 10 + i);
    /// assert_eq!(Interpreter::new().run(all)?.to_vec(), [20, 21, 30, 31, 32]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn expand<B: Elt, N: IntoExp<i64>, R: IntoExp<B>>(
        &self,
        count: impl FnOnce(E::Exp) -> N,
        get: impl FnOnce(E::Exp, Exp<i64>) -> R,
    ) -> Acc<Vector<B>> {
        let counts: Acc<Vector<i64>> = self.map(count);
        compose(&"expand", || {
            let least = counts.fold(0, |a, b| a.min(b)).the();
            let counts = counts.check_with(least.ge(0), "expand: {} is a negative number of elements", &[least]);
            let offsets = counts.scanl(0, |a, b| a + b);
            let least = offsets.fold(0, |a, b| a.min(b)).the();
            let offsets = offsets.check(least.ge(0), "expand: too many elements");
            let total = offsets.index(counts.length());
            // Elements that make none mark the place where the next one begins once more, so that they are passed over.
            let ones = fill(counts.length(), 1i64);
            let marks = ones.permute::<DIM1, _, _>(
                fill(total, 0i64),
                |new, old| new + old,
                |k| {
                    let at = offsets.index(k);
                    at.lt(total).then_some(at)
                },
            );
            let sources = marks.scanl1(|a, b| a + b);
            sources.imap(|place: Exp<i64>, number| {
                let k = number - 1;
                Loc::of_user(|| get(self.index(k), place - offsets.index(k)).into_exp())
            })
        })
    }

    /// [`gather`](Acc::gather) where the predicate holds of the mask's element, else the element of `defaults`. The
    /// result is as long as the shortest of the three.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, at, mask) = (use_(&Vector::from([5i32, 6, 7])), use_(&Vector::from([2i64, 0])), use_(&Vector::from([1i32, 0])));
    /// assert_eq!(Interpreter::new().run(xs.gather_if(&at, &mask, |m| m.ne(0), use_(&Vector::from([-1i32, -1]))))?.to_vec(), [7, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_if<M: Elt, R: IntoExp<bool>>(
        &self,
        indices: impl IntoAcc<Vector<i64>>,
        mask: impl IntoAcc<Vector<M>>,
        predicate: impl FnOnce(M::Exp) -> R,
        defaults: impl IntoAcc<Vector<E>>,
    ) -> Acc<Vector<E>> {
        let mask = mask.into_acc().map(predicate);
        let (indices, defaults) = (indices.into_acc(), defaults.into_acc());
        compose(&"gather_if", || {
            indices.zip_with3(mask, defaults, |at, read, default| read.then_else(self.index(at), default))
        })
    }

    /// [`scatter`](Acc::scatter) of the elements whose mask's element the predicate holds of.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, to, mask) = (use_(&Vector::from([5i32, 6])), use_(&Vector::from([2i64, 0])), use_(&Vector::from([1i32, 0])));
    /// assert_eq!(Interpreter::new().run(xs.scatter_if(&to, &mask, |m| m.ne(0), fill(3, 0)))?.to_vec(), [0, 0, 5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_if<M: Elt, R: IntoExp<bool>>(
        &self,
        targets: impl IntoAcc<Vector<i64>>,
        mask: impl IntoAcc<Vector<M>>,
        predicate: impl FnOnce(M::Exp) -> R,
        defaults: impl IntoAcc<Vector<E>>,
    ) -> Acc<Vector<E>> {
        let mask = mask.into_acc().map(predicate);
        let (targets, defaults) = (targets.into_acc(), defaults.into_acc());
        compose(&"scatter_if", || {
            let targets = targets.zip_with(mask, |at, keep| keep.then_some(at));
            let n = self.length().min(targets.length());
            self.take(n).permute::<DIM1, _, _>(defaults, |new, _| new, |i| targets.index(i))
        })
    }
}
