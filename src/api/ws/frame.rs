//! The binary frames of `GET /v1/ws`: a header of 16 bytes before each packet of audio. Numbers are little-endian.
//!
//! | bytes | type | |
//! |---|---|---|
//! | 0 | u8 | 1: audio |
//! | 1 | u8 | flags: bit 0 first packet of the utterance, bit 1 last packet |
//! | 2-3 | u16 | 0 |
//! | 4-7 | u32 | stream |
//! | 8-11 | u32 | sequence |
//! | 12-15 | u32 | media time |

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;

const AUDIO: u8 = 1;
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// What stands before a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// First packet of the utterance.
    pub first: bool,
    /// Last packet of the utterance.
    pub last: bool,
    /// The utterance, by the number in its `started`.
    pub stream: u32,
    /// From 0, one more with each packet of the stream; wraps at 2^32.
    pub sequence: u32,
    /// Position of the packet's first sample in the utterance, at the format's `sample_rate`; wraps at 2^32, which is
    /// 49 hours at 24 kHz.
    pub media: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("binary frame: expected at least {HEADER_BYTES} bytes, found {0}")]
    Short(usize),
    #[error("binary frame: byte 0: expected {AUDIO} (audio), found {0}")]
    Kind(u8),
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = AUDIO;
        bytes[1] = (u8::from(self.first) * FIRST) | (u8::from(self.last) * LAST);
        bytes[4..8].copy_from_slice(&self.stream.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.media.to_le_bytes());
        bytes
    }

    /// Splits a frame into header and packet; the packet may be empty. Flags and bytes that version 1 leaves 0 are not
    /// looked at, so that a later server may use them.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        let (header, packet) = frame.split_first_chunk::<HEADER_BYTES>().ok_or(FrameError::Short(frame.len()))?;
        let [kind, flags, _, _, s0, s1, s2, s3, n0, n1, n2, n3, m0, m1, m2, m3] = *header;
        if kind != AUDIO {
            return Err(FrameError::Kind(kind));
        }
        let header = Self {
            first: flags & FIRST != 0,
            last: flags & LAST != 0,
            stream: u32::from_le_bytes([s0, s1, s2, s3]),
            sequence: u32::from_le_bytes([n0, n1, n2, n3]),
            media: u32::from_le_bytes([m0, m1, m2, m3]),
        };
        Ok((header, packet))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_are_as_documented() {
        let header = Header { first: true, last: true, stream: 0x0403_0201, sequence: 0x0807_0605, media: 0x0c0b_0a09 };
        assert_eq!(header.encode(), [1, 3, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let first = Header { first: true, ..Header::default() };
        assert_eq!(first.encode()[1], 1);
        let last = Header { last: true, ..Header::default() };
        assert_eq!(last.encode()[1], 2);
    }

    #[test]
    fn what_is_no_audio_is_told() {
        let frame = Header::default().encode();
        for n in 0..HEADER_BYTES {
            assert_eq!(Header::parse(&frame[..n]), Err(FrameError::Short(n)));
        }
        let mut other = frame;
        other[0] = 2;
        assert_eq!(Header::parse(&other), Err(FrameError::Kind(2)));
        assert_eq!(FrameError::Kind(2).to_string(), "binary frame: byte 0: expected 1 (audio), found 2");
        assert_eq!(FrameError::Short(3).to_string(), "binary frame: expected at least 16 bytes, found 3");
    }

    #[test]
    fn bits_of_later_versions_are_ignored() {
        let mut frame = Header { last: true, stream: 9, ..Header::default() }.encode();
        frame[1] |= 0xfc;
        frame[2] = 0xff;
        let (header, packet) = Header::parse(&frame).unwrap();
        assert_eq!((header, packet), (Header { last: true, stream: 9, ..Header::default() }, &[][..]));
    }

    proptest! {
        #[test]
        fn headers_survive_the_wire(
            flags in any::<(bool, bool)>(),
            numbers in any::<(u32, u32, u32)>(),
            packet in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let header = Header { first: flags.0, last: flags.1, stream: numbers.0, sequence: numbers.1, media: numbers.2 };
            let frame = [&header.encode()[..], &packet].concat();
            prop_assert_eq!(Header::parse(&frame), Ok((header, &packet[..])));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok((header, packet)) = Header::parse(&bytes) {
                prop_assert_eq!(packet, &bytes[HEADER_BYTES..]);
                prop_assert_eq!(&header.encode()[4..], &bytes[4..HEADER_BYTES]);
            }
        }
    }
}
