//! Mermaid itself reads our drawings, in a browser.

use crate::browser::Browser;
use backend_graph::Format;
use conformance::suite;
use serde_json::Value as Json;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A browser with a page that has Mermaid; `None`, which is said, where either is missing.
fn browser(folder: &TempDir) -> Option<Browser> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/mermaid.sh");
    let found = Command::new(&script).stderr(Stdio::inherit()).output().expect("scripts/mermaid.sh runs");
    if !found.status.success() {
        eprintln!("not run: no Mermaid; scripts/mermaid.sh says what is missing");
        return None;
    }
    let Some(mut b) = Browser::start(1400, 900) else {
        eprintln!("not run: no browser; scripts/browser.sh says what is missing");
        return None;
    };
    let mermaid = String::from_utf8(found.stdout).expect("a path");
    std::fs::copy(mermaid.trim(), folder.path().join("mermaid.js")).expect("Mermaid is copied");
    let page = folder.path().join("drawings.html");
    std::fs::write(&page, "<!doctype html><meta charset=utf-8><script src=mermaid.js></script>").expect("a page");
    b.open(&page);
    // Its limits are for pages whose authors are strangers.
    b.value("mermaid.initialize({ startOnLoad: false, maxEdges: 1e6, maxTextSize: 1e9 })");
    Some(b)
}

/// What Mermaid says of a drawing: nothing, if it reads it.
fn complaint(b: &mut Browser, drawing: &str) -> String {
    let text = Json::from(drawing);
    let said = b.value(&format!("mermaid.parse({text}).then(() => '', e => 'error: ' + e)"));
    said.as_str().expect("text").to_string()
}

#[test]
fn mermaid_reads_every_drawing() {
    let folder = TempDir::new().expect("a temporary folder");
    let Some(mut b) = browser(&folder) else { return };
    let mut read = 0;
    for test in suite::load(None).unwrap_or_else(|e| panic!("{e}")) {
        let Some(file) = test.file() else { continue };
        let graph = backend_graph::graph_of(&file.program).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        let drawing = backend_graph::export(&graph, Format::Mermaid);
        assert_eq!(complaint(&mut b, &drawing), "", "{}: {drawing}", test.name);
        read += 1;
    }
    assert!(read > 200, "{read}");
    // It would say so.
    assert!(complaint(&mut b, "flowchart TB\n  a --> end").starts_with("error: "));
}

/// A drawing that is laid out has the nodes of the graph.
#[test]
fn mermaid_draws_loops_with_their_bodies() {
    let folder = TempDir::new().expect("a temporary folder");
    let Some(mut b) = browser(&folder) else { return };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/tests/formats/golden/collatz.mermaid");
    let drawing = std::fs::read_to_string(golden).expect("the drawing");
    let draw = format!(
        "mermaid.render('drawing', {}).then(d => {{ document.body.innerHTML = d.svg; return ''; }}, e => 'error: ' + e)",
        Json::from(drawing.as_str())
    );
    assert_eq!(b.value(&draw), "");
    let count = |b: &mut Browser, of: &str| b.value(&format!("document.querySelectorAll('#drawing {of}').length"));
    assert_eq!(count(&mut b, ".cluster"), drawing.matches("subgraph ").count());
    assert!(count(&mut b, ".node").as_u64() > Some(10));
    crate::keep("mermaid", &mut b);
}
