//! Counters and gauges, in the Prometheus text format at `GET /metrics`.

use std::fmt::Write;
use std::sync::Mutex;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

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
        let mut gauge = |name: &str, help: &str| {
            let gauge: Gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let sessions = gauge("sessions", "WebSockets open");
        let rows = gauge("rows_active", "Rows that have a slot of the device");
        let rows_paused = gauge("rows_paused", "Rows that make no steps because their listeners are far behind");
        let rows_waiting = gauge("rows_waiting", "Rows without a slot");
        let slots = gauge("slots", "Slots of the device");
        let utterances = gauge("utterances_active", "Utterances that speak or wait for a slot");
        let steps = gauge("device_steps", "Decode steps since the start, each of all its rows");
        let mut counter = |name: &str, help: &str| {
            let counter: Counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let started = counter("utterances_started", "Utterances started");
        let done = counter("utterances_done", "Utterances spoken to their end");
        let cancelled = counter("utterances_cancelled", "Utterances cancelled, or whose client went away");
        let failed = counter("utterances_failed", "Utterances that ended with an error");
        let slow_readers = counter("slow_readers", "Sockets closed because they did not read");
        let underruns = counter("underruns", "Times a listener in real time ran dry, as far as the server knows");
        let audio_ms = counter("audio_milliseconds", "Sound of the utterances that were spoken to their end");
        let mut seconds = |name: &str, help: &str| {
            // 1 ms to 16 s.
            let histogram = Histogram::new(exponential_buckets(0.001, 2.0, 15));
            registry.register(name, help, histogram.clone());
            histogram
        };
        let ttfa = seconds("ttfa_seconds", "Text there -> first packet handed over");
        let queue = seconds("queue_seconds", "Text there -> the row had a slot");
        Self {
            registry: Mutex::new(registry),
            sessions,
            started,
            done,
            cancelled,
            failed,
            slow_readers,
            underruns,
            audio_ms,
            ttfa,
            queue,
            rows,
            rows_paused,
            rows_waiting,
            slots,
            utterances,
            steps,
        }
    }
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
