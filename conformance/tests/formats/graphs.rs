//! Every test program flattens to a well-formed graph, and the graph exports and comes back; no libtorch is needed for
//! that.

use acc_core::RunLimits;
use acc_core::data::ScalarType;
use acc_core::ir::{Block, Program};
use acc_core::text::verified_test_file;
use acc_desugar::analysis::contraction::{Contraction, Definitions, contraction};
use acc_desugar::graph::{self, Shapes};
use acc_desugar::{Faults, Rules, pass, pipeline};
use backend_graph::export::{json, onnx};
use backend_graph::{Format, JsonError, Plan, from_json};
use conformance::suite;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The programs of all tests in text form, with their names.
fn programs() -> Vec<(String, Arc<Program>)> {
    let tests = suite::load(None).unwrap_or_else(|e| panic!("{e}"));
    let programs: Vec<_> = tests.iter().filter_map(|t| Some((t.name.clone(), t.file()?.program.clone()))).collect();
    assert!(programs.len() > 200);
    programs
}

fn json_of(program: &Program) -> String {
    let graph = backend_graph::graph_of(program).unwrap_or_else(|e| panic!("{e}"));
    backend_graph::export(&graph, Format::Json)
}

#[test]
fn every_test_program_flattens_and_exports() {
    for (name, program) in programs() {
        let graph = backend_graph::graph_of(&program).unwrap_or_else(|e| panic!("{name}: {e}"));
        graph::verify_shapes(&graph, &Shapes::of(&graph)).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (format, f) in Format::ALL {
            let text = backend_graph::export(&graph, f);
            assert!(!text.is_empty(), "{name} as {format}");
            let opened = text.matches("subgraph ").count();
            match f {
                Format::Mermaid => assert_eq!(text.matches("  end\n").count(), opened, "{name}"),
                Format::Dot => assert_eq!(text.matches("}\n").count(), opened + 1, "{name}"),
                Format::Text | Format::Json => {}
            }
        }
        let plan = Plan::new(graph);
        plan.verify().unwrap_or_else(|e| panic!("{name}: {e}\n{plan}"));
        let plan = plan.to_string();
        assert!(plan.starts_with("plan of ") && plan.ends_with("}\n"), "{name}: {plan}");
    }
}

/// What sums of products are of arrays, however they are written, they are of tensors.
#[test]
fn every_contraction_of_floats_is_one_of_tensors() {
    fn contractions(defs: &Definitions<'_>, b: &Block) -> usize {
        let inner = b.stmts.iter().flat_map(|s| s.op.blocks()).map(|b| contractions(defs, b)).sum::<usize>();
        let is_float = |c: &Contraction| matches!(c.ty, ScalarType::F32 | ScalarType::F64);
        inner + b.stmts.iter().filter_map(|s| contraction(defs, s)).filter(is_float).count()
    }
    let mut all = 0;
    for (name, program) in programs() {
        let (rules, limits) = (Rules::all(), RunLimits::none());
        let settings = pipeline::graph_settings(&rules, Faults::Report, &limits);
        let stage = pass::until(pipeline::GRAPH, "simplify", &program, &settings).expect("a pass");
        let program = stage.unwrap_or_else(|e| panic!("{name}: {e}"));
        let program = program.into_program().expect("a program").into_owned();
        let found = contractions(&Definitions::new(&program), &program.body);
        let graph = acc_desugar::flatten(&program);
        let text = backend_graph::export(&graph, Format::Text);
        // A normalisation has sums of squares in it.
        let made: usize = [" = contract(", " = normalize("].iter().map(|op| text.matches(op).count()).sum();
        assert!(made >= found, "{name}: {made} of {found}");
        all += found;
    }
    assert!(all > 0, "no test program contracts floats");
}

/// One process reads all drawings, one after the other, and lays none of them out.
#[test]
fn graphviz_reads_every_drawing() {
    let graphviz =
        Command::new("dot").arg("-Tcanon").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut graphviz = match graphviz {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("not run: Graphviz is not here (the package graphviz has it)");
            return;
        }
        Err(e) => panic!("dot: {e}"),
    };
    let mut input = graphviz.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        for (name, program) in programs() {
            let graph = backend_graph::graph_of(&program).unwrap_or_else(|e| panic!("{name}: {e}"));
            let drawing = backend_graph::export(&graph, Format::Dot);
            // Messages tell lines, not names.
            let named = format!("#line 1 \"{name}\"\n{drawing}");
            // Graphviz ends early where it refuses something: its message tells why.
            if input.write_all(named.as_bytes()).is_err() {
                break;
            }
        }
    });
    let outcome = graphviz.wait_with_output().expect("Graphviz ends");
    writer.join().expect("every program has a drawing");
    let messages = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success() && messages.is_empty(), "{messages}");
}

#[test]
fn every_graph_comes_back_from_json() {
    let schema: Json = serde_json::from_str(&json::schema()).expect("the schema is JSON");
    let mut nodes = 0;
    for (name, program) in programs() {
        let graph = backend_graph::graph_of(&program).unwrap_or_else(|e| panic!("{name}: {e}"));
        let text = backend_graph::export(&graph, Format::Json);
        let document: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        nodes += document["bodies"].as_array().map_or(0, Vec::len);
        fits(&document, &schema, &schema).unwrap_or_else(|e| panic!("{name} does not fit the schema: {e}"));
        let again = from_json(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        // Equality leaves out source locations; the text has them.
        assert!(again == graph, "{name}");
        assert_eq!(backend_graph::export(&again, Format::Json), text, "{name}");
    }
    assert!(nodes > 400, "{nodes}");
}

/// Whether a document fits a schema, which uses the words that are handled here and no others.
fn fits(json: &Json, schema: &Json, root: &Json) -> Result<(), String> {
    let fail = |word: &str| Err(format!("{word}: {json}"));
    for (word, want) in schema.as_object().ok_or("a schema is an object")? {
        match word.as_str() {
            "$schema" | "title" | "description" | "$defs" => {}
            "$ref" => {
                let name = want.as_str().and_then(|r| r.strip_prefix("#/$defs/")).ok_or("a reference")?;
                fits(json, root["$defs"].get(name).ok_or(name)?, root)?;
            }
            "type" => {
                let is = match want.as_str() {
                    Some("object") => json.is_object(),
                    Some("array") => json.is_array(),
                    Some("string") => json.is_string(),
                    Some("integer") => json.is_i64() || json.is_u64(),
                    Some("boolean") => json.is_boolean(),
                    Some("null") => json.is_null(),
                    _ => return Err(format!("the type {want}")),
                };
                if !is {
                    return fail("type");
                }
            }
            "const" if json != want => return fail("const"),
            "const" => {}
            "enum" if !want.as_array().is_some_and(|l| l.contains(json)) => return fail("enum"),
            "enum" => {}
            "minimum" if json.as_i64() < want.as_i64() => return fail("minimum"),
            "minimum" => {}
            "minItems" if json.as_array().map(|l| l.len() as u64) < want.as_u64() => return fail("minItems"),
            "minItems" => {}
            // Three simple ones, which the reader checks, too.
            "pattern" => {}
            "items" => json.as_array().into_iter().flatten().try_for_each(|item| fits(item, want, root))?,
            "required" => {
                let missing =
                    want.as_array().into_iter().flatten().find(|k| json.get(k.as_str().unwrap_or("")).is_none());
                if let Some(k) = missing {
                    return fail(&format!("{k} is missing"));
                }
            }
            "properties" => {
                for (name, schema) in want.as_object().into_iter().flatten() {
                    if let Some(value) = json.get(name) {
                        fits(value, schema, root)?;
                    }
                }
            }
            "additionalProperties" => {
                let known = |name: &String| schema["properties"].get(name).is_some();
                if json.as_object().is_some_and(|o| !o.keys().all(known)) {
                    return fail(word);
                }
            }
            "oneOf" => {
                let all = want.as_array().ok_or("a list")?;
                // Of operations only the one of this name is worth a message.
                let same = |s: &&Json| s["properties"].get("op").is_none_or(|op| op["const"] == json["op"]);
                let found: Vec<_> = all.iter().filter(same).map(|s| fits(json, s, root)).collect();
                if found.iter().filter(|f| f.is_ok()).count() != 1 {
                    return Err(format!("one of {} fits {json}: {found:?}", found.len()));
                }
            }
            other => return Err(format!("the schema has the word {other}")),
        }
    }
    Ok(())
}

fn sum() -> String {
    let file = verified_test_file(
        "sum.acc",
        "program(xs: [1]i64) {
           a: [0]i64 = fold(xs, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
           yield a
         }",
    );
    json_of(&file.unwrap_or_else(|e| panic!("{e}")).program)
}

#[test]
fn broken_json_is_a_readable_error() {
    let good = sum();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} is not in {good}");
        good.replacen(from, to, 1)
    };
    for (text, want) in [
        ("{ \"format\": ".to_string(), "this is not JSON: EOF while parsing a value at line 1"),
        ("[1]".to_string(), "the document: it is no object"),
        ("{}".to_string(), "the document: `format` is missing"),
        (with("\"version\": 7", "\"version\": 8"), "the document: it is of version 8, and this reads version 7"),
        (with("acc-graph", "other"), "`format` is not \"acc-graph\""),
        (with("\"fold\"", "\"fald\""), "source 0: \"fald\" is no array operation"),
        (with("\"reduce\"", "\"reduced\""), "(reduced): there is no operation `reduced`"),
        (with("\"with\":\"sum\"", "\"with\":\"summ\""), "(reduce): `with`: there is no known operation `summ`"),
        (with("\"with\":\"sum\"", "\"wit\":\"sum\""), "(reduce): `with` is missing among the attributes"),
        (with("\"with\":\"sum\"", "\"with\":\"sum\",\"x\":1"), "there is no `x` among the attributes"),
        (with("{\"x\":\"t1\"}", "{\"x\":\"t77\"}"), "t77 is not defined here (rule G1)"),
        (with("{\"x\":\"t1\"}", "{\"x\":3}"), "`x`: 3 is no value; values are named \"t0\""),
        (with("i64[1]", "i65[1]"), "body 0: \"i65[1]\" is no type of a value"),
        (with("\"source\":0", "\"source\":9"), "there is no source 9"),
        (with("{\"value\":\"t1\"", "{\"value\":\"t0\""), "t0: it is defined twice"),
        (with("\"sources\"", "\"source\""), "there is no field `source`"),
    ] {
        let error = from_json(&text).map(|_| ()).expect_err(&text).to_string();
        assert!(error.contains(want), "{error:?} does not say {want:?}\n{good}");
    }
}

/// Documents with one value exchanged for another: errors, or graphs that every export takes.
#[test]
fn mutilated_json_is_an_error_or_a_graph() {
    fn places(json: &Json) -> usize {
        1 + match json {
            Json::Array(items) => items.iter().map(places).sum(),
            Json::Object(fields) => fields.values().map(places).sum(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
        }
    }
    fn replace(json: &mut Json, at: &mut usize, with: &Json) {
        if *at == 0 {
            *json = with.clone();
        }
        *at = at.wrapping_sub(1);
        match json {
            Json::Array(items) => items.iter_mut().for_each(|j| replace(j, at, with)),
            Json::Object(fields) => fields.values_mut().for_each(|j| replace(j, at, with)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    let (mut errors, mut graphs) = (0, 0);
    for name in ["norm", "collatz"] {
        let document: Json = serde_json::from_str(&json_of(&golden_program(name))).expect("JSON");
        let others = ["t1", "t9", "sum", "f32[1]", "i64[0]", "size"].map(Json::from);
        let numbers = [0, 1, 7, -1].map(Json::from);
        for place in (1..places(&document)).step_by(5) {
            for other in others.iter().chain(&numbers) {
                let mut broken = document.clone();
                let mut at = place;
                replace(&mut broken, &mut at, other);
                match from_json(&broken.to_string()) {
                    Err(JsonError::Syntax(e)) => panic!("{e}"),
                    Err(e) => {
                        assert!(!e.to_string().is_empty());
                        errors += 1;
                    }
                    Ok(graph) => {
                        for (_, format) in Format::ALL {
                            backend_graph::export(&graph, format);
                        }
                        assert!(!Plan::new(graph).to_string().is_empty());
                        graphs += 1;
                    }
                }
            }
        }
    }
    assert!(errors > 300 && graphs > 20, "{errors} errors, {graphs} graphs");
}

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/golden")
}

fn golden_program(name: &str) -> Arc<Program> {
    let text = std::fs::read_to_string(golden_folder().join(format!("{name}.acc"))).expect("the program is there");
    verified_test_file(&format!("{name}.acc"), &text).unwrap_or_else(|e| panic!("{e}")).program
}

/// Holds a text to a file; with `UPDATE_GOLDEN=1` the file becomes the text.
fn golden(path: &Path, text: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let want = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let differs = || {
        let line = text.lines().zip(want.lines()).position(|(a, b)| a != b).unwrap_or(0);
        let (got, want) = (text.lines().nth(line), want.lines().nth(line));
        format!(
            "{} differs at line {}:\n  it says {want:?}\n  not     {got:?}\nif that is meant, run the test with UPDATE_GOLDEN=1, and look at what changes",
            path.display(),
            line + 1
        )
    };
    if want == text { Ok(()) } else { Err(differs()) }
}

#[test]
fn exports_are_as_kept() {
    let mut wrong = Vec::new();
    for name in ["norm", "collatz"] {
        let program = golden_program(name);
        let graph = backend_graph::graph_of(&program).unwrap_or_else(|e| panic!("{e}"));
        let model = backend_graph::onnx_of(&program).unwrap_or_else(|e| panic!("{e}"));
        let mut texts: Vec<(&str, String)> =
            Format::ALL.iter().map(|(end, format)| (*end, backend_graph::export(&graph, *format))).collect();
        texts.push(("onnx.text", onnx::text(&model).unwrap_or_else(|e| panic!("{e}"))));
        texts.push(("plan", Plan::new(graph).to_string()));
        for (end, text) in texts {
            wrong.extend(golden(&golden_folder().join(format!("{name}.{end}")), &text).err());
        }
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backend-graph/src/export/json/graph.schema.json");
    wrong.extend(golden(&schema, &json::schema()).err());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_document_in_the_documentation_is_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/GRAPHS.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let text = page.split("```json").nth(1).and_then(|t| t.split("```").next()).expect("a document");
    let graph = from_json(text).unwrap_or_else(|e| panic!("{e}"));
    assert!(backend_graph::export(&graph, Format::Text).contains("t2: f32[t0] = mul(t1, t1)"));
}

/// Every test program has a model; one that casts bits between floats and integers needs a later version of ONNX.
#[test]
fn every_program_is_a_model() {
    let mut late = 0;
    for test in suite::load(None).unwrap_or_else(|e| panic!("{e}")) {
        let Some(file) = test.file() else { continue };
        let model = backend_graph::onnx_of(&file.program).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        let text = onnx::text(&model).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        let casts_bits = text.contains(" = BitCast(");
        let versions = if casts_bits { "IR version 13, opset 26" } else { "IR version 10, opset 21" };
        assert!(text.contains(versions), "{}: not {versions}", test.name);
        late += usize::from(casts_bits);
        let mut words: HashMap<&str, usize> = HashMap::new();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        text.split(|c| !word(c)).for_each(|w| *words.entry(w).or_default() += 1);
        let constants = text.lines().filter(|l| l.contains("] 0x")).filter_map(|l| l.trim().split(' ').next());
        for constant in constants {
            assert!(words[constant] > 1, "{}: nothing takes the constant {constant}", test.name);
        }
    }
    assert!((1..20).contains(&late), "{late}");
}

/// Sums of products are operations that runtimes have libraries for, though a model looks at every position for faults.
#[test]
fn models_have_products_and_convolutions() {
    let all = [
        ("schedule/products", "MatMul"),
        ("structure/graph/dot", "MatMul"),
        ("structure/graph/convolution-of-images", "Conv"),
        ("structure/graph/convolution-with-zeros-around", "Conv"),
        ("fold/convolutions-with-infinite-filters", "Conv"),
    ];
    let programs: HashMap<String, Arc<Program>> = programs().into_iter().collect();
    for (name, operation) in all {
        let program = programs.get(name).unwrap_or_else(|| panic!("there is no program {name}"));
        let model = backend_graph::onnx_of(program).unwrap_or_else(|e| panic!("{name}: {e}"));
        let text = onnx::text(&model).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(text.matches(&format!(" = {operation}(")).count(), 1, "{name}: {operation} in\n{text}");
    }
}

#[test]
fn what_is_no_model_is_an_error() {
    assert!(onnx::text(b"no model").is_err_and(|e| e.contains("this is no ONNX model")));
}
