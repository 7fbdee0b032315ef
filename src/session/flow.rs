//! How far making runs ahead of sending.
//!
//! Sound that was made and not yet taken by whoever sends it waits in memory. The flow counts it, in source samples;
//! a row that has [`Flow::limit`] waiting is paused, and goes on when some of it was taken.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::device::Demand;
use crate::device::thread::Nudge;

/// One utterance's flow.
pub struct Flow {
    limit: u64,
    /// Source samples made by all rows.
    made: AtomicU64,
    /// Source samples taken by the sender, over all pieces.
    taken: AtomicU64,
    cancelled: AtomicBool,
    /// A row was told to pause, so taking must wake the device.
    paused: AtomicBool,
    nudge: Nudge,
    /// Somebody wants the sound: from now on, a sender that takes nothing for [`Flow::stall`] while a row is paused has
    /// lost its listener.
    listening: AtomicBool,
    stall: Duration,
    stalled: AtomicBool,
    opened: Instant,
    /// Milliseconds after `opened` at which the current pause began; 0: none.
    pause_began: AtomicU64,
}

impl Flow {
    /// `limit`: source samples that may wait for the sender, for each row.
    pub fn new(limit: u64, stall: Duration, nudge: Nudge) -> Self {
        Self {
            limit,
            stall,
            made: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            nudge,
            listening: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            opened: Instant::now(),
            pause_began: AtomicU64::new(0),
        }
    }

    /// The sender has taken everything up to this source sample.
    pub fn take_up_to(&self, sample: u64) {
        // With `demand`, store here and look there: only one order of all four lets neither side miss the other.
        self.taken.fetch_max(sample, Ordering::SeqCst);
        self.pause_began.store(0, Ordering::Relaxed);
        if self.paused.swap(false, Ordering::SeqCst) {
            self.nudge.nudge();
        }
    }

    /// The sender's turn has come.
    pub fn listen(&self) {
        self.listening.store(true, Ordering::Relaxed);
    }

    /// Whether it was given up because nobody took its sound.
    pub fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Acquire)
    }

    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.nudge.nudge();
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// What a row should do.
    pub fn demand(&self, row: &RowFlow) -> Demand {
        if self.is_cancelled() {
            return Demand::Stop;
        }
        if self.waiting(row) < self.limit {
            return Demand::Run;
        }
        self.paused.store(true, Ordering::SeqCst);
        // Taken between the look and the store: nobody would wake the device.
        if self.waiting(row) < self.limit {
            return Demand::Run;
        }
        if row.is_front() && self.is_given_up() {
            self.stalled.store(true, Ordering::Release);
            self.cancel();
            return Demand::Stop;
        }
        Demand::Pause
    }

    /// Whether a pause has lasted longer than a living listener makes it.
    fn is_given_up(&self) -> bool {
        if !self.listening.load(Ordering::Relaxed) {
            return false;
        }
        let now = self.opened.elapsed().as_millis() as u64 + 1;
        let began =
            self.pause_began.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire).unwrap_or_else(|b| b);
        began > 0 && now - began.min(now) > self.stall.as_millis() as u64
    }

    fn waiting(&self, row: &RowFlow) -> u64 {
        let made = row.made.load(Ordering::Acquire);
        match row.base.load(Ordering::Acquire) {
            // Sound of rows before it waits as well.
            NOT_FRONT => self.made.load(Ordering::Acquire).saturating_sub(self.taken.load(Ordering::SeqCst)),
            base => (base + made).saturating_sub(self.taken.load(Ordering::SeqCst)),
        }
    }

    /// A row's next samples wait for the sender from now on.
    pub fn add_made(&self, row: &RowFlow, samples: usize) {
        self.made.fetch_add(samples as u64, Ordering::AcqRel);
        row.made.fetch_add(samples as u64, Ordering::AcqRel);
    }
}

const NOT_FRONT: u64 = u64::MAX;

/// One row's share of it.
pub struct RowFlow {
    made: AtomicU64,
    /// Where the row's sound begins in the utterance; [`NOT_FRONT`] while pieces before it are not complete.
    base: AtomicU64,
}

impl Default for RowFlow {
    fn default() -> Self {
        Self { made: AtomicU64::new(0), base: AtomicU64::new(NOT_FRONT) }
    }
}

impl RowFlow {
    fn is_front(&self) -> bool {
        self.base.load(Ordering::Acquire) != NOT_FRONT
    }

    /// The row's sound is the one being sent, from this source sample of the utterance on.
    pub fn become_front(&self, base: u64) {
        self.base.store(base, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_pauses_at_the_limit_and_goes_on_when_sound_is_taken() {
        let flow = Flow::new(1000, Duration::from_millis(20), Nudge::default());
        let (front, next) = (RowFlow::default(), RowFlow::default());
        front.become_front(0);
        flow.add_made(&front, 999);
        assert_eq!(flow.demand(&front), Demand::Run);
        flow.add_made(&front, 1);
        flow.add_made(&next, 1000);
        assert_eq!((flow.demand(&front), flow.demand(&next)), (Demand::Pause, Demand::Pause));
        flow.take_up_to(600);
        assert_eq!((flow.demand(&front), flow.demand(&next)), (Demand::Run, Demand::Pause));
        // The next piece's turn to be sent: none of it is taken yet.
        next.become_front(1000);
        assert_eq!(flow.demand(&next), Demand::Pause);
        flow.take_up_to(1001);
        assert_eq!(flow.demand(&next), Demand::Run);
        flow.cancel();
        assert_eq!(flow.demand(&next), Demand::Stop);
    }

    #[test]
    fn a_listener_who_takes_nothing_is_given_up_and_one_who_is_not_there_yet_is_not() {
        let flow = Flow::new(10, Duration::from_millis(20), Nudge::default());
        let row = RowFlow::default();
        row.become_front(0);
        flow.add_made(&row, 10);
        let wait = || std::thread::sleep(Duration::from_millis(40));
        assert_eq!(flow.demand(&row), Demand::Pause);
        wait();
        assert_eq!(flow.demand(&row), Demand::Pause);
        flow.listen();
        assert_eq!(flow.demand(&row), Demand::Pause);
        flow.take_up_to(1);
        flow.add_made(&row, 1);
        wait();
        assert_eq!(flow.demand(&row), Demand::Pause, "taking starts the time anew");
        wait();
        assert_eq!(flow.demand(&row), Demand::Stop);
        assert!(flow.is_stalled());
    }
}
