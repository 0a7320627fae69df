//! Derivatives as ordinary code against the interpreter's, which computes with jets.

use acc_core::ad::derivative_of;
use acc_core::data::{ArrayData, EltType, Lit, Prim, ScalarType};
use acc_core::ir::{Mode, Program};
use acc_core::{Executor, Interpreter, RunLimits, text, verify};
use acc_desugar::pipeline::NATIVE;
use acc_desugar::{Rules, Settings, pass};

/// The program with its derivatives expanded.
fn expanded(p: &Program) -> Program {
    let (rules, limits) = (Rules::all(), RunLimits::none());
    let stage = pass::until(NATIVE, "differentiate", p, &Settings::new(&rules, &limits)).expect("a pass");
    let made = stage.unwrap_or_else(|e| panic!("{e}\n{p:#}"));
    let made = made.into_program().expect("a program").into_owned();
    verify::verify(&made, Some("differentiate")).unwrap_or_else(|e| panic!("{e}\n{p:#}\n{made:#}"));
    assert!(!made.has_derivatives());
    made
}

fn run(p: &Program, args: &[ArrayData]) -> Vec<ArrayData> {
    let result = Interpreter::new().run_untyped(&p.clone().into(), args, &RunLimits::none());
    result.unwrap_or_else(|e| panic!("{e}\n{p:#}"))
}

/// Numbers that look random, between -1 and 1, or small integers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    fn array(&mut self, shape: &[usize], elt: &EltType) -> ArrayData {
        let size: usize = shape.iter().product();
        let elements: Vec<Vec<Lit>> = (0..size)
            .map(|_| {
                let leaf = |ty: &ScalarType| match ty {
                    ScalarType::F32 => ((self.next() as f64 / (1u64 << 30) as f64 - 1.0) as f32).lit(),
                    ScalarType::F64 => (self.next() as f64 / (1u64 << 30) as f64 - 1.0).lit(),
                    ScalarType::Bool => self.next().is_multiple_of(2).lit(),
                    ScalarType::I64 => ((self.next() % 3) as i64).lit(),
                    ty => Lit::zero(*ty),
                };
                elt.leaves().iter().map(leaf).collect()
            })
            .collect();
        ArrayData::from_leaves(shape.iter().copied(), elt.clone(), elements).expect("an array")
    }
}

fn near(a: &ArrayData, b: &ArrayData) -> bool {
    let float = |l: Lit| match l.ty {
        ScalarType::F32 => Some((f64::from(f32::from_bits64(l.bits)), 1e-4)),
        ScalarType::F64 => Some((f64::from_bits64(l.bits), 1e-9)),
        _ => None,
    };
    let close = |(x, y): (Lit, Lit)| match (float(x), float(y)) {
        (Some((x, tolerance)), Some((y, _))) => {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()))
        }
        _ => x == y,
    };
    let elements = |k: usize| a.element(k).expect("one").into_iter().zip(b.element(k).expect("one"));
    a.shape() == b.shape() && a.elt() == b.elt() && (0..a.size()).all(|k| elements(k).all(close))
}

/// Tangents or adjoints of arrays.
fn tangents(of: &[ArrayData], numbers: &mut Numbers) -> Vec<ArrayData> {
    let floats = of.iter().filter(|a| a.elt().has_float());
    floats.map(|a| numbers.array(a.shape(), &a.elt().tangent())).collect()
}

/// Checks both derivatives of a program, and the derivative of the derivative along a direction; and the identity of dot
/// products between them.
fn check(source: &str, args: &[ArrayData]) {
    let p = text::parse("p.acc", source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let values = run(&p, args);
    let mut numbers = Numbers(source.len() as u64);
    let (dx, ybar) = (tangents(args, &mut numbers), tangents(&values, &mut numbers));
    let mut found = Vec::new();
    for (mode, along) in [(Mode::Forward, &dx), (Mode::Reverse, &ybar)] {
        let derivative = derivative_of(&p, mode);
        verify::verify(&derivative, None).unwrap_or_else(|e| panic!("{e}\n{derivative:#}"));
        let all: Vec<ArrayData> = args.iter().chain(along).cloned().collect();
        let (want, made) = (run(&derivative, &all), expanded(&derivative));
        let got = run(&made, &all);
        let same = want.iter().zip(&got).all(|(a, b)| near(a, b));
        assert!(same, "{mode:?} of\n{p:#}\nis\n{want:#?}\nand not\n{got:#?}\nof\n{made:#}");
        found.push(got[values.len()..].to_vec());
        // Once more, of what was expanded and of what was not.
        let second = derivative_of(&derivative, Mode::Forward);
        let more = tangents(&all, &mut numbers);
        let all: Vec<ArrayData> = all.into_iter().chain(more).collect();
        let (want, made) = (run(&second, &all), expanded(&second));
        let got = run(&made, &all);
        let same = want.iter().zip(&got).all(|(a, b)| near(a, b));
        assert!(same, "Forward of {mode:?} of\n{p:#}\nis\n{want:#?}\nand not\n{got:#?}\nof\n{made:#}");
    }
    let dot = |a: &[ArrayData], b: &[ArrayData]| -> f64 {
        let value = |l: Lit| match l.ty {
            ScalarType::F32 => f64::from(f32::from_bits64(l.bits)),
            _ => f64::from_bits64(l.bits),
        };
        let both = a.iter().zip(b).flat_map(|(a, b)| {
            (0..a.size()).flat_map(|k| a.element(k).expect("one").into_iter().zip(b.element(k).expect("one")))
        });
        both.map(|(x, y)| value(x) * value(y)).sum()
    };
    let (forward, reverse) = (dot(&found[0], &ybar), dot(&found[1], &dx));
    let both_numbers = forward.is_finite() && reverse.is_finite();
    assert!(!both_numbers || (forward - reverse).abs() <= 1e-3 * (1.0 + forward.abs()), "{forward} {reverse}\n{p:#}");
}

fn check_with(source: &str, shapes: &[&[usize]]) {
    let p = text::parse("p.acc", source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let mut numbers = Numbers(7);
    let args: Vec<ArrayData> = p.param_types().zip(shapes).map(|(ty, shape)| numbers.array(shape, &ty.elt)).collect();
    check(source, &args);
}

#[test]
fn element_wise() {
    check_with("program(x: [1]f64) { y: [1]f64 = map(x, f: |%x: f64| mul(sin(%x), exp(%x))) yield y }", &[&[4]]);
    check_with(
        "program(x: [1]f64, y: [1]f64) { z: [1]f64 = zip_with(x, y, f: |%x: f64, %y: f64| div(%x, add(%y, 3.0f64))) yield z }",
        &[&[4], &[3]],
    );
    check_with(
        "program(x: [2]f64) { z: [2]f64 = imap(x, f: |%i: i64, %j: i64, %x: f64| mul(%x, cast(add(%i, %j), f64))) yield z }",
        &[&[2, 3]],
    );
    check_with(
        "program(x: [1](f64, i64, f64)) { z: [1](f64, i64) = map(x, f: |%a: f64, %n: i64, %b: f64| (mul(%a, mul(%b, cast(%n, f64))), %n)) yield z }",
        &[&[5]],
    );
    check_with(
        "program(x: [1]f32) { y: [1]f64 = map(x, f: |%x: f32| mul(cast(%x, f64), cast(tanh(%x), f64))) yield y }",
        &[&[5]],
    );
}

#[test]
fn branches_of_scalars() {
    check_with(
        "program(x: [1]f64) { y: [1]f64 = map(x, f: |%x: f64| if gt(%x, 0.0f64) { yield sqrt(%x) } else { yield mul(%x, %x) }) yield y }",
        &[&[6]],
    );
    check_with(
        "program(x: [1]f64) { y: [1]f64 = map(x, f: |%x: f64| mul(select(gt(%x, 0.0f64), ln(%x), %x), %x)) yield y }",
        &[&[6]],
    );
    check_with(
        "program(x: [1]f64, c: [1]f64) { y: [1]f64 = imap(x, f: |%i: i64, %x: f64|
           if gt(%x, 0.0f64) { yield if lt(%i, extent(c, 0)) { yield mul(c[%i], %x) } else { yield 1.0f64 } } else { yield mul(c[0i64], c[1i64]) }) yield y }",
        &[&[6], &[3]],
    );
}

#[test]
fn loops_of_scalars() {
    check_with(
        "program(x: [1]f64, k: [0]f64) { y: [1]f64 = map(x, f: |%x: f64| {
           %a = k[]
           %n, %r = while (0i64, 1.0f64) test |%n: i64, %r: f64| { yield lt(%n, 4i64) } step |%n: i64, %r: f64| { yield add(%n, 1i64), mul(sin(add(%r, %x)), %a) }
           yield mul(%r, %x) }) yield y }",
        &[&[5], &[]],
    );
    check_with(
        "program(x: [1]f64) { y: [1]f64 = map(x, f: |%x: f64| {
           %n, %r = while (0i64, %x) test |%n: i64, %r: f64| { yield lt(%r, 3.0f64) } step |%n: i64, %r: f64| { yield add(%n, 1i64), add(mul(%r, %r), 0.5f64) }
           yield %r }) yield y }",
        &[&[5]],
    );
}

#[test]
fn reads() {
    check_with(
        "program(x: [1]f64) { y: [1]f64 = generate(shape: || 4i64, f: |%i: i64| mul(x[%i], x[rem(%i, 2i64)])) yield y }",
        &[&[4]],
    );
    check_with(
        "program(a: [2]f64, b: [2]f64) { p: [3]f64 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
           f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
           y: [2]f64 = fold(p, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64) yield y }",
        &[&[2, 3], &[3, 4]],
    );
    check_with(
        "program(x: [1]f64, s: [0]f64) { y: [1]f64 = map(x, f: |%x: f64| div(%x, add(s[], 2.0f64))) yield y }",
        &[&[4], &[]],
    );
}

#[test]
fn folds() {
    check_with(
        "program(x: [2]f64) { y: [1]f64 = fold(x, f: |%a: f64, %b: f64| add(%a, %b), init: || 1.0f64) yield y }",
        &[&[3, 4]],
    );
    for op in ["mul", "min", "max"] {
        check_with(
            &format!("program(x: [2]f64) {{ y: [1]f64 = fold1(x, f: |%a: f64, %b: f64| {op}(%a, %b)) yield y }}"),
            &[&[3, 4]],
        );
        check_with(
            &format!(
                "program(x: [2]f64, s: [0]f64) {{ y: [1]f64 = fold(x, f: |%a: f64, %b: f64| {op}(%a, %b), init: || s[]) yield y }}"
            ),
            &[&[3, 4], &[]],
        );
    }
    // Pairs that compose: the operator is associative.
    let affine = "|%a: f64, %b: f64, %c: f64, %d: f64| (mul(%a, %c), add(mul(%b, %c), %d))";
    check_with(&format!("program(x: [1](f64, f64)) {{ y: [0](f64, f64) = fold1(x, f: {affine}) yield y }}"), &[&[5]]);
    // An initial value that yields one scalar twice.
    let sums_and_products = "|%a: f64, %b: f64, %c: f64, %d: f64| (add(%a, %c), mul(%b, %d))";
    for shape in [[2, 3], [2, 0]] {
        check_with(
            &format!(
                "program(x: [2](f64, f64), s: [0]f64) {{ y: [1](f64, f64) = fold(x, f: {sums_and_products}, init: || {{ %s: f64 = s[] yield %s, %s }}) yield y }}"
            ),
            &[&shape, &[]],
        );
    }
    // What the operator reads is active, too.
    check_with(
        "program(x: [1]f64, s: [0]f64) { y: [0]f64 = fold1(x, f: |%a: f64, %b: f64| add(add(%a, %b), mul(s[], mul(%a, %b)))) yield y }",
        &[&[4], &[]],
    );
    check_with(
        "program(x: [2]f64) { y: [1]f64 = fold(x, f: |%a: f64, %b: f64| mul(%a, %b), init: || 2.0f64) yield y }",
        &[&[2, 0]],
    );
    check_with("program(x: [2]f64) { y: [1]f64 = fold1(x, f: |%a: f64, %b: f64| max(%a, %b)) yield y }", &[&[2, 1]]);
}

#[test]
fn scans() {
    let affine = "|%a: f64, %b: f64, %c: f64, %d: f64| (mul(%a, %c), add(mul(%b, %c), %d))";
    let other = "|%a: f64, %b: f64, %c: f64, %d: f64| (mul(%a, %c), add(mul(%a, %d), %b))";
    for (scan, init) in [("scanl", true), ("scanl1", false), ("scanr", true), ("scanr1", false)] {
        let init = |text: &str| if init { format!(", init: || {text}") } else { String::new() };
        for op in ["add", "mul", "min"] {
            let source = format!(
                "program(x: [2]f64, s: [0]f64) {{ y: [2]f64 = {scan}(x, f: |%a: f64, %b: f64| {op}(%a, %b){}) yield y }}",
                init("s[]")
            );
            for shape in [[2, 4], [2, 1], [2, 0]] {
                check_with(&source, &[&shape, &[]]);
            }
        }
        for f in [affine, other] {
            let source = format!(
                "program(x: [1](f64, f64), s: [0]f64) {{ y: [1](f64, f64) = {scan}(x, f: {f}{}) yield y }}",
                init("(s[], 1.0f64)")
            );
            check_with(&source, &[&[5], &[]]);
        }
    }
}

#[test]
fn segments() {
    for (op, init) in [("add", "s[]"), ("mul", "s[]"), ("max", "0.0f64")] {
        check_with(
            &format!(
                "program(x: [2]f64, s: [0]f64) {{
               o: [1]i64 = generate(shape: || 4i64, f: |%i: i64| quot(mul(%i, 3i64), 2i64))
               y: [2]f64 = fold_seg(x, offsets: o, f: |%a: f64, %b: f64| {op}(%a, %b), init: || {init}) yield y }}"
            ),
            &[&[2, 6], &[]],
        );
    }
    // Empty ones, and elements in none.
    check_with(
        "program(x: [1]f64) {
           o: [1]i64 = generate(shape: || 5i64, f: |%i: i64| add(1i64, quot(%i, 2i64)))
           y: [1]f64 = fold_seg(x, offsets: o, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.5f64) yield y }",
        &[&[5]],
    );
}

#[test]
fn permutes() {
    for f in
        ["add(%a, %b)", "%a", "%b", "min(%a, %b)", "max(%a, %b)", "max(%b, %a)", "mul(%a, %b)", "sub(%a, mul(%b, %b))"]
    {
        check_with(
            &format!(
                "program(x: [1]f64, d: [1]f64) {{ y: [1]f64 = permute(x, into: d, combine: |%a: f64, %b: f64| {f},
               target: |%i: i64| (cast(ne(%i, 2i64), u8), rem(%i, 3i64))) yield y }}"
            ),
            &[&[7], &[4]],
        );
    }
}

#[test]
fn permutes_of_matrices() {
    check_with(
        "program(x: [2]f64, d: [2]f64) { y: [2]f64 = permute(x, into: d, combine: |%a: f64, %b: f64| mul(%a, sin(%b)),
           target: |%i: i64, %j: i64| (cast(ne(%i, %j), u8), rem(%j, 2i64), rem(%i, 2i64))) yield y }",
        &[&[3, 2], &[2, 3]],
    );
}

#[test]
fn moved_elements() {
    check_with(
        "program(x: [2]f64) { y: [2]f64 = backpermute(x, shape: || (extent(x, 1), extent(x, 0)), index: |%i: i64, %j: i64| (%j, %i)) yield y }",
        &[&[2, 3]],
    );
    check_with(
        "program(x: [1]f64) { y: [2]f64 = backpermute(x, shape: || (3i64, 4i64), index: |%i: i64, %j: i64| rem(add(%i, %j), 4i64)) yield y }",
        &[&[4]],
    );
    check_with(
        "program(x: [2]f64) { y: [1]f64 = reshape(x, shape: || 6i64) z: [1]f64 = map(y, f: |%y: f64| mul(%y, %y)) yield z }",
        &[&[2, 3]],
    );
    check_with(
        "program(x: [2]f64) { y: [4]f64 = replicate(x, axes: [fixed, all, fixed, all], extents: || (2i64, 3i64)) z: [4]f64 = map(y, f: |%y: f64| exp(%y)) yield z }",
        &[&[2, 3]],
    );
    check_with(
        "program(x: [3]f64) { y: [1]f64 = slice(x, axes: [fixed, all, fixed], index: || (1i64, 0i64)) yield y }",
        &[&[2, 3, 2]],
    );
    check_with(
        "program(x: [1]f64) { c: [1]f64 = check(x, ok: || true, message: \"no\") y: [1]f64 = compute(c) yield y }",
        &[&[3]],
    );
    check_with(
        "program(x: [1]f64) { o: [1]i64 = argsort(x) y: [1]f64 = backpermute(x, shape: || extent(x, 0), index: |%i: i64| o[%i]) z: [1]f64 = imap(y, f: |%i: i64, %y: f64| mul(%y, cast(%i, f64))) yield z }",
        &[&[5]],
    );
}

#[test]
fn stencils() {
    for boundary in ["clamp", "mirror", "wrap", "|%i: i64| mul(s[], cast(%i, f64))"] {
        check_with(
            &format!(
                "program(x: [1]f64, s: [0]f64) {{ y: [1]f64 = stencil(x, window: [3], boundary: {boundary}, f: |%a: f64, %b: f64, %c: f64| mul(add(%a, %b), add(%c, s[]))) yield y }}"
            ),
            &[&[4], &[]],
        );
        check_with(
            &format!(
                "program(x: [1]f64, s: [0]f64) {{ y: [1]f64 = stencil(x, window: [5], boundary: {boundary}, f: |%a: f64, %b: f64, %c: f64, %d: f64, %e: f64| mul(%a, mul(%c, add(%d, %e)))) yield y }}"
            ),
            &[&[3], &[]],
        );
    }
    check_with(
        "program(x: [2]f64, z: [2]f64) { y: [2]f64 = stencil(x, z, windows: [[1, 3], [3, 1]], boundaries: [clamp, wrap],
           f: |%a: f64, %b: f64, %c: f64, %d: f64, %e: f64, %f: f64| mul(add(%a, mul(%b, %c)), add(%d, mul(%e, %f)))) yield y }",
        &[&[3, 2], &[2, 3]],
    );
}

#[test]
fn conditionals_and_functions() {
    for k in [0, 1] {
        check_with(
            &format!("program(x: [1]f64, z: [1]f64) {{ y: [1]f64 = acond(cond: || eq({k}i64, 0i64),
               then: {{ a: [1]f64 = zip_with(x, z, f: |%x: f64, %z: f64| mul(%x, %z)) yield a }},
               else: {{ b: [1]f64 = map(x, f: |%x: f64| exp(%x)) c: [1]f64 = map(b, f: |%x: f64| mul(%x, %x)) yield c }}) yield y }}"),
            &[&[3], &[4]],
        );
    }
    check_with(
        "program(x: [1]f64) { y: [1]f64 = foreign(x, name: \"nobody\", fallback: |a: [1]f64| { b: [1]f64 = map(a, f: |%x: f64| mul(%x, %x)) yield b }) yield y }",
        &[&[3]],
    );
    check_with(
        "program(x: [1]f64) { y: [1]f64 = map(x, f: |%x: f64| foreign \"nobody\" (%x, 2.0f64) |%a: f64, %b: f64| { yield mul(%a, sin(mul(%a, %b))) }) yield y }",
        &[&[3]],
    );
}

#[test]
fn loops_of_arrays() {
    // Whose number of steps the program computes; 0, 1 and more of them.
    for steps in [0, 1, 2, 7, 30] {
        check_with(
            &format!(
                "program(x: [1]f64, a: [1]f64, b: [0]f64) {{
               zero: [0]i64 = generate(shape: || (), f: || 0i64)
               n: [0]i64, y: [1]f64 = awhile(zero, x,
                 test: |n: [0]i64, s: [1]f64| {{ c: [0]bool = map(n, f: |%n: i64| lt(%n, {steps}i64)) yield c }},
                 step: |n: [0]i64, s: [1]f64| {{
                   m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
                   t: [1]f64 = zip_with(s, a, f: |%s: f64, %a: f64| add(mul(0.7f64, sin(mul(%s, %a))), b[]))
                   yield m, t }})
               yield y }}"
            ),
            &[&[3], &[4], &[]],
        );
    }
    // Extents that change from step to step, and a loop in a loop.
    check_with(
        "program(x: [1]f64) {
           zero: [0]i64 = generate(shape: || (), f: || 0i64)
           y: [1]f64, n: [0]i64 = awhile(x, zero,
             test: |s: [1]f64, n: [0]i64| { c: [0]bool = map(n, f: |%n: i64| lt(%n, 3i64)) yield c },
             step: |s: [1]f64, n: [0]i64| {
               t: [1]f64 = generate(shape: || mul(2i64, extent(s, 0)), f: |%i: i64| mul(s[rem(%i, extent(s, 0))], 0.9f64))
               m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
               u: [1]f64, k: [0]i64 = awhile(t, zero,
                 test: |s: [1]f64, n: [0]i64| { c: [0]bool = map(n, f: |%n: i64| lt(%n, 2i64)) yield c },
                 step: |s: [1]f64, n: [0]i64| {
                   v: [1]f64 = map(s, f: |%s: f64| mul(%s, cos(%s)))
                   m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64)) yield v, m })
               yield u, m })
           yield y }",
        &[&[2]],
    );
}

#[test]
fn loops_of_scalars_that_read() {
    check_with(
        "program(a: [2]f64, x: [1]f64) { y: [1]f64 = generate(shape: || extent(a, 0), f: |%i: i64| {
           %k, %s = while (0i64, 0.5f64) test |%k: i64, %s: f64| { yield lt(%k, extent(a, 1)) }
             step |%k: i64, %s: f64| { yield add(%k, 1i64), add(mul(%s, 0.5f64), mul(a[%i, %k], x[%k])) }
           yield mul(%s, x[%i]) }) yield y }",
        &[&[2, 3], &[3]],
    );
    // Points leave the loop after different numbers of steps, some at once.
    check_with(
        "program(x: [1]f64, c: [1]f64) { y: [1]f64 = imap(x, f: |%i: i64, %x: f64| {
           %k, %s = while (%i, %x) test |%k: i64, %s: f64| { yield lt(%k, 4i64) }
             step |%k: i64, %s: f64| { yield add(%k, 1i64), mul(%s, c[%k]) }
           yield add(%s, %x) }) yield y }",
        &[&[6], &[4]],
    );
    // In a branch of a branch.
    check_with(
        "program(x: [1]f64, c: [1]f64) { y: [1]f64 = imap(x, f: |%i: i64, %x: f64| if gt(%x, -0.5f64) {
           %z = mul(%x, %x)
           yield if lt(%i, 4i64) {
             %w = sin(%z)
             %k, %s = while (0i64, %w) test |%k: i64, %s: f64| { yield lt(%k, 3i64) }
               step |%k: i64, %s: f64| { yield add(%k, 1i64), add(mul(%s, c[%k]), %z) }
             yield mul(%s, %w)
           } else { yield %z }
         } else { yield mul(%x, c[0i64]) }) yield y }",
        &[&[6], &[4]],
    );
}
