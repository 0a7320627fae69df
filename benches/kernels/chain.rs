//! Blocks that depend on all blocks before: each learns what those come to as soon as the one before it knows (after
//! Merrill and Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016).

use std::sync::atomic::{AtomicU64, Ordering};

/// Beside a value: it is there.
const THERE: u64 = 1 << 32;

/// What all blocks up to each one come to, for blocks that are begun in order.
pub struct Chain(Vec<AtomicU64>);

impl Chain {
    pub fn new(blocks: usize) -> Chain {
        Chain((0..blocks).map(|_| AtomicU64::new(0)).collect())
    }

    /// What the blocks before this one come to, as bits; hands on what they come to with it.
    pub fn pass(&self, block: usize, add: impl Fn(u32) -> u32) -> u32 {
        let mut before = if block == 0 { THERE } else { 0 };
        while before & THERE == 0 {
            std::hint::spin_loop();
            before = self.0[block - 1].load(Ordering::Acquire);
        }
        let before = before as u32;
        self.0[block].store(THERE | u64::from(add(before)), Ordering::Release);
        before
    }
}
