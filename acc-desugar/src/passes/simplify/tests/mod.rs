//! Structure: what each rule leaves. Soundness, on random programs: [`mod@random`].

mod random;

use crate::{Rules, simplify, simplify_with};
use acc_core::ir::Program;
use random::scalar_nodes;

#[track_caller]
fn parse(text: &str) -> Program {
    let p = acc_core::text::parse("test.acc", text).unwrap_or_else(|e| panic!("{e}"));
    acc_core::verify::verify(&p, None).unwrap_or_else(|e| panic!("{e}"));
    p
}

/// The simplified program is this one.
#[track_caller]
fn becomes(from: &str, to: &str) {
    // Names of arrays and numbers of values are those that passes give.
    let numbered = Rules::none().with("dead_scalars").and_then(|r| r.with("dead_arrays")).unwrap();
    let (got, want) = (simplify(&parse(from)), simplify_with(&parse(to), &numbered));
    assert!(got == want, "got\n{got}\nwant\n{want}");
}

/// A map of `f`, whose parameter is `%x`, of a vector of `i64`.
fn map_i64(body: &str) -> String {
    format!("program(xs: [1]i64) {{ ys: [1]i64 = map(xs, f: |%x: i64| {body}) yield ys }}")
}

#[test]
fn identities_of_integers() {
    for unit in ["add(%x, 0i64)", "add(0i64, %x)", "mul(%x, 1i64)", "neg(neg(%x))", "and(%x, %x)", "xor(%x, 0i64)"] {
        becomes(&map_i64(&format!("mul({unit}, 3i64)")), &map_i64("mul(%x, 3i64)"));
    }
    becomes(&map_i64("add(%x, mul(2i64, 3i64))"), &map_i64("add(%x, 6i64)"));
}

#[test]
fn what_is_not_exact_of_floats_stays() {
    let map = |body: &str| format!("program(xs: [1]f32) {{ ys: [1]f32 = map(xs, f: |%x: f32| {body}) yield ys }}");
    for body in ["add(%x, 0.0f32)", "mul(%x, 0.0f32)", "sub(%x, %x)"] {
        becomes(&map(body), &map(body));
    }
    becomes(&map("mul(sub(%x, 0.0f32), 2.0f32)"), &map("mul(%x, 2.0f32)"));
}

#[test]
fn a_division_by_zero_stays() {
    becomes(&map_i64("add(%x, quot(1i64, 0i64))"), &map_i64("add(%x, quot(1i64, 0i64))"));
}

#[test]
fn maps_that_change_nothing_and_unused_statements_go() {
    becomes(
        "program(xs: [1]i64) {
           ys: [1]i64 = map(xs, f: |%x: i64| add(%x, 0i64))
           unused: [1]i64 = map(ys, f: |%x: i64| mul(%x, 2i64))
           zs: [1]i64 = map(ys, f: |%x: i64| add(%x, 2i64))
           yield zs
         }",
        "program(xs: [1]i64) { zs: [1]i64 = map(xs, f: |%x: i64| add(%x, 2i64)) yield zs }",
    );
}

#[test]
fn small_total_branches_become_a_select() {
    becomes(
        &map_i64("if lt(%x, 0i64) { yield neg(%x) } else { yield %x }"),
        &map_i64("{ %c = lt(%x, 0i64) %n = neg(%x) yield select(%c, %n, %x) }"),
    );
}

/// A read, a division, a measured array and a loop stay where they are demanded.
#[test]
fn what_is_not_total_stays_in_its_branch() {
    for partial in ["xs[%x]", "quot(1i64, %x)", "extent(other, 0)"] {
        let kept = format!(
            "program(xs: [1]i64, other: [1]i64) {{
               ys: [1]i64 = map(xs, f: |%x: i64| if lt(%x, 0i64) {{ yield {partial} }} else {{ yield %x }})
               yield ys
             }}"
        );
        becomes(&kept, &kept);
    }
}

/// The extents of an operand, and of what the result has its extents from, are known before any element is computed.
#[test]
fn conditions_on_known_extents_are_one_condition() {
    let program = |condition: &str| {
        format!(
            "program(xs: [2]f64) {{
               ys: [2]bool = generate(shape: || (extent(xs, 0), extent(xs, 1)), f: |%i: i64, %j: i64| {{ {condition} }})
               yield ys
             }}"
        )
    };
    becomes(
        &program(
            "%a: bool = if gt(%i, 0i64) { yield lt(%i, sub(extent(xs, 0), 1i64)) } else { yield false }
             %b: bool = if %a {
               %c: bool = if gt(%j, 0i64) { yield lt(%j, sub(extent(xs, 1), 1i64)) } else { yield false }
               yield %c
             } else { yield false }
             yield %b",
        ),
        &program(
            "%zero = 0i64
             %a = gt(%i, %zero)
             %n = extent(xs, 0)
             %one = 1i64
             %b = and(%a, lt(%i, sub(%n, %one)))
             %c = and(gt(%j, %zero), lt(%j, sub(extent(xs, 1), %one)))
             yield and(%b, %c)",
        ),
    );
}

#[test]
fn equal_reads_in_two_branches_are_not_one_read_before_them() {
    let kept = map_i64(
        "{ %c = lt(%x, 0i64)
           %a: i64 = if %c { yield xs[%x] } else { yield %x }
           %b: i64 = if lt(%x, 7i64) { yield xs[%x] } else { yield %x }
           yield add(%a, %b) }",
    );
    becomes(&kept, &kept);
}

#[test]
fn conditions_that_are_constant_choose_their_branch() {
    becomes(&map_i64("if lt(1i64, 2i64) { yield quot(%x, 3i64) } else { yield xs[%x] }"), &map_i64("quot(%x, 3i64)"));
    becomes(
        "program(xs: [1]i64) {
           ys: [1]i64 = acond(cond: || lt(1i64, 2i64), then: { yield xs }, else: {
             zs: [1]i64 = map(xs, f: |%x: i64| add(%x, 1i64))
             yield zs
           })
           yield ys
         }",
        "program(xs: [1]i64) { yield xs }",
    );
}

#[test]
fn invariant_total_code_leaves_a_loop_and_a_division_does_not() {
    let loop_of = |before: &str, add: &str| {
        map_i64(&format!(
            "{{ {before} %r: i64 = while (%x) test |%s: i64| {{ yield lt(%s, 9i64) }}
                step |%s: i64| {{ yield add(%s, {add}) }} yield %r }}"
        ))
    };
    becomes(&loop_of("", "mul(%x, %x)"), &loop_of("%m = mul(%x, %x)", "%m"));
    becomes(&loop_of("", "quot(7i64, %x)"), &loop_of("", "quot(7i64, %x)"));
}

#[test]
fn unused_components_of_a_loop_go() {
    becomes(
        &map_i64(
            "{ %i: i64, %u: i64, %s: i64 = while (0i64, %x, %x)
                 test |%i: i64, %u: i64, %s: i64| { yield lt(%i, 9i64) }
                 step |%i: i64, %u: i64, %s: i64| { yield add(%i, 1i64), mul(%u, %s), add(%s, %i) }
               yield %s }",
        ),
        &map_i64(
            "{ %i: i64, %s: i64 = while (0i64, %x)
                 test |%i: i64, %s: i64| { yield lt(%i, 9i64) }
                 step |%i: i64, %s: i64| { yield add(%i, 1i64), add(%s, %i) }
               yield %s }",
        ),
    );
}

#[test]
fn unused_leaves_of_a_read_go() {
    let p = |results: &str, leaves: &str| {
        format!(
            "program(xs: [1](i64, f32, i64), n: [0]i64) {{
               ys: [0]i64 = map(n, f: |%n: i64| {{ {results} = xs[%n]{leaves} yield %c }}) yield ys }}"
        )
    };
    becomes(&p("%a: i64, %b: f32, %c: i64", ""), &p("%c: i64", ".(2)"));
}

#[test]
fn equal_operations_are_done_once_and_unused_arrays_leave_a_loop() {
    let p = |more_init: &str, more: &str, more_next: &str, copy: &str| {
        format!(
            "program(n: [0]i64, xs: [1]i64) {{
               m: [0]i64, s: [1]i64 {} = awhile(n, xs {more_init},
                 test: |i: [0]i64, a: [1]i64 {more}| {{ b: [0]bool = map(i, f: |%i: i64| lt(%i, 3i64)) yield b }},
                 step: |i: [0]i64, a: [1]i64 {more}| {{
                   j: [0]i64 = map(i, f: |%i: i64| add(%i, 1i64))
                   c: [1]i64 = map(a, f: |%x: i64| mul(%x, 2i64))
                   {copy}
                   yield j, c {more_next}
                 }})
               yield s
             }}",
            if more.is_empty() { "" } else { ", t: [1]i64" },
        )
    };
    let copy = "d: [1]i64 = map(a, f: |%x: i64| mul(%x, 2i64))
                e: [1]i64 = zip_with(c, d, f: |%x: i64, %y: i64| sub(%x, %y))";
    becomes(&p(", xs", ", t: [1]i64", ", e", copy), &p("", "", "", ""));
}

#[test]
fn traces_are_not_merged_and_go_only_where_nothing_needs_them() {
    let trace = |name: &str| format!("{name}: [1]i64 = trace(xs, message: \"m\", fallback: |p: [1]i64| {{ yield p }})");
    let sum = "r: [1]i64 = zip_with(a, b, f: |%x: i64, %y: i64| add(%x, %y)) yield r";
    let text = |traces: &[&str]| {
        let traces: Vec<String> = traces.iter().map(|t| trace(t)).collect();
        format!("program(xs: [1]i64) {{ {} {sum} }}", traces.join(" "))
    };
    becomes(&text(&["a", "b", "c"]), &text(&["a", "b"]));
    // Equal operations beside them are merged.
    becomes(
        "program(xs: [1]i64) { a: [1]i64 = compute(xs) b: [1]i64 = compute(xs)
           r: [1]i64 = zip_with(a, b, f: |%x: i64, %y: i64| add(%x, %y)) yield r }",
        "program(xs: [1]i64) { a: [1]i64 = compute(xs)
           r: [1]i64 = zip_with(a, a, f: |%x: i64, %y: i64| add(%x, %y)) yield r }",
    );
}

#[test]
fn a_foreign_function_keeps_its_arguments_and_results() {
    let text = "program(xs: [1]i64) { ys: [1]i64 = map(xs, f: |%x: i64| {
        %one = 1i64
        %a, %b = foreign \"f\" (%x, %one) |%p: i64, %q: i64| { yield %p, %p }
        yield %a
      }) yield ys }";
    becomes(text, text);
    let arrays = "program(xs: [1]i64) {
        one: [0]i64 = generate(shape: || (), f: || 1i64)
        a: [1]i64, b: [0]i64 = foreign(xs, one, name: \"f\", fallback: |p: [1]i64, q: [0]i64| { yield p, q })
        yield a }";
    becomes(arrays, arrays);
}

#[test]
fn a_reshape_to_the_own_shape_goes() {
    becomes(
        "program(xs: [1]i64) { ys: [1]i64 = reshape(xs, shape: || extent(xs, 0)) yield ys }",
        "program(xs: [1]i64) { yield xs }",
    );
}

#[test]
fn a_transposition_back_goes() {
    let transposed = |name: &str, of: &str| {
        format!(
            "{name}: [2]f32 = backpermute({of}, shape: || (extent({of}, 1), extent({of}, 0)), \
             index: |%i: i64, %j: i64| (%j, %i))"
        )
    };
    becomes(
        &format!("program(a: [2]f32) {{ {} {} yield u }}", transposed("t", "a"), transposed("u", "t")),
        "program(a: [2]f32) { yield a }",
    );
    // Of the last one there are other rows than there were.
    let part = "u: [2]f32 = backpermute(t, shape: || (extent(t, 1), 1i64), index: |%i: i64, %j: i64| (%j, %i))";
    let kept = format!("program(a: [2]f32) {{ {} {part} yield u }}", transposed("t", "a"));
    becomes(&kept, &kept);
}

/// Nesting is no limit of the stack.
#[test]
fn deeply_nested_branches() {
    const DEPTH: usize = 1_500;
    let open: String = (0..DEPTH).map(|k| format!("{{ yield if lt(%x, {}i64) ", DEPTH - k)).collect();
    let text = map_i64(&format!("{open}{{ yield xs[%x] }}{}", " else { yield %x } }".repeat(DEPTH)));
    let p = parse(&text);
    let after = simplify(&p);
    assert_eq!(scalar_nodes(&after), scalar_nodes(&p));
}
