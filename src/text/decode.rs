//! Stage 1: characters that only look different become one character. Needs no look ahead.

use std::ops::Range;

use super::ChangeKind;
use super::stage::Window;
use super::unit::{Log, Unit, is_invisible};

#[derive(Default)]
pub(super) struct Decode {
    pub log: Log,
    /// Whether the character before was a carriage return, which makes a line feed a part of it.
    after_return: bool,
}

impl Decode {
    /// Takes these bytes of the text, which hold no NUL: the caller has refused it.
    pub fn take(&mut self, raw: &str, bytes: Range<usize>, out: &mut Window) {
        for (at, c) in raw[bytes.clone()].char_indices() {
            let start = bytes.start + at;
            let span = start..start + c.len_utf8();
            let line_feed_of_return = std::mem::replace(&mut self.after_return, c == '\r') && c == '\n';
            if is_invisible(c) {
                self.log.change(raw, span, "", ChangeKind::Invisible);
                continue;
            }
            let plain = match c {
                '\n' if line_feed_of_return => continue,
                '\r' | '\n' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
                c if c.is_whitespace() || c.is_control() => ' ',
                c => fold(c),
            };
            if plain != c && !plain.is_whitespace() {
                self.log.change(raw, span.clone(), plain.encode_utf8(&mut [0; 4]), ChangeKind::Width);
            }
            out.push(Unit::char(plain, span));
        }
    }
}

/// Full-width letters, digits and signs as ASCII. Full-width punctuation stays: it is Chinese punctuation.
fn fold(c: char) -> char {
    match c {
        '，' | '：' | '；' | '！' | '？' | '．' | '（' | '）' => c,
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        '‘' | '’' | 'ʼ' | '′' => '\'',
        '‐' | '‑' | '−' => '-',
        '￥' => '¥',
        c => c,
    }
}
