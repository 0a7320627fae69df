//! Inputs: numbers that look random and are the same everywhere.

/// A linear congruential generator (Knuth's MMIX constants), its high bits.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }
    /// From 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.bits()) / 4_294_967_296.0
    }
    /// Below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(n)) >> 32) as u32
    }
}

/// `n` floats from `low` up to `high`.
pub fn floats(seed: u64, n: usize, low: f64, high: f64) -> Vec<f32> {
    let mut numbers = Numbers::new(seed);
    (0..n).map(|_| (low + (high - low) * numbers.unit()) as f32).collect()
}

/// The same as doubles.
pub fn doubles(seed: u64, n: usize, low: f64, high: f64) -> Vec<f64> {
    floats(seed, n, low, high).into_iter().map(f64::from).collect()
}
