//! Scans along the innermost dimension.

use crate::api::types::acc::{closed_exp, fun2};
use crate::api::types::shape::{Parts, parts};
use crate::api::{Acc, Array, Elt, Exp, IntoExp, Reducible, Shape, lift};
use crate::builder::{AccOp, compose};
use crate::ir::{ArrayOp, Dir, Loc};

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Left scan from `init`: each row becomes one longer, starting with `init`, ending with the row's reduction.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.scanl(10, |a, b| a + b))?.to_vec(), [10, 11, 13, 16, 20]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanl<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.scan(Dir::Left, Some(init), f)
    }

    /// Inclusive left scan.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.scanl1(|a, b| a + b))?.to_vec(), [1, 3, 6, 10]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanl1<R: IntoExp<E>, In: Shape>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.scan(Dir::Left, None::<Exp<E>>, f)
    }

    /// Right scan from `init`: each row becomes one longer, ending with `init`, starting with the row's reduction.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.scanr(10, |a, b| a + b))?.to_vec(), [20, 19, 17, 14, 10]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanr<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.scan(Dir::Right, Some(init), f)
    }

    /// Inclusive right scan.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.scanr1(|a, b| a + b))?.to_vec(), [10, 9, 7, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanr1<R: IntoExp<E>, In: Shape>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.scan(Dir::Right, None::<Exp<E>>, f)
    }

    /// Exclusive left scan from `init`: `init` of [`scanl`](Acc::scanl).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.prescanl(0, |a, b| a + b))?.to_vec(), [0, 1, 3, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn prescanl<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.scanl(init, f).init()
    }

    /// Inclusive left scan from `init`: as [`scanl1`](Acc::scanl1), `init` combined with each element on the left.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.postscanl(10, |a, b| a + b))?.to_vec(), [11, 13, 16, 20]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn postscanl<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"postscanl", || {
            let (init, f) = (init.into_exp(), |a, b| Loc::of_user(|| f(a, b)));
            self.scanl1(f).map(|x| f(init.unlift(), x))
        })
    }

    /// Exclusive left scan from `init`, and the row's reduction beside it (Accelerate's `scanl'`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (before, total) = use_(&Vector::from([1, 2, 3])).scanl_with_total(10, |a, b| a + b);
    /// let (before, total) = Interpreter::new().run((before, total))?;
    /// assert_eq!((before.to_vec(), total.value()), (vec![10, 11, 13], 16));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanl_with_total<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> (Acc<Array<Sh, E>>, Acc<Array<In, E>>)
    where
        Sh: Reducible<Inner = In>,
    {
        let all = self.scanl(init, f);
        (all.init(), all.column(|n| n - 1))
    }

    /// Exclusive right scan from `init`: `tail` of [`scanr`](Acc::scanr).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.prescanr(0, |a, b| a + b))?.to_vec(), [9, 7, 4, 0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn prescanr<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.scanr(init, f).tail()
    }

    /// Inclusive right scan from `init`: as [`scanr1`](Acc::scanr1), `init` combined with each element on the right.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.postscanr(10, |a, b| a + b))?.to_vec(), [20, 19, 17, 14]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn postscanr<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl Fn(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"postscanr", || {
            let (init, f) = (init.into_exp(), |a, b| Loc::of_user(|| f(a, b)));
            self.scanr1(f).map(|x| f(x, init.unlift()))
        })
    }

    /// Exclusive right scan from `init`, and the row's reduction beside it (Accelerate's `scanr'`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (after, total) = use_(&Vector::from([1, 2, 3])).scanr_with_total(10, |a, b| a + b);
    /// let (after, total) = Interpreter::new().run((after, total))?;
    /// assert_eq!((after.to_vec(), total.value()), (vec![15, 13, 10], 16));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanr_with_total<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> (Acc<Array<Sh, E>>, Acc<Array<In, E>>)
    where
        Sh: Reducible<Inner = In>,
    {
        let all = self.scanr(init, f);
        (all.tail(), all.column(|_| lift(0i64)))
    }

    /// One element of each row, at a position that depends on their number.
    #[track_caller]
    fn column<In: Shape>(&self, at: impl FnOnce(Exp<i64>) -> Exp<i64>) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        compose(&"slice", || {
            let mut outer = self.extent().parts();
            let Some(n) = outer.pop() else { unreachable!("a shape of rank 1 or more has extents") };
            let at = at(n);
            self.backpermute(Parts(outer), |ix: In::Exp| {
                let mut ix = parts::<In>(ix);
                ix.push(at);
                Parts(ix)
            })
        })
    }

    #[track_caller]
    fn scan<R: IntoExp<E>>(
        &self,
        dir: Dir,
        init: Option<impl IntoExp<E>>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>> {
        let loc = Loc::caller();
        let init = init.map(|init| closed_exp(&loc, init));
        let f = fun2::<E, E, E, R>(&loc, f);
        Acc::new(AccOp::Op(ArrayOp::Scan { dir, f, init, xs: self.node.clone() }), loc)
    }
}
