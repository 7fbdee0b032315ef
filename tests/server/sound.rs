//! What packets decode to, and what the fake engine's sound is.

use serde_json::Value;

use crate::client::Packet;

/// A stream's format, as `started` tells it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    opus: bool,
    pub rate: u32,
    /// Samples to a packet.
    pub frame: u32,
    /// At the stream's rate.
    pre_skip: usize,
}

impl Format {
    pub fn of(started: &Value) -> Self {
        let format = &started["format"];
        let number = |name: &str| format[name].as_u64().unwrap_or_else(|| panic!("{name} in {format}")) as u32;
        let opus = format["codec"] == "opus";
        let rate = number("sample_rate");
        assert_eq!(number("channels"), 1);
        let pre_skip = if opus { number("pre_skip") as usize * rate as usize / 48_000 } else { 0 };
        Self { opus, rate, frame: rate / 1000 * number("frame_ms"), pre_skip }
    }

    /// Samples a packet says it has: of Opus by its own table of contents, the padding of a last one included.
    pub fn samples(&self, packet: &Packet) -> u32 {
        if self.opus {
            return opus::packet::get_nb_samples(&packet.data, self.rate).expect("an Opus packet") as u32;
        }
        assert_eq!(packet.data.len() % 2, 0, "whole samples");
        packet.data.len() as u32 / 2
    }

    /// The sound from its beginning, without what comes before it; an Opus stream's padding is at the end.
    pub fn decode(&self, packets: &[Packet]) -> Vec<i16> {
        if !self.opus {
            let bytes = packets.iter().flat_map(|p| p.data.chunks_exact(2));
            return bytes.map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
        }
        let mut decoder = opus::Decoder::new(self.rate, opus::Channels::Mono).unwrap();
        let mut out = Vec::new();
        let mut part = vec![0; self.rate as usize];
        for packet in packets {
            let n = decoder.decode(&packet.data, &mut part, false).expect("a packet that decodes");
            out.extend_from_slice(&part[..n]);
        }
        out.split_off(self.pre_skip.min(out.len()))
    }

    /// `found` samples came out of packets that carry `told` samples of sound.
    pub fn check_length(&self, found: usize, told: usize) {
        if self.opus && told > 0 {
            let frame = self.frame as usize;
            let whole = (told + self.pre_skip).div_ceil(frame) * frame;
            assert_eq!(found + self.pre_skip, whole, "{told} samples, filled up to a whole packet");
        } else {
            assert_eq!(found, told, "exactly the length that was told");
        }
    }
}

/// Sample `i` of the fake engine's tone: half of full scale, a multiple of 8 Hz between 200 and 1,000 by the seed.
fn tone(seed: u64, i: usize) -> f32 {
    let cycles = 25 + (seed % 101) as usize;
    (0.5 * (std::f64::consts::TAU * (cycles * (i % 3000) % 3000) as f64 / 3000.0).sin()) as f32
}

/// The first samples of a piece: its tone, faded in over 2 ms.
pub fn piece_of(seed: u64, n: usize) -> impl Iterator<Item = f32> {
    let gain = |i| if i < 48 { smoothstep((i + 1) as f32 / 49.0) } else { 1.0 };
    (0..n).map(move |i| tone(seed, i) * gain(i))
}

fn smoothstep(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

/// 16-bit samples of the fake engine's pieces at 24 kHz, faded over the last 5 ms.
pub fn expected(pieces: &[Value]) -> Vec<u8> {
    let mut samples = Vec::new();
    for piece in pieces {
        let n = (piece["length_ms"].as_f64().unwrap() * 24.0).round() as usize;
        let seed = piece["seed"].as_u64().unwrap();
        samples.extend(piece_of(seed, n));
    }
    let held = samples.len().min(120);
    let from = samples.len() - held;
    for (i, sample) in samples[from..].iter_mut().enumerate() {
        *sample *= smoothstep(1.0 - (i + 1) as f32 / held as f32);
    }
    samples.iter().flat_map(|x| ((x * 32767.0).round() as i16).to_le_bytes()).collect()
}
