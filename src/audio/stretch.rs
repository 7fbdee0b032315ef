//! Faster or slower speech at the same pitch, as it streams: WSOLA (Verhelst and Roelands, "An overlap-add technique
//! based on waveform similarity for high quality time-scale modification of speech", ICASSP 1993).
//!
//! Windows of 20 ms are taken from the source at a pace that the speed sets and laid down every 10 ms, each moved by up
//! to the search range to where it best continues the one before. Cross-fading pieces of the source never makes a
//! sound that was not there: silence stays silent and no level rises above the source's.
//!
//! Costs 2 ms of CPU time for a second of output (2026-12, one shared 2-core machine). Our own, because the Rust crates that do this (2026-12) are young (wsola 0.1), made for dance music (timestretch),
//! or bind C++ (ssstretch); none promises an exact length.

use super::downsample::dot;
use super::encode::FormatError;

/// Speeds offered: at 4 the result is a quarter as long.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// Samples between windows, half a window: 10 ms at 24 kHz.
const HOP: usize = 240;

/// How far a window may move either way, in samples: 8.3 ms, so that a whole period of a voice down to 60 Hz lies
/// within the range.
const SEARCH: usize = 200;

/// Samples compared to find the best continuation: a whole window, since a low voice's period is longer than a hop.
const COMPARED: usize = 2 * HOP;

/// Samples a stretched stream has in all: `round(n / speed)`, of `n` pushed.
pub fn stretched_len(n: u64, speed: f64) -> u64 {
    if speed == 1.0 { n } else { (n as f64 / speed).round() as u64 }
}

/// Stretches one stream of f32 mono samples at 24 kHz. The output is the same whatever the chunks were, and at speed 1
/// it is the input, bit for bit and without delay.
///
/// Source time `t` is heard at `t / speed`, give or take the search range. An output sample waits for the source up to
/// 18.4 ms after its own time, at speeds below 1 up to 28.4 ms, and leaves with others in hops of 10 ms.
pub struct Stretcher {
    speed: f64,
    /// Rising half of a Hann window; the falling half is one less this.
    fade: [f32; HOP],
    /// Source samples still needed, the first at position `base`.
    source: Vec<f32>,
    base: u64,
    pushed: u64,
    /// Source position of the window laid down last; `None` before the first.
    window: Option<u64>,
    /// Windows laid down so far; the output is complete up to `windows * HOP`.
    windows: u64,
}

impl Stretcher {
    /// `speed` within [`SPEEDS`].
    pub fn new(speed: f64) -> Result<Self, FormatError> {
        if !SPEEDS.contains(&speed) {
            return Err(FormatError::new("speed", "0.25 to 4", speed));
        }
        let step = std::f64::consts::PI / HOP as f64;
        let fade = std::array::from_fn(|i| (0.5 - 0.5 * ((i as f64 + 0.5) * step).cos()) as f32);
        Ok(Self { speed, fade, source: Vec::new(), base: 0, pushed: 0, window: None, windows: 0 })
    }

    /// Takes the next samples and appends those they complete.
    pub fn push(&mut self, pcm: &[f32], out: &mut Vec<f32>) {
        self.pushed += pcm.len() as u64;
        if self.speed == 1.0 {
            out.extend_from_slice(pcm);
            return;
        }
        self.source.extend_from_slice(pcm);
        while self.needed() <= self.pushed {
            self.lay_window(u64::MAX, out);
        }
        self.forget();
    }

    /// Appends the rest, so that there are [`stretched_len`] samples in all.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        if self.speed == 1.0 {
            return;
        }
        let total = stretched_len(self.pushed, self.speed);
        // A source shorter than a window is filled up with silence.
        self.source.resize(self.source.len() + SEARCH + COMPARED + HOP, 0.0);
        while self.windows * (HOP as u64) < total {
            let rest = (total - self.windows * HOP as u64).min(HOP as u64);
            // The last window ends where the source does, however the hops fall.
            self.lay_window(self.pushed.saturating_sub(rest), out);
            out.truncate(out.len() - HOP + rest as usize);
        }
    }

    /// Where the next window belongs: the middle of windows is what lies at its true time.
    fn nominal(&self) -> u64 {
        let middle = ((self.windows + 1) * HOP as u64) as f64 * self.speed;
        (middle.round() as u64).saturating_sub(HOP as u64)
    }

    /// Source samples without which the next window cannot be chosen: all that it may be, and what it is to continue.
    fn needed(&self) -> u64 {
        let candidates = self.nominal() + (SEARCH + COMPARED + 1) as u64;
        let continued = self.window.map_or(0, |window| window + (HOP + COMPARED) as u64);
        candidates.max(continued)
    }

    /// Chooses the next window, not beyond source position `latest`, and appends the hop that it completes.
    fn lay_window(&mut self, latest: u64, out: &mut Vec<f32>) {
        let Some(before) = self.window else {
            // The first hop is the source's own beginning.
            out.extend_from_slice(&self.source[..HOP]);
            (self.window, self.windows) = (Some(0), 1);
            return;
        };
        let continued = before + HOP as u64;
        let window = self.best_window(continued, latest);
        let (old, new) = (self.at(continued, HOP), self.at(window, HOP));
        out.extend(old.iter().zip(new).zip(&self.fade).map(|((old, new), gain)| old + (new - old) * gain));
        self.window = Some(window);
        self.windows += 1;
    }

    /// The position within the search range whose samples are most like those at `continued`, by normalised
    /// cross-correlation; of equal ones that nearest to where the window belongs.
    fn best_window(&self, continued: u64, latest: u64) -> u64 {
        let nominal = self.nominal().min(latest);
        let first = nominal.saturating_sub(SEARCH as u64).max(self.base);
        let last = (nominal + SEARCH as u64).min(latest);
        let wanted = self.at(continued, COMPARED);
        let mut energy = self.at(first, COMPARED).iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        let (mut best, mut best_score) = (nominal, f64::MIN);
        for window in first..=last {
            let there = self.at(window, COMPARED + 1);
            let product = f64::from(dot(wanted, &there[..COMPARED]));
            // Silence is like nothing: the floor keeps rounding errors of the running energy from looking like a match.
            let score = product / energy.max(1e-6).sqrt();
            let nearer = window.abs_diff(nominal) < best.abs_diff(nominal);
            if score > best_score || (score == best_score && nearer) {
                (best, best_score) = (window, score);
            }
            energy += f64::from(there[COMPARED]).powi(2) - f64::from(there[0]).powi(2);
        }
        best
    }

    fn at(&self, position: u64, n: usize) -> &[f32] {
        let from = (position - self.base) as usize;
        &self.source[from..from + n]
    }

    /// Drops what no later window can reach.
    fn forget(&mut self) {
        let Some(window) = self.window else { return };
        // At the end windows are drawn back to end with the source: keep as much as that.
        let reach = self.nominal().min(self.pushed.saturating_sub(HOP as u64)).saturating_sub(SEARCH as u64);
        let keep = reach.min(window + HOP as u64).clamp(self.base, self.base + self.source.len() as u64);
        self.source.drain(..(keep - self.base) as usize);
        self.base = keep;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::test_signal::{correlation, voice};

    const SPEEDS_TRIED: [f64; 10] = [0.25, 0.5, 0.75, 0.9, 0.99, 1.01, 1.25, 1.5, 2.0, 4.0];

    fn stretched(pcm: &[f32], speed: f64, chunk: usize) -> Vec<f32> {
        let mut stretcher = Stretcher::new(speed).unwrap();
        let mut out = Vec::new();
        for chunk in pcm.chunks(chunk) {
            stretcher.push(chunk, &mut out);
        }
        stretcher.finish(&mut out);
        out
    }

    /// Harmonics of `hz`, weaker with height.
    fn buzz(hz: f64, n: usize) -> Vec<f32> {
        let harmonic = |t: f64, h: u32| (t * f64::from(h) * std::f64::consts::TAU * hz).sin() / f64::from(h);
        (0..n).map(|i| (1..10).map(|h| harmonic(i as f64 / 24_000.0, h)).sum::<f64>() as f32 * 0.3).collect()
    }

    /// By the autocorrelation's peak within a tenth of the period expected, between samples by a parabola.
    fn pitch(pcm: &[f32], expected: f64) -> f64 {
        let period = 24_000.0 / expected;
        let (from, to) = ((period * 0.9) as usize, (period * 1.1) as usize + 1);
        let r = |lag: usize| f64::from(correlation(&pcm[lag..], pcm));
        let best = (from..=to).max_by(|a, b| r(*a).total_cmp(&r(*b))).unwrap();
        let (a, b, c) = (r(best - 1), r(best), r(best + 1));
        24_000.0 / (best as f64 + (a - c) / (2.0 * (a - 2.0 * b + c)))
    }

    #[test]
    fn the_length_is_exact() {
        for speed in SPEEDS_TRIED {
            for n in [0, 1, 2, 100, 239, 240, 241, 479, 680, 1000, 4801, 24_000] {
                let length = stretched(&voice(n), speed, 512).len() as u64;
                assert_eq!(length, stretched_len(n as u64, speed), "{n} samples at {speed}");
                assert_eq!(length, (n as f64 / speed).round() as u64);
            }
        }
    }

    #[test]
    fn speed_one_is_the_input_at_once() {
        let mut stretcher = Stretcher::new(1.0).unwrap();
        let (sound, mut out) = (voice(5000), Vec::new());
        for chunk in sound.chunks(7) {
            stretcher.push(chunk, &mut out);
            assert_eq!(out, sound[..out.len()]);
        }
        stretcher.finish(&mut out);
        assert_eq!(out, sound);
    }

    #[test]
    fn streamed_equals_whole() {
        let sound = voice(20_011);
        for speed in SPEEDS_TRIED {
            let whole = stretched(&sound, speed, usize::MAX);
            for chunk in [1, 2, 3, 7, 480, 12_288] {
                assert!(stretched(&sound, speed, chunk) == whole, "speed {speed} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn the_pitch_stays() {
        for hz in [70.0, 110.0, 163.0, 240.0, 410.0] {
            for speed in SPEEDS_TRIED {
                let out = stretched(&buzz(hz, 48_000), speed, 512);
                let found = pitch(&out[1000..out.len() - 1000], hz);
                assert!((found / hz - 1.0).abs() < 0.01, "{hz} Hz at {speed} became {found} Hz");
            }
        }
    }

    /// A steady tone is continued without a seam wherever its period fits.
    #[test]
    fn a_steady_tone_stays_steady() {
        for hz in [80.0, 120.0, 300.0] {
            for speed in SPEEDS_TRIED {
                let out = stretched(&buzz(hz, 48_000), speed, 512);
                // One period is a whole number of samples.
                let period = (24_000.0 / hz) as usize;
                // Windows cannot move beyond the source's ends.
                let inner = &out[2400..out.len() - 2400];
                let r = correlation(&inner[period..], inner);
                assert!(r > 0.999, "{hz} Hz at {speed}: periods correlate by {r}");
            }
        }
    }

    #[test]
    fn no_clicks_and_no_louder() {
        let steepest = |s: &[f32]| s.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        let peak = |s: &[f32]| s.iter().fold(0.0f32, |a, x| a.max(x.abs()));
        for sound in [voice(48_000), buzz(95.0, 24_000)] {
            for speed in SPEEDS_TRIED {
                let out = stretched(&sound, speed, 512);
                assert!(steepest(&out) <= steepest(&sound) * 1.5, "speed {speed}: a step of {}", steepest(&out));
                assert!(peak(&out) <= peak(&sound) * 1.0001);
            }
        }
    }

    #[test]
    fn silence_stays_silence() {
        for speed in SPEEDS_TRIED {
            assert!(stretched(&vec![0.0; 12_000], speed, 512).iter().all(|x| *x == 0.0));
        }
    }

    /// Loudness over time is the source's, at the speed's pace.
    #[test]
    fn what_is_said_comes_at_its_time() {
        let levels = |s: &[f32], n: usize| -> Vec<f32> {
            s.chunks_exact(n).map(|s| (s.iter().map(|x| x * x).sum::<f32>() / n as f32).sqrt()).collect()
        };
        let sound = voice(96_000);
        for speed in SPEEDS_TRIED {
            let n = (480.0 * speed.max(1.0)).round() as usize;
            let there = levels(&sound, n);
            let here = levels(&stretched(&sound, speed, 512), (n as f64 / speed).round() as usize);
            let mean = |s: &[f32]| s.iter().sum::<f32>() / s.len() as f32;
            let flat = |s: &[f32]| s.iter().map(|x| x - mean(s)).collect::<Vec<f32>>();
            let r = correlation(&flat(&there), &flat(&here));
            assert!(r > 0.95, "speed {speed}: levels correlate by {r}");
        }
    }

    #[test]
    fn latency_is_as_stated() {
        for speed in SPEEDS_TRIED {
            let mut stretcher = Stretcher::new(speed).unwrap();
            let mut out = Vec::new();
            for (i, x) in voice(24_000).iter().enumerate() {
                stretcher.push(&[*x], &mut out);
                let behind = (i + 1) as f64 - (out.len() + HOP) as f64 * speed;
                let most = if speed > 1.0 { 442.0 } else { 681.0 };
                assert!(behind <= most || out.len() < HOP, "speed {speed}: {behind} samples behind");
                let held = stretcher.source.len() as f64;
                assert!(held < 1100.0 + 260.0 * speed, "speed {speed}: {held} samples held");
            }
        }
    }

    #[test]
    fn speeds_out_of_range_are_refused() {
        for speed in [0.0, -1.0, 0.249, 4.01, f64::NAN, f64::INFINITY] {
            let error = Stretcher::new(speed).err().unwrap();
            assert_eq!((error.field, error.expected.as_str()), ("speed", "0.25 to 4"));
        }
    }
}
