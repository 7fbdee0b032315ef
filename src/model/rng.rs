//! Counter-based random numbers: a draw is a function of (seed, step, codebook, token) and of nothing else, so batch
//! order, neighbours, restarts and the device cannot change it.
//!
//! Philox 4x32-10: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
}

impl Philox {
    pub fn new(seed: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32] }
    }

    /// One block of the generator.
    pub fn block(&self, mut counter: [u32; 4]) -> [u32; 4] {
        let mut key = self.key;
        for _ in 0..10 {
            let a = u64::from(counter[0]) * 0xD251_1F53;
            let b = u64::from(counter[2]) * 0xCD9E_8D57;
            counter =
                [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        counter
    }

    /// Uniform in (0, 1), 23 bits and never an end: safe to take the logarithm of.
    pub fn uniform(&self, token: u32, codebook: u32, step: u32) -> f32 {
        let word = self.block([token, codebook, step, 0])[0];
        ((word >> 9) as f32 + 0.5) * (1.0 / (1 << 23) as f32)
    }

    /// Exponential with mean 1: the largest of p / exponential is a draw from p.
    pub fn exponential(&self, token: u32, codebook: u32, step: u32) -> f32 {
        -self.uniform(token, codebook, step).ln()
    }
}

/// Another seed that follows from this one: for the pieces of a long text and for retries.
pub fn derive_seed(seed: u64, index: u32) -> u64 {
    if index == 0 {
        return seed;
    }
    let [a, b, ..] = Philox::new(seed).block([index, 0, 0, 0x5eed]);
    u64::from(a) << 32 | u64::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_of_the_reference_implementation() {
        // kat_vectors of Random123: philox4x32 10 rounds.
        assert_eq!(Philox::new(0).block([0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(Philox::new(u64::MAX).block([u32::MAX; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = Philox::new(0x299f_31d0_a409_3822).block([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn uniforms_stay_inside_and_average_a_half() {
        let rng = Philox::new(7);
        let mean = (0..10_000).map(|i| rng.uniform(i, 1, 2)).inspect(|u| assert!(*u > 0.0 && *u < 1.0)).sum::<f32>();
        assert!((mean / 10_000.0 - 0.5).abs() < 0.01);
    }

    #[test]
    fn derived_seeds_differ_and_the_first_is_the_seed() {
        let seeds: std::collections::HashSet<u64> = (0..100).map(|i| derive_seed(42, i)).collect();
        assert!(seeds.len() == 100 && derive_seed(42, 0) == 42);
    }
}
