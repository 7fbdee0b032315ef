//! Quantities: numbers with a sign, a currency, a scale, a unit or a percent sign, and ranges of them.

use super::look::{Look, Seen};
use super::units::{self, Currency, Kind, Scale, Suffix};
use super::{Found, MAX_NUMBER, SPELT_FROM};
use crate::text::numbers::{Number, chinese_digits, english_cardinal, english_digits, english_year};

/// A bare number, or a part of a long one.
pub(super) struct Core {
    pub number: Number,
    pub end: usize,
    /// Whether its thousands were marked off.
    pub grouped: bool,
    /// Whether it was cut at [`MAX_NUMBER`] characters and more digits follow.
    pub goes_on: bool,
}

/// `digits[,ddd...][.digits...]` at `at`: grouping counts only where each group has exactly three digits.
/// `continued`: the digits before `at` are of the same number.
pub(super) fn core(look: &Look, at: usize, continued: bool) -> Seen<Option<Core>> {
    let stop = at + MAX_NUMBER;
    let pointed = |k: usize| Ok(look.is(k, '.')? && look.is_digit(k + 1)?);
    let mut number = Number::default();
    let mut k = at;
    if pointed(at)? {
        // ".5" is 0.5; the rest of a long number has had its whole part.
        number.whole.push_str(if continued { "" } else { "0" });
    } else {
        number.whole = look.digits(at, MAX_NUMBER)?.to_string();
        k += number.whole.len();
        if number.whole.is_empty() {
            return Ok(None);
        }
    }
    let mut grouped = false;
    while !continued && number.whole.len() <= 3 + 4 * 3 && (grouped || number.whole.len() <= 3) {
        if !(look.is(k, ',')? && look.digits(k + 1, 4)?.len() == 3) {
            break;
        }
        number.whole.push_str(&look.digits(k + 1, 3)?);
        grouped = true;
        k += 4;
    }
    if !continued && !grouped && (1..=3).contains(&number.whole.len()) && !number.whole.starts_with('0') {
        // 1 000 000, 12 345 678, 1 000; but 101 102 103 is a list, and so is 12 345.
        let mut end = k;
        let mut digits = String::new();
        while digits.len() < 12 && look.is(end, ' ')? && look.digits(end + 1, 4)?.len() == 3 {
            digits.push_str(&look.digits(end + 1, 3)?);
            end += 4;
        }
        let groups = digits.len() >= 6 && (number.whole.len() < 3 || digits.ends_with("000"));
        if groups || digits == "000" {
            number.whole.push_str(&digits);
            (grouped, k) = (true, end);
        }
    }
    while k < stop && pointed(k)? {
        // A point is not parted from its digit.
        let group = look.digits(k + 1, (stop - k - 1).max(1))?;
        k += 1 + group.len();
        number.groups.push(group.to_string());
    }
    let goes_on = k >= stop && (look.is_digit(k)? || pointed(k)?);
    // 192.168.1.1 is no quantity.
    number.spelt = continued || number.groups.len() >= 3;
    Ok(Some(Core { number, end: k, grouped, goes_on }))
}

struct Operand {
    currency: Option<&'static Currency>,
    core: Core,
    scale: Option<Scale>,
    suffix: Option<Suffix>,
    plus: bool,
    end: usize,
}

/// A sign, a currency, a number, and what belongs to it.
fn operand(look: &Look, at: usize, signs: bool) -> Seen<Option<Operand>> {
    let sign = |k: usize| Ok(look.at(k)?.filter(|c| signs && matches!(c, '-' | '+')));
    let first = sign(at)?;
    let mut k = at + usize::from(first.is_some());
    let currency = units::currency_before(look, k)?;
    let mut second = None;
    if let Some((_, end)) = currency {
        second = sign(end)?;
        k = end + usize::from(second.is_some());
    }
    let currency = currency.map(|(currency, _)| currency);
    if first.is_some() && !(look.is_digit(k)? || look.is(k, '.')?) {
        return Ok(None);
    }
    let Some(mut core) = core(look, k, false)? else {
        return Ok(None);
    };
    if !core.goes_on {
        decimal_comma(look, &mut core, currency.is_some_and(|c| c.many == "euros"))?;
    }
    core.number.negative = first == Some('-') || second == Some('-');
    let mut end = core.end;
    let (mut scale, mut suffix) = (None, None);
    if core.goes_on || core.number.groups.len() > 1 {
        // The rest of a long number, and versions, have no unit.
    } else if currency.is_some() {
        // Digits that are spelt out have no scale.
        scale = if core.number.shifted(0).is_some() { units::scale(look, end)? } else { None };
        end = scale.as_ref().map_or(end, |s| s.end);
    } else {
        suffix = units::suffix(look, end)?;
        end = suffix.as_ref().map_or(end, |s| s.end);
    }
    Ok(Some(Operand { currency, core, scale, suffix, plus: first == Some('+'), end }))
}

/// "22,1 °C", "1.234,56 €" and "€5,99": a comma for a point is believed where a unit follows, or euros are meant.
fn decimal_comma(look: &Look, core: &mut Core, euros: bool) -> Seen<()> {
    let thousands = !core.number.groups.is_empty() && core.number.groups.iter().all(|g| g.len() == 3);
    if core.grouped || !(core.number.groups.is_empty() || thousands) || !look.is(core.end, ',')? {
        return Ok(());
    }
    let fraction = look.digits(core.end + 1, 3)?;
    let end = core.end + 1 + fraction.len();
    let euros = euros && fraction.len() == 2 && !look.is_letter(end)?;
    if !(1..=2).contains(&fraction.len()) || !(euros || units::suffix(look, end)?.is_some()) {
        return Ok(());
    }
    let groups = std::mem::replace(&mut core.number.groups, vec![fraction.to_string()]);
    core.number.whole.extend(groups);
    core.end = end;
    Ok(())
}

/// The quantity, or the range of two, that starts at the look's start.
pub(super) fn quantity(look: &Look, signs: bool) -> Seen<Option<Found>> {
    let Some(mut first) = operand(look, look.start, signs)? else {
        return Ok(None);
    };
    let between = if first.core.goes_on { None } else { range_sign(look, &first)? };
    if let Some((_, from)) = between
        && let Some(second) = operand(look, from, look.is(from, '-')?)?
        && is_range(look, &first, &second, between.map(|b| b.0))?
    {
        return range(look, first, second).map(Some);
    }
    let counted = first.suffix.is_none() && first.currency.is_none() && units::counted(look, first.end)?;
    let digits = first.core.number.whole.len();
    if digits >= 3
        && look.is_letter(first.end)?
        && first.suffix.is_none()
        && first.currency.is_none()
        && !first.core.grouped
    {
        // The 1080 of 1080p, the 802.11 of 802.11ax.
        first.core.number.spelt = true;
    }
    let plain = !first.core.grouped && first.core.number.groups.is_empty() && first.currency.is_none();
    if plain && first.suffix.is_none() && !counted {
        // No quantity: something to dial or to look up, or a date without its dashes.
        first.core.number.spelt |= digits >= SPELT_FROM || is_packed_date(&first.core.number.whole);
    }
    let mut found = Found::number(first.end, english(&first), chinese(&first, units::counts(look, first.end)?));
    found.goes_on = first.core.goes_on;
    found.chinese_only = first.scale.as_ref().is_some_and(|s| s.chinese.is_some());
    named_twice(look, &first, &mut found)?;
    inches(look, &first, &mut found)?;
    unit_stop(look, &first, &mut found)?;
    port(look, &first, &mut found)?;
    Ok(Some(found))
}

/// ¥5元 and $5 dollars: the currency is said once.
fn named_twice(look: &Look, first: &Operand, found: &mut Found) -> Seen<()> {
    let Some(currency) = first.currency else {
        return Ok(());
    };
    let yuan = currency.chinese == "元" && look.at(found.end)?.is_some_and(|c| "元块圆".contains(c));
    if (yuan || look.says(found.end, currency.chinese)?)
        && let Some(amount) = found.chinese.strip_suffix(currency.chinese)
    {
        found.chinese = amount.to_string();
    }
    if look.word_of(look.past_space(found.end)?, &[currency.many, currency.one])?.is_some()
        && let Some(amount) = found.english.strip_suffix(currency.many)
    {
        found.english = amount.trim_end().to_string();
    }
    Ok(())
}

/// The full stop of "5 min. or more", which ends no sentence.
fn unit_stop(look: &Look, first: &Operand, found: &mut Found) -> Seen<()> {
    if first.suffix.is_none() || !look.is(found.end, '.')? || !look.is_letter(found.end - 1)? {
        return Ok(());
    }
    let next = look.at(look.past_space(found.end + 1)?)?;
    if next.is_some_and(|c| c.is_ascii_lowercase() || matches!(c, ',' | ';')) && !look.is_letter(found.end + 1)? {
        found.end += 1;
    }
    Ok(())
}

/// The inches of 5 ft 10 in, where "10 in" alone would be no length.
fn inches(look: &Look, first: &Operand, found: &mut Found) -> Seen<()> {
    if first.suffix.as_ref().is_none_or(|s| s.many != "feet") || !look.is(found.end, ' ')? {
        return Ok(());
    }
    let digits = look.digits(found.end + 1, 3)?;
    let unit = found.end + 1 + digits.len();
    let Some(count) = digits.parse::<u64>().ok().filter(|n| *n < 12) else {
        return Ok(());
    };
    let named = look.past_space(unit)?;
    if look.word_of(named, &["in"])?.is_some() {
        found.end = named + 2;
        found.english.push_str(&format!(" {} {}", english_cardinal(count), if count == 1 { "inch" } else { "inches" }));
        found.chinese.push_str(&format!("{}英寸", Number::new(&digits).chinese(true)));
    }
    Ok(())
}

/// The 8080 of 192.168.1.1:8080.
fn port(look: &Look, first: &Operand, found: &mut Found) -> Seen<()> {
    if first.core.number.groups.len() != 3 || !look.is(found.end, ':')? {
        return Ok(());
    }
    let digits = look.digits(found.end + 1, 6)?;
    if (1..=5).contains(&digits.len()) {
        found.end += 1 + digits.len();
        found.english.push_str(&format!(" colon {}", english_digits(&digits)));
        found.chinese.push_str(&format!("冒号{}", chinese_digits(&digits)));
    }
    Ok(())
}

/// 20240415: read as a quantity nobody would understand it.
pub(super) fn is_packed_date(digits: &str) -> bool {
    let part = |range: std::ops::Range<usize>| digits.get(range).and_then(|d| d.parse::<u32>().ok());
    digits.len() == 8
        && part(0..4).is_some_and(|y| (1900..2100).contains(&y))
        && part(4..6).is_some_and(|m| (1..=12).contains(&m))
        && part(6..8).is_some_and(|d| (1..=31).contains(&d))
}

/// Whether a share stands at `at`: 2.5%.
pub(super) fn is_share(look: &Look, at: usize) -> Seen<bool> {
    let Some(core) = core(look, at, false)? else {
        return Ok(false);
    };
    Ok(units::suffix(look, core.end)?.is_some_and(|s| matches!(s.kind, Kind::Share(_))))
}

/// The sign of a range behind a quantity, and where its second number begins.
fn range_sign(look: &Look, first: &Operand) -> Seen<Option<(char, usize)>> {
    if first.core.number.groups.len() > 1 {
        return Ok(None);
    }
    let k = look.past_space(first.end)?;
    let Some(c) = look.at(k)?.filter(|c| matches!(c, '-' | '–' | '—' | '~' | '～' | '〜' | '∼' | '至' | '到'))
    else {
        return Ok(None);
    };
    let next = look.past_space(k + 1)?;
    let begins = look.is_digit(next)?
        || (matches!(look.at(next)?, Some('-')) && look.is_digit(next + 1)?)
        || units::currency_before(look, next)?.is_some();
    Ok(begins.then_some((c, next)))
}

fn is_range(look: &Look, first: &Operand, second: &Operand, sign: Option<char>) -> Seen<bool> {
    let (a, b) = (&first.core.number, &second.core.number);
    let idle = |n: &Number| n.whole.len() > 1 && n.whole.starts_with('0');
    // 1-2-3, 5-10A and 5-3=2 are none.
    let mut behind = look.past_space(second.end)?;
    if look.is(behind, '=')? || second.core.goes_on || b.groups.len() > 1 || idle(a) || idle(b) {
        return Ok(false);
    }
    if behind > second.end && !look.at(behind)?.is_some_and(|c| matches!(c, '-' | '–')) {
        behind = second.end;
    }
    let goes_on = look.is_digit(behind + 1)? || (look.is(behind, '-')? && look.is_letter(behind + 1)?);
    let dash = look.at(behind)?.is_some_and(|c| matches!(c, '-' | '–' | '/' | ':')) && goes_on;
    if dash || (second.suffix.is_none() && second.currency.is_none() && look.is_letter(second.end)?) {
        return Ok(false);
    }
    if look.back(1).is_some_and(|c| matches!(c, '-' | '/' | '–')) && look.back(2).is_some_and(|c| c.is_alphanumeric())
    {
        return Ok(false);
    }
    // 0.5 -0.5: a sign that touches only the number behind it is its own, unless the numbers rise as in 5 -10.
    let size = |n: &Number| format!("{}.{}", n.whole, n.groups.concat()).parse::<f64>().unwrap_or(0.0);
    let apart = look.is(first.end, ' ')? && !look.is(first.end + 2, ' ')?;
    if apart && matches!(sign, Some('-' | '~' | '～')) && size(b) <= size(a) {
        return Ok(false);
    }
    let joined = !first.core.grouped && !second.core.grouped && a.groups.is_empty() && b.groups.is_empty();
    if sign != Some('-') || !joined || first.suffix.is_some() || second.suffix.is_some() || second.currency.is_some() {
        return Ok(true);
    }
    let spaced = look.is(first.end, ' ')?;
    let value = |n: &Number| n.whole.parse::<u64>().unwrap_or(u64::MAX);
    let season = a.whole.len() == 4 && b.whole.len() == 2 && value(b) == (value(a) + 1) % 100;
    let near = b.whole.len() <= a.whole.len() + 2 || b.whole.len() <= 4;
    let negative = a.negative || b.negative;
    Ok(negative || season || (value(a) < value(b) && near) || (!spaced && a.whole.len() <= 2 && b.whole.len() <= 2))
}

fn range(look: &Look, mut first: Operand, mut second: Operand) -> Seen<Found> {
    let end = second.end;
    if let (Some(english), Some(chinese)) = (years(look, &first, &second)?, years_chinese(&first, &second)) {
        return Ok(Found::number(end, english, chinese));
    }
    if season(look, &first, &second)? {
        let (one, two) = (&first.core.number.whole, &second.core.number.whole);
        let english = format!("{} to {}", first.core.number.english(), second.core.number.english());
        return Ok(Found::number(end, english, format!("{}到{}", chinese_digits(one), chinese_digits(two))));
    }
    // 3-1 as a score; 5-10 as a range.
    let value = |o: &Operand| o.core.number.integer();
    let score = first.suffix.is_none() && second.suffix.is_none() && first.currency.is_none();
    let falls = matches!((value(&first), value(&second)), (Some(a), Some(b)) if a >= b);
    let negative = first.core.number.negative || second.core.number.negative;
    if score && value(&first) == Some(50) && value(&second) == Some(50) && !units::counts(look, end)? {
        return Ok(Found::number(end, "fifty fifty".into(), "五十比五十".into()));
    }
    let between = if score && falls && !negative && !units::counts(look, end)? { "比" } else { "到" };
    if first.suffix.is_none() && first.currency.is_none() {
        first.suffix.clone_from(&second.suffix);
        if let Some(suffix) = &first.suffix {
            let share = matches!(suffix.kind, Kind::Share(_));
            let (one, two) = (first.core.number.english(), english(&second));
            let left = match share {
                true => chinese(&first, true),
                // Said once, the word for "below zero" would seem to be meant for both.
                false => match (suffix.kind, first.core.number.negative) {
                    (Kind::Degrees, true) if !second.core.number.negative => chinese(&first, true),
                    (Kind::Degrees, true) => chinese(&first, true).replacen(&suffix.chinese, "", 1),
                    _ => first.core.number.chinese(suffix.kind != Kind::Degrees),
                },
            };
            let right = chinese(&second, true);
            return Ok(Found::number(end, format!("{one} to {two}"), format!("{left}到{right}")));
        }
    }
    if first.currency.is_some() && second.currency.is_none() {
        // $5-10 million: the scale belongs to both, the name is said once.
        second.currency = first.currency;
        if first.scale.is_none() {
            second.scale = units::scale(look, second.end)?;
            second.end = second.scale.as_ref().map_or(second.end, |s| s.end);
        }
        let left = match first.scale {
            Some(_) => chinese(&first, true).trim_end_matches(first.currency.map_or("", |c| c.chinese)).to_string(),
            None => first.core.number.chinese(true),
        };
        let one = match first.scale {
            Some(ref scale) => scaled_english(&first.core.number, scale),
            None => first.core.number.english(),
        };
        let mut found = Found::number(
            second.end,
            format!("{one} to {}", english(&second)),
            format!("{left}到{}", chinese(&second, true)),
        );
        found.chinese_only = second.scale.as_ref().is_some_and(|s| s.chinese.is_some());
        return Ok(found);
    }
    let counts = units::counts(look, end)?;
    let (left, right) = (chinese(&first, counts), chinese(&second, counts));
    Ok(Found::number(end, format!("{} to {}", english(&first), english(&second)), format!("{left}{between}{right}")))
}

/// 98-99赛季
fn season(look: &Look, first: &Operand, second: &Operand) -> Seen<bool> {
    let short = |o: &Operand| o.core.number.whole.len() == 2 && o.core.number.groups.is_empty() && o.suffix.is_none();
    Ok(short(first) && short(second) && (look.says(second.end, "赛季")? || look.says(second.end, "学年")?))
}

/// Two years, or a season: 1990-2000, 2024-25.
fn years(look: &Look, first: &Operand, second: &Operand) -> Seen<Option<String>> {
    let (a, b) = (&first.core.number, &second.core.number);
    let year = |n: &Number| n.whole.len() == 4 && n.integer().is_some_and(|y| (1000..2200).contains(&y)) && !n.negative;
    let bare = |o: &Operand| o.suffix.is_none() && o.currency.is_none() && !o.core.grouped;
    if !(bare(first) && bare(second) && year(a) && (year(b) || b.whole.len() == 2)) {
        return Ok(None);
    }
    let named = look.is(look.past_space(second.end)?, '年')?;
    if !named && (units::counted(look, second.end)? || look.counts_nouns(second.end)?) {
        return Ok(None);
    }
    let short = b.whole.len() == 2;
    let last = if short { english_cardinal(b.integer().unwrap_or(0)) } else { english_year(&b.whole) };
    Ok(Some(format!("{} to {last}", english_year(&a.whole))))
}

fn years_chinese(first: &Operand, second: &Operand) -> Option<String> {
    let digits = |o: &Operand| chinese_digits(&o.core.number.whole);
    Some(format!("{}到{}", digits(first), digits(second)))
}

fn scaled_english(number: &Number, scale: &Scale) -> String {
    match scale.chinese {
        None => format!("{} {}", number.english(), scale.english),
        Some(_) => number.shifted(scale.places).map_or_else(|| number.english(), |n| n.english()),
    }
}

fn english(o: &Operand) -> String {
    let number = &o.core.number;
    let is_one = number.integer() == Some(1);
    let mut words = if o.plus { "plus ".to_string() } else { String::new() };
    if let Some(currency) = o.currency {
        if let Some(scale) = &o.scale {
            words.push_str(&format!("{} {}", scaled_english(number, scale), currency.many));
        } else if let Some(cents) = cents(number, currency) {
            words.push_str(&cents);
        } else {
            words.push_str(&format!("{} {}", number.english(), if is_one { currency.one } else { currency.many }));
        }
        return words;
    }
    words.push_str(&number.english());
    if let Some(suffix) = &o.suffix {
        words.push(' ');
        words.push_str(if is_one { &suffix.one } else { &suffix.many });
    }
    words
}

/// "$3.50" -> "three dollars and fifty cents".
fn cents(number: &Number, currency: &Currency) -> Option<String> {
    let (one, many) = currency.cents?;
    let [fraction] = number.groups.as_slice() else { return None };
    let hundredths: u64 = if fraction.len() == 2 { fraction.parse().ok()? } else { return None };
    let whole = Number { groups: Vec::new(), ..number.clone() };
    let value = whole.integer()?;
    let small = format!("{} {}", english_cardinal(hundredths), if hundredths == 1 { one } else { many });
    let large = format!("{} {}", whole.english(), if value == 1 { currency.one } else { currency.many });
    Some(match (value, hundredths) {
        (_, 0) => large,
        (0, _) if !number.negative => small,
        _ => format!("{large} and {small}"),
    })
}

fn chinese(o: &Operand, counts: bool) -> String {
    let number = &o.core.number;
    let plus = if o.plus { "正" } else { "" };
    if let Some(currency) = o.currency {
        let Some(scale) = &o.scale else {
            return format!("{plus}{}{}", number.chinese(true), currency.chinese);
        };
        // 250 million: 二亿五千万
        let whole = if scale.english == "million" { number.shifted(6).filter(|n| n.integer().is_some()) } else { None };
        if let Some(whole) = whole {
            return format!("{plus}{}{}", whole.chinese(true), currency.chinese);
        }
        let (places, word) = match (scale.chinese, scale.english) {
            (Some(word), _) => (0, word),
            (None, "million") => (2, "万"),
            (None, "billion") => (1, "亿"),
            (None, "trillion") => (0, "万亿"),
            (None, _) => (3, ""),
        };
        let number = number.shifted(places).unwrap_or_else(|| number.clone());
        return format!("{plus}{}{word}{}", number.chinese(true), currency.chinese);
    }
    let Some(suffix) = &o.suffix else {
        return format!("{plus}{}", number.chinese(counts));
    };
    let positive = Number { negative: false, ..number.clone() };
    match suffix.kind {
        Kind::Share(words) => {
            let hundred = words == "百分之" && number.integer() == Some(100);
            let amount = if hundred { "百".to_string() } else { positive.chinese(false) };
            format!("{plus}{}{words}{amount}", if number.negative { "负" } else { "" })
        }
        Kind::Degrees if number.negative && suffix.chinese != "度" => {
            format!("零下{}{}", positive.chinese(false), suffix.chinese)
        }
        Kind::Degrees => format!("{plus}{}{}", number.chinese(false), suffix.chinese),
        // A currency's sign may follow a number's Chinese scale only in front of it.
        Kind::Measure | Kind::Money => format!("{plus}{}{}", number.chinese(true), suffix.chinese),
    }
}
