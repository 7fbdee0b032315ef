//! Stage 2: control tags.
//!
//! After this stage no square bracket is left in the text, so nothing a caller writes can become a token of the prompt.
//! Names are matched without regard to case, and `-` or a space stand for `_`: `[UV break]` is `[uv_break]`.

use super::unit::{Log, Symbol, Unit, char_at};
use super::{ChangeKind, Options, SkipReason};

/// Longest name looked for between brackets.
const MAX_NAME: usize = 24;

/// Tokens of the prompts, and the tokenizer's own.
const RESERVED: [&str; 24] = [
    "pad",
    "unk",
    "cls",
    "sep",
    "mask",
    "sasr",
    "pasr",
    "easr",
    "stts",
    "ptts",
    "etts",
    "sbreak",
    "pbreak",
    "ebreak",
    "uv_break",
    "v_break",
    "lbreak",
    "llbreak",
    "undefine",
    "laugh",
    "spk_emb",
    "empty_spk",
    "music",
    "pure",
];

/// Reserved with a number behind: `break_3`, `unused12`.
const NUMBERED: [&str; 5] = ["break_", "laugh_", "oral_", "speed_", "unused"];

pub(super) fn tags(units: Vec<Unit>, options: &Options, log: &mut Log) -> Vec<Unit> {
    let mut out = Vec::with_capacity(units.len());
    let mut i = 0;
    while let Some(&unit) = units.get(i) {
        let bracket = match unit.as_char() {
            Some('[') => name_at(&units, i + 1),
            Some(']') => None,
            _ => {
                out.push(unit);
                i += 1;
                continue;
            }
        };
        let whole = bracket.as_ref().map(|(_, close)| unit.start..units[*close].end);
        match bracket.zip(whole) {
            Some(((name, close), span)) if options.tags.contains(&name.as_str()) => {
                let index = options.tags.iter().position(|t| *t == name).unwrap_or_default();
                out.push(Unit { symbol: Symbol::Tag(index), start: span.start, end: span.end });
                i = close + 1;
            }
            Some(((name, close), span)) if is_reserved(&name) || is_pause(&name) => {
                let why = if is_pause(&name) { SkipReason::UnsupportedTag } else { SkipReason::ReservedToken };
                log.skip(span.clone(), why);
                out.push(Unit::char(' ', span));
                i = close + 1;
            }
            _ => {
                log.change(unit.span(), "", ChangeKind::Bracket);
                out.push(Unit::char(' ', unit.span()));
                i += 1;
            }
        }
    }
    out
}

/// The name from `start` to the next `]`, and where that is.
fn name_at(units: &[Unit], start: usize) -> Option<(String, usize)> {
    let mut name = String::new();
    for i in start..=start + MAX_NAME {
        match char_at(units, i)? {
            ']' => return Some((name.trim().replace([' ', '-'], "_"), i)),
            '[' | '\n' => return None,
            c => name.push(c.to_ascii_lowercase()),
        }
    }
    None
}

fn is_reserved(name: &str) -> bool {
    let numbered = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    RESERVED.contains(&name) || NUMBERED.iter().any(numbered)
}

fn is_pause(name: &str) -> bool {
    name.strip_prefix("pause").is_some_and(|rest| rest.starts_with([':', '=']))
}
