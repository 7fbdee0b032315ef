use std::time::Duration;

use proptest::prelude::*;

use super::dates::MONTHS;
use crate::text::tests::{SLOW, chattts, small, thread_time};
use crate::text::{ChangeKind, Intake, Language, Options, prepare};

fn zh(raw: &str) -> String {
    prepare(raw, &Options::new(&chattts)).unwrap().spoken()
}

fn en(raw: &str) -> String {
    prepare(raw, &Options { languages: &[Language::English], ..Options::new(&small) }).unwrap().spoken()
}

#[test]
fn a_reading_may_be_asked_for() {
    for (kind, text, chinese, english) in [
        ("digits", "2024", "二零二四", "two zero two four"),
        ("cardinal", "2024", "两千零二十四", "two thousand twenty four"),
        (
            "cardinal",
            "13800138000",
            "一百三十八亿零一十三万八千",
            "thirteen billion eight hundred million one hundred thirty eight thousand",
        ),
        ("cardinal", "-5", "负五", "minus five"),
        ("ordinal", "3", "第三", "third"),
        ("telephone", "110", "幺幺零", "one one zero"),
        ("date", "4/15", "四月十五日", "april fifteenth"),
        ("date", "20240415", "二零二四年四月十五日", "april fifteenth, twenty twenty four"),
        ("time", "3:05", "三点零五分", "three oh five"),
        ("time", "1530", "十五点三十分", "fifteen thirty"),
        ("year", "1905", "一九零五", "nineteen oh five"),
        ("characters", "A1-b", " a 一杠 b ", "a one dash b"),
        ("money", "$3.50", "三点五零美元", "three dollars and fifty cents"),
        ("fraction", "24/7", "七分之二十四", "twenty four sevenths"),
        ("unit", "3 kg", "三千克", "three kilograms"),
        // What cannot be read as asked is read as without asking.
        ("date", "99/99", "九十九分之九十九", "ninety nine out of ninety nine"),
        ("unknown", "12", "十二", "twelve"),
    ] {
        let raw = format!("读<say-as interpret-as=\"{kind}\">{text}</say-as>吧");
        assert_eq!(zh(&raw), format!("读{chinese}吧"), "{kind} {text}");
        let raw = format!("say <say-as interpret-as='{kind}'>{text}</say-as> now");
        assert_eq!(en(&raw), format!("say {english} now"), "{kind} {text}");
    }
}

#[test]
fn ten_thousand_characters_take_little_time() {
    for (name, unit) in [
        ("Chinese", "今天是2024年4月15日，气温25℃，价格¥1,234.5元，电话13800138000。"),
        ("English", "It costs $5.3 billion in 2024, or 3.5% of 1,000,000 people at 10:30 am. "),
        ("digits", "1"),
        ("fractions", "1/2 "),
        ("ranges", "1-2"),
        ("times", "1:20 "),
        ("spaced", "123 4567 "),
        ("models", "A1-"),
        ("dots", "1.a."),
        ("addresses", "a_b-"),
        ("Roman", "IV X "),
        ("links", "http://a.b/1?"),
        ("powers", "10^2³"),
        ("cues", "电话号码"),
        ("years", "1999 "),
        ("money", "$1.5"),
        ("units", "5kg/m³"),
    ] {
        let raw: String = unit.chars().cycle().take(10_000).collect();
        let took = (0..5).map(|_| {
            let start = thread_time();
            assert!(!zh(&raw).is_empty());
            thread_time() - start
        });
        let took = took.min().unwrap();
        println!("{name}: {took:?} for 10,000 characters");
        assert!(took < Duration::from_millis(20 * SLOW), "{name}: {took:?}");
    }
}

/// The digits but zero that a reading speaks. `seconds`: "second" is 2 there, and not a unit of time; `powers`: a square
/// and a cube are written with a plain 2 and 3.
fn spoken_digits(reading: &str, seconds: bool, powers: bool) -> Vec<char> {
    const TEENS: [&str; 10] =
        ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
    const SMALL: [&str; 9] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    const TENS: [&str; 8] = ["twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet"];
    let mut digits = String::new();
    let plain =
        ["百分之", "千分之", "万分之"].iter().fold(reading.to_string(), |text, words| text.replace(words, "的"));
    if powers {
        digits.push_str(&"2".repeat(plain.matches("平方").count()));
        digits.push_str(&"3".repeat(plain.matches("立方").count()));
    }
    let mut before = ' ';
    for c in plain.chars() {
        let value = "一二三四五六七八九".chars().position(|d| d == c).map(|n| n + 1);
        match (value, c) {
            (Some(n), _) => digits.push_str(&n.to_string()),
            (None, '幺') => digits.push('1'),
            (None, '两') => digits.push('2'),
            // 十二 and 百分之百
            (None, '十') if !"一二三四五六七八九".contains(before) => digits.push('1'),
            (None, '百') if matches!(before, ' ' | '的' | '负' | '正' | '到') => digits.push('1'),
            _ => {}
        }
        before = c;
    }
    for word in reading.split(|c: char| !c.is_ascii_alphabetic()) {
        let stem = match word {
            "square" | "squared" if powers => "two",
            "cubic" | "cubed" if powers => "three",
            "first" => "one",
            "second" | "seconds" if seconds => "two",
            "third" | "thirds" => "three",
            "half" | "halves" => "two",
            "quarter" | "quarters" => "four",
            "fifth" | "fifths" => "five",
            "eighth" | "eighths" => "eight",
            "ninth" | "ninths" => "nine",
            "twelfth" | "twelfths" => "twelve",
            "tens" => "ten",
            _ => word.trim_end_matches('s').strip_suffix("th").unwrap_or(word),
        };
        let tens = stem.strip_suffix("ie").or(stem.strip_suffix("ies")).or(stem.strip_suffix('y'));
        if let Some(n) = SMALL.iter().position(|w| *w == stem) {
            digits.push_str(&(n + 1).to_string());
        } else if let Some(n) = TEENS.iter().position(|w| *w == stem) {
            digits.push_str(&(n + 10).to_string());
        } else if let Some(n) = tens.and_then(|stem| TENS.iter().position(|w| *w == stem)) {
            digits.push_str(&(n + 2).to_string());
        } else if let Some(n) = MONTHS.iter().position(|w| *w == stem) {
            digits.push_str(&(n + 1).to_string());
        }
    }
    let mut digits: Vec<char> = digits.chars().filter(|c| *c != '0').collect();
    digits.sort_unstable();
    digits
}

fn numbers() -> impl Strategy<Value = String> {
    let parts = [
        "1",
        "2",
        "3",
        "07",
        "10",
        "12",
        "15",
        "305",
        "2024",
        "1998",
        "138",
        "5551234",
        "1,000",
        "12345678",
        "0.5",
        ".",
        ",",
        "-",
        "/",
        ":",
        "：",
        "%",
        "‰",
        "$",
        "¥",
        "€",
        "£",
        "kg",
        "km/h",
        "GB",
        "m",
        "s",
        "h",
        "℃",
        "°",
        "°C",
        "年",
        "月",
        "日",
        "万",
        "亿",
        "元",
        "个",
        "人",
        " ",
        " ",
        "～",
        "–",
        "pm",
        " am",
        "A",
        "GPT-",
        "v",
        "第",
        "st",
        "th",
        "nd",
        " people",
        " in ",
        "电话",
        "room ",
        "号",
        "#",
        "(",
        ")",
        "+",
        "=",
        "×",
        "^",
        "²",
        "'",
        "\"",
        "@",
        "_",
        "x",
        " million",
        "k",
        "bn",
        " USD",
        "RMB",
        "May ",
        " April",
        "比分",
        "民国",
        "公元",
        "No.",
        "、",
        "90",
        "7",
        "50",
        "20",
        "100",
        "200",
        "11",
        "22",
        "31",
        "http://a.b/",
        ".com",
        "后",
        "室",
        "米",
        "秒",
        "转",
        "或",
        "座",
        "Q1",
        "**",
        " x ",
        "L/100km",
        " 000",
        "．",
        "10086",
        "315",
        "晚会",
        "!=",
        "<=",
        "是",
        "的",
        "and ",
    ];
    proptest::collection::vec(proptest::sample::select(parts.to_vec()), 1..9).prop_map(|p| p.concat())
}

/// Every digit of a number is spoken, whatever it is taken for. Zeros are not compared: they become words such as
/// "hundred", 十 and "o'clock", or go, as in 04月.
fn assert_no_digit_is_lost(raw: &str, options: &Options) -> Result<(), TestCaseError> {
    for change in prepare(raw, options).unwrap().rewritten {
        if !matches!(change.kind, ChangeKind::Number | ChangeKind::Symbol) {
            continue;
        }
        let mut written: Vec<char> = change.from.chars().filter(|c| c.is_ascii_digit() && *c != '0').collect();
        if written.is_empty() {
            continue;
        }
        written.sort_unstable();
        let ways = [(false, false), (true, false), (false, true), (true, true)];
        let mut spoken = ways.iter().map(|(seconds, powers)| spoken_digits(&change.to, *seconds, *powers));
        prop_assert!(spoken.any(|digits| digits == written), "{raw:?}: {:?} became {:?}", change.from, change.to);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_digit_is_lost(raw in numbers()) {
        assert_no_digit_is_lost(&raw, &Options::new(&chattts))?;
        assert_no_digit_is_lost(&raw, &Options { languages: &[Language::English], ..Options::new(&small) })?;
    }

    #[test]
    fn numbers_may_be_cut_anywhere(raw in numbers()) {
        let options = Options::new(&chattts);
        let mut intake = Intake::new(usize::MAX);
        let mut pieces = Vec::new();
        for part in raw.split_inclusive(|_| true) {
            pieces.extend(intake.push(part, &options).unwrap());
        }
        let last = intake.finish(&options);
        pieces.extend(last.pieces);
        let whole = prepare(&raw, &options).unwrap();
        prop_assert_eq!((pieces, last.rewritten, last.skipped), (whole.pieces, whole.rewritten, whole.skipped));
    }
}
