//! Permutes that keep some elements in order: filters, in any formulation.

use crate::common::{LENGTHS, Rng, agree, agree_on, array, parse};
use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::{Error, Executor, Fault, RunLimits};
use backend_native::Native;

/// A filter of floats by a condition on `%x`.
fn filter(kept: &str) -> String {
    format!(
        "program(a: [1]f32, b: [1]i64) {{
           c: [1]i64 = map(a, f: |%x: f32| select({kept}, 1i64, 0i64))
           s: [1]i64 = scanl(c, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
           z: [1]f32 = generate(shape: || s[extent(a, 0)], f: |%i: i64| 0.0f32)
           r: [1]f32 = permute(a, into: z, combine: |%n: f32, %o: f32| %n, target: |%i: i64| {{
             %x: f32 = a[%i]
             %t: u8, %to: i64 = if {kept} {{ yield 1u8, s[%i] }} else {{ yield 0u8, 0i64 }}
             yield %t, %to
           }})
           yield r
         }}"
    )
}

/// The filter with inclusive counts, targets computed separately, and a map of targets after it.
const BY_INCLUSIVE_COUNTS: &str = "program(a: [1]f32, b: [1]i64) {
   m: [1]bool = map(a, f: |%x: f32| gt(%x, 0.0f32))
   c: [1]i64 = map(m, f: |%k: bool| if %k { yield 1i64 } else { yield 0i64 })
   s: [1]i64 = scanl1(c, f: |%x: i64, %y: i64| add(%x, %y))
   n: [0]i64 = fold(c, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
   z: [1]i64 = generate(shape: || n[], f: |%i: i64| 0i64)
   i: [1]i64 = generate(shape: || extent(a, 0), f: |%i: i64| %i)
   p: [1]i64 = permute(i, into: z, combine: |%n: i64, %o: i64| %n, target: |%i: i64| {
     %t: u8, %to: i64 = if m[%i] { yield 1u8, sub(s[%i], 1i64) } else { yield 0u8, 0i64 }
     yield %t, %to
   })
   r: [1](f32, i64) = imap(p, f: |%k: i64, %i: i64| (a[%i], add(mul(%k, 3i64), %i)))
   yield r
 }";

fn kernels(text: &str) -> usize {
    let ready = acc_core::exec::Ready::new(&Native::new(), &parse(text)).unwrap();
    ready.prepared().explain().kernels.len()
}

#[test]
fn filters_keep_what_they_should() {
    let shapes: Vec<Vec<Vec<usize>>> = LENGTHS.iter().map(|&n| vec![vec![n], vec![n]]).collect();
    let shapes: Vec<Vec<&[usize]>> = shapes.iter().map(|s| s.iter().map(|s| &s[..]).collect()).collect();
    let shapes: Vec<&[&[usize]]> = shapes.iter().map(|s| &s[..]).collect();
    for kept in ["gt(%x, 0.0f32)", "eq(%x, %x)", "lt(%x, -1000000000.0f32)", "lt(%x, 1000.0f32)"] {
        let text = filter(kept);
        assert_eq!(kernels(&text), 1, "{text}");
        agree_on(&text, &shapes);
    }
    assert_eq!(kernels(BY_INCLUSIVE_COUNTS), 1);
    agree_on(BY_INCLUSIVE_COUNTS, &shapes);
}

#[test]
fn filters_of_many_chunks() {
    let mut r = Rng(3);
    let n = 200_001;
    let floats: Vec<f32> =
        (0..n).map(|k| ((r.next() % 100) as f32 - 50.0) * if k < 70_000 { -0.0 } else { 1.0 }).collect();
    let floats = ArrayData::new([n], ScalarType::F32.into(), [Column::from_vec(floats)]).unwrap();
    let args = [floats, array(&[n], &ScalarType::I64.into(), &mut r)];
    agree(&filter("gt(%x, 0.0f32)"), &args);
    agree(BY_INCLUSIVE_COUNTS, &args);
    let program = parse(BY_INCLUSIVE_COUNTS);
    let want = Native::with_threads(1).unwrap().run_untyped(&program, &args, &RunLimits::none()).unwrap();
    for threads in [2, 3, 7, 16] {
        let got = Native::with_threads(threads).unwrap().run_untyped(&program, &args, &RunLimits::none()).unwrap();
        assert_eq!(got, want);
    }
}

#[test]
fn what_only_looks_like_a_filter_is_none() {
    // Not compactions: counts of another condition, counts of another array, counts from one on, counts from the right,
    // an offset.
    let good = filter("gt(%x, 0.0f32)");
    let variants = [
        good.replacen("gt(%x, 0.0f32)", "lt(%x, 0.0f32)", 1),
        good.replacen("map(a, f: |%x: f32| select(gt(%x, 0.0f32)", "map(b, f: |%x: i64| select(gt(%x, 0i64)", 1),
        good.replace("init: || 0i64", "init: || 1i64"),
        good.replace("scanl(", "scanr("),
        good.replace("s[extent(a, 0)]", "add(s[extent(a, 0)], 1i64)"),
        good.replace("%o: f32| %n", "%o: f32| add(%n, %o)"),
        // The elements depend on how many are kept.
        good.replace(
            "r: [1]f32 = permute(a,",
            "d: [1]f32 = map(a, f: |%x: f32| mul(%x, cast(extent(z, 0), f32)))
           r: [1]f32 = permute(d,",
        ),
    ];
    for text in variants {
        assert_ne!(text, good);
        assert!(kernels(&text) > 1, "{text}");
        agree_on(&text, &[&[&[100], &[100]], &[&[0], &[0]]]);
    }
}

/// A filter of the quotients of a number by the elements, whether they are kept or not; the epilogue loads at the
/// quotients.
fn divides(number: &str) -> String {
    format!(
        "program(b: [1]i64) {{
           d: [1]i64 = map(b, f: |%x: i64| quot({number}, %x))
           c: [1]i64 = map(b, f: |%x: i64| select(gt(%x, 0i64), 1i64, 0i64))
           s: [1]i64 = scanl(c, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
           z: [1]i64 = generate(shape: || s[extent(b, 0)], f: |%i: i64| 0i64)
           r: [1]i64 = permute(d, into: z, combine: |%n: i64, %o: i64| %n, target: |%i: i64| {{
             %t: u8, %to: i64 = if gt(b[%i], 0i64) {{ yield 1u8, s[%i] }} else {{ yield 0u8, 0i64 }}
             yield %t, %to
           }})
           e: [1]i64 = map(r, f: |%x: i64| b[%x])
           yield e
         }}"
    )
}

#[test]
fn faults_of_filters_are_those_of_the_interpreter() {
    let divides = &divides("100i64");
    assert_eq!(kernels(divides), 1);
    agree_on(divides, &[&[&[0]], &[&[1]], &[&[3]], &[&[300]]]);
    for numbers in [&[1, 100, 50][..], &[100, -3, 0], &[100, -3, 100], &[-1, -2]] {
        agree(divides, &[crate::common::ints(numbers)]);
    }
}

/// A filter of elements with these leaves, by the first one, an `i64`.
fn filter_of(leaves: &[&str]) -> String {
    let elt = format!("({})", leaves.join(", "));
    let named =
        |name: &str| -> Vec<String> { leaves.iter().enumerate().map(|(k, ty)| format!("%{name}{k}: {ty}")).collect() };
    let zero = |ty: &&str| match *ty {
        "bool" => "false".to_string(),
        "char" => "'a'".to_string(),
        ty if ty.starts_with('f') => format!("0.0{ty}"),
        ty => format!("0{ty}"),
    };
    let zeros: Vec<String> = leaves.iter().map(zero).collect();
    let new: Vec<String> = (0..leaves.len()).map(|k| format!("%n{k}")).collect();
    format!(
        "program(a: [1]{elt}) {{
           c: [1]i64 = map(a, f: |{params}| select(gt(%n0, 0i64), 1i64, 0i64))
           s: [1]i64 = scanl(c, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
           z: [1]{elt} = generate(shape: || s[extent(a, 0)], f: |%i: i64| ({zeros}))
           r: [1]{elt} = permute(a, into: z, combine: |{params}, {old}| ({new}), target: |%i: i64| {{
             %x: i64 = a[%i].(0)
             %t: u8, %to: i64 = if gt(%x, 0i64) {{ yield 1u8, s[%i] }} else {{ yield 0u8, 0i64 }}
             yield %t, %to
           }})
           yield r
         }}",
        params = named("n").join(", "),
        old = named("o").join(", "),
        zeros = zeros.join(", "),
        new = new.join(", "),
    )
}

/// Lanes are compressed by tables that depend on the element size.
#[test]
fn elements_of_every_size_are_kept_in_order() {
    let mut r = Rng(53);
    let types = ["i8", "u16", "f32", "f64", "bool", "f16", "i64", "char", "u32"];
    let each = types.iter().map(|ty| vec!["i64", ty]);
    for leaves in each.chain([[&["i64"][..], &types[..]].concat(), vec!["i64", "u8", "u8", "u8", "u8"]]) {
        let text = filter_of(&leaves);
        let elt = parse(&text).param_types().next().unwrap().elt.clone();
        for n in LENGTHS {
            agree(&text, &[array(&[n], &elt, &mut r)]);
        }
    }
}

/// Long results, with any fraction kept, and any order in which threads take chunks.
#[test]
fn long_vectors_are_compacted() {
    let n = 1_150_003;
    let mut r = Rng(59);
    let args = [array(&[n], &ScalarType::F32.into(), &mut r), array(&[n], &ScalarType::I64.into(), &mut r)];
    for kept in ["gt(%x, 0.0f32)", "eq(%x, 8.0f32)", "lt(%x, %x)", "eq(%x, %x)"] {
        let text = filter(kept);
        let want = Native::tiles().run_untyped(&parse(&text), &args, &RunLimits::none()).unwrap();
        for threads in [1, 2, 3, 7, 16] {
            let backend = Native::with_threads(threads).unwrap();
            for _ in 0..3 {
                assert!(backend.run_untyped(&parse(&text), &args, &RunLimits::none()).unwrap() == want, "{kept}");
            }
        }
        let compiled = Native::compiled().run_untyped(&parse(&text), &args, &RunLimits::none()).unwrap();
        assert!(compiled == want, "{kept}");
    }
}

/// Results larger than the caches are counted and written in one pass, whatever fraction is kept.
#[test]
fn large_filters_are_the_same_for_any_number_of_threads() {
    let n = 4_300_003;
    let mut r = Rng(9);
    let floats: Vec<f32> = (0..n).map(|_| (r.next() % 2000) as f32 / 1000.0 - 1.0).collect();
    let data = ArrayData::new([n], ScalarType::F32.into(), [Column::from_vec(floats.clone())]).unwrap();
    let args = [data, array(&[1], &ScalarType::I64.into(), &mut r)];
    let mut backends: Vec<Native> = [1, 2, 7].map(|n| Native::with_threads(n).unwrap()).into();
    backends.extend([Native::tiles(), Native::compiled()]);
    for bound in [-2.0f32, 0.0, 0.9, 2.0] {
        let program = parse(&filter(&format!("gt(%x, {bound:?}f32)")));
        let want: Vec<f32> = floats.iter().copied().filter(|x| *x > bound).collect();
        let want = ArrayData::new([want.len()], ScalarType::F32.into(), [Column::from_vec(want)]).unwrap();
        for b in &backends {
            let got = b.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            assert!(got[..] == [want.clone()], "beyond {bound}");
        }
    }
}

/// The last element faults, and the epilogue's load for the first one is out of bounds: faults of elements come first,
/// also where large filters are computed in one pass.
#[test]
fn faults_of_elements_come_before_those_of_the_epilogue() {
    let text = divides("9000000000i64");
    let mut numbers = vec![1; 2_300_000];
    if let Some(last) = numbers.last_mut() {
        *last = 0;
    }
    for b in [Native::with_threads(1).unwrap(), Native::with_threads(3).unwrap(), Native::tiles(), Native::compiled()] {
        let run = b.run_untyped(&parse(&text), &[crate::common::ints(&numbers)], &RunLimits::none());
        assert!(matches!(run, Err(Error::Fault { fault: Fault::DivisionByZero, .. })), "{run:?}");
    }
}

#[test]
fn what_is_read_of_an_element_to_keep_it_is_not_read_again() {
    use acc_core::prelude::*;
    macro_rules! check {
        ($t:ty, $of:expr, $least:literal) => {{
            let f = |a: Acc<Vector<$t>>| a.filter(|x| x.gt($least));
            let (tiles, compiled) = (Native::tiles().compile(f).unwrap(), Native::compiled().compile(f).unwrap());
            let ir = compiled.prepared().explain().kernel_ir();
            let (_, epilogue) = ir.split_once("epilogue").unwrap();
            assert!(!epilogue.contains("[i") && !epilogue.contains("[%"), "{ir}");
            for n in [0, 1, 31, 1000, 70_001] {
                let mut r = Rng(n as u64 + 1);
                let a = Vector::<$t>::from_fn([n], |_| $of(r.next())).unwrap();
                let want = Interpreter::new().compile(f).unwrap().call((&a,)).unwrap().to_vec();
                assert_eq!(tiles.call((&a,)).unwrap().to_vec(), want);
                assert_eq!(compiled.call((&a,)).unwrap().to_vec(), want);
            }
        }};
    }
    check!(u8, |x: u64| x as u8, 100u8);
    check!(i16, |x: u64| x as i16, 100i16);
    check!(f32, |x: u64| (x % 1000) as f32, 100.0f32);
    check!(f64, |x: u64| (x % 1000) as f64, 900.0f64);
}
