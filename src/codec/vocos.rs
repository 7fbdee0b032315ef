//! Vocos (Siuzdak 2023): mel frames to a complex spectrum for each frame, to be overlap-added by [`super::istft`].

use super::convnext::{Block, BlockDims, LayerNorm};
use super::istft::{Istft, IstftState};
use super::linear::{Epilogue, Linear, Rows};
use super::ring::Carry;
use super::stack::{Scratch, ScratchDims, convolve};
use super::weights::Source;
use crate::model::dims::VocosDims;
use crate::model::weights::WeightsError;
use crate::parallel::Team;

/// Kernel of the embedding and of every block: a constant of Vocos, in no configuration file.
const KERNEL: usize = 7;
const PAD: usize = KERNEL / 2;

pub(super) struct Vocos {
    dims: VocosDims,
    embed: Linear,
    norm: LayerNorm,
    blocks: Vec<Block>,
    final_norm: LayerNorm,
    head: Linear,
    istft: Istft,
}

pub(super) struct VocosState {
    embed: Carry,
    blocks: Vec<Carry>,
    istft: IstftState,
}

impl Vocos {
    pub fn load(source: &Source<'_>, dims: &VocosDims) -> Result<Self, WeightsError> {
        let (channels, inner) = (dims.dim, dims.intermediate_dim);
        let block = BlockDims { channels, inner, kernel: KERNEL, dilation: 1, scale: "gamma" };
        let backbone = source.child("backbone");
        backbone.check_layers(&format!("convnext.{}.norm.weight", dims.num_layers), dims.num_layers)?;
        let load = |i: usize| Block::load(&backbone.child(format!("convnext.{i}")), block);
        let window = source.vector("head.istft.window", &[dims.n_fft])?;
        Ok(Self {
            embed: backbone.child("embed").conv(channels, dims.n_mels, KERNEL)?,
            norm: LayerNorm::load(&backbone.child("norm"), channels)?,
            blocks: (0..dims.num_layers).map(load).collect::<Result<_, _>>()?,
            final_norm: LayerNorm::load(&backbone.child("final_layer_norm"), channels)?,
            head: source.child("head.out").linear(dims.n_fft + 2, channels)?,
            istft: Istft::new(&window, dims.hop_length),
            dims: dims.clone(),
        })
    }

    /// Mel frames to either side that one spectrum frame depends on.
    pub fn reach(dims: &VocosDims) -> usize {
        PAD * (1 + dims.num_layers)
    }

    /// State for passes of at most `frames` frames.
    pub fn state(&self, frames: usize) -> VocosState {
        VocosState {
            embed: Carry::new(self.dims.n_mels, PAD),
            blocks: self.blocks.iter().map(|_| Carry::new(self.dims.dim, PAD)).collect(),
            istft: self.istft.state(frames),
        }
    }

    pub fn scratch_dims(&self) -> ScratchDims {
        let d = &self.dims;
        let narrow = d.dim.max(d.n_mels);
        ScratchDims { head: 2 * PAD * narrow, narrow, wide: d.intermediate_dim.max(d.n_fft + 2) }
    }

    /// Takes `frames` new mel frames in the scratch's input window and appends the samples that are now certain.
    pub fn forward(
        &self,
        team: &Team,
        state: &mut VocosState,
        scratch: &mut Scratch,
        (frames, last): (usize, bool),
        pcm: &mut Vec<f32>,
    ) {
        let frames = self.backbone(team, state, scratch, frames, last);
        let dim = self.dims.dim;
        let rows = Rows { data: scratch.input.fresh(frames, dim), stride: dim, count: frames };
        self.head.forward(team, rows, &mut scratch.wide, Epilogue::Bias);
        let spectra = &scratch.wide[..frames * (self.dims.n_fft + 2)];
        self.istft.forward(team, &mut state.istft, spectra, last, pcm);
    }

    /// Leaves `[n, dim]` in the scratch's input window and returns n.
    fn backbone(&self, team: &Team, state: &mut VocosState, scratch: &mut Scratch, frames: usize, last: bool) -> usize {
        let dim = self.dims.dim;
        let embed = &mut state.embed;
        let mut frames = convolve(&self.embed, self.dims.n_mels, team, embed, scratch, (frames, last), Epilogue::Bias);
        self.norm.forward(team, &mut scratch.input.fresh_mut()[..frames * dim]);
        for (block, carry) in self.blocks.iter().zip(&mut state.blocks) {
            let joined = carry.join(&mut scratch.input, frames, last);
            block.forward(team, &joined, scratch);
            frames = joined.outputs;
        }
        self.final_norm.forward(team, &mut scratch.input.fresh_mut()[..frames * dim]);
        frames
    }
}

impl VocosState {
    pub fn reset(&mut self) {
        self.embed.reset();
        self.blocks.iter_mut().for_each(Carry::reset);
        self.istft.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{Golden, assert_close, transposed};
    use crate::model::weights::Checkpoint;

    #[test]
    fn backbone_and_waveform_match_the_python_package() {
        for golden in Golden::all() {
            let (dims, team) = (&golden.dims.vocos, Team::new(2));
            let checkpoint = Checkpoint::open(golden.dir.join("asset/Vocos.safetensors")).expect("the file opens");
            let vocos = Vocos::load(&Source::new(&checkpoint), dims).expect("vocos loads");
            let mel = transposed(&golden.floats("dec.mel"), dims.n_mels);
            let frames = mel.len() / dims.n_mels;
            let mut scratch = Scratch::new(vocos.scratch_dims(), frames + 16);
            let mut state = vocos.state(frames);
            scratch.input.fresh_mut()[..mel.len()].copy_from_slice(&mel);
            assert_eq!(vocos.backbone(&team, &mut state, &mut scratch, frames, true), frames);
            let found = scratch.input.fresh(frames, dims.dim).to_vec();
            assert_close(&found, &golden.floats("dec.vocos_backbone"), 1e-5, "backbone");

            state.reset();
            let mut pcm = Vec::new();
            scratch.input.fresh_mut()[..mel.len()].copy_from_slice(&mel);
            vocos.forward(&team, &mut state, &mut scratch, (frames, true), &mut pcm);
            assert_close(&pcm, &golden.floats("dec.wav"), 1e-5, "waveform");
        }
    }
}
