//! The types in the table "Types of results" of docs/SEMANTICS.md.

use crate::support::run;
use acc_core::prelude::*;

#[test]
fn counts_of_bits_are_i32_whatever_the_type() {
    macro_rules! each {
        ($($t:ty),*) => { $(
            let counts = use_(&Vector::from([<$t>::MAX])).map(|x| (x.count_ones(), x.leading_zeros(), x.trailing_zeros()));
            let expected: (i32, i32, i32) =
                (<$t>::MAX.count_ones() as i32, <$t>::MAX.leading_zeros() as i32, <$t>::MAX.trailing_zeros() as i32);
            assert_eq!(run(counts).to_vec(), [expected]);
            let width: Acc<Vector<i64>> = use_(&Vector::from([0 as $t])).map(|x| x.bit_size());
            assert_eq!(run(width).to_vec(), [i64::from(<$t>::BITS)]);
        )* };
    }
    each!(i8, i16, i32, i64, u8, u16, u32, u64);
    let of_bool: Acc<Vector<i32>> = use_(&Vector::from([true])).map(|x| x.count_ones());
    assert_eq!(run(of_bool).to_vec(), [1]);
}

#[test]
fn extents_and_positions_are_i64() {
    let (xs, m) = (use_(&Vector::from([3u8, 9, 1])), use_(&Matrix::from([[1u8, 2, 3]])));
    let (rows, columns): (Exp<i64>, Exp<i64>) = m.shape();
    assert_eq!(run(unit((rows, columns))).value(), (1, 3));
    let sizes: Scalar<(i64, i64, i64, i64)> =
        run(unit((xs.length(), m.size(), shape_size(m.extent()), to_index((2, 3), (1, 2)))));
    assert_eq!(sizes.value(), (3, 3, 3, 5));
    let (least, greatest): (Scalar<i64>, Scalar<i64>) = run((xs.arg_min(), xs.arg_max()));
    assert_eq!((least.value(), greatest.value()), (2, 1));
    let (order, counts): (Vector<i64>, Vector<i64>) = run((xs.argsort(), xs.unique_counts().1));
    assert_eq!((order.to_vec(), counts.to_vec()), (vec![2, 0, 1], vec![1, 1, 1]));
    let kept: Vector<i64> = run(m.filter_rows(|x| x.gt(1)).1);
    assert_eq!(kept.to_vec(), [2]);
}

#[test]
fn signs_and_sums_have_the_type_of_the_operands() {
    let xs = use_(&Vector::from([200u8, 100]));
    let sum: Scalar<u8> = run(xs.sum());
    assert_eq!(sum.value(), 44);
    let signs: Vector<(i8, i8)> = run(use_(&Vector::from([-3i8])).map(|x| (x.signum(), x.abs())));
    assert_eq!(signs.to_vec(), [(-1, 3)]);
}

#[test]
fn rounding_keeps_the_type_or_yields_the_integer_that_is_wanted() {
    let xs = use_(&Vector::from([1.5f32, -1.5]));
    let floats: Vector<(f32, f32)> = run(xs.map(|x| (x.floor(), x.round())));
    assert_eq!(floats.to_vec(), [(1.0, 2.0), (-2.0, -2.0)]);
    let integers: Vector<(i8, u64)> = run(xs.map(|x| (x.floor_to(), x.round_to())));
    assert_eq!(integers.to_vec(), [(1, 2), (-2, 0)]);
    let exponents: Vector<(i64, i64)> = run(xs.map(|x| (x.exponent(), x.float_digits())));
    assert_eq!(exponents.to_vec(), [(1, 24), (1, 24)]);
}

#[test]
fn parts_of_complex_numbers_have_the_type_of_the_parts() {
    let zs = use_(&Vector::from([Complex::new(3.0f32, -4.0)]));
    let parts: Vector<(f32, f32, f32)> = run(zs.map(|z| (z.re(), z.im(), z.magnitude())));
    assert_eq!(parts.to_vec(), [(3.0, -4.0, 5.0)]);
    let absolute: Vector<Complex<f32>> = run(zs.map(|z| z.abs()));
    assert_eq!(absolute.to_vec(), [Complex::new(5.0, 0.0)]);
}
