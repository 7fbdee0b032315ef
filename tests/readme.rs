//! The README's examples, run as they stand against the real server with the demo model; only the port is another.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_voxwire"))
            .args(["serve", "--bind", "127.0.0.1:0"])
            .current_dir(ROOT)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect(&line).to_string();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The README's code block of this language that contains `with`, made for the server's address.
fn example(language: &str, with: &str, address: &str) -> String {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let fence = format!("```{language}\n");
    let mut blocks = readme.split(&fence).skip(1).map(|b| b.split("```").next().unwrap());
    let block = blocks.find(|b| b.contains(with)).unwrap_or_else(|| panic!("no {language} example with {with}"));
    assert!(block.contains("127.0.0.1:8080"));
    block.replace("127.0.0.1:8080", address)
}

fn able(program: &str, args: &[&str]) -> bool {
    let able = Command::new(program).args(args).output().is_ok_and(|o| o.status.success());
    if !able {
        println!("skipped: `{program} {}` does not run here", args.join(" "));
    }
    able
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Loud enough somewhere, and of a length that a short sentence has.
fn check_speech(samples: &[i16]) {
    let seconds = samples.len() as f64 / 24_000.0;
    assert!((0.4..6.0).contains(&seconds), "{seconds} s");
    assert!(samples.iter().any(|s| s.unsigned_abs() > 2000), "silence");
}

fn samples(wav: &[u8]) -> Vec<i16> {
    assert_eq!(&wav[..4], b"RIFF");
    wav[44..].chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect()
}

#[test]
fn texts_are_shown_as_it_says() {
    if !able("sh", &["-c", "true"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_voxwire")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let blocks: Vec<(&str, &str)> = readme.split("```").skip(1).step_by(2).filter_map(|b| b.split_once('\n')).collect();
    let shown = blocks.windows(2).filter(|pair| pair[0].0 == "sh" && pair[1].0 == "text");
    let count = shown.map(|pair| {
        let (script, expected) = (pair[0].1, pair[1].1);
        assert!(script.contains("voxwire text"));
        let told = run(Command::new("sh").arg("-c").arg(script).current_dir(&dir).env("PATH", &path));
        assert_eq!(told, expected, "{script}");
    });
    assert_eq!(count.count(), 2);
}

#[test]
fn curl_writes_a_wav_file() {
    if !able("curl", &["--version"]) {
        return;
    }
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    run(Command::new("sh").arg("-c").arg(example("sh", "curl", &server.address)).current_dir(&dir));
    check_speech(&samples(&std::fs::read(dir.path().join("hello.wav")).unwrap()));
}

#[test]
fn python_writes_a_wav_file() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    if !able(&python, &["-c", "import websockets.sync.client"]) {
        return;
    }
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    let told =
        run(Command::new(&python).arg("-c").arg(example("python", "connect", &server.address)).current_dir(&dir));
    assert!(told.contains("\"type\":\"done\""), "{told}");
    check_speech(&samples(&std::fs::read(dir.path().join("python.wav")).unwrap()));
}

#[test]
fn javascript_hears_as_much_as_it_is_told() {
    let flag = "--experimental-websocket";
    if !able("node", &[flag, "-e", "new WebSocket('ws://127.0.0.1:9').onerror=()=>0"]) {
        return;
    }
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    let script = example("javascript", "VoxwireClient", &server.address);
    let script = script.replace("./web/", &format!("{ROOT}/web/"));
    std::fs::write(dir.path().join("hello.mjs"), script).unwrap();
    let told = run(Command::new("node").args([flag, "hello.mjs"]).current_dir(&dir));
    let [kind, ms, bytes] = told.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{told}") };
    let (ms, bytes): (f64, f64) = (ms.parse().unwrap(), bytes.parse().unwrap());
    assert_eq!(kind, "done");
    assert!(ms > 400.0 && (bytes - ms * 48.0).abs() < 2.0, "{ms} ms in {bytes} bytes");
}
