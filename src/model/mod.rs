//! What ChatTTS *is*: dimensions, files, weights, tokens, voices, prompts, sampling, random numbers.
//!
//! Nothing in here runs the network: that is the engines' business.

pub mod dims;
pub(crate) mod file;
pub mod manifest;
pub mod prompt;
pub mod rng;
pub mod sampling;
pub mod speaker;
pub mod tokenizer;
pub mod torch_rng;
pub mod weights;
