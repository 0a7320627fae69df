//! `tensor!` and `einsum!`: results, the programs that are made, and faults.

use acc_core::prelude::*;

#[track_caller]
fn run<A: Arrays>(p: impl IntoAcc<A>) -> A {
    Interpreter::new().run(p).unwrap_or_else(|e| panic!("{e}"))
}

/// The message of a program that must fail.
#[track_caller]
fn fault<A: Arrays>(p: impl IntoAcc<A>) -> String {
    Interpreter::new().run(p).err().expect("a fault").to_string()
}

/// The operations of a program, in order.
#[track_caller]
fn operations<A: Arrays>(p: &Acc<A>) -> Vec<&'static str> {
    let program = p.program().unwrap_or_else(|e| panic!("{e}")).program;
    acc_core::verify::verify(&program, None).unwrap_or_else(|e| panic!("{e}\n{program}"));
    program.body.stmts.iter().map(|s| s.op.name()).collect()
}

fn matrix(rows: usize, columns: usize) -> Acc<Matrix<f64>> {
    generate((rows, columns), |(i, j)| (i * 7 + j * 3 + 1).to::<f64>())
}

#[test]
fn a_product_of_matrices_is_one_fold() {
    let (a, b) = (matrix(2, 3), matrix(3, 4));
    let product = tensor!([i, j] sum[k](a[i, k] * b[k, j]));
    assert_eq!(operations(&product), ["generate", "generate", "check", "generate", "fold"]);
    assert_eq!(run(&product), run(a.matmul(&b)));
    assert_eq!(run(einsum!("ij,jk->ik", a, b)), run(a.matmul(&b)));
    assert_eq!(run(einsum!("ij,jk", a, b)), run(a.matmul(&b)));
}

#[test]
fn what_stands_around_a_sum_reads_it() {
    let (s, b, c) = (matrix(2, 4), matrix(2, 3), matrix(3, 4));
    let weighted = tensor!([i, j] s[i, j] * sum[k](b[i, k] * c[k, j]) + 0.5 * i.to::<f64>());
    let by_hand = b.matmul(&c).zip_with(&s, |t, s| s * t).imap(|(i, _), x| x + 0.5 * i.to::<f64>());
    assert_eq!(run(weighted), run(by_hand));
}

#[test]
fn reductions_are_over_what_their_terms_mention() {
    let x = matrix(3, 4);
    // The greatest of each row, which is written twice, and the sum are computed once for a row.
    let softmax = tensor!([i, j] (x[i, j] - max[k](x[i, k])).exp() / sum[l]((x[i, l] - max[m](x[i, m])).exp()));
    let ranks: Vec<usize> = {
        let program = softmax.program().unwrap().program;
        let folds = program.body.stmts.iter().filter(|s| s.op.name().starts_with("fold"));
        folds.map(|s| program.ty(s.results[0]).rank).collect()
    };
    assert_eq!(ranks, [1, 1]);
    for (a, b) in run(softmax).to_vec().into_iter().zip(run(x.softmax()).to_vec()) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

#[test]
fn sums_of_indices_give_extents() {
    let (x, w) = (matrix(7, 9), matrix(2, 3));
    let windows = tensor!([y, z] sum[p, q](x[y + p, z + q] * w[p, q]));
    let by_hand = generate((6usize, 7usize, 2usize, 3usize), |(y, z, p, q)| x.index((y + p, z + q)) * w.index((p, q)));
    assert_eq!(run(&windows), run(by_hand.sum().sum()));
    // Strides, dilation and a constant: places 1 + 3 y + 2 p are at most 8.
    let v = generate(9, |i| i.to::<f64>());
    let u = generate(2, |p| (p + 1).to::<f64>());
    let strided = tensor!([y] sum[p](v[3 * y + 2 * p + 1] * u[p]));
    assert_eq!(run(strided).to_vec(), [1.0 + 2.0 * 3.0, 4.0 + 2.0 * 6.0]);
    // Nothing fits.
    let short = generate(1, |i| i.to::<f64>());
    assert_eq!(run(tensor!([y] sum[p](short[2 * y + p] * u[p]))).len(), 0);
}

#[test]
fn all_reductions() {
    let x = use_(&Matrix::from([[3i32, 1, 2], [5, 5, 4]]));
    assert_eq!(run(tensor!([i] sum[j](x[i, j]))).to_vec(), [6, 14]);
    assert_eq!(run(tensor!([i] product[j](x[i, j]))).to_vec(), [6, 100]);
    assert_eq!(run(tensor!([j] min[i](x[i, j]))).to_vec(), [3, 1, 2]);
    assert_eq!(run(tensor!([] max[i, j](x[i, j]))).value(), 5);
    assert_eq!(run(tensor!([i] all[j](x[i, j].gt(1)))).to_vec(), [false, true]);
    assert_eq!(run(tensor!([i] any[j](x[i, j].eq(1)))).to_vec(), [true, false]);
    assert_eq!(run(tensor!([i] fold[j](10, |a, b| a * b, x[i, j]))).to_vec(), [60, 1000]);
    assert_eq!(run(tensor!([i in 0..2, j in 0..2] (i - j).to::<i32>())).to_vec(), [0, -1, 1, 0]);
    assert_eq!(run(tensor!([] 2 * x[0, 1] + sum[i, j](x[i, j]))).value(), 22);
}

#[test]
fn arrays_are_read_at_elements_of_others() {
    let (table, at) = (use_(&Vector::from([10i32, 20, 30])), use_(&Vector::from([2i64, 0])));
    let scalar = use_(&Scalar::scalar(5i32));
    assert_eq!(run(tensor!([i] table[at[i]] + scalar[])).to_vec(), [35, 15]);
}

#[test]
fn letters_as_in_numpy() {
    let (a, b, x) = (matrix(3, 3), matrix(3, 2), generate(3, |i| i.to::<f64>()));
    let list = |m: Acc<Matrix<f64>>| run(m).to_vec();
    assert_eq!(list(einsum!("ij->ji", a)), list(a.transpose()));
    assert_eq!(run(einsum!("ii->i", a)).to_vec(), [1.0, 11.0, 21.0]);
    assert_eq!(run(einsum!("ii", a)).value(), 33.0);
    assert_eq!(run(einsum!("i,i->", x, x)).value(), 5.0);
    assert_eq!(list(einsum!("i,j->ij", x, x)), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 4.0]);
    let chain = einsum!("ij,jk,k->i", a, b, generate(2, |i| (i + 1).to::<f64>()));
    // Summed over j before the third array is looked at.
    assert_eq!(operations(&chain).iter().filter(|op| **op == "fold").count(), 2);
    let y = generate(2, |i| (i + 1).to::<f64>());
    assert_eq!(run(chain).to_vec(), run(tensor!([i] sum[j, k](a[i, j] * b[j, k] * y[k]))).to_vec());
}

#[test]
fn extents_that_differ_are_a_fault() {
    let (a, b) = (matrix(2, 3), matrix(4, 5));
    let text = fault(tensor!([i, j] sum[k](a[i, k] * b[k, j])));
    assert!(text.starts_with("tensor!: axis `k` is 3 in `a`, but 4 in `b`"), "{text}");
    assert!(text.contains("tests/tensor.rs"), "{text}");
    let text = fault(einsum!("ij,jk->ik", a, matrix(4, 5)));
    assert!(text.starts_with("einsum!: axis `j` is 3 in `a`, but 4 in operand 2"), "{text}");
    let text = fault(tensor!([i] a[i, i]));
    assert!(text.starts_with("tensor!: axis `i` is 2 in `a`, but 3 in `a`"), "{text}");
}

#[test]
fn gradients_go_through() {
    let (a, b) = (matrix(2, 3), matrix(3, 2));
    let loss = |a: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>| tensor!([] sum[i, j, k](a[i, k] * b[k, j]));
    let by_a = grad(&a, |a: Acc<Matrix<f64>>| loss(a, b.clone()));
    assert_eq!(run(by_a).to_vec(), run(tensor!([i in 0..2, k] sum[j](b[k, j]))).to_vec());
}
