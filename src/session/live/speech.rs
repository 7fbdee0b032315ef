//! The state of one utterance, changed in turns: text -> pieces -> rows -> packets.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Input, PieceSink, Request, RowEvent, Utterance};
use crate::audio::encode::{Packet, StreamEncoder};
use crate::audio::pcm::{FadeOut, fade_in};
use crate::audio::stretch::{Stretcher, stretched_len};
use crate::device::{ChunkPlan, Job, RowEnd, RowOutcome};
use crate::model::prompt::Prompt;
use crate::model::sampling::Sampling;
use crate::session::admission::Permit;
use crate::session::flow::RowFlow;
use crate::session::outbox::Event;
use crate::session::report::{Failure, PieceDone, Reason, RefineRejected, Summary};
use crate::session::{MAX_REFINE_TOKENS, PieceEnd, RETRIES, piece_seed};
use crate::text::{self, Intake};

/// Source samples (50 ms) encoded in one turn: others wait meanwhile.
const TURN_SAMPLES: usize = 1200;
/// In the turn of the first sound: enough for one packet of 20 ms, which leaves before the next is encoded.
const FIRST_SAMPLES: usize = 600;

pub(super) struct Speech {
    intake: Intake,
    /// Pieces that have not been given to the device, in order.
    planned: VecDeque<Piece>,
    /// Pieces on the device, or made and not yet all encoded, in order.
    active: VecDeque<Piece>,
    pieces: usize,
    /// Made when there is something to say: it is most of what an utterance weighs.
    output: Option<Output>,
    source_rate: u32,
    speed: f64,
    held: bool,
    text_over: bool,
    made_told: bool,
    over: bool,
    permit: Option<Permit>,
    /// Source samples before the front piece's own sound: those of complete pieces, and of silence.
    base: u64,
    /// Source samples of silence after the last piece, and how many of them are still to be made.
    tail: Silence,
    /// Source samples encoded so far.
    encoded: u64,
    summary: Summary,
}

struct Piece {
    index: usize,
    source: std::ops::Range<usize>,
    text: String,
    /// Comes before it.
    silence: Silence,
    row: Arc<RowFlow>,
    phase: Phase,
    pcm: VecDeque<Vec<f32>>,
    samples: u64,
}

/// Silence between pieces, in source samples.
#[derive(Clone, Copy, Default)]
struct Silence {
    samples: u64,
    left: u64,
}

impl Silence {
    /// So much of a listener's time, whatever the tempo.
    fn new(time: Duration, source_rate: u32, speed: f64) -> Self {
        let samples = (time.as_secs_f64() * f64::from(source_rate) * speed).round() as u64;
        Self { samples, left: samples }
    }

    /// The next of it, at most `budget` samples.
    fn take(&mut self, budget: &mut usize) -> Vec<f32> {
        let samples = self.left.min(*budget as u64);
        self.left -= samples;
        *budget -= samples as usize;
        vec![0.0; samples as usize]
    }
}

enum Phase {
    /// Waits for the device, still to be refined.
    Unrefined,
    Ready,
    Refining,
    Speaking,
    Ended(Box<RowEnd>),
}

/// From PCM to packets.
struct Output {
    speed: f64,
    pushed: u64,
    fade: FadeOut,
    stretch: Stretcher,
    /// Scratch space for the stretcher.
    stretched: Vec<f32>,
    encoder: StreamEncoder,
}

impl Speech {
    pub(super) fn new(request: &Request, source_rate: u32, text_chars: usize, held: bool) -> Self {
        Self {
            intake: Intake::new(text_chars),
            planned: VecDeque::new(),
            active: VecDeque::new(),
            pieces: 0,
            output: None,
            source_rate,
            speed: f64::from(request.speed),
            held,
            text_over: false,
            made_told: false,
            over: false,
            permit: None,
            base: 0,
            tail: Silence::default(),
            encoded: 0,
            summary: Summary::default(),
        }
    }

    /// Takes the inputs, does what can be done, and says when it wants to go on, if there is more to do.
    pub(super) fn turn(&mut self, utterance: &Arc<Utterance>, inputs: VecDeque<Input>) -> Option<Instant> {
        if utterance.flow.is_stalled() {
            let after = utterance.request.stall;
            self.end(utterance, Event::Failed(Failure::Stalled { after }));
        }
        if utterance.flow.is_cancelled() || self.over {
            self.close();
            return None;
        }
        let result = inputs.into_iter().try_for_each(|input| self.take(utterance, input));
        let result = result.and_then(|()| self.submit(utterance)).and_then(|()| self.produce(utterance));
        if self.active.is_empty() && self.planned.is_empty() {
            // Who waits for text must not keep others out.
            self.permit = None;
        }
        match result {
            Ok(next) => next,
            Err(failure) => {
                // The rows stop, what was made is still sent.
                utterance.flow.cancel();
                self.end(utterance, Event::Failed(failure));
                None
            }
        }
    }

    /// Its last event, told when its place is free: whoever hears it may begin the next one at once.
    pub(super) fn end(&mut self, utterance: &Utterance, event: Event) {
        self.close();
        utterance.outbox.end(event);
    }

    /// Frees what a finished utterance holds, though its owner may keep it.
    pub(super) fn close(&mut self) {
        self.over = true;
        self.permit = None;
        self.output = None;
        self.planned.clear();
        self.active.clear();
        self.intake = Intake::new(0);
    }

    fn take(&mut self, utterance: &Arc<Utterance>, input: Input) -> Result<(), Failure> {
        match input {
            Input::Text { text, at } => self.plan(utterance, at, |intake, options| intake.push(&text, options)),
            Input::Flush { at } => self.plan(utterance, at, |intake, options| Ok(intake.flush(options))),
            Input::Finish { at } => {
                self.text_over = true;
                self.plan(utterance, at, |intake, options| Ok(intake.flush(options)))?;
                self.tail = Silence::new(self.intake.pause_after(), self.source_rate, self.speed);
                Ok(())
            }
            Input::Release => {
                self.held = false;
                Ok(())
            }
            Input::Row { piece, event } => self.row(utterance, piece, event),
        }
    }

    fn plan(
        &mut self,
        utterance: &Utterance,
        at: Instant,
        f: impl FnOnce(&mut Intake, &text::Options<'_>) -> Result<Vec<text::Piece>, text::TextError>,
    ) -> Result<(), Failure> {
        let intake = &mut self.intake;
        let pieces = utterance.frontend().with_text_options(false, |options| f(intake, options))?;
        for piece in pieces {
            self.summary.text_at.get_or_insert(at);
            let phase = if utterance.request.refine.is_some() { Phase::Unrefined } else { Phase::Ready };
            self.planned.push_back(Piece {
                index: self.pieces,
                source: piece.chars,
                text: piece.text,
                silence: Silence::new(piece.pause_before, self.source_rate, self.speed),
                row: Arc::new(RowFlow::default()),
                phase,
                pcm: VecDeque::new(),
                samples: 0,
            });
            self.pieces += 1;
        }
        Ok(())
    }

    fn row(&mut self, utterance: &Arc<Utterance>, index: usize, event: RowEvent) -> Result<(), Failure> {
        let Some(piece) = self.active.iter_mut().find(|p| p.index == index) else { return Ok(()) };
        match event {
            RowEvent::Began(at) => {
                self.summary.began_at.get_or_insert(at);
            }
            RowEvent::Pcm(mut pcm, at) => {
                self.summary.first_pcm_at.get_or_insert(at);
                fade_in(&mut pcm, piece.samples as usize, self.source_rate);
                piece.samples += pcm.len() as u64;
                piece.pcm.push_back(pcm);
            }
            RowEvent::End(end) => {
                self.summary.device_time += end.device_time;
                self.summary.retries += end.retries;
                if matches!(piece.phase, Phase::Refining) {
                    return self.refined(utterance, index, *end);
                }
                self.summary.steps += end.steps;
                piece.phase = Phase::Ended(end);
            }
        }
        Ok(())
    }

    /// The model wrote pauses and laughs into a piece: speak that, if its words are the piece's.
    fn refined(&mut self, utterance: &Arc<Utterance>, index: usize, end: RowEnd) -> Result<(), Failure> {
        // A model that writes nothing is one whose refinement cannot be used.
        if !matches!(end.outcome, RowOutcome::NoAudio { .. }) {
            check(&end.outcome, index)?;
        }
        let Some(piece) = self.active.iter_mut().find(|p| p.index == index) else { return Ok(()) };
        let tokenizer = &utterance.frontend().tokenizer;
        let refined = super::super::refine::words_of(tokenizer, end.tokens).map_err(internal)?;
        match text::accept_refined(&piece.text, &refined) {
            Ok(()) => piece.text = refined,
            Err(why) => {
                let why = why.to_string();
                self.summary.refine_rejected.push(RefineRejected { piece: index, refined, why });
            }
        }
        piece.phase = Phase::Speaking;
        let job = speak_job(utterance, piece, piece.index > 0)?;
        utterance.service.device().submit(job);
        Ok(())
    }

    /// Gives pieces to the device: one until the first sound is out, so that nothing delays it.
    fn submit(&mut self, utterance: &Arc<Utterance>) -> Result<(), Failure> {
        if self.held {
            return Ok(());
        }
        let room = if self.summary.first_pcm_at.is_none() { 1 } else { utterance.request.parallel.max(1) };
        let running = |p: &&Piece| !matches!(p.phase, Phase::Ended(_));
        while self.active.iter().filter(running).count() < room {
            let Some(mut piece) = self.planned.pop_front() else { break };
            if self.permit.is_none() {
                self.permit = Some(utterance.service.admit(self.summary.first_pcm_at.is_some())?);
            }
            let job = if matches!(piece.phase, Phase::Unrefined) {
                piece.phase = Phase::Refining;
                refine_job(utterance, &piece)?
            } else {
                piece.phase = Phase::Speaking;
                speak_job(utterance, &piece, self.pieces > 1 && piece.index > 0)?
            };
            if self.active.is_empty() {
                self.base += piece.silence.samples;
                piece.row.become_front(self.base);
            }
            self.active.push_back(piece);
            utterance.service.device().submit(job);
        }
        Ok(())
    }

    /// Encodes up to a turn's worth of the front piece, and ends what is complete.
    fn produce(&mut self, utterance: &Arc<Utterance>) -> Result<Option<Instant>, Failure> {
        let mut budget = if self.encoded == 0 { FIRST_SAMPLES } else { TURN_SAMPLES };
        let mut packets = Vec::new();
        if self.output.is_none() && !(self.active.is_empty() && self.tail.left == 0) {
            self.output = Some(Output::new(&utterance.request, self.source_rate)?);
        }
        while let Some(front) = self.active.front_mut() {
            let Some(output) = self.output.as_mut() else { break };
            if front.silence.left > 0 {
                let silence = front.silence.take(&mut budget);
                self.encoded += silence.len() as u64;
                output.push(&silence, &mut packets)?;
            }
            while budget > 0
                && let Some(mut pcm) = front.pcm.pop_front()
            {
                if pcm.len() > budget {
                    let rest = pcm.split_off(budget);
                    front.pcm.push_front(rest);
                }
                budget -= pcm.len();
                self.encoded += pcm.len() as u64;
                output.push(&pcm, &mut packets)?;
            }
            if front.silence.left > 0 || !front.pcm.is_empty() || !matches!(front.phase, Phase::Ended(_)) {
                break;
            }
            if let Err(failure) = self.end_piece(utterance) {
                // What is good of it leaves before the bad news.
                utterance.outbox.audio(packets);
                return Err(failure);
            }
        }
        let all_said = self.text_over && self.planned.is_empty() && self.active.is_empty();
        if all_said
            && self.tail.left > 0
            && let Some(output) = self.output.as_mut()
        {
            let silence = self.tail.take(&mut budget);
            self.encoded += silence.len() as u64;
            output.push(&silence, &mut packets)?;
        }
        let over = all_said && self.tail.left == 0;
        let front_waits = self.active.front().is_some_and(|p| p.silence.left > 0 || !p.pcm.is_empty());
        let more = front_waits || (all_said && !over);
        if over && let Some(output) = self.output.take() {
            output.finish(&mut packets)?;
        }
        if !packets.is_empty() {
            utterance.outbox.audio(packets);
        }
        if over {
            self.finish(utterance);
        } else {
            self.tell_made(utterance);
        }
        Ok(more.then(|| self.needed_at()))
    }

    /// When a listener in real time will need what is encoded next.
    fn needed_at(&self) -> Instant {
        let encoded = Duration::from_secs_f64(self.encoded as f64 / f64::from(self.source_rate));
        self.summary.first_pcm_at.map_or_else(Instant::now, |first| first + encoded)
    }

    /// The front piece is complete: say so, and let the next one be heard.
    fn end_piece(&mut self, utterance: &Arc<Utterance>) -> Result<(), Failure> {
        let Some(piece) = self.active.pop_front() else { return Ok(()) };
        let Phase::Ended(end) = piece.phase else { return Ok(()) };
        check(&end.outcome, piece.index)?;
        let (start_ms, end_ms) = (self.ms(self.base), self.ms(self.base + piece.samples));
        let cut = end.outcome == RowOutcome::Cap;
        utterance.outbox.note(Event::Piece(PieceDone {
            index: piece.index,
            source: piece.source,
            text: piece.text,
            start_ms,
            length_ms: end_ms - start_ms,
            end: if cut { PieceEnd::Cap } else { PieceEnd::Natural },
            seed: end.seed,
        }));
        self.base += piece.samples;
        self.summary.audio_ms = end_ms;
        if let Some(next) = self.active.front() {
            self.base += next.silence.samples;
            next.row.become_front(self.base);
        }
        // Its row is free: the next piece may have it.
        self.submit(utterance)
    }

    /// A listener's time for so many source samples.
    fn ms(&self, samples: u64) -> f64 {
        stretched_len(samples, self.speed) as f64 * 1e3 / f64::from(self.source_rate)
    }

    /// The device has nothing more to do for this utterance: its place is another's from here on.
    fn tell_made(&mut self, utterance: &Utterance) {
        let ended = |p: &Piece| matches!(p.phase, Phase::Ended(_));
        if self.text_over && self.planned.is_empty() && self.active.iter().all(ended) && !self.made_told {
            self.made_told = true;
            self.permit = None;
            utterance.outbox.note(Event::Made);
        }
    }

    fn finish(&mut self, utterance: &Utterance) {
        self.tell_made(utterance);
        let mut summary = std::mem::take(&mut self.summary);
        summary.audio_ms = self.ms(self.base + self.tail.samples);
        summary.pieces = self.pieces;
        summary.reason = if self.pieces == 0 { Reason::NothingToSay } else { Reason::Complete };
        (summary.rewritten, summary.skipped) = self.intake.changes();
        self.end(utterance, Event::Done(Box::new(summary)));
    }
}

impl Output {
    fn new(request: &Request, source_rate: u32) -> Result<Self, Failure> {
        Ok(Self {
            speed: f64::from(request.speed),
            pushed: 0,
            fade: FadeOut::new(source_rate),
            stretch: Stretcher::new(request.speed.into()).map_err(internal)?,
            stretched: Vec::new(),
            encoder: StreamEncoder::new(&request.format, source_rate).map_err(internal)?,
        })
    }

    fn push(&mut self, pcm: &[f32], packets: &mut Vec<Packet>) -> Result<(), Failure> {
        self.pushed += pcm.len() as u64;
        self.stretched.clear();
        self.stretch.push(pcm, &mut self.stretched);
        let sure = self.fade.push(&self.stretched);
        let first = packets.len();
        self.encoder.push(&sure, packets).map_err(internal)?;
        self.count_in_source_samples(&mut packets[first..]);
        Ok(())
    }

    fn finish(mut self, packets: &mut Vec<Packet>) -> Result<(), Failure> {
        self.stretched.clear();
        self.stretch.finish(&mut self.stretched);
        let rest = self.fade.push(&self.stretched);
        self.encoder.push(&rest, packets).map_err(internal)?;
        self.encoder.push(&self.fade.finish(), packets).map_err(internal)?;
        self.encoder.finish(packets).map_err(internal)
    }

    /// The encoder counts what it was given: samples after the change of tempo.
    fn count_in_source_samples(&self, packets: &mut [Packet]) {
        for packet in packets {
            packet.source_end = ((packet.source_end as f64 * self.speed) as u64).min(self.pushed);
        }
    }
}

fn internal(e: impl std::fmt::Display) -> Failure {
    Failure::Internal(e.to_string())
}

/// A row's bad end as the utterance's.
fn check(outcome: &RowOutcome, piece: usize) -> Result<(), Failure> {
    match outcome {
        RowOutcome::Natural | RowOutcome::Cap => Ok(()),
        RowOutcome::NoAudio { tries } => Err(Failure::NoAudio { piece, tries: *tries }),
        RowOutcome::NotFinite => Err(Failure::NotFinite { piece }),
        RowOutcome::Refused(why) => Err(Failure::Refused { piece, why: why.clone() }),
        RowOutcome::DeviceLost(why) => Err(Failure::DeviceLost { piece, why: why.clone() }),
        RowOutcome::Stopped => Err(Failure::Internal(format!("piece {piece} was stopped"))),
    }
}

fn speak_job(utterance: &Arc<Utterance>, piece: &Piece, continues: bool) -> Result<Job, Failure> {
    let (request, frontend) = (&utterance.request, utterance.frontend());
    let text = frontend.closed(&piece.text);
    let (prompt, cap) = frontend.code_prompt(&text, NORMAL_SPEED, &request.speaker, None).map_err(internal)?;
    let cap = request.max_steps.unwrap_or(cap.max(request.sampling.min_steps));
    Ok(job(utterance, piece, prompt, request.sampling.clone(), cap, continues))
}

/// The tempo the model was trained to call normal; others are made afterwards, exactly.
const NORMAL_SPEED: &str = "[speed_5]";

fn refine_job(utterance: &Arc<Utterance>, piece: &Piece) -> Result<Job, Failure> {
    let request = &utterance.request;
    let control = request.refine.as_deref().unwrap_or("");
    let prompt = Prompt::refine(&utterance.frontend().tokenizer, &piece.text, control).map_err(internal)?;
    let sampling = Sampling { rng: request.sampling.rng, ..Sampling::refine(request.sampling.seed) };
    Ok(job(utterance, piece, prompt, sampling, MAX_REFINE_TOKENS, piece.index > 0))
}

fn job(
    utterance: &Arc<Utterance>,
    piece: &Piece,
    prompt: Prompt,
    mut sampling: Sampling,
    cap: usize,
    continues: bool,
) -> Job {
    let seed = |tries| piece_seed(&sampling, piece.index, tries);
    let (first, retry_seeds) = (seed(0), (1..=RETRIES).map(seed).collect());
    sampling.seed = first;
    Job {
        prompt,
        sampling,
        decode: utterance.request.decode,
        cap,
        chunks: ChunkPlan::default(),
        retry_seeds,
        continues,
        sink: PieceSink::new(utterance.clone(), piece.index, piece.row.clone(), first),
    }
}
