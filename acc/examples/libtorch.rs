//! The same program on libtorch, as tensor operations.
//!
//! ```text
//! interpreter 14
//! native 14
//! graph 14
//! ```

use acc_array::prelude::*;
use acc_array::{Backend, Run};

fn show(executor: &impl Backend) -> Result<(), Error> {
    let xs = use_(&Vector::from([1.0, 2.0, 3.0]));
    println!("{} {}", executor.name(), executor.run(xs.map(|x| x * x).sum())?.value());
    Ok(())
}

fn main() -> Result<(), Error> {
    show(&Interpreter::new())?;
    show(&Native::new())?;
    show(&Libtorch::cpu())
}
