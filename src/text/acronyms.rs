//! Capitals that are spoken as letters: SUV is "s u v", NASA and FOUR are words.
//!
//! Two or three capitals alone are letters, unless they are a word in the list; longer ones are if nobody could
//! pronounce them. Among other words in capitals, as in a heading, only what cannot be pronounced is spelt.

use super::stage::{More, Window};
use super::unit::{is_han, is_latin};

/// Longest run of capitals that is looked at as an acronym.
const MOST: usize = 5;

/// Letters of the word behind it that are looked at.
const NEXT: usize = 12;

/// Words of up to three letters, and acronyms that are spoken as words.
#[rustfmt::skip]
const WORDS: [&str; 204] = [
    "ACE", "ACT", "ADD", "AGE", "AGO", "AIM", "AIR", "ALL", "AM", "AN", "AND", "ANY", "APP", "ARE", "ARM", "ART", "AS", "ASK", "AT",
    "BAD", "BAG", "BAN", "BAR", "BE", "BED", "BET", "BIG", "BIT", "BOX", "BOY", "BUS", "BUT", "BUY", "BY", "BYE", "CAN", "CAP", "CAR",
    "CAT", "CUT", "DAD", "DAY", "DID", "DO", "DOG", "DRY", "DUE", "EAT", "END", "EYE", "FAN", "FAR", "FAT", "FEW", "FIT", "FIX", "FLY",
    "FOR", "FUN", "GAS", "GET", "GIF", "GO", "GOD", "GOT", "GUN", "GUY", "HAD", "HAS", "HE", "HER", "HEY", "HI", "HIM", "HIS", "HIT",
    "HOT", "HOW", "ICE", "IF", "ILL", "IN", "IS", "IT", "ITS", "JOB", "JOY", "KEY", "KID", "LAW", "LED", "LET", "LIE", "LOW", "MAD",
    "MAN", "MAP", "MAX", "MAY", "ME", "MEN", "MIX", "MOM", "MY", "NEW", "NO", "NOR", "NOT", "NOW", "ODD", "OF", "OFF", "OH", "OIL", "OK",
    "OLD", "ON", "ONE", "OR", "OUR", "OUT", "OWN", "PAY", "PIN", "POP", "PRO", "PUT", "RAM", "RAN", "RAW", "RED", "ROM", "RUN", "SAD",
    "SAW", "SAY", "SEA", "SEE", "SET", "SEX", "SHE", "SIM", "SIR", "SIT", "SIX", "SKY", "SO", "SUN", "TAX", "TEN", "THE", "TIP", "TO",
    "TOO", "TOP", "TOY", "TRY", "TWO", "UP", "US", "USE", "VAN", "VS", "WAR", "WAS", "WAY", "WE", "WET", "WHO", "WHY", "WIN", "WON",
    "WOW", "YES", "YET", "YOU", "ZIP", "ZOO", "ASCII", "JPEG", "JSON", "LASER", "GNOME", "HELP", "HA", "AH", "HUH", "MR", "DR", "UH",
    "HMM", "MM", "SH", "NET", "COM", "ORG", "MAC", "WEB", "DOT", "HUB", "LAB", "FAX", "BOT", "XBOX",
];

/// Of these, letters beside Chinese characters: IT行业, WHO发布.
const LETTERS_IN_CHINESE: [&str; 4] = ["IT", "US", "WHO", "LED"];

const STARTS: [&str; 34] = [
    "BL", "BR", "CH", "CL", "CR", "DR", "DW", "FL", "FR", "GL", "GR", "KN", "PH", "PL", "PR", "SC", "SCH", "SCR", "SH",
    "SK", "SL", "SM", "SN", "SP", "SPL", "SPR", "SQ", "ST", "STR", "SW", "TH", "TR", "TW", "WH",
];

const ENDS: [&str; 44] = [
    "CH", "CK", "CT", "DS", "FF", "FT", "GH", "GHT", "KS", "LD", "LF", "LK", "LL", "LM", "LP", "LS", "LT", "MP", "MS",
    "NCH", "ND", "NG", "NK", "NS", "NT", "NTH", "PS", "PT", "RD", "RK", "RL", "RM", "RN", "RP", "RS", "RT", "SH", "SK",
    "SS", "ST", "TCH", "TH", "TS", "WN",
];

/// The capitals at `i`, where that is where they begin, if they are letters: the index behind them. `after_capitals`:
/// the word before was in capitals too.
pub(super) fn acronym(input: &Window, i: usize, after_capitals: bool) -> Result<Option<usize>, More> {
    let before = input.char_before(i, 1);
    if before.is_some_and(|c| c.is_uppercase()) || !input.char_at(i)?.is_some_and(|c| c.is_ascii_uppercase()) {
        return Ok(None);
    }
    let word = capitals(input, i, MOST + 1)?;
    let end = i + word.len();
    if !(2..=MOST).contains(&word.len()) {
        return Ok(None);
    }
    // PDFs is one, OSName is none.
    let plural = input.char_at(end)? == Some('s') && !input.char_at(end + 1)?.is_some_and(is_latin);
    if input.char_at(end)?.is_some_and(is_latin) && !plural {
        return Ok(None);
    }
    let spoken = can_be_spoken(&word);
    if before.is_some_and(is_latin) {
        // ChatGPT, macOS
        return Ok((word.len() <= 3 || !spoken).then_some(end));
    }
    if WORDS.contains(&word.as_str()) {
        let chinese = before.is_some_and(is_han) || input.char_at(end)?.is_some_and(is_han);
        return Ok((chinese && LETTERS_IN_CHINESE.contains(&word.as_str())).then_some(end));
    }
    let short = word.len() <= 3;
    if !spoken {
        return Ok(Some(end));
    }
    let heading = short && (after_capitals || next_is_capitals(input, end)?);
    Ok((short && !heading).then_some(end))
}

/// At most `most` capitals from `i` on.
fn capitals(input: &Window, i: usize, most: usize) -> Result<String, More> {
    let mut word = String::new();
    while word.len() < most
        && let Some(c) = input.char_at(i + word.len())?.filter(char::is_ascii_uppercase)
    {
        word.push(c);
    }
    Ok(word)
}

/// Whether a space and a word in capitals follow.
fn next_is_capitals(input: &Window, end: usize) -> Result<bool, More> {
    if input.char_at(end)? != Some(' ') {
        return Ok(false);
    }
    let word = capitals(input, end + 1, NEXT)?;
    Ok(word.len() >= 2 && !input.char_at(end + 1 + word.len())?.is_some_and(|c| c.is_lowercase()))
}

/// Whether a word like this could be English.
fn can_be_spoken(word: &str) -> bool {
    let vowel = |c: char| "AEIOUY".contains(c);
    let Some(first) = word.find(vowel) else {
        return false;
    };
    let last = word.rfind(vowel).unwrap_or(first);
    let (start, end) = (&word[..first], &word[last + 1..]);
    let row = word.split(|c| !vowel(c)).map(str::len).max().unwrap_or(0);
    let gap = word[first..=last].split(vowel).map(str::len).max().unwrap_or(0);
    row <= 2 && gap <= 3 && (start.len() <= 1 || STARTS.contains(&start)) && (end.len() <= 1 || ENDS.contains(&end))
}

#[cfg(test)]
mod tests {
    use crate::text::{ChangeKind, Options, chattts_knows, prepare};

    #[test]
    fn letters_are_told_from_words() {
        let options = Options::new(&chattts_knows);
        for (raw, spoken) in [
            ("一辆SUV", "一辆s u v"),
            ("用ChatGPT写代码", "用chat g p t写代码"),
            ("F5-TTS", "f five t t s"),
            ("FOUR SEASONS", "four seasons"),
            ("I do NOT know", "i do not know"),
            ("TOP SUV SALE", "top suv sale"),
            ("an HTML page, PDFs and TVs", "an h t m l page, p d fs and t vs"),
            ("NASA and NATO", "nasa and nato"),
            ("macOS, iOS, OpenAI", "mac o s, i o s, open a i"),
            ("看NBA和CCTV", "看n b a和c c t v"),
            ("APP和VIP", "app和v i p"),
            ("iPhone YouTube JavaScript", "iphone youtube javascript"),
            ("UNESCO", "unesco"),
            ("NEW YORK CITY", "new york city"),
            ("OK的", "ok的"),
            ("IT行业, it is IT", "i t行业，it is it"),
            ("WHO发布，WHO is it", "w h o发布，who is it"),
            ("A B", "a b"),
        ] {
            let prepared = prepare(raw, &options).unwrap();
            assert_eq!(prepared.spoken(), spoken, "{raw:?}");
        }
        let prepared = prepare("一辆SUV", &options).unwrap();
        let change = &prepared.rewritten[0];
        assert_eq!((change.from.as_str(), change.to.as_str(), change.kind), ("SUV", "s u v", ChangeKind::Abbreviation));
    }
}
