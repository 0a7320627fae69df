//! The stack under recursive code.

/// Runs a step of a recursion over a program with enough stack for one more level of nesting: programs may be nested
/// deeper than a thread's stack allows.
pub fn grow_stack<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, f)
}
