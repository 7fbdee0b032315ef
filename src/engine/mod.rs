//! Runs the model. One trait, so that the session and the device actor need not know what computes.
//!
//! An utterance occupies one *slot*: its KV cache, its sampling state and its codec state. `prefill` starts slots,
//! `step` advances any subset of them by one decode step, `decode` turns finished steps into PCM, `release` frees.
//! A row's codes and audio depend on that row alone: never on the batch, its neighbours, or the chunk sizes.

pub mod cpu;
pub mod fake;

use crate::model::prompt::{DecodePath, Prompt};
use crate::model::sampling::Sampling;

/// A place in the engine. The generation changes at every reuse, so that a stale handle is refused instead of
/// receiving its successor's audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub index: u32,
    pub generation: u32,
}

/// What an engine can hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub slots: usize,
    /// Positions (prompt + steps) one slot can hold.
    pub positions: usize,
}

/// A request as the engine sees it.
#[derive(Clone, Debug)]
pub struct Row {
    pub prompt: Prompt,
    pub sampling: Sampling,
    pub decode: DecodePath,
    /// Codes another engine already made for this row: they are replayed as positions, and stepping goes on after
    /// them with the same ids and the same samples as if nothing had happened.
    pub made: Vec<Vec<u16>>,
}

/// What one step gave one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// One code per codebook; the step counts as audio.
    Codes(Vec<u16>),
    /// A token of the text head (refinement).
    Token(u32),
    /// The row has ended; this step is not audio.
    End,
    /// The slot has no position left; nothing was computed.
    Full,
    /// The row's values stopped being finite: it ends alone, its neighbours go on.
    Failed,
}

/// Decode `steps` more steps of a slot; `last` flushes the codec's look-ahead.
#[derive(Clone, Copy, Debug)]
pub struct DecodeJob {
    pub slot: Slot,
    pub steps: usize,
    pub last: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("slot {0:?} is not in use: released, or from an earlier generation")]
    StaleSlot(Slot),
    #[error("no free slot: all {0} are in use")]
    Full(usize),
    #[error("prompt: expected at most {limit} positions, found {found}")]
    TooLong { limit: usize, found: usize },
    #[error("prompt: {0}")]
    Prompt(String),
    #[error("decode: expected at most {available} steps, found {asked}")]
    TooFewSteps { asked: usize, available: usize },
    #[error("decode: {0}")]
    Decode(String),
    #[error("the device failed: {0}")]
    Device(String),
}

/// See the module documentation. An error of kind [`EngineError::Device`] means that the whole engine is lost.
pub trait Engine: Send {
    fn capacity(&self) -> Capacity;

    /// Steps that must follow a step before all of its audio is out.
    fn lookahead(&self, path: DecodePath) -> usize;

    /// Starts rows and runs their prompts. All rows start or none does.
    fn prefill(&mut self, rows: Vec<Row>) -> Result<Vec<Slot>, EngineError>;

    /// Advances each slot by one step and returns their outcomes in order. A row that ended or failed may not be
    /// stepped again.
    fn step(&mut self, slots: &[Slot]) -> Result<Vec<StepOutcome>, EngineError>;

    /// Decodes steps made but not yet decoded, and returns each job's new PCM: f32, mono, the model's sample rate.
    /// What comes back lags the steps by the codec's look-ahead until `last`.
    fn decode(&mut self, jobs: &[DecodeJob]) -> Result<Vec<Vec<f32>>, EngineError>;

    fn release(&mut self, slot: Slot) -> Result<(), EngineError>;
}
