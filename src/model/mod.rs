//! What ChatTTS *is*: dimensions, files, weights, tokens, voices, prompts, sampling, random numbers.
//!
//! Nothing in here runs the network: that is the engines' business.

pub mod dims;
pub mod prompt;
pub mod speaker;
pub mod torch_rng;
pub mod weights;
