//! `voxwire serve`: the server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Arbiter, System};
use actix_web::web;
use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use futures_util::StreamExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::api::server::{ServerOptions, start};
use crate::api::state::{App, SocketLimits};
use crate::api::voices::DefaultVoice;
use crate::audio::encode::{PcmFormat, StreamFormat};
use crate::device::actor::{DeviceActor, DeviceHandle};
use crate::device::thread::{MakeEngine, Shared};
use crate::engine::Engine;
use crate::engine::cpu::{CpuEngine, CpuOptions, is_small};
use crate::engine::fake::{FakeEngine, FakeOptions};
use crate::model::dims::Dims;
use crate::model::manifest::Manifest;
use crate::model::prompt::DecodePath;
use crate::model::sampling::Sampling;
use crate::parallel::processors;
use crate::session::frontend::Frontend;
use crate::session::live::Request;
use crate::session::outbox::{Event, Pace};
use crate::session::pool::Pool;
use crate::session::service::{Limits, Service};

/// Serve speech over WebSocket and HTTP, and the page to hear it
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, env = "VOXWIRE_BIND", value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    bind: SocketAddr,
    /// Model folder (holds asset/) [default: models/demo, else a pulled model, else the demo voice inside the program]
    #[arg(long, env = "VOXWIRE_MODEL", value_name = "DIR")]
    model: Option<PathBuf>,
    /// What computes: the CPU, or tones at a set pace for tests
    #[arg(long, value_enum, default_value_t = EngineArg::Cpu)]
    engine: EngineArg,
    /// Voice of clients that name none: a name, a seed, a file or a speaker string [default: the model's first]
    #[arg(long, env = "VOXWIRE_VOICE", allow_hyphen_values = true)]
    voice: Option<String>,
    /// Words and their readings: a line each, with a tab between; read again when it changes
    #[arg(long, env = "VOXWIRE_LEXICON", value_name = "FILE")]
    lexicon: Option<PathBuf>,
    /// Utterances that speak at once [default: 4; 32 for a small model; 256 with the fake engine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    slots: Option<u16>,
    /// Utterances that may wait for a slot before further ones are refused
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(..=100_000))]
    queue: u32,
    /// WebSockets open at once
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    sockets: usize,
    /// Threads of the CPU engine [default: one for each processor; one for a small model]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Seconds that streams may go on for when the server is told to stop
    #[arg(long, value_name = "S", default_value_t = 20)]
    drain: u64,
    /// Milliseconds between pings to a quiet client
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(20..=3_600_000))]
    ping_ms: u64,
    /// A client that takes no sound for so many milliseconds is closed
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=3_600_000))]
    stall_ms: u64,
    /// Fake engine: microseconds a step takes
    #[arg(long, value_name = "US", default_value_t = 5_000)]
    fake_step_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    Cpu,
    Fake,
}

/// Two cores carry these in real time with the demo model.
const SMALL_MODEL_SLOTS: usize = 32;
/// Slots of the fake engine: those of a large GPU.
const FAKE_SLOTS: usize = 256;
/// Said to oneself before the first client is let in.
const WARM_UP: &str = "Ready to speak.";

pub fn run(args: Args) -> anyhow::Result<()> {
    let dir = super::model_dir(args.model.clone())?;
    Manifest::check(&dir)?;
    let frontend = Frontend::open(&dir)?.with_lexicon(args.lexicon.as_deref())?;
    let voice = DefaultVoice::choose(&frontend, args.voice.as_deref())?;
    let decode = frontend.decode_path(None)?;
    let make = args.engine(&dir, &frontend.dims, decode);
    System::new().block_on(serve(args, frontend, voice, make))
}

impl Args {
    fn engine(&self, dir: &Path, dims: &Dims, decode: DecodePath) -> MakeEngine {
        let slots = self.slots.map(usize::from);
        match self.engine {
            EngineArg::Cpu => {
                let (dir, dims) = (dir.to_path_buf(), dims.clone());
                let default = CpuOptions::default();
                let usual = if is_small(&dims) { SMALL_MODEL_SLOTS } else { default.slots };
                let options = CpuOptions {
                    slots: slots.unwrap_or(usual),
                    threads: self.threads.map(usize::from),
                    paths: vec![decode],
                    refine: dims.capabilities.refine_text,
                    ..default
                };
                Box::new(move || Ok(Box::new(CpuEngine::load(&dir, &dims, options)?) as Box<dyn Engine>))
            }
            EngineArg::Fake => {
                let options = FakeOptions {
                    slots: slots.unwrap_or(FAKE_SLOTS),
                    step_time: Duration::from_micros(self.fake_step_us),
                    num_vq: dims.gpt.num_vq,
                    samples_per_step: dims.samples_per_step(),
                    ..FakeOptions::default()
                };
                Box::new(move || Ok(Box::new(FakeEngine::new(options)) as Box<dyn Engine>))
            }
        }
    }
}

async fn serve(args: Args, frontend: Frontend, voice: DefaultVoice, make: MakeEngine) -> anyhow::Result<()> {
    let slots = args.slots.map_or(FAKE_SLOTS, usize::from);
    // Every utterance that was admitted can have a few rows on their way.
    let queue = args.queue as usize;
    let mailbox = (slots + queue) * 4;
    let shared = Shared::new(mailbox);
    let (device, mut loaded) = start_device(shared, frontend.dims.vocos.sample_rate, make, mailbox);
    let pool = Pool::new(processors()).context("the system refused a thread")?;
    let limits = Limits { queue, ..Limits::default() };
    let service = Service::new(frontend, device, pool, limits);
    let default = SocketLimits::default();
    let sockets = SocketLimits {
        sockets: args.sockets,
        ping_every: Duration::from_millis(args.ping_ms),
        ping_timeout: Duration::from_millis(args.ping_ms * 3),
        stall: Duration::from_millis(args.stall_ms),
        ..default
    };
    let app = web::Data::new(App::new(service.clone(), sockets, voice));
    let drain = Duration::from_secs(args.drain);
    let options = ServerOptions { bind: args.bind, workers: processors(), drain };
    let running = start(app, options).with_context(|| format!("--bind {}", args.bind))?;
    let addr = running.addr;
    let stop = stop_signal()?;
    // Loading goes on while the server already answers that it is alive and not ready.
    actix_web::rt::spawn(async move {
        let result = match loaded.wait_for(Option::is_some).await.map(|r| r.clone()) {
            Ok(Some(Ok(()))) => warm_up(&service).await,
            Ok(Some(Err(why))) => Err(anyhow!("{why}")),
            _ => Err(anyhow!("the device's actor has stopped")),
        };
        match result {
            Ok(()) => {
                use std::io::Write;
                // Whoever started the server may have stopped reading; it serves all the same.
                let _ = writeln!(std::io::stdout(), "listening on http://{addr}");
                let _ = std::io::stdout().flush();
            }
            Err(e) => {
                tell!("error: {}", super::one_line(&e));
                std::process::exit(1);
            }
        }
    });
    running.until(stop).await.context("server")
}

fn start_device(
    shared: Arc<Shared>,
    sample_rate: u32,
    make: MakeEngine,
    mailbox: usize,
) -> (DeviceHandle, tokio::sync::watch::Receiver<Option<Result<(), String>>>) {
    let actor = DeviceActor::new(shared.clone(), sample_rate, make, mailbox);
    let loaded = actor.loaded();
    // An arbiter of its own: no socket's work may delay a job on its way to the device.
    let addr = DeviceActor::start_in_arbiter(&Arbiter::new().handle(), |_| actor);
    (DeviceHandle::new(addr, shared), loaded)
}

/// Speaks once, so that the first client finds warm caches and a device that is known to work.
async fn warm_up(service: &Arc<Service>) -> anyhow::Result<()> {
    let frontend = service.frontend();
    let request = Request {
        speaker: Default::default(),
        sampling: Sampling::code(1),
        max_steps: Some(64),
        refine: None,
        speed: 1.0,
        decode: frontend.decode_path(None)?,
        format: StreamFormat::Pcm(PcmFormat::default()),
        pace: Pace::Fast,
        parallel: 1,
        ahead: Duration::from_secs(60),
        stall: Duration::from_secs(60),
    };
    let mut opened = service.open(request, None, false)?;
    opened.control.text(WARM_UP.to_string())?;
    opened.control.finish();
    while let Some(event) = opened.events.next().await {
        match event {
            Event::Done(summary) => {
                info!(engine_ms = summary.engine_ms(), rtf = summary.rtf(), "warm");
                service.device().warm();
                return Ok(());
            }
            Event::Failed(failure) => bail!("the first utterance: {failure}"),
            Event::Piece(_) | Event::Made | Event::Audio { .. } => {}
        }
    }
    bail!("the first utterance had no end")
}

/// Complete at SIGTERM or SIGINT; a second one ends the process at once.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate()).context("SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("SIGINT")?;
    Ok(async move {
        told(&mut term, &mut int).await;
        actix_web::rt::spawn(async move {
            told(&mut term, &mut int).await;
            warn!("told to stop twice: stopping now");
            std::process::exit(1);
        });
    })
}

async fn told(term: &mut Signal, int: &mut Signal) {
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
