//! Counters and gauges, in the Prometheus text format at `GET /metrics`.

use std::fmt::Write;
use std::sync::Mutex;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use crate::session::report::Summary;
use crate::session::service::Service;

/// All of them. Cheap to update from any thread.
pub struct Metrics {
    registry: Mutex<Registry>,
    /// WebSockets open.
    pub sessions: Gauge,
    pub started: Counter,
    pub done: Counter,
    pub cancelled: Counter,
    pub failed: Counter,
    pub slow_readers: Counter,
    underruns: Counter,
    audio_ms: Counter,
    ttfa: Histogram,
    queue: Histogram,
    rows: Gauge,
    rows_paused: Gauge,
    rows_waiting: Gauge,
    slots: Gauge,
    utterances: Gauge,
    steps: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("voxwire");
        let r = &mut registry;
        Self {
            sessions: add(r, "sessions", "WebSockets open", Gauge::default()),
            rows: add(r, "rows_active", "Rows that have a slot of the device", Gauge::default()),
            rows_paused: add(
                r,
                "rows_paused",
                "Rows that make no steps because their listeners are far behind",
                Gauge::default(),
            ),
            rows_waiting: add(r, "rows_waiting", "Rows without a slot", Gauge::default()),
            slots: add(r, "slots", "Slots of the device", Gauge::default()),
            utterances: add(
                r,
                "utterances_active",
                "Utterances with work on the device, or waiting for a slot",
                Gauge::default(),
            ),
            steps: add(r, "device_steps", "Decode steps since the start, each of all its rows", Gauge::default()),
            started: add(r, "utterances_started", "Utterances started", Counter::default()),
            done: add(r, "utterances_done", "Utterances spoken to their end", Counter::default()),
            cancelled: add(
                r,
                "utterances_cancelled",
                "Utterances cancelled, or whose client went away",
                Counter::default(),
            ),
            failed: add(r, "utterances_failed", "Utterances that ended with an error", Counter::default()),
            slow_readers: add(r, "slow_readers", "Sockets closed because they did not read", Counter::default()),
            underruns: add(
                r,
                "underruns",
                "Times a listener in real time ran dry, as far as the server knows",
                Counter::default(),
            ),
            audio_ms: add(
                r,
                "audio_milliseconds",
                "Sound of the utterances that were spoken to their end",
                Counter::default(),
            ),
            ttfa: add(r, "ttfa_seconds", "Text there -> first packet handed over", seconds()),
            queue: add(r, "queue_seconds", "Text there -> the row had a slot", seconds()),
            registry: Mutex::new(registry),
        }
    }
}

fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// 1 ms to 16 s.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

impl Metrics {
    /// Counts an utterance that said everything.
    pub fn count_done(&self, summary: &Summary) {
        self.done.inc();
        self.audio_ms.inc_by(summary.audio_ms.round() as u64);
        self.underruns.inc_by(summary.underruns.into());
        if let Some(ms) = summary.ttfa_ms() {
            self.ttfa.observe(ms / 1e3);
        }
        if let Some(ms) = summary.queue_ms() {
            self.queue.observe(ms / 1e3);
        }
    }

    /// The whole page.
    pub fn render(&self, service: &Service) -> String {
        let shared = service.device().shared();
        let load = shared.load();
        self.rows.set(load.rows as i64);
        self.rows_paused.set(load.paused as i64);
        self.rows_waiting.set(load.waiting as i64);
        self.slots.set(shared.slots() as i64);
        self.steps.set(load.steps as i64);
        self.utterances.set(service.under_way() as i64);
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if encode(&mut out, &registry).is_err() {
            let _ = writeln!(out, "# EOF");
        }
        out
    }
}
