//! Round trips and messages.

use super::{canonical, parse, parse_test_file};
use crate::Error;
use crate::data::ScalarType;
use crate::ir::{ArrayOp, Program, ScalarOp};
use crate::verify::verify;

/// Parses, verifies, prints with and without locations, and parses again.
fn round_trip(text: &str) -> Program {
    let p = parse("test.acc", text).unwrap_or_else(|e| panic!("{e}"));
    verify(&p, None).unwrap_or_else(|e| panic!("{e}"));
    for printed in [p.to_string(), format!("{p:#}")] {
        let again = parse("printed.acc", &printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(again, p, "{printed}");
    }
    assert_eq!(canonical(&p), p);
    assert_eq!(p.to_string(), parse("printed.acc", &p.to_string()).unwrap().to_string());
    p
}

fn error(text: &str) -> String {
    match parse("test.acc", text) {
        Ok(p) => panic!("no error: {p}"),
        Err(e) => e.to_string(),
    }
}

const EVERY_OP: &str = "
program(a: [1]f32, m: [2](i64, (bool, char)), u: [0]()) {
  g: [2]i64 = generate(shape: || (3i64, extent(a, 0)), f: |%i: i64, %j: i64| add(%i, mul(%j, 2i64)))
  b: [1]f32 = map(a, f: |%x: f32| { %y: f32 = mul(%x, %x); yield %y })
  c: [1](f32, f32) = zip_with(a, b, f: |%x: f32, %y: f32| (%y, %x))
  d: [1](f32, (f32,)) = izip_with(a, b, f: |%i: i64, %x: f32, %y: f32| (a[%i], a[0i64]))
  e: [1]f32 = imap(a, f: |%i: i64, %x: f32| if lt(%i, 3i64) { yield %x } else { yield -0.0f32 })
  f: [0]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
  g1: [1]i64 = fold1(g, f: |%x: i64, %y: i64| max(%x, %y))
  s1: [1]f32 = scanl(a, f: |%x: f32, %y: f32| add(%x, %y), init: || f32(inf))
  s2: [1]f32 = scanl1(a, f: |%x: f32, %y: f32| add(%x, %y))
  s3: [1]f32 = scanr(a, f: |%x: f32, %y: f32| add(%x, %y), init: || f32(-inf))
  s4: [1]f32 = scanr1(a, f: |%x: f32, %y: f32| add(%x, %y))
  p: [1]f32 = permute(a, into: b, combine: |%n: f32, %o: f32| add(%n, %o), target: |%i: i64| (1u8, %i))
  q: [2](i64, (bool, char)) = backpermute(m, shape: || (1i64, 2i64), index: |%i: i64, %j: i64| (%j, %i))
  t: [1]f32 = stencil(a, window: [3], boundary: mirror, f: |%l: f32, %c: f32, %r: f32| add(%l, %r))
  t1: [1]f32 = stencil(a, window: [1], boundary: clamp, f: |%c: f32| %c)
  t2: [1]f32 = stencil(a, window: [1], boundary: wrap, f: |%c: f32| %c)
  t3: [1]f32 = stencil(a, window: [1], boundary: |%i: i64| cast(%i, f32), f: |%c: f32| %c)
  r: [3]f32 = reshape(a, shape: || (1i64, 1i64, extent(a, 0)))
  l: [2]f32 = replicate(a, axes: [fixed, all], extents: || 4i64)
  z: [0]f32 = slice(l, axes: [fixed, fixed], index: || (0i64, 1i64))
  u1: [0]() = map(u, f: || ())
  w: [1]f32 = acond(cond: || lt(z[], 1.0f32), then: { yield a }, else: {
    v: [1]f32 = map(a, f: |%x: f32| neg(%x))
    yield v
  })
  i: [0]i32, n: [1]f32 = awhile(k, w,
    test: |i: [0]i32, x: [1]f32| { b: [0]bool = map(i, f: |%i: i32| lt(%i, 3i32)) yield b },
    step: |i: [0]i32, x: [1]f32| {
      j: [0]i32 = map(i, f: |%i: i32| add(%i, 1i32))
      yield j, x
    })
  yield n, c, d, u1, g1, q, p
}";

#[test]
fn every_array_operation() {
    // The loop's counter is a parameter only here, so that the text above stays short.
    let p = round_trip(&EVERY_OP.replace("u: [0]())", "u: [0](), k: [0]i32)"));
    assert_eq!(p.body.stmts.len(), 23);
    assert_eq!(p.body.results.len(), 7);
}

#[test]
fn every_scalar_operation() {
    let p = round_trip(
        "program(a: [2](f32, i32, char)) {
           b: [1](f32, u32, i64, bool) = generate(shape: || 3i64, f: |%i: i64| {
             %c: i32 = a[%i, %i].(1)
             %d: char, %e: f32 = a[%i, 0i64].(2, 0)
             () = a[%i, %i].()
             %f: u32 = cast(%d, u32)
             %g: u32 = bitcast(%e, u32)
             %h = select(lt(%f, %g), %f, %g)
             %k: i64, %l: f32 = while (%i, %e) test |%k: i64, %l: f32| { yield lt(%k, extent(a, 1)) } step |%k: i64, %l: f32| {
               %o = add(%k, 1i64)
               yield %o, div(%l, 2.0f32)
             }
             %m: f32, %n: bool = if eq(%c, -3i32) { yield %l, true } else { yield f32(nan), eq(%d, '\\u{3bb}') }
             yield %m, %h, %k, %n
           })
           yield b
         }",
    );
    let ArrayOp::Generate { f, .. } = &p.body.stmts[0].op else { panic!("not a generate") };
    assert!(f.body.nodes.iter().any(|n| matches!(n.op, ScalarOp::While { .. })));
}

#[test]
fn literals_keep_their_bits() {
    let literals = [
        ("f32", "-0.0", 0x8000_0000u64),
        ("f32", "nan", 0x7fc0_0000),
        ("f32", "nan(0xffc00001)", 0xffc0_0001),
        ("f32", "nan(0x7f800001)", 0x7f80_0001),
        ("f32", "-inf", 0xff80_0000),
        ("f32", "1e-45", 1),
        ("f32", "16777216", 0x4b80_0000),
        ("f64", "nan(0x7ff8000000000123)", 0x7ff8_0000_0000_0123),
        ("f64", "5e-324", 1),
        ("f64", "0.1", 0x3fb9_9999_9999_999a),
        ("i8", "-128", i8::MIN as u64),
        ("u64", "18446744073709551615", u64::MAX),
        ("i64", "-9223372036854775808", i64::MIN as u64),
        ("bool", "true", 1),
        ("char", "'\\''", 0x27),
        ("char", "'\\u{1f600}'", 0x1f600),
        ("char", "'\\n'", 0xa),
    ];
    for (ty, text, bits) in literals {
        let p = round_trip(&format!(
            "program() {{ a: [0]{ty} = generate(shape: || (), f: || {{ %0: {ty} = {text} yield %0 }}) yield a }}"
        ));
        let ArrayOp::Generate { f, .. } = &p.body.stmts[0].op else { panic!("not a generate") };
        let ScalarOp::Const(l) = &f.body.nodes[0].op else { panic!("not a constant") };
        assert_eq!((l.ty, l.bits), (ScalarType::from_name(ty).unwrap(), bits), "{text}");
    }
}

#[test]
fn locations_are_kept_or_are_those_of_the_text() {
    let p = parse(
        "here.acc",
        "program(a: [0]i32) {\n  b: [0]i32 = map(a, f: |%x: i32| neg(%x) @\"src/a b\\\".rs\":7:9)\n  yield b\n}",
    )
    .unwrap();
    let stmt = &p.body.stmts[0];
    assert_eq!(stmt.loc.to_string(), "here.acc:2:15");
    assert_eq!(stmt.op.funs()[0].1.body.nodes[0].loc.to_string(), "src/a b\".rs:7:9");
    let again = parse("again.acc", &p.to_string()).unwrap();
    assert_eq!(again.body.stmts[0].loc.to_string(), "here.acc:2:15");
    let bare = parse("again.acc", &format!("{p:#}")).unwrap();
    assert_eq!(bare.body.stmts[0].loc.to_string(), "again.acc:2:16");
    let unknown = parse("x.acc", "program() { b: [0]i32 = generate(shape: || (), f: || 1i32) @? yield b }").unwrap();
    assert!(!unknown.body.stmts[0].loc.is_known());
    assert!(!parse("x.acc", &unknown.to_string()).unwrap().body.stmts[0].loc.is_known());
}

#[test]
fn names_may_be_any_and_repeat_in_sibling_regions() {
    let p = round_trip(
        "program(größe: [0]bool) {
           x: [0]i32 = map(größe, f: |%c: bool| if %c { %t = 1i32 yield %t } else { %t = 2i32 yield %t })
           yield x
         }",
    );
    assert!(p.to_string().starts_with("program(a0: [0]bool) {\n  a1: [0]i32 = map(a0, f: |%0: bool| {"));
}

#[test]
fn programs_without_results_or_statements() {
    round_trip("program() { yield }");
    round_trip("program(a: [9]((),)) { yield a, a }");
}

#[test]
fn numbering_does_not_depend_on_the_ids() {
    let p = parse("a.acc", "program(a: [0]i32) { b: [0]i32 = map(a, f: |%x: i32| %x) yield b }").unwrap();
    let mut q = p.clone();
    q.types.insert(0, q.types[0].clone());
    let shift = |a: &mut crate::ir::ArrayId| a.0 += 1;
    q.body.params.iter_mut().for_each(shift);
    q.body.results.iter_mut().for_each(shift);
    for s in &mut q.body.stmts {
        s.results.iter_mut().for_each(shift);
        if let ArrayOp::Map { xs, .. } = &mut s.op {
            xs.iter_mut().for_each(shift);
        }
    }
    assert_ne!(p, q);
    assert_eq!(p, canonical(&q));
    assert_eq!(p.to_string(), q.to_string());
}

#[test]
fn messages_show_the_place() {
    let e = error("program(a: [1]f32) {\n  b: [1]f32 = mop(a)\n  yield b\n}");
    assert!(e.starts_with("test.acc:2:15: there is no array operation `mop`; there are: generate, map"), "{e}");
    assert!(e.ends_with("  |\n2 |   b: [1]f32 = mop(a)\n  |               ^"), "{e}");
    for (text, want) in [
        ("program(a: [1]f33) { yield a }", "expected an element type, as in `f32` or `(i64, bool)`, found `f33`"),
        ("program(a: [1]f32) { yield b }", "there is no array `b` here"),
        ("program(a: [1]f32, a: [1]f32) { yield a }", "`a` is defined already"),
        ("program() { a: [0]i8 = generate(shape: || (), f: || 300i8) yield a }", "`300` is not a value of type i8"),
        (
            "program() { a: [0]i8 = generate(shape: || (), f: || 3) yield a }",
            "expected a literal with its type, as in `1i64`",
        ),
        ("program() { a: [0]i8 = generate(f: || 3i8) yield a }", "`generate` needs `shape: ...`"),
        ("program(a: [0]i8) { b: [0]i8 = map(a, f: |%x: i8| foo(%x)) yield b }", "there is no scalar operation `foo`"),
        ("program(a: [0]i8) { b: [0]i8 = map(a, f: |%x: i8| add(%x)) yield b }", "`add` takes 2 operands"),
        ("program(a: [0]i8) { b: [0]i8 = map(a, f: |%x: i8| %y) yield b }", "`%y` is not defined here"),
        ("program(a: [0]i8) { b: [0]i8 = map(a, init: || 1i8, f: |%x: i8| %x) yield b }", "`map` takes no `init`"),
        ("program(a: [0]i8) { b: [0]i8 = map(a f: |%x: i8| %x) yield b }", "expected `,` or `)`, found `f`"),
        ("program(a: [0]i8) { b: [0]i8 = map(a, f: |%x: i8| a[].(1)) yield b }", "the array's elements have 1 leaves"),
        ("program(a: [0]i8) { yield a } x", "expected the end of the text after the program, found `x`"),
        ("program(a: [0]i8) {", "or `yield`, found the end of the text"),
        ("program(a: [0]i8) { b: \"x", "the string does not end on its line"),
        ("", "expected `program`, found the end of the text"),
    ] {
        let e = error(text);
        assert!(e.contains(want), "{text}\n{e}");
    }
}

#[test]
fn deep_nesting_is_read_printed_and_checked() {
    let depth = 3000;
    let text = format!(
        "program(a: [0]bool) {{ b: [0]i32 = map(a, f: |%c: bool| {}{{ yield 1i32 }}{}) yield b }}",
        "{ yield if %c ".repeat(depth / 2),
        " else { yield 0i32 } }".repeat(depth / 2)
    );
    let p = round_trip(&text);
    assert_eq!(p, p.clone());
    let e = error(&format!("program(a: [0]{}i8{}) {{ yield a }}", "(".repeat(9000), ",)".repeat(9000)));
    assert!(e.contains("nested deeper than"), "{e}");
}

#[test]
fn test_files() {
    let text = "// Sums\ncomponent: FLD-01, fold\ncase: E-FD-06\nexecutors: interpreter native-tile\n
program(xs: [1](i64, f32)) {
  s: [0](i64, f32) = fold(xs, f: |%a: i64, %b: f32, %c: i64, %d: f32| (add(%a, %c), add(%b, %d)), init: || (0i64, 0.0f32))
  yield s
}
run \"two\" {
  xs = [2] (i64, f32) { (1, 2.5), (3, -0.0) }
  expect [] (i64, f32) { (4, 2.5) }
  within 2 ulp
}
run { xs = [4] (i64, f32) iota(1, 2); expect agree }
run { xs = [0] (i64, f32) lcg(7); expect fault empty_fold at line 3; deadline 50 ms }
run { xs = [3] (i64, f32) fill((1, nan)) expect stopped }";
    let t = parse_test_file("t.acc", text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(t.components, ["FLD-01", "fold"]);
    assert_eq!((t.cases, t.executors.len(), t.runs.len()), (vec!["E-FD-06".to_string()], 2, 4));
    assert_eq!(t.runs[0].line, 10);
    assert_eq!(
        super::show_array(&t.runs[1].args[0].array().unwrap(), 2),
        "[4] (i64, f32) { (1, 1.0), (3, 3.0), ... 2 more }"
    );
    for (from, to, want) in [
        ("(3, -0.0) }", "}", "1 elements do not fill shape [2], which has 2"),
        ("(1, 2.5),", "(1, 2.5f64),", "a literal of type f64 where f32 is wanted"),
        ("xs = [2]", "ys = [2]", "the program has no parameter `ys`"),
        ("[2] (i64, f32)", "[2] (i64, i64)", "`2.5` is not a value of type i64"),
        ("[0] (i64, f32)", "[0] i64", "the parameter has type [1](i64, f32), but the value has type [1]i64"),
        ("empty_fold", "fold_empty", "there is no such fault; there are: index_out_of_bounds"),
        ("case:", "cases:", "there is no header `cases`; there are: component, case, executors"),
    ] {
        let e = parse_test_file("t.acc", &text.replace(from, to)).map(|_| ()).unwrap_err();
        assert!(matches!(e, Error::Parse(_)) && e.to_string().contains(want), "{e}");
    }
}

#[test]
fn foreign_functions_are_kept_and_their_fallbacks_checked() {
    let program = |fallback: &str| {
        format!(
            "program(xs: [1]i32, n: [0]i64) {{
               a: [1]i32 = foreign(xs, n, name: \"a \\\"b\\\" \\u{{e9}}\\n\", fallback: |p: [1]i32, q: [0]i64| {{ yield p }})
               b: [1]i32 = trace(n, a, message: \"\", fallback: {fallback})
               c: [1]i32 = map(b, f: |%x: i32| {{
                 %y, %z = foreign \"f\" (%x) |%u: i32| {{ yield %u, 1.5f32 }}
                 yield %y
               }})
               yield c
             }}"
        )
    };
    let good = parse("test.acc", &program("|q: [0]i64, p: [1]i32| { yield p }")).unwrap_or_else(|e| panic!("{e}"));
    verify(&good, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(parse("again.acc", &good.to_string()).unwrap_or_else(|e| panic!("{e}")), good);
    for (fallback, rule) in [
        ("|q: [0]i64, p: [1]i32| { r: [1]i32 = map(p, f: |%x: i32| neg(%x)) yield r }", "V4"),
        ("|q: [0]i64| { yield xs }", "V5"),
        ("|q: [0]i64, p: [1]i32| { yield q }", "V4"),
    ] {
        let bad = parse("test.acc", &program(fallback)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(verify(&bad, None).map_err(|e| e.rule), Err(rule), "{fallback}");
    }
}

#[test]
fn rules_are_kept_and_checked() {
    let program = |jvp: &str, vjp: &str, partials: &str| {
        format!(
            "program(xs: [1](f32, i32)) {{
               a: [1]f32 = custom_jvp(xs, f: |p: [1](f32, i32)| {{ y: [1]f32 = map(p, f: |%x: f32, %n: i32| %x) yield y }},
                 jvp: |p: [1](f32, i32), t: [1](f32, ())| {{ {jvp} yield u }})
               b: [1]f32, r: [1]i32 = custom_vjp(a, residuals: 1, f: |p: [1]f32| {{
                   r: [1]i32 = map(p, f: |%x: f32| cast(%x, i32)) yield p, r }},
                 vjp: |r: [1]i32, b: [1]f32| {{ {vjp} yield u }})
               c: [1]f32 = checkpoint(b, f: |p: [1]f32| {{ yield p }})
               d: [1]f32 = custom_derivative(c, f: |p: [1]f32| {{ yield p }}, jvp: |p: [1]f32, t: [1]f32| {{ yield p }},
                 vjp: |b: [1]f32| {{ yield b }})
               e: [1]f32 = map(d, f: |%x: f32| foreign \"\" (%x, 1i32) |%x: f32, %n: i32| {{ yield %x }} partials {partials})
               yield e
             }}"
        )
    };
    let (jvp, vjp) = ("u: [1]f32 = map(t, f: |%t: f32| %t)", "u: [1]f32 = map(b, f: |%b: f32| mul(%b, 2.0f32))");
    let partials = "|%x: f32, %n: i32, %y: f32| { yield %y }";
    round_trip(&program(jvp, vjp, partials));
    for (jvp, vjp, partials, rule, message) in [
        ("u: [1]i32 = map(t, f: |%t: f32| 1i32)", vjp, partials, "V10", "the rule `jvp` yields [[1]i32]"),
        (jvp, "u: [1](f32, f32) = map(b, f: |%b: f32| (%b, %b))", partials, "V10", "the rule `vjp` yields"),
        (jvp, "u: [1]f32 = map(b, f: |%b: f32| mul(%b, %b))", partials, "V10", "`vjp` is not linear: `mul` at"),
        ("u: [1]f32 = map(p, f: |%x: f32, %n: i32| %x)", vjp, partials, "V10", "`jvp` is not linear: `map` at"),
        (jvp, vjp, "|%x: f32, %y: f32| { yield %y }", "V5", "the parameters of partial derivatives"),
        (jvp, vjp, "|%x: f32, %n: i32, %y: f32| { yield %y, %y }", "V5", "partial derivatives"),
    ] {
        let bad = parse("test.acc", &program(jvp, vjp, partials)).unwrap_or_else(|e| panic!("{e}"));
        let e = verify(&bad, None).expect_err("a broken rule");
        assert!(e.rule == rule && e.message.contains(message), "{e}");
    }
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let text = "\u{feff}component: FLD-01\nprogram() { yield }";
    assert_eq!(super::parse_test_file("test.acc", text).unwrap().components, ["FLD-01"]);
    assert!(super::parse_test_file("test.acc", "\u{feff}program() { yield }").is_ok());
}

#[test]
fn a_message_about_a_long_name_is_short() {
    let text = format!("program() {{ yield {} }}", "y".repeat(1_000_000));
    let e = parse("test.acc", &text).unwrap_err().to_string();
    assert!(e.starts_with("test.acc:1:19: there is no array `yyy") && e.len() < 5000, "{}", e.len());
}

#[test]
fn headers_have_known_keys_and_words_with_places() {
    let words = |header: &str| {
        let file = super::parse_test_file("t.acc", &format!("{header}program() {{ yield }}"))?;
        Ok::<_, Error>(file.header.iter().map(|w| (w.key, w.word.clone(), w.line, w.col)).collect::<Vec<_>>())
    };
    let of = |key, word: &str, line, col| (key, word.to_string(), line, col);
    assert_eq!(
        words("\u{feff}component: FLD-01, \u{3000}RED-05 // two\n\n  executors : native\n").unwrap(),
        [of("component", "FLD-01", 1, 13), of("component", "RED-05", 1, 22), of("executors", "native", 3, 15)]
    );
    for (header, place, message) in [
        (
            "case: E-FD-01\n  colour: red\n",
            "t.acc:2:3",
            "there is no header `colour`; there are: component, case, executors",
        ),
        ("component FLD-01\n", "t.acc:1:1", "expected `key: ...` or the program"),
        (": FLD-01\n", "t.acc:1:1", "there is no header ``"),
        ("case: // none\n", "t.acc:1:7", "`case:` lists nothing"),
    ] {
        let said = words(header).unwrap_err().to_string();
        assert!(said.starts_with(&format!("{place}: {message}")), "{said}");
    }
}

#[test]
fn structures_read_back_and_are_compared() {
    let text = |structure: &str| format!("program(xs: [1]i64) {{ yield xs }}\n{structure}\n");
    let read = |structure: &str| parse_test_file("test.acc", &text(structure)).map(|f| f.structures);
    let fold = "kernel map, fold over parallel, reduce";
    let made = read(&format!(
        "structure native {{ kernels 2; intermediates 1\n kernel map reads uniform\n {fold} reads contiguous, across }}"
    ));
    let [made] = &made.unwrap()[..] else { panic!("one structure") };
    assert_eq!(
        made.to_string(),
        format!(
            "structure native {{ kernels 2; intermediates 1\n  kernel map reads uniform\n  {fold} reads contiguous, across\n}}"
        )
    );
    let compare = |expected: &str| read(expected).unwrap()[0].compare(made);
    assert_eq!(compare(&made.to_string()), Ok(()));
    assert_eq!(compare("structure native { kernels 2 }"), Ok(()));
    // A file need not say how its kernels read.
    assert_eq!(compare(&format!("structure native {{ kernel map {fold} }}")), Ok(()));
    let gathers = format!("structure native {{ kernel map reads gathered {fold} }}");
    assert!(compare(&gathers).unwrap_err().contains("other kernels"));
    assert!(
        compare("structure native { kernels 3 }").unwrap_err().starts_with("kernels 2, not 3; the program becomes")
    );
    assert!(compare("structure native { loops 1 }").unwrap_err().contains("`loops` is not counted"));
    assert!(compare("structure native { kernel map }").unwrap_err().contains("other kernels"));
    let wrong = |structure: &str| read(structure).unwrap_err().to_string();
    assert!(wrong("structure native { kernels 1 kernels 2 }").contains("there is a number of `kernels` already"));
    assert!(wrong("structure native { kernels }").contains("a number"));
    assert!(wrong("structure { }").contains("an executor"));
}
