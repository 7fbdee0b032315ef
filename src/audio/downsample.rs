//! Streaming conversion to a lower rate: 24 kHz to the 16 and 8 kHz of telephony.
//!
//! A polyphase windowed-sinc filter whose state is the last few hundred samples. Chosen over rubato's resamplers
//! (5.1, 2026-11): its FFT one works in whole blocks, so a filter of the same length delays three times as much, and
//! neither it nor its sinc one ends a stream at an exact length.

use super::AudioError;

/// Share of the new band that passes unchanged. From here the filter falls to nothing at half the new rate, so that no
/// alias is left anywhere: at 8 kHz flat to 3.6 kHz, more than the 3.4 kHz of a telephone line.
const PASS: f64 = 0.9;

/// What is left of the stop band, in dB: below the rounding noise of 16 bits at speech levels.
const STOP_DB: f64 = 80.0;

/// Most phases a filter may have: rates with a small common divisor would need a large table.
const MAX_PHASES: u32 = 1024;

/// Converts one stream. Output sample `m` lies exactly at source time `m * from / to`; what is outside the stream counts
/// as silence. The output is the same whatever the chunks were.
pub struct Downsampler {
    /// One filter for each place between source samples an output sample can have: `phases[p][j]` weighs the source
    /// sample `j - half` after the output's.
    phases: Vec<Vec<f32>>,
    half: usize,
    /// Output sample `m` lies at `m * down / phases.len()`.
    down: u64,
    /// Source samples still needed, the first at position `base - half`.
    history: Vec<f32>,
    base: u64,
    pushed: u64,
    made: u64,
}

impl Downsampler {
    /// Rates in Hz, `to` not above `from`.
    pub fn new(from: u32, to: u32) -> Result<Self, AudioError> {
        let fail = |reason: &str| Err(AudioError::Resample { from, to, reason: reason.to_string() });
        if to == 0 || to > from {
            return fail("a stream's rate can only be lowered");
        }
        let divisor = super::resample::gcd(from, to);
        let (up, down) = (to / divisor, from / divisor);
        if up > MAX_PHASES {
            return fail("their common divisor is too small");
        }
        let (phases, half) = filters(up as usize, f64::from(to) / f64::from(from));
        let history = vec![0.0; half];
        Ok(Self { phases, half, down: down.into(), history, base: 0, pushed: 0, made: 0 })
    }

    /// Source samples that an output sample waits for after its own time: 151 from 24 to 8 kHz (6.3 ms), 76 to 16 kHz
    /// (3.2 ms).
    pub fn delay(&self) -> usize {
        self.half
    }

    /// Takes the next samples at the source's rate and appends those they complete at the new one.
    pub fn push(&mut self, pcm: &[f32], out: &mut Vec<f32>) {
        self.history.extend_from_slice(pcm);
        self.pushed += pcm.len() as u64;
        let until = self.pushed;
        self.make(until, out);
    }

    /// Appends what the delay held back: `ceil(n * to / from)` samples in all for `n` pushed.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        self.history.resize(self.history.len() + self.half, 0.0);
        let until = self.pushed + self.half as u64;
        self.make(until, out);
    }

    /// Makes every output sample whose filter ends before source position `until`.
    fn make(&mut self, until: u64, out: &mut Vec<f32>) {
        let up = self.phases.len() as u64;
        loop {
            let at = self.made * self.down;
            let (center, phase) = (at / up, (at % up) as usize);
            // The filter reaches from center - half to center + half.
            if center + self.half as u64 >= until {
                break;
            }
            let first = (center - self.base) as usize;
            let taps = &self.phases[phase];
            out.push(dot(taps, &self.history[first..first + taps.len()]));
            self.made += 1;
        }
        let next = (self.made * self.down / up).min(self.base + self.history.len() as u64);
        self.history.drain(..(next - self.base) as usize);
        self.base = next;
    }
}

/// The filters of all phases, `2 * half + 1` taps each, and `half`. `ratio` is the new rate over the old.
fn filters(up: usize, ratio: f64) -> (Vec<Vec<f32>>, usize) {
    // Kaiser's design, in cycles per source sample: the band edges, the length and the window's shape.
    let (pass, stop) = (PASS * ratio / 2.0, ratio / 2.0);
    let length = (STOP_DB - 7.95) / (14.36 * (stop - pass));
    let half = (length / 2.0).ceil().max(1.0) as usize;
    let beta = 0.1102 * (STOP_DB - 8.7);
    let cut = pass + stop;
    let taps = |phase: usize| -> Vec<f32> {
        let shift = phase as f64 / up as f64;
        let weights: Vec<f64> = (0..=2 * half)
            .map(|j| {
                let t = j as f64 - half as f64 - shift;
                let x = t / (half as f64 + 1.0);
                sinc(cut * t) * bessel_i0(beta * (1.0 - x * x).max(0.0).sqrt())
            })
            .collect();
        // Every phase passes a constant alike, or it would leave a tone at the phases' own rate.
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| (w / sum) as f32).collect()
    };
    ((0..up).map(taps).collect(), half)
}

fn sinc(x: f64) -> f64 {
    let x = x * std::f64::consts::PI;
    if x.abs() < 1e-9 { 1.0 } else { x.sin() / x }
}

/// Modified Bessel function of the first kind, order 0, by its series.
fn bessel_i0(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..64 {
        term *= (x / 2.0 / f64::from(k)).powi(2);
        sum += term;
    }
    sum
}

/// Sums in a fixed order, eight at a time so that it can be vectorised.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0f32; 8];
    for (x, y) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(pcm: &[f32], to: u32, chunk: usize) -> Vec<f32> {
        let mut resampler = Downsampler::new(24_000, to).unwrap();
        let mut out = Vec::new();
        for chunk in pcm.chunks(chunk) {
            resampler.push(chunk, &mut out);
        }
        resampler.finish(&mut out);
        out
    }

    fn tone(rate: u32, hz: f64, n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i as f64 * std::f64::consts::TAU * hz / f64::from(rate)).sin() * 0.5) as f32).collect()
    }

    fn level_db(pcm: &[f32]) -> f64 {
        let peak = pcm.iter().fold(0.0f32, |a, x| a.max(x.abs()));
        20.0 * f64::from(peak / 0.5).max(1e-9).log10()
    }

    #[test]
    fn length_is_exact() {
        for (to, num, den) in [(16_000, 2, 3), (8_000, 1, 3), (24_000, 1, 1)] {
            for n in [0usize, 1, 2, 3, 4, 5, 149, 150, 151, 301, 1000, 12_288] {
                assert_eq!(lowered(&tone(24_000, 440.0, n), to, 512).len(), (n * num).div_ceil(den), "{n} to {to}");
            }
        }
    }

    #[test]
    fn streamed_equals_whole() {
        let pcm = tone(24_000, 1234.5, 13_001);
        for to in [16_000, 8_000] {
            let whole = lowered(&pcm, to, usize::MAX);
            for chunk in [1, 2, 3, 7, 480, 12_288] {
                assert_eq!(lowered(&pcm, to, chunk), whole, "to {to} in chunks of {chunk}");
            }
        }
    }

    /// Level and place up to the edge of the pass band.
    #[test]
    fn the_pass_band_passes_in_place() {
        for (to, top) in [(16_000, 7_200.0), (8_000, 3_600.0)] {
            for hz in [50.0, 300.0, 1000.0, 3000.0, top] {
                let out = lowered(&tone(24_000, hz, 24_000), to, 512);
                let ideal = tone(to, hz, out.len());
                for i in 200..out.len() - 200 {
                    let off = (out[i] - ideal[i]).abs();
                    assert!(off < 1e-4, "{hz} Hz to {to}, sample {i}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn nothing_folds_back() {
        for to in [16_000u32, 8_000] {
            let nyquist = f64::from(to) / 2.0;
            for hz in (0..).map(|i| nyquist + 50.0 * f64::from(i)).take_while(|hz| *hz < 12_000.0) {
                let out = lowered(&tone(24_000, hz, 12_000), to, 512);
                let level = level_db(&out[200..out.len() - 200]);
                assert!(level < -74.0, "{hz} Hz to {to} leaves {level} dB");
            }
        }
    }

    #[test]
    fn delay_is_as_stated() {
        for (to, delay) in [(16_000, 76), (8_000, 151)] {
            let mut resampler = Downsampler::new(24_000, to).unwrap();
            assert_eq!(resampler.delay(), delay);
            let mut out = Vec::new();
            resampler.push(&vec![0.1; delay], &mut out);
            assert!(out.is_empty());
            resampler.push(&[0.1], &mut out);
            assert_eq!(out.len(), 1);
        }
    }

    #[test]
    fn rates_that_cannot_be_joined_are_refused() {
        for (from, to) in [(24_000, 48_000), (24_000, 0), (24_000, 23_999)] {
            let error = Downsampler::new(from, to).err().unwrap().to_string();
            assert!(error.contains(&format!("{from} Hz to {to} Hz")), "{error}");
        }
    }
}
