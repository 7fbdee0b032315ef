//! The base16384 text form: 14 bits a character, so that binary data fits into a line of CJK text.
//!
//! Bytes are read as one bit string, most significant bit first; each 14 bits give one character from U+4E00 on, the
//! last padded with zeros. When the number of bytes is not a multiple of 7, a last character U+3D00 + (bytes mod 7)
//! says how many bytes the last group of up to four characters holds. (Format: fumiama's base16384.)

const FIRST: u32 = 0x4E00;
const LAST: u32 = FIRST + (1 << 14) - 1;
const TAIL: u32 = 0x3D00;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Base16384Error {
    #[error("expected text, found none")]
    Empty,
    #[error("character {position} {found:?} is not in U+4E00..U+8DFF")]
    Character { position: usize, found: char },
    #[error("expected {expected} characters in the last group, found {found} (cut off?)")]
    Length { expected: &'static str, found: usize },
}

/// Whether `c` can occur in base16384 text.
pub fn is_base16384(c: char) -> bool {
    matches!(u32::from(c), FIRST..=LAST) || tail_len(c).is_some()
}

/// Encodes bytes. Four characters for seven bytes, plus up to four and the tail mark.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(7) * 12 + 3);
    let (mut bits, mut held) = (0u32, 0);
    for &byte in bytes {
        bits = bits << 8 | u32::from(byte);
        held += 8;
        if held >= 14 {
            held -= 14;
            text.push(character(bits >> held));
            bits &= (1 << held) - 1;
        }
    }
    if held > 0 {
        text.push(character(bits << (14 - held)));
    }
    let rest = bytes.len() % 7;
    if rest > 0 {
        text.extend(char::from_u32(TAIL + rest as u32));
    }
    text
}

/// Decodes text; positions in errors count characters from 1. Padding bits are not looked at.
pub fn decode(text: &str) -> Result<Vec<u8>, Base16384Error> {
    let (body, rest) = match text.char_indices().next_back() {
        None => return Err(Base16384Error::Empty),
        Some((at, c)) => tail_len(c).map_or((text, 0), |rest| (&text[..at], rest)),
    };
    let mut bytes = Vec::with_capacity(body.len() / 3 * 7 / 4 + 7);
    let (mut bits, mut held, mut count) = (0u32, 0, 0);
    for found in body.chars() {
        count += 1;
        let value = match u32::from(found) {
            c @ FIRST..=LAST => c - FIRST,
            _ => return Err(Base16384Error::Character { position: count, found }),
        };
        bits = bits << 14 | value;
        held += 14;
        while held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
        bits &= (1 << held) - 1;
    }
    let in_last_group = if count == 0 { 0 } else { (count - 1) % 4 + 1 };
    let (fits, expected) = match rest {
        0 => (in_last_group == 4, "4"),
        1 => (in_last_group == 1, "1"),
        2 | 3 => (in_last_group == 2, "2"),
        4 | 5 => (in_last_group == 3, "3"),
        _ => (in_last_group == 4, "4"),
    };
    if !fits {
        return Err(Base16384Error::Length { expected, found: in_last_group });
    }
    if rest > 0 {
        bytes.truncate((count - in_last_group) / 4 * 7 + rest);
    }
    Ok(bytes)
}

fn tail_len(c: char) -> Option<usize> {
    matches!(u32::from(c), 0x3D01..=0x3D06).then(|| (u32::from(c) - TAIL) as usize)
}

fn character(value: u32) -> char {
    char::from_u32(FIRST + (value & 0x3FFF)).expect("U+4E00 to U+8DFF holds no surrogate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_text() {
        // From the format's own C implementation.
        let bytes: Vec<u8> = (0..8).map(|i| (i * 37 + 200) as u8).collect();
        let expected = ["", "\u{8000}\u{3d01}", "\u{803b}\u{5e00}\u{3d02}", "\u{803b}\u{5f20}\u{3d03}"];
        for (n, text) in expected.iter().enumerate() {
            assert_eq!(encode(&bytes[..n]), *text);
        }
        assert_eq!(encode(&bytes[..6]), "\u{803b}\u{5f23}\u{6b72}\u{4f00}\u{3d06}");
        assert_eq!(encode(&bytes[..7]), "\u{803b}\u{5f23}\u{6b72}\u{4fa6}");
        assert_eq!(encode(&bytes), "\u{803b}\u{5f23}\u{6b72}\u{4fa6}\u{80c0}\u{3d01}");
    }

    #[test]
    fn every_length_comes_back() {
        for n in 1..64 {
            let bytes: Vec<u8> = (0..n).map(|i| (i * 151 + 7) as u8).collect();
            assert_eq!(decode(&encode(&bytes)), Ok(bytes));
        }
    }

    #[test]
    fn errors_name_the_character_and_the_group() {
        assert_eq!(decode("").unwrap_err(), Base16384Error::Empty);
        assert_eq!(decode("hello").unwrap_err().to_string(), "character 1 'h' is not in U+4E00..U+8DFF");
        assert_eq!(decode("一一x一").unwrap_err().to_string(), "character 3 'x' is not in U+4E00..U+8DFF");
        let cut = decode("一一一").unwrap_err();
        assert_eq!(cut.to_string(), "expected 4 characters in the last group, found 3 (cut off?)");
        assert!(decode("\u{3d01}").is_err());
    }
}
