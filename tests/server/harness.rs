//! The server as a child process: started on a free port, killed when dropped.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::http;

/// Long enough for a start on a machine that is busy with other builds.
const START: Duration = Duration::from_secs(60);

/// Who uses the processors: most tests side by side, those that measure time alone.
static MACHINE: RwLock<()> = RwLock::new(());

#[allow(dead_code, reason = "held, not read")]
enum Turn {
    Again,
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

pub struct Server {
    child: Child,
    pub addr: SocketAddr,
    log: Arc<Mutex<String>>,
    _turn: Turn,
}

/// With the fake engine, beside other tests.
pub async fn fake(args: &[&str]) -> Server {
    started(turn(), "fake", args).await
}

/// With the fake engine, and no other test of this binary at work.
pub async fn fake_alone(args: &[&str]) -> Server {
    started(alone(), "fake", args).await
}

/// With the fake engine, and nobody at the other end of its standard error once it listens.
pub async fn fake_unheard(args: &[&str]) -> Server {
    let turn = turn();
    let mut child = command("fake", "127.0.0.1:0", args).spawn().expect("the binary starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let addr = line.trim().strip_prefix("listening on http://").and_then(|a| a.parse().ok()).expect("the address");
    drop(child.stderr.take());
    Server { child, addr, log: Arc::default(), _turn: turn }
}

/// With the CPU engine.
pub async fn cpu(args: &[&str]) -> Server {
    started(turn(), "cpu", args).await
}

async fn started(turn: Turn, engine: &str, args: &[&str]) -> Server {
    let mut child = command(engine, "127.0.0.1:0", args).spawn().expect("the binary starts");
    let log = collect(child.stderr.take().expect("a pipe"));
    let (tell, told) = mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    let Ok(line) = told.recv_timeout(START) else {
        let _ = child.kill();
        panic!("expected a line on standard output within {START:?}, found none; the log: {}", log.lock().unwrap());
    };
    let addr = line.strip_prefix("listening on http://").and_then(|a| a.parse().ok());
    let addr = addr.unwrap_or_else(|| panic!("expected the address, found {line:?}"));
    Server { child, addr, log, _turn: turn }
}

/// Not yet warm: on a port that was free a moment ago.
pub fn cold(args: &[&str]) -> Server {
    let turn = turn();
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
    let mut child = command("fake", &free.to_string(), args).spawn().expect("the binary starts");
    let log = collect(child.stderr.take().expect("a pipe"));
    collect(child.stdout.take().expect("a pipe"));
    Server { child, addr: free, log, _turn: turn }
}

thread_local! {
    /// This test has had its turn: a second server of it must not wait for one, since somebody who wants the machine alone
    /// may be waiting for this test's end.
    static HAD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn turn() -> Turn {
    if HAD.replace(true) {
        return Turn::Again;
    }
    Turn::Shared(MACHINE.read().unwrap_or_else(|e| e.into_inner()))
}

fn alone() -> Turn {
    if HAD.replace(true) {
        return Turn::Again;
    }
    Turn::Alone(MACHINE.write().unwrap_or_else(|e| e.into_inner()))
}

fn command(engine: &str, bind: &str, args: &[&str]) -> Command {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
    let mut command = Command::new(env!("CARGO_BIN_EXE_voxwire"));
    command.args(["serve", "--bind", bind, "--engine", engine]).arg("--model").arg(model).args(args);
    // Everything that could be logged is, so that tests can say what must not be.
    command.env("VOXWIRE_LOG", "debug").env_remove("VOXWIRE_VOICE");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn collect(mut from: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let log = Arc::new(Mutex::new(String::new()));
    let to = log.clone();
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut part) {
            to.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..n]));
        }
    });
    log
}

impl Server {
    pub fn ws(&self) -> String {
        format!("ws://{}/v1/ws", self.addr)
    }

    /// What it has written to standard error.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// One value of `/metrics`, by its name without the prefix.
    pub async fn metric(&self, name: &str) -> u64 {
        let reply = http::get(self.addr, "/metrics").await;
        let text = String::from_utf8(reply.body).unwrap();
        let full = format!("voxwire_{name} ");
        let line = text.lines().find_map(|l| l.strip_prefix(&full));
        line.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no {full} in {text}"))
    }

    /// Waits until a gauge has a value, and returns how long that took.
    pub async fn until(&self, name: &str, value: u64, within: Duration) -> Duration {
        let began = Instant::now();
        loop {
            let found = self.metric(name).await;
            if found == value {
                return began.elapsed();
            }
            assert!(began.elapsed() < within, "{name}: expected {value} within {within:?}, found {found}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Nothing of any client is left.
    pub async fn until_idle(&self, within: Duration) {
        self.until_idle_but_for_sessions(within).await;
        self.until("sessions", 0, within).await;
    }

    /// Sockets may be open, and nothing is being said on them.
    pub async fn until_idle_but_for_sessions(&self, within: Duration) {
        for gauge in ["rows_active", "rows_waiting", "utterances_active"] {
            self.until(gauge, 0, within).await;
        }
    }

    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    }

    pub async fn exit(&mut self, within: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(began.elapsed() < within, "expected an exit within {within:?}; the log: {}", self.log());
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Resident memory, in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).expect("Linux tells it");
        line.trim().trim_end_matches("kB").trim().parse().expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the server's last words:\n{}", tail(&self.log()));
        }
    }
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
