//! One utterance on its way through the codec.

use super::istft::Istft;
use super::stack::{MelDecoder, MelState, Scratch, ScratchDims};
use super::vocos::{Vocos, VocosState};
use super::{CHUNK_FRAMES, CHUNK_STEPS, Codec, CodecError, Input, stack_dims};
use crate::model::dims::Dims;
use crate::model::prompt::DecodePath;
use crate::parallel::Team;

/// The codec's state for one utterance: what each layer remembers, and working memory. It is as large at the first
/// step as at the last, and [`Stream::reset`] makes it ready for another utterance without allocating.
pub struct Stream {
    hidden: Option<MelState>,
    codes: Option<MelState>,
    vocos: VocosState,
    scratch: Scratch,
    /// Which input this utterance uses, once it has had some.
    path: Option<DecodePath>,
    finished: bool,
}

impl Stream {
    /// State for streams of this codec (and no other).
    pub fn new(codec: &Codec) -> Self {
        let reach = [DecodePath::Hidden, DecodePath::Codes].map(|path| frames_reach(&codec.dims, path));
        // The last pass has the most frames: all that were held back, and each layer's own zeros.
        let frames = CHUNK_FRAMES + reach[0].max(reach[1]) + 16;
        let decoders = codec.hidden.iter().chain(codec.codes.iter().map(|c| &c.decoder));
        let dims = decoders.map(MelDecoder::scratch_dims).fold(codec.vocos.scratch_dims(), ScratchDims::max);
        Self {
            hidden: codec.hidden.as_ref().map(MelDecoder::state),
            codes: codec.codes.as_ref().map(|c| c.decoder.state()),
            vocos: codec.vocos.state(frames),
            scratch: Scratch::new(dims, frames),
            path: None,
            finished: false,
        }
    }

    /// The last step is in; only a reset makes it take more.
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// Back to the start of an utterance, of either input.
    pub fn reset(&mut self) {
        self.hidden.iter_mut().chain(&mut self.codes).for_each(MelState::reset);
        self.vocos.reset();
        (self.path, self.finished) = (None, false);
    }

    /// Takes the next steps (any number, none included) and appends the PCM that no later step changes: f32, mono,
    /// the model's sample rate. `last` flushes what was held back; after it the stream takes nothing until `reset`.
    ///
    /// # Errors
    /// If the input does not fit the codec; the stream is then as before.
    pub fn push(
        &mut self,
        codec: &Codec,
        team: &Team,
        input: Input<'_>,
        last: bool,
        pcm: &mut Vec<f32>,
    ) -> Result<(), CodecError> {
        self.push_with_mel(codec, team, input, last, pcm, |_| ())
    }

    /// As [`Stream::push`], and hands out the mel frames on the way, `[frames, n_mels]`, in any number of pieces.
    pub fn push_with_mel(
        &mut self,
        codec: &Codec,
        team: &Team,
        input: Input<'_>,
        last: bool,
        pcm: &mut Vec<f32>,
        mut mel: impl FnMut(&[f32]),
    ) -> Result<(), CodecError> {
        let steps = self.check(codec, input)?;
        self.path = Some(input.path());
        self.finished = last;
        let mut at = 0;
        loop {
            let end = steps.min(at + CHUNK_STEPS);
            self.pass(codec, team, input.steps(codec, at..end), last && end == steps, pcm, &mut mel);
            at = end;
            if at == steps {
                return Ok(());
            }
        }
    }

    /// The number of steps in an acceptable input.
    fn check(&self, codec: &Codec, input: Input<'_>) -> Result<usize, CodecError> {
        if self.finished {
            return Err(CodecError::Finished);
        }
        let path = input.path();
        if let Some(before) = self.path.filter(|before| *before != path) {
            return Err(CodecError::Mixed { before, now: path });
        }
        let (width, found) = (codec.step_width(path), input.len());
        if !found.is_multiple_of(width) {
            return Err(CodecError::Length { width, found });
        }
        match input {
            Input::Hidden(_) if codec.hidden.is_none() => return Err(CodecError::NotLoaded(path)),
            Input::Hidden(_) => (),
            Input::Codes(codes) => {
                let limit = codec.codes.as_ref().ok_or(CodecError::NotLoaded(path))?.embedding.codes();
                if let Some(i) = codes.iter().position(|c| usize::from(*c) >= limit) {
                    return Err(CodecError::Code { step: i / width, codebook: i % width, limit, found: codes[i] });
                }
            }
        }
        Ok(found / width)
    }

    /// At most [`CHUNK_STEPS`] steps through every layer.
    fn pass(
        &mut self,
        codec: &Codec,
        team: &Team,
        input: Input<'_>,
        last: bool,
        pcm: &mut Vec<f32>,
        mel: &mut impl FnMut(&[f32]),
    ) {
        let scratch = &mut self.scratch;
        let frames = Dims::FRAMES_PER_STEP * input.len() / codec.step_width(input.path());
        // A step's channels are its frames' channels one frame after the other: pairing moves nothing.
        let (decoder, state) = match input {
            Input::Hidden(rows) => {
                scratch.input.fresh_mut()[..rows.len()].copy_from_slice(rows);
                (codec.hidden.as_ref(), self.hidden.as_mut())
            }
            Input::Codes(codes) => {
                if let Some(path) = &codec.codes {
                    let width = Dims::FRAMES_PER_STEP * codec.dims.dvae.decoder.idim;
                    let steps = codes.len() / codec.step_width(DecodePath::Codes);
                    path.embedding.forward(codes, &mut scratch.input.fresh_mut()[..steps * width]);
                }
                (codec.codes.as_ref().map(|c| &c.decoder), self.codes.as_mut())
            }
        };
        let (decoder, state) = decoder.zip(state).expect("`check` refused a path that is not loaded");
        let frames = decoder.forward(team, state, scratch, frames, last);
        if frames > 0 {
            mel(scratch.input.fresh(frames, codec.dims.vocos.n_mels));
        }
        codec.vocos.forward(team, &mut self.vocos, scratch, (frames, last), pcm);
    }
}

/// Mel frames to either side that a spectrum frame depends on.
fn frames_reach(dims: &Dims, path: DecodePath) -> usize {
    MelDecoder::reach(stack_dims(dims, path)) + Vocos::reach(&dims.vocos)
}

/// Look-ahead: mel frames after a sample's own that must be known before the sample is.
///
/// Each layer with a kernel waits for its own right half: the decoder's three edge convolutions 1 frame each and
/// each block `dilation * (kernel - 1) / 2`; Vocos's embedding and blocks 3 each; the overlap-add `n_fft / 2 / hop`.
/// For the published model 3 + 12 * 6 + 9 * 3 + 2 = 104 frames.
pub fn lookahead_frames(dims: &Dims, path: DecodePath) -> usize {
    frames_reach(dims, path) + Istft::reach(dims.vocos.n_fft, dims.vocos.hop_length)
}

/// Look-ahead in decode steps: how many steps must follow a step before all of its audio is out (52 for the
/// published model).
pub fn lookahead_steps(dims: &Dims, path: DecodePath) -> usize {
    lookahead_frames(dims, path).div_ceil(Dims::FRAMES_PER_STEP)
}

/// Samples a stream has given after `steps` steps in all.
pub fn samples_given(dims: &Dims, path: DecodePath, steps: usize, last: bool) -> usize {
    let (frames, v) = (steps * Dims::FRAMES_PER_STEP, &dims.vocos);
    if last {
        return frames.saturating_sub(1) * v.hop_length;
    }
    (frames.saturating_sub(frames_reach(dims, path)) * v.hop_length).saturating_sub(v.n_fft / 2)
}
