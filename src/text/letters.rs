//! Stage 5: only letters the model knows go on; the rest is folded into them, or skipped and reported.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::unit::{Log, Unit, is_han, is_latin, is_word};
use super::{ChangeKind, Language, Options, SkipReason, marks};

pub(super) fn filter(units: Vec<Unit>, options: &Options, log: &mut Log) -> Vec<Unit> {
    let lower_all = !('A'..='Z').all(options.knows);
    let mut out: Vec<Unit> = Vec::with_capacity(units.len());
    for unit in units {
        let Some(c) = unit.as_char() else {
            out.push(unit);
            continue;
        };
        if marks::role(c).is_some() {
            out.push(unit);
            continue;
        }
        match known_form(c, lower_all, options) {
            Some((form, folded)) => {
                if folded {
                    log.change(unit.span(), &form, ChangeKind::Accent);
                }
                out.extend(form.chars().map(|c| Unit::char(c, unit.span())));
            }
            None if is_combining_mark(c) && out.last().is_some_and(Unit::is_word) => {
                log.change(unit.span(), "", ChangeKind::Accent);
            }
            None => {
                let foreign = c.is_alphabetic() && !is_latin(c) && !is_han(c);
                let why = if foreign { SkipReason::UnknownScript } else { SkipReason::UnknownCharacter };
                log.skip(unit.span(), why);
                // What stood between two words still parts them.
                out.push(Unit::char(' ', unit.span()));
            }
        }
    }
    out
}

/// `c` as the model knows it, and whether more than its case was changed.
fn known_form(c: char, lower_all: bool, options: &Options) -> Option<(String, bool)> {
    let known = |s: &str| !s.is_empty() && s.chars().all(|c| is_word(c) && (options.knows)(c));
    if is_han(c) {
        let form = c.to_string();
        return (options.languages.contains(&Language::Chinese) && known(&form)).then_some((form, false));
    }
    if !is_latin(c) && !c.is_ascii_digit() {
        return None;
    }
    let cased = |s: &str| if lower_all { s.to_lowercase() } else { s.to_string() };
    let form = cased(c.encode_utf8(&mut [0; 4]));
    if known(&form) {
        return Some((form, false));
    }
    let folded = cased(&fold(c));
    known(&folded).then_some((folded, true))
}

/// Accents off: `é` -> `e`, and the letters that are no accented letters but are written as ASCII where need be.
fn fold(c: char) -> String {
    let plain = match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ł' | 'Ł' => "l",
        'ı' => "i",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        _ => {
            let mut out = String::new();
            decompose_canonical(c, |part| {
                if !is_combining_mark(part) {
                    out.push(part);
                }
            });
            return out;
        }
    };
    plain.to_string()
}
