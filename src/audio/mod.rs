//! Containers and sample formats. A leaf: knows no model, no text, no web.
//!
//! PCM is f32, mono, nominally -1..1, at the rate the model's config states (24 kHz for ChatTTS). It leaves through a
//! [`Sink`]: a WAV or Ogg Opus file or stream, or the system's player; or as the packets of a stream, through an
//! [`encode::StreamEncoder`]. The bytes of either depend on the samples alone, never on how they were cut into chunks.

pub mod downsample;
pub mod encode;
pub mod ogg_opus;
pub mod opus_packets;
pub mod pcm;
pub mod play;
pub mod resample;
pub mod stretch;
#[cfg(test)]
mod test_signal;
pub mod wav;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum AudioError {
    #[error("{file}: {source}")]
    Io { file: String, source: io::Error },
    #[error("{file}: {field}: expected {expected}, found {found}")]
    Wav { file: String, field: &'static str, expected: String, found: String },
    #[error("output {name:?}: expected a name ending in .wav, .opus or .ogg, or -, or a --format")]
    UnknownFormat { name: String },
    #[error("opus: {step}: {source}")]
    Opus { step: &'static str, source: opus::Error },
    #[error("format: {0}")]
    Format(#[from] encode::FormatError),
    #[error("resample: expected rates the resampler can join, found {from} Hz to {to} Hz ({reason})")]
    Resample { from: u32, to: u32, reason: String },
    #[error("play: expected one of {tried} on the PATH, found none")]
    NoPlayer { tried: String },
    #[error("play: {player}: {what}")]
    Player { player: String, what: String },
}

impl AudioError {
    fn io(file: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Io { file, source }
    }
}

/// Where an utterance's PCM goes.
pub trait Sink: Send {
    /// Takes the next samples: f32, mono, at the rate the sink was opened with.
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError>;

    /// Writes what is still held and completes the container. A sink dropped without this leaves a file that plays
    /// but whose header does not state its length.
    fn finish(self: Box<Self>) -> Result<(), AudioError>;
}

/// A container this crate writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// 16-bit PCM, little-endian, mono.
    Wav,
    /// Opus in Ogg, mono.
    Opus,
}

impl Format {
    /// By the name's extension, letter case ignored; `None` for anything but `.wav`, `.opus`, `.ogg`.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "wav" => Some(Self::Wav),
            "opus" | "ogg" => Some(Self::Opus),
            _ => None,
        }
    }
}

/// Opens the sink that `-o NAME [--format FORMAT]` means. `-` is standard output: a WAV stream unless `format` asks for
/// Opus. `format` wins over the extension.
pub fn open(name: &str, format: Option<Format>, sample_rate: u32) -> Result<Box<dyn Sink>, AudioError> {
    if name == "-" {
        let out = BufWriter::new(io::stdout());
        return stream(out, "standard output", format.unwrap_or(Format::Wav), sample_rate);
    }
    let path = PathBuf::from(name);
    let format = format
        .or_else(|| Format::of_path(&path))
        .ok_or_else(|| AudioError::UnknownFormat { name: name.to_string() })?;
    let file = File::create(&path).map_err(AudioError::io(name))?;
    // A named pipe or a device cannot be sought: it gets what standard output would get.
    let regular = file.metadata().map_err(AudioError::io(name))?.is_file();
    match format {
        Format::Wav if regular => Ok(Box::new(wav::FileSink::new(file, name, sample_rate)?)),
        Format::Opus if regular => {
            let options = ogg_opus::Options { packets_per_page: 50, ..Default::default() };
            Ok(Box::new(ogg_opus::OggOpusSink::new(BufWriter::new(file), name, sample_rate, options)?))
        }
        _ => stream(BufWriter::new(file), name, format, sample_rate),
    }
}

/// A sink over anything that can be written but not sought; flushed after every write.
pub fn stream<W: Write + Send + 'static>(
    out: W,
    name: &str,
    format: Format,
    sample_rate: u32,
) -> Result<Box<dyn Sink>, AudioError> {
    Ok(match format {
        Format::Wav => Box::new(wav::StreamSink::new(out, name, sample_rate)?),
        Format::Opus => Box::new(ogg_opus::OggOpusSink::new(out, name, sample_rate, Default::default())?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(n: usize) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * 0.05).sin() * 0.5).collect()
    }

    #[test]
    fn extension_and_format_choose_the_container() {
        let dir = tempfile::tempdir().unwrap();
        for (name, format, magic) in [
            ("a.wav", None, b"RIFF"),
            ("a.WAV", None, b"RIFF"),
            ("a.opus", None, b"OggS"),
            ("a.ogg", None, b"OggS"),
            ("a.bin", Some(Format::Wav), b"RIFF"),
            ("b.wav", Some(Format::Opus), b"OggS"),
        ] {
            let path = dir.path().join(name);
            let mut sink = open(path.to_str().unwrap(), format, 24_000).unwrap();
            sink.write(&ramp(1000)).unwrap();
            sink.finish().unwrap();
            assert_eq!(&std::fs::read(&path).unwrap()[..4], magic, "{name}");
        }
    }

    #[test]
    fn an_unknown_extension_or_folder_is_one_line() {
        let unknown = open("speech.mp3", None, 24_000).err().unwrap().to_string();
        assert!(unknown.contains("speech.mp3") && unknown.contains(".wav"), "{unknown}");
        let absent = open("no/such/folder/x.wav", None, 24_000).err().unwrap().to_string();
        assert!(absent.starts_with("no/such/folder/x.wav: "), "{absent}");
        assert!(!absent.contains('\n'));
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_sought_gets_a_stream() {
        let mut sink = open("/dev/null", Some(Format::Wav), 24_000).unwrap();
        sink.write(&ramp(10)).unwrap();
        sink.finish().unwrap();
    }
}
