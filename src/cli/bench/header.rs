//! The 16 bytes before each audio packet, as a client reads them.

/// Bytes before the payload.
pub const LENGTH: usize = 16;

const KIND_AUDIO: u8 = 1;
const FLAG_FIRST: u8 = 1;
const FLAG_LAST: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// First packet of its utterance.
    pub first: bool,
    /// Last packet of its utterance.
    pub last: bool,
    pub stream: u32,
    /// From 0, +1 with each packet of the stream.
    pub sequence: u32,
    /// Position of the first sample, in samples of the format's rate.
    pub media_time: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("binary message: expected a header of {LENGTH} bytes, found {0} bytes")]
    Short(usize),
    #[error("binary message, byte 0: expected {KIND_AUDIO} (audio), found {0}")]
    Kind(u8),
}

impl Header {
    /// Reads the header of one binary message; what follows it is the payload. Flags and bytes that version 1 leaves
    /// unused are not looked at.
    ///
    /// # Errors
    /// When the message is shorter than a header, or is not audio.
    pub fn parse(message: &[u8]) -> Result<Self, HeaderError> {
        let Some(bytes) = message.first_chunk::<LENGTH>() else {
            return Err(HeaderError::Short(message.len()));
        };
        let [kind, flags, _, _, s0, s1, s2, s3, q0, q1, q2, q3, m0, m1, m2, m3] = *bytes;
        if kind != KIND_AUDIO {
            return Err(HeaderError::Kind(kind));
        }
        Ok(Self {
            first: flags & FLAG_FIRST != 0,
            last: flags & FLAG_LAST != 0,
            stream: u32::from_le_bytes([s0, s1, s2, s3]),
            sequence: u32::from_le_bytes([q0, q1, q2, q3]),
            media_time: u32::from_le_bytes([m0, m1, m2, m3]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: [u8; 18] = [1, 2, 0, 0, 7, 0, 0, 1, 0x2c, 1, 0, 0, 0x80, 0x25, 2, 0, 0xfc, 0xff];

    #[test]
    fn every_field_is_where_the_protocol_puts_it() {
        let expected = Header { first: false, last: true, stream: 0x0100_0007, sequence: 300, media_time: 0x0002_2580 };
        assert_eq!(Header::parse(&PACKET), Ok(expected));
        let mut first = PACKET;
        first[1] = 1;
        assert_eq!(Header::parse(&first), Ok(Header { first: true, last: false, ..expected }));
    }

    #[test]
    fn unused_bytes_and_flags_are_left_to_later_versions() {
        let mut later = PACKET;
        later[1] |= 0x80;
        later[3] = 9;
        assert_eq!(Header::parse(&later), Header::parse(&PACKET));
    }

    #[test]
    fn a_message_that_is_no_audio_is_refused() {
        assert_eq!(Header::parse(&[]), Err(HeaderError::Short(0)));
        assert_eq!(Header::parse(&PACKET[..15]), Err(HeaderError::Short(15)));
        assert!(Header::parse(&PACKET[..16]).is_ok());
        let mut other = PACKET;
        other[0] = 2;
        assert_eq!(Header::parse(&other), Err(HeaderError::Kind(2)));
    }
}
