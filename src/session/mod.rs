//! One utterance's life: its pieces, their order, chunk sizes, caps and retries.
//!
//! Drives any [`Engine`] and hands out PCM in order as it is made. Knows no web and no actor.

mod chunks;
pub mod refine;
mod utterance;

pub use chunks::ChunkPlan;
pub use utterance::{Listener, PieceEnd, PieceReport, Plan, Report, SpeakError, speak};

/// Steps a text token may take on average before the text counts as run away: slow speech needs about ten.
const STEPS_PER_TOKEN: usize = 22;
/// Never less than six seconds.
const MIN_STEP_CAP: usize = 280;

/// The most steps a piece of so many text tokens may take.
pub fn step_cap(text_tokens: usize) -> usize {
    (text_tokens * STEPS_PER_TOKEN).max(MIN_STEP_CAP)
}
