//! The threads that make text into prompts and PCM into packets.
//!
//! An utterance's work is done in *turns* here, not on the device's thread and not on an actor's. The turn whose
//! sound is needed first goes first: with hundreds of streams on two cores, order decides who hears a gap.

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use tracing::error;

/// Of the threads, as `nice` counts. It took a millisecond off the slowest first packets (docs/PERFORMANCE.md); schedulers
/// that group processes (systemd, containers, autogroup) compare it inside this program only.
#[cfg(target_os = "linux")]
const NICE: i32 = 8;

/// Something that has turns. At most one turn of it waits at any time: whoever schedules sees to that.
pub trait Turns: Send + Sync {
    fn turn(self: Arc<Self>);
}

struct Entry {
    deadline: Instant,
    serial: u64,
    work: Arc<dyn Turns>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The heap gives the greatest: the earliest deadline, then the first come.
    fn cmp(&self, other: &Self) -> Order {
        (other.deadline, other.serial).cmp(&(self.deadline, self.serial))
    }
}

#[derive(Default)]
struct Queue {
    heap: BinaryHeap<Entry>,
    serial: u64,
    stop: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
}

/// A fixed set of threads. The queue holds at most one entry for each live utterance, so admission bounds it.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// # Errors
    /// When the system refuses a thread.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), ready: Condvar::new() });
        let spawn = |i: usize| {
            let shared = shared.clone();
            std::thread::Builder::new().name(format!("voxwire-voice-{i}")).spawn(move || {
                step_back();
                shared.work();
            })
        };
        let threads = (0..threads.max(1)).map(spawn).collect::<Result<_, _>>()?;
        Ok(Self { shared, threads })
    }

    pub fn schedule(&self, deadline: Instant, work: Arc<dyn Turns>) {
        let mut queue = self.shared.queue();
        queue.serial += 1;
        let serial = queue.serial;
        queue.heap.push(Entry { deadline, serial, work });
        drop(queue);
        self.shared.ready.notify_one();
    }
}

/// Encoding has the listener's buffer to spare, the device's next step and a socket's packet have not: where threads are
/// more than processors, these wake up first.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(e) = rustix::process::setpriority_process(None, NICE) {
        // Linux sets the calling thread's alone.
        tracing::debug!(error = %e, "the encoding threads keep their priority");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue().stop = true;
        self.shared.ready.notify_all();
        for thread in self.threads.drain(..) {
            // The last owner of a pool may be one of its own threads.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Shared {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        // No code that can panic runs while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let mut queue = self.queue();
            let work = loop {
                if queue.stop {
                    return;
                }
                if let Some(entry) = queue.heap.pop() {
                    break entry.work;
                }
                queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            // Whatever happens in a turn must not take a thread from the others.
            if catch_unwind(AssertUnwindSafe(|| work.turn())).is_err() {
                error!("internal: an utterance's turn panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    struct Work(u32, Sender<u32>, Duration);

    impl Turns for Work {
        fn turn(self: Arc<Self>) {
            std::thread::sleep(self.2);
            self.1.send(self.0).unwrap();
            assert!(self.0 != 99, "a turn that panics");
        }
    }

    #[test]
    fn the_earliest_deadline_goes_first_and_a_panic_takes_nobody_along() {
        let pool = Pool::new(1).unwrap();
        let (tx, rx) = channel();
        let now = Instant::now();
        let put = |n: u32, ms: u64, takes: u64| {
            let work = Work(n, tx.clone(), Duration::from_millis(takes));
            pool.schedule(now + Duration::from_millis(ms), Arc::new(work));
        };
        put(99, 0, 50);
        // These wait behind the first, and are sorted while they do.
        std::thread::sleep(Duration::from_millis(10));
        for (n, ms) in [(3, 300), (1, 100), (4, 400), (2, 200), (5, 400)] {
            put(n, ms, 0);
        }
        assert_eq!((0..6).map(|_| rx.recv().unwrap()).collect::<Vec<_>>(), [99, 1, 2, 3, 4, 5]);
    }
}
