//! The report in plain words.

use indicatif::HumanBytes;

use super::{Cpu, Kernels, Memory, Report, Speed};
use crate::device::gpu::{Driver, Gpu, Gpus};

/// The CUDA version the driver must support: the one the bindings are made for (driver 570).
const OLDEST_CUDA: (i32, i32) = (12, 8);
/// Volta, the oldest generation with the half-precision instructions the kernels are written in.
const OLDEST_COMPUTE: (i32, i32) = (7, 0);

pub(super) fn text(r: &Report) -> String {
    let m = &r.model;
    let mut out = format!("voxwire {}\n\nThis machine\n", r.version);
    let mut line = |label: &str, text: String| out.push_str(&format!("  {label:<10} {text}\n"));
    line("processor", cpu(&r.cpu));
    line("kernels", kernels(r.cpu.kernels).into());
    line("memory", memory(&r.memory));
    line("GPU", driver(&r.gpus));
    r.gpus.devices.iter().for_each(|g| line("", gpu(g)));
    line("CUDA", libraries(&r.gpus));
    out.push_str("\nModel\n");
    let mut line = |label: &str, text: String| out.push_str(&format!("  {label:<10} {text}\n"));
    line("name", m.name.clone());
    line("folder", m.dir.display().to_string());
    line("state", m.state.to_string());
    if m.state.usable() {
        line("licence", m.licence.clone());
        line("speaks", if m.languages.is_empty() { "languages not stated".into() } else { m.languages.join(", ") });
        line("can", abilities(m.decoder, m.refine_text));
    }
    r.others.iter().for_each(|o| line("also here", o.display().to_string()));
    out.push_str(&format!("\nSpeed\n  {}\n\nWhat next\n", speed(&r.speed)));
    next_steps(r).iter().for_each(|s| out.push_str(&format!("  - {s}\n")));
    out
}

/// What to do, the most important first.
pub(super) fn next_steps(r: &Report) -> Vec<String> {
    let mut steps = Vec::new();
    if !r.model.state.usable() {
        steps.push(match r.others.first() {
            Some(other) => format!("This model cannot be used; another one can: `--model {}`.", other.display()),
            None => "There is no usable model: run `voxwire models pull chattts`.".into(),
        });
    }
    if let Speed::Failed(_) = r.speed {
        steps.push(
            "The model loads by its headers but does not speak: run `voxwire models verify` on its folder.".into(),
        );
    }
    steps.push(engine_sentence(r));
    let memory_short = r.memory.free.is_some_and(|free| free < r.model.bytes);
    if r.model.state.usable() && memory_short {
        let (free, bytes) = (HumanBytes(r.memory.free.unwrap_or(0)), HumanBytes(r.model.bytes));
        steps.push(format!("Only {free} of memory are free and the model's files are {bytes}: close something first."));
    }
    if matches!(r.speed, Speed::Rtf(rtf) if rtf > 1.0) {
        steps.push("Speech is slower than real time here: it is complete, but a listener has to wait for it.".into());
    }
    if r.can_speak() {
        let chattts = r.model.name == "chattts" || r.others.iter().any(|o| o.ends_with("chattts"));
        if !chattts {
            steps
                .push("Run `voxwire models pull chattts` for the full voices (1.2 GB, non-commercial licence).".into());
        }
        steps.push(format!("Speak: `voxwire say \"hello\" --model {}`.", r.model.dir.display()));
    }
    steps
}

/// Which engine serves, and why not the other one.
fn engine_sentence(r: &Report) -> String {
    let rtf = match r.speed {
        Speed::Rtf(rtf) => format!("; expect a real-time factor of {rtf:.2}"),
        _ => String::new(),
    };
    let cpu = format!("the CPU engine serves{rtf}");
    let Driver::Present { version, cuda } = &r.gpus.driver else {
        return match &r.gpus.driver {
            Driver::Unusable { reason } => format!("The GPU cannot be used ({reason}): {cpu}."),
            _ => format!("No GPU: {cpu}."),
        };
    };
    let Some(best) = r.gpus.devices.iter().max_by_key(|g| g.compute) else {
        return format!("There is a driver but no GPU that it knows: {cpu}.");
    };
    let name = &best.name;
    if *cuda < OLDEST_CUDA {
        let ((a, b), (c, d)) = (cuda, OLDEST_CUDA);
        return format!(
            "{name}: driver {version} supports CUDA {a}.{b}, {c}.{d} is needed (update to driver 570 or newer): {cpu}."
        );
    }
    if best.compute.is_some_and(|c| c < OLDEST_COMPUTE) {
        return format!("{name} is older than the kernels are written for (compute capability 7.0): {cpu}.");
    }
    if !r.gpus.libcuda {
        return format!(
            "{name} is there, libcuda is not (a container may lack the driver capability `compute`): {cpu}."
        );
    }
    match r.cuda_engine {
        true => format!("{name} serves."),
        false => format!("{name} could serve, but this build has no GPU engine: {cpu}."),
    }
}

fn cpu(c: &Cpu) -> String {
    let cores = if c.cores == 1 { "1 core".into() } else { format!("{} cores", c.cores) };
    let features = if c.features.is_empty() { "no vector extensions used here".into() } else { c.features.join(" ") };
    format!("{}, {cores}; {features}", c.model)
}

fn kernels(k: Kernels) -> &'static str {
    match k {
        Kernels::Avx512Vnni => "AVX-512 with VNNI, the fastest there are here",
        Kernels::Avx2 => "AVX2 (the processor lacks AVX-512 or its VNNI part)",
        Kernels::Neon => "NEON",
        Kernels::Scalar => "scalar: right but slow, the processor has neither AVX2 with FMA and F16C nor NEON",
    }
}

fn memory(m: &Memory) -> String {
    let bytes = |n: Option<u64>| n.map_or("unknown".into(), |n| HumanBytes(n).to_string());
    let rate = match m.read_bandwidth {
        Some(rate) => format!("read at {:.1} GB/s", rate / 1e9),
        None => "too short to measure its speed".into(),
    };
    format!("{} in all, {} free; {rate}", bytes(m.total), bytes(m.free))
}

fn driver(g: &Gpus) -> String {
    match &g.driver {
        Driver::Absent => "none: there is no NVIDIA driver here".into(),
        Driver::Unusable { reason } => format!("not usable: {reason}"),
        Driver::Present { version, cuda } => {
            let n = g.devices.len();
            let s = if n == 1 { "" } else { "s" };
            format!("{n} GPU{s}, driver {version}, CUDA up to {}.{}", cuda.0, cuda.1)
        }
    }
}

fn gpu(g: &Gpu) -> String {
    let compute = g.compute.map_or("compute capability unknown".into(), |(a, b)| format!("compute capability {a}.{b}"));
    let memory = match g.memory_total {
        0 => "memory unknown".into(),
        total => format!("{} of {} free", HumanBytes(g.memory_free), HumanBytes(total)),
    };
    format!("{}: {}, {memory}, {compute}", g.index, g.name)
}

fn libraries(g: &Gpus) -> String {
    let there = |yes| if yes { "found" } else { "not found" };
    format!("libcuda {}, libnvrtc {}", there(g.libcuda), there(g.nvrtc))
}

fn abilities(decoder: bool, refine: bool) -> String {
    let decode = if decoder { "decode from hidden states and from codes" } else { "decode from codes only" };
    format!("{decode}; {}", if refine { "refine text" } else { "not refine text" })
}

fn speed(s: &Speed) -> String {
    match s {
        Speed::Rtf(rtf) if *rtf < 1.0 => {
            format!("real-time factor {rtf:.2}: {:.1} times faster than real time", 1.0 / rtf)
        }
        Speed::Rtf(rtf) => format!("real-time factor {rtf:.2}: {rtf:.1} times as long as the speech lasts"),
        Speed::Failed(why) => format!("the measurement failed: {why}"),
        Speed::NotMeasured => "not measured".into(),
    }
}

#[cfg(test)]
mod tests;
