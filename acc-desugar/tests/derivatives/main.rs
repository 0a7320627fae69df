//! Derivatives as ordinary code against the interpreter's, which computes with jets.

mod laziness;
mod loops;
mod one_hot;
mod rules;
mod support;

use acc_core::ad::derivative_of;
use acc_core::data::{ArrayData, Prim, ScalarType};
use acc_core::exec::replay::EQUAL_EXTENTS;
use acc_core::ir::Mode;
use acc_core::{Executor, Interpreter, RunLimits, text};
use support::{Numbers, check, check_with, expanded, near, run};

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

/// Reads at a step that never meet are gathered together, whether they have one adjoint or several, and cover the array or not.
#[test]
fn reads_at_a_step() {
    let pool = |reads: &str, step: u32| {
        format!(
            "program(x: [2]f64, w: [1]f64) {{
               y: [2]f64 = generate(shape: || (quot(extent(x, 0), {step}i64), quot(extent(x, 1), {step}i64)), f: |%i: i64, %j: i64| {{
                 %a = mul(%i, {step}i64)
                 %b = mul(%j, {step}i64)
                 %a1 = add(%a, 1i64)
                 %b1 = add(%b, 1i64)
                 yield {reads}
               }})
               yield y
             }}"
        )
    };
    let all = "mul(add(add(x[%a, %b], x[%a, %b1]), add(x[%a1, %b], x[%a1, %b1])), 0.25f64)";
    let weighted = "add(add(mul(x[%a, %b], w[0i64]), sin(x[%a, %b1])), add(mul(x[%a1, %b], w[1i64]), x[%a1, %b1]))";
    let some = "add(x[%a, %b], mul(x[%a1, %b1], 3.0f64))";
    let one_axis = "mul(x[%a, %j], exp(x[%a1, %j]))";
    let twice = "add(mul(x[%a, %b], x[%a, %b]), x[%a1, %b])";
    let guarded = "if lt(%i, %j) { yield add(x[%a, %b], x[%a, %b1]) } else { yield x[%a1, %b1] }";
    for reads in [all, weighted, some, one_axis, twice, guarded] {
        for step in [2, 3] {
            for shape in [[4, 6], [7, 9]] {
                check_with(&pool(reads, step), &[&shape, &[2]]);
            }
        }
    }
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

/// Reads at sums of coordinates: their adjoints are gathers.
#[test]
fn reads_at_sums_of_coordinates() {
    for (points, index) in [
        ("add(extent(x, 0), 2i64)", "%i: i64| if lt(%i, 2i64) { yield 0.5f64 } else { yield x[sub(%i, 2i64)] }"),
        ("sub(extent(x, 0), 1i64)", "%i: i64| mul(x[%i], x[add(%i, 1i64)])"),
        ("extent(x, 0)", "%i: i64| x[sub(sub(extent(x, 0), 1i64), %i)]"),
        ("quot(extent(x, 0), 3i64)", "%i: i64| sin(x[add(mul(%i, 3i64), 1i64)])"),
        ("5i64", "%i: i64| mul(x[2i64], x[add(mul(%i, -1i64), 6i64)])"),
        ("0i64", "%i: i64| x[%i]"),
    ] {
        let source = format!("program(x: [1]f64) {{ y: [1]f64 = generate(shape: || {points}, f: |{index}) yield y }}");
        check_with(&source, &[&[7]]);
        let p = text::parse("p.acc", &source).unwrap_or_else(|e| panic!("{e}"));
        let made = format!("{:#}", expanded(&derivative_of(&p, Mode::Reverse)));
        assert!(!made.contains("permute"), "{made}");
    }
    // A convolution of two axes with a stride, and what is read at a place of one axis.
    let source = "program(x: [3]f64, w: [4]f64) {
       t: [5]f64 = generate(shape: || (2i64, 2i64, extent(w, 0), extent(w, 1), extent(w, 2)),
         f: |%i: i64, %j: i64, %f: i64, %a: i64, %b: i64|
           mul(x[add(mul(%i, 2i64), %a), add(%j, %b), 1i64], w[%f, %a, %b, 0i64]))
       s: [4]f64 = fold(t, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
       y: [3]f64 = fold(s, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
       yield y }";
    check_with(source, &[&[5, 4, 2], &[3, 3, 3, 2]]);
    // Neither: the same coordinate twice, a coordinate that is divided.
    check_with(
        "program(x: [2]f64) { y: [1]f64 = generate(shape: || 3i64, f: |%i: i64| x[%i, sub(2i64, %i)]) yield y }",
        &[&[3, 4]],
    );
    check_with(
        "program(x: [1]f64) { y: [1]f64 = generate(shape: || 8i64, f: |%i: i64| x[quot(%i, 2i64)]) yield y }",
        &[&[4]],
    );
}

/// Of equal numbers one has the adjoint, and which one is as in the interpreter; also if the initial value is equal.
#[test]
fn extremes_of_equal_numbers() {
    let numbers = |all: &[f64], shape: &[usize]| {
        ArrayData::from_leaves(shape.iter().copied(), ScalarType::F64.into(), all.iter().map(|x| [x.lit()]))
            .expect("an array")
    };
    let xs = numbers(&[1.0, 3.0, 3.0, -2.0, -2.0, 3.0, 1.0, 1.0], &[2, 4]);
    for operands in ["%a, %b", "%b, %a"] {
        for op in ["min", "max"] {
            let f = format!("|%a: f64, %b: f64| {op}({operands})");
            check(&format!("program(x: [2]f64) {{ y: [1]f64 = fold1(x, f: {f}) yield y }}"), std::slice::from_ref(&xs));
            for start in [3.0, 0.0, -2.0] {
                let source =
                    format!("program(x: [2]f64, s: [0]f64) {{ y: [1]f64 = fold(x, f: {f}, init: || s[]) yield y }}");
                check(&source, &[xs.clone(), numbers(&[start], &[])]);
                let source = format!(
                    "program(x: [2]f64, s: [0]f64) {{
                       o: [1]i64 = generate(shape: || 4i64, f: |%i: i64| sub(add(%i, quot(%i, 2i64)), quot(%i, 3i64)))
                       y: [2]f64 = fold_seg(x, offsets: o, f: {f}, init: || s[]) yield y }}"
                );
                check(&source, &[xs.clone(), numbers(&[start], &[])]);
            }
        }
    }
    // A sum beside an extreme.
    let source = "program(x: [2](f64, f64, i64)) {
       y: [1](f64, f64, i64) = fold1(x, f: |%a: f64, %b: f64, %c: i64, %d: f64, %e: f64, %f: i64|
         (add(%a, %d), max(%b, %e), add(%c, %f))) yield y }";
    check_with(source, &[&[2, 3]]);
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
    // As small as they can be, and none at all.
    for (boundary, window, extents) in [("clamp", 5, [0, 1, 2]), ("mirror", 3, [2, 3, 4]), ("wrap", 5, [2, 3, 4])] {
        let params: Vec<String> = (0..window).map(|k| format!("%p{k}: f64")).collect();
        let (params, last) = (params.join(", "), window - 1);
        for n in extents {
            check_with(
                &format!(
                    "program(x: [2]f64) {{ y: [2]f64 = stencil(x, window: [1, {window}], boundary: {boundary}, f: |{params}| mul(%p0, add(%p1, mul(%p{last}, %p{last})))) yield y }}"
                ),
                &[&[2, n]],
            );
        }
    }
    check_with(
        "program(x: [2]f64) { y: [2]f64 = stencil(x, window: [3, 3], boundary: mirror,
           f: |%a: f64, %b: f64, %c: f64, %d: f64, %e: f64, %f: f64, %g: f64, %h: f64, %i: f64| add(mul(%a, %e), mul(%i, sin(%c)))) yield y }",
        &[&[3, 4]],
    );
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

/// In operators of folds and scans, in their initial values, in stencils and beyond their edges.
#[test]
fn loops_that_read_in_functions_of_several_elements() {
    // From a value, a loop of three steps that reads.
    let walk = |v: &str| {
        format!(
            "%k, %s = while (0i64, {v}) test |%k: i64, %s: f64| {{ yield lt(%k, 3i64) }}
               step |%k: i64, %s: f64| {{ yield add(%k, 1i64), add(mul(%s, c[%k]), mul(0.1f64, c[%k])) }}"
        )
    };
    let operator = format!("|%a: f64, %b: f64| {{ {} yield mul(mul(%a, %b), %s) }}", walk("0.75f64"));
    for (rank, op) in [
        (0, format!("fold1(x, f: {operator})")),
        (0, format!("fold(x, f: {operator}, init: || c[1i64])")),
        (1, format!("scanl(x, f: {operator}, init: || c[1i64])")),
        (1, format!("scanl1(x, f: {operator})")),
        (1, format!("scanr(x, f: {operator}, init: || 0.5f64)")),
        (1, format!("scanr1(x, f: {operator})")),
        (0, format!("fold(x, f: |%a: f64, %b: f64| add(%a, %b), init: || {{ {} yield %s }})", walk("0.25f64"))),
        (0, format!("fold(x, f: |%a: f64, %b: f64| mul(%a, %b), init: || {{ {} yield %s }})", walk("0.25f64"))),
    ] {
        check_with(&format!("program(x: [1]f64, c: [1]f64) {{ y: [{rank}]f64 = {op} yield y }}"), &[&[4], &[3]]);
    }
    for boundary in ["clamp".to_string(), format!("|%i: i64| {{ {} yield %s }}", walk("0.5f64"))] {
        let function = format!("|%l: f64, %m: f64, %r: f64| {{ {} yield add(mul(%l, %m), mul(%s, %r)) }}", walk("%m"));
        for f in [function.as_str(), "|%l: f64, %m: f64, %r: f64| mul(add(%l, %m), add(c[0i64], %r))"] {
            check_with(
                &format!(
                    "program(x: [1]f64, c: [1]f64) {{ y: [1]f64 = stencil(x, window: [3], boundary: {boundary}, f: {f}) yield y }}"
                ),
                &[&[5], &[3]],
            );
        }
    }
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

/// Arrays that are combined are assumed to have the same extents: no adjoint is padded with zeros then. A check holds that.
#[test]
fn equal_extents_are_assumed_and_checked() {
    let source = "program(x: [1]f64, y: [1]f64, z: [1]f64) {
        s: [1]f64 = zip_with(x, y, z, f: |%x: f64, %y: f64, %z: f64| mul(%x, mul(%y, %z)))
        t: [0]f64 = fold(s, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
        yield t
      }";
    let derivative = derivative_of(&text::parse("p.acc", source).unwrap(), Mode::Reverse);
    let made = expanded(&derivative);
    let text = format!("{made}");
    assert_eq!((text.matches(" = check(").count(), text.matches("if ").count()), (2, 0), "{text}");
    let args = |lengths: [usize; 3]| -> Vec<ArrayData> {
        let mut numbers = Numbers(5);
        let shapes = lengths.map(|n| vec![n]).into_iter().chain([vec![]]);
        shapes.map(|shape| numbers.array(&shape, &ScalarType::F64.into())).collect()
    };
    let attempt = |lengths| Interpreter::new().run_untyped(&made.clone().into(), &args(lengths), &RunLimits::none());
    let equal = attempt([4, 4, 4]).unwrap();
    assert!(equal.iter().zip(run(&derivative, &args([4, 4, 4]))).all(|(a, b)| near(a, &b)));
    for lengths in [[3, 4, 4], [4, 3, 4], [4, 4, 5]] {
        assert!(attempt(lengths).unwrap_err().to_string().starts_with(EQUAL_EXTENTS));
    }
}
