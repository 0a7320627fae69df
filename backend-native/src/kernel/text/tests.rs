//! Kernels are what they were when they are written and read, and wrong ones are errors with a place.

use super::Kernels;
use crate::kernel::{Initial, Kernel, Output, Sink};
use crate::{Native, Options};
use acc_core::text::parse_test_file;
use acc_core::{Backend, Error, RunLimits};
use std::path::Path;

/// Calls `f` with each conformance program.
fn programs(folder: &Path, f: &mut dyn FnMut(&str, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            programs(&path, f);
        } else if path.extension().is_some_and(|e| e == "acc") {
            f(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The kernel with the values of all bodies in the order of the text.
fn canonical(mut k: Kernel) -> Kernel {
    let outputs = |outputs: &mut Vec<Output>| {
        for o in outputs {
            match &mut o.sink {
                Sink::Store | Sink::Compact => {}
                Sink::Fold { combine, .. } | Sink::Scan { combine, .. } | Sink::Segments { combine, .. } => {
                    *combine = combine.canonical();
                }
                Sink::Scatter { combine, initial, .. } => {
                    *combine = combine.canonical();
                    if let Initial::Computed(b) = initial {
                        *b = b.canonical();
                    }
                }
            }
        }
    };
    k.element = k.element.canonical();
    outputs(&mut k.outputs);
    if let Some(e) = &mut k.epilogue {
        e.body = e.body.canonical();
        outputs(&mut e.outputs);
    }
    k
}

#[test]
fn kernels_of_all_programs_are_read_as_they_were() {
    let (mut kernels, mut scheduled, mut epilogues, mut sinks) = (0, 0, 0, std::collections::BTreeSet::new());
    let variants = [Options::new(), Options::new().relaxed(true), Options::new().fuse(false)];
    let variants = variants.map(|options| Native::with(options).unwrap());
    let unchecked = |k: &Kernel| Kernel { element: k.element.clone().unchecked(), ..k.clone() };
    programs(Path::new("../conformance/programs"), &mut |name, text| {
        let program = parse_test_file(name, text).unwrap().program;
        for native in &variants {
            let prepared = native.prepare(&program, &RunLimits::none()).unwrap();
            let launches = prepared.plan().launches().flat_map(|l| [Some(l), l.epilogue.as_deref()]).flatten();
            let kernels_of = launches.flat_map(|l| l.permuted.as_deref().into_iter().chain([&l.kernel]));
            for kernel in kernels_of.flat_map(|k| [k.clone(), unchecked(k)]) {
                let text = kernel.to_string();
                let read = Kernels::parse("kernel.acc", &text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
                assert_eq!(read.0, [canonical(kernel.clone())], "{name}\n{text}");
                assert_eq!(read.to_string(), text, "{name}");
                read.verify().unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
                let short = format!("{kernel:#}");
                assert_eq!(format!("{:#}", Kernels::parse("kernel.acc", &short).unwrap()), short, "{name}");
                kernels += 1;
                scheduled += usize::from(kernel.is_scheduled());
                epilogues += usize::from(kernel.epilogue.is_some());
                sinks.extend(kernel.outputs.iter().map(|o| o.sink.name()));
            }
        }
    });
    println!("{kernels} kernels, {scheduled} scheduled, {epilogues} with epilogues");
    assert!(kernels > 2000 && scheduled > 5 && epilogues > 50, "{kernels} {scheduled} {epilogues}");
    assert_eq!(sinks.into_iter().collect::<Vec<_>>(), ["compact", "fold", "scan", "scatter", "segments", "store"]);
}

/// A kernel with this element body and these outputs.
fn of(axes: &str, element: &str, outputs: &str) -> String {
    format!("kernel({axes}) {{\n  element: {element}\n  {outputs}\n}}\n")
}

#[test]
fn wrong_kernels_are_errors_with_rule_and_line() {
    let copy = "|%i: i64| {\n    %x: f32 = a0[i0]\n    yield %x\n  }";
    let store = "a1 = store(op: map, values: [0])";
    let fold = |combine: &str| format!("a1 = fold(op: fold1, values: [0], combine: {combine})");
    let add = "|%a: f32, %b: f32| {\n    %c: f32 = add(%a, %b)\n    yield %c\n  }";
    Kernels::parse("k.acc", &of("parallel", copy, store)).unwrap().verify().unwrap();
    Kernels::parse("k.acc", &of("reduce", copy, &fold(add))).unwrap().verify().unwrap();
    let epilogue = format!("{}\n  epilogue: |%x: i64| {{ yield %x }}\n  a2 = store(op: map, values: [0])", fold(add));
    let fused = |axis: &str, values: &str, op: &str| {
        let pair = "|%i: i64| {\n    %x: f32 = a0[i0]\n    yield %x, %x\n  }";
        let combine = add.replace("add(", &format!("{op}("));
        let fold = format!("a1 = fold(op: fold1, values: {values}, fused, builtin: [{op}], combine: {combine})");
        of(axis, pair, &fold)
    };
    Kernels::parse("k.acc", &fused("reduce", "[0, 1]", "add")).unwrap().verify().unwrap();
    let wrong = [
        ("K8", 6, fused("reduce", "[0]", "add")),
        ("K8", 6, fused("reduce", "[0, 1]", "max")),
        ("K8", 6, fused("scan left", "[0, 1]", "add")),
        ("K2", 3, of("parallel", "|%i: i64| {\n    %x: f32 = add(%i, %i)\n    yield %x\n  }", store)),
        ("K2", 3, of("parallel", "|%i: i64| {\n    %x: f32, %y: f32 = a0[i0].(0)\n    yield %x\n  }", store)),
        ("K2", 3, of("parallel", "|%i: i64| {\n    %x: u64 = table(%i, [])\n    yield %x\n  }", store)),
        ("K3", 0, of("parallel, parallel", copy, store)),
        ("K3", 3, of("parallel", "|%i: i64| {\n    %x: f32 = a0[i1]\n    yield %x\n  }", store)),
        ("K3", 3, of("parallel", "|%i: i64| {\n    %x: f32 = a0[i0 + %i]\n    yield %x\n  }", store)),
        ("K4", 6, of("reduce", copy, &fold("|%a: f32, %b: f32| {\n    yield %a, %b\n  }"))),
        ("K4", 6, of("reduce", copy, &fold("|%a: f32| { yield %a }"))),
        ("K5", 3, of("parallel", "|%i: i64| {\n    %x: uniform i64 = add(%i, 1i64)\n    yield %x\n  }", store)),
        ("K6", 6, of("parallel", copy, "a1 = store(op: map, values: [1])")),
        ("K6", 6, of("parallel", copy, &fold(add))),
        ("K6", 0, of("parallel", copy, "")),
        ("K7", 6, of("reduce", copy, &epilogue)),
    ];
    for (rule, line, text) in wrong {
        let error = Kernels::parse("k.acc", &text).unwrap_or_else(|e| panic!("{e}\n{text}")).verify();
        let Err(Error::Verify(error)) = error else { panic!("{rule}: {error:?}\n{text}") };
        assert_eq!(error.rule, rule, "{error}\n{text}");
        let at = (error.loc.line(), error.loc.file());
        assert!(line == 0 || at == (line, Some("k.acc")), "{rule}: {at:?}\n{text}");
    }
}

#[test]
fn values_are_defined_before_their_uses() {
    let body = "|%i: i64| {\n    %x: i64 = add(%i, %i)\n    %y: i64 = mul(%x, %x)\n    yield %y\n  }";
    let mut kernels = Kernels::parse("k.acc", &of("parallel", body, "a1 = store(op: map, values: [0])")).unwrap();
    kernels.verify().unwrap();
    kernels.0[0].element.region.nodes.swap(0, 1);
    let Err(Error::Verify(error)) = kernels.verify() else { panic!("{kernels}") };
    assert_eq!((error.rule, error.loc.line()), ("K1", 4), "{error}");
}

#[test]
fn texts_that_are_no_kernels_are_errors_with_line_and_column() {
    let body = "|%i: i64| { yield %i }";
    let wrong = [
        (of("sideways", body, ""), "1:8: expected `parallel`, found `sideways`"),
        (of("parallel", "|%i: i64| { yield %j }", ""), "2:30: `%j` is not defined here"),
        (of("parallel", "|%i: i64| { yield b0[i0] }", ""), "2:30: expected an array, as in `a0`, found `b0`"),
        (of("parallel", "|%i: i64| { yield a0[i0] }", ""), "2:30: say the types of what is read"),
        (of("parallel", "|%i: i64| { yield fma(%i) }", ""), "2:33: `fma` takes 3 operands"),
        (of("parallel", body, "a1 = keep(op: map, values: [0])"), "3:8: values cannot become `keep`"),
        (of("parallel", body, "a1 = store(op: mop, values: [0])"), "3:18: there is no array operation `mop`"),
        (of("parallel", body, "a1 = store(op: map, values: [1, 0])"), "3:23: an output takes results that follow"),
        (of("parallel", body, "a1 = fold(op: fold, values: [0])"), "3:34: expected `combine`"),
    ];
    for (text, message) in wrong {
        let error = Kernels::parse("k.acc", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("k.acc:{message}")), "{message}\n{error}");
    }
}
