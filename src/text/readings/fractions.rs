//! Fractions, mixed numbers, feet and inches, degrees and minutes.

use super::Found;
use super::look::{Digits, Look, Seen, last_word};
use crate::text::numbers::{Number, chinese_cardinal, english_cardinal, english_ordinal};

/// 1/2, 3/4, 2 1/2; 120/80; 9/11 and 24/7, which are no fractions.
pub(super) fn fraction(look: &Look) -> Seen<Option<Found>> {
    let first = look.digits(look.start, 4)?;
    let k = look.start + first.len();
    if first.is_empty() || first.len() > 3 || look.back(1).is_some_and(|c| matches!(c, '/' | '.' | ',')) {
        return Ok(None);
    }
    if let Some(found) = mark(look, &first, k)? {
        return Ok(Some(found));
    }
    match look.at(k)? {
        Some('/' | '⁄') => simple_fraction(look, None, &first, k),
        Some(' ') if first.len() <= 3 && look.is_digit(k + 1)? => {
            let top = look.digits(k + 1, 3)?;
            let slash = k + 1 + top.len();
            match top.len() <= 2 && look.at(slash)?.is_some_and(|c| matches!(c, '/' | '⁄')) {
                true => simple_fraction(look, Some(&first), &top, slash),
                false => Ok(None),
            }
        }
        Some(c) => {
            let Some((top, bottom)) = vulgar(c) else { return Ok(None) };
            let share = look.is(k + 1, '%')?;
            let whole = Number::new(&first);
            let percent = if share { (" percent", "百分之") } else { ("", "") };
            let english = format!("{} and {}{}", whole.english(), english_fraction(top, bottom), percent.0);
            let chinese = format!("{}{}又{}", percent.1, whole.chinese(false), chinese_fraction(top, bottom));
            Ok(Some(Found::number(k + 1 + usize::from(share), english, chinese)))
        }
        None => Ok(None),
    }
}

/// 8.5/10, 10/10, "rated 4/5": how many of how many.
fn mark(look: &Look, first: &str, k: usize) -> Seen<Option<Found>> {
    let part = if look.is(k, '.')? { look.digits(k + 1, 3)? } else { Digits::new() };
    let slash = if part.is_empty() { k } else { k + 1 + part.len() };
    if !look.is(slash, '/')? {
        return Ok(None);
    }
    let most = look.digits(slash + 1, 4)?;
    let end = slash + 1 + most.len();
    let told = matches!(last_word(look.before()).as_str(), "scored" | "score" | "rated" | "rating" | "rate" | "got");
    let whole = first.len() >= 2 && first == most.as_str() && first != "50";
    let (Some(given), Some(bottom)) = (first.parse::<u64>().ok(), most.parse::<u64>().ok()) else {
        return Ok(None);
    };
    let joined = matches!(look.at(end)?, Some('/' | '.' | '-' | ',' | ':' | '%')) && look.is_digit(end + 1)?;
    if (part.is_empty() && !told && !whole) || given > bottom || joined {
        return Ok(None);
    }
    if most.len() > 3 || most.starts_with('0') || look.is_letter(end)? {
        return Ok(None);
    }
    let mut number = Number::new(first);
    number.groups.extend((!part.is_empty()).then(|| part.to_string()));
    let english = format!("{} out of {}", number.english(), english_cardinal(bottom));
    Ok(Some(Found::number(end, english, format!("{}分之{}", chinese_cardinal(bottom), number.chinese(false)))))
}

fn simple_fraction(look: &Look, whole: Option<&str>, top: &str, slash: usize) -> Seen<Option<Found>> {
    let bottom = look.digits(slash + 1, 8)?;
    let end = slash + 1 + bottom.len();
    let joined = matches!(look.at(end)?, Some('/' | '.' | '-' | ',')) && look.is_digit(end + 1)?;
    let idle = |d: &str| d.starts_with('0');
    if bottom.is_empty()
        || bottom.len() > 7
        || joined
        || idle(&bottom)
        || idle(top) && top.len() > 1
        || look.is_letter(end)?
    {
        return Ok(None);
    }
    if look.is(look.past_space(end)?, '=')? {
        return Ok(None);
    }
    let (top, bottom): (u64, u64) = (top.parse().unwrap_or(0), bottom.parse().unwrap_or(1));
    let words = |en: String, zh: String| Ok(Some(Found::number(end, en, zh)));
    let cardinal = |n: u64| Number::new(&n.to_string());
    if let Some(whole) = whole {
        if top >= bottom {
            return Ok(None);
        }
        let whole = Number::new(whole);
        let english = format!("{} and {}", whole.english(), english_fraction(top, bottom));
        return words(english, format!("{}又{}", whole.chinese(false), chinese_fraction(top, bottom)));
    }
    match (top, bottom) {
        (9, 11) => words("nine eleven".into(), "九一一".into()),
        (50, 50) => words("fifty fifty".into(), "五十比五十".into()),
        (24, 7) => words("twenty four seven".into(), "二十四，七".into()),
        _ if top > bottom && bottom > 20 => words(
            format!("{} over {}", cardinal(top).english(), cardinal(bottom).english()),
            format!("{}比{}", cardinal(top).chinese(false), cardinal(bottom).chinese(false)),
        ),
        _ => words(english_fraction(top, bottom), chinese_fraction(top, bottom)),
    }
}

pub(super) fn english_fraction(top: u64, bottom: u64) -> String {
    let head = english_cardinal(top);
    let plural = if top == 1 { "" } else { "s" };
    match bottom {
        2 if top == 1 => "one half".to_string(),
        2 => format!("{head} halves"),
        4 => format!("{head} quarter{plural}"),
        3..=20 | 30 | 40 | 50 | 60 | 100 | 1000 => format!("{head} {}{plural}", english_ordinal(bottom)),
        _ => format!("{head} over {}", english_cardinal(bottom)),
    }
}

pub(super) fn chinese_fraction(top: u64, bottom: u64) -> String {
    format!("{}分之{}", chinese_cardinal(bottom), chinese_cardinal(top))
}

/// ½ as 1 and 2.
pub(super) fn vulgar(c: char) -> Option<(u64, u64)> {
    Some(match c {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅐' => (1, 7),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        '⅑' => (1, 9),
        '⅒' => (1, 10),
        _ => return None,
    })
}

/// 5'10" and 40°26'46".
pub(super) fn primes(look: &Look) -> Seen<Option<Found>> {
    let first = look.digits(look.start, 4)?;
    let mut k = look.start + first.len();
    let angle = look.is(k, '°')?;
    const MINUTES: [(&str, &str, &str); 2] = [("minute", "minutes", "分"), ("second", "seconds", "秒")];
    // 3'45" is a time: twelve inches are a foot.
    let second: u32 = look.digits(k + 1, 3)?.parse().unwrap_or(0);
    let names = match (angle, (12..60).contains(&second)) {
        (true, _) => [("degree", "degrees", "度"), MINUTES[0], MINUTES[1]],
        (false, true) => [MINUTES[0], MINUTES[1], ("", "", "")],
        (false, false) => [("foot", "feet", "英尺"), ("inch", "inches", "英寸"), ("", "", "")],
    };
    let signs = if angle { ['°', '\'', '"'] } else { ['\'', '"', '"'] };
    let (mut english, mut chinese) = (Vec::new(), String::new());
    let mut digits = first;
    for (sign, (one, many, zh)) in signs.into_iter().zip(names) {
        let double = sign == '"' && matches!(look.at(k)?, Some('″' | '”'));
        if digits.is_empty() || !(look.is(k, sign)? || double) {
            break;
        }
        k += 1;
        let number = Number::new(&digits);
        english.push(format!("{} {}", number.english(), if number.integer() == Some(1) { one } else { many }));
        chinese.push_str(&format!("{}{zh}", number.chinese(!angle)));
        digits = look.digits(k, 3)?;
        if english.len() == signs.len() - usize::from(!angle) || digits.is_empty() {
            break;
        }
        k += digits.len();
    }
    // 5' alone may be a quotation's end.
    let whole = english.len() >= 2 && (digits.is_empty() || english.len() >= 3);
    Ok(whole.then(|| Found::number(k, english.join(" "), chinese)))
}
