//! Monoids, folds that combine, functors.

use crate::cases::{Case, case};
use acc_core::prelude::*;
use std::cmp::Ordering;

pub fn cases() -> Vec<Case> {
    [monoids(), folds(), functors()].concat()
}

/// Puts every element of a vector together.
fn mconcat<T: Monoid>(xs: &Vector<T>) -> Acc<Scalar<T>> {
    use_(xs).fold(mempty::<T>(), |a, b| lift::<T>(a).mappend(lift::<T>(b)))
}

fn vector<E: Elt>(elements: impl IntoIterator<Item = E>) -> Vector<E> {
    elements.into_iter().collect()
}

fn monoids() -> Vec<Case> {
    vec![
        case("monoid/Sum", "MON-04 MON-01 MON-03", |t| {
            t.gives(mconcat(&vector([Sum(1), Sum(2), Sum(3)])), Scalar::scalar(Sum(6)));
            t.gives(mconcat(&vector::<Sum<i32>>([])), Scalar::scalar(Sum(0)));
            t.maps(|x: Exp<i32>| sum_(x).mappend(sum_(10)).get_sum(), &[(1, 11)]);
        }),
        case("monoid/Product", "MON-05 MON-01", |t| {
            t.gives(mconcat(&vector([Product(2), Product(3), Product(4)])), Scalar::scalar(Product(24)));
            t.gives(mconcat(&vector::<Product<u8>>([])), Scalar::scalar(Product(1)));
            t.maps(|x: Exp<i32>| product_(x).mappend(product_(10)).get_product(), &[(3, 30)]);
        }),
        case("monoid/Min", "MON-06 MON-01", |t| {
            t.gives(mconcat(&vector([Min(3), Min(-2), Min(4)])), Scalar::scalar(Min(-2)));
            t.gives(mconcat(&vector::<Min<i32>>([])), Scalar::scalar(Min(i32::MAX)));
            t.gives(mconcat(&vector::<Min<f32>>([])), Scalar::scalar(Min(f32::INFINITY)));
            t.maps(|x: Exp<i32>| min_(x).mappend(min_(10)).get_min(), &[(3, 3), (30, 10)]);
        }),
        case("monoid/Max", "MON-07 MON-01", |t| {
            t.gives(mconcat(&vector([Max(3), Max(-2), Max(4)])), Scalar::scalar(Max(4)));
            t.gives(mconcat(&vector::<Max<i32>>([])), Scalar::scalar(Max(i32::MIN)));
            t.maps(|x: Exp<i32>| max_(x).mappend(max_(10)).get_max(), &[(3, 10), (30, 30)]);
        }),
        case("monoid/wrapped-numbers", "MON-04 MON-05 MON-06 MON-07 BUG-04", |t| {
            t.maps(|x: Exp<Sum<i32>>| x * x - Sum(1), &[(Sum(3), Sum(8))]);
            t.maps(|x: Exp<Product<f32>>| -x / Product(2.0), &[(Product(3.0), Product(-1.5))]);
            t.maps(|x: Exp<Sum<i32>>| x.abs(), &[(Sum(-3), Sum(3)), (Sum(3), Sum(3)), (Sum(0), Sum(0))]);
            t.maps(|x: Exp<Max<i32>>| x.abs(), &[(Max(-3), Max(3))]);
            t.maps(|x: Exp<Min<i32>>| x.signum(), &[(Min(-3), Min(-1)), (Min(7), Min(1))]);
        }),
        case("monoid/tuples-and-unit", "MON-01 MON-02 MON-03", |t| {
            t.gives(mconcat(&vector([(Sum(1), Max(5)), (Sum(2), Max(3))])), Scalar::scalar((Sum(3), Max(5))));
            t.gives(mconcat(&vector::<(Sum<i32>, Product<i32>)>([])), Scalar::scalar((Sum(0), Product(1))));
            t.gives(mconcat(&vector([(), ()])), Scalar::scalar(()));
        }),
        case("monoid/E-TY-17-Maybe", "MON-02 MON-03 E-TY-17 BUG-11 NOFIB-517", |t| {
            t.maps2(
                |a: Exp<Option<Sum<i32>>>, b: Exp<Option<Sum<i32>>>| a.mappend(b),
                &[
                    (Some(Sum(1)), Some(Sum(2)), Some(Sum(3))),
                    (Some(Sum(1)), None, Some(Sum(1))),
                    (None, Some(Sum(2)), Some(Sum(2))),
                    (None, None, None),
                ],
            );
            t.gives(mconcat(&vector::<Option<Max<i32>>>([])), Scalar::scalar(None));
        }),
        case("monoid/Either-and-Ordering", "MON-02 MON-03", |t| {
            use Either::{Left, Right};
            t.maps2(
                |a: Exp<Either<i32, char>>, b: Exp<Either<i32, char>>| a.mappend(b),
                &[
                    (Left(1), Left(2), Left(2)),
                    (Left(1), Right('x'), Right('x')),
                    (Right('x'), Left(1), Right('x')),
                    (Right('x'), Right('y'), Right('x')),
                ],
            );
            t.gives(
                mconcat(&vector([Ordering::Equal, Ordering::Greater, Ordering::Less])),
                Scalar::scalar(Ordering::Greater),
            );
            t.gives(mconcat(&vector::<Ordering>([])), Scalar::scalar(Ordering::Equal));
        }),
        case("monoid/stimes", "MON-02", |t| {
            t.maps(|n: Exp<i64>| sum_(3).stimes(n), &[(1i64, Sum(3)), (2, Sum(6)), (7, Sum(21)), (100, Sum(300))]);
            t.maps(
                |n: Exp<i64>| product_(2u64).stimes(n),
                &[(1i64, Product(2)), (10, Product(1024)), (63, Product(1 << 63))],
            );
            t.maps(|n: Exp<i64>| product_(2u64).stimes(n), &[(0i64, Product(2)), (-5, Product(2))]);
        }),
    ]
}

fn folds() -> Vec<Case> {
    vec![
        case("fold/E-TY-18-an-average-in-one-traversal", "FOL-01 FOL-02 E-TY-18", |t| {
            let sum = || Fold::new(|x: Exp<f64>| sum_(x), |s: Exp<Sum<f64>>| s.get_sum());
            let count = || Fold::new(|_: Exp<f64>| sum_(1.0), |n: Exp<Sum<f64>>| n.get_sum());
            let average = sum() / count();
            t.gives(use_(&Vector::from([1.0, 2.0, 3.0, 6.0])).run_fold(&average), Scalar::scalar(3.0));
            t.gives(use_(&Matrix::from([[1.0, 2.0], [3.0, 6.0]])).run_fold(&average), Vector::from([1.5, 4.5]));
            t.gives(fill((0, 3), 1.0).run_fold(&sum()), Vector::from([0.0; 0]));
            t.gives(fill((2, 0), 1.0).run_fold(&sum()), Vector::from([0.0, 0.0]));
        }),
        case("fold/applicative-and-numeric-combination", "FOL-01 FOL-02", |t| {
            let least = || Fold::new(|x: Exp<i32>| min_(x), |m: Exp<Min<i32>>| m.get_min());
            let most = || Fold::new(|x: Exp<i32>| max_(x), |m: Exp<Max<i32>>| m.get_max());
            let xs = use_(&Vector::from([3, -1, 7]));
            t.gives(xs.run_fold(&(most() - least())), Scalar::scalar(8));
            t.gives(xs.run_fold(&least().zip(&most())), Scalar::scalar((-1, 7)));
            t.gives(xs.run_fold(&(-(most() * 2 + 1))), Scalar::scalar(-15));
            t.gives(xs.run_fold(&least().map(|m| m.lt(0))), Scalar::scalar(true));
            t.gives(fill(0, 1i32).run_fold(&most()), Scalar::scalar(i32::MIN));
        }),
    ]
}

fn functors() -> Vec<Case> {
    vec![
        case("functor/fmap", "FUN-01 FUN-03", |t| {
            t.maps(
                |o: Exp<Option<i32>>| o.fmap(|n| n.gt(1)),
                &[(Some(2), Some(true)), (Some(1), Some(false)), (None, None)],
            );
            t.maps(
                |e: Exp<Either<char, i32>>| e.fmap(|n| n + 1),
                &[(Either::Left('x'), Either::Left('x')), (Either::Right(1), Either::Right(2))],
            );
            t.maps(|z: Exp<Complex<f32>>| z.fmap(|x| x * 2.0), &[(Complex::new(1.0, -2.0), Complex::new(2.0, -4.0))]);
            t.maps(|s: Exp<Sum<i32>>| s.fmap(|n| n.to::<f32>()), &[(Sum(2), Sum(2.0f32))]);
            t.maps(|s: Exp<Product<i32>>| s.fmap(|n| n + 1), &[(Product(2), Product(3))]);
            t.maps(|s: Exp<Min<i32>>| s.fmap(|n| n + 1), &[(Min(2), Min(3))]);
            t.maps(|s: Exp<Max<i32>>| s.fmap(|n| n + 1), &[(Max(2), Max(3))]);
        }),
        case("functor/replace", "FUN-02 FUN-04", |t| {
            t.maps(|o: Exp<Option<i32>>| o.replace('x'), &[(Some(2), Some('x')), (None, None)]);
            t.maps(
                |e: Exp<Either<char, i32>>| e.replace(true),
                &[(Either::Left('x'), Either::Left('x')), (Either::Right(1), Either::Right(true))],
            );
        }),
        case("functor/void", "FUN-05", |t| {
            t.maps(|o: Exp<Option<i32>>| o.void(), &[(Some(2), Some(())), (None, None)]);
            t.maps(
                |e: Exp<Either<char, i32>>| e.void(),
                &[(Either::Left('x'), Either::Left('x')), (Either::Right(1), Either::Right(()))],
            );
        }),
    ]
}
