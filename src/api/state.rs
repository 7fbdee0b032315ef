//! What all requests share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix::{Message, Recipient};

use super::voices::DefaultVoice;
use crate::session::service::Service;
use crate::telemetry::metrics::Metrics;

/// What a socket may use.
#[derive(Clone, Debug)]
pub struct SocketLimits {
    /// Sockets open at once; further upgrades get 503.
    pub sockets: usize,
    /// Largest message from a client, bytes.
    pub message_bytes: usize,
    /// Utterances of a socket alive at once.
    pub utterances: usize,
    /// A ping is sent this often.
    pub ping_every: Duration,
    /// A socket from which nothing came for this long is dead.
    pub ping_timeout: Duration,
    /// Sound on its way to a client that it has not confirmed; sending stops at this much.
    pub in_flight: Duration,
    /// Sound made and not yet sent; the row pauses at this much.
    pub ahead: Duration,
    /// A client that confirms nothing for this long while sound waits for it is closed.
    pub stall: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            sockets: 10_000,
            message_bytes: 1 << 20,
            utterances: 16,
            ping_every: Duration::from_secs(10),
            ping_timeout: Duration::from_secs(30),
            in_flight: Duration::from_secs(5),
            ahead: Duration::from_secs(4),
            stall: Duration::from_secs(10),
        }
    }
}

/// Told to every socket when the server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Message)]
#[rtype(result = "()")]
pub enum Stop {
    /// Finish what speaks, begin nothing, then close.
    Drain,
    /// Close now.
    Now,
}

/// The sockets that are open.
#[derive(Default)]
pub struct Sessions {
    open: Mutex<HashMap<u64, Recipient<Stop>>>,
    next: AtomicU64,
}

impl Sessions {
    /// A number for a new socket; `None` when there are as many as may be.
    pub fn enter(&self, limit: usize, make: impl FnOnce(u64) -> Recipient<Stop>) -> Option<u64> {
        let mut open = self.open();
        if open.len() >= limit {
            return None;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(id, make(id));
        Some(id)
    }

    pub fn leave(&self, id: u64) {
        self.open().remove(&id);
    }

    pub fn count(&self) -> usize {
        self.open().len()
    }

    pub fn tell(&self, stop: Stop) {
        self.open().values().for_each(|session| session.do_send(stop));
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Recipient<Stop>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct App {
    pub service: Arc<Service>,
    pub metrics: Metrics,
    pub sockets: SocketLimits,
    pub sessions: Sessions,
    pub voice: DefaultVoice,
    /// Replies over HTTP that are still being sent.
    pub downloads: AtomicUsize,
    draining: AtomicBool,
}

impl App {
    pub fn new(service: Arc<Service>, sockets: SocketLimits, voice: DefaultVoice) -> Self {
        Self {
            service,
            metrics: Metrics::default(),
            sockets,
            sessions: Sessions::default(),
            voice,
            downloads: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
        }
    }

    /// Whether the server has been told to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Not ready from now on; sockets finish what speaks and close.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.service.device().drain();
        self.sessions.tell(Stop::Drain);
    }
}
