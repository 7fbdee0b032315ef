//! Stage 4: numbers and symbols become words of the language around them.

use std::cmp::Ordering;

use super::numbers::Number;
use super::unit::{Log, Unit, char_at, char_before, is_han, is_latin};
use super::{ChangeKind, Language, Options};

/// Ungrouped digits from this many on are a number to dial or to look up, not a quantity.
const SPELT_FROM: usize = 11;

pub(super) fn read(units: Vec<Unit>, options: &Options, log: &mut Log) -> Vec<Unit> {
    let Some(contexts) = Contexts::new(&units, options) else {
        return units;
    };
    let mut out = Vec::with_capacity(units.len());
    // Whether the last word put out was a number: 10 and 5 side by side must not become 十五.
    let mut after_number = false;
    let mut i = 0;
    while let Some(&unit) = units.get(i) {
        let (words, end, kind) = if let Some((number, end)) = number_at(&units, i) {
            (number.read(contexts.around(i, end)), end, ChangeKind::Number)
        } else if let Some(word) = symbol_at(&units, i, contexts.around(i, i + 1)) {
            (word.to_string(), i + 1, ChangeKind::Symbol)
        } else {
            after_number &= !unit.is_word();
            out.push(unit);
            i += 1;
            continue;
        };
        let span = unit.start..units[end - 1].end;
        let is_number = kind == ChangeKind::Number;
        if after_number && is_number {
            out.push(Unit::char(',', unit.start..unit.start));
        }
        after_number = is_number;
        log.change(span.clone(), &words, kind);
        // English words stand apart from letters on either side; tidying drops the spaces that are not needed.
        let apart = words.starts_with(|c: char| c.is_ascii()).then(|| Unit::char(' ', span.clone()));
        out.extend(apart);
        out.extend(words.chars().map(|c| Unit::char(c, span.clone())));
        out.extend(apart);
        i = end;
    }
    out
}

/// The number that starts at `i` and where it ends.
///
/// `[-]digits[,ddd...][.digits...][ ]%`: grouping counts only where each group has exactly three digits.
fn number_at(units: &[Unit], i: usize) -> Option<(Number, usize)> {
    let digit = |k| char_at(units, k).filter(|c| c.is_ascii_digit());
    let before = char_before(units, i);
    let fresh = !before.is_some_and(|c| c.is_ascii_alphanumeric() || is_latin(c) || matches!(c, '.' | '-'));
    let negative = char_at(units, i) == Some('-') && fresh;
    let mut at = i + usize::from(negative);
    let mut number = Number { negative, ..Default::default() };
    let run = |at: &mut usize, digits: &mut String| {
        while let Some(c) = digit(*at) {
            digits.push(c);
            *at += 1;
        }
    };
    if char_at(units, at) == Some('.') && digit(at + 1).is_some() && (fresh || negative) {
        number.whole.push('0'); // ".5"
    } else {
        digit(at)?;
        run(&mut at, &mut number.whole);
    }
    let mut grouped = false;
    while number.whole.len() <= 3 + 4 * 3
        && (grouped || number.whole.len() <= 3)
        && char_at(units, at) == Some(',')
        && (1..=3).all(|k| digit(at + k).is_some())
        && digit(at + 4).is_none()
    {
        number.whole.extend((1..=3).filter_map(|k| digit(at + k)));
        grouped = true;
        at += 4;
    }
    while char_at(units, at) == Some('.') && digit(at + 1).is_some() {
        let mut group = String::new();
        at += 1;
        run(&mut at, &mut group);
        number.groups.push(group);
    }
    let sign = at + usize::from(char_at(units, at) == Some(' '));
    if char_at(units, sign) == Some('%') {
        number.percent = true;
        at = sign + 1;
    }
    number.spelt = !grouped && number.groups.is_empty() && is_spelt(units, i, at, &number.whole);
    Some((number, at))
}

/// Whether an ungrouped integer is read digit by digit.
fn is_spelt(units: &[Unit], start: usize, end: usize, digits: &str) -> bool {
    let model_name = digits.len() >= 3 && char_before(units, start).is_some_and(|c| c.is_ascii_alphabetic());
    let chinese_year = digits.len() == 4 && char_at(units, end) == Some('年');
    let digit = |k| char_at(units, k).is_some_and(|c| c.is_ascii_digit());
    let hyphen = |k| char_at(units, k) == Some('-') && !is_range(units, k);
    let part = (start >= 2 && hyphen(start - 1) && digit(start - 2)) || (hyphen(end) && digit(end + 1));
    digits.len() >= SPELT_FROM || model_name || chinese_year || part
}

/// Whether the dash at `i` stands between two plain numbers of up to four digits: 5-10, not 010-65551234 or 2024-04-15.
fn is_range(units: &[Unit], i: usize) -> bool {
    let number = |step: &dyn Fn(usize) -> Option<usize>| {
        let at = |k| char_at(units, step(k)?);
        let digits = (1..=5).take_while(|k| at(*k).is_some_and(|c| c.is_ascii_digit())).count();
        let outside = at(digits + 1);
        let joined = outside.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '/' | '.' | ':' | ','));
        // The digit that is written first.
        let leading = if step(1) == Some(i + 1) { at(1) } else { at(digits) };
        (1..=4).contains(&digits) && !joined && (digits == 1 || leading != Some('0'))
    };
    number(&|k| i.checked_sub(k)) && number(&|k| Some(i + k))
}

/// The word for a symbol, if it has one here.
fn symbol_at(units: &[Unit], i: usize, language: Language) -> Option<&'static str> {
    let (english, chinese) = match char_at(units, i)? {
        '&' => ("and", "和"),
        '@' => ("at", "at"),
        '+' if char_before(units, i).is_some_and(|c| c.is_ascii_alphabetic() || c == '+') => ("plus", "plus"),
        '+' => ("plus", "加"),
        '-' | '–' | '~' if is_range(units, i) => ("to", "到"),
        '=' => ("equals", "等于"),
        '%' => ("percent", "百分号"),
        '#' if char_before(units, i).is_some_and(|c| c.is_ascii_alphabetic()) => ("sharp", "sharp"),
        '.' if char_before(units, i).is_some_and(|c| c.is_ascii_alphanumeric())
            && char_at(units, i + 1).is_some_and(|c| c.is_ascii_lowercase()) =>
        {
            ("dot", "点")
        }
        _ => return None,
    };
    Some(if language == Language::English { english } else { chinese })
}

/// Which language each unit stands in: that of the nearest letter in its line, Chinese where two are as near
/// (Chinese text holds single Latin letters, `A380客机`; English text holds no single Chinese ones).
struct Contexts {
    languages: Vec<Language>,
    /// To the letter that decided, in units.
    distance: Vec<usize>,
}

impl Contexts {
    /// `None` if the model reads no language at all.
    fn new(units: &[Unit], options: &Options) -> Option<Self> {
        let readable: Vec<_> = options.languages.iter().copied().filter(|l| options.reads(*l)).collect();
        let (&first, others) = readable.split_first()?;
        if others.is_empty() {
            return Some(Self { languages: vec![first; units.len()], distance: vec![0; units.len()] });
        }
        let language = |u: &Unit| match u.as_char()? {
            c if is_han(c) || matches!(c, '，' | '。' | '！' | '？' | '、') => Some(Language::Chinese),
            c if is_latin(c) => Some(Language::English),
            _ => None,
        };
        let mut languages = vec![first; units.len()];
        let mut distance = vec![usize::MAX; units.len()];
        let mut sweep = |order: &mut dyn Iterator<Item = usize>| {
            let mut last = None;
            for (n, i) in order.enumerate() {
                if let Some(found) = language(&units[i]) {
                    last = Some((found, n));
                } else if units[i].as_char() == Some('\n') {
                    last = None;
                }
                if let Some((found, at)) = last
                    && (n - at < distance[i] || (n - at == distance[i] && found == Language::Chinese))
                {
                    (languages[i], distance[i]) = (found, n - at);
                }
            }
        };
        sweep(&mut (0..units.len()).rev());
        sweep(&mut (0..units.len()));
        Some(Self { languages, distance })
    }

    /// For what stands at `start..end`, which is not empty.
    fn around(&self, start: usize, end: usize) -> Language {
        let last = end - 1;
        let nearest = match self.distance[start].cmp(&self.distance[last]) {
            Ordering::Less => start,
            Ordering::Greater => last,
            Ordering::Equal if self.languages[start] == Language::Chinese => start,
            Ordering::Equal => last,
        };
        self.languages[nearest]
    }
}
