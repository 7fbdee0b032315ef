//! A team of threads for many small parallel products.
//!
//! A decode step is about 140 products of 50 microseconds each: a thread pool's wake-ups would cost more than the
//! work. Here the members spin for the next job for a short while before they park, so that back-to-back jobs are
//! handed over in a fraction of a microsecond and an idle team uses no processor.

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, Thread};

/// Spins before parking: about 100 microseconds, longer than any gap inside a step.
const SPINS: u32 = 4_000;

/// Processors this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

type Job = *const (dyn Fn(usize) + Sync);

/// A fixed set of threads that run one closure together. `Send` but not `Sync`: one owner hands out one job at a time.
pub struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// A job is out. Also what makes the team not `Sync`.
    running: Cell<bool>,
}

struct Shared {
    /// Counts jobs; a change tells the workers that `job` holds a new one.
    epoch: AtomicU32,
    /// Workers that have not finished the current job.
    busy: AtomicU32,
    stop: AtomicBool,
    panicked: AtomicBool,
    job: UnsafeCell<Option<Job>>,
    asleep: Vec<AtomicBool>,
    owner_asleep: AtomicBool,
    owner: UnsafeCell<Option<Thread>>,
}

// SAFETY: `job` and `owner` are written only by the owner while `busy` is 0 and read by workers only between the
// epoch's release store and their own decrement of `busy`, so no access is concurrent with a write.
unsafe impl Sync for Shared {}
// SAFETY: as above; the raw pointer in `job` is never dereferenced outside `Team::run`'s lifetime.
unsafe impl Send for Shared {}

impl Team {
    /// A team of `threads` members, the caller of [`Team::run`] among them.
    ///
    /// # Panics
    /// When the system refuses a thread; see [`Team::try_new`].
    pub fn new(threads: usize) -> Self {
        Self::try_new(threads).expect("the operating system refused a thread at start-up")
    }

    /// # Errors
    /// When the system refuses a thread.
    pub fn try_new(threads: usize) -> std::io::Result<Self> {
        let extra = threads.max(1) - 1;
        let shared = Arc::new(Shared {
            epoch: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            job: UnsafeCell::new(None),
            asleep: (0..extra).map(|_| AtomicBool::new(false)).collect(),
            owner_asleep: AtomicBool::new(false),
            owner: UnsafeCell::new(None),
        });
        let spawn = |worker: usize| {
            let shared = shared.clone();
            let name = format!("voxwire-cpu-{}", worker + 1);
            std::thread::Builder::new().name(name).spawn(move || shared.work(worker))
        };
        let mut team = Self { shared: shared.clone(), workers: Vec::new(), running: Cell::new(false) };
        for worker in 0..extra {
            // On an error the drop of `team` ends the threads there are.
            team.workers.push(spawn(worker)?);
        }
        Ok(team)
    }

    /// One member for each processor this process may use.
    pub fn for_machine() -> Self {
        Self::new(processors())
    }

    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `f(member)` once on every member and returns when all have finished.
    ///
    /// # Panics
    /// If `f` panicked on any member, after all have stopped using it; or if `f` itself starts a job of this team.
    pub fn run(&self, f: impl Fn(usize) + Sync) {
        if self.workers.is_empty() {
            return f(0);
        }
        assert!(!self.running.replace(true), "a job must not start another on its own team");
        self.shared.panicked.store(false, Ordering::Relaxed);
        let job: *const (dyn Fn(usize) + Sync + '_) = &f;
        // SAFETY: only the lifetime changes; `Finish` keeps this frame alive until no worker holds the pointer.
        let job: Job = unsafe { std::mem::transmute(job) };
        // SAFETY: `busy` is 0 here (the previous run waited for that), so no worker reads these cells.
        unsafe {
            *self.shared.job.get() = Some(job);
            *self.shared.owner.get() = Some(std::thread::current());
        }
        self.shared.busy.store(self.workers.len() as u32, Ordering::Relaxed);
        // SeqCst pairs with the worker's store to `asleep` and re-read of `epoch`: one of the two sides sees the other.
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        for (asleep, worker) in self.shared.asleep.iter().zip(&self.workers) {
            if asleep.swap(false, Ordering::SeqCst) {
                worker.thread().unpark();
            }
        }
        let finish = Finish { shared: &self.shared, running: &self.running };
        f(0);
        drop(finish);
        if self.shared.panicked.load(Ordering::Relaxed) {
            panic!("a job panicked on another member of the team");
        }
    }

    /// Member `member`'s share of `0..n` when it is cut into `parts` shares whose bounds are multiples of `align`.
    pub fn range(n: usize, parts: usize, member: usize, align: usize) -> Range<usize> {
        let blocks = n.div_ceil(align);
        let bound = |i: usize| (blocks * i / parts * align).min(n);
        bound(member)..bound(member + 1)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker catches its jobs' panics, so joining cannot fail; a destructor must not panic in any case.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn work(&self, worker: usize) {
        let mut seen = 0;
        loop {
            seen = self.next_epoch(worker, seen);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            // SAFETY: the acquire load of the new epoch orders this read after the owner's write of the job.
            let job = unsafe { (*self.job.get()).expect("an epoch is announced only after its job is stored") };
            // SAFETY: the owner keeps the closure alive until `busy` reaches 0, which happens below.
            let result = catch_unwind(AssertUnwindSafe(|| unsafe { (*job)(worker + 1) }));
            if result.is_err() {
                self.panicked.store(true, Ordering::Relaxed);
            }
            // SAFETY: still before this worker's decrement, so the owner does not write the cell. The handle is
            // cloned because after the decrement the owner may be gone.
            let owner = unsafe { (*self.owner.get()).clone() };
            if self.busy.fetch_sub(1, Ordering::SeqCst) == 1
                && self.owner_asleep.swap(false, Ordering::SeqCst)
                && let Some(owner) = owner
            {
                owner.unpark();
            }
        }
    }

    fn next_epoch(&self, worker: usize, seen: u32) -> u32 {
        loop {
            for _ in 0..SPINS {
                let epoch = self.epoch.load(Ordering::Acquire);
                if epoch != seen {
                    return epoch;
                }
                std::hint::spin_loop();
            }
            self.asleep[worker].store(true, Ordering::SeqCst);
            if self.epoch.load(Ordering::SeqCst) == seen {
                std::thread::park();
            }
            self.asleep[worker].store(false, Ordering::SeqCst);
        }
    }
}

/// Waits for the workers, also when the owner's own share panics.
struct Finish<'a> {
    shared: &'a Shared,
    running: &'a Cell<bool>,
}

impl Finish<'_> {
    fn wait(&self) {
        let shared = self.shared;
        loop {
            for _ in 0..SPINS {
                if shared.busy.load(Ordering::Acquire) == 0 {
                    return;
                }
                std::hint::spin_loop();
            }
            shared.owner_asleep.store(true, Ordering::SeqCst);
            if shared.busy.load(Ordering::SeqCst) != 0 {
                std::thread::park();
            }
            shared.owner_asleep.store(false, Ordering::SeqCst);
        }
    }
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.wait();
        self.running.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_member_runs_every_job_once() {
        let team = Team::new(3);
        let counts: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        for job in 0..2_000 {
            team.run(|member| {
                counts[member].fetch_add(1, Ordering::Relaxed);
            });
            if job % 500 == 0 {
                std::thread::sleep(Duration::from_millis(5)); // long enough for the workers to park
            }
        }
        assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 2_000));
    }

    #[test]
    fn a_panic_reaches_the_owner_and_the_team_goes_on() {
        let team = Team::new(2);
        let result = catch_unwind(AssertUnwindSafe(|| team.run(|member| assert_eq!(member, 0))));
        assert!(result.is_err());
        let sum = AtomicU32::new(0);
        team.run(|member| {
            sum.fetch_add(member as u32 + 1, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 3);
    }

    #[test]
    fn a_job_that_starts_another_is_refused() {
        thread_local! { static TEAM: Team = Team::new(2); }
        TEAM.with(|team| {
            let nested = |member| {
                if member == 0 {
                    TEAM.with(|inner| inner.run(|_| ()))
                }
            };
            assert!(catch_unwind(AssertUnwindSafe(|| team.run(nested))).is_err());
            team.run(|_| ());
        });
    }

    #[test]
    fn shares_cover_everything_once() {
        for (n, parts, align) in [(10, 3, 1), (2304, 2, 8), (7, 4, 4), (0, 2, 4), (626, 2, 4)] {
            let mut next = 0;
            for member in 0..parts {
                let r = Team::range(n, parts, member, align);
                assert_eq!(r.start, next);
                assert!(r.start.is_multiple_of(align) || r.start == n);
                next = r.end;
            }
            assert_eq!(next, n);
        }
    }
}
