//! `voxwire doctor`: what this machine can do, in plain words, and what to do next.
//!
//! Gather first ([`gather`]), then say ([`render`]): the report between them is plain data, so that every sentence is
//! tested without the machine it is about. `--json` prints the report itself.

mod bandwidth;
mod gather;
mod render;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;

use super::models::installed::Installed;
use crate::device::gpu::Gpus;

/// Whether this build has an engine that computes on a GPU.
const CUDA_ENGINE: bool = false;
/// Seconds given to the measurement of the real-time factor.
const RTF_SECONDS: f64 = 2.0;

/// Say what this machine can do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the model to look at [default: the demo model]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// The whole report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Speaks with the model in a folder for about so many seconds; returns the real-time factor (compute time / audio
/// time).
pub type MeasureRtf<'a> = &'a dyn Fn(&Path, f64) -> anyhow::Result<f64>;

/// Everything `doctor` knows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub version: &'static str,
    pub cpu: Cpu,
    pub memory: Memory,
    pub gpus: Gpus,
    /// This build can use a GPU.
    pub cuda_engine: bool,
    pub model: Installed,
    /// Pulled models, whichever is looked at.
    pub others: Vec<PathBuf>,
    pub speed: Speed,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cpu {
    pub model: String,
    /// Cores this process may use, which in a container can be fewer than the machine has.
    pub cores: usize,
    /// Of the instruction sets that matter here, those the processor has.
    pub features: Vec<&'static str>,
    pub kernels: Kernels,
}

/// The kernels the CPU engine takes on a processor with given features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernels {
    Avx512Vnni,
    Avx2,
    Neon,
    Scalar,
}

impl Kernels {
    /// The engine's own rule: all of a set's features or the next smaller set.
    pub fn for_features(features: &[&str]) -> Self {
        let has = |wanted: &[&str]| wanted.iter().all(|f| features.contains(f));
        let avx2 = has(&["AVX2", "FMA", "F16C"]);
        match () {
            () if avx2 && has(&["AVX-512F", "AVX-512BW", "AVX-512VL", "AVX-512DQ", "AVX-512VNNI"]) => Self::Avx512Vnni,
            () if avx2 => Self::Avx2,
            () if has(&["NEON"]) => Self::Neon,
            () => Self::Scalar,
        }
    }
}

/// Bytes; `None` where this system does not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    pub total: Option<u64>,
    pub free: Option<u64>,
    /// Bytes per second that all cores together read, measured; `None` when memory was too short to measure.
    pub read_bandwidth: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Speed {
    /// Real-time factor: compute time / audio time.
    Rtf(f64),
    Failed(String),
    /// There was nothing to measure with: no usable model, or no measurement given.
    NotMeasured,
}

impl Report {
    /// Whether `say` would speak: a usable model, and no failed attempt with it.
    pub fn can_speak(&self) -> bool {
        self.model.state.usable() && !matches!(self.speed, Speed::Failed(_))
    }
}

pub fn run(args: Args) -> anyhow::Result<()> {
    run_with(&args, None)
}

/// As [`run`], with the measurement of the real-time factor that the engine offers.
pub fn run_with(args: &Args, measure: Option<MeasureRtf<'_>>) -> anyhow::Result<()> {
    let report = gather::gather(args.model.as_deref(), measure);
    let mut out = std::io::stdout().lock();
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["can_speak"] = report.can_speak().into();
        value["next"] = render::next_steps(&report).into();
        writeln!(out, "{value}")?;
    } else {
        write!(out, "{}", render::text(&report))?;
    }
    if !report.can_speak() {
        bail!("this machine cannot speak yet: see the report above");
    }
    Ok(())
}
