//! Audio to codes, for speaker samples: log-mel, the DVAE's encoder, quantisation. One pass over a whole recording.

use std::path::Path;

use super::gfsq::Quantiser;
use super::linear::{Epilogue, Linear, Rows};
use super::mel::LogMel;
use super::stack::{Scratch, Stack};
use super::weights::Source;
use super::{CHUNK_FRAMES, CodecError};
use crate::model::dims::Dims;
use crate::model::weights::Checkpoint;
use crate::parallel::Team;

/// The convolutions that halve the frame rate (`downsample_conv`): constants of the model family.
const FIRST_TAPS: usize = 3;
const SECOND_TAPS: usize = 4;
const STRIDE: usize = 2;
const PAD: usize = 1;

/// The encoding half of `DVAE.safetensors`.
pub struct Encoder {
    mel: LogMel,
    coef: Vec<f32>,
    first: Linear,
    second: Linear,
    stack: Stack,
    quantiser: Quantiser,
    dims: Dims,
}

impl Encoder {
    /// Loads from the model in `dir` (the folder that holds `asset/`).
    pub fn load(dir: &Path, dims: &Dims) -> Result<Self, CodecError> {
        super::check_dims(dims)?;
        let checkpoint = Checkpoint::open(dir.join("asset/DVAE.safetensors"))?;
        let source = Source::new(&checkpoint);
        let (mels, idim) = (dims.vocos.n_mels, dims.dvae.encoder.idim);
        Ok(Self {
            mel: LogMel::load(&source, &dims.vocos)?,
            coef: source.vector("coef", &[1, mels, 1])?,
            first: source.child("downsample_conv.0").conv(idim, mels, FIRST_TAPS)?,
            second: source.child("downsample_conv.2").conv(idim, idim, SECOND_TAPS)?,
            stack: Stack::load(&source.child("encoder"), &dims.dvae.encoder)?,
            quantiser: Quantiser::load(&source, &dims.dvae.vq)?,
            dims: dims.clone(),
        })
    }

    /// `pcm`: f32, mono, at the model's sample rate. Returns codes `[T, num_vq]`, T = (1 + samples / hop) / 2.
    ///
    /// # Errors
    /// If there are fewer samples than the first frame reaches, or a sample is not finite.
    pub fn encode(&self, team: &Team, pcm: &[f32]) -> Result<Vec<u16>, CodecError> {
        let expected = self.mel.min_samples();
        if pcm.len() < expected {
            return Err(CodecError::TooShort { expected, found: pcm.len() });
        }
        if let Some(index) = pcm.iter().position(|x| !x.is_finite()) {
            return Err(CodecError::NotFinite { index });
        }
        let mel = self.mel.forward(team, pcm);
        Ok(self.quantiser.forward(&self.vectors(team, &mel)))
    }

    /// Log-mel `[F, n_mels]` to what is quantised, `[F / 2, vq.dim]`.
    fn vectors(&self, team: &Team, mel: &[f32]) -> Vec<f32> {
        let input = self.downsample(team, mel);
        let dims = &self.dims.dvae.encoder;
        let (mut state, reach) = (Stack::state(dims), Stack::reach(dims));
        let mut scratch = Scratch::new(Stack::scratch_dims(dims), CHUNK_FRAMES + 2 * reach);
        let mut out = Vec::with_capacity(input.len() / dims.idim * dims.odim);
        let mut chunks = input.chunks(CHUNK_FRAMES * dims.idim).peekable();
        while let Some(chunk) = chunks.next() {
            scratch.input.fresh_mut()[..chunk.len()].copy_from_slice(chunk);
            let (frames, last) = (chunk.len() / dims.idim, chunks.peek().is_none());
            let ready = self.stack.forward(team, &mut state, &mut scratch, frames, last);
            out.extend_from_slice(scratch.input.fresh(ready, dims.odim));
        }
        out
    }

    /// Log-mel `[F, n_mels]` to `[F / 2, encoder.idim]`.
    fn downsample(&self, team: &Team, mel: &[f32]) -> Vec<f32> {
        let (mels, idim) = (self.coef.len(), self.first.outputs());
        let frames = mel.len() / mels;
        let mut padded = vec![0.0; (frames + 2 * PAD) * mels];
        for (i, (to, x)) in padded[PAD * mels..].iter_mut().zip(mel).enumerate() {
            *to = x / self.coef[i % mels];
        }
        let mut middle = vec![0.0; (frames + 2 * PAD).max(PAD + 2) * idim];
        let rows = Rows { data: &padded, stride: mels, count: frames };
        self.first.forward(team, rows, &mut middle[PAD * idim..], Epilogue::BiasGelu);
        middle[(PAD + frames) * idim..].fill(0.0);
        let halved = (frames + 2 * PAD - SECOND_TAPS) / STRIDE + 1;
        let mut out = vec![0.0; halved.max(2) * idim];
        let rows = Rows { data: &middle, stride: STRIDE * idim, count: halved };
        self.second.forward(team, rows, &mut out, Epilogue::BiasGelu);
        out.truncate(halved * idim);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{Golden, assert_close, transposed};

    #[test]
    fn every_stage_matches_the_python_package() {
        for golden in Golden::all() {
            let team = Team::new(2);
            let encoder = Encoder::load(&golden.dir, &golden.dims).expect("the encoder loads");
            let pcm = golden.floats("dec.wav");
            let mel = encoder.mel.forward(&team, &pcm);
            let mels = golden.dims.vocos.n_mels;
            assert_close(&mel, &transposed(&golden.floats("dvae.logmel"), mels), 1e-4, "log-mel");
            let vectors = encoder.vectors(&team, &mel);
            let dim = golden.dims.dvae.vq.dim;
            assert_close(&vectors, &transposed(&golden.floats("dvae.enc"), dim), 1e-4, "encoder");
            let want = transposed(&golden.codes("dvae.sample_audio_codes"), golden.dims.gpt.num_vq);
            assert_eq!(encoder.encode(&team, &pcm).expect("the recording is long enough"), want);
        }
    }

    #[test]
    fn unusable_audio_is_an_error() {
        let golden = Golden::tiny();
        let (team, encoder) = (Team::new(1), Encoder::load(&golden.dir, &golden.dims).expect("the encoder loads"));
        let error = encoder.encode(&team, &[0.0; 512]).expect_err("512 samples cannot be reflected");
        assert_eq!(error.to_string(), "audio: expected at least 513 samples, found 512");
        let mut pcm = vec![0.1; 600];
        pcm[77] = f32::NAN;
        assert!(matches!(encoder.encode(&team, &pcm), Err(CodecError::NotFinite { index: 77 })));
        pcm[77] = 0.0;
        assert_eq!(encoder.encode(&team, &pcm).expect("600 samples are enough").len(), golden.dims.gpt.num_vq);
    }
}
