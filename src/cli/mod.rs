//! The commands, one file each: read the arguments, call the rooms below, say what happened.

pub mod doctor;
pub mod models;
