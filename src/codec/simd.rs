//! Elementwise kernels: one body each, compiled for AVX-512, AVX2 + FMA and the target's baseline, chosen at run time.
//!
//! The bodies are branch-free loops over slices, which the compiler vectorises at whatever width the surrounding
//! `target_feature` allows. GELU and the exponential are polynomials: a full-size model takes 3.4 million GELUs for a
//! second of audio, and libm's scalar `erf` alone would cost a tenth of real time. NaN passes through all of them.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// `a * b + c`: one rounding where the instruction set has it (`F`), two otherwise; a libm call never.
#[inline(always)]
pub(super) fn fma<const F: bool>(a: f32, b: f32, c: f32) -> f32 {
    if F { a.mul_add(b, c) } else { a * b + c }
}

/// Defines `$name`, which runs `$body::<FMA>` compiled for the best instruction set of this machine.
macro_rules! dispatch {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                fn wide($($arg: $ty),*) {
                    $body::<true>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn narrow($($arg: $ty),*) {
                    $body::<true>($($arg),*)
                }
                if $crate::codec::simd::has_avx512() {
                    // SAFETY: the features were found on this processor just now.
                    return unsafe { wide($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: the features were found on this processor just now.
                    return unsafe { narrow($($arg),*) };
                }
            }
            // NEON includes fused multiply-add; elsewhere it might be a function call.
            $body::<{ cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}
pub(super) use dispatch;

#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") && has!("avx2") && has!("fma")
}

/// erf is 1 in f32 beyond this.
const ERF_LIMIT: f32 = 3.85;

/// erf(y) / y as a polynomial in s = 2 (y / limit)^2 - 1, fitted by least squares reweighted towards the largest
/// error (Lawson). Largest error of the GELU made of it: 6.3e-7 for |x| <= 8, most of it the rounding of x itself.
const ERF: [f32; 16] = [
    0.367_284_8,
    -0.183_301_45,
    0.136_212_72,
    -0.110_386_71,
    0.090_798_21,
    -0.073_174_99,
    0.056_542_303,
    -0.041_110_042,
    0.027_911_546,
    -0.018_390_568,
    0.011_727_992,
    -0.005_874_993,
    0.002_144_262_3,
    -0.001_608_177_6,
    0.001_437_690_8,
    -0.000_472_367_48,
];

/// x / 2 * (1 + erf(x / sqrt 2)), the exact (not the tanh) GELU.
#[inline(always)]
fn gelu_one<const F: bool>(x: f32) -> f32 {
    let y = (x * FRAC_1_SQRT_2).clamp(-ERF_LIMIT, ERF_LIMIT);
    let s = fma::<F>(y * y, 2.0 / (ERF_LIMIT * ERF_LIMIT), -1.0);
    let mut p = ERF[15];
    for i in (0..15).rev() {
        p = fma::<F>(p, s, ERF[i]);
    }
    let erf = if y.abs() < ERF_LIMIT { p * y } else { 1f32.copysign(y) };
    let half = 0.5 * x;
    fma::<F>(half, erf, half)
}

/// e^x to 2 ulp; arguments are clamped to where the result is a normal number.
#[inline(always)]
fn exp_one<const F: bool>(x: f32) -> f32 {
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low mantissa bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = fma::<F>(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    // ln 2 in two parts, so that n times the first is exact.
    let r = fma::<F>(n, 2.121_944_4e-4, fma::<F>(n, -0.693_359_4, x));
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = fma::<F>(p, r, c);
    }
    let p = fma::<F>(p * r, r, r) + 1.0;
    p * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// (sin x, cos x), the argument reduced in f64 so that a phase of any size the model may emit keeps its accuracy.
#[inline(always)]
fn sin_cos_one<const F: bool>(x: f32) -> (f32, f32) {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    let x = f64::from(x);
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let quadrant = shifted.to_bits() as u32;
    let r = (x - (shifted - ROUND) * std::f64::consts::FRAC_PI_2) as f32;
    // Only a phase beyond 2^51 leaves this range; it has no meaning, but its samples must stay bounded.
    let r = r.clamp(-0.8, 0.8);
    let z = r * r;
    let s = fma::<F>(fma::<F>(-1.951_529_6e-4, z, 8.332_161e-3), z, -1.666_665_5e-1);
    let s = fma::<F>(s * z, r, r);
    let c = fma::<F>(fma::<F>(2.443_315_7e-5, z, -1.388_731_6e-3), z, 4.166_664_6e-2);
    let c = fma::<F>(c * z, z, fma::<F>(z, -0.5, 1.0));
    let (sin, cos) = if quadrant & 1 == 0 { (s, c) } else { (c, s) };
    let sign = |v: f32, bit: u32| f32::from_bits(v.to_bits() ^ (bit << 31));
    (sign(sin, quadrant >> 1 & 1), sign(cos, (quadrant >> 1 ^ quadrant) & 1))
}

#[inline(always)]
fn bias_body<const F: bool>(row: &mut [f32], bias: &[f32]) {
    for (x, b) in row.iter_mut().zip(bias) {
        *x += b;
    }
}

#[inline(always)]
fn bias_gelu_body<const F: bool>(row: &mut [f32], bias: &[f32]) {
    for (x, b) in row.iter_mut().zip(bias) {
        *x = gelu_one::<F>(*x + b);
    }
}

#[inline(always)]
fn scale_body<const F: bool>(row: &mut [f32], scale: &[f32]) {
    for (x, s) in row.iter_mut().zip(scale) {
        *x *= s;
    }
}

#[inline(always)]
fn residual_body<const F: bool>(row: &mut [f32], bias: &[f32], scale: &[f32], residual: &[f32]) {
    for (((x, b), s), r) in row.iter_mut().zip(bias).zip(scale).zip(residual) {
        *x = fma::<F>(*x + b, *s, *r);
    }
}

#[inline(always)]
fn polar_body<const F: bool>(log_magnitude: &[f32], phase: &[f32], limit: f32, re: &mut [f32], im: &mut [f32]) {
    for (((l, p), re), im) in log_magnitude.iter().zip(phase).zip(re).zip(im) {
        // `min` would turn a NaN into the limit.
        let e = exp_one::<F>(*l);
        let magnitude = if e > limit { limit } else { e };
        let (sin, cos) = sin_cos_one::<F>(*p);
        (*re, *im) = (magnitude * cos, magnitude * sin);
    }
}

dispatch! {
    /// row += bias.
    pub(super) fn bias(row: &mut [f32], bias: &[f32]) = bias_body
}
dispatch! {
    /// row = GELU(row + bias).
    pub(super) fn bias_gelu(row: &mut [f32], bias: &[f32]) = bias_gelu_body
}
dispatch! {
    /// row *= scale.
    pub(super) fn scale(row: &mut [f32], scale: &[f32]) = scale_body
}
dispatch! {
    /// row = (row + bias) * scale + residual.
    pub(super) fn residual(row: &mut [f32], bias: &[f32], scale: &[f32], residual: &[f32]) = residual_body
}
dispatch! {
    /// re + i im = min(exp(log_magnitude), limit) * exp(i phase).
    pub(super) fn polar(log_magnitude: &[f32], phase: &[f32], limit: f32, re: &mut [f32], im: &mut [f32]) = polar_body
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf by its Taylor series in f64, which beyond 4.2 would cancel more digits than erf differs from 1 there.
    fn erf(x: f64) -> f64 {
        if x.abs() > 4.2 {
            return x.signum();
        }
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    fn grid(from: f32, to: f32, n: usize) -> Vec<f32> {
        (0..n).map(|i| from + (to - from) * i as f32 / (n - 1) as f32).collect()
    }

    #[test]
    fn gelu_is_the_erf_one() {
        let x = grid(-30.0, 30.0, 60_001);
        let zeros = vec![0.0; x.len()];
        let mut fast = x.clone();
        bias_gelu(&mut fast, &zeros);
        let mut plain = x.clone();
        bias_gelu_body::<false>(&mut plain, &zeros);
        for ((x, fast), plain) in x.iter().zip(&fast).zip(&plain) {
            let want = 0.5 * f64::from(*x) * (1.0 + erf(f64::from(*x) * std::f64::consts::FRAC_1_SQRT_2));
            assert!((f64::from(*fast) - want).abs() < 1e-6 + 2e-7 * want.abs(), "gelu({x}) = {fast}, want {want}");
            assert!((fast - plain).abs() < 1e-6 + 2e-7 * plain.abs(), "gelu({x}) = {fast}, baseline {plain}");
        }
    }

    #[test]
    fn polar_matches_libm() {
        for (log_range, phase_range) in [((-20.0, 4.6), (-4.0, 4.0)), ((-3.0, 9.0), (-2e5, 2e5))] {
            let (l, p) = (grid(log_range.0, log_range.1, 20_001), grid(phase_range.0, phase_range.1, 20_001));
            let (mut re, mut im) = (vec![0.0; l.len()], vec![0.0; l.len()]);
            polar(&l, &p, 100.0, &mut re, &mut im);
            for i in 0..l.len() {
                let magnitude = f64::from(l[i]).exp().min(100.0);
                let (sin, cos) = f64::from(p[i]).sin_cos();
                let error = (f64::from(re[i]) - magnitude * cos).hypot(f64::from(im[i]) - magnitude * sin);
                assert!(error < 1e-6 * magnitude.max(1e-6), "exp({}) at phase {}: error {error}", l[i], p[i]);
            }
        }
    }

    #[test]
    fn nan_passes_and_extremes_stay_bounded() {
        let mut x = [f32::NAN, 1.0];
        bias_gelu(&mut x, &[0.0, 0.0]);
        assert!(x[0].is_nan() && x[1].is_finite());
        let (mut re, mut im) = ([0.0; 3], [0.0; 3]);
        polar(&[f32::NAN, 1e30, -1e30], &[0.0, 1e30, 3e38], 100.0, &mut re, &mut im);
        assert!(re[0].is_nan());
        assert!(re[1].abs() <= 101.0 && im[1].abs() <= 101.0 && re[2].abs() < 1e-30);
    }
}
