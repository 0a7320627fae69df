//! What became of a program: its kernels, what was fused and what was not.
//!
//! ```text
//! 1 kernel
//! ```

use acc_array::prelude::*;

fn main() -> Result<(), Error> {
    let norm = compile(|xs: Acc<Vector<f32>>| xs.map(|x| x * x).sum().map(|sum| sum.sqrt()))?;
    let explanation = norm.prepared().explain();
    let kernels = explanation.kernels.len();
    println!("{kernels} kernel{}", if kernels == 1 { "" } else { "s" });
    // All of it, for people.
    eprintln!("{explanation}");
    Ok(())
}
