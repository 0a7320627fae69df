//! Which statements become one kernel, as shown by explanations; and that the memory of intermediate arrays is freed.

use crate::common::parse;
use acc_core::exec::Ready;
use backend_native::Native;
use std::time::Instant;

fn explain(text: &str) -> String {
    Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain().to_string()
}

fn kernel_ir(text: &str) -> String {
    Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain().kernel_ir()
}

fn kernels(text: &str) -> usize {
    Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain().kernels.len()
}

#[test]
fn element_wise_producers_are_fused() {
    let dot = "program(x: [1]f32, y: [1]f32) {
        p: [1]f32 = zip_with(x, y, f: |%x: f32, %y: f32| mul(%x, %y))
        r: [0]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        yield r }";
    assert_eq!(kernels(dot), 1);
    assert!(explain(dot).contains("a2 is fused into a3"), "{}", explain(dot));
    let chain = "program(x: [2]f32) {
        a: [2]f32 = map(x, f: |%x: f32| mul(%x, 2.0f32))
        t: [2]f32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
        s: [1]f32 = slice(t, axes: [fixed, all], index: || 0i64)
        c: [1]f32 = scanl1(s, f: |%x: f32, %y: f32| add(%x, %y))
        m: [1]f32 = map(c, f: |%x: f32| add(%x, 1.0f32))
        yield m }";
    assert_eq!(kernels(chain), 1);
    let stencil = "program(x: [1]f32) {
        s: [1]f32 = stencil(x, window: [3], boundary: clamp, f: |%a: f32, %b: f32, %c: f32| add(%a, add(%b, %c)))
        m: [1]f32 = map(s, f: |%x: f32| div(%x, 3.0f32))
        yield m }";
    assert_eq!(kernels(stencil), 1);
}

#[test]
fn what_is_used_twice_is_computed_once_and_what_is_dear_is_stored() {
    let twice = "program(x: [1]f32) {
        a: [1]f32 = map(x, f: |%x: f32| sqrt(%x))
        b: [1]f32 = map(a, f: |%x: f32| mul(%x, 2.0f32))
        c: [1]f32 = zip_with(a, b, f: |%x: f32, %y: f32| add(%x, %y))
        yield c }";
    assert_eq!(kernels(twice), 1);
    assert_eq!(kernel_ir(twice).matches("= sqrt(").count(), 1, "{}", kernel_ir(twice));
    let copied = "program(x: [1]f32) {
        a: [1]f32 = map(x, f: |%x: f32| exp(%x))
        r: [2]f32 = replicate(a, axes: [fixed, all], extents: || 100i64)
        yield r }";
    assert_eq!(kernels(copied), 2);
    assert!(explain(copied).contains("a1 is stored: its elements would be computed more than once"));
}

/// Arrays that are needed only if there are elements are evaluated with the first element: after the products, whose
/// faults come later if their evaluation ends.
#[test]
fn what_may_fault_waits_for_arrays_that_end() {
    let weighted = |weight: &str| {
        format!(
            "program(p: [2]f32, v: [2]f32) {{
            w: [2]f32 = map(p, f: |%x: f32| {{ {weight} }})
            z: [1]f32 = fold(w, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
            m: [3]f32 = generate(shape: || (extent(p, 0), extent(v, 1), extent(v, 0)),
              f: |%i: i64, %c: i64, %j: i64| mul(p[%i, %j], v[%j, %c]))
            s: [2]f32 = fold(m, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
            r: [2]f32 = imap(s, f: |%i: i64, %c: i64, %x: f32| div(%x, z[%i]))
            yield r }}"
        )
    };
    let sums = weighted("yield exp(%x)");
    assert!(explain(&sums).contains("as a product of matrices"), "{}", explain(&sums));
    let endless = weighted(
        "%y = while (%x) test |%s: f32| { yield gt(%s, 0.0f32) } step |%s: f32| { yield %s }
         yield %y",
    );
    assert!(explain(&endless).contains("its fault could be lost to a loop"), "{}", explain(&endless));
}

#[test]
fn nothing_is_fused_across_a_barrier_a_trace_or_a_foreign_function() {
    let barrier = "program(x: [1]f32) {
        a: [1]f32 = map(x, f: |%x: f32| mul(%x, 2.0f32))
        b: [1]f32 = compute(a)
        c: [1]f32 = map(b, f: |%x: f32| add(%x, 1.0f32))
        yield c }";
    assert_eq!(kernels(barrier), 2);
    assert!(explain(barrier).contains("a1 is stored: it is stored for a barrier"), "{}", explain(barrier));
    for name in ["foreign(a, name: \"f\"", "trace(a, message: \"m\""] {
        let opaque = format!(
            "program(x: [1]f32) {{
            a: [1]f32 = map(x, f: |%x: f32| mul(%x, 2.0f32))
            b: [1]f32 = {name}, fallback: |p: [1]f32| {{ yield p }})
            c: [1]f32 = map(b, f: |%x: f32| add(%x, 1.0f32))
            yield c }}"
        );
        assert_eq!(kernels(&opaque), 2, "{}", explain(&opaque));
    }
}

#[test]
fn uniform_code_and_access_patterns_are_explained() {
    let text = kernel_ir(
        "program(x: [2]f32, k: [0]f32) {
           a: [2]f32 = imap(x, f: |%i: i64, %j: i64, %x: f32| mul(%x, sqrt(k[])))
           yield a }",
    );
    assert!(text.contains(" = a0[i0, i1]"), "{text}");
    assert!(text.contains(": uniform f32 = sqrt("), "{text}");
}

/// A transposition has no index out of bounds, so none of its faults is lost when its consumer evaluates an array on
/// demand.
#[test]
fn transpositions_are_fused_with_what_reads_arrays_on_demand() {
    let transposed = |columns: usize| {
        format!(
            "program(x: [2]i64, y: [1]i64) {{
            u: [1]i64 = map(y, f: |%y: i64| {{
              %z = while (%y) test |%s: i64| {{ yield gt(%s, 9i64) }} step |%s: i64| {{ yield quot(%s, 2i64) }}
              yield %z
            }})
            t: [2]i64 = backpermute(x, shape: || (extent(x, 1), extent(x, {columns})), index: |%i: i64, %j: i64| (%j, %i))
            p: [2]i64 = imap(t, f: |%i: i64, %j: i64, %x: i64| mul(%x, u[%j]))
            s: [1]i64 = fold(p, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
            yield s }}"
        )
    };
    assert!(explain(&transposed(0)).contains("a3 is fused into"), "{}", explain(&transposed(0)));
    assert!(explain(&transposed(1)).contains("a3 is stored: its fault could be lost"), "{}", explain(&transposed(1)));
    crate::common::agree_on(
        &transposed(0),
        &[&[&[0, 3], &[0]], &[&[1, 1], &[1]], &[&[37, 5], &[37]], &[&[5, 37], &[4]]],
    );
    crate::common::agree_on(&transposed(1), &[&[&[7, 7], &[7]], &[&[3, 7], &[7]]]);
}

/// Lowering stays linear: a thousand statements take milliseconds in an optimised build.
#[test]
fn a_long_program_is_lowered_quickly() {
    let mut text = "program(xs: [1]i64) {".to_string();
    let mut last = "xs".to_string();
    for k in 0..1000 {
        text += &format!("a{k}: [1]i64 = map({last}, f: |%x: i64| add(mul(%x, 3i64), {k}i64))\n");
        last = format!("a{k}");
    }
    text += &format!("yield {last} }}");
    let program = parse(&text);
    let start = Instant::now();
    Ready::new(&Native::new(), &program).unwrap();
    // Generous, for a build without optimisation on a machine under load.
    assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
    crate::common::agree(&text, &[crate::common::ints(&[1, 2, 3])]);
}

/// The extents of an array computed between two statements of one kernel are known only when those of the first one
/// are.
#[test]
fn arrays_between_the_parts_of_a_kernel_have_extents() {
    let after_a_fold = "program(a: [2]i64) {
        f: [1]i64 = fold1(a, f: |%x: i64, %y: i64| add(%x, %y))
        z: [1]i64 = zip_with(f, f, f: |%x: i64, %y: i64| mul(%x, %y))
        r: [1]i64 = map(z, f: |%x: i64| add(%x, 1i64))
        yield r }";
    crate::common::agree_on(after_a_fold, &[&[&[3, 4]], &[&[0, 4]], &[&[5, 1]]]);
    let beside = "program(a: [1]i64) {
        b: [1]i64 = backpermute(a, shape: || 0i64, index: |%i: i64| %i)
        m: [1]bool = map(b, f: |%x: i64| gt(%x, 1i64))
        s: [1]bool = scanr(m, f: |%x: bool, %y: bool| or(%x, %y), init: || true)
        yield b, s }";
    crate::common::agree_on(beside, &[&[&[0]], &[&[3]]]);
    let after_a_permute = "program(a: [1]i64) {
        p: [1]i64 = permute(a, into: a, combine: |%x: i64, %y: i64| add(%x, %y), target: |%i: i64| (1u8, %i))
        m: [1]i64 = imap(p, f: |%i: i64, %x: i64| add(%x, %i))
        z: [1]i64 = zip_with(a, p, m, f: |%x: i64, %y: i64, %z: i64| add(%x, mul(%y, %z)))
        yield z }";
    crate::common::agree_on(after_a_permute, &[&[&[0]], &[&[1]], &[&[70]]]);
}

/// A statement that reads the extents of an array depends on it, even if it reads no element.
#[test]
fn a_kernel_that_measures_another_one_comes_after_it() {
    let text = "program(a: [2]u64) {
        f: [1]u64 = fold(a, f: |%x: u64, %y: u64| add(%x, %y), init: || 0u64)
        b: [1]u64 = backpermute(f, shape: || extent(f, 0), index: |%i: i64| %i)
        g: [1]u8 = generate(shape: || extent(b, 0), f: |%i: i64| 7u8)
        r: [2]i64 = imap(a, f: |%i: i64, %j: i64, %x: u64| cast(g[%i], i64))
        yield b, r }";
    crate::common::agree_on(text, &[&[&[1, 1]], &[&[3, 5]], &[&[70, 80]]]);
}

/// A scalar that the extents of a view depend on is stored, even if an epilogue reads it.
#[test]
fn a_fold_that_a_view_reads_is_stored() {
    let text = "program(a: [1]i64) {
        n: [0]i64 = fold(a, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
        m: [0]i64 = map(n, f: |%x: i64| add(%x, 1i64))
        v: [2]i64 = reshape(a, shape: || (n[], 1i64))
        yield m, v }";
    crate::common::agree(text, &[crate::common::ints(&[1, 1, 1])]);
    crate::common::agree(text, &[crate::common::ints(&[2, 1, 1])]);
}

/// A kernel that runs at the position of its first statement comes after everything that its others need, at any
/// distance.
#[test]
fn what_a_later_part_of_a_kernel_needs_comes_before_it() {
    let text = "program(a: [1]i64) {
        b: [1]i64 = imap(a, f: |%i: i64, %x: i64| mul(%x, %i))
        c: [1]i64 = stencil(a, window: [3], boundary: clamp, f: |%x: i64, %y: i64, %z: i64| add(%x, %z))
        d: [1]i64 = compute(c)
        e: [1]i64 = zip_with(b, d, b, f: |%x: i64, %y: i64, %z: i64| add(%x, add(%y, %z)))
        yield b, e }";
    crate::common::agree_on(text, &[&[&[0]], &[&[1]], &[&[70]]]);
}

/// A statement read both directly and through a fold is not computed in the epilogue of that fold.
#[test]
fn what_comes_after_a_fold_of_its_own_operand_is_a_kernel_of_its_own() {
    let text = "program(a: [1]i64) {
        m: [1]i64 = map(a, f: |%x: i64| mod_floor(%x, 5i64))
        least: [0]i64 = fold(m, f: |%x: i64, %y: i64| min(%x, %y), init: || 1i64)
        c: [1]i64 = check(m, ok: || ge(least[], -9i64), message: \"too small\")
        s: [1]i64 = scanl(c, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
        yield s }";
    crate::common::agree_on(text, &[&[&[0]], &[&[1]], &[&[70]]]);
}

/// The epilogue of a scan is per element and that of a fold per row; a kernel has only one of them.
#[test]
fn what_comes_after_scans_is_no_kernel_with_folds() {
    let text = "program(a: [1]i64) {
        p: [1]i64 = scanl(a, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
        s: [0]i64 = fold(a, f: |%x: i64, %y: i64| min(%x, %y), init: || 1i64)
        q: [1]i64 = scanl1(a, f: |%x: i64, %y: i64| max(%x, %y))
        m: [1]i64 = map(q, f: |%x: i64| mul(%x, 3i64))
        yield s, p, m }";
    crate::common::agree_on(text, &[&[&[0]], &[&[1]], &[&[70]]]);
}
