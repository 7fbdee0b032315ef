//! Roman numerals, where what stands around makes clear that they are some.

use super::Found;
use super::look::{Look, Seen};
use crate::text::numbers::{chinese_cardinal, english_cardinal, english_ordinal};

/// Words a Roman numeral of any length follows.
const HEADINGS: [&str; 24] = [
    "chapter", "part", "section", "volume", "act", "scene", "book", "phase", "type", "stage", "class", "article",
    "war", "title", "level", "grade", "figure", "table", "appendix", "episode", "bowl", "category", "vol", "mark",
];

/// Rulers and popes, whose numerals are ordinals.
const RULERS: [&str; 38] = [
    "louis",
    "henry",
    "elizabeth",
    "charles",
    "george",
    "william",
    "james",
    "edward",
    "richard",
    "mary",
    "paul",
    "benedict",
    "napoleon",
    "francis",
    "philip",
    "peter",
    "catherine",
    "alexander",
    "frederick",
    "nicholas",
    "pius",
    "leo",
    "gregory",
    "innocent",
    "urban",
    "clement",
    "ramses",
    "xerxes",
    "darius",
    "ptolemy",
    "otto",
    "wilhelm",
    "harald",
    "felipe",
    "john",
    "juan",
    "victoria",
    "albert",
];

/// Chinese words a Roman numeral stands before.
const CLASSES: &str = "型级級期类類章卷部世代度区區号號等阶階集册篇节節";

const MAX_LETTERS: usize = 8;

/// The value of `numeral`, if it is written as it should be.
fn value(numeral: &str) -> Option<u64> {
    const PARTS: [(&str, u64); 13] = [
        ("M", 1000),
        ("CM", 900),
        ("D", 500),
        ("CD", 400),
        ("C", 100),
        ("XC", 90),
        ("L", 50),
        ("XL", 40),
        ("X", 10),
        ("IX", 9),
        ("V", 5),
        ("IV", 4),
        ("I", 1),
    ];
    let (mut rest, mut total) = (numeral, 0);
    for (part, worth) in PARTS {
        let mut times = 0;
        while let Some(after) = rest.strip_prefix(part) {
            (rest, total, times) = (after, total + worth, times + 1);
        }
        if times > 3 || (times > 1 && (part.len() == 2 || matches!(part, "V" | "L" | "D"))) {
            return None;
        }
    }
    (rest.is_empty() && total > 0).then_some(total)
}

/// The Roman numeral in ASCII letters that starts at the look's start.
pub(super) fn roman(look: &Look) -> Seen<Option<Found>> {
    if !look.at(look.start)?.is_some_and(|c| matches!(c, 'I' | 'V' | 'X' | 'L' | 'C' | 'M')) {
        return Ok(None);
    }
    if look
        .back(1)
        .is_some_and(|c| c.is_alphanumeric() && !crate::text::unit::is_han(c) || matches!(c, '\'' | '-' | '.'))
    {
        return Ok(None);
    }
    let mut numeral = String::new();
    while numeral.len() < MAX_LETTERS
        && let Some(c) = look.at(look.start + numeral.len())?.filter(|c| "IVXLCM".contains(*c))
    {
        numeral.push(c);
    }
    let end = look.start + numeral.len();
    if look.is_letter(end)? || look.is_digit(end)? || look.at(end)?.is_some_and(|c| matches!(c, '\'' | '&')) {
        return Ok(None);
    }
    let Some(value) = value(&numeral) else {
        return Ok(None);
    };
    let common = numeral.chars().all(|c| matches!(c, 'I' | 'V' | 'X'));
    let before = look.before();
    let chinese = chinese_cardinal(value);
    let found = |english: String| Some(Found::number(end, english, chinese.clone()));
    if numeral != "I" && look.is(end, ' ')? && look.word_of(end + 1, &["century", "centuries"])?.is_some() {
        return Ok(found(english_ordinal(value)));
    }
    match look.back(1) {
        Some('第') => return Ok(Found::chinese(end, english_cardinal(value), chinese.clone())),
        Some(c) if crate::text::unit::is_han(c) => {
            let class = look.at(end)?.is_some_and(|c| CLASSES.contains(c));
            let clear = common && (class || numeral.len() >= 3 || is_ruler(before));
            return Ok(if clear { Found::chinese(end, english_cardinal(value), chinese.clone()) } else { None });
        }
        Some(' ') => {}
        _ => {
            let class = common && numeral.len() >= 2 && look.at(end)?.is_some_and(|c| CLASSES.contains(c));
            return Ok(if class { Found::chinese(end, english_cardinal(value), chinese.clone()) } else { None });
        }
    }
    let word = before.trim_end().rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    if HEADINGS.contains(&lower.as_str()) && (capital || numeral != "I") {
        return Ok(found(english_cardinal(value)));
    }
    if RULERS.contains(&lower.as_str()) && capital && common && (numeral != "I" || ends_clause(look, end)?) {
        return Ok(found(format!("the {}", english_ordinal(value))));
    }
    // Rocky IV, Windows XP: two letters at least, small, and behind a name.
    Ok(if capital && common && numeral.len() >= 2 && word.len() >= 3 && value < 40 {
        found(english_cardinal(value))
    } else {
        None
    })
}

/// 路易, 亨利 and others that 世 or a numeral follows.
fn is_ruler(before: &str) -> bool {
    [
        "路易",
        "亨利",
        "伊丽莎白",
        "查理",
        "查尔斯",
        "乔治",
        "威廉",
        "詹姆斯",
        "爱德华",
        "理查",
        "拿破仑",
        "腓力",
        "尼古拉",
    ]
    .iter()
    .any(|name| before.ends_with(name))
}

/// "Elizabeth I." is a name; "Elizabeth I know" is none.
fn ends_clause(look: &Look, end: usize) -> Seen<bool> {
    Ok(match look.at(end)? {
        Some(' ') => look.word_of(end + 1, &["of", "was", "died", "ruled", "reigned", "and", "in", "had"])?.is_some(),
        Some(c) => matches!(c, '.' | ',' | ';' | ')'),
        None => true,
    })
}

/// Numerals that are one character: Ⅳ, ⅳ.
pub(super) fn single(c: char) -> Option<u64> {
    match c {
        'Ⅰ'..='Ⅻ' => Some(c as u64 - 'Ⅰ' as u64 + 1),
        'ⅰ'..='ⅻ' => Some(c as u64 - 'ⅰ' as u64 + 1),
        'Ⅼ' => Some(50),
        'Ⅽ' => Some(100),
        _ => None,
    }
}
