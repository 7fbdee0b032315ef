//! The examples of the documentation, run as they stand.

mod bench_support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use bench_support::{Manners, serve};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(name)
}

/// Runs a program with text, file and URL; `None`, and a line saying so, when this machine cannot.
fn run(probe: &[&str], program: &[&str], name: &str, file: &Path, address: &str) -> Option<Output> {
    let able = Command::new(probe[0]).args(&probe[1..]).output().is_ok_and(|o| o.status.success());
    if !able {
        println!("skipped: `{}` does not run here", probe.join(" "));
        return None;
    }
    let url = format!("ws://{address}/v1/ws");
    let (script, file) = (example(name), file.to_str().unwrap());
    Some(Command::new(program[0]).args(&program[1..]).arg(script).args(["Say this.", file, &url]).output().unwrap())
}

fn python(file: &Path, address: &str) -> Option<Output> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    run(&[&python, "-c", "import websockets.sync.client"], &[&python], "speak.py", file, address)
}

fn node(file: &Path, address: &str) -> Option<Output> {
    let flag = "--experimental-websocket";
    run(
        &["node", flag, "-e", "new WebSocket('ws://127.0.0.1:9').onerror=()=>0"],
        &["node", flag],
        "speak.mjs",
        file,
        address,
    )
}

/// 300 ms of the mock's saw tooth.
fn check_samples(samples: &[i16]) {
    assert_eq!(samples.len(), 15 * 480);
    assert!(samples.iter().enumerate().all(|(i, s)| i32::from(*s) == (i as i32 % 480) * 20));
}

fn check_done(output: &Output) {
    assert!(output.status.success(), "{output:?}");
    let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["type"], done["audio_ms"].as_f64()), (&"done".into(), Some(300.0)));
}

#[test]
fn python_writes_a_wav_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.wav");
    let Some(output) = python(&file, &serve(Manners::default())) else { return };
    check_done(&output);
    let mut wav = hound::WavReader::open(&file).unwrap();
    assert_eq!((wav.spec().sample_rate, wav.spec().channels, wav.spec().bits_per_sample), (24000, 1, 16));
    check_samples(&wav.samples::<i16>().map(Result::unwrap).collect::<Vec<_>>());
    // A refusal is told, and nothing is written.
    let file = dir.path().join("b.wav");
    let refused = Manners { refuse: Some(("overloaded", Some(1013))), ..Manners::default() };
    let output = python(&file, &serve(refused)).unwrap();
    assert!(!output.status.success() && !file.exists());
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("overloaded: "));
    let cut = Manners { close_at: Some((3, 1001)), ttfa: Duration::ZERO, ..Manners::default() };
    assert!(!python(&file, &serve(cut)).unwrap().status.success() && !file.exists());
}

#[test]
fn javascript_writes_samples() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.pcm");
    let Some(output) = node(&file, &serve(Manners::default())) else { return };
    check_done(&output);
    let bytes = std::fs::read(&file).unwrap();
    check_samples(&bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect::<Vec<_>>());
    let refused = Manners { refuse: Some(("overloaded", Some(1013))), ..Manners::default() };
    let output = node(&dir.path().join("b.pcm"), &serve(refused)).unwrap();
    assert!(!output.status.success() && String::from_utf8(output.stderr).unwrap().contains("overloaded: "));
}
