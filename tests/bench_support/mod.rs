//! A small server that speaks the WebSocket protocol, well or badly as it is told: what the load generator is tried on.
#![allow(dead_code)]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// How the server behaves. The default is well.
#[derive(Clone, Debug)]
pub struct Manners {
    /// Packets of 20 ms an utterance has.
    pub packets: u32,
    /// Text to first packet.
    pub ttfa: Duration,
    /// Packets sent at once at the beginning.
    pub lead: u32,
    /// Before this packet nothing is sent for this long, and what follows is late by as much.
    pub stall: Option<(u32, Duration)>,
    /// This packet is left out (its sequence number and media time with it).
    pub drop: Option<u32>,
    /// This packet is sent twice.
    pub repeat: Option<u32>,
    /// Media time from this packet on is one sample ahead.
    pub skew: Option<u32>,
    /// This much more than was sent is claimed in `done`.
    pub claim_ms: f64,
    /// Packets that follow `cancelled`, and `done`.
    pub after_cancel: u32,
    pub after_done: u32,
    /// Every utterance is refused with this error, and the socket closed with this code.
    pub refuse: Option<(&'static str, Option<u16>)>,
    /// The socket is closed with this code (0: cut) before this packet.
    pub close_at: Option<(u32, u16)>,
    /// No answer to anything after this packet.
    pub hang_at: Option<u32>,
    /// Instead of `ready`: an error and a close.
    pub full: bool,
    /// Text that is no JSON, and a binary message that is no audio, before every utterance.
    pub rubbish: bool,
    /// Speaks in real time at most so many utterances at once; each one over slows all.
    pub carries: Option<usize>,
    /// Utterances have nothing to say.
    pub silent: bool,
    /// All of this holds only for texts with this word; others are spoken well.
    pub only: Option<&'static str>,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            packets: 15,
            ttfa: Duration::from_millis(30),
            lead: 10,
            stall: None,
            drop: None,
            repeat: None,
            skew: None,
            claim_ms: 0.0,
            after_cancel: 0,
            after_done: 0,
            refuse: None,
            close_at: None,
            hang_at: None,
            full: false,
            rubbish: false,
            carries: None,
            silent: false,
            only: None,
        }
    }
}

const FRAME: Duration = Duration::from_millis(20);

/// The server, on a thread of its own until the process ends. Returns `HOST:PORT`.
pub fn serve(manners: Manners) -> String {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().to_string()).unwrap();
            let speaking = Rc::new(Cell::new(0));
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                tcp.set_nodelay(true).unwrap();
                let (manners, speaking) = (manners.clone(), speaking.clone());
                tokio::task::spawn_local(async move {
                    if let Ok(ws) = accept_async(tcp).await {
                        let session = Session { ws, given: manners.clone(), manners, streams: 0, speaking };
                        let _ = session.run().await;
                    }
                });
            }
        });
    });
    told.recv().unwrap()
}

/// The client has gone, or the session was told to end.
struct Over;

type Ongoing = Result<(), Over>;

struct Session {
    ws: WebSocketStream<TcpStream>,
    given: Manners,
    /// Those for the utterance at hand.
    manners: Manners,
    streams: u32,
    speaking: Rc<Cell<usize>>,
}

impl Session {
    async fn say(&mut self, message: Value) -> Ongoing {
        self.ws.send(Message::text(message.to_string())).await.map_err(|_| Over)
    }

    async fn close(&mut self, code: u16) -> Over {
        if code > 0 {
            let _ = self.ws.send(Message::Close(Some(CloseFrame { code: code.into(), reason: "".into() }))).await;
            while let Some(Ok(_)) = self.ws.next().await {}
        }
        Over
    }

    async fn run(mut self) -> Ongoing {
        if self.manners.full {
            self.say(json!({"type": "error", "code": "overloaded", "message": "sessions: expected at most 0"})).await?;
            return Err(self.close(1013).await);
        }
        self.say(json!({"type": "ready", "protocol": 1, "server": "mock 1", "model": {"name": "tones"}})).await?;
        loop {
            let start = self.hear().await?;
            if start["type"] != "start" {
                // A cancel of what is over.
                self.say(json!({"type": "cancelled", "id": start["id"], "state": "unknown", "audio_ms": 0})).await?;
                continue;
            }
            self.utterance(start).await?;
        }
    }

    async fn hear(&mut self) -> Result<Value, Over> {
        loop {
            match self.ws.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(text.as_str()).unwrap()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(Over),
            }
        }
    }

    async fn utterance(&mut self, start: Value) -> Ongoing {
        let id = start["id"].as_str().unwrap_or("u1").to_string();
        self.manners = self.given.clone();
        if self.given.only.is_some_and(|word| !start["text"].as_str().unwrap_or("").contains(word)) {
            self.manners = Manners::default();
        }
        if self.manners.rubbish {
            self.ws.send(Message::text("not json")).await.map_err(|_| Over)?;
            self.ws.send(Message::binary(vec![9u8; 40])).await.map_err(|_| Over)?;
        }
        if let Some((code, close)) = self.manners.refuse {
            let message = format!("{code}: expected room, found none");
            self.say(json!({"type": "error", "code": code, "message": message, "id": id})).await?;
            return match close {
                Some(code) => Err(self.close(code).await),
                None => Ok(()),
            };
        }
        self.streams += 1;
        let pcm = start["format"]["codec"] == "pcm_s16le" || start["format"] == "pcm_s16le";
        let format = if pcm {
            json!({"codec": "pcm_s16le", "sample_rate": 24000, "channels": 1, "frame_ms": 20})
        } else {
            json!({"codec": "opus", "sample_rate": 24000, "channels": 1, "frame_ms": 20, "pre_skip": 312})
        };
        self.say(json!({"type": "started", "id": id, "stream": self.streams, "format": format})).await?;
        // All of the text, however many pieces it comes in.
        let mut last = start["final"] == true;
        let mut text = start["text"].as_str().unwrap_or("").to_string();
        while !last {
            let more = self.hear().await?;
            if more["type"] == "cancel" {
                return self.cancelled(&id, 0).await;
            }
            text += more["text"].as_str().unwrap();
            last = more["final"] == true;
        }
        assert!(!text.is_empty());
        self.speaking.set(self.speaking.get() + 1);
        let spoken = self.speak(&id, pcm).await;
        self.speaking.set(self.speaking.get() - 1);
        spoken
    }

    async fn speak(&mut self, id: &str, pcm: bool) -> Ongoing {
        let m = self.manners.clone();
        let packets = if m.silent { 0 } else { m.packets };
        let mut due = Instant::now() + m.ttfa;
        for n in 0..packets {
            if m.hang_at == Some(n) {
                std::future::pending::<()>().await;
            }
            if let Some((_, stall)) = m.stall.filter(|(at, _)| *at == n) {
                due = due.max(Instant::now()) + stall;
            }
            // Too many speakers: everything takes twice as long and more.
            let slow = m.carries.is_some_and(|most| self.speaking.get() > most);
            if n >= m.lead {
                due += if slow { FRAME * 4 } else { FRAME };
            }
            if let Some(answer) = self.wait(due).await? {
                assert_eq!(answer["type"], "cancel");
                return self.cancelled(id, n).await;
            }
            if let Some((_, code)) = m.close_at.filter(|(at, _)| *at == n) {
                return Err(self.close(code).await);
            }
            if m.drop == Some(n) {
                continue;
            }
            let skew = u32::from(m.skew.is_some_and(|from| n >= from));
            self.packet(n, n + 1 == packets, skew, pcm).await?;
            if m.repeat == Some(n) {
                self.packet(n, n + 1 == packets, skew, pcm).await?;
            }
        }
        let sent_ms = f64::from(packets) * 20.0 - if pcm || packets == 0 { 0.0 } else { 6.5 };
        let audio_ms = sent_ms + m.claim_ms;
        self.say(json!({"type": "piece", "id": id, "index": 0, "length_ms": audio_ms})).await?;
        let reason = if m.silent { "nothing_to_say" } else { "complete" };
        let figure = |f: f64| if m.silent { Value::Null } else { f.into() };
        self.say(json!({"type": "done", "id": id, "reason": reason, "audio_ms": audio_ms, "queue_ms": figure(2.0),
            "ttfa_ms": figure(30.0), "engine_ms": figure(25.0), "rtf": figure(0.03), "pieces": 1}))
            .await?;
        for n in 0..m.after_done {
            self.packet(packets + n, false, 0, pcm).await?;
        }
        Ok(())
    }

    /// Waits, and says what the client says meanwhile.
    async fn wait(&mut self, due: Instant) -> Result<Option<Value>, Over> {
        tokio::select! {
            heard = self.hear() => heard.map(Some),
            () = sleep_until(due) => Ok(None),
        }
    }

    async fn cancelled(&mut self, id: &str, sent: u32) -> Ongoing {
        sleep(Duration::from_millis(5)).await;
        self.say(json!({"type": "cancelled", "id": id, "state": "speaking", "audio_ms": sent * 20})).await?;
        for n in 0..self.manners.after_cancel {
            self.packet(sent + n, false, 0, false).await?;
        }
        Ok(())
    }

    async fn packet(&mut self, n: u32, last: bool, skew: u32, pcm: bool) -> Ongoing {
        let mut bytes = vec![1, u8::from(n == 0) | u8::from(last) << 1, 0, 0];
        bytes.extend(self.streams.to_le_bytes());
        bytes.extend(n.to_le_bytes());
        bytes.extend((n * 480 + skew).to_le_bytes());
        // A saw tooth, or something as long as Opus packets are.
        bytes.extend((0..if pcm { 480u16 } else { 40 }).flat_map(|i| (i * 20).to_le_bytes()));
        self.ws.send(Message::binary(bytes)).await.map_err(|_| Over)
    }
}
