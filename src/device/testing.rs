//! What the tests of this room share: jobs whose listener writes everything down, and an engine that is watched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{ChunkPlan, Demand, Job, RowEnd, RowSink};
use crate::engine::fake::{FakeEngine, FakeOptions};
use crate::engine::{Capacity, DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use crate::model::prompt::{DecodePath, Prompt, Stage};
use crate::model::sampling::Sampling;

/// One row's listener, as its test sees it.
#[derive(Clone)]
pub struct Ear(Arc<Mutex<Heard>>);

struct Heard {
    demand: Demand,
    began: u32,
    pcm: Vec<f32>,
    chunks: Vec<usize>,
    ends: Vec<RowEnd>,
}

impl Default for Ear {
    fn default() -> Self {
        let heard = Heard { demand: Demand::Run, began: 0, pcm: Vec::new(), chunks: Vec::new(), ends: Vec::new() };
        Self(Arc::new(Mutex::new(heard)))
    }
}

impl Ear {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn began(&self) -> u32 {
        self.heard().began
    }

    pub fn pcm(&self) -> Vec<f32> {
        self.heard().pcm.clone()
    }

    /// Samples of each chunk.
    pub fn chunks(&self) -> Vec<usize> {
        self.heard().chunks.clone()
    }

    pub fn has_ended(&self) -> bool {
        !self.heard().ends.is_empty()
    }

    pub fn want(&self, demand: Demand) {
        self.heard().demand = demand;
    }

    /// The row's one end.
    pub fn end(&self) -> RowEnd {
        let heard = self.heard();
        assert_eq!(heard.ends.len(), 1, "a row ends once");
        heard.ends[0].clone()
    }
}

impl RowSink for Ear {
    fn demand(&self) -> Demand {
        self.heard().demand
    }

    fn began(&mut self) {
        self.heard().began += 1;
    }

    fn pcm(&mut self, pcm: Vec<f32>) {
        let mut heard = self.heard();
        assert!(heard.ends.is_empty(), "sound after the end");
        heard.chunks.push(pcm.len());
        heard.pcm.extend(pcm);
    }

    fn end(self: Box<Self>, end: RowEnd) {
        self.heard().ends.push(end);
    }
}

/// A row of `tokens` tokens, which the fake engine makes four steps each of.
pub fn job(tokens: usize, seed: u64, ear: &Ear) -> Job {
    let prompt = Prompt {
        stage: Stage::Code,
        tokens: vec![0; tokens],
        speaker: None,
        speaker_token: None,
        sample: Vec::new(),
        end_of_refine: 0,
    };
    Job {
        prompt,
        sampling: Sampling::code(seed),
        decode: DecodePath::Hidden,
        cap: 100_000,
        chunks: ChunkPlan::default(),
        retry_seeds: vec![seed + 1000, seed + 2000],
        continues: false,
        sink: Box::new(ear.clone()),
    }
}

/// What an engine was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Seeds of the rows.
    Prefill(Vec<u64>),
    /// Seeds of the rows.
    Step(Vec<u64>),
    /// Seeds of the rows, and the steps of each.
    Decode(Vec<(u64, usize)>),
    Release(u64),
}

type Hook = Box<dyn FnMut(&Call) -> Option<EngineError> + Send>;

/// The fake engine, with all calls written down.
pub struct Watched {
    pub engine: FakeEngine,
    pub calls: Vec<Call>,
    /// Seeds by the slots' indices.
    seeds: Vec<u64>,
    /// Asked before each call: an error is given in the engine's place.
    pub hook: Option<Hook>,
    /// The row of this seed decodes to values that are not finite.
    pub spoiled: Option<u64>,
}

impl Watched {
    pub fn new(options: FakeOptions) -> Self {
        let seeds = vec![0; options.slots];
        Self { engine: FakeEngine::new(options), calls: Vec::new(), seeds, hook: None, spoiled: None }
    }

    fn note(&mut self, call: Call) -> Result<(), EngineError> {
        let error = self.hook.as_mut().and_then(|hook| hook(&call));
        self.calls.push(call);
        error.map_or(Ok(()), Err)
    }

    fn seed(&self, slot: Slot) -> u64 {
        self.seeds[slot.index as usize]
    }
}

impl Engine for Watched {
    fn capacity(&self) -> Capacity {
        self.engine.capacity()
    }

    fn lookahead(&self, path: DecodePath) -> usize {
        self.engine.lookahead(path)
    }

    fn prefill(&mut self, rows: Vec<Row>) -> Result<Vec<Slot>, EngineError> {
        let seeds: Vec<u64> = rows.iter().map(|r| r.sampling.seed).collect();
        self.note(Call::Prefill(seeds.clone()))?;
        let slots = self.engine.prefill(rows)?;
        slots.iter().zip(seeds).for_each(|(slot, seed)| self.seeds[slot.index as usize] = seed);
        Ok(slots)
    }

    fn step(&mut self, slots: &[Slot]) -> Result<Vec<StepOutcome>, EngineError> {
        self.note(Call::Step(slots.iter().map(|s| self.seed(*s)).collect()))?;
        self.engine.step(slots)
    }

    fn decode(&mut self, jobs: &[DecodeJob]) -> Result<Vec<Vec<f32>>, EngineError> {
        self.note(Call::Decode(jobs.iter().map(|j| (self.seed(j.slot), j.steps)).collect()))?;
        let mut all = self.engine.decode(jobs)?;
        for (job, pcm) in jobs.iter().zip(&mut all) {
            if self.spoiled == Some(self.seed(job.slot)) {
                pcm.fill(f32::NAN);
            }
        }
        Ok(all)
    }

    fn release(&mut self, slot: Slot) -> Result<(), EngineError> {
        self.note(Call::Release(self.seed(slot)))?;
        self.engine.release(slot)
    }
}
