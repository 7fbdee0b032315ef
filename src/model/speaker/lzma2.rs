//! Raw LZMA2, the inner coding of speaker strings: no container, no checksum, and no length told in advance.
//!
//! The Python package writes with preset 9 | extreme, whose dictionary is 64 MiB. A payload here is a few kilobytes and
//! no match reaches further back than its beginning, so both ways work with a dictionary of the payload's own size.

use std::io::{ErrorKind, Read, Write};

use lzma_rust2::{Lzma2Options, Lzma2Reader, Lzma2Writer, LzmaOptions};

/// The smallest dictionary the format knows.
const MIN_DICT: usize = 4096;
const PRESET: u32 = 9;

#[derive(Debug, thiserror::Error)]
pub enum Lzma2Error {
    #[error("expected an end marker, found the end of the data (cut off?)")]
    CutOff,
    #[error("{0}")]
    Corrupt(std::io::Error),
    #[error("expected at most {limit} bytes unpacked, found more")]
    TooLong { limit: usize },
    #[error("expected the end of the data after the end marker, found {0} more bytes")]
    Trailing(usize),
}

/// Whether a stream can begin with this byte: a chunk that resets the dictionary.
pub fn can_start(byte: u8) -> bool {
    byte == 0x01 || byte >= 0xE0
}

/// Unpacks a whole stream; memory is bounded by `limit`, whatever the data say.
pub fn decompress(packed: &[u8], limit: usize) -> Result<Vec<u8>, Lzma2Error> {
    let dict = limit.max(MIN_DICT).next_multiple_of(MIN_DICT) as u32;
    let mut reader = Lzma2Reader::new(packed, dict, None);
    let mut out = Vec::new();
    reader.by_ref().take(limit as u64 + 1).read_to_end(&mut out).map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof => Lzma2Error::CutOff,
        _ => Lzma2Error::Corrupt(e),
    })?;
    if out.len() > limit {
        return Err(Lzma2Error::TooLong { limit });
    }
    match reader.inner().len() {
        0 => Ok(out),
        rest => Err(Lzma2Error::Trailing(rest)),
    }
}

/// Packs `bytes` so that any LZMA2 decoder with a dictionary of preset 9 reads them.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut lzma_options = LzmaOptions::with_preset(PRESET);
    lzma_options.dict_size = bytes.len().max(MIN_DICT).next_multiple_of(MIN_DICT) as u32;
    lzma_options.nice_len = LzmaOptions::NICE_LEN_MAX;
    let options = Lzma2Options { lzma_options, ..Default::default() };
    let mut writer = Lzma2Writer::new(Vec::new(), options);
    let packed = writer.write_all(bytes).and_then(|()| writer.finish());
    packed.expect("writing into memory does not fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_from_nothing_to_several_chunks() {
        for n in [0usize, 1, 2, 1536, 70_000, 300_000] {
            let bytes: Vec<u8> = (0..n).map(|i| (i * i / 7) as u8).collect();
            assert_eq!(decompress(&compress(&bytes), n).unwrap(), bytes, "{n} bytes");
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let bomb = compress(&vec![0; 1 << 20]);
        assert!(bomb.len() < 1024);
        assert!(matches!(decompress(&bomb, 1536), Err(Lzma2Error::TooLong { limit: 1536 })));
    }

    #[test]
    fn cut_and_padded_streams_are_told() {
        let packed = compress(b"some bytes that are some bytes");
        for n in 0..packed.len() {
            assert!(decompress(&packed[..n], 100).is_err(), "first {n} bytes");
        }
        let longer = [packed.as_slice(), b"xy"].concat();
        assert!(matches!(decompress(&longer, 100), Err(Lzma2Error::Trailing(2))));
    }
}
