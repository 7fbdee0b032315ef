//! What all utterances of a server share: the model's front end, the device, the pool, the limits.

use std::sync::Arc;

use super::admission::{Admission, Permit};
use super::frontend::Frontend;
use super::live::{Control, Request, Utterance};
use super::outbox::{Events, Gate};
use super::pool::Pool;
use super::report::Failure;
use crate::device::actor::DeviceHandle;
use crate::device::thread::DeviceState;

/// What a client may use of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Characters (code points) of one utterance.
    pub text_chars: usize,
    /// Utterances that may wait for a slot, beyond those that have one.
    pub queue: usize,
}

impl Default for Limits {
    /// 100,000 characters are about two hours of speech.
    fn default() -> Self {
        Self { text_chars: 100_000, queue: 64 }
    }
}

pub struct Service {
    frontend: Frontend,
    device: DeviceHandle,
    pool: Pool,
    limits: Limits,
    admission: Arc<Admission>,
}

/// An utterance that was opened.
pub struct Opened {
    pub control: Control,
    pub events: Events,
    /// Of the packets' decoder, in samples at 48 kHz; 0 where there is none.
    pub pre_skip: u32,
}

impl Service {
    pub fn new(frontend: Frontend, device: DeviceHandle, pool: Pool, limits: Limits) -> Arc<Self> {
        Arc::new(Self { frontend, device, pool, limits, admission: Arc::default() })
    }

    pub fn frontend(&self) -> &Frontend {
        &self.frontend
    }

    pub fn device(&self) -> &DeviceHandle {
        &self.device
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Utterances with a place: speaking, or waiting for a slot.
    pub fn under_way(&self) -> usize {
        self.admission.count()
    }

    /// Opens an utterance; it takes no place on the device before there is text to speak. `held` ones wait for
    /// [`Control::release`] even then.
    pub fn open(self: &Arc<Self>, request: Request, gate: Option<Arc<Gate>>, held: bool) -> Result<Opened, Failure> {
        let (control, events, pre_skip) = Utterance::open(self.clone(), request, gate, held)?;
        Ok(Opened { control, events, pre_skip })
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A place for an utterance that has text to speak. One that somebody listens to already is never refused.
    pub(super) fn admit(&self, continues: bool) -> Result<Permit, Failure> {
        let shared = self.device.shared();
        match shared.state() {
            DeviceState::Failed => return Err(Failure::NoDevice),
            // New ones are refused where they are opened.
            DeviceState::Loading | DeviceState::Warming | DeviceState::Serving | DeviceState::Draining => {}
        }
        // The number of slots is known once the engine is made; until then nothing is admitted but what waits.
        self.admission.set_limit(shared.slots() + self.limits.queue);
        if continues {
            return Ok(self.admission.enter());
        }
        self.admission.try_enter().ok_or(Failure::Overloaded { limit: self.admission.limit() })
    }
}
