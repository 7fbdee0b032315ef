//! Opus packets of one utterance: the one place that sets libopus up.

use opus::{Application, Bitrate, Channels, Encoder, Signal};

use super::encode::{FormatError, OpusFormat, Packet};
use super::{AudioError, pcm};

/// The clock of pre-skip and of granule positions, in Hz, whatever the encoder's rate.
pub const CLOCK: u32 = 48_000;

/// Room for the largest packet libopus makes of 60 ms: three frames of 1275 bytes and their lengths.
const MAX_PACKET: usize = 4000;

/// Share of packets, in percent, that the in-band copies are laid out for. libopus makes none at 0; 10 is bad mobile
/// reception, and more would take ever more of the bitrate from the packets that do arrive.
const EXPECTED_LOSS: i32 = 10;

/// Cuts samples into frames and encodes them.
pub struct OpusPackets {
    encoder: Encoder,
    /// Samples not yet encoded: fewer than a frame.
    pending: Vec<f32>,
    /// Samples to a frame.
    frame: usize,
    /// Samples by which the decoded sound comes later than what was encoded.
    look_ahead: usize,
    /// Clock ticks to a sample.
    ticks: u32,
    pushed: u64,
    packets: u64,
}

impl OpusPackets {
    /// `sample_rate` is one that Opus takes as it is: 8, 12, 16, 24 or 48 kHz.
    pub fn new(format: &OpusFormat, sample_rate: u32) -> Result<Self, AudioError> {
        if !matches!(sample_rate, 8_000 | 12_000 | 16_000 | 24_000 | 48_000) {
            return Err(FormatError::new("sample_rate", "8000, 12000, 16000, 24000 or 48000", sample_rate).into());
        }
        format.validate()?;
        let (encoder, look_ahead) =
            encoder(format, sample_rate).map_err(|source| AudioError::Opus { step: "encoder set-up", source })?;
        let frame = (sample_rate / 1000 * format.frame_ms) as usize;
        let ticks = CLOCK / sample_rate;
        Ok(Self { encoder, pending: Vec::new(), frame, look_ahead, ticks, pushed: 0, packets: 0 })
    }

    /// Samples at 48 kHz that a decoder drops from the start.
    pub fn pre_skip(&self) -> u32 {
        self.look_ahead as u32 * self.ticks
    }

    /// Takes the next samples and appends the packets they complete.
    pub fn push(&mut self, pcm: &[f32], out: &mut Vec<Packet>) -> Result<(), AudioError> {
        self.pushed += pcm.len() as u64;
        self.pending.extend(pcm.iter().map(|x| pcm::limit(*x)));
        let pending = std::mem::take(&mut self.pending);
        let mut frames = pending.chunks_exact(self.frame);
        for frame in &mut frames {
            let packet = self.encode(frame, false)?;
            out.push(packet);
        }
        self.pending = frames.remainder().to_vec();
        Ok(())
    }

    /// Appends the rest, filled up with silence: whole frames are gone already and the look-ahead must be pushed
    /// through, so there is always one packet, even of an utterance without a sample.
    pub fn finish(&mut self, out: &mut Vec<Packet>) -> Result<(), AudioError> {
        let mut tail = std::mem::take(&mut self.pending);
        let frames = (tail.len() + self.look_ahead).div_ceil(self.frame).max(1);
        tail.resize(frames * self.frame, 0.0);
        for (i, frame) in tail.chunks_exact(self.frame).enumerate() {
            let packet = self.encode(frame, i + 1 == frames)?;
            out.push(packet);
        }
        Ok(())
    }

    fn encode(&mut self, frame: &[f32], last: bool) -> Result<Packet, AudioError> {
        let mut buffer = [0; MAX_PACKET];
        let bytes = self
            .encoder
            .encode_float(frame, &mut buffer)
            .map_err(|source| AudioError::Opus { step: "encode", source })?;
        let start = self.packets * self.frame as u64;
        self.packets += 1;
        // Where the utterance ends in the decoder's output.
        let total = self.look_ahead as u64 + self.pushed;
        let end = if last { total } else { start + self.frame as u64 };
        Ok(Packet {
            data: buffer[..bytes].to_vec(),
            start,
            samples: (end - start) as u32,
            source_end: end.saturating_sub(self.look_ahead as u64),
            last,
        })
    }
}

/// The encoder and its look-ahead in samples.
///
/// `Audio`, not `Voip`: the latter filters out the low end and emphasises formants to help poor telephone lines, which
/// colours a voice that comes clean from the model. Measured at 32 kb/s on two 15 s recordings of read speech
/// (2026-11): 18 and 12 dB of signal to coding noise against 8 and 7. In its speech modes, chosen up to some 50 kb/s,
/// libopus delays by about 0.04 ms less than the look-ahead it states; above them the place is exact.
///
/// `Voice` keeps those speech modes up to 64 kb/s and more, although they are what costs. The transform mode alone
/// (`LowDelay`) takes a third of the CPU time and 2.5 ms of look-ahead instead of 6.5, but at 32 kb/s every perceptual
/// measure below puts it behind. 60 utterances at 20 ms (2026-12, a shared 2-core machine; half the demo model's, half
/// its teacher's, both voices): CPU ms for a second of sound (thread time, fastest of 4; for 64 kb/s of 5, on other
/// utterances), kb/s in truth, wide-band PESQ as the mean and that of the worst tenth, extended STOI, and ViSQOL of 20.
///
/// | mode, kb/s asked for, complexity | CPU | kb/s | PESQ | worst | STOI | ViSQOL |
/// |---|---|---|---|---|---|---|
/// | speech 24, 6 | 7.5 | 21.9 | 4.20 | 3.80 | 0.979 | 4.65 |
/// | speech 32, 0 | 3.0 | 29.1 | 4.00 | 3.44 | 0.975 | 4.64 |
/// | speech 32, 6 (the default) | 7.6 | 29.4 | 4.35 | 3.98 | 0.986 | 4.67 |
/// | speech 32, 9 | 9.8 | 29.6 | 4.37 | 4.07 | 0.987 | 4.67 |
/// | speech 48, 0 | 3.1 | 44.3 | 4.34 | 4.11 | 0.988 | |
/// | transform 24, 9 | 3.1 | 24.1 | 3.42 | 2.50 | 0.979 | 4.51 |
/// | transform 32, 5 | 2.4 | 32.0 | 3.61 | 2.68 | 0.985 | 4.62 |
/// | transform 32, 9 | 3.3 | 32.0 | 3.67 | 2.70 | 0.985 | 4.62 |
/// | transform 40, 9 | 3.4 | 39.9 | 3.93 | 3.14 | 0.990 | 4.70 |
/// | transform 48, 9 | 3.4 | 47.8 | 4.19 | 3.71 | 0.993 | 4.71 |
/// | transform 64, 9 | 3.5 | 63.2 | 4.36 | 3.80 | 0.997 | |
///
/// At 32 kb/s PESQ has the transform mode behind in each of the 60, and in each of 50 fresh utterances; noise added to
/// both sides leaves that gap, so it does not come from the pauses. From 36 kb/s on ViSQOL and STOI have it ahead of
/// the default; PESQ does not until 64 kb/s, twice the bits, and then by the mean alone. What speaks for it at 32 kb/s:
/// segmental signal to noise, by 2 dB, and ViSQOL on four clips of a human reader (4.70 against 4.54), whose recording
/// ends at 8 kHz. The measures contradict each other, and nobody has compared the two by ear.
///
/// Speech at 48 kb/s and complexity 0 saves as much CPU time for half as many bits again. It is ahead of the default by
/// STOI (and by ViSQOL on 25 fresh utterances), level by PESQ on the 60, but on the 50 fresh ones 0.04 behind (95%:
/// from 0.10 behind to level) and 0.20 in their worst tenth: a choice for a client, not for the default.
fn encoder(format: &OpusFormat, sample_rate: u32) -> opus::Result<(Encoder, usize)> {
    let mut encoder = Encoder::new(sample_rate, Channels::Mono, Application::Audio)?;
    encoder.set_signal(Signal::Voice)?;
    encoder.set_bitrate(Bitrate::Bits(format.bitrate))?;
    encoder.set_vbr(true)?;
    encoder.set_complexity(format.complexity)?;
    encoder.set_inband_fec(format.fec)?;
    encoder.set_packet_loss_perc(if format.fec { EXPECTED_LOSS } else { 0 })?;
    encoder.set_dtx(format.dtx)?;
    let look_ahead = encoder.get_lookahead()?.max(0) as usize;
    Ok((encoder, look_ahead))
}
