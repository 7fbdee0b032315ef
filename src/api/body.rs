//! The JSON body of a request, bounded, and how one is refused.

use actix_web::http::StatusCode;
use actix_web::web;
use bytes::BytesMut;
use futures_util::StreamExt;
use serde_json::{Map, Value};

/// Longest body, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// Why a body was refused: status, field, message.
#[derive(Debug)]
pub struct Refused(pub StatusCode, pub Option<&'static str>, pub String);

impl Refused {
    /// `expected` and `found` complete "expected ..., found ...".
    pub fn field(field: &'static str, expected: &str, found: &str) -> Self {
        Self(StatusCode::BAD_REQUEST, Some(field), format!("{field}: expected {expected}, found {found}"))
    }
}

/// The whole body.
pub async fn read(mut body: web::Payload) -> Result<BytesMut, Refused> {
    let mut bytes = BytesMut::new();
    while let Some(part) = body.next().await {
        let part = part.map_err(|e| Refused(StatusCode::BAD_REQUEST, None, format!("body: {e}")))?;
        if bytes.len() + part.len() > MAX_BODY {
            let message = format!("body: expected at most {MAX_BODY} bytes");
            return Err(Refused(StatusCode::PAYLOAD_TOO_LARGE, None, message));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// The object that a body is.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, Refused> {
    let bad = |message| Refused(StatusCode::BAD_REQUEST, None, message);
    match serde_json::from_slice(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(bad("body: expected a JSON object, found another value".into())),
        Err(e) => Err(bad(format!("body: expected a JSON object ({e})"))),
    }
}
