//! What this machine computes on.

pub mod gpu;
