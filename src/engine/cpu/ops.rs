//! The small element-wise parts of a layer.

use super::simd::{LANES, Simd, dispatch, exp};

dispatch! {
    /// `out = x / sqrt(mean(x^2) + eps) * weight` for one row.
    pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) = rms_norm_in
}
dispatch! {
    /// `gate[i] = gate[i] / (1 + e^-gate[i]) * up[i]`.
    pub fn silu_mul(gate: &mut [f32], up: &[f32]) = silu_mul_in
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn rms_norm_in<S: Simd>(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let whole = x.len() / LANES * LANES;
    // SAFETY: the loads stay inside `x[..whole]`.
    let sum = unsafe {
        let mut acc = S::splat(0.0);
        for chunk in x[..whole].chunks_exact(LANES) {
            let v = S::load(chunk.as_ptr());
            acc = S::fma(v, v, acc);
        }
        x[whole..].iter().fold(S::sum(acc), |sum, v| sum + v * v)
    };
    let scale = 1.0 / (sum / x.len() as f32 + eps).sqrt();
    for ((o, v), w) in out.iter_mut().zip(x).zip(weight) {
        *o = v * scale * w;
    }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn silu_mul_in<S: Simd>(gate: &mut [f32], up: &[f32]) {
    let n = gate.len();
    let (mut g, mut u) = ([0.0; LANES], [0.0; LANES]);
    for start in (0..n).step_by(LANES) {
        let len = LANES.min(n - start);
        g[..len].copy_from_slice(&gate[start..start + len]);
        u[..len].copy_from_slice(&up[start..start + len]);
        // SAFETY: whole vectors of local arrays.
        unsafe {
            let (x, y) = (S::load(g.as_ptr()), S::load(u.as_ptr()));
            let denominator = S::add(S::splat(1.0), exp::<S>(S::sub(S::splat(0.0), x)));
            S::store(g.as_mut_ptr(), S::mul(S::div(x, denominator), y));
        }
        gate[start..start + len].copy_from_slice(&g[..len]);
    }
}

/// Cosines and sines of the rotary embedding: `[position][head_dim / 2]`.
pub struct Rope {
    cos: Vec<f32>,
    sin: Vec<f32>,
    half: usize,
}

impl Rope {
    pub fn new(head_dim: usize, theta: f32, positions: usize) -> Self {
        let half = head_dim / 2;
        // In f32 as the reference does: at position 2000 the angle's rounding is part of the model's behaviour.
        let frequency: Vec<f32> = (0..half).map(|i| 1.0 / theta.powf((2 * i) as f32 / head_dim as f32)).collect();
        let angles = || (0..positions).flat_map(|p| frequency.iter().map(move |f| p as f32 * f));
        Self { cos: angles().map(f32::cos).collect(), sin: angles().map(f32::sin).collect(), half }
    }

    /// Rotates the pairs (i, i + head_dim / 2) of one head in place.
    pub fn rotate(&self, position: usize, head: &mut [f32]) {
        let at = position * self.half..(position + 1) * self.half;
        let (low, high) = head[..2 * self.half].split_at_mut(self.half);
        for (((a, b), cos), sin) in low.iter_mut().zip(high).zip(&self.cos[at.clone()]).zip(&self.sin[at]) {
            (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::Isa;
    use super::*;

    #[test]
    fn silu_is_right_at_the_ends_and_between() {
        let x: Vec<f32> = vec![-200.0, -20.0, -1.0, 0.0, 1e-6, 1.0, 3.0, 20.0, 100.0, f32::MAX];
        for isa in Isa::available() {
            let mut gate = x.clone();
            silu_mul(isa, &mut gate, &vec![1.0; x.len()]);
            for (y, x) in gate.iter().zip(&x) {
                let exact = f64::from(*x) / (1.0 + (-f64::from(*x)).exp());
                assert!((f64::from(*y) - exact).abs() <= 1e-6 * exact.abs().max(1e-3), "{}: {x} {y}", isa.name());
            }
        }
    }

    #[test]
    fn norms_agree_across_instruction_sets() {
        let x: Vec<f32> = (0..100).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut first = vec![0.0; 100];
        rms_norm(Isa::scalar(), &x, &x, 1e-6, &mut first);
        for isa in Isa::available() {
            let mut out = vec![0.0; 100];
            rms_norm(isa, &x, &x, 1e-6, &mut out);
            assert_eq!(out, first, "{}", isa.name());
        }
    }

    #[test]
    fn rotation_keeps_length_and_relative_angle() {
        let rope = Rope::new(8, 1e4, 64);
        let dot = |p: usize, q: usize| {
            let (mut a, mut b) = ([0.3, -1.0, 2.0, 0.5, 1.0, 0.1, -0.4, 0.9], [1.0f32; 8]);
            rope.rotate(p, &mut a);
            rope.rotate(q, &mut b);
            a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>()
        };
        assert!((dot(5, 2) - dot(43, 40)).abs() < 1e-4);
    }
}
