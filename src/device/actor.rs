//! A device as an actor: its mailbox, its state, and its heartbeat. The engine itself runs on its own thread.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::watch;
use tracing::{error, info};

use super::batch::{Job, RowEnd, RowOutcome};
use super::thread::{DeviceState, MakeEngine, Shared, spawn};

/// With work to do, a device that makes no step for this long is reported.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// Runs a row.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Submit(pub Job);

/// The device has spoken its first utterance: it may serve.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Warm;

/// No new utterances from now on; what runs is finished.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Drain;

/// Whether the engine could be made.
#[derive(Message)]
#[rtype(result = "()")]
struct Loaded(Result<(), String>);

pub struct DeviceActor {
    shared: Arc<Shared>,
    sample_rate: u32,
    make: Option<MakeEngine>,
    thread: Option<JoinHandle<()>>,
    loaded: watch::Sender<Option<Result<(), String>>>,
    mailbox: usize,
    /// Steps at the last heartbeat.
    seen: u64,
}

impl DeviceActor {
    /// `mailbox` jobs may wait to be handed over; senders use `try_send` and refuse what does not fit.
    pub fn new(shared: Arc<Shared>, sample_rate: u32, make: MakeEngine, mailbox: usize) -> Self {
        let (loaded, _) = watch::channel(None);
        Self { shared, sample_rate, make: Some(make), thread: None, loaded, mailbox, seen: 0 }
    }

    /// Becomes `Some` once the engine is made or could not be.
    pub fn loaded(&self) -> watch::Receiver<Option<Result<(), String>>> {
        self.loaded.subscribe()
    }

    fn heartbeat(&mut self) {
        let load = self.shared.load();
        let works = load.rows > load.paused;
        if works && load.steps == self.seen {
            error!(rows = load.rows, "the device has made no step for {HEARTBEAT:?}");
        }
        self.seen = load.steps;
    }
}

impl Actor for DeviceActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(self.mailbox);
        let Some(make) = self.make.take() else { return };
        let addr = ctx.address();
        let told = move |result: anyhow::Result<()>| addr.do_send(Loaded(result.map_err(|e| format!("{e:#}"))));
        match spawn(self.shared.clone(), self.sample_rate, make, told) {
            Ok(thread) => self.thread = Some(thread),
            Err(e) => ctx.notify(Loaded(Err(format!("the device's thread: {e}")))),
        }
        ctx.run_interval(HEARTBEAT, |actor, _| actor.heartbeat());
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // Ends its rows within a step; a thread that is stuck in a driver call must not hold up the exit.
            drop(thread);
        }
    }
}

impl Handler<Loaded> for DeviceActor {
    type Result = ();

    fn handle(&mut self, Loaded(result): Loaded, _: &mut Self::Context) {
        self.loaded.send_replace(Some(result));
    }
}

impl Handler<Submit> for DeviceActor {
    type Result = ();

    fn handle(&mut self, Submit(job): Submit, _: &mut Self::Context) {
        self.shared.submit(job);
    }
}

impl Handler<Warm> for DeviceActor {
    type Result = ();

    fn handle(&mut self, _: Warm, _: &mut Self::Context) {
        if self.shared.state() == DeviceState::Warming {
            self.shared.set_state(DeviceState::Serving);
            info!(slots = self.shared.slots(), "device ready");
        }
    }
}

impl Handler<Drain> for DeviceActor {
    type Result = ();

    fn handle(&mut self, _: Drain, _: &mut Self::Context) {
        if self.shared.state() != DeviceState::Failed {
            self.shared.set_state(DeviceState::Draining);
        }
    }
}

/// What sessions hold of a device.
#[derive(Clone)]
pub struct DeviceHandle {
    addr: Addr<DeviceActor>,
    shared: Arc<Shared>,
}

impl DeviceHandle {
    pub fn new(addr: Addr<DeviceActor>, shared: Arc<Shared>) -> Self {
        Self { addr, shared }
    }

    /// Hands a job to the device. Does not wait; a job that finds the mailbox full is ended at once.
    pub fn submit(&self, job: Job) {
        let (job, why) = match self.addr.try_send(Submit(job)) {
            Ok(()) => return,
            Err(SendError::Full(Submit(job))) => (job, "its mailbox is full"),
            Err(SendError::Closed(Submit(job))) => (job, "it has stopped"),
        };
        let seed = job.sampling.seed;
        job.sink.end(RowEnd::new(RowOutcome::DeviceLost(why.into()), seed));
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn warm(&self) {
        self.addr.do_send(Warm);
    }

    pub fn drain(&self) {
        self.addr.do_send(Drain);
    }
}
