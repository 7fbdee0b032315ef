//! Clock times, and the ratios and scores that look like them.

use super::look::{Digits, Look, Seen, bare};
use super::quantity::core;
use super::{Found, units};
use crate::text::numbers::{Number, chinese_cardinal, chinese_digits, english_cardinal, english_digits};

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
    // No score is 2:00.
    if hours && sixty(&minutes) && (minutes.starts_with('0') || !ratio_told(look, k + 1 + minutes.len())?) {
        k += 1 + minutes.len();
        let mut rest = vec![minutes];
        let seconds = look.digits(k + 1, 3)?;
        if look.is(k, colon)? && sixty(&seconds) {
            k += 1 + seconds.len();
            rest.push(seconds);
            let parts = look.digits(k + 1, 10)?;
            if look.is(k, '.')? && (1..=9).contains(&parts.len()) {
                k += 1 + parts.len();
                rest.push(parts);
            }
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
        "比分",
        "比例",
        "比率",
        "比值",
        "配比",
        "赔率",
        "大胜",
        "战胜",
        "击败",
        "得分",
        "领先",
        "落后",
        "比例尺",
        "ratio",
        "score",
        "scale",
        "odds",
        "lead",
    ];
    let before = look.before();
    let nearby: String = before.chars().rev().take(9).collect::<Vec<_>>().into_iter().rev().collect();
    let nearby = nearby.to_lowercase();
    if BEFORE.iter().any(|word| nearby.contains(word)) || bare(before).ends_with('以') {
        return Ok(true);
    }
    for word in ["战胜", "击败", "大胜", "领先", "战平", "获胜", "取胜", "的比", "的比例", "不敌", "惜败", "逆转"]
    {
        if look.says(after, word)? {
            return Ok(true);
        }
    }
    Ok(look.is(after, ' ')?
        && look.word_of(after + 1, &["ratio", "scale", "odds", "lead", "win", "victory"])?.is_some())
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

fn time(hour: &str, rest: &[Digits], afternoon: Option<bool>, end: usize) -> Option<Found> {
    let hour: u64 = hour.parse().ok().filter(|h| *h <= 24)?;
    let low = |d: &Digits| d.parse::<u64>().unwrap_or(0);
    let small = |d: &Digits| match low(d) {
        0 => "hundred".to_string(),
        n @ 1..=9 => format!("oh {}", english_cardinal(n)),
        n => english_cardinal(n),
    };
    if hour == 0 && afternoon.is_none() && matches!(rest, [minutes] if low(minutes) == 0) {
        return Some(Found { moment: true, ..Found::number(end, "midnight".into(), "零点".into()) });
    }
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
        let padded = |d: &Digits| match low(d) {
            n @ 1..=9 => format!("零{}", chinese_cardinal(n)),
            n => chinese_cardinal(n),
        };
        if low(minutes) > 0 || seconds.is_some() {
            chinese.push_str(&format!("{}分", padded(minutes)));
        }
        if let Some(seconds) = seconds {
            let parts = rest.get(2);
            let (en, zh) = parts.map_or(Default::default(), |p| {
                (format!(" point {}", english_digits(p)), format!("点{}", chinese_digits(p)))
            });
            let one = low(seconds) == 1 && parts.is_none();
            let plural = if one { "" } else { "s" };
            english.push_str(&format!(" and {}{en} second{plural}", english_cardinal(low(seconds))));
            chinese.push_str(&format!("{}{zh}秒", padded(seconds)));
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
            rest.push(look.digits(k - 2, 2)?);
            look.digits(look.start, first.len() - 2)?
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
