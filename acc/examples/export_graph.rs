//! A program as a graph of tensor operations: text here, and DOT, Mermaid, JSON and ONNX by the same call.
//!
//! ```text
//! graph(t0: size, t1: f32[t0]) {
//!   t2: f32[] = reduce(t1) [with = sum]
//!   yield t2
//! }
//! ```

use acc_array::graph::Format;
use acc_array::prelude::*;

fn main() -> Result<(), Error> {
    let total = compile(|xs: Acc<Vector<f32>>| xs.sum())?;
    for line in total.export(Format::Text)?.trim_end().lines() {
        // Behind each operation is the place in the source that it comes from.
        println!("{}", line.split("  //").next().unwrap_or_default());
    }
    Ok(())
}
