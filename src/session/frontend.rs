//! Texts and voices as one model takes them: what stands between a request and the engine's prompt.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use super::step_cap;
use crate::codec::{CodecError, Encoder};
use crate::model::dims::{Dims, DimsError};
use crate::model::prompt::{DecodePath, Prompt, PromptVoice, Sample};
use crate::model::speaker::{SpeakerStats, StatsError, Voice, VoiceContext, VoiceError, VoiceKind};
use crate::model::tokenizer::{Tokenizer, TokenizerError};
use crate::parallel::Team;
use crate::text::{self, Homophones, HomophonesError, Language, LexiconError, LexiconFile, TextError};

/// Names and speaker strings of the voices a model comes with.
pub const VOICES_FILE: &str = "voices.json";

/// Characters the model reads badly, and others of the same sound.
pub const HOMOPHONES_FILE: &str = "homophones_map.json";

#[derive(Debug, thiserror::Error)]
pub enum FrontendError {
    #[error(transparent)]
    Dims(#[from] DimsError),
    #[error(transparent)]
    Stats(#[from] StatsError),
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(transparent)]
    Voice(#[from] VoiceError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Homophones(#[from] HomophonesError),
    #[error("{file}: {source}")]
    Voices { file: PathBuf, source: serde_json::Error },
    #[error("{file}: {source}")]
    Io { file: PathBuf, source: std::io::Error },
    #[error("decode: expected codes, the only path model {model} has, found hidden")]
    NoHiddenPath { model: String },
}

/// Dimensions, tokenizer, speaker statistics and named voices; the weights stay on disk.
pub struct Frontend {
    pub dir: PathBuf,
    pub dims: Dims,
    pub tokenizer: Tokenizer,
    pub voices: BTreeMap<String, String>,
    stats: Option<SpeakerStats>,
    languages: Vec<Language>,
    tags: Vec<&'static str>,
    /// The user's words.
    lexicon: Option<LexiconFile>,
    homophones: Option<Homophones>,
    /// Most texts have few different characters, and asking the tokenizer is slow.
    known: RwLock<HashMap<char, bool>>,
}

/// A voice as prompts take it.
#[derive(Clone, Debug, Default)]
pub struct Speaker {
    /// L2-normalised.
    embedding: Option<Vec<f32>>,
    /// What is said in the sample, made ready for the model, and its codes.
    sample: Option<(String, Vec<Vec<u16>>)>,
}

impl Frontend {
    pub fn open(dir: &Path) -> Result<Self, FrontendError> {
        let dims = Dims::load(dir)?;
        let stats = SpeakerStats::load(dir, &dims)?;
        let tokenizer = Tokenizer::load(dir, dims.gpt.num_text_tokens)?;
        let languages = dims.capabilities.languages.iter().filter_map(|l| Language::of_code(l)).collect();
        let tags = text::TEXT_TAGS.into_iter().filter(|t| tokenizer.has_tag(&format!("[{t}]"))).collect();
        let voices = named_voices(dir)?;
        let homophones = Homophones::load(&dir.join(HOMOPHONES_FILE))?;
        let known = RwLock::default();
        let dir = dir.to_path_buf();
        Ok(Self { dir, dims, tokenizer, voices, stats, languages, tags, lexicon: None, homophones, known })
    }

    /// Reads words as this file says, from now on and whenever it changes.
    pub fn with_lexicon(self, file: Option<&Path>) -> Result<Self, LexiconError> {
        Ok(Self { lexicon: file.map(LexiconFile::open).transpose()?, ..self })
    }

    /// Whether seeds mean a voice here.
    pub fn has_stats(&self) -> bool {
        self.stats.is_some()
    }

    /// Tags that may stand in a text, without brackets.
    pub fn tags(&self) -> &[&'static str] {
        &self.tags
    }

    /// Calls `f` with what the text front end must know of this model.
    pub fn with_text_options<R>(&self, raw: bool, f: impl FnOnce(&text::Options<'_>) -> R) -> R {
        let folds = self.tokenizer.folds_case();
        // A tokenizer that folds case accepts capitals, but only as the letters it turns them into.
        let knows = |c: char| !(folds && c.is_uppercase()) && self.tokenizer.knows(c);
        // What the model's homophones turn into something it knows, it can read.
        let ask = |c: char| knows(c) || self.homophones.as_ref().and_then(|map| map.get(c)).is_some_and(knows);
        let knows = |c: char| {
            if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&c) {
                return *known;
            }
            *self.known.write().unwrap_or_else(PoisonError::into_inner).entry(c).or_insert_with(|| ask(c))
        };
        let limits = text::Limits { max_words: self.dims.capabilities.max_words, ..text::Limits::default() };
        let (tags, languages) = (&self.tags, &self.languages);
        let lexicon = self.lexicon.as_ref().map(LexiconFile::current);
        let (lexicon, homophones) = (lexicon.as_deref(), self.homophones.as_ref());
        f(&text::Options { tags, languages, limits, lexicon, homophones, raw, ..text::Options::new(&knows) })
    }

    /// The whole text at once.
    pub fn prepare(&self, text: &str, raw: bool) -> Result<text::Prepared, TextError> {
        self.with_text_options(raw, |options| text::prepare(text, options))
    }

    fn voice_context<'a>(&'a self, words: Option<&'a str>) -> VoiceContext<'a> {
        VoiceContext::new(&self.dims).with_stats(self.stats.as_ref()).with_sample_text(words)
    }

    /// What a user of the command line may name as a voice: files and recordings too.
    pub fn voice(&self, spec: &str, words: Option<&str>) -> Result<Voice, VoiceError> {
        let encode = |pcm: &[f32]| self.encode_recording(pcm).map_err(|e| e.to_string());
        let spec = self.voices.get(spec).map_or(spec, String::as_str);
        Voice::parse(spec, &self.voice_context(words).with_encoder(&encode))
    }

    /// What a client may name as a voice: never a file of this machine.
    pub fn remote_voice(&self, spec: &str) -> Result<Voice, VoiceError> {
        let spec = self.voices.get(spec).map_or(spec, String::as_str);
        Voice::parse_text(spec, &self.voice_context(None))
    }

    /// The only step that needs weights and threads, taken when the voice turns out to be a recording.
    fn encode_recording(&self, pcm: &[f32]) -> Result<Vec<u16>, CodecError> {
        Encoder::load(&self.dir, &self.dims)?.encode(&Team::for_machine(), pcm)
    }

    /// The words of a sample are a caller's text like any other: made ready, and free of the prompt's own tokens.
    pub fn speaker(&self, voice: &Voice, raw: bool) -> Result<Speaker, FrontendError> {
        let sample = match voice.kind() {
            VoiceKind::Embedding(_) => None,
            VoiceKind::Sample(sample) => Some((self.prepare(sample.words()?, raw)?.spoken(), sample.codes.clone())),
        };
        Ok(Speaker { embedding: voice.normalized(), sample })
    }

    /// The prompt of a piece and the most steps it may take. `carried` stands for the speaker's own sample.
    pub fn code_prompt(
        &self,
        text: &str,
        control: &str,
        speaker: &Speaker,
        carried: Option<Sample<'_>>,
    ) -> Result<(Prompt, usize), TokenizerError> {
        let own = speaker.sample.as_ref().map(|(text, codes)| Sample { text, codes });
        let voice = PromptVoice { embedding: speaker.embedding.as_deref(), sample: carried.or(own) };
        let prompt = Prompt::code(&self.tokenizer, text, control, voice)?;
        Ok((prompt, step_cap(self.tokenizer.encode(text)?.len())))
    }

    /// The piece with a closing mark at its end, where the model needs one.
    pub fn closed(&self, text: &str) -> String {
        closed(text, self.dims.capabilities.closing_mark)
    }

    /// The path asked for, or the model's own choice.
    pub fn decode_path(&self, asked: Option<DecodePath>) -> Result<DecodePath, FrontendError> {
        let capabilities = &self.dims.capabilities;
        match asked {
            Some(DecodePath::Hidden) if !capabilities.decoder => {
                Err(FrontendError::NoHiddenPath { model: self.dims.name.clone() })
            }
            Some(path) => Ok(path),
            None if capabilities.decoder && capabilities.use_decoder_default => Ok(DecodePath::Hidden),
            None => Ok(DecodePath::Codes),
        }
    }
}

fn named_voices(dir: &Path) -> Result<BTreeMap<String, String>, FrontendError> {
    let file = dir.join(VOICES_FILE);
    let text = match crate::model::file::read_text(&file) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(BTreeMap::new()),
        Err(source) => return Err(FrontendError::Io { file, source }),
    };
    serde_json::from_str(&text).map_err(|source| FrontendError::Voices { file, source })
}

fn closed(text: &str, needed: bool) -> String {
    let end = text.trim_end_matches([' ', ',', ';', ':']);
    if !needed || end.is_empty() || end.ends_with(['.', '?', '!', ']']) {
        return text.to_string();
    }
    format!("{end}.")
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn a_closing_mark_is_added_only_where_one_is_needed_and_missing() {
        let cases =
            [("hi there", "hi there."), ("one, ", "one."), ("what?", "what?"), ("so [laugh]", "so [laugh]"), ("", "")];
        for (text, expected) in cases {
            assert_eq!(closed(text, true), expected);
            assert_eq!(closed(text, false), text);
        }
    }
}
