//! Voices: everything a user may name as one, and what the prompt needs of it.
//!
//! A voice is a speaker vector (its L2-normalised form stands at `[spk_emb]`) or a sample (codes of somebody's speech
//! that the model continues). It is named by a seed, by 768 numbers, by a speaker string or a sample string, by a file
//! that holds one of these, or by a WAV recording. All of it is outside input: every length is bounded before memory
//! is taken, and each error names the step that failed. No model runs in here; a recording's encoder is handed in.
//!
//! # Seeds
//! A voice seed draws a speaker vector and has nothing to do with the seed that draws codes. Public ChatTTS voice
//! lists mean `torch.manual_seed(seed)`, then `randn(768)` in f32 on the CPU, times the standard deviation, plus the
//! mean. Some lists also number voices that are *not* made this way: [`LISTED_BUT_NOT_SEEDS`] are names of vectors
//! that ship as files. As numbers they are ordinary seeds here and give other voices than those lists play.

pub mod base16384;
mod lzma2;
pub mod numbers;
pub mod recording;
pub mod stats;
pub mod string;
pub mod voice;

pub use stats::{STATS_FILE, SpeakerStats, StatsError};
pub use string::{StringError, StringKind, StringLayout};
pub use voice::{EncodeSample, Sample, Source, Voice, VoiceContext, VoiceError, VoiceKind, draw_seed};

/// Numbers that public voice lists use as names of ready-made vectors: that voice comes from the list's file only.
pub const LISTED_BUT_NOT_SEEDS: [u32; 6] = [5, 11, 12, 13, 14, 16];
