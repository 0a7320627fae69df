//! Element-wise operations: map, zip, unzip.

use crate::api::{Acc, Array, Elt, Exp, IntoAcc, IntoExp, Shape};
use crate::builder::{self, AccOp, Frozen};
use crate::data::EltType;
use crate::ir::{ArrayOp, Loc};

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Applies a function to each element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f32, 2.0, 3.0]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * x + 1.0))?.to_vec(), [2.0, 5.0, 10.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn map<B: Elt, R: IntoExp<B>>(&self, f: impl FnOnce(E::Exp) -> R) -> Acc<Array<Sh, B>> {
        let loc = Loc::caller();
        let f = builder::lambda(vec![E::ty()], loc.clone(), |p| f(Exp::<E>::raw(p[0]).unlift()).into_exp().r);
        self.mapped(f, Vec::new(), false, loc)
    }

    /// Applies a function to each index and element.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([5i64, 5]));
    /// assert_eq!(Interpreter::new().run(xs.imap(|i, x| i * x))?.to_vec(), [0, 5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn imap<B: Elt, R: IntoExp<B>>(&self, f: impl FnOnce(Sh::Exp, E::Exp) -> R) -> Acc<Array<Sh, B>> {
        let loc = Loc::caller();
        let types = vec![EltType::index(Sh::RANK), E::ty()];
        let f = builder::lambda(types, loc.clone(), |p| {
            f(Sh::unlift_index(p[0]), Exp::<E>::raw(p[1]).unlift()).into_exp().r
        });
        self.mapped(f, Vec::new(), true, loc)
    }

    fn mapped<B: Elt>(&self, f: Frozen, more: Vec<builder::AccRef>, indexed: bool, loc: Loc) -> Acc<Array<Sh, B>> {
        let mut xs = vec![self.node.clone()];
        xs.extend(more);
        Acc::new(AccOp::Op(ArrayOp::Map { f, xs, indexed }), loc)
    }

    /// Applies a function to the elements of two arrays at each index of the intersection of their shapes.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, ys) = (use_(&Vector::from([1i32, 2, 3])), use_(&Vector::from([10i32, 20])));
    /// assert_eq!(Interpreter::new().run(xs.zip_with(&ys, |x, y| x + y))?.to_vec(), [11, 22]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn zip_with<B: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        f: impl FnOnce(E::Exp, B::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![E::ty(), B::ty()];
        let f = builder::lambda(types, loc.clone(), |p| {
            f(Exp::<E>::raw(p[0]).unlift(), Exp::<B>::raw(p[1]).unlift()).into_exp().r
        });
        self.mapped(f, vec![bs.into_acc().node], false, loc)
    }

    /// Applies a function to the index and the elements of two arrays, on the intersection of their shapes.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, ys) = (use_(&Vector::from([1i64, 2])), use_(&Vector::from([10i64, 20])));
    /// assert_eq!(Interpreter::new().run(xs.izip_with(&ys, |i, x, y| i + x * y))?.to_vec(), [10, 41]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn izip_with<B: Elt, X: Elt, R: IntoExp<X>>(
        &self,
        bs: impl IntoAcc<Array<Sh, B>>,
        f: impl FnOnce(Sh::Exp, E::Exp, B::Exp) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let types = vec![EltType::index(Sh::RANK), E::ty(), B::ty()];
        let f = builder::lambda(types, loc.clone(), |p| {
            f(Sh::unlift_index(p[0]), Exp::<E>::raw(p[1]).unlift(), Exp::<B>::raw(p[2]).unlift()).into_exp().r
        });
        self.mapped(f, vec![bs.into_acc().node], true, loc)
    }

    /// The pairs of the elements of two arrays, on the intersection of their shapes.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, ys) = (use_(&Vector::from([1i32, 2])), use_(&Vector::from([true, false])));
    /// assert_eq!(Interpreter::new().run(xs.zip(&ys))?.to_vec(), [(1, true), (2, false)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn zip<B: Elt>(&self, bs: impl IntoAcc<Array<Sh, B>>) -> Acc<Array<Sh, (E, B)>> {
        self.zip_with(bs, |a, b| (a, b))
    }

    /// Each element with its index.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([7i32, 8]));
    /// assert_eq!(Interpreter::new().run(xs.indexed())?.to_vec(), [(0, 7), (1, 8)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn indexed<I: Elt>(&self) -> Acc<Array<Sh, (I, E)>>
    where
        Sh::Exp: IntoExp<I>,
    {
        self.imap(|ix, x| (ix, x))
    }
}

/// The operations on three arrays and more (those on two are written out, for the messages of rustc): the array itself, and the others with their element types and the positions of their
/// elements among the parameters, without and with an index before them.
macro_rules! zips {
    ($n:literal $zip_with:ident $izip_with:ident $zip:ident; $($X:ident $x:ident $i:tt $j:tt),*) => {
        impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
            #[doc = concat!("Applies a function to the elements of ", $n, " arrays at each index of the intersection of their shapes.")]
            ///
            /// ```
            /// use acc_core::prelude::*;
            #[doc = concat!("let [x", $(", ", stringify!($x),)* "] = [0", $(", ", $i,)* "].map(|n| use_(&Vector::from([n, -n])));")]
            #[doc = concat!("let sums = x.", stringify!($zip_with), "(", $("&", stringify!($x), ", ",)* "|x", $(", ", stringify!($x),)* "| x", $(" + ", stringify!($x),)* ");")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(sums)?.to_vec(), [0", $(" + ", $i,)* ", 0", $(" - ", $i,)* "]);")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            #[allow(clippy::too_many_arguments, reason = "one for each array")]
            pub fn $zip_with<$($X: Elt,)* Z: Elt, R: IntoExp<Z>>(
                &self,
                $($x: impl IntoAcc<Array<Sh, $X>>,)*
                f: impl FnOnce(E::Exp, $($X::Exp),*) -> R,
            ) -> Acc<Array<Sh, Z>> {
                let loc = Loc::caller();
                let f = builder::lambda(vec![E::ty(), $($X::ty()),*], loc.clone(), |p| {
                    f(Exp::<E>::raw(p[0]).unlift(), $(Exp::<$X>::raw(p[$i]).unlift()),*).into_exp().r
                });
                self.mapped(f, vec![$($x.into_acc().node),*], false, loc)
            }

            #[doc = concat!("Applies a function to the index and the elements of ", $n, " arrays, on the intersection of their shapes.")]
            ///
            /// ```
            /// use acc_core::prelude::*;
            #[doc = concat!("let [x", $(", ", stringify!($x),)* "] = [0i64", $(", ", $i,)* "].map(|n| use_(&Vector::from([n, -n])));")]
            #[doc = concat!("let sums = x.", stringify!($izip_with), "(", $("&", stringify!($x), ", ",)* "|i, x", $(", ", stringify!($x),)* "| i + x", $(" + ", stringify!($x),)* ");")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(sums)?.to_vec(), [0", $(" + ", $i,)* ", 1", $(" - ", $i,)* "]);")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            #[allow(clippy::too_many_arguments, reason = "one for each array")]
            pub fn $izip_with<$($X: Elt,)* Z: Elt, R: IntoExp<Z>>(
                &self,
                $($x: impl IntoAcc<Array<Sh, $X>>,)*
                f: impl FnOnce(Sh::Exp, E::Exp, $($X::Exp),*) -> R,
            ) -> Acc<Array<Sh, Z>> {
                let loc = Loc::caller();
                let f = builder::lambda(vec![EltType::index(Sh::RANK), E::ty(), $($X::ty()),*], loc.clone(), |p| {
                    let index = Sh::unlift_index(p[0]);
                    f(index, Exp::<E>::raw(p[1]).unlift(), $(Exp::<$X>::raw(p[$j]).unlift()),*).into_exp().r
                });
                self.mapped(f, vec![$($x.into_acc().node),*], true, loc)
            }

            #[doc = concat!("The tuples of the elements of ", $n, " arrays, on the intersection of their shapes.")]
            ///
            /// ```
            /// use acc_core::prelude::*;
            #[doc = concat!("let [x", $(", ", stringify!($x),)* "] = [0", $(", ", $i,)* "].map(|n| use_(&Vector::from([n, -n])));")]
            #[doc = concat!("let tuples = x.", stringify!($zip), "(", $("&", stringify!($x), ", ",)* ");")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(tuples)?.to_vec(), [(0", $(", ", $i,)* "), (0", $(", -", $i,)* ")]);")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            #[allow(clippy::too_many_arguments, reason = "one for each array")]
            pub fn $zip<$($X: Elt),*>(&self, $($x: impl IntoAcc<Array<Sh, $X>>),*) -> Acc<Array<Sh, (E, $($X),*)>> {
                self.$zip_with($($x,)* |e, $($x),*| (e, $($x),*))
            }
        }
    };
}
zips!(3 zip_with3 izip_with3 zip3; A a 1 2, B b 2 3);
zips!(4 zip_with4 izip_with4 zip4; A a 1 2, B b 2 3, C c 3 4);
zips!(5 zip_with5 izip_with5 zip5; A a 1 2, B b 2 3, C c 3 4, D d 4 5);
zips!(6 zip_with6 izip_with6 zip6; A a 1 2, B b 2 3, C c 3 4, D d 4 5, F g 5 6);
zips!(7 zip_with7 izip_with7 zip7; A a 1 2, B b 2 3, C c 3 4, D d 4 5, F g 5 6, G h 6 7);
zips!(8 zip_with8 izip_with8 zip8; A a 1 2, B b 2 3, C c 3 4, D d 4 5, F g 5 6, G h 6 7, H k 7 8);
zips!(9 zip_with9 izip_with9 zip9; A a 1 2, B b 2 3, C c 3 4, D d 4 5, F g 5 6, G h 6 7, H k 7 8, I l 8 9);

macro_rules! unzips {
    ($($unzip:ident: $($A:ident $i:tt),*;)*) => { $(
        impl<Sh: Shape, $($A: Elt),*> Acc<Array<Sh, ($($A,)*)>> {
            /// The components as arrays of their own.
            ///
            /// ```
            /// use acc_core::prelude::*;
            #[doc = concat!("let tuples = use_(&Vector::from([", stringify!(($($i),*)), "; 5]));")]
            #[doc = concat!("let components = Interpreter::new().run(tuples.", stringify!($unzip), "())?;")]
            /// assert_eq!((components.0.to_vec(), components.1.to_vec()), (vec![0; 5], vec![1; 5]));
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            pub fn $unzip(&self) -> ($(Acc<Array<Sh, $A>>,)*) {
                ($(self.map(|t| t.$i),)*)
            }
        }
    )* };
}
unzips! {
    unzip: A 0, B 1;
    unzip3: A 0, B 1, C 2;
    unzip4: A 0, B 1, C 2, D 3;
    unzip5: A 0, B 1, C 2, D 3, E 4;
    unzip6: A 0, B 1, C 2, D 3, E 4, F 5;
    unzip7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    unzip8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    unzip9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
}
