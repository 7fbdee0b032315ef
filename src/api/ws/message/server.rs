//! What the server says.
//!
//! Figures in milliseconds are written to the microsecond, finer than half a sample at every rate served.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::client::{Pace, RefineSpec, refine_or_false};
use super::refusal::{ErrorCode, Refusal};

/// A message to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    Ready(Ready),
    Started(Started),
    Piece(Piece),
    Done(Done),
    Cancelled(Cancelled),
    Pong { data: Value },
    Error(Error),
}

/// The first message of a socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// [`super::PROTOCOL`].
    pub protocol: u32,
    /// Name and version of the program.
    pub server: String,
    /// Names this socket in the server's logs.
    pub session: String,
    pub model: Model,
    /// The model's own rate, Hz.
    pub sample_rate: u32,
    pub limits: Limits,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    /// Language codes, such as `en`.
    pub languages: Vec<String>,
    /// What its makers say of its state.
    pub status: Option<String>,
    /// Names that `start.voice` takes.
    pub voices: Vec<String>,
    pub default_voice: VoiceInUse,
    /// Whether `start.voice` takes a seed.
    pub draw: bool,
    /// Control tags allowed in text, without brackets.
    pub tags: Vec<String>,
    /// Whether `start.refine` may be on.
    pub refine: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest message from a client, bytes.
    pub message_bytes: usize,
    /// Most text of an utterance, code points.
    pub text_chars: usize,
    /// Most utterances of a socket alive at once.
    pub utterances: usize,
    /// A socket that answers no ping is closed after this; `None`: never.
    pub idle_ms: Option<u64>,
}

/// The answer to `start`: what is in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub id: String,
    /// Names the utterance in the binary header.
    pub stream: u32,
    pub format: FormatInUse,
    pub voice: VoiceInUse,
    pub seed: u64,
    pub sampling: SamplingInUse,
    #[serde(serialize_with = "refine_or_false", deserialize_with = "false_or_refine")]
    pub refine: Option<RefineSpec>,
    pub speed: f32,
    pub pace: Pace,
    pub lead_ms: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "codec")]
pub enum FormatInUse {
    #[serde(rename = "opus")]
    Opus {
        /// Of the encoder's input and of the header's media time, Hz.
        sample_rate: u32,
        channels: u32,
        frame_ms: u32,
        /// Samples at 48 kHz that the player throws away at the start, as in RFC 7845.
        pre_skip: u32,
        bitrate: i32,
        complexity: i32,
        fec: bool,
        dtx: bool,
    },
    #[serde(rename = "pcm_s16le")]
    Pcm { sample_rate: u32, channels: u32, frame_ms: u32 },
}

/// The voice that speaks, without its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VoiceInUse {
    Seed {
        seed: u32,
    },
    Name {
        name: String,
    },
    /// A speaker string.
    Speaker,
    /// A sample string.
    Sample,
    /// No speaker is given to the model: its own voice.
    Model,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingInUse {
    pub temperature: f32,
    pub top_p: f32,
    pub top_k: u32,
    pub repetition_penalty: f32,
    pub min_steps: u32,
    /// `None`: from the length of each piece.
    pub max_steps: Option<u32>,
}

/// A stretch of the utterance's text as sent, in code points; `end` is past the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A piece whose length is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    pub id: String,
    /// From 0.
    pub index: usize,
    pub source: Span,
    /// As spoken.
    pub text: String,
    #[serde(serialize_with = "ms")]
    pub start_ms: f64,
    #[serde(serialize_with = "ms")]
    pub length_ms: f64,
    pub end: PieceEnd,
    /// The seed its codes were drawn with.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceEnd {
    /// The model said it was done.
    Natural,
    /// The step limit cut it.
    Cap,
}

/// The end of an utterance that was spoken to its end. Figures that do not exist are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub id: String,
    pub reason: DoneReason,
    #[serde(serialize_with = "ms")]
    pub audio_ms: f64,
    /// Text complete for the first piece -> its row began.
    #[serde(serialize_with = "maybe_ms")]
    pub queue_ms: Option<f64>,
    /// Text complete for the first piece -> first packet handed to the socket.
    #[serde(serialize_with = "maybe_ms")]
    pub ttfa_ms: Option<f64>,
    /// The row began -> first samples out of the engine.
    #[serde(serialize_with = "maybe_ms")]
    pub engine_ms: Option<f64>,
    /// Time on the device / audio.
    #[serde(serialize_with = "maybe_ratio")]
    pub rtf: Option<f64>,
    /// How often a listener who plays in real time from the first packet on ran dry, as far as the server knows.
    pub underruns: u32,
    /// For how long in all.
    #[serde(serialize_with = "ms")]
    pub underrun_ms: f64,
    pub pieces: usize,
    pub rewritten: Vec<Rewritten>,
    pub skipped: Vec<Skipped>,
    pub refine_rejected: Vec<RefineRejected>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneReason {
    Complete,
    /// The text had no letter to speak.
    NothingToSay,
}

/// Text that was spoken as something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewritten {
    pub source: Span,
    pub from: String,
    pub to: String,
    pub kind: String,
}

/// Text that was not spoken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub source: Span,
    pub text: String,
    pub why: String,
}

/// A piece spoken without its refined text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineRejected {
    /// The piece's index.
    pub piece: usize,
    pub why: String,
}

/// The answer to `cancel`; no audio of the utterance follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancelled {
    /// `None` only where all utterances were to be cancelled and there was none.
    pub id: Option<String>,
    pub state: CancelState,
    /// Audio that had been sent.
    #[serde(serialize_with = "ms")]
    pub audio_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelState {
    Speaking,
    Waiting,
    /// No such utterance, or already over.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    pub code: ErrorCode,
    /// One line: the field or step, what was expected, what was found.
    pub message: String,
    pub field: Option<String>,
    pub id: Option<String>,
    /// This is the end of the utterance `id`: it stands in the place of `done`.
    pub ended: bool,
    /// Only with [`ErrorCode::Overloaded`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl From<Refusal> for Error {
    fn from(Refusal { code, message, field, id }: Refusal) -> Self {
        Self { code, message, field, id, ended: false, retry_after_ms: None }
    }
}

impl From<Refusal> for ServerMessage {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal.into())
    }
}

impl ServerMessage {
    /// The text frame.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("every key is a string, and numbers that are not finite are written as null")
    }
}

fn rounded(x: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (x * scale).round() / scale
}

fn ms<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*x, 3))
}

fn maybe_ms<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    x.map(|x| rounded(x, 3)).serialize(serializer)
}

fn maybe_ratio<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    x.map(|x| rounded(x, 6)).serialize(serializer)
}

fn false_or_refine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RefineSpec>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Wire {
        Levels(RefineSpec),
        Switch(bool),
    }
    Ok(match Wire::deserialize(deserializer)? {
        Wire::Levels(spec) => Some(spec),
        Wire::Switch(on) => on.then(RefineSpec::default),
    })
}
