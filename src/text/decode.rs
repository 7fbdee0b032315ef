//! Stage 1: characters that only look different become one character.

use super::ChangeKind;
use super::unit::{Log, Unit, is_invisible};

/// `raw` holds no NUL: the caller has refused it.
pub(super) fn decode(raw: &str, log: &mut Log) -> Vec<Unit> {
    let mut out = Vec::with_capacity(raw.len());
    let mut chars = raw.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let span = start..start + c.len_utf8();
        if is_invisible(c) {
            log.change(span, "", ChangeKind::Invisible);
            continue;
        }
        let next = chars.peek().map(|(_, c)| *c);
        let plain = match c {
            '\r' if next == Some('\n') => continue,
            '\r' | '\n' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            c if c.is_whitespace() || c.is_control() => ' ',
            c => fold(c),
        };
        if plain != c && !plain.is_whitespace() {
            log.change(span.clone(), plain.encode_utf8(&mut [0; 4]), ChangeKind::Width);
        }
        out.push(Unit::char(plain, span));
    }
    out
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
