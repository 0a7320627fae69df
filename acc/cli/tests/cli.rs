//! The command line: what it prints, and what it says when its input is wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn acc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_acc")).args(args).output().expect("acc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The command fails, says all of `wanted` on stderr, and nothing on stdout but what it did before.
fn fails(args: &[&str], wanted: &[&str]) {
    let out = acc(args);
    let said = text(&out.stderr);
    assert!(!out.status.success(), "{args:?} succeeds: {}", text(&out.stdout));
    for w in wanted {
        assert!(said.contains(w), "{args:?}: {w:?} is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

fn file(folder: &TempDir, name: &str, contents: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, contents).expect("a temporary file");
    path.display().to_string()
}

fn program(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/programs").join(name).display().to_string()
}

const DOUBLE: &str = "program(xs: [1]i64, n: [0]i64) {
  a: [1]i64 = generate(shape: || n[], f: |%i: i64| mul(2i64, xs[%i]))
  yield a
}
";

fn double(run: &str) -> String {
    format!("{DOUBLE}run \"it\" {{ {run} }}\n")
}

#[test]
fn a_program_runs_on_every_executor_that_is_there() {
    let out = acc(&["run", &program("fold/sum.acc")]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    assert!(said.contains("[2, 2] i64 { 3, 12, 21, 30 }"), "{said}");
    assert!(said.contains("interpreter: as expected") && said.contains("native-tile: as expected"), "{said}");
    let one = text(&acc(&["run", &program("fold/sum.acc"), "--executor", "interpreter"]).stdout);
    assert!(!one.contains("native-tile"), "{one}");
}

#[test]
fn the_structure_of_code_is_held_to_what_a_file_expects() {
    let folder = TempDir::new().expect("a temporary folder");
    let with = |structure: &str| file(&folder, "s.acc", format!("{DOUBLE}{structure}\n").as_bytes());
    let made = text(&acc(&["explain", &with(""), "--structure"]).stdout);
    assert_eq!(
        made,
        "structure native { kernels 1; intermediates 0\n  kernel generate over parallel reads contiguous\n}\n\
         structure graph { launches 1; views 1; checks 0 }\n"
    );
    let out = acc(&["run", &with(&made)]);
    assert!(out.status.success(), "{}", text(&out.stdout));
    assert!(text(&out.stdout).contains("structure for graph: as expected"), "{}", text(&out.stdout));
    for (wrong, what) in [
        ("kernels 2", "kernels 1, not 2"),
        ("kernel generate over parallel reads gathered", "other kernels than expected"),
    ] {
        let out = acc(&["run", &with(&format!("structure native {{ {wrong} }}"))]);
        let said = text(&out.stdout);
        assert!(!out.status.success() && said.contains(&format!("NOT as expected: {what}")), "{out:?}");
    }
}

/// What the command says with this text as its standard input.
fn acc_of(args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acc"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("acc starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("acc reads its input");
    child.wait_with_output().expect("acc ends")
}

#[test]
fn kernels_are_printed_and_checked() {
    let kernels = |args: &[&str]| acc(&[&["print", "--after", "lower"], args].concat()).stdout;
    for (name, wanted) in
        [("fold/bags.acc", "kernels"), ("shape/E-SH-06-reshape.acc", "standard input: well formed: 0 kernels")]
    {
        for text_of in [kernels(&[&program(name)]), kernels(&[&program(name), "--locations"])] {
            let checked = acc_of(&["check", "-"], &text_of);
            assert!(checked.status.success(), "{}\n{}", text(&checked.stderr), text(&text_of));
            assert!(text(&checked.stdout).contains(wanted), "{}", text(&checked.stdout));
        }
    }
    let located = text(&kernels(&[&program("fold/sum.acc"), "--locations"]));
    assert!(located.contains("fold/sum.acc\":"), "{located}");
    let folder = TempDir::new().expect("a temporary folder");
    let wrong = text(&kernels(&[&program("fold/sum.acc")])).replacen("parallel, reduce", "parallel, parallel", 1);
    fails(&["check", &file(&folder, "k.acc", wrong.as_bytes())], &["k.acc:", "(rule K6)"]);
    fails(
        &["check", &file(&folder, "k.acc", b"kernel(parallel) {\n  element: |%i: i64|\n}")],
        &["k.acc:3:1: expected `{`"],
    );
    // Every command reads a program from standard input.
    let export = &["export", "-", "--format", "text"];
    for args in [&["check", "-"][..], &["run", "-"], &["print", "-"], &["explain", "-"], export] {
        let out = acc_of(args, double("xs = [2] i64 { 1, 2 } n = [] i64 { 2 } expect [2] i64 { 2, 4 }").as_bytes());
        assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn a_mismatch_is_a_failure() {
    let folder = TempDir::new().expect("a temporary folder");
    let f = file(&folder, "m.acc", double("xs = [2] i64 { 1, 2 } n = [] i64 { 2 } expect [2] i64 { 2, 5 }").as_bytes());
    let out = acc(&["run", &f]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stdout).contains("NOT as expected: result 0: 1 of 2 values differ"), "{}", text(&out.stdout));
}

#[test]
fn a_missing_or_unreadable_file() {
    fails(&["run", "no-such-file.acc"], &["cannot read no-such-file.acc", "help: give the path"]);
    fails(&["check", "/"], &["cannot read /"]);
    let folder = TempDir::new().expect("a temporary folder");
    fails(&["check", &file(&folder, "b.acc", &[0xff, 0xfe, 0])], &["is not UTF-8 text", "docs/TEXT.md"]);
    fails(&["check", &file(&folder, "e.acc", b"")], &["expected `program`, found the end of the text"]);
}

#[test]
fn a_broken_text_is_shown_with_a_caret() {
    let folder = TempDir::new().expect("a temporary folder");
    let f = file(&folder, "b.acc", DOUBLE.replace("generate", "generat").as_bytes());
    fails(&["run", &f], &["b.acc:2:15: there is no array operation `generat`", "^", "there are: generate, map"]);
}

#[test]
fn an_ill_typed_program_names_its_line() {
    let folder = TempDir::new().expect("a temporary folder");
    let rank = file(&folder, "r.acc", DOUBLE.replace("a: [1]i64", "a: [2]i64").as_bytes());
    fails(&["check", &rank], &["generate: ", "r.acc:2:", "(rule V"]);
    let dtype = file(&folder, "d.acc", DOUBLE.replace("a: [1]i64", "a: [1]f32").as_bytes());
    fails(&["check", &dtype], &["f32", "d.acc:2:", "(rule V"]);
}

#[test]
fn wrong_inputs_name_their_parameter() {
    let folder = TempDir::new().expect("a temporary folder");
    let f = |name: &str, run: &str| file(&folder, name, double(run).as_bytes());
    let dtype = f("1.acc", "xs = [2] f32 { 1, 2 } n = [] i64 { 2 } expect agree");
    fails(&["run", &dtype], &["the parameter has type [1]i64, but the value has type [1]f32", "1.acc:5:"]);
    let rank = f("2.acc", "xs = [1, 2] i64 { 1, 2 } n = [] i64 { 2 } expect agree");
    fails(&["run", &rank], &["the parameter has type [1]i64, but the value has type [2]i64"]);
    let missing = f("3.acc", "xs = [2] i64 { 1, 2 } expect agree");
    fails(&["run", &missing], &["no value for the parameter `n`"]);
    let count = f("4.acc", "xs = [3] i64 { 1, 2 } n = [] i64 { 2 } expect agree");
    fails(&["run", &count], &["2 elements do not fill shape [3]"]);
    let huge = f("5.acc", "xs = [99999999999999999999] i64 { 1 } n = [] i64 { 2 } expect agree");
    fails(&["run", &huge], &["expected an extent"]);
    let big = f("6.acc", "xs = [9999999999] i64 fill(1) n = [] i64 { 2 } expect agree");
    fails(&["run", &big], &["9999999999 elements are too many"]);
    let negative = f("7.acc", "xs = [-2] i64 { } n = [] i64 { 2 } expect agree");
    fails(&["run", &negative], &["expected an extent, found `-2`"]);
}

#[test]
fn faults_are_reported_with_the_line() {
    let folder = TempDir::new().expect("a temporary folder");
    for (n, want) in [
        ("-1", "negative extent in shape (-1,)"),
        ("4611686018427387904", "more elements than memory"),
        ("3", "index (2,) is out of bounds"),
    ] {
        let f = file(
            &folder,
            "f.acc",
            double(&format!("xs = [2] i64 {{ 1, 2 }} n = [] i64 {{ {n} }} expect agree")).as_bytes(),
        );
        let out = acc(&["run", &f]);
        assert_eq!(out.status.code(), Some(1));
        let said = text(&out.stdout);
        assert!(said.contains(want) && said.contains("f.acc:2:"), "{want}: {said}");
    }
}

#[test]
fn a_program_without_runs_has_nothing_to_run() {
    let folder = TempDir::new().expect("a temporary folder");
    let f = file(&folder, "p.acc", DOUBLE.as_bytes());
    fails(&["run", &f], &["has nothing to run", "help: add a section"]);
    let out = acc(&["check", &f]);
    assert!(text(&out.stdout).contains("well formed: (xs: [1]i64, n: [0]i64) -> ([1]i64), 1 statements, 0 runs"));
}

#[test]
fn an_unknown_executor_or_one_that_is_not_built() {
    let f = program("fold/sum.acc");
    fails(
        &["run", &f, "--executor", "gpu"],
        &["there is no executor `gpu`; there are: interpreter, native, native-tile, graph"],
    );
    if !cfg!(feature = "libtorch") {
        fails(&["run", &f, "--executor", "graph"], &["not built", "--features libtorch"]);
    }
}

#[test]
fn a_file_runs_on_the_executors_that_its_header_names() {
    let folder = TempDir::new().expect("a temporary folder");
    let run = "xs = [2] i64 { 1, 2 } n = [] i64 { 2 } expect [2] i64 { 2, 4 }";
    let f = file(&folder, "e.acc", format!("executors: interpreter native-tile\n{}", double(run)).as_bytes());
    let said = text(&acc(&["run", &f]).stdout);
    assert!(said.contains("interpreter: as expected") && said.contains("native-tile: as expected"), "{said}");
    assert!(!said.contains("native: as expected"), "{said}");
    assert!(acc(&["run", &f, "--executor", "native-tile"]).status.success());
    if backend_native::llvm::status().library.is_some() {
        let wanted = "e.acc is not for the executor `native`: its header says `executors: interpreter, native-tile`";
        fails(&["run", &f, "--executor", "native"], &[wanted]);
    }
    let unknown = file(&folder, "u.acc", format!("executors: native, gpu\n{DOUBLE}").as_bytes());
    let wanted = "u.acc:1:20: there is no executor `gpu`; there are: interpreter, native";
    fails(&["check", &unknown], &[wanted]);
    fails(&["run", &unknown], &[wanted]);
    if !cfg!(feature = "libtorch") {
        let graph = file(&folder, "g.acc", format!("executors: graph\n{}", double(run)).as_bytes());
        fails(
            &["run", &graph],
            &["g.acc is for executors that are not there", "graph is not built", "--features libtorch"],
        );
    }
}

#[test]
fn errors_of_an_executor_name_it() {
    let folder = TempDir::new().expect("a temporary folder");
    let huge = "xs = [2] i64 { 1, 2 } n = [] i64 { 1152921504606846000 } expect agree";
    let f = file(&folder, "h.acc", double(huge).replace("xs[%i]", "%i").as_bytes());
    let out = acc(&["run", &f, "--executor", "native-tile"]);
    let said = text(&out.stdout);
    assert!(said.contains("no memory for an array of 1152921504606846000 elements of 8 bytes\n  in `"), "{said}");
    assert!(said.contains("  native-tile: "), "{said}");
}

#[test]
fn the_doctor_says_what_is_found_and_why_the_rest_is_not_used() {
    let said = text(&acc(&["doctor"]).stdout);
    for want in ["llvm: ", "threads: ", "libtorch: ", "executor interpreter: present", "executor native-tile: present"]
    {
        assert!(said.contains(want), "{want} in {said}");
    }
    let out = Command::new(env!("CARGO_BIN_EXE_acc")).arg("doctor").env("ACC_LLVM", "/nowhere/libLLVM.so").output();
    let said = text(&out.expect("acc runs").stdout);
    assert!(said.contains("llvm: none") && said.contains("not used: /nowhere/libLLVM.so"), "{said}");
    assert!(said.contains("executor native: not run"), "{said}");
}

#[test]
fn the_doctor_says_where_machine_code_is_kept_or_why_it_is_not() {
    let folder = TempDir::new().expect("a temporary folder");
    let said = |cache: &std::ffi::OsStr| {
        let out = Command::new(env!("CARGO_BIN_EXE_acc")).arg("doctor").env("ACC_CACHE", cache).output();
        text(&out.expect("acc runs").stdout)
    };
    let kept = folder.path().join("machine-code");
    assert!(said(folder.path().as_os_str()).contains(&format!("machine code is kept in {}", kept.display())));
    for (cache, why) in
        [("", "ACC_CACHE is empty"), ("off", "ACC_CACHE is off"), ("here", "ACC_CACHE is no absolute path")]
    {
        assert!(said(cache.as_ref()).contains(&format!("machine code is not kept: {why}")));
    }
    std::fs::remove_file(kept.join("CACHEDIR.TAG")).expect("it is marked");
    assert!(said(folder.path().as_os_str()).contains("it is not marked as a cache of acc"));
}

#[test]
fn the_list_has_executors_and_rows() {
    let said = text(&acc(&["list"]).stdout);
    for want in [
        "interpreter\n",
        "native-tile\n",
        "graph",
        "fold/sum: RED-05 FLD-01",
        "laziness/if/index/in_place",
        "FLD-01 fold:",
    ] {
        assert!(said.contains(want), "{want:?} is not in: {said}");
    }
    if !cfg!(feature = "libtorch") {
        assert!(said.contains("graph (not built: built without libtorch; run `make setup`"), "{said}");
    }
}

/// A folder with two small tests, one of which fails.
fn small_suite() -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    let run =
        |values: &str| double(&format!("xs = [2] i64 {{ 1, 2 }} n = [] i64 {{ 2 }} expect [2] i64 {{ {values} }}"));
    file(&folder, "good.acc", format!("component: CON-03\n{}", run("2, 4")).as_bytes());
    file(&folder, "bad.acc", format!("component: IDX-01\ncase: E-IX-01\n{}", run("2, 5")).as_bytes());
    folder
}

#[test]
fn the_matrix_ends_with_its_summary_and_writes_json_whole_or_not_at_all() {
    let folder = small_suite();
    let json = folder.path().join("matrix.json");
    let path = folder.path().display().to_string();
    let out = acc(&["matrix", "--programs", &path, "--json", &json.display().to_string()]);
    assert_eq!(out.status.code(), Some(1), "a test fails");
    let said = text(&out.stdout);
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("matrix: interpreter ") && last.contains(" native-tile ") && last.contains(" graph-cuda "),
        "{last}"
    );
    assert!(said.contains("FAILED bad on interpreter"), "{said}");
    let written = std::fs::read_to_string(&json).expect("the JSON is there");
    assert!(written.contains("\"summary\"") && written.contains(last), "{written}");
    let nowhere: PathBuf = folder.path().join("no").join("matrix.json");
    fails(&["matrix", "--programs", &path, "--json", &nowhere.display().to_string()], &["cannot write"]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_wrong_test_folder() {
    fails(&["matrix", "--programs", "no-such-folder"], &["cannot read no-such-folder"]);
    let folder = TempDir::new().expect("a temporary folder");
    file(
        &folder,
        "x.acc",
        format!("component: CON-99\n{}", double("xs = [0] i64 {} n = [] i64 { 0 } expect agree")).as_bytes(),
    );
    fails(
        &["list", "--programs", &folder.path().display().to_string()],
        &["x.acc:1:12: there is no component `CON-99`"],
    );
}

#[test]
fn graphs_are_exported_in_every_format() {
    let folder = TempDir::new().expect("a temporary folder");
    for (format, want) in [
        ("text", "reduce"),
        ("dot", "digraph"),
        ("json", "\"acc-graph\""),
        ("mermaid", "flowchart"),
        ("onnx-text", "opset 21"),
    ] {
        let printed = acc(&["export", "--program", "fold/sum", "--format", format]);
        assert!(printed.status.success(), "{}", text(&printed.stderr));
        assert!(text(&printed.stdout).contains(want), "{}", text(&printed.stdout));
        let path = folder.path().join(format).display().to_string();
        assert!(acc(&["export", &program("fold/sum.acc"), "--format", format, "-o", &path]).status.success());
        let written = std::fs::read(&path).expect("the export is there");
        assert!(text(&written).contains(want));
    }
    // A message of protocol buffers: the version of the format comes first, and the tensors' names are in it.
    let path = folder.path().join("model.onnx").display().to_string();
    acc(&["export", "--program", "fold/sum", "--format", "onnx", "-o", &path]);
    let model = std::fs::read(&path).expect("a model");
    assert!(model.starts_with(&[8, 10]), "{:?}", &model[..8]);
    for name in ["in0_0", "out0_0", "fault"] {
        assert!(model.windows(name.len()).any(|w| w == name.as_bytes()), "{name}");
    }
}

#[test]
fn a_graph_as_json_is_exported_again() {
    let folder = TempDir::new().expect("a temporary folder");
    let json = folder.path().join("sum.json").display().to_string();
    assert!(acc(&["export", "--program", "fold/sum", "--format", "json", "-o", &json]).status.success());
    for format in ["text", "json"] {
        let again = acc(&["export", &json, "--format", format]);
        assert!(again.status.success(), "{}", text(&again.stderr));
        assert_eq!(text(&again.stdout), text(&acc(&["export", "--program", "fold/sum", "--format", format]).stdout));
    }
    let broken = file(&folder, "b.json", b"{ \"format\": \"acc-graph\" }");
    fails(&["export", &broken, "--format", "dot"], &["b.json: the document: `version` is missing"]);
    fails(&["export", "no-such.json", "--format", "dot"], &["cannot read no-such.json"]);
    for format in ["onnx", "onnx-text"] {
        fails(&["export", &json, "--format", format], &["sum.json is a graph", "give the file of the program"]);
    }
}

#[test]
fn exports_that_cannot_be() {
    let folder = TempDir::new().expect("a temporary folder");
    fails(&["export", "--program", "no/such", "--format", "dot"], &["there is no program `no/such`", "`acc list`"]);
    fails(
        &["export", "--program", "fold/sum", "--format", "png"],
        &["invalid value 'png'", "dot, mermaid, json, text"],
    );
    fails(&["export", "--format", "dot"], &["--program"]);
    let broken = file(&folder, "b.acc", DOUBLE.replace("yield a", "yield b").as_bytes());
    let output = folder.path().join("out.dot");
    fails(
        &["export", &broken, "--format", "dot", "-o", &output.display().to_string()],
        &["there is no array `b` here"],
    );
    assert!(!output.exists(), "nothing is left of a failed export");
    fails(
        &["export", "--program", "fold/sum", "--format", "dot", "-o", "/no/such/folder/x.dot"],
        &["cannot write /no/such/folder/x.dot: No such file or directory (os error 2)\n"],
    );
}

/// An output that is no file is written to, not put in a file's place, and a link stays one.
#[cfg(unix)]
#[test]
fn outputs_that_are_no_files() {
    let printed = acc(&["export", "--program", "fold/sum", "--format", "dot"]);
    let written = acc(&["export", "--program", "fold/sum", "--format", "dot", "-o", "/dev/stdout"]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    assert_eq!(text(&written.stdout), text(&printed.stdout));
    let folder = TempDir::new().expect("a temporary folder");
    let (target, link) = (file(&folder, "target.dot", b"old"), folder.path().join("link.dot"));
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    let link = link.display().to_string();
    assert!(acc(&["export", "--program", "fold/sum", "--format", "dot", "-o", &link]).status.success());
    assert!(Path::new(&link).is_symlink());
    assert_eq!(std::fs::read(&target).expect("the export is there"), printed.stdout);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_acc"))
        .arg("list")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
}

/// Every pass of `--passes` can be printed, and a program after one that makes a program is one.
#[test]
fn a_program_is_printed_after_every_pass() {
    let folder = TempDir::new().expect("a temporary folder");
    let listed = text(&acc(&["print", "--passes"]).stdout);
    let mut executor = String::new();
    let mut printed = Vec::new();
    let (passes, rules) = listed.split_once("rules, ").expect("passes, and rules");
    for line in passes.lines().filter(|l| !l.starts_with("       ")) {
        if let Some(name) = line.strip_suffix(':') {
            executor = name.to_string();
            continue;
        }
        let pass = line.split_whitespace().next().expect("a name");
        let out = acc(&["print", &program("fold/bags.acc"), "--after", pass, "--executor", &executor]);
        assert!(out.status.success(), "{executor}, {pass}: {}", text(&out.stderr));
        if !["fuse", "flatten", "rewrite_graph", "plan"].contains(&pass) {
            let path = file(&folder, "after.acc", &out.stdout);
            let checked = acc(&["check", &path]);
            assert!(checked.status.success(), "{executor}, {pass}: {}", text(&checked.stderr));
        }
        printed.push(pass.to_string());
    }
    for pass in
        ["scan_segments", "simplify", "rewrite", "sink_transposes", "canonical", "fuse", "lower", "flatten", "plan"]
    {
        assert!(printed.iter().any(|p| p == pass), "{listed}");
    }
    // A rule that is left out is not applied.
    let softmax = program("structure/graph/softmax-of-rows.acc");
    let printed = |more: &[&str]| text(&acc(&[&["print", &softmax, "--after", "rewrite_graph"], more].concat()).stdout);
    assert!(printed(&[]).contains("softmax("), "{}", printed(&[]));
    assert!(!printed(&["--without", "softmax"]).contains("softmax("), "{}", printed(&["--without", "softmax"]));
    assert!(rules.contains("softmax") && rules.contains("identities"), "{rules}");
    fails(&["print", &softmax, "--after", "plan", "--without", "sofmax"], &["no rule `sofmax`", "softmax"]);
    let missing = ["no pass `flatten` of the native executor", "scan_segments, simplify, bounds, conditions, rewrite"];
    fails(&["print", &program("fold/sum.acc"), "--after", "flatten", "--executor", "native"], &missing);
}

/// Where standard error takes nothing, the exit status alone says what happened.
#[cfg(target_os = "linux")]
#[test]
fn outputs_that_are_full_or_closed() {
    use std::fs::OpenOptions;
    use std::process::Stdio;
    let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").expect("the device"));
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let status = |args: &[&str], out: Stdio, err: Stdio| {
        Command::new(env!("CARGO_BIN_EXE_acc")).args(args).stdout(out).stderr(err).status().expect("acc starts").code()
    };
    for args in [&["check", "/no/such/file.acc"][..], &["print", "--after", "none", &program("fold/sum.acc")]] {
        assert_eq!(status(args, Stdio::null(), full()), Some(1), "{args:?}");
        assert_eq!(status(args, Stdio::null(), closed()), Some(1), "{args:?}");
    }
    assert_eq!(status(&["no-such-command"], Stdio::null(), full()), Some(2));
    assert_eq!(status(&["list"], full(), full()), Some(1));
    assert_eq!(status(&["list"], full(), closed()), Some(1));
    assert_eq!(status(&["list"], closed(), full()), Some(0));
    let out = Command::new(env!("CARGO_BIN_EXE_acc")).arg("list").stdout(full()).output().expect("acc starts");
    assert_eq!(text(&out.stderr), "error: cannot write to standard output: No space left on device (os error 28)\n");
}

/// What a file says of its data in a few bytes takes no memory until it is run.
#[cfg(target_os = "linux")]
#[test]
fn a_check_makes_no_data() {
    let folder = TempDir::new().expect("a temporary folder");
    let large = "program(xs: [1]i64) { yield xs } run { xs = [268435456] i64 iota  expect agree }";
    let path = file(&folder, "large.acc", large.as_bytes());
    let limited = |command: &str| {
        let script = format!("ulimit -v 1500000; exec \"$0\" {command} \"$1\"");
        Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_acc"), &path]).output().expect("sh starts")
    };
    let checked = limited("check");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert!(text(&checked.stdout).contains("well formed"));
    // And a run of it, where the memory is not there, says so.
    let run = limited("run --executor interpreter");
    let said = format!("{}{}", text(&run.stdout), text(&run.stderr));
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("no memory for"), "{said}");
}
