//! A WebSocket client that looks at everything it hears.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::harness::Server;
use crate::sound::{Format, expected};

/// Nothing a test waits for takes this long.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Client {
    pub ws: WebSocketStream<TcpStream>,
    pub ready: Value,
    /// Heard by somebody who waited for something else.
    kept: VecDeque<Heard>,
}

#[derive(Clone, Debug)]
pub enum Heard {
    Control(Value),
    Audio(Packet),
    /// A close frame: code and reason.
    Closed(u16, String),
    /// The connection ended without one.
    Lost,
}

/// A binary frame.
#[derive(Clone, Debug)]
pub struct Packet {
    pub at: Instant,
    pub first: bool,
    pub last: bool,
    pub stream: u32,
    pub sequence: u32,
    pub media: u32,
    pub data: Vec<u8>,
}

impl Packet {
    fn parse(frame: &[u8]) -> Self {
        assert!(frame.len() >= 16, "a frame of {} bytes", frame.len());
        assert_eq!(frame[0], 1, "its kind");
        assert_eq!((frame[1] & !3, &frame[2..4]), (0, &[0, 0][..]), "bits that version 1 does not use");
        let number = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap());
        Self {
            at: Instant::now(),
            first: frame[1] & 1 != 0,
            last: frame[1] & 2 != 0,
            stream: number(4),
            sequence: number(8),
            media: number(12),
            data: frame[16..].to_vec(),
        }
    }
}

/// A frame as a client sends it: masked, with whatever first byte.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        n @ 0..126 => out.push(0x80 | n as u8),
        n @ 126..65_536 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
    out
}

/// A client without a library, which answers nothing by itself: not to pings, and not to a close frame.
pub struct Deaf(TcpStream);

impl Deaf {
    /// Connected, with this message sent.
    pub async fn say(server: &Server, message: &Value) -> Self {
        let mut stream = TcpStream::connect(server.addr).await.expect("it listens");
        let head = "GET /v1/ws HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&frame(0x81, message.to_string().as_bytes())).await.unwrap();
        Self(stream)
    }

    /// Everything up to the end of the connection.
    pub async fn all(mut self) -> Vec<Heard> {
        let mut bytes = Vec::new();
        timeout(PATIENCE, self.0.read_to_end(&mut bytes)).await.expect("an end in time").expect("no reset");
        let head = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("the end of a head");
        let (mut rest, mut heard) = (&bytes[head + 4..], Vec::new());
        while let [first, length, after @ ..] = rest {
            let (n, after) = match length {
                126 => (usize::from(u16::from_be_bytes([after[0], after[1]])), &after[2..]),
                127 => panic!("a frame of over 64 KiB"),
                n => (usize::from(*n), after),
            };
            let (payload, next) = after.split_at(n);
            rest = next;
            match first {
                0x81 => heard.push(Heard::Control(serde_json::from_slice(payload).expect("JSON"))),
                0x82 => heard.push(Heard::Audio(Packet::parse(payload))),
                0x88 => {
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    heard.push(Heard::Closed(code, String::from_utf8(payload[2..].to_vec()).unwrap()));
                }
                0x89 => {}
                other => panic!("a frame that begins with {other:#x}"),
            }
        }
        heard
    }
}

/// One utterance, from `started` to its end.
#[derive(Debug)]
pub struct Spoken {
    pub started: Value,
    pub packets: Vec<Packet>,
    pub pieces: Vec<Value>,
    /// `done`, `cancelled` or `error`.
    pub end: Value,
}

impl Client {
    pub async fn connect(server: &Server) -> Self {
        Self::over(server, TcpStream::connect(server.addr).await.expect("it listens")).await
    }

    /// Over a connection that was made already.
    pub async fn over(server: &Server, stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        let (ws, _) = timeout(PATIENCE, client_async(server.ws(), stream)).await.expect("in time").expect("an upgrade");
        let mut client = Self { ws, ready: Value::Null, kept: VecDeque::new() };
        client.ready = client.control("ready").await;
        client
    }

    pub async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.ws.send(Message::text(text)).await.expect("an open socket");
    }

    pub async fn next(&mut self) -> Heard {
        match self.kept.pop_front() {
            Some(heard) => heard,
            None => self.hear().await,
        }
    }

    /// What comes in this time, if anything.
    pub async fn next_within(&mut self, time: Duration) -> Option<Heard> {
        match self.kept.pop_front() {
            Some(heard) => Some(heard),
            None => timeout(time, self.hear()).await.ok(),
        }
    }

    async fn hear(&mut self) -> Heard {
        loop {
            let message = timeout(PATIENCE, self.ws.next()).await.expect("something within the time");
            match message {
                Some(Ok(Message::Text(text))) => {
                    return Heard::Control(serde_json::from_str(&text).expect("JSON"));
                }
                Some(Ok(Message::Binary(frame))) => return Heard::Audio(Packet::parse(&frame)),
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = frame.map_or((1005, String::new()), |f| (f.code.into(), f.reason.to_string()));
                    // Lets the library answer.
                    let _ = timeout(Duration::from_secs(1), self.ws.next()).await;
                    return Heard::Closed(code, reason);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(_)) | None => return Heard::Lost,
            }
        }
    }

    /// The next control message of this type; what else comes is kept for others.
    pub async fn control(&mut self, kind: &str) -> Value {
        self.find(|heard| matches!(heard, Heard::Control(m) if m["type"] == kind)).await.into_control()
    }

    pub async fn audio(&mut self) -> Packet {
        match self.find(|heard| matches!(heard, Heard::Audio(_))).await {
            Heard::Audio(packet) => packet,
            other => panic!("expected audio, found {other:?}"),
        }
    }

    /// The close frame, after whatever else.
    pub async fn closed(&mut self) -> (u16, String) {
        match self.find(|heard| matches!(heard, Heard::Closed(..))).await {
            Heard::Closed(code, reason) => (code, reason),
            other => panic!("expected a close frame, found {other:?}"),
        }
    }

    async fn find(&mut self, wanted: impl Fn(&Heard) -> bool) -> Heard {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).expect("it was found");
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let heard = self.hear().await;
            if wanted(&heard) {
                return heard;
            }
            assert!(!matches!(heard, Heard::Lost), "the connection was lost; before that: {:?}", self.kept);
            assert!(Instant::now() < until, "what was waited for did not come");
            self.kept.push_back(heard);
        }
    }

    /// Sends a `start` and returns its `started`.
    pub async fn start(&mut self, mut start: Value) -> Value {
        start["type"] = "start".into();
        self.send(start).await;
        self.control("started").await
    }

    pub async fn text(&mut self, id: &Value, text: &str, last: bool) {
        self.send(json!({ "type": "text", "id": id, "text": text, "final": last })).await;
    }

    /// Starts an utterance and hears all of it.
    pub async fn speak(&mut self, start: Value) -> Spoken {
        let started = self.start(start).await;
        self.rest_of(started).await
    }

    /// Everything that belongs to an utterance, up to its end; what belongs to others is kept.
    pub async fn rest_of(&mut self, started: Value) -> Spoken {
        let (id, stream) = (started["id"].clone(), started["stream"].clone());
        let mut spoken = Spoken { started, packets: Vec::new(), pieces: Vec::new(), end: Value::Null };
        let mine = |heard: &Heard| match heard {
            Heard::Control(m) => m["id"] == id && m["type"] != "started",
            Heard::Audio(packet) => stream == packet.stream,
            Heard::Closed(..) | Heard::Lost => false,
        };
        loop {
            match self.find(mine).await {
                Heard::Audio(packet) => spoken.packets.push(packet),
                Heard::Control(message) if message["type"] == "piece" => spoken.pieces.push(message),
                Heard::Control(message) => {
                    spoken.end = message;
                    return spoken;
                }
                Heard::Closed(..) | Heard::Lost => {}
            }
        }
    }

    /// The connection below, for bytes that no library would send.
    pub fn tcp(&mut self) -> &mut TcpStream {
        self.ws.get_mut()
    }

    /// Gone without a FIN's politeness: the connection is reset.
    pub fn reset(self) {
        let stream = self.ws.into_inner();
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(stream);
    }
}

impl Heard {
    fn into_control(self) -> Value {
        match self {
            Self::Control(message) => message,
            other => panic!("expected a control message, found {other:?}"),
        }
    }
}

impl Spoken {
    /// An utterance that was spoken to its end, in which nothing is missing, twice or out of order.
    pub fn check(&self) -> &Self {
        assert_eq!(self.end["type"], "done", "{}", self.end);
        self.check_packets();
        let last = self.packets.last().map(|p| (p.last, p.at));
        assert_eq!(last.map(|l| l.0), (!self.packets.is_empty()).then_some(true), "the last packet says so");
        self.check_pieces();
        let format = Format::of(&self.started);
        let pcm = format.decode(&self.packets);
        // As the resampler counts: the source, rounded up at the lower rate.
        let source = (self.audio_ms() * 24.0).round();
        let samples = (source * f64::from(format.rate) / 24e3).ceil() as usize;
        format.check_length(pcm.len(), samples);
        self
    }

    /// Flags, sequence and media time, also of an utterance that was cut short.
    pub fn check_packets(&self) {
        let format = Format::of(&self.started);
        let mut media = 0;
        for (i, packet) in self.packets.iter().enumerate() {
            let last = i + 1 == self.packets.len();
            assert_eq!((packet.sequence, packet.media), (i as u32, media), "packet {i}");
            assert_eq!(packet.first, i == 0, "packet {i}");
            assert!(!packet.last || last, "packet {i} is not the last one");
            media += format.samples(packet);
            assert!(last || format.samples(packet) == format.frame, "packet {i} is as long as was said");
        }
    }

    fn check_pieces(&self) {
        let mut end = 0.0;
        for (i, piece) in self.pieces.iter().enumerate() {
            assert_eq!(piece["index"], i);
            let (start, length) = (piece["start_ms"].as_f64().unwrap(), piece["length_ms"].as_f64().unwrap());
            assert!((start - end).abs() < 0.002, "piece {i} starts at {start}, the one before ends at {end}");
            end = start + length;
        }
        assert_eq!(self.end["pieces"], self.pieces.len());
        assert!((self.audio_ms() - end).abs() < 0.002, "{end} ms in pieces, {} in all", self.audio_ms());
    }

    pub fn audio_ms(&self) -> f64 {
        self.end["audio_ms"].as_f64().expect("a number")
    }

    /// Bytes of all packets, in order.
    pub fn bytes(&self) -> Vec<u8> {
        self.packets.iter().flat_map(|p| p.data.iter().copied()).collect()
    }

    /// Of the fake engine at 24 kHz and normal speed: these are the tones of its pieces' seeds and no others.
    pub fn check_tones(&self) -> &Self {
        assert_eq!(self.bytes(), expected(&self.pieces), "the tones of its own pieces");
        self
    }

    /// Texts of the pieces; the space before the next one is the earlier one's.
    pub fn texts(&self) -> Vec<&str> {
        self.pieces.iter().map(|p| p["text"].as_str().unwrap().trim_end()).collect()
    }
}
