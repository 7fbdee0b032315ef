//! Reads the codec's layers out of a checkpoint, by name and expected shape.

use super::linear::Linear;
use crate::model::weights::{Checkpoint, WeightsError};

/// A place in a checkpoint: `NAME` is read as `{prefix}NAME`.
pub(super) struct Source<'a> {
    checkpoint: &'a Checkpoint,
    prefix: String,
}

impl<'a> Source<'a> {
    pub fn new(checkpoint: &'a Checkpoint) -> Self {
        Self { checkpoint, prefix: String::new() }
    }

    pub fn child(&self, name: impl std::fmt::Display) -> Self {
        Self { checkpoint: self.checkpoint, prefix: format!("{}{name}.", self.prefix) }
    }

    /// Refuses a stack with more layers than the configuration says.
    pub fn check_layers(&self, name: &str, layers: usize) -> Result<(), WeightsError> {
        self.checkpoint.check_layers(&format!("{}{name}", self.prefix), layers)
    }

    /// A small tensor, copied.
    pub fn vector(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        Ok(self.checkpoint.tensor(&format!("{}{name}", self.prefix), shape)?.to_f32().into_owned())
    }

    /// `weight` as `[outputs, inputs]`, with `bias`.
    pub fn linear(&self, outputs: usize, inputs: usize) -> Result<Linear, WeightsError> {
        let bias = self.vector("bias", &[outputs])?;
        self.packed(&[outputs, inputs], bias)
    }

    /// A convolution's `weight` as `[outputs, channels, taps]`, with `bias`.
    pub fn conv(&self, outputs: usize, channels: usize, taps: usize) -> Result<Linear, WeightsError> {
        let bias = self.vector("bias", &[outputs])?;
        self.packed(&[outputs, channels, taps], bias)
    }

    /// As [`Source::conv`], for one that has no bias.
    pub fn conv_without_bias(&self, outputs: usize, channels: usize, taps: usize) -> Result<Linear, WeightsError> {
        self.packed(&[outputs, channels, taps], Vec::new())
    }

    fn packed(&self, shape: &[usize], bias: Vec<f32>) -> Result<Linear, WeightsError> {
        let tensor = self.checkpoint.tensor(&format!("{}weight", self.prefix), shape)?;
        let taps = shape.get(2).copied().unwrap_or(1);
        let layer = Linear::new(&tensor.to_f32(), shape[0], shape[1], taps, bias);
        tensor.release_pages();
        Ok(layer)
    }

    /// A depthwise convolution's `weight`, `[channels, 1, taps]` in the file, as `[taps][channels]`; and its `bias`.
    pub fn depthwise(&self, channels: usize, taps: usize) -> Result<(Vec<f32>, Vec<f32>), WeightsError> {
        let stored = self.vector("weight", &[channels, 1, taps])?;
        let weight = (0..taps * channels).map(|i| stored[i % channels * taps + i / channels]).collect();
        Ok((weight, self.vector("bias", &[channels])?))
    }
}
