//! Graphs in the language of Mermaid (<https://mermaid.js.org/syntax/flowchart.html>).

use super::cost::{CLASSES, Cost};
use super::drawing::{Language, draw};
use acc_desugar::graph::{Graph, Node, Op};
use std::fmt::Write;

pub(super) fn export(graph: &Graph) -> String {
    let mut out = String::from("flowchart TB\n");
    for (class, fill) in CLASSES {
        let style = fill.map_or("fill:none,stroke:none".to_string(), |fill| format!("fill:{fill},color:#222222"));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  classDef {class} {style}");
    }
    out + &draw::<Mermaid>(graph)
}

struct Mermaid;

impl Language for Mermaid {
    const END: &str = "end";

    fn parameter(name: &str, text: &str) -> String {
        format!("{name}([{}])", quote(&[text]))
    }

    fn result(name: &str, number: usize) -> String {
        format!("{name}([\"result {number}\"])")
    }

    fn node(name: &str, node: &Node, label: Vec<String>, cost: Cost) -> String {
        let (open, close) = match &node.op {
            Op::If { .. } | Op::While { .. } | Op::LaneLoop { .. } => ("{{", "}}"),
            _ => ("[", "]"),
        };
        let label = quote(&[label, vec![node.loc.to_string()]].concat());
        format!("{name}{open}{label}{close}:::{}", cost.class())
    }

    fn edge(from: &str, to: &str, text: &str) -> String {
        format!("{from} -->|{}| {to}", quote(&[text]))
    }

    fn begin(number: usize, title: &str, _: bool) -> Vec<String> {
        vec![format!("subgraph c{number}[{}]", quote(&[title]))]
    }
}

/// A label in quotation marks; what is a sign of the language is written by its number.
fn quote(lines: &[impl AsRef<str>]) -> String {
    let mut out = String::from('"');
    for (k, line) in lines.iter().enumerate() {
        if k > 0 {
            out.push_str("<br/>");
        }
        for c in line.as_ref().chars() {
            match c {
                '"' | '<' | '>' | '&' | '#' | ';' | '`' | '\\' => {
                    let _ = write!(out, "#{};", c as u32);
                }
                '\n' | '\r' => out.push(' '),
                c => out.push(c),
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What its grammar (`flow.jison`) reads as words of its own wherever they stand.
    const WORDS: [&str; 17] = [
        "call",
        "callback",
        "class",
        "classDef",
        "click",
        "default",
        "direction",
        "end",
        "flowchart",
        "graph",
        "href",
        "interpolate",
        "linkStyle",
        "style",
        "subgraph",
        "accTitle",
        "accDescr",
    ];

    #[test]
    fn no_class_is_a_word_of_the_language() {
        for (class, _) in CLASSES {
            assert!(!WORDS.contains(&class), "{class}");
        }
    }
}
