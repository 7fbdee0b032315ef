//! A device: an engine on a thread of its own, the rows it runs, and the actor that speaks for it.
//!
//! - [`batch`]: which rows step, which steps are decoded, in what order; no threads in it.
//! - [`thread`]: runs a batch on an engine until it is stopped or the engine is lost.
//! - [`actor`]: the device's mailbox: admission, state, heartbeat.
//! - [`gpu`]: what GPUs the machine has.
//!
//! Knows no text, no sound format and no web: a row comes in as a prompt and goes out as PCM through a [`RowSink`].

pub mod actor;
pub mod batch;
mod chunks;
pub mod gpu;
#[cfg(test)]
pub(crate) mod testing;
pub mod thread;

pub use batch::{Demand, Job, RowEnd, RowOutcome, RowSink};
pub use chunks::{ChunkPlan, Chunks};
