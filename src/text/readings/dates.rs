//! Dates, years, clock times, and the ratios and scores that look like them.

use super::look::{Look, Seen, bare, last_word};
use super::quantity::core;
use super::{Found, units};
use crate::text::numbers::{
    Number, chinese_cardinal, chinese_digits, english_cardinal, english_decade, english_digits, english_ordinal,
    english_year,
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
    fn new(year: Option<String>, month: &str, day: Option<&str>) -> Option<Self> {
        let within = |text: &str, most: u64| text.parse().ok().filter(|n| (1..=most).contains(n) && text.len() <= 2);
        let day = match day {
            Some(day) => Some(within(day, 31)?),
            None => None,
        };
        Some(Self { year, month: within(month, 12)?, day })
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
    if !matches!(first.len(), 1 | 2 | 4) {
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
        return Ok(Date::new(Some(first), &second, None).map(|d| d.found(k)));
    }
    let third = look.digits(k + 1, 5)?;
    k += 1 + third.len();
    if look.is_digit(k)? || (look.is(k, sign)? && look.is_digit(k + 1)?) {
        return Ok(None);
    }
    let date = match (first.len(), third.len()) {
        (4, 1 | 2) if is_year(&first) => Date::new(Some(first), &second, Some(&third)),
        (1 | 2, 4) if is_year(&third) => day_and_month(&first, &second, sign, third),
        (1 | 2, 2) if sign == '/' && second.len() + first.len() >= 2 => day_and_month(&first, &second, sign, third),
        _ => None,
    };
    let Some(mut found) = date.map(|d| d.found(k)) else {
        return Ok(None);
    };
    // 2024-04-15T10:30: the T is no word.
    if look.is(k, 'T')? && look.is_digit(k + 1)? {
        found.end += 1;
    }
    if look.is(k, '日')? || look.is(k, '号')? {
        found.chinese.pop();
    }
    Ok(Some(found))
}

/// 2023-24 is a season and no month.
fn season(year: &str, next: &str) -> bool {
    matches!((year.parse::<u32>(), next.parse::<u32>()), (Ok(y), Ok(n)) if n == (y + 1) % 100 && n > 12)
}

/// With slashes the month comes first, as in America, else the day; whatever can be no month is the day.
fn day_and_month(first: &str, second: &str, sign: char, year: String) -> Option<Date> {
    let month_first = Date::new(Some(year.clone()), first, Some(second));
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
        return Ok(Date::new(Some(first[..4].to_string()), &first[4..6], Some(&first[6..])).map(|d| d.found(k)));
    }
    if !look.at(k)?.is_some_and(|c| matches!(c, '-' | '/' | '.')) {
        return Ok(None);
    }
    let second = look.digits(k + 1, 3)?;
    k += 1 + second.len();
    let date = match is_year(&first) {
        true => Date::new(Some(first), &second, None),
        false => Date::new(None, &first, Some(&second)).or_else(|| Date::new(None, &second, Some(&first))),
    };
    Ok(date.map(|d| d.found(k)))
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
            let last: u64 = last.parse().unwrap_or(0);
            if (value + 1..=31).contains(&last) && !look.is_letter(k + 3)? {
                end = k + 1 + if last > 9 { 2 } else { 1 };
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
    "民国", "民國", "昭和", "平成", "令和", "明治", "大正", "康熙", "乾隆", "雍正", "嘉庆", "嘉慶", "道光", "咸丰", "咸豐", "同治", "光绪", "光緒", "宣统",
    "宣統", "顺治", "順治", "洪武", "永乐", "永樂", "万历", "萬曆", "崇祯", "崇禎", "嘉靖", "正德", "弘治", "成化", "宣德", "天启", "贞观", "貞觀", "开元",
    "開元", "天宝", "天寶", "建安", "建武", "元和", "熙宁", "靖康", "隆庆",
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
        && value % 10 == 0
        && (value >= 1000 || digits != "00")
        && !look.is_letter(end)?
    {
        let chinese = if digits.len() == 2 { format!("{}秒", chinese_cardinal(value)) } else { format!("{}年代", chinese_digits(&digits)) };
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
    if units::suffix(look, k)?.is_some() || units::counted(look, k)? || is_amount(look.before()) {
        return Ok(None);
    }
    if look.counts_nouns(k)? {
        return Ok(None);
    }
    let told = matches!(
        last_word(look.before()).as_str(),
        "in" | "since" | "until" | "till" | "during" | "year" | "before" | "after" | "circa" | "early" | "late" | "spring"
            | "summer" | "autumn" | "fall" | "winter" | "from"
    );
    Ok((value >= 1900 || told).then(found))
}

/// Whether the digits before 年 are a year's name, and not how many.
fn chinese_year(digits: &str, value: u64, before: &str, next: Option<char>, look: &Look, at: usize) -> Seen<bool> {
    if ERAS.iter().any(|era| before.ends_with(era)) {
        return Ok(false);
    }
    let christian = before.ends_with("公元") || before.ends_with("公元前") || before.ends_with("西元");
    Ok(match digits.len() {
        4 => {
            let round = value % 1000 == 0 && value != 2000;
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
    const AMOUNTS: &str = "价價元费費售卖賣共约約达達有近超过過了满滿额額量总總计計高低仅僅只逾破数數长長每第余";
    let text = bare(before);
    let word = last_word(text);
    text.chars().next_back().is_some_and(|c| AMOUNTS.contains(c))
        || matches!(
            word.as_str(),
            "than" | "about" | "over" | "under" | "nearly" | "some" | "exactly" | "almost" | "cost" | "costs" | "total"
                | "least" | "most" | "only" | "to" | "around" | "approximately" | "has" | "have" | "had" | "with"
        )
}

/// 15:30, 3:00 pm, 10:30:15; else the ratio or score 3:2, 1:1.5, 1:2:3.
pub(super) fn time_or_ratio(look: &Look) -> Seen<Option<Found>> {
    let hour = look.digits(look.start, 5)?;
    let mut k = look.start + hour.len();
    if hour.is_empty() || hour.len() > 4 {
        return Ok(None);
    }
    if look.at(k)?.is_some_and(|c| matches!(c, 'a' | 'A' | 'p' | 'P' | ' ')) && hour.len() <= 2 {
        // "3pm"; a bare hour is a time only with its half of the day.
        return Ok(half_of_day(look, k)?.and_then(|half| time(&hour, &[], Some(half.0), half.1)));
    }
    let Some(colon) = look.at(k)?.filter(|c| matches!(c, ':' | '：' | '∶')) else {
        return Ok(None);
    };
    if look.back(1).is_some_and(|c| matches!(c, ':' | '：')) && look.back(2).is_some_and(|c| c.is_ascii_digit()) {
        return Ok(None);
    }
    let minutes = look.digits(k + 1, 5)?;
    let sixty = |d: &str| d.len() == 2 && d < "60";
    let hours = hour.len() <= 2 && hour.parse::<u32>().is_ok_and(|h| h <= 24);
    if hours && sixty(&minutes) && !ratio_told(look, k + 1 + minutes.len())? {
        k += 1 + minutes.len();
        let mut rest = vec![minutes];
        let seconds = look.digits(k + 1, 3)?;
        if look.is(k, colon)? && sixty(&seconds) {
            k += 1 + seconds.len();
            rest.push(seconds);
        }
        let half = half_of_day(look, k)?;
        let end = half.map_or(k, |h| h.1);
        return Ok(time(&hour, &rest, half.map(|h| h.0), end));
    }
    ratio(look, colon)
}

fn ratio(look: &Look, colon: char) -> Seen<Option<Found>> {
    let mut parts: Vec<Number> = Vec::new();
    let mut end = look.start;
    while parts.len() < 4 {
        let at = if parts.is_empty() { end } else { end + 1 };
        let Some(part) = core(look, at, false)?.filter(|c| c.number.groups.len() <= 1 && !c.goes_on) else { break };
        parts.push(part.number);
        end = part.end;
        if !(look.is(end, colon)? && look.is_digit(end + 1)?) {
            break;
        }
    }
    // 步骤1：2个 is a heading with what it says.
    let heading = colon == '：' && (units::counted(look, end)? || look.is(end, '年')?);
    let large = parts.iter().filter(|p| p.whole.len() >= 4).count() > 1;
    if parts.len() < 2 || heading || large || look.is_letter(end)? {
        return Ok(None);
    }
    let join = |words: Vec<String>, between: &str| words.join(between);
    let english = join(parts.iter().map(Number::english).collect(), " to ");
    let chinese = join(parts.iter().map(|n| n.chinese(false)).collect(), "比");
    Ok(Some(Found::number(end, english, chinese)))
}

/// Whether words around a 3:20 say that it is no time.
fn ratio_told(look: &Look, after: usize) -> Seen<bool> {
    const BEFORE: [&str; 18] = [
        "比分", "比例", "比率", "比值", "配比", "赔率", "大胜", "战胜", "击败", "得分", "领先", "落后", "比例尺", "ratio", "score", "scale", "odds", "lead",
    ];
    let before = look.before();
    let nearby: String = before.chars().rev().take(9).collect::<Vec<_>>().into_iter().rev().collect();
    let nearby = nearby.to_lowercase();
    if BEFORE.iter().any(|word| nearby.contains(word)) || bare(before).ends_with('以') {
        return Ok(true);
    }
    for word in ["战胜", "击败", "大胜", "领先", "战平", "获胜", "取胜", "的比", "的比例", "不敌", "惜败", "逆转"] {
        if look.says(after, word)? {
            return Ok(true);
        }
    }
    Ok(look.is(after, ' ')? && look.word_of(after + 1, &["ratio", "scale", "odds", "lead", "win", "victory"])?.is_some())
}

/// "am", "p.m.", "p m" at `k` or behind a space: whether it is the afternoon, and where it ends.
fn half_of_day(look: &Look, k: usize) -> Seen<Option<(bool, usize)>> {
    let k = look.past_space(k)?;
    let Some(first) = look.at(k)?.filter(|c| matches!(c, 'a' | 'A' | 'p' | 'P')) else {
        return Ok(None);
    };
    // The stage before this one leaves "p.m." as "p m".
    let m = look.past_space(k + 1)?;
    let is_m = look.at(m)?.is_some_and(|c| matches!(c, 'm' | 'M'));
    if !is_m || look.is_letter(m + 1)? || look.is_digit(m + 1)? {
        return Ok(None);
    }
    Ok(Some((first.eq_ignore_ascii_case(&'p'), m + 1)))
}

fn time(hour: &str, rest: &[String], afternoon: Option<bool>, end: usize) -> Option<Found> {
    let hour: u64 = hour.parse().ok().filter(|h| *h <= 24)?;
    let low = |d: &String| d.parse::<u64>().unwrap_or(0);
    let small = |d: &String| match low(d) {
        0 => "hundred".to_string(),
        n @ 1..=9 => format!("oh {}", english_cardinal(n)),
        n => english_cardinal(n),
    };
    let mut english = english_cardinal(hour);
    let mut chinese = if hour == 2 { "两点".to_string() } else { format!("{}点", chinese_cardinal(hour)) };
    if let Some(minutes) = rest.first() {
        let seconds = rest.get(1);
        match (low(minutes), seconds) {
            (0, None) if afternoon.is_some() => {}
            (0, None) if (1..=12).contains(&hour) => english.push_str(" o'clock"),
            (0, Some(_)) => english.push_str(" zero"),
            _ => english.push_str(&format!(" {}", small(minutes))),
        }
        let padded = |d: &String| match low(d) {
            n @ 1..=9 => format!("零{}", chinese_cardinal(n)),
            n => chinese_cardinal(n),
        };
        if low(minutes) > 0 || seconds.is_some() {
            chinese.push_str(&format!("{}分", padded(minutes)));
        }
        if let Some(seconds) = seconds {
            english.push_str(&format!(" and {} second{}", english_cardinal(low(seconds)), if low(seconds) == 1 { "" } else { "s" }));
            chinese.push_str(&format!("{}秒", padded(seconds)));
        }
    }
    if let Some(afternoon) = afternoon {
        english.push_str(if afternoon { " p m" } else { " a m" });
        chinese.insert_str(0, if afternoon { "下午" } else { "上午" });
    }
    Some(Found { moment: true, ..Found::number(end, english, chinese) })
}

/// The time in the digits at the look's start, whatever else they could be: 15:30, 3:5, 1530.
pub(super) fn forced_time(look: &Look) -> Seen<Option<Found>> {
    let first = look.digits(look.start, 5)?;
    let mut k = look.start + first.len();
    let mut rest = Vec::new();
    let hour = match first.len() {
        3 | 4 => {
            rest.push(first[first.len() - 2..].to_string());
            first[..first.len() - 2].to_string()
        }
        _ => first,
    };
    while rest.len() < 2 && look.at(k)?.is_some_and(|c| matches!(c, ':' | '：')) {
        let part = look.digits(k + 1, 3)?;
        if part.is_empty() || part.len() > 2 {
            break;
        }
        k += 1 + part.len();
        rest.push(part);
    }
    let half = half_of_day(look, k)?;
    Ok(time(&hour, &rest, half.map(|h| h.0), half.map_or(k, |h| h.1)))
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
    Ok(Some(Found::number(core.end + 2, english_ordinal(value), format!("第{}", chinese_cardinal(value)))))
}
