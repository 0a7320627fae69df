//! Graphs as JSON from strangers: whatever a document says it is a graph or an error, on a small stack and in little memory.

use acc_core::prelude::*;
use backend_graph::{Format, Plan, export, from_json};
use serde_json::{Value as Json, json};

/// A document with these bodies, each a node inside of the next one.
fn document(bodies: &[Json]) -> String {
    let sources = json!([{ "name": "map", "location": null }]);
    json!({ "format": "acc-graph", "version": 7, "sources": sources, "bodies": bodies }).to_string()
}

fn size(v: usize) -> Json {
    json!({ "value": format!("t{v}"), "type": "size" })
}

/// Conditionals inside of one another, so many levels deep: one branch of each is the next one, and the other a size.
fn nested(depth: usize) -> String {
    let mut bodies = vec![json!({ "params": [], "nodes": [], "results": ["t0"] })];
    for k in 1..depth {
        let leaf = json!({ "params": [], "nodes": [], "results": ["t0"] });
        bodies.push(leaf);
        let chosen = json!({
            "op": "if", "operands": { "cond": "t0" }, "bodies": { "then": 2 * k - 2, "else": 2 * k - 1 },
            "results": [size(k)], "source": 0, "location": null,
        });
        let result = format!("t{k}");
        let params = if k + 1 == depth { json!([size(0)]) } else { json!([]) };
        bodies.push(json!({ "params": params, "nodes": [chosen], "results": [result] }));
    }
    document(&bodies)
}

#[test]
fn bodies_nest_as_deep_as_a_limit_says() {
    // The test's own thread has less stack than the levels would need without a stack that grows.
    let deep = from_json(&nested(4000)).unwrap();
    assert_eq!(deep.len(), 3999);
    for (_, format) in Format::ALL {
        assert!(export(&deep, format).len() < 50_000_000, "{format:?}");
    }
    assert!(Plan::new(deep).to_string().len() < 50_000_000);
    let error = from_json(&nested(10_000)).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "body 16000: bodies are nested deeper than 8000 levels");
}

#[test]
fn brackets_without_end_are_an_error() {
    let error = from_json(&"[".repeat(1_000_000)).map(|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("this is not JSON"), "{error}");
}

#[test]
fn ranks_are_bounded_before_anything_is_made_of_them() {
    let of_rank = |rank: &str| {
        let values: Vec<Json> =
            (0..4000).map(|k| json!({ "value": format!("t{k}"), "type": format!("f32[{rank}]") })).collect();
        document(&[json!({ "params": values, "nodes": [], "results": ["t0"] })])
    };
    assert!(from_json(&of_rank("64")).is_ok());
    for rank in ["65", "65535"] {
        let error = from_json(&of_rank(rank)).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "body 0: the rank of t0 is above 64");
    }
    for rank in ["65536", "18446744073709551616", "-1", ""] {
        assert!(from_json(&of_rank(rank)).is_err(), "{rank}");
    }
}

/// Numbers, the same on each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// A text with some of its bytes changed: exchanged, left out, written twice, or in the place of others.
fn mutated(text: &str, random: &mut Numbers) -> String {
    const BYTES: &[u8] = b"0123456789t-\"[]{},:.e\\x \xff\x00";
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = BYTES[random.below(BYTES.len())],
            1 => bytes.insert(at, BYTES[random.below(BYTES.len())]),
            2 => drop(bytes.drain(at..(at + 1 + random.below(40)).min(bytes.len()))),
            3 => {
                let part = bytes[at..(at + 1 + random.below(200)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            // A digit for a digit: another value, rank, body or position.
            _ => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    bytes[digits[random.below(digits.len())]] = b'0' + random.below(10) as u8;
                }
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn exported<A: Arrays>(program: impl IntoAcc<A>) -> String {
    let program = program.into_acc().program().unwrap().program;
    export(&backend_graph::graph_with_exact_faults(&program).unwrap(), Format::Json)
}

#[test]
fn what_becomes_of_a_document_whose_bytes_change_is_a_graph_or_an_error() {
    let xs = Vector::from([3i64, 1, 2]);
    let m = Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]);
    let documents = [
        exported(use_(&xs).map(|x| while_(x, |y| y.lt(100), |y| y * 2 + 1)).scanl(0, |a, b| a + b)),
        exported(use_(&m).transpose().map(|x| x.gt(2.0).then_else(x / 3.0, x)).sum()),
        exported(use_(&xs).map(|i| use_(&xs).index(i)).sort()),
    ];
    let mut random = Numbers(29);
    let (mut errors, mut graphs) = (0, 0);
    for k in 0..3000 {
        let text = mutated(&documents[k % documents.len()], &mut random);
        match from_json(&text) {
            Err(e) => {
                assert!(!e.to_string().is_empty());
                errors += 1;
            }
            Ok(graph) => {
                for (_, format) in Format::ALL {
                    export(&graph, format);
                }
                assert!(!Plan::new(graph).to_string().is_empty());
                graphs += 1;
            }
        }
    }
    assert!(errors > 1000 && graphs > 20, "{errors} errors, {graphs} graphs");
}
