//! Wrong inputs give errors that can be read: each text of `texts.txt` exactly the one that stands below it.
//!
//! `ACC_BLESS=1` writes the errors there are now into the file, to be read before they are kept.

use acc_core::text::verified_test_file;
use acc_core::{Error, Executor, Interpreter};
use backend_native::Native;
use conformance::{headers, runner};
use std::fmt::Write;
use std::path::Path;

/// What is wrong with a text: what reading, verifying, checking its header or running it says first.
fn complaint(text: &str) -> Result<String, String> {
    let file = match verified_test_file("bad.acc", text) {
        Ok(file) => file,
        Err(e) => return Ok(e.to_string()),
    };
    if let Err(e) = headers::check(&file, "bad.acc", text) {
        return Ok(e.to_string());
    }
    let Some(run) = file.runs.first() else { return Err("nothing is wrong with it".into()) };
    let executors: [&dyn Executor; 2] = [&Interpreter::new(), &Native::new()];
    let said: Vec<Result<_, Error>> = executors.iter().map(|e| runner::execute(*e, &file, run)).collect();
    match &said[..] {
        [Err(a), Err(b)] if a.to_string() == b.to_string() => Ok(a.to_string()),
        [Err(a), Err(b)] => Err(format!("the interpreter says\n{a}\nbut the native executor\n{b}")),
        _ => Err("it runs".into()),
    }
}

#[test]
fn wrong_texts_and_wrong_runs_say_what_is_wrong() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_inputs/texts.txt");
    let golden = std::fs::read_to_string(&path).expect("the wrong texts");
    let (mut now, mut wrong, mut count) = (String::new(), Vec::new(), 0);
    for section in golden.split("=== ").skip(1) {
        let (title, rest) = section.split_once('\n').expect("a title");
        let (text, _) = rest.split_once("---\n").expect("a text");
        match complaint(text) {
            Ok(said) => {
                let _ = write!(now, "=== {title}\n{text}---\n{}\n\n", said.trim_end());
            }
            Err(why) => wrong.push(format!("{title}: {why}")),
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 100, "{count}");
    if std::env::var_os("ACC_BLESS").is_some() {
        std::fs::write(&path, &now).expect("the golden file is written");
    }
    assert_eq!(now, std::fs::read_to_string(&path).expect("the wrong texts"), "see ACC_BLESS");
}
