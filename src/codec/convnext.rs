//! The ConvNeXt block (Liu et al. 2022, in one dimension): depthwise convolution, LayerNorm, a two-layer perceptron
//! with GELU, a learned scale, and the residual. The Decoder, both halves of the DVAE and Vocos are made of it.

use super::linear::{Epilogue, Linear, Rows};
use super::ring::Joined;
use super::shared::Shared;
use super::simd::{dispatch, fma};
use super::stack::Scratch;
use super::weights::Source;
use crate::model::weights::WeightsError;
use crate::parallel::Team;

const EPS: f32 = 1e-6;

/// LayerNorm over the channels of each frame.
pub(super) struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl LayerNorm {
    pub fn load(source: &Source<'_>, channels: usize) -> Result<Self, WeightsError> {
        Ok(Self { weight: source.vector("weight", &[channels])?, bias: source.vector("bias", &[channels])? })
    }

    /// Normalises `[frames, channels]` in place, each member of the team some of the frames.
    pub fn forward(&self, team: &Team, rows: &mut [f32]) {
        let (channels, threads) = (self.weight.len(), team.threads());
        let frames = rows.len() / channels;
        let rows = Shared::new(rows);
        team.run(|member| {
            let mine = Team::range(frames, threads, member, 1);
            // SAFETY: the members' frames are disjoint.
            let part = unsafe { rows.part(mine.start * channels..mine.end * channels) };
            normalise(part, &self.weight, &self.bias);
        });
    }
}

pub(super) struct Block {
    channels: usize,
    kernel: usize,
    dilation: usize,
    depthwise: Vec<f32>,
    depthwise_bias: Vec<f32>,
    norm: LayerNorm,
    expand: Linear,
    contract: Linear,
    scale: Vec<f32>,
}

/// The sizes of a block; `scale` is the name of its layer scale in the file.
#[derive(Clone, Copy)]
pub(super) struct BlockDims {
    pub channels: usize,
    pub inner: usize,
    pub kernel: usize,
    pub dilation: usize,
    pub scale: &'static str,
}

impl BlockDims {
    /// Frames the block sees to either side.
    pub fn pad(&self) -> usize {
        self.dilation * (self.kernel - 1) / 2
    }
}

impl Block {
    pub fn load(source: &Source<'_>, dims: BlockDims) -> Result<Self, WeightsError> {
        let BlockDims { channels, inner, kernel, dilation, scale } = dims;
        let (depthwise, depthwise_bias) = source.child("dwconv").depthwise(channels, kernel)?;
        Ok(Self {
            channels,
            kernel,
            dilation,
            depthwise,
            depthwise_bias,
            norm: LayerNorm::load(&source.child("norm"), channels)?,
            expand: source.child("pwconv1").linear(inner, channels)?,
            contract: source.child("pwconv2").linear(channels, inner)?,
            scale: source.vector(scale, &[channels])?,
        })
    }

    /// Reads `joined` of the input window and writes the block's frames to the output window, then swaps the two.
    pub fn forward(&self, team: &Team, joined: &Joined, scratch: &mut Scratch) {
        let (c, frames) = (self.channels, joined.outputs);
        if frames == 0 {
            return;
        }
        let input = &scratch.input.data[joined.input.clone()];
        self.mix_frames(team, input, &mut scratch.narrow[..frames * c]);
        let normed = Rows { data: &scratch.narrow, stride: c, count: frames };
        self.expand.forward(team, normed, &mut scratch.wide, Epilogue::BiasGelu);
        let inner = self.expand.outputs();
        let expanded = Rows { data: &scratch.wide, stride: inner, count: frames };
        let pad = self.dilation * (self.kernel - 1) / 2;
        let epilogue = Epilogue::Residual { scale: &self.scale, residual: &input[pad * c..] };
        self.contract.forward(team, expanded, scratch.output.fresh_mut(), epilogue);
        scratch.swap();
    }

    /// Depthwise convolution and LayerNorm of the window into `out`, `[frames, channels]`, split over frames.
    fn mix_frames(&self, team: &Team, window: &[f32], out: &mut [f32]) {
        let (c, threads) = (self.channels, team.threads());
        let frames = out.len() / c;
        let out = Shared::new(out);
        team.run(|member| {
            let mine = Team::range(frames, threads, member, 1);
            // SAFETY: the members' frames are disjoint.
            let part = unsafe { out.part(mine.start * c..mine.end * c) };
            let taps = Taps { weight: &self.depthwise, bias: &self.depthwise_bias, dilation: self.dilation };
            depthwise(part, &window[mine.start * c..], taps, &self.norm.weight, &self.norm.bias);
        });
    }
}

/// A depthwise convolution's weights: `weight` is `[taps][channels]`.
#[derive(Clone, Copy)]
struct Taps<'a> {
    weight: &'a [f32],
    bias: &'a [f32],
    dilation: usize,
}

dispatch! {
    /// out[i] = LayerNorm(bias + sum over taps of weight[tap] * window[i + tap * dilation]).
    fn depthwise(out: &mut [f32], window: &[f32], taps: Taps<'_>, weight: &[f32], bias: &[f32]) = depthwise_body
}
dispatch! {
    /// LayerNorm of each row.
    fn normalise(rows: &mut [f32], weight: &[f32], bias: &[f32]) = normalise_body
}

#[inline(always)]
fn depthwise_body<const F: bool>(out: &mut [f32], window: &[f32], taps: Taps<'_>, weight: &[f32], bias: &[f32]) {
    let c = taps.bias.len();
    for (i, row) in out.chunks_exact_mut(c).enumerate() {
        if taps.weight.len() == 7 * c {
            seven_taps::<F>(row, &window[i * c..], taps);
        } else {
            row.copy_from_slice(taps.bias);
            for (tap, w) in taps.weight.chunks_exact(c).enumerate() {
                let x = &window[(i + tap * taps.dilation) * c..][..c];
                for ((o, w), x) in row.iter_mut().zip(w).zip(x) {
                    *o = fma::<F>(*w, *x, *o);
                }
            }
        }
        normalise_row::<F>(row, weight, bias);
    }
}

/// The published kernel size in one pass over the channels.
#[inline(always)]
fn seven_taps<const F: bool>(row: &mut [f32], window: &[f32], taps: Taps<'_>) {
    let c = row.len();
    let w: [&[f32]; 7] = std::array::from_fn(|tap| &taps.weight[tap * c..][..c]);
    let x: [&[f32]; 7] = std::array::from_fn(|tap| &window[tap * taps.dilation * c..][..c]);
    let bias = &taps.bias[..c];
    for i in 0..c {
        let mut sum = bias[i];
        for tap in 0..7 {
            sum = fma::<F>(w[tap][i], x[tap][i], sum);
        }
        row[i] = sum;
    }
}

#[inline(always)]
fn normalise_body<const F: bool>(rows: &mut [f32], weight: &[f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(weight.len()) {
        normalise_row::<F>(row, weight, bias);
    }
}

#[inline(always)]
fn normalise_row<const F: bool>(row: &mut [f32], weight: &[f32], bias: &[f32]) {
    let n = row.len() as f32;
    let mean = lane_sum(row, |x| x) / n;
    let variance = lane_sum(row, |x| (x - mean) * (x - mean)) / n;
    let scale = 1.0 / (variance + EPS).sqrt();
    for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
        *x = fma::<F>((*x - mean) * scale, *w, *b);
    }
}

/// Sums `f` of all values in 16 lanes, so that the order is the same at every vector width.
#[inline(always)]
fn lane_sum(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 16];
    let mut chunks = row.chunks_exact(16);
    for chunk in &mut chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += f(*x);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane += f(*x);
    }
    let mut width = 8;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_of_seven_taps_equals_tap_by_tap() {
        let (c, frames, dilation) = (37, 5, 2);
        let value = |i: usize| ((i * 7919 % 1009) as f32 / 504.5 - 1.0) * 2.0;
        let window: Vec<f32> = (0..(frames + 6 * dilation) * c).map(value).collect();
        let weight: Vec<f32> = (0..7 * c).map(|i| value(i + 17)).collect();
        let bias: Vec<f32> = (0..c).map(|i| value(i + 5)).collect();
        let (ones, zeros) = (vec![1.0; c], vec![0.0; c]);
        let mut out = vec![0.0; frames * c];
        let taps = Taps { weight: &weight, bias: &bias, dilation };
        depthwise(&mut out, &window, taps, &ones, &zeros);
        // The same with an eighth tap of zeros takes the other path.
        let mut longer = weight.clone();
        longer.resize(8 * c, 0.0);
        let window: Vec<f32> = window.iter().copied().chain(vec![0.0; dilation * c]).collect();
        let mut slow = vec![0.0; frames * c];
        depthwise(&mut slow, &window, Taps { weight: &longer, ..taps }, &ones, &zeros);
        assert_eq!(out, slow);
        let mut plain = vec![0.0; frames * c];
        depthwise_body::<false>(&mut plain, &window, taps, &ones, &zeros);
        assert!(out.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-5));
        // Each row is normalised: mean 0, variance 1.
        for row in out.chunks_exact(c) {
            let mean = row.iter().sum::<f32>() / c as f32;
            let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / c as f32;
            assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4);
        }
    }
}
