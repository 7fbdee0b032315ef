//! voxwire: a realtime ChatTTS engine.
//!
//! The rooms, and what each is for:
//!
//! - [`cli`]: the commands `say`, `voices`, `models`, `doctor`; one file each.
//! - [`text`]: raw text -> spoken text -> pieces; knows no model weights.
//! - [`model`]: what ChatTTS *is*: dimensions, files, weights, tokens, voices, prompts, sampling, random numbers.
//! - [`engine`]: runs the model: the [`engine::Engine`] contract and its implementations. Knows no web and no actor.
//! - [`codec`]: codes or hidden states -> mel -> PCM, incrementally; and audio -> codes.
//! - [`session`]: one utterance's life: pieces, order, chunk sizes, retries.
//! - [`device`]: what the machine's GPUs are.
//! - [`audio`]: containers and sample formats; a leaf.
//! - [`machine`]: what the machine can do, measured.
//! - [`parallel`]: the thread team engines and codec share.
//!
//! Knowledge flows one way: cli -> session -> engine -> codec, model; text and audio are leaves.

pub mod api;
pub mod audio;
pub mod cli;
pub mod codec;
pub mod device;
pub mod engine;
pub mod machine;
pub mod model;
pub mod parallel;
pub mod session;
pub mod telemetry;
pub mod text;
