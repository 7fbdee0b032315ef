//! One client's socket as an actor: reads control messages, speaks its utterances in order, sends their packets.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_web::web;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::StreamExt;
use tracing::{debug, info, warn};

use super::frame::{HEADER_BYTES, Header};
use super::message::{
    CancelState, Cancelled, ClientMessage, Error, ErrorCode, Joiner, Pace, Refusal, ServerMessage, Start, Started,
    parse,
};
use super::replies;
use super::socket::{Assembler, Context, Incoming, close};
use crate::api::errors::{RETRY_AFTER_SECONDS, code_of};
use crate::api::state::{App, Stop};
use crate::api::voices;
use crate::audio::encode::Packet;
use crate::model::speaker::draw_seed;
use crate::session::live::{Control, Request, TextRefused};
use crate::session::outbox::{Event, Events, Gate};
use crate::session::report::Failure;
use crate::session::service::Opened;

/// Messages from other actors that may wait; only [`Stop`] is sent.
const MAILBOX: usize = 4;
/// After so much sound the client is asked whether it has it.
const CONFIRM_EVERY: Duration = Duration::from_millis(200);
/// Rows of one utterance at once, from the first sound on, where sound is sent as made.
const FAST_ROWS: usize = 2;

pub struct SessionActor {
    app: web::Data<App>,
    /// Its number among the open sockets.
    number: Option<u64>,
    /// What logs call it.
    name: String,
    /// Alive, in the order they are spoken; the first one speaks.
    utterances: VecDeque<Utterance>,
    started: u32,
    gate: Arc<Gate>,
    /// Position asked about last, and what the client has, in microseconds of sound sent.
    asked: u64,
    confirmed: u64,
    /// When sound began to wait for a confirmation without any coming.
    waiting_since: Option<Instant>,
    last_seen: Instant,
    stopping: bool,
    closed: bool,
    pub(super) assembler: Assembler,
}

struct Utterance {
    id: String,
    stream: u32,
    control: Control,
    /// A character may be cut between two messages.
    joiner: Joiner,
    /// Until its turn comes.
    events: Option<Events>,
    /// While it speaks.
    polling: Option<SpawnHandle>,
    sent: Duration,
    sample_rate: u32,
    /// The device has done all of it.
    made: bool,
}

/// An event of the utterance with this stream number.
struct Spoken(u32, Event);

impl SessionActor {
    pub fn new(app: web::Data<App>) -> Self {
        let gate = Arc::new(Gate::new(app.sockets.in_flight));
        Self {
            app,
            number: None,
            name: format!("{:08x}", draw_seed()),
            utterances: VecDeque::new(),
            started: 0,
            gate,
            asked: 0,
            confirmed: 0,
            waiting_since: None,
            last_seen: Instant::now(),
            stopping: false,
            closed: false,
            assembler: Assembler::default(),
        }
    }

    /// Something came from the client: it lives.
    pub(super) fn seen(&mut self) {
        self.last_seen = Instant::now();
    }

    pub(super) fn message_bytes(&self) -> usize {
        self.app.sockets.message_bytes
    }

    pub(super) fn incoming(&mut self, incoming: Incoming, ctx: &mut Context) {
        if self.closed {
            return;
        }
        match incoming {
            Incoming::Text(text) => match parse(&text) {
                Ok(message) => self.message(message, ctx),
                Err(refusal) => self.refuse(refusal, ctx),
            },
            Incoming::Pong(payload) => self.confirm(&payload),
            Incoming::Binary => self.close(ctx, 1003, "expected text frames, found a binary one"),
            Incoming::Close => self.close(ctx, 1000, ""),
            Incoming::Broken(code, why) => self.close(ctx, code, &why),
        }
    }

    fn message(&mut self, message: ClientMessage, ctx: &mut Context) {
        let result = match message {
            ClientMessage::Start(start) => self.start(start, ctx),
            ClientMessage::Text { id, text, last } => self.text(id.as_deref(), text, last),
            ClientMessage::Flush { id } => self.find(id.as_deref()).map(|u| u.control.flush()),
            ClientMessage::Cancel { id } => {
                self.cancel(id, ctx);
                Ok(())
            }
            ClientMessage::Ping { data } => {
                send(ctx, &ServerMessage::Pong { data });
                Ok(())
            }
        };
        if let Err(refusal) = result {
            self.refuse(refusal, ctx);
        }
    }

    fn refuse(&self, refusal: Refusal, ctx: &mut Context) {
        debug!(session = %self.name, code = ?refusal.code, field = ?refusal.field, "message refused");
        send(ctx, &refusal.into());
    }

    fn start(&mut self, start: Start, ctx: &mut Context) -> Result<(), Refusal> {
        let limit = self.app.sockets.utterances;
        let id = self.new_id(start.id.clone())?;
        let refused = |code, message: String, field: Option<&str>| {
            Err(Refusal { code, message, field: field.map(String::from), id: Some(id.clone()) })
        };
        if self.utterances.len() >= limit {
            let message = format!("start: expected at most {limit} utterances at once");
            return refused(ErrorCode::TooManyUtterances, message, None);
        }
        if self.stopping {
            return refused(ErrorCode::Overloaded, "start: the server is stopping".into(), None);
        }
        let chars = start.text.as_ref().map_or(0, |t| t.chars().count());
        let most = self.app.service.limits().text_chars;
        if chars > most {
            let message = format!("text: expected at most {most} characters in an utterance, found {chars}");
            return refused(ErrorCode::TooMuchText, message, Some("text"));
        }
        let (request, mut started) = self.request(&start, &id)?;
        let (sample_rate, format) = (request.format.sample_rate(), request.format);
        // It may be made while the one before it is still being sent.
        let held = self.utterances.len() > 1 || self.utterances.front().is_some_and(|u| !u.made);
        let opened = self.app.service.open(request, Some(self.gate.clone()), held);
        let Opened { control, events, pre_skip } = match opened {
            Ok(opened) => opened,
            Err(failure) => return refused(code_of(&failure), failure.to_string(), None),
        };
        started.format = replies::format_in_use(&format, pre_skip);
        let stream = started.stream;
        self.started = stream;
        self.app.metrics.started.inc();
        send(ctx, &ServerMessage::Started(started));
        let utterance = Utterance {
            id,
            stream,
            control,
            joiner: Joiner::default(),
            events: Some(events),
            polling: None,
            sent: Duration::ZERO,
            sample_rate,
            made: false,
        };
        self.utterances.push_back(utterance);
        self.listen(ctx);
        if start.text.is_some() || start.last {
            self.text(None, start.text.unwrap_or_default(), start.last)?;
        }
        Ok(())
    }

    fn new_id(&self, asked: Option<String>) -> Result<String, Refusal> {
        let taken = |id: &str| self.utterances.iter().any(|u| u.id == id);
        match asked {
            Some(id) if taken(&id) => Err(Refusal {
                code: ErrorCode::DuplicateId,
                message: "id: expected one that no living utterance of this socket has".into(),
                field: Some("id".into()),
                id: Some(id),
            }),
            Some(id) => Ok(id),
            None => {
                let mut n = self.started + 1;
                while taken(&format!("u{n}")) {
                    n += 1;
                }
                Ok(format!("u{n}"))
            }
        }
    }

    /// What the client asked for, and how it is told so.
    fn request(&self, start: &Start, id: &str) -> Result<(Request, Started), Refusal> {
        let frontend = self.app.service.frontend();
        let with_id = |refusal: Refusal| Refusal { id: Some(id.to_string()), ..refusal };
        let (speaker, voice) = voices::resolve(frontend, &self.app.voice, start.voice.as_ref()).map_err(with_id)?;
        if start.refine.is_some() && !frontend.dims.capabilities.refine_text {
            let found = "a model without it";
            let expected = "false, or a model whose text head is trained";
            let refusal = Refusal::of_field(ErrorCode::BadValue, "refine".into(), expected, found);
            return Err(with_id(refusal));
        }
        let seed = start.seed.unwrap_or_else(|| draw_seed().into());
        let sampling = replies::sampling(&start.sampling, seed);
        let format = replies::stream_format(start.format);
        let internal = |message: String| Refusal { code: ErrorCode::Internal, message, field: None, id: None };
        let request = Request {
            speaker,
            sampling: sampling.clone(),
            max_steps: start.sampling.max_steps.map(|n| n as usize),
            refine: start.refine.as_ref().map(|r| r.control()),
            speed: start.speed,
            decode: frontend.decode_path(None).map_err(|e| with_id(internal(e.to_string())))?,
            format,
            pace: match start.pace {
                Pace::Fast => crate::session::outbox::Pace::Fast,
                Pace::Realtime => {
                    crate::session::outbox::Pace::Realtime { lead: Duration::from_millis(start.lead_ms.into()) }
                }
            },
            parallel: if start.pace == Pace::Fast { FAST_ROWS } else { 1 },
            ahead: self.app.sockets.ahead,
            stall: self.app.sockets.stall,
        };
        let started = Started {
            id: id.into(),
            stream: self.started + 1,
            format: replies::format_in_use(&request.format, 0),
            voice,
            seed,
            sampling: replies::sampling_in_use(&sampling, start.sampling.max_steps),
            refine: start.refine,
            speed: start.speed,
            pace: start.pace,
            lead_ms: start.lead_ms,
        };
        Ok((request, started))
    }

    fn find(&mut self, id: Option<&str>) -> Result<&mut Utterance, Refusal> {
        // Not simply the last one alive: words meant for one that was cancelled are not another's.
        let last = self.started;
        let found = match id {
            Some(id) => self.utterances.iter_mut().find(|u| u.id == id),
            None => self.utterances.iter_mut().find(|u| u.stream == last),
        };
        found.ok_or_else(|| Refusal {
            code: ErrorCode::UnknownId,
            message: match id {
                Some(_) => "id: expected that of a living utterance of this socket".into(),
                None => "id: expected a start before it".into(),
            },
            field: Some("id".into()),
            id: id.map(String::from),
        })
    }

    fn text(&mut self, id: Option<&str>, text: String, last: bool) -> Result<(), Refusal> {
        let utterance = self.find(id)?;
        let refused = |e: TextRefused, id: &str| {
            let code = match e {
                TextRefused::TooMuch { .. } => ErrorCode::TooMuchText,
                TextRefused::Finished => ErrorCode::Finished,
            };
            Refusal { code, message: format!("text: {e}"), field: Some("text".into()), id: Some(id.into()) }
        };
        let text = utterance.joiner.push(text, last);
        let taken = utterance.control.text(text).map_err(|e| refused(e, &utterance.id));
        // Also where the text was too long: what there was is spoken to its end.
        if last {
            utterance.control.finish();
        }
        taken
    }

    /// Answered here and now; what is still under way of it elsewhere finds nobody to go to.
    fn cancel(&mut self, id: Option<String>, ctx: &mut Context) {
        let ids: Vec<String> = match id {
            Some(id) => vec![id],
            None => self.utterances.iter().map(|u| u.id.clone()).collect(),
        };
        if ids.is_empty() {
            let cancelled = Cancelled { id: None, state: CancelState::Unknown, audio_ms: 0.0 };
            return send(ctx, &ServerMessage::Cancelled(cancelled));
        }
        for id in ids {
            let (state, sent) = match self.utterances.iter().position(|u| u.id == id) {
                None => (CancelState::Unknown, Duration::ZERO),
                Some(at) => {
                    let utterance = self.remove(at, ctx);
                    self.app.metrics.cancelled.inc();
                    let sent = utterance.map_or(Duration::ZERO, |u| u.sent);
                    if !sent.is_zero() {
                        self.gate.forget();
                    }
                    (if sent.is_zero() { CancelState::Waiting } else { CancelState::Speaking }, sent)
                }
            };
            let audio_ms = sent.as_secs_f64() * 1e3;
            send(ctx, &ServerMessage::Cancelled(Cancelled { id: Some(id), state, audio_ms }));
        }
        self.listen(ctx);
    }

    /// Takes an utterance out; if it was not over, its row is freed at the next step.
    fn remove(&mut self, at: usize, ctx: &mut Context) -> Option<Utterance> {
        let utterance = self.utterances.remove(at)?;
        utterance.control.cancel();
        if let Some(handle) = utterance.polling {
            ctx.cancel_future(handle);
        }
        Some(utterance)
    }

    /// Sees to it that the first utterance is listened to and has its place.
    fn listen(&mut self, ctx: &mut Context) {
        let Some(first) = self.utterances.front_mut() else {
            if self.stopping {
                self.close(ctx, 1001, "the server stops");
            }
            return;
        };
        if let Some(events) = first.events.take() {
            first.control.release();
            let stream = first.stream;
            first.polling = Some(ctx.add_stream(events.map(move |event| Spoken(stream, event))));
        }
    }

    fn spoken(&mut self, event: Event, ctx: &mut Context) {
        let Some(first) = self.utterances.front_mut() else { return };
        let (id, stream) = (first.id.clone(), first.stream);
        match event {
            Event::Audio { packet, sequence } => self.send_audio(packet, sequence, ctx),
            Event::Piece(piece) => send(ctx, &ServerMessage::Piece(replies::piece(&id, piece))),
            Event::Made => {
                first.made = true;
                if let Some(next) = self.utterances.get(1) {
                    next.control.release();
                }
            }
            Event::Done(summary) => {
                self.app.metrics.count_done(&summary);
                // Never the text: it is the caller's.
                info!(
                    session = %self.name,
                    stream,
                    audio_ms = summary.audio_ms,
                    ttfa_ms = summary.ttfa_ms(),
                    queue_ms = summary.queue_ms(),
                    rtf = summary.rtf(),
                    underruns = summary.underruns,
                    "spoken"
                );
                send(ctx, &ServerMessage::Done(replies::done(&id, *summary)));
                self.remove(0, ctx);
                self.listen(ctx);
            }
            Event::Failed(failure) => self.failed(&id, failure, ctx),
        }
    }

    fn failed(&mut self, id: &str, failure: Failure, ctx: &mut Context) {
        let code = code_of(&failure);
        warn!(session = %self.name, utterance = id, ?code, error = %failure, "utterance ended early");
        self.app.metrics.failed.inc();
        let retry_after_ms = (code == ErrorCode::Overloaded).then_some(RETRY_AFTER_SECONDS * 1000);
        let (message, id) = (failure.to_string(), Some(id.to_string()));
        send(ctx, &ServerMessage::Error(Error { code, message, field: None, id, ended: true, retry_after_ms }));
        self.remove(0, ctx);
        if let Failure::Stalled { .. } = failure {
            self.app.metrics.slow_readers.inc();
        }
        match code.close_code() {
            Some(code) => self.close(ctx, code, &failure.to_string()),
            None => self.listen(ctx),
        }
    }

    fn send_audio(&mut self, packet: Packet, sequence: u32, ctx: &mut Context) {
        let Some(first) = self.utterances.front_mut() else { return };
        first.sent +=
            Duration::from_nanos(u64::from(packet.samples) * 1_000_000_000 / u64::from(first.sample_rate.max(1)));
        let header = Header {
            first: sequence == 0,
            last: packet.last,
            stream: first.stream,
            sequence,
            media: packet.start as u32,
        };
        let mut bytes = BytesMut::with_capacity(HEADER_BYTES + packet.data.len());
        bytes.put_slice(&header.encode());
        bytes.put_slice(&packet.data);
        ctx.binary(bytes.freeze());
        let sent = self.gate.sent();
        if packet.last || sent - self.asked >= CONFIRM_EVERY.as_micros() as u64 {
            self.asked = sent;
            self.waiting_since.get_or_insert_with(Instant::now);
            ctx.ping(sent.to_string().as_bytes());
        }
    }

    /// A pong names a position of ours, or is one that was not asked for.
    fn confirm(&mut self, payload: &Bytes) {
        let position = std::str::from_utf8(payload).ok().and_then(|text| text.parse::<u64>().ok());
        let Some(position) = position.filter(|p| *p <= self.asked) else { return };
        self.gate.deliver(position);
        if position > self.confirmed {
            self.confirmed = position;
            self.waiting_since = (self.confirmed < self.asked).then(Instant::now);
        }
    }

    fn tick(&mut self, ctx: &mut Context) {
        let limits = &self.app.sockets;
        if self.last_seen.elapsed() > limits.ping_timeout {
            info!(session = %self.name, "no answer to pings: closed");
            self.close(ctx, 1001, "no answer to pings");
        } else if self.waiting_since.is_some_and(|since| since.elapsed() > limits.stall) {
            info!(session = %self.name, "slow reader: closed");
            let (after, id) = (limits.stall, self.utterances.front().map(|u| u.id.clone()));
            self.failed(&id.unwrap_or_default(), Failure::Stalled { after }, ctx);
        } else if self.last_seen.elapsed() >= limits.ping_every / 2 {
            ctx.ping(self.confirmed.to_string().as_bytes());
        }
    }

    /// Ends everything at once; the close frame is the last thing the client hears.
    fn close(&mut self, ctx: &mut Context, code: u16, reason: &str) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.abandon(ctx);
        close(ctx, code, reason);
        ctx.stop();
    }

    fn abandon(&mut self, ctx: &mut Context) {
        while self.remove(0, ctx).is_some() {
            self.app.metrics.cancelled.inc();
        }
    }
}

fn send(ctx: &mut Context, message: &ServerMessage) {
    ctx.text(message.to_json());
}

impl Actor for SessionActor {
    type Context = Context;

    fn started(&mut self, ctx: &mut Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        let recipient = ctx.address().recipient();
        self.number = self.app.sessions.enter(self.app.sockets.sockets, |_| recipient);
        if self.number.is_none() {
            return self.close(ctx, 1013, "too many sockets");
        }
        self.app.metrics.sessions.inc();
        if self.app.is_draining() {
            return self.close(ctx, 1001, "the server stops");
        }
        send(ctx, &ServerMessage::Ready(replies::ready(&self.app, &self.name)));
        let limits = &self.app.sockets;
        let tick = (limits.ping_every / 2).min(limits.stall / 2).min(limits.ping_timeout / 4);
        ctx.run_interval(tick.max(Duration::from_millis(10)), Self::tick);
    }

    /// However it came to this: nothing of this client's stays on the device.
    fn stopped(&mut self, ctx: &mut Context) {
        self.abandon(ctx);
        if let Some(number) = self.number.take() {
            self.app.sessions.leave(number);
            self.app.metrics.sessions.dec();
        }
    }
}

impl StreamHandler<Spoken> for SessionActor {
    fn handle(&mut self, Spoken(stream, event): Spoken, ctx: &mut Context) {
        // Not of one that was cancelled a moment ago.
        if !self.closed && self.utterances.front().is_some_and(|u| u.stream == stream) {
            self.spoken(event, ctx);
        }
    }

    /// An utterance's end is not the socket's.
    fn finished(&mut self, _: &mut Context) {}
}

impl Handler<Stop> for SessionActor {
    type Result = ();

    fn handle(&mut self, stop: Stop, ctx: &mut Context) {
        self.stopping = true;
        if stop == Stop::Now || self.utterances.is_empty() {
            self.close(ctx, 1001, "the server stops");
        }
    }
}
