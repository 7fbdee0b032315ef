//! Whole-buffer rate conversion, for speaker samples; streams have [`super::downsample`].

use rubato::audioadapter_buffers::owned::InterleavedOwned;
use rubato::{Fft, FixedSync, Resampler, WindowFunction};

use super::AudioError;

/// Least input frames per FFT block, which is the anti-alias filter's length too: shorter ones let through more of what
/// lies just above half the lower rate.
const BLOCK: usize = 4096;

/// Converts mono `pcm` from one rate to another, both in Hz. The result has `ceil(len * to / from)` samples and no
/// delay. Equal rates return the samples as they are.
pub fn resample(pcm: Vec<f32>, from: u32, to: u32) -> Result<Vec<f32>, AudioError> {
    if from == to || pcm.is_empty() {
        return Ok(pcm);
    }
    let fail = |e: &dyn std::fmt::Display| AudioError::Resample { from, to, reason: e.to_string() };
    // The filter's delay is half a block, and rubato trims whole samples: only an even block comes out in place.
    let unit = 2 * (from / gcd(from, to)) as usize;
    let block = BLOCK.next_multiple_of(unit);
    let window = WindowFunction::BlackmanHarris2;
    let mut resampler = Fft::<f32>::new_custom(from as usize, to as usize, block, 1, 1, window, FixedSync::Both)
        .map_err(|e| fail(&e))?;
    let frames = pcm.len();
    let input = InterleavedOwned::new_from(pcm, 1, frames).map_err(|e| fail(&e))?;
    let output = resampler.process_all(&input, frames, None).map_err(|e| fail(&e))?;
    let mut output = output.take_data();
    // rubato counts in floating point and may be one sample off.
    output.resize((frames as u64 * u64::from(to)).div_ceil(u64::from(from)) as usize, 0.0);
    Ok(output)
}

pub(super) fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(rate: u32, hz: f32, seconds: f32) -> Vec<f32> {
        (0..(rate as f32 * seconds) as usize)
            .map(|i| ((i as f64 * std::f64::consts::TAU * hz as f64 / rate as f64).sin() * 0.5) as f32)
            .collect()
    }

    #[test]
    fn a_tone_keeps_pitch_level_and_place() {
        for rate in [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 8_009] {
            let input = tone(rate, 1000.0, 0.5);
            let expected_len = (input.len() as u64 * 24_000).div_ceil(rate as u64) as usize;
            let out = resample(input, rate, 24_000).unwrap();
            assert_eq!(out.len(), expected_len, "{rate} Hz");
            let ideal = tone(24_000, 1000.0, 0.5);
            // The edges see the silence around the clip.
            for i in 2400..9600 {
                assert!((out[i] - ideal[i]).abs() < 2e-4, "{rate} Hz, sample {i}: {} for {}", out[i], ideal[i]);
            }
        }
    }

    #[test]
    fn what_lies_above_half_the_new_rate_does_not_fold_back() {
        let out = resample(tone(48_000, 13_000.0, 0.5), 48_000, 24_000).unwrap();
        let peak = out[1200..out.len() - 1200].iter().fold(0.0f32, |a, x| a.max(x.abs()));
        assert!(peak < 0.5e-3, "alias at {peak}");
    }

    #[test]
    fn short_and_empty_clips() {
        assert!(resample(vec![], 48_000, 24_000).unwrap().is_empty());
        assert_eq!(resample(vec![0.25], 24_000, 24_000).unwrap(), [0.25]);
        assert_eq!(resample(vec![0.25; 3], 48_000, 24_000).unwrap().len(), 2);
    }
}
