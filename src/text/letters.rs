//! Stage 6: only letters the model knows go on; the rest is folded into them, or skipped and reported.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::acronyms::acronym;
use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Unit, is_han, is_latin, is_word};
use super::{ChangeKind, Language, SkipReason, marks};

#[derive(Default)]
pub(super) struct Letters {
    pub log: Log,
    after_word: bool,
    /// Whether the character before was of a script the model does not speak: its marks are too.
    after_foreign: bool,
    /// Capitals of the word so far, zero if it has other letters; and whether the one before was all capitals.
    capitals: usize,
    after_capitals: bool,
}

impl Letters {
    /// What follows belongs to no word before it.
    pub fn restart(&mut self) {
        *self = Self { log: std::mem::take(&mut self.log), ..Self::default() };
    }

    /// Goes past a character, for what comes after a word in capitals.
    fn pass(&mut self, c: char, begins: bool) {
        self.capitals = match c {
            c if c.is_uppercase() => {
                if begins {
                    1
                } else {
                    self.capitals + usize::from(self.capitals > 0)
                }
            }
            _ => {
                self.after_capitals = c == ' ' && self.capitals >= 2;
                0
            }
        };
    }

    /// Puts out the letters of the acronym at `i` with spaces between, if there is one; the index behind it.
    fn spell(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<Option<usize>, More> {
        let Some(end) = acronym(input, i, self.after_capitals)? else {
            return Ok(None);
        };
        let mut forms = Vec::new();
        let mut span = 0..0;
        for k in i..end {
            let Some(unit) = input.at(k)? else { return Ok(None) };
            let Some((form, _)) = unit.as_char().and_then(|c| known_form(c, context)) else { return Ok(None) };
            forms.push(form);
            span = if k == i { unit.span() } else { span.start..unit.end };
        }
        let text = forms.join(" ");
        self.log.change(context.raw, span.clone(), &text, ChangeKind::Abbreviation);
        if input.char_before(i, 1).is_some_and(is_latin) {
            out.push(Unit::char(' ', span.clone()));
        }
        text.chars().for_each(|c| out.push(Unit::char(c, span.clone())));
        (self.after_word, self.after_foreign, self.capitals) = (true, false, forms.len());
        Ok(Some(end))
    }
}

impl Stage for Letters {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        if let Some(end) = self.spell(input, i, context, out)? {
            return Ok(end);
        }
        let begins = !input.char_before(i, 1).is_some_and(is_latin);
        self.pass(unit.as_char().unwrap_or('。'), begins);
        let Some(c) = unit.as_char().filter(|c| marks::role(*c).is_none()) else {
            (self.after_word, self.after_foreign) = (false, false);
            out.push(unit);
            return Ok(i + 1);
        };
        match known_form(c, context) {
            Some((form, folded)) => {
                if folded {
                    self.log.change(context.raw, unit.span(), &form, ChangeKind::Accent);
                }
                form.chars().for_each(|c| out.push(unit.with(c)));
                (self.after_word, self.after_foreign) = (true, false);
            }
            None if is_combining_mark(c) && self.after_word => {
                self.log.change(context.raw, unit.span(), "", ChangeKind::Accent);
            }
            None => {
                let mark = is_combining_mark(c) && self.after_foreign;
                let foreign = mark || (c.is_alphabetic() && !is_latin(c) && !is_han(c));
                self.after_foreign = foreign;
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
