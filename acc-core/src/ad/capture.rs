//! What a function with rules reads from around it.
//!
//! A rule gives the derivatives by the arguments alone. An array or number from around that depends on the point of a
//! derivative would have no part in it, without a word: that is an error.

use crate::error::{BuildError, Error};
use crate::ir::{ArrayId, Block, Loc, Stmt, arrays_of_fun, free_arrays};
use std::sync::Arc;

/// Where a statement's blocks read an active array from around them, if they do.
pub fn active_capture(s: &Stmt, active: &dyn Fn(ArrayId) -> bool) -> Option<Loc> {
    s.op.blocks().into_iter().find_map(|b| {
        let captured: Vec<ArrayId> = free_arrays(b).into_iter().filter(|a| active(*a)).collect();
        if captured.is_empty() { None } else { Some(first_use(b, &captured).unwrap_or_else(|| s.loc.clone())) }
    })
}

/// Where a block first uses one of these arrays.
fn first_use(b: &Block, arrays: &[ArrayId]) -> Option<Loc> {
    b.stmts.iter().find_map(|s| {
        let read = s.op.funs().into_iter().flat_map(|(_, f)| arrays_of_fun(f)).map(|(a, _)| a);
        if s.op.arrays().into_iter().chain(read).any(|a| arrays.contains(&a)) {
            return Some(s.loc.clone());
        }
        s.op.blocks().into_iter().find_map(|b| crate::grow_stack(|| first_use(b, arrays)))
    })
}

/// The error for a function with a rule, and where it reads what it must not.
pub fn captured((used, read): (Loc, Loc)) -> Error {
    Arc::new(BuildError::ActiveCapture { used, read }).into()
}
