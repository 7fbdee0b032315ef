//! PyTorch's CPU random streams, value for value: what the public voice seeds and the `reference` sampling mode rest on.
//!
//! Three facts make them up. `manual_seed` feeds the low 32 bits to MT19937 (Matsumoto and Nishimura, 1998). `randn` of
//! 16 or more f32 values is Box-Muller over blocks of 16 uniforms, with the Cephes single-precision log and sincos that
//! the AVX2 build of PyTorch evaluates with fused multiply-adds. `exponential_` is `-ln(1 - u)` with 53-bit uniforms, and
//! `multinomial` for one draw is `argmax(p / q)` over such exponentials. Checked bit for bit against PyTorch 2.15
//! (2026-11); versions up to 2.6 on x86 draw exponentials from another generator and give other ids.

/// MT19937 as `torch.Generator().manual_seed(seed)` starts it.
#[derive(Clone)]
pub struct Mt19937 {
    state: Box<[u32; N]>,
    next: usize,
}

const N: usize = 624;
const M: usize = 397;

impl Mt19937 {
    /// Only the low 32 bits of the seed matter, as in PyTorch.
    pub fn new(seed: u64) -> Self {
        let mut state = Box::new([0u32; N]);
        state[0] = seed as u32;
        for j in 1..N {
            let prev = state[j - 1];
            state[j] = 1_812_433_253u32.wrapping_mul(prev ^ (prev >> 30)).wrapping_add(j as u32);
        }
        Self { state, next: N }
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == N {
            self.twist();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9D2C_5680;
        y ^= (y << 15) & 0xEFC6_0000;
        y ^ (y >> 18)
    }

    /// The next 64 random bits: the earlier word is the upper half.
    pub fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        high << 32 | u64::from(self.next_u32())
    }

    /// Standard normals: `torch.randn(n)`. PyTorch takes another path below 16 values, and so does this.
    pub fn randn_f32(&mut self, n: usize) -> Vec<f32> {
        if n < BLOCK {
            return self.randn_scalar(n);
        }
        let mut out: Vec<f32> = (0..n).map(|_| self.uniform_f32()).collect();
        for block in out.chunks_exact_mut(BLOCK) {
            box_muller(block);
        }
        if !n.is_multiple_of(BLOCK) {
            // The last 16 values are drawn anew, over whatever whole block reached into them.
            let tail = &mut out[n - BLOCK..];
            tail.fill_with(|| self.uniform_f32());
            box_muller(tail);
        }
        out
    }

    /// Exponentials of rate 1: `torch.empty(n).exponential_()`.
    pub fn exponential_f32(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| -(-self.uniform_f64()).ln_1p() as f32).collect()
    }

    fn uniform_f32(&mut self) -> f32 {
        (self.next_u32() & 0xFF_FFFF) as f32 * (1.0 / (1 << 24) as f32)
    }

    fn uniform_f64(&mut self) -> f64 {
        (self.next_u64() & ((1 << 53) - 1)) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Below one block PyTorch draws pairs in f64: two uniforms give two normals.
    fn randn_scalar(&mut self, n: usize) -> Vec<f32> {
        let mut out = Vec::with_capacity(n + 1);
        while out.len() < n {
            let angle = 2.0 * std::f64::consts::PI * self.uniform_f64();
            let radius = (-2.0 * (-self.uniform_f64()).ln_1p()).sqrt();
            out.push((radius * angle.cos()) as f32);
            out.push((radius * angle.sin()) as f32);
        }
        out.truncate(n);
        out
    }

    fn twist(&mut self) {
        let s = &mut self.state;
        for k in 0..N {
            let y = (s[k] & 0x8000_0000) | (s[(k + 1) % N] & 0x7FFF_FFFF);
            let odd = if y & 1 == 1 { 0x9908_B0DF } else { 0 };
            s[k] = s[(k + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

/// `torch.manual_seed(seed); torch.randn(n)`: `n` f32 standard normals.
pub fn randn_f32(seed: u64, n: usize) -> Vec<f32> {
    Mt19937::new(seed).randn_f32(n)
}

/// `torch.empty(n).exponential_(generator=…manual_seed(seed))`: `n` f32 exponentials of rate 1.
pub fn exponential_f32(seed: u64, n: usize) -> Vec<f32> {
    Mt19937::new(seed).exponential_f32(n)
}

/// One draw of `torch.multinomial`: the first index at which `probs / noise` is largest. `noise` are exponentials, one
/// for each probability; rows of a batch take consecutive stretches of one stream. `probs` need not sum to one.
pub fn multinomial(probs: &[f32], noise: &[f32]) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (i, (p, q)) in probs.iter().zip(noise).enumerate() {
        let ratio = p / q;
        if ratio > best.1 {
            best = (i, ratio);
        }
    }
    best.0
}

const BLOCK: usize = 16;

/// Turns 16 uniforms in [0, 1) into 16 normals: the first eight give the radii, the last eight the angles.
fn box_muller(block: &mut [f32]) {
    let (radii, angles) = block.split_at_mut(BLOCK / 2);
    for (a, b) in radii.iter_mut().zip(angles) {
        let radius = (-2.0 * cephes_log(1.0 - *a)).sqrt();
        let (sin, cos) = cephes_sincos(std::f32::consts::TAU * *b);
        (*a, *b) = (radius * cos, radius * sin);
    }
}

/// Horner's rule, one rounding a step.
fn horner(x: f32, coefficients: &[f32]) -> f32 {
    coefficients[1..].iter().fold(coefficients[0], |y, &c| y.mul_add(x, c))
}

/// Cephes `logf` in the operation order of the vectorised form. Which products are fused decides the last bit.
fn cephes_log(x: f32) -> f32 {
    const P: [f32; 9] = [
        7.037_683_6e-2,
        -1.151_461e-1,
        1.167_699_87e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_4e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ];
    let bits = x.max(f32::MIN_POSITIVE).to_bits();
    let mut e = ((bits >> 23) as i32 - 0x7F) as f32 + 1.0;
    let mut x = f32::from_bits((bits & 0x807F_FFFF) | 0x3F00_0000);
    if x < std::f32::consts::FRAC_1_SQRT_2 {
        e -= 1.0;
        x = (x - 1.0) + x;
    } else {
        x -= 1.0;
    }
    let z = x * x;
    let y = (horner(x, &P) * x).mul_add(z, e * -2.121_944_4e-4);
    let y = z.mul_add(-0.5, y);
    e.mul_add(0.693_359_4, x + y)
}

/// Cephes `sinf` and `cosf` together, likewise. Returns (sin, cos).
fn cephes_sincos(x: f32) -> (f32, f32) {
    let negative = x.is_sign_negative();
    let x = x.abs();
    let octant = ((x * 1.273_239_5) as i32 + 1) & !1;
    let y = octant as f32;
    // pi / 4 in three parts, so that the reduction keeps its low bits.
    let x = [-0.785_156_25, -2.418_756_5e-4, -3.774_895e-8].into_iter().fold(x, |x, part| y.mul_add(part, x));
    let z = x * x;
    let c = horner(z, &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]) * z;
    let c = c.mul_add(z, -(z * 0.5)) + 1.0;
    let s = horner(z, &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]) * z;
    let s = s.mul_add(x, x);
    let (sin, cos) = if octant & 2 == 0 { (s, c) } else { (c, s) };
    let flip_sin = negative ^ (octant & 4 != 0);
    let flip_cos = !(octant - 2) & 4 != 0;
    (if flip_sin { -sin } else { sin }, if flip_cos { -cos } else { cos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_are_those_of_the_published_generator() {
        // Matsumoto and Nishimura's reference output for the seed 5489.
        let mut mt = Mt19937::new(5489);
        assert_eq!([mt.next_u32(), mt.next_u32(), mt.next_u32()], [3_499_211_612, 581_869_302, 3_890_346_734]);
        let mut mt = Mt19937::new(5489);
        let last = (0..10_000).map(|_| mt.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995), "the 10000th value, fixed by the C++ standard");
    }

    #[test]
    fn seeds_count_by_their_low_32_bits() {
        assert_eq!(randn_f32(7, 32), randn_f32(7 + (1 << 32), 32));
    }

    #[test]
    fn normals_look_normal() {
        let x = randn_f32(1, 100_000);
        let mean = x.iter().map(|&v| f64::from(v)).sum::<f64>() / 1e5;
        let variance = x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "mean {mean}, variance {variance}");
    }

    #[test]
    fn multinomial_never_draws_an_impossible_value() {
        let mut probs = vec![0.0; 626];
        (probs[3], probs[600]) = (0.25, 0.75);
        let draws: Vec<usize> = (0..400).map(|seed| multinomial(&probs, &exponential_f32(seed, 626))).collect();
        assert!(draws.iter().all(|&d| d == 3 || d == 600));
        let share = draws.iter().filter(|&&d| d == 3).count();
        assert!((60..=140).contains(&share), "a quarter of 400 expected, found {share}");
    }
}
