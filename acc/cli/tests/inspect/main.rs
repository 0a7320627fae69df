//! What is for browsers in a real one: the page of `acc inspect`, and drawings for Mermaid.

mod browser;
mod mermaid;

use browser::Browser;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A program whose run reads out of bounds, in its third line.
const FAULTY: &str = "program(xs: [1]i64, n: [0]i64) {
  a: [1]i64 = generate(shape: || n[], f: |%i: i64| {
    %x: i64 = xs[%i]
    yield mul(2i64, %x)
  })
  yield a
}
run \"beyond\" { xs = [2] i64 { 1, 2 } n = [] i64 { 3 } expect agree }
";

fn acc(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_acc")).args(args).output().expect("acc starts");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/tests/formats/golden").join(name)
}

fn page(name: &str, folder: &TempDir) -> PathBuf {
    let page = folder.path().join("page.html");
    let said = acc(&["inspect", &program(name).display().to_string(), "-o", &page.display().to_string()]);
    assert!(said.contains("page.html"), "{said}");
    page
}

#[test]
fn the_page_works_in_a_browser() {
    let folder = TempDir::new().expect("a temporary folder");
    let Some(mut b) = Browser::start(1400, 900) else {
        eprintln!("not run: no browser; scripts/browser.sh says what is missing");
        return;
    };
    b.open(&page("norm.acc", &folder));

    // Every tab opens its panel, and no other.
    for (id, text) in [
        ("simplified", "fold("),
        ("fused", "kernel 0 over"),
        ("flattened", "graph("),
        ("planned", "plan of"),
        ("graph", "contract"),
        ("runs", "native-tile"),
        ("program", "The mean square of the elements"),
    ] {
        b.click(&format!("document.getElementById('tab-{id}')"));
        b.wait(&format!("document.getElementById('tab-{id}').ariaSelected == 'true'"));
        let open =
            b.value("[...document.querySelectorAll('[role=tabpanel]')].filter(p => p.offsetParent).map(p => p.id)");
        assert_eq!(open, serde_json::json!([id]));
        let shown = b.value(&format!("document.getElementById('{id}').textContent"));
        assert!(shown.as_str().is_some_and(|t| t.contains(text)), "{id}: {text:?} is not in {shown}");
    }

    // By the keyboard, too.
    b.press("ArrowLeft");
    b.wait("document.activeElement.id == 'tab-runs'");
    b.press("ArrowLeft");
    b.wait("document.getElementById('graph').classList.contains('open')");

    // A node shows the line it comes from.
    let node = "[...document.querySelectorAll('#graph [data-key]')].find(g => g.textContent.startsWith('take'))";
    b.hover(node);
    b.wait("document.getElementById('where').textContent.includes('norm.acc:6:')");
    b.wait("document.querySelector('#source .here').textContent.includes('%read: f32 = xs[%i]')");
    let details = b.value("document.getElementById('details').textContent");
    assert!(details.as_str().is_some_and(|d| d.contains("operationtake") && d.contains("1 call")), "{details}");
    assert!(details.as_str().is_some_and(|d| d.contains("native kernel")), "{details}");
    keep("inspect-graph", &mut b);

    // And so does a line of any stage.
    b.click("document.getElementById('tab-planned')");
    b.hover("[...document.querySelectorAll('#planned .line')].find(l => l.textContent.includes('contract('))");
    b.wait("document.getElementById('where').textContent.includes('norm.acc:13:')");
    keep("inspect-planned", &mut b);
    for tab in ["fused", "runs", "program"] {
        b.click(&format!("document.getElementById('tab-{tab}')"));
        keep(&format!("inspect-{tab}"), &mut b);
    }

    assert!(b.events("Runtime.exceptionThrown").is_empty(), "{:?}", b.events("Runtime.exceptionThrown"));
    for request in b.events("Network.requestWillBeSent") {
        let url = request["params"]["request"]["url"].as_str().unwrap_or_default();
        assert!(url.starts_with("file://") && url.contains("page.html"), "the page asks for {url}");
    }
}

/// Keeps a screenshot in the folder of what is built.
fn keep(name: &str, b: &mut Browser) {
    let png = b.screenshot();
    let decoder = png::Decoder::new(std::io::Cursor::new(&png));
    let mut reader = decoder.read_info().expect("an image");
    assert_eq!((reader.info().width, reader.info().height), (1400, 900));
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    reader.next_frame(&mut pixels).expect("pixels");
    assert!(pixels.iter().any(|p| *p != pixels[0]), "{name} is empty");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"));
    std::fs::write(&path, png).expect("the screenshot is kept");
}

/// Loops have their bodies inside of them.
#[test]
fn loops_are_drawn_with_their_bodies() {
    let folder = TempDir::new().expect("a temporary folder");
    let html = std::fs::read_to_string(page("collatz.acc", &folder)).expect("the page");
    assert!(html.contains(">lane_loop ") && html.contains(">test<") && html.contains(">step<"), "no loop is drawn");
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("{{"));
}

/// Writes the page of [`FAULTY`], and says so by failing.
fn faulty_page(folder: &TempDir) -> PathBuf {
    let (file, page) = (folder.path().join("faulty.acc"), folder.path().join("page.html"));
    std::fs::write(&file, FAULTY).expect("a temporary file");
    let args = ["inspect", &file.display().to_string(), "-o", &page.display().to_string()];
    let out = Command::new(env!("CARGO_BIN_EXE_acc")).args(args).output().expect("acc starts");
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stdout).contains("page.html"));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        said.contains("native-tile") && said.contains("index (2,) is out of bounds for `xs` of shape (2,)"),
        "{said}"
    );
    page
}

/// The message and the marked line are there, and all that does not come from a run.
#[test]
fn a_run_with_a_fault_has_a_page() {
    let folder = TempDir::new().expect("a temporary folder");
    let html = std::fs::read_to_string(faulty_page(&folder)).expect("the page");
    let (before, times) = html.split_once("id=\"runs\"").expect("the tab of times");
    let times = times.split_once("</section>").map_or(times, |(panel, _)| panel);
    assert!(times.contains("The run beyond at line 8 of the file does not succeed."), "{times}");
    assert!(times.contains("index (2,) is out of bounds for `xs` of shape (2,)"), "{times}");
    assert!(times.contains("3      %x: i64 = xs[%i]\n") && times.contains("^\n"), "{times}");
    assert!(!times.contains("<table>"), "{times}");
    assert!(before.contains("class=\"line fault\" data-at=\"0:3:1\""), "no line is marked");
    assert_eq!(before.matches("class=\"line fault\" data-at=\"0:").count(), before.matches("line fault\"").count());
    for stage in ["kernel 0 over", "plan of", ">slice"] {
        assert!(before.contains(stage), "{stage:?} is not in the page");
    }
}

#[test]
fn a_fault_is_shown_in_a_browser() {
    let folder = TempDir::new().expect("a temporary folder");
    let Some(mut b) = Browser::start(1400, 900) else {
        eprintln!("not run: no browser; scripts/browser.sh says what is missing");
        return;
    };
    b.open(&faulty_page(&folder));
    let marked = "document.querySelector('[role=tabpanel].open .fault')";
    b.click("document.getElementById('tab-runs')");
    b.hover(marked);
    b.wait("document.getElementById('where').textContent.includes('faulty.acc:3:')");
    b.wait("document.querySelector('#source .here').textContent.includes('%x: i64 = xs[%i]')");
    keep("inspect-fault", &mut b);
    // The caret is below the column that the message names.
    let columns = b.value(&format!(
        "[+document.querySelector('.stopped').textContent.match(/:3:(\\d+)/)[1],
          {marked}.nextSibling.textContent.indexOf('^') - {marked}.textContent.indexOf('    %x')]"
    ));
    let column = columns[0].as_u64().expect("a column");
    assert_eq!(columns[1], column - 1);
    b.click("document.getElementById('tab-program')");
    let line = b.value(&format!("{marked}.textContent.trim()"));
    assert_eq!(line, "%x: i64 = xs[%i]");
    assert!(b.events("Runtime.exceptionThrown").is_empty(), "{:?}", b.events("Runtime.exceptionThrown"));
}

#[test]
fn what_cannot_be_inspected() {
    let norm = program("norm.acc").display().to_string();
    for (args, want) in [
        (vec!["inspect", "no-such-file.acc"], "cannot read no-such-file.acc"),
        (vec!["inspect", &norm, "--run", "no-such-run"], "the file has no run named `no-such-run`"),
        (vec!["inspect", &norm, "-o", "/no/such/folder/page.html"], "cannot write /no/such/folder/page.html"),
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_acc")).args(&args).output().expect("acc starts");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && said.contains(want), "{args:?}: {said}");
    }
}
