//! The commands, one file each: read the arguments, call the rooms below, say what happened.

pub mod doctor;
pub mod models;
pub mod voices;

use std::path::PathBuf;

/// The model folder to use: what the user named, else the demo model.
fn model_dir(arg: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    Ok(arg.unwrap_or_else(|| PathBuf::from("models/demo")))
}
