//! Whether the server lives, whether it is ready, and what it counts.

use actix_web::http::header::ContentType;
use actix_web::{HttpResponse, web};
use serde_json::json;

use super::state::App;
use crate::device::thread::DeviceState;

/// `GET /healthz`: the process answers.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body("ok\n")
}

/// `GET /readyz`: 200 once the device has spoken and while the server does not stop, 503 otherwise.
pub async fn readyz(app: web::Data<App>) -> HttpResponse {
    let state = match app.service.device().shared().state() {
        _ if app.is_draining() => "draining",
        DeviceState::Loading => "loading",
        DeviceState::Warming => "warming",
        DeviceState::Serving => "serving",
        DeviceState::Draining => "draining",
        DeviceState::Failed => "failed",
    };
    let ready = state == "serving";
    let mut reply = if ready { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    reply.content_type(ContentType::json()).body(json!({ "ready": ready, "state": state }).to_string())
}

/// `GET /metrics`, in the Prometheus text format.
pub async fn metrics(app: web::Data<App>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/openmetrics-text; version=1.0.0; charset=utf-8")
        .body(app.metrics.render(&app.service))
}
