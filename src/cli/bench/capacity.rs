//! How many streams a server carries: doubles until a step fails, then halves the distance.

use serde::Serialize;

use super::report::Report;

/// Where the search stands. It takes for granted that more streams are never easier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    first: usize,
    max: usize,
    /// Most streams that passed; 0 before any did.
    passed: usize,
    /// Fewest that failed.
    failed: Option<usize>,
}

impl Search {
    /// Begins with `first` streams and tries at most `max`.
    pub fn new(first: usize, max: usize) -> Self {
        Self { first: first.clamp(1, max.max(1)), max: max.max(1), passed: 0, failed: None }
    }

    /// How many to try next; `None` when the answer is known, to 2 % or one stream.
    pub fn next(&self) -> Option<usize> {
        match self.failed {
            None if self.passed == 0 => Some(self.first),
            None if self.passed >= self.max => None,
            None => Some((self.passed * 2).min(self.max)),
            Some(failed) if failed - self.passed <= (self.passed / 50).max(1) => None,
            Some(failed) => Some(self.passed + (failed - self.passed) / 2),
        }
    }

    /// A step of that many streams passed or failed.
    pub fn tell(&mut self, streams: usize, passed: bool) {
        if passed {
            self.passed = self.passed.max(streams);
        } else {
            self.failed = Some(self.failed.map_or(streams, |f| f.min(streams)));
        }
    }

    /// Most streams that passed.
    pub fn found(&self) -> Option<usize> {
        (self.passed > 0).then_some(self.passed)
    }
}

/// One number of streams, tried.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub streams: usize,
    pub passed: bool,
    pub report: Report,
}

/// What `--find-capacity --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Capacity {
    /// Most streams that passed; `None` when not even the least did.
    pub streams: Option<usize>,
    pub at_least_percent: f64,
    /// No step failed: the server may carry more.
    pub reached_max: bool,
    /// The client was saturated in a step that failed: the limit may be the client's.
    pub client_bound: bool,
    pub steps: Vec<Step>,
}

impl Capacity {
    pub fn new(search: &Search, at_least_percent: f64, steps: Vec<Step>) -> Self {
        let client_bound = steps.iter().any(|s| !s.passed && s.report.client_usage.saturated);
        Self { streams: search.found(), at_least_percent, reached_max: search.failed.is_none(), client_bound, steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All steps against a server that carries `limit` streams.
    fn search(first: usize, max: usize, limit: usize) -> (Option<usize>, Vec<usize>) {
        let (mut search, mut tried) = (Search::new(first, max), Vec::new());
        while let Some(n) = search.next() {
            tried.push(n);
            assert!(tried.len() < 40 && n >= 1 && n <= max);
            search.tell(n, n <= limit);
        }
        (search.found(), tried)
    }

    #[test]
    fn it_doubles_then_halves() {
        assert_eq!(search(1, 64, 5), (Some(5), vec![1, 2, 4, 8, 6, 5]));
        assert_eq!(search(8, 64, 5), (Some(5), vec![8, 4, 6, 5]));
        assert_eq!(search(1, 64, 0), (None, vec![1]));
        assert_eq!(search(1, 6, 100), (Some(6), vec![1, 2, 4, 6]));
        assert_eq!(search(100, 64, 100), (Some(64), vec![64]));
    }

    #[test]
    fn it_is_right_to_two_percent_for_every_limit() {
        for limit in 1..600 {
            let (found, tried) = search(1, 4096, limit);
            let found = found.unwrap();
            assert!(found <= limit && limit - found <= limit / 50, "{limit}: {found}");
            assert!(tried.len() <= 20, "{limit}: {tried:?}");
        }
    }
}
