//! Codes or hidden states -> mel -> PCM, incrementally: what comes out in chunks is what one pass over the whole
//! utterance gives. And the way back, audio -> codes, for speaker samples.
//!
//! Every layer keeps the tail of its input between pushes and computes each frame once, so the cost of a chunk does
//! not depend on how much came before. Zero padding is applied at *every* layer: each starts with its own zeros and
//! gets its own zeros after its last real frame, as when the whole utterance is one array.
//!
//! Streamed output is equal to whole output bit for bit, for any chunking and any number of threads, on one machine:
//! every sum is taken in an order that depends on neither (see `linear.rs`). Machines with other instruction sets or
//! another version of `gemm` may differ in the last bits.
//!
//! Activations are `[frame][channel]`. The layers come from the tensors of `Decoder.safetensors`, `DVAE.safetensors`
//! and `Vocos.safetensors`; the architectures are ConvNeXt, Vocos and FSQ as published by their authors.

mod convnext;
mod encoder;
mod gfsq;
mod istft;
mod linear;
mod mel;
mod ring;
mod shared;
mod simd;
mod stack;
mod stream;
#[cfg(test)]
mod testing;
mod vocos;
mod weights;

use std::ops::Range;
use std::path::Path;

pub use encoder::Encoder;
pub use stream::{Stream, lookahead_frames, lookahead_steps, samples_given};

use crate::model::dims::{ConvStackDims, Dims};
use crate::model::prompt::DecodePath;
use crate::model::weights::{Checkpoint, WeightsError};
use gfsq::Embedding;
use stack::MelDecoder;
use vocos::Vocos;
use weights::Source;

/// Steps in one pass through the layers: a longer push is cut, so that working memory is bounded. 64 mel frames are
/// enough to use the matrix kernels fully.
const CHUNK_STEPS: usize = 32;
const CHUNK_FRAMES: usize = CHUNK_STEPS * Dims::FRAMES_PER_STEP;

#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("{field}: expected {expected}, found {found}")]
    Dims { field: &'static str, expected: String, found: usize },
    #[error("decode path {0:?}: its weights were not loaded")]
    NotLoaded(DecodePath),
    #[error("decode input: expected a multiple of {width} values, found {found}")]
    Length { width: usize, found: usize },
    #[error("decode input: step {step}, codebook {codebook}: expected a code below {limit}, found {found}")]
    Code { step: usize, codebook: usize, limit: usize, found: u16 },
    #[error("decode input: expected {before:?} as before in this utterance, found {now:?}")]
    Mixed { before: DecodePath, now: DecodePath },
    #[error("decode input: the utterance is finished")]
    Finished,
    #[error("audio: expected at least {expected} samples, found {found}")]
    TooShort { expected: usize, found: usize },
    #[error("audio: sample {index}: expected a finite number")]
    NotFinite { index: usize },
}

/// Decode steps, one row each.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Hidden states after the final norm, `[T, hidden_size]`.
    Hidden(&'a [f32]),
    /// Codes, `[T, num_vq]`; the end code is not one.
    Codes(&'a [u16]),
}

impl<'a> Input<'a> {
    pub fn path(self) -> DecodePath {
        match self {
            Input::Hidden(_) => DecodePath::Hidden,
            Input::Codes(_) => DecodePath::Codes,
        }
    }

    fn len(self) -> usize {
        match self {
            Input::Hidden(rows) => rows.len(),
            Input::Codes(codes) => codes.len(),
        }
    }

    fn steps(self, codec: &Codec, steps: Range<usize>) -> Self {
        let width = codec.step_width(self.path());
        let values = steps.start * width..steps.end * width;
        match self {
            Input::Hidden(rows) => Input::Hidden(&rows[values]),
            Input::Codes(codes) => Input::Codes(&codes[values]),
        }
    }
}

/// The codec's weights, shared by all streams.
pub struct Codec {
    dims: Dims,
    hidden: Option<MelDecoder>,
    codes: Option<CodesPath>,
    vocos: Vocos,
}

struct CodesPath {
    embedding: Embedding,
    decoder: MelDecoder,
}

impl Codec {
    /// Loads what `paths` need from the model in `dir` (the folder that holds `asset/`). At full size the hidden-state
    /// path takes 104 MB, the codes path 30 MB and the vocoder both share 54 MB, all in f32.
    pub fn load(dir: &Path, dims: &Dims, paths: &[DecodePath]) -> Result<Self, CodecError> {
        check_dims(dims)?;
        let open = |file: &str| Checkpoint::open(dir.join("asset").join(file));
        let n_mels = dims.vocos.n_mels;
        let (mut hidden, mut codes) = (None, None);
        if paths.contains(&DecodePath::Hidden) {
            let checkpoint = open("Decoder.safetensors")?;
            hidden = Some(MelDecoder::load(&Source::new(&checkpoint), &dims.decoder, n_mels)?);
        }
        if paths.contains(&DecodePath::Codes) {
            let checkpoint = open("DVAE.safetensors")?;
            let source = Source::new(&checkpoint);
            let embedding = Embedding::load(&source, &dims.dvae.vq)?;
            codes = Some(CodesPath { embedding, decoder: MelDecoder::load(&source, &dims.dvae.decoder, n_mels)? });
        }
        let vocos = Vocos::load(&Source::new(&open("Vocos.safetensors")?), &dims.vocos)?;
        Ok(Self { dims: dims.clone(), hidden, codes, vocos })
    }

    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// Values of one step's input.
    fn step_width(&self, path: DecodePath) -> usize {
        match path {
            DecodePath::Hidden => self.dims.gpt.hidden_size,
            DecodePath::Codes => self.dims.gpt.num_vq,
        }
    }
}

fn stack_dims(dims: &Dims, path: DecodePath) -> &ConvStackDims {
    match path {
        DecodePath::Hidden => &dims.decoder,
        DecodePath::Codes => &dims.dvae.decoder,
    }
}

/// What the layers' sizes must satisfy together, beyond each tensor having its own shape.
fn check_dims(dims: &Dims) -> Result<(), CodecError> {
    let vq = &dims.dvae.vq;
    let check = |ok: bool, field, expected: String, found| {
        if ok { Ok(()) } else { Err(CodecError::Dims { field, expected, found }) }
    };
    let pair = Dims::FRAMES_PER_STEP * dims.dvae.decoder.idim;
    check(vq.dim == pair, "dvae.vq.dim", format!("twice dvae.decoder.idim, {pair}"), vq.dim)?;
    check(vq.dim.is_multiple_of(vq.groups), "dvae.vq.dim", format!("a multiple of G = {}", vq.groups), vq.dim)?;
    let odim = dims.dvae.encoder.odim;
    check(odim == vq.dim, "dvae.encoder.odim", format!("dvae.vq.dim, {}", vq.dim), odim)?;
    let levels = vq.levels.iter().copied().min().unwrap_or(0);
    check(levels >= 2, "dvae.vq.levels", "at least 2 each".into(), levels)?;
    let n_fft = dims.vocos.n_fft;
    check(n_fft.is_multiple_of(2), "vocos n_fft", "an even number".into(), n_fft)
}
