//! Numbers that are names: telephone and identity numbers, model names, versions.

use super::look::{Digits, Look, Seen, bare, last_word};
use super::quantity::{core, is_packed_date};
use super::{Found, units};
use crate::text::Language;
use crate::text::numbers::{Number, chinese_dialled, chinese_digits, english_digits, english_year};
use crate::text::unit::{is_han, is_latin};

const PHONE_WORDS: [&str; 33] = [
    "电话",
    "電話",
    "手机",
    "手機",
    "号码",
    "號碼",
    "传真",
    "傳真",
    "热线",
    "熱線",
    "致电",
    "致電",
    "客服",
    "拨打",
    "撥打",
    "拨",
    "撥",
    "呼叫",
    "座机",
    "打",
    "短信发送到",
    "联系方式",
    "报警",
    "来电",
    "急救",
    "火警",
    "匪警",
    "查号",
    "短信发到",
    "短信至",
    "发短信到",
    "发送到",
    "分机",
];
const ENGLISH_PHONE_WORDS: [&str; 12] =
    ["call", "dial", "phone", "telephone", "tel", "mobile", "fax", "hotline", "ring", "text", "cell", "whatsapp"];

const CODE_WORDS: [&str; 42] = [
    "编号",
    "編號",
    "单号",
    "單號",
    "订单号",
    "訂單號",
    "卡号",
    "账号",
    "帐号",
    "帳號",
    "学号",
    "學號",
    "工号",
    "尾号",
    "房号",
    "房间",
    "房間",
    "房间号",
    "车次",
    "航班",
    "航班号",
    "邮编",
    "郵編",
    "邮政编码",
    "验证码",
    "驗證碼",
    "密码",
    "密碼",
    "代码",
    "编码",
    "識別碼",
    "识别码",
    "激活码",
    "邀请码",
    "取件码",
    "条码",
    "口令",
    "微信号",
    "身份证",
    "护照",
    "波音",
    "空客",
];
const ENGLISH_CODE_WORDS: [&str; 24] = [
    "id",
    "code",
    "pin",
    "invoice",
    "ticket",
    "extension",
    "ext",
    "zip",
    "zipcode",
    "postcode",
    "serial",
    "tracking",
    "passport",
    "ssn",
    "room",
    "flight",
    "suite",
    "apartment",
    "apt",
    "route",
    "highway",
    "password",
    "passcode",
    "account",
];
/// Of these, only long ones are names: "order 100 pieces".
const LONG_CODE_WORDS: [&str; 6] = ["order", "case", "card", "model", "reference", "ref"];

/// Names whose numbers are read digit by digit, besides those in capitals.
const BRANDS: [&str; 12] = [
    "Boeing",
    "Airbus",
    "Ryzen",
    "Core",
    "Radeon",
    "Snapdragon",
    "Porsche",
    "Peugeot",
    "Cessna",
    "Nokia",
    "Xeon",
    "Quadro",
];

struct Groups {
    digits: Vec<Digits>,
    end: usize,
}

/// Digits in groups with one of `signs` between.
fn groups(look: &Look, at: usize, signs: &[char], most: usize) -> Seen<Groups> {
    let mut digits = vec![look.digits(at, 16)?];
    let mut end = at + digits[0].len();
    while digits.len() < most && look.at(end)?.is_some_and(|c| signs.contains(&c)) {
        let group = look.digits(end + 1, 12)?;
        if group.is_empty() {
            break;
        }
        end += 1 + group.len();
        digits.push(group);
    }
    Ok(Groups { digits, end })
}

fn dialled<S: AsRef<str>>(groups: &[S], end: usize) -> Found {
    let english: Vec<String> = groups.iter().map(|g| english_digits(g.as_ref())).collect();
    let chinese: Vec<String> = groups.iter().map(|g| chinese_dialled(g.as_ref())).collect();
    Found::number(end, english.join(", "), chinese.join("，"))
}

fn plus(mut found: Found) -> Found {
    found.english.insert_str(0, "plus ");
    found.chinese.insert(0, '加');
    found
}

/// `+86 138 0013 8000` and `(415) 555-2671`, from their sign on.
pub(super) fn phone_with_sign(look: &Look) -> Seen<Option<Found>> {
    let start = look.start;
    match look.at(start)? {
        Some('+') if look.is_fresh() && look.is_digit(start + 1)? => {
            let all = groups(look, start + 1, &['-', ' '], 6)?;
            let total: usize = all.digits.iter().map(|g| g.len()).sum();
            if all.digits.len() == 1
                && all.digits[0].len() <= 3
                && look.is(all.end, ' ')?
                && look.is(all.end + 1, '(')?
            {
                let area = look.digits(all.end + 2, 5)?;
                let close = all.end + 2 + area.len();
                if matches!(area.len(), 2..=4) && look.is(close, ')')? {
                    let from = look.past_space(close + 1)?;
                    let mut rest = groups(look, from, &['-', ' '], 3)?;
                    let total: usize = rest.digits.iter().map(|g| g.len()).sum();
                    if (6..=8).contains(&total) && !look.is_digit(rest.end)? {
                        rest.digits.splice(0..0, [all.digits[0], area]);
                        return Ok(Some(plus(dialled(&rest.digits, rest.end))));
                    }
                }
            }
            let country = all.digits.len() > 1 && all.digits[0].len() <= 3 && (8..=15).contains(&total);
            let solid = all.digits.len() == 1 && (10..=15).contains(&total);
            if !(country || solid) || look.is_digit(all.end)? {
                return Ok(None);
            }
            Ok(Some(plus(dialled(&all.digits, all.end))))
        }
        Some(open @ ('(' | '（')) if look.is_digit(start + 1)? => {
            let area = look.digits(start + 1, 5)?;
            let close = start + 1 + area.len();
            if !matches!(area.len(), 3 | 4) || !look.is(close, if open == '(' { ')' } else { '）' })? {
                return Ok(None);
            }
            let next = close + 1 + usize::from(matches!(look.at(close + 1)?, Some(' ' | '-')));
            let mut rest = groups(look, next, &['-', ' '], 3)?;
            let total: usize = rest.digits.iter().map(|g| g.len()).sum();
            if !(7..=8).contains(&total) || look.is_letter(rest.end)? || look.is_digit(rest.end)? {
                return Ok(None);
            }
            rest.digits.insert(0, area);
            Ok(Some(dialled(&rest.digits, rest.end)))
        }
        _ => Ok(None),
    }
}

fn phone_told(look: &Look) -> bool {
    let text = before_list(look.before());
    let before = bare(text);
    // 电话65551234转801.
    let extension = before.strip_suffix('转').is_some_and(|b| b.ends_with(|c: char| c.is_ascii_digit()));
    extension
        || (before.ends_with(is_han) && PHONE_WORDS.iter().any(|w| before.ends_with(w)))
        || ENGLISH_PHONE_WORDS.contains(&last_word(text).as_str())
}

/// What stands before a list of numbers of which the last one is to come: 拨打 of 拨打110或.
fn before_list(text: &str) -> &str {
    let mut start = text;
    loop {
        let joined = start.trim_end();
        let Some(list) =
            ["或者", "或", "和", "及", "、", "/", " or", " and", ","].iter().find_map(|w| joined.strip_suffix(w))
        else {
            return start;
        };
        let number = list.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        if number.len() + 3 > list.len() || number.len() == list.len() {
            return start;
        }
        start = number;
    }
}

/// Whether something is counted or measured at `k`, so that the number before it is an amount.
pub(super) fn is_counted(look: &Look, k: usize) -> Seen<bool> {
    Ok(units::suffix(look, k)?.is_some() || units::counted(look, k)? || look.counts_nouns(k)?)
}

/// Telephone numbers, by their form or by the word before them.
pub(super) fn phone(look: &Look) -> Seen<Option<Found>> {
    let first = look.digits(look.start, 12)?;
    let end = look.start + first.len();
    let told = first.len() >= 3 && phone_told(look);
    let next = look.at(end)?;
    if next == Some('-') && look.is_digit(end + 1)? {
        return hyphened(look, told);
    }
    let spaced = next == Some(' ') && first.len() >= 3 && (told || first.len() <= 4) && look.is_digit(end + 1)?;
    if spaced {
        let all = groups(look, look.start, &[' ', '-'], 5)?;
        let lens: Vec<usize> = all.digits.iter().map(|g| g.len()).collect();
        let total: usize = lens.iter().sum();
        let form = (lens == [3, 4, 4] && first.starts_with('1'))
            || lens == [3, 3, 4]
            || is_card(&lens)
            || (first.starts_with('0') && total >= 9);
        let told = told && (7..=13).contains(&total) && lens.len() > 1;
        return Ok(((form || told) && !look.is_letter(all.end)?).then(|| dialled(&all.digits, all.end)));
    }
    let joined = matches!(next, Some('.' | ',' | ':' | '/' | '%')) && look.is_digit(end + 1)? || look.is_letter(end)?;
    if joined || first.len() >= 12 {
        return Ok(None);
    }
    if first.len() == 11 && first.starts_with('1') && first.as_bytes()[1] > b'2' && !is_counted(look, end)? {
        let parts = [&first[..3], &first[3..7], &first[7..]].map(str::to_string);
        return Ok(Some(dialled(&parts, end)));
    }
    if (told && !is_counted(look, end)?) || is_emergency(look, &first, end)? {
        return Ok(Some(dialled(&[first], end)));
    }
    Ok(None)
}

/// The groups that payment cards print their numbers in.
fn is_card(lens: &[usize]) -> bool {
    matches!(lens, [4, 4, 4, 4] | [4, 4, 4, 4, 3] | [4, 6, 5])
}

/// 010-65551234, 415-555-2671, 555-1234, 123-45-6789.
fn hyphened(look: &Look, told: bool) -> Seen<Option<Found>> {
    let mut all = groups(look, look.start, &['-'], 6)?;
    if all.digits.len() == 2 && all.digits[0].starts_with('0') && all.digits[1].len() == 4 && look.is(all.end, ' ')? {
        all = groups(look, look.start, &['-', ' '], 3)?;
    }
    let lens: Vec<usize> = all.digits.iter().map(|g| g.len()).collect();
    let total: usize = lens.iter().sum();
    if look.is_digit(all.end)? || look.is_letter(all.end)? {
        return Ok(None);
    }
    let area = all.digits[0].starts_with('0') && matches!(lens[0], 3 | 4);
    let low = |d: &str| d.parse::<u64>().unwrap_or(0);
    let found = match lens.as_slice() {
        [3 | 4, 7 | 8] => area || told || all.digits[0].starts_with("400") || all.digits[0].starts_with("800"),
        [3, 4] => told || (low(&all.digits[0]) >= 200 && low(&all.digits[1]) % 10 != 0 && !is_counted(look, all.end)?),
        [_, _] => told && total >= 7,
        _ => total >= 7,
    };
    Ok(found.then(|| dialled(&all.digits, all.end)))
}

/// 110, 119, 12345, where a word on either side says that it is dialled; 911 in any case.
fn is_emergency(look: &Look, digits: &str, end: usize) -> Seen<bool> {
    let short = matches!(digits, "110" | "119" | "120" | "122" | "114" | "911" | "999" | "112" | "118");
    let service = digits.len() == 5 && ["95", "96", "100", "123", "12"].iter().any(|p| digits.starts_with(p));
    if !(short || service) {
        return Ok(false);
    }
    if digits == "911" {
        return Ok(!is_counted(look, end)?);
    }
    let from = if look.is(end, '是')? { end + 1 } else { look.past_space(end)? };
    for word in [
        "火警",
        "报警",
        "報警",
        "急救",
        "匪警",
        "热线",
        "熱線",
        "电话",
        "電話",
        "客服",
        "救护",
        "救護",
        "求助",
        "指挥中心",
        "查号",
        "出警",
    ] {
        if look.says(from, word)? {
            return Ok(true);
        }
    }
    Ok(look.word_of(from, &["hotline", "emergency", "operator"])?.is_some())
}

/// Numbers that a word before them says to be names: 订单号 20240415001, PIN 1234, room 302.
pub(super) fn told_code(look: &Look) -> Seen<Option<Found>> {
    let digits = look.digits(look.start, 20)?;
    let end = look.start + digits.len();
    let grouped = look.at(end)? == Some('-') && look.is_digit(end + 1)?;
    if (digits.len() < 3 && !grouped) || digits.len() >= 20 {
        return Ok(None);
    }
    let text = before_list(look.before());
    let before = bare(text);
    let number_word = before.to_ascii_lowercase().ends_with("number");
    let word = last_word(text);
    let word = word.as_str();
    // 门牌号1101, but not 3号1000人.
    let numbered = before.strip_suffix('号').and_then(|b| b.chars().next_back());
    let numbered = numbered.is_some_and(|c| (is_han(c) || is_latin(c)) && !"一二三四五六七八九十零两几信".contains(c));
    // Most numbers stand behind no Chinese word, and need no search of the list.
    let told = before.ends_with(is_han) && {
        CODE_WORDS.iter().chain(&["号码", "证号", "號碼"]).any(|w| before.ends_with(w))
    };
    let named = numbered
        || told
        || ENGLISH_CODE_WORDS.contains(&word)
        || (LONG_CODE_WORDS.contains(&word) && digits.len() >= 5)
        || number_word
        || (look.back(1) == Some('#') && digits.len() >= 5)
        || ["qq", "qq群"].iter().any(|w| before.to_ascii_lowercase().ends_with(w));
    // Order #12345 ships: the sign says that nothing is counted.
    let signed = look.back(1) == Some('#');
    if !named || (!signed && is_counted(look, end)?) {
        return Ok(None);
    }
    let joined = matches!(look.at(end)?, Some('.' | ',' | ':')) && look.is_digit(end + 1)?;
    if joined {
        return Ok(None);
    }
    if digits.len() < 3 && !told {
        return Ok(None);
    }
    if grouped {
        let all = groups(look, look.start, &['-'], 6)?;
        return Ok(Some(Found { name: true, ..dialled(&all.digits, all.end) }));
    }
    Ok(Some(Found { name: true, ..dialled(&[digits], end) }))
}

/// Whether the number at the start continues a name: `A380`, `GPT-4`, not `pre-1990`.
pub(super) fn is_attached(look: &Look) -> bool {
    match look.back(1) {
        Some('-') => {
            let before = look.before().trim_end_matches('-');
            let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let has = |kind: fn(&char) -> bool| word.chars().any(|c| kind(&c));
            has(char::is_ascii_alphabetic) && (has(char::is_ascii_uppercase) || has(char::is_ascii_digit))
        }
        // beta.2, H.264
        Some('.') => look.back(2).is_some_and(is_latin),
        Some('_' | '@') => look.back(2).is_some_and(|c| c.is_alphanumeric()),
        Some(c) => is_latin(c),
        None => false,
    }
}

/// The number in a name: one or two digits as a quantity, more digit by digit.
pub(super) fn model(look: &Look) -> Seen<Option<Found>> {
    let Some(core) = core(look, look.start, false)? else {
        return Ok(None);
    };
    let end = core.end;
    let mut number = core.number;
    // B2B, P2P: the letters are English, whatever stands around.
    let capital = |c: Option<char>| c.is_some_and(|c| c.is_ascii_uppercase());
    let between = number.whole == "2" && number.groups.is_empty() && !look.back(2).is_some_and(|c| c.is_alphanumeric());
    if between
        && capital(look.back(1))
        && matches!(look.at(end)?, Some('B' | 'C' | 'P' | 'O' | 'G' | 'M' | 'D' | 'F' | 'X'))
    {
        let known = matches!(
            (look.back(1), look.at(end)?),
            (Some('B' | 'C' | 'D'), Some('B' | 'C' | 'G'))
                | (Some('P'), Some('P'))
                | (Some('M'), Some('M'))
                | (Some('F'), Some('F'))
        ) || (look.back(1) == Some('O') && look.is(end, 'O')?);
        if known && !look.is_letter(end + 1)? {
            return Ok(Some(Found {
                language: Some(Language::English),
                ..Found::number(end, "two".into(), "二".into())
            }));
        }
    }
    number.spelt = number.whole.len() >= 3;
    let mut found = Found::number(end, number.english(), number.chinese(false));
    let value: u64 = number.whole.parse().unwrap_or(0);
    if number.groups.is_empty() && number.whole.len() == 4 && (1990..2100).contains(&value) && !look.is_letter(end)? {
        found.english = english_year(&number.whole);
    }
    found.goes_on = core.goes_on;
    found.name = true;
    Ok(Some(found))
}

/// A number behind a name and a space: RTX 4090, iPhone 15, Boeing 747.
pub(super) fn named_model(look: &Look) -> Seen<Option<Found>> {
    if look.back(1) != Some(' ') {
        return Ok(None);
    }
    let before = look.before();
    let name = before.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let letters = name.chars().filter(char::is_ascii_alphabetic).count();
    let capitals = name.chars().filter(char::is_ascii_uppercase).count();
    let inner = name.chars().skip(1).any(|c| c.is_ascii_uppercase());
    let code = letters >= 2 && (capitals == letters || inner);
    if !(code || BRANDS.contains(&name)) {
        return Ok(None);
    }
    let Some(core) = core(look, look.start, false)?.filter(|c| !c.grouped && c.number.groups.is_empty()) else {
        return Ok(None);
    };
    let digits = core.number.whole;
    let range = matches!(look.at(core.end)?, Some('-' | '–' | '~' | ':' | '/' | '.' | ',' | '%'))
        && !look.is(core.end + 1, ' ')?;
    if digits.len() > 5 || (range && look.is_digit(core.end + 1)?) || is_counted(look, core.end)? {
        return Ok(None);
    }
    let number = Number { spelt: digits.len() >= 3, ..Number::new(&digits) };
    let mut found = Found::number(core.end, number.english(), number.chinese(false));
    let year = digits.len() == 4 && digits.parse::<u32>().is_ok_and(|y| (1990..2040).contains(&y));
    if year {
        (found.english, found.chinese) = (english_year(&digits), chinese_digits(&digits));
    }
    found.name = true;
    Ok(Some(found))
}

/// Whether these digits are a date without dashes.
pub(super) fn packed_date(look: &Look) -> Seen<Option<Found>> {
    let digits = look.digits(look.start, 9)?;
    if !is_packed_date(&digits) {
        return Ok(None);
    }
    let before = bare(look.before()).to_ascii_lowercase();
    if !["日期", "生日", "出生", "时间", "date"].iter().any(|w| before.ends_with(w)) {
        return Ok(None);
    }
    super::dates::forced_date(look)
}
