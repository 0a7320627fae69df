//! Every public function of the API has an example in its documentation, which the doc tests run.

use std::fs;
use std::path::Path;

/// Methods that only `slice` and `replicate` call, of what specifications of slices are made of.
const WITHOUT: [&str; 2] = ["SlicePart::fixed", "SliceParts::fixed"];

/// The lines before an item: its documentation and its attributes.
#[derive(Default)]
struct Before<'a>(Vec<&'a str>);

impl Before<'_> {
    /// Whether a block of code is compiled and run. In a macro, `$doc` is the documentation that its callers write.
    fn has_example(&self) -> bool {
        let mut fences = self.0.iter().filter_map(|line| line.strip_prefix("/// ```"));
        let mut opening = std::iter::from_fn(|| {
            let info = fences.next();
            fences.next();
            info
        });
        opening.any(str::is_empty) || self.0.iter().any(|line| line.contains("#[doc = $doc]"))
    }

    fn is_hidden(&self) -> bool {
        self.0.contains(&"#[doc(hidden)]")
    }
}

/// The word after this prefix, if the line begins with it.
fn word_after<'a>(line: &'a str, first: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(first)?;
    rest.split(|c: char| !(c.is_alphanumeric() || "_$".contains(c))).next()
}

/// An entry of a macro's invocation that makes a function: documentation, and a line such as `name = other;`.
fn macro_entry(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(' ')?;
    let is_name =
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c == '_' || c.is_alphanumeric());
    const KEYWORDS: [&str; 8] = ["const", "fn", "let", "pub", "static", "struct", "type", "use"];
    (is_name && !KEYWORDS.contains(&name) && rest.ends_with(';')).then_some(name)
}

/// The public functions of a source file, each with whether it has an example. The example of a trait is one of its
/// methods, too.
fn functions(source: &str) -> Vec<(String, bool)> {
    let (mut found, mut before) = (Vec::new(), Before::default());
    // The trait around: how far it is indented, its name, and whether it has an example.
    let mut around: Option<(usize, &str, bool)> = None;
    let mut in_attribute = false;
    for line in source.lines() {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim());
        let is_comment = line.starts_with("//") && !line.starts_with("///");
        in_attribute |= line.starts_with("#[") && !line.ends_with(']');
        if in_attribute || is_comment {
            in_attribute &= !line.ends_with(")]");
            continue;
        }
        if line.starts_with("///") || line.starts_with("#[") || line.ends_with("#[doc = $doc])*") {
            before.0.push(line);
            continue;
        }
        let before = std::mem::take(&mut before);
        if around.is_some_and(|(outer, ..)| indent == outer && line == "}") {
            around = None;
        }
        if before.is_hidden() || line.contains("#[doc = $doc]") {
            continue;
        }
        if let Some(name) = word_after(line, "pub trait ") {
            around = Some((indent, name, before.has_example()));
        } else if let Some(name) = word_after(line, "pub fn ") {
            found.push((name.to_string(), before.has_example()));
        } else if let (Some(name), Some((outer, of, shown))) = (word_after(line, "fn "), around) {
            if indent == outer + 4 {
                found.push((format!("{of}::{name}"), shown || before.has_example()));
            }
        } else if let (Some(name), false) = (macro_entry(line), before.0.is_empty()) {
            found.push((name.to_string(), before.has_example()));
        }
    }
    found
}

#[test]
fn every_public_function_has_an_example() {
    let (mut folders, mut missing, mut count) =
        (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api")], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let functions = functions(&fs::read_to_string(&path).expect("a source file"));
            count += functions.len();
            let without = functions.into_iter().filter(|(name, shown)| !shown && !WITHOUT.contains(&name.as_str()));
            missing.extend(without.map(|(name, _)| format!("{}: {name}", path.display())));
        }
    }
    assert!(missing.is_empty(), "public functions without an example:\n{}", missing.join("\n"));
    assert!(count > 450, "only {count} public functions were found");
}

#[test]
fn functions_without_an_example_are_found() {
    let source = "
        /// One.
        ///
        /// ```
        /// assert_eq!(one(), 1);
        /// ```
        #[allow(
            clippy::needless_pass_by_value
        )]
        pub fn one() -> i32 {
            1
        }
        /// Two.
        ///
        /// ```compile_fail
        /// two(1);
        /// ```
        pub fn two() -> i32 {
            2
        }
        #[doc(hidden)]
        pub fn three() -> i32 {
            3
        }
        /// Four.
        pub trait Four {
            /// Four.
            fn four(self) -> i32;
        }
        made! {
            $(#[doc = $doc])*
            pub fn $name() -> i32 { $value }
        }
        made! {
            /// Five.
            five = 5;
        }
    ";
    let found = functions(source);
    let found: Vec<_> = found.iter().map(|(name, shown)| (name.as_str(), *shown)).collect();
    assert_eq!(found, [("one", true), ("two", false), ("Four::four", false), ("$name", true), ("five", false)]);
}
