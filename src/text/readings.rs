//! Stage 4: numbers and symbols become words of the language around them.
//!
//! A number is read in the language of the nearest letter in its line, so a look ahead goes no farther than the letter
//! before it is away. A number of more than [`MAX_NUMBER`] characters is read in parts, digit by digit.

use super::numbers::Number;
use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Unit, is_han, is_latin};
use super::{ChangeKind, Language};

/// Ungrouped digits from this many on are a number to dial or to look up, not a quantity.
const SPELT_FROM: usize = 11;

/// Characters of a number, from where its end is looked for no farther.
const MAX_NUMBER: usize = 64;

/// How far after a number a letter is looked for that tells its language.
const MAX_CONTEXT: usize = 32;

#[derive(Default)]
pub(super) struct Readings {
    pub log: Log,
    /// Whether the last word put out was a number: 10 and 5 side by side must not become 十五.
    after_number: bool,
    /// The last letter's language, and how many units ago it was; `None` until the line has one.
    letter: Option<(Language, usize)>,
    /// The last letter's language in any line.
    last: Option<Language>,
    /// The number just read goes on, in this language.
    unfinished: Option<Language>,
}

impl Readings {
    /// What follows belongs neither to the number nor to the line before.
    pub fn restart(&mut self) {
        (self.after_number, self.letter, self.unfinished) = (false, None, None);
    }

    fn pass(&mut self, unit: &Unit) {
        if unit.as_char() == Some('\n') {
            self.letter = None;
        } else if let Some(language) = language_of(unit) {
            self.letter = Some((language, 0));
            self.last = Some(language);
        }
        if let Some((_, ago)) = &mut self.letter {
            *ago += 1;
        }
    }

    /// The language of what is being read and ends at `end`: that of the nearest letter in its line, Chinese
    /// where two are as near (Chinese text holds single Latin letters, `A380客机`; English text holds no single Chinese
    /// ones). In a line without letters it is the language of the line before.
    fn around(&self, input: &Window, end: usize, readable: &[Language]) -> Result<Option<Language>, More> {
        let (&first, others) = match readable.split_first() {
            Some((first, others)) => (first, others),
            None => return Ok(None),
        };
        if others.is_empty() {
            return Ok(Some(first));
        }
        let reach = self.letter.map_or(MAX_CONTEXT, |(_, ago)| ago.min(MAX_CONTEXT));
        for away in 1..=reach {
            let Some(unit) = input.at(end - 1 + away)?.filter(|u| u.as_char() != Some('\n')) else {
                break;
            };
            if let Some(after) = language_of(&unit) {
                let before = self.letter.filter(|(before, ago)| *ago == away && *before == Language::Chinese);
                return Ok(Some(before.map_or(after, |(before, _)| before)));
            }
        }
        Ok(Some(self.letter.map(|(before, _)| before).or(self.last).unwrap_or(first)))
    }
}

fn language_of(unit: &Unit) -> Option<Language> {
    match unit.as_char()? {
        c if is_han(c) || matches!(c, '，' | '。' | '！' | '？' | '、') => Some(Language::Chinese),
        c if is_latin(c) => Some(Language::English),
        _ => None,
    }
}

impl Stage for Readings {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let (reading, end) = match number_at(input, i, self.unfinished.is_some())? {
            Some(part) => {
                let end = part.end;
                (Some(Reading::Number(part)), end)
            }
            None => (symbol_at(input, i)?, i + 1),
        };
        let language = match (&reading, self.unfinished) {
            (Some(Reading::Number(_)), Some(language)) => Some(language),
            (Some(_), _) => self.around(input, end, &context.facts.readable)?,
            (None, _) => None,
        };
        let Some((reading, language)) = reading.zip(language) else {
            self.after_number &= !unit.is_word();
            self.unfinished = None;
            self.pass(&unit);
            out.push(unit);
            return Ok(i + 1);
        };
        let span = unit.start..input.at(end - 1)?.unwrap_or(unit).end;
        let (words, kind) = match &reading {
            Reading::Number(part) => (part.number.read(language), ChangeKind::Number),
            Reading::Symbol(english, _) if language == Language::English => (english.to_string(), ChangeKind::Symbol),
            Reading::Symbol(_, chinese) => (chinese.to_string(), ChangeKind::Symbol),
        };
        let is_number = kind == ChangeKind::Number;
        if self.after_number && is_number && self.unfinished.is_none() {
            out.push(Unit::char(',', unit.start..unit.start));
        }
        self.after_number = is_number;
        self.unfinished = matches!(&reading, Reading::Number(part) if part.goes_on).then_some(language);
        self.log.change(context.raw, span.clone(), &words, kind);
        // English words stand apart from letters on either side; tidying drops the spaces that are not needed.
        let apart = words.starts_with(|c: char| c.is_ascii()).then(|| Unit::char(' ', span.clone()));
        apart.into_iter().for_each(|space| out.push(space));
        words.chars().for_each(|c| out.push(Unit::char(c, span.clone())));
        apart.into_iter().for_each(|space| out.push(space));
        for k in i..end {
            input.at(k)?.iter().for_each(|unit| self.pass(unit));
        }
        Ok(end)
    }
}

enum Reading {
    Number(Part),
    /// Its English and its Chinese word.
    Symbol(&'static str, &'static str),
}

/// A number, or a part of a long one.
struct Part {
    number: Number,
    end: usize,
    /// Whether it was cut at [`MAX_NUMBER`] characters and more digits follow.
    goes_on: bool,
}

fn digit_at(input: &Window, k: usize) -> Result<Option<char>, More> {
    Ok(input.char_at(k)?.filter(char::is_ascii_digit))
}

/// The number that starts at `i`.
///
/// `[-]digits[,ddd...][.digits...][ ]%`: grouping counts only where each group has exactly three digits.
/// `continued`: the digits before `i` are of the same number.
fn number_at(input: &Window, i: usize, continued: bool) -> Result<Option<Part>, More> {
    let first = input.char_at(i)?;
    if !first.is_some_and(|c| c.is_ascii_digit() || matches!(c, '-' | '.')) {
        return Ok(None);
    }
    let before = input.char_before(i, 1);
    let fresh = !before.is_some_and(|c| c.is_ascii_alphanumeric() || is_latin(c) || matches!(c, '.' | '-'));
    let negative = first == Some('-') && fresh;
    let mut at = i + usize::from(negative);
    let mut number = Number { negative, ..Default::default() };
    let stop = i + MAX_NUMBER;
    let pointed = |at: usize| Ok(input.char_at(at)? == Some('.') && digit_at(input, at + 1)?.is_some());
    if pointed(at)? && (fresh || continued) {
        // ".5" is 0.5; the rest of a long number has had its whole part.
        number.whole.push_str(if continued { "" } else { "0" });
    } else if digit_at(input, at)?.is_none() {
        return Ok(None);
    } else {
        digits(input, &mut at, stop, &mut number.whole)?;
    }
    let mut grouped = false;
    while !continued && number.whole.len() <= 3 + 4 * 3 && (grouped || number.whole.len() <= 3) {
        let Some(group) = group_at(input, at)? else { break };
        number.whole.extend(group);
        grouped = true;
        at += 4;
    }
    while at < stop && pointed(at)? {
        let mut group = String::new();
        at += 1;
        // A point is not parted from its digit.
        let stop = stop.max(at + 1);
        digits(input, &mut at, stop, &mut group)?;
        number.groups.push(group);
    }
    let goes_on = at >= stop && (digit_at(input, at)?.is_some() || pointed(at)?);
    let sign = at + usize::from(input.char_at(at)? == Some(' '));
    if !goes_on && input.char_at(sign)? == Some('%') {
        number.percent = true;
        at = sign + 1;
    }
    let plain = !grouped && number.groups.is_empty();
    number.spelt = continued || (plain && is_spelt(input, i, at, &number.whole)?);
    Ok(Some(Part { number, end: at, goes_on }))
}

/// Appends the digits from `at` to `stop`, and moves `at` behind them.
fn digits(input: &Window, at: &mut usize, stop: usize, out: &mut String) -> Result<(), More> {
    while *at < stop
        && let Some(c) = digit_at(input, *at)?
    {
        out.push(c);
        *at += 1;
    }
    Ok(())
}

/// A comma and exactly three digits.
fn group_at(input: &Window, at: usize) -> Result<Option<[char; 3]>, More> {
    if input.char_at(at)? != Some(',') {
        return Ok(None);
    }
    let mut group = ['0'; 3];
    for (k, slot) in group.iter_mut().enumerate() {
        match digit_at(input, at + 1 + k)? {
            Some(c) => *slot = c,
            None => return Ok(None),
        }
    }
    Ok(digit_at(input, at + 4)?.is_none().then_some(group))
}

/// Whether an ungrouped integer is read digit by digit.
fn is_spelt(input: &Window, start: usize, end: usize, digits: &str) -> Result<bool, More> {
    let before = |n| input.char_before(start, n);
    let model_name = digits.len() >= 3 && before(1).is_some_and(|c| c.is_ascii_alphabetic());
    if model_name || digits.len() >= SPELT_FROM {
        return Ok(true);
    }
    let after = input.char_at(end)?;
    let chinese_year = digits.len() == 4 && after == Some('年');
    let part_before =
        before(1) == Some('-') && before(2).is_some_and(|c| c.is_ascii_digit()) && !is_range(input, start - 1)?;
    Ok(chinese_year
        || part_before
        || (after == Some('-') && digit_at(input, end + 1)?.is_some() && !is_range(input, end)?))
}

/// Whether the dash at `i` stands between two plain numbers of up to four digits: 5-10, not 010-65551234 or 2024-04-15.
fn is_range(input: &Window, i: usize) -> Result<bool, More> {
    Ok(is_plain(|k| Ok(input.char_before(i, k)), true)? && is_plain(|k| input.char_at(i + k), false)?)
}

/// Whether the characters at 1, 2, ... are those of a plain number of up to four digits, the last one first if
/// `backwards`.
fn is_plain(at: impl Fn(usize) -> Result<Option<char>, More>, backwards: bool) -> Result<bool, More> {
    let mut count = 0;
    while count < 5 && at(count + 1)?.is_some_and(|c| c.is_ascii_digit()) {
        count += 1;
    }
    if !(1..=4).contains(&count) {
        return Ok(false);
    }
    let joined = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '/' | '.' | ':' | ',');
    if at(count + 1)?.is_some_and(joined) {
        return Ok(false);
    }
    Ok(count == 1 || at(if backwards { count } else { 1 })? != Some('0'))
}

/// The words for a symbol, if it has any here.
fn symbol_at(input: &Window, i: usize) -> Result<Option<Reading>, More> {
    let before = input.char_before(i, 1);
    let Some(c) = input.char_at(i)? else {
        return Ok(None);
    };
    let (english, chinese) = match c {
        '&' => ("and", "和"),
        '@' => ("at", "at"),
        '+' if before.is_some_and(|c| c.is_ascii_alphabetic() || c == '+') => ("plus", "plus"),
        '+' => ("plus", "加"),
        '-' | '–' | '~' if is_range(input, i)? => ("to", "到"),
        '=' => ("equals", "等于"),
        '%' => ("percent", "百分号"),
        '#' if before.is_some_and(|c| c.is_ascii_alphabetic()) => ("sharp", "sharp"),
        '.' if before.is_some_and(|c| c.is_ascii_alphanumeric())
            && input.char_at(i + 1)?.is_some_and(|c| c.is_ascii_lowercase()) =>
        {
            ("dot", "点")
        }
        _ => return Ok(None),
    };
    Ok(Some(Reading::Symbol(english, chinese)))
}
