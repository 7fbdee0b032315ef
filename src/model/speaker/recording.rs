//! A WAV recording of a voice -> mono f32 at the model's sample rate, checked: what the DVAE encoder takes.

use std::io::{Cursor, Read};

use hound::{SampleFormat, WavReader, WavSpec};

/// Bounds of a usable recording, in seconds.
pub const MIN_SECONDS: f64 = 3.0;
pub const MAX_SECONDS: f64 = 30.0;
const RATES: std::ops::RangeInclusive<u32> = 8_000..=96_000;
const MAX_CHANNELS: u16 = 8;
/// -66 dB of full scale: below this there is no voice to copy.
const SILENCE: f32 = 5e-4;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("WAV: {0}")]
    Wav(#[from] hound::Error),
    #[error("WAV: expected {MIN_SECONDS} to {MAX_SECONDS} s of sound, found {0:.2} s")]
    Duration(f64),
    #[error("WAV: expected a sample rate of 8000 to 96000 Hz, found {0}")]
    Rate(u32),
    #[error("WAV: expected 1 to {MAX_CHANNELS} channels, found {0}")]
    Channels(u16),
    #[error("WAV: sample {position}: expected a finite number, found {found}")]
    NonFinite { position: usize, found: f32 },
    #[error("WAV: expected a voice, found silence (peak {0:.5} of full scale)")]
    Silent(f32),
}

/// Reads a WAV file (8, 16, 24 or 32 bit integers, or 32 bit float; channels are averaged) and resamples it to `rate`.
/// Returns mono samples, full scale 1. Length, rate and channels are checked from the header before samples are read.
pub fn read_wav(bytes: &[u8], rate: u32) -> Result<Vec<f32>, RecordingError> {
    let mut reader = WavReader::new(Cursor::new(bytes))?;
    let spec = reader.spec();
    check_header(&spec, reader.duration())?;
    let mono = mix_down(&mut reader, spec)?;
    let peak = mono.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    if peak < SILENCE {
        return Err(RecordingError::Silent(peak));
    }
    Ok(resample(&mono, spec.sample_rate, rate))
}

fn check_header(spec: &WavSpec, frames: u32) -> Result<(), RecordingError> {
    if !RATES.contains(&spec.sample_rate) {
        return Err(RecordingError::Rate(spec.sample_rate));
    }
    if !(1..=MAX_CHANNELS).contains(&spec.channels) {
        return Err(RecordingError::Channels(spec.channels));
    }
    let seconds = f64::from(frames) / f64::from(spec.sample_rate);
    let fits = (MIN_SECONDS..=MAX_SECONDS).contains(&seconds);
    if fits { Ok(()) } else { Err(RecordingError::Duration(seconds)) }
}

fn mix_down<R: Read>(reader: &mut WavReader<R>, spec: WavSpec) -> Result<Vec<f32>, RecordingError> {
    let samples: Vec<f32> = match spec.sample_format {
        SampleFormat::Float => reader.samples::<f32>().collect::<Result<_, _>>()?,
        SampleFormat::Int => {
            let scale = 0.5f32.powi(i32::from(spec.bits_per_sample) - 1);
            reader.samples::<i32>().map(|s| s.map(|v| v as f32 * scale)).collect::<Result<_, _>>()?
        }
    };
    if let Some(i) = samples.iter().position(|v| !v.is_finite()) {
        return Err(RecordingError::NonFinite { position: i + 1, found: samples[i] });
    }
    let channels = usize::from(spec.channels);
    Ok(samples.chunks_exact(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32).collect())
}

/// Zero crossings of the sinc on each side: 32 puts the stop band of a Blackman window under -70 dB.
const HALF_WIDTH: usize = 32;

/// Windowed-sinc resampling of a whole signal; zeros beyond both ends. One row of taps for each of the rate ratio's
/// phases, each scaled to a gain of one for a constant signal.
fn resample(input: &[f32], from: u32, to: u32) -> Vec<f32> {
    if from == to {
        return input.to_vec();
    }
    let divisor = gcd(from, to);
    let (phases, stride) = ((to / divisor) as usize, (from / divisor) as usize);
    // Just under the lower of the two Nyquist frequencies, as a share of the input's.
    let cutoff = (f64::from(to) / f64::from(from)).min(1.0) * 0.95;
    let reach = (HALF_WIDTH as f64 / cutoff).ceil() as usize;
    let rows: Vec<Vec<f32>> = (0..phases).map(|p| taps(p as f64 / phases as f64, cutoff, reach)).collect();
    let length = (input.len() as u64 * u64::from(to)).div_ceil(u64::from(from)) as usize;
    (0..length)
        .map(|n| {
            let (centre, phase) = (n * stride / phases, n * stride % phases);
            let first = (centre + 1) as isize - reach as isize;
            let skip = (-first).max(0) as usize;
            let signal = &input[((first + skip as isize) as usize).min(input.len())..];
            rows[phase][skip..].iter().zip(signal).map(|(tap, x)| tap * x).sum()
        })
        .collect()
}

/// The taps for an output sample at `fraction` past an input sample; tap `i` falls on input `i + 1 - reach`.
fn taps(fraction: f64, cutoff: f64, reach: usize) -> Vec<f32> {
    use std::f64::consts::PI;
    let tap = |i: usize| {
        let t = i as f64 + 1.0 - reach as f64 - fraction;
        let sinc = if t == 0.0 { 1.0 } else { (PI * cutoff * t).sin() / (PI * cutoff * t) };
        let x = PI * t / reach as f64;
        sinc * (0.42 + 0.5 * x.cos() + 0.08 * (2.0 * x).cos())
    };
    let row: Vec<f64> = (0..2 * reach).map(tap).collect();
    let sum: f64 = row.iter().sum();
    row.iter().map(|v| (v / sum) as f32).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(hz: f64, rate: u32, seconds: f64) -> Vec<f32> {
        let n = (f64::from(rate) * seconds) as usize;
        (0..n).map(|i| (0.5 * (std::f64::consts::TAU * hz * i as f64 / f64::from(rate)).sin()) as f32).collect()
    }

    fn wav(samples: &[f32], rate: u32, channels: u16, bits: u16) -> Vec<u8> {
        let sample_format = if bits == 32 { SampleFormat::Float } else { SampleFormat::Int };
        let spec = WavSpec { channels, sample_rate: rate, bits_per_sample: bits, sample_format };
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut bytes, spec).unwrap();
        for &s in samples {
            for channel in 0..channels {
                // Twice the level on one side, none on the other: the average is the signal.
                let s = if channels == 1 { s } else { s * 2.0 * f32::from(channel == 0) };
                match bits {
                    32 => writer.write_sample(s).unwrap(),
                    _ => writer.write_sample((s * (1u32 << (bits - 1)) as f32).round() as i32).unwrap(),
                }
            }
        }
        writer.finalize().unwrap();
        bytes.into_inner()
    }

    #[test]
    fn any_rate_depth_and_channel_count_gives_the_same_tone() {
        let expected = tone(440.0, 24_000, 3.5);
        for (rate, channels, bits) in
            [(24_000, 1, 16), (8_000, 1, 16), (16_000, 2, 24), (22_050, 1, 32), (44_100, 2, 16), (48_000, 1, 32), (96_000, 1, 24)]
        {
            let got = read_wav(&wav(&tone(440.0, rate, 3.5), rate, channels, bits), 24_000).unwrap();
            assert_eq!(got.len(), expected.len(), "{rate} Hz");
            // The ends differ: outside the recording there is silence, not the tone.
            let middle = 500..got.len() - 500;
            let worst = middle.map(|i| (got[i] - expected[i]).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-3, "{rate} Hz, {channels} channels, {bits} bits: off by {worst}");
        }
    }

    #[test]
    fn what_the_new_rate_cannot_hold_is_filtered_out() {
        let got = resample(&tone(15_000.0, 48_000, 1.0), 48_000, 24_000);
        let peak = got[500..got.len() - 500].iter().fold(0.0f32, |m, v| m.max(v.abs()));
        assert!(peak < 5e-4, "an alias of {peak}");
    }

    #[test]
    fn unusable_recordings_are_refused() {
        let fault = |bytes: &[u8]| read_wav(bytes, 24_000).unwrap_err().to_string();
        let short = wav(&tone(440.0, 24_000, 2.5), 24_000, 1, 16);
        assert_eq!(fault(&short), "WAV: expected 3 to 30 s of sound, found 2.50 s");
        assert_eq!(fault(&wav(&[], 24_000, 1, 16)), "WAV: expected 3 to 30 s of sound, found 0.00 s");
        let long = wav(&tone(440.0, 8_000, 31.0), 8_000, 1, 16);
        assert_eq!(fault(&long), "WAV: expected 3 to 30 s of sound, found 31.00 s");
        assert_eq!(fault(&wav(&[0.1; 4000], 4_000, 1, 16)), "WAV: expected a sample rate of 8000 to 96000 Hz, found 4000");
        assert_eq!(fault(&wav(&vec![0.0; 80_000], 24_000, 1, 16)), "WAV: expected a voice, found silence (peak 0.00000 of full scale)");
        let mut broken = tone(440.0, 24_000, 3.5);
        broken[9] = f32::NAN;
        assert_eq!(fault(&wav(&broken, 24_000, 1, 32)), "WAV: sample 10: expected a finite number, found NaN");
        let whole = wav(&tone(440.0, 24_000, 3.5), 24_000, 1, 16);
        assert!(fault(&whole[..whole.len() / 2]).starts_with("WAV: "));
        assert!(fault(b"RIFF").starts_with("WAV: "));
    }
}
