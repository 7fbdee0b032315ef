//! Stage 4: numbers and symbols become words of the language around them.
//!
//! What a number is follows from its form and from what stands beside it: a unit, a sign, a word such as 电话 or
//! "room". The rules for one kind are in one file of `readings/`; each sees the text through [`Look`], which bounds how
//! far it looks. Every rule gives the words in both languages; which of them is spoken is decided here.
//!
//! A number is read in the language of the nearest letter in its line, so a look ahead for it goes no farther than the
//! letter before it is away. A number of more than [`MAX_NUMBER`] characters is read in parts, digit by digit.

mod codes;
mod dates;
mod forced;
mod fractions;
mod known;
mod look;
mod quantity;
mod roman;
mod symbols;
mod times;
mod units;

#[cfg(test)]
mod tests;

use look::{Look, Seen};

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Part, Unit, is_han, is_latin};
use super::{ChangeKind, Language};

/// Ungrouped digits from this many on are a number to dial or to look up, not a quantity.
const SPELT_FROM: usize = 11;

/// Characters of a number, from where its end is looked for no farther.
const MAX_NUMBER: usize = 64;

/// How far after a number a letter is looked for that tells its language.
const MAX_CONTEXT: usize = 32;

/// Names that a hyphen and a number follow: 歼-20 is no 歼 below zero.
const SERIES: [&str; 19] = [
    "歼", "轰", "运", "直", "强", "东风", "长征", "神舟", "嫦娥", "天舟", "天宫", "红旗", "巨浪", "米格", "苏", "伊尔",
    "鹰击", "快舟", "风云",
];

/// Words for a stretch of text, in both languages.
struct Found {
    end: usize,
    english: String,
    chinese: String,
    kind: ChangeKind,
    /// The language, if it does not follow from what stands around.
    language: Option<Language>,
    /// Whether it holds Chinese characters, so that it is Chinese wherever it stands.
    chinese_only: bool,
    /// Whether it is part of a name in Latin letters.
    name: bool,
    /// Whether it is a date or a time: a dash behind it leads to another one.
    moment: bool,
    /// Whether a link goes on behind it.
    link: bool,
    /// Whether it is cut at [`MAX_NUMBER`] characters and more digits follow.
    goes_on: bool,
}

impl Found {
    fn number(end: usize, english: String, chinese: String) -> Self {
        Self {
            end,
            english,
            chinese,
            kind: ChangeKind::Number,
            language: None,
            chinese_only: false,
            name: false,
            moment: false,
            link: false,
            goes_on: false,
        }
    }

    fn symbol(end: usize, english: String, chinese: String) -> Self {
        Self { kind: ChangeKind::Symbol, ..Self::number(end, english, chinese) }
    }

    fn chinese(end: usize, english: String, chinese: String) -> Option<Self> {
        Some(Self { chinese_only: true, ..Self::number(end, english, chinese) })
    }
}

#[derive(Default)]
pub(super) struct Readings {
    pub log: Log,
    /// Whether the last word put out was a number: 10 and 5 side by side must not become 十五.
    after_number: bool,
    /// Whether it was a date or a time.
    after_moment: bool,
    /// Whether it ends right here.
    touching: bool,
    /// Whether the last unit is part of a link, and the language its marks are read in.
    in_link: bool,
    link_language: Option<Language>,
    /// The last letter's language, and how many units ago it was; `None` until the line has one.
    letter: Option<(Language, usize)>,
    /// The last letter's language in any line.
    last: Option<Language>,
    /// The number just read goes on, in this language.
    unfinished: Option<Language>,
    /// What was found at the unit being decided, whose language waits for more text: it is not looked for again.
    pending: Option<(usize, Option<Found>)>,
    /// The language of the number that ended right here, or before one mark: 4.2/16GB, 5V2A.
    joined: Option<Language>,
}

impl Readings {
    /// What follows belongs neither to the number nor to the line before.
    pub fn restart(&mut self) {
        let (log, last) = (std::mem::take(&mut self.log), self.last);
        *self = Self { log, last, ..Self::default() };
    }

    /// Goes past a unit. The letters of a unit of measure or a sign are of the language they were spoken in.
    fn pass(&mut self, unit: &Unit, spoken: Option<Language>) {
        if unit.as_char() == Some('\n') {
            self.letter = None;
        } else if let Some(language) = language_of(unit) {
            let language = spoken.unwrap_or(language);
            self.letter = Some((language, 0));
            self.last = Some(language);
        }
        if let Some((_, ago)) = &mut self.letter {
            *ago += 1;
        }
    }

    /// The words at the look's start, if it is more than a letter or a mark.
    fn find(&self, look: &Look, unit: &Unit) -> Seen<Option<Found>> {
        let Some(c) = unit.as_char() else {
            return Ok(None);
        };
        if self.unfinished.is_some()
            && let Some(core) = quantity::core(look, look.start, true)?
        {
            let number = core.number;
            let found = Found::number(core.end, number.english(), number.chinese(false));
            return Ok(Some(Found { goes_on: core.goes_on, ..found }));
        }
        if let Some(hint) = unit.hint
            && let Some(found) = forced::reading(look, c, hint)?
        {
            return Ok(Some(found));
        }
        if self.in_link
            && let Some(found) = symbols::link_part(look, c)?
        {
            return Ok(Some(found));
        }
        let in_link = self.in_link && c.is_ascii_alphanumeric();
        match c {
            _ if in_link => Ok(None),
            '0'..='9' => self.number(look),
            c if c.is_ascii_alphabetic() => letters(look, c),
            c if is_han(c) && c != '〇' => Ok(None),
            // Scripts none of whose letters is a sign.
            c if c.is_alphabetic()
                && matches!(c, '\u{400}'..='\u{1DFF}' | '\u{3040}'..='\u{30FF}' | '\u{AC00}'..='\u{D7A3}') =>
            {
                Ok(None)
            }
            ' ' | '\n' | '，' | '。' | ',' => Ok(None),
            _ => self.sign(look, c),
        }
    }

    fn sign(&self, look: &Look, c: char) -> Seen<Option<Found>> {
        let i = look.start;
        let found = match c {
            '+' | '(' | '（' => codes::phone_with_sign(look)?,
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
        let currency = !c.is_ascii_alphanumeric() && c != '-' && units::currency_before(look, i)?.is_some();
        let change = matches!(c, '-' | '+') && is_change(look)?;
        let signed = match c {
            '-' | '+' => {
                (look.is_fresh() || change)
                    && !(c == '+' && look.back(1) == Some('+'))
                    && !self.is_after_measure(look)?
                    && (look.is_digit(i + 1)? || is_point(look, i + 1)? || {
                        units::currency_before(look, i + 1)?.is_some()
                    })
            }
            '.' => look.is_fresh() && look.is_digit(i + 1)?,
            _ => currency,
        };
        if signed && let Some(found) = quantity::quantity(look, true)? {
            return Ok(Some(Found { name: change, ..found }));
        }
        symbols::symbol(look, c, self.after_number && self.touching, self.after_moment)
    }

    /// Whether a quantity has just ended with a unit: what follows is no sign of a number but a dash.
    fn is_after_measure(&self, look: &Look) -> Seen<bool> {
        let before = look.before();
        let name =
            SERIES.iter().any(|name| before.ends_with(name)) && !["一直", "简直"].iter().any(|w| before.ends_with(w));
        // No series is measured in degrees.
        let end = look.start + 1 + look.digits(look.start + 1, 6)?.len();
        let named = name && units::suffix(look, end)?.is_none();
        Ok((self.after_number && self.touching) || self.after_moment || look.is_after_unit() || named)
    }

    fn number(&self, look: &Look) -> Seen<Option<Found>> {
        type Rule = fn(&Look) -> Seen<Option<Found>>;
        const RULES: [Rule; 15] = [
            codes::packed_date,
            known::scientific,
            known::known,
            dates::padded,
            dates::date,
            dates::told_day,
            dates::beside_month,
            times::time_or_ratio,
            fractions::fraction,
            fractions::primes,
            dates::ordinal,
            codes::phone,
            codes::told_code,
            codes::named_model,
            dates::year,
        ];
        // 1h30min: a unit is no name.
        let after_unit = self.after_number && self.touching && look.back(1).is_some_and(is_latin);
        let change = look.back(1) == Some('-') && quantity::is_share(look, look.start)?;
        if codes::is_attached(look) && !change && !self.after_moment && !after_unit {
            return codes::model(look);
        }
        let continues = look.back(1) == Some('.') && look.back(2).is_some_and(|c| c.is_ascii_digit());
        let place = look.back(1) == Some('第') || (look.back(1) == Some(' ') && look.back(2) == Some('第'));
        if !place && !continues {
            for rule in RULES {
                if let Some(found) = rule(look)? {
                    return Ok(Some(found));
                }
            }
        }
        let mut found = quantity::quantity(look, false)?;
        if let Some(found) = &mut found {
            found.name = look.is(found.end, '@')? || look.is_letter(found.end)?;
        }
        if place && let Some(found) = &mut found {
            found.chinese = found.chinese.replace('两', "二");
        }
        Ok(found)
    }

    /// The language of `found`, which starts where `look` does.
    fn language(&self, found: &Found, input: &Window, look: &Look, readable: &[Language]) -> Seen<Option<Language>> {
        let (&first, others) = match readable.split_first() {
            Some((first, others)) => (first, others),
            None => return Ok(None),
        };
        if others.is_empty() {
            return Ok(Some(first));
        }
        let in_link = if self.in_link && found.link { self.link_language } else { None };
        if let Some(language) = found.language.or(self.unfinished).or(in_link) {
            return Ok(Some(language));
        }
        if found.chinese_only {
            return Ok(Some(Language::Chinese));
        }
        let beside = look.back(1).is_some_and(|c| is_latin(c) || matches!(c, '/' | '-' | ':' | '–' | '~'));
        let beside = if found.kind == ChangeKind::Number { beside } else { self.touching && !found.link };
        if let Some(language) = self.joined
            && beside
        {
            return Ok(Some(language));
        }
        // What the stage before wrote for "No."; 排名No.1 is "number one".
        if look.before().trim_end().ends_with("number") {
            return Ok(Some(Language::English));
        }
        if found.name
            && let Some(language) = language_of_name(look, found.end)?
        {
            return Ok(Some(language));
        }
        if found.kind == ChangeKind::Number
            && is_behind_name(look.before())
            && !look.at(look.past_space(found.end)?)?.is_some_and(is_latin)
            && let Some(language) = language_of_name(look, found.end)?
        {
            return Ok(Some(language));
        }
        // A line of 1st and 2nd without any other word is English.
        let ordinal = found.chinese.starts_with('第') && input.char_at(found.end - 1)?.is_some_and(is_latin);
        let otherwise = if ordinal { Language::English } else { first };
        self.around(input, found.end, otherwise).map(Some)
    }

    /// The language of the nearest letter in the line, Chinese where two are as near (Chinese text holds single Latin
    /// letters; English text holds no single Chinese ones). In a line without letters it is that of the line before.
    fn around(&self, input: &Window, end: usize, otherwise: Language) -> Seen<Language> {
        let reach = self.letter.map_or(MAX_CONTEXT, |(_, ago)| ago.min(MAX_CONTEXT));
        let mut unit_of_number = true;
        for away in 1..=reach {
            let Some(unit) = input.at(end - 1 + away)?.filter(|u| u.as_char() != Some('\n')) else {
                break;
            };
            // The letters of 50Hz and 30cm tell nothing.
            unit_of_number = match unit.as_char() {
                Some(c) if c.is_ascii_digit() => true,
                Some(c) => unit_of_number && is_latin(c) && away > 1,
                None => false,
            };
            let sign = match unit.as_char() {
                Some(c) if is_latin(c) => {
                    let before = input.char_at(end + away - 2)?;
                    // The x of 5 x 3 and the n of 2^n.
                    before == Some('^')
                        || (c == 'x' && !before.is_some_and(is_latin) && {
                            !input.char_at(end + away)?.is_some_and(is_latin)
                        })
                        || is_currency(input, end - 1 + away)?
                }
                _ => false,
            };
            if unit_of_number || sign {
                continue;
            }
            if let Some(after) = language_of(&unit) {
                let before = self.letter.filter(|(before, ago)| *ago == away && *before == Language::Chinese);
                return Ok(before.map_or(after, |(before, _)| before));
            }
        }
        Ok(self.letter.map(|(before, _)| before).or(self.last).unwrap_or(otherwise))
    }
}

/// A name in Latin letters is read in the language of the sentence that holds it: 用GPT四o, "the GPT four o". `None`
/// where there is no letter about.
fn language_of_name(look: &Look, end: usize) -> Seen<Option<Language>> {
    let mut words = 0;
    let mut in_word = false;
    for c in look.before().chars().rev() {
        if is_han(c) || matches!(c, '，' | '。' | '！' | '？' | '、' | '：' | '（' | '；') {
            if words <= 3 {
                return Ok(Some(Language::Chinese));
            }
            break;
        }
        let letter = c.is_ascii_alphanumeric() || "._-@+/?=&#:".contains(c);
        words += usize::from(letter && !in_word);
        in_word = letter;
    }
    let mut k = end;
    let mut latin = look.before().chars().any(is_latin);
    while k < end + 16
        && let Some(c) = look.at(k)?.filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '@'))
    {
        latin |= is_latin(c);
        k += 1;
    }
    if look.at(look.past_space(k)?)?.is_some_and(|c| is_han(c) || matches!(c, '，' | '。' | '、' | '；')) {
        return Ok(Some(Language::Chinese));
    }
    Ok(latin.then_some(Language::English))
}

/// Whether a word that begins with a capital and a space end `before`: Android 14.
fn is_behind_name(before: &str) -> bool {
    let Some(before) = before.strip_suffix(' ') else {
        return false;
    };
    let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    word.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether the sign at the start is one though a name touches it: PPI-2.5%.
fn is_change(look: &Look) -> Seen<bool> {
    let name = look.back(1).is_some_and(|c| c.is_ascii_uppercase()) && look.back(2).is_some_and(is_latin);
    Ok(name && quantity::is_share(look, look.start + 1)?)
}

/// Whether the letters from `k` on are a currency's, as in HK$.
fn is_currency(input: &Window, mut k: usize) -> Seen<bool> {
    let first = k;
    while k < first + 3 && input.char_at(k)?.is_some_and(|c| c.is_ascii_uppercase()) {
        k += 1;
    }
    Ok(matches!(input.char_at(k)?, Some('$' | '¥')))
}

fn is_point(look: &Look, k: usize) -> Seen<bool> {
    Ok(look.is(k, '.')? && look.is_digit(k + 1)?)
}

/// What a letter may begin: a link, an amount of money, a Roman numeral, an x between two numbers.
fn letters(look: &Look, c: char) -> Seen<Option<Found>> {
    let spaced = c == 'x' && look.back(1) == Some(' ') && look.back(2).is_some_and(|c| c.is_ascii_digit());
    if spaced || look.back(1).is_some_and(|c| c.is_ascii_digit()) {
        return if matches!(c, 'x' | 'X') { symbols::symbol(look, c, false, false) } else { Ok(None) };
    }
    if look.back(1).is_some_and(is_latin) {
        return Ok(None);
    }
    match c {
        'h' | 'w' => symbols::link(look),
        'A'..='Z' => {
            let currency = units::currency_before(look, look.start)?;
            if let Some((_, end)) = currency
                && look.is_digit(end)?
            {
                return quantity::quantity(look, false);
            }
            roman::roman(look)
        }
        _ => Ok(None),
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
        let look = Look::new(input, i);
        let found = match self.pending.take() {
            Some((start, found)) if start == unit.start => found,
            _ => self.find(&look, &unit)?,
        };
        let language = match &found {
            Some(known) => match self.language(known, input, &look, &context.facts.readable) {
                Ok(language) => language,
                Err(More) => {
                    self.pending = Some((unit.start, found));
                    return Err(More);
                }
            },
            None => None,
        };
        let Some((found, language)) = found.zip(language) else {
            let c = unit.as_char();
            self.after_number &= !unit.is_word();
            self.after_moment &= c == Some(' ');
            self.joined =
                self.joined.filter(|_| self.touching && c.is_some_and(|c| matches!(c, '/' | '-' | ':' | '–' | '~')));
            self.touching = false;
            self.in_link &= c.is_some_and(|c| c.is_ascii_alphanumeric());
            self.unfinished = None;
            self.pass(&unit, None);
            out.push(unit);
            return Ok(i + 1);
        };
        let end = found.end;
        let span = unit.start..input.at(end - 1)?.unwrap_or(unit).end;
        let (words, pause) = match language {
            Language::English => (found.english, ','),
            Language::Chinese => (found.chinese, '，'),
        };
        let is_number = found.kind == ChangeKind::Number;
        // i7-13700K: no pause for the hyphen of a name.
        let after_unit = self.touching && look.back(1).is_some_and(is_latin);
        let in_name = found.link || after_unit || (found.name && look.back(1) == Some('-'));
        if self.after_number && is_number && self.unfinished.is_none() && !in_name {
            out.push(Unit::char(pause, unit.start..unit.start));
        }
        self.after_number = is_number;
        self.after_moment = found.moment;
        self.touching = true;
        self.joined = Some(language);
        self.in_link = found.link;
        self.link_language = Some(language);
        self.unfinished = found.goes_on.then_some(language);
        self.log.change(context.raw, span.clone(), &words, found.kind);
        let part = if is_number { Part::Number } else { Part::Word };
        // English words stand apart from letters on either side; tidying drops the spaces that are not needed.
        let ascii = |c: Option<char>| c.is_some_and(|c| c.is_ascii()).then(|| Unit::char(' ', span.clone()));
        ascii(words.chars().next()).into_iter().for_each(|space| out.push(space));
        words.chars().for_each(|c| out.push(Unit { part, ..Unit::char(c, span.clone()) }));
        ascii(words.chars().next_back()).into_iter().for_each(|space| out.push(space));
        for k in i..end {
            self.pass(&input.at(k)?.unwrap_or(unit), Some(language));
        }
        Ok(end)
    }
}
