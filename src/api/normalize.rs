//! `POST /v1/text/normalize`: what the model would be given for a text, and how it came to that.
//!
//! Takes `{"text": "..."}`; other fields are ignored. Answers with the pieces, what was rewritten and skipped, and what
//! each stage of the front end made of the text.

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};
use bytes::BytesMut;
use futures_util::StreamExt;
use serde_json::Value;

use super::errors::http_error;
use super::state::App;
use crate::text::{Explained, explain};

/// Larger than any text the server would speak.
const MAX_BODY: usize = 1 << 20;

/// Why a body was refused: status, field, message.
#[derive(Debug)]
struct Refused(StatusCode, Option<&'static str>, String);

/// The route.
pub async fn normalize(app: web::Data<App>, body: web::Payload) -> HttpResponse {
    match answer(&app, body).await {
        Ok(json) => HttpResponse::Ok().insert_header((CONTENT_TYPE, "application/json")).body(json),
        Err(Refused(status, param, message)) => http_error(status, "invalid_request", &message, param),
    }
}

async fn answer(app: &web::Data<App>, body: web::Payload) -> Result<String, Refused> {
    let text = text_of(&read(body).await?, app.service.limits().text_chars)?;
    let app = app.clone();
    // A long text takes longer than a thread that serves sockets may be kept.
    let shown = web::block(move || show(&app, &text)).await;
    shown.map_err(|e| Refused(StatusCode::INTERNAL_SERVER_ERROR, None, format!("internal: {e}")))?
}

fn show(app: &App, text: &str) -> Result<String, Refused> {
    let refused = |e: crate::text::TextError| Refused(StatusCode::BAD_REQUEST, Some("text"), e.to_string());
    let explained: Explained =
        app.service.frontend().with_text_options(false, |options| explain(text, options, true)).map_err(refused)?;
    serde_json::to_string(&explained)
        .map_err(|e| Refused(StatusCode::INTERNAL_SERVER_ERROR, None, format!("internal: {e}")))
}

/// The body's text, of at most `most` characters.
fn text_of(body: &[u8], most: usize) -> Result<String, Refused> {
    let bad = |field, message| Refused(StatusCode::BAD_REQUEST, field, message);
    let value: Value =
        serde_json::from_slice(body).map_err(|e| bad(None, format!("body: expected a JSON object ({e})")))?;
    let Value::Object(mut map) = value else {
        return Err(bad(None, "body: expected a JSON object, found another value".into()));
    };
    let text = match map.remove("text") {
        Some(Value::String(text)) => text,
        Some(_) => return Err(bad(Some("text"), "text: expected a string, found another value".into())),
        None => return Err(bad(Some("text"), "text: expected a string, found no such field".into())),
    };
    let found = text.chars().count();
    if found > most {
        return Err(bad(Some("text"), format!("text: expected at most {most} characters, found {found}")));
    }
    Ok(text)
}

async fn read(mut body: web::Payload) -> Result<BytesMut, Refused> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_or_its_fault_is_named() {
        assert_eq!(text_of(br#"{"text":"hi","more":1}"#, 2).unwrap(), "hi");
        for (body, field) in [
            ("", None),
            ("[]", None),
            ("{}", Some("text")),
            (r#"{"text":1}"#, Some("text")),
            (r#"{"text":"abc"}"#, Some("text")),
        ] {
            let Refused(status, found, message) = text_of(body.as_bytes(), 2).unwrap_err();
            assert_eq!((status, found), (StatusCode::BAD_REQUEST, field), "{body}");
            assert!(message.contains("expected") && !message.contains('\n'), "{message}");
        }
    }
}
