//! What a mistake that only a run can find looks like; and that branches which are not taken cannot fail.
//!
//! ```text
//! index (3,) is out of bounds for an array of shape (3,)
//! integer division by zero
//! [5, 0, 2]
//! ```

use acc_array::prelude::*;

/// The first line of the message; the others tell the operation, and the file and line of the closure.
fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_string()
}

fn main() -> Result<(), Error> {
    let xs = use_(&Vector::from([2i32, 0, 5]));
    let neighbours = xs.imap(|i, _| xs.index(i + 1));
    println!("{}", first_line(&run(neighbours).unwrap_err()));

    let quotients = xs.map(|x| 10 / x);
    println!("{}", first_line(&run(quotients).unwrap_err()));

    let guarded = xs.map(|x| x.eq(0).then_else(0, 10 / x));
    println!("{:?}", run(guarded)?.to_vec());
    Ok(())
}
