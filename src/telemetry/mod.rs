//! What the server tells its operator.

pub mod metrics;
