//! Memory that may not be available: vectors whose growth is an error instead of the end of the process, and the stack.
//!
//! Whatever grows with data, or with what an input claims, is allocated with these. What has a small size that the code
//! states is allocated as everywhere in Rust (see `docs/SECURITY.md`).

/// There is no memory.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("no memory for {bytes} bytes more")]
pub struct NoMemory {
    /// How many bytes were asked for.
    pub bytes: usize,
}

/// An empty vector with room for `len` elements.
pub fn with_capacity<T>(len: usize) -> Result<Vec<T>, NoMemory> {
    let mut v = Vec::new();
    reserve(&mut v, len)?;
    Ok(v)
}

/// Makes room for exactly `more` elements.
pub fn reserve<T>(v: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    v.try_reserve_exact(more).map_err(|_| no_memory::<T>(more))
}

/// Appends an element. Room is made as [`Vec::push`] makes it, for many at once.
pub fn push<T>(v: &mut Vec<T>, x: T) -> Result<(), NoMemory> {
    if v.len() == v.capacity() {
        v.try_reserve(1).map_err(|_| no_memory::<T>(v.len().max(1)))?;
    }
    v.push(x);
    Ok(())
}

/// Appends copies of elements.
pub fn extend<T: Copy>(v: &mut Vec<T>, xs: &[T]) -> Result<(), NoMemory> {
    v.try_reserve(xs.len()).map_err(|_| no_memory::<T>(xs.len()))?;
    v.extend_from_slice(xs);
    Ok(())
}

fn no_memory<T>(len: usize) -> NoMemory {
    NoMemory { bytes: len.saturating_mul(size_of::<T>()) }
}

/// How much stack a step of a recursion may use, and by how much the stack grows where there is less.
const STACK_BYTES_PER_STEP: usize = 128 * 1024;
const STACK_GROWTH_BYTES: usize = 2 * 1024 * 1024;

/// Runs a step of a recursion over a program with enough stack for one more level of nesting: programs may be nested
/// deeper than a thread's stack allows.
pub fn grow_stack<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_BYTES_PER_STEP, STACK_GROWTH_BYTES, f)
}
