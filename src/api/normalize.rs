//! `POST /v1/text/normalize`: what the model would be given for a text, and how it came to that.
//!
//! Takes `{"text": "..."}`; other fields are ignored. Answers with the pieces, what was rewritten and skipped, and what
//! each stage of the front end made of the text.

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};
use serde_json::Value;

use super::body::{Refused, object, read};
use super::errors::http_error;
use super::state::App;
use crate::text::{Explained, explain};

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
    let mut map = object(body)?;
    let bad = |field, message| Refused(StatusCode::BAD_REQUEST, field, message);
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
