//! The WebSocket of `GET /v1/ws`; docs/PROTOCOL.md is its reference.

pub mod frame;
pub mod message;
mod replies;
mod session;
mod socket;

pub use socket::upgrade;
