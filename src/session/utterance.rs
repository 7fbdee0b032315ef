//! From pieces of text to PCM in order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tracing::{debug, info};

use super::{RETRIES, piece_seed};
use crate::device::{ChunkPlan, Chunks};
use crate::engine::{DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use crate::model::prompt::{DecodePath, Prompt, Sample};
use crate::model::sampling::Sampling;

/// What is to be said, and how.
pub struct Plan<'a> {
    /// Texts of the pieces, in order.
    pub pieces: &'a [String],
    /// Samples of silence before each piece, and after the last one; none where there is no entry.
    pub pauses: &'a [usize],
    /// Builds a piece's prompt and says how many steps it may take. The sample is set only with `carry_voice`.
    pub prompt: &'a PromptFn<'a>,
    /// Each piece draws from a seed derived from this one's; the first from the seed itself.
    pub sampling: Sampling,
    pub decode: DecodePath,
    pub chunks: ChunkPlan,
    /// Pieces that run at once, from the first sound on. Their order and their audio do not depend on it.
    pub parallel: usize,
    /// Speak later pieces as continuations of the first: its codes become their sample, as the Python package can do.
    pub carry_voice: bool,
}

/// (piece's text, sample) -> (prompt, step cap)
pub type PromptFn<'a> = dyn Fn(&str, Option<Sample<'_>>) -> Result<(Prompt, usize), SpeakError> + 'a;

#[derive(Debug, thiserror::Error)]
pub enum SpeakError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Tokenizer(#[from] crate::model::tokenizer::TokenizerError),
    #[error("no_audio: piece {piece} ended before its first sound in {tries} tries")]
    NoAudio { piece: usize, tries: u32 },
    #[error("internal: piece {piece}: the model's values stopped being finite")]
    NotFinite { piece: usize },
    #[error(transparent)]
    Output(#[from] crate::audio::AudioError),
}

/// Hears an utterance.
pub trait Listener<E: ?Sized> {
    /// The next samples: f32, mono, the model's rate; they belong to this piece, and are `from` samples after its
    /// beginning (silence counts from its own).
    fn audio(&mut self, pcm: &[f32], piece: usize, from: usize) -> Result<(), SpeakError>;

    /// A piece is complete; its slot is released after this.
    fn piece(&mut self, _engine: &E, _slot: Slot, _report: &PieceReport) -> Result<(), SpeakError> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceEnd {
    /// The model said it was done.
    Natural,
    /// The step cap, or the end of the slot's positions: the model ran away.
    Cap,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct PieceReport {
    pub index: usize,
    /// The seed its codes were drawn with.
    pub seed: u64,
    pub steps: usize,
    pub samples: usize,
    pub end: PieceEnd,
    pub retries: u32,
    #[serde(skip)]
    pub prompt: Prompt,
    #[serde(skip)]
    pub codes: Vec<Vec<u16>>,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub pieces: Vec<PieceReport>,
    pub steps: usize,
    pub samples: usize,
    /// From the start to the first samples.
    pub first_audio: Option<Duration>,
    /// Compute time: from the start to the end, without what the listener took.
    pub elapsed: Duration,
    /// Pieces that hit their cap.
    pub capped: usize,
    pub retries: u32,
}

/// Speaks the plan's pieces in order. Every slot it took is released when it returns, with an error as well.
pub fn speak<E, L>(engine: &mut E, plan: &Plan<'_>, listener: &mut L) -> Result<Report, SpeakError>
where
    E: Engine + ?Sized,
    L: Listener<E>,
{
    let mut run = Run {
        plan,
        alive: VecDeque::new(),
        next: 0,
        carried: None,
        report: Report::default(),
        listening: Duration::ZERO,
    };
    let result = run.run(engine, listener);
    for piece in run.alive {
        // An engine that failed has lost its slots already; the first error is the one to tell.
        let _ = engine.release(piece.slot);
    }
    result.map(|()| run.report)
}

struct Run<'a> {
    plan: &'a Plan<'a>,
    alive: VecDeque<Piece>,
    /// The next piece to start.
    next: usize,
    /// Text and codes of the first piece, when later ones continue it.
    carried: Option<(String, Vec<Vec<u16>>)>,
    report: Report,
    /// Time spent in the listener.
    listening: Duration,
}

struct Piece {
    slot: Slot,
    prompt: Prompt,
    chunks: Chunks,
    cap: usize,
    waiting: usize,
    end: Option<PieceEnd>,
    report: PieceReport,
}

impl Run<'_> {
    fn run<E, L>(&mut self, engine: &mut E, listener: &mut L) -> Result<(), SpeakError>
    where
        E: Engine + ?Sized,
        L: Listener<E>,
    {
        let started = Instant::now();
        loop {
            self.admit(engine)?;
            if self.alive.is_empty() {
                break;
            }
            self.step(engine)?;
            while let Some(front) = self.alive.front_mut() {
                let steps = front.chunks.due(front.waiting, front.end.is_some());
                let last = front.end.is_some();
                if steps == 0 && !last {
                    break;
                }
                let pcm = engine.decode(&[DecodeJob { slot: front.slot, steps, last }])?.remove(0);
                if pcm.iter().any(|x| !x.is_finite()) {
                    return Err(SpeakError::NotFinite { piece: front.report.index });
                }
                front.waiting -= steps;
                front.report.samples += pcm.len();
                self.report.samples += pcm.len();
                if !pcm.is_empty() {
                    let from = front.report.samples - pcm.len();
                    let index = front.report.index;
                    if from == 0 {
                        self.be_silent(listener, index)?;
                    }
                    self.report.first_audio.get_or_insert_with(|| started.elapsed());
                    self.hand_out(listener, &pcm, index, from)?;
                }
                if !last {
                    break;
                }
                self.finish(engine, listener)?;
            }
        }
        if !self.plan.pieces.is_empty() {
            self.be_silent(listener, self.plan.pieces.len())?;
        }
        self.report.elapsed = started.elapsed() - self.listening;
        Ok(())
    }

    /// The silence before piece `index`.
    fn be_silent<E, L>(&mut self, listener: &mut L, index: usize) -> Result<(), SpeakError>
    where
        E: Engine + ?Sized,
        L: Listener<E>,
    {
        let samples = self.plan.pauses.get(index).copied().unwrap_or(0);
        if samples == 0 {
            return Ok(());
        }
        self.report.samples += samples;
        self.hand_out(listener, &vec![0.0; samples], index, 0)
    }

    /// A listener may wait, as a player does: that is no compute time.
    fn hand_out<E, L>(&mut self, listener: &mut L, pcm: &[f32], piece: usize, from: usize) -> Result<(), SpeakError>
    where
        E: Engine + ?Sized,
        L: Listener<E>,
    {
        let began = Instant::now();
        let result = listener.audio(pcm, piece, from);
        self.listening += began.elapsed();
        result
    }

    /// Starts pieces: one until the first sound is out, so that nothing delays it, then as many as may run at once.
    fn admit<E: Engine + ?Sized>(&mut self, engine: &mut E) -> Result<(), SpeakError> {
        let waits_for_first = self.plan.carry_voice && self.next > 0 && self.carried.is_none();
        let room = if self.report.first_audio.is_none() || waits_for_first { 1 } else { self.plan.parallel.max(1) };
        while self.alive.len() < room.min(engine.capacity().slots) && self.next < self.plan.pieces.len() {
            let piece = self.start(engine, self.next, 0)?;
            self.alive.push_back(piece);
            self.next += 1;
        }
        Ok(())
    }

    fn start<E: Engine + ?Sized>(&self, engine: &mut E, index: usize, retries: u32) -> Result<Piece, SpeakError> {
        let text = &self.plan.pieces[index];
        let sample = self.carried.as_ref().map(|(text, codes)| Sample { text, codes });
        let (prompt, cap) = (self.plan.prompt)(text, sample)?;
        let seed = piece_seed(&self.plan.sampling, index, retries);
        let sampling = Sampling { seed, ..self.plan.sampling.clone() };
        let row = Row { prompt: prompt.clone(), sampling, decode: self.plan.decode, made: Vec::new() };
        let slot = engine.prefill(vec![row])?[0];
        let report = PieceReport {
            index,
            seed,
            steps: 0,
            samples: 0,
            end: PieceEnd::Natural,
            retries,
            prompt: prompt.clone(),
            codes: Vec::new(),
        };
        let chunks = Chunks::new(self.plan.chunks, engine.lookahead(self.plan.decode));
        Ok(Piece { slot, prompt, chunks, cap, waiting: 0, end: None, report })
    }

    /// One step of every piece that has not ended.
    fn step<E: Engine + ?Sized>(&mut self, engine: &mut E) -> Result<(), SpeakError> {
        let running: Vec<usize> = (0..self.alive.len()).filter(|i| self.alive[*i].end.is_none()).collect();
        if running.is_empty() {
            return Ok(());
        }
        let slots: Vec<Slot> = running.iter().map(|i| self.alive[*i].slot).collect();
        let outcomes = engine.step(&slots)?;
        for (i, outcome) in running.into_iter().zip(outcomes) {
            let piece = &mut self.alive[i];
            let index = piece.report.index;
            match outcome {
                StepOutcome::Codes(codes) => {
                    piece.report.codes.push(codes);
                    piece.report.steps += 1;
                    piece.waiting += 1;
                    if piece.report.steps >= piece.cap {
                        piece.end = Some(PieceEnd::Cap);
                    }
                }
                StepOutcome::End if piece.report.steps == 0 => self.retry(engine, i)?,
                StepOutcome::End => piece.end = Some(PieceEnd::Natural),
                StepOutcome::Full => piece.end = Some(PieceEnd::Cap),
                StepOutcome::Failed | StepOutcome::Token(_) => return Err(SpeakError::NotFinite { piece: index }),
            }
        }
        Ok(())
    }

    fn retry<E: Engine + ?Sized>(&mut self, engine: &mut E, i: usize) -> Result<(), SpeakError> {
        let piece = &self.alive[i];
        let (index, tries) = (piece.report.index, piece.report.retries + 1);
        if tries > RETRIES {
            return Err(SpeakError::NoAudio { piece: index, tries });
        }
        debug!(piece = index, tries, "empty result, trying again with another seed");
        engine.release(piece.slot)?;
        self.report.retries += 1;
        match self.start(engine, index, tries) {
            Ok(piece) => self.alive[i] = piece,
            Err(e) => {
                // Its slot is gone; what remains alive is what must be released.
                self.alive.remove(i);
                return Err(e);
            }
        }
        Ok(())
    }

    /// The front piece is decoded to its end: report it, free its slot, move on.
    fn finish<E, L>(&mut self, engine: &mut E, listener: &mut L) -> Result<(), SpeakError>
    where
        E: Engine + ?Sized,
        L: Listener<E>,
    {
        let front = self.alive.front_mut().expect("the caller holds the front");
        front.report.end = front.end.expect("the caller saw its end");
        if front.report.end == PieceEnd::Cap {
            self.report.capped += 1;
            let (piece, steps) = (front.report.index, front.report.steps);
            info!(piece, steps, tokens = front.prompt.tokens.len(), "step cap reached");
        }
        listener.piece(engine, front.slot, &front.report)?;
        let piece = self.alive.pop_front().expect("the caller holds the front");
        engine.release(piece.slot)?;
        if self.plan.carry_voice && self.carried.is_none() {
            self.carried = Some((self.plan.pieces[0].clone(), piece.report.codes.clone()));
        }
        self.report.steps += piece.report.steps;
        self.report.pieces.push(piece.report);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
