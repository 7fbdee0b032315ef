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
/// `Voice` keeps those speech modes up to 50 kb/s and more, and they are what costs: on 31 s of the demo model's speech
/// at 32 kb/s (2026-12) the transform mode alone took 1.2, 2.5 and 3.5 ms of CPU time a second at complexity 0, 5 and
/// 9, with 14.4, 14.6 and 14.6 dB of segmental signal to noise and log-mel distances of 2.08, 2.05 and 2.02 dB; the
/// speech modes took 3.0, 9.4 and 11.0 ms for 12.4, 14.8 and 15.4 dB and 2.68, 2.34 and 2.27 dB. At 24 kb/s the speech
/// modes are better by both. Nobody has compared them by ear, and in-band FEC needs them, so they stay.
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
