//! What a user may name as a voice, parsed once into a [`Voice`].

use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Read;
use std::path::{Path, PathBuf};

use half::f16;

use super::numbers::{self, NumbersError};
use super::recording::{self, RecordingError};
use super::stats::SpeakerStats;
use super::string::{self, Payload, StringError, StringKind, StringLayout};
use crate::model::dims::Dims;

const WAV_MAGIC: &[u8] = b"RIFF";
/// Largest recording read: 30 s of the widest WAV format take 92 MB.
const MAX_WAV_BYTES: u64 = 96 << 20;
/// Largest file read as text.
const MAX_TEXT_BYTES: u64 = numbers::MAX_TEXT_BYTES as u64;
/// Longest text of a sample, in bytes; 30 s of speech are some 500 letters.
const MAX_SAMPLE_TEXT: usize = 4096;

/// Turns mono PCM at the model's sample rate into codes, `[steps, num_vq]` in one row after the other: mel, DVAE
/// encoder, quantiser.
pub type EncodeSample<'a> = dyn Fn(&[f32]) -> Result<Vec<u16>, String> + 'a;

/// What parsing a voice needs to know of the model, and what comes with the voice.
pub struct VoiceContext<'a> {
    layout: StringLayout,
    sample_rate: u32,
    stats: Option<&'a SpeakerStats>,
    encode: Option<&'a EncodeSample<'a>>,
    sample_text: Option<&'a str>,
}

impl<'a> VoiceContext<'a> {
    /// A context without statistics (seeds are refused), encoder (recordings are refused) and text.
    pub fn new(dims: &Dims) -> Self {
        let (layout, sample_rate) = (StringLayout::of(dims), dims.vocos.sample_rate);
        Self { layout, sample_rate, stats: None, encode: None, sample_text: None }
    }

    pub fn with_stats(self, stats: Option<&'a SpeakerStats>) -> Self {
        Self { stats, ..self }
    }

    pub fn with_encoder(self, encode: &'a EncodeSample<'a>) -> Self {
        Self { encode: Some(encode), ..self }
    }

    /// The words spoken in a sample or recording; they win over words found in or beside the file.
    pub fn with_sample_text(self, text: Option<&'a str>) -> Self {
        Self { sample_text: text, ..self }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    #[error("voice seed: expected 0 to 4294967295, found {0}")]
    SeedRange(String),
    #[error(
        "voice seed {0}: expected the model's speaker statistics (spk_stat in its configuration, or speaker_stats.txt \
         beside asset/), found none"
    )]
    NoStatistics(u32),
    #[error("voice {found:?}: expected a seed, an existing file, {hidden} numbers or a speaker string ({reason})")]
    Unknown { found: String, hidden: usize, reason: Box<StringError> },
    #[error(transparent)]
    String(#[from] StringError),
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    #[error("{file}: {source}")]
    File { file: PathBuf, source: Box<VoiceError> },
    #[error("{0}")]
    Io(std::io::Error),
    #[error("expected at most {limit} bytes, found more")]
    FileSize { limit: u64 },
    #[error(
        "expected a WAV file, numbers, a speaker string or a seed, found {found}; such files can run code when \
         loaded: export the vector as numbers or a speaker string"
    )]
    RunsCode { found: &'static str },
    #[error("expected a WAV file, numbers, a speaker string or a seed, found {found}")]
    Foreign { found: &'static str },
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("recording: expected a model that can encode audio, found none")]
    NoEncoder,
    #[error("recording: DVAE encoder: {0}")]
    Encoder(String),
    #[error("recording: DVAE encoder: {0}")]
    EncoderCodes(StringError),
    #[error("sample text: expected at most {MAX_SAMPLE_TEXT} bytes, found {0}")]
    SampleTextLength(usize),
    #[error("sample: expected the words spoken in it, found none")]
    NoSampleText,
    #[error("expected a {expected}, found a {found}")]
    Kind { expected: StringKind, found: StringKind },
}

/// The form a voice came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Seed(u32),
    Numbers,
    SpeakerString,
    SampleString,
    Recording,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "seed {seed}"),
            Self::Numbers => f.write_str("numbers"),
            Self::SpeakerString => f.write_str("speaker string"),
            Self::SampleString => f.write_str("sample string"),
            Self::Recording => f.write_str("recording"),
        }
    }
}

/// A voice, checked and ready for the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Voice {
    source: Source,
    file: Option<PathBuf>,
    kind: VoiceKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum VoiceKind {
    /// The speaker vector, `[hidden]`, as it stands before L2 normalisation.
    Embedding(Vec<f32>),
    Sample(Sample),
}

/// Somebody's speech, to be continued: its codes follow the prompt, its words precede the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// `[steps][num_vq]`
    pub codes: Vec<Vec<u16>>,
    /// The words spoken in it. A sample string does not carry them.
    pub text: Option<String>,
}

impl Voice {
    /// Parses what a user typed, in this order: decimal digits are a seed; the path of an existing file is that file;
    /// the rest is text as in [`Voice::parse_text`]. A file may hold any of these except another path, or be a WAV
    /// recording; `NAME.txt` beside `NAME.wav`, or the lines after a sample string, are the sample's words.
    pub fn parse(spec: &str, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        let path = Path::new(spec.trim());
        if !is_digits(spec.trim()) && path.is_file() {
            return Self::from_file(path, ctx);
        }
        Self::parse_text(spec, ctx)
    }

    /// Parses a seed, numbers or a string, and touches no file: for text that comes from the network.
    pub fn parse_text(text: &str, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        let text = text.trim().trim_start_matches('\u{feff}');
        if is_digits(text) {
            return Self::from_seed(text.parse().map_err(|_| VoiceError::SeedRange(shorten(text)))?, ctx);
        }
        if text.strip_prefix(['-', '+']).is_some_and(is_digits) {
            return Err(VoiceError::SeedRange(shorten(text)));
        }
        if numbers::looks_like_numbers(text) {
            let values = numbers::parse(text, ctx.layout.hidden)?;
            return Ok(Self::new(Source::Numbers, VoiceKind::Embedding(values)));
        }
        Self::from_string(text, ctx)
    }

    /// The voice of a seed, as public voice lists mean it. The seed that draws codes is another matter.
    pub fn from_seed(seed: u32, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        let stats = ctx.stats.ok_or(VoiceError::NoStatistics(seed))?;
        let values = stats.voice(seed);
        string::check_vector(&values).map_err(StringError::from)?;
        Ok(Self::new(Source::Seed(seed), VoiceKind::Embedding(values)))
    }

    /// A voice by a fresh random seed, which [`Voice::source`] tells.
    pub fn draw(ctx: &VoiceContext) -> Result<Self, VoiceError> {
        Self::from_seed(draw_seed(), ctx)
    }

    /// Reads a voice file; content decides what it is, never the name.
    pub fn from_file(path: &Path, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        let voice = read_voice_file(path).and_then(|bytes| match bytes.starts_with(WAV_MAGIC) {
            true => {
                let beside = ctx.sample_text.is_none().then(|| text_beside(path)).transpose()?.flatten();
                Self::from_wav(&bytes, ctx.sample_text.or(beside.as_deref()), ctx)
            }
            false => Self::from_bytes(&bytes, ctx),
        });
        match voice {
            Ok(voice) => Ok(Self { file: Some(path.to_path_buf()), ..voice }),
            // A file's content may be private and is not repeated.
            Err(VoiceError::Unknown { hidden, reason, .. }) => {
                let source = VoiceError::Unknown { found: "the content".into(), hidden, reason };
                Err(VoiceError::File { file: path.to_path_buf(), source: Box::new(source) })
            }
            Err(e) => Err(VoiceError::File { file: path.to_path_buf(), source: Box::new(e) }),
        }
    }

    /// Parses a voice file's content, an upload for instance. PyTorch files, pickles and archives are refused unread.
    pub fn from_bytes(bytes: &[u8], ctx: &VoiceContext) -> Result<Self, VoiceError> {
        if let Some(found) = code_container(bytes) {
            return Err(VoiceError::RunsCode { found });
        }
        if bytes.starts_with(WAV_MAGIC) {
            return Self::from_wav(bytes, ctx.sample_text, ctx);
        }
        if let Some(found) = foreign_content(bytes) {
            return Err(VoiceError::Foreign { found });
        }
        if bytes.len() as u64 > MAX_TEXT_BYTES {
            return Err(VoiceError::FileSize { limit: MAX_TEXT_BYTES });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| VoiceError::Foreign { found: "bytes that are not UTF-8" })?;
        let text = text.trim().trim_start_matches('\u{feff}');
        match text.split_once('\n') {
            Some((first, words)) if first.chars().take(8).all(super::base16384::is_base16384) => {
                Self::from_string_and_words(first.trim(), words.trim(), ctx)
            }
            _ => Self::parse_text(text, ctx),
        }
    }

    /// A recording of 3 to 30 s with the words spoken in it.
    pub fn from_wav(bytes: &[u8], words: Option<&str>, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        let pcm = recording::read_wav(bytes, ctx.sample_rate)?;
        let encode = ctx.encode.ok_or(VoiceError::NoEncoder)?;
        let flat = encode(&pcm).map_err(VoiceError::Encoder)?;
        let codes: Vec<Vec<u16>> = flat.chunks(ctx.layout.num_vq).map(<[u16]>::to_vec).collect();
        string::check_codes(&codes, &ctx.layout).map_err(VoiceError::EncoderCodes)?;
        Ok(Self::new(Source::Recording, VoiceKind::Sample(Sample { codes, text: sample_text(words)? })))
    }

    fn from_string(text: &str, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        match string::decode(text, &ctx.layout) {
            Ok(Payload::Embedding(values)) => Ok(Self::new(Source::SpeakerString, VoiceKind::Embedding(values))),
            Ok(Payload::Codes(codes)) => {
                let sample = Sample { codes, text: sample_text(ctx.sample_text)? };
                Ok(Self::new(Source::SampleString, VoiceKind::Sample(sample)))
            }
            // A name or a path that does not exist: say what would have been accepted.
            Err(reason) if !text.chars().next().is_some_and(super::base16384::is_base16384) => {
                let (found, hidden) = (shorten(text), ctx.layout.hidden);
                Err(VoiceError::Unknown { found, hidden, reason: Box::new(reason) })
            }
            Err(e) => Err(e.into()),
        }
    }

    fn from_string_and_words(line: &str, words: &str, ctx: &VoiceContext) -> Result<Self, VoiceError> {
        let mut voice = Self::from_string(line, ctx)?;
        match &mut voice.kind {
            VoiceKind::Sample(sample) if sample.text.is_none() => sample.text = sample_text(Some(words))?,
            VoiceKind::Sample(_) => {}
            VoiceKind::Embedding(_) => {
                return Err(VoiceError::Foreign { found: "a speaker string with more lines after it" });
            }
        }
        Ok(voice)
    }

    fn new(source: Source, kind: VoiceKind) -> Self {
        Self { source, file: None, kind }
    }

    pub fn source(&self) -> Source {
        self.source
    }

    /// The file it was read from.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub fn kind(&self) -> &VoiceKind {
        &self.kind
    }

    /// The speaker vector before normalisation, or an error that names the other kind.
    pub fn embedding(&self) -> Result<&[f32], VoiceError> {
        match &self.kind {
            VoiceKind::Embedding(values) => Ok(values),
            VoiceKind::Sample(_) => Err(VoiceError::Kind { expected: StringKind::Speaker, found: StringKind::Sample }),
        }
    }

    /// The sample, or an error that names the other kind.
    pub fn sample(&self) -> Result<&Sample, VoiceError> {
        match &self.kind {
            VoiceKind::Sample(sample) => Ok(sample),
            VoiceKind::Embedding(_) => {
                Err(VoiceError::Kind { expected: StringKind::Sample, found: StringKind::Speaker })
            }
        }
    }

    /// The L2-normalised speaker vector that takes the place of `[spk_emb]`; `None` for a sample.
    ///
    /// The Python package keeps a speaker string's vector in f16 and normalises it in f16, and public seed voices in
    /// f32; the two differ by up to 5e-4 of a component, enough to change sampled codes. So does this.
    pub fn normalized(&self) -> Option<Vec<f32>> {
        match (&self.kind, self.source) {
            (VoiceKind::Sample(_), _) => None,
            (VoiceKind::Embedding(values), Source::SpeakerString) => Some(normalize_f16(values)),
            (VoiceKind::Embedding(values), _) => Some(normalize(values)),
        }
    }

    /// The text form: a speaker string or a sample string, readable by the Python package.
    pub fn encode(&self, ctx: &VoiceContext) -> Result<String, VoiceError> {
        Ok(match &self.kind {
            VoiceKind::Embedding(values) => string::encode_embedding(values)?,
            VoiceKind::Sample(sample) => string::encode_codes(&sample.codes, &ctx.layout)?,
        })
    }
}

impl Sample {
    /// The words spoken in the sample, without which the model cannot tell its speech from what is to be said.
    pub fn words(&self) -> Result<&str, VoiceError> {
        self.text.as_deref().ok_or(VoiceError::NoSampleText)
    }
}

/// A seed that nobody chose: from the random keys that the standard library takes from the operating system.
pub fn draw_seed() -> u32 {
    RandomState::new().build_hasher().finish() as u32
}

/// x / max(|x|, 1e-12), the norm taken in f64.
pub fn normalize(values: &[f32]) -> Vec<f32> {
    let norm = l2_norm(values).max(1e-12);
    values.iter().map(|&v| (f64::from(v) / norm) as f32).collect()
}

/// The L2 norm, in f64 so that no finite vector overflows.
pub fn l2_norm(values: &[f32]) -> f64 {
    values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}

/// As PyTorch normalises an f16 vector: the norm rounded to f16, then each quotient. Where f16 cannot hold the norm,
/// PyTorch gives zeros or infinities; the f32 way is taken instead.
fn normalize_f16(values: &[f32]) -> Vec<f32> {
    let norm = f16::from_f64(l2_norm(values)).to_f32();
    if !norm.is_normal() {
        return normalize(values);
    }
    values.iter().map(|&v| f16::from_f32(v / norm).to_f32()).collect()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn sample_text(words: Option<&str>) -> Result<Option<String>, VoiceError> {
    match words.map(str::trim).filter(|w| !w.is_empty()) {
        Some(words) if words.len() > MAX_SAMPLE_TEXT => Err(VoiceError::SampleTextLength(words.len())),
        words => Ok(words.map(str::to_string)),
    }
}

/// The words of `NAME.wav` in `NAME.txt`.
fn text_beside(wav: &Path) -> Result<Option<String>, VoiceError> {
    let path = wav.with_extension("txt");
    if !path.is_file() {
        return Ok(None);
    }
    let words = File::open(&path)
        .map_err(VoiceError::Io)
        .and_then(|file| read_bounded(file, Vec::new(), MAX_SAMPLE_TEXT as u64))
        .and_then(|b| String::from_utf8(b).map_err(|_| VoiceError::Foreign { found: "bytes that are not UTF-8" }));
    words.map(Some).map_err(|e| VoiceError::File { file: path, source: Box::new(e) })
}

/// Reads a file as far as its kind may be long.
fn read_voice_file(path: &Path) -> Result<Vec<u8>, VoiceError> {
    let mut file = File::open(path).map_err(VoiceError::Io)?;
    let mut bytes = Vec::new();
    (&mut file).take(WAV_MAGIC.len() as u64).read_to_end(&mut bytes).map_err(VoiceError::Io)?;
    let limit = if bytes == WAV_MAGIC { MAX_WAV_BYTES } else { MAX_TEXT_BYTES };
    read_bounded(file, bytes, limit)
}

/// Reads the rest of a file of which `bytes` have been read.
fn read_bounded(file: File, mut bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, VoiceError> {
    file.take(limit + 1 - bytes.len() as u64).read_to_end(&mut bytes).map_err(VoiceError::Io)?;
    if bytes.len() as u64 > limit { Err(VoiceError::FileSize { limit }) } else { Ok(bytes) }
}

/// Containers that a loader would have to execute or unpack.
fn code_container(bytes: &[u8]) -> Option<&'static str> {
    let tar = bytes.get(257..262) == Some(b"ustar");
    match bytes {
        [b'P', b'K', 3 | 5 | 7, 4 | 6 | 8, ..] => Some("a zip archive (a PyTorch .pt file is one)"),
        [0x80, 0..=5, ..] => Some("a Python pickle (an old PyTorch .pt file is one)"),
        [b'c' | b'(' | b']' | b'}', ..] if bytes.ends_with(b".") && bytes.contains(&b'\n') => Some("a Python pickle"),
        [0x1F, 0x8B, ..] => Some("a gzip archive"),
        _ if tar => Some("a tar archive"),
        _ => None,
    }
}

/// Files that people take for a voice, by their first bytes.
fn foreign_content(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 7] = [
        (b"\x93NUMPY", "a NumPy array: export it as text"),
        (b"OggS", "an Ogg file: convert it to WAV"),
        (b"fLaC", "a FLAC file: convert it to WAV"),
        (b"ID3", "an MP3 file: convert it to WAV"),
        (b"\xFF\xFB", "an MP3 file: convert it to WAV"),
        (b"RF64", "an RF64 file: convert it to plain WAV"),
        (b"version https://git-lfs", "a Git-LFS pointer: fetch the file itself"),
    ];
    let empty = bytes.is_empty().then_some("an empty file");
    empty.or_else(|| KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|&(_, name)| name))
}

/// The beginning of what a user gave, for a one-line message.
fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
