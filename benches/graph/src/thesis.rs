//! The categories of Accelerate's documentation that the thesis timed (its Table 4), at the size of the examples there
//! and at a million elements.

use crate::row::{Facts, Row, device, row};
use acc_core::prelude::*;
use tch::{Kind, Tensor};

/// The numbers of elements.
const SIZES: [usize; 2] = [10, 1_000_000];

/// Rows, each made when it is timed.
pub(crate) type Rows = Vec<(String, Box<dyn Fn() -> Row>)>;

/// Floats between 0 and 1, in no order.
pub(crate) fn floats(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 10_007) as f32 / 10_007.0).collect()
}

/// Integers below a bound, in no order.
pub(crate) fn below(n: usize, bound: usize) -> Vec<i64> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) % bound.max(1)).map(|x| x as i64).collect()
}

pub(crate) fn t(xs: &[f32]) -> Tensor {
    Tensor::from_slice(xs).to_device(device())
}

pub(crate) fn ti(xs: &[i64]) -> Tensor {
    Tensor::from_slice(xs).to_device(device())
}

/// One row for each size: name, group, tolerance, the inputs' preparation, the program, its arguments, and the code by
/// hand.
macro_rules! table {
    ($out:ident, $sizes:expr; $($group:expr, $name:literal, $within:expr, |$n:ident| { $($setup:stmt;)* } $program:expr, $args:expr, $hand:expr;)*) => { $(
        for size in $sizes {
            let make = move || {
                let $n: usize = size;
                $($setup)*
                let facts = Facts { name: $name, group: $group, size, source: stringify!($hand), within: $within };
                row(facts, $program, $args, $hand)
            };
            $out.push(($name.to_string(), Box::new(make)));
        }
    )* };
}
pub(crate) use table;

/// All rows.
pub(crate) fn rows() -> Rows {
    let mut out: Rows = Vec::new();
    table! { out, SIZES;
        "Introduction", "use", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs, (Vector::from(xs),), move || vec![x.shallow_clone()];
        "Initialisation", "generate", 1e-6, |n| { let m = n as i64; }
            |n: Acc<Scalar<i64>>| generate(n.the(), |i| i.to::<f32>() * 0.5), (Scalar::scalar(m),),
            move || vec![Tensor::arange(m, (Kind::Int64, device())).to_kind(Kind::Float) * 0.5];
        "Initialisation", "fill", 0.0, |n| { let m = n as i64; }
            |n: Acc<Scalar<i64>>| fill(n.the(), 1.5f32), (Scalar::scalar(m),),
            move || vec![Tensor::full([m], 1.5, (Kind::Float, device()))];
        "Enumeration", "enum_from_step", 1e-6, |n| { let m = n as i64; }
            |n: Acc<Scalar<i64>>| enum_from_step(n.the(), 3i64, 2i64), (Scalar::scalar(m),),
            move || vec![Tensor::arange_start_step(3, 3 + 2 * m, 2, (Kind::Int64, device()))];
        "Composition", "acond", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| acond(xs.length().gt(5), xs.map(|x| x * 2.0), xs.map(|x| x + 1.0)), (Vector::from(xs),),
            move || vec![if x.size()[0] > 5 { &x * 2.0 } else { &x + 1.0 }];
        "Composition", "awhile", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| awhile(&xs, |xs: Acc<Vector<f32>>| xs.index(0).lt(10.0), |xs: Acc<Vector<f32>>| xs.map(|x| x * 2.0 + 1.0)),
            (Vector::from(xs),),
            move || { let mut x = x.shallow_clone(); while x.double_value(&[0]) < 10.0 { x = &x * 2.0 + 1.0; } vec![x] };
        "Execution", "compute", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x * 2.0).compute().map(|x| x + 1.0), (Vector::from(xs),), move || vec![&x * 2.0 + 1.0];
        "Indexing", "imap", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.imap(|i, x| x + i.to::<f32>()), (Vector::from(xs),),
            move || vec![&x + Tensor::arange(x.size()[0], (Kind::Float, device()))];
        "Indexing", "zip_with_3", 1e-6, |n| { let xs = floats(n); let x = t(&xs); let v = Vector::from(xs); }
            |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>, zs: Acc<Vector<f32>>| xs.zip(&ys).zip_with(&zs, |(x, y), z| x * y + z),
            (v.clone(), v.clone(), v), move || vec![&x * &x + &x];
        "Modifying arrays", "reshape", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| { let n = xs.length(); xs.reshape((n / 10, 10)) }, (Vector::from(xs),), move || vec![x.view([-1, 10])];
        "Modifying arrays", "replicate", 1e-6, |n| { let xs = floats((n / 10).max(1)); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.replicate((10, All)).map(|x| x + 1.0), (Vector::from(xs),),
            move || vec![(&x + 1.0).unsqueeze(0).expand([10, -1], false).contiguous()];
        "Extracting subarrays", "slit", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.slit(1, xs.length() - 2).map(|x| x * 2.0), (Vector::from(xs),),
            move || vec![x.narrow(0, 1, x.size()[0] - 2) * 2.0];
        "Extracting subarrays", "init + tail", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.init().zip_with(xs.tail(), |a, b| b - a), (Vector::from(xs),),
            move || { let n = x.size()[0] - 1; vec![x.narrow(0, 1, n) - x.narrow(0, 0, n)] };
        "Permutations", "reverse", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.reverse(), (Vector::from(xs),), move || vec![x.flip([0])];
        "Permutations", "transpose", 1e-6, |n| { let xs = floats(n); let x = t(&xs).view([-1, 10]); let rows = n / 10; }
            |xs: Acc<Matrix<f32>>| xs.transpose().map(|x| x + 1.0), (Matrix::from_vec((rows, 10), xs).unwrap_or_else(|e| panic!("{e}")),),
            move || vec![(x.transpose(0, 1) + 1.0).contiguous()];
        "Permutations", "gather", 0.0, |n| { let xs = floats(n); let at = below(n, n); let (x, i) = (t(&xs), ti(&at)); }
            |xs: Acc<Vector<f32>>, at: Acc<Vector<i64>>| at.map(|i| xs.index(i)), (Vector::from(xs), Vector::from(at)),
            move || vec![x.index_select(0, &i)];
        "Permutations", "histogram", 1e-6, |n| { let at = below(n, 100); let i = ti(&at); }
            |at: Acc<Vector<i64>>| fill(at.length(), 1.0f32).permute(fill(100, 0.0f32), |a, b| a + b, |i| Some(at.index(i))), (Vector::from(at),),
            move || vec![Tensor::zeros([100], (Kind::Float, device())).scatter_add(0, &i, &Tensor::ones([1], (Kind::Float, device())).expand_as(&i))];
        "Eq, Ord", "compare", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.lt(0.5)), (Vector::from(xs),), move || vec![x.lt(0.5)];
        "Eq, Ord", "max", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.max(0.25).min(0.75)), (Vector::from(xs),), move || vec![x.clamp(0.25, 0.75)];
        "Num", "polynomial", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| (x * 2.0 - 1.0) * x + 3.0), (Vector::from(xs),), move || vec![(&x * 2.0 - 1.0) * &x + 3.0];
        "Num", "quot", 0.0, |n| { let xs = below(n, 1000); let x = ti(&xs); }
            |xs: Acc<Vector<i64>>| xs.map(|x| x / 7), (Vector::from(xs),), move || vec![x.divide_scalar_mode(7, "trunc")];
        "Rational", "to_rational", 1e-6, |n| { let xs = below(n, 1000); let x = ti(&xs); }
            |xs: Acc<Vector<i64>>| xs.map(|x| (x, constant(1i64))), (Vector::from(xs),),
            move || vec![x.shallow_clone(), Tensor::ones_like(&x)];
        "Fractional", "recip", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| 1.0 / (x + 1.0)), (Vector::from(xs),), move || vec![(&x + 1.0).reciprocal()];
        "Floating", "sin + exp", 1e-5, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.sin() + x.exp()), (Vector::from(xs),), move || vec![x.sin() + x.exp()];
        "Floating", "sqrt", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.sqrt()), (Vector::from(xs),), move || vec![x.sqrt()];
        "RealFrac", "floor", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| (x * 10.0).floor()), (Vector::from(xs),), move || vec![(&x * 10.0).floor()];
        "Real", "atan2 + is_nan", 1e-5, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| (x.atan2(0.5), x.is_nan())), (Vector::from(xs),),
            move || vec![x.atan2(&Tensor::from(0.5f32).to_device(device())), x.isnan()];
        "Scalar", "cond", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.gt(0.5).then_else(x * 2.0, x + 1.0)), (Vector::from(xs),),
            move || vec![(&x * 2.0).where_self(&x.gt(0.5), &(&x + 1.0))];
        "Logical", "and or not", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.gt(0.25) & !x.gt(0.75) | x.lt(0.1)), (Vector::from(xs),),
            move || vec![x.gt(0.25).logical_and(&x.gt(0.75).logical_not()).logical_or(&x.lt(0.1))];
        "Numeric", "even", 0.0, |n| { let xs = below(n, 1000); let x = ti(&xs); }
            |xs: Acc<Vector<i64>>| xs.map(|x| (x % 2).eq(0)), (Vector::from(xs),), move || vec![x.fmod(2).eq(0)];
        "Shapes", "size", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| unit(xs.length()), (Vector::from(xs),), move || vec![Tensor::from(x.size()[0])];
        "Plain arrays", "from_list", 1e-6, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x + 1.0), (Vector::from(xs),), move || vec![&x + 1.0];
        "Conversion", "bool_to_int", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| x.gt(0.5).then_else(1i32, 0i32)), (Vector::from(xs),), move || vec![x.gt(0.5).to_kind(Kind::Int)];
        "Folding", "sum", 1e-5, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.sum(), (Vector::from(xs),), move || vec![x.sum(Kind::Float)];
        "Scans", "scanl", 1e-4, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.scanl1(|a, b| a + b), (Vector::from(xs),), move || vec![x.cumsum(0, Kind::Float)];
        "Concatenation", "concat", 0.0, |n| { let xs = floats(n); let x = t(&xs); let v = Vector::from(xs); }
            |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| xs.concat(&ys), (v.clone(), v), move || vec![Tensor::cat(&[&x, &x], 0)];
        "Filtering", "filter", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.filter(|x| x.gt(0.5)), (Vector::from(xs),), move || vec![x.masked_select(&x.gt(0.5))];
        "Segmented reductions", "fold_seg", 1e-4, |n| { let xs = floats(n); let x = t(&xs); let lens = vec![10i64; n / 10]; let l = ti(&lens); }
            |xs: Acc<Vector<f32>>, lens: Acc<Vector<i64>>| xs.fold_seg(&lens, 0.0, |a, b| a + b), (Vector::from(xs), Vector::from(lens)),
            move || vec![Tensor::segment_reduce(&x, "sum", Some(&l), None, None, 0, true, 0.0)];
    }
    out
}
