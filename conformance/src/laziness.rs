//! The laziness tests: what a branch or loop that is not taken contains must never be evaluated.
//!
//! Every kind of control flow × every hazard × every way in which the hazard gets into the branch, as text. Each
//! program runs twice: with no lane in the branch, where the hazard must not show, and with some lanes in it, where it
//! must.

/// Control flow around the hazard.
struct Context {
    name: &'static str,
    /// The rows it covers.
    rows: &'static str,
    /// Scalar code over `%x`: nodes that define `%r`. `P` are nodes that come before the hazard, `H` the hazard as an
    /// operand. Of array code the scalar code is the hazard alone.
    code: &'static str,
    /// Array code around the statements `S`, which define `h1`; it defines `r`. Empty if there is none.
    around: &'static str,
}

const CONTEXTS: [Context; 6] = [
    Context {
        name: "if",
        rows: "FLW-01 FLW-03 E-CF-02 E-CF-05",
        code: "%r: i64 = if gt(%x, t[]) { P yield H } else { yield %x }",
        around: "",
    },
    Context {
        name: "and_or",
        rows: "LOG-01 LOG-02 E-CF-03",
        code: "%a: bool = if gt(%x, t[]) { P yield lt(H, 0i64) } else { yield false }
    %b: bool = if le(%x, t[]) { yield true } else { P yield lt(H, 0i64) }
    %r: i64 = add(cast(%a, i64), mul(2i64, cast(%b, i64)))",
        around: "",
    },
    Context {
        // Three arms, as the tag of an enum chooses them.
        name: "match",
        rows: "FLW-02 E-TY-09",
        code: "%tag: u8 = cast(gt(%x, t[]), u8)
    %r: i64 = if eq(%tag, 0u8) { yield %x } else { yield if eq(%tag, 1u8) { P yield H } else { P yield neg(H) } }",
        around: "",
    },
    Context {
        name: "while",
        rows: "FLW-04 E-CF-06",
        code: "%r: i64 = while (%x) test |%s: i64| { yield gt(%s, t[]) } step |%x: i64| { P yield H }",
        around: "",
    },
    Context {
        name: "acond",
        rows: "CMP-02 E-CF-01",
        code: "",
        around: "  r: [1]i64 = acond(cond: || gt(5i64, t[]), then: {\nS    yield h1\n  }, else: { yield xs })\n",
    },
    Context {
        name: "awhile",
        rows: "CMP-03 E-CF-06",
        code: "",
        around: "  r: [1]i64 = awhile(xs,
    test: |s: [1]i64| {
      c: [0]bool = generate(shape: || (), f: || gt(s[4i64], t[]))
      yield c
    },
    step: |s: [1]i64| {\nS      yield h1\n    })\n",
    },
];

/// Hazards: the name, the text with the element `%x`, the text without (closed), and its outcome when it is reached.
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

/// The outcome of a hazard that is reached.
#[derive(Clone, Copy)]
enum Outcome {
    Fault(&'static str),
    /// No fault: the least value.
    Min,
    Endless,
}

/// How the hazard gets into the branch, and where the branch is: in a map if it does not say.
const PLACEMENTS: [&str; 10] = [
    "in_place",
    "captured",
    "captured_array",
    "shared",
    "shared_array",
    "fold",
    "scan",
    "permute",
    "stencil",
    "nested",
];

/// An array of rank 0 that holds the closed hazard, for placements that read one.
const ARRAY: &str = "  h: [0]i64 = generate(shape: || (), f: || HAZARD)\n";

/// Statements that define `result` from the scalar code for each element of `from`.
fn site(placement: &str, from: &str, result: &str, code: &str) -> String {
    // Each row has one element, so that an operator that is not associative has a defined result.
    let column = format!("    c1: [2]i64 = reshape({from}, shape: || (extent({from}, 0), 1i64))\n");
    let summed = format!("|%acc: i64, %x: i64| {{\n    {code}\n    yield add(%acc, %r)\n  }}, init: || 0i64");
    match placement {
        "fold" => format!("{column}    {result}: [1]i64 = fold(c1, f: {summed})\n"),
        "scan" => format!(
            "{column}    c2: [2]i64 = scanl(c1, f: {summed})\n    \
             {result}: [1]i64 = slice(c2, axes: [all, fixed], index: || 1i64)\n"
        ),
        "permute" => format!(
            "    z: [1]i64 = map({from}, f: |%x: i64| 0i64)\n    {result}: [1]i64 = permute({from}, into: z, \
             combine: |%x: i64, %old: i64| {{\n    {code}\n    yield add(%r, %old)\n  }}, \
             target: |%i: i64| (1u8, %i))\n"
        ),
        "stencil" => format!(
            "    {result}: [1]i64 = stencil({from}, window: [3], boundary: clamp, \
             f: |%left: i64, %x: i64, %right: i64| {{\n    {code}\n    yield %r\n  }})\n"
        ),
        "nested" => format!(
            "    {result}: [1]i64 = map({from}, f: |%x: i64| {{\n    %n: i64 = if le(%x, 1000i64) {{\n    {code}\n    \
             yield %r }} else {{ yield 0i64 }}\n    yield %n\n  }})\n"
        ),
        _ => format!("    {result}: [1]i64 = map({from}, f: |%x: i64| {{\n    {code}\n    yield %r\n  }})\n"),
    }
}

/// The generated test programs: names and texts.
pub fn programs() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for context in &CONTEXTS {
        for (hazard, in_place, closed, outcome) in HAZARDS {
            for placement in PLACEMENTS {
                let both = |h: &str| format!("if gt(zero[], 0i64) {{ yield {h} }} else {{ yield add({h}, zero[]) }}");
                let (array, nodes, operand) = match placement {
                    "captured" => (false, String::new(), closed.to_string()),
                    "captured_array" => (true, String::new(), "h[]".to_string()),
                    "shared" => (false, format!("%h: i64 = {in_place}"), both("%h")),
                    "shared_array" => (true, String::new(), both("h[]")),
                    _ => (false, String::new(), in_place.to_string()),
                };
                let array = if array { ARRAY.replace("HAZARD", closed) } else { String::new() };
                // Of a context of arrays, the hazard is all the code there is.
                let code = if context.code.is_empty() { "{ P yield H }" } else { context.code };
                // `P` and `H` stand alone in the text, between spaces or before punctuation.
                let code =
                    code.replace("{ P ", &format!("{{ {nodes} ")).replace("yield H", &format!("yield {operand}"));
                let code =
                    code.replace("lt(H,", &format!("lt({operand},")).replace("neg(H)", &format!("neg({operand})"));
                let statements = match context.around {
                    "" => site(placement, "xs", "r", &code),
                    around => {
                        let code = format!("%r: i64 = if true {code} else {{ yield 0i64 }}");
                        let from = if context.name == "awhile" { "s" } else { "xs" };
                        let inner = site(placement, from, "h1", &code);
                        let inner = if placement == "nested" {
                            format!(
                                "    h1: [1]i64 = acond(cond: || gt(5i64, t[]), then: {{\n{}    yield h2\n  }}, else: {{ yield xs }})\n",
                                site("in_place", from, "h2", &code)
                            )
                        } else {
                            inner
                        };
                        around.replace('S', &inner)
                    }
                };
                let (components, cases): (Vec<&str>, Vec<&str>) =
                    context.rows.split(' ').partition(|r| !r.starts_with("E-"));
                let text = format!(
                    "component: {}\ncase: {}\n\n\
                     program(xs: [1]i64, none: [1]i64, t: [0]i64, zero: [0]i64, min: [0]i64, minus: [0]i64) {{\n\
                     {array}{statements}  yield r\n}}\n\n{}\n{}",
                    components.join(" "),
                    cases.join(" "),
                    run("no lane in the branch", 100, &not_taken(context.name)),
                    run("some lanes in the branch", 3, &taken(context.name, outcome)),
                );
                out.push((format!("laziness/{}/{hazard}/{placement}", context.name), text));
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
