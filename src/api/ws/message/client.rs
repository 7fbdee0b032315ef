//! What a client says.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::fields::{Fields, integral};
use super::halves;
use super::refusal::{ErrorCode, Refusal, kind, quoted};

/// Longest id, in characters.
const MAX_ID: usize = 64;
/// Largest seed that every JSON reader keeps exact.
const MAX_SEED: i64 = (1 << 53) - 1;
/// Frame lengths of both codecs, in ms.
const FRAME_MS: [i64; 4] = [10, 20, 40, 60];
const DEFAULT_FRAME_MS: u32 = 20;
/// What `text` is expected to be.
const TEXT: &str = "a string (it may be empty)";
const CODECS: [(&str, FormatSpec); 2] = [("opus", FormatSpec::OPUS), ("pcm_s16le", FormatSpec::PCM)];

/// A message from a client, every value in its range.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    Start(Start),
    /// The next text of an utterance; `id` `None` means the one started last.
    Text {
        id: Option<String>,
        text: String,
        /// `final` on the wire: nothing follows.
        #[serde(rename = "final")]
        last: bool,
    },
    /// Speak what has arrived; `id` `None` means the utterance started last.
    Flush {
        id: Option<String>,
    },
    /// `id` `None` means every utterance of the socket.
    Cancel {
        id: Option<String>,
    },
    /// To be answered with the same data.
    Ping {
        data: Value,
    },
}

/// Opens an utterance. Default: the server's voice, Opus, ChatTTS's parameters, real time with 200 ms of lead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Start {
    /// 1 to 64 characters; `None`: the server draws one.
    pub id: Option<String>,
    pub voice: Option<VoiceSpec>,
    /// Sampling seed, 0 to 2^53 - 1; `None`: the server draws one.
    pub seed: Option<u64>,
    pub format: FormatSpec,
    pub sampling: SamplingSpec,
    #[serde(serialize_with = "refine_or_false")]
    pub refine: Option<RefineSpec>,
    /// 0.25 to 4 times as fast.
    pub speed: f32,
    pub pace: Pace,
    /// How far sending runs ahead of the clock, 0 to 10000 ms.
    pub lead_ms: u32,
    /// The first text, as a `text` message's.
    pub text: Option<String>,
    /// `final` on the wire.
    #[serde(rename = "final")]
    pub last: bool,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            id: None,
            voice: None,
            seed: None,
            format: FormatSpec::OPUS,
            sampling: SamplingSpec::default(),
            refine: None,
            speed: 1.0,
            pace: Pace::Realtime,
            lead_ms: 200,
            text: None,
            last: false,
        }
    }
}

/// A voice as the client named it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VoiceSpec {
    Seed(u32),
    /// A seed's digits, a voice's name, a speaker string or a sample string; never empty. Not yet read any further, and
    /// never to be taken for a path.
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "codec")]
pub enum FormatSpec {
    #[serde(rename = "opus")]
    Opus {
        /// 10, 20, 40 or 60.
        frame_ms: u32,
        /// Bits a second, 6000 to 256000.
        bitrate: i32,
        /// 0 to 10; `None`: the server's choice.
        complexity: Option<i32>,
        /// In-band forward error correction.
        fec: bool,
        /// Discontinuous transmission.
        dtx: bool,
    },
    #[serde(rename = "pcm_s16le")]
    Pcm {
        /// 24000, 16000 or 8000.
        sample_rate: u32,
        /// 10, 20, 40 or 60.
        frame_ms: u32,
    },
}

impl FormatSpec {
    /// 32 kb/s in frames of 20 ms.
    pub const OPUS: Self =
        Self::Opus { frame_ms: DEFAULT_FRAME_MS, bitrate: 32_000, complexity: None, fec: false, dtx: false };
    /// 24 kHz in frames of 20 ms.
    pub const PCM: Self = Self::Pcm { sample_rate: 24_000, frame_ms: DEFAULT_FRAME_MS };
}

/// Sampling parameters; `None` means ChatTTS's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SamplingSpec {
    /// 0, or 0.01 to 5.
    pub temperature: Option<f32>,
    /// Above 0, at most 1.
    pub top_p: Option<f32>,
    /// At least 1.
    pub top_k: Option<u32>,
    /// 0.5 to 3.
    pub repetition_penalty: Option<f32>,
    /// 0 to 65536; never above `max_steps` where both are given.
    pub min_steps: Option<u32>,
    /// 0 to 65536.
    pub max_steps: Option<u32>,
}

/// Levels of ChatTTS's text refinement; `None` leaves a level to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineSpec {
    /// 0 to 9.
    pub oral: Option<u8>,
    /// 0 to 2.
    pub laugh: Option<u8>,
    /// `break` on the wire, 0 to 7.
    #[serde(rename = "break")]
    pub pause: Option<u8>,
}

impl RefineSpec {
    /// The control tags of the refinement's prompt, such as `[oral_2][laugh_0][break_6]`.
    pub fn control(&self) -> String {
        let tags = [("oral", self.oral), ("laugh", self.laugh), ("break", self.pause)];
        tags.iter().filter_map(|(name, level)| Some(format!("[{name}_{}]", (*level)?))).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Sent as it is to be played.
    Realtime,
    /// Sent as it is made.
    Fast,
}

/// Reads a text frame. Of a key that is there twice, the last one counts. Texts must pass through [`super::Joiner`]
/// before they are spoken: they may begin or end within a character.
pub fn parse(text: &str) -> Result<ClientMessage, Refusal> {
    let map = match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map,
        Ok(other) => return Err(Refusal::not_an_object(kind(&other))),
        Err(e) => halves::read(text).ok_or_else(|| Refusal::not_an_object(&format!("invalid JSON ({e})")))?,
    };
    let id = map.get("id").and_then(Value::as_str).filter(|id| is_id(id));
    message(&map).map_err(|refusal| Refusal { id: id.map(String::from), ..refusal })
}

fn message(map: &Map<String, Value>) -> Result<ClientMessage, Refusal> {
    const TYPES: &str = "start, text, flush, cancel or ping";
    let fields = Fields::top(map);
    let kind = fields.string("type", TYPES)?.ok_or_else(|| fields.missing("type", TYPES))?;
    Ok(match kind {
        "start" => ClientMessage::Start(start(&fields)?),
        "text" => {
            let text = fields.string("text", TEXT)?.ok_or_else(|| fields.missing("text", TEXT))?;
            let last = fields.boolean("final")?.unwrap_or(false);
            ClientMessage::Text { id: id(&fields)?, text: text.into(), last }
        }
        "flush" => ClientMessage::Flush { id: id(&fields)? },
        "cancel" => ClientMessage::Cancel { id: id(&fields)? },
        "ping" => ClientMessage::Ping { data: map.get("data").cloned().unwrap_or_default() },
        other => return Err(Refusal::of_field(ErrorCode::UnknownType, "type".into(), TYPES, &quoted(other))),
    })
}

fn start(fields: &Fields) -> Result<Start, Refusal> {
    let default = Start::default();
    Ok(Start {
        id: id(fields)?,
        voice: voice(fields)?,
        seed: fields.integer("seed", 0..=MAX_SEED)?,
        format: format(fields)?,
        sampling: sampling(fields)?,
        refine: refine(fields)?,
        speed: fields.number("speed", "a number 0.25 to 4", |x| (0.25..=4.0).contains(&x))?.unwrap_or(default.speed),
        pace: fields.word("pace", &[("realtime", Pace::Realtime), ("fast", Pace::Fast)])?.unwrap_or(default.pace),
        lead_ms: fields.integer("lead_ms", 0..=10_000)?.unwrap_or(default.lead_ms),
        text: fields.string("text", TEXT)?.map(String::from),
        last: fields.boolean("final")?.unwrap_or(default.last),
    })
}

fn is_id(id: &str) -> bool {
    // Counting stops early: an id may be as long as a message.
    !id.is_empty() && id.chars().nth(MAX_ID).is_none()
}

fn id(fields: &Fields) -> Result<Option<String>, Refusal> {
    let expected = format!("a string of 1 to {MAX_ID} characters");
    match fields.string("id", &expected)? {
        Some(id) if !is_id(id) => {
            let found =
                if id.is_empty() { "an empty string".into() } else { format!("{} characters", id.chars().count()) };
            Err(Refusal::of_field(ErrorCode::BadValue, "id".into(), &expected, &found))
        }
        id => Ok(id.map(String::from)),
    }
}

fn voice(fields: &Fields) -> Result<Option<VoiceSpec>, Refusal> {
    const EXPECTED: &str = "a seed (an integer 0 to 4294967295), a voice's name, or a speaker or sample string";
    let Some(value) = fields.value("voice") else { return Ok(None) };
    match value {
        Value::Number(_) => match integral(value).and_then(|n| u32::try_from(n).ok()) {
            Some(seed) => Ok(Some(VoiceSpec::Seed(seed))),
            None => Err(fields.bad_value("voice", EXPECTED, value)),
        },
        Value::String(text) if !text.trim().is_empty() => Ok(Some(VoiceSpec::Text(text.clone()))),
        _ => Err(fields.bad_kind("voice", EXPECTED, value)),
    }
}

fn format(fields: &Fields) -> Result<FormatSpec, Refusal> {
    match fields.value("format") {
        None => Ok(FormatSpec::OPUS),
        Some(Value::String(_)) => Ok(fields.word("format", &CODECS)?.unwrap_or(FormatSpec::OPUS)),
        Some(Value::Object(map)) => format_object(&fields.within("format", map)),
        Some(other) => Err(fields.bad_kind("format", "\"opus\", \"pcm_s16le\" or an object with a codec", other)),
    }
}

fn format_object(fields: &Fields) -> Result<FormatSpec, Refusal> {
    let codec = fields.word("codec", &CODECS)?;
    Ok(match codec.ok_or_else(|| fields.missing("codec", "\"opus\" or \"pcm_s16le\""))? {
        FormatSpec::Opus { frame_ms, bitrate, fec, dtx, .. } => FormatSpec::Opus {
            frame_ms: fields.integer_of("frame_ms", &FRAME_MS)?.unwrap_or(frame_ms),
            bitrate: fields.integer("bitrate", 6_000..=256_000)?.unwrap_or(bitrate),
            complexity: fields.integer("complexity", 0..=10)?,
            fec: fields.boolean("fec")?.unwrap_or(fec),
            dtx: fields.boolean("dtx")?.unwrap_or(dtx),
        },
        FormatSpec::Pcm { sample_rate, frame_ms } => FormatSpec::Pcm {
            sample_rate: fields.integer_of("sample_rate", &[24_000, 16_000, 8_000])?.unwrap_or(sample_rate),
            frame_ms: fields.integer_of("frame_ms", &FRAME_MS)?.unwrap_or(frame_ms),
        },
    })
}

fn sampling(fields: &Fields) -> Result<SamplingSpec, Refusal> {
    const STEPS: std::ops::RangeInclusive<i64> = 0..=65_536;
    let fields = match fields.value("sampling") {
        None => return Ok(SamplingSpec::default()),
        Some(Value::Object(map)) => fields.within("sampling", map),
        Some(other) => return Err(fields.bad_kind("sampling", "an object", other)),
    };
    let temperature = |x: f32| x == 0.0 || (0.01..=5.0).contains(&x);
    let penalty = |x: f32| (0.5..=3.0).contains(&x);
    let spec = SamplingSpec {
        temperature: fields.number("temperature", "a number, 0 or 0.01 to 5", temperature)?,
        top_p: fields.number("top_p", "a number above 0, at most 1", |x| x > 0.0 && x <= 1.0)?,
        top_k: fields.integer("top_k", 1..=u32::MAX.into())?,
        repetition_penalty: fields.number("repetition_penalty", "a number 0.5 to 3", penalty)?,
        min_steps: fields.integer("min_steps", STEPS)?,
        max_steps: fields.integer("max_steps", STEPS)?,
    };
    match (spec.min_steps, spec.max_steps) {
        (Some(min), Some(max)) if min > max => {
            Err(fields.bad_value("min_steps", &format!("at most max_steps ({max})"), &min.into()))
        }
        _ => Ok(spec),
    }
}

fn refine(fields: &Fields) -> Result<Option<RefineSpec>, Refusal> {
    let fields = match fields.value("refine") {
        None | Some(Value::Bool(false)) => return Ok(None),
        Some(Value::Bool(true)) => return Ok(Some(RefineSpec::default())),
        Some(Value::Object(map)) => fields.within("refine", map),
        Some(other) => {
            return Err(fields.bad_kind("refine", "true, false or an object of oral, laugh and break", other));
        }
    };
    Ok(Some(RefineSpec {
        oral: fields.integer("oral", 0..=9)?,
        laugh: fields.integer("laugh", 0..=2)?,
        pause: fields.integer("break", 0..=7)?,
    }))
}

/// The wire's form of refinement: `false`, or the levels.
pub(super) fn refine_or_false<S: Serializer>(refine: &Option<RefineSpec>, serializer: S) -> Result<S::Ok, S::Error> {
    match refine {
        None => serializer.serialize_bool(false),
        Some(spec) => spec.serialize(serializer),
    }
}
