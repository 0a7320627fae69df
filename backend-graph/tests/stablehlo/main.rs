//! Modules of StableHLO: of every operation as text, which is read before it is kept, and what is said where there is none.
//!
//! `ACC_BLESS=1` writes the modules there are now.

use acc_core::data::ScalarType;
use acc_core::ir::Program;
use acc_core::text::verified_test_file;
use acc_desugar::graph::{Body, Node, Op};
use backend_graph::export::stablehlo::Options;
use backend_graph::export::stablehlo::stage::{Next, Stage, stage, steps};
use backend_graph::specialise::{Argument, Cutting, arguments, cut_axes};
use backend_graph::{Graph, Specialisation};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Test programs with extents: every operation is in one of them.
const PROGRAMS: [(&str, &str); 24] = [
    ("control/collatz", "ns=4"),
    ("foreign/traces-change-nothing", "xs=3"),
    ("fold/pools", "xs=4x6,ks=5,window=2"),
    ("found/first-fault-of-two", "table=4,ids=3,offsets=3"),
    ("found/scans-and-folds", "a0=5"),
    ("found/sum-of-products-after-a-fault", "a=4,w=3,n=3"),
    ("permute/E-PM-11-ranks", "xs=4"),
    ("scalar/E-CV-13-bitcast-and-chars", "a=2,b=2,c=2,d=2"),
    ("scan/floats", "xs=4"),
    ("sort/checked", "xs=4,most=9"),
    ("structure/graph/3-point-stencil", "a0=5"),
    ("structure/graph/arg-max", "a0=4"),
    ("structure/graph/clip-variant", "a0=4"),
    ("structure/graph/convolution-of-a-row", "x=6,k=3"),
    ("backpermute/E-PM-14-gather", "ix=2x2,xs=4"),
    ("structure/graph/guarded-read", "a0=3,a1=4"),
    ("structure/graph/logarithm-of-softmax-variant", "a0=2x3"),
    ("structure/graph/matrix-product", "a0=2x3,a1=3x4"),
    ("structure/graph/mean", "a0=4"),
    ("structure/graph/normalised-rows-variant", "a0=2x3"),
    ("structure/graph/recurrence-by-a-loop-variant", "a0=4"),
    ("structure/graph/scan-that-restarts-at-marks-variant", "a0=5"),
    ("structure/graph/transpose", "a0=2x3"),
    ("structure/graph/histogram", "a0=6,a1=3"),
];

/// Operations that no one module has: what they yield has an extent that only data tell.
const STAGED: [&str; 1] = ["nonzero"];

fn program(name: &str) -> Arc<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/programs").join(format!("{name}.acc"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    verified_test_file(&format!("{name}.acc"), &text).unwrap_or_else(|e| panic!("{name}: {e}")).program
}

fn module(name: &str, extents: &str) -> Result<String, String> {
    let program = program(name);
    let arguments = arguments(&program, extents).map_err(|e| e.to_string())?;
    backend_graph::stablehlo_of(&program, &arguments).map_err(|e| e.to_string())
}

#[test]
fn modules_are_as_they_were_read() {
    let mut now = String::new();
    for (name, extents) in PROGRAMS {
        let text = module(name, extents).unwrap_or_else(|e| panic!("{name}: {e}"));
        now += &format!("// ---- {name}: {extents}\n{text}\n");
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stablehlo/modules.mlir");
    if std::env::var_os("ACC_BLESS").is_some() {
        std::fs::write(&path, &now).expect("the modules are written");
    }
    let before = std::fs::read_to_string(&path).expect("the modules");
    let differs = now.lines().zip(before.lines()).position(|(a, b)| a != b);
    assert!(now == before, "line {:?} differs: see ACC_BLESS", differs.map(|n| n + 1));
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:literal $Op:ident $(($($t:ident: $T:ty),*))? $({$($(#[$about:meta])* $f:ident: $F:ty,)*})?;)*) => {
        const KINDS: &[&str] = &[$($name),*];
    };
}
acc_desugar::with_graph_ops!(kinds);

#[test]
fn every_operation_is_in_one_of_them() {
    fn found(b: &Body, out: &mut BTreeSet<&'static str>) {
        for Node { op, .. } in &b.nodes {
            out.insert(op.kind());
            op.bodies().into_iter().for_each(|b| found(b, out));
        }
    }
    let mut all = BTreeSet::new();
    for (name, _) in PROGRAMS {
        let graph = backend_graph::graph_of(&program(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        found(&graph.body, &mut all);
    }
    let missing: Vec<_> = KINDS.iter().filter(|k| !all.contains(**k) && !STAGED.contains(k)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn extents_that_are_missing_or_wrong_are_errors_that_list_the_parameters() {
    let name = "structure/graph/matrix-product";
    let error = module(name, "a0=2x3").unwrap_err();
    assert_eq!(
        error,
        "the extents of the parameter `a1` are missing\n  the parameters are a0: [2]f32, a1: [2]f32\n  help: give --extents 'a0=8x8,a1=8x8'"
    );
    for (wrong, problem) in [
        ("a0=2x3,a1=3", "`a1=3` does not fit `a1`, which is of type [2]f32"),
        ("a0=2x-3,a1=3x3", "does not fit"),
        ("a0=2x3,b=3x3", "there is no parameter `b`"),
        ("a0=2xn,a1=3x3", "`2xn` are no extents"),
        ("a0", "`a0` is not of the form NAME=EXTENTS"),
    ] {
        let error = module(name, wrong).unwrap_err();
        assert!(error.contains(problem) && error.contains("help"), "{wrong}: {error}");
    }
}

#[test]
fn what_the_host_has_to_look_at_is_named() {
    let error = module("permute/not-commutative", "xs=3").unwrap_err();
    assert!(error.contains("depends on data") && error.contains("the `nonzero` of `permute` at "), "{error}");
    let error = module("control/E-CF-07-awhile-doubles", "xs=3,limit=20").unwrap_err();
    assert!(error.contains("an extent in a loop depends on data"), "{error}");
}

#[test]
fn the_number_of_a_parameter_is_an_extent() {
    let file = "program(n: [0]i64) {\n  a: [1]i64 = generate(shape: || (n[]), f: |%i: i64| %i)\n  yield a\n}\n";
    let program = verified_test_file("p.acc", file).unwrap().program;
    let text = |extents| {
        let arguments = arguments(&program, extents).unwrap();
        backend_graph::stablehlo_of(&program, &arguments).map_err(|e| e.to_string())
    };
    assert!(text("n=7").unwrap().contains("-> (tensor<7xi64>, tensor<i64>)"));
    let error = text("").unwrap_err();
    assert!(error.contains("it is the number of a parameter of rank 0"), "{error}");
    assert!(text("n=-1").unwrap_err().contains("negative extent"));
}

#[test]
fn a_shape_that_is_too_large_is_an_error() {
    let file = "program(xs: [1]f32) {\n  a: [2]f32 = generate(shape: || (extent(xs, 0), extent(xs, 0)), f: |%i: i64, %j: i64| add(xs[%i], xs[%j]))\n  yield a\n}\n";
    let program = verified_test_file("p.acc", file).unwrap().program;
    let large = [Argument::Extents(vec![1 << 30])];
    let error = backend_graph::stablehlo_of(&program, &large).unwrap_err().to_string();
    assert!(error.contains("too large"), "{error}");
}

/// The graph of a program, and what is known of it for these extents.
fn specialised(name: &str, extents: &str) -> (Graph, Specialisation) {
    let program = program(name);
    let graph = backend_graph::graph_of(&program).unwrap_or_else(|e| panic!("{name}: {e}"));
    let types: Vec<_> = program.param_types().cloned().collect();
    let known = Specialisation::new(&graph, &types, &arguments(&program, extents).unwrap());
    (graph, known)
}

/// What a run knows after a stage, if this is the number that the host was to look at.
fn after(mut known: Specialisation, stage: &Stage, number: i64) -> Specialisation {
    known.numbers.extend(stage.numbers.iter().copied());
    for output in &stage.outputs {
        known.shapes.extend(output.value.map(|v| (v, output.extents.clone())));
    }
    if let Next::Number(v) = stage.next {
        known.numbers.insert(v, number);
    }
    known
}

#[test]
fn a_number_that_an_extent_depends_on_ends_a_stage() {
    let (graph, mut known) = specialised("structure/graph/filter", "a0=5");
    let first = stage(&graph, &[&graph.body], &known, Options::default()).unwrap();
    assert!(matches!(first.next, Next::Number(_)), "{:?}", first.next);
    assert_eq!(first.outputs.last().map(|o| (o.value, &o.extents[..])), Some((None, &[][..])));
    known = after(known, &first, 3);
    let second = stage(&graph, &[&graph.body], &known, Options::default()).unwrap();
    assert!(matches!(&second.next, Next::Results(all) if !all.is_empty()), "{:?}", second.next);
    assert!(second.text.unwrap().contains("tensor<3x"), "what is left has three elements");
    // What the first stage made for the second one is taken, and not computed again.
    let made: Vec<_> = first.outputs.iter().filter_map(|o| o.value).collect();
    assert!(!made.is_empty() && made.iter().any(|v| second.inputs.contains(v)), "{made:?}, {:?}", second.inputs);
}

#[test]
fn a_loop_whose_steps_change_extents_is_the_hosts() {
    let (graph, known) = specialised("control/E-CF-07-awhile-doubles", "xs=3,limit=20");
    let first = stage(&graph, &[&graph.body], &known, Options::default()).unwrap();
    let Next::Node(v) = first.next else { panic!("{:?}", first.next) };
    let node = graph.body.nodes.iter().find(|n| n.results.contains(&v)).expect("the loop");
    let steps = steps(&graph, &[&graph.body], node, &after(known, &first, 0), Options::default());
    assert!(steps.is_err(), "no number of steps is one module");
}

#[test]
fn a_run_that_can_be_stopped_takes_some_steps_of_a_loop_at_a_time() {
    let options = Options { interruptible: true, ..Options::default() };
    for name in ["structure/graph/awhile", "control/collatz"] {
        let extents = if name == "control/collatz" { "ns=4" } else { "a0=3" };
        let (graph, known) = specialised(name, extents);
        let whole = stage(&graph, &[&graph.body], &known, Options::default()).unwrap();
        assert!(matches!(whole.next, Next::Results(_)), "{name}: {:?}", whole.next);
        let first = stage(&graph, &[&graph.body], &known, options).unwrap();
        let Next::Node(v) = first.next else { panic!("{name}: {:?}", first.next) };
        let node = graph.body.nodes.iter().find(|n| n.results.contains(&v)).expect("the loop");
        let mut known = after(known, &first, 0);
        if let Op::While { init, step, .. } = &node.op {
            // The state is what the parameters of a step are.
            for (param, v) in step.params.iter().zip(init) {
                known.shapes.extend(known.shapes.get(v).cloned().map(|shape| (*param, shape)));
                known.numbers.extend(known.numbers.get(v).copied().map(|n| (*param, n)));
            }
        }
        let some = steps(&graph, &[&graph.body], node, &known, options).unwrap();
        assert!(some.budget, "{name}");
        assert_eq!(some.outputs.last().map(|o| o.ty), Some(ScalarType::Bool), "{name}: whether the loop goes on");
    }
}

#[test]
fn what_is_known_to_be_a_fault_needs_no_module() {
    let (graph, known) = specialised("sort/checked", "xs=4,most=2");
    let only = stage(&graph, &[&graph.body], &known, Options::default()).unwrap();
    assert_eq!((only.next, only.text), (Next::Fault, None));
}

/// For several processes: how arguments and results are cut is said, and what does not divide has padding.
#[test]
fn modules_for_several_processes_say_how_arrays_are_cut() {
    let program = program("structure/graph/3-point-stencil");
    let cut = |extents: &str, processes: u32, min_bytes: u64, axes: Option<&str>| {
        let arguments = arguments(&program, extents).map_err(|e| e.to_string())?;
        let axes = axes.map(|text| cut_axes(&program, text)).transpose().map_err(|e| e.to_string())?;
        let cutting = Cutting { processes, min_bytes };
        backend_graph::stablehlo_cut(&program, &arguments, cutting, axes.as_deref()).map_err(|e| e.to_string())
    };
    let text = cut("a0=8", 2, 0, None).expect("a module");
    assert!(text.contains("sdy.mesh @mesh = <[\"x\"=2]>"), "{text}");
    assert_eq!(text.matches("tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}").count(), 2, "{text}");
    assert!(!text.contains("padded") && !text.contains("stablehlo.pad "), "{text}");
    let text = cut("a0=7", 2, 0, None).expect("a module");
    assert!(text.contains("%padded0: tensor<8xf32>") && text.contains("stablehlo.pad "), "{text}");
    assert!(text.contains("stablehlo.slice %padded0 [0:7:1] : (tensor<8xf32>) -> tensor<7xf32>"), "{text}");
    // The rule: small arrays are whole, and so is one without a position for each process.
    for whole in [cut("a0=7", 2, 64, None), cut("a0=7", 8, 0, None), cut("a0=7", 2, 1000, Some(""))] {
        let text = whole.expect("a module");
        assert!(!text.contains("{\"x\"}"), "{text}");
    }
    let text = cut("a0=7", 2, 1000, Some("a0:0")).expect("a module");
    assert!(text.contains("%padded0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}"), "{text}");
    for (axes, why) in [("b:0", "there is no parameter `b`"), ("a0", "NAME:AXIS"), ("a0:1", "no axis of `a0`")] {
        let e = cut("a0=7", 2, 0, Some(axes)).unwrap_err();
        assert!(e.contains(why), "{e}");
    }
}
