//! How many utterances may be under way: those that speak, and those that wait for a slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts utterances with work; the one beyond the limit is refused at once, never queued.
#[derive(Debug, Default)]
pub struct Admission {
    count: AtomicUsize,
    limit: AtomicUsize,
}

impl Admission {
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Utterances under way.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// A place beyond the limit, for what is under way.
    pub fn enter(self: &Arc<Self>) -> Permit {
        self.count.fetch_add(1, Ordering::AcqRel);
        Permit(self.clone())
    }

    pub fn try_enter(self: &Arc<Self>) -> Option<Permit> {
        let limit = self.limit();
        let enter = |n| (n < limit).then_some(n + 1);
        self.count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, enter).ok()?;
        Some(Permit(self.clone()))
    }
}

/// Leaves when dropped.
#[derive(Debug)]
pub struct Permit(Arc<Admission>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_beyond_the_limit_is_refused_and_a_place_comes_back() {
        let admission = Arc::new(Admission::default());
        assert!(admission.try_enter().is_none(), "nothing is admitted before there is a limit");
        admission.set_limit(2);
        let (a, _b) = (admission.try_enter().unwrap(), admission.try_enter().unwrap());
        assert!(admission.try_enter().is_none());
        drop(a);
        assert!(admission.try_enter().is_some());
        assert_eq!(admission.count(), 1);
    }
}
