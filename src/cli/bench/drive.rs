//! Carries out one run: opens the sockets, gives them utterances, knows when enough was measured.
//!
//! Everything is on one thread, so that the client costs one core at most and its cost can be told from the server's.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use futures_util::StreamExt;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};

use super::args::{Load, Quota, Shape};
use super::arrivals::Draws;
use super::client::{Client, ConnectError, ServerName};
use super::record::{Flow, Record, count};
use super::usage::{self, Process, Usage};
use super::utterance::{Job, Utterance};

/// Sockets being opened at the same time.
const OPENING: usize = 64;
/// Longest wait for a socket to be ready.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// A failed utterance is not tried again at once; the server's own wish counts up to the longest.
const BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);
/// Given to all sockets to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);
const LAG_EVERY: Duration = Duration::from_millis(20);
const MEMORY_EVERY: Duration = Duration::from_millis(250);
/// An utterance that is to be cancelled is taken to last this long per character.
const CHARACTER: Duration = Duration::from_millis(60);

#[derive(Debug, thiserror::Error)]
#[error("{url}: {source}")]
pub struct Unreachable {
    url: String,
    source: ConnectError,
}

/// The state of the world at one end of the measured time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub at: Instant,
    pub own_cpu: Option<Duration>,
    pub server: Option<Usage>,
    pub flow: Flow,
}

/// The server's memory in bytes, as sockets come and speak.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub before: u64,
    pub with_idle: u64,
    pub peak: u64,
}

/// A finished run.
#[derive(Debug)]
pub struct Outcome {
    pub name: ServerName,
    pub record: Record,
    pub from: Snapshot,
    pub to: Snapshot,
    pub memory: Option<Memory>,
    /// Sockets without utterances: opened, and still open at the end.
    pub idle_opened: usize,
    pub idle_held: usize,
    /// Most sockets that spoke.
    pub sockets_used: usize,
    /// Measured utterances that had not ended when the run was given up.
    pub unfinished: u64,
    /// The user ended the run.
    pub interrupted: bool,
}

/// What the tasks of a run share.
struct Run {
    load: Load,
    draws: Draws,
    record: Rc<RefCell<Record>>,
    process: Option<Process>,
    /// Measured is what begins from here, and for [`Quota::Time`] before the second.
    from: Instant,
    until: Option<Instant>,
    next_index: Cell<u64>,
    begun: Cell<u64>,
    /// Measured utterances that have begun, or were due, and are not over.
    open: Cell<u64>,
    changed: Notify,
    sockets_used: Cell<usize>,
    queue: Queue,
}

/// Open loop: utterances that are due, and sockets that are free.
#[derive(Default)]
struct Queue {
    jobs: RefCell<VecDeque<Job>>,
    wake: Notify,
    /// Sockets that wait for a job, or are on their way to their first.
    free: Cell<usize>,
}

/// Speaks with a server as `load` says. Must run inside a `LocalSet`.
///
/// # Errors
/// When not even the first socket can be opened; anything later is part of the outcome.
pub async fn drive(load: Load, process: Option<Process>) -> Result<Outcome, Unreachable> {
    let record = Rc::new(RefCell::new(Record::default()));
    let usage = || process.and_then(|p| p.usage().ok());
    let mut memory = usage().map(|u| Memory { before: u.rss, with_idle: u.rss, peak: u.rss });
    let first = Client::connect(&load.target, &record, CONNECT_TIME)
        .await
        .map_err(|source| Unreachable { url: load.target.shown.clone(), source })?;
    let name = first.name.clone();
    let (stop, stopped) = watch::channel(false);

    let mut idle = JoinSet::new();
    for mut client in open(&load, &record, load.idle).await {
        let stopped = stopped.clone();
        idle.spawn_local(async move {
            client.idle(raised(stopped)).await;
            let held = !client.closed();
            client.close().await;
            held
        });
    }
    let idle_opened = idle.len();
    if let (Some(memory), Some(usage)) = (&mut memory, usage()) {
        memory.with_idle = usage.rss;
    }

    let (mut clients, more) = (vec![first], load.sockets - 1);
    if matches!(load.shape, Shape::Closed { .. }) {
        clients.extend(open(&load, &record, more).await);
    }
    let run = Rc::new(Run::new(load, record.clone(), process));
    let mut tasks = run.clone().spawn(clients, &stopped);
    let peak = Rc::new(Cell::new(memory.map_or(0, |m| m.with_idle)));
    tasks.spawn_local(until(stopped.clone(), watch_lag(record.clone())));
    tasks.spawn_local(until(stopped.clone(), watch_memory(process, peak.clone())));

    let (from, to, interrupted) = run.measure().await;
    let unfinished = run.open.get();
    // Whoever receives this may have gone already.
    let _ = stop.send(true);
    let mut idle_held = 0;
    let _ = timeout(GOODBYE, async {
        while tasks.join_next().await.is_some() {}
        while let Some(held) = idle.join_next().await {
            idle_held += usize::from(held.unwrap_or(false));
        }
    })
    .await;
    if let Some(memory) = &mut memory {
        memory.peak = peak.get();
    }
    let record = record.take();
    let sockets_used = run.sockets_used.get();
    Ok(Outcome { name, record, from, to, memory, idle_opened, idle_held, sockets_used, unfinished, interrupted })
}

/// Opens `n` sockets; those that fail are counted.
async fn open(load: &Load, record: &Rc<RefCell<Record>>, n: usize) -> Vec<Client> {
    let connect = |_| Client::connect(&load.target, record, CONNECT_TIME);
    let mut opening = futures_util::stream::iter(0..n).map(connect).buffer_unordered(OPENING);
    let mut clients = Vec::with_capacity(n);
    while let Some(result) = opening.next().await {
        match result {
            Ok(client) => clients.push(client),
            Err(e) => refused(&mut record.borrow_mut(), &e),
        }
    }
    clients
}

fn refused(record: &mut Record, e: &ConnectError) {
    count(&mut record.connect_failures, e.code());
    record.examples.entry(e.code()).or_insert_with(|| e.to_string());
}

async fn raised(mut stopped: watch::Receiver<bool>) {
    // The sender is gone: the run is over as well.
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Work that ends with the run.
async fn until(stopped: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        () = raised(stopped) => {}
        () = work => {}
    }
}

/// How late timers fire tells whether this process itself is too slow to measure.
async fn watch_lag(record: Rc<RefCell<Record>>) {
    loop {
        let due = Instant::now() + LAG_EVERY;
        sleep_until(due).await;
        record.borrow_mut().lag.add(due.elapsed().as_secs_f64() * 1e3);
    }
}

async fn watch_memory(process: Option<Process>, peak: Rc<Cell<u64>>) {
    while let Some(usage) = process.and_then(|p| p.usage().ok()) {
        peak.set(peak.get().max(usage.rss));
        sleep(MEMORY_EVERY).await;
    }
    std::future::pending().await
}

/// Waits, reading the socket if there is one.
async fn rest(client: &mut Option<Client>, until: impl Future<Output = ()>) {
    match client {
        Some(client) => client.idle(until).await,
        None => until.await,
    }
}

impl Run {
    fn new(load: Load, record: Rc<RefCell<Record>>, process: Option<Process>) -> Self {
        let from = Instant::now() + load.warmup;
        let until = match load.quota {
            Quota::Time(time) => Some(from + time),
            Quota::Utterances(_) => None,
        };
        Self {
            draws: Draws::new(load.seed),
            load,
            record,
            process,
            from,
            until,
            next_index: Cell::new(0),
            begun: Cell::new(0),
            open: Cell::new(0),
            changed: Notify::new(),
            sockets_used: Cell::new(0),
            queue: Queue::default(),
        }
    }

    /// Starts whatever makes utterances.
    fn spawn(self: Rc<Self>, clients: Vec<Client>, stopped: &watch::Receiver<bool>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        match self.load.shape {
            Shape::Closed { think, spread } => {
                let sockets = self.load.sockets;
                let mut clients = clients.into_iter();
                for slot in 0..sockets {
                    let delay = spread.mul_f64(slot as f64 / sockets as f64);
                    tasks.spawn_local(self.clone().closed_loop(clients.next(), delay, think, stopped.clone()));
                }
            }
            Shape::Open { rate } => {
                tasks.spawn_local(self.open_loop(clients, rate, stopped.clone()));
            }
        }
        tasks
    }

    /// The next utterance, due then; `None` when all that was asked for has begun.
    fn next_job(&self, due: Instant) -> Option<Job> {
        let measuring = due >= self.from;
        let counted = match self.load.quota {
            Quota::Utterances(n) if measuring && self.begun.get() >= n => return None,
            Quota::Utterances(_) => measuring,
            // Load goes on, unmeasured, until what is measured is over: the end must not be easier than the rest.
            Quota::Time(_) => measuring && self.until.is_some_and(|until| due < until),
        };
        let index = self.next_index.replace(self.next_index.get() + 1);
        if counted {
            self.begun.set(self.begun.get() + 1);
            self.open.set(self.open.get() + 1);
        }
        Some(Job { index, due, counted })
    }

    /// Speaks a job on the socket, which is opened if need be. Returns how long to wait before the next.
    async fn carry_out(&self, client: &mut Option<Client>, job: &Job) -> Duration {
        if client.as_ref().is_none_or(Client::closed) {
            *client = None;
            match Client::connect(&self.load.target, &self.record, CONNECT_TIME).await {
                Ok(opened) => *client = Some(opened),
                Err(e) => {
                    refused(&mut self.record.borrow_mut(), &e);
                    self.over(job, Err(&e.code()));
                    return BACK_OFF;
                }
            }
        }
        let Some(client) = client else { return BACK_OFF };
        let text = &self.load.texts[(job.index % self.load.texts.len() as u64) as usize];
        let length = CHARACTER * u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let cancel = self.draws.cancel(job.index, self.load.cancel_share).map(|share| length.mul_f64(share));
        let spoken = client.speak(&self.load, job, cancel).await;
        let failed = matches!(spoken.end, None | Some(super::utterance::End::Failed(_)));
        self.over(job, Ok(&spoken));
        let asked = client.retry_after().unwrap_or(BACK_OFF).clamp(BACK_OFF, LONGEST_BACK_OFF);
        if failed { asked } else { Duration::ZERO }
    }

    fn over(&self, job: &Job, result: Result<&Utterance, &str>) {
        if !job.counted {
            return;
        }
        let mut record = self.record.borrow_mut();
        match result {
            Ok(utterance) => record.utterance(utterance),
            Err(code) => record.not_begun(code),
        }
        self.open.set(self.open.get() - 1);
        self.changed.notify_one();
    }

    async fn closed_loop(
        self: Rc<Self>,
        mut client: Option<Client>,
        delay: Duration,
        think: Duration,
        stopped: watch::Receiver<bool>,
    ) {
        self.sockets_used.set(self.sockets_used.get() + 1);
        let talk = async {
            rest(&mut client, sleep(delay)).await;
            while let Some(job) = self.next_job(Instant::now()) {
                let back_off = self.carry_out(&mut client, &job).await;
                let wait = think + back_off;
                if !wait.is_zero() {
                    rest(&mut client, sleep(wait)).await;
                }
            }
            rest(&mut client, std::future::pending()).await;
        };
        until(stopped, talk).await;
        goodbye(client).await;
    }

    async fn open_loop(self: Rc<Self>, clients: Vec<Client>, rate: f64, stopped: watch::Receiver<bool>) {
        let mut sockets = JoinSet::new();
        for client in clients {
            self.add_socket(&mut sockets, Some(client), &stopped);
        }
        let arrivals = async {
            let mut due = Instant::now();
            for n in 0.. {
                due += self.draws.wait(n, rate);
                sleep_until(due).await;
                let Some(job) = self.next_job(due) else { break };
                self.arrive(job, &mut sockets, &stopped);
            }
            std::future::pending().await
        };
        until(stopped.clone(), arrivals).await;
        while sockets.join_next().await.is_some() {}
    }

    /// A job is due: a free socket takes it, or a new one, or it waits.
    fn arrive(self: &Rc<Self>, job: Job, sockets: &mut JoinSet<()>, stopped: &watch::Receiver<bool>) {
        let waiting = self.queue.jobs.borrow().len();
        if self.queue.free.get() <= waiting {
            if self.sockets_used.get() < self.load.sockets {
                self.add_socket(sockets, None, stopped);
            } else if job.counted {
                self.record.borrow_mut().late += 1;
            }
        }
        self.queue.jobs.borrow_mut().push_back(job);
        self.queue.wake.notify_one();
    }

    fn add_socket(self: &Rc<Self>, sockets: &mut JoinSet<()>, client: Option<Client>, stopped: &watch::Receiver<bool>) {
        self.sockets_used.set(self.sockets_used.get() + 1);
        self.queue.free.set(self.queue.free.get() + 1);
        sockets.spawn_local(self.clone().take_jobs(client, stopped.clone()));
    }

    /// A socket of the open loop. It is free whenever it holds no job.
    async fn take_jobs(self: Rc<Self>, mut client: Option<Client>, stopped: watch::Receiver<bool>) {
        let queue = &self.queue;
        let talk = async {
            loop {
                // Taken out of the queue before anything waits: nobody else sees the borrow.
                let job = queue.jobs.borrow_mut().pop_front();
                let Some(job) = job else {
                    rest(&mut client, queue.wake.notified()).await;
                    continue;
                };
                queue.free.set(queue.free.get() - 1);
                let back_off = self.carry_out(&mut client, &job).await;
                if !back_off.is_zero() {
                    rest(&mut client, sleep(back_off)).await;
                }
                queue.free.set(queue.free.get() + 1);
            }
        };
        until(stopped, talk).await;
        goodbye(client).await;
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            at: Instant::now(),
            own_cpu: usage::own_cpu(),
            server: self.process.and_then(|p| p.usage().ok()),
            flow: self.record.borrow().flow,
        }
    }

    /// Waits until everything that is to be measured was, and returns both ends of the measured time.
    async fn measure(&self) -> (Snapshot, Snapshot, bool) {
        let stop = tokio::signal::ctrl_c();
        tokio::pin!(stop);
        let mut from = self.snapshot();
        let mut to = None;
        let work = async {
            sleep_until(self.from).await;
            from = self.snapshot();
            if let Some(until) = self.until {
                sleep_until(until).await;
                to = Some(self.snapshot());
            }
            let all_begun = || match self.load.quota {
                Quota::Utterances(n) => self.begun.get() >= n,
                Quota::Time(_) => true,
            };
            // After the time is over, an open loop that cannot keep up would go on for long.
            let patience = self.until.map(|until| until + self.load.timeout);
            while !all_begun() || self.open.get() > 0 {
                let changed = self.changed.notified();
                match patience {
                    Some(end) if Instant::now() >= end => break,
                    Some(end) => drop(tokio::time::timeout_at(end, changed).await),
                    None => changed.await,
                }
            }
        };
        let interrupted = tokio::select! {
            // No handler can be had: the system's own ends the process.
            Ok(()) = &mut stop => true,
            () = work => false,
        };
        (from, to.unwrap_or_else(|| self.snapshot()), interrupted)
    }
}

async fn goodbye(client: Option<Client>) {
    if let Some(client) = client {
        client.close().await;
    }
}
