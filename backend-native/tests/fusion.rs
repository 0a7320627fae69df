//! What becomes a kernel, seen in the explanation; and that memory of intermediate arrays is not kept.

mod common;

use acc_core::exec::Ready;
use backend_native::Native;
use common::parse;
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
        a: [1]f32 = map(x, f: |%x: f32| exp(%x))
        b: [1]f32 = map(a, f: |%x: f32| mul(%x, 2.0f32))
        c: [1]f32 = zip_with(a, b, f: |%x: f32, %y: f32| add(%x, %y))
        yield c }";
    assert_eq!(kernels(twice), 1);
    assert_eq!(kernel_ir(twice).matches("= exp ").count(), 1, "{}", kernel_ir(twice));
    let copied = "program(x: [1]f32) {
        a: [1]f32 = map(x, f: |%x: f32| exp(%x))
        r: [2]f32 = replicate(a, axes: [fixed, all], extents: || 100i64)
        yield r }";
    assert_eq!(kernels(copied), 2);
    assert!(explain(copied).contains("a1 is stored: its elements would be computed more than once"));
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
    assert!(text.contains("load a0[i0, i1]"), "{text}");
    assert!(text.contains("uniform sqrt"), "{text}");
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
    common::agree(&text, &[common::ints(&[1, 2, 3])]);
}
