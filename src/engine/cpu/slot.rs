//! What an engine keeps for each row while it lives.

use super::Trace;
use super::kv::KvCache;
use super::model::Gpt;
use crate::codec::Stream;
use crate::engine::{Row, StepOutcome};
use crate::model::prompt::{DecodePath, Prompt, Stage};
use crate::model::sampling::Sampler;

pub struct SlotState {
    pub cache: KvCache,
    /// Counts uses, so that a handle of an earlier use is recognised.
    pub generation: u32,
    pub stream: Stream,
    pub active: Option<Active>,
}

impl SlotState {
    pub fn new(cache: KvCache, stream: Stream) -> Self {
        Self { cache, generation: 0, stream, active: None }
    }
}

pub struct Active {
    pub stage: Stage,
    pub decode: DecodePath,
    pub trace: Trace,
    /// The position the next step runs.
    pub position: usize,
    prompt: Prompt,
    made: Vec<Vec<u16>>,
    sampler: Sampler,
    /// Ids that end the row: the end code, or `[Ebreak]`.
    end: u32,
    /// What was drawn, one list for each head.
    history: Vec<Vec<u32>>,
    drawn: Vec<u32>,
    /// Steps not yet decoded: hidden states and codes.
    hidden: Vec<f32>,
    codes: Vec<u16>,
    waiting: usize,
    ended: bool,
}

impl Active {
    pub fn new(row: Row, gpt: &Gpt) -> Self {
        let dims = &gpt.dims;
        let (heads, vocabulary, end) = match row.prompt.stage {
            Stage::Code => (dims.num_vq, dims.num_audio_tokens, u32::from(dims.end_code())),
            Stage::Refine => (1, dims.num_text_tokens, row.prompt.end_of_refine),
        };
        let mut history = vec![Vec::new(); heads];
        for codes in &row.made {
            history.iter_mut().zip(codes).for_each(|(h, c)| h.push(u32::from(*c)));
        }
        Self {
            stage: row.prompt.stage,
            decode: row.decode,
            trace: Trace::default(),
            position: 0,
            sampler: Sampler::new(row.sampling, heads, vocabulary, end as usize),
            prompt: row.prompt,
            made: row.made,
            end,
            history,
            drawn: Vec::with_capacity(heads),
            hidden: Vec::new(),
            codes: Vec::new(),
            waiting: 0,
            ended: false,
        }
    }

    /// Positions that are known before the first step: the prompt, and codes made elsewhere.
    pub fn inputs(&self) -> usize {
        self.prompt.len() + self.made.len()
    }

    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Steps made but not yet decoded.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The embedding of a known position.
    pub fn embed(&self, gpt: &Gpt, position: usize, out: &mut [f32]) {
        let (tokens, sample) = (&self.prompt.tokens, &self.prompt.sample);
        match (tokens.get(position), &self.prompt.speaker) {
            (Some(token), Some(speaker)) if Some(*token) == self.prompt.speaker_token => out.copy_from_slice(speaker),
            (Some(token), _) => gpt.embed_text(*token, out),
            (None, _) => {
                let at = position - tokens.len();
                gpt.embed_codes(sample.get(at).unwrap_or_else(|| &self.made[at - sample.len()]), out);
            }
        }
    }

    /// The embedding of the position the next step runs.
    pub fn embed_pending(&self, gpt: &Gpt, out: &mut [f32]) {
        if self.position < self.inputs() {
            return self.embed(gpt, self.position, out);
        }
        match self.stage {
            Stage::Code => {
                let codes: Vec<u16> = self.drawn.iter().map(|c| *c as u16).collect();
                gpt.embed_codes(&codes, out);
            }
            Stage::Refine => gpt.embed_text(self.drawn[0], out),
        }
    }

    /// Takes the hidden state of a known position; those that codes made elsewhere came from wait for decoding.
    pub fn record_prompt(&mut self, position: usize, hidden: &[f32], trace: bool) {
        if trace {
            self.trace.prefill_hidden.extend_from_slice(hidden);
        }
        if let Some(step) = (position + 1).checked_sub(self.prompt.len()) {
            let codes = std::mem::take(&mut self.made[step]);
            self.push_step(hidden, codes.iter().copied());
            self.made[step] = codes;
        }
    }

    /// Draws from the logits of the step that just ran.
    pub fn finish_step(&mut self, logits: &[f32], hidden: &[f32], trace: bool) -> StepOutcome {
        if trace {
            self.trace.step_hidden.extend_from_slice(hidden);
            self.trace.logits.extend_from_slice(logits);
        }
        let step = self.history[0].len();
        let mut drawn = std::mem::take(&mut self.drawn);
        let finite = self.sampler.draw(logits, &self.history, step, &mut drawn);
        self.drawn = drawn;
        if finite.is_none() {
            self.ended = true;
            return StepOutcome::Failed;
        }
        if self.drawn.contains(&self.end) {
            self.ended = true;
            return StepOutcome::End;
        }
        self.history.iter_mut().zip(&self.drawn).for_each(|(h, id)| h.push(*id));
        self.position += 1;
        match self.stage {
            Stage::Refine => StepOutcome::Token(self.drawn[0]),
            Stage::Code => {
                let codes: Vec<u16> = self.drawn.iter().map(|c| *c as u16).collect();
                self.push_step(hidden, codes.iter().copied());
                StepOutcome::Codes(codes)
            }
        }
    }

    fn push_step(&mut self, hidden: &[f32], codes: impl Iterator<Item = u16>) {
        match self.decode {
            DecodePath::Hidden => self.hidden.extend_from_slice(hidden),
            DecodePath::Codes => self.codes.extend(codes),
        }
        self.waiting += 1;
    }

    /// Takes the oldest `steps` waiting steps: their hidden states or their codes, whichever the path decodes.
    pub fn take(&mut self, steps: usize) -> (Vec<f32>, Vec<u16>) {
        let (h, c) = (self.hidden.len() / self.waiting.max(1), self.codes.len() / self.waiting.max(1));
        self.waiting -= steps;
        (self.hidden.drain(..steps * h).collect(), self.codes.drain(..steps * c).collect())
    }
}
