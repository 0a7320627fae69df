//! The laziness tests: what a branch or loop that is not taken contains must never be evaluated.
//!
//! Every kind of control flow × every hazard × every way in which the hazard gets into the branch, as text. Each
//! program runs twice: with no lane in the branch, where the hazard must not show, and with some lanes in it, where it
//! must.

/// Control flow around the hazard.
const CONTEXTS: [(&str, &str, &str); 5] = [
    // The name, the cases it covers, the text; `P` are nodes that come before the hazard, `H` the hazard as an operand.
    (
        "if",
        "FLW-03 E-CF-02 E-CF-05",
        "  r: [1]i64 = map(xs, f: |%x: i64| if gt(%x, t[]) { P yield H } else { yield %x })",
    ),
    (
        "and_or",
        "LOG-01 LOG-02 E-CF-03",
        "  r: [1]i64 = map(xs, f: |%x: i64| {
    %a: bool = if gt(%x, t[]) { P yield lt(H, 0i64) } else { yield false }
    %b: bool = if le(%x, t[]) { yield true } else { P yield lt(H, 0i64) }
    yield add(cast(%a, i64), mul(2i64, cast(%b, i64)))
  })",
    ),
    (
        "while",
        "FLW-04 E-CF-06",
        "  r: [1]i64 = map(xs, f: |%y: i64| {
    %r: i64 = while (%y) test |%s: i64| { yield gt(%s, t[]) } step |%x: i64| { P yield H }
    yield %r
  })",
    ),
    (
        "acond",
        "CMP-02 E-CF-01",
        "  r: [1]i64 = acond(cond: || gt(5i64, t[]), then: {
    h1: [1]i64 = map(xs, f: |%x: i64| { P yield H })
    yield h1
  }, else: { yield xs })",
    ),
    (
        "awhile",
        "CMP-03 E-CF-06",
        "  r: [1]i64 = awhile(xs,
    test: |s: [1]i64| {
      c: [0]bool = generate(shape: || (), f: || gt(s[4i64], t[]))
      yield c
    },
    step: |s: [1]i64| {
      n: [1]i64 = map(s, f: |%x: i64| { P yield H })
      yield n
    })",
    ),
];

/// Hazards: the name, the text with the element `%x`, the text without (closed), what it comes to when it is reached.
const HAZARDS: [(&str, &str, &str, Outcome); 5] = [
    ("index", "xs[add(%x, 100i64)]", "xs[add(zero[], 100i64)]", Outcome::Fault("index_out_of_bounds")),
    ("empty", "none[sub(%x, %x)]", "none[zero[]]", Outcome::Fault("index_out_of_bounds")),
    ("div_zero", "quot(%x, zero[])", "quot(7i64, zero[])", Outcome::Fault("division_by_zero")),
    ("min_div", "quot(add(min[], sub(%x, %x)), minus[])", "quot(min[], minus[])", Outcome::Min),
    (
        "endless",
        "while (%x) test |%k: i64| { yield eq(%k, %k) } step |%k: i64| { yield add(%k, 1i64) }",
        "while (zero[]) test |%k: i64| { yield eq(%k, %k) } step |%k: i64| { yield add(%k, 1i64) }",
        Outcome::Endless,
    ),
];

/// What a hazard comes to when it is reached.
#[derive(Clone, Copy)]
enum Outcome {
    Fault(&'static str),
    /// No fault: the least value.
    Min,
    Endless,
}

/// How the hazard gets into the branch.
const PLACEMENTS: [&str; 5] = ["in_place", "captured", "captured_array", "shared", "shared_array"];

/// An array of rank 0 that holds the closed hazard, for placements that read one.
const ARRAY: &str = "  h: [0]i64 = generate(shape: || (), f: || HAZARD)\n";

/// The generated test programs: names and texts.
pub fn programs() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (context, rows, body) in CONTEXTS {
        for (hazard, in_place, closed, outcome) in HAZARDS {
            for placement in PLACEMENTS {
                let array = ARRAY.replace("HAZARD", closed);
                let both = |h: &str| format!("if gt(zero[], 0i64) {{ yield {h} }} else {{ yield add({h}, zero[]) }}");
                let (array, nodes, operand) = match placement {
                    "in_place" => (String::new(), String::new(), in_place.to_string()),
                    "captured" => (String::new(), String::new(), closed.to_string()),
                    "captured_array" => (array, String::new(), "h[]".to_string()),
                    "shared" => (String::new(), format!("%h: i64 = {in_place}"), both("%h")),
                    _ => (array, String::new(), both("h[]")),
                };
                // `P` and `H` stand alone in the text, between spaces or before punctuation.
                let body =
                    body.replace("{ P ", &format!("{{ {nodes} ")).replace("yield H", &format!("yield {operand}"));
                let body = body.replace("lt(H,", &format!("lt({operand},"));
                let (components, cases): (Vec<&str>, Vec<&str>) = rows.split(' ').partition(|r| !r.starts_with("E-"));
                let text = format!(
                    "component: {}\ncase: {}\n\n\
                     program(xs: [1]i64, none: [1]i64, t: [0]i64, zero: [0]i64, min: [0]i64, minus: [0]i64) {{\n\
                     {array}{body}\n  yield r\n}}\n\n{}\n{}",
                    components.join(" "),
                    cases.join(" "),
                    run("no lane in the branch", 100, &not_taken(context)),
                    run("some lanes in the branch", 3, &taken(context, outcome)),
                );
                out.push((format!("laziness/{context}/{hazard}/{placement}"), text));
            }
        }
    }
    out
}

fn run(name: &str, threshold: i64, expect: &str) -> String {
    format!(
        "run \"{name}\" {{\n  xs = [5] i64 {{ 1, 2, 3, 4, 5 }}\n  none = [0] i64 {{}}\n  t = [] i64 {{ {threshold} }}\n  \
         zero = [] i64 {{ 0 }}\n  min = [] i64 {{ -9223372036854775808 }}\n  minus = [] i64 {{ -1 }}\n  {expect}\n}}\n"
    )
}

fn not_taken(context: &str) -> String {
    let values = if context == "and_or" { "2, 2, 2, 2, 2" } else { "1, 2, 3, 4, 5" };
    format!("expect [5] i64 {{ {values} }}")
}

fn taken(context: &str, outcome: Outcome) -> String {
    const MIN: &str = "-9223372036854775808";
    match outcome {
        Outcome::Fault(kind) => format!("expect fault {kind}"),
        Outcome::Endless => "deadline 60 ms\n  expect stopped".into(),
        Outcome::Min => match context {
            "and_or" => "expect [5] i64 { 2, 2, 2, 3, 3 }".into(),
            "acond" | "awhile" => format!("expect [5] i64 {{ {MIN}, {MIN}, {MIN}, {MIN}, {MIN} }}"),
            _ => format!("expect [5] i64 {{ 1, 2, 3, {MIN}, {MIN} }}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::text::parse_test_file;
    use acc_core::verify::verify;

    #[test]
    fn the_product_is_complete_and_well_formed() {
        let all = programs();
        assert_eq!(all.len(), CONTEXTS.len() * HAZARDS.len() * PLACEMENTS.len());
        for (name, text) in all {
            let file = parse_test_file(&name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            verify(&file.program, None).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
            assert_eq!(file.runs.len(), 2);
            assert!(!text.contains(" P ") && !text.contains(" H "), "{text}");
        }
    }
}
