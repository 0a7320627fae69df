//! Forms that users reach for: each line type-checks without help, and means what it says.

use crate::support::run;
use acc_core::prelude::*;

fn saxpy(a: Acc<Scalar<f32>>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>) -> Acc<Vector<f32>> {
    xs.zip_with(ys, |x, y| x * &a + y)
}
fn norm((x, y): (Exp<f32>, Exp<f32>)) -> Exp<f32> {
    (x * x + y * y).sqrt()
}
fn both<T: Num>(a: Acc<Vector<T>>, b: Acc<Vector<T>>) -> (Acc<Vector<T>>, Acc<Scalar<T>>) {
    (a.zip_with(&b, |x, y| x + y), a.sum())
}
fn poly<T: Floating>(x: Exp<T>) -> Exp<T> {
    let y = x * x + x;
    y * y - y / x
}
fn row_sums<Sh: Reducible, E: Num>(a: &Acc<Array<Sh, E>>) -> Acc<Array<Sh::Inner, E>> {
    a.fold(E::from_i64(0), |x, y| x + y)
}
fn keep<Sh: Shape, E: Elt>(a: &Acc<Array<Sh, E>>, p: impl FnOnce(E::Exp) -> Exp<bool>) -> Acc<Array<Sh, Option<E>>> {
    a.map(|x| p(x).then_some(x))
}
fn copy<Sh: Shape, E: Elt>(a: &Acc<Array<Sh, E>>) -> Acc<Array<Sh, E>> {
    generate(a.extent(), |ix| a.index(ix))
}

#[test]
fn closures_in_variables_and_named_functions() -> Result<(), Error> {
    let (b, v) = (Interpreter::new(), Vector::from([1.0f32, 2.0, 3.0]));
    let xs = use_(&v);
    let f = |x: Exp<f32>| x * x + 1.0;
    assert_eq!(b.run(xs.map(f).map(f))?.to_vec(), [5.0, 26.0, 101.0]);
    assert_eq!(b.run(xs.zip(&xs).map(norm).map(|x| (x * x).round()))?.to_vec(), [2.0, 8.0, 18.0]);
    assert_eq!(b.compile(saxpy)?.call((&Scalar::scalar(2.0), &v, &v))?.to_vec(), [3.0, 6.0, 9.0]);
    let (s, t) = b.compile(both::<f32>)?.call((&v, &v))?;
    assert_eq!((s.to_vec(), t.value()), (vec![2.0, 4.0, 6.0], 6.0));
    assert_eq!(b.compile(|| generate(3, |i| i * 2))?.call(())?.to_vec(), [0, 2, 4]);
    Ok(())
}

#[test]
fn generic_functions_of_the_user() {
    let m = use_(&Matrix::from([[1.0, 2.0], [3.0, 4.0f32]]));
    assert_eq!(run(row_sums(&m)).to_vec(), [3.0, 7.0]);
    assert_eq!(run(row_sums(&row_sums(&m))).value(), 10.0);
    assert_eq!(run(m.map(poly)).to_vec()[1], 33.0);
    assert_eq!(run(keep(&m, |x| x.gt(2.5))).to_vec(), [None, None, Some(3.0), Some(4.0)]);
    assert_eq!(run(copy(&m)), Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
}

#[test]
fn tuples_of_arrays_are_programs() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let (total, plus) = run((xs.sum(), xs.map(|x| x + 1.0)));
    assert_eq!((total.value(), plus.to_vec()), (3.0, vec![2.0, 3.0]));
    let nested: (Vector<f32>, (Scalar<f32>, Vector<f32>)) = run((&xs, (xs.sum(), &xs)));
    assert_eq!(nested.1.0.value(), 3.0);
}

#[test]
fn host_arrays_are_operands_and_free_functions_have_the_other_order() {
    let v = Vector::from([1.0f32, 2.0, 3.0]);
    let xs = use_(&v);
    assert_eq!(run(acond(xs.sum().the().gt(5.0), &xs, xs.map(|x| -x))), v);
    use acc_core::api::functions as f;
    assert_eq!(run(f::fold(|a, b| a + b, 0.0, f::zip_with(|a, b| a * b, &v, &xs))).value(), 14.0);
}

#[test]
fn indices_of_any_integer_type() {
    let xs = use_(&Vector::from([10, 20, 30]));
    assert_eq!(run(use_(&Vector::from([2u8, 0])).map(|k| xs.index(k))).to_vec(), [30, 10]);
    let m = use_(&Matrix::from([[1, 2], [3, 4]]));
    let (rows, columns) = m.shape();
    assert_eq!(run(m.backpermute((columns, rows), |(i, j)| (j, i))).to_ndarray(), ndarray::arr2(&[[1, 3], [2, 4]]));
    assert_eq!(run(m.slice((1, All))).to_vec(), [3, 4]);
    assert_eq!(run(m.slice((All, 0))).to_vec(), [1, 3]);
}

#[test]
fn literals_assignment_and_shadowing() {
    let xs = use_(&Vector::from([1.5f32, -2.0]));
    let p = xs.map(|x| {
        let mut y = 2.0 * x;
        y += 1.0;
        y = y * 2.0 - x;
        (y, y.to::<i64>(), x.gt(0.0).then_some(y).unwrap_or(0.0), Some(x))
    });
    assert_eq!(run(p).to_vec(), [(6.5, 6, 6.5, Some(1.5)), (-4.0, -4, 0.0, Some(-2.0))]);
    assert_eq!(run(xs.map(|x| x.gt(0.0).then_else(1, 0))).to_vec(), [1, 0]);
    assert_eq!(run(xs.map(|_| 1).zip_with(&xs, |i, x| (i, x.abs()))).to_vec()[1], (1, 2.0));
}

#[test]
fn free_form_conditionals_and_short_circuits() {
    let xs = use_(&Vector::from([0i32, 1, 5]));
    let p = xs.map(|x| cond(x.gt(0).and((10 / x).gt(5)).or(x.eq(0)), x, -x));
    assert_eq!(run(p).to_vec(), [0, 1, -5]);
}

#[test]
fn debug_prints_the_text_form() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let p = xs.map(|x| x * x + 1.0).sum();
    let text = format!("{p:?}");
    let parsed = acc_core::text::parse("debug.acc", &text).expect("Debug prints a program that parses");
    assert_eq!(&parsed, &*p.program().expect("it builds").program, "{text}");
}

#[test]
fn reductions_by_name() {
    let m = use_(&Matrix::from([[3i32, 1, 2], [6, 5, 4]]));
    assert_eq!(run(m.sum()).to_vec(), [6, 15]);
    assert_eq!(run(m.product()).to_vec(), [6, 120]);
    assert_eq!(run(m.minimum()).to_vec(), [1, 4]);
    assert_eq!(run(m.maximum()).to_vec(), [3, 6]);
    assert_eq!(run(m.all(|x| x.lt(4))).to_vec(), [true, false]);
    assert_eq!(run(m.any(|x| x.eq(5))).to_vec(), [false, true]);
    assert_eq!(run(m.fold_all(100, |a, b| a + b)).value(), 121);
    assert_eq!(run(m.fold1_all(|a, b| a.max(b))).value(), 6);
    assert_eq!(run(m.map(|x| x.gt(1)).and()).to_vec(), [false, true]);
    assert_eq!(run(m.map(|x| x.gt(5)).or()).to_vec(), [false, true]);
    assert_eq!(run(m.flatten()).to_vec(), [3, 1, 2, 6, 5, 4]);
}

#[test]
fn scans_in_both_directions() {
    let xs = use_(&Vector::from([1, 2, 3]));
    assert_eq!(run(xs.scanl(10, |a, b| a + b)).to_vec(), [10, 11, 13, 16]);
    assert_eq!(run(xs.scanr(10, |a, b| a + b)).to_vec(), [16, 15, 13, 10]);
    assert_eq!(run(xs.scanl1(|a, b| a - b)).to_vec(), [1, -1, -4]);
    assert_eq!(run(xs.scanr1(|a, b| a - b)).to_vec(), [2, -1, 3]);
}

#[test]
fn permutes_with_every_form_of_target() {
    let xs = use_(&Vector::from([1, 2, 3, 4]));
    let add = |a: Exp<i32>, b: Exp<i32>| a + b;
    assert_eq!(run(xs.permute(fill(2, 0), add, |i| Some(i % 2))).to_vec(), [4, 6]);
    assert_eq!(run(xs.permute(fill(2, 0), add, |i| i.lt(2).then_some(i))).to_vec(), [1, 2]);
    // Indices of any integer type.
    let keys = use_(&Vector::from([1u8, 0, 200]));
    let counts = run(keys.map(|_| 1i32).permute(fill(2, 0), add, |i| keys.index(i).lt(2).then_some(keys.index(i))));
    assert_eq!(counts.to_vec(), [1, 1]);
    assert_eq!(run(xs.permute(fill((), 0), add, |_| Some(()))).value(), 10);
    assert_eq!(run(xs.permute(fill((2, 2), 0), add, |i| Some((i / 2, i % 2)))).to_vec(), [1, 2, 3, 4]);
    assert_eq!(run(xs.permute(fill((2, 2), 0), add, |i| i.gt(1).then_some((i % 2, i % 2)))).to_vec(), [3, 0, 0, 4]);
    let nobody = xs.permute(fill(2, 7), add, |_| none::<i64>());
    assert_eq!(run(nobody).to_vec(), [7, 7]);
    assert_eq!(run(xs.scatter(&Vector::from([3i64, 0]), fill(4, 9))).to_vec(), [2, 9, 9, 1]);
    assert_eq!(run(xs.gather(&Vector::from([3i64, 3, 0]))).to_vec(), [4, 4, 1]);
    assert_eq!(run(xs.reverse()).to_vec(), [4, 3, 2, 1]);
}

#[test]
fn zips_of_up_to_four_take_the_intersection() {
    let (a, b) = (use_(&Vector::from([1, 2, 3])), use_(&Vector::from([10, 20])));
    assert_eq!(run(a.zip(&b)).to_vec(), [(1, 10), (2, 20)]);
    assert_eq!(run(a.zip_with4(&b, &a, &b, |w, x, y, z| w + x + y + z)).to_vec(), [22, 44]);
    assert_eq!(run(a.izip_with4(&b, &a, &b, |i, w, _, _, z| i.to::<i32>() * 100 + w + z)).to_vec(), [11, 122]);
    let (x, y, z) = a.zip3(&b, &a).unzip3();
    assert_eq!(run((x, y, z)).2.to_vec(), [1, 2]);
    let (_, y, _, z) = a.zip4(&b, &b, &a).unzip4();
    assert_eq!(run(y.zip(z)).to_vec(), [(10, 1), (20, 2)]);
    assert_eq!(run(a.indexed::<i64>()).to_vec(), [(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn index_types_and_rank_0_operands_are_inferred() {
    assert_eq!(run(generate(2, |i| i.to::<f32>())).to_vec(), [0.0, 1.0]);
    let xs = use_(&Vector::from([1.0f32, 3.0]));
    assert_eq!(run(xs.map(|x| x / xs.sum())).to_vec(), [0.25, 0.75]);
}

#[test]
fn sequences() {
    assert_eq!(run(enum_from::<Dim<1>, i32>(3, 5)).to_vec(), [5, 6, 7]);
    assert_eq!(run(enum_from_step::<Dim<2>, f32>((2, 2), 1.0, 0.5)).to_vec(), [1.0, 1.5, 2.0, 2.5]);
    assert_eq!(run(enum_from::<Dim<1>, u8>(3, 254)).to_vec(), [254, 255, 0]);
}
