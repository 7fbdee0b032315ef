//! The WebSocket of `GET /v1/ws`.

pub mod frame;
pub mod message;
