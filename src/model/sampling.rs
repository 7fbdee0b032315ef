//! From logits to codes, in the order ChatTTS does it: temperature, repetition penalty, top-P, top-K, end mask,
//! softmax, one draw per codebook.

use super::rng::Philox;
use super::torch_rng;

/// Codes of the past that the repetition penalty counts.
const PENALTY_WINDOW: usize = 16;
/// Candidates that top-P and top-K never go below.
const MIN_KEEP: usize = 3;

/// Where the randomness comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RngKind {
    /// A function of (seed, step, codebook, token).
    Counter,
    /// What the Python package draws after `manual_seed`: torch's CPU generator, started anew at every step. `row` is
    /// the row of the batch the Python run had this text in; its noise starts after the earlier rows'.
    Reference { row: usize },
}

/// Sampling parameters of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 takes the most likely code.
    pub temperature: f32,
    pub top_p: f32,
    pub top_k: usize,
    pub repetition_penalty: f32,
    pub seed: u64,
    pub rng: RngKind,
    /// Steps before which the end may not be drawn.
    pub min_steps: usize,
}

impl Sampling {
    /// ChatTTS's defaults for audio codes.
    pub fn code(seed: u64) -> Self {
        Self {
            temperature: 0.3,
            top_p: 0.7,
            top_k: 20,
            repetition_penalty: 1.05,
            seed,
            rng: RngKind::Counter,
            min_steps: 0,
        }
    }

    /// ChatTTS's defaults for text refinement.
    pub fn refine(seed: u64) -> Self {
        Self { temperature: 0.7, repetition_penalty: 1.0, ..Self::code(seed) }
    }

    /// Says which parameter is outside what it may be.
    pub fn validate(&self) -> Result<(), SamplingError> {
        let check = |field, value: f32, ok, allowed| {
            if ok { Ok(()) } else { Err(SamplingError { field, value, allowed }) }
        };
        // Colder than a hundredth the scaled logits could leave f32's range.
        let temperature = self.temperature == 0.0 || (0.01..=5.0).contains(&self.temperature);
        check("temperature", self.temperature, temperature, "0, or 0.01 to 5")?;
        check("top_p", self.top_p, self.top_p > 0.0 && self.top_p <= 1.0, "above 0, at most 1")?;
        check("top_k", self.top_k as f32, self.top_k >= 1, "at least 1")?;
        let penalty = self.repetition_penalty;
        check("repetition_penalty", penalty, (0.5..=3.0).contains(&penalty), "0.5 to 3")
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{field}: expected {allowed}, found {value}")]
pub struct SamplingError {
    pub field: &'static str,
    value: f32,
    allowed: &'static str,
}

/// Draws for one row; owns the scratch memory, so a step allocates nothing.
pub struct Sampler {
    params: Sampling,
    vocabulary: usize,
    end: usize,
    heads: usize,
    noise: Noise,
    scores: Vec<f32>,
    order: Vec<u32>,
}

enum Noise {
    Counter(Philox),
    /// Exponentials for `heads x vocabulary`, the same at every step.
    Reference(Vec<f32>),
}

/// What the row has drawn so far, one list for each head.
pub type History = [Vec<u32>];

impl Sampler {
    /// `end` is the id that ends the row; ids from `end` up are not penalised.
    pub fn new(params: Sampling, heads: usize, vocabulary: usize, end: usize) -> Self {
        let noise = match params.rng {
            RngKind::Counter => Noise::Counter(Philox::new(params.seed)),
            RngKind::Reference { row } => {
                let n = heads * vocabulary;
                Noise::Reference(torch_rng::exponential_f32(params.seed, (row + 1) * n).split_off(row * n))
            }
        };
        Self {
            params,
            vocabulary,
            end,
            heads,
            noise,
            scores: vec![0.0; vocabulary],
            order: Vec::with_capacity(vocabulary),
        }
    }

    /// Draws one id per head from `logits` (`heads x vocabulary`). `None` when a logit is not finite.
    pub fn draw(&mut self, logits: &[f32], history: &History, step: usize, out: &mut Vec<u32>) -> Option<()> {
        out.clear();
        for head in 0..self.heads {
            let row = &logits[head * self.vocabulary..(head + 1) * self.vocabulary];
            if row.iter().any(|x| !x.is_finite()) {
                return None;
            }
            self.scores.copy_from_slice(row);
            out.push(self.draw_head(head, &history[head], step));
        }
        Some(())
    }

    fn draw_head(&mut self, head: usize, history: &[u32], step: usize) -> u32 {
        let greedy = self.params.temperature == 0.0;
        if !greedy {
            let temperature = self.params.temperature;
            self.scores.iter_mut().for_each(|x| *x /= temperature);
        }
        self.penalize(history);
        let masked = step < self.params.min_steps;
        if greedy {
            if masked {
                self.scores[self.end] = f32::NEG_INFINITY;
            }
            return argmax(self.scores.iter().copied());
        }
        self.keep_likely();
        if masked {
            self.order.retain(|id| *id as usize != self.end);
        }
        let top = self.scores[self.order[0] as usize];
        let weights = self.order.iter().map(|id| (self.scores[*id as usize] - top).exp());
        let total: f32 = weights.clone().sum();
        let race = weights.zip(&self.order).map(|(w, id)| {
            let exponential = match &self.noise {
                Noise::Counter(philox) => philox.exponential(*id, head as u32, step as u32),
                Noise::Reference(noise) => noise[head * self.vocabulary + *id as usize],
            };
            w / total / exponential
        });
        self.order[argmax(race) as usize]
    }

    /// Each occurrence in the window makes a candidate less likely once more. The end is never penalised.
    fn penalize(&mut self, history: &[u32]) {
        let penalty = self.params.repetition_penalty;
        if penalty == 1.0 {
            return;
        }
        let window = &history[history.len().saturating_sub(PENALTY_WINDOW)..];
        for (i, id) in window.iter().enumerate() {
            if *id as usize >= self.end || window[..i].contains(id) {
                continue;
            }
            let count = window[i..].iter().filter(|other| *other == id).count();
            let factor = penalty.powi(count as i32);
            let score = &mut self.scores[*id as usize];
            *score = if *score < 0.0 { *score * factor } else { *score / factor };
        }
    }

    /// Leaves in `order` the ids that top-P and top-K keep, the most likely first.
    fn keep_likely(&mut self) {
        let k = self.params.top_k.max(MIN_KEEP).min(self.vocabulary);
        let scores = &self.scores;
        // Equal scores are ordered by id, so that the order never depends on the selection's internals.
        let likelier = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b));
        self.order.clear();
        self.order.extend(0..self.vocabulary as u32);
        if k < self.vocabulary {
            self.order.select_nth_unstable_by(k - 1, likelier);
            self.order.truncate(k);
        }
        self.order.sort_unstable_by(likelier);
        let top = scores[self.order[0] as usize];
        let total: f32 = scores.iter().map(|x| (x - top).exp()).sum();
        let mut above = 0.0;
        let kept = self.order.iter().take_while(|id| {
            let keep = above < self.params.top_p;
            above += (scores[**id as usize] - top).exp() / total;
            keep
        });
        let kept = kept.count().max(MIN_KEEP).min(self.order.len());
        self.order.truncate(kept);
    }
}

/// Index of the largest value, the first of equals.
fn argmax(values: impl Iterator<Item = f32>) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (i, v) in values.enumerate() {
        if v > best.1 {
            best = (i as u32, v);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(change: impl FnOnce(&mut Sampling)) -> Sampler {
        let mut params = Sampling { repetition_penalty: 1.0, temperature: 1.0, ..Sampling::code(1) };
        change(&mut params);
        Sampler::new(params, 1, 8, 7)
    }

    fn draws(s: &mut Sampler, logits: &[f32], n: usize) -> Vec<u32> {
        let mut out = Vec::new();
        (0..n).map(|step| s.draw(logits, &[vec![]], step, &mut out).map(|()| out[0]).unwrap()).collect()
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let logits = [0.0, 1.0, 2.0, -1.0, 0.5, 0.0, 1.5, -2.0];
        let mut s = sampler(|p| (p.top_p, p.top_k) = (1.0, 8));
        let n = 20_000;
        let drawn = draws(&mut s, &logits, n);
        let total: f32 = logits.iter().map(|x: &f32| x.exp()).sum();
        for (id, logit) in logits.iter().enumerate() {
            let share = drawn.iter().filter(|d| **d == id as u32).count() as f32 / n as f32;
            assert!((share - logit.exp() / total).abs() < 0.015, "id {id}: {share}");
        }
    }

    #[test]
    fn three_candidates_are_always_kept_and_no_more_than_asked() {
        let logits = [9.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, -1.0];
        let mut s = sampler(|p| (p.top_p, p.top_k, p.temperature) = (0.01, 1, 5.0));
        let mut seen = draws(&mut s, &logits, 2_000);
        seen.sort();
        seen.dedup();
        assert_eq!(seen, [0, 1, 2]);
    }

    #[test]
    fn the_end_is_masked_until_the_minimum_and_never_penalised() {
        let mut logits = [0.0; 8];
        logits[7] = 30.0;
        let mut s = sampler(|p| p.min_steps = 5);
        let drawn = draws(&mut s, &logits, 6);
        assert!(drawn[..5].iter().all(|d| *d != 7) && drawn[5] == 7);
        let mut s = sampler(|p| (p.temperature, p.repetition_penalty) = (0.0, 3.0));
        let mut out = Vec::new();
        s.draw(&logits, &[vec![7; 16]], 0, &mut out).unwrap();
        assert_eq!(out, [7]);
    }

    #[test]
    fn the_penalty_counts_a_window_of_sixteen() {
        let mut logits = [0.0; 8];
        (logits[0], logits[1], logits[2]) = (4.0, 2.1, -1.0);
        let mut s = sampler(|p| (p.temperature, p.repetition_penalty) = (0.0, 2.0));
        let mut out = Vec::new();
        s.draw(&logits, &[vec![0]], 0, &mut out).unwrap();
        assert_eq!(out, [1], "4 / 2 < 2.1");
        let mut old = vec![0];
        old.extend([3; 16]);
        s.draw(&logits, &[old], 0, &mut out).unwrap();
        assert_eq!(out, [0], "outside the window");
    }

    #[test]
    fn a_logit_that_is_not_finite_is_no_draw() {
        let mut s = sampler(|_| ());
        let mut logits = [0.0; 8];
        logits[3] = f32::NAN;
        assert_eq!(s.draw(&logits, &[vec![]], 0, &mut Vec::new()), None);
    }

    #[test]
    fn parameters_outside_their_range_are_named() {
        let error = Sampling { top_p: 0.0, ..Sampling::code(0) }.validate().unwrap_err();
        assert_eq!(error.to_string(), "top_p: expected above 0, at most 1, found 0");
        assert!(Sampling { temperature: f32::NAN, ..Sampling::code(0) }.validate().is_err());
    }
}
