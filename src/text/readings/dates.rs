//! Dates, years, and ordinals.

use super::look::{Digits, Look, Seen, bare, last_word};
use super::quantity::core;
use super::{Found, units};
use crate::text::numbers::{
    chinese_cardinal, chinese_digits, english_cardinal, english_decade, english_digits, english_ordinal, english_year,
};

pub(super) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A month's number, by its English name or the first letters of it.
fn month_of(word: &str) -> Option<usize> {
    let long = word.to_ascii_lowercase();
    let short = ["jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "sept"];
    let full = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 9];
    let by_name = MONTHS.iter().position(|m| *m == long).map(|m| m + 1);
    by_name.or_else(|| short.iter().position(|m| *m == long).map(|m| full[m]))
}

struct Date {
    year: Option<String>,
    month: u64,
    day: Option<u64>,
}

impl Date {
    fn new(year: Option<&str>, month: &str, day: Option<&str>) -> Option<Self> {
        let within = |text: &str, most: u64| text.parse().ok().filter(|n| (1..=most).contains(n) && text.len() <= 2);
        let day = match day {
            Some(day) => Some(within(day, 31)?),
            None => None,
        };
        Some(Self { year: year.map(str::to_string), month: within(month, 12)?, day })
    }

    fn found(&self, end: usize) -> Found {
        let month = MONTHS[(self.month as usize - 1) % 12];
        let mut english = month.to_string();
        let mut chinese = String::new();
        if let Some(year) = &self.year {
            chinese.push_str(&format!("{}年", chinese_digits(year)));
        }
        chinese.push_str(&format!("{}月", chinese_cardinal(self.month)));
        if let Some(day) = self.day {
            english.push_str(&format!(" {}", english_ordinal(day)));
            chinese.push_str(&format!("{}日", chinese_cardinal(day)));
        }
        if let Some(year) = &self.year {
            let pause = if self.day.is_some() { "," } else { "" };
            let spoken = if year.len() == 2 { english_digits_or_teens(year) } else { english_year(year) };
            english.push_str(&format!("{pause} {spoken}"));
        }
        Found { moment: true, ..Found::number(end, english, chinese) }
    }
}

fn english_digits_or_teens(two: &str) -> String {
    match two.strip_prefix('0') {
        Some(low) => format!("oh {}", english_digits(low)),
        None => english_cardinal(two.parse().unwrap_or(0)),
    }
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && digits.parse::<u32>().is_ok_and(|y| (1000..3000).contains(&y))
}

/// 2024-04-15, 2024/4/15, 2024.4.15, 2024-04, 4/15/2024, 15.04.2024, 4/15/24.
pub(super) fn date(look: &Look) -> Seen<Option<Found>> {
    let first = look.digits(look.start, 5)?;
    let mut k = look.start + first.len();
    let inside = look.back(1) == Some('/') && look.back(2).is_some_and(|c| c.is_ascii_digit());
    if !matches!(first.len(), 1 | 2 | 4) || inside {
        return Ok(None);
    }
    let Some(sign) = look.at(k)?.filter(|c| matches!(c, '-' | '/' | '.' | '–')) else {
        return Ok(None);
    };
    let second = look.digits(k + 1, 3)?;
    if !matches!(second.len(), 1 | 2) {
        return Ok(None);
    }
    k += 1 + second.len();
    if !look.is(k, sign)? || !look.is_digit(k + 1)? {
        // 2024-04; 2024.04 is a decimal.
        let month = second.len() == 2 && matches!(sign, '-' | '/') && is_year(&first) && !season(&first, &second);
        if !month || look.is_letter(k)? || units::counted(look, k)? || look.is(k, '年')? {
            return Ok(None);
        }
        return Ok(Date::new(Some(&first), &second, None).map(|d| d.found(k)));
    }
    let third = look.digits(k + 1, 5)?;
    k += 1 + third.len();
    if look.is_digit(k)? || (look.is(k, sign)? && look.is_digit(k + 1)?) {
        return Ok(None);
    }
    let date = match (first.len(), third.len()) {
        (4, 1 | 2) if is_year(&first) => Date::new(Some(&first), &second, Some(&third)),
        (1 | 2, 4) if is_year(&third) && third.as_str() >= "1600" => day_and_month(&first, &second, sign, &third),
        (1 | 2, 2) if sign == '/' && second.len() + first.len() >= 2 => day_and_month(&first, &second, sign, &third),
        _ => None,
    };
    let Some(date) = date else {
        return Ok(None);
    };
    let mut found = date.found(k);
    if sign != '-' && until(look, sign, &date, &mut found)? {
        return Ok(Some(found));
    }
    // 2024-04-15T10:30: the T is no word.
    if look.is(k, 'T')? && look.is_digit(k + 1)? {
        found.end += 1;
    }
    if look.is(k, '日')? || look.is(k, '号')? {
        found.chinese.pop();
    }
    Ok(Some(found))
}

/// 2024.5.1-5.3 and 2024/5/1-3: the last day of a range whose first one is `date`.
fn until(look: &Look, sign: char, date: &Date, found: &mut Found) -> Seen<bool> {
    if !look.at(found.end)?.is_some_and(|c| matches!(c, '-' | '–' | '—' | '~' | '～' | '至' | '到')) {
        return Ok(false);
    }
    let first = look.digits(found.end + 1, 3)?;
    let mut end = found.end + 1 + first.len();
    let second = if look.is(end, sign)? { look.digits(end + 1, 3)? } else { Digits::new() };
    let last = match second.is_empty() {
        true => Date::new(None, &date.month.to_string(), Some(&first)).filter(|last| last.day > date.day),
        false => Date::new(None, &first, Some(&second)),
    };
    if !second.is_empty() {
        end += 1 + second.len();
    }
    let joined = look.at(end)?.is_some_and(|c| matches!(c, '/' | '.' | '-' | ':')) && look.is_digit(end + 1)?;
    let Some(last) = last.filter(|_| !joined) else {
        return Ok(false);
    };
    if look.is_letter(end)? || units::suffix(look, end)?.is_some() {
        return Ok(false);
    }
    let words = last.found(end);
    let chinese = if second.is_empty() { words.chinese.split_once('月').map_or("", |m| m.1) } else { &words.chinese };
    found.english.push_str(&format!(" to {}", words.english));
    found.chinese.push_str(&format!("到{chinese}"));
    found.end = end;
    if look.is(end, '日')? || look.is(end, '号')? {
        found.chinese.pop();
    }
    Ok(true)
}

/// The 12/24 of "on 12/24" and 截至5/20: a day, and no fraction.
pub(super) fn told_day(look: &Look) -> Seen<Option<Found>> {
    let first = look.digits(look.start, 3)?;
    let k = look.start + first.len();
    if !matches!(first.len(), 1 | 2) || !look.is(k, '/')? {
        return Ok(None);
    }
    let second = look.digits(k + 1, 3)?;
    let end = k + 1 + second.len();
    let before = look.before();
    let told = ["on ", "due ", "dated "].iter().any(|w| before.to_ascii_lowercase().ends_with(w))
        || ["截至", "截止", "日期", "截止到"].iter().any(|w| bare(before).ends_with(w));
    let joined = look.at(end)?.is_some_and(|c| matches!(c, '/' | '.' | '-' | '%')) && look.is_digit(end + 1)?;
    // on 1/2 of it
    let share = look.is(end, ' ')? && look.word_of(end + 1, &["of", "a", "an", "the"])?.is_some();
    if !told || joined || share || look.is_letter(end)? || units::counted(look, end)? {
        return Ok(None);
    }
    Ok(Date::new(None, &first, Some(&second)).map(|date| date.found(end)))
}

/// 2023-24 is a season and no month.
fn season(year: &str, next: &str) -> bool {
    matches!((year.parse::<u32>(), next.parse::<u32>()), (Ok(y), Ok(n)) if n == (y + 1) % 100 && n > 12)
}

/// With slashes the month comes first, as in America, else the day; whatever can be no month is the day.
fn day_and_month(first: &str, second: &str, sign: char, year: &str) -> Option<Date> {
    let month_first = Date::new(Some(year), first, Some(second));
    let day_first = Date::new(Some(year), second, Some(first));
    if sign == '/' { month_first.or(day_first) } else { day_first.or(month_first) }
}

/// The date in the digits at the look's start, whatever else they could be.
pub(super) fn forced_date(look: &Look) -> Seen<Option<Found>> {
    if let Some(found) = date(look)? {
        return Ok(Some(found));
    }
    let first = look.digits(look.start, 9)?;
    let mut k = look.start + first.len();
    if first.len() == 8 {
        return Ok(Date::new(Some(&first[..4]), &first[4..6], Some(&first[6..])).map(|d| d.found(k)));
    }
    if !look.at(k)?.is_some_and(|c| matches!(c, '-' | '/' | '.')) {
        return Ok(None);
    }
    let second = look.digits(k + 1, 3)?;
    k += 1 + second.len();
    let date = match is_year(&first) {
        true => Date::new(Some(&first), &second, None),
        false => Date::new(None, &first, Some(&second)).or_else(|| Date::new(None, &second, Some(&first))),
    };
    Ok(date.map(|d| d.found(k)))
}

/// The 04 and 05 of 2024年04月05日.
pub(super) fn padded(look: &Look) -> Seen<Option<Found>> {
    let digits = look.digits(look.start, 3)?;
    let value: u64 = digits.parse().unwrap_or(0);
    if digits.len() != 2 || !digits.starts_with('0') || value == 0 {
        return Ok(None);
    }
    let named = look.at(look.start + 2)?.is_some_and(|c| "月日号號时時点點".contains(c));
    Ok(named.then(|| Found::number(look.start + 2, english_cardinal(value), chinese_cardinal(value))))
}

/// Days and years beside an English month: "April 15, 2024", "15 April".
pub(super) fn beside_month(look: &Look) -> Seen<Option<Found>> {
    let digits = look.digits(look.start, 5)?;
    let k = look.start + digits.len();
    if !matches!(digits.len(), 1 | 2 | 4) || look.is_letter(k)? || look.is(k, ':')? {
        return Ok(None);
    }
    let value: u64 = digits.parse().unwrap_or(0);
    let before = look.before();
    if digits.len() == 4 {
        let year = is_year(&digits) && month_before(before).is_some();
        let point = look.is(k, '.')? && look.is_digit(k + 1)?;
        return Ok((year && !point).then(|| Found::number(k, english_year(&digits), chinese_digits(&digits))));
    }
    if !(1..=31).contains(&value) || (look.is(k, '.')? && look.is_digit(k + 1)?) || look.is(k, '%')? {
        return Ok(None);
    }
    let tail = before.trim_end_matches([' ', '.']);
    let word = tail.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    if tail.len() < before.len() && capital && month_of(word).is_some() && !look.counts_nouns(k)? {
        let (mut english, mut chinese, mut end) = (english_ordinal(value), format!("{}日", chinese_cardinal(value)), k);
        let last = look.digits(k + 1, 3)?;
        if look.at(k)?.is_some_and(|c| matches!(c, '-' | '–')) && matches!(last.len(), 1 | 2) {
            let after = k + 1 + last.len();
            let last: u64 = last.parse().unwrap_or(0);
            if (value + 1..=31).contains(&last) && !look.is_letter(after)? {
                end = after;
                english.push_str(&format!(" to {}", english_ordinal(last)));
                chinese.push_str(&format!("到{}日", chinese_cardinal(last)));
            }
        }
        return Ok(Some(Found { moment: true, ..Found::number(end, english, chinese) }));
    }
    // "15 April": the month's name is read as it stands.
    let upper = look.is(k, ' ')? && look.at(k + 1)?.is_some_and(|c| c.is_ascii_uppercase());
    if !upper {
        return Ok(None);
    }
    let mut name = String::new();
    while name.len() < 10
        && let Some(c) = look.at(k + 1 + name.len())?.filter(char::is_ascii_alphabetic)
    {
        name.push(c);
    }
    if month_of(&name).is_none() {
        return Ok(None);
    }
    let the = if last_word_is(before, "the") { "" } else { "the " };
    Ok(Some(Found::number(k, format!("{the}{} of", english_ordinal(value)), chinese_cardinal(value))))
}

fn last_word_is(text: &str, word: &str) -> bool {
    text.trim_end().rsplit(' ').next().is_some_and(|w| w.eq_ignore_ascii_case(word))
}

/// The month at the end of `text`, with or without a day and a comma behind it.
fn month_before(text: &str) -> Option<usize> {
    let text = text.trim_end_matches([' ', ',', '.']);
    let word = |t: &str| t.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_string();
    let last = word(text);
    let day = last.trim_end_matches(|c: char| c.is_ascii_lowercase());
    if !day.is_empty() && day.len() <= 2 && day.chars().all(|c| c.is_ascii_digit()) {
        return month_of(&word(text[..text.len() - last.len()].trim_end_matches([' ', '.'])));
    }
    month_of(&last).filter(|_| last.starts_with(|c: char| c.is_ascii_uppercase()))
}

const ERAS: [&str; 47] = [
    "民国", "民國", "昭和", "平成", "令和", "明治", "大正", "康熙", "乾隆", "雍正", "嘉庆", "嘉慶", "道光", "咸丰",
    "咸豐", "同治", "光绪", "光緒", "宣统", "宣統", "顺治", "順治", "洪武", "永乐", "永樂", "万历", "萬曆", "崇祯",
    "崇禎", "嘉靖", "正德", "弘治", "成化", "宣德", "天启", "贞观", "貞觀", "开元", "開元", "天宝", "天寶", "建安",
    "建武", "元和", "熙宁", "靖康", "隆庆",
];

/// A year before 年, and English years: 1990s, "in 1984", a bare 2024.
pub(super) fn year(look: &Look) -> Seen<Option<Found>> {
    let digits = look.digits(look.start, 5)?;
    let k = look.start + digits.len();
    if !matches!(digits.len(), 2..=4) || digits.starts_with('0') && digits.len() > 2 {
        return Ok(None);
    }
    let found = || Found::number(k, english_year(&digits), chinese_digits(&digits));
    let value: u64 = digits.parse().unwrap_or(0);
    let decade = match look.at(k)? {
        Some('s') => Some(k + 1),
        Some('\'') if look.is(k + 1, 's')? => Some(k + 2),
        _ => None,
    };
    if let Some(end) = decade
        && digits.len() != 3
        && value.is_multiple_of(10)
        && (value >= 1000 || &digits != "00")
        && !look.is_letter(end)?
    {
        let chinese = if digits.len() == 2 {
            format!("{}秒", chinese_cardinal(value))
        } else {
            format!("{}年代", chinese_digits(&digits))
        };
        return Ok(Some(Found::number(end, english_decade(&digits), chinese)));
    }
    let before = bare(look.before());
    let named = look.past_space(k)?;
    if look.is(named, '年')? {
        let next = look.at(named + 1)?;
        return Ok(chinese_year(&digits, value, before, next, look, named + 1)?.then(found));
    }
    if digits.len() < 4 || look.is_letter(k)? || !(1100..2100).contains(&value) {
        return Ok(None);
    }
    let follows = look.at(k)?;
    let joined = follows.is_some_and(|c| matches!(c, '.' | ',' | '-' | '/' | ':')) && look.is_digit(k + 1)?;
    if joined || follows.is_some_and(|c| matches!(c, '%' | '‰' | '°' | '℃' | '万' | '亿' | '+' | '=' | '×')) {
        return Ok(None);
    }
    let second = follows_year(look.before());
    if units::suffix(look, k)?.is_some() || units::counted(look, k)? || (is_amount(look.before()) && !second) {
        return Ok(None);
    }
    if look.counts_nouns(k)? {
        return Ok(None);
    }
    let told = second
        || matches!(
            last_word(look.before()).as_str(),
            "in" | "since"
                | "until"
                | "till"
                | "during"
                | "year"
                | "before"
                | "after"
                | "circa"
                | "early"
                | "late"
                | "spring"
                | "summer"
                | "autumn"
                | "fall"
                | "winter"
                | "from"
        );
    Ok((value >= 1900 || told).then(found))
}

/// "from 1914 to" is followed by a year.
fn follows_year(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    let joins = matches!(words.next(), Some("to" | "and" | "or" | "through" | "until"));
    joins && words.next().is_some_and(is_year)
}

/// Whether the digits before 年 are a year's name, and not how many.
fn chinese_year(digits: &str, value: u64, before: &str, next: Option<char>, look: &Look, at: usize) -> Seen<bool> {
    if ERAS.iter().any(|era| before.ends_with(era)) {
        return Ok(false);
    }
    let christian = before.ends_with("公元") || before.ends_with("公元前") || before.ends_with("西元");
    Ok(match digits.len() {
        4 => {
            let round = value.is_multiple_of(1000) && value != 2000;
            (1000..3000).contains(&value) && !round && !(is_amount(before) && next == Some('的'))
        }
        3 => christian,
        // 98年毕业, 24年4月; but 30年, 20年前.
        _ => {
            let month = look.digits(look.past_space(at)?, 3)?;
            let before_month = !month.is_empty() && look.is(look.past_space(at)? + month.len(), '月')?;
            let lasting = next.is_some_and(|c| "前后後来來内內间間代的级級多以之，。".contains(c)) || is_amount(before);
            before_month || ((50..100).contains(&value) && !lasting && next.is_some())
        }
    })
}

/// Whether what stands before a number says that it is an amount.
fn is_amount(before: &str) -> bool {
    const AMOUNTS: &str = "价格價元费費售卖賣共约約达達有近超过過了满滿额額量总總计計高低仅僅只逾破数數长長每第余";
    let text = bare(before);
    let word = last_word(text);
    text.chars().next_back().is_some_and(|c| AMOUNTS.contains(c))
        || matches!(
            word.as_str(),
            "than"
                | "about"
                | "over"
                | "under"
                | "nearly"
                | "some"
                | "exactly"
                | "almost"
                | "cost"
                | "costs"
                | "total"
                | "least"
                | "most"
                | "only"
                | "to"
                | "around"
                | "approximately"
                | "has"
                | "have"
                | "had"
                | "with"
        )
}

/// 1st, 22nd, 3rd, 11th.
pub(super) fn ordinal(look: &Look) -> Seen<Option<Found>> {
    let Some(core) = core(look, look.start, false)?.filter(|c| !c.goes_on) else {
        return Ok(None);
    };
    let Some(value) = core.number.integer() else {
        return Ok(None);
    };
    let ending = match (value % 10, value % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    if look.word_of(core.end, &[ending])?.is_none() {
        return Ok(None);
    }
    let found = Found::number(core.end + 2, english_ordinal(value), format!("第{}", chinese_cardinal(value)));
    // 2nd-3rd: a dash leads to another one.
    Ok(Some(Found { moment: true, ..found }))
}
