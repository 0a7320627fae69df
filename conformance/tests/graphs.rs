//! Every test program flattens to a well-formed graph, and the graph exports; no libtorch is needed for that.

use backend_graph::Format;
use conformance::suite;

#[test]
fn every_test_program_flattens_and_exports() {
    let tests = suite::load(None).unwrap_or_else(|e| panic!("{e}"));
    let programs: Vec<_> = tests.iter().filter_map(|t| Some((t, t.file()?))).collect();
    assert!(programs.len() > 200);
    let mut failures = Vec::new();
    for (test, file) in programs {
        match backend_graph::graph_of(&file.program) {
            Ok(graph) => {
                for format in [Format::Text, Format::Dot, Format::Json] {
                    assert!(!backend_graph::export(&graph, format).is_empty(), "{}", test.name);
                }
                let json = backend_graph::export(&graph, Format::Json);
                if let Err(e) = serde_json::from_str::<serde_json::Value>(&json) {
                    failures.push(format!("{}: {e}", test.name));
                }
            }
            Err(e) => failures.push(format!("{}: {e}", test.name)),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
