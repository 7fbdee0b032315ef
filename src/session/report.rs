//! What an utterance says of itself.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::PieceEnd;
use crate::text::{Change, Skip};

/// A piece that is complete.
#[derive(Clone, Debug, PartialEq)]
pub struct PieceDone {
    pub index: usize,
    /// Code points of the text as sent.
    pub source: Range<usize>,
    /// As spoken.
    pub text: String,
    /// In milliseconds of the utterance's sound.
    pub start_ms: f64,
    pub length_ms: f64,
    pub end: PieceEnd,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    Complete,
    #[default]
    NothingToSay,
}

/// Why a refinement was not used.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RefineRejected {
    pub piece: usize,
    pub refined: String,
    pub why: String,
}

/// An utterance that said everything.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub reason: Reason,
    /// Its pieces and the silence around them.
    pub audio_ms: f64,
    pub pieces: usize,
    pub steps: usize,
    pub retries: u32,
    pub rewritten: Vec<Change>,
    pub skipped: Vec<Skip>,
    pub refine_rejected: Vec<RefineRejected>,
    /// The text that made the first piece complete had arrived.
    pub text_at: Option<Instant>,
    /// The first row had its slot.
    pub began_at: Option<Instant>,
    /// The engine's first samples.
    pub first_pcm_at: Option<Instant>,
    /// The first packet was handed to whoever sends it.
    pub first_sent: Option<Instant>,
    /// Time the device spent on calls its rows were part of.
    pub device_time: Duration,
    /// How often, and for how long, a listener who plays in real time from the first packet on ran dry.
    pub underruns: u32,
    pub underrun: Duration,
}

impl Summary {
    fn between(from: Option<Instant>, to: Option<Instant>) -> Option<f64> {
        Some(to?.saturating_duration_since(from?).as_secs_f64() * 1e3)
    }

    /// Text there -> the row had a slot.
    pub fn queue_ms(&self) -> Option<f64> {
        Self::between(self.text_at, self.began_at)
    }

    /// Slot -> first samples.
    pub fn engine_ms(&self) -> Option<f64> {
        Self::between(self.began_at, self.first_pcm_at)
    }

    /// Text there -> first packet handed over.
    pub fn ttfa_ms(&self) -> Option<f64> {
        Self::between(self.text_at, self.first_sent)
    }

    /// Time on the device / sound.
    pub fn rtf(&self) -> Option<f64> {
        (self.audio_ms > 0.0).then(|| self.device_time.as_secs_f64() * 1e3 / self.audio_ms)
    }
}

/// Why an utterance ended early. One place says which interface calls it what.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    #[error("overloaded: expected fewer than {limit} utterances at once")]
    Overloaded { limit: usize },
    #[error("the server is stopping")]
    Stopping,
    #[error("no device is left to speak")]
    NoDevice,
    #[error("{0}")]
    Text(#[from] crate::text::TextError),
    #[error("no_audio: piece {piece} ended before its first sound in {tries} tries")]
    NoAudio { piece: usize, tries: u32 },
    #[error("piece {piece}: the model's values stopped being finite")]
    NotFinite { piece: usize },
    #[error("piece {piece}: {why}")]
    Refused { piece: usize, why: String },
    #[error("the device was lost while it spoke piece {piece}: {why}")]
    DeviceLost { piece: usize, why: String },
    #[error("nobody took the sound for over {} ms", .after.as_millis())]
    Stalled { after: Duration },
    #[error("internal: {0}")]
    Internal(String),
}
