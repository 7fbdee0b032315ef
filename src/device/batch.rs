//! The rows of one device: they join and leave at step boundaries.
//!
//! One [`Batch::turn`] is one round of the device: rows nobody wants any more are released, waiting ones are
//! prefilled, every runnable row makes one step, and the chunks that are due are decoded, those of the listeners who
//! wait most first. A row whose listener is far behind says so through its sink and is left out until it is not.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::chunks::{ChunkPlan, Chunks};
use crate::engine::{DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use crate::model::prompt::{DecodePath, Prompt};
use crate::model::sampling::Sampling;

/// Prompt positions prefilled in one turn: more would hold up the step of those who already speak.
const PREFILL_POSITIONS: usize = 512;
/// Chunks decoded in one call; a turn makes further calls until its time is used up.
const DECODE_GROUP: usize = 8;
/// Time a turn may spend on chunks nobody waits for yet: half of a step's 21.33 ms of sound.
const DECODE_BUDGET: Duration = Duration::from_millis(10);
/// A listener with less sound than this ahead is served before the budget is looked at.
const URGENT: Duration = Duration::from_millis(250);

/// What a sink wants of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    Run,
    /// Enough for now: keep the slot, make no steps.
    Pause,
    /// No more, ever: the slot is freed before the next step.
    Stop,
}

/// Where a row's results go. Called on the device's thread: nothing in it may block.
pub trait RowSink: Send {
    fn demand(&self) -> Demand;

    /// The row has its slot and its prompt is being run.
    fn began(&mut self) {}

    /// The next samples: f32, mono, the model's rate.
    fn pcm(&mut self, pcm: Vec<f32>);

    /// Called once, and nothing after it.
    fn end(self: Box<Self>, end: RowEnd);
}

/// A row to run.
pub struct Job {
    pub prompt: Prompt,
    /// The seed in it is that of the first try.
    pub sampling: Sampling,
    pub decode: DecodePath,
    /// Steps (or tokens, for a refinement) at which the row is cut off.
    pub cap: usize,
    pub chunks: ChunkPlan,
    /// Seeds of further tries, should the model end before its first step.
    pub retry_seeds: Vec<u64>,
    /// Somebody is already listening to what came before: such rows go before new ones.
    pub continues: bool,
    pub sink: Box<dyn RowSink>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RowOutcome {
    /// The model said it was done.
    Natural,
    /// The cap, or the end of the slot's positions.
    Cap,
    /// Nothing came in any try.
    NoAudio { tries: u32 },
    /// The row's values stopped being finite.
    NotFinite,
    /// The engine would not take the row.
    Refused(String),
    /// The device was lost.
    DeviceLost(String),
    /// The sink wanted no more.
    Stopped,
}

#[derive(Clone, Debug)]
pub struct RowEnd {
    pub outcome: RowOutcome,
    pub seed: u64,
    pub steps: usize,
    pub samples: usize,
    pub retries: u32,
    /// Codes of each step.
    pub codes: Vec<Vec<u16>>,
    /// Tokens of a refinement.
    pub tokens: Vec<u32>,
    /// Time the device spent on calls this row was part of.
    pub device_time: Duration,
}

struct Active {
    slot: Slot,
    job: Job,
    chunks: Chunks,
    /// Steps made and not yet decoded.
    waiting: usize,
    ended: Option<RowOutcome>,
    /// When the first samples came out.
    first_audio: Option<Instant>,
    end: RowEnd,
}

/// What a turn did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Worked,
    /// Nothing can be done until a job comes or a sink's demand changes.
    Idle,
}

/// Figures of a batch at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Rows with a slot.
    pub rows: usize,
    /// Of these, rows that make no steps because their listeners are far behind.
    pub paused: usize,
    /// Jobs without a slot.
    pub waiting: usize,
    /// Steps made since the start, each of all its rows.
    pub steps: u64,
}

/// See the module documentation. Its size is bounded by whoever admits jobs.
pub struct Batch {
    sample_rate: u32,
    active: Vec<Active>,
    continuing: VecDeque<Job>,
    new: VecDeque<Job>,
    paused: usize,
    steps: u64,
}

impl Batch {
    /// `sample_rate` is that of the engine's PCM, in Hz.
    pub fn new(sample_rate: u32) -> Self {
        Self { sample_rate, active: Vec::new(), continuing: VecDeque::new(), new: VecDeque::new(), paused: 0, steps: 0 }
    }

    pub fn submit(&mut self, job: Job) {
        if job.continues { self.continuing.push_back(job) } else { self.new.push_back(job) }
    }

    pub fn load(&self) -> Load {
        let waiting = self.continuing.len() + self.new.len();
        Load { rows: self.active.len(), paused: self.paused, waiting, steps: self.steps }
    }

    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.continuing.is_empty() && self.new.is_empty()
    }

    /// One round; see the module documentation.
    ///
    /// # Errors
    /// When the engine as a whole is lost; [`Batch::lose`] then ends the rows.
    pub fn turn(&mut self, engine: &mut dyn Engine) -> Result<Turn, EngineError> {
        self.drop_unwanted(engine)?;
        let admitted = self.admit(engine)?;
        let stepped = self.step(engine)?;
        let decoded = self.decode(engine)?;
        Ok(if admitted || stepped || decoded { Turn::Worked } else { Turn::Idle })
    }

    /// Ends every row and every waiting job: the device is gone.
    pub fn lose(&mut self, why: &str) {
        self.paused = 0;
        for row in self.active.drain(..) {
            let end = RowEnd { outcome: RowOutcome::DeviceLost(why.into()), ..row.end };
            row.job.sink.end(end);
        }
        for job in self.continuing.drain(..).chain(self.new.drain(..)) {
            let seed = job.sampling.seed;
            job.sink.end(RowEnd::new(RowOutcome::DeviceLost(why.into()), seed));
        }
    }

    fn drop_unwanted(&mut self, engine: &mut dyn Engine) -> Result<(), EngineError> {
        for queue in [&mut self.continuing, &mut self.new] {
            let mut i = 0;
            while i < queue.len() {
                if queue[i].sink.demand() != Demand::Stop {
                    i += 1;
                } else if let Some(job) = queue.remove(i) {
                    let seed = job.sampling.seed;
                    job.sink.end(RowEnd::new(RowOutcome::Stopped, seed));
                }
            }
        }
        let mut i = 0;
        while i < self.active.len() {
            if self.active[i].job.sink.demand() == Demand::Stop {
                self.finish(engine, i, RowOutcome::Stopped)?;
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    /// Starts waiting jobs as far as there are slots.
    fn admit(&mut self, engine: &mut dyn Engine) -> Result<bool, EngineError> {
        let room = engine.capacity().slots.saturating_sub(self.active.len());
        let (mut jobs, mut positions) = (Vec::new(), 0);
        while jobs.len() < room {
            let Some(next) = self.continuing.front().or(self.new.front()) else { break };
            positions += next.prompt.len();
            if positions > PREFILL_POSITIONS && !jobs.is_empty() {
                break;
            }
            jobs.extend(self.continuing.pop_front().or_else(|| self.new.pop_front()));
        }
        if jobs.is_empty() {
            return Ok(false);
        }
        for job in &mut jobs {
            job.sink.began();
        }
        let began = Instant::now();
        match engine.prefill(jobs.iter().map(Job::row).collect()) {
            Ok(slots) => {
                let time = began.elapsed();
                for (job, slot) in jobs.into_iter().zip(slots) {
                    self.enter(engine, job, slot, time);
                }
            }
            Err(EngineError::Device(why)) => {
                self.new.extend(jobs);
                return Err(EngineError::Device(why));
            }
            // All rows start or none does: find out whose fault it was.
            Err(_) => {
                let mut jobs = jobs.into_iter();
                while let Some(job) = jobs.next() {
                    if let Err(e) = self.admit_alone(engine, job) {
                        // Lost with the rest, and told so like the rest.
                        self.new.extend(jobs);
                        return Err(e);
                    }
                }
            }
        }
        Ok(true)
    }

    fn admit_alone(&mut self, engine: &mut dyn Engine, job: Job) -> Result<(), EngineError> {
        let began = Instant::now();
        match engine.prefill(vec![job.row()]) {
            Ok(slots) => self.enter(engine, job, slots[0], began.elapsed()),
            Err(EngineError::Device(why)) => {
                self.new.push_back(job);
                return Err(EngineError::Device(why));
            }
            Err(e) => {
                warn!(error = %e, "the engine refused a row");
                let seed = job.sampling.seed;
                job.sink.end(RowEnd::new(RowOutcome::Refused(e.to_string()), seed));
            }
        }
        Ok(())
    }

    fn enter(&mut self, engine: &dyn Engine, job: Job, slot: Slot, time: Duration) {
        let chunks = Chunks::new(job.chunks, engine.lookahead(job.decode));
        let mut end = RowEnd::new(RowOutcome::Natural, job.sampling.seed);
        end.device_time = time;
        self.active.push(Active { slot, job, chunks, waiting: 0, ended: None, first_audio: None, end });
    }

    /// One step of every row that wants one.
    fn step(&mut self, engine: &mut dyn Engine) -> Result<bool, EngineError> {
        let mut running = Vec::with_capacity(self.active.len());
        self.paused = 0;
        for (i, row) in self.active.iter().enumerate() {
            if row.ended.is_some() {
                continue;
            }
            match row.job.sink.demand() {
                Demand::Run => running.push(i),
                Demand::Pause => self.paused += 1,
                // Released at the next turn.
                Demand::Stop => {}
            }
        }
        if running.is_empty() {
            return Ok(false);
        }
        let slots: Vec<Slot> = running.iter().map(|i| self.active[*i].slot).collect();
        let began = Instant::now();
        let outcomes = engine.step(&slots)?;
        let time = began.elapsed();
        self.steps += 1;
        for (i, outcome) in running.into_iter().zip(outcomes) {
            self.active[i].end.device_time += time;
            if self.active[i].take(outcome) == Taken::Empty {
                self.retry(engine, i)?;
            }
        }
        Ok(true)
    }

    /// Starts a row that ended before its first step again, with its next seed, in its place.
    fn retry(&mut self, engine: &mut dyn Engine, i: usize) -> Result<(), EngineError> {
        let row = &mut self.active[i];
        let tries = row.end.retries + 1;
        if row.job.retry_seeds.is_empty() {
            row.ended = Some(RowOutcome::NoAudio { tries });
            return Ok(());
        }
        let seed = row.job.retry_seeds.remove(0);
        debug!(tries, "empty result, trying again with another seed");
        row.job.sampling.seed = seed;
        (row.end.seed, row.end.retries) = (seed, tries);
        engine.release(row.slot)?;
        let row = &mut self.active[i];
        row.slot = engine.prefill(vec![row.job.row()])?[0];
        Ok(())
    }

    /// Decodes what is due, the listeners with the least sound ahead first, and ends rows that are complete.
    fn decode(&mut self, engine: &mut dyn Engine) -> Result<bool, EngineError> {
        let now = Instant::now();
        let mut due: Vec<(Duration, usize)> = Vec::new();
        for (i, row) in self.active.iter().enumerate() {
            if row.job.sink.demand() != Demand::Stop && row.is_due() {
                due.push((row.ahead(now, self.sample_rate), i));
            }
        }
        due.sort_unstable();
        let mut complete = Vec::new();
        for group in due.chunks(DECODE_GROUP) {
            if group[0].0 >= URGENT && now.elapsed() >= DECODE_BUDGET {
                break;
            }
            self.decode_group(engine, group, &mut complete)?;
        }
        complete.sort_unstable();
        for i in complete.into_iter().rev() {
            let outcome = self.active[i].ended.take().unwrap_or(RowOutcome::Natural);
            self.finish(engine, i, outcome)?;
        }
        Ok(!due.is_empty())
    }

    fn decode_group(
        &mut self,
        engine: &mut dyn Engine,
        group: &[(Duration, usize)],
        complete: &mut Vec<usize>,
    ) -> Result<(), EngineError> {
        let mut jobs = Vec::with_capacity(group.len());
        let mut indices = Vec::with_capacity(group.len());
        for (_, i) in group {
            let row = &mut self.active[*i];
            let last = row.ended.is_some();
            let steps = row.chunks.due(row.waiting, last);
            // Without a step there is nothing to flush: refinements, and rows that never began to speak.
            if row.end.steps > 0 && row.end.tokens.is_empty() {
                jobs.push(DecodeJob { slot: row.slot, steps, last });
                indices.push(*i);
            }
            if last {
                complete.push(*i);
            }
        }
        if jobs.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let all = engine.decode(&jobs)?;
        let time = began.elapsed();
        for ((i, job), pcm) in indices.into_iter().zip(jobs).zip(all) {
            let row = &mut self.active[i];
            row.waiting -= job.steps;
            row.end.device_time += time / group.len() as u32;
            if pcm.iter().any(|x| !x.is_finite()) {
                row.ended = Some(RowOutcome::NotFinite);
                if !job.last {
                    complete.push(i);
                }
            } else if !pcm.is_empty() {
                row.first_audio.get_or_insert_with(Instant::now);
                row.end.samples += pcm.len();
                row.job.sink.pcm(pcm);
            }
        }
        Ok(())
    }

    fn finish(&mut self, engine: &mut dyn Engine, i: usize, outcome: RowOutcome) -> Result<(), EngineError> {
        let row = self.active.swap_remove(i);
        if outcome == RowOutcome::Cap {
            info!(steps = row.end.steps, tokens = row.job.prompt.tokens.len(), "step cap reached");
        }
        let released = engine.release(row.slot);
        row.job.sink.end(RowEnd { outcome, ..row.end });
        released
    }
}

#[derive(PartialEq, Eq)]
enum Taken {
    Counted,
    /// The row ended before its first step.
    Empty,
}

impl Active {
    fn take(&mut self, outcome: StepOutcome) -> Taken {
        match outcome {
            StepOutcome::Codes(codes) => {
                self.end.codes.push(codes);
                self.waiting += 1;
                self.end.steps += 1;
            }
            StepOutcome::Token(token) => {
                self.end.tokens.push(token);
                self.end.steps += 1;
            }
            StepOutcome::End if self.end.steps == 0 => return Taken::Empty,
            StepOutcome::End => self.ended = Some(RowOutcome::Natural),
            StepOutcome::Full => self.ended = Some(RowOutcome::Cap),
            StepOutcome::Failed => self.ended = Some(RowOutcome::NotFinite),
        }
        if self.end.steps >= self.job.cap && self.ended.is_none() {
            self.ended = Some(RowOutcome::Cap);
        }
        Taken::Counted
    }

    fn is_due(&self) -> bool {
        self.ended.is_some() || self.chunks.is_due(self.waiting)
    }

    /// Sound made and, in real time, not yet played. None of it before the first chunk.
    fn ahead(&self, now: Instant, sample_rate: u32) -> Duration {
        let made = Duration::from_secs_f64(self.end.samples as f64 / f64::from(sample_rate));
        self.first_audio.map_or(Duration::ZERO, |first| (first + made).saturating_duration_since(now))
    }
}

impl Job {
    fn row(&self) -> Row {
        Row { prompt: self.prompt.clone(), sampling: self.sampling.clone(), decode: self.decode, made: Vec::new() }
    }
}

impl RowEnd {
    pub fn new(outcome: RowOutcome, seed: u64) -> Self {
        Self {
            outcome,
            seed,
            steps: 0,
            samples: 0,
            retries: 0,
            codes: Vec::new(),
            tokens: Vec::new(),
            device_time: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
