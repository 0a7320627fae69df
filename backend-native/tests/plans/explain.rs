//! Explanations list all steps, and state for every stored array why it is stored.

use crate::common::parse;
use acc_core::exec::Ready;
use acc_core::prelude::*;
use backend_native::Native;
use backend_native::llvm::Unsupported;

fn explain(text: &str) -> String {
    let program = parse(text);
    Ready::new(&Native::new(), &program).unwrap().prepared().explain().to_string()
}

/// The lines without source locations and bytes.
fn steps(text: &str) -> String {
    let explained = explain(text);
    let of_steps = explained.lines().take_while(|l| !l.is_empty());
    let told = of_steps.filter(|l| !l.contains(" at ") && !l.contains("bytes read"));
    told.collect::<Vec<_>>().join("\n")
}

fn tells(text: &str, lines: &[&str]) {
    let explained = explain(text);
    for line in lines {
        assert!(explained.lines().any(|l| l == *line), "{line:?} is not in\n{explained}");
    }
}

const SORTS: &str = "program(keys: [1]i64, ys: [1]f32) {
    p: [1]i64 = argsort(keys)
    r: [1]f32 = backpermute(ys, shape: || extent(p, 0), index: |%i: i64| p[%i])
    q: [1]i64 = argsort(ys)
    z: [1]f32 = backpermute(ys, shape: || extent(q, 0), index: |%i: i64| q[%i])
    w: [2]f32 = reshape(z, shape: || (1i64, extent(z, 0)))
    yield r, w }";

#[test]
fn sorts_and_views_are_steps() {
    assert_eq!(
        steps(SORTS),
        "sort: a2 = argsort of a0\n\
         kernel 0 over (parallel): a3 = backpermute\n  \
           reads a2: contiguous along i0\n  \
           reads a1: gathered along i0\n\
         sort: a5 = a1, sorted\n\
         no copy: a6 = reshape of a5"
    );
    tells(SORTS, &["a4 is fused into a5", "a3 is stored: it is a result"]);
    assert!(explain(SORTS).contains("kernels: 1, sorts: 2, intermediate arrays: "), "{}", explain(SORTS));
}

#[test]
fn sorts_that_are_read_from_one_end_are_selections() {
    let reading = |index: &str| {
        format!(
            "program(m: [2]f32) {{
                order: [2]i64 = argsort(m)
                r: [2]i64 = generate(shape: || (extent(m, 0), min(extent(m, 1), 5i64)), f: |%i: i64, %j: i64| {index})
                yield r }}"
        )
    };
    let first = |text: &str| steps(text).lines().next().unwrap().to_string();
    assert_eq!(first(&reading("order[%i, %j]")), "selection of the first: a1 = argsort of a0");
    let last = "order[%i, sub(sub(extent(m, 1), 1i64), %j)]";
    assert_eq!(first(&reading(last)), "selection of the last: a1 = argsort of a0");
    // From both ends, from the second element on, and all.
    for index in [&format!("add(order[%i, %j], {last})"), "order[%i, add(%j, 1i64)]", "order[%i, order[%i, %j]]"] {
        assert_eq!(first(&reading(index)), "sort: a1 = argsort of a0", "{index}");
    }
    let all = reading("order[%i, %j]").replace("yield r", "yield r, order");
    assert_eq!(first(&all), "sort: a1 = argsort of a0");
    // How many are read is an element, which is not known before.
    let counted = reading("order[%i, %j]").replace("5i64", "order[0i64, 0i64]");
    assert_eq!(first(&counted), "sort: a1 = argsort of a0");
}

#[test]
fn blocks_stand_where_their_steps_run_under_the_names_of_the_printed_program() {
    let text = "program(xs: [1]i64, limit: [0]i64) {
        ys: [1]i64 = awhile(xs,
          test: |s: [1]i64| {
            c: [0]bool = generate(shape: || (), f: || lt(extent(s, 0), limit[]))
            yield c
          },
          step: |s: [1]i64| {
            d: [1]i64 = generate(shape: || mul(2i64, extent(s, 0)), f: |%i: i64| s[rem(%i, extent(s, 0))])
            yield d
          })
        zs: [1]i64 = acond(cond: || lt(extent(ys, 0), 3i64), then: {
          m: [1]i64 = map(ys, f: |%x: i64| neg(%x))
          yield m
        }, else: { yield xs })
        g: [1]i64 = foreign(zs, name: \"g\", fallback: |a: [1]i64| {
          m: [1]i64 = map(a, f: |%x: i64| mul(%x, %x))
          yield m
        })
        h: [1]i64 = trace(g, g, message: \"hi\", fallback: |a: [1]i64, b: [1]i64| { yield b })
        yield h }";
    assert_eq!(
        steps(text),
        "loop: a2 = awhile of a0\n  \
           test:\n    kernel 0 over (): a4 = generate\n  \
           step:\n    kernel 1 over (parallel): a6 = generate\n      reads a5: wrapped along i0\n\
         conditional: a7 = acond\n  \
           then:\n    kernel 2 over (parallel): a8 = map\n      reads a2: contiguous along i0\n\
         host function \"g\": a9 = foreign of a7\n  \
           without a host function of this name:\n    kernel 3 over (parallel): a11 = map\n      reads a10: contiguous along i0\n\
         message \"hi\": a12 = trace of a9, a9"
    );
    let printed = Ready::new(&Native::new(), &parse(text)).unwrap().prepared().simplified().to_string();
    assert!(printed.contains("a6: [1]i64 = generate(") && printed.contains("a11: [1]i64 = map("), "{printed}");
}

#[test]
fn steps_name_the_places_of_what_they_store() {
    let softmax = "program(xs: [2]f32) {
        m: [1]f32 = fold1(xs, f: |%a: f32, %b: f32| max(%a, %b))
        e: [2]f32 = imap(xs, f: |%i: i64, %j: i64, %x: f32| exp(sub(%x, m[%i])))
        s: [1]f32 = fold(e, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)
        r: [2]f32 = imap(e, f: |%i: i64, %j: i64, %x: f32| div(%x, s[%i]))
        yield r }";
    let explained = explain(softmax);
    let places: Vec<&str> = explained.lines().filter(|l| l.starts_with("  `")).collect();
    assert_eq!(places.len(), 3, "{explained}");
    assert!(places[1].contains(":3:") && places[1].contains(":4:"), "{explained}");
}

#[test]
fn folds_scans_and_permutes_that_are_stored_have_a_reason() {
    let add = "f: |%a: f32, %b: f32| add(%a, %b)";
    let of = |statements: &str| {
        let text = format!("program(xs: [1]f32, m: [2]f32, o: [1]i64) {{\n{statements} }}").replace("ADD", add);
        explain(&text)
    };
    for (statements, told) in [
        (
            "s: [1]f32 = fold(m, ADD, init: || 0.0f32)
             c: [2]f32 = imap(m, f: |%i: i64, %j: i64, %x: f32| sub(%x, s[%i]))
             yield c",
            "a3 is stored: it is read at other points than its own, so it must be complete first",
        ),
        (
            "s: [1]f32 = fold(m, ADD, init: || 0.0f32)
             r: [1]f32 = map(s, f: |%x: f32| sqrt(%x))
             yield r",
            "a4 is fused with a3, which is not stored",
        ),
        (
            "s: [1]f32 = fold_seg(xs, offsets: o, ADD, init: || 0.0f32)
             p: [1]i64 = argsort(s)
             yield p",
            "is stored: a sort needs it stored",
        ),
        (
            "v: [1]f32 = scanl1(xs, f: |%a: f32, %b: f32| max(%a, %b))
             w: [1]f32 = scanl1(v, ADD)
             yield w",
            "a3 is stored: what reads it folds, scans or permutes it",
        ),
        (
            "v: [1]f32 = scanl1(xs, ADD)
             w: [1]f32 = map(v, f: |%x: f32| sqrt(%x))
             u: [1]f32 = scanr1(w, ADD)
             t: [0]f32 = fold1(v, f: |%a: f32, %b: f32| max(%a, %b))
             yield w, u, t",
            "a3 is stored: several kernels read it",
        ),
        (
            "v: [1]f32 = scanl(xs, ADD, init: || 0.0f32)
             w: [1]f32 = map(v, f: |%x: f32| sqrt(%x))
             yield w",
            "a3 is stored: a scan with an initial value has no epilogue",
        ),
        (
            "v: [1]f32 = permute(xs, into: xs, combine: |%a: f32, %b: f32| add(%a, %b), target: |%i: i64| (1u8, %i))
             w: [1]f32 = generate(shape: || extent(v, 0), f: |%i: i64| 0.5f32)
             yield w, v",
            "a3 is stored: it is a result",
        ),
    ] {
        let explained = of(statements);
        assert!(explained.contains(told), "{told:?} is not in\n{explained}");
    }
}

/// A filter whose elements are computed on with their positions.
const POSITIONS: &str = "program(a: [1]f32) {
    m: [1]i64 = map(a, f: |%x: f32| select(gt(%x, 0.0f32), 1i64, 0i64))
    s: [1]i64 = scanl(m, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
    z: [1]f32 = generate(shape: || s[extent(a, 0)], f: |%i: i64| 0.0f32)
    p: [1]f32 = permute(a, into: z, combine: |%n: f32, %o: f32| %n, target: |%i: i64| {
      %t: u8, %to: i64 = if gt(a[%i], 0.0f32) { yield 1u8, s[%i] } else { yield 0u8, 0i64 }
      yield %t, %to })
    r: [1]f32 = imap(p, f: |%k: i64, %x: f32| mul(%x, cast(%k, f32)))
    yield r }";

/// Every reason why tiles compute a kernel where there is an LLVM, with a program.
#[test]
fn every_reason_for_tiles_is_told() {
    let _host = ForeignExp::new("explain.triple", |x: i64| 3 * x);
    let call = "program(a: [1]i64) { r: [1]i64 = map(a, f: |%x: i64| {
        yield foreign \"explain.triple\" (%x) |%u: i64| { yield mul(%u, 3i64) } }) yield r }";
    let step = |k: usize| format!("%m{k}: i64 = mul(%x{k}, {k}i64) %x{}: i64 = xor(%m{k}, %x{k})", k + 1);
    let steps: Vec<String> = (0..2100).map(step).collect();
    let large = format!(
        "program(a: [1]i64) {{ r: [1]i64 = map(a, f: |%x0: i64| {{ {} yield %x2100 }}) yield r }}",
        steps.join("\n")
    );
    let leaves = |name: &str| (0..80).map(|k| format!("%{name}{k}: f64")).collect::<Vec<_>>().join(", ");
    let least: Vec<String> = (0..80).map(|k| format!("select(lt(%x{k}, %y{k}), %x{k}, %y{k})")).collect();
    let wide = format!(
        "program(a: [1]f64) {{ p: [1]({elt}) = map(a, f: |%x: f64| ({all}))
           r: [0]({elt}) = fold1(p, f: |{x}, {y}| ({least})) yield r }}",
        elt = ["f64"; 80].join(", "),
        all = (0..80).map(|k| format!("add(%x, {k}.0f64)")).collect::<Vec<_>>().join(", "),
        x = leaves("x"),
        y = leaves("y"),
        least = least.join(", "),
    );
    let (mut loops, mut ends) = (String::new(), String::new());
    for k in 0..13 {
        loops += &format!("yield while (%x) test |%a: i64| {{ yield lt(%a, {k}i64) }} step |%x: i64| {{ ");
        ends += " }";
    }
    let nested = format!(
        "program(a: [1]i64) {{ r: [1]i64 = map(a, f: |%x: i64| {{ {loops} yield add(%x, 1i64) {ends} }}) yield r }}"
    );
    let mut told = [false; 5];
    for text in [call, &large, &wide, POSITIONS, &nested] {
        let explained = Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain();
        for reason in explained.kernels.iter().filter_map(|k| k.on_tiles.as_ref()) {
            let number = match reason {
                Unsupported::HostFunction(name) if name == "explain.triple" => 0,
                Unsupported::Body { nodes: 4001.. } => 1,
                Unsupported::FoldStack { bytes: 131_073.. } => 2,
                Unsupported::CompactedPositions => 3,
                Unsupported::LoopDepth { levels: 13 } => 4,
                // No operation is without instructions, once mathematical functions are written out, and launches
                // choose no loops that do not suit a kernel.
                Unsupported::Operation(_) | Unsupported::Variant(_) => panic!("{reason}"),
                Unsupported::HostFunction(_) | Unsupported::Body { .. } => panic!("{reason}"),
                Unsupported::FoldStack { .. } | Unsupported::LoopDepth { .. } => {
                    panic!("{reason}")
                }
            };
            told[number] = true;
            let line = format!("machine code does not do all of it: {reason}");
            assert!(explained.to_string().contains(&line), "{explained}");
        }
    }
    assert_eq!(told, [true; 5]);
}

#[test]
fn every_operation_on_floats_is_machine_code() {
    for ty in ["f16", "f32", "f64"] {
        for one in [
            "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
            "acosh", "atanh", "sqrt",
        ] {
            let text = format!("program(a: [1]{ty}) {{ r: [1]{ty} = map(a, f: |%x: {ty}| {one}(%x)) yield r }}");
            assert!(!explain(&text).contains("machine code does not"), "{text}");
        }
        for two in ["pow", "atan2", "fmod", "min", "div"] {
            let text =
                format!("program(a: [1]{ty}) {{ r: [1]{ty} = map(a, f: |%x: {ty}| {two}(%x, neg(%x))) yield r }}");
            assert!(!explain(&text).contains("machine code does not"), "{text}");
        }
    }
}
