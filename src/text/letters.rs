//! Stage 6: only letters the model knows go on; the rest is folded into them, or skipped and reported.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Unit, is_han, is_latin, is_word};
use super::{ChangeKind, Language, SkipReason, marks};

#[derive(Default)]
pub(super) struct Letters {
    pub log: Log,
    after_word: bool,
}

impl Letters {
    /// What follows belongs to no word before it.
    pub fn restart(&mut self) {
        self.after_word = false;
    }
}

impl Stage for Letters {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let Some(c) = unit.as_char().filter(|c| marks::role(*c).is_none()) else {
            self.after_word = false;
            out.push(unit);
            return Ok(i + 1);
        };
        match known_form(c, context) {
            Some((form, folded)) => {
                if folded {
                    self.log.change(context.raw, unit.span(), &form, ChangeKind::Accent);
                }
                form.chars().for_each(|c| out.push(Unit::char(c, unit.span())));
                self.after_word = true;
            }
            None if is_combining_mark(c) && self.after_word => {
                self.log.change(context.raw, unit.span(), "", ChangeKind::Accent);
            }
            None => {
                let foreign = c.is_alphabetic() && !is_latin(c) && !is_han(c);
                let why = if foreign { SkipReason::UnknownScript } else { SkipReason::UnknownCharacter };
                self.log.skip(context.raw, unit.span(), why);
                // What stood between two words still parts them.
                out.push(Unit::char(' ', unit.span()));
                self.after_word = false;
            }
        }
        Ok(i + 1)
    }
}

/// `c` as the model knows it, and whether more than its case was changed.
fn known_form(c: char, context: &Context) -> Option<(String, bool)> {
    let options = context.options;
    let known = |s: &str| !s.is_empty() && s.chars().all(|c| is_word(c) && (options.knows)(c));
    if is_han(c) {
        let form = c.to_string();
        return (options.languages.contains(&Language::Chinese) && known(&form)).then_some((form, false));
    }
    if !is_latin(c) && !c.is_ascii_digit() {
        return None;
    }
    let cased = |s: &str| if context.facts.lower_all { s.to_lowercase() } else { s.to_string() };
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
