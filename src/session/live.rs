//! One utterance on a running server: text comes in pieces, rows run on the device, packets go out.
//!
//! Inputs (text, flush, the rows' results) are put into an inbox from any thread; the work on them is done in turns on
//! the [`pool`](super::pool). Nothing here waits: a turn does what can be done and ends.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::flow::{Flow, RowFlow};
use super::frontend::{Frontend, Speaker};
use super::outbox::{Event, Events, Gate, Outbox, Pace};
use super::pool::Turns;
use super::report::Failure;
use super::service::Service;
use crate::audio::encode::{StreamEncoder, StreamFormat};
use crate::device::{Demand, RowEnd, RowOutcome, RowSink};
use crate::model::prompt::DecodePath;
use crate::model::sampling::Sampling;

mod speech;

use speech::Speech;

/// Bytes of text that a turn makes ready, about 3 ms of work: a long text is no reason for others to wait.
const PORTION: usize = 8192;

/// How to speak.
#[derive(Clone, Debug)]
pub struct Request {
    pub speaker: Speaker,
    /// Its seed is the utterance's; each piece draws from one derived from it.
    pub sampling: Sampling,
    pub max_steps: Option<usize>,
    /// Control tags of a refinement, such as `[oral_2][laugh_0][break_6]`; `None`: no refinement.
    pub refine: Option<String>,
    /// Tempo: 2 is twice as fast.
    pub speed: f32,
    pub decode: DecodePath,
    pub format: StreamFormat,
    pub pace: Pace,
    /// Rows that may run at once, from the first sound on.
    pub parallel: usize,
    /// Sound that may wait for the sender, for each row, before its row is paused.
    pub ahead: Duration,
    /// A listener who takes nothing for this long while a row is paused is given up.
    pub stall: Duration,
}

/// What comes to an utterance.
enum Input {
    Text {
        text: String,
        at: Instant,
    },
    Flush {
        at: Instant,
    },
    Finish {
        at: Instant,
    },
    /// Its turn has come: rows may be submitted.
    Release,
    Row {
        piece: usize,
        event: RowEvent,
    },
}

enum RowEvent {
    Began(Instant),
    Pcm(Vec<f32>, Instant),
    End(Box<RowEnd>),
}

/// The owner's side of an utterance: text goes in here. Dropping it does nothing; dropping its [`Events`] cancels.
pub struct Control {
    utterance: Arc<Utterance>,
    finished: bool,
}

/// Why text was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextRefused {
    #[error("expected at most {limit} characters of text in an utterance, found {found}")]
    TooMuch { limit: usize, found: usize },
    #[error("expected no more text after the final one")]
    Finished,
}

impl Control {
    /// Text as it was sent; pieces of it are spoken as soon as no later text can change them.
    pub fn text(&self, text: String) -> Result<(), TextRefused> {
        if self.finished {
            return Err(TextRefused::Finished);
        }
        let utterance = &self.utterance;
        let (limit, n) = (utterance.service.limits().text_chars, text.chars().count());
        let found = utterance.chars.fetch_add(n, Ordering::Relaxed) + n;
        if found > limit {
            utterance.chars.fetch_sub(n, Ordering::Relaxed);
            return Err(TextRefused::TooMuch { limit, found });
        }
        let at = Instant::now();
        for text in portions(text) {
            utterance.put(Input::Text { text, at });
        }
        Ok(())
    }

    /// Everything that has arrived is spoken without waiting for the end of a sentence.
    pub fn flush(&self) {
        self.utterance.put(Input::Flush { at: Instant::now() });
    }

    /// No more text.
    pub fn finish(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            self.utterance.put(Input::Finish { at: Instant::now() });
        }
    }

    /// Its row is freed at the next step; nothing more comes out.
    pub fn cancel(&self) {
        self.utterance.flow.cancel();
    }

    /// Lets an utterance that was opened held begin.
    pub fn release(&self) {
        self.utterance.put(Input::Release);
    }
}

/// The shared heart of an utterance.
pub(super) struct Utterance {
    service: Arc<Service>,
    request: Request,
    flow: Arc<Flow>,
    outbox: Arc<Outbox>,
    /// Characters of text taken so far.
    chars: AtomicUsize,
    /// Text is bounded by `text_chars`, rows' results by the flow.
    inbox: Mutex<VecDeque<Input>>,
    /// A turn waits in the pool, or runs.
    scheduled: AtomicBool,
    /// Touched by turns only, of which one runs at a time.
    speech: Mutex<Speech>,
}

impl Utterance {
    /// `held`: waits for [`Control::release`] before it takes a place on the device.
    pub(super) fn open(
        service: Arc<Service>,
        request: Request,
        gate: Option<Arc<Gate>>,
        held: bool,
    ) -> Result<(Control, Events, u32), Failure> {
        let source_rate = service.frontend().dims.vocos.sample_rate;
        // What a listener hears in that time is more of the source when the tempo is higher.
        let limit = (request.ahead.as_secs_f64() * f64::from(source_rate) * f64::from(request.speed)) as u64;
        let flow = Arc::new(Flow::new(limit, request.stall, service.device().shared().nudge()));
        let outbox = Arc::new(Outbox::default());
        let speech = Speech::new(&request, source_rate, service.limits().text_chars, held);
        // Tells of a format that cannot be made before there is anything to say, and is not kept.
        let encoder = StreamEncoder::new(&request.format, source_rate).map_err(|e| Failure::Internal(e.to_string()))?;
        let pre_skip = encoder.pre_skip();
        let rate = request.format.sample_rate();
        let events = Events::new(outbox.clone(), flow.clone(), request.pace, gate, rate, pre_skip);
        let utterance = Arc::new(Self {
            service,
            request,
            flow,
            outbox,
            chars: AtomicUsize::new(0),
            inbox: Mutex::default(),
            scheduled: AtomicBool::new(false),
            speech: Mutex::new(speech),
        });
        Ok((Control { utterance, finished: false }, events, pre_skip))
    }

    fn frontend(&self) -> &Frontend {
        self.service.frontend()
    }

    fn put(self: &Arc<Self>, input: Input) {
        self.inbox().push_back(input);
        self.schedule(Instant::now());
    }

    fn put_row(self: &Arc<Self>, piece: usize, event: RowEvent, deadline: Instant) {
        self.inbox().push_back(Input::Row { piece, event });
        self.schedule(deadline);
    }

    fn schedule(self: &Arc<Self>, deadline: Instant) {
        if !self.scheduled.swap(true, Ordering::AcqRel) {
            self.service.pool().schedule(deadline, self.clone());
        }
    }

    fn inbox(&self) -> std::sync::MutexGuard<'_, VecDeque<Input>> {
        // Nothing that can panic runs while it is held.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turns for Utterance {
    fn turn(self: Arc<Self>) {
        let inputs = next_inputs(&mut self.inbox());
        let mut speech = self.speech.lock().unwrap_or_else(PoisonError::into_inner);
        // A fault in one utterance's text or sound ends that utterance, and says so.
        let next = catch_unwind(AssertUnwindSafe(|| speech.turn(&self, inputs))).unwrap_or_else(|_| {
            self.flow.cancel();
            speech.end(&self, Event::Failed(Failure::Internal("a turn of this utterance panicked".into())));
            None
        });
        drop(speech);
        self.scheduled.store(false, Ordering::Release);
        if !self.inbox().is_empty() {
            self.schedule(Instant::now());
        } else if let Some(deadline) = next {
            self.schedule(deadline);
        }
    }
}

/// The text in parts of at most [`PORTION`] bytes; none of an empty text. A text that will be refused stays whole, so
/// that nothing of it is spoken.
fn portions(mut text: String) -> Vec<String> {
    if text.contains('\0') {
        return vec![text];
    }
    let mut parts = Vec::new();
    while text.len() > PORTION {
        let mut end = PORTION;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let rest = text.split_off(end);
        parts.push(std::mem::replace(&mut text, rest));
    }
    parts.extend(Some(text).filter(|text| !text.is_empty()));
    parts
}

/// What one turn takes: all there is, but of text no more than a portion.
fn next_inputs(inbox: &mut VecDeque<Input>) -> VecDeque<Input> {
    let mut bytes = 0;
    let fitting = inbox.iter().take_while(|input| {
        bytes += if let Input::Text { text, .. } = input { text.len() } else { 0 };
        bytes <= PORTION
    });
    // The first one in any case: a text that will be refused is whole.
    let count = fitting.count().max(1);
    inbox.drain(..count.min(inbox.len())).collect()
}

/// What a row on the device knows of its utterance.
struct PieceSink {
    utterance: Arc<Utterance>,
    piece: usize,
    row: Arc<RowFlow>,
    seed: u64,
    /// When a listener will need what comes next; not known before the first samples.
    first: Option<Instant>,
    made: usize,
    ended: bool,
}

impl PieceSink {
    fn new(utterance: Arc<Utterance>, piece: usize, row: Arc<RowFlow>, seed: u64) -> Box<Self> {
        Box::new(Self { utterance, piece, row, seed, first: None, made: 0, ended: false })
    }

    fn deadline(&mut self) -> Instant {
        let rate = f64::from(self.utterance.frontend().dims.vocos.sample_rate);
        *self.first.get_or_insert_with(Instant::now) + Duration::from_secs_f64(self.made as f64 / rate)
    }
}

impl RowSink for PieceSink {
    fn demand(&self) -> Demand {
        self.utterance.flow.demand(&self.row)
    }

    fn began(&mut self) {
        self.utterance.put_row(self.piece, RowEvent::Began(Instant::now()), Instant::now());
    }

    fn pcm(&mut self, pcm: Vec<f32>) {
        let deadline = self.deadline();
        self.utterance.flow.add_made(&self.row, pcm.len());
        self.made += pcm.len();
        self.utterance.put_row(self.piece, RowEvent::Pcm(pcm, Instant::now()), deadline);
    }

    fn end(mut self: Box<Self>, end: RowEnd) {
        self.ended = true;
        let deadline = self.deadline();
        self.utterance.put_row(self.piece, RowEvent::End(Box::new(end)), deadline);
    }
}

impl Drop for PieceSink {
    /// A job that was dropped on its way (a device that stops) must not leave its listener waiting.
    fn drop(&mut self) {
        if !self.ended {
            let end = RowEnd::new(RowOutcome::DeviceLost("the row was dropped".into()), self.seed);
            self.utterance.put_row(self.piece, RowEvent::End(Box::new(end)), Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
