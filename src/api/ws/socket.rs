//! The one place that touches actix-web-actors: the upgrade, and frames to and from the session.

use actix::StreamHandler;
use actix_http::ws::Item;
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use actix_web_actors::ws::{self, CloseCode, CloseReason, Message, ProtocolError, WsResponseBuilder};
use bytes::{Bytes, BytesMut};

use super::session::SessionActor;
use crate::api::errors::http_error;
use crate::api::state::App;

/// The context a session runs in.
pub type Context = ws::WebsocketContext<SessionActor>;

/// The subprotocol that is echoed when a client offers it.
const SUBPROTOCOL: &str = "voxwire.v1";

/// `GET /v1/ws`.
pub async fn upgrade(app: web::Data<App>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let limit = app.sockets.sockets;
    if app.is_draining() {
        return http_error(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "the server is stopping", None);
    }
    if app.sessions.count() >= limit {
        let message = format!("expected fewer than {limit} sockets at once");
        return http_error(StatusCode::SERVICE_UNAVAILABLE, "overloaded", &message, None);
    }
    let frame = app.sockets.message_bytes;
    let session = SessionActor::new(app);
    let reply = WsResponseBuilder::new(session, &request, body).protocols(&[SUBPROTOCOL]).frame_size(frame).start();
    reply.unwrap_or_else(|_| {
        let message = "expected a WebSocket upgrade (Upgrade: websocket, Sec-WebSocket-Version: 13, a key)";
        let mut reply = http_error(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message, None);
        let headers = reply.headers_mut();
        headers
            .insert(actix_web::http::header::UPGRADE, actix_web::http::header::HeaderValue::from_static("websocket"));
        reply
    })
}

/// Closes with a code of RFC 6455 section 7.4.1.
pub fn close(ctx: &mut Context, code: u16, reason: &str) {
    ctx.close(Some(CloseReason { code: CloseCode::from(code), description: Some(reason.to_string()) }));
}

/// What a session hears from its client.
pub enum Incoming {
    Text(String),
    /// A frame of a kind this protocol does not have.
    Binary,
    /// The answer to a ping, with its payload.
    Pong(Bytes),
    /// The client closes.
    Close,
    /// The client's frames cannot be read: the code to close with, and why.
    Broken(u16, String),
}

/// Joins the frames of a fragmented message.
#[derive(Default)]
pub struct Assembler {
    text: BytesMut,
    /// A text message has begun.
    open: bool,
}

impl Assembler {
    /// The next message, if the frame completes one. `limit`: bytes of a whole message.
    fn take(&mut self, frame: Result<Message, ProtocolError>, limit: usize) -> Option<Incoming> {
        Some(match frame {
            Ok(Message::Text(text)) => Incoming::Text(text.into()),
            Ok(Message::Continuation(item)) => return self.join(item, limit),
            Ok(Message::Binary(_)) => Incoming::Binary,
            Ok(Message::Pong(payload)) => Incoming::Pong(payload),
            Ok(Message::Close(_)) => Incoming::Close,
            // Answered where frames are written.
            Ok(Message::Ping(_) | Message::Nop) => return None,
            Err(ProtocolError::Overflow) => too_big(limit),
            Err(e) if e.to_string().contains("utf-8") => not_utf8(),
            Err(ProtocolError::Io(_)) => Incoming::Close,
            Err(e) => Incoming::Broken(1002, format!("frame: {e}")),
        })
    }

    fn join(&mut self, item: Item, limit: usize) -> Option<Incoming> {
        let (part, last) = match item {
            Item::FirstText(part) => {
                self.open = true;
                self.text.clear();
                (part, false)
            }
            Item::FirstBinary(_) => return Some(Incoming::Binary),
            Item::Continue(part) => (part, false),
            Item::Last(part) => (part, true),
        };
        if !self.open {
            return Some(Incoming::Broken(1002, "frame: expected a first fragment, found a continuation".into()));
        }
        if self.text.len() + part.len() > limit {
            return Some(too_big(limit));
        }
        self.text.extend_from_slice(&part);
        if !last {
            return None;
        }
        self.open = false;
        // A character may be cut between fragments; only the whole must be UTF-8.
        Some(match String::from_utf8(std::mem::take(&mut self.text).into()) {
            Ok(text) => Incoming::Text(text),
            Err(_) => not_utf8(),
        })
    }
}

fn too_big(limit: usize) -> Incoming {
    Incoming::Broken(1009, format!("message: expected at most {limit} bytes"))
}

fn not_utf8() -> Incoming {
    Incoming::Broken(1007, "text frame: expected UTF-8".into())
}

impl StreamHandler<Result<Message, ProtocolError>> for SessionActor {
    fn handle(&mut self, frame: Result<Message, ProtocolError>, ctx: &mut Context) {
        if let Ok(Message::Ping(payload)) = &frame {
            ctx.pong(payload);
        }
        self.seen();
        let limit = self.message_bytes();
        if let Some(incoming) = self.assembler.take(frame, limit) {
            self.incoming(incoming, ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[&[u8]], limit: usize) -> Option<Incoming> {
        let mut assembler = Assembler::default();
        let last = parts.len() - 1;
        let mut out = None;
        for (i, part) in parts.iter().enumerate() {
            let part = Bytes::copy_from_slice(part);
            let item = match i {
                0 => Item::FirstText(part),
                i if i == last => Item::Last(part),
                _ => Item::Continue(part),
            };
            out = assembler.take(Ok(Message::Continuation(item)), limit);
            if out.is_some() {
                break;
            }
        }
        out
    }

    #[test]
    fn a_character_cut_between_fragments_is_joined() {
        let whole = "你好[laugh]世界🙂".as_bytes();
        for a in 1..whole.len() - 1 {
            let parts = [&whole[..a], &whole[a..a + 1], &whole[a + 1..]];
            assert!(matches!(joined(&parts, 100), Some(Incoming::Text(text)) if text.as_bytes() == whole));
        }
    }

    #[test]
    fn bad_fragments_have_their_close_code() {
        let code = |incoming| match incoming {
            Some(Incoming::Broken(code, _)) => code,
            _ => 0,
        };
        assert_eq!(code(joined(&[b"ab\xff", b"c"], 100)), 1007);
        assert_eq!(code(joined(&[&[b'a'; 60], &[b'b'; 60]], 100)), 1009);
        let mut assembler = Assembler::default();
        let lone = Message::Continuation(Item::Last(Bytes::from_static(b"x")));
        assert_eq!(code(assembler.take(Ok(lone), 100)), 1002);
        assert_eq!(code(assembler.take(Err(ProtocolError::Overflow), 100)), 1009);
    }
}
