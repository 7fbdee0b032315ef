//! Numbers as words, English and Chinese.

use super::Language;

/// The characters Chinese numbers are read with.
pub const CHINESE: &str = "零一二三四五六七八九十百千万亿点负分之两幺";

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
    /// Read the whole part digit by digit: telephone and order numbers.
    pub spelt: bool,
}

impl Number {
    pub fn new(whole: &str) -> Self {
        Self { whole: whole.to_string(), ..Self::default() }
    }

    /// The number as words: lower-case English, or Chinese characters without spaces.
    pub fn read(&self, language: Language) -> String {
        match language {
            Language::English => self.english(),
            Language::Chinese => self.chinese(false),
        }
    }

    /// The integer it is, if it is one that can be read as a quantity.
    pub fn integer(&self) -> Option<u64> {
        self.groups.is_empty().then(|| self.quantity()).flatten()
    }

    /// `shift` decimal places greater: 5.3 by 9 is 5300000000. `None` for what is no plain decimal.
    pub fn shifted(&self, shift: usize) -> Option<Self> {
        let fraction = match self.groups.as_slice() {
            [] => "",
            [fraction] => fraction,
            _ => return None,
        };
        self.quantity()?;
        let mut digits = format!("{}{fraction}", self.whole);
        let point = self.whole.len() + shift;
        while digits.len() < point {
            digits.push('0');
        }
        let rest = digits.split_off(point);
        let whole = digits.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole }.to_string();
        let groups = if rest.is_empty() { Vec::new() } else { vec![rest] };
        Some(Self { negative: self.negative, whole, groups, spelt: false })
    }

    /// The quantity, unless the digits are to be spelt, begin with an idle zero, or are too many.
    fn quantity(&self) -> Option<u64> {
        let idle_zero = self.whole.len() > 1 && self.whole.starts_with('0');
        let value = self.whole.parse().ok().filter(|n| *n <= MAX)?;
        (!self.spelt && !idle_zero).then_some(value)
    }

    pub fn english(&self) -> String {
        let mut words = Vec::new();
        if self.negative {
            words.push("minus".to_string());
        }
        words.push(self.quantity().map_or_else(|| english_digits(&self.whole), english_cardinal));
        for group in &self.groups {
            words.push("point".to_string());
            words.push(english_digits(group));
        }
        words.join(" ")
    }

    /// `counts`: what is counted follows, before which 2 is 两.
    pub fn chinese(&self, counts: bool) -> String {
        let mut out = String::new();
        if self.negative {
            out.push('负');
        }
        match self.quantity() {
            Some(2) if counts && self.groups.is_empty() => out.push('两'),
            Some(n) => out.push_str(&chinese_cardinal(n)),
            None => out.push_str(&chinese_digits(&self.whole)),
        }
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

const ORDINALS: [&str; 20] = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
];

/// 21 -> "twenty first".
pub fn english_ordinal(n: u64) -> String {
    let words = english_cardinal(n);
    let (front, last) = words.rsplit_once(' ').map_or(("", words.as_str()), |(front, last)| (front, last));
    let last = match UNDER_TWENTY.iter().position(|w| *w == last) {
        Some(small) => ORDINALS[small].to_string(),
        None => last.strip_suffix('y').map_or_else(|| format!("{last}th"), |stem| format!("{stem}ieth")),
    };
    if front.is_empty() { last } else { format!("{front} {last}") }
}

/// 2024 -> "twenty twenty four", 1905 -> "nineteen oh five", 2005 -> "two thousand five". Digits that are no year of
/// three or four digits are read as a quantity, or one by one.
pub fn english_year(digits: &str) -> String {
    let pair = |high: u64, low: u64| match low {
        0 => format!("{} hundred", english_cardinal(high)),
        1..=9 => format!("{} oh {}", english_cardinal(high), UNDER_TWENTY[low as usize]),
        _ => format!("{} {}", english_cardinal(high), english_cardinal(low)),
    };
    match digits.parse::<u64>() {
        Ok(n) if digits.starts_with('0') || n > 9999 => Number::new(digits).english(),
        Ok(n) if (n % 1000 < 10 && n >= 1000) || n < 100 => english_cardinal(n),
        Ok(n) => pair(n / 100, n % 100),
        Err(_) => english_digits(digits),
    }
}

/// The decade that begins with this year: 1990 -> "nineteen nineties", 90 -> "nineties".
pub fn english_decade(digits: &str) -> String {
    let words = english_year(digits);
    match words.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{words}s"),
    }
}

/// "007" -> "zero zero seven". Characters other than ASCII digits are left out.
pub fn english_digits(digits: &str) -> String {
    let words: Vec<_> = digits.chars().filter_map(|c| c.to_digit(10)).map(|d| UNDER_TWENTY[d as usize]).collect();
    words.join(" ")
}

const DIGITS: [char; 10] = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'];

/// 10001 -> 一万零一. A 2 at the start is 两 before 千, 万 and 亿, and 二 before 百 and 十; elsewhere it is 二.
pub fn chinese_cardinal(n: u64) -> String {
    if n == 0 {
        return DIGITS[0].to_string();
    }
    let mut out = String::new();
    push_chinese(&mut out, n);
    // 十二, not 一十二, at the start only: 一百一十二.
    if let Some(rest) = out.strip_prefix("一十") {
        return format!("十{rest}");
    }
    match out.strip_prefix('二').filter(|rest| rest.starts_with(['千', '万', '亿'])) {
        Some(rest) => format!("两{rest}"),
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

/// As in telephone and identity numbers, where 1 is 幺 so that it is not taken for 七.
pub fn chinese_dialled(digits: &str) -> String {
    chinese_digits(digits).replace('一', "幺")
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
            (2_000, "两千"),
            (20_000, "两万"),
            (200, "二百"),
            (22_000, "两万二千"),
            (200_000, "二十万"),
            (12_000, "一万二千"),
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
        let negative = Number { negative: true, groups: vec!["5".into()], ..number("12") };
        assert_eq!(read(&negative), pair("minus twelve point five", "负十二点五"));
        assert_eq!(read(&number("007")), pair("zero zero seven", "零零七"));
        assert_eq!(read(&number("0")), pair("zero", "零"));
        let version = Number { groups: vec!["0".into(), "1".into()], ..number("2") };
        assert_eq!(read(&version), pair("two point zero point one", "二点零点一"));
        assert_eq!(number(&"1".repeat(30)).read(Language::Chinese), "一".repeat(30));
        assert_eq!(Number { spelt: true, ..number("119") }.read(Language::Chinese), "一一九");
    }

    #[test]
    fn ordinals_years_and_decades() {
        for (n, words) in
            [(1, "first"), (12, "twelfth"), (20, "twentieth"), (21, "twenty first"), (100, "one hundredth")]
        {
            assert_eq!(english_ordinal(n), words);
        }
        for (digits, words) in [
            ("2024", "twenty twenty four"),
            ("1999", "nineteen ninety nine"),
            ("1905", "nineteen oh five"),
            ("1900", "nineteen hundred"),
            ("2000", "two thousand"),
            ("2005", "two thousand five"),
            ("2010", "twenty ten"),
            ("476", "four seventy six"),
            ("79", "seventy nine"),
            ("0024", "zero zero two four"),
        ] {
            assert_eq!(english_year(digits), words);
        }
        assert_eq!(english_decade("1990"), "nineteen nineties");
        assert_eq!(english_decade("90"), "nineties");
        assert_eq!(english_decade("2000"), "two thousands");
    }

    #[test]
    fn a_scale_moves_the_point() {
        let shifted = |whole: &str, fraction: &str, by: usize| {
            let groups = if fraction.is_empty() { Vec::new() } else { vec![fraction.to_string()] };
            Number { groups, ..number(whole) }.shifted(by).map(|n| n.read(Language::Chinese))
        };
        assert_eq!(shifted("5", "3", 1).as_deref(), Some("五十三"));
        assert_eq!(shifted("5", "35", 1).as_deref(), Some("五十三点五"));
        assert_eq!(shifted("0", "5", 3).as_deref(), Some("五百"));
        assert_eq!(shifted("100", "", 3).as_deref(), Some("十万"));
    }

    #[test]
    fn only_the_announced_characters_are_used() {
        for n in [0, 10_203, 987_654_321_098_765] {
            assert!(chinese_cardinal(n).chars().all(|c| CHINESE.contains(c)));
            assert!(english_cardinal(n).chars().all(|c| c.is_ascii_lowercase() || c == ' '));
        }
    }
}
