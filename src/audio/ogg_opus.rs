//! Ogg Opus (RFC 7845), written as the audio comes.
//!
//! Granule positions count 48 kHz samples whatever the encoder's rate. The first `pre-skip` of them are the encoder's
//! look-ahead and are thrown away by the decoder; the last page's position cuts the padding of the last frame. So the
//! decoded length is the input's length exactly.

use std::io::Write;

use ogg::writing::{PacketWriteEndInfo, PacketWriter};

use super::encode::{OpusFormat, Packet};
use super::opus_packets::{CLOCK, OpusPackets};
use super::{AudioError, Sink};

/// One stream a file, so any number will do; a fixed one keeps the bytes a function of the samples.
const SERIAL: u32 = u32::from_le_bytes(*b"voxw");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Target bits a second, 6000 to 256000.
    pub bitrate: i32,
    /// Packets to a page: what a reader waits for, at 20 ms each. A page costs 27 bytes.
    pub packets_per_page: usize,
}

impl Default for Options {
    /// Pages of 100 ms, for streams.
    fn default() -> Self {
        Self { bitrate: OpusFormat::default().bitrate, packets_per_page: 5 }
    }
}

/// Puts packets into pages.
pub struct Pages<W: Write> {
    pages: PacketWriter<'static, W>,
    name: String,
    /// Clock ticks to a sample.
    ticks: u64,
    packets: u64,
    packets_per_page: usize,
}

impl<W: Write> Pages<W> {
    /// Writes both header pages at once. `pre_skip` in samples at 48 kHz; `sample_rate` is the packets', in Hz; `name` is
    /// what errors call the output.
    pub fn new(
        out: W,
        name: &str,
        pre_skip: u32,
        sample_rate: u32,
        packets_per_page: usize,
    ) -> Result<Self, AudioError> {
        let mut pages = Self {
            pages: PacketWriter::new(out),
            name: name.to_string(),
            ticks: u64::from(CLOCK / sample_rate),
            packets: 0,
            packets_per_page: packets_per_page.max(1),
        };
        pages.put(id_header(pre_skip as u16, sample_rate), PacketWriteEndInfo::EndPage, 0)?;
        pages.put(comment_header(), PacketWriteEndInfo::EndPage, 0)?;
        pages.flush()?;
        Ok(pages)
    }

    /// The next packet; the last one ends the stream.
    pub fn write(&mut self, packet: Packet) -> Result<(), AudioError> {
        self.packets += 1;
        let full = self.packets.is_multiple_of(self.packets_per_page as u64);
        let end = match (packet.last, full) {
            (true, _) => PacketWriteEndInfo::EndStream,
            (false, true) => PacketWriteEndInfo::EndPage,
            (false, false) => PacketWriteEndInfo::NormalPacket,
        };
        let granule = (packet.start + u64::from(packet.samples)) * self.ticks;
        self.put(packet.data, end, granule)
    }

    pub fn flush(&mut self) -> Result<(), AudioError> {
        self.pages.inner_mut().flush().map_err(AudioError::io(&self.name))
    }

    pub fn inner_mut(&mut self) -> &mut W {
        self.pages.inner_mut()
    }

    fn put(&mut self, packet: Vec<u8>, end: PacketWriteEndInfo, granule: u64) -> Result<(), AudioError> {
        self.pages.write_packet(packet, SERIAL, end, granule).map_err(AudioError::io(&self.name))
    }
}

/// See the module documentation.
pub struct OggOpusSink<W: Write> {
    pages: Pages<W>,
    coder: OpusPackets,
}

impl<W: Write> OggOpusSink<W> {
    /// Writes both header pages at once. `sample_rate` is one that Opus takes as it is: 8, 12, 16, 24 or 48 kHz; `name`
    /// is what errors call the output.
    pub fn new(out: W, name: &str, sample_rate: u32, options: Options) -> Result<Self, AudioError> {
        // A file is made once, so it gets libopus's full effort.
        let format = OpusFormat { bitrate: options.bitrate, complexity: 10, ..Default::default() };
        let coder = OpusPackets::new(&format, sample_rate)?;
        let pages = Pages::new(out, name, coder.pre_skip(), sample_rate, options.packets_per_page)?;
        Ok(Self { pages, coder })
    }

    fn put_audio(&mut self, packets: Vec<Packet>) -> Result<(), AudioError> {
        packets.into_iter().try_for_each(|packet| self.pages.write(packet))?;
        self.pages.flush()
    }
}

impl<W: Write + Send> Sink for OggOpusSink<W> {
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError> {
        let mut packets = Vec::new();
        self.coder.push(pcm, &mut packets)?;
        self.put_audio(packets)
    }

    fn finish(mut self: Box<Self>) -> Result<(), AudioError> {
        let mut packets = Vec::new();
        self.coder.finish(&mut packets)?;
        self.put_audio(packets)
    }
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
    use std::io::Cursor;

    use opus::Channels;

    use super::*;
    use crate::audio::test_signal::{correlation, voice};

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
        assert!(new(22_050, 32_000).contains("sample_rate: expected 8000"));
        assert!(new(24_000, 100).contains("bitrate: expected 6000 to 256000, found 100"));
    }
}
