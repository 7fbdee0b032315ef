//! One socket: connects, speaks one utterance at a time, and reads whatever comes in between.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::args::{Load, Target};
use super::header::{self, Header};
use super::record::{Record, count};
use super::track::Fault;
use super::utterance::{End, Job, Utterance, Words};
use super::wire::{Incoming, cancel_message, text_message};
use crate::model::rng::derive_seed;

/// Each socket takes two of these; the library's own 128 KiB would make the client the larger half of a test of 2,000
/// sockets.
const BUFFER_BYTES: usize = 4 << 10;

/// Streams that are over and still remembered, so that audio after their end can be named.
const REMEMBERED: usize = 8;

/// Given to the other side to answer a close.
const CLOSE_TIME: Duration = Duration::from_millis(500);

/// After a cancel at the very end, audio that should not come gets this long to come.
const LINGER: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{0}")]
    Tcp(std::io::Error),
    #[error("expected a `ready` within {0:?}, found none")]
    Timeout(Duration),
    #[error("WebSocket handshake: expected status 101, found {0}")]
    Status(tungstenite::http::StatusCode),
    #[error("WebSocket handshake: {0}")]
    Handshake(Box<tungstenite::Error>),
    #[error("refused: {message} ({code})")]
    Refused { code: String, message: String },
    #[error("expected a `ready`, found {0}")]
    NotReady(String),
}

impl ConnectError {
    /// A short name to count by.
    pub fn code(&self) -> String {
        match self {
            Self::Tcp(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => "connect_refused".into(),
            Self::Tcp(_) => "connect_failed".into(),
            Self::Timeout(_) => "connect_timeout".into(),
            Self::Status(status) => format!("http_{}", status.as_u16()),
            Self::Handshake(_) => "handshake_failed".into(),
            Self::Refused { code, .. } => code.clone(),
            Self::NotReady(_) => "not_ready".into(),
        }
    }
}

impl From<tungstenite::Error> for ConnectError {
    fn from(e: tungstenite::Error) -> Self {
        match e {
            tungstenite::Error::Http(response) => Self::Status(response.status()),
            other => Self::Handshake(Box::new(other)),
        }
    }
}

/// How the server names itself.
#[derive(Clone, Debug, Default)]
pub struct ServerName {
    pub server: String,
    pub model: String,
}

#[derive(Debug)]
pub struct Client {
    ws: WebSocketStream<TcpStream>,
    record: Rc<RefCell<Record>>,
    pub name: ServerName,
    /// Nothing more can be sent or will come.
    closed: bool,
    /// An utterance is under way. When the run ends, it is given up as it stands.
    speaking: bool,
    last_id: u64,
    ended: VecDeque<(u32, End)>,
    retry_after: Option<Duration>,
}

impl Client {
    /// Connects and waits for `ready`.
    ///
    /// # Errors
    /// When any step fails, or `ready` is not there within `limit`.
    pub async fn connect(target: &Target, record: &Rc<RefCell<Record>>, limit: Duration) -> Result<Self, ConnectError> {
        let began = Instant::now();
        let client = timeout(limit, Self::open(target, record)).await.map_err(|_| ConnectError::Timeout(limit))??;
        record.borrow_mut().connects.add(began.elapsed().as_secs_f64() * 1e3);
        Ok(client)
    }

    async fn open(target: &Target, record: &Rc<RefCell<Record>>) -> Result<Self, ConnectError> {
        let tcp = TcpStream::connect(target.address.as_str()).await.map_err(ConnectError::Tcp)?;
        tcp.set_nodelay(true).map_err(ConnectError::Tcp)?;
        let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES);
        let (mut ws, _) = client_async_with_config(target.request.as_str(), tcp, Some(config)).await?;
        let name = loop {
            match ws.next().await {
                Some(Ok(Message::Text(text))) => match serde_json::from_str(text.as_str()) {
                    Ok(Incoming::Ready { server, model }) => break ServerName { server, model: model.name },
                    Ok(Incoming::Error { code, message, .. }) => return Err(ConnectError::Refused { code, message }),
                    _ => return Err(ConnectError::NotReady("another message".into())),
                },
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(frame))) => {
                    return Err(ConnectError::NotReady(format!("close code {}", close_code(frame.as_ref()))));
                }
                Some(Ok(_)) => return Err(ConnectError::NotReady("a binary message".into())),
                Some(Err(e)) => return Err(e.into()),
                None => return Err(ConnectError::NotReady("the end of the connection".into())),
            }
        };
        Ok(Self {
            ws,
            record: record.clone(),
            name,
            closed: false,
            speaking: false,
            last_id: 0,
            ended: VecDeque::new(),
            retry_after: None,
        })
    }

    pub fn closed(&self) -> bool {
        self.closed
    }

    /// How long the server asked to be left alone.
    pub fn retry_after(&mut self) -> Option<Duration> {
        self.retry_after.take()
    }

    /// Speaks one utterance and returns it when it is over.
    pub async fn speak(&mut self, load: &Load, job: &Job, cancel_after: Option<Duration>) -> Utterance {
        let text = load.texts[(job.index % load.texts.len() as u64) as usize].as_str();
        self.last_id += 1;
        let id = format!("b{}", self.last_id);
        // Seeds the protocol allows have 53 bits.
        let seed = derive_seed(load.seed, job.index as u32) >> 11;
        let start = load.start.message(&id, seed, load.word_rate.is_none().then_some(text));
        let now = Instant::now();
        let mut live = Utterance::new(id, job, now);
        let mut words = load.word_rate.map(|rate| Words::new(text, rate, now));
        let cancel_at = cancel_after.map(|after| now + after);
        self.speaking = true;
        self.send(start).await;
        self.act(&mut live, &mut words, cancel_at, load).await;
        let timer = sleep_until(next_act(&live, &mut words, cancel_at, load));
        tokio::pin!(timer);
        while !live.over() && !self.closed {
            tokio::select! {
                biased;
                message = self.ws.next() => self.take(message, Some(&mut live), load.jitter_ms),
                () = timer.as_mut() => {
                    self.act(&mut live, &mut words, cancel_at, load).await;
                    timer.as_mut().reset(next_act(&live, &mut words, cancel_at, load));
                }
            }
        }
        self.speaking = false;
        live
    }

    /// Does what is due by now: the next word, the cancel, giving up.
    async fn act(
        &mut self,
        live: &mut Utterance,
        words: &mut Option<Words<'_>>,
        cancel_at: Option<Instant>,
        load: &Load,
    ) {
        let now = Instant::now();
        if live.end.is_none() && live.cancel_sent.is_none() && cancel_at.is_some_and(|at| at <= now) {
            live.cancel_sent = Some(now);
            self.send(cancel_message(&live.id)).await;
        }
        let talking = live.end.is_none() && live.cancel_sent.is_none();
        if let Some(words) = words.as_mut().filter(|_| talking) {
            while words.due().is_some_and(|at| at <= now) {
                let Some((word, last)) = words.next() else { break };
                live.text_sent(Instant::now());
                self.send(text_message(&live.id, word, last)).await;
            }
        }
        if live.last_seen + load.timeout <= now {
            live.failed("timeout");
            self.closed = true;
        }
    }

    /// Reads and answers pings until `until` is ready.
    pub async fn idle(&mut self, until: impl Future<Output = ()>) {
        tokio::pin!(until);
        while !self.closed {
            tokio::select! {
                biased;
                message = self.ws.next() => self.take(message, None, 0.0),
                () = until.as_mut() => return,
            }
        }
        until.await;
    }

    /// Says goodbye, and reads to the end what should not come any more.
    pub async fn close(mut self) {
        if matches!(self.ended.front(), Some((_, End::Cancelled))) {
            self.idle(tokio::time::sleep(LINGER)).await;
        }
        if self.closed {
            return;
        }
        let _ = timeout(CLOSE_TIME, async {
            if self.ws.close(None).await.is_err() {
                return;
            }
            while let Some(Ok(message)) = self.ws.next().await {
                if let Message::Binary(bytes) = message {
                    self.binary(&bytes, None, Instant::now());
                }
            }
        })
        .await;
    }

    /// A socket that refuses has usually closed, with a code that is still to be read.
    async fn send(&mut self, message: String) {
        if !self.closed {
            let _ = self.ws.send(Message::text(message)).await;
        }
    }

    /// Takes in one result of reading the socket.
    fn take(&mut self, message: Option<tungstenite::Result<Message>>, live: Option<&mut Utterance>, jitter_ms: f64) {
        let now = Instant::now();
        match message {
            Some(Ok(Message::Binary(bytes))) => self.binary(&bytes, live, now),
            Some(Ok(Message::Text(text))) => self.text(text.as_str(), live, jitter_ms, now),
            Some(Ok(Message::Close(frame))) => self.over(close_code(frame.as_ref()), live),
            Some(Ok(_)) => {}
            // No close frame: what the WebSocket API of a browser calls 1006.
            Some(Err(_)) | None => self.over(1006, live),
        }
    }

    fn over(&mut self, code: u16, live: Option<&mut Utterance>) {
        self.closed = true;
        count(&mut self.record.borrow_mut().closes, code.to_string());
        if let Some(live) = live {
            live.failed(format!("closed_{code}"));
        }
    }

    fn binary(&mut self, bytes: &[u8], live: Option<&mut Utterance>, now: Instant) {
        let mut record = self.record.borrow_mut();
        let Ok(header) = Header::parse(bytes) else {
            record.fault(Fault::BadHeader);
            return;
        };
        let payload = bytes.len() - header::LENGTH;
        record.flow.packets += 1;
        record.flow.bytes += bytes.len() as u64;
        record.flow.payload_bytes += payload as u64;
        let given_up = live.is_none();
        match live.filter(|l| l.stream == Some(header.stream) && l.end.is_none()) {
            Some(live) => live.packet(&header, payload, now, &mut record),
            None => match self.ended.iter().find(|(stream, _)| *stream == header.stream) {
                Some((_, End::Cancelled)) => {
                    record.fault(Fault::AudioAfterCancel);
                    record.audio_bytes_after_cancel += payload as u64;
                }
                Some(_) => record.fault(Fault::AudioAfterEnd),
                None if self.speaking && given_up => {}
                None => record.fault(Fault::UnknownStream),
            },
        }
    }

    fn text(&mut self, text: &str, live: Option<&mut Utterance>, jitter_ms: f64, now: Instant) {
        let mut record = self.record.borrow_mut();
        let Ok(message) = serde_json::from_str::<Incoming>(text) else {
            record.fault(Fault::BadMessage);
            return;
        };
        if let Incoming::Error { code, message, id, retry_after_ms } = message {
            self.retry_after = retry_after_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
            record.examples.entry(code.clone()).or_insert(message);
            let meant = live.filter(|l| l.end.is_none() && id.as_ref().is_none_or(|id| *id == l.id));
            // Too much text: the utterance goes on with what it had.
            match meant.filter(|l| code != "too_much_text" || l.track.is_none()) {
                Some(live) => {
                    live.failed(code);
                    drop(record);
                    self.remember(live);
                }
                None => count(&mut record.notices, code),
            }
            return;
        }
        let id = match &message {
            Incoming::Started { id, .. } | Incoming::Piece { id, .. } | Incoming::Cancelled { id } => Some(id),
            Incoming::Done(done) => Some(&done.id),
            Incoming::Ready { .. } | Incoming::Error { .. } => None,
            Incoming::Other => return,
        };
        if self.speaking && live.is_none() {
            // Of the utterance given up.
            return;
        }
        let Some(live) = live.filter(|l| id == Some(&l.id)) else {
            record.fault(Fault::UnexpectedMessage);
            return;
        };
        let was_running = live.end.is_none();
        match message {
            Incoming::Started { format, .. } if !format.plausible() => record.fault(Fault::BadMessage),
            Incoming::Started { stream, format, .. } if was_running && live.track.is_none() => {
                live.last_seen = now;
                live.started(stream, format, jitter_ms);
            }
            Incoming::Piece { length_ms, .. } if was_running => live.piece(length_ms),
            Incoming::Done(done) if was_running => live.done(done, &mut record),
            Incoming::Cancelled { .. } if live.cancel_sent.is_some() && live.cancel_answered.is_none() => {
                live.cancelled(now);
            }
            _ => record.fault(Fault::UnexpectedMessage),
        }
        drop(record);
        if was_running {
            self.remember(live);
        }
    }

    /// Keeps the stream of an utterance that has ended.
    fn remember(&mut self, live: &Utterance) {
        if let Some(ended) = live.stream.zip(live.end.clone()) {
            self.ended.push_front(ended);
            self.ended.truncate(REMEMBERED);
        }
    }
}

fn close_code(frame: Option<&CloseFrame>) -> u16 {
    // 1005: a close frame without a code.
    frame.map_or(1005, |f| f.code.into())
}

/// When something is to be done next if nothing comes.
fn next_act(live: &Utterance, words: &mut Option<Words<'_>>, cancel_at: Option<Instant>, load: &Load) -> Instant {
    let mut next = live.last_seen + load.timeout;
    if live.end.is_none() && live.cancel_sent.is_none() {
        let word = words.as_mut().and_then(Words::due);
        next = [word, cancel_at].into_iter().flatten().fold(next, Instant::min);
    }
    next
}
