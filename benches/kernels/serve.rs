//! One measurement at a time, when told to: how `peers/run.py` times other libraries and ours in turn.
//!
//! Lines of JSON: `{"prepare": ID}` is answered by `{"ready": bool}`, `{"time": null}` by `{"seconds": s}`.

use crate::families;
use crate::measure::{Contender, Prepared};
use crate::row::Row;
use serde_json::{Value, json};
use std::io::{BufRead, Write};

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
                prepared = match rows.iter().find(|(row, _)| row == id) {
                    Some((_, make)) => {
                        let mut row = make();
                        // The results are held to those of the kernel by hand.
                        row.hand.run();
                        let contender = fastest(&row).map_err(|e| e.to_string())?;
                        Some(Prepared::new(&row, contender).map_err(|e| format!("{id}: {e}"))?)
                    }
                    None => None,
                };
                say(json!({"ready": prepared.is_some()}))?;
            }
            (_, Some(prepared)) => say(json!({"seconds": prepared.seconds()}))?,
            (_, None) => return Err("nothing is prepared".into()),
        }
    }
    Ok(())
}
