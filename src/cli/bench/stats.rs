//! Percentiles over all samples in bounded memory: a histogram that is exact for small values and within 0.05 % above.

use serde::Serialize;

/// Bits of a value that are kept.
const BITS: u32 = 11;
const HALF: u64 = 1 << (BITS - 1);

/// Samples of one quantity. Memory follows the logarithm of the largest value, not the number of samples.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Steps a unit is divided into.
    steps: f64,
    counts: Vec<u64>,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

/// A distribution in figures; all but `count` are `None` when there were no samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

impl Distribution {
    /// Milliseconds, in steps of a microsecond.
    pub fn of_ms() -> Self {
        Self::new(1e3)
    }

    /// Ratios, in steps of a millionth.
    pub fn of_ratios() -> Self {
        Self::new(1e6)
    }

    fn new(steps: f64) -> Self {
        Self { steps, counts: Vec::new(), count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    /// Takes one sample in. A negative one counts as 0 in percentiles but shows in `min`; one that is not finite is
    /// left out.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        // A cast from float to integer saturates: nothing overflows.
        let bucket = bucket((value.max(0.0) * self.steps).round() as u64);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The smallest sample that at least `share` (0 to 1) of all samples do not exceed.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let bucket = self.counts.iter().position(|n| {
            seen += n;
            seen >= rank
        })?;
        Some((middle(bucket) / self.steps).clamp(self.min, self.max))
    }

    pub fn summary(&self) -> Summary {
        let known = |value: f64| (self.count > 0).then(|| rounded(value));
        Summary {
            count: self.count,
            mean: known(self.sum / self.count as f64),
            min: known(self.min),
            p50: self.percentile(0.50).map(rounded),
            p95: self.percentile(0.95).map(rounded),
            p99: self.percentile(0.99).map(rounded),
            max: known(self.max),
        }
    }
}

/// A figure for a report: what is measured to a microsecond needs no more digits.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Values below 2^11 have a bucket each; above, each power of two has 2^10.
fn bucket(value: u64) -> usize {
    if value < 2 * HALF {
        return value as usize;
    }
    let shift = u64::from(63 - value.leading_zeros() - (BITS - 1));
    (2 * HALF + (shift - 1) * HALF + (value >> shift) - HALF) as usize
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < 2 * HALF {
        return bucket as f64;
    }
    let (shift, rest) = ((bucket - 2 * HALF) / HALF + 1, (bucket - 2 * HALF) % HALF);
    let width = (1u64 << shift) as f64;
    (rest + HALF) as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Distribution {
        let mut all = Distribution::of_ms();
        values.into_iter().for_each(|v| all.add(v));
        all
    }

    #[test]
    fn percentiles_are_samples_by_rank() {
        let hundred = of((1..=100).rev().map(|i| f64::from(i) / 1000.0));
        for (share, expected) in [(0.5, 0.050), (0.95, 0.095), (0.99, 0.099), (1.0, 0.1), (0.0, 0.001)] {
            assert_eq!(hundred.percentile(share), Some(expected), "{share}");
        }
        let two = of([1.0, 3.0]);
        assert_eq!((two.percentile(0.5), two.percentile(0.51)), (Some(1.0), Some(3.0)));
        // One in a hundred is p99's neighbour, not p99.
        let spike = of((0..99).map(|_| 1.0).chain([500.0]));
        assert_eq!((spike.percentile(0.99), spike.summary().max), (Some(1.0), Some(500.0)));
    }

    #[test]
    fn large_values_keep_their_proportion() {
        let mut value = 1u64;
        while value < u64::MAX / 3 {
            for near in [value - 1, value, value + value / 3] {
                let error = (middle(bucket(near)) - near as f64).abs();
                assert!(error <= near as f64 / 2048.0, "{near} became {}", middle(bucket(near)));
            }
            value *= 2;
        }
        // Buckets follow one another without a hole or an overlap.
        let mut last = 0;
        for v in 0..100_000 {
            let now = bucket(v);
            assert!(now == last || now == last + 1, "{v}");
            last = now;
        }
    }

    #[test]
    fn percentiles_of_spread_values_agree_with_sorting() {
        let mut values: Vec<f64> = (1..=5000u64).map(|i| (i * i * 2_654_435_761 % 9_999_991) as f64 / 1000.0).collect();
        let all = of(values.iter().copied());
        values.sort_by(f64::total_cmp);
        for share in [0.01, 0.5, 0.95, 0.99, 0.999] {
            let exact = values[(share * 5000.0_f64).ceil() as usize - 1];
            let found = all.percentile(share).unwrap();
            assert!((found - exact).abs() <= exact / 2000.0 + 0.001, "{share}: {found} for {exact}");
        }
        let mean = values.iter().sum::<f64>() / 5000.0;
        assert!((all.summary().mean.unwrap() - mean).abs() < 1e-3);
    }

    #[test]
    fn no_samples_are_no_figures_and_odd_samples_do_no_harm() {
        assert_eq!(of([]).summary(), Summary::default());
        assert_eq!(of([f64::NAN, f64::INFINITY]).summary().count, 0);
        let odd = of([-2.0, 1.0]);
        assert_eq!((odd.summary().min, odd.percentile(0.5)), (Some(-2.0), Some(0.0)));
        assert_eq!(of([1e300]).summary().max, Some(1e300));
    }
}
