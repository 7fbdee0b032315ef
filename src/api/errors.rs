//! One place that says what a failure is called: on the WebSocket, and over HTTP.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::json;

use super::ws::message::ErrorCode;
use crate::session::report::Failure;

/// Seconds after which a refused client may try again.
pub const RETRY_AFTER_SECONDS: u64 = 1;

/// The name of a failed utterance's error.
pub fn code_of(failure: &Failure) -> ErrorCode {
    match failure {
        Failure::Overloaded { .. } | Failure::Stopping => ErrorCode::Overloaded,
        Failure::Stalled { .. } => ErrorCode::SlowReader,
        Failure::Text(_) => ErrorCode::BadText,
        Failure::NoAudio { .. } => ErrorCode::NoAudio,
        Failure::NotFinite { .. } => ErrorCode::NotFinite,
        Failure::DeviceLost { .. } | Failure::NoDevice => ErrorCode::DeviceFailed,
        Failure::Refused { .. } | Failure::Internal(_) => ErrorCode::Internal,
    }
}

fn status_of(failure: &Failure) -> StatusCode {
    match failure {
        Failure::Overloaded { .. } | Failure::Stopping | Failure::NoDevice | Failure::DeviceLost { .. } => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Failure::Text(_) => StatusCode::BAD_REQUEST,
        Failure::Stalled { .. } => StatusCode::REQUEST_TIMEOUT,
        Failure::NoAudio { .. } | Failure::NotFinite { .. } | Failure::Refused { .. } | Failure::Internal(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// The error object of OpenAI's interface, which others have taken over: four keys, always all of them.
pub fn http_error(status: StatusCode, code: &str, message: &str, param: Option<&str>) -> HttpResponse {
    let kind = match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        s if s.is_client_error() => "invalid_request_error",
        _ => "server_error",
    };
    let mut reply = HttpResponse::build(status);
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        reply.insert_header((RETRY_AFTER, RETRY_AFTER_SECONDS.to_string()));
    }
    let body = json!({ "error": { "message": message, "type": kind, "param": param, "code": code } });
    reply.insert_header((CONTENT_TYPE, "application/json")).body(body.to_string())
}

/// A failed utterance over HTTP, where nothing was sent yet.
pub fn http_failure(failure: &Failure) -> HttpResponse {
    let param = matches!(failure, Failure::Text(_)).then_some("input");
    let code = serde_json::to_value(code_of(failure)).ok();
    let code = code.as_ref().and_then(|c| c.as_str()).unwrap_or("internal");
    http_error(status_of(failure), code, &failure.to_string(), param)
}
