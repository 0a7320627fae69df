//! Element-wise operations on one to nine arrays.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

/// Vectors of different lengths, so that the last element of the longest ones is beyond the intersection.
fn counted(k: i64, n: i64) -> Vector<i64> {
    (0..n).map(|i| 10i64.pow(k as u32) * (i + 1)).collect()
}

/// The digits that a sum of [`counted`] numbers has at position `i` for `n` arrays.
fn digits(n: u32, i: i64) -> i64 {
    (0..n).map(|k| 10i64.pow(k) * (i + 1)).sum()
}

/// Cases of the operations on `n` arrays: a value, the intersection of the shapes, and no element.
macro_rules! zips {
    ($($n:literal $rows:literal $name:literal $zip_with:ident $izip_with:ident $zip:ident $unzip:ident: $($x:ident $k:tt),*;)*) => {
        vec![$(
            case($name, $rows, |t| {
                let first = use_(&counted(0, 3));
                $(let $x = counted($k, 3 - $k % 2);)*
                let want = |f: fn(i64) -> i64| -> Vector<i64> { (0..2).map(f).collect() };
                t.gives(first.$zip_with($(&$x,)* |a, $($x),*| a $(+ $x)*), want(|i| digits($n, i)));
                t.gives(first.$izip_with($(&$x,)* |ix, a, $($x),*| ix * 5 + a $(+ $x)*), want(|i| i * 5 + digits($n, i)));
                let zipped = first.$zip($(&$x),*);
                t.gives(zipped.map(|(a, $($x),*)| a $(+ $x)*), want(|i| digits($n, i)));
                let ($($x,)* last) = zipped.$unzip();
                $(let _ = &$x;)*
                t.gives(last, want(|i| 10i64.pow($n - 1) * (i + 1)));
                let none = use_(&Vector::from([0i64; 0]));
                $(let $x = &none;)*
                t.gives(none.$zip_with($($x,)* |a, $($x),*| a $(+ $x)*), Vector::from([0; 0]));
                t.gives(none.$izip_with($($x,)* |ix, a, $($x),*| ix + a $(+ $x)*), Vector::from([0; 0]));
                t.shape(none.$zip($($x),*), [0]);
                t.shape(none.$zip($($x),*).$unzip().0, [0]);
                let _ = none.$zip($($x),*);
            }),
        )*]
    };
}

pub fn cases() -> Vec<Case> {
    let zips = zips! {
        2 "ELW-04 ELW-12 ELW-20 ELW-28" "elementwise/two" zip_with izip_with zip unzip: b 1;
        3 "ELW-05 ELW-13 ELW-21 ELW-29" "elementwise/three" zip_with3 izip_with3 zip3 unzip3: b 1, c 2;
        4 "ELW-06 ELW-14 ELW-22 ELW-30" "elementwise/four" zip_with4 izip_with4 zip4 unzip4: b 1, c 2, d 3;
        5 "ELW-07 ELW-15 ELW-23 ELW-31" "elementwise/five" zip_with5 izip_with5 zip5 unzip5: b 1, c 2, d 3, e 4;
        6 "ELW-08 ELW-16 ELW-24 ELW-32" "elementwise/six" zip_with6 izip_with6 zip6 unzip6: b 1, c 2, d 3, e 4, f 5;
        7 "ELW-09 ELW-17 ELW-25 ELW-33" "elementwise/seven" zip_with7 izip_with7 zip7 unzip7:
            b 1, c 2, d 3, e 4, f 5, g 6;
        8 "ELW-10 ELW-18 ELW-26 ELW-34" "elementwise/eight" zip_with8 izip_with8 zip8 unzip8:
            b 1, c 2, d 3, e 4, f 5, g 6, h 7;
        9 "ELW-11 ELW-19 ELW-27 ELW-35" "elementwise/nine" zip_with9 izip_with9 zip9 unzip9:
            b 1, c 2, d 3, e 4, f 5, g 6, h 7, i 8;
    };
    let others = vec![
        case("elementwise/one", "ELW-01 ELW-02 ELW-03", |t| {
            let m = use_(&Matrix::from([[1i32, 2], [3, 4]]));
            let none = use_(&host((0, 2), [0; 0]));
            t.gives(m.map(|x| x * x), Matrix::from([[1, 4], [9, 16]]));
            t.gives(none.map(|x| x * x), host((0, 2), [0; 0]));
            t.gives(m.imap(|(i, j), x| i * 100 + j * 10 + x.to::<i64>()), Matrix::from([[1, 12], [103, 114]]));
            t.gives(none.imap(|(i, j), _| i + j), host((0, 2), [0; 0]));
            let want = [((0, 0), 1), ((0, 1), 2), ((1, 0), 3), ((1, 1), 4)];
            t.gives(m.indexed(), host((2, 2), want));
            t.gives(use_(&Vector::from([0; 0])).indexed(), Vector::from_iter([(0i64, 0); 0]));
        }),
        case("elementwise/E-SH-01-intersection", "ELW-04 E-SH-01", |t| {
            let (a, b) = (generate((3, 5), |(i, j)| i * 10 + j), generate((5, 4), |(i, j)| i * 1000 + j * 100));
            let want = (0..3).flat_map(|i| (0..4).map(move |j| i * 1010 + j * 101));
            t.gives(a.zip_with(b, |x, y| x + y), host((3, 4), want));
        }),
        case("elementwise/E-SH-02-zip3", "ELW-21 E-SH-02", |t| {
            let [a, b, c] = [5, 3, 4].map(|n| enum_from(n, 0i64));
            t.gives(a.zip3(b, c), Vector::from_iter([(0, 0, 0), (1, 1, 1), (2, 2, 2)]));
        }),
        case("elementwise/E-SH-03-izip-with3", "ELW-13 E-SH-03", |t| {
            let [a, b, c] = [3, 2, 4].map(|n| fill(n, 0i64));
            t.gives(a.izip_with3(b, c, |i, _, _, _| i), Vector::from([0, 1]));
        }),
        case("elementwise/E-SH-04-ranks", "E-SH-04", |t| {
            // That arrays of different ranks do not compile is pinned beside the API; untyped, they do not verify.
            let text = "program(a: [1]i32, b: [2]i32) { c: [1]i32 = zip_with(a, b, f: |%x: i32, %y: i32| add(%x, %y)) yield c }";
            let verified = acc_core::text::parse("ranks", text).map(|p| acc_core::verify::verify(&p, None));
            t.check(matches!(verified, Ok(Err(_))), "arrays of different ranks are an error");
        }),
    ];
    [zips, others].concat()
}
