//! Log-mel spectrogram, as torchaudio's `MelSpectrogram(power=1, center=True, pad_mode="reflect")` followed by
//! log(max(x, 1e-5)).

use std::sync::Arc;

use realfft::{RealFftPlanner, RealToComplex};

use super::linear::{Epilogue, Linear, Rows};
use super::weights::Source;
use crate::model::dims::VocosDims;
use crate::model::weights::WeightsError;
use crate::parallel::Team;

/// Smallest filter output: silence has log-mel -11.5 instead of minus infinity.
const FLOOR: f32 = 1e-5;

pub(super) struct LogMel {
    window: Vec<f32>,
    hop: usize,
    filters: Linear,
    plan: Arc<dyn RealToComplex<f32>>,
}

impl LogMel {
    /// Window and filter bank come from the file, so that they are the ones the model was trained with.
    pub fn load(source: &Source<'_>, dims: &VocosDims) -> Result<Self, WeightsError> {
        let source = source.child("preprocessor_mel.mel_spec");
        let (n, bins, mels) = (dims.n_fft, dims.n_fft / 2 + 1, dims.n_mels);
        let bank = source.vector("mel_scale.fb", &[bins, mels])?;
        let filters: Vec<f32> = (0..mels * bins).map(|i| bank[i % bins * mels + i / bins]).collect();
        Ok(Self {
            window: source.vector("spectrogram.window", &[n])?,
            hop: dims.hop_length,
            filters: Linear::new(&filters, mels, bins, 1, Vec::new()),
            plan: RealFftPlanner::new().plan_fft_forward(n),
        })
    }

    /// Samples that reflection at the edges needs.
    pub fn min_samples(&self) -> usize {
        self.window.len() / 2 + 1
    }

    /// `pcm` must have [`LogMel::min_samples`]; returns `[1 + samples / hop, n_mels]`.
    pub fn forward(&self, team: &Team, pcm: &[f32]) -> Vec<f32> {
        assert!(pcm.len() >= self.min_samples());
        let (n, frames) = (self.window.len(), 1 + pcm.len() / self.hop);
        let bins = n / 2 + 1;
        let mut magnitudes = Vec::with_capacity(frames * bins);
        let (mut signal, mut spectrum) = (self.plan.make_input_vec(), self.plan.make_output_vec());
        let mut fft = self.plan.make_scratch_vec();
        for frame in 0..frames {
            for (i, (x, w)) in signal.iter_mut().zip(&self.window).enumerate() {
                *x = pcm[reflect((frame * self.hop + i) as isize - (n / 2) as isize, pcm.len())] * w;
            }
            let done = self.plan.process_with_scratch(&mut signal, &mut spectrum, &mut fft);
            done.expect("the buffers have the plan's lengths");
            magnitudes.extend(spectrum.iter().map(|z| z.norm()));
        }
        let mut mel = vec![0.0; frames.max(2) * self.filters.outputs()];
        let rows = Rows { data: &magnitudes, stride: bins, count: frames };
        self.filters.forward(team, rows, &mut mel, Epilogue::Plain);
        mel.truncate(frames * self.filters.outputs());
        mel.iter_mut().for_each(|x| *x = x.max(FLOOR).ln());
        mel
    }
}

/// The index that reflection at both ends (without repeating the end samples) puts in place of `i`.
fn reflect(i: isize, len: usize) -> usize {
    let last = len as isize - 1;
    let i = i.abs();
    (if i > last { 2 * last - i } else { i }) as usize
}
