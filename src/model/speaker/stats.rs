//! Speaker statistics: what turns standard normals into a plausible voice of this model.

use std::path::{Path, PathBuf};

use half::f16;

use super::base16384::{self, Base16384Error};
use crate::model::dims::Dims;
use crate::model::torch_rng;

/// The file beside `asset/` that holds the statistics when no configuration file carries them.
pub const STATS_FILE: &str = "speaker_stats.txt";

#[derive(Debug, thiserror::Error)]
pub enum StatsError {
    #[error("{file}: {source}")]
    Io { file: PathBuf, source: std::io::Error },
    #[error("{origin}: speaker statistics: base16384: {source}")]
    Base16384 { origin: String, source: Base16384Error },
    #[error("{origin}: speaker statistics: expected {expected} f16 values (std, then mean), found {found}")]
    Length { origin: String, expected: usize, found: String },
    #[error("{origin}: speaker statistics: value {position}: expected a finite number, found {found}")]
    NonFinite { origin: String, position: usize, found: f32 },
}

/// Standard deviation and mean of each component of the speaker vector.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeakerStats {
    /// `[hidden]`
    pub std: Vec<f32>,
    /// `[hidden]`
    pub mean: Vec<f32>,
}

impl SpeakerStats {
    /// The statistics of the model in `dir`: from its configuration, else from [`STATS_FILE`] beside `asset/`, else
    /// `None` (the published weights alone do not carry them; `voxwire models pull` writes the file).
    pub fn load(dir: &Path, dims: &Dims) -> Result<Option<Self>, StatsError> {
        let hidden = dims.gpt.hidden_size;
        if let Some(text) = &dims.spk_stat {
            return Self::parse(text, hidden, "spk_stat of the model's configuration").map(Some);
        }
        let file = dir.join(STATS_FILE);
        match crate::model::file::read_text(&file) {
            Ok(Some(text)) => Self::parse(&text, hidden, &file.display().to_string()).map(Some),
            Ok(None) => Ok(None),
            Err(source) => Err(StatsError::Io { file, source }),
        }
    }

    /// Parses base16384 text of 2 x `hidden` little-endian f16: the standard deviations, then the means. `origin`
    /// names the place in errors.
    pub fn parse(text: &str, hidden: usize, origin: &str) -> Result<Self, StatsError> {
        let origin = || origin.to_string();
        let bytes =
            base16384::decode(text.trim()).map_err(|source| StatsError::Base16384 { origin: origin(), source })?;
        if bytes.len() != 4 * hidden {
            let found = format!("{} bytes", bytes.len());
            return Err(StatsError::Length { origin: origin(), expected: 2 * hidden, found });
        }
        let mut std: Vec<f32> = bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect();
        if let Some(i) = std.iter().position(|v| !v.is_finite()) {
            return Err(StatsError::NonFinite { origin: origin(), position: i + 1, found: std[i] });
        }
        let mean = std.split_off(hidden);
        Ok(Self { std, mean })
    }

    /// The voice of a seed as public ChatTTS voice lists mean it: `torch.manual_seed(seed)`, `randn(hidden)` in f32 on
    /// the CPU, times std plus mean, each rounded on its own. Not normalised.
    pub fn voice(&self, seed: u32) -> Vec<f32> {
        let noise = torch_rng::randn_f32(u64::from(seed), self.std.len());
        noise.iter().zip(&self.std).zip(&self.mean).map(|((x, std), mean)| x * std + mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
        base16384::encode(&bytes)
    }

    #[test]
    fn standard_deviation_comes_first() {
        let stats = SpeakerStats::parse(&text(&[2.0, 3.0, -1.0, 4.0]), 2, "x").unwrap();
        assert_eq!(stats, SpeakerStats { std: vec![2.0, 3.0], mean: vec![-1.0, 4.0] });
        let (noise, voice) = (torch_rng::randn_f32(9, 2), stats.voice(9));
        assert_eq!(voice, [noise[0] * 2.0 - 1.0, noise[1] * 3.0 + 4.0]);
    }

    #[test]
    fn faults_name_the_place() {
        let fault = |t: &str| SpeakerStats::parse(t, 2, "f.txt").unwrap_err().to_string();
        assert_eq!(fault("ab"), "f.txt: speaker statistics: base16384: character 1 'a' is not in U+4E00..U+8DFF");
        let short = fault(&text(&[1.0, 2.0, 3.0]));
        assert_eq!(short, "f.txt: speaker statistics: expected 4 f16 values (std, then mean), found 6 bytes");
        let nan = fault(&text(&[1.0, f32::NAN, 3.0, 4.0]));
        assert_eq!(nan, "f.txt: speaker statistics: value 2: expected a finite number, found NaN");
    }
}
