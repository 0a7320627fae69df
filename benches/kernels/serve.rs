//! One measurement at a time, when told to: how `peers/run.py` times other libraries and ours, interleaved.
//!
//! Lines of JSON: `{"prepare": ID}` is answered by `{"ready": bool, "samples": [[length, element, ..], ..]}`, with some
//! elements of each column of the results, `{"time": null}` by `{"seconds": s}`.

use crate::families;
use crate::measure::{Contender, Prepared};
use crate::row::Row;
use serde_json::{Value, json};
use std::io::{BufRead, Write};

/// Of each column of the results, so many elements are told.
const SAMPLES: usize = 1000;

/// The length and some elements of each column of what the kernel by hand has computed.
fn samples(row: &Row) -> Vec<Vec<f64>> {
    let some = |column: Vec<f64>| {
        let (n, length) = (column.len().min(SAMPLES), column.len());
        std::iter::once(length as f64).chain((0..n).map(|k| column[k * length / n])).collect()
    };
    row.hand.outputs().into_iter().map(some).collect()
}

/// Serves until the input ends. `fastest` compiles a row for the executor that is timed.
pub fn serve(fastest: fn(&Row) -> Result<Contender, acc_core::Error>) -> Result<(), String> {
    // Only names and sizes are kept: the inputs of all rows do not fit into memory together.
    let rows: Vec<(String, Box<dyn Fn() -> Row>)> =
        families::all().into_iter().map(|make| (make().id(), make)).collect();
    let say = |value: Value| {
        println!("{value}");
        std::io::stdout().flush().map_err(|e| e.to_string())
    };
    say(json!({"kernels": rows.iter().map(|(id, _)| id).collect::<Vec<_>>()}))?;
    let mut prepared: Option<Prepared> = None;
    for line in std::io::stdin().lock().lines() {
        let order: Value = serde_json::from_str(&line.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
        match (&order["prepare"], &mut prepared) {
            (Value::String(id), _) => {
                prepared = None;
                let mut answer = json!({"ready": false});
                if let Some((_, make)) = rows.iter().find(|(row, _)| row == id) {
                    let mut row = make();
                    // The results are held to those of the kernel by hand.
                    row.hand.run();
                    answer = json!({"ready": true, "samples": samples(&row)});
                    let contender = fastest(&row).map_err(|e| e.to_string())?;
                    prepared = Some(Prepared::new(&row, contender).map_err(|e| format!("{id}: {e}"))?);
                }
                say(answer)?;
            }
            (_, Some(prepared)) => say(json!({"seconds": prepared.seconds()}))?,
            (_, None) => return Err("nothing is prepared".into()),
        }
    }
    Ok(())
}
