//! Numbers as words, English and Chinese.

use super::Language;

/// The characters Chinese numbers are read with.
pub const CHINESE: &str = "零一二三四五六七八九十百千万亿点负分之";

/// The largest number read as a quantity.
pub const MAX: u64 = 1_000_000_000_000_000;

/// A number as it is written, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Number {
    pub negative: bool,
    /// ASCII digits without separators; at least one.
    pub whole: String,
    /// The groups after each point: none for an integer, one for a decimal, more for a version such as 2.0.1.
    pub groups: Vec<String>,
    pub percent: bool,
    /// Read the whole part digit by digit: telephone and order numbers.
    pub spelt: bool,
}

impl Number {
    /// The number as words: lower-case English, or Chinese characters without spaces.
    pub fn read(&self, language: Language) -> String {
        match language {
            Language::English => self.english(),
            Language::Chinese => self.chinese(),
        }
    }

    /// The quantity, unless the digits are to be spelt, begin with an idle zero, or are too many.
    fn quantity(&self) -> Option<u64> {
        let idle_zero = self.whole.len() > 1 && self.whole.starts_with('0');
        let value = self.whole.parse().ok().filter(|n| *n <= MAX)?;
        (!self.spelt && !idle_zero).then_some(value)
    }

    fn english(&self) -> String {
        let mut words = Vec::new();
        if self.negative {
            words.push("minus".to_string());
        }
        words.push(self.quantity().map_or_else(|| english_digits(&self.whole), english_cardinal));
        for group in &self.groups {
            words.push("point".to_string());
            words.push(english_digits(group));
        }
        if self.percent {
            words.push("percent".to_string());
        }
        words.join(" ")
    }

    fn chinese(&self) -> String {
        let mut out = String::new();
        if self.negative {
            out.push('负');
        }
        if self.percent {
            out.push_str("百分之");
        }
        out.push_str(&self.quantity().map_or_else(|| chinese_digits(&self.whole), chinese_cardinal));
        for group in &self.groups {
            out.push('点');
            out.push_str(&chinese_digits(group));
        }
        out
    }
}

const UNDER_TWENTY: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [(u64, &str); 5] = [
    (1_000_000_000_000_000, "quadrillion"),
    (1_000_000_000_000, "trillion"),
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1_000, "thousand"),
];

/// 342001 -> "three hundred forty two thousand one". American usage: no "and", no hyphen.
pub fn english_cardinal(n: u64) -> String {
    if n == 0 {
        return UNDER_TWENTY[0].to_string();
    }
    let mut words = Vec::new();
    let mut rest = n;
    for (scale, name) in SCALES {
        if rest >= scale {
            // Only numbers beyond MAX have more than three digits here; they stay correct, if unusual.
            words.push(english_cardinal(rest / scale));
            words.push(name.to_string());
            rest %= scale;
        }
    }
    if rest >= 100 {
        words.push(format!("{} hundred", UNDER_TWENTY[(rest / 100) as usize]));
        rest %= 100;
    }
    if rest >= 20 {
        words.push(TENS[(rest / 10) as usize].to_string());
        rest %= 10;
    }
    if rest > 0 {
        words.push(UNDER_TWENTY[rest as usize].to_string());
    }
    words.join(" ")
}

/// "007" -> "zero zero seven". Characters other than ASCII digits are left out.
pub fn english_digits(digits: &str) -> String {
    let words: Vec<_> = digits.chars().filter_map(|c| c.to_digit(10)).map(|d| UNDER_TWENTY[d as usize]).collect();
    words.join(" ")
}

const DIGITS: [char; 10] = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'];

/// 10001 -> 一万零一. 2 is 二 throughout: 两 before measure words is not decided here.
pub fn chinese_cardinal(n: u64) -> String {
    if n == 0 {
        return DIGITS[0].to_string();
    }
    let mut out = String::new();
    push_chinese(&mut out, n);
    // 十二, not 一十二, at the start only: 一百一十二.
    match out.strip_prefix("一十") {
        Some(rest) => format!("十{rest}"),
        None => out,
    }
}

/// `n` above zero.
fn push_chinese(out: &mut String, n: u64) {
    for (scale, name) in [(100_000_000, '亿'), (10_000, '万'), (1000, '千'), (100, '百'), (10, '十')] {
        if n < scale {
            continue;
        }
        push_chinese(out, n / scale);
        out.push(name);
        let rest = n % scale;
        if rest > 0 {
            if rest < scale / 10 {
                out.push(DIGITS[0]);
            }
            push_chinese(out, rest);
        }
        return;
    }
    out.push(DIGITS[n as usize % 10]);
}

/// "2024" -> 二零二四. Characters other than ASCII digits are left out.
pub fn chinese_digits(digits: &str) -> String {
    digits.chars().filter_map(|c| c.to_digit(10)).map(|d| DIGITS[d as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_quantities() {
        for (n, words) in [
            (0, "zero"),
            (7, "seven"),
            (10, "ten"),
            (19, "nineteen"),
            (20, "twenty"),
            (21, "twenty one"),
            (100, "one hundred"),
            (101, "one hundred one"),
            (342, "three hundred forty two"),
            (1_000, "one thousand"),
            (12_012, "twelve thousand twelve"),
            (1_000_000, "one million"),
            (1_000_001, "one million one"),
            (
                2_147_483_647,
                "two billion one hundred forty seven million four hundred eighty three thousand six hundred forty seven",
            ),
            (MAX, "one quadrillion"),
        ] {
            assert_eq!(english_cardinal(n), words);
        }
        // Beyond what is asked for, but never a panic.
        assert!(english_cardinal(u64::MAX).starts_with("eighteen thousand four hundred forty six quadrillion"));
    }

    #[test]
    fn chinese_quantities() {
        for (n, words) in [
            (0, "零"),
            (2, "二"),
            (10, "十"),
            (12, "十二"),
            (20, "二十"),
            (100, "一百"),
            (101, "一百零一"),
            (110, "一百一十"),
            (112, "一百一十二"),
            (1_001, "一千零一"),
            (1_010, "一千零一十"),
            (1_100, "一千一百"),
            (10_000, "一万"),
            (10_001, "一万零一"),
            (10_100, "一万零一百"),
            (11_000, "一万一千"),
            (100_000, "十万"),
            (100_010, "十万零一十"),
            (1_000_000, "一百万"),
            (100_000_001, "一亿零一"),
            (100_010_001, "一亿零一万零一"),
            (1_234_567_890, "十二亿三千四百五十六万七千八百九十"),
            (1_000_000_000_000, "一万亿"),
            (MAX, "一千万亿"),
        ] {
            assert_eq!(chinese_cardinal(n), words);
        }
        assert!(!chinese_cardinal(u64::MAX).is_empty());
    }

    fn number(whole: &str) -> Number {
        Number { whole: whole.to_string(), ..Default::default() }
    }

    #[test]
    fn decimals_signs_and_leading_zeros() {
        let read = |n: &Number| (n.read(Language::English), n.read(Language::Chinese));
        let pair = |en: &str, zh: &str| (en.to_string(), zh.to_string());
        let decimal = Number { groups: vec!["14".into()], ..number("3") };
        assert_eq!(read(&decimal), pair("three point one four", "三点一四"));
        let negative = Number { negative: true, percent: true, groups: vec!["5".into()], ..number("12") };
        assert_eq!(read(&negative), pair("minus twelve point five percent", "负百分之十二点五"));
        assert_eq!(read(&number("007")), pair("zero zero seven", "零零七"));
        assert_eq!(read(&number("0")), pair("zero", "零"));
        let version = Number { groups: vec!["0".into(), "1".into()], ..number("2") };
        assert_eq!(read(&version), pair("two point zero point one", "二点零点一"));
        assert_eq!(number(&"1".repeat(30)).read(Language::Chinese), "一".repeat(30));
        assert_eq!(Number { spelt: true, ..number("119") }.read(Language::Chinese), "一一九");
    }

    #[test]
    fn only_the_announced_characters_are_used() {
        for n in [0, 10_203, 987_654_321_098_765] {
            assert!(chinese_cardinal(n).chars().all(|c| CHINESE.contains(c)));
            assert!(english_cardinal(n).chars().all(|c| c.is_ascii_lowercase() || c == ' '));
        }
    }
}
