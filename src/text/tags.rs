//! Stage 3: control tags, and pauses.
//!
//! After this stage no square bracket is left in the text, so nothing a caller writes can become a token of the prompt.
//! Names are matched without regard to case, and `-` or a space stand for `_`: `[UV break]` is `[uv_break]`.
//!
//! `[pause:1.5s]`, `[pause:500ms]` and `[pause:2]` are silence of that length, at most [`MAX_PAUSE_MS`].

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Symbol, Unit};
use super::{ChangeKind, SkipReason};

/// Longest name looked for between brackets; an opening bracket holds back no more text than this.
const MAX_NAME: usize = 24;

/// The longest pause of one tag.
pub(super) const MAX_PAUSE_MS: u32 = 10_000;

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
        if let Some((name, last)) = &bracket
            && let Some(ms) = pause_of(name)
        {
            let span = unit.start..last.end;
            self.log.change(context.raw, span.clone(), &pause_text(ms), ChangeKind::Pause);
            pause(ms, span).into_iter().for_each(|unit| out.push(unit));
            return Ok(i + 1 + last.after);
        }
        let plain = |(name, last): (String, Close)| (name.trim().replace([' ', '-'], "_"), last);
        match bracket.map(plain) {
            Some((name, last)) if context.options.tags.contains(&name.as_str()) => {
                let index = context.options.tags.iter().position(|t| *t == name).unwrap_or_default();
                let written = format!("[{name}]");
                if !context.raw[unit.start..last.end].eq_ignore_ascii_case(&written) {
                    self.log.change(context.raw, unit.start..last.end, &written, ChangeKind::Bracket);
                }
                let tag = Unit { symbol: Symbol::Tag(index), ..Unit::char(' ', unit.start..last.end) };
                out.push(tag);
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
                return Ok(Some((name, close)));
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
    pause_value(name).is_some()
}

fn pause_value(name: &str) -> Option<&str> {
    name.trim_start().strip_prefix("pause")?.trim_start_matches([' ', '_']).strip_prefix([':', '=', '：'])
}

fn pause_of(name: &str) -> Option<u32> {
    milliseconds(pause_value(name)?)
}

/// A time such as `1.5s`, `500 ms` or `2`, which is in seconds; never more than [`MAX_PAUSE_MS`].
pub(super) fn milliseconds(text: &str) -> Option<u32> {
    let text = text.trim().to_ascii_lowercase();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix('s').unwrap_or(&text), 1000.0),
    };
    let number = number.trim();
    let written = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value: f64 = if written { number.parse().ok()? } else { return None };
    Some((value * unit).min(f64::from(MAX_PAUSE_MS)).round() as u32)
}

/// A pause as units: a line's end, which is heard in what is spoken before it, then the silence itself.
pub(super) fn pause(ms: u32, span: std::ops::Range<usize>) -> [Unit; 2] {
    let silence = Unit { symbol: Symbol::Pause(ms), ..Unit::char(' ', span.clone()) };
    [Unit::char('\n', span), silence]
}

/// As it is reported.
pub(super) fn pause_text(ms: u32) -> String {
    format!("{} s", f64::from(ms) / 1000.0)
}
