//! WAV: writers for files and for pipes, and a reader for speaker samples.
//!
//! Written: 16-bit PCM, little-endian, mono, a 44-byte header. Read: PCM of 8, 16, 24 or 32 bits or 32-bit float, 1 to
//! 8 channels mixed to one, 8 to 96 kHz, with or without WAVE_FORMAT_EXTENSIBLE, sizes stated or left open.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use super::{AudioError, Sink, pcm};

/// The size that stands for "until the stream ends".
const UNKNOWN: u32 = u32::MAX;

/// The header before the samples; `data_bytes` is [`None`] for a stream of unknown length.
pub fn header(sample_rate: u32, data_bytes: Option<u32>) -> [u8; 44] {
    let riff_bytes = data_bytes.map_or(UNKNOWN, |n| n.saturating_add(36));
    let mut out = [0; 44];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"RIFF");
    put(&riff_bytes.to_le_bytes());
    put(b"WAVEfmt ");
    put(&16u32.to_le_bytes());
    put(&1u16.to_le_bytes()); // PCM
    put(&1u16.to_le_bytes()); // channels
    put(&sample_rate.to_le_bytes());
    put(&(sample_rate * 2).to_le_bytes()); // bytes a second
    put(&2u16.to_le_bytes()); // bytes a frame
    put(&16u16.to_le_bytes()); // bits a sample
    put(b"data");
    put(&data_bytes.unwrap_or(UNKNOWN).to_le_bytes());
    out
}

/// A whole WAV file in memory.
pub fn encode(pcm: &[f32], sample_rate: u32) -> Vec<u8> {
    let mut out = header(sample_rate, Some((pcm.len() * 2).try_into().unwrap_or(UNKNOWN))).to_vec();
    pcm::extend_s16le(&mut out, pcm);
    out
}

/// Writes to something that cannot be sought: both sizes stay 0xFFFFFFFF. Flushed after every write.
pub struct StreamSink<W> {
    out: W,
    name: String,
    bytes: Vec<u8>,
}

impl<W: Write> StreamSink<W> {
    /// Writes the header at once. `name` is what errors call the output.
    pub fn new(mut out: W, name: &str, sample_rate: u32) -> Result<Self, AudioError> {
        out.write_all(&header(sample_rate, None)).map_err(AudioError::io(name))?;
        Ok(Self { out, name: name.to_string(), bytes: Vec::new() })
    }
}

impl<W: Write + Send> Sink for StreamSink<W> {
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError> {
        self.bytes.clear();
        pcm::extend_s16le(&mut self.bytes, pcm);
        self.out.write_all(&self.bytes).and_then(|()| self.out.flush()).map_err(AudioError::io(&self.name))
    }

    fn finish(mut self: Box<Self>) -> Result<(), AudioError> {
        self.out.flush().map_err(AudioError::io(&self.name))
    }
}

/// Writes to a file and patches both sizes at the end. Until then they read 0xFFFFFFFF, so that what a broken run
/// leaves behind still plays.
pub struct FileSink {
    out: BufWriter<File>,
    name: String,
    sample_rate: u32,
    bytes: Vec<u8>,
    written: u64,
}

impl FileSink {
    /// `file` is empty and regular; `name` is what errors call it.
    pub fn new(file: File, name: &str, sample_rate: u32) -> Result<Self, AudioError> {
        let mut out = BufWriter::new(file);
        out.write_all(&header(sample_rate, None)).map_err(AudioError::io(name))?;
        Ok(Self { out, name: name.to_string(), sample_rate, bytes: Vec::new(), written: 0 })
    }

    fn patch_sizes(&mut self) -> std::io::Result<()> {
        // Past 4 GiB (a day of speech) the format cannot say it: the sizes stay open.
        let size = u32::try_from(self.written).ok().filter(|n| *n <= UNKNOWN - 36);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header(self.sample_rate, size))?;
        self.out.flush()
    }
}

impl Sink for FileSink {
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError> {
        self.bytes.clear();
        pcm::extend_s16le(&mut self.bytes, pcm);
        self.written += self.bytes.len() as u64;
        self.out.write_all(&self.bytes).map_err(AudioError::io(&self.name))
    }

    fn finish(mut self: Box<Self>) -> Result<(), AudioError> {
        self.patch_sizes().map_err(AudioError::io(&self.name))
    }
}

/// Samples read from a WAV file, mixed to mono.
#[derive(Clone, Debug, PartialEq)]
pub struct Wav {
    pub sample_rate: u32,
    /// Channels the file had.
    pub channels: u16,
    /// Mono, -1..1 (float files may exceed that).
    pub pcm: Vec<f32>,
}

/// Reads a WAV file held in memory. `name` is what errors call it.
pub fn decode(bytes: &[u8], name: &str) -> Result<Wav, AudioError> {
    decode_fields(bytes).map_err(|Wrong { field, expected, found }| AudioError::Wav {
        file: name.to_string(),
        field,
        expected: expected.into(),
        found,
    })
}

/// A field that is not what it should be.
struct Wrong {
    field: &'static str,
    expected: &'static str,
    found: String,
}

fn wrong<T>(field: &'static str, expected: &'static str, found: impl ToString) -> Result<T, Wrong> {
    Err(Wrong { field, expected, found: found.to_string() })
}

#[derive(Clone, Copy)]
enum Encoding {
    U8,
    S16,
    S24,
    S32,
    F32,
}

impl Encoding {
    fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::S16 => 2,
            Self::S24 => 3,
            Self::S32 | Self::F32 => 4,
        }
    }

    /// `b` holds exactly [`Encoding::bytes`] bytes.
    fn sample(self, b: &[u8]) -> f32 {
        match self {
            Self::U8 => (b[0] as f32 - 128.0) / 128.0,
            Self::S16 => i16::from_le_bytes([b[0], b[1]]) as f32 / 32_768.0,
            Self::S24 => i32::from_le_bytes([0, b[0], b[1], b[2]]) as f32 / 2_147_483_648.0,
            Self::S32 => i32::from_le_bytes([b[0], b[1], b[2], b[3]]) as f32 / 2_147_483_648.0,
            Self::F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        }
    }
}

struct Layout {
    encoding: Encoding,
    channels: u16,
    sample_rate: u32,
}

fn decode_fields(bytes: &[u8]) -> Result<Wav, Wrong> {
    match (bytes.get(..4), bytes.get(8..12)) {
        (Some(b"RIFF"), Some(b"WAVE")) => {}
        (Some(b"RIFF"), _) => return wrong("RIFF form", "WAVE", printable(bytes.get(8..12).unwrap_or_default())),
        (head, _) => return wrong("RIFF", "a WAV file (RIFF ... WAVE)", printable(head.unwrap_or(bytes))),
    }
    let mut layout = None;
    let mut at = 12;
    while let (Some(id), Some(size)) = (bytes.get(at..at + 4), u32_at(bytes, at + 4)) {
        let body = &bytes[at + 8..];
        if id == b"data" {
            let Some(layout) = layout else {
                return wrong("fmt", "a format chunk before the data", "none");
            };
            return samples(&layout, body, size);
        }
        if id == b"fmt " {
            layout = Some(format(body.get(..size as usize).unwrap_or(body))?);
        }
        // Chunks start at even offsets. A size past the end of the file ends the walk.
        at = at.saturating_add(8).saturating_add(size as usize).saturating_add(size as usize & 1);
        if at > bytes.len() {
            break;
        }
    }
    match layout {
        Some(_) => wrong("data", "a chunk of samples", "none (truncated?)"),
        None => wrong("fmt", "a format chunk", "none"),
    }
}

fn format(body: &[u8]) -> Result<Layout, Wrong> {
    let field = |at| u16_at(body, at);
    let (Some(tag), Some(channels), Some(sample_rate), Some(frame), Some(bits)) =
        (field(0), field(2), u32_at(body, 4), field(12), field(14))
    else {
        return wrong("fmt", "at least 16 bytes", body.len());
    };
    // WAVE_FORMAT_EXTENSIBLE: the tag is the start of the sub-format's GUID.
    let tag = match (tag, field(24)) {
        (0xFFFE, Some(inner)) => inner,
        (0xFFFE, None) => return wrong("fmt", "40 bytes for an extensible format", body.len()),
        (tag, _) => tag,
    };
    let encoding = match (tag, bits) {
        (1, 8) => Encoding::U8,
        (1, 16) => Encoding::S16,
        (1, 24) => Encoding::S24,
        (1, 32) => Encoding::S32,
        (3, 32) => Encoding::F32,
        (1, _) => return wrong("fmt bits per sample", "8, 16, 24 or 32 for PCM", bits),
        (3, _) => return wrong("fmt bits per sample", "32 for float", bits),
        _ => return wrong("fmt format tag", "1 (PCM) or 3 (float)", tag),
    };
    if !(1..=8).contains(&channels) {
        return wrong("fmt channels", "1 to 8", channels);
    }
    if !(8_000..=96_000).contains(&sample_rate) {
        return wrong("fmt sample rate", "8000 to 96000 Hz", sample_rate);
    }
    if frame as usize != encoding.bytes() * channels as usize {
        return wrong("fmt block align", "channels x bytes per sample", frame);
    }
    Ok(Layout { encoding, channels, sample_rate })
}

fn samples(layout: &Layout, body: &[u8], size: u32) -> Result<Wav, Wrong> {
    // Writers to pipes leave 0, 0xFFFFFFFF or something just under 2 or 4 GiB: read to the end of the file.
    let open = size == 0 || size >= 0x7FFF_0000;
    let frame = layout.encoding.bytes() * layout.channels as usize;
    let data = match body.get(..size as usize) {
        _ if open => &body[..body.len() / frame * frame],
        Some(data) if data.len() % frame == 0 => data,
        Some(data) => return wrong("data size", "a whole number of frames", format!("{} bytes", data.len())),
        None => {
            return wrong("data", "as many bytes as its size says", format!("{} of {size} (truncated)", body.len()));
        }
    };
    let mut pcm = Vec::with_capacity(data.len() / frame);
    for frame in data.chunks_exact(frame) {
        let sum: f32 = frame.chunks_exact(layout.encoding.bytes()).map(|b| layout.encoding.sample(b)).sum();
        if !sum.is_finite() {
            return wrong("data", "finite samples", format!("{sum} in frame {}", pcm.len()));
        }
        pcm.push(sum / layout.channels as f32);
    }
    Ok(Wav { sample_rate: layout.sample_rate, channels: layout.channels, pcm })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn printable(bytes: &[u8]) -> String {
    if bytes.is_empty() { "nothing".to_string() } else { format!("\"{}\"", bytes.escape_ascii()) }
}

#[cfg(test)]
mod tests;
