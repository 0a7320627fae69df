//! Chunks that depend on all chunks before: each learns what those come to as soon as the one before it knows (after
//! Merrill and Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016).

use std::sync::atomic::{AtomicUsize, Ordering};

/// Turns of waiting after which a thread lets others run.
const SPINS: usize = 1 << 10;

/// What all chunks up to each one come to, and one more; 0 if that is not known. Chunks are begun in order.
pub(super) struct Chain(Vec<AtomicUsize>);

impl Chain {
    pub(super) fn new(chunks: usize) -> Chain {
        Chain((0..chunks).map(|_| AtomicUsize::new(0)).collect())
    }

    /// What the chunks before this one come to; hands on what they come to with it.
    pub(super) fn pass(&self, chunk: usize, own: usize) -> usize {
        let mut before = 1;
        if let Some(earlier) = chunk.checked_sub(1).and_then(|k| self.0.get(k)) {
            before = earlier.load(Ordering::Acquire);
            let mut turns = 0;
            while before == 0 {
                turns += 1;
                if turns % SPINS == 0 {
                    std::thread::yield_now()
                } else {
                    std::hint::spin_loop()
                }
                before = earlier.load(Ordering::Acquire);
            }
        }
        if let Some(here) = self.0.get(chunk) {
            here.store(before + own, Ordering::Release);
        }
        before - 1
    }

    /// What comes before each chunk, and what all come to, once all have passed.
    pub(super) fn passed(self) -> Vec<usize> {
        std::iter::once(0).chain(self.0.into_iter().map(|c| c.into_inner().saturating_sub(1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_learn_what_comes_before_them() {
        let chain = Chain::new(100);
        let next = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    loop {
                        let k = next.fetch_add(1, Ordering::Relaxed);
                        if k >= 100 {
                            break;
                        }
                        assert_eq!(chain.pass(k, k), k * k.saturating_sub(1) / 2);
                    }
                });
            }
        });
        let sums: Vec<usize> = (0..=100).map(|k: usize| k * k.saturating_sub(1) / 2).collect();
        assert_eq!(chain.passed(), sums);
    }
}
