//! Looks at the machine. Whatever cannot be read is left out of the report rather than guessed.

use std::path::Path;
use std::time::Duration;

use super::{CUDA_ENGINE, Cpu, Kernels, MeasureRtf, Memory, RTF_TIME, Report, Speed};
use crate::cli::models::installed::{self, Installed};
use crate::device::gpu;
use crate::machine;
use crate::parallel::Team;

pub(super) fn gather(dir: Option<&Path>, measure: MeasureRtf<'_>) -> Report {
    let model = installed::inspect(&dir.map_or_else(installed::default_dir, Path::to_path_buf));
    let others =
        installed::all().into_iter().filter(|m| m.state.usable() && m.dir != model.dir).map(|m| m.dir).collect();
    let cpu = cpu();
    let memory = memory();
    Report {
        version: env!("CARGO_PKG_VERSION"),
        cpu,
        memory,
        gpus: gpu::probe(),
        cuda_engine: CUDA_ENGINE,
        others,
        speed: speed(&model, measure),
        model,
    }
}

fn speed(model: &Installed, measure: MeasureRtf<'_>) -> Speed {
    if !model.state.usable() {
        return Speed::NotMeasured;
    }
    match measure(&model.dir, RTF_TIME) {
        Ok(rtf) if rtf.is_finite() && rtf > 0.0 => Speed::Rtf(rtf),
        Ok(rtf) => Speed::Failed(format!("expected a real-time factor above 0, found {rtf}")),
        Err(e) => Speed::Failed(format!("{e:#}")),
    }
}

fn cpu() -> Cpu {
    Cpu {
        model: cpu_model().unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH)),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
        kernels: Kernels::in_use(),
        features: features(),
    }
}

fn cpu_model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let value = text.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':'))?.1.trim().to_string();
    (!value.is_empty()).then_some(value)
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    let all = [
        ("AVX2", has!("avx2")),
        ("FMA", has!("fma")),
        ("F16C", has!("f16c")),
        ("AVX-512F", has!("avx512f")),
        ("AVX-512BW", has!("avx512bw")),
        ("AVX-512VL", has!("avx512vl")),
        ("AVX-512DQ", has!("avx512dq")),
        ("AVX-512VNNI", has!("avx512vnni")),
    ];
    all.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    let all = [("NEON", has!("neon")), ("FP16", has!("fp16")), ("DOTPROD", has!("dotprod")), ("I8MM", has!("i8mm"))];
    all.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

fn memory() -> Memory {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let (total, free) = (meminfo(&text, "MemTotal"), meminfo(&text, "MemAvailable"));
    // A container's limit counts when it is below the machine's memory.
    let cgroup =
        |file: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
    let limit = cgroup("memory.max");
    let left = limit.zip(cgroup("memory.current")).map(|(max, used)| max.saturating_sub(used));
    let free = smaller(free, left);
    Memory { total: smaller(total, limit), free, read_bandwidth: read_bandwidth(free) }
}

/// Measured with a block no cache holds, or a quarter of the free memory; less than 64 MiB would measure a cache.
fn read_bandwidth(free: Option<u64>) -> Option<f64> {
    let bytes = (free.unwrap_or(1 << 30) / 4).min(512 << 20) as usize;
    if bytes < 64 << 20 {
        return None;
    }
    machine::read_bandwidth(&Team::for_machine(), bytes, Duration::from_millis(300))
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

/// A value of /proc/meminfo in bytes; the file counts in kB of 1024.
fn meminfo(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_bytes() {
        let text = "MemTotal:       24689492 kB\nMemFree: 1 kB\nMemAvailable:   21000000 kB\n";
        assert_eq!(meminfo(text, "MemTotal"), Some(24_689_492 * 1024));
        assert_eq!(meminfo(text, "MemAvailable"), Some(21_000_000 * 1024));
        assert_eq!(meminfo(text, "Mem"), None);
        assert_eq!(meminfo("MemTotal: many kB", "MemTotal"), None);
    }

    #[test]
    fn a_broken_model_is_reported_and_never_measured() {
        let dir = tempfile::tempdir().unwrap();
        let report = gather(Some(dir.path()), &|_, _| panic!("measured a model that cannot be loaded"));
        assert!(!report.can_speak());
        assert_eq!(report.speed, Speed::NotMeasured);
        assert!(report.cpu.cores >= 1);
    }
}
