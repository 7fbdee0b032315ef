//! A run in figures: what `--json` prints, and what the table is made of.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::args::{Load, Quota, Shape};
use super::drive::Outcome;
use super::playout::GAP_LIMIT_MS;
use super::record::Counts;
use super::stats::{Summary, rounded};
use super::track::Faults;

/// Times are in milliseconds where the name ends in `_ms`, in seconds where it ends in `_s`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub url: String,
    pub client: String,
    pub server: String,
    pub model: String,
    pub load: Described,
    /// Length of the measured time.
    pub measured_s: f64,
    /// The user ended the run early.
    pub interrupted: bool,
    pub utterances: Utterances,
    pub continuity: Continuity,
    /// From when the utterance was due: in an open loop that includes waiting for a socket.
    pub ttfa_ms: Summary,
    /// From when its first text was sent.
    pub ttfa_sent_ms: Summary,
    /// From the last word sent before the first audio; the same as `ttfa_sent_ms` when the text is sent whole.
    pub ttfa_last_word_ms: Summary,
    pub packet_gap_ms: Summary,
    /// (last packet - text sent) / audio.
    pub rtf: Summary,
    pub server_figures: ServerFigures,
    /// Client's time to first audio - the server's (texts sent whole).
    pub transport_ms: Summary,
    pub cancel: Cancel,
    pub audio: Audio,
    pub sockets: Sockets,
    /// Failed utterances by error code.
    pub errors: Counts,
    /// Error messages that ended no utterance.
    pub notices: Counts,
    /// One message for each code.
    pub messages: std::collections::BTreeMap<String, String>,
    pub faults: Faults,
    pub client_usage: ClientUsage,
    pub server_usage: Option<ServerUsage>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Described {
    #[serde(rename = "loop")]
    pub kind: &'static str,
    pub sockets: usize,
    /// Utterances a second.
    pub rate: Option<f64>,
    pub think_ms: Option<f64>,
    pub format: &'static str,
    pub frame_ms: u32,
    pub sample_rate: Option<u32>,
    pub pace: &'static str,
    pub lead_ms: Option<u32>,
    pub voice: Option<String>,
    pub words_per_s: Option<f64>,
    pub cancel_share: f64,
    pub texts: usize,
    pub warmup_s: f64,
    pub asked_utterances: Option<u64>,
    pub asked_s: Option<f64>,
    pub seed: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Utterances {
    pub done: u64,
    pub nothing_to_say: u64,
    pub cancelled: u64,
    pub failed: u64,
    /// Due when every socket was speaking.
    pub late: u64,
    /// Begun or due, and not over when the run was given up.
    pub unfinished: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Continuity {
    pub continuous: u64,
    /// All measured utterances but the cancelled and those with nothing to say.
    pub of: u64,
    /// `continuous / of`; `None` when there were none.
    pub share: Option<f64>,
    pub gap_limit_ms: f64,
    /// What the listener holds back.
    pub jitter_ms: f64,
    pub worst_gap_ms: f64,
    /// Gaps over 5 ms, and over the limit.
    pub gaps: u64,
    pub gaps_over_limit: u64,
    /// Silence an utterance had in it.
    pub silence_ms: Summary,
}

#[derive(Clone, Debug, Serialize)]
pub struct ServerFigures {
    pub ttfa_ms: Summary,
    pub queue_ms: Summary,
    pub engine_ms: Summary,
    /// `ttfa_ms - engine_ms`.
    pub overhead_ms: Summary,
    /// Time on the device / audio.
    pub rtf: Summary,
}

#[derive(Clone, Debug, Serialize)]
pub struct Cancel {
    pub sent: u64,
    pub unanswered: u64,
    /// The utterance was over before the cancel came.
    pub too_late: u64,
    pub answer_ms: Summary,
    /// Has to be 0.
    pub audio_bytes_after_answer: u64,
}

/// Audio received in the measured time.
#[derive(Clone, Debug, Serialize)]
pub struct Audio {
    pub seconds: f64,
    pub packets: u64,
    /// With headers.
    pub bytes: u64,
    pub payload_kbit_per_s: Option<f64>,
    /// Seconds of audio a second: at real-time pace, the streams that spoke at once.
    pub streams: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Sockets {
    pub used: usize,
    pub idle_opened: usize,
    pub idle_held: usize,
    pub connect_ms: Summary,
    pub connect_failures: Counts,
    /// Closed by the server, by close code; 1006: without one.
    pub closes: Counts,
}

#[derive(Clone, Debug, Serialize)]
pub struct ClientUsage {
    pub cpu_s: Option<f64>,
    /// Of one core.
    pub cpu_share: Option<f64>,
    pub cpu_ms_per_stream_s: Option<f64>,
    /// How late timers fired; about 1 when all is well.
    pub lag_ms: Summary,
    /// The client itself was too busy for its figures to be the server's.
    pub saturated: bool,
}

/// Of the process named by `--pid`, in the measured time.
#[derive(Clone, Debug, Serialize)]
pub struct ServerUsage {
    pub cpu_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    pub cores: f64,
    /// CPU time for a second of audio delivered.
    pub cpu_ms_per_stream_s: Option<f64>,
    /// The same for each kind of thread, those under a hundredth of it left out.
    pub cpu_ms_per_stream_s_by_thread: BTreeMap<String, f64>,
    pub rss_before_bytes: u64,
    pub rss_peak_bytes: u64,
    pub bytes_per_idle_socket: Option<f64>,
    /// Growth since the idle sockets were open / sockets that spoke.
    pub bytes_per_speaking_socket: Option<f64>,
}

/// A client busier than this share of its core, or with timers this late at p99, measures itself.
const BUSY: f64 = 0.9;
const LATE_MS: f64 = 20.0;

impl Report {
    pub fn new(load: &Load, outcome: &Outcome) -> Self {
        let r = &outcome.record;
        let measured_s = (outcome.to.at - outcome.from.at).as_secs_f64();
        let failed: u64 = r.failed.values().sum();
        let of = r.judged + outcome.unfinished;
        Self {
            url: load.target.shown.clone(),
            client: concat!("voxwire ", env!("CARGO_PKG_VERSION")).into(),
            server: outcome.name.server.clone(),
            model: outcome.name.model.clone(),
            load: Described::new(load),
            measured_s: rounded(measured_s),
            interrupted: outcome.interrupted,
            utterances: Utterances {
                done: r.done,
                nothing_to_say: r.nothing_to_say,
                cancelled: r.cancelled,
                failed,
                late: r.late,
                unfinished: outcome.unfinished,
            },
            continuity: Continuity {
                continuous: r.continuous,
                of,
                share: (of > 0).then(|| r.continuous as f64 / of as f64),
                gap_limit_ms: GAP_LIMIT_MS,
                jitter_ms: load.jitter_ms,
                worst_gap_ms: rounded(r.worst_gap_ms),
                gaps: r.gaps,
                gaps_over_limit: r.gaps_over_limit,
                silence_ms: r.silence.summary(),
            },
            ttfa_ms: r.ttfa.summary(),
            ttfa_sent_ms: r.ttfa_sent.summary(),
            ttfa_last_word_ms: r.ttfa_last_text.summary(),
            packet_gap_ms: r.packet_gap.summary(),
            rtf: r.rtf.summary(),
            server_figures: ServerFigures {
                ttfa_ms: r.server_ttfa.summary(),
                queue_ms: r.server_queue.summary(),
                engine_ms: r.server_engine.summary(),
                overhead_ms: r.server_overhead.summary(),
                rtf: r.server_rtf.summary(),
            },
            transport_ms: r.transport.summary(),
            cancel: Cancel {
                sent: r.cancels_sent,
                unanswered: r.cancels_unanswered,
                too_late: r.cancels_too_late,
                answer_ms: r.cancel_answer.summary(),
                audio_bytes_after_answer: r.audio_bytes_after_cancel,
            },
            audio: Audio::new(outcome, measured_s),
            sockets: Sockets {
                used: outcome.sockets_used,
                idle_opened: outcome.idle_opened,
                idle_held: outcome.idle_held,
                connect_ms: r.connects.summary(),
                connect_failures: r.connect_failures.clone(),
                closes: r.closes.clone(),
            },
            errors: r.failed.clone(),
            notices: r.notices.clone(),
            messages: r.examples.clone(),
            faults: r.faults.clone(),
            client_usage: ClientUsage::new(outcome, measured_s),
            server_usage: ServerUsage::new(outcome, measured_s),
        }
    }

    /// Whether anything at all was spoken.
    pub fn anything_spoken(&self) -> bool {
        self.utterances.done + self.utterances.nothing_to_say + self.utterances.cancelled > 0
    }
}

impl Described {
    fn new(load: &Load) -> Self {
        let (kind, rate, think_ms) = match load.shape {
            Shape::Closed { think, .. } => ("closed", None, Some(think.as_secs_f64() * 1e3)),
            Shape::Open { rate } => ("open", Some(rate), None),
        };
        let (asked_utterances, asked_s) = match load.quota {
            Quota::Utterances(n) => (Some(n), None),
            Quota::Time(time) => (None, Some(time.as_secs_f64())),
        };
        Self {
            kind,
            sockets: load.sockets,
            rate,
            think_ms,
            format: load.start.codec.name(),
            frame_ms: load.start.frame_ms,
            sample_rate: load.start.sample_rate,
            pace: load.start.pace.name(),
            lead_ms: load.start.lead_ms,
            voice: load.start.voice.clone(),
            words_per_s: load.word_rate,
            cancel_share: load.cancel_share,
            texts: load.texts.len(),
            warmup_s: load.warmup.as_secs_f64(),
            asked_utterances,
            asked_s,
            seed: load.seed,
        }
    }
}

/// Seconds of audio that came in the measured time.
fn stream_seconds(outcome: &Outcome) -> f64 {
    (outcome.to.flow.audio_ms - outcome.from.flow.audio_ms) / 1e3
}

impl Audio {
    fn new(outcome: &Outcome, measured_s: f64) -> Self {
        let (from, to) = (&outcome.from.flow, &outcome.to.flow);
        let seconds = stream_seconds(outcome);
        let payload_bits = (to.payload_bytes - from.payload_bytes) as f64 * 8.0;
        Self {
            seconds: rounded(seconds),
            packets: to.packets - from.packets,
            bytes: to.bytes - from.bytes,
            payload_kbit_per_s: (seconds > 0.0).then(|| rounded(payload_bits / 1e3 / seconds)),
            streams: rounded(seconds / measured_s.max(1e-9)),
        }
    }
}

impl ClientUsage {
    fn new(outcome: &Outcome, measured_s: f64) -> Self {
        let cpu = outcome.from.own_cpu.zip(outcome.to.own_cpu);
        let cpu_s = cpu.map(|(from, to)| to.saturating_sub(from).as_secs_f64());
        let cpu_share = cpu_s.map(|s| s / measured_s.max(1e-9));
        let streams = stream_seconds(outcome);
        let lag = outcome.record.lag.summary();
        Self {
            cpu_s: cpu_s.map(rounded),
            cpu_share: cpu_share.map(rounded),
            cpu_ms_per_stream_s: cpu_s.filter(|_| streams > 0.0).map(|s| rounded(s * 1e3 / streams)),
            lag_ms: lag,
            saturated: cpu_share.is_some_and(|s| s > BUSY) || lag.p99.is_some_and(|l| l > LATE_MS),
        }
    }
}

impl ServerUsage {
    fn new(outcome: &Outcome, measured_s: f64) -> Option<Self> {
        let (from, to) = outcome.from.server.as_ref().zip(outcome.to.server.as_ref())?;
        let memory = outcome.memory?;
        let user_s = to.user.saturating_sub(from.user).as_secs_f64();
        let system_s = to.system.saturating_sub(from.system).as_secs_f64();
        let cpu_s = user_s + system_s;
        let streams = stream_seconds(outcome);
        let spent = |(name, at_end): (&String, &Duration)| {
            let spent = at_end.saturating_sub(from.threads.get(name).copied().unwrap_or_default()).as_secs_f64();
            (streams > 0.0 && spent * 100.0 > cpu_s).then(|| (name.clone(), rounded(spent * 1e3 / streams)))
        };
        let per = |grown: u64, n: usize| (n > 0).then(|| rounded(grown as f64 / n as f64));
        Some(Self {
            cpu_s: rounded(cpu_s),
            user_s: rounded(user_s),
            system_s: rounded(system_s),
            cores: rounded(cpu_s / measured_s.max(1e-9)),
            cpu_ms_per_stream_s: (streams > 0.0).then(|| rounded(cpu_s * 1e3 / streams)),
            cpu_ms_per_stream_s_by_thread: to.threads.iter().filter_map(spent).collect(),
            rss_before_bytes: memory.before,
            rss_peak_bytes: memory.peak,
            bytes_per_idle_socket: per(memory.with_idle.saturating_sub(memory.before), outcome.idle_opened),
            bytes_per_speaking_socket: per(memory.peak.saturating_sub(memory.with_idle), outcome.sockets_used),
        })
    }
}
