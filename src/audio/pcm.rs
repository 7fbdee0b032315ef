//! f32 to 16 bit without clipping, the fade at the beginning of each piece, and the one at the very end of an utterance.
//!
//! No gain depends on a chunk's content: the limiter looks at one sample at a time, so cutting the audio differently
//! changes nothing. No dither is added: at speech levels 16-bit rounding is inaudible, and noise would need a state.

/// Up to this level samples pass unchanged (-1 dBFS).
pub const KNEE: f32 = 0.89;

/// Length of the fade at the end of an utterance.
pub const FADE_MS: u32 = 5;

/// Length of the fade at the beginning of each piece.
pub const FADE_IN_MS: u32 = 2;

/// Limits one sample to -1..1.
///
/// With `u = (|x| - KNEE) / (1 - KNEE)`, the curve above the knee is `KNEE + (1 - KNEE) * u / sqrt(1 + u^2)`: it leaves
/// the knee with slope 1 and curvature 0 and tends to 1 (a sample at 1.0 becomes 0.968, at 2.0 it becomes 0.9995).
/// NaN becomes 0. Only operations that IEEE 754 rounds exactly are used, so every platform gives the same bits.
pub fn limit(x: f32) -> f32 {
    let level = x.abs();
    if level <= KNEE {
        return x;
    }
    if level.is_nan() {
        return 0.0;
    }
    // In f64, so that the rounded curve never goes back; beyond a million it has long been at 1.
    let knee = f64::from(KNEE);
    let u = ((f64::from(level) - knee) / (1.0 - knee)).min(1e6);
    ((knee + (1.0 - knee) * (u / (1.0 + u * u).sqrt())) as f32).copysign(x)
}

/// Limits and rounds one sample; full scale is ±32767.
pub fn to_i16(x: f32) -> i16 {
    (limit(x) * 32767.0).round() as i16
}

/// Appends `pcm` to `out` as 16-bit little-endian bytes: 2 bytes a sample.
pub fn extend_s16le(out: &mut Vec<u8>, pcm: &[f32]) {
    out.reserve(pcm.len() * 2);
    for &x in pcm {
        out.extend_from_slice(&to_i16(x).to_le_bytes());
    }
}

/// Fades in a piece's first [`FADE_IN_MS`], of which `pcm` begins at sample `at`: a codec may begin with a step, which
/// clicks. Depends on the position only, so cutting the audio differently changes nothing.
pub fn fade_in(pcm: &mut [f32], at: usize, sample_rate: u32) {
    let length = (sample_rate as usize * FADE_IN_MS as usize).div_ceil(1000);
    for (i, x) in pcm.iter_mut().enumerate().take(length.saturating_sub(at)) {
        *x *= smoothstep((at + i + 1) as f32 / (length + 1) as f32);
    }
}

/// From 0 to 1 with slope 0 at both ends.
fn smoothstep(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

/// Fades out the last [`FADE_MS`] of an utterance, whose end is known only when it comes: holds those samples back.
///
/// What [`FadeOut::push`] and [`FadeOut::finish`] return is the same whatever the chunks were.
#[derive(Clone, Debug)]
pub struct FadeOut {
    held: Vec<f32>,
    length: usize,
}

impl FadeOut {
    /// For the given rate, in Hz: 120 samples at 24 kHz.
    pub fn new(sample_rate: u32) -> Self {
        let length = (sample_rate as usize * FADE_MS as usize).div_ceil(1000);
        Self { held: Vec::with_capacity(length), length }
    }

    /// Takes the next samples and returns those that are certainly not in the fade.
    pub fn push(&mut self, pcm: &[f32]) -> Vec<f32> {
        let ready = (self.held.len() + pcm.len()).saturating_sub(self.length);
        let from_held = ready.min(self.held.len());
        let mut out: Vec<f32> = self.held.drain(..from_held).collect();
        let (sure, tail) = pcm.split_at(ready - from_held);
        out.extend_from_slice(sure);
        self.held.extend_from_slice(tail);
        out
    }

    /// The faded tail. The last sample is exactly zero; an utterance shorter than the fade is faded over its length.
    pub fn finish(self) -> Vec<f32> {
        let n = self.held.len() as f32;
        let gain = |i: usize| smoothstep(1.0 - (i + 1) as f32 / n);
        self.held.iter().enumerate().map(|(i, x)| x * gain(i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_samples_keep_their_value() {
        for i in -8900..=8900 {
            let x = i as f32 / 10_000.0;
            assert_eq!(limit(x), x);
        }
        assert_eq!(to_i16(0.5), 16384);
        assert_eq!(to_i16(0.0), 0);
        assert_eq!(to_i16(-0.0), 0);
    }

    #[test]
    fn loud_samples_bend_and_never_wrap() {
        let mut before = limit(0.85);
        for i in 0..200_000 {
            let x = 0.85 + i as f32 * 1e-4;
            let y = limit(x);
            assert!((before..=1.0).contains(&y), "{x} gave {y} after {before}");
            // Far from 0 the steps of x itself are rounded.
            assert!(y - before <= 1e-4 + x * f32::EPSILON, "a step steeper than the input's at {x}");
            assert_eq!(limit(-x), -y);
            before = y;
        }
        for x in [2.0, 1e10, f32::MAX, f32::INFINITY] {
            assert!(to_i16(x) >= 32_700 && to_i16(-x) == -to_i16(x), "{x}");
        }
        assert_eq!(to_i16(f32::INFINITY), 32767);
        assert_eq!(to_i16(f32::NAN), 0);
        assert_eq!(to_i16(-f32::NAN), 0);
        assert!((limit(1.0) - 0.968).abs() < 1e-3);
    }

    #[test]
    fn bytes_are_little_endian() {
        let mut out = vec![7];
        extend_s16le(&mut out, &[0.5, -0.5]);
        assert_eq!(out, [7, 0x00, 0x40, 0x00, 0xC0]);
    }

    fn faded(pcm: &[f32], chunks: &[usize]) -> Vec<f32> {
        let mut fade = FadeOut::new(24_000);
        let mut out = Vec::new();
        let mut rest = pcm;
        for &n in chunks.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at(n.min(rest.len()));
            out.extend(fade.push(now));
            rest = later;
        }
        out.extend(fade.finish());
        out
    }

    #[test]
    fn streamed_equals_whole() {
        for n in [0, 1, 2, 119, 120, 121, 240, 1000, 5121] {
            let pcm: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
            let whole = faded(&pcm, &[usize::MAX]);
            assert_eq!(whole.len(), n);
            for chunks in [&[1][..], &[2], &[3], &[7], &[119], &[120], &[121], &[512], &[1, 500, 3, 0, 64]] {
                assert_eq!(faded(&pcm, chunks), whole, "{n} samples in chunks {chunks:?}");
            }
        }
    }

    /// A beginning at any level rises from nothing, within 2 ms, however it is cut.
    #[test]
    fn a_piece_begins_without_a_click() {
        let mut whole = vec![0.5; 200];
        fade_in(&mut whole, 0, 24_000);
        assert!(whole[0] < 0.001 && whole[47] < 0.5, "{} {}", whole[0], whole[47]);
        assert!(whole.windows(2).all(|w| (0.0..0.02).contains(&(w[1] - w[0]))), "no step");
        assert_eq!(whole[48..], [0.5; 152]);
        for n in [1, 7, 47, 48, 49, 199] {
            let mut cut = vec![0.5; 200];
            for (i, part) in cut.chunks_mut(n).enumerate() {
                fade_in(part, i * n, 24_000);
            }
            assert_eq!(cut, whole, "in parts of {n}");
        }
    }

    /// Case E06: the end fades and does not click, and nothing before the last 5 ms is touched.
    #[test]
    fn the_end_fades_without_a_click() {
        let pcm: Vec<f32> =
            (0..4800).map(|i| 0.8 * (i as f32 * std::f32::consts::TAU * 220.0 / 24_000.0).sin()).collect();
        let out = faded(&pcm, &[777]);
        assert_eq!(out[..4680], pcm[..4680]);
        assert_eq!(out[4799], 0.0);
        let energy = |s: &[f32]| s.iter().map(|x| x * x).sum::<f32>();
        assert!(energy(&out[4740..]) < energy(&out[4680..4740]) * 0.5);
        let steepest = |s: &[f32]| s.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        assert!(steepest(&out[4680..]) <= steepest(&pcm[..4680]) * 1.2, "no step larger than the signal's own");
    }
}
