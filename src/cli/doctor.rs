//! `voxwire doctor`: what this machine can do, in plain words, and what to do next.
//!
//! Gather first ([`gather`]), then say ([`render`]): the report between them is plain data, so that every sentence is
//! tested without the machine it is about. `--json` prints the report itself.

mod gather;
mod render;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;

use super::models::installed::Installed;
use crate::device::gpu::Gpus;
use crate::engine::cpu::simd::{Isa, Kind};
use crate::machine;

/// Whether this build has an engine that computes on a GPU.
const CUDA_ENGINE: bool = false;
/// Given to the measurement of the real-time factor.
const RTF_TIME: Duration = Duration::from_secs(2);

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

/// Speaks with the model in a folder for about that long; returns the real-time factor (compute time / audio time).
type MeasureRtf<'a> = &'a dyn Fn(&Path, Duration) -> anyhow::Result<f64>;

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

/// The kernels the CPU engine takes on this processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernels {
    Avx512Vnni,
    Avx2,
    Neon,
    Scalar,
}

impl Kernels {
    fn in_use() -> Self {
        match Isa::best().0 {
            Kind::Scalar => Self::Scalar,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => Self::Avx2,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Self::Avx512Vnni,
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => Self::Neon,
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
    /// There was no usable model to measure with.
    NotMeasured,
}

impl Report {
    /// Whether `say` would speak: a usable model, and no failed attempt with it.
    pub fn can_speak(&self) -> bool {
        self.model.state.usable() && !matches!(self.speed, Speed::Failed(_))
    }
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let report = gather::gather(args.model.as_deref(), &|dir, time| Ok(machine::measure_rtf(dir, time)?));
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
