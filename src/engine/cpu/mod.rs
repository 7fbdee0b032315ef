//! The CPU engine: f32 for parity, int8 by default, bf16 between them.
//!
//! What is here: slots, and the order of a step. The arithmetic is in [`model`] (forward pass), [`matrix`] and [`kv`]
//! (kernels) and [`crate::codec`].

pub mod arena;
pub mod kv;
pub mod matrix;
pub mod model;
pub mod ops;
mod rows;
pub mod simd;
mod slot;

use std::path::Path;
use std::sync::Mutex;

use self::arena::{Arena, Pages};
use self::kv::{KvCache, KvPrecision, KvShape};
use self::matrix::Precision;
use self::model::{Gpt, MAX_ROWS, RowAt, Workspace};
use self::rows::Rows;
use self::simd::Isa;
use self::slot::{Active, SlotState};
use super::{Capacity, DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use crate::codec::{Codec, CodecError, Input, Stream, lookahead_steps};
use crate::model::dims::Dims;
use crate::model::prompt::{DecodePath, Stage};
use crate::model::weights::WeightsError;
use crate::parallel::Team;

/// How a CPU engine is set up.
#[derive(Clone, Debug)]
pub struct CpuOptions {
    pub precision: Precision,
    /// Rows that can be alive at once.
    pub slots: usize,
    /// Positions (prompt + steps) of each slot.
    pub positions: usize,
    /// Members of the thread team; `None` takes every processor the process may use, or one where the model is small.
    pub threads: Option<usize>,
    pub isa: Isa,
    /// Decode paths to load the codec for.
    pub paths: Vec<DecodePath>,
    /// Load the text head, so that rows can be refined.
    pub refine: bool,
    /// Keep each slot's hidden states, logits and mel until its release (for `--dump` and tests).
    pub trace: bool,
}

/// Weights of the layers below which a second thread does not pay.
const SMALL: usize = 16 << 20;

/// A step of a small model is over before its threads have met often enough to gain by it, and on a machine that has
/// other work each meeting waits for whoever was put aside. The demo model (2.2 M, 2026-12, two cores): RTF 0.017 with
/// one thread and 0.055 with two beside one busy process, 0.045 and 0.26 beside three.
fn default_threads(dims: &Dims) -> usize {
    let gpt = &dims.gpt;
    let layer = 4 * gpt.hidden_size * gpt.hidden_size + 3 * gpt.hidden_size * gpt.intermediate_size;
    if layer * gpt.num_hidden_layers < SMALL { 1 } else { crate::parallel::processors() }
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self {
            precision: Precision::Int8,
            slots: 4,
            positions: 2048 + 512,
            threads: None,
            isa: Isa::best(),
            paths: vec![DecodePath::Hidden],
            refine: false,
            trace: false,
        }
    }
}

/// What `CpuOptions::trace` keeps of a slot.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Hidden states of all prompt positions but the last, after the final norm: `[n - 1, hidden]`.
    pub prefill_hidden: Vec<f32>,
    /// The hidden state each step's codes were drawn from: `[steps, hidden]`, the end's step included.
    pub step_hidden: Vec<f32>,
    /// Raw logits of each step, before temperature: `[steps, heads x vocabulary]`.
    pub logits: Vec<f32>,
    /// `[frames, n_mels]`.
    pub mel: Vec<f32>,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error("threads: expected {threads} from the system: {source}")]
    Threads { threads: usize, source: std::io::Error },
    #[error("memory for {slots} slots of {positions} positions ({bytes} bytes): {source}")]
    Memory { slots: usize, positions: usize, bytes: usize, source: std::io::Error },
}

pub struct CpuEngine {
    dims: Dims,
    options: CpuOptions,
    team: Team,
    gpt: Gpt,
    codec: Codec,
    slots: Vec<SlotState>,
    space: Workspace,
    code_logits: Rows,
    text_logits: Rows,
}

impl CpuEngine {
    /// Loads the model in `dir` (the folder that holds `asset/`).
    pub fn load(dir: &Path, dims: &Dims, options: CpuOptions) -> Result<Self, LoadError> {
        let threads = options.threads.unwrap_or_else(|| default_threads(dims));
        let team = Team::try_new(threads).map_err(|source| LoadError::Threads { threads, source })?;
        let positions = options.positions.min(dims.gpt.max_position_embeddings);
        let options = CpuOptions { positions, ..options };
        let gpt = Gpt::load(dir, &dims.gpt, options.precision, positions, options.refine, &team)?;
        let codec = Codec::load(dir, dims, &options.paths)?;
        let shape = KvShape {
            layers: dims.gpt.num_hidden_layers,
            heads: dims.gpt.num_attention_heads,
            head_dim: dims.gpt.head_dim(),
            positions,
        };
        // f32 keys only where parity is asked for: f16 halves the traffic, and its error is far below int8's.
        let kv = if options.precision == Precision::F32 { KvPrecision::F32 } else { KvPrecision::F16 };
        let (slots, bytes) = (options.slots, options.slots * shape.bytes(kv));
        let mut arena =
            Arena::new(bytes, Pages::Small).map_err(|source| LoadError::Memory { slots, positions, bytes, source })?;
        let slot = |_| SlotState::new(KvCache::new(&mut arena, shape, kv), Stream::new(&codec));
        let slots = (0..slots).map(slot).collect();
        let space = Workspace::new(&dims.gpt, &team);
        let code_logits = Rows::new(MAX_ROWS, gpt.code_heads.rows);
        let text_logits = Rows::new(MAX_ROWS, gpt.text_head.as_ref().map_or(0, |h| h.rows));
        Ok(Self { dims: dims.clone(), options, team, gpt, codec, slots, space, code_logits, text_logits })
    }

    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// Bytes of weights one code step reads: what memory bandwidth bounds.
    pub fn step_bytes(&self) -> usize {
        self.gpt.step_bytes()
    }

    /// What was recorded of a slot so far; empty unless [`CpuOptions::trace`] is set.
    pub fn trace(&self, slot: Slot) -> Result<&Trace, EngineError> {
        Ok(&self.active(slot)?.trace)
    }

    fn active(&self, slot: Slot) -> Result<&Active, EngineError> {
        let state = self.slots.get(slot.index as usize).filter(|s| s.generation == slot.generation);
        state.and_then(|s| s.active.as_ref()).ok_or(EngineError::StaleSlot(slot))
    }

    fn check(&self, row: &Row) -> Result<(), EngineError> {
        let (gpt, limit) = (&self.dims.gpt, self.options.positions);
        let found = row.prompt.len() + row.made.len();
        // One position must be left, or the row could not make a single step.
        if found >= limit {
            return Err(EngineError::TooLong { limit: limit - 1, found });
        }
        let bad = |what: String| Err(EngineError::Prompt(what));
        if row.prompt.tokens.is_empty() {
            return bad("expected at least one token, found none".into());
        }
        if let Some(token) = row.prompt.tokens.iter().find(|t| **t as usize >= gpt.num_text_tokens) {
            return bad(format!("token: expected below {}, found {token}", gpt.num_text_tokens));
        }
        if let Some(v) = row.prompt.speaker.as_ref().filter(|v| v.len() != gpt.hidden_size) {
            return bad(format!("speaker vector: expected {} values, found {}", gpt.hidden_size, v.len()));
        }
        for codes in row.prompt.sample.iter().chain(&row.made) {
            if codes.len() != gpt.num_vq || codes.iter().any(|c| *c >= gpt.end_code()) {
                return bad(format!("codes: expected {} below {}, found {codes:?}", gpt.num_vq, gpt.end_code()));
            }
        }
        match row.prompt.stage {
            Stage::Code if !self.options.paths.contains(&row.decode) => {
                bad(format!("decode path: expected one of {:?}, found {:?}", self.options.paths, row.decode))
            }
            Stage::Refine if self.gpt.text_head.is_none() => bad("stage: this engine was loaded without refine".into()),
            Stage::Refine if !row.made.is_empty() => bad("made: a refinement cannot be resumed".into()),
            _ => Ok(()),
        }
    }

    /// Runs every position of the new rows but each row's last, which its first step runs.
    fn run_prompts(&mut self, indices: &[usize]) {
        let h = self.dims.gpt.hidden_size;
        let slots = &self.slots;
        let active = |i: usize| slots[i].active.as_ref().expect("just started");
        let work: Vec<(usize, usize)> =
            indices.iter().flat_map(|i| (0..active(*i).inputs() - 1).map(move |p| (*i, p))).collect();
        for chunk in work.chunks(MAX_ROWS) {
            for (r, (i, position)) in chunk.iter().enumerate() {
                let active = self.slots[*i].active.as_ref().expect("just started");
                active.embed(&self.gpt, *position, self.space.x.row_mut(r));
            }
            let rows: Vec<RowAt<'_>> =
                chunk.iter().map(|(i, position)| RowAt { cache: &self.slots[*i].cache, position: *position }).collect();
            self.gpt.forward(self.options.isa, &self.team, &rows, &mut self.space);
            for (hidden, (i, position)) in self.space.hidden.chunks_exact(h).zip(chunk) {
                let active = self.slots[*i].active.as_mut().expect("just started");
                active.record_prompt(*position, hidden, self.options.trace);
            }
        }
        for i in indices {
            let active = self.slots[*i].active.as_mut().expect("just started");
            active.position = active.inputs() - 1;
        }
    }

    /// One pass over at most [`MAX_ROWS`] slots.
    fn step_group(&mut self, group: &[Slot], outcomes: &mut Vec<StepOutcome>) -> Result<(), EngineError> {
        let h = self.dims.gpt.hidden_size;
        for (r, slot) in group.iter().enumerate() {
            let state = &self.slots[slot.index as usize];
            let active = state.active.as_ref().ok_or(EngineError::StaleSlot(*slot))?;
            active.embed_pending(&self.gpt, self.space.x.row_mut(r));
        }
        let rows: Vec<RowAt<'_>> = group
            .iter()
            .map(|slot| {
                let state = &self.slots[slot.index as usize];
                RowAt { cache: &state.cache, position: state.active.as_ref().expect("checked above").position }
            })
            .collect();
        self.gpt.forward(self.options.isa, &self.team, &rows, &mut self.space);
        let stage = |slot: &Slot| self.slots[slot.index as usize].active.as_ref().expect("checked above").stage;
        let (code, text): (Vec<usize>, Vec<usize>) = (0..group.len()).partition(|r| stage(&group[*r]) == Stage::Code);
        if !code.is_empty() {
            let head = &self.gpt.code_heads;
            self.gpt.logits(self.options.isa, &self.team, head, &code, &self.space, &mut self.code_logits);
        }
        if let Some(head) = self.gpt.text_head.as_ref().filter(|_| !text.is_empty()) {
            self.gpt.logits(self.options.isa, &self.team, head, &text, &self.space, &mut self.text_logits);
        }
        let mut draws = Vec::with_capacity(group.len());
        for (index, state) in self.slots.iter_mut().enumerate() {
            let Some(row) = group.iter().position(|s| s.index as usize == index) else { continue };
            let logits = match code.iter().position(|c| *c == row) {
                Some(at) => self.code_logits.row(at),
                None => self.text_logits.row(text.iter().position(|t| *t == row).expect("one of the two")),
            };
            let active = state.active.as_mut().expect("checked above");
            let hidden = &self.space.hidden[row * h..(row + 1) * h];
            draws.push(Mutex::new(Draw { row, active, logits, hidden, outcome: None }));
        }
        let (threads, trace) = (self.team.threads(), self.options.trace);
        self.team.run(|m| {
            for draw in draws.iter().skip(m).step_by(threads) {
                let draw = &mut *draw.lock().expect("one member takes each draw");
                draw.outcome = Some(draw.active.finish_step(draw.logits, draw.hidden, trace));
            }
        });
        let mut draws: Vec<_> = draws.into_iter().map(|d| d.into_inner().expect("no panic")).collect();
        draws.sort_by_key(|d| d.row);
        outcomes.extend(draws.into_iter().map(|d| d.outcome.expect("every draw was taken")));
        Ok(())
    }
}

/// One row's part of a step after the forward pass.
struct Draw<'a> {
    row: usize,
    active: &'a mut Active,
    logits: &'a [f32],
    hidden: &'a [f32],
    outcome: Option<StepOutcome>,
}

impl Engine for CpuEngine {
    fn capacity(&self) -> Capacity {
        Capacity { slots: self.slots.len(), positions: self.options.positions }
    }

    fn lookahead(&self, path: DecodePath) -> usize {
        lookahead_steps(&self.dims, path)
    }

    fn prefill(&mut self, rows: Vec<Row>) -> Result<Vec<Slot>, EngineError> {
        let free: Vec<usize> =
            (0..self.slots.len()).filter(|i| self.slots[*i].active.is_none()).take(rows.len()).collect();
        if free.len() < rows.len() {
            return Err(EngineError::Full(self.slots.len()));
        }
        rows.iter().try_for_each(|row| self.check(row))?;
        for (index, row) in free.iter().zip(rows) {
            let state = &mut self.slots[*index];
            state.generation = state.generation.wrapping_add(1);
            state.stream.reset();
            state.cache.reset();
            state.active = Some(Active::new(row, &self.gpt));
        }
        self.run_prompts(&free);
        let handle = |i: &usize| Slot { index: *i as u32, generation: self.slots[*i].generation };
        Ok(free.iter().map(handle).collect())
    }

    fn step(&mut self, slots: &[Slot]) -> Result<Vec<StepOutcome>, EngineError> {
        for slot in slots {
            let active = self.active(*slot)?;
            if active.ended() || slots.iter().filter(|s| *s == slot).count() > 1 {
                return Err(EngineError::StaleSlot(*slot));
            }
        }
        let has_room = |slot: &&Slot| self.active(**slot).is_ok_and(|active| active.position < self.options.positions);
        let roomy: Vec<Slot> = slots.iter().filter(has_room).copied().collect();
        let mut outcomes = Vec::with_capacity(slots.len());
        for group in roomy.chunks(MAX_ROWS) {
            self.step_group(group, &mut outcomes)?;
        }
        let mut outcomes = outcomes.into_iter();
        let mut roomy = roomy.into_iter().peekable();
        let in_order = slots.iter().map(|slot| match roomy.next_if_eq(slot) {
            Some(_) => outcomes.next().expect("one outcome for each row stepped"),
            None => StepOutcome::Full,
        });
        Ok(in_order.collect())
    }

    fn decode(&mut self, jobs: &[DecodeJob]) -> Result<Vec<Vec<f32>>, EngineError> {
        for (i, job) in jobs.iter().enumerate() {
            let available = self.active(job.slot)?.waiting();
            let twice = jobs[..i].iter().any(|other| other.slot == job.slot);
            if twice || self.slots[job.slot.index as usize].stream.finished() {
                return Err(EngineError::StaleSlot(job.slot));
            }
            if job.steps > available {
                return Err(EngineError::TooFewSteps { asked: job.steps, available });
            }
        }
        let trace = self.options.trace;
        let mut all = Vec::with_capacity(jobs.len());
        for job in jobs {
            // Split borrows: the slot's state beside the codec and the team.
            let Self { slots, codec, team, .. } = self;
            let SlotState { active, stream, .. } = &mut slots[job.slot.index as usize];
            let active = active.as_mut().expect("checked above");
            let (hidden, codes) = active.take(job.steps);
            let input = match active.decode {
                DecodePath::Hidden => Input::Hidden(&hidden),
                DecodePath::Codes => Input::Codes(&codes),
            };
            let mut pcm = Vec::new();
            let keep_mel = |frames: &[f32]| {
                if trace {
                    active.trace.mel.extend_from_slice(frames)
                }
            };
            let pushed = stream.push_with_mel(codec, team, input, job.last, &mut pcm, keep_mel);
            pushed.map_err(|e| EngineError::Decode(e.to_string()))?;
            all.push(pcm);
        }
        Ok(all)
    }

    fn release(&mut self, slot: Slot) -> Result<(), EngineError> {
        self.active(slot)?;
        self.slots[slot.index as usize].active = None;
        Ok(())
    }
}
