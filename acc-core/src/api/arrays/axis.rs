//! Operations along an axis: parts of it, reversed, exchanged, concatenated.
//!
//! The methods `.._on::<AXIS>` work along any axis. Axes are counted from the innermost one, which is 1 (Accelerate's
//! `_1`), so that a number means the same in every rank; one that does not exist is an error at compile time.

use crate::api::types::shape::{Parts, parts};
use crate::api::{Acc, Array, Elt, Exp, IntoAcc, IxPart, Matrix, Reducible, Shape, generate, lift};
use crate::builder::compose;

/// The position of an axis, counted from the innermost one, among the extents.
const fn position<Sh: Shape>(axis: usize) -> usize {
    assert!(axis >= 1 && axis <= Sh::RANK, "there is no such axis: the innermost is 1, the outermost is the rank");
    Sh::RANK - axis
}

/// A number of elements, at least 0 and at most those that there are.
fn clamped(n: Exp<i64>, extent: Exp<i64>) -> Exp<i64> {
    n.max(0).min(extent)
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Along an axis, counted from the outermost: the first position kept and how many, from its extent.
    #[track_caller]
    fn cut(
        &self,
        name: &'static &'static str,
        axis: usize,
        part: impl FnOnce(Exp<i64>) -> (Option<Exp<i64>>, Exp<i64>),
    ) -> Self {
        compose(name, || {
            let mut shape = self.extent().parts();
            let (start, length) = part(shape[axis]);
            shape[axis] = length;
            self.backpermute(Parts(shape), |ix| {
                let mut ix = parts::<Sh>(ix);
                if let Some(start) = start {
                    ix[axis] += start;
                }
                Parts(ix)
            })
        })
    }

    #[track_caller]
    fn take_at(&self, axis: usize, n: impl IxPart) -> Self {
        self.cut(&"take", axis, |extent| (None, clamped(n.part(), extent)))
    }

    #[track_caller]
    fn drop_at(&self, axis: usize, n: impl IxPart) -> Self {
        self.cut(&"drop", axis, |extent| {
            let start = clamped(n.part(), extent);
            (Some(start), extent - start)
        })
    }

    #[track_caller]
    fn slit_at(&self, axis: usize, start: impl IxPart, n: impl IxPart) -> Self {
        self.cut(&"slit", axis, |extent| {
            let start = clamped(start.part(), extent);
            (Some(start), clamped(n.part(), extent - start))
        })
    }

    #[track_caller]
    fn init_at(&self, axis: usize) -> Self {
        self.cut(&"init", axis, |extent| (None, (extent - 1).max(0)))
    }

    #[track_caller]
    fn concat_at(&self, axis: usize, other: impl IntoAcc<Array<Sh, E>>) -> Self {
        let other = other.into_acc();
        compose(&"concat", || {
            let own = self.extent().parts();
            let n = own[axis];
            let mut shape: Vec<_> = own.iter().zip(other.extent().parts()).map(|(a, b)| a.min(b)).collect();
            shape[axis] = n + other.extent().parts()[axis];
            generate(Parts(shape), |ix: Sh::Exp| {
                let ix = parts::<Sh>(ix);
                let mut beyond = ix.clone();
                beyond[axis] -= n;
                let here = ix[axis].lt(n);
                here.then_else(element(self, ix), element(&other, beyond))
            })
        })
    }

    /// The first `n` positions of an axis; all of them if there are fewer, none if `n` is negative.
    ///
    /// ```compile_fail
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2], [3, 4]]));
    /// let _ = m.take_on::<3>(1); // A matrix has axes 1 and 2.
    /// ```
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.take_on::<2>(1))?, Matrix::from([[1, 2, 3]]));
    /// assert_eq!(Interpreter::new().run(m.take_on::<1>(9))?, Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn take_on<const AXIS: usize>(&self, n: impl IxPart) -> Self {
        self.take_at(const { position::<Sh>(AXIS) }, n)
    }

    /// All but the first `n` positions of an axis; none if there are fewer, all if `n` is negative.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.drop_on::<2>(1))?, Matrix::from([[4, 5, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn drop_on<const AXIS: usize>(&self, n: impl IxPart) -> Self {
        self.drop_at(const { position::<Sh>(AXIS) }, n)
    }

    /// `n` positions of an axis after the first `start`: `take_on(n)` of `drop_on(start)`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.slit_on::<1>(1, 2))?, Matrix::from([[2, 3], [5, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn slit_on<const AXIS: usize>(&self, start: impl IxPart, n: impl IxPart) -> Self {
        self.slit_at(const { position::<Sh>(AXIS) }, start, n)
    }

    /// All but the last position of an axis.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.init_on::<2>())?, Matrix::from([[1, 2, 3]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn init_on<const AXIS: usize>(&self) -> Self {
        self.init_at(const { position::<Sh>(AXIS) })
    }

    /// All but the first position of an axis.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.tail_on::<1>())?, Matrix::from([[2, 3], [5, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn tail_on<const AXIS: usize>(&self) -> Self {
        self.drop_at(const { position::<Sh>(AXIS) }, 1)
    }

    /// The positions of an axis in reverse order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.reverse_on::<2>())?, Matrix::from([[4, 5, 6], [1, 2, 3]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn reverse_on<const AXIS: usize>(&self) -> Self {
        self.reverse_at(const { position::<Sh>(AXIS) })
    }

    #[track_caller]
    fn reverse_at(&self, axis: usize) -> Self {
        compose(&"reverse", || {
            let n = self.extent().parts()[axis];
            self.backpermute(self.extent(), |ix| {
                let mut ix = parts::<Sh>(ix);
                ix[axis] = n - 1 - ix[axis];
                Parts(ix)
            })
        })
    }

    /// Two axes exchanged.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((2, 2, 3), |(i, j, k)| (i * 2 + j) * 3 + k);
    /// let swapped = Interpreter::new().run(xs.transpose_on::<1, 3>())?;
    /// assert_eq!(swapped.to_vec(), [0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn transpose_on<const A: usize, const B: usize>(&self) -> Self {
        let (a, b) = const { (position::<Sh>(A), position::<Sh>(B)) };
        compose(&"transpose", || {
            let mut shape = self.extent().parts();
            shape.swap(a, b);
            self.backpermute(Parts(shape), |ix| {
                let mut ix = parts::<Sh>(ix);
                ix.swap(a, b);
                Parts(ix)
            })
        })
    }

    /// Two arrays joined along an axis; along the others the extent is the lesser of the two.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.concat_on::<2>(m.take_on::<2>(1)))?, Matrix::from([[1, 2, 3], [4, 5, 6], [1, 2, 3]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn concat_on<const AXIS: usize>(&self, other: impl IntoAcc<Array<Sh, E>>) -> Self {
        self.concat_at(const { position::<Sh>(AXIS) }, other)
    }
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// This array and others joined along an axis, in one traversal; along the others the extent is the least of all.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (a, b) = (use_(&Vector::from([1, 2])), use_(&Vector::from([3])));
    /// assert_eq!(Interpreter::new().run(a.concat_all_on::<1, _>([&b, &a, &b]))?.to_vec(), [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn concat_all_on<const AXIS: usize, X: IntoAcc<Array<Sh, E>>>(
        &self,
        others: impl IntoIterator<Item = X>,
    ) -> Self {
        let axis = const { position::<Sh>(AXIS) };
        let others = others.into_iter().map(X::into_acc);
        let arrays: Vec<Self> = std::iter::once(self.clone()).chain(others).collect();
        compose(&"concat", || {
            let extents: Vec<_> = arrays.iter().map(|xs| xs.extent().parts()).collect();
            // Where each array ends.
            let ends: Vec<Exp<i64>> = extents
                .iter()
                .scan(lift(0i64), |end, extents| {
                    *end += extents[axis];
                    Some(*end)
                })
                .collect();
            let least = |k: usize| extents.iter().skip(1).fold(extents[0][k], |n, extents| n.min(extents[k]));
            let last = ends.len() - 1;
            let shape = (0..Sh::RANK).map(|k| if k == axis { ends[last] } else { least(k) }).collect();
            generate(Parts(shape), |ix: Sh::Exp| {
                let ix = parts::<Sh>(ix);
                let read = |k: usize| {
                    let mut ix = ix.clone();
                    if k > 0 {
                        ix[axis] -= ends[k - 1];
                    }
                    element(&arrays[k], ix)
                };
                (0..last)
                    .rev()
                    .fold(read(last), |beyond, k| lift(ix[axis].lt(ends[k]).then_else::<E, _>(read(k), beyond)))
            })
        })
    }
}

// The innermost dimension.
impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The first `n` elements of each row; all of them if there are fewer, none if `n` is negative.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.take(2))?, Matrix::from([[1, 2], [4, 5]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn take<In: Shape>(&self, n: impl IxPart) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.take_at(Sh::RANK - 1, n)
    }

    /// The elements of each row in reverse order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.reverse())?, Matrix::from([[3, 2, 1], [6, 5, 4]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn reverse<In: Shape>(&self) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.reverse_at(Sh::RANK - 1)
    }

    /// All but the first `n` elements of each row; none if there are fewer, all if `n` is negative.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.drop(3))?.to_vec(), [4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn drop<In: Shape>(&self, n: impl IxPart) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.drop_at(Sh::RANK - 1, n)
    }

    /// `n` elements of each row after the first `start`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.slit(1, 2))?.to_vec(), [2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn slit<In: Shape>(&self, start: impl IxPart, n: impl IxPart) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.slit_at(Sh::RANK - 1, start, n)
    }

    /// All but the last element of each row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.init())?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn init<In: Shape>(&self) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.init_at(Sh::RANK - 1)
    }

    /// All but the first element of each row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.tail())?.to_vec(), [2, 3, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn tail<In: Shape>(&self) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.drop_at(Sh::RANK - 1, 1)
    }

    /// Two arrays joined along the innermost dimension; along the others the extent is the lesser of the two.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (a, b) = (Matrix::from([[0, 1], [2, 3]]), Matrix::from([[10], [11], [12]]));
    /// assert_eq!(Interpreter::new().run(use_(&a).concat(&b))?, Matrix::from([[0, 1, 10], [2, 3, 11]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn concat<In: Shape>(&self, other: impl IntoAcc<Array<Sh, E>>) -> Self
    where
        Sh: Reducible<Inner = In>,
    {
        self.concat_at(Sh::RANK - 1, other)
    }
}

#[track_caller]
fn element<Sh: Shape, E: Elt>(xs: &Acc<Array<Sh, E>>, ix: Vec<Exp<i64>>) -> Exp<E> {
    lift(xs.index(Parts(ix)))
}

impl<E: Elt> Acc<Matrix<E>> {
    /// Rows become columns.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.transpose())?, Matrix::from([[1, 4], [2, 5], [3, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn transpose(&self) -> Acc<Matrix<E>> {
        self.transpose_on::<1, 2>()
    }
}
