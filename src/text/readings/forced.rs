//! Readings that the writer asks for by name.

use super::look::{Look, Seen};
use super::{Found, dates, fractions, quantity, symbols, times};
use crate::text::numbers::{
    Number, chinese_cardinal, chinese_dialled, chinese_digits, english_digits, english_ordinal, english_year,
};
use crate::text::unit::{Reading, is_han};

/// The words for what stands at the look's start, if it can be read as asked; else it is read as without asking.
pub(super) fn reading(look: &Look, c: char, hint: Reading) -> Seen<Option<Found>> {
    let i = look.start;
    if hint == Reading::Characters {
        return spelt(look, c);
    }
    if matches!(hint, Reading::Money | Reading::Unit) {
        return quantity::quantity(look, true);
    }
    if !(c.is_ascii_digit() || matches!(c, '-' | '.')) {
        return Ok(None);
    }
    if hint == Reading::Cardinal {
        let negative = c == '-' && look.is_fresh();
        return Ok(quantity::core(look, i + usize::from(negative), false)?.map(|core| {
            let number = Number { negative, whole: without_zeros(&core.number.whole), ..core.number };
            let found = Found::number(core.end, number.english(), number.chinese(false));
            Found { goes_on: core.goes_on, ..found }
        }));
    }
    let digits = look.digits(i, 64)?;
    let end = i + digits.len();
    if digits.is_empty() {
        return Ok(None);
    }
    Ok(match hint {
        Reading::Digits => Some(Found::number(end, english_digits(&digits), chinese_digits(&digits))),
        Reading::Telephone => Some(Found::number(end, english_digits(&digits), chinese_dialled(&digits))),
        Reading::Year => Some(Found::number(end, english_year(&digits), chinese_digits(&digits))),
        Reading::Ordinal => {
            let place = if look.back(1) == Some('第') { "" } else { "第" };
            let suffix = look.word_of(end, &["st", "nd", "rd", "th"])?.map_or(0, str::len);
            let value = Number::new(&without_zeros(&digits)).integer();
            value.map(|n| Found::number(end + suffix, english_ordinal(n), format!("{place}{}", chinese_cardinal(n))))
        }
        Reading::Date => dates::forced_date(look)?,
        Reading::Time => times::forced_time(look)?,
        Reading::Fraction => forced_fraction(look, &digits, end)?,
        _ => None,
    })
}

fn without_zeros(digits: &str) -> String {
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0" } else { short }.to_string()
}

fn forced_fraction(look: &Look, top: &str, slash: usize) -> Seen<Option<Found>> {
    if !look.at(slash)?.is_some_and(|c| matches!(c, '/' | '⁄')) {
        return fractions::fraction(look);
    }
    let bottom = look.digits(slash + 1, 16)?;
    let both = top.parse::<u64>().ok().zip(bottom.parse::<u64>().ok());
    Ok(both.map(|(top, below)| {
        let (english, chinese) = (fractions::english_fraction(top, below), fractions::chinese_fraction(top, below));
        Found::number(slash + 1 + bottom.len(), english, chinese)
    }))
}

/// Letters and digits by themselves, and the marks between by their names.
fn spelt(look: &Look, c: char) -> Seen<Option<Found>> {
    let end = look.start + 1;
    let found = if c.is_ascii_digit() {
        let digits = look.digits(look.start, 64)?;
        Found::number(look.start + digits.len(), english_digits(&digits), chinese_digits(&digits))
    } else if is_han(c) || c.is_whitespace() {
        return Ok(None);
    } else if c.is_alphabetic() {
        Found::symbol(end, c.to_string(), c.to_string())
    } else {
        match symbols::mark_name(c) {
            Some((english, chinese)) => Found::symbol(end, english.to_string(), chinese.to_string()),
            None => return Ok(None),
        }
    };
    Ok(Some(Found { name: true, ..found }))
}
