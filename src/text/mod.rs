//! Raw text -> spoken text -> pieces. A leaf: knows no model weights and no web.
//!
//! The text is a row of units, each a character to speak, or a control tag, with the bytes of the raw text
//! it stands for. Each stage turns one row into the next and notes what it changed or left out, so that the reply can
//! say which source text became what. The stages, in order:
//!
//! 1. `decode`: NUL refused, invisible characters out, full-width and other mere looks to plain characters, emoji out;
//! 2. `markup`: Markdown, HTML, SSML and entities, of which only the text is spoken;
//! 3. `tags`: control tags protected, pauses made, reserved tokens out, all other square brackets gone;
//! 4. `shorthand`: abbreviations and initials, whose full stops end no sentence;
//! 5. `readings`: numbers and symbols to words, in the language around them;
//! 6. `letters`: acronyms to single letters; what is no letter the model knows is folded, or skipped and reported;
//! 7. `marks`: punctuation to the few marks the models know, spaces tidied;
//! 8. `lexicon`: the user's words, if there are any;
//! 9. `homophones`: characters the model reads badly, where it comes with a map of them;
//! 10. `split`: pieces of a length the model speaks well, at pauses, then sentence, then clause ends.
//!
//! All of them run while the text arrives: [`Intake`] says how.

pub mod homophones;
pub mod intake;
pub mod lexicon;
pub mod numbers;
pub mod refine;

mod acronyms;
mod decode;
mod letters;
mod marks;
mod markup;
mod readings;
mod shorthand;
mod split;
mod stage;
mod tags;
mod unit;

use std::ops::Range;
use std::time::Duration;

pub use homophones::{Homophones, HomophonesError};
pub use intake::Intake;
pub use lexicon::{Lexicon, LexiconError, LexiconFile};
pub use refine::{RefineRejection, accept_refined, same_words};

/// Control tags allowed in text, without their brackets.
pub const TEXT_TAGS: [&str; 3] = ["laugh", "uv_break", "lbreak"];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("text: byte {at}: expected text, found a NUL character")]
    Nul { at: usize },
    /// In Unicode code points; `found` with the text that was refused.
    #[error("text: expected at most {limit} characters, found {found}")]
    TooLong { limit: usize, found: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    /// By the primary subtag of a language code: "en", "zh-CN".
    pub fn of_code(code: &str) -> Option<Self> {
        match code.split(['-', '_']).next()? {
            "en" => Some(Self::English),
            "zh" => Some(Self::Chinese),
            _ => None,
        }
    }
}

/// How long a piece may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Estimated speaking time: 15 characters a second of English, 4 of Chinese.
    pub max_seconds: f32,
    /// Words (a Chinese character is one); for models trained on short sentences.
    pub max_words: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_seconds: 20.0, max_words: None }
    }
}

/// What the front end must know about the model.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Whether the tokenizer has a token for this character as it stands (without lower-casing or folding it).
    pub knows: &'a dyn Fn(char) -> bool,
    /// Control tags allowed in text, without brackets, lower case.
    pub tags: &'a [&'a str],
    /// Languages the model speaks. Letters of other scripts are skipped even where the tokenizer knows them. The first
    /// one reads what has no context, such as a lone number.
    pub languages: &'a [Language],
    pub limits: Limits,
    /// The user's words. A lexicon may be exchanged while a text arrives: what is still to come is read by the new one.
    pub lexicon: Option<&'a Lexicon>,
    /// The model's map of characters it reads badly.
    pub homophones: Option<&'a Homophones>,
    /// No normalisation and no splitting: one piece, the text as it is.
    pub raw: bool,
}

/// The characters a text may be spoken with by a model like the published ChatTTS: for looking at texts without one.
pub fn chattts_knows(c: char) -> bool {
    matches!(c, '!'..='@' | '['..='~' | '\u{3001}'..='\u{30FF}' | '\u{FF01}'..='\u{FF5E}' | '—' | '…')
        || matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}')
}

impl<'a> Options<'a> {
    /// ChatTTS's tags, Chinese and English, pieces of up to 20 s.
    pub fn new(knows: &'a dyn Fn(char) -> bool) -> Self {
        let languages = &[Language::Chinese, Language::English];
        Self {
            knows,
            tags: &TEXT_TAGS,
            languages,
            limits: Limits::default(),
            lexicon: None,
            homophones: None,
            raw: false,
        }
    }

    /// Whether the model speaks `language` and has the characters numbers are read with in it.
    fn reads(&self, language: Language) -> bool {
        self.languages.contains(&language)
            && match language {
                Language::English => ('a'..='z').all(self.knows),
                Language::Chinese => numbers::CHINESE.chars().all(self.knows),
            }
    }
}

/// A stretch of text the model speaks in one go.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Piece {
    /// What the model is given: known characters, spaces and allowed tags. All pieces joined are the spoken text.
    pub text: String,
    /// Bytes of the raw text it stands for. Each piece begins where the one before ends; together they are the
    /// whole, save what has no word after a flush or a pause.
    pub span: Range<usize>,
    /// The same in Unicode code points.
    pub chars: Range<usize>,
    /// Silence before it, asked for by `[pause:…]` or `<break>`.
    #[serde(rename = "pause_before_ms", serialize_with = "as_ms")]
    pub pause_before: Duration,
}

fn as_ms<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_millis() as u64)
}

/// A stretch of raw text that is spoken as something else. Lower-casing is not reported.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// Bytes of the raw text.
    pub span: Range<usize>,
    /// The same in Unicode code points.
    pub chars: Range<usize>,
    pub from: String,
    pub to: String,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A character that shows nothing: zero-width spaces and joiners, direction marks.
    Invisible,
    /// A full-width or typographic form of an ASCII character.
    Width,
    /// What Markdown, HTML or SSML writes around text: it parts words or sentences, or says nothing. Also entities.
    Markup,
    /// A silence; `to` is its length.
    Pause,
    Bracket,
    Abbreviation,
    Number,
    Symbol,
    /// By the user's lexicon.
    Lexicon,
    /// By the model's map of homophones.
    Homophone,
    Accent,
    Punctuation,
}

impl ChangeKind {
    pub const ALL: [Self; 12] = [
        Self::Invisible,
        Self::Width,
        Self::Markup,
        Self::Pause,
        Self::Bracket,
        Self::Abbreviation,
        Self::Number,
        Self::Symbol,
        Self::Lexicon,
        Self::Homophone,
        Self::Accent,
        Self::Punctuation,
    ];
}

/// A stretch of raw text that is not spoken.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skip {
    /// Bytes of the raw text.
    pub span: Range<usize>,
    /// The same in Unicode code points.
    pub chars: Range<usize>,
    pub text: String,
    pub why: SkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// A token of the model's own prompt, written out in the text.
    ReservedToken,
    /// A tag of a name or value that means nothing here; what stands between it and its end is spoken.
    UnsupportedTag,
    /// A fenced code block, a script or a style.
    Code,
    /// `<!-- -->`.
    Comment,
    /// Where a link leads.
    LinkTarget,
    /// `[^1]`.
    Footnote,
    Emoji,
    /// A control tag that no word follows, nor stands before in its sentence.
    LoneTag,
    /// Neither a letter nor a symbol with a reading: box drawing and the like.
    UnknownCharacter,
    /// A letter of a script the model does not speak.
    UnknownScript,
}

impl SkipReason {
    pub const ALL: [Self; 10] = [
        Self::ReservedToken,
        Self::UnsupportedTag,
        Self::Code,
        Self::Comment,
        Self::LinkTarget,
        Self::Footnote,
        Self::Emoji,
        Self::LoneTag,
        Self::UnknownCharacter,
        Self::UnknownScript,
    ];
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReservedToken => "a token reserved for the model",
            Self::UnsupportedTag => "a tag without a meaning here",
            Self::Code => "a code block",
            Self::Comment => "a comment",
            Self::LinkTarget => "a link's target",
            Self::Footnote => "a footnote's mark",
            Self::Emoji => "an emoji",
            Self::LoneTag => "a tag without a word",
            Self::UnknownCharacter => "no letter, and no symbol with a reading",
            Self::UnknownScript => "a script the model does not speak",
        })
    }
}

/// Text made ready for the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Prepared {
    /// Empty when there is nothing to say. As [`Intake::finish`] returns it: the last ones only.
    pub pieces: Vec<Piece>,
    /// In the order of the raw text.
    pub rewritten: Vec<Change>,
    /// In the order of the raw text; never overlapping.
    pub skipped: Vec<Skip>,
    /// No letter is left to speak: only white space, marks, emoji, tags or pauses.
    pub nothing_to_say: bool,
    /// Silence after the last piece.
    #[serde(rename = "pause_after_ms", serialize_with = "as_ms")]
    pub pause_after: Duration,
}

impl Prepared {
    /// The whole spoken text.
    pub fn spoken(&self) -> String {
        self.pieces.iter().map(|p| p.text.as_str()).collect()
    }
}

/// Makes raw text ready for the model; see the module documentation. Takes time linear in the text.
pub fn prepare(raw: &str, options: &Options) -> Result<Prepared, TextError> {
    Ok(explain(raw, options, false)?.prepared)
}

/// What a stage made of the whole text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StageText {
    pub stage: &'static str,
    /// Control tags and pauses in square brackets.
    pub text: String,
}

/// A text and what became of it, as it is shown to people.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Explained {
    /// All pieces joined.
    pub spoken: String,
    #[serde(flatten)]
    pub prepared: Prepared,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageText>,
}

/// As [`prepare`], and shows how; `stages` with what each stage made of it.
pub fn explain(raw: &str, options: &Options, stages: bool) -> Result<Explained, TextError> {
    let mut intake = if stages { Intake::traced(usize::MAX) } else { Intake::new(usize::MAX) };
    let mut pieces = intake.push(raw, options)?;
    let mut prepared = intake.finish(options);
    pieces.append(&mut prepared.pieces);
    let prepared = Prepared { pieces, ..prepared };
    Ok(Explained { spoken: prepared.spoken(), prepared, stages: intake.stages() })
}

#[cfg(test)]
mod tests;
