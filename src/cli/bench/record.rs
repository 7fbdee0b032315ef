//! What a run has seen so far.

use std::collections::BTreeMap;

use super::stats::Distribution;
use super::track::{Fault, Faults};
use super::utterance::{End, Utterance};

/// Audio that has come, of measured and other utterances alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    pub packets: u64,
    /// Binary messages whole, headers included.
    pub bytes: u64,
    pub payload_bytes: u64,
    pub audio_ms: f64,
}

/// Counts by name: error codes, close codes.
pub type Counts = BTreeMap<String, u64>;

pub fn count(counts: &mut Counts, name: impl Into<String>) {
    *counts.entry(name.into()).or_default() += 1;
}

/// Counts and distributions of one run. Distributions are in milliseconds unless they say otherwise.
#[derive(Debug)]
pub struct Record {
    pub done: u64,
    pub nothing_to_say: u64,
    pub cancelled: u64,
    /// Measured utterances that failed, by code.
    pub failed: Counts,
    /// Due when all sockets spoke.
    pub late: u64,

    /// Utterances that had to be continuous, and those that were.
    pub judged: u64,
    pub continuous: u64,
    pub worst_gap_ms: f64,
    pub gaps: u64,
    pub gaps_over_limit: u64,
    /// Silence heard in an utterance that was spoken to its end.
    pub silence: Distribution,

    pub ttfa: Distribution,
    pub ttfa_sent: Distribution,
    pub ttfa_last_text: Distribution,
    pub packet_gap: Distribution,
    /// Ratio.
    pub rtf: Distribution,

    pub server_ttfa: Distribution,
    pub server_queue: Distribution,
    pub server_engine: Distribution,
    pub server_overhead: Distribution,
    /// Ratio.
    pub server_rtf: Distribution,
    /// The client's time to first audio without the server's own.
    pub transport: Distribution,

    pub cancels_sent: u64,
    pub cancels_unanswered: u64,
    pub cancels_too_late: u64,
    pub cancel_answer: Distribution,

    // From here on the warm-up counts too.
    pub audio_bytes_after_cancel: u64,
    pub faults: Faults,
    /// Error messages that ended no utterance.
    pub notices: Counts,
    /// Sockets the other side closed, by close code; 1006: without one.
    pub closes: Counts,
    pub connects: Distribution,
    pub connect_failures: Counts,
    pub flow: Flow,
    /// How late a timer of this process fires.
    pub lag: Distribution,
    /// One example of each error code.
    pub examples: BTreeMap<String, String>,
}

impl Default for Record {
    fn default() -> Self {
        let ms = Distribution::of_ms;
        Self {
            done: 0,
            nothing_to_say: 0,
            cancelled: 0,
            failed: Counts::new(),
            late: 0,
            judged: 0,
            continuous: 0,
            worst_gap_ms: 0.0,
            gaps: 0,
            gaps_over_limit: 0,
            silence: ms(),
            ttfa: ms(),
            ttfa_sent: ms(),
            ttfa_last_text: ms(),
            packet_gap: ms(),
            rtf: Distribution::of_ratios(),
            server_ttfa: ms(),
            server_queue: ms(),
            server_engine: ms(),
            server_overhead: ms(),
            server_rtf: Distribution::of_ratios(),
            transport: ms(),
            cancels_sent: 0,
            cancels_unanswered: 0,
            cancels_too_late: 0,
            cancel_answer: ms(),
            audio_bytes_after_cancel: 0,
            faults: Faults::default(),
            notices: Counts::new(),
            closes: Counts::new(),
            connects: ms(),
            connect_failures: Counts::new(),
            flow: Flow::default(),
            lag: ms(),
            examples: BTreeMap::new(),
        }
    }
}

impl Record {
    pub fn fault(&mut self, fault: Fault) {
        self.faults.add(fault);
    }

    /// A measured utterance that never came to be: no socket could be had.
    pub fn not_begun(&mut self, code: &str) {
        self.judged += 1;
        count(&mut self.failed, code);
    }

    /// A measured utterance is over.
    pub fn utterance(&mut self, utterance: &Utterance) {
        self.cancel(utterance);
        match &utterance.end {
            // An early end cuts off what would have been slow: its times would flatter.
            Some(End::Cancelled) => self.cancelled += 1,
            Some(End::NothingToSay) => self.nothing_to_say += 1,
            Some(End::Done) => {
                self.done += 1;
                self.judged += 1;
                self.heard(utterance);
                self.times(utterance);
            }
            Some(End::Failed(code)) => self.not_begun(code),
            None => self.not_begun("unfinished"),
        }
    }

    fn cancel(&mut self, utterance: &Utterance) {
        let Some(sent) = utterance.cancel_sent else { return };
        self.cancels_sent += 1;
        match utterance.cancel_answered {
            Some(at) => self.cancel_answer.add((at - sent).as_secs_f64() * 1e3),
            None => self.cancels_unanswered += 1,
        }
        self.cancels_too_late += u64::from(matches!(utterance.end, Some(End::Done | End::NothingToSay)));
    }

    fn heard(&mut self, utterance: &Utterance) {
        let Some(playout) = &utterance.playout else { return };
        self.continuous += u64::from(playout.continuous() && !utterance.damaged);
        self.worst_gap_ms = self.worst_gap_ms.max(playout.worst_gap_ms);
        self.gaps += playout.gaps;
        self.gaps_over_limit += playout.broken;
        self.silence.add(playout.silence_ms);
    }

    fn times(&mut self, u: &Utterance) {
        let ms = |from, to: tokio::time::Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        let Some((first, last)) = u.first_audio.zip(u.last_audio) else { return };
        self.ttfa.add(ms(u.due, first));
        self.ttfa_sent.add(ms(u.sent, first));
        self.ttfa_last_text.add(ms(u.last_text_before_audio, first));
        let Some(done) = &u.done else { return };
        if let Some(audio_ms) = done.audio_ms.filter(|a| *a > 0.0) {
            self.rtf.add(ms(u.sent, last) / audio_ms);
        }
        let mut server = |all: fn(&mut Self) -> &mut Distribution, figure: Option<f64>| {
            figure.into_iter().for_each(|f| all(self).add(f));
        };
        server(|r| &mut r.server_ttfa, done.ttfa_ms);
        server(|r| &mut r.server_queue, done.queue_ms);
        server(|r| &mut r.server_engine, done.engine_ms);
        server(|r| &mut r.server_rtf, done.rtf);
        server(|r| &mut r.server_overhead, done.ttfa_ms.zip(done.engine_ms).map(|(t, e)| t - e));
        // Word by word, the server counts from a word that the client cannot know.
        let whole = (u.last_text_before_audio == u.sent).then_some(()).and(done.ttfa_ms);
        server(|r| &mut r.transport, whole.map(|t| ms(u.sent, first) - t));
    }
}
