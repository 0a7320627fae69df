//! Where a generator's decisions come from: a seed, or the bytes of a fuzzing engine.

/// A source of decisions. The same source gives the same program.
pub struct Choices {
    bytes: std::collections::VecDeque<u8>,
    state: u64,
}

impl Choices {
    /// Decisions that look random.
    pub fn seeded(seed: u64) -> Choices {
        Choices { bytes: Default::default(), state: seed }
    }

    /// Decisions from bytes, two for each; when there are none left, those that look random follow.
    pub fn from_bytes(bytes: &[u8]) -> Choices {
        Choices { bytes: bytes.iter().copied().collect(), state: bytes.len() as u64 }
    }

    /// The next 64 bits (splitmix64: Steele, Lea, Flood 2014).
    pub fn bits(&mut self) -> u64 {
        if let (Some(low), Some(high)) = (self.bytes.pop_front(), self.bytes.pop_front()) {
            self.state ^= u64::from(u16::from_le_bytes([low, high])).rotate_left(31);
            return u64::from(u16::from_le_bytes([low, high]));
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// One of these, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, from: &[(usize, T)]) -> T {
        let mut left = self.below(from.iter().map(|(w, _)| w).sum());
        for &(weight, item) in from {
            if left < weight {
                return item;
            }
            left -= weight;
        }
        from[0].1
    }
}
