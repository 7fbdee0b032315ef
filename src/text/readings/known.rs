//! Numbers known by heart: their reading follows from no class, but from the word beside them.

use super::Found;
use super::look::{Look, Seen, bare};
use crate::text::numbers::{Number, chinese_dialled, chinese_digits, english_digits, english_year};
use crate::text::unit::{is_han, is_latin};

/// Dialled wherever they stand, unless something is counted with them: carriers, trains, consumers, banks.
const SERVICES: [&str; 12] =
    ["10086", "10010", "10011", "12306", "12315", "12348", "12333", "12358", "95588", "95533", "95555", "95566"];

/// Names of days, events and rules, by what stands behind their number; an empty list: whatever stands there.
const EVENTS: [(&str, &[&str]); 19] = [
    ("214", &["情人"]),
    ("38", &["妇女", "婦女", "节", "節", "女神", "国际", "红旗"]),
    ("51", &["劳动", "勞動", "长假", "黄金周", "假期", "放假"]),
    ("54", &["青年", "运动"]),
    ("61", &["儿童", "兒童", "国际儿童"]),
    ("71", &["建党"]),
    ("81", &["建军"]),
    ("101", &["国庆", "放假"]),
    ("315", &["晚会", "打假", "消费", "维权"]),
    ("520", &["情人", "表白", "告白"]),
    ("618", &["促销", "大促", "购物", "活动", "年中"]),
    ("911", &["事件", "恐怖", "袭击"]),
    ("918", &["事变"]),
    ("996", &["工作制", "福报", "加班"]),
    ("007", &["工作制"]),
    ("985", &["高校", "大学", "院校", "工程", "名校"]),
    ("211", &["高校", "大学", "院校", "工程", "名校"]),
    ("1111", &["大促", "购物", "促销", "光棍", "狂欢"]),
    ("1212", &["大促", "购物", "促销"]),
];

fn spelt(digits: &str) -> Found {
    Found { chinese_only: true, ..Found::number(0, english_digits(digits), chinese_digits(digits)) }
}

/// 90后, 38妇女节, 9秒58, 502室, A座1201, 京A·12345, 10086.
pub(super) fn known(look: &Look) -> Seen<Option<Found>> {
    let digits = look.digits(look.start, 8)?;
    let end = look.start + digits.len();
    if let Some(found) = dotted_event(look, &digits, end)? {
        return Ok(Some(found));
    }
    if !matches!(digits.len(), 2..=6) || joined(look, end)? {
        return Ok(None);
    }
    let at = |found: Found| Some(Found { end, ..found });
    if let Some((_, words)) = EVENTS.iter().find(|e| e.0 == digits.as_str()) {
        for word in *words {
            if look.says(end, word)? {
                return Ok(at(spelt(&digits)));
            }
        }
    }
    let quarter = look.at(end)?.is_some_and(|c| matches!(c, 'Q' | 'H')) && look.is_digit(end + 1)?;
    if quarter && digits.len() == 4 && ("1990".."2100").contains(&digits.as_str()) {
        return Ok(Some(Found::number(end, english_year(&digits), chinese_digits(&digits))));
    }
    let road = digits.len() == 3 && matches!(look.at(end)?, Some('国' | '省' | '县')) && look.is(end + 1, '道')?;
    if road {
        return Ok(at(spelt(&digits)));
    }
    if generation(look, &digits, end)? || part_of_measure(look, &digits, end)? {
        return Ok(at(spelt(&digits)));
    }
    let dialled = || Found::number(end, english_digits(&digits), chinese_dialled(&digits));
    if SERVICES.contains(&digits.as_str()) && !super::codes::is_counted(look, end)? {
        return Ok(Some(dialled()));
    }
    if status(look, &digits, end)? {
        return Ok(Some(Found::number(end, english_digits(&digits), chinese_digits(&digits))));
    }
    if plate(look, &digits) {
        return Ok(at(spelt(&digits)));
    }
    Ok(door(look, &digits, end)?.then(|| Found { name: true, ..dialled() }))
}

/// 3.15晚会, 6.18大促, 5.1放假, 3/8妇女节, 9·11事件.
fn dotted_event(look: &Look, month: &str, point: usize) -> Seen<Option<Found>> {
    let sign = matches!(look.at(point)?, Some('.' | '/' | '·' | '-'));
    if !matches!(month.len(), 1 | 2) || !sign || !look.is_fresh() {
        return Ok(None);
    }
    let day = look.digits(point + 1, 3)?;
    let (digits, end) = (format!("{month}{day}"), point + 1 + day.len());
    if let Some((_, words)) = EVENTS.iter().find(|e| e.0 == digits.as_str()) {
        for word in *words {
            if look.says(end, word)? {
                return Ok(Some(Found { end, ..spelt(&digits) }));
            }
        }
    }
    Ok(None)
}

fn joined(look: &Look, end: usize) -> Seen<bool> {
    let before = look.back(1).is_some_and(|c| matches!(c, '.' | '-' | '/' | ',' | ':')) && {
        look.back(2).is_some_and(|c| c.is_ascii_digit())
    };
    let after = look.at(end)?.is_some_and(|c| matches!(c, '.' | ',' | ':' | '/' | '%' | '-' | '~')) && {
        look.is_digit(end + 1)?
    };
    let quarter = matches!(look.at(end)?, Some('Q' | 'H')) && look.is_digit(end + 1)?;
    Ok(before || after || (look.is_letter(end)? && !quarter))
}

/// 90后, 00后: people born in those years.
fn generation(look: &Look, digits: &str, end: usize) -> Seen<bool> {
    let years = digits.len() == 2 && digits.ends_with(['0', '5']) && !matches!(digits, "15" | "20" | "30" | "40");
    Ok(years && look.is(end, '后')? && !look.at(end + 1)?.is_some_and(|c| "退面方台来宫天续勤".contains(c)))
}

/// The 75 of 1米75 and the 58 of 9秒58.
fn part_of_measure(look: &Look, digits: &str, end: usize) -> Seen<bool> {
    let unit = look.back(1).is_some_and(|c| matches!(c, '米' | '秒'));
    let measured = unit && look.back(2).is_some_and(|c| c.is_ascii_digit());
    Ok(measured && digits.len() == 2 && !super::codes::is_counted(look, end)?)
}

/// 502室, A座1201.
fn door(look: &Look, digits: &str, end: usize) -> Seen<bool> {
    if !matches!(digits.len(), 3 | 4) {
        return Ok(false);
    }
    let before = bare(look.before());
    let block = before.strip_suffix(['座', '栋', '幢']).and_then(|b| b.chars().next_back());
    let block = block.is_some_and(|c| is_latin(c) || c.is_ascii_digit() || "一二三四五六七八九十".contains(c));
    let unit = before.ends_with("单元");
    let room = look.is(end, '室')? && !look.is(end + 1, '温')?;
    Ok(room || ((block || unit) && !super::codes::is_counted(look, end)?))
}

/// The codes web servers answer with: a 404 error, error 500, 404页面.
fn status(look: &Look, digits: &str, end: usize) -> Seen<bool> {
    if digits.len() != 3 || !digits.starts_with(['4', '5']) {
        return Ok(false);
    }
    let before = bare(look.before()).to_ascii_lowercase();
    let named = ["error", "错误", "状态码", "报错", "status", "status code"].iter().any(|w| before.ends_with(w));
    let behind = look.is(end, ' ')? && look.word_of(end + 1, &["error", "page", "response"])?.is_some();
    let chinese = look.says(end, "错误")? || look.says(end, "页面")? || look.says(end, "报错")?;
    Ok((named && !super::codes::is_counted(look, end)?) || behind || chinese)
}

/// A car's plate behind its point: 京A·12345.
fn plate(look: &Look, digits: &str) -> bool {
    let point = look.back(1).is_some_and(|c| matches!(c, '·' | '•' | '・'));
    let place = look.back(2).is_some_and(|c| c.is_ascii_uppercase()) && look.back(3).is_some_and(is_han);
    matches!(digits.len(), 4..=6) && point && place
}

/// 1e-5, 1.5e10: a number and its power of ten.
pub(super) fn scientific(look: &Look) -> Seen<Option<Found>> {
    let Some(core) = super::quantity::core(look, look.start, false)? else {
        return Ok(None);
    };
    let mut k = core.end;
    if core.number.groups.len() > 1 || core.goes_on || !look.at(k)?.is_some_and(|c| matches!(c, 'e' | 'E')) {
        return Ok(None);
    }
    k += 1;
    let sign = look.at(k)?.filter(|c| matches!(c, '-' | '+'));
    k += usize::from(sign.is_some());
    let power = look.digits(k, 4)?;
    k += power.len();
    // E5 alone is a name: 1E5 only with a sign or a small letter.
    let written = sign.is_some() || look.is(core.end, 'e')?;
    if !matches!(power.len(), 1..=3) || !written || look.is_letter(k)? || look.is_digit(k)? {
        return Ok(None);
    }
    let exponent = Number { negative: sign == Some('-'), ..Number::new(&power) };
    let english = format!("{} times ten to the power of {}", core.number.english(), exponent.english());
    let chinese = format!("{}乘十的{}次方", core.number.chinese(false), exponent.chinese(false));
    Ok(Some(Found::number(k, english, chinese)))
}
