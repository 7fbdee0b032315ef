//! The JSON messages of `GET /v1/ws`, both ways; docs/PROTOCOL.md is their reference.
//!
//! What a client sends is read by [`parse`] into a [`ClientMessage`] whose values are all within their ranges, or refused
//! with the field's name. The types serialise as well, so that a client can be built of them. Knows no socket and no
//! other room: what a message leads to is decided elsewhere.

mod client;
mod fields;
mod halves;
mod refusal;
mod server;
#[cfg(test)]
mod tests;

pub use client::{ClientMessage, FormatSpec, Pace, RefineSpec, SamplingSpec, Start, VoiceSpec, parse};
pub use halves::Joiner;
pub use refusal::{ErrorCode, Refusal, kind, quoted};
pub use server::{
    CancelState, Cancelled, Done, DoneReason, Error, FormatInUse, Limits, Model, Piece, PieceEnd, Ready,
    RefineRejected, Rewritten, SamplingInUse, ServerMessage, Skipped, Span, Started, VoiceInUse,
};

/// Version of the protocol, told in `ready`.
pub const PROTOCOL: u32 = 1;
