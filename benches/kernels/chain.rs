//! Scans in one pass: each block waits for the prefix of the block before it (after Merrill and Garland: Single-pass
//! Parallel Prefix Scan with Decoupled Look-back, 2016).

use std::sync::atomic::{AtomicU64, Ordering};

/// Set beside a prefix once it is known.
const KNOWN: u64 = 1 << 32;

/// For each block the prefix that includes it; blocks are begun in order.
pub struct Chain(Vec<AtomicU64>);

impl Chain {
    pub fn new(blocks: usize) -> Chain {
        Chain((0..blocks).map(|_| AtomicU64::new(0)).collect())
    }

    /// The prefix of the blocks before this one, as bits; publishes the one that `add` makes of it.
    pub fn pass(&self, block: usize, add: impl Fn(u32) -> u32) -> u32 {
        let mut before = if block == 0 { KNOWN } else { 0 };
        while before & KNOWN == 0 {
            std::hint::spin_loop();
            before = self.0[block - 1].load(Ordering::Acquire);
        }
        let before = before as u32;
        self.0[block].store(KNOWN | u64::from(add(before)), Ordering::Release);
        before
    }
}
