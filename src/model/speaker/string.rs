//! Speaker strings and sample strings, the two text forms in which ChatTTS users pass voices around.
//!
//! Both are base16384. A *speaker string* (`spk_emb` in the Python package) holds raw LZMA2 of `hidden` little-endian
//! f16: the speaker vector before L2 normalisation. A *sample string* (`spk_smp`) holds two little-endian u16, the
//! shape `[num_vq, steps]`, then raw LZMA2 of that many u16 codes, codebook by codebook. Nothing names the kind: a
//! stream of LZMA2 starts with 0x01 or 0xE0 and up, which no sensible number of codebooks does.

use half::f16;

use super::base16384::{self, Base16384Error};
use super::lzma2::{self, Lzma2Error};
use crate::model::dims::Dims;

/// What a string of this model may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringLayout {
    /// Values of a speaker vector.
    pub hidden: usize,
    pub num_vq: usize,
    /// Codes of each codebook, the end code not counted: a sample holds 0 to `codes - 1`.
    pub codes: u16,
    /// The longest sample, in decode steps.
    pub max_steps: usize,
}

impl StringLayout {
    pub fn of(dims: &Dims) -> Self {
        let gpt = &dims.gpt;
        // The shape field is a u16; and half of the positions must remain for the text and what is to be spoken.
        let max_steps = (gpt.max_position_embeddings / 2).clamp(1, usize::from(u16::MAX));
        Self { hidden: gpt.hidden_size, num_vq: gpt.num_vq, codes: gpt.end_code(), max_steps }
    }

    /// Characters of the longest acceptable string. LZMA2 of incompressible data grows by 3 bytes a chunk; an eighth
    /// and some more leaves room for encoders that cut smaller chunks.
    fn max_chars(&self) -> usize {
        let bytes = (2 * self.hidden).max(SHAPE_BYTES + 2 * self.num_vq * self.max_steps);
        (bytes + bytes / 8 + 64).div_ceil(7) * 4 + 1
    }
}

const SHAPE_BYTES: usize = 4;

/// What a string held.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// The speaker vector, `[hidden]`, not normalised.
    Embedding(Vec<f32>),
    /// A sample's codes, `[steps][num_vq]`.
    Codes(Vec<Vec<u16>>),
}

/// Which of the two strings an error speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringKind {
    Speaker,
    Sample,
}

impl std::fmt::Display for StringKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Speaker => "speaker string",
            Self::Sample => "sample string",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StringError {
    #[error("speaker string: expected at most {limit} characters, found {found} bytes of text")]
    TooLong { limit: usize, found: usize },
    #[error("speaker string: base16384: {0}")]
    Base16384(#[from] Base16384Error),
    #[error("speaker string: expected LZMA2 data or a sample's shape, found the bytes {0:02x?}")]
    Unknown(Vec<u8>),
    #[error("{kind}: LZMA2: {source}")]
    Lzma2 { kind: StringKind, source: Lzma2Error },
    #[error("speaker string: expected {expected} f16 values, found {found}")]
    Values { expected: usize, found: String },
    #[error("speaker string: {0}")]
    Vector(#[from] VectorError),
    #[error("sample string: shape: expected {num_vq} codebooks and 1 to {max_steps} steps, found {found:?}")]
    Shape { num_vq: usize, max_steps: usize, found: [usize; 2] },
    #[error("sample string: expected {expected} bytes of codes as its shape says, found {found}")]
    CodeBytes { expected: usize, found: usize },
    #[error("sample string: step {step}, codebook {codebook}: expected a code below {codes}, found {found}")]
    Code { step: usize, codebook: usize, codes: u16, found: u16 },
}

/// What no speaker vector may be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum VectorError {
    #[error("value {position}: expected a finite number, found {found}")]
    NonFinite { position: usize, found: f32 },
    #[error("expected a vector with a direction, found all zeros")]
    Zero,
    #[error("value {position}: expected at most 65504, which f16 can hold, found {found}")]
    Range { position: usize, found: f32 },
}

/// Refuses vectors that have no direction: non-finite values (positions count from 1) or nothing but zeros.
pub fn check_vector(values: &[f32]) -> Result<(), VectorError> {
    if let Some(i) = values.iter().position(|v| !v.is_finite()) {
        return Err(VectorError::NonFinite { position: i + 1, found: values[i] });
    }
    if values.iter().all(|&v| v == 0.0) { Err(VectorError::Zero) } else { Ok(()) }
}

/// Decodes a string of either kind. Its length is looked at before anything else, and unpacking is bounded.
pub fn decode(text: &str, layout: &StringLayout) -> Result<Payload, StringError> {
    let text = text.trim();
    let limit = layout.max_chars();
    // Three bytes a character in UTF-8.
    if text.len() > 3 * limit {
        return Err(StringError::TooLong { limit, found: text.len() });
    }
    let bytes = base16384::decode(text)?;
    let speaker = bytes.first().is_some_and(|&b| lzma2::can_start(b));
    let sample =
        bytes.len() > SHAPE_BYTES && (lzma2::can_start(bytes[SHAPE_BYTES]) || shape(&bytes)[0] == layout.num_vq);
    match (speaker, sample) {
        (true, false) => decode_embedding(&bytes, layout),
        (false, true) => decode_codes(&bytes, layout),
        // Byte 4 of a speaker string is part of a length and may be anything; with one codebook the first byte of
        // a sample string is 0x01.
        (true, true) => decode_embedding(&bytes, layout).or_else(|e| decode_codes(&bytes, layout).map_err(|_| e)),
        (false, false) => Err(StringError::Unknown(bytes.into_iter().take(SHAPE_BYTES + 1).collect())),
    }
}

/// Encodes a speaker vector as the Python package does: rounded to f16.
pub fn encode_embedding(values: &[f32]) -> Result<String, StringError> {
    check_vector(values)?;
    let halves: Vec<f16> = values.iter().map(|&v| f16::from_f32(v)).collect();
    if let Some(i) = halves.iter().position(|h| !h.is_finite()) {
        return Err(VectorError::Range { position: i + 1, found: values[i] }.into());
    }
    check_vector(&halves.iter().map(|h| h.to_f32()).collect::<Vec<_>>())?;
    let bytes: Vec<u8> = halves.iter().flat_map(|h| h.to_le_bytes()).collect();
    Ok(base16384::encode(&lzma2::compress(&bytes)))
}

/// Encodes a sample's codes, `[steps][num_vq]`.
pub fn encode_codes(codes: &[Vec<u16>], layout: &StringLayout) -> Result<String, StringError> {
    check_codes(codes, layout)?;
    let mut payload: Vec<u8> =
        [layout.num_vq as u16, codes.len() as u16].iter().flat_map(|n| n.to_le_bytes()).collect();
    let by_book = (0..layout.num_vq).flat_map(|book| codes.iter().map(move |step| step[book]));
    payload.extend(lzma2::compress(&by_book.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()));
    Ok(base16384::encode(&payload))
}

/// Checks the shape and range of `[steps][num_vq]` codes, wherever they come from.
pub fn check_codes(codes: &[Vec<u16>], layout: &StringLayout) -> Result<(), StringError> {
    let books = codes.iter().map(Vec::len).find(|&n| n != layout.num_vq).unwrap_or(layout.num_vq);
    check_shape([books, codes.len()], layout)?;
    for (i, step) in codes.iter().enumerate() {
        if let Some(book) = step.iter().position(|&c| c >= layout.codes) {
            let (step_number, codebook) = (i + 1, book + 1);
            return Err(StringError::Code { step: step_number, codebook, codes: layout.codes, found: step[book] });
        }
    }
    Ok(())
}

fn check_shape(found: [usize; 2], layout: &StringLayout) -> Result<(), StringError> {
    let (num_vq, max_steps) = (layout.num_vq, layout.max_steps);
    let fits = found[0] == num_vq && (1..=max_steps).contains(&found[1]);
    if fits { Ok(()) } else { Err(StringError::Shape { num_vq, max_steps, found }) }
}

fn decode_embedding(bytes: &[u8], layout: &StringLayout) -> Result<Payload, StringError> {
    let expected = layout.hidden;
    // Room for four times the length, so that a vector of another model is named by its size.
    let unpacked = lzma2::decompress(bytes, 8 * expected)
        .map_err(|source| StringError::Lzma2 { kind: StringKind::Speaker, source })?;
    if unpacked.len() != 2 * expected {
        let odd = if unpacked.len().is_multiple_of(2) { "" } else { " and a half" };
        return Err(StringError::Values { expected, found: format!("{}{odd}", unpacked.len() / 2) });
    }
    let values: Vec<f32> = unpacked.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect();
    check_vector(&values)?;
    Ok(Payload::Embedding(values))
}

fn decode_codes(bytes: &[u8], layout: &StringLayout) -> Result<Payload, StringError> {
    let [books, steps] = shape(bytes);
    check_shape([books, steps], layout)?;
    let expected = 2 * books * steps;
    let unpacked = lzma2::decompress(&bytes[SHAPE_BYTES..], expected)
        .map_err(|source| StringError::Lzma2 { kind: StringKind::Sample, source })?;
    if unpacked.len() != expected {
        return Err(StringError::CodeBytes { expected, found: unpacked.len() });
    }
    let code = |step: usize, book: usize| {
        let at = 2 * (book * steps + step);
        u16::from_le_bytes([unpacked[at], unpacked[at + 1]])
    };
    let codes: Vec<Vec<u16>> = (0..steps).map(|step| (0..books).map(|book| code(step, book)).collect()).collect();
    check_codes(&codes, layout)?;
    Ok(Payload::Codes(codes))
}

/// The two u16 a sample string begins with; the caller has checked that they are there.
fn shape(bytes: &[u8]) -> [usize; 2] {
    [0, 2].map(|at| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])))
}
