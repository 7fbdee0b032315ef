//! What a listener hears who plays the packets as they come: arithmetic only, no clock.
//!
//! The listener begins when the first packet is there, plus what it holds back on purpose (`jitter_ms`), and plays in
//! real time. A packet that comes after the listener has run dry leaves a gap; the listener then plays on from where it
//! stood, so everything after it is that much later and one late packet is one gap, not many.

/// A gap longer than this breaks an utterance, in milliseconds.
pub const GAP_LIMIT_MS: f64 = 100.0;

/// Silences shorter than this are not counted as gaps (they still count as silence): a loaded client reads a packet
/// that late by itself.
const AUDIBLE_MS: f64 = 5.0;

/// One utterance as heard. All times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Playout {
    jitter_ms: f64,
    /// What a decoder drops at the beginning.
    pre_skip_ms: f64,
    /// When the audio received so far will have been played; `None` before the first packet.
    dry_at: Option<f64>,
    /// The longest gap.
    pub worst_gap_ms: f64,
    /// Gaps over 5 ms.
    pub gaps: u64,
    /// Gaps over [`GAP_LIMIT_MS`].
    pub broken: u64,
    /// All gaps together.
    pub silence_ms: f64,
}

impl Playout {
    pub fn new(jitter_ms: f64, pre_skip_ms: f64) -> Self {
        Self { jitter_ms, pre_skip_ms, dry_at: None, worst_gap_ms: 0.0, gaps: 0, broken: 0, silence_ms: 0.0 }
    }

    /// A packet that holds `length_ms` of audio came at `arrival_ms`, on any clock that all packets share.
    pub fn packet(&mut self, arrival_ms: f64, length_ms: f64) {
        let Some(dry_at) = self.dry_at else {
            self.dry_at = Some(arrival_ms + self.jitter_ms + length_ms - self.pre_skip_ms.min(length_ms));
            return;
        };
        let gap = arrival_ms - dry_at;
        if gap > 0.0 {
            self.worst_gap_ms = self.worst_gap_ms.max(gap);
            self.silence_ms += gap;
            self.gaps += u64::from(gap > AUDIBLE_MS);
            self.broken += u64::from(gap > GAP_LIMIT_MS);
        }
        self.dry_at = Some(dry_at.max(arrival_ms) + length_ms);
    }

    /// No gap was over the limit.
    pub fn continuous(&self) -> bool {
        self.broken == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 ms packets at these times.
    fn heard(jitter_ms: f64, arrivals: impl IntoIterator<Item = f64>) -> Playout {
        let mut playout = Playout::new(jitter_ms, 0.0);
        arrivals.into_iter().for_each(|at| playout.packet(at, 20.0));
        playout
    }

    #[test]
    fn packets_on_time_or_early_leave_no_gap() {
        let on_time = heard(0.0, (0..50).map(|i| 35.0 + 20.0 * f64::from(i)));
        assert_eq!((on_time.worst_gap_ms, on_time.gaps, on_time.silence_ms), (0.0, 0, 0.0));
        // 200 ms at once, then real time, then nothing for 200 ms: the lead covers it exactly.
        let lead = (0..10).map(|_| 5.0).chain([205.0, 225.0]);
        assert_eq!(heard(0.0, lead).silence_ms, 0.0);
    }

    #[test]
    fn a_late_packet_is_one_gap_and_what_follows_is_heard_later() {
        // The third is 150 ms late; the rest keep the old pace and arrive before the listener, now later, needs them.
        let late = heard(0.0, [0.0, 20.0, 190.0, 190.0, 190.0, 190.0]);
        assert_eq!((late.worst_gap_ms, late.gaps, late.broken, late.silence_ms), (150.0, 1, 1, 150.0));
        assert!(!late.continuous());
        // 80 ms are in hand after the burst (190 + 4 * 20 = 270), so a packet at 300 is 30 late, not 180.
        let mut again = late.clone();
        again.packet(300.0, 20.0);
        assert_eq!((again.worst_gap_ms, again.silence_ms, again.gaps, again.broken), (150.0, 180.0, 2, 1));
    }

    #[test]
    fn exactly_the_limit_is_still_continuous() {
        assert!(heard(0.0, [0.0, 120.0]).continuous());
        assert!(!heard(0.0, [0.0, 120.5]).continuous());
        // Many small gaps are silence, but none breaks the utterance.
        let limping = heard(0.0, (0..10).map(|i| 110.0 * f64::from(i)));
        assert!(limping.continuous() && limping.gaps == 9);
        assert_eq!((limping.worst_gap_ms, limping.silence_ms), (90.0, 810.0));
    }

    #[test]
    fn what_the_listener_holds_back_covers_gaps_up_to_it() {
        assert_eq!(heard(80.0, [0.0, 100.0]).silence_ms, 0.0);
        assert_eq!(heard(80.0, [0.0, 130.0]).worst_gap_ms, 30.0);
    }

    #[test]
    fn what_the_decoder_drops_is_not_there_to_play() {
        let mut playout = Playout::new(0.0, 6.5);
        playout.packet(0.0, 20.0);
        playout.packet(20.0, 20.0);
        assert_eq!((playout.worst_gap_ms, playout.gaps), (6.5, 1));
    }
}
