//! Ogg Opus (RFC 7845), written as the audio comes.
//!
//! Granule positions count 48 kHz samples whatever the encoder's rate. The first `pre-skip` of them are the encoder's
//! look-ahead and are thrown away by the decoder; the last page's position cuts the padding of the last frame. So the
//! decoded length is the input's length exactly.

use std::io::Write;

use ogg::writing::{PacketWriteEndInfo, PacketWriter};
use opus::{Application, Bitrate, Channels, Encoder, Signal};

use super::{AudioError, Sink, pcm};

/// The clock of granule positions.
const CLOCK: u64 = 48_000;

/// Frames of 20 ms: the default of every Opus tool; longer ones save 3% at this rate and delay the stream.
const FRAMES_PER_SECOND: u32 = 50;

/// One stream a file, so any number will do; a fixed one keeps the bytes a function of the samples.
const SERIAL: u32 = u32::from_le_bytes(*b"voxw");

/// Largest packet libopus makes.
const MAX_PACKET: usize = 1275;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Target bits a second, 6000 to 256000.
    pub bitrate: i32,
    /// Packets to a page: what a reader waits for, at 20 ms each. A page costs 27 bytes.
    pub packets_per_page: usize,
}

impl Default for Options {
    /// 32 kb/s: within the 28 to 40 kb/s that RFC 7587 (section 3.1.1) gives as best for full-band mono speech, and the
    /// model's 12 kHz of bandwidth is less than full. Pages of 100 ms, for streams.
    fn default() -> Self {
        Self { bitrate: 32_000, packets_per_page: 5 }
    }
}

/// See the module documentation.
pub struct OggOpusSink<W: Write> {
    pages: PacketWriter<'static, W>,
    name: String,
    encoder: Encoder,
    /// Samples not yet encoded: fewer than a frame.
    pending: Vec<f32>,
    frame: usize,
    /// Clock ticks to a sample.
    ticks: u64,
    look_ahead: usize,
    samples: u64,
    packets: u64,
    packets_per_page: usize,
}

impl<W: Write> OggOpusSink<W> {
    /// Writes both header pages at once. `sample_rate` is one that Opus takes as it is: 8, 12, 16, 24 or 48 kHz; `name`
    /// is what errors call the output.
    pub fn new(out: W, name: &str, sample_rate: u32, options: Options) -> Result<Self, AudioError> {
        if !matches!(sample_rate, 8_000 | 12_000 | 16_000 | 24_000 | 48_000) {
            let (expected, found) = ("8000, 12000, 16000, 24000 or 48000", sample_rate.into());
            return Err(AudioError::OpusSetting { field: "sample rate", expected, found });
        }
        if !(6_000..=256_000).contains(&options.bitrate) {
            let (expected, found) = ("6000 to 256000", options.bitrate.into());
            return Err(AudioError::OpusSetting { field: "bitrate", expected, found });
        }
        let (encoder, look_ahead) = encoder(sample_rate, options.bitrate)
            .map_err(|source| AudioError::Opus { step: "encoder set-up", source })?;
        let mut sink = Self {
            pages: PacketWriter::new(out),
            name: name.to_string(),
            encoder,
            pending: Vec::new(),
            frame: (sample_rate / FRAMES_PER_SECOND) as usize,
            ticks: CLOCK / u64::from(sample_rate),
            look_ahead,
            samples: 0,
            packets: 0,
            packets_per_page: options.packets_per_page.max(1),
        };
        sink.put(id_header(sink.pre_skip() as u16, sample_rate), PacketWriteEndInfo::EndPage, 0)?;
        sink.put(comment_header(), PacketWriteEndInfo::EndPage, 0)?;
        sink.flush()?;
        Ok(sink)
    }

    fn pre_skip(&self) -> u64 {
        self.look_ahead as u64 * self.ticks
    }

    fn put(&mut self, packet: Vec<u8>, end: PacketWriteEndInfo, granule: u64) -> Result<(), AudioError> {
        self.pages.write_packet(packet, SERIAL, end, granule).map_err(AudioError::io(&self.name))
    }

    fn flush(&mut self) -> Result<(), AudioError> {
        self.pages.inner_mut().flush().map_err(AudioError::io(&self.name))
    }

    fn encode(&mut self, frame: &[f32]) -> Result<Vec<u8>, AudioError> {
        self.encoder.encode_vec_float(frame, MAX_PACKET).map_err(|source| AudioError::Opus { step: "encode", source })
    }

    fn write_frames(&mut self) -> Result<(), AudioError> {
        let pending = std::mem::take(&mut self.pending);
        let mut frames = pending.chunks_exact(self.frame);
        for frame in &mut frames {
            let packet = self.encode(frame)?;
            self.packets += 1;
            let full = self.packets.is_multiple_of(self.packets_per_page as u64);
            let end = if full { PacketWriteEndInfo::EndPage } else { PacketWriteEndInfo::NormalPacket };
            self.put(packet, end, self.packets * self.frame as u64 * self.ticks)?;
        }
        self.pending = frames.remainder().to_vec();
        Ok(())
    }

    fn write_last(&mut self) -> Result<(), AudioError> {
        // Whole frames are gone already, and the look-ahead must be pushed through: at least one more packet.
        let mut tail = std::mem::take(&mut self.pending);
        let last = (tail.len() + self.look_ahead).div_ceil(self.frame).max(1);
        tail.resize(last * self.frame, 0.0);
        for (i, frame) in tail.chunks_exact(self.frame).enumerate() {
            let packet = self.encode(frame)?;
            self.packets += 1;
            if i + 1 < last {
                let granule = self.packets * self.frame as u64 * self.ticks;
                self.put(packet, PacketWriteEndInfo::NormalPacket, granule)?;
            } else {
                let granule = self.pre_skip() + self.samples * self.ticks;
                self.put(packet, PacketWriteEndInfo::EndStream, granule)?;
            }
        }
        self.flush()
    }
}

impl<W: Write + Send> Sink for OggOpusSink<W> {
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError> {
        self.samples += pcm.len() as u64;
        // The same limiter as 16-bit output, so that every format carries the same levels.
        self.pending.extend(pcm.iter().map(|x| pcm::limit(*x)));
        self.write_frames()?;
        self.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<(), AudioError> {
        self.write_last()
    }
}

/// The encoder and its look-ahead in samples.
///
/// `Audio`, not `Voip`: the latter filters out the low end and emphasises formants to help poor telephone lines, which
/// colours a voice that comes clean from the model. Measured at 32 kb/s on two 15 s recordings of read speech
/// (2026-11): 18 and 12 dB of signal to coding noise against 8 and 7. In its speech modes, chosen up to some 50 kb/s,
/// libopus delays by about 0.04 ms less than the look-ahead it states; above them the place is exact.
fn encoder(sample_rate: u32, bitrate: i32) -> opus::Result<(Encoder, usize)> {
    let mut encoder = Encoder::new(sample_rate, Channels::Mono, Application::Audio)?;
    encoder.set_signal(Signal::Voice)?;
    encoder.set_bitrate(Bitrate::Bits(bitrate))?;
    encoder.set_vbr(true)?;
    encoder.set_complexity(10)?;
    let look_ahead = encoder.get_lookahead()?.max(0) as usize;
    Ok((encoder, look_ahead))
}

/// RFC 7845 section 5.1.
fn id_header(pre_skip: u16, sample_rate: u32) -> Vec<u8> {
    let mut out = b"OpusHead".to_vec();
    out.push(1); // version
    out.push(1); // channels
    out.extend_from_slice(&pre_skip.to_le_bytes());
    out.extend_from_slice(&sample_rate.to_le_bytes()); // of the input, for information only
    out.extend_from_slice(&0i16.to_le_bytes()); // output gain
    out.push(0); // channel mapping family: mono or stereo
    out
}

/// RFC 7845 section 5.2.
fn comment_header() -> Vec<u8> {
    let mut out = b"OpusTags".to_vec();
    let comment = concat!("ENCODER=voxwire ", env!("CARGO_PKG_VERSION"));
    for (count, text) in [(None, opus::version()), (Some(1u32), comment)] {
        if let Some(count) = count {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Something like a voice: a gliding harmonic tone, swelling and fading three times a second.
    fn voice(n: usize) -> Vec<f32> {
        let mut phase = 0.0f32;
        (0..n)
            .map(|i| {
                let t = i as f32 / 24_000.0;
                phase += std::f32::consts::TAU * (160.0 + 40.0 * (t * 5.0).sin()) / 24_000.0;
                let tone: f32 = (1..12).map(|h| (phase * h as f32).sin() / h as f32).sum();
                tone * 0.25 * (0.55 + 0.45 * (t * 19.0).sin())
            })
            .collect()
    }

    fn written(pcm: &[f32], chunk: usize, options: Options) -> Vec<u8> {
        let mut out = Vec::new();
        let mut sink = Box::new(OggOpusSink::new(&mut out, "x.opus", 24_000, options).unwrap());
        for chunk in pcm.chunks(chunk) {
            sink.write(chunk).unwrap();
        }
        sink.finish().unwrap();
        out
    }

    /// Decodes as RFC 7845 asks: skip `pre-skip`, stop at the last granule position. Returns 24 kHz samples.
    fn decoded(file: &[u8]) -> Vec<f32> {
        let mut reader = ogg::PacketReader::new(Cursor::new(file));
        let head = reader.read_packet().unwrap().unwrap().data;
        assert_eq!(&head[..8], b"OpusHead");
        assert_eq!((head.len(), head[8], head[9], head[18]), (19, 1, 1, 0));
        let pre_skip = u16::from_le_bytes([head[10], head[11]]) as u64;
        assert!(reader.read_packet().unwrap().unwrap().data.starts_with(b"OpusTags"));
        let mut decoder = opus::Decoder::new(24_000, Channels::Mono).unwrap();
        let (mut pcm, mut end, mut ended) = (Vec::new(), 0, false);
        while let Some(packet) = reader.read_packet().unwrap() {
            assert!(!ended, "a packet after the end of the stream");
            let mut frame = [0.0f32; 480];
            let n = decoder.decode_float(&packet.data, &mut frame, false).unwrap();
            pcm.extend_from_slice(&frame[..n]);
            assert!(packet.absgp_page() >= end, "positions never go back");
            end = packet.absgp_page();
            ended = packet.last_in_stream();
        }
        assert!(ended, "no end-of-stream page");
        assert!(end <= pcm.len() as u64 * 2, "the last position lies within the audio");
        pcm[(pre_skip / 2) as usize..(end / 2) as usize].to_vec()
    }

    fn correlation(a: &[f32], b: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| (x * y) as f64).sum::<f64>();
        (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()) as f32
    }

    #[test]
    fn the_decoded_length_is_the_input_length() {
        for n in [0, 1, 100, 323, 324, 325, 479, 480, 481, 960, 4800, 24_000, 24_001] {
            let file = written(&voice(n), 512, Options::default());
            assert_eq!(decoded(&file).len(), n, "{n} samples");
        }
    }

    #[test]
    fn the_sound_comes_back_in_place() {
        let pcm = voice(72_000);
        let back = decoded(&written(&pcm, 512, Options::default()));
        let r = correlation(&pcm, &back);
        assert!(r > 0.98, "correlation {r}");
        // A shift of a quarter millisecond would show.
        assert!(correlation(&pcm[6..], &back[..pcm.len() - 6]) < r);
        assert!(correlation(&pcm[..pcm.len() - 6], &back[6..]) < r);
    }

    #[test]
    fn bytes_depend_on_the_samples_alone() {
        let pcm = voice(10_000);
        let whole = written(&pcm, usize::MAX, Options::default());
        for chunk in [1, 479, 480, 481, 512, 5000] {
            assert_eq!(written(&pcm, chunk, Options::default()), whole, "chunks of {chunk}");
        }
    }

    #[test]
    fn a_stream_can_be_read_while_it_is_written() {
        let mut out = Vec::new();
        let mut sink = Box::new(OggOpusSink::new(&mut out, "pipe", 24_000, Options::default()).unwrap());
        sink.write(&voice(2400)).unwrap();
        drop(sink);
        let mut reader = ogg::PacketReader::new(Cursor::new(&out));
        let mut packets = 0;
        while let Ok(Some(_)) = reader.read_packet() {
            packets += 1;
        }
        assert_eq!(packets, 2 + 5, "two headers and 100 ms of packets");
    }

    #[test]
    fn the_bitrate_is_kept() {
        for bitrate in [16_000, 32_000, 64_000] {
            let options = Options { bitrate, packets_per_page: 50 };
            let bytes = written(&voice(240_000), 4096, options).len() as f32;
            let found = bytes * 8.0 / 10.0;
            assert!((0.5..1.3).contains(&(found / bitrate as f32)), "asked {bitrate}, found {found}");
        }
    }

    #[test]
    fn wrong_settings_are_named() {
        let new = |rate, bitrate| {
            let options = Options { bitrate, ..Default::default() };
            OggOpusSink::new(Vec::new(), "x", rate, options).err().unwrap().to_string()
        };
        assert!(new(22_050, 32_000).contains("sample rate: expected 8000"));
        assert!(new(24_000, 100).contains("bitrate: expected 6000 to 256000, found 100"));
    }
}
