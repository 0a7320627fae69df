//! Sorting along the innermost dimension, and what sorting serves.
//!
//! Elements are ordered by their scalar leaves, the first leaf first: tuples and structs lexicographically, `None`
//! before `Some`. Floats are ordered by value, with zeros of either sign equal, and every NaN after all numbers. All
//! sorts are stable.

use crate::api::types::shape::with_innermost;
use crate::api::{Acc, Array, Elt, Exp, IntoAcc, IntoExp, Reducible, Shape, Vector, constant, generate, lift};
use crate::builder::{self, AccOp, ExpRef, compose};
use crate::data::{EltType, ScalarType};
use crate::ir::{ArrayOp, Loc, PrimOp};

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The positions that sort each row: element `k` of a sorted row is the row's element at position `k` of the
    /// result. Ascending.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3.5, f64::NAN, -1.0]));
    /// assert_eq!(Interpreter::new().run(xs.argsort())?.to_vec(), [2, 0, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort<In: Shape>(&self) -> Acc<Array<Sh, i64>>
    where
        Sh: Reducible<Inner = In>,
    {
        Acc::new(AccOp::Op(ArrayOp::Argsort { xs: self.node.clone() }), Loc::caller())
    }

    /// The positions that sort each row in descending order. Elements that are equal keep their order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 1, 2]));
    /// assert_eq!(Interpreter::new().run(xs.argsort_descending())?.to_vec(), [0, 2, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort_descending<In: Shape>(&self) -> Acc<Array<Sh, i64>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"argsort_descending", || {
            // What is sorted in ascending order is the row reversed, so that reversing again restores the order of
            // equal elements.
            let last = self.extent().parts()[Sh::RANK - 1] - 1;
            let order = self.reverse().argsort();
            order.reverse().map(|k| last - k)
        })
    }

    /// Each row sorted in ascending order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[3, 1, 2], [6, 4, 5]]));
    /// assert_eq!(Interpreter::new().run(m.sort())?, Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sort<In: Shape>(&self) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"sort", || self.ordered(&self.argsort()))
    }

    /// Each row sorted in descending order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 1, 2]));
    /// assert_eq!(Interpreter::new().run(xs.sort_descending())?.to_vec(), [3, 2, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_descending<In: Shape>(&self) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        // As for positions, see there.
        compose(&"sort_descending", || self.reverse().sort().reverse())
    }

    /// Each row sorted by a key in ascending order. Elements with equal keys keep their order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs: Vector<(i32, char)> = [(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')].into_iter().collect();
    /// let sorted = Interpreter::new().run(use_(&xs).sort_by_key(|(key, _)| key))?;
    /// assert_eq!(sorted.to_vec(), [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_by_key<K: Elt, R: IntoExp<K>, In: Shape>(&self, key: impl FnOnce(E::Exp) -> R) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let keys: Acc<Array<Sh, K>> = self.map(key);
        compose(&"sort_by_key", || self.ordered(&keys.argsort()))
    }

    /// The elements at these positions of their rows.
    #[track_caller]
    fn ordered<In: Shape>(&self, order: &Acc<Array<Sh, i64>>) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.backpermute(order.extent(), |ix: Sh::Exp| with_innermost::<Sh>(ix, order.index(ix)))
    }
}

/// Whether two elements are equal in the order of sorting: every NaN equals every NaN.
#[track_caller]
fn same<E: Elt>(a: Exp<E>, b: Exp<E>) -> Exp<bool> {
    fn go(ty: &EltType, a: ExpRef, b: ExpRef, out: &mut Vec<Exp<bool>>, loc: &Loc) {
        let prim = |p: PrimOp, args: &[ExpRef], ty| builder::prim(p, args, ty, loc);
        match ty {
            EltType::Scalar(s) => {
                let equal = Exp::raw(prim(PrimOp::EqP, &[a, b], ScalarType::Bool));
                out.push(if s.is_float() {
                    let nan = [a, b].map(|x| Exp::<bool>::raw(prim(PrimOp::IsNanP, &[x], ScalarType::Bool)));
                    equal | (nan[0] & nan[1])
                } else {
                    equal
                });
            }
            EltType::Tuple(parts) => {
                for (k, part) in parts.iter().enumerate() {
                    let [a, b] = [a, b].map(|x| builder::proj(x, k as u32, part.clone(), loc));
                    go(part, a, b, out, loc);
                }
            }
        }
    }
    let mut equal = Vec::new();
    go(&E::ty(), a.r, b.r, &mut equal, &Loc::caller());
    equal.into_iter().reduce(|a, b| a & b).unwrap_or_else(|| constant(true))
}

/// Runs of neighbours that are equal: the first of each, and their lengths.
#[track_caller]
fn runs<K: Elt>(keys: &Acc<Vector<K>>) -> (Acc<Vector<K>>, Acc<Vector<i64>>) {
    let first = keys.imap(|i: Exp<i64>, key| i.eq(0).or(!same::<K>(lift(key), lift(keys.index(i - 1)))));
    let positions = generate(keys.length(), |i: Exp<i64>| i).compact(&first);
    let lengths = positions.imap(|k: Exp<i64>, start| {
        let next = k + 1;
        next.lt(positions.length()).then_else(positions.index(next), keys.length()) - start
    });
    (keys.gather(&positions), lengths)
}

impl<E: Elt> Acc<Vector<E>> {
    /// The distinct elements in ascending order. All NaNs are one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3, 1, 3, 2, 1]));
    /// assert_eq!(Interpreter::new().run(xs.unique())?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn unique(&self) -> Acc<Vector<E>> {
        self.unique_counts().0
    }

    /// The distinct elements in ascending order, and how often each occurs.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 1, 3]));
    /// let (distinct, counts) = Interpreter::new().run(xs.unique_counts())?;
    /// assert_eq!((distinct.to_vec(), counts.to_vec()), (vec![1, 3], vec![1, 2]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_counts(&self) -> (Acc<Vector<E>>, Acc<Vector<i64>>) {
        compose(&"unique_counts", || runs(&self.sort()))
    }

    /// The distinct keys in ascending order, and beside each the reduction of its values, in their order, by an
    /// associative function. Equal keys need not be adjacent; the array of values and that of keys are paired as by
    /// [`zip`](Acc::zip).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (keys, values) = (Vector::from([2, 1, 2, 1]), Vector::from([10, 20, 30, 40]));
    /// let (keys, sums) = Interpreter::new().run(use_(&values).reduce_by_key(&keys, |a, b| a + b))?;
    /// assert_eq!((keys.to_vec(), sums.to_vec()), (vec![1, 2], vec![60, 40]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_by_key<K: Elt, R: IntoExp<E>>(
        &self,
        keys: impl IntoAcc<Vector<K>>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> (Acc<Vector<K>>, Acc<Vector<E>>) {
        let keys = keys.into_acc();
        compose(&"reduce_by_key", || {
            let keys = keys.take(self.length());
            let order = keys.argsort();
            let (distinct, lengths) = runs(&keys.gather(&order));
            let values = self.gather(&order);
            (distinct, values.fold1_seg(&lengths, |a, b| Loc::of_user(|| f(a, b))))
        })
    }
}
