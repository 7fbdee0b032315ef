//! Symbols, operators, letters of mathematics, circled digits, powers, links and addresses.

use super::fractions::{chinese_fraction, english_fraction, vulgar};
use super::look::{Digits, Look, Seen};
use super::{Found, roman, units};
use crate::text::numbers::{Number, chinese_cardinal, english_cardinal, english_digits};
use crate::text::unit::{is_han, is_latin};

/// Characters read as one word wherever they stand: English, Chinese.
#[rustfmt::skip]
const WORDS: [(char, &str, &str); 37] = [
    ('&', "and", "和"), ('=', "equals", "等于"), ('≈', "approximately equals", "约等于"), ('≠', "does not equal", "不等于"),
    ('≤', "less than or equal to", "小于等于"), ('≥', "greater than or equal to", "大于等于"), ('÷', "divided by", "除以"),
    ('±', "plus or minus", "正负"), ('√', "square root of", "根号"), ('∛', "cube root of", "立方根"), ('∞', "infinity", "无穷大"), ('%', "percent", "百分号"),
    ('‰', "per mille", "千分号"), ('©', "copyright", "版权所有"), ('®', "registered trademark", "注册商标"), ('™', "trademark", "商标"),
    ('§', "section", "节"), ('∈', "in", "属于"), ('∑', "sum", "求和"), ('∫', "integral", "积分"), ('∂', "partial", "偏"),
    ('∆', "delta", "德尔塔"), ('∴', "therefore", "所以"), ('∵', "because", "因为"), ('∠', "angle", "角"), ('⊥', "perpendicular to", "垂直于"),
    ('∥', "parallel to", "平行于"), ('△', "triangle", "三角形"), ('∩', "intersection", "交"), ('∪', "union", "并"), ('⊂', "subset of", "包含于"),
    ('℃', "degrees celsius", "摄氏度"), ('℉', "degrees fahrenheit", "华氏度"), ('°', "degrees", "度"), ('㎡', "square meters", "平方米"),
    ('㎥', "cubic meters", "立方米"), ('№', "number", "编号"),
];

#[rustfmt::skip]
const GREEK: [(char, char, &str, &str); 24] = [
    ('α', 'Α', "alpha", "阿尔法"), ('β', 'Β', "beta", "贝塔"), ('γ', 'Γ', "gamma", "伽马"), ('δ', 'Δ', "delta", "德尔塔"),
    ('ε', 'Ε', "epsilon", "艾普西隆"), ('ζ', 'Ζ', "zeta", "泽塔"), ('η', 'Η', "eta", "伊塔"), ('θ', 'Θ', "theta", "西塔"),
    ('ι', 'Ι', "iota", "约塔"), ('κ', 'Κ', "kappa", "卡帕"), ('λ', 'Λ', "lambda", "兰姆达"), ('μ', 'Μ', "mu", "谬"),
    ('ν', 'Ν', "nu", "纽"), ('ξ', 'Ξ', "xi", "克西"), ('ο', 'Ο', "omicron", "奥密克戎"), ('π', 'Π', "pi", "派"),
    ('ρ', 'Ρ', "rho", "柔"), ('σ', 'Σ', "sigma", "西格玛"), ('τ', 'Τ', "tau", "陶"), ('υ', 'Υ', "upsilon", "宇普西龙"),
    ('φ', 'Φ', "phi", "斐"), ('χ', 'Χ', "chi", "希"), ('ψ', 'Ψ', "psi", "普西"), ('ω', 'Ω', "omega", "欧米伽"),
];

/// How the marks of links, addresses and spelt-out text are called.
#[rustfmt::skip]
const MARKS: [(char, &str, &str); 14] = [
    ('.', "dot", "点"), ('/', "slash", "斜杠"), ('-', "dash", "杠"), ('_', "underscore", "下划线"), ('?', "question mark", "问号"),
    ('=', "equals", "等于"), ('&', "and", "和"), ('#', "hash", "井号"), ('%', "percent", "百分号"), (':', "colon", "冒号"),
    ('@', "at", "at"), ('~', "tilde", "波浪号"), ('+', "plus", "加"), ('*', "star", "星号"),
];

/// Ends of file names in capitals.
const FILE_ENDS: [&str; 16] = [
    "JPG", "JPEG", "PNG", "GIF", "PDF", "TXT", "DOC", "DOCX", "XLS", "XLSX", "PPT", "PPTX", "ZIP", "CSV", "MP3", "MP4",
];

/// Ends of host names after which a slash begins a path.
const HOST_ENDS: [&str; 16] =
    ["com", "org", "net", "cn", "io", "edu", "gov", "dev", "ai", "co", "uk", "de", "jp", "info", "me", "app"];

/// The name of a mark, in English and in Chinese.
pub(super) fn mark_name(c: char) -> Option<(&'static str, &'static str)> {
    MARKS.iter().find(|m| m.0 == c).map(|m| (m.1, m.2))
}

fn words(end: usize, english: &str, chinese: &str) -> Option<Found> {
    Some(Found::symbol(end, english.to_string(), chinese.to_string()))
}

/// The same for what stands in formulas: the letters of a formula are no English.
fn sign(end: usize, english: &str, chinese: &str) -> Option<Found> {
    words(end, english, chinese).map(|found| Found { name: true, ..found })
}

/// The words for the symbol at the look's start, if it has any here. `after_number`: a number was just read.
pub(super) fn symbol(look: &Look, c: char, after_number: bool, after_moment: bool) -> Seen<Option<Found>> {
    let i = look.start;
    let back = look.back(1);
    let next = |k: usize| look.at(k);
    Ok(match c {
        '@' => sign(i + 1, "at", "at"),
        '+' if back.is_some_and(|c| c.is_ascii_alphabetic() || c == '+')
            && (!look.at(i + 1)?.is_some_and(|c| c.is_ascii_alphanumeric())
                || (back == Some('+') && look.back(2).is_some_and(|c| c.is_ascii_alphabetic()))) =>
        {
            words(i + 1, "plus", "plus")
        }
        '+' => sign(i + 1, "plus", "加"),
        '-' | '–' | '—' | '~' | '～' | '〜' | '∼' => dash(look, c, after_number, after_moment)?,
        '#' if back.is_some_and(|c| c.is_ascii_alphabetic()) => words(i + 1, "sharp", "sharp"),
        '#' | '№' => number_sign(look, c)?,
        '!' if look.is(i + 1, '=')? => sign(i + 2, "does not equal", "不等于"),
        '=' if look.is(i + 1, '=')? => sign(i + 2, "equals", "等于"),
        '<' if look.is(i + 1, '=')? => sign(i + 2, "less than or equal to", "小于等于"),
        '>' if look.is(i + 1, '=')? => sign(i + 2, "greater than or equal to", "大于等于"),
        '*' if look.is(i + 1, '*')? && look.is_digit(i + 2)? && back.is_some_and(|c| c.is_ascii_digit()) => {
            power(look, c)?
        }
        '<' | '>' => {
            let digit = look.is_digit(look.past_space(i + 1)?)?;
            let operand = digit && back != Some('<') && back != Some('>') && back != Some('-');
            // a < b
            let apart = back == Some(' ') && look.is(i + 1, ' ')?;
            let letters = apart
                && look.back(2).is_some_and(|c| c.is_ascii_alphanumeric())
                && look.at(i + 2)?.is_some_and(|c| c.is_ascii_alphanumeric());
            match (operand || letters, c) {
                (true, '<') => sign(i + 1, "less than", "小于"),
                (true, _) => sign(i + 1, "greater than", "大于"),
                _ => None,
            }
        }
        '×' | '✕' | '⨯' | '*' | 'x' | 'X' => times(look, c)?,
        '/' => slash(look, after_number)?,
        '.' => dot(look)?,
        '_' if in_address(look)? => sign(i + 1, "underscore", "下划线"),
        '〇' => words(i + 1, "zero", "零"),
        '○' | '◯' if back.is_some_and(is_han) && next(i + 1)?.is_some_and(is_han) => words(i + 1, "zero", "零"),
        '^' | '²' | '³' | '⁴'..='⁹' | '⁰' | '¹' | '⁻' => power(look, c)?,
        '₀'..='₉' => {
            let digit = c as u32 - '₀' as u32;
            let number = Number::new(&digit.to_string());
            Some(Found { name: true, ..Found::number(i + 1, number.english(), number.chinese(false)) })
        }
        _ => plain(look, c)?,
    })
}

fn plain(look: &Look, c: char) -> Seen<Option<Found>> {
    let i = look.start;
    if let Some((top, bottom)) = vulgar(c) {
        return Ok(Some(Found::number(i + 1, english_fraction(top, bottom), chinese_fraction(top, bottom))));
    }
    if let Some(value) = roman::single(c).or_else(|| enclosed(c)) {
        return Ok(Some(Found::number(i + 1, english_cardinal(value), chinese_cardinal(value))));
    }
    if let Some((_, english, chinese)) = WORDS.iter().find(|w| w.0 == c) {
        let operand = look.back(1).is_some_and(|c| c.is_alphanumeric() || matches!(c, ' ' | ')'));
        if c == '≈' && !operand && look.is_digit(i + 1)? {
            return Ok(words(i + 1, "about", "约"));
        }
        let in_name = c == '&' && look.is_letter(i + 1)? && look.back(1).is_some_and(is_latin);
        return Ok(if in_name { words(i + 1, english, chinese) } else { sign(i + 1, english, chinese) });
    }
    if let Some((_, _, english, chinese)) = GREEK.iter().find(|g| g.0 == c || g.1 == c) {
        // Letters of mathematics stand alone; Greek words are not spoken.
        let greek = |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}'));
        let alone = !greek(look.back(1)) && !greek(look.at(i + 1)?);
        return Ok(if alone { words(i + 1, english, chinese) } else { None });
    }
    if "$€£¥₩₹₽฿₫₺₱₿".contains(c)
        && let Some((currency, _)) = units::currency_before(look, i)?
    {
        return Ok(words(i + 1, currency.many, currency.chinese));
    }
    Ok(None)
}

/// Circled, bracketed and dotted numbers: ① ⑴ ⒈ ❶ ㈠ ㊀.
fn enclosed(c: char) -> Option<u64> {
    let from = |first: char, value: u64| Some(c as u64 - first as u64 + value);
    match c {
        '①'..='⑳' => from('①', 1),
        '⑴'..='⒇' => from('⑴', 1),
        '⒈'..='⒛' => from('⒈', 1),
        '⓪' | '⓿' => Some(0),
        '⓫'..='⓴' => from('⓫', 11),
        '⓵'..='⓾' => from('⓵', 1),
        '❶'..='❿' => from('❶', 1),
        '➀'..='➉' => from('➀', 1),
        '➊'..='➓' => from('➊', 1),
        '㈠'..='㈩' => from('㈠', 1),
        '㊀'..='㊉' => from('㊀', 1),
        '㉑'..='㉟' => from('㉑', 21),
        '㊱'..='㊿' => from('㊱', 36),
        _ => None,
    }
}

/// Digits with a point, up to sixteen characters, and where they end.
fn operand_end(look: &Look, from: usize) -> Seen<Option<usize>> {
    let mut k = from;
    while k < from + 16 && (look.is_digit(k)? || (k > from && look.is(k, '.')? && look.is_digit(k + 1)?)) {
        k += 1;
    }
    Ok((k > from).then_some(k))
}

/// Whether the operator at the start belongs to a calculation: an equals sign or another operator stands beside it.
fn calculates(look: &Look) -> Seen<bool> {
    let from = look.past_space(look.start + 1)?;
    let Some(end) = operand_end(look, from)? else {
        return Ok(false);
    };
    let before = look.before().trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' ' | ')'));
    if before.ends_with(['=', '×', '÷', '+', '√']) {
        return Ok(true);
    }
    Ok(look.at(look.past_space(end)?)?.is_some_and(|c| matches!(c, '=' | '×' | '÷' | '+' | '≈' | '≠')))
}

fn dash(look: &Look, c: char, after_number: bool, after_moment: bool) -> Seen<Option<Found>> {
    let i = look.start;
    let next = look.past_space(i + 1)?;
    let number = look.is_digit(next)? || (next == i + 1 && units::currency_before(look, next)?.is_some());
    let back = look.back(1);
    let behind = if back == Some(' ') { look.back(2) } else { back };
    if c == '-' && in_address(look)? {
        return Ok(sign(i + 1, "dash", "杠"));
    }
    if !number {
        return Ok(None);
    }
    let digit = behind.is_some_and(|c| c.is_ascii_digit());
    if c == '-' && digit && !after_moment {
        let spaced = back == Some(' ') && next > i + 1;
        return Ok(if spaced || calculates(look)? { words(i + 1, "minus", "减") } else { None });
    }
    // 4月15日-20日, 5%~10%, 10:30-11:30.
    let to = after_number && back != Some(' ') || after_moment || look.is_after_unit();
    if to {
        return Ok(words(i + 1, "to", "到").map(|found| Found { moment: after_moment, ..found }));
    }
    let apart = back == Some(' ') && next == i + 1;
    let wave = matches!(c, '~' | '～' | '〜' | '∼');
    let about = wave && (apart || !behind.is_some_and(|c| c.is_alphanumeric() && !is_han(c)));
    Ok(if about && !behind.is_some_and(|c| matches!(c, '~' | '～')) { words(i + 1, "about", "约") } else { None })
}

/// #3, and hashtags.
fn number_sign(look: &Look, c: char) -> Seen<Option<Found>> {
    let i = look.start;
    let from = if c == '№' { look.past_space(i + 1)? } else { i + 1 };
    let digits = look.digits(from, 7)?;
    let end = from + digits.len();
    if (1..=4).contains(&digits.len()) && !look.is_letter(end)? {
        let number = Number::new(&digits);
        let (english, chinese) = (format!("number {}", number.english()), format!("{}号", number.chinese(false)));
        return Ok(Some(Found::number(end, english, chinese)));
    }
    let numbered =
        c == '#' && look.is_letter(i + 1)? && { look.at(i + 2)?.is_some_and(|c| c == '-' || c.is_ascii_digit()) };
    if numbered {
        return Ok(words(i + 1, "number", "编号"));
    }
    let tag = c == '#' && look.is_letter(i + 1)? && !look.back(1).is_some_and(|c| c == '#' || c == '&');
    Ok(match (c, tag) {
        // Chinese readers pass over the sign.
        (_, true) => words(i + 1, "hashtag", ""),
        ('№', _) => words(i + 1, "number", "编号"),
        _ => None,
    })
}

/// A sign of multiplication between two numbers, or before one.
fn times(look: &Look, c: char) -> Seen<Option<Found>> {
    let i = look.start;
    let before = look.back(if look.back(1) == Some(' ') { 2 } else { 1 });
    let behind = before.is_some_and(|c| c.is_ascii_digit() || c == ')');
    let next = look.past_space(i + 1)?;
    let follows = look.is_digit(next)?;
    let letter = matches!(c, 'x' | 'X');
    let close = look.back(1) != Some(' ') && next == i + 1;
    let apart = c == 'x' && look.back(1) == Some(' ') && next == i + 2;
    if letter && !(behind && follows && (close || apart)) {
        return Ok(None);
    }
    if c == '*' && !(behind && follows) {
        return Ok(None);
    }
    // 1920×1080 is a size, 3×4=12 a product, 1.5×10^8 a power's factor.
    let spaced = next > i + 1 && look.back(1) == Some(' ');
    let product = c == '*' || spaced || calculates(look)? || power_follows(look, next)?;
    Ok(words(i + 1, if product || !(behind && follows) { "times" } else { "by" }, "乘"))
}

fn power_follows(look: &Look, next: usize) -> Seen<bool> {
    Ok(match operand_end(look, next)? {
        Some(end) => look.at(end)?.is_some_and(|c| matches!(c, '^' | '⁰'..='⁹' | '²' | '³' | '¹' | '⁻')),
        None => false,
    })
}

/// 12/4=3, 5元/斤, $5/month.
fn slash(look: &Look, after_number: bool) -> Seen<Option<Found>> {
    let i = look.start;
    let back = look.back(1);
    if is_host(look.before()) && look.at(i + 1)?.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return Ok(Some(Found { link: true, name: true, ..Found::symbol(i + 1, "slash".into(), "斜杠".into()) }));
    }
    let amount = look.before().rsplit(' ').next().unwrap_or_default();
    if amount.starts_with(['$', '€', '£', '¥']) && after_number && look.is_digit(i + 1)? {
        return Ok(words(i + 1, "per", "每"));
    }
    if back.is_some_and(|c| c.is_ascii_digit()) && look.is_digit(i + 1)? {
        return Ok(if calculates(look)? { words(i + 1, "divided by", "除以") } else { None });
    }
    let next = look.at(i + 1)?;
    if (after_number || look.is_after_unit())
        && let Some(unit) = units::per(look, i + 1)?
    {
        return Ok(words(unit.end, &format!("per {}", unit.one), &format!("每{}", unit.chinese)));
    }
    if look.is_after_unit() && next.is_some_and(is_han) {
        return Ok(words(i + 1, "per", "每"));
    }
    let english = after_number && next.is_some_and(|c| c.is_ascii_lowercase());
    let chinese = after_number && next.is_some_and(is_han);
    Ok(if english || chinese { words(i + 1, "per", "每") } else { None })
}

/// `example.com` at the end of the text before.
fn is_host(before: &str) -> bool {
    let host =
        before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))).next().unwrap_or_default();
    host.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && HOST_ENDS.contains(&end))
}

fn dot(look: &Look) -> Seen<Option<Found>> {
    let i = look.start;
    if !look.back(1).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
        // .NET, a .env file; " .Next" is a sentence after a sloppy one.
        let name = look.says(i + 1, "NET")? && !look.is_letter(i + 4)?
            || look.at(i + 1)?.is_some_and(|c| c.is_ascii_lowercase()) && look.is_letter(i + 2)?;
        let begins = look.back(1).is_none_or(|c| is_han(c) || matches!(c, ' ' | '\n' | '(' | '，' | '"' | '\'' | '“'));
        return Ok(if name && begins { words(i + 1, "dot", "点") } else { None });
    }
    let letter = look.back(1).is_some_and(is_latin);
    let numbered = letter && look.is_digit(i + 1)?;
    if numbered && !look.back(2).is_some_and(|c| c.is_alphanumeric()) {
        // H.264
        return Ok(Some(Found { name: true, ..Found::symbol(i + 1, String::new(), String::new()) }));
    }
    let name = numbered || look.at(i + 1)?.is_some_and(|c| c.is_ascii_lowercase());
    if name {
        return Ok(Some(Found { name: true, ..Found::symbol(i + 1, "dot".into(), "点".into()) }));
    }
    for end in FILE_ENDS {
        if look.says(i + 1, end)? && !look.is_letter(i + 1 + end.len())? {
            return Ok(Some(Found { name: true, ..Found::symbol(i + 1, "dot".into(), "点".into()) }));
        }
    }
    Ok(None)
}

/// Whether the mark at the start is inside an e-mail address: an @ before it, or up to 32 characters behind it.
fn in_address(look: &Look) -> Seen<bool> {
    let i = look.start;
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    if !look.back(1).is_some_and(|c| c.is_ascii_alphanumeric()) {
        return Ok(false);
    }
    if let Some((_, host)) = look.before().rsplit_once('@')
        && host.chars().all(part)
    {
        return Ok(look.at(i + 1)?.is_some_and(|c| c.is_ascii_alphanumeric()));
    }
    for k in i + 1..i + 32 {
        match look.at(k)? {
            Some('@') => return Ok(look.at(k + 1)?.is_some_and(|c| c.is_ascii_alphanumeric())),
            Some(c) if part(c) => {}
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// x², 10^6, 10⁻³.
fn power(look: &Look, c: char) -> Seen<Option<Found>> {
    let i = look.start;
    let back = look.back(1);
    let digit = back.is_some_and(|c| c.is_ascii_digit() || c == ')');
    if !digit && !back.is_some_and(|c| is_latin(c) || matches!(c, 'α'..='ω')) {
        let value = superscript(c);
        return Ok(value.map(|n| {
            let number = Number::new(&n.to_string());
            Found::number(i + 1, number.english(), number.chinese(false))
        }));
    }
    let (mut k, mut digits, mut negative) = (i, Digits::new(), false);
    if matches!(c, '^' | '*') {
        k += if c == '^' { 1 } else { 2 };
        negative = matches!(look.at(k)?, Some('-'));
        k += usize::from(negative);
        digits = look.digits(k, 6)?;
        k += digits.len();
        if digits.is_empty()
            && let Some(letter) = look.at(k)?.filter(char::is_ascii_lowercase)
            && !look.at(k + 1)?.is_some_and(|c| is_latin(c) || c.is_ascii_digit())
        {
            let minus = |word: &str| if negative { word.to_string() } else { String::new() };
            let english = format!("to the power of {}{letter}", minus("minus "));
            return Ok(Some(Found::symbol(k + 1, english, format!("的{}{letter}次方", minus("负")))));
        }
    } else {
        if c == '⁻' {
            (negative, k) = (true, k + 1);
        }
        while digits.len() < 6
            && let Some(n) = look.at(k)?.and_then(superscript)
        {
            digits.push_str(&n.to_string());
            k += 1;
        }
    }
    if digits.is_empty() {
        return Ok(None);
    }
    let of = if digit { "的" } else { "" };
    let exponent = Number { negative, ..Number::new(&digits) };
    let (english, chinese) = match (negative, digits.as_str()) {
        (false, "2") => ("squared".to_string(), format!("{of}平方")),
        (false, "3") => ("cubed".to_string(), format!("{of}立方")),
        _ => (format!("to the power of {}", exponent.english()), format!("的{}次方", exponent.chinese(false))),
    };
    // 3×10⁸ m/s
    let unit = if digit { units::suffix(look, k)?.filter(|s| s.kind == units::Kind::Measure) } else { None };
    Ok(Some(match unit {
        Some(unit) => Found::symbol(unit.end, format!("{english} {}", unit.many), format!("{chinese}{}", unit.chinese)),
        None => Found { name: true, ..Found::symbol(k, english, chinese) },
    }))
}

fn superscript(c: char) -> Option<u32> {
    match c {
        '¹' => Some(1),
        '²' => Some(2),
        '³' => Some(3),
        '⁰' | '⁴'..='⁹' => Some(c as u32 - '⁰' as u32),
        _ => None,
    }
}

/// The beginning of a link, which is not spoken: `https://`.
pub(super) fn link(look: &Look) -> Seen<Option<Found>> {
    for scheme in ["https://", "http://"] {
        if look.says(look.start, scheme)? {
            let end = look.start + scheme.len();
            return Ok(Some(Found { link: true, name: true, ..Found::symbol(end, String::new(), String::new()) }));
        }
    }
    if look.says(look.start, "www.")? {
        let found = Found::symbol(look.start + 4, "w w w dot".into(), "w w w 点".into());
        return Ok(Some(Found { link: true, name: true, ..found }));
    }
    Ok(None)
}

/// One step inside a link. `None` where the link has ended; an empty reading for a letter, which stays as it is.
pub(super) fn link_part(look: &Look, c: char) -> Seen<Option<Found>> {
    let i = look.start;
    let found = |end: usize, en: &str, zh: &str| {
        Ok(Some(Found { link: true, name: true, ..Found::symbol(end, en.to_string(), zh.to_string()) }))
    };
    if c.is_ascii_digit() {
        let digits = look.digits(i, 32)?;
        let number = Number { spelt: digits.len() > 2, ..Number::new(&digits) };
        let english = if number.spelt { english_digits(&digits) } else { number.english() };
        let number = Found::number(i + digits.len(), english, number.chinese(false));
        return Ok(Some(Found { link: true, name: true, ..number }));
    }
    if look.says(i, "www.")? {
        return found(i + 4, "w w w dot", "w w w 点");
    }
    let Some((english, chinese)) = mark_name(c) else {
        return Ok(None);
    };
    let goes_on = look
        .at(i + 1)?
        .is_some_and(|c| c.is_ascii_alphanumeric() || mark_name(c).is_some() && !matches!(c, '.' | '?' | '*' | ':'));
    match (goes_on, c) {
        (true, _) => found(i + 1, english, chinese),
        (false, '/') => found(i + 1, "", ""),
        (false, _) => Ok(None),
    }
}
