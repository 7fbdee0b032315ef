use std::path::PathBuf;

use super::*;
use crate::cli::models::installed::{Installed, State};

fn report() -> Report {
    let features = vec!["AVX2", "FMA", "F16C"];
    Report {
        version: "0.0.0",
        cpu: Cpu { model: "Testchip 9".into(), cores: 2, kernels: Kernels::Avx2, features },
        memory: Memory { total: Some(16 << 30), free: Some(8 << 30), read_bandwidth: Some(26.04e9) },
        gpus: Gpus::default(),
        cuda_engine: false,
        model: Installed {
            dir: PathBuf::from("models/demo"),
            name: "small".into(),
            licence: "Apache-2.0".into(),
            bytes: 17 << 20,
            state: State::Own,
            refine_text: false,
            decoder: true,
            languages: vec!["en".into()],
        },
        others: Vec::new(),
        speed: Speed::Rtf(0.25),
    }
}

fn with_gpu(cuda: (i32, i32), compute: (i32, i32)) -> Report {
    let mut r = report();
    r.gpus = Gpus {
        driver: Driver::Present { version: "470.82".into(), cuda },
        devices: vec![Gpu {
            index: 0,
            name: "Testcard".into(),
            memory_total: 24 << 30,
            memory_free: 23 << 30,
            compute: Some(compute),
        }],
        libcuda: true,
        nvrtc: false,
    };
    r
}

#[test]
fn without_a_gpu_the_cpu_serves_at_its_measured_speed() {
    let r = report();
    let text = text(&r);
    assert!(r.can_speak());
    for wanted in [
        "Testchip 9, 2 cores; AVX2 FMA F16C",
        "none: there is no NVIDIA driver here",
        "read at 26.0 GB/s",
        "4.0 times faster than real time",
        "No GPU: the CPU engine serves; expect a real-time factor of 0.25.",
        "voxwire models pull chattts",
        "decode from hidden states and from codes; not refine text",
    ] {
        assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
    }
}

#[test]
fn the_kernels_are_named() {
    let text = text(&report());
    assert!(text.contains("kernels    AVX2 (the processor lacks AVX-512"), "{text}");
}

#[test]
fn an_old_driver_is_named_with_what_is_needed() {
    let next = next_steps(&with_gpu((11, 4), (8, 6)));
    assert!(next[0].contains("driver 470.82 supports CUDA 11.4, 12.8 is needed"), "{next:?}");
    assert!(next[0].contains("the CPU engine serves"), "{next:?}");
}

#[test]
fn an_old_gpu_a_missing_library_and_a_build_without_engine_each_say_so() {
    let old = next_steps(&with_gpu((12, 9), (6, 1)));
    assert!(old[0].contains("older than the kernels"), "{old:?}");
    let mut r = with_gpu((12, 9), (8, 9));
    assert!(next_steps(&r)[0].contains("this build has no GPU engine"), "{:?}", next_steps(&r));
    r.cuda_engine = true;
    assert_eq!(next_steps(&r)[0], "Testcard serves.");
    r.gpus.libcuda = false;
    assert!(next_steps(&r)[0].contains("libcuda is not"), "{:?}", next_steps(&r));
    let text = text(&r);
    assert!(text.contains("1 GPU, driver 470.82, CUDA up to 12.9"), "{text}");
    assert!(text.contains("0: Testcard, 23.00 GiB of 24.00 GiB free, compute capability 8.9"), "{text}");
}

#[test]
fn a_driver_that_does_not_answer_is_told_in_words() {
    let mut r = report();
    r.gpus.driver = Driver::Unusable { reason: "the kernel module is not loaded".into() };
    assert!(text(&r).contains("not usable: the kernel module is not loaded"));
    assert!(next_steps(&r)[0].starts_with("The GPU cannot be used (the kernel module"));
}

#[test]
fn a_missing_model_cannot_speak_and_the_way_out_comes_first() {
    let mut r = report();
    r.model.state = State::Broken("models/demo/asset/gpt/config.json: not found".into());
    r.speed = Speed::NotMeasured;
    assert!(!r.can_speak());
    assert!(next_steps(&r)[0].contains("voxwire models pull chattts"));
    assert!(text(&r).contains("cannot be used: models/demo/asset/gpt/config.json"));
    assert!(!text(&r).contains("Speak: "));
    r.others = vec![PathBuf::from("data/chattts")];
    assert!(next_steps(&r)[0].contains("--model data/chattts"));
}

#[test]
fn a_failed_or_slow_measurement_is_not_hidden() {
    let mut r = report();
    r.speed = Speed::Failed("no tokenizer".into());
    assert!(!r.can_speak());
    assert!(text(&r).contains("the measurement failed: no tokenizer"));
    r.speed = Speed::Rtf(2.5);
    assert!(r.can_speak());
    assert!(next_steps(&r).iter().any(|s| s.contains("slower than real time")));
    r.memory.free = Some(1 << 20);
    assert!(next_steps(&r).iter().any(|s| s.contains("memory are free")));
}
