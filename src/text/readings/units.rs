//! Units of measure, currencies, and the Chinese words that count.

use super::look::{Look, Seen};
use crate::text::unit::is_han;

pub(super) struct Unit {
    sign: &'static str,
    one: &'static str,
    many: &'static str,
    chinese: &'static str,
    /// Whether a space may stand before it: "5 in" is no length.
    spaced: bool,
}

const fn unit(sign: &'static str, one: &'static str, many: &'static str, chinese: &'static str) -> Unit {
    Unit { sign, one, many, chinese, spaced: true }
}

const fn close(sign: &'static str, one: &'static str, many: &'static str, chinese: &'static str) -> Unit {
    Unit { sign, one, many, chinese, spaced: false }
}

/// By sign; their case matters. `G`, `K`, `M`, `T`, `B`, `A` and `C` alone are letters: 5G, 4K, 3A.
#[rustfmt::skip]
const UNITS: [Unit; 131] = [
    unit("tsp", "teaspoon", "teaspoons", "茶匙"), unit("tbsp", "tablespoon", "tablespoons", "汤匙"),
    unit("km", "kilometer", "kilometers", "公里"), unit("KM", "kilometer", "kilometers", "公里"),
    unit("Km", "kilometer", "kilometers", "公里"), unit("m", "meter", "meters", "米"),
    unit("dm", "decimeter", "decimeters", "分米"), unit("cm", "centimeter", "centimeters", "厘米"),
    unit("CM", "centimeter", "centimeters", "厘米"), unit("mm", "millimeter", "millimeters", "毫米"),
    unit("MM", "millimeter", "millimeters", "毫米"), unit("μm", "micrometer", "micrometers", "微米"),
    unit("um", "micrometer", "micrometers", "微米"), unit("nm", "nanometer", "nanometers", "纳米"),
    unit("mi", "mile", "miles", "英里"), unit("ft", "foot", "feet", "英尺"), unit("yd", "yard", "yards", "码"),
    close("in", "inch", "inches", "英寸"), unit("nmi", "nautical mile", "nautical miles", "海里"),
    unit("kg", "kilogram", "kilograms", "千克"), unit("KG", "kilogram", "kilograms", "千克"),
    unit("Kg", "kilogram", "kilograms", "千克"), unit("g", "gram", "grams", "克"),
    unit("mg", "milligram", "milligrams", "毫克"), unit("μg", "microgram", "micrograms", "微克"),
    unit("ug", "microgram", "micrograms", "微克"), unit("mcg", "microgram", "micrograms", "微克"),
    close("t", "ton", "tons", "吨"), unit("lb", "pound", "pounds", "磅"), unit("lbs", "pound", "pounds", "磅"),
    unit("oz", "ounce", "ounces", "盎司"), unit("L", "liter", "liters", "升"), close("l", "liter", "liters", "升"),
    unit("mL", "milliliter", "milliliters", "毫升"), unit("ml", "milliliter", "milliliters", "毫升"),
    unit("ML", "milliliter", "milliliters", "毫升"), unit("dL", "deciliter", "deciliters", "分升"),
    unit("cL", "centiliter", "centiliters", "厘升"), unit("μL", "microliter", "microliters", "微升"),
    unit("gal", "gallon", "gallons", "加仑"), unit("ha", "hectare", "hectares", "公顷"),
    unit("s", "second", "seconds", "秒"), unit("sec", "second", "seconds", "秒"),
    unit("ms", "millisecond", "milliseconds", "毫秒"), unit("μs", "microsecond", "microseconds", "微秒"),
    close("us", "microsecond", "microseconds", "微秒"), unit("ns", "nanosecond", "nanoseconds", "纳秒"),
    unit("min", "minute", "minutes", "分钟"), unit("mins", "minute", "minutes", "分钟"),
    unit("h", "hour", "hours", "小时"), unit("hr", "hour", "hours", "小时"), unit("hrs", "hour", "hours", "小时"),
    unit("Hz", "hertz", "hertz", "赫兹"), unit("kHz", "kilohertz", "kilohertz", "千赫兹"),
    unit("KHz", "kilohertz", "kilohertz", "千赫兹"), unit("MHz", "megahertz", "megahertz", "兆赫兹"),
    unit("GHz", "gigahertz", "gigahertz", "吉赫兹"), unit("THz", "terahertz", "terahertz", "太赫兹"),
    unit("V", "volt", "volts", "伏"), unit("kV", "kilovolt", "kilovolts", "千伏"),
    unit("mV", "millivolt", "millivolts", "毫伏"), unit("W", "watt", "watts", "瓦"),
    unit("kW", "kilowatt", "kilowatts", "千瓦"), unit("KW", "kilowatt", "kilowatts", "千瓦"),
    unit("MW", "megawatt", "megawatts", "兆瓦"), unit("GW", "gigawatt", "gigawatts", "吉瓦"),
    unit("mW", "milliwatt", "milliwatts", "毫瓦"), unit("Wh", "watt hour", "watt hours", "瓦时"),
    unit("kWh", "kilowatt hour", "kilowatt hours", "千瓦时"), unit("KWh", "kilowatt hour", "kilowatt hours", "千瓦时"),
    unit("kwh", "kilowatt hour", "kilowatt hours", "千瓦时"), unit("MWh", "megawatt hour", "megawatt hours", "兆瓦时"),
    unit("GWh", "gigawatt hour", "gigawatt hours", "吉瓦时"), unit("TWh", "terawatt hour", "terawatt hours", "太瓦时"),
    unit("mA", "milliamp", "milliamps", "毫安"), unit("mAh", "milliamp hour", "milliamp hours", "毫安时"),
    unit("Ah", "amp hour", "amp hours", "安时"), unit("Ω", "ohm", "ohms", "欧姆"),
    unit("kΩ", "kilohm", "kilohms", "千欧"), unit("MΩ", "megohm", "megohms", "兆欧"),
    unit("pF", "picofarad", "picofarads", "皮法"), unit("nF", "nanofarad", "nanofarads", "纳法"),
    unit("μF", "microfarad", "microfarads", "微法"), unit("Pa", "pascal", "pascals", "帕"),
    unit("hPa", "hectopascal", "hectopascals", "百帕"), unit("kPa", "kilopascal", "kilopascals", "千帕"),
    unit("MPa", "megapascal", "megapascals", "兆帕"), unit("bar", "bar", "bars", "巴"),
    unit("psi", "p s i", "p s i", "磅每平方英寸"), unit("kN", "kilonewton", "kilonewtons", "千牛"),
    unit("N", "newton", "newtons", "牛"), unit("kJ", "kilojoule", "kilojoules", "千焦"),
    unit("MJ", "megajoule", "megajoules", "兆焦"), close("J", "joule", "joules", "焦"),
    unit("cal", "calorie", "calories", "卡"), unit("kcal", "kilocalorie", "kilocalories", "千卡"),
    unit("mol", "mole", "moles", "摩尔"), unit("mmol", "millimole", "millimoles", "毫摩尔"),
    unit("dB", "decibel", "decibels", "分贝"), unit("lx", "lux", "lux", "勒克斯"), unit("lm", "lumen", "lumens", "流明"),
    unit("bps", "bit per second", "bits per second", "比特每秒"),
    unit("kbps", "kilobit per second", "kilobits per second", "千比特每秒"),
    unit("Kbps", "kilobit per second", "kilobits per second", "千比特每秒"),
    unit("Mbps", "megabit per second", "megabits per second", "兆比特每秒"),
    unit("Gbps", "gigabit per second", "gigabits per second", "吉比特每秒"),
    unit("KB", "kilobyte", "kilobytes", "K B"), unit("kB", "kilobyte", "kilobytes", "K B"),
    unit("MB", "megabyte", "megabytes", "兆"), unit("GB", "gigabyte", "gigabytes", "G B"),
    unit("TB", "terabyte", "terabytes", "T B"), unit("PB", "petabyte", "petabytes", "P B"),
    unit("GiB", "gibibyte", "gibibytes", "G B"), unit("MiB", "mebibyte", "mebibytes", "兆"),
    unit("mph", "mile per hour", "miles per hour", "英里每小时"),
    unit("kph", "kilometer per hour", "kilometers per hour", "公里每小时"),
    unit("rpm", "revolution per minute", "revolutions per minute", "转每分钟"),
    unit("bpm", "beat per minute", "beats per minute", "次每分钟"),
    unit("fps", "frame per second", "frames per second", "帧每秒"),
    unit("px", "pixel", "pixels", "像素"), unit("dpi", "dot per inch", "dots per inch", "点每英寸"),
    unit("ppm", "part per million", "parts per million", "ppm"), unit("pt", "point", "points", "磅"),
    unit("cc", "c c", "c c", "毫升"), unit("mmHg", "millimeter of mercury", "millimeters of mercury", "毫米汞柱"),
    unit("Å", "angstrom", "angstroms", "埃"), close("k", "k", "k", "k"), unit("yr", "year", "years", "年"),
    unit("Kb", "kilobit", "kilobits", "千比特"), unit("Mb", "megabit", "megabits", "兆比特"), unit("Gb", "gigabit", "gigabits", "吉比特"),
];

/// Units that are one character.
#[rustfmt::skip]
const SIGNS: [Unit; 18] = [
    unit("㎡", "square meter", "square meters", "平方米"), unit("㎥", "cubic meter", "cubic meters", "立方米"),
    unit("㎞", "kilometer", "kilometers", "公里"), unit("㎝", "centimeter", "centimeters", "厘米"),
    unit("㎜", "millimeter", "millimeters", "毫米"), unit("㎏", "kilogram", "kilograms", "千克"),
    unit("㎎", "milligram", "milligrams", "毫克"), unit("㎖", "milliliter", "milliliters", "毫升"),
    unit("ℓ", "liter", "liters", "升"), unit("㎠", "square centimeter", "square centimeters", "平方厘米"),
    unit("㎢", "square kilometer", "square kilometers", "平方公里"), unit("㎤", "cubic centimeter", "cubic centimeters", "立方厘米"),
    unit("㏄", "c c", "c c", "毫升"), unit("㎾", "kilowatt", "kilowatts", "千瓦"), unit("㎐", "hertz", "hertz", "赫兹"),
    unit("㎒", "megahertz", "megahertz", "兆赫兹"), unit("㎓", "gigahertz", "gigahertz", "吉赫兹"), unit("㏈", "decibel", "decibels", "分贝"),
];

/// Units whose square and cube are written with a plain digit: m2.
const LENGTHS: [&str; 10] = ["km", "m", "dm", "cm", "mm", "mi", "ft", "yd", "in", "nm"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Measure,
    Degrees,
    /// With the Chinese words before the number.
    Share(&'static str),
    Money,
}

/// What follows a number and belongs to it.
#[derive(Clone)]
pub(super) struct Suffix {
    pub end: usize,
    pub one: String,
    pub many: String,
    pub chinese: String,
    pub kind: Kind,
}

impl Suffix {
    fn new(end: usize, one: &str, many: &str, chinese: &str, kind: Kind) -> Self {
        Self { end, one: one.to_string(), many: many.to_string(), chinese: chinese.to_string(), kind }
    }
}

/// The unit, percent sign or currency at `at`, behind a number.
pub(super) fn suffix(look: &Look, at: usize) -> Seen<Option<Suffix>> {
    let space = look.is(at, ' ')?;
    let k = at + usize::from(space);
    let Some(c) = look.at(k)? else {
        return Ok(None);
    };
    let share = |en: &str, zh| Some(Suffix::new(k + 1, en, en, "", Kind::Share(zh)));
    let found = match c {
        '%' => share("percent", "百分之"),
        '‰' => share("per mille", "千分之"),
        '‱' => share("per ten thousand", "万分之"),
        '℃' => Some(celsius(k + 1)),
        '℉' => Some(fahrenheit(k + 1)),
        '°' | 'º' | '˚' => Some(degrees(look, k + 1)?),
        '¢' => Some(Suffix::new(k + 1, "cent", "cents", "美分", Kind::Money)),
        _ => None,
    };
    if found.is_some() {
        return Ok(found);
    }
    if let Some((currency, end)) = currency_after(look, k, space)? {
        return Ok(Some(Suffix::new(end, currency.one, currency.many, currency.chinese, Kind::Money)));
    }
    let found = measure(look, k, space)?;
    Ok(found.map(|unit| if unit.many == "meters" && is_after_hours(look) { minutes(unit.end) } else { unit }))
}

/// Whether the number at the start follows hours: 2h 15m.
fn is_after_hours(look: &Look) -> bool {
    let before = look.before().trim_end();
    before.strip_suffix(['h', 'H']).is_some_and(|hours| hours.ends_with(|c: char| c.is_ascii_digit()))
}

fn minutes(end: usize) -> Suffix {
    Suffix::new(end, "minute", "minutes", "分钟", Kind::Measure)
}

fn celsius(end: usize) -> Suffix {
    Suffix::new(end, "degree celsius", "degrees celsius", "摄氏度", Kind::Degrees)
}

fn fahrenheit(end: usize) -> Suffix {
    Suffix::new(end, "degree fahrenheit", "degrees fahrenheit", "华氏度", Kind::Degrees)
}

fn degrees(look: &Look, k: usize) -> Seen<Suffix> {
    let letter = look.past_space(k)?;
    let named = !look.is_letter(letter + 1)?;
    Ok(match look.at(letter)? {
        Some('C') if named => celsius(letter + 1),
        Some('F') if named => fahrenheit(letter + 1),
        _ => Suffix::new(k, "degree", "degrees", "度", Kind::Degrees),
    })
}

/// A unit with its power, and what it is divided or multiplied by: kg/m³, N·m.
fn measure(look: &Look, k: usize, space: bool) -> Seen<Option<Suffix>> {
    let Some(mut found) = powered(look, k, space)? else {
        return Ok(None);
    };
    for _ in 0..2 {
        let per = match look.at(found.end)? {
            Some('/') => true,
            Some('·' | '⋅') => false,
            _ => break,
        };
        // L/100km
        let hundreds = look.digits(found.end + 1, 5)?;
        let amount = match hundreds.as_str() {
            "100" if per => ("one hundred ", "一百"),
            "1000" if per => ("one thousand ", "一千"),
            _ => ("", ""),
        };
        let skipped = match amount.1.is_empty() {
            true => 0,
            false => look.past_space(found.end + 1 + hundreds.len())? - found.end - 1,
        };
        let Some(next) = powered(look, found.end + 1 + skipped, false)? else { break };
        let next = match skipped {
            0 => next,
            _ => Suffix {
                one: format!("{}{}", amount.0, next.many),
                chinese: format!("{}{}", amount.1, next.chinese),
                ..next
            },
        };
        let (one, many) = match per {
            true => (format!("{} per {}", found.one, next.one), format!("{} per {}", found.many, next.one)),
            false => (format!("{} {}", found.one, next.one), format!("{} {}", found.one, next.many)),
        };
        let chinese = format!("{}{}{}", found.chinese, if per { "每" } else { "" }, next.chinese);
        found = Suffix { end: next.end, one, many, chinese, kind: Kind::Measure };
    }
    Ok(Some(found))
}

/// The unit at `k`, behind a slash that no unit in Latin letters stands before: 元/㎡, $5/kg.
pub(super) fn per(look: &Look, k: usize) -> Seen<Option<Suffix>> {
    powered(look, k, false)
}

/// The unit whose name begins at `k`, if no letter follows it.
fn base(look: &Look, k: usize, space: bool) -> Seen<Option<(&'static Unit, usize)>> {
    if look.at(k)?.is_none_or(|c| c.is_ascii() && !c.is_ascii_alphabetic() || is_han(c)) {
        return Ok(None);
    }
    if let Some(c) = look.at(k)?
        && let Some(unit) = SIGNS.iter().find(|u| u.sign.starts_with(c))
    {
        return Ok(Some((unit, k + 1)));
    }
    let mut name = String::new();
    let mut end = k;
    while let Some(c) = look.at(end)?.filter(|c| c.is_alphabetic() && (*c as u32) < 0x2200) {
        name.push(if c == 'µ' {
            'μ'
        } else if c == 'Ω' {
            'Ω'
        } else {
            c
        });
        end += 1;
        // No farther than there is a unit that begins like this.
        if !UNITS.iter().any(|u| u.sign.starts_with(&name)) {
            return Ok(None);
        }
    }
    Ok(UNITS.iter().find(|u| u.sign == name && (u.spaced || !space)).map(|u| (u, end)))
}

fn powered(look: &Look, k: usize, space: bool) -> Seen<Option<Suffix>> {
    let Some((unit, end)) = base(look, k, space)? else {
        return Ok(None);
    };
    let caret = look.is(end, '^')?;
    let power = look.at(end + usize::from(caret))?;
    let divided = k > 0 && unit.sign == "s" && look.is(k - 1, '/')?;
    let plain = caret || divided || LENGTHS.contains(&unit.sign);
    let square = power == Some('²') || (plain && power == Some('2'));
    let cube = power == Some('³') || (plain && power == Some('3'));
    let after = end + usize::from(caret) + 1;
    let written = matches!(power, Some('²' | '³')) || !(look.is_digit(after)? || look.is_letter(after)?);
    if !(square || cube) || !written {
        return Ok(Some(Suffix::new(end, unit.one, unit.many, unit.chinese, Kind::Measure)));
    }
    let (english, chinese) = if square { ("square", "平方") } else { ("cubic", "立方") };
    let chinese = format!("{chinese}{}", unit.chinese);
    let (one, many) = match unit.one {
        "second" | "minute" | "hour" => {
            let power = if square { "squared" } else { "cubed" };
            (format!("{} {power}", unit.one), format!("{} {power}", unit.many))
        }
        _ => (format!("{english} {}", unit.one), format!("{english} {}", unit.many)),
    };
    Ok(Some(Suffix { end: after, one, many, chinese, kind: Kind::Measure }))
}

#[derive(Clone, Copy)]
pub(super) struct Currency {
    sign: &'static str,
    pub one: &'static str,
    pub many: &'static str,
    /// Its hundredths, where they are spoken.
    pub cents: Option<(&'static str, &'static str)>,
    pub chinese: &'static str,
}

const CENTS: Option<(&str, &str)> = Some(("cent", "cents"));

const fn money(
    sign: &'static str,
    one: &'static str,
    many: &'static str,
    cents: Option<(&'static str, &'static str)>,
    chinese: &'static str,
) -> Currency {
    Currency { sign, one, many, cents, chinese }
}

/// Longer signs first.
#[rustfmt::skip]
const CURRENCIES: [Currency; 45] = [
    money("US$", "dollar", "dollars", CENTS, "美元"), money("HK$", "hong kong dollar", "hong kong dollars", CENTS, "港元"),
    money("NT$", "new taiwan dollar", "new taiwan dollars", None, "新台币"),
    money("AU$", "australian dollar", "australian dollars", CENTS, "澳元"), money("A$", "australian dollar", "australian dollars", CENTS, "澳元"),
    money("CA$", "canadian dollar", "canadian dollars", CENTS, "加元"), money("C$", "canadian dollar", "canadian dollars", CENTS, "加元"),
    money("S$", "singapore dollar", "singapore dollars", CENTS, "新加坡元"), money("NZ$", "new zealand dollar", "new zealand dollars", CENTS, "新西兰元"),
    money("R$", "real", "reais", None, "雷亚尔"), money("CN¥", "yuan", "yuan", None, "元"), money("JP¥", "yen", "yen", None, "日元"),
    money("$", "dollar", "dollars", CENTS, "美元"), money("€", "euro", "euros", CENTS, "欧元"),
    money("£", "pound", "pounds", Some(("penny", "pence")), "英镑"), money("¥", "yuan", "yuan", None, "元"),
    money("₩", "won", "won", None, "韩元"), money("₹", "rupee", "rupees", None, "卢比"), money("₽", "ruble", "rubles", None, "卢布"),
    money("฿", "baht", "baht", None, "泰铢"), money("₫", "dong", "dong", None, "越南盾"), money("₺", "lira", "lira", None, "里拉"),
    money("₱", "peso", "pesos", None, "比索"), money("₴", "hryvnia", "hryvnias", None, "格里夫纳"), money("₿", "bitcoin", "bitcoins", None, "比特币"),
    money("₦", "naira", "naira", None, "奈拉"), money("₪", "shekel", "shekels", None, "谢克尔"),
    money("USD", "u s dollar", "u s dollars", None, "美元"), money("EUR", "euro", "euros", CENTS, "欧元"),
    money("GBP", "pound", "pounds", Some(("penny", "pence")), "英镑"), money("CNY", "yuan", "yuan", None, "元"),
    money("RMB", "yuan", "yuan", None, "元"), money("JPY", "yen", "yen", None, "日元"),
    money("HKD", "hong kong dollar", "hong kong dollars", CENTS, "港元"), money("TWD", "new taiwan dollar", "new taiwan dollars", None, "新台币"),
    money("KRW", "won", "won", None, "韩元"), money("INR", "rupee", "rupees", None, "卢比"), money("RUB", "ruble", "rubles", None, "卢布"),
    money("AUD", "australian dollar", "australian dollars", CENTS, "澳元"), money("CAD", "canadian dollar", "canadian dollars", CENTS, "加元"),
    money("SGD", "singapore dollar", "singapore dollars", CENTS, "新加坡元"), money("CHF", "swiss franc", "swiss francs", None, "瑞士法郎"),
    money("THB", "baht", "baht", None, "泰铢"), money("MOP", "pataca", "patacas", None, "澳门元"), money("NZD", "new zealand dollar", "new zealand dollars", CENTS, "新西兰元"),
];

/// Whether a currency's sign may begin so: most characters behind a number need no search.
fn may_be_money(c: char) -> bool {
    c == '$' || c.is_ascii_uppercase() || (!c.is_ascii() && !is_han(c))
}

/// The currency written at `k`, before a number, and where it ends.
pub(super) fn currency_before(look: &Look, k: usize) -> Seen<Option<(&'static Currency, usize)>> {
    let first = look.at(k)?;
    if !first.is_some_and(may_be_money) {
        return Ok(None);
    }
    for currency in CURRENCIES.iter().filter(|c| c.sign.chars().next() == first) {
        if look.says(k, currency.sign)? {
            let end = k + currency.sign.chars().count();
            return Ok(Some((currency, look.past_space(end)?)));
        }
    }
    Ok(None)
}

/// The currency written at `k`, after a number. A sign that has a number behind it belongs to that one.
fn currency_after(look: &Look, k: usize, space: bool) -> Seen<Option<(&'static Currency, usize)>> {
    let first = look.at(k)?;
    if !first.is_some_and(may_be_money) {
        return Ok(None);
    }
    for currency in CURRENCIES.iter().filter(|c| c.sign.chars().next() == first) {
        let code = currency.sign.is_ascii() && !currency.sign.ends_with('$');
        if (code || !currency.sign.is_ascii() || !space) && look.says(k, currency.sign)? {
            let end = k + currency.sign.chars().count();
            let ends = !look.is_letter(end)? && !look.is_digit(end)?;
            return Ok(ends.then_some((currency, end)));
        }
    }
    Ok(None)
}

/// A word for a power of ten behind an amount of money: where it ends, its English, and how many places it moves the
/// point. 万 and 亿 have no English.
pub(super) struct Scale {
    pub end: usize,
    pub english: &'static str,
    pub places: usize,
    pub chinese: Option<&'static str>,
}

const SCALE_WORDS: [(&str, &str, usize); 14] = [
    ("thousand", "thousand", 3),
    ("million", "million", 6),
    ("billion", "billion", 9),
    ("trillion", "trillion", 12),
    ("bn", "billion", 9),
    ("mn", "million", 6),
    ("mm", "million", 6),
    ("mil", "million", 6),
    ("tn", "trillion", 12),
    ("trn", "trillion", 12),
    ("k", "thousand", 3),
    ("m", "million", 6),
    ("b", "billion", 9),
    ("t", "trillion", 12),
];

const HAN_SCALES: [(&str, usize); 7] =
    [("万亿", 12), ("千亿", 11), ("百亿", 10), ("亿", 8), ("千万", 7), ("百万", 6), ("万", 4)];

pub(super) fn scale(look: &Look, at: usize) -> Seen<Option<Scale>> {
    let k = look.past_space(at)?;
    for (word, places) in HAN_SCALES {
        if look.says(k, word)? {
            let end = k + word.chars().count();
            return Ok(Some(Scale { end, english: "", places, chinese: Some(word) }));
        }
    }
    for (word, english, places) in SCALE_WORDS {
        // One letter must touch its number.
        if (word.len() > 1 || k == at) && look.word_of(k, &[word])?.is_some() {
            let end = k + word.len();
            return Ok((!look.is_digit(end)?).then_some(Scale { end, english, places, chinese: None }));
        }
    }
    Ok(None)
}

/// A Chinese word that counts, before which 2 is 两; 二楼, 二月, 二号 and 二级 are places in a row.
pub(super) fn counts(look: &Look, at: usize) -> Seen<bool> {
    const COUNTS: &str = "个個只隻本条條件位名人块塊元角分毛斤公千克吨噸米厘毫里層层次回遍趟场場届天年周週小秒点點时時岁歲种種类類款\
        台臺辆輛架艘部套份杯瓶碗盘盤箱包袋盒双雙对對副组組队隊家间間所座栋棟幢棵株朵头頭匹尾颗顆粒滴片页頁行篇首句字笔筆项項\
        门門口面把根支枝节節段幅封倍成万萬亿億百升平立英海番步顿頓声聲下站圈轮輪批股亩畝瓦伏起例桌床张張卷串股枚";
    let k = look.past_space(at)?;
    let Some(c) = look.at(k)?.filter(|c| is_han(*c) && COUNTS.contains(*c)) else {
        return Ok(false);
    };
    // 二年级, 二次元, 二分之一, 二人世界 and 二手 are words of their own.
    let next = match c {
        '年' | '次' | '分' | '面' | '公' | '千' | '下' => look.at(k + 1)?,
        _ => None,
    };
    Ok(!matches!((c, next), ('年', Some('级' | '級')) | ('次', Some('元' | '方')) | ('分', Some('之')) | ('下', _)))
}

/// Whether a Chinese word that counts or measures stands at `at`, whatever the number.
pub(super) fn counted(look: &Look, at: usize) -> Seen<bool> {
    let k = look.past_space(at)?;
    Ok(counts(look, at)?
        || look.at(k)?.is_some_and(|c| !c.is_ascii() && "度级級楼樓多余餘几幾号號月日折％".contains(c)))
}
