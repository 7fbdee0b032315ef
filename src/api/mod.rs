//! What the outside world speaks to. Each interface is a thin adapter around the session core: it reads requests,
//! opens utterances, and passes on what they give out.
//!
//! - [`ws`]: `GET /v1/ws`, text in and audio out over one socket.
//! - [`speech`]: `POST /v1/audio/speech`.
//! - [`normalize`]: `POST /v1/text/normalize`.
//! - [`health`]: `/healthz`, `/readyz`, `/metrics`.
//! - [`assets`]: the page and the JavaScript client.
//! - [`server`]: the HTTP server around them, and how it stops.

pub mod assets;
mod body;
pub mod errors;
pub mod health;
pub mod normalize;
pub mod server;
pub mod speech;
pub mod state;
pub mod voices;
pub mod ws;
