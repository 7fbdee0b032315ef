//! The convolution stack of the Decoder and of both halves of the DVAE, and the mel decoder made of it:
//! two dense convolutions, ConvNeXt blocks, a pointwise convolution; then, for a decoder, one more convolution to mel.

use super::convnext::{Block, BlockDims};
use super::linear::{Epilogue, Linear, Rows};
use super::ring::{Carry, Window};
use super::weights::Source;
use crate::model::dims::ConvStackDims;
use crate::model::weights::WeightsError;
use crate::parallel::Team;

/// Taps of the dense convolutions around the blocks: a constant of the model family, in no configuration file.
const EDGE_TAPS: usize = 3;
const EDGE_PAD: usize = EDGE_TAPS / 2;

/// Working memory for one pass of layers; each layer reads `input`, writes `output` and swaps the two.
pub(super) struct Scratch {
    pub input: Window,
    pub output: Window,
    pub narrow: Vec<f32>,
    pub wide: Vec<f32>,
}

/// The largest sizes a [`Scratch`] must serve.
#[derive(Clone, Copy, Default)]
pub(super) struct ScratchDims {
    /// Floats of room that carries need in front of a window.
    pub head: usize,
    /// Channels of the widest window, and of the widest layer inside a block.
    pub narrow: usize,
    pub wide: usize,
}

impl ScratchDims {
    pub fn max(self, other: Self) -> Self {
        Self { head: self.head.max(other.head), narrow: self.narrow.max(other.narrow), wide: self.wide.max(other.wide) }
    }
}

impl Scratch {
    /// Room for `frames` frames at every layer.
    pub fn new(dims: ScratchDims, frames: usize) -> Self {
        let window = || Window::new(dims.head.next_multiple_of(16), frames * dims.narrow);
        let (narrow, wide) = (vec![0.0; frames * dims.narrow], vec![0.0; frames * dims.wide]);
        Self { input: window(), output: window(), narrow, wide }
    }

    pub fn swap(&mut self) {
        std::mem::swap(&mut self.input, &mut self.output);
    }
}

/// A dense same-size convolution in place of a window: returns the number of frames it gave.
pub(super) fn convolve(
    layer: &Linear,
    channels: usize,
    team: &Team,
    carry: &mut Carry,
    scratch: &mut Scratch,
    (frames, last): (usize, bool),
    epilogue: Epilogue<'_>,
) -> usize {
    let joined = carry.join(&mut scratch.input, frames, last);
    let rows = Rows { data: &scratch.input.data[joined.input], stride: channels, count: joined.outputs };
    layer.forward(team, rows, scratch.output.fresh_mut(), epilogue);
    scratch.swap();
    joined.outputs
}

pub(super) struct Stack {
    dims: ConvStackDims,
    conv_in: [Linear; 2],
    blocks: Vec<Block>,
    conv_out: Linear,
}

/// One carry for each layer that sees neighbouring frames.
pub(super) struct StackState {
    conv_in: [Carry; 2],
    blocks: Vec<Carry>,
}

fn block_dims(dims: &ConvStackDims) -> BlockDims {
    let (channels, kernel, dilation) = (dims.hidden, dims.kernel, dims.dilation);
    BlockDims { channels, inner: 4 * channels, kernel, dilation, scale: "weight" }
}

impl Stack {
    pub fn load(source: &Source<'_>, dims: &ConvStackDims) -> Result<Self, WeightsError> {
        source.check_layers(&format!("decoder_block.{}.norm.weight", dims.n_layer), dims.n_layer)?;
        let first = source.child("conv_in.0").conv(dims.bn_dim, dims.idim, EDGE_TAPS)?;
        let second = source.child("conv_in.2").conv(dims.hidden, dims.bn_dim, EDGE_TAPS)?;
        let block = |i: usize| Block::load(&source.child(format!("decoder_block.{i}")), block_dims(dims));
        Ok(Self {
            conv_in: [first, second],
            blocks: (0..dims.n_layer).map(block).collect::<Result<_, _>>()?,
            conv_out: source.child("conv_out").conv_without_bias(dims.odim, dims.hidden, 1)?,
            dims: dims.clone(),
        })
    }

    /// Frames to either side that one output frame depends on.
    pub fn reach(dims: &ConvStackDims) -> usize {
        2 * EDGE_PAD + dims.n_layer * block_dims(dims).pad()
    }

    pub fn state(dims: &ConvStackDims) -> StackState {
        let conv_in = [Carry::new(dims.idim, EDGE_PAD), Carry::new(dims.bn_dim, EDGE_PAD)];
        let block = |_| Carry::new(dims.hidden, block_dims(dims).pad());
        StackState { conv_in, blocks: (0..dims.n_layer).map(block).collect() }
    }

    pub fn scratch_dims(dims: &ConvStackDims) -> ScratchDims {
        let state = Self::state(dims);
        let head = state.conv_in.iter().chain(&state.blocks).map(Carry::head).max().unwrap_or(0);
        let narrow = [dims.idim, dims.bn_dim, dims.hidden, dims.odim].into_iter().max().unwrap_or(0);
        ScratchDims { head, narrow, wide: block_dims(dims).inner }
    }

    /// Takes `frames` new frames `[frames, idim]` in the scratch's input window; leaves the frames that are now
    /// certain, `[n, odim]`, in it and returns n.
    pub fn forward(
        &self,
        team: &Team,
        state: &mut StackState,
        scratch: &mut Scratch,
        frames: usize,
        last: bool,
    ) -> usize {
        let mut frames = self.head(team, state, scratch, frames, last);
        for i in 0..self.blocks.len() {
            frames = self.block(i, team, state, scratch, frames, last);
        }
        let rows =
            Rows { data: scratch.input.fresh(frames, self.dims.hidden), stride: self.dims.hidden, count: frames };
        self.conv_out.forward(team, rows, scratch.output.fresh_mut(), Epilogue::Plain);
        scratch.swap();
        frames
    }

    fn head(&self, team: &Team, state: &mut StackState, scratch: &mut Scratch, frames: usize, last: bool) -> usize {
        let ([first, second], [a, b]) = (&self.conv_in, &mut state.conv_in);
        let frames = convolve(first, self.dims.idim, team, a, scratch, (frames, last), Epilogue::BiasGelu);
        convolve(second, self.dims.bn_dim, team, b, scratch, (frames, last), Epilogue::Bias)
    }

    fn block(
        &self,
        i: usize,
        team: &Team,
        state: &mut StackState,
        scratch: &mut Scratch,
        frames: usize,
        last: bool,
    ) -> usize {
        let joined = state.blocks[i].join(&mut scratch.input, frames, last);
        self.blocks[i].forward(team, &joined, scratch);
        joined.outputs
    }
}

impl StackState {
    pub fn reset(&mut self) {
        self.conv_in.iter_mut().chain(&mut self.blocks).for_each(Carry::reset);
    }
}

/// `Decoder`, or the decoding half of `DVAE`: frames of `idim` channels to mel frames.
pub(super) struct MelDecoder {
    stack: Stack,
    out_conv: Linear,
    coef: Vec<f32>,
}

pub(super) struct MelState {
    stack: StackState,
    out_conv: Carry,
}

impl MelDecoder {
    pub fn load(source: &Source<'_>, dims: &ConvStackDims, n_mels: usize) -> Result<Self, WeightsError> {
        Ok(Self {
            stack: Stack::load(&source.child("decoder"), dims)?,
            out_conv: source.child("out_conv").conv_without_bias(n_mels, dims.odim, EDGE_TAPS)?,
            coef: source.vector("coef", &[1, n_mels, 1])?,
        })
    }

    pub fn reach(dims: &ConvStackDims) -> usize {
        Stack::reach(dims) + EDGE_PAD
    }

    pub fn state(&self) -> MelState {
        let dims = &self.stack.dims;
        MelState { stack: Stack::state(dims), out_conv: Carry::new(dims.odim, EDGE_PAD) }
    }

    pub fn scratch_dims(&self) -> ScratchDims {
        let out_conv =
            ScratchDims { head: 2 * EDGE_PAD * self.stack.dims.odim, narrow: self.out_conv.outputs(), wide: 0 };
        Stack::scratch_dims(&self.stack.dims).max(out_conv)
    }

    /// As [`Stack::forward`]; the frames it leaves are mel, `[n, n_mels]`.
    pub fn forward(
        &self,
        team: &Team,
        state: &mut MelState,
        scratch: &mut Scratch,
        frames: usize,
        last: bool,
    ) -> usize {
        let frames = self.stack.forward(team, &mut state.stack, scratch, frames, last);
        let (odim, scale) = (self.stack.dims.odim, Epilogue::Scale(&self.coef));
        convolve(&self.out_conv, odim, team, &mut state.out_conv, scratch, (frames, last), scale)
    }
}

impl MelState {
    pub fn reset(&mut self) {
        self.stack.reset();
        self.out_conv.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{Golden, assert_close, transposed};
    use crate::model::weights::Checkpoint;

    #[test]
    fn the_first_convolutions_and_one_block_match_the_python_package() {
        for golden in Golden::all() {
            let (dims, team) = (&golden.dims.decoder, Team::new(2));
            let checkpoint = Checkpoint::open(golden.dir.join("asset/Decoder.safetensors")).expect("the file opens");
            let stack = Stack::load(&Source::new(&checkpoint).child("decoder"), dims).expect("the stack loads");
            let hidden = golden.floats("code1.hiddens.0");
            let frames = hidden.len() / dims.idim;
            let mut scratch = Scratch::new(Stack::scratch_dims(dims), frames + 16);
            let mut state = Stack::state(dims);
            scratch.input.fresh_mut()[..hidden.len()].copy_from_slice(&hidden);
            assert_eq!(stack.head(&team, &mut state, &mut scratch, frames, true), frames);
            let want = transposed(&golden.floats("dec.conv_in"), dims.hidden);
            assert_close(scratch.input.fresh(frames, dims.hidden), &want, 1e-5, "conv_in");
            assert_eq!(stack.block(0, &team, &mut state, &mut scratch, frames, true), frames);
            let want = transposed(&golden.floats("dec.block0"), dims.hidden);
            assert_close(scratch.input.fresh(frames, dims.hidden), &want, 1e-5, "block 0");
        }
    }
}
