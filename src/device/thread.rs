//! The thread an engine lives on.
//!
//! The engine is made, used and dropped on one thread of its own (a CUDA context is bound to its thread, and a decode
//! step must not wait for web work). Jobs come in through a bounded [`Inbox`]; whoever changes something the thread
//! should look at nudges it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use tracing::{error, info};

use super::batch::{Batch, Job, Load, RowEnd, RowOutcome, Turn};
use crate::engine::{Engine, EngineError};

/// How often rows are looked at while all of them are paused.
const PAUSED_LOOK: Duration = Duration::from_millis(250);

/// Makes the engine, on its thread.
pub type MakeEngine = Box<dyn FnOnce() -> anyhow::Result<Box<dyn Engine>> + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DeviceState {
    /// The engine is being made.
    Loading = 0,
    /// It is made, and has not spoken yet.
    Warming = 1,
    Serving = 2,
    /// No new utterances; the ones it has are finished.
    Draining = 3,
    /// Lost, or stopped.
    Failed = 4,
}

impl DeviceState {
    const ALL: [Self; 5] = [Self::Loading, Self::Warming, Self::Serving, Self::Draining, Self::Failed];
}

/// Wakes the device's thread. Cheap, and never lost: a nudge that comes while the thread works makes it look again.
#[derive(Clone, Debug, Default)]
pub struct Nudge(Arc<OnceLock<Thread>>);

impl Nudge {
    pub fn nudge(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

/// What the outside and the device's thread share.
pub struct Shared {
    inbox: Mutex<Inbox>,
    nudge: Nudge,
    state: AtomicU8,
    stop: AtomicBool,
    rows: AtomicUsize,
    paused: AtomicUsize,
    waiting: AtomicUsize,
    steps: AtomicU64,
    slots: AtomicUsize,
}

struct Inbox {
    jobs: VecDeque<Job>,
    /// Jobs not yet taken by the thread; when they are as many, the next is refused.
    limit: usize,
    open: bool,
}

impl Shared {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            inbox: Mutex::new(Inbox { jobs: VecDeque::new(), limit, open: true }),
            nudge: Nudge::default(),
            state: AtomicU8::new(DeviceState::Loading as u8),
            stop: AtomicBool::new(false),
            rows: AtomicUsize::new(0),
            paused: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            steps: AtomicU64::new(0),
            slots: AtomicUsize::new(0),
        })
    }

    pub fn nudge(&self) -> Nudge {
        self.nudge.clone()
    }

    pub fn state(&self) -> DeviceState {
        DeviceState::ALL[usize::from(self.state.load(Ordering::Acquire))]
    }

    pub fn set_state(&self, state: DeviceState) {
        self.state.store(state as u8, Ordering::Release);
    }

    pub fn load(&self) -> Load {
        Load {
            rows: self.rows.load(Ordering::Relaxed),
            paused: self.paused.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
        }
    }

    /// Rows the engine can hold; 0 until it is made.
    pub fn slots(&self) -> usize {
        self.slots.load(Ordering::Relaxed)
    }

    /// Hands a job to the thread. A job that cannot be taken is ended at once, so that each has exactly one end.
    pub fn submit(&self, job: Job) {
        let refused = {
            let mut inbox = self.inbox();
            if inbox.open && inbox.jobs.len() < inbox.limit {
                inbox.jobs.push_back(job);
                None
            } else {
                let why = if inbox.open { "its queue is full" } else { "it has stopped" };
                Some((job, why))
            }
        };
        match refused {
            None => self.nudge.nudge(),
            Some((job, why)) => {
                let seed = job.sampling.seed;
                job.sink.end(RowEnd::new(RowOutcome::DeviceLost(why.into()), seed));
            }
        }
    }

    /// The thread ends its rows and then itself.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.nudge.nudge();
    }

    fn inbox(&self) -> std::sync::MutexGuard<'_, Inbox> {
        // A panic while it was held cannot have left a queue half changed.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, load: Load) {
        self.rows.store(load.rows, Ordering::Relaxed);
        self.paused.store(load.paused, Ordering::Relaxed);
        self.waiting.store(load.waiting, Ordering::Relaxed);
        self.steps.store(load.steps, Ordering::Relaxed);
    }
}

/// Starts the thread: makes the engine, then runs its rows until [`Shared::stop`] or the engine's loss. `told` hears
/// once whether the engine could be made.
pub fn spawn(
    shared: Arc<Shared>,
    sample_rate: u32,
    make: MakeEngine,
    told: impl FnOnce(anyhow::Result<()>) + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("voxwire-device".into()).spawn(move || {
        let _ = shared.nudge.0.set(std::thread::current());
        let mut batch = Batch::new(sample_rate);
        let why = match catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked"))) {
            Ok(mut engine) => {
                shared.slots.store(engine.capacity().slots, Ordering::Relaxed);
                shared.set_state(DeviceState::Warming);
                told(Ok(()));
                // A panic in an engine loses that engine, not the process.
                catch_unwind(AssertUnwindSafe(|| run(&shared, &mut batch, &mut *engine)))
                    .unwrap_or_else(|_| Err(EngineError::Device("it panicked".into())))
                    .err()
                    .map_or("it was stopped".into(), |e| e.to_string())
            }
            Err(e) => {
                let why = e.to_string();
                told(Err(e));
                why
            }
        };
        shared.set_state(DeviceState::Failed);
        let late: Vec<Job> = {
            let mut inbox = shared.inbox();
            inbox.open = false;
            inbox.jobs.drain(..).collect()
        };
        late.into_iter().for_each(|job| batch.submit(job));
        batch.lose(&why);
        shared.publish(batch.load());
    })
}

fn run(shared: &Shared, batch: &mut Batch, engine: &mut dyn Engine) -> Result<(), EngineError> {
    while !shared.stop.load(Ordering::Acquire) {
        let jobs: Vec<Job> = shared.inbox().jobs.drain(..).collect();
        jobs.into_iter().for_each(|job| batch.submit(job));
        let turn = batch.turn(engine).inspect_err(|e| error!(error = %e, "the device is lost"))?;
        shared.publish(batch.load());
        match turn {
            Turn::Worked => {}
            // A paused row may have lost its listener: only asking finds out.
            Turn::Idle if batch.load().rows > 0 => std::thread::park_timeout(PAUSED_LOOK),
            Turn::Idle => std::thread::park(),
        }
    }
    info!("device stopped");
    Ok(())
}

#[cfg(test)]
mod tests;
