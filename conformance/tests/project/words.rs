//! Sources and pages use the words of docs/GLOSSARY.md: none of the table "Not our words" there, and no constant that is
//! named by a size word alone.

use crate::{files, read, root};

/// Names that users write, and that say with their type what they are: the least value of a type, beside `GREATEST`.
const PUBLIC_CONSTANTS: [(&str, &str); 1] = [("acc-core/src/api/types/class.rs", "LEAST")];

struct Glossary {
    /// Words, in lower case, and what to write instead.
    instead: Vec<(Vec<String>, String)>,
    /// What a constant must not be called.
    sizes: Vec<String>,
}

/// The section of the glossary. A remark in brackets belongs to no word.
fn glossary(page: &str) -> Glossary {
    let section = page.split("## Not our words").nth(1).expect("the section \"Not our words\"");
    let rows = section.lines().filter_map(|l| l.trim().strip_prefix('|')?.strip_suffix('|')?.split_once('|'));
    let mut instead = Vec::new();
    for (not, but) in rows.filter(|(not, _)| not.trim() != "not" && !not.starts_with('-')) {
        for phrase in not.split('(').next().unwrap_or(not).split(',') {
            instead.push((words(phrase).into_iter().map(|w| w.text).collect(), but.trim().to_string()));
        }
    }
    let quoted = section.split('`').skip(1).step_by(2);
    let is_size = |s: &&str| s.chars().all(|c| c.is_ascii_uppercase());
    Glossary { instead, sizes: quoted.filter(is_size).map(str::to_string).collect() }
}

#[derive(Debug)]
struct Word {
    /// In lower case.
    text: String,
    line: usize,
    /// Whether it continues a phrase: at most spaces, `_` and what begins a comment's line are before it.
    continues: bool,
}

/// The words of a text, also those that names are made of: `RowLength` and `row_length` are two words each.
fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let (mut line, mut continues, mut previous) = (1, false, ' ');
    for c in text.chars() {
        if !c.is_alphabetic() {
            line += usize::from(c == '\n');
            continues = (continues || previous.is_alphabetic()) && " \n\t_/!*#".contains(c);
        } else {
            let in_word = previous.is_alphabetic() && !(previous.is_lowercase() && c.is_uppercase());
            match found.last_mut().filter(|_| in_word) {
                Some(word) => word.text.extend(c.to_lowercase()),
                None => {
                    let continues = continues || previous.is_alphabetic();
                    found.push(Word { text: c.to_lowercase().collect(), line, continues });
                }
            }
        }
        previous = c;
    }
    found
}

/// Each wrong word of a file: where, and what to write.
fn complaints(glossary: &Glossary, file: &str, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let found = words(text);
    for (at, word) in found.iter().enumerate() {
        for (phrase, instead) in glossary.instead.iter().filter(|(phrase, _)| phrase.first() == Some(&word.text)) {
            let end = at + phrase.len();
            let is_phrase = found
                .get(at..end)
                .is_some_and(|f| f.iter().zip(phrase).all(|(w, p)| w.text == *p) && f[1..].iter().all(|w| w.continues));
            if is_phrase {
                all.push(format!("{file}:{}: not \"{}\", but: {instead}", word.line, phrase.join(" ")));
            }
        }
    }
    for (k, line) in text.lines().enumerate().filter(|_| file.ends_with(".rs")) {
        let names = line.split("const ").skip(1).chain(line.split("static ").skip(1));
        for name in names.filter_map(|l| l.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()) {
            if glossary.sizes.iter().any(|s| s == name) && !PUBLIC_CONSTANTS.contains(&(file, name)) {
                all.push(format!("{file}:{}: `{name}` says neither what it counts nor its unit", k + 1));
            }
        }
    }
    all
}

/// Sources and pages, but for the one that lists the words.
fn checked() -> Vec<String> {
    let found = files(&root(), &["rs", "md", "acc", "toml", "sh", "py", "cpp"]);
    let names = found.iter().filter_map(|f| Some(f.strip_prefix(root()).ok()?.display().to_string()));
    names.filter(|f| f != "docs/GLOSSARY.md").collect()
}

#[test]
fn sources_and_pages_use_the_words_of_the_glossary() {
    let glossary = glossary(&read("docs/GLOSSARY.md"));
    let files = checked();
    assert!(files.iter().any(|f| f == "conformance/tests/project/words.rs"), "the test lists files wrongly");
    let all: Vec<String> = files.iter().flat_map(|f| complaints(&glossary, f, &read(f))).collect();
    assert!(all.is_empty(), "docs/GLOSSARY.md says what to write:\n{}", all.join("\n"));
}

#[test]
fn wrong_words_are_found_in_names_and_across_lines() {
    let page = "| a | b |\n## Not our words\n| not | but |\n|---|---|\n| ribbon, left over (of a loop) | band |\n\n`HUGE` and `TINY` alone, not `MAX_HUGE`.";
    let glossary = glossary(page);
    assert_eq!(glossary.sizes, ["HUGE", "TINY"]);
    let found = |file: &str, text: &str| {
        let lines = complaints(&glossary, file, text).into_iter();
        lines.map(|c| c.rsplit_once(": ").map_or(c.clone(), |(place, _)| place.to_string())).collect::<Vec<_>>()
    };
    let text =
        "/// A ribbon, left\n/// over.\nfn left_over(RibbonLength: u8) {}\n// ribbons left. Over\nconst HUGE: u8 = 1;";
    assert_eq!(
        complaints(&glossary, "a.rs", text),
        [
            "a.rs:1: not \"ribbon\", but: band",
            "a.rs:1: not \"left over\", but: band",
            "a.rs:3: not \"left over\", but: band",
            "a.rs:3: not \"ribbon\", but: band",
            "a.rs:5: `HUGE` says neither what it counts nor its unit",
        ]
    );
    assert_eq!(found("a.md", "const HUGE and a ribbon"), ["a.md:1: not \"ribbon\", but"]);
    assert!(found("a.rs", "const MAX_HUGE: u8 = HUGE; ribboned").is_empty());
}
