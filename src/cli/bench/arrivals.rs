//! When open-loop utterances are due: a Poisson process that a seed repeats.

use std::time::Duration;

use crate::model::rng::Philox;

/// Draws for one purpose each, so that a change in one does not move the others.
#[derive(Clone, Copy)]
enum Purpose {
    Arrival = 1,
    Cancel = 2,
    CancelAt = 3,
}

/// Every random choice of a load run.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    rng: Philox,
}

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self { rng: Philox::new(seed) }
    }

    fn uniform(self, purpose: Purpose, index: u64) -> f64 {
        f64::from(self.rng.uniform(index as u32, purpose as u32, (index >> 32) as u32))
    }

    /// Time from the arrival before to arrival `index` at `rate` arrivals a second: exponential, so that the count in
    /// any interval is Poisson.
    pub fn wait(self, index: u64, rate: f64) -> Duration {
        let seconds = -self.uniform(Purpose::Arrival, index).ln() / rate;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Where utterance `index` is to be cancelled, as a share of its expected length; `None` for those let be.
    pub fn cancel(self, index: u64, share: f64) -> Option<f64> {
        (self.uniform(Purpose::Cancel, index) < share).then(|| self.uniform(Purpose::CancelAt, index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_a_poisson_process() {
        let draws = Draws::new(1);
        // Counts in 2,000 intervals of a second at 5 a second: mean and variance are both 5.
        let (mut at, mut counts, mut index) = (0.0, vec![0u32; 2000], 0);
        loop {
            at += draws.wait(index, 5.0).as_secs_f64();
            index += 1;
            match counts.get_mut(at as usize) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        let mean = counts.iter().sum::<u32>() as f64 / 2000.0;
        let variance = counts.iter().map(|c| (f64::from(*c) - mean).powi(2)).sum::<f64>() / 2000.0;
        assert!((mean - 5.0).abs() < 0.2 && (variance - 5.0).abs() < 0.6, "mean {mean}, variance {variance}");
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let waits = |seed| (0..20).map(|i| Draws::new(seed).wait(i, 3.0)).collect::<Vec<_>>();
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
    }

    #[test]
    fn cancels_are_the_share_asked_for_and_spread_over_the_utterance() {
        let draws = Draws::new(3);
        let at: Vec<f64> = (0..10_000).filter_map(|i| draws.cancel(i, 0.25)).collect();
        assert!((2300..2700).contains(&at.len()), "{}", at.len());
        let early = at.iter().filter(|u| **u < 0.5).count() as f64 / at.len() as f64;
        assert!((early - 0.5).abs() < 0.05, "{early}");
        assert!((0..1000).all(|i| draws.cancel(i, 0.0).is_none() && draws.cancel(i, 1.0).is_some()));
    }
}
