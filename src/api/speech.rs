//! `POST /v1/audio/speech`: text in, a sound file out, streamed while it is made.
//!
//! Takes OpenAI's JSON: `input`, `voice`, `response_format`, `speed`; also `seed`. Fields it does not know are ignored,
//! values it does not know are refused.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use serde_json::{Map, Value};

use super::body::{Refused, object, read};
use super::errors::{http_error, http_failure};
use super::state::App;
use super::voices;
use super::ws::message::{Refusal, VoiceSpec, kind, quoted};
use crate::audio::encode::{OpusFormat, Packet, PcmFormat, StreamFormat};
use crate::audio::ogg_opus::Pages;
use crate::audio::{AudioError, wav};
use crate::model::sampling::Sampling;
use crate::model::speaker::draw_seed;
use crate::session::live::Request;
use crate::session::outbox::{Event, Events, Pace};
use crate::session::report::Failure;
use crate::text::{Skip, SkipReason};

const FORMATS: &str = "wav, pcm or opus";
/// Rows at once from the first sound on: a file is wanted whole as much as early.
const ROWS: usize = 2;
/// Opus packets to an Ogg page: 100 ms.
const PACKETS_PER_PAGE: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    /// 16-bit PCM after a header whose sizes are open.
    Wav,
    /// Bare 16-bit little-endian PCM at the model's rate.
    Pcm,
    /// Opus in Ogg.
    Opus,
}

impl Container {
    fn content_type(self) -> &'static str {
        match self {
            Self::Wav => "audio/wav",
            Self::Pcm => "audio/pcm",
            Self::Opus => "audio/ogg; codecs=opus",
        }
    }
}

#[derive(Debug)]
struct Speech {
    input: String,
    voice: Option<VoiceSpec>,
    container: Container,
    speed: f32,
    seed: Option<u64>,
}

impl Speech {
    fn parse(body: &[u8]) -> Result<Self, Refused> {
        let map = object(body)?;
        let input = match map.get("input") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => return Err(Refused::field("input", "a string", kind(other))),
            None => return Err(Refused::field("input", "a string", "no such field")),
        };
        Ok(Self { input, voice: voice(&map)?, container: container(&map)?, speed: speed(&map)?, seed: seed(&map)? })
    }
}

fn voice(map: &Map<String, Value>) -> Result<Option<VoiceSpec>, Refused> {
    let expected = "a seed (0 to 4294967295), a voice's name, a speaker string or a sample string";
    let voice = match map.get("voice") {
        // OpenAI's other form.
        Some(Value::Object(object)) => object.get("id"),
        other => other,
    };
    match voice {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(VoiceSpec::Text(text.clone()))),
        Some(Value::Number(n)) => {
            let seed = n.as_u64().and_then(|n| u32::try_from(n).ok());
            seed.map(|seed| Some(VoiceSpec::Seed(seed)))
                .ok_or_else(|| Refused::field("voice", expected, &n.to_string()))
        }
        Some(other) => Err(Refused::field("voice", expected, kind(other))),
    }
}

fn container(map: &Map<String, Value>) -> Result<Container, Refused> {
    let found = match map.get("response_format") {
        None | Some(Value::Null) => return Ok(Container::Wav),
        Some(Value::String(name)) => match name.as_str() {
            "wav" => return Ok(Container::Wav),
            "pcm" => return Ok(Container::Pcm),
            "opus" => return Ok(Container::Opus),
            other => quoted(other),
        },
        Some(other) => kind(other).to_string(),
    };
    Err(Refused::field("response_format", FORMATS, &found))
}

fn speed(map: &Map<String, Value>) -> Result<f32, Refused> {
    match map.get("speed") {
        None | Some(Value::Null) => Ok(1.0),
        Some(value) => {
            let speed = value.as_f64().filter(|s| (0.25..=4.0).contains(s));
            let found = if value.is_number() { value.to_string() } else { kind(value).to_string() };
            speed.map(|s| s as f32).ok_or_else(|| Refused::field("speed", "0.25 to 4", &found))
        }
    }
}

fn seed(map: &Map<String, Value>) -> Result<Option<u64>, Refused> {
    match map.get("seed") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let seed = value.as_u64().filter(|s| *s < 1 << 53);
            let found = if value.is_number() { value.to_string() } else { kind(value).to_string() };
            seed.map(Some).ok_or_else(|| Refused::field("seed", "a whole number, 0 to 2^53 - 1", &found))
        }
    }
}

/// The route.
pub async fn speech(app: web::Data<App>, body: web::Payload) -> HttpResponse {
    match answer(&app, body).await {
        Ok(reply) => reply,
        Err(Refused(status, param, message)) => http_error(status, "invalid_request", &message, param),
    }
}

async fn answer(app: &web::Data<App>, body: web::Payload) -> Result<HttpResponse, Refused> {
    let body = read(body).await?;
    let speech = Speech::parse(&body)?;
    let most = app.service.limits().text_chars;
    let chars = speech.input.chars().count();
    if chars > most {
        return Err(Refused::field("input", &format!("at most {most} characters"), &format!("{chars}")));
    }
    if app.is_draining() {
        return Ok(http_failure(&Failure::Stopping));
    }
    let container = speech.container;
    let format = match container {
        Container::Opus => StreamFormat::Opus(OpusFormat::default()),
        Container::Wav | Container::Pcm => StreamFormat::Pcm(PcmFormat::default()),
    };
    let request = request(app, &speech, format)?;
    let opened = match app.service.open(request, None, false) {
        Ok(opened) => opened,
        Err(failure) => return Ok(http_failure(&failure)),
    };
    app.metrics.started.inc();
    let mut control = opened.control;
    control.text(speech.input).map_err(|e| Refused(StatusCode::BAD_REQUEST, Some("input"), format!("input: {e}")))?;
    control.finish();
    let mut events = opened.events;
    // The status depends on whether there will be sound: wait for the first of it.
    let first = loop {
        match events.next().await {
            Some(Event::Piece(_) | Event::Made) => {}
            Some(Event::Failed(failure)) => {
                app.metrics.failed.inc();
                return Ok(http_failure(&failure));
            }
            Some(Event::Audio { packet, .. }) => break Some(packet),
            Some(Event::Done(summary)) => {
                app.metrics.count_done(&summary);
                match unspeakable(&summary.skipped) {
                    Some(message) => {
                        return Ok(http_error(StatusCode::BAD_REQUEST, "bad_text", &message, Some("input")));
                    }
                    None => break None,
                }
            }
            None => return Ok(http_failure(&Failure::Internal("the utterance said nothing of its end".into()))),
        }
    };
    let writer = Writer::new(container, opened.pre_skip, &format).map_err(internal)?;
    let over = first.is_none();
    app.downloads.fetch_add(1, Ordering::Relaxed);
    let body = Body { app: app.clone(), events, writer, first, over };
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, container.content_type()))
        // A proxy that collects the answer would undo the streaming.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(body))
}

/// Why a text had words and yet nothing was said: an empty recording would not tell.
fn unspeakable(skipped: &[Skip]) -> Option<String> {
    let skip = skipped.iter().find(|s| s.why == SkipReason::UnknownScript)?;
    let shown: String = skip.text.chars().take(20).collect();
    Some(format!("input: expected words that the model can speak, found {}: {}", quoted(&shown), skip.why))
}

fn internal(e: impl std::fmt::Display) -> Refused {
    Refused(StatusCode::INTERNAL_SERVER_ERROR, None, format!("internal: {e}"))
}

fn request(app: &App, speech: &Speech, format: StreamFormat) -> Result<Request, Refused> {
    let frontend = app.service.frontend();
    let refused = |r: Refusal| Refused(StatusCode::BAD_REQUEST, Some("voice"), r.message);
    let (speaker, _) = voices::resolve(frontend, &app.voice, speech.voice.as_ref()).map_err(refused)?;
    Ok(Request {
        speaker,
        sampling: Sampling::code(speech.seed.unwrap_or_else(|| draw_seed().into())),
        max_steps: None,
        refine: None,
        speed: speech.speed,
        decode: frontend.decode_path(None).map_err(internal)?,
        format,
        pace: Pace::Fast,
        parallel: ROWS,
        ahead: app.sockets.ahead,
        // A player that reads as it plays takes its time between reads.
        stall: app.sockets.stall + Duration::from_secs(20),
    })
}

/// From packets to the container's bytes.
enum Writer {
    Pcm(BytesMut),
    Ogg(Box<Pages<Vec<u8>>>),
}

impl Writer {
    fn new(container: Container, pre_skip: u32, format: &StreamFormat) -> Result<Self, AudioError> {
        let rate = format.sample_rate();
        Ok(match container {
            Container::Wav => Self::Pcm(BytesMut::from(&wav::header(rate, None)[..])),
            Container::Pcm => Self::Pcm(BytesMut::new()),
            Container::Opus => Self::Ogg(Box::new(Pages::new(Vec::new(), "reply", pre_skip, rate, PACKETS_PER_PAGE)?)),
        })
    }

    /// The bytes that a packet completes; Ogg holds some back until a page is full.
    fn write(&mut self, packet: Packet) -> Result<Bytes, AudioError> {
        match self {
            Self::Pcm(bytes) => bytes.extend_from_slice(&packet.data),
            Self::Ogg(pages) => pages.write(packet)?,
        }
        Ok(self.take())
    }

    fn take(&mut self) -> Bytes {
        match self {
            Self::Pcm(bytes) => bytes.split().freeze(),
            Self::Ogg(pages) => std::mem::take(pages.inner_mut()).into(),
        }
    }
}

/// The reply's body. Dropping it, as the server does when the client goes away, cancels the utterance.
struct Body {
    app: web::Data<App>,
    events: Events,
    writer: Writer,
    first: Option<Packet>,
    over: bool,
}

impl Body {
    fn audio(&mut self, packet: Packet) -> Poll<Option<Result<Bytes, actix_web::Error>>> {
        Poll::Ready(Some(self.writer.write(packet).map_err(actix_web::error::ErrorInternalServerError)))
    }
}

impl Stream for Body {
    type Item = Result<Bytes, actix_web::Error>;

    fn poll_next(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(packet) = self.first.take() {
                return self.audio(packet);
            }
            if self.over {
                // What the container still holds: all of it, where there was nothing to say.
                let rest = self.writer.take();
                return Poll::Ready((!rest.is_empty()).then_some(Ok(rest)));
            }
            match self.events.poll_next_unpin(ctx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Event::Audio { packet, .. })) => return self.audio(packet),
                Poll::Ready(Some(Event::Piece(_) | Event::Made)) => {}
                Poll::Ready(Some(Event::Done(summary))) => {
                    self.app.metrics.count_done(&summary);
                    self.over = true;
                }
                Poll::Ready(Some(Event::Failed(failure))) => {
                    self.app.metrics.failed.inc();
                    self.over = true;
                    // The status is long gone: a broken transfer is how the client learns that this is not all.
                    return Poll::Ready(Some(Err(actix_web::error::ErrorInternalServerError(failure))));
                }
                Poll::Ready(None) => self.over = true,
            }
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.app.downloads.fetch_sub(1, Ordering::Relaxed);
        if !self.over {
            self.app.metrics.cancelled.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (Option<&'static str>, String) {
        let Refused(status, field, message) = Speech::parse(body.as_bytes()).unwrap_err();
        assert_eq!(status, StatusCode::BAD_REQUEST);
        (field, message)
    }

    #[test]
    fn each_wrong_field_is_named() {
        for (body, field) in [
            ("", None),
            ("[]", None),
            ("{", None),
            ("{}", Some("input")),
            (r#"{"input":1}"#, Some("input")),
            (r#"{"input":"a","voice":-1}"#, Some("voice")),
            (r#"{"input":"a","voice":4294967296}"#, Some("voice")),
            (r#"{"input":"a","voice":""}"#, Some("voice")),
            (r#"{"input":"a","voice":[]}"#, Some("voice")),
            (r#"{"input":"a","response_format":"mp4"}"#, Some("response_format")),
            (r#"{"input":"a","response_format":3}"#, Some("response_format")),
            (r#"{"input":"a","speed":0.1}"#, Some("speed")),
            (r#"{"input":"a","speed":"fast"}"#, Some("speed")),
            (r#"{"input":"a","seed":-1}"#, Some("seed")),
            (r#"{"input":"a","seed":9007199254740992}"#, Some("seed")),
        ] {
            let (found, message) = refused(body);
            assert_eq!(found, field, "{body}: {message}");
            assert!(message.contains("expected") && !message.contains('\n'), "{body}: {message}");
        }
    }

    #[test]
    fn openais_own_request_is_taken() {
        let body = r#"{"model":"tts-1","input":"Hi.","voice":{"id":"female"},"response_format":"opus","speed":1.5,
            "stream_format":"audio","instructions":"x"}"#;
        let speech = Speech::parse(body.as_bytes()).unwrap();
        assert_eq!((speech.input.as_str(), speech.container, speech.speed), ("Hi.", Container::Opus, 1.5));
        assert_eq!(speech.voice, Some(VoiceSpec::Text("female".into())));
    }
}
