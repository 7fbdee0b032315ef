//! An engine without a model: deterministic tones, a settable pace, and faults on demand. Most tests of what stands
//! around an engine run on it.

use std::sync::LazyLock;
use std::time::Duration;

use super::{Capacity, DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use crate::model::prompt::{DecodePath, Stage};
use crate::model::rng::Philox;

#[derive(Clone, Debug)]
pub struct FakeOptions {
    pub slots: usize,
    pub positions: usize,
    /// How long a step takes, whatever its rows.
    pub step_time: Duration,
    /// How long a prefill takes for each token.
    pub token_time: Duration,
    /// An utterance lasts so many steps for each token of its prompt.
    pub steps_per_token: usize,
    /// Steps held back until the end, as a codec with look-ahead does.
    pub lookahead: usize,
    pub samples_per_step: usize,
    pub num_vq: usize,
    pub faults: Vec<Fault>,
}

impl Default for FakeOptions {
    fn default() -> Self {
        Self {
            slots: 8,
            positions: 4096,
            step_time: Duration::ZERO,
            token_time: Duration::ZERO,
            steps_per_token: 4,
            lookahead: 0,
            samples_per_step: 512,
            num_vq: 4,
            faults: Vec::new(),
        }
    }
}

/// What goes wrong, and when. Counts start at 0 and run over the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The n-th row started ends at its first step.
    EmptyRow(usize),
    /// The n-th row started fails at its k-th step.
    RowFails { row: usize, step: usize },
    /// The n-th row started never ends by itself.
    RunsAway(usize),
    /// The device is lost at the n-th call of `step`, for good.
    DeviceLost(usize),
}

pub struct FakeEngine {
    options: FakeOptions,
    slots: Vec<FakeSlot>,
    rows_started: usize,
    steps_run: usize,
    lost: bool,
}

#[derive(Default)]
struct FakeSlot {
    generation: u32,
    row: Option<FakeRow>,
}

struct FakeRow {
    serial: usize,
    seed: u64,
    stage: Stage,
    inputs: usize,
    length: usize,
    steps: usize,
    decoded: usize,
    emitted: usize,
    ended: bool,
}

impl FakeEngine {
    pub fn new(options: FakeOptions) -> Self {
        let slots = (0..options.slots).map(|_| FakeSlot::default()).collect();
        Self { options, slots, rows_started: 0, steps_run: 0, lost: false }
    }

    /// Slots in use.
    pub fn in_use(&self) -> usize {
        self.slots.iter().filter(|s| s.row.is_some()).count()
    }

    fn alive(&self) -> Result<(), EngineError> {
        if self.lost { Err(EngineError::Device("lost on demand".into())) } else { Ok(()) }
    }

    fn row(&mut self, slot: Slot) -> Result<&mut FakeRow, EngineError> {
        let state = self.slots.get_mut(slot.index as usize).filter(|s| s.generation == slot.generation);
        state.and_then(|s| s.row.as_mut()).ok_or(EngineError::StaleSlot(slot))
    }

    fn has(&self, fault: Fault) -> bool {
        self.options.faults.contains(&fault)
    }

    fn step_row(&mut self, slot: Slot) -> Result<StepOutcome, EngineError> {
        let (num_vq, positions) = (self.options.num_vq, self.options.positions);
        let faults = self.options.faults.clone();
        let row = self.row(slot)?;
        if row.ended {
            return Err(EngineError::StaleSlot(slot));
        }
        let (serial, step) = (row.serial, row.steps);
        if row.inputs + step >= positions {
            return Ok(StepOutcome::Full);
        }
        let fails = faults.contains(&Fault::RowFails { row: serial, step });
        let ends = step >= row.length && !faults.contains(&Fault::RunsAway(serial));
        row.ended = fails || ends || faults.contains(&Fault::EmptyRow(serial));
        if fails {
            return Ok(StepOutcome::Failed);
        }
        if row.ended {
            return Ok(StepOutcome::End);
        }
        row.steps += 1;
        if row.stage == Stage::Refine {
            return Ok(StepOutcome::Token(step as u32));
        }
        let philox = Philox::new(row.seed);
        let code = |vq| (philox.uniform(0, vq as u32, step as u32) * 625.0) as u16;
        Ok(StepOutcome::Codes((0..num_vq).map(code).collect()))
    }
}

impl Engine for FakeEngine {
    fn capacity(&self) -> Capacity {
        Capacity { slots: self.options.slots, positions: self.options.positions }
    }

    fn lookahead(&self, _: DecodePath) -> usize {
        self.options.lookahead
    }

    fn prefill(&mut self, rows: Vec<Row>) -> Result<Vec<Slot>, EngineError> {
        self.alive()?;
        let free: Vec<usize> = (0..self.slots.len()).filter(|i| self.slots[*i].row.is_none()).collect();
        if free.len() < rows.len() {
            return Err(EngineError::Full(self.slots.len()));
        }
        let limit = self.options.positions - 1;
        if let Some(row) = rows.iter().find(|r| r.prompt.len() + r.made.len() > limit) {
            return Err(EngineError::TooLong { limit, found: row.prompt.len() + row.made.len() });
        }
        pause(self.options.token_time * rows.iter().map(|r| r.prompt.len() as u32).sum());
        let mut slots = Vec::with_capacity(rows.len());
        for (index, row) in free.into_iter().zip(rows) {
            let state = &mut self.slots[index];
            state.generation = state.generation.wrapping_add(1);
            state.row = Some(FakeRow {
                serial: self.rows_started,
                seed: row.sampling.seed,
                stage: row.prompt.stage,
                inputs: row.prompt.len(),
                length: (row.prompt.len() * self.options.steps_per_token).max(row.sampling.min_steps),
                steps: row.made.len(),
                decoded: 0,
                emitted: 0,
                ended: false,
            });
            self.rows_started += 1;
            slots.push(Slot { index: index as u32, generation: state.generation });
        }
        Ok(slots)
    }

    fn step(&mut self, slots: &[Slot]) -> Result<Vec<StepOutcome>, EngineError> {
        self.alive()?;
        if self.has(Fault::DeviceLost(self.steps_run)) {
            self.lost = true;
        }
        self.steps_run += 1;
        self.alive()?;
        pause(self.options.step_time);
        slots.iter().map(|slot| self.step_row(*slot)).collect()
    }

    fn decode(&mut self, jobs: &[DecodeJob]) -> Result<Vec<Vec<f32>>, EngineError> {
        self.alive()?;
        let (lookahead, width) = (self.options.lookahead, self.options.samples_per_step);
        let mut all = Vec::with_capacity(jobs.len());
        for job in jobs {
            let row = self.row(job.slot)?;
            let available = row.steps - row.decoded;
            if job.steps > available {
                return Err(EngineError::TooFewSteps { asked: job.steps, available });
            }
            row.decoded += job.steps;
            let end = if job.last { row.decoded } else { row.decoded.saturating_sub(lookahead) };
            all.push((row.emitted * width..end * width).map(|i| tone(row.seed, i)).collect());
            row.emitted = end;
        }
        Ok(all)
    }

    fn release(&mut self, slot: Slot) -> Result<(), EngineError> {
        self.row(slot)?;
        self.slots[slot.index as usize].row = None;
        Ok(())
    }
}

/// Samples after which every tone begins again: all are multiples of 8 Hz at 24 kHz.
const PERIOD: usize = 3000;

/// Sample `i` of the tone a seed stands for, at 24 kHz: 200 to 1,000 Hz, half of full scale.
pub fn tone(seed: u64, i: usize) -> f32 {
    // Looked up, because hundreds of streams of it must cost next to nothing beside what is being measured.
    static WAVE: LazyLock<Vec<f32>> = LazyLock::new(|| {
        let sample = |i| 0.5 * (std::f64::consts::TAU * i as f64 / PERIOD as f64).sin();
        (0..PERIOD).map(|i| sample(i) as f32).collect()
    });
    let cycles = 25 + (seed % 101) as usize;
    WAVE[cycles * (i % PERIOD) % PERIOD]
}

/// Waits as a host thread does for a device: without using a processor.
fn pause(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}
