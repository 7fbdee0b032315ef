//! One utterance's life: its pieces, their order, chunk sizes, pace, back-pressure and end.
//!
//! [`speak`] drives an engine itself, on the caller's thread, and hands out PCM: the command line. [`live`] runs on a
//! device shared with others and gives out a stream of packets: the server; every interface of it is a thin adapter
//! around a [`live::Control`] and an [`outbox::Events`]. Knows no web.

pub mod admission;
pub mod flow;
pub mod frontend;
pub mod live;
pub mod outbox;
pub mod pool;
pub mod refine;
pub mod report;
pub mod service;
mod utterance;

pub use crate::device::ChunkPlan;
pub use utterance::{Listener, PieceEnd, PieceReport, Plan, Report, SpeakError, speak};

use crate::model::rng::derive_seed;
use crate::model::sampling::{RngKind, Sampling};

/// Steps a text token may take on average before the text counts as run away: slow speech needs about ten.
const STEPS_PER_TOKEN: usize = 22;
/// Never less than six seconds.
const MIN_STEP_CAP: usize = 280;

/// The most steps a piece of so many text tokens may take.
pub fn step_cap(text_tokens: usize) -> usize {
    (text_tokens * STEPS_PER_TOKEN).max(MIN_STEP_CAP)
}

/// An empty result is tried this often again.
const RETRIES: u32 = 2;
/// Index of the first retry's seed; above any piece's.
const RETRY_SEEDS: u32 = 1 << 31;
/// Seeds are told to clients, and JavaScript's numbers are exact up to here.
const EXACT: u64 = (1 << 53) - 1;
/// The Python package's limit for a refinement.
const MAX_REFINE_TOKENS: usize = 384;

/// The seed of a piece's n-th further try. The reference mode gives every piece the same seed, as the Python package
/// does.
fn piece_seed(sampling: &Sampling, index: usize, retries: u32) -> u64 {
    let seed = sampling.seed;
    match sampling.rng {
        RngKind::Reference { .. } => seed.wrapping_add(u64::from(retries)),
        RngKind::Counter if index == 0 && retries == 0 => seed,
        RngKind::Counter if retries == 0 => derive_seed(seed, index as u32) & EXACT,
        RngKind::Counter => derive_seed(derive_seed(seed, index as u32), RETRY_SEEDS + retries) & EXACT,
    }
}
