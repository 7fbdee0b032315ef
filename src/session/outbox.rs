//! What an utterance gives out: an asynchronous stream of events, paced and gated.
//!
//! The maker puts packets and notes in; whoever serves a client polls [`Events`]. Audio leaves when it is due
//! ([`Pace`]) and while the client keeps up ([`Gate`]); notes leave at once; the last event leaves after all audio.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::Stream;
use tokio::time::{Instant, Sleep};

use super::flow::Flow;
use super::report::{Failure, PieceDone, Summary};
use crate::audio::encode::Packet;
use crate::audio::opus_packets::CLOCK;

#[derive(Debug)]
pub enum Event {
    /// A piece's length is known. May come before all of its audio.
    Piece(PieceDone),
    /// The device has nothing more to do for this utterance: the next one may begin.
    Made,
    Audio {
        packet: Packet,
        sequence: u32,
    },
    /// The last event: everything was said.
    Done(Box<Summary>),
    /// The last event: it ended early. The audio before it is good.
    Failed(Failure),
}

/// When packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As they are made.
    Fast,
    /// By the clock of a listener who began with the first packet, this much ahead of it.
    Realtime { lead: Duration },
}

/// Bounds what is on its way to one client: sound sent and not yet known to be delivered.
///
/// A web framework's own buffers do not say how full they are, so delivery is what the client confirms. It also knows
/// until when the client has something to hear, so that utterances in a row keep to one clock.
pub struct Gate {
    window: Duration,
    /// Microseconds of sound.
    sent: AtomicU64,
    delivered: AtomicU64,
    waker: Mutex<Option<Waker>>,
    /// When a listener in real time has heard all that was sent in real time so far.
    heard_at: Mutex<Option<Instant>>,
}

impl Gate {
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            sent: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            waker: Mutex::new(None),
            heard_at: Mutex::new(None),
        }
    }

    /// The listener has thrown away what was not heard yet: the next utterance is heard at once.
    pub fn forget(&self) {
        *self.heard_at() = None;
    }

    fn heard_at(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.heard_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Microseconds of sound sent so far, over all utterances.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Sound sent and not confirmed.
    pub fn in_flight(&self) -> Duration {
        Duration::from_micros(self.sent().saturating_sub(self.delivered.load(Ordering::Acquire)))
    }

    /// The client has everything up to this position. Positions beyond what was sent are ignored.
    pub fn deliver(&self, micros: u64) {
        if micros <= self.sent() && self.delivered.fetch_max(micros, Ordering::AcqRel) < micros {
            let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    fn is_open(&self, ctx: &Context<'_>) -> bool {
        if self.in_flight() < self.window {
            return true;
        }
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(ctx.waker().clone());
        // Delivered between the look and the store.
        self.in_flight() < self.window
    }

    fn send(&self, sound: Duration) {
        self.sent.fetch_add(sound.as_micros() as u64, Ordering::AcqRel);
    }
}

#[derive(Default)]
struct Contents {
    notes: VecDeque<Event>,
    /// Bounded by the flow: rows pause when too much waits here.
    audio: VecDeque<Packet>,
    last: Option<Event>,
    waker: Option<Waker>,
}

/// The maker's side.
#[derive(Default)]
pub struct Outbox(Mutex<Contents>);

impl Outbox {
    pub fn note(&self, event: Event) {
        self.change(|c| c.notes.push_back(event));
    }

    pub fn audio(&self, packets: impl IntoIterator<Item = Packet>) {
        self.change(|c| c.audio.extend(packets));
    }

    pub fn end(&self, event: Event) {
        self.change(|c| {
            if matches!(event, Event::Failed(Failure::Stalled { .. })) {
                // Nobody takes it, and the error could not leave behind it.
                c.audio.clear();
            }
            c.last.get_or_insert(event);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) {
        let waker = {
            let mut contents = self.contents();
            change(&mut contents);
            contents.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn contents(&self) -> std::sync::MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client's side. Dropping it cancels the utterance.
pub struct Events {
    outbox: Arc<Outbox>,
    flow: Arc<Flow>,
    gate: Option<Arc<Gate>>,
    pacer: Pacer,
    sample_rate: u32,
    /// What a player throws away at the start.
    pre_skip: Duration,
    sequence: u32,
    first_sent: Option<std::time::Instant>,
    ended: bool,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Events {
    /// `sample_rate`: the packets', in Hz; `pre_skip`: samples at 48 kHz that a player throws away at the start.
    pub fn new(
        outbox: Arc<Outbox>,
        flow: Arc<Flow>,
        pace: Pace,
        gate: Option<Arc<Gate>>,
        sample_rate: u32,
        pre_skip: u32,
    ) -> Self {
        Self {
            outbox,
            flow,
            gate,
            pacer: Pacer { pace, origin: None, underruns: 0, underrun: Duration::ZERO },
            sample_rate,
            pre_skip: samples(pre_skip.into(), CLOCK),
            sequence: 0,
            first_sent: None,
            ended: false,
            sleep: None,
        }
    }

    /// The next packet, if there is one, it is due and the client keeps up.
    fn poll_audio(&mut self, contents: &mut Contents, ctx: &mut Context<'_>) -> Poll<Event> {
        let Some(next) = contents.audio.front() else { return Poll::Pending };
        if self.gate.as_ref().is_some_and(|g| !g.is_open(ctx)) {
            return Poll::Pending;
        }
        let now = Instant::now();
        if let Some(gate) = &self.gate {
            self.pacer.follow(*gate.heard_at(), now);
        }
        if let Some(due) = self.pacer.due(samples(next.start, self.sample_rate))
            && due > now
        {
            // A later poll finds the same packet due; only the timer's waker matters here.
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            sleep.as_mut().reset(due);
            if sleep.as_mut().poll(ctx).is_pending() {
                return Poll::Pending;
            }
        }
        let Some(packet) = contents.audio.pop_front() else { return Poll::Pending };
        let frame = samples(packet.samples.into(), self.sample_rate);
        self.pacer.sent(samples(packet.start, self.sample_rate), frame, now);
        self.first_sent.get_or_insert(now.into_std());
        self.flow.take_up_to(packet.source_end);
        if let Some(gate) = &self.gate {
            gate.send(frame);
            let end = samples(packet.start + u64::from(packet.samples), self.sample_rate);
            if let Some(heard_at) = self.pacer.heard_at(end.saturating_sub(self.pre_skip)) {
                *gate.heard_at() = Some(heard_at);
            }
        }
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        Poll::Ready(Event::Audio { packet, sequence })
    }

    /// What only the sender knows of a summary.
    fn complete(&self, event: Event) -> Event {
        match event {
            Event::Done(mut summary) => {
                summary.first_sent = self.first_sent;
                summary.underruns = self.pacer.underruns;
                summary.underrun = self.pacer.underrun;
                Event::Done(summary)
            }
            other => other,
        }
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.flow.listen();
        let outbox = self.outbox.clone();
        let mut contents = outbox.contents();
        if let Some(note) = contents.notes.pop_front() {
            return Poll::Ready(Some(note));
        }
        if let Poll::Ready(event) = self.poll_audio(&mut contents, ctx) {
            return Poll::Ready(Some(event));
        }
        if contents.audio.is_empty()
            && let Some(last) = contents.last.take()
        {
            self.ended = true;
            return Poll::Ready(Some(self.complete(last)));
        }
        contents.waker = Some(ctx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.flow.cancel();
    }
}

/// The listener's clock, as far as the sender can know it.
struct Pacer {
    pace: Pace,
    /// When the listener began to hear position 0; moved when the listener ran dry.
    origin: Option<Instant>,
    underruns: u32,
    underrun: Duration,
}

impl Pacer {
    /// Before the first packet: another utterance is being heard until then, and this one is heard after it. Without
    /// this, each utterance of a socket would be sent a lead's time further ahead than the one before it.
    fn follow(&mut self, heard_at: Option<Instant>, now: Instant) {
        if self.origin.is_none() && self.pace != Pace::Fast {
            self.origin = heard_at.filter(|at| *at > now);
        }
    }

    /// When the listener has heard so much of it.
    fn heard_at(&self, position: Duration) -> Option<Instant> {
        self.origin.filter(|_| self.pace != Pace::Fast).map(|origin| origin + position)
    }

    /// When the packet at this position should leave; `None`: now.
    fn due(&self, position: Duration) -> Option<Instant> {
        match (self.pace, self.origin) {
            (Pace::Realtime { lead }, Some(origin)) => (origin + position).checked_sub(lead),
            _ => None,
        }
    }

    fn sent(&mut self, position: Duration, frame: Duration, now: Instant) {
        let origin = *self.origin.get_or_insert(now);
        let late = now.saturating_duration_since(origin + position);
        // Less than a packet's length late is the timers' doing.
        if late > frame {
            self.underruns += 1;
            self.underrun += late;
            self.origin = Some(origin + late);
        }
    }
}

fn samples(n: u64, rate: u32) -> Duration {
    Duration::from_nanos((u128::from(n) * 1_000_000_000 / u128::from(rate.max(1))) as u64)
}

#[cfg(test)]
mod tests;
