//! What the outside world speaks to.

pub mod ws;
