//! What stands before the first generated step, and how the finished steps become sound.

use super::tokenizer::{Tokenizer, TokenizerError};

/// Which of the codec's two inputs an utterance is decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodePath {
    /// The language model's hidden states through `Decoder`: the Python package's default.
    Hidden,
    /// The sampled codes through `DVAE`.
    Codes,
}

/// Which head a row is sampled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Audio codes.
    Code,
    /// Text with pauses and laughs written in.
    Refine,
}

/// The positions a row starts with: text tokens, then the codes of a speaker sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub stage: Stage,
    pub tokens: Vec<u32>,
    /// L2-normalised, `hidden_size` values; replaces the embedding at `speaker_token`.
    pub speaker: Option<Vec<f32>>,
    /// The id of `[spk_emb]`, where the prompt has one.
    pub speaker_token: Option<u32>,
    /// Codes of the speaker sample, one group of `num_vq` for each step.
    pub sample: Vec<Vec<u16>>,
    /// The token that ends a refinement, `[Ebreak]`.
    pub end_of_refine: u32,
}

/// How a voice enters a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptVoice<'a> {
    /// L2-normalised speaker vector.
    pub embedding: Option<&'a [f32]>,
    pub sample: Option<Sample<'a>>,
}

/// A recording the voice is taken from.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// What is said in it.
    pub text: &'a str,
    /// Its codes, one group of `num_vq` for each step.
    pub codes: &'a [Vec<u16>],
}

impl Prompt {
    /// `[Stts][spk_emb|empty_spk]{sample text}{control}{text}[Ptts]`, then the sample's codes. `control` is a tag such
    /// as `[speed_5]`, or empty.
    pub fn code(
        tokenizer: &Tokenizer,
        text: &str,
        control: &str,
        voice: PromptVoice<'_>,
    ) -> Result<Self, TokenizerError> {
        let speaker_tag = if voice.embedding.is_some() { "[spk_emb]" } else { "[empty_spk]" };
        let sample_text = voice.sample.map_or("", |s| s.text);
        Ok(Self {
            stage: Stage::Code,
            tokens: tokenizer.encode(&format!("[Stts]{speaker_tag}{sample_text}{control}{text}[Ptts]"))?,
            speaker: voice.embedding.map(<[f32]>::to_vec),
            speaker_token: voice.embedding.map(|_| tokenizer.specials.spk_emb),
            sample: voice.sample.map_or_else(Vec::new, |s| s.codes.to_vec()),
            end_of_refine: tokenizer.specials.end_of_refine,
        })
    }

    /// `[Sbreak]{text}[Pbreak]{control}`, where `control` is such as `[oral_2][laugh_0][break_6]`.
    pub fn refine(tokenizer: &Tokenizer, text: &str, control: &str) -> Result<Self, TokenizerError> {
        let tokens = tokenizer.encode(&format!("[Sbreak]{text}[Pbreak]{control}"))?;
        Ok(Self {
            stage: Stage::Refine,
            tokens,
            speaker: None,
            speaker_token: None,
            sample: Vec::new(),
            end_of_refine: tokenizer.specials.end_of_refine,
        })
    }

    /// Positions the prompt takes.
    pub fn len(&self) -> usize {
        self.tokens.len() + self.sample.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
