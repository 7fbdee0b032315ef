//! From an utterance's PCM to the packets a stream carries: Opus, or 16-bit PCM cut into frames.
//!
//! Meant to run on a thread of its own: neither where the model runs nor where sockets are served. Packets are a
//! function of the samples alone, never of how they were cut into pushes; every sample passes the limiter of
//! [`super::pcm`], as in every other output.
//!
//! No packet waits for the next one to learn whether it is the last. Opus: pushing the encoder's look-ahead through
//! makes one more packet at the end. PCM: a frame leaves when at least one sample after it is known, so that something
//! is left for the last packet; the sample comes with the next push, or with the fade-out's tail, which every utterance
//! has.

use super::downsample::Downsampler;
use super::opus_packets::OpusPackets;
use super::{AudioError, pcm};

/// Packet lengths a stream may ask for, in milliseconds.
pub const FRAME_MS: [u32; 4] = [10, 20, 40, 60];

/// Bits a second an Opus stream may ask for.
pub const BITRATES: std::ops::RangeInclusive<i32> = 6_000..=256_000;

/// Effort levels of libopus.
pub const COMPLEXITIES: std::ops::RangeInclusive<i32> = 0..=10;

/// Rates a PCM stream may ask for, in Hz.
pub const PCM_RATES: [u32; 3] = [24_000, 16_000, 8_000];

/// Rate of an Opus stream, in Hz: the model's own, one of the five that Opus takes as they are.
pub const OPUS_RATE: u32 = 24_000;

/// A setting outside what is offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: expected {expected}, found {found}")]
pub struct FormatError {
    /// The setting's name as in [`OpusFormat`] and [`PcmFormat`].
    pub field: &'static str,
    pub expected: String,
    pub found: String,
}

impl FormatError {
    pub(super) fn new(field: &'static str, expected: impl ToString, found: impl ToString) -> Self {
        Self { field, expected: expected.to_string(), found: found.to_string() }
    }
}

/// What a stream's packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    Opus(OpusFormat),
    Pcm(PcmFormat),
}

/// Opus, mono.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpusFormat {
    /// Length of a packet: 10, 20, 40 or 60 ms.
    pub frame_ms: u32,
    /// Target bits a second, 6000 to 256000; the rate varies with the sound.
    pub bitrate: i32,
    /// libopus's effort, 0 to 10.
    pub complexity: i32,
    /// Carries a coarse copy of each frame in the packet after it, so that a decoder can replace one lost packet
    /// (RFC 6716 section 2.1.7); the copy's bits are taken from the same bitrate. Keeps libopus in its speech modes,
    /// whatever the bitrate. Packets of 40 and 60 ms hold frames of 20 ms, and only the last of them has a copy: such
    /// streams are protected in part.
    pub fec: bool,
    /// Discontinuous transmission: after 200 ms of silence most packets are one or two bytes, which tell the decoder to
    /// make comfort noise or silence. They are packets like any other and must be delivered: positions count them.
    pub dtx: bool,
}

impl Default for OpusFormat {
    /// 20 ms: the default of every Opus tool; longer packets save 3% at this rate and delay the stream.
    ///
    /// 32 kb/s: within the 28 to 40 kb/s that RFC 7587 (section 3.1.1) gives as best for full-band mono speech, and the
    /// model's 12 kHz of bandwidth is less than full.
    ///
    /// Complexity 6: the last step that buys quality for its price. Measured on 50 s of the demo model's speech at
    /// 32 kb/s and 20 ms (2026-12, one shared 2-core machine, fastest of 5): CPU time for a second of sound, segmental
    /// signal to coding noise, distance of log-mel spectra.
    ///
    /// | complexity | 0 | 2 | 5 | 6 | 7 | 8 | 9 | 10 |
    /// |---|---|---|---|---|---|---|---|---|
    /// | CPU ms | 3.0 | 5.9 | 7.6 | 7.9 | 8.5 | 9.8 | 9.8 | 9.8 |
    /// | signal to noise, dB | 12.2 | 14.0 | 14.7 | 15.0 | 15.0 | 15.3 | 15.3 | 15.3 |
    /// | distance, dB | 2.67 | 2.58 | 2.34 | 2.32 | 2.32 | 2.27 | 2.27 | 2.27 |
    ///
    /// Wide-band PESQ over 60 utterances: 4.00, 4.16, 4.33, 4.35, 4.35 and 4.37 at 0, 2, 5, 6, 7 and 9. Why not the
    /// cheaper transform mode is told where libopus is set up.
    fn default() -> Self {
        Self { frame_ms: 20, bitrate: 32_000, complexity: 6, fec: false, dtx: false }
    }
}

impl OpusFormat {
    /// The first setting out of range, if any.
    pub fn validate(&self) -> Result<(), FormatError> {
        check_frame_ms(self.frame_ms)?;
        if !BITRATES.contains(&self.bitrate) {
            return Err(FormatError::new("bitrate", "6000 to 256000", self.bitrate));
        }
        if !COMPLEXITIES.contains(&self.complexity) {
            return Err(FormatError::new("complexity", "0 to 10", self.complexity));
        }
        Ok(())
    }
}

/// 16-bit PCM, little-endian, mono.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcmFormat {
    /// 24000, 16000 or 8000 Hz.
    pub sample_rate: u32,
    /// Length of a packet: 10, 20, 40 or 60 ms; the last may be shorter.
    pub frame_ms: u32,
}

impl Default for PcmFormat {
    fn default() -> Self {
        Self { sample_rate: 24_000, frame_ms: 20 }
    }
}

impl PcmFormat {
    /// The first setting out of range, if any.
    pub fn validate(&self) -> Result<(), FormatError> {
        if !PCM_RATES.contains(&self.sample_rate) {
            return Err(FormatError::new("sample_rate", "24000, 16000 or 8000", self.sample_rate));
        }
        check_frame_ms(self.frame_ms)
    }
}

fn check_frame_ms(frame_ms: u32) -> Result<(), FormatError> {
    if FRAME_MS.contains(&frame_ms) {
        return Ok(());
    }
    Err(FormatError::new("frame_ms", "10, 20, 40 or 60", frame_ms))
}

impl Default for StreamFormat {
    fn default() -> Self {
        Self::Opus(OpusFormat::default())
    }
}

impl StreamFormat {
    /// The first setting out of range, if any.
    pub fn validate(&self) -> Result<(), FormatError> {
        match self {
            Self::Opus(format) => format.validate(),
            Self::Pcm(format) => format.validate(),
        }
    }

    /// Rate that packet positions count at, in Hz.
    pub fn sample_rate(&self) -> u32 {
        match self {
            Self::Opus(_) => OPUS_RATE,
            Self::Pcm(format) => format.sample_rate,
        }
    }
}

/// One packet of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// One Opus packet, or 16-bit little-endian samples.
    pub data: Vec<u8>,
    /// Position of its first sample at the format's rate; with Opus before pre-skip is dropped.
    pub start: u64,
    /// Samples it carries of the stream, at the format's rate. The last Opus packet decodes to a whole frame, of which
    /// only these count: `start + samples` of the last packet is pre-skip and utterance together.
    pub samples: u32,
    /// Samples pushed, from the first on, that have been played in full once this packet has been; with the last
    /// packet all of them.
    pub source_end: u64,
    pub last: bool,
}

/// Makes packets of one utterance. See the module documentation.
pub struct StreamEncoder {
    downsampler: Option<Downsampler>,
    /// Scratch space for the downsampler.
    lowered: Vec<f32>,
    coder: Coder,
    source_rate: u64,
    rate: u64,
    pushed: u64,
}

enum Coder {
    Opus(Box<OpusPackets>),
    Pcm(PcmPackets),
}

impl Coder {
    fn push(&mut self, pcm: &[f32], out: &mut Vec<Packet>) -> Result<(), AudioError> {
        match self {
            Self::Opus(coder) => coder.push(pcm, out),
            Self::Pcm(coder) => {
                coder.push(pcm, out);
                Ok(())
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<Packet>) -> Result<(), AudioError> {
        match self {
            Self::Opus(coder) => coder.finish(out),
            Self::Pcm(coder) => {
                coder.finish(out);
                Ok(())
            }
        }
    }
}

impl StreamEncoder {
    /// For samples at `source_rate`, in Hz: the format's rate or a higher one.
    pub fn new(format: &StreamFormat, source_rate: u32) -> Result<Self, AudioError> {
        format.validate()?;
        let rate = format.sample_rate();
        let downsampler = if rate == source_rate { None } else { Some(Downsampler::new(source_rate, rate)?) };
        let coder = match format {
            StreamFormat::Opus(format) => Coder::Opus(Box::new(OpusPackets::new(format, rate)?)),
            StreamFormat::Pcm(format) => Coder::Pcm(PcmPackets::new(rate / 1000 * format.frame_ms)),
        };
        let (source_rate, rate) = (source_rate.into(), rate.into());
        Ok(Self { downsampler, lowered: Vec::new(), coder, source_rate, rate, pushed: 0 })
    }

    /// Samples at 48 kHz that a decoder drops from the start (RFC 7845 section 4.2); 0 for PCM.
    pub fn pre_skip(&self) -> u32 {
        match &self.coder {
            Coder::Opus(coder) => coder.pre_skip(),
            Coder::Pcm(_) => 0,
        }
    }

    /// Takes the next samples, f32 mono at the source's rate, and appends the packets they complete.
    pub fn push(&mut self, pcm: &[f32], out: &mut Vec<Packet>) -> Result<(), AudioError> {
        self.pushed += pcm.len() as u64;
        let first = out.len();
        match &mut self.downsampler {
            None => self.coder.push(pcm, out)?,
            Some(downsampler) => {
                self.lowered.clear();
                downsampler.push(pcm, &mut self.lowered);
                self.coder.push(&self.lowered, out)?;
            }
        }
        self.count_in_source_samples(&mut out[first..]);
        Ok(())
    }

    /// Appends what is left: at least one packet, the last of them marked so. An utterance without a sample has no
    /// packet at all.
    pub fn finish(mut self, out: &mut Vec<Packet>) -> Result<(), AudioError> {
        if self.pushed == 0 {
            return Ok(());
        }
        let first = out.len();
        if let Some(downsampler) = self.downsampler.take() {
            self.lowered.clear();
            downsampler.finish(&mut self.lowered);
            self.coder.push(&self.lowered, out)?;
        }
        self.coder.finish(out)?;
        self.count_in_source_samples(&mut out[first..]);
        Ok(())
    }

    /// The coder counts at its own rate.
    fn count_in_source_samples(&self, packets: &mut [Packet]) {
        for packet in packets {
            let exact = packet.source_end * self.source_rate / self.rate;
            packet.source_end = if packet.last { self.pushed } else { exact.min(self.pushed) };
        }
    }
}

/// Cuts PCM into frames of equal length.
struct PcmPackets {
    /// Samples that have not left: at most a frame.
    pending: Vec<f32>,
    /// Samples to a packet.
    frame: usize,
    /// Samples in the packets so far.
    sent: u64,
}

impl PcmPackets {
    fn new(frame: u32) -> Self {
        Self { pending: Vec::new(), frame: frame as usize, sent: 0 }
    }

    fn push(&mut self, pcm: &[f32], out: &mut Vec<Packet>) {
        self.pending.extend_from_slice(pcm);
        // One sample stays: see the module documentation.
        let ready = self.pending.len().saturating_sub(1) / self.frame * self.frame;
        let pending = std::mem::take(&mut self.pending);
        for frame in pending[..ready].chunks_exact(self.frame) {
            out.push(self.packet(frame, false));
        }
        self.pending = pending[ready..].to_vec();
    }

    fn finish(&mut self, out: &mut Vec<Packet>) {
        let tail = std::mem::take(&mut self.pending);
        out.push(self.packet(&tail, true));
    }

    fn packet(&mut self, frame: &[f32], last: bool) -> Packet {
        let mut data = Vec::with_capacity(frame.len() * 2);
        pcm::extend_s16le(&mut data, frame);
        let start = self.sent;
        self.sent += frame.len() as u64;
        Packet { data, start, samples: frame.len() as u32, source_end: self.sent, last }
    }
}

#[cfg(test)]
mod tests;
