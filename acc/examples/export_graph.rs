//! A program as a graph of tensor operations: text here, and DOT, Mermaid, JSON and ONNX by the same call.
//!
//! ```text
//! reduce
//! ```

use acc_array::graph::Format;
use acc_array::prelude::*;

fn main() -> Result<(), Error> {
    let total = compile(|xs: Acc<Vector<f32>>| xs.sum())?;
    println!("{}", total.export(Format::Text)?);
    Ok(())
}
