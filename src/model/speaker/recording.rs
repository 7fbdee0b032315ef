//! A WAV recording of a voice -> mono f32 at the model's sample rate, checked: what the DVAE encoder takes.

use crate::audio::{AudioError, resample, wav};

/// Bounds of a usable recording, in seconds.
pub const MIN_SECONDS: f64 = 3.0;
pub const MAX_SECONDS: f64 = 30.0;
/// -66 dB of full scale: below this there is no voice to copy.
const SILENCE: f32 = 5e-4;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error(transparent)]
    Audio(#[from] AudioError),
    #[error("recording: expected {MIN_SECONDS} to {MAX_SECONDS} s of sound, found {0:.2} s")]
    Duration(f64),
    #[error("recording: expected a voice, found silence (peak {0:.5} of full scale)")]
    Silent(f32),
}

/// Reads a WAV file (formats: [`wav::decode`]) and resamples it to `rate`. Returns mono samples, full scale 1.
pub fn read_wav(bytes: &[u8], rate: u32) -> Result<Vec<f32>, RecordingError> {
    let wav = wav::decode(bytes, "recording")?;
    let seconds = wav.pcm.len() as f64 / f64::from(wav.sample_rate);
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        return Err(RecordingError::Duration(seconds));
    }
    let peak = wav.pcm.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    if peak < SILENCE {
        return Err(RecordingError::Silent(peak));
    }
    Ok(resample::resample(wav.pcm, wav.sample_rate, rate)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(rate: u32, seconds: f64) -> Vec<f32> {
        let n = (f64::from(rate) * seconds).round() as usize;
        (0..n).map(|i| (0.5 * (std::f64::consts::TAU * 440.0 * i as f64 / f64::from(rate)).sin()) as f32).collect()
    }

    #[test]
    fn any_rate_gives_the_same_tone() {
        let expected = tone(24_000, 3.5);
        for rate in [8_000, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000] {
            let got = read_wav(&wav::encode(&tone(rate, 3.5), rate), 24_000).unwrap();
            assert_eq!(got.len(), expected.len(), "{rate} Hz");
            // The ends differ: outside the recording there is silence, not the tone.
            let worst = (2400..got.len() - 2400).map(|i| (got[i] - expected[i]).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-3, "{rate} Hz: off by {worst}");
        }
    }

    #[test]
    fn unusable_recordings_are_refused() {
        let fault = |pcm: &[f32], rate| read_wav(&wav::encode(pcm, rate), 24_000).unwrap_err().to_string();
        assert_eq!(fault(&tone(24_000, 2.5), 24_000), "recording: expected 3 to 30 s of sound, found 2.50 s");
        assert_eq!(fault(&tone(8_000, 31.0), 8_000), "recording: expected 3 to 30 s of sound, found 31.00 s");
        let silent = "recording: expected a voice, found silence (peak 0.00000 of full scale)";
        assert_eq!(fault(&vec![0.0; 80_000], 24_000), silent);
        for (pcm, rate) in [(vec![], 24_000), (vec![0.1; 40_000], 4_000)] {
            let line = fault(&pcm, rate);
            assert!(line.starts_with("recording: ") && line.contains("expected") && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn float_samples_must_be_finite() {
        let mut pcm = tone(24_000, 3.5);
        pcm[9] = f32::NAN;
        let line = read_wav(&float_wav(&pcm, 24_000), 24_000).unwrap_err().to_string();
        assert!(line.starts_with("recording: ") && line.contains("finite"), "{line}");
    }

    fn float_wav(pcm: &[f32], rate: u32) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0".to_vec();
        bytes.extend([rate, rate * 4].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(b"\x04\0\x20\0data");
        bytes.extend((pcm.len() as u32 * 4).to_le_bytes());
        bytes.extend(pcm.iter().flat_map(|v| v.to_le_bytes()));
        bytes
    }
}
