//! Segmented folds and scans: each row is a sequence of segments, the same for every row.
//!
//! A *descriptor* is a vector of the segments' lengths, of any integer type, or (the methods `.._offsets`) of the
//! positions where they begin, with the end of the last one. Elements after the last segment are ignored. A negative
//! length, and segments with more elements than a row has, are faults.

use crate::api::types::acc::{closed_exp, fun2};
use crate::api::types::shape::{Parts, innermost, with_innermost};
use crate::api::{Acc, Array, DIM1, Elt, Exp, Integral, IntoAcc, IntoExp, Reducible, Shape, Vector, fill, generate};
use crate::builder::{AccOp, Frozen, compose};
use crate::ir::{ArrayOp, Loc};

/// A segment descriptor: the lengths of segments, of any integer type.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, lengths): (_, Segments<u8>) = (use_(&Vector::from([1, 2, 3])), Vector::from([2, 0, 1]));
/// assert_eq!(Interpreter::new().run(xs.fold_seg(&lengths, 0, |a, b| a + b))?.to_vec(), [3, 0, 3]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub type Segments<I> = Vector<I>;

/// Whether segments may be empty.
#[derive(Clone, Copy, PartialEq)]
enum Empty {
    Allowed,
    Fault,
}

/// Rows, and where their segments begin and end.
struct Segmented<Sh, E> {
    rows: Acc<Array<Sh, E>>,
    /// One more than there are segments; ascending within the rows.
    offsets: Acc<Vector<i64>>,
}

/// Lengths that are checked.
fn checked_lengths(lengths: &Acc<Vector<i64>>, empty: Empty) -> Acc<Vector<i64>> {
    let least = lengths.fold(1, |a, b| a.min(b));
    let lengths = lengths.check(least.the().ge(0), "segment descriptor: a length is negative");
    match empty {
        Empty::Allowed => lengths,
        Empty::Fault => {
            let message = "segment descriptor: a segment is empty, and there is no initial value";
            lengths.check(least.the().ge(1), message)
        }
    }
}

impl<Sh: Reducible, E: Elt> Segmented<Sh, E> {
    fn of_lengths<I: Integral>(rows: &Acc<Array<Sh, E>>, lengths: Acc<Vector<I>>, empty: Empty) -> Self {
        let lengths = checked_lengths(&lengths.map(|n| n.to::<i64>()), empty);
        let offsets = lengths.scanl(0, |a, b| a + b);
        // Of lengths that are not negative, a sum that does not fit gives a negative offset first.
        let least = offsets.fold(0, |a, b| a.min(b));
        let offsets = offsets.check(least.the().ge(0), "segment descriptor: the sum of the lengths is too large");
        Self::within(rows, offsets)
    }

    fn of_offsets<I: Integral>(rows: &Acc<Array<Sh, E>>, offsets: Acc<Vector<I>>, empty: Empty) -> Self {
        let offsets = offsets.map(|n| n.to::<i64>());
        let some = offsets.length().ge(1);
        let offsets = offsets.check(some, "empty segment descriptor: offsets are one more than segments");
        let first = offsets.index(0);
        let offsets = offsets.check_with(first.ge(0), "segment descriptor: the first offset is {}", &[first]);
        let lengths = checked_lengths(&offsets.tail().zip_with(offsets.init(), |end, start| end - start), empty);
        // The extents of the lengths, so that they are checked.
        let offsets = offsets.take(lengths.length() + 1);
        Self::within(rows, offsets)
    }

    fn within(rows: &Acc<Array<Sh, E>>, offsets: Acc<Vector<i64>>) -> Self {
        let extent = rows.extent().parts()[Sh::RANK - 1];
        let last = offsets.index(offsets.length() - 1);
        let message = "segment descriptor: the segments need {} elements, but a row has {}";
        let offsets = offsets.check_with(last.le(extent), message, &[last, extent]);
        Segmented { rows: rows.clone(), offsets }
    }

    /// The elements of the rows that are in segments, by lengths: the first offset is 0, and the last one becomes the
    /// extent.
    fn elements(self) -> Self {
        let last = self.offsets.index(self.offsets.length() - 1);
        Segmented { rows: self.rows.take(last), offsets: self.offsets }
    }

    /// The number of segments.
    fn count(&self) -> Exp<i64> {
        self.offsets.length() - 1
    }

    /// The number of elements in all segments.
    fn total(&self) -> Exp<i64> {
        self.rows.extent().parts()[Sh::RANK - 1]
    }

    fn start(&self, segment: Exp<i64>) -> Exp<i64> {
        self.offsets.index(segment)
    }

    fn end(&self, segment: Exp<i64>) -> Exp<i64> {
        self.offsets.index(segment + 1)
    }

    /// The rows' shape with another innermost extent.
    fn shape(&self, inner: Exp<i64>) -> Parts {
        let mut shape = self.rows.extent().parts();
        shape[Sh::RANK - 1] = inner;
        Parts(shape)
    }

    /// Flags at the elements where a segment begins.
    fn heads(&self) -> Acc<Vector<bool>> {
        self.flags(|k| self.start(k))
    }

    /// Flags at the elements where a segment ends.
    fn tails(&self) -> Acc<Vector<bool>> {
        self.flags(|k| self.end(k) - 1)
    }

    fn flags(&self, at: impl FnOnce(Exp<i64>) -> Exp<i64>) -> Acc<Vector<bool>> {
        let all = fill(self.count(), true);
        all.permute(fill(self.total(), false), |new, _| new, |k| self.start(k).lt(self.end(k)).then_some(at(k)))
    }

    fn with_flags(&self, flags: &Acc<Vector<bool>>) -> Acc<Array<Sh, (bool, E)>> {
        self.rows.imap(|ix, x| (flags.index(innermost::<Sh>(ix)), x))
    }

    /// The inclusive left scan of each segment, by a scan of all elements whose operator restarts at flags: its work is
    /// balanced however long the segments are.
    fn scan_left<R: IntoExp<E>>(&self, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let rows = self.with_flags(&self.heads());
        let scanned = rows.scanl1(|(head_a, a), (head_b, b)| (head_a | head_b, head_b.then_else(b, user(f, a, b))));
        scanned.map(|(_, x)| x)
    }

    /// The inclusive right scan of each segment.
    fn scan_right<R: IntoExp<E>>(&self, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let rows = self.with_flags(&self.tails());
        let scanned = rows.scanr1(|(tail_a, a), (tail_b, b)| (tail_a | tail_b, tail_a.then_else(a, user(f, a, b))));
        scanned.map(|(_, x)| x)
    }

    /// The reduction of each segment, which must have elements.
    fn fold1<R: IntoExp<E>>(&self, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        self.reduced(None, f)
    }

    /// The reduction of each segment, with an initial value on the left.
    fn fold<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        self.reduced(Some(closed_exp(&Loc::caller(), init)), f)
    }

    fn reduced<R: IntoExp<E>>(&self, init: Option<Frozen>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let loc = Loc::caller();
        let f = fun2::<E, E, E, _>(&loc, |a, b| user(f, a, b));
        let (xs, offsets) = (self.rows.node.clone(), self.offsets.node.clone());
        Acc::new(AccOp::Op(ArrayOp::FoldSeg { f, init, xs, offsets }), loc)
    }

    /// The reduction of each segment, with an initial value on the right.
    fn fold_right<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let scanned = self.scan_right(f);
        generate(self.shape(self.count()), |ix: Sh::Exp| {
            let k = innermost::<Sh>(ix);
            let (start, end) = (self.start(k), self.end(k));
            let sum = scanned.index(with_innermost::<Sh>(ix, start));
            start.lt(end).then_else(user(f, sum, init.unlift()), init)
        })
    }

    /// For each place of a scan with initial values, which takes one more per segment: the segment's number.
    fn numbers(&self) -> Acc<Vector<i64>> {
        let places = self.total() + self.count();
        let ones = fill(self.count(), 1i64);
        let heads = ones.permute::<DIM1, _, _>(fill(places, 0i64), |new, _| new, |k| Some(self.start(k) + k));
        heads.scanl1(|a, b| a + b).map(|n| n - 1)
    }

    fn scanl<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let (numbers, scanned) = (self.numbers(), self.scan_left(f));
        generate(self.shape(numbers.length()), |ix: Sh::Exp| {
            let place = innermost::<Sh>(ix);
            let k = numbers.index(place);
            let before = scanned.index(with_innermost::<Sh>(ix, place - k - 1));
            place.eq(self.start(k) + k).then_else(init, user(f, init.unlift(), before))
        })
    }

    fn scanr<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let (numbers, scanned) = (self.numbers(), self.scan_right(f));
        generate(self.shape(numbers.length()), |ix: Sh::Exp| {
            let place = innermost::<Sh>(ix);
            let k = numbers.index(place);
            let after = scanned.index(with_innermost::<Sh>(ix, place - k));
            place.eq(self.end(k) + k).then_else(init, user(f, after, init.unlift()))
        })
    }

    fn prescanl<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let (heads, scanned) = (self.heads(), self.scan_left(f));
        generate(self.rows.extent(), |ix: Sh::Exp| {
            let i = innermost::<Sh>(ix);
            let before = scanned.index(with_innermost::<Sh>(ix, i - 1));
            heads.index(i).then_else(init, user(f, init.unlift(), before))
        })
    }

    fn prescanr<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        let (tails, scanned) = (self.tails(), self.scan_right(f));
        generate(self.rows.extent(), |ix: Sh::Exp| {
            let i = innermost::<Sh>(ix);
            let after = scanned.index(with_innermost::<Sh>(ix, i + 1));
            tails.index(i).then_else(init, user(f, after, init.unlift()))
        })
    }

    fn postscanl<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        self.scan_left(f).map(|x| user(f, init.unlift(), x))
    }

    fn postscanr<R: IntoExp<E>>(&self, init: Exp<E>, f: &impl Fn(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>> {
        self.scan_right(f).map(|x| user(f, x, init.unlift()))
    }
}

fn user<E: Elt, R: IntoExp<E>>(f: &impl Fn(E::Exp, E::Exp) -> R, a: E::Exp, b: E::Exp) -> Exp<E> {
    Loc::of_user(|| f(a, b).into_exp())
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Reduces the segments of each row with an associative function; `init` is included once per segment, on the left.
    /// The result has an element for each segment.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    /// let sums = xs.fold_seg(&Vector::from([1i64, 4, 0, 3]), 100, |a, b| a + b);
    /// assert_eq!(Interpreter::new().run(sums)?.to_vec(), [100, 110, 100, 118]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold_seg<I: Integral, R: IntoExp<E>, In: Shape>(
        &self,
        segments: impl IntoAcc<Segments<I>>,
        init: impl IntoExp<E>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"fold_seg", || {
            Segmented::of_lengths(self, segments.into_acc(), Empty::Allowed).fold(init.into_exp(), &f)
        })
    }

    /// Reduces the segments of each row, none of which may be empty: that is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.fold1_seg(use_(&Vector::from([1i32, 3])), |a, b| a.max(b)))?.to_vec(), [1, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold1_seg<I: Integral, R: IntoExp<E>, In: Shape>(
        &self,
        segments: impl IntoAcc<Segments<I>>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"fold1_seg", || Segmented::of_lengths(self, segments.into_acc(), Empty::Fault).fold1(&f))
    }

    /// [`fold_seg`](Acc::fold_seg) with offsets: where each segment begins, and where the last one ends. The first need
    /// not be 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.fold_seg_offsets(use_(&Vector::from([0i64, 1, 1, 4])), 0, |a, b| a + b))?.to_vec(), [1, 0, 9]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold_seg_offsets<I: Integral, R: IntoExp<E>, In: Shape>(
        &self,
        offsets: impl IntoAcc<Segments<I>>,
        init: impl IntoExp<E>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"fold_seg_offsets", || {
            Segmented::of_offsets(self, offsets.into_acc(), Empty::Allowed).fold(init.into_exp(), &f)
        })
    }

    /// [`fold1_seg`](Acc::fold1_seg) with offsets: where each segment begins, and where the last one ends. An empty segment is
    /// a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// let greatest = xs.fold1_seg_offsets(&Vector::from([1i64, 2, 4]), |a, b| a.max(b));
    /// assert_eq!(Interpreter::new().run(greatest)?.to_vec(), [2, 4]);
    /// let empty = xs.fold1_seg_offsets(&Vector::from([1i64, 1]), |a, b| a.max(b));
    /// assert!(Interpreter::new().run(empty).is_err());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold1_seg_offsets<I: Integral, R: IntoExp<E>, In: Shape>(
        &self,
        offsets: impl IntoAcc<Segments<I>>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"fold1_seg_offsets", || Segmented::of_offsets(self, offsets.into_acc(), Empty::Fault).fold1(&f))
    }
}

/// The scans of segments with an initial value.
macro_rules! scans_with_init {
    ($($(#[doc = $doc:literal])* $name:ident = $scan:ident;)*) => { $(
        $(#[doc = $doc])*
        #[track_caller]
        pub fn $name<I: Integral, R: IntoExp<E>, In: Shape>(
            &self,
            segments: impl IntoAcc<Segments<I>>,
            init: impl IntoExp<E>,
            f: impl Fn(E::Exp, E::Exp) -> R,
        ) -> Acc<Array<Sh, E>>
        where
            Sh: Reducible<Inner = In>,
        {
            compose(&stringify!($name), || Segmented::of_lengths(self, segments.into_acc(), Empty::Allowed).elements().$scan(init.into_exp(), &f))
        }
    )* };
}

/// The inclusive scans of segments.
macro_rules! inclusive_scans {
    ($($(#[doc = $doc:literal])* $name:ident = $scan:ident;)*) => { $(
        $(#[doc = $doc])*
        #[track_caller]
        pub fn $name<I: Integral, R: IntoExp<E>, In: Shape>(
            &self,
            segments: impl IntoAcc<Segments<I>>,
            f: impl Fn(E::Exp, E::Exp) -> R,
        ) -> Acc<Array<Sh, E>>
        where
            Sh: Reducible<Inner = In>,
        {
            compose(&stringify!($name), || Segmented::of_lengths(self, segments.into_acc(), Empty::Allowed).elements().$scan(&f))
        }
    )* };
}

/// The exclusive scans of segments, with the reductions of the segments beside.
macro_rules! scans_with_totals {
    ($($(#[doc = $doc:literal])* $name:ident = $scan:ident $total:ident;)*) => { $(
        $(#[doc = $doc])*
        #[track_caller]
        pub fn $name<I: Integral, R: IntoExp<E>, In: Shape>(
            &self,
            segments: impl IntoAcc<Segments<I>>,
            init: impl IntoExp<E>,
            f: impl Fn(E::Exp, E::Exp) -> R,
        ) -> (Acc<Array<Sh, E>>, Acc<Array<Sh, E>>)
        where
            Sh: Reducible<Inner = In>,
        {
            compose(&stringify!($name), || {
                let segmented = Segmented::of_lengths(self, segments.into_acc(), Empty::Allowed).elements();
                let init = init.into_exp();
                (segmented.$scan(init, &f), segmented.$total(init, &f))
            })
        }
    )* };
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    scans_with_init! {
        /// [`scanl`](Acc::scanl) of each segment, which becomes one longer.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.scanl_seg(&Vector::from([2u8, 3]), 9, |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [9, 10, 12, 9, 12, 16, 21]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        scanl_seg = scanl;
        /// [`prescanl`](Acc::prescanl) of each segment: exclusive.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.prescanl_seg(&Vector::from([2u8, 0, 3]), 9, |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [9, 10, 9, 12, 16]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        prescanl_seg = prescanl;
        /// [`postscanl`](Acc::postscanl) of each segment: inclusive, from `init`.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.postscanl_seg(&Vector::from([2u8, 0, 3]), 9, |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [10, 12, 12, 16, 21]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        postscanl_seg = postscanl;
        /// [`scanr`](Acc::scanr) of each segment, which becomes one longer.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.scanr_seg(&Vector::from([2u8, 3]), 9, |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [12, 11, 9, 21, 18, 14, 9]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        scanr_seg = scanr;
        /// [`prescanr`](Acc::prescanr) of each segment: exclusive, from the right.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.prescanr_seg(&Vector::from([2u8, 0, 3]), 9, |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [11, 9, 18, 14, 9]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        prescanr_seg = prescanr;
        /// [`postscanr`](Acc::postscanr) of each segment: inclusive, from `init` on the right.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.postscanr_seg(&Vector::from([2u8, 0, 3]), 9, |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [12, 11, 21, 18, 14]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        postscanr_seg = postscanr;
    }
    inclusive_scans! {
        /// [`scanl1`](Acc::scanl1) of each segment. Empty segments add nothing.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.scanl1_seg(&Vector::from([2u8, 0, 3]), |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [1, 3, 3, 7, 12]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        scanl1_seg = scan_left;
        /// [`scanr1`](Acc::scanr1) of each segment. Empty segments add nothing.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let scanned = xs.scanr1_seg(&Vector::from([2u8, 0, 3]), |a, b| a + b);
        /// assert_eq!(Interpreter::new().run(scanned)?.to_vec(), [3, 2, 12, 9, 5]);
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        scanr1_seg = scan_right;
    }
    scans_with_totals! {
        /// [`scanl_with_total`](Acc::scanl_with_total) of each segment: the exclusive scan, and the segments' reductions.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let (before, totals) = Interpreter::new().run(xs.scanl_with_total_seg(&Vector::from([2u8, 0, 3]), 9, |a, b| a + b))?;
        /// assert_eq!((before.to_vec(), totals.to_vec()), (vec![9, 10, 9, 12, 16], vec![12, 9, 21]));
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        scanl_with_total_seg = prescanl fold;
        /// [`scanr_with_total`](Acc::scanr_with_total) of each segment: the exclusive scan from the right, and the
        /// segments' reductions, `init` on the right.
        ///
        /// ```
        /// use acc_core::prelude::*;
        /// let xs = use_(&Vector::from([1, 2, 3, 4, 5]));
        /// let (after, totals) = Interpreter::new().run(xs.scanr_with_total_seg(&Vector::from([2u8, 0, 3]), 9, |a, b| a + b))?;
        /// assert_eq!((after.to_vec(), totals.to_vec()), (vec![11, 9, 18, 14, 9], vec![12, 9, 21]));
        /// # Ok::<(), acc_core::Error>(())
        /// ```
        scanr_with_total_seg = prescanr fold_right;
    }
}
