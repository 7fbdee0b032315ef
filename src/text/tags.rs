//! Stage 2: control tags.
//!
//! After this stage no square bracket is left in the text, so nothing a caller writes can become a token of the prompt.
//! Names are matched without regard to case, and `-` or a space stand for `_`: `[UV break]` is `[uv_break]`.

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Symbol, Unit};
use super::{ChangeKind, SkipReason};

/// Longest name looked for between brackets; an opening bracket holds back no more text than this.
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

#[derive(Default)]
pub(super) struct Tags {
    pub log: Log,
}

impl Stage for Tags {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let bracket = match unit.as_char() {
            Some('[') => name_at(input, i + 1)?,
            Some(']') => None,
            _ => {
                out.push(unit);
                return Ok(i + 1);
            }
        };
        match bracket {
            Some((name, last)) if context.options.tags.contains(&name.as_str()) => {
                let index = context.options.tags.iter().position(|t| *t == name).unwrap_or_default();
                out.push(Unit { symbol: Symbol::Tag(index), start: unit.start, end: last.end, hint: None });
                Ok(i + 1 + last.after)
            }
            Some((name, last)) if is_reserved(&name) || is_pause(&name) => {
                let why = if is_pause(&name) { SkipReason::UnsupportedTag } else { SkipReason::ReservedToken };
                self.log.skip(context.raw, unit.start..last.end, why);
                out.push(Unit::char(' ', unit.start..last.end));
                Ok(i + 1 + last.after)
            }
            _ => {
                self.log.change(context.raw, unit.span(), "", ChangeKind::Bracket);
                out.push(Unit::char(' ', unit.span()));
                Ok(i + 1)
            }
        }
    }
}

/// A closing bracket: how many units it ends after the opening one, and the byte it ends at.
struct Close {
    after: usize,
    end: usize,
}

/// The name from `start` to the next `]`, and where that is.
fn name_at(input: &Window, start: usize) -> Result<Option<(String, Close)>, More> {
    let mut name = String::new();
    for after in 0..=MAX_NAME {
        let Some(unit) = input.at(start + after)? else {
            return Ok(None);
        };
        match unit.as_char() {
            Some(']') => {
                let close = Close { after: after + 1, end: unit.end };
                return Ok(Some((name.trim().replace([' ', '-'], "_"), close)));
            }
            Some('[' | '\n') | None => return Ok(None),
            Some(c) => name.push(c.to_ascii_lowercase()),
        }
    }
    Ok(None)
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
