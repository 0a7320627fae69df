//! Scatters into many targets: threads own ranges of the result, and every result is that of one thread.

use crate::common::{Rng, array, parse, reference, same};
use acc_core::data::{ArrayData, Column, EltType, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};

/// With so many threads results of this size are partitioned.
const THREADS: [usize; 2] = [7, 16];
const SIZE: i64 = 2_500_000;
const ELEMENTS: usize = 300_007;

fn backends() -> Vec<Native> {
    let with = |threads, compile| Native::with(Options::new().threads(threads).compile(compile)).unwrap();
    let several = THREADS.iter().flat_map(|&n| [with(n, Compile::Now), with(n, Compile::Never)]);
    [with(1, Compile::Now), with(1, Compile::Never)].into_iter().chain(several).collect()
}

/// Positions below `size`, many of them several times.
fn positions(size: i64, r: &mut Rng) -> ArrayData {
    let below = |r: &mut Rng| if r.next().is_multiple_of(4) { r.next() % 50 } else { r.next() % size as u64 };
    let values: Vec<i64> = (0..ELEMENTS).map(|_| below(r) as i64).collect();
    ArrayData::new([ELEMENTS], ScalarType::I64.into(), [Column::from_vec(values)]).unwrap()
}

/// Checks for equal bits, except those of NaNs.
fn agree(want: &[ArrayData], got: &[ArrayData], text: &str) {
    for (w, g) in want.iter().zip(got) {
        same(w, g, 0.0).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

/// Runs a program on all backends; returns the interpreter's outcome, after comparing all thread counts bit for bit.
fn check(text: &str, args: &[ArrayData]) {
    let program = parse(text);
    let run = |b: &Native| b.run_untyped(&program, args, &RunLimits::none());
    let backends = backends();
    match (reference(&program, args), run(&backends[0])) {
        (Ok(want), Ok(one)) => {
            for b in &backends[1..] {
                agree(&one, &run(b).unwrap(), text);
            }
            agree(&want, &one, text);
        }
        (Err(want), Err(_)) => {
            for b in &backends {
                assert_eq!(run(b).unwrap_err().to_string(), want.to_string(), "{text}");
            }
        }
        (want, one) => panic!("{:?} and {:?}\n{text}", want.err(), one.err()),
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

#[test]
fn all_types_are_distributed() {
    use ScalarType as S;
    let mut r = Rng(41);
    let at = positions(SIZE, &mut r);
    let ints = [S::I8, S::I16, S::I32, S::I64, S::U8, S::U16, S::U32, S::U64];
    let numbers = ints.into_iter().chain([S::F16, S::F32, S::F64]);
    for (ty, combine) in numbers.map(|t| (t, "add(%x, %y)")).chain([S::Bool, S::Char, S::F32].map(|t| (t, "%x"))) {
        let text = format!(
            "program(d: [1]T, a: [1]T, k: [1]i64) {{
               r: [1]T = permute(a, into: d, combine: |%x: T, %y: T| {combine}, target: |%i: i64| (1u8, k[%i]))
               yield r
             }}"
        );
        let args = [array(&[SIZE as usize], &ty.into(), &mut r), array(&[ELEMENTS], &ty.into(), &mut r), at.clone()];
        check(&text.replace('T', &ty.to_string()), &args);
    }
}

#[test]
fn leaves_and_elements_that_are_not_kept() {
    let mut r = Rng(42);
    let at = positions(SIZE, &mut r);
    let text = |keep: &str| {
        format!(
            "program(a: [1](f64, i16), k: [1]i64) {{
               d: [2](f64, i16) = generate(shape: || (2500i64, 1000i64), f: |%i: i64, %j: i64| (0.5f64, 3i16))
               r: [2](f64, i16) = permute(a, into: d, combine: |%x: f64, %n: i16, %y: f64, %m: i16| (sub(%x, %y), max(%m, %n)),
                 target: |%i: i64| if {keep} {{ yield 1u8, quot(k[%i], 1000i64), rem(k[%i], 1000i64) }} else {{ yield 0u8, -1i64, 7000i64 }})
               yield r
             }}"
        )
    };
    let args =
        [array(&[ELEMENTS], &EltType::Tuple([ScalarType::F64, ScalarType::I16].map(EltType::from).into()), &mut r), at];
    for keep in ["true", "ne(rem(%i, 3i64), 0i64)", "gt(rem(quot(%i, 5000i64), 2i64), 0i64)", "lt(%i, 0i64)"] {
        check(&text(keep), &args);
    }
}

#[test]
fn the_first_target_out_of_bounds_is_the_fault() {
    let mut r = Rng(43);
    let at = positions(SIZE, &mut r);
    for (first, second) in [(ELEMENTS - 1, ELEMENTS - 2), (200_000, 40_000), (131_072, 131_071), (0, 1)] {
        let text = format!(
            "program(a: [1]f32, k: [1]i64) {{
               d: [1]f32 = generate(shape: || {SIZE}i64, f: |%i: i64| 0.0f32)
               r: [1]f32 = permute(a, into: d, combine: |%x: f32, %y: f32| %x,
                 target: |%i: i64| (1u8, select(eq(%i, {first}i64), {SIZE}i64, select(eq(%i, {second}i64), -5i64, k[%i]))))
               yield r
             }}"
        );
        check(&text, &[array(&[ELEMENTS], &ScalarType::F32.into(), &mut r), at.clone()]);
    }
}

#[test]
fn histograms_of_many_sizes() {
    let mut r = Rng(44);
    for bins in [1, 5, 256, 4096, 30_000, 70_000, 150_000] {
        let at = positions(bins, &mut r);
        for (ty, one) in [("u32", "1u32"), ("i64", "k[%i]"), ("u8", "3u8"), ("i32", "-7i32"), ("f32", "1.0f32")] {
            for combine in ["add(%x, %y)", "max(%x, %y)", "mul(%y, %x)"] {
                check(
                    &format!(
                        "program(k: [1]i64) {{
                           d: [1]{ty} = generate(shape: || {bins}i64, f: |%i: i64| 1{ty})
                           a: [1]{ty} = generate(shape: || extent(k, 0), f: |%i: i64| {one})
                           r: [1]{ty} = permute(a, into: d, combine: |%x: {ty}, %y: {ty}| {combine}, target: |%i: i64| (1u8, k[%i]))
                           yield r
                         }}"
                    ),
                    std::slice::from_ref(&at),
                );
            }
        }
    }
}

#[test]
fn several_leaves_into_few_places() {
    let bins = 300;
    let at = positions(bins, &mut Rng(46));
    let all_of = |ty: &'static str, n: usize, op: &'static str| vec![(ty, op); n];
    let elements = [
        all_of("f32", 2, "add"),
        all_of("f32", 3, "add"),
        all_of("f64", 5, "max"),
        all_of("i64", 8, "add"),
        all_of("i64", 9, "add"),
        all_of("f16", 3, "min"),
        all_of("u8", 7, "mul"),
        all_of("i32", 4, "xor"),
        vec![("f32", "add"), ("i64", "add")],
        vec![("i16", "add"), ("i16", "max"), ("i16", "add")],
    ];
    // A single scatter, and a loop of several.
    let targets = [
        "yield 1u8, k[%i]",
        "yield select(eq(rem(%i, 5i64), 0i64), 0u8, 1u8), k[%i]",
        "%p: i64, %s: i64 = while (k[%i], rem(%i, 3i64)) test |%p: i64, %s: i64| { yield gt(%s, 0i64) } step |%p: i64, %s: i64| { yield select(gt(%p, 0i64), sub(%p, 1i64), %p), sub(%s, 1i64) }
         yield select(lt(%p, 7i64), 0u8, 1u8), %p",
        "%far = select(eq(%i, 222222i64), 301i64, k[%i])
         yield 1u8, select(eq(%i, 333i64), %far, select(gt(%i, 250000i64), -1i64, %far))",
    ];
    for leaves in elements {
        let list = |f: &dyn Fn(usize, &str, &str) -> String| {
            let each: Vec<String> = leaves.iter().enumerate().map(|(k, (ty, op))| f(k, ty, op)).collect();
            each.join(", ")
        };
        let types = list(&|_, ty, _| ty.to_string());
        let initial = list(&|k, ty, _| format!("cast({k}i64, {ty})"));
        let new = list(&|k, ty, _| format!("cast(sub(rem(mul(%i, {}i64), 11i64), 4i64), {ty})", k + 3));
        let params = list(&|k, ty, _| format!("%a{k}: {ty}")) + ", " + &list(&|k, ty, _| format!("%b{k}: {ty}"));
        let combined = list(&|k, _, op| format!("{op}(%a{k}, %b{k})"));
        for target in targets {
            check(
                &format!(
                    "program(k: [1]i64) {{
                       d: [1]({types}) = generate(shape: || {bins}i64, f: |%i: i64| ({initial}))
                       a: [1]({types}) = generate(shape: || extent(k, 0), f: |%i: i64| ({new}))
                       r: [1]({types}) = permute(a, into: d, combine: |{params}| ({combined}), target: |%i: i64| {{ {target} }})
                       yield r
                     }}"
                ),
                std::slice::from_ref(&at),
            );
        }
    }
}

#[test]
fn where_memory_is_limited_elements_are_combined_in_order() {
    let mut r = Rng(45);
    let backend = Native::with_threads(16).unwrap();
    // More targets than elements, and fewer.
    for (size, combined) in [(SIZE, "%x"), (100_000, "add(%x, %y)")] {
        let program = parse(&format!(
            "program(a: [1]i32, k: [1]i64) {{
               d: [1]i32 = generate(shape: || {size}i64, f: |%i: i64| 0i32)
               r: [1]i32 = permute(a, into: d, combine: |%x: i32, %y: i32| {combined}, target: |%i: i64| (1u8, k[%i]))
               yield r
             }}"
        ));
        let args = [array(&[ELEMENTS], &ScalarType::I32.into(), &mut r), positions(size, &mut r)];
        let want = backend.run_untyped(&program, &args, &RunLimits::none()).unwrap();
        let limits = RunLimits::none().max_bytes(4 * size as u64 + 1000);
        assert_eq!(backend.run_untyped(&program, &args, &limits).unwrap(), want);
    }
}

/// Floats are converted to positions in vectors, from which elements are then extracted; floats out of range saturate.
#[test]
fn floats_are_counted() {
    let text = "program(a: [1]f32) {
        z: [1]i32 = generate(shape: || 100i64, f: |%i: i64| 0i32)
        o: [1]i32 = map(a, f: |%x: f32| 1i32)
        h: [1]i32 = permute(o, into: z, combine: |%x: i32, %y: i32| add(%x, %y),
          target: |%i: i64| (1u8, min(max(cast(mul(a[%i], 25.0f32), i64), 0i64), 99i64)))
        yield h
      }";
    for n in [1, 100, ELEMENTS] {
        check(text, &[array(&[n], &ScalarType::F32.into(), &mut Rng(n as u64))]);
    }
}
