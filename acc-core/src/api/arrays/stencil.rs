//! Stencils: maps over a fixed neighbourhood of each element.

use crate::api::types::acc::{closed_ix, fun_ix};
use crate::api::{Acc, Array, DIM1, DIM2, DIM3, Elt, Exp, IntoAcc, IntoExp, Reducible, Shape, constant};
use crate::builder::{self, AccOp, AccRef, AccType, Building, ExpRef, Frozen};
use crate::data::{EltType, unlinear_index};
use crate::ir::{ArrayOp, Boundary, Loc, StencilInput};
use std::ops::Index;

/// What a stencil reads beyond the edges, each dimension handled on its own.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2, 3]));
/// let left = |edge| xs.stencil(edge, |s: Stencil3<i32>| s[-1]);
/// assert_eq!(Interpreter::new().run(left(Edge::Clamp))?.to_vec(), [1, 1, 2]);
/// assert_eq!(Interpreter::new().run(left(Edge::Mirror))?.to_vec(), [2, 1, 2]);
/// assert_eq!(Interpreter::new().run(left(Edge::Wrap))?.to_vec(), [3, 1, 2]);
/// assert_eq!(Interpreter::new().run(left(Edge::Constant(0)))?.to_vec(), [0, 1, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Edge<E> {
    /// The nearest element.
    Clamp,
    /// Reflected about the edge element, which is not repeated. The extent must be greater than the window's radius.
    Mirror,
    /// From the other side. The extent must be at least the window's radius.
    Wrap,
    /// This value.
    Constant(E),
    /// A function of the true, out-of-range index. [`Acc::outside`] makes it, as it knows the type of the index:
    /// `xs.stencil(xs.outside(|i| i.to::<f32>()), ..)`.
    Function(EdgeFunction), // made by `xs.outside(|i| ..)`
}

/// A function of an index, made by [`Acc::outside`].
#[derive(Clone, Debug)]
pub struct EdgeFunction(Frozen);

/// A neighbourhood in an array of shape `Sh` and element type `E`: what a stencil's closure receives.
///
/// ```
/// use acc_core::prelude::*;
/// fn blurred<S: Stencil<DIM1, f32>>(xs: &Acc<Vector<f32>>, weigh: impl FnOnce(S) -> Exp<f32>) -> Acc<Vector<f32>> {
///     xs.stencil(Edge::Clamp, weigh)
/// }
/// let xs = use_(&Vector::from([0.0, 4.0, 0.0]));
/// let ys = blurred(&xs, |s: Stencil3<f32>| (s[-1] + s[0] * 2.0 + s[1]) / 4.0);
/// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [1.0, 2.0, 1.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stencil over a {Sh} array of `{E}`",
    note = "annotate the closure argument: `|s: Stencil3<f32>|` for vectors, `|s: Stencil3x3<f32>|` for matrices"
)]
pub trait Stencil<Sh, E: Elt>: Sized {
    /// The extents, outermost first; all odd.
    fn extent() -> Vec<usize>;
    /// From the elements in row-major order.
    fn from_exps(elements: &[E::Exp]) -> Self;
}

/// A window of a vector, `W` wide: `s[-1]`, `s[0]`, `s[1]`, or `Window1([l, c, r])` as a pattern.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2, 4]));
/// let differences = xs.stencil(Edge::Clamp, |Window1([left, _, right]): Stencil3<i32>| right - left);
/// assert_eq!(Interpreter::new().run(differences)?.to_vec(), [1, 3, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Window1<E: Elt, const W: usize>(pub [E::Exp; W]);
/// A window of a matrix, `H` rows of `W`: `s[(-1, 0)]` is the element above, or an array pattern.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2], [3, 4]]));
/// let above = m.stencil(Edge::Constant(0), |s: Stencil3x3<i32>| s[(-1, 0)]);
/// assert_eq!(Interpreter::new().run(above)?, Matrix::from([[0, 0], [1, 2]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Window2<E: Elt, const H: usize, const W: usize>(pub [[E::Exp; W]; H]);
/// A window of an array of rank 3, `D` planes of `H` rows of `W`: `s[(0, -1, 0)]`, or an array pattern.
///
/// ```
/// use acc_core::prelude::*;
/// let cube = fill((3, 3, 3), 1);
/// let sums = cube.stencil(Edge::Constant(0), |s: Stencil3x3x3<i32>| {
///     s.0.into_iter().flatten().flatten().sum::<Exp<i32>>()
/// });
/// let sums = Interpreter::new().run(sums)?;
/// assert_eq!((sums.get((0, 0, 0)), sums.get((1, 1, 1))), (Some(8), Some(27)));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Window3<E: Elt, const D: usize, const H: usize, const W: usize>(pub [[[E::Exp; W]; H]; D]);

macro_rules! windows {
    ($($(#[doc = $doc:literal])* $Name:ident = $Window:ident<$($n:literal),*>;)*) => {
        $($(#[doc = $doc])* pub type $Name<E> = $Window<E, $($n),*>;)*
    };
}
windows! {
    /// 3 wide.
    Stencil3 = Window1<3>;
    /// 5 wide.
    Stencil5 = Window1<5>;
    /// 7 wide.
    Stencil7 = Window1<7>;
    /// 9 wide.
    Stencil9 = Window1<9>;
    /// 3 rows of 3.
    Stencil3x3 = Window2<3, 3>;
    /// 5 rows of 3.
    Stencil3x5 = Window2<5, 3>;
    /// 7 rows of 3.
    Stencil3x7 = Window2<7, 3>;
    /// 9 rows of 3.
    Stencil3x9 = Window2<9, 3>;
    /// 3 rows of 5 (the first number is the innermost extent, as in Accelerate).
    Stencil5x3 = Window2<3, 5>;
    /// 5 rows of 5.
    Stencil5x5 = Window2<5, 5>;
    /// 7 rows of 5.
    Stencil5x7 = Window2<7, 5>;
    /// 9 rows of 5.
    Stencil5x9 = Window2<9, 5>;
    /// 3 rows of 7.
    Stencil7x3 = Window2<3, 7>;
    /// 5 rows of 7.
    Stencil7x5 = Window2<5, 7>;
    /// 7 rows of 7.
    Stencil7x7 = Window2<7, 7>;
    /// 9 rows of 7.
    Stencil7x9 = Window2<9, 7>;
    /// 3 rows of 9.
    Stencil9x3 = Window2<3, 9>;
    /// 5 rows of 9.
    Stencil9x5 = Window2<5, 9>;
    /// 7 rows of 9.
    Stencil9x7 = Window2<7, 9>;
    /// 9 rows of 9.
    Stencil9x9 = Window2<9, 9>;
    /// 3 planes of 3 rows of 3.
    Stencil3x3x3 = Window3<3, 3, 3>;
    /// 5 planes of 3 rows of 3.
    Stencil3x3x5 = Window3<5, 3, 3>;
    /// 3 planes of 5 rows of 3.
    Stencil3x5x3 = Window3<3, 5, 3>;
    /// 5 planes of 5 rows of 3.
    Stencil3x5x5 = Window3<5, 5, 3>;
    /// 3 planes of 3 rows of 5.
    Stencil5x3x3 = Window3<3, 3, 5>;
    /// 5 planes of 3 rows of 5.
    Stencil5x3x5 = Window3<5, 3, 5>;
    /// 3 planes of 5 rows of 5.
    Stencil5x5x3 = Window3<3, 5, 5>;
    /// 5 planes of 5 rows of 5.
    Stencil5x5x5 = Window3<5, 5, 5>;
}

/// Windows have a centre: even extents do not compile.
const fn odd(n: usize) -> usize {
    assert!(n % 2 == 1, "the extents of a stencil's window are odd");
    n
}

impl<E: Elt, const W: usize> Stencil<DIM1, E> for Window1<E, W> {
    fn extent() -> Vec<usize> {
        vec![const { odd(W) }]
    }
    fn from_exps(e: &[E::Exp]) -> Self {
        Window1(std::array::from_fn(|i| e[i]))
    }
}
impl<E: Elt, const H: usize, const W: usize> Stencil<DIM2, E> for Window2<E, H, W> {
    fn extent() -> Vec<usize> {
        const { [odd(H), odd(W)] }.to_vec()
    }
    fn from_exps(e: &[E::Exp]) -> Self {
        Window2(std::array::from_fn(|i| std::array::from_fn(|j| e[i * W + j])))
    }
}
impl<E: Elt, const D: usize, const H: usize, const W: usize> Stencil<DIM3, E> for Window3<E, D, H, W> {
    fn extent() -> Vec<usize> {
        const { [odd(D), odd(H), odd(W)] }.to_vec()
    }
    fn from_exps(e: &[E::Exp]) -> Self {
        Window3(std::array::from_fn(|i| std::array::from_fn(|j| std::array::from_fn(|k| e[(i * H + j) * W + k]))))
    }
}

/// Ragged windows: 3, 5, 7 or 9 windows of one rank less, which may differ in their extents.
macro_rules! ragged {
    ($n:literal: $($S:ident $i:tt),*) => {
        impl<Sh: Reducible, E: Elt, $($S: Stencil<Sh::Inner, E>),*> Stencil<Sh, E> for ($($S,)*) {
            fn extent() -> Vec<usize> {
                let mut widest = vec![1; Sh::RANK - 1];
                $(widest.iter_mut().zip($S::extent()).for_each(|(w, e)| *w = e.max(*w));)*
                widest.insert(0, $n);
                widest
            }
            fn from_exps(e: &[E::Exp]) -> Self {
                let widest = &<Self as Stencil<Sh, E>>::extent()[1..];
                let size = widest.iter().product::<usize>();
                ($($S::from_exps(&middle(&e[$i * size..][..size], widest, &$S::extent())),)*)
            }
        }
    };
}
ragged!(3: A 0, B 1, C 2);
ragged!(5: A 0, B 1, C 2, D 3, F 4);
ragged!(7: A 0, B 1, C 2, D 3, F 4, G 5, H 6);
ragged!(9: A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8);

/// The elements of a window about the centre of a larger one, in row-major order.
fn middle<T: Copy>(elements: &[T], larger: &[usize], window: &[usize]) -> Vec<T> {
    let inside = |k: &usize| {
        let at = unlinear_index(larger, *k);
        at.iter()
            .zip(larger.iter().zip(window))
            .all(|(&i, (&l, &w))| (l - w) / 2 <= i as usize && (i as usize) < (l + w) / 2)
    };
    (0..elements.len()).filter(inside).map(|k| elements[k]).collect()
}

/// The position of an offset in a window; like a slice index, an offset outside of it panics while the program is built.
#[track_caller]
fn at(offset: i32, width: usize) -> usize {
    let k = i64::from(offset) + (width / 2) as i64;
    assert!((0..width as i64).contains(&k), "stencil offset {offset} outside a window of extent {width}");
    k as usize
}

impl<E: Elt, const W: usize> Index<i32> for Window1<E, W> {
    type Output = E::Exp;
    #[track_caller]
    fn index(&self, i: i32) -> &E::Exp {
        &self.0[at(i, W)]
    }
}
impl<E: Elt, const H: usize, const W: usize> Index<(i32, i32)> for Window2<E, H, W> {
    type Output = E::Exp;
    #[track_caller]
    fn index(&self, (i, j): (i32, i32)) -> &E::Exp {
        &self.0[at(i, H)][at(j, W)]
    }
}
impl<E: Elt, const D: usize, const H: usize, const W: usize> Index<(i32, i32, i32)> for Window3<E, D, H, W> {
    type Output = E::Exp;
    #[track_caller]
    fn index(&self, (i, j, k): (i32, i32, i32)) -> &E::Exp {
        &self.0[at(i, D)][at(j, H)][at(k, W)]
    }
}

/// A window of a stencil's parameters.
fn window<Sh, E: Elt, S: Stencil<Sh, E>>(params: &[ExpRef]) -> S {
    let elements: Vec<E::Exp> = params.iter().map(|r| Exp::<E>::raw(*r).unlift()).collect();
    S::from_exps(&elements)
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Maps a neighbourhood of each element; the result has the array's shape.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// let sums = xs.stencil(Edge::Clamp, |s: Stencil3<i32>| s[-1] + s[0] + s[1]);
    /// assert_eq!(Interpreter::new().run(sums)?.to_vec(), [4, 6, 8]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn stencil<S: Stencil<Sh, E>, B: Elt, R: IntoExp<B>>(
        &self,
        edge: Edge<E>,
        f: impl FnOnce(S) -> R,
    ) -> Acc<Array<Sh, B>> {
        let loc = Loc::caller();
        let n: usize = S::extent().iter().product();
        let f = builder::lambda(vec![E::ty(); n], loc.clone(), |p| f(window::<Sh, E, S>(p)).into_exp().r);
        Acc::new(AccOp::Op(ArrayOp::Stencil { f, inputs: vec![self.input::<S>(edge, &loc)] }), loc)
    }

    /// Maps the index and a neighbourhood of each element; the result has the array's shape.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i64, 2, 3]));
    /// let ys = xs.istencil(Edge::Clamp, |i, s: Stencil3<i64>| i.eq(0).then_else(s[1], s[-1] + i * 10));
    /// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [2, 11, 22]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn istencil<S: Stencil<Sh, E>, B: Elt, R: IntoExp<B>>(
        &self,
        edge: Edge<E>,
        f: impl FnOnce(Sh::Exp, S) -> R,
    ) -> Acc<Array<Sh, B>> {
        let loc = Loc::caller();
        let n: usize = S::extent().iter().product();
        let mut types = vec![E::ty(); n];
        types.push(EltType::index(Sh::RANK));
        let f = builder::lambda(types, loc.clone(), |p| {
            f(Sh::unlift_index(p[n]), window::<Sh, E, S>(&p[..n])).into_exp().r
        });
        // Beside the array its indices, of which a window of one is read.
        let indices = ArrayOp::Generate {
            shape: closed_ix::<Sh>(&loc, self.extent()),
            f: builder::lambda(vec![EltType::index(Sh::RANK)], loc.clone(), |p| p[0]),
        };
        let ty = AccType::array(Sh::RANK, EltType::index(Sh::RANK));
        let xs = AccRef::new(AccOp::Op(indices), ty, loc.clone());
        let indices = StencilInput { xs, window: vec![1; Sh::RANK], boundary: Boundary::Clamp };
        Acc::new(AccOp::Op(ArrayOp::Stencil { f, inputs: vec![self.input::<S>(edge, &loc), indices] }), loc)
    }

    /// Maps a neighbourhood of each element of two arrays, on the intersection of their shapes. Each array has its own
    /// window and edge, which is where that array ends.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (xs, ys) = (use_(&Vector::from([1, 2, 3, 4])), Vector::from([10, 20, 30]));
    /// let both = xs.stencil2(Edge::Clamp, &ys, Edge::Wrap, |x: Stencil3<i32>, y: Stencil3<i32>| x[-1] + y[1]);
    /// assert_eq!(Interpreter::new().run(both)?.to_vec(), [21, 31, 12]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn stencil2<S: Stencil<Sh, E>, B: Elt, T: Stencil<Sh, B>, X: Elt, R: IntoExp<X>>(
        &self,
        edge: Edge<E>,
        other: impl IntoAcc<Array<Sh, B>>,
        other_edge: Edge<B>,
        f: impl FnOnce(S, T) -> R,
    ) -> Acc<Array<Sh, X>> {
        let loc = Loc::caller();
        let other = other.into_acc();
        let [n, m] = [S::extent(), T::extent()].map(|e| e.iter().product::<usize>());
        let mut types = vec![E::ty(); n];
        types.extend(vec![B::ty(); m]);
        let f = builder::lambda(types, loc.clone(), |p| {
            f(window::<Sh, E, S>(&p[..n]), window::<Sh, B, T>(&p[n..])).into_exp().r
        });
        let inputs = vec![self.input::<S>(edge, &loc), other.input::<T>(other_edge, &loc)];
        Acc::new(AccOp::Op(ArrayOp::Stencil { f, inputs }), loc)
    }

    fn input<S: Stencil<Sh, E>>(&self, edge: Edge<E>, loc: &Loc) -> StencilInput<Building> {
        let boundary = match edge {
            Edge::Clamp => Boundary::Clamp,
            Edge::Mirror => Boundary::Mirror,
            Edge::Wrap => Boundary::Wrap,
            Edge::Constant(x) => Boundary::Function(fun_ix::<Sh, E, Exp<E>>(loc, |_| constant(x))),
            Edge::Function(EdgeFunction(f)) => Boundary::Function(f),
        };
        StencilInput { xs: self.node.clone(), window: S::extent(), boundary }
    }

    /// An edge for stencils over arrays of this shape and element type: outside the array, a function of the true,
    /// out-of-range index.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i64, 2, 3]));
    /// let left = xs.stencil(xs.outside(|i| i * 100), |s: Stencil3<i64>| s[-1]);
    /// assert_eq!(Interpreter::new().run(left)?.to_vec(), [-100, 1, 2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn outside<R: IntoExp<E>>(&self, f: impl FnOnce(Sh::Exp) -> R) -> Edge<E> {
        Edge::Function(EdgeFunction(fun_ix::<Sh, E, R>(&Loc::caller(), f)))
    }
}
