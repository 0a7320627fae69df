//! Host arrays.

use crate::cases::{Case, Check, case};
use acc_core::data::ShapeError;
use acc_core::prelude::*;

/// A host array comes out of a program as it went in.
fn through<A: Arrays + Clone>(t: &mut Check<'_>, a: &A)
where
    for<'a> &'a A: IntoAcc<A>,
{
    let program: Acc<A> = a.into_acc();
    t.gives(program, a.clone());
}

pub fn cases() -> Vec<Case> {
    vec![
        case("plain/shape", "PLN-01 PLN-02 PLN-03", |t| {
            let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
            t.equal((m.rank(), m.shape(), m.len()), (2, Dim([2, 3]), 6));
            let s = Scalar::scalar(7.5);
            t.equal((s.rank(), s.shape(), s.len()), (0, Dim([]), 1));
            let none: Array<DIM3, u8> = Array::from_list((2, 0, 3), []).unwrap_or_else(|e| panic!("{e}"));
            t.equal((none.rank(), none.shape(), none.len(), none.is_empty()), (3, Dim([2, 0, 3]), 0, true));
            through(t, &m);
            through(t, &none);
        }),
        case("plain/E-SH-30-reshape", "PLN-04 E-SH-30", |t| {
            let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
            t.equal(m.reshaped((3, 2)).ok(), Some(Matrix::from([[1, 2], [3, 4], [5, 6]])));
            t.equal(m.reshaped(6).ok(), Some(Vector::from([1, 2, 3, 4, 5, 6])));
            let error = m.reshaped(5).err();
            t.check(matches!(error, Some(ShapeError::Size { want: 5, got: 6, .. })), "5 elements are not 6");
            let none: Vector<i32> = Vector::from([]);
            t.equal(none.reshaped((0, 7)).map(|a| a.shape()).ok(), Some(Dim([0, 7])));
            if let (Ok(m), Ok(none)) = (m.reshaped((1, 6)), none.reshaped((0, 7))) {
                through(t, &m);
                through(t, &none);
            }
        }),
        case("plain/E-IX-09-elements", "PLN-05 PLN-06 E-IX-09", |t| {
            let m = Matrix::from([[1, 2, 3], [4, 5, 6]]);
            t.equal((m.get((1, 0)), m.get((0, 2))), (Some(4), Some(3)));
            t.equal((m.get((0, 3)), m.get((2, 0))), (None, None));
            t.equal((m.get_linear(3), m.get_linear(6)), (Some(4), None));
            let none: Matrix<i32> = Array::from_list((0, 3), []).unwrap_or_else(|e| panic!("{e}"));
            t.equal((none.get((0, 0)), none.get_linear(0)), (None, None));
            through(t, &none);
        }),
        case("plain/from-functions", "PLN-07 PLN-08", |t| {
            let of = |ix: &[usize]| (ix[0] * 10 + ix[1]) as i64;
            t.equal(Array::from_fn((2, 2), of).ok(), Some(Matrix::from([[0i64, 1], [10, 11]])));
            let mut seen = Vec::new();
            let array = Array::try_from_fn((2, 2), |ix| {
                seen.push(ix.to_vec());
                Ok::<i64, ShapeError>(of(ix))
            });
            t.equal(array.ok(), Some(Matrix::from([[0, 1], [10, 11]])));
            t.equal(seen, vec![vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]]);
            let stopped: Result<Vector<i32>, Box<dyn std::error::Error>> = Array::try_from_fn(3, |_| Err("no".into()));
            t.equal(stopped.err().map(|e| e.to_string()), Some("no".into()));
            let none = Array::from_fn((0, 2), |_| (1.5f32, true)).unwrap_or_else(|e| panic!("{e}"));
            through(t, &none);
        }),
        case("plain/E-SZ-12-lists", "PLN-09 PLN-10 E-SZ-12 E-SZ-13", |t| {
            t.equal(Array::from_list((2, 2), 1..).ok(), Some(Matrix::from([[1, 2], [3, 4]])));
            let error = Array::<DIM1, i32>::from_list(3, [1, 2]).err();
            t.check(matches!(error, Some(ShapeError::Size { want: 3, got: 2, .. })), "too few");
            t.equal(Array::<DIM1, i32>::from_list(0, 1..).map(|a| a.to_vec()).ok(), Some(Vec::new()));
            let points = Array::from_list(2, [(1u8, 'a'), (2, 'b'), (3, 'c')]).unwrap_or_else(|e| panic!("{e}"));
            t.equal(points.to_vec(), vec![(1, 'a'), (2, 'b')]);
            through(t, &points);
            through(t, &Array::from_list((3, 0), [0i8]).unwrap_or_else(|e| panic!("{e}")));
        }),
        case("plain/ndarray", "PLN-10", |t| {
            let nd = ndarray::arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
            let at = nd.as_ptr();
            let ours = Array::from(nd);
            t.check(std::ptr::eq(ours.as_slice().as_ptr(), at), "an array in row-major order is not copied");
            t.equal(ours.view().t().to_owned(), ndarray::arr2(&[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]));
            let transposed = Array::from(ours.view().t().to_owned());
            t.equal(transposed.to_vec(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
            let values = ours.into_vec();
            t.check(std::ptr::eq(values.as_ptr(), at), "nor on its way back");
            through(t, &transposed);
            through(t, &Array::from(ndarray::Array3::<u16>::zeros((2, 0, 4))));
        }),
        case("plain/npy", "PLN-10", |t| {
            let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
            let path = folder.path().join("a.npy");
            let m = Matrix::from([[1i16, -2, 3], [4, 5, i16::MIN]]);
            t.equal(m.write_npy(&path).map_err(|e| e.to_string()), Ok(()));
            t.equal(Matrix::<i16>::read_npy(&path).ok(), Some(m.clone()));
            let wrong = Matrix::<f32>::read_npy(&path).map_err(|e| e.to_string()).err().unwrap_or_default();
            t.check(wrong.contains("not f32"), &wrong);
            let wrong = Vector::<i16>::read_npy(&path).map_err(|e| e.to_string()).err().unwrap_or_default();
            t.check(wrong.contains("shape [2, 3], which is not of rank 1"), &wrong);
            let path = folder.path().join("several.npz");
            let none = Array::from_fn((0, 2), |_| true).unwrap_or_else(|e| panic!("{e}"));
            let written = npy::Npz::create(&path).and_then(|mut file| {
                file.add("m", &m)?;
                file.add("none", &none)?;
                file.finish()
            });
            t.equal(written.map_err(|e| e.to_string()), Ok(()));
            t.equal(Matrix::<i16>::read_npz(&path, "m").ok(), Some(m));
            t.equal(Matrix::<bool>::read_npz(&path, "none").ok(), Some(none.clone()));
            let wrong = Matrix::<i16>::read_npz(&path, "x").map_err(|e| e.to_string()).err().unwrap_or_default();
            t.check(wrong.contains("there is no such array in the file; there are: m, none"), &wrong);
            through(t, &none);
        }),
    ]
}
