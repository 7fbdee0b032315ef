//! Stage 1: characters that only look different become one character, and emoji go as wholes, before anything could
//! take them apart.
//!
//! Compatibility forms (NFKC) are taken where they are mere looks: full-width, bold and circled letters, ligatures,
//! radicals in place of characters, vertical and small marks. Where the form carries a meaning it stays for the stage
//! that reads it: circled digits, fractions, Roman numerals, unit signs, superscripts.

use unicode_normalization::char::decompose_compatible;

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Unit, is_invisible};
use super::{ChangeKind, SkipReason};

mod emoji;

#[derive(Default)]
pub(super) struct Decode {
    pub log: Log,
    /// Whether the character before was a carriage return, which makes a line feed a part of it.
    after_return: bool,
}

impl Stage for Decode {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let Some(c) = unit.as_char() else {
            out.push(unit);
            return Ok(i + 1);
        };
        if let Some(end) = emoji::end(input, i, c)? {
            let span = unit.start..input.at(end - 1)?.unwrap_or(unit).end;
            self.log.skip(context.raw, span.clone(), SkipReason::Emoji);
            self.after_return = false;
            // What stood between two words still parts them.
            out.push(Unit::char(' ', span));
            return Ok(end);
        }
        let line_feed_of_return = std::mem::replace(&mut self.after_return, c == '\r') && c == '\n';
        if is_invisible(c) {
            self.log.change(context.raw, unit.span(), "", ChangeKind::Invisible);
        } else if !line_feed_of_return {
            let subscript = input.char_before(i, 1).is_some_and(|c| c.is_alphabetic() || is_subscript(c));
            let plain = match inside_number(input, i, c)? {
                Some(mark) => Plain::one(mark),
                None => plain(c, subscript),
            };
            if !plain.is(c) && !plain.is_space() {
                self.log.change(context.raw, unit.span(), plain.as_str(), ChangeKind::Width);
            }
            plain.as_str().chars().for_each(|c| out.push(Unit::char(c, unit.span())));
        }
        Ok(i + 1)
    }
}

/// The full-width point and comma of ３．５ and １，０００ are those of a number, and no Chinese punctuation.
fn inside_number(input: &Window, i: usize, c: char) -> Result<Option<char>, More> {
    let mark = match c {
        '．' => '.',
        '，' => ',',
        _ => return Ok(None),
    };
    let wide = |c: Option<char>| c.is_some_and(|c| matches!(c, '０'..='９'));
    let digit = |c: Option<char>| wide(c) || (mark == '.' && c.is_some_and(|c| c.is_ascii_digit()));
    Ok((digit(input.char_before(i, 1)) && digit(input.char_at(i + 1)?)).then_some(mark))
}

/// A character, or the few that it stands for.
pub(super) enum Plain {
    One([u8; 4], usize),
    Some(String),
}

impl Plain {
    fn one(c: char) -> Self {
        let mut bytes = [0; 4];
        let len = c.encode_utf8(&mut bytes).len();
        Self::One(bytes, len)
    }

    pub fn as_str(&self) -> &str {
        match self {
            // They were written by `encode_utf8`.
            Self::One(bytes, len) => std::str::from_utf8(&bytes[..*len]).unwrap_or_default(),
            Self::Some(text) => text,
        }
    }

    fn is(&self, c: char) -> bool {
        self.as_str().chars().eq([c])
    }

    fn is_space(&self) -> bool {
        matches!(self.as_str(), " " | "\n")
    }
}

/// The plain form of a character that shows something. White space becomes a space or a newline. `subscript`: a
/// subscript digit here belongs to the letter before it (H₂O), and not to a number.
pub(super) fn plain(c: char, subscript: bool) -> Plain {
    Plain::one(match c {
        ' '..='~' => c,
        '\r' | '\n' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        c if c.is_whitespace() || c.is_control() => ' ',
        // Chinese punctuation, not a wide form of the ASCII one.
        '，' | '：' | '；' | '！' | '？' | '．' | '（' | '）' => c,
        '‘' | '’' | 'ʼ' | '′' => '\'',
        '‐' | '‑' | '−' => '-',
        '￥' => '¥',
        // White on black circles and squares have no decomposition.
        '\u{1F150}'..='\u{1F169}' => letter(c, 0x1F150),
        '\u{1F170}'..='\u{1F189}' => letter(c, 0x1F170),
        '\u{1F110}'..='\u{1F129}' => letter(c, 0x1F110),
        '\u{24B6}'..='\u{24CF}' => letter(c, 0x24B6),
        '\u{24D0}'..='\u{24E9}' => letter(c, 0x24D0).to_ascii_lowercase(),
        '\u{249C}'..='\u{24B5}' => letter(c, 0x249C).to_ascii_lowercase(),
        c if is_subscript(c) && !subscript => c,
        c if is_look(c) => return compatible(c),
        c => c,
    })
}

fn letter(c: char, from: u32) -> char {
    char::from_u32(u32::from('A') + (c as u32 - from)).unwrap_or(c)
}

fn is_subscript(c: char) -> bool {
    matches!(c, '₀'..='₉')
}

/// Whether the compatible form says the same.
fn is_look(c: char) -> bool {
    matches!(c, '\u{FF01}'..='\u{FF5E}' | '\u{FFE0}'..='\u{FFE2}' | '\u{FFE4}'..='\u{FFE6}')
        // Ligatures and digraphs, the long s.
        || matches!(c, '\u{FB00}'..='\u{FB06}' | '\u{132}' | '\u{133}' | '\u{13F}' | '\u{140}' | '\u{149}' | '\u{17F}')
        || matches!(c, '\u{1C4}'..='\u{1CC}' | '\u{1F1}'..='\u{1F3}')
        // Bold, italic, script, double-struck and squared letters and digits.
        || matches!(c, '\u{1D400}'..='\u{1D7FF}' | '\u{1F130}'..='\u{1F149}')
        || matches!(c, 'ℂ' | 'ℊ'..='ℍ' | 'ℐ'..='ℒ' | 'ℕ' | 'ℙ'..='ℝ' | 'ℤ' | 'ℨ' | 'ℬ' | 'ℭ' | 'ℯ'..='ℱ' | 'ℳ' | 'ℴ' | 'ℹ')
        // Radicals and compatibility ideographs.
        || matches!(c, '\u{2E80}'..='\u{2FD5}' | '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}')
        // Vertical and small forms, doubled marks, dot leaders.
        || matches!(c, '\u{FE10}'..='\u{FE19}' | '\u{FE30}'..='\u{FE48}' | '\u{FE50}'..='\u{FE6B}')
        || matches!(c, '‼' | '⁇' | '⁈' | '⁉' | '․' | '‥')
        || is_subscript(c)
}

fn compatible(c: char) -> Plain {
    let mut out = String::new();
    decompose_compatible(c, |part| out.push(part));
    Plain::Some(out)
}
