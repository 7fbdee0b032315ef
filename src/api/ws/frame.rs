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
