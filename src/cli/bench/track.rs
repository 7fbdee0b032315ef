//! Whether a stream is whole: sequence numbers, media time, flags, lengths.

use std::collections::BTreeMap;

use serde::Serialize;

use super::header::Header;
use super::wire::Format;

/// What a server must never do. Each is counted; none ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A binary message that is not audio of protocol version 1.
    BadHeader,
    /// Audio of a stream that no `started` named.
    UnknownStream,
    /// Audio after `done` or `error`.
    AudioAfterEnd,
    /// Audio after `cancelled`.
    AudioAfterCancel,
    /// A sequence number was left out.
    SequenceHole,
    /// A sequence number came again, or an earlier one.
    SequenceRepeat,
    /// Media time jumped ahead of the samples received.
    MediaHole,
    /// Media time fell behind the samples received.
    MediaOverlap,
    /// The first packet was not marked first, or another one was.
    FirstFlag,
    /// The last packet was not marked last, or was not the last.
    LastFlag,
    /// A payload that cannot be one packet of the format in use.
    PayloadSize,
    /// `done.audio_ms` is not what was received.
    AudioLength,
    /// The pieces' lengths do not add up to `done.audio_ms`.
    PieceLengths,
    /// Text that is not a JSON message of the protocol.
    BadMessage,
    /// A message that has no place where it came.
    UnexpectedMessage,
}

/// How often each fault occurred.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Faults(pub BTreeMap<Fault, u64>);

impl Faults {
    pub fn add(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// Rounding a server may do when it states a length, in milliseconds.
const STATED_MS: f64 = 1.0;

/// One stream as received so far.
#[derive(Debug)]
pub struct Track {
    format: Format,
    sequence: u32,
    /// Samples at the format's rate.
    media_time: u32,
    packets: u64,
    seen_last: bool,
    pieces_ms: f64,
}

impl Track {
    pub fn new(format: Format) -> Self {
        Self { format, sequence: 0, media_time: 0, packets: 0, seen_last: false, pieces_ms: 0.0 }
    }

    /// Audio received, in milliseconds, with what a decoder drops at the beginning and padding at the end.
    pub fn received_ms(&self) -> f64 {
        f64::from(self.media_time) * 1000.0 / f64::from(self.format.sample_rate)
    }

    /// Checks one packet. Returns its length in milliseconds, or `None` when it repeats what was there before.
    pub fn packet(&mut self, header: &Header, payload: usize, faults: &mut Faults) -> Option<f64> {
        let Some(samples) = self.format.samples(payload) else {
            faults.add(Fault::PayloadSize);
            return None;
        };
        if header.first != (self.packets == 0) {
            faults.add(Fault::FirstFlag);
        }
        if self.seen_last {
            faults.add(Fault::LastFlag);
        }
        if header.sequence < self.sequence {
            faults.add(Fault::SequenceRepeat);
            return None;
        }
        if header.sequence > self.sequence {
            // Media time has to jump with it, so it is not looked at: one hole is one fault.
            faults.add(Fault::SequenceHole);
        } else if header.media_time > self.media_time {
            faults.add(Fault::MediaHole);
        } else if header.media_time < self.media_time {
            faults.add(Fault::MediaOverlap);
        }
        self.packets += 1;
        self.seen_last = header.last;
        self.sequence = header.sequence.wrapping_add(1);
        self.media_time = header.media_time.wrapping_add(samples);
        Some(f64::from(samples) * 1000.0 / f64::from(self.format.sample_rate))
    }

    /// A `piece` of that length was announced.
    pub fn piece(&mut self, length_ms: f64) {
        self.pieces_ms += length_ms;
    }

    /// `done` came: everything has to be there.
    pub fn done(&self, audio_ms: f64, faults: &mut Faults) {
        if (self.pieces_ms - audio_ms).abs() > STATED_MS {
            faults.add(Fault::PieceLengths);
        }
        if self.packets > 0 && !self.seen_last {
            faults.add(Fault::LastFlag);
        }
        // Padding fills at most the last packet.
        let extra = self.received_ms() - self.format.pre_skip_ms() - audio_ms;
        let received = self.packets > 0;
        if received && !(-STATED_MS..=self.format.frame_ms + STATED_MS).contains(&extra) || !received && audio_ms > 0.0
        {
            faults.add(Fault::AudioLength);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::wire::Codec;

    const PCM: Format = Format { codec: Codec::PcmS16le, sample_rate: 24000, frame_ms: 20.0, pre_skip: 0 };
    const OPUS: Format = Format { codec: Codec::Opus, sample_rate: 24000, frame_ms: 20.0, pre_skip: 312 };

    fn header(sequence: u32, media_time: u32) -> Header {
        Header { first: sequence == 0, last: false, stream: 1, sequence, media_time }
    }

    fn faults(format: Format, packets: &[(Header, usize)], audio_ms: f64) -> Vec<(Fault, u64)> {
        let (mut track, mut faults) = (Track::new(format), Faults::default());
        for (header, payload) in packets {
            track.packet(header, *payload, &mut faults);
        }
        track.piece(audio_ms);
        track.done(audio_ms, &mut faults);
        faults.0.into_iter().collect()
    }

    fn stream() -> Vec<(Header, usize)> {
        vec![(header(0, 0), 960), (header(1, 480), 960), (Header { last: true, ..header(2, 960) }, 480)]
    }

    #[test]
    fn a_whole_stream_has_no_fault() {
        assert_eq!(faults(PCM, &stream(), 50.0), []);
        // Opus: the payload says nothing of the length; pre-skip and padding are not audio.
        let mut opus = stream();
        opus.iter_mut().for_each(|(_, payload)| *payload = 71);
        assert_eq!(faults(OPUS, &opus, 50.0), []);
    }

    #[test]
    fn a_hole_and_a_repetition_are_one_fault_each() {
        let hole = [stream()[0], (header(2, 960), 960), (Header { last: true, ..header(3, 1440) }, 960)];
        assert_eq!(faults(PCM, &hole, 80.0), [(Fault::SequenceHole, 1)]);
        let mut repeat = stream();
        repeat.insert(2, repeat[1]);
        assert_eq!(faults(PCM, &repeat, 50.0), [(Fault::SequenceRepeat, 1)]);
    }

    #[test]
    fn media_time_follows_the_samples() {
        let mut ahead = stream();
        ahead[1].0.media_time += 1;
        ahead[2].0.media_time += 1;
        assert_eq!(faults(PCM, &ahead, 50.0), [(Fault::MediaHole, 1)]);
        let mut behind = stream();
        behind[2].0.media_time -= 1;
        assert_eq!(faults(PCM, &behind, 50.0), [(Fault::MediaOverlap, 1)]);
    }

    #[test]
    fn flags_are_where_they_belong() {
        let mut unmarked = stream();
        unmarked[0].0.first = false;
        unmarked[2].0.last = false;
        assert_eq!(faults(PCM, &unmarked, 50.0), [(Fault::FirstFlag, 1), (Fault::LastFlag, 1)]);
        let mut early = stream();
        early[1].0.last = true;
        early[1].0.first = true;
        assert_eq!(faults(PCM, &early, 50.0), [(Fault::FirstFlag, 1), (Fault::LastFlag, 1)]);
    }

    #[test]
    fn lengths_have_to_agree() {
        assert_eq!(faults(PCM, &stream(), 75.0), [(Fault::AudioLength, 1)]);
        assert_eq!(faults(PCM, &stream(), 25.0), [(Fault::AudioLength, 1)]);
        assert_eq!(faults(OPUS, &[], 10.0), [(Fault::AudioLength, 1)]);
        assert_eq!(faults(OPUS, &[], 0.0), []);
        let mut track = Track::new(PCM);
        let mut faults = Faults::default();
        track.piece(10.0);
        track.done(0.0, &mut faults);
        assert_eq!(faults.0.into_iter().collect::<Vec<_>>(), [(Fault::PieceLengths, 1)]);
    }

    #[test]
    fn payloads_have_to_be_packets() {
        for payload in [0, 959, 962] {
            let (mut track, mut faults) = (Track::new(PCM), Faults::default());
            assert_eq!(track.packet(&header(0, 0), payload, &mut faults), None);
            assert_eq!((faults.total(), faults.0.get(&Fault::PayloadSize)), (1, Some(&1)), "{payload}");
        }
        let (mut track, mut faults) = (Track::new(OPUS), Faults::default());
        assert_eq!(track.packet(&header(0, 0), 1, &mut faults), Some(20.0));
        assert_eq!(faults.total(), 0);
    }
}
