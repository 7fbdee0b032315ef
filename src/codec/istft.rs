//! Inverse short-time Fourier transform, frame by frame.
//!
//! Centred, as torch's `istft(center=True)`: F frames give (F - 1) * hop samples, and each sample is divided by the
//! sum of the squared windows that really cover it, which at both edges of an utterance is not the steady sum.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner};

use super::shared::Shared;
use super::simd;
use crate::parallel::Team;

/// Largest magnitude of a bin: Vocos's own safeguard.
const MAGNITUDE_LIMIT: f32 = 1e2;

/// Smallest window sum that is divided by (torch refuses smaller ones).
const MIN_WINDOW_SUM: f32 = 1e-11;

pub(super) struct Istft {
    hop: usize,
    /// The synthesis window with the inverse transform's 1 / n_fft folded in.
    window: Vec<f32>,
    squared: Vec<f32>,
    plan: Arc<dyn ComplexToReal<f32>>,
}

pub(super) struct IstftState {
    /// Overlap-added signal and window sums from the next frame's first sample on.
    sum: Vec<f32>,
    weight: Vec<f32>,
    /// Frames added and samples given since the start of the utterance.
    frames: usize,
    given: usize,
    signals: Vec<f32>,
    members: Vec<MemberScratch>,
}

struct MemberScratch {
    re: Vec<f32>,
    im: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    fft: Vec<Complex<f32>>,
}

impl Istft {
    pub fn new(window: &[f32], hop: usize) -> Self {
        let n = window.len();
        let plan = RealFftPlanner::new().plan_fft_inverse(n);
        let squared = window.iter().map(|w| w * w).collect();
        Self { hop, window: window.iter().map(|w| w / n as f32).collect(), squared, plan }
    }

    /// Frames after a sample's own that it waits for.
    pub fn reach(n_fft: usize, hop: usize) -> usize {
        (n_fft / 2).div_ceil(hop)
    }

    /// State for passes of at most `frames` frames.
    pub fn state(&self, frames: usize) -> IstftState {
        let n = self.window.len();
        IstftState {
            sum: vec![0.0; n],
            weight: vec![0.0; n],
            frames: 0,
            given: 0,
            signals: vec![0.0; frames * n],
            members: vec![self.member()],
        }
    }

    fn member(&self) -> MemberScratch {
        let bins = self.window.len() / 2 + 1;
        MemberScratch {
            re: vec![0.0; bins],
            im: vec![0.0; bins],
            spectrum: self.plan.make_input_vec(),
            fft: self.plan.make_scratch_vec(),
        }
    }

    /// Takes frames of log-magnitudes and phases, `[frames, 2, n_fft / 2 + 1]`, and appends the samples that no
    /// later frame changes; after the last frame, all that are left.
    pub fn forward(&self, team: &Team, state: &mut IstftState, spectra: &[f32], last: bool, pcm: &mut Vec<f32>) {
        let n = self.window.len();
        let frames = spectra.len() / (n + 2);
        self.invert(team, state, spectra, frames);
        for i in 0..frames {
            for ((s, w), (x, q)) in
                state.sum.iter_mut().zip(&mut state.weight).zip(state.signals[i * n..].iter().zip(&self.squared))
            {
                *s += x;
                *w += q;
            }
            state.frames += 1;
            state.give(self.hop, usize::MAX, n / 2, pcm);
        }
        if last && state.frames > 0 {
            let total = (state.frames - 1) * self.hop;
            // What is left lies in the frames' common tail: hop by hop, until the utterance's length is reached.
            while state.given < total {
                state.frames += 1;
                state.give(self.hop, total, n / 2, pcm);
            }
        }
    }

    /// Spectra to windowed signals, each member of the team some of the frames.
    fn invert(&self, team: &Team, state: &mut IstftState, spectra: &[f32], frames: usize) {
        let (n, threads) = (self.window.len(), team.threads());
        if state.members.len() < threads {
            state.members.resize_with(threads, || self.member());
        }
        let (signals, members) = (Shared::new(&mut state.signals[..frames * n]), Shared::new(&mut state.members));
        team.run(|member| {
            // SAFETY: one scratch for each member.
            let scratch = unsafe { &mut members.part(member..member + 1)[0] };
            for i in Team::range(frames, threads, member, 1) {
                // SAFETY: the members' frames are disjoint.
                let signal = unsafe { signals.part(i * n..(i + 1) * n) };
                self.invert_frame(&spectra[i * (n + 2)..(i + 1) * (n + 2)], scratch, signal);
            }
        });
    }

    fn invert_frame(&self, polar: &[f32], scratch: &mut MemberScratch, signal: &mut [f32]) {
        let (log_magnitude, phase) = polar.split_at(polar.len() / 2);
        simd::polar(log_magnitude, phase, MAGNITUDE_LIMIT, &mut scratch.re, &mut scratch.im);
        // The spectrum of a real signal is real at both ends; whatever else stands there is ignored, as by torch.
        let end = scratch.im.len() - 1;
        (scratch.im[0], scratch.im[end]) = (0.0, 0.0);
        for ((x, re), im) in scratch.spectrum.iter_mut().zip(&scratch.re).zip(&scratch.im) {
            *x = Complex::new(*re, *im);
        }
        let done = self.plan.process_with_scratch(&mut scratch.spectrum, signal, &mut scratch.fft);
        done.expect("the buffers have the plan's lengths and both ends of the spectrum are real");
        simd::scale(signal, &self.window);
    }
}

impl IstftState {
    /// Gives the first `hop` samples, without those before `skip` and after `total`, and moves on by one hop.
    fn give(&mut self, hop: usize, total: usize, skip: usize, pcm: &mut Vec<f32>) {
        let start = (self.frames - 1) * hop;
        for (i, (s, w)) in self.sum.iter().zip(&self.weight).take(hop).enumerate() {
            if start + i >= skip && self.given < total {
                pcm.push(if *w > MIN_WINDOW_SUM { s / w } else { *s });
                self.given += 1;
            }
        }
        for buffer in [&mut self.sum, &mut self.weight] {
            buffer.copy_within(hop.., 0);
            let kept = buffer.len() - hop;
            buffer[kept..].fill(0.0);
        }
    }

    pub fn reset(&mut self) {
        self.sum.fill(0.0);
        self.weight.fill(0.0);
        (self.frames, self.given) = (0, 0);
    }
}
