//! The page and the JavaScript client, from inside the binary.

use actix_web::http::Method;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse};

use super::errors::http_error;

struct Asset {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $content_type:literal) => {
        Asset { name: $name, content_type: $content_type, bytes: include_bytes!(concat!("../../web/", $name)) }
    };
}

/// The page first.
const ASSETS: &[Asset] = &[
    asset!("index.html", "text/html; charset=utf-8"),
    asset!("app.js", "text/javascript; charset=utf-8"),
    asset!("editor.js", "text/javascript; charset=utf-8"),
    asset!("favicon.svg", "image/svg+xml"),
    asset!("fft.js", "text/javascript; charset=utf-8"),
    asset!("i18n.js", "text/javascript; charset=utf-8"),
    asset!("jitter.js", "text/javascript; charset=utf-8"),
    asset!("player.js", "text/javascript; charset=utf-8"),
    asset!("protocol.js", "text/javascript; charset=utf-8"),
    asset!("reading.js", "text/javascript; charset=utf-8"),
    asset!("resample.js", "text/javascript; charset=utf-8"),
    asset!("scope.js", "text/javascript; charset=utf-8"),
    asset!("settings.js", "text/javascript; charset=utf-8"),
    asset!("store.js", "text/javascript; charset=utf-8"),
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("textspan.js", "text/javascript; charset=utf-8"),
    asset!("theme.js", "text/javascript; charset=utf-8"),
    asset!("voices.js", "text/javascript; charset=utf-8"),
    asset!("voxwire.js", "text/javascript; charset=utf-8"),
    asset!("worklet.js", "text/javascript; charset=utf-8"),
];

/// The page asks for nothing outside its own server, and runs nothing that is not in its files.
const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'self'; base-uri 'none'";

fn reply(asset: &'static Asset) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, asset.content_type))
        // A new version of the binary is a new page.
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header(("content-security-policy", POLICY))
        .insert_header(("x-content-type-options", "nosniff"))
        .body(asset.bytes)
}

/// `GET /`
pub async fn index() -> HttpResponse {
    reply(&ASSETS[0])
}

/// `GET /{name}`, and 404 for everything no other route takes.
pub async fn asset(request: HttpRequest) -> HttpResponse {
    let name = request.path().trim_start_matches('/');
    match ASSETS.iter().find(|a| a.name == name) {
        Some(asset) if matches!(*request.method(), Method::GET | Method::HEAD) => reply(asset),
        _ => {
            let message = format!("{} {}: no such resource", request.method(), request.path());
            http_error(StatusCode::NOT_FOUND, "not_found", &message, None)
        }
    }
}
