//! Looking around a number, no farther than a decision needs.

use std::cell::OnceCell;

use arrayvec::ArrayString;

use super::MAX_NUMBER;
use crate::text::stage::{More, Window};
use crate::text::unit::{is_han, is_latin};

pub(super) type Seen<T> = Result<T, More>;

/// Characters before a number in which a word is looked for that tells what it is. Less than a window keeps.
const BEFORE: usize = 28;

/// Digits of a number, held where they are looked at: each rule looks for some.
pub(super) type Digits = ArrayString<MAX_NUMBER>;

/// The surroundings of the unit at `start`.
pub(super) struct Look<'a> {
    input: &'a Window,
    pub start: usize,
    before: OnceCell<ArrayString<{ 4 * BEFORE }>>,
}

impl<'a> Look<'a> {
    pub fn new(input: &'a Window, start: usize) -> Self {
        Self { input, start, before: OnceCell::new() }
    }

    pub fn at(&self, k: usize) -> Seen<Option<char>> {
        self.input.char_at(k)
    }

    pub fn is(&self, k: usize, c: char) -> Seen<bool> {
        Ok(self.at(k)? == Some(c))
    }

    pub fn is_digit(&self, k: usize) -> Seen<bool> {
        Ok(self.at(k)?.is_some_and(|c| c.is_ascii_digit()))
    }

    pub fn is_letter(&self, k: usize) -> Seen<bool> {
        Ok(self.at(k)?.is_some_and(is_latin))
    }

    /// The digits from `k` on, at most `max`.
    pub fn digits(&self, k: usize, max: usize) -> Seen<Digits> {
        let mut out = Digits::new();
        while out.len() < max.min(out.capacity())
            && let Some(c) = self.at(k + out.len())?.filter(char::is_ascii_digit)
        {
            out.push(c);
        }
        Ok(out)
    }

    /// Whether these characters stand at `k`.
    pub fn says(&self, k: usize, word: &str) -> Seen<bool> {
        for (n, c) in word.chars().enumerate() {
            if self.at(k + n)? != Some(c) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first of these words that stands at `k` whole, in any case: no letter follows it.
    pub fn word_of(&self, k: usize, words: &[&'static str]) -> Seen<Option<&'static str>> {
        for word in words {
            let mut same = true;
            for (n, c) in word.chars().enumerate() {
                if self.at(k + n)?.map(|found| found.to_ascii_lowercase()) != Some(c) {
                    same = false;
                    break;
                }
            }
            if same && !self.is_letter(k + word.len())? {
                return Ok(Some(word));
            }
        }
        Ok(None)
    }

    /// After one space at `k`, or `k`.
    pub fn past_space(&self, k: usize) -> Seen<usize> {
        Ok(k + usize::from(self.is(k, ' ')?))
    }

    /// The character `n` before the start.
    pub fn back(&self, n: usize) -> Option<char> {
        (n <= BEFORE).then(|| self.input.char_before(self.start, n)).flatten()
    }

    /// The text of this line before the start, as far as it matters.
    pub fn before(&self) -> &str {
        self.before.get_or_init(|| {
            let count = (1..=BEFORE).take_while(|n| self.back(*n).is_some_and(|c| c != '\n')).count();
            let mut text = ArrayString::new();
            (1..=count).rev().filter_map(|n| self.back(n)).for_each(|c| text.push(c));
            text
        })
    }

    /// Whether nothing before the start belongs to the number: no letter, digit, point or dash.
    pub fn is_fresh(&self) -> bool {
        !self.back(1).is_some_and(|c| c.is_ascii_alphanumeric() || is_latin(c) || matches!(c, '.' | '-'))
    }

    /// Whether a number with a Chinese unit ends before the start: 15日, 5公斤.
    pub fn is_after_unit(&self) -> bool {
        let unit = |c: char| is_han(c) && c != '的';
        let units = (1..=3).take_while(|n| self.back(*n).is_some_and(unit)).count();
        units > 0 && self.back(units + 1).is_some_and(|c| c.is_ascii_digit())
    }

    /// Whether a counted noun follows at `k`: a space and a lower-case English word in the plural.
    pub fn counts_nouns(&self, k: usize) -> Seen<bool> {
        if !self.is(k, ' ')? {
            return Ok(false);
        }
        let mut word = String::new();
        while word.len() < 16
            && let Some(c) = self.at(k + 1 + word.len())?.filter(char::is_ascii_lowercase)
        {
            word.push(c);
        }
        let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && word != "this";
        Ok(plural || matches!(word.as_str(), "people" | "men" | "women" | "children" | "feet" | "percent" | "times"))
    }
}

/// The last word of `text`, in lower case, fillers such as "is" and "no." behind it left out.
pub(super) fn last_word(text: &str) -> String {
    const FILLERS: [&str; 12] = ["is", "was", "at", "on", "the", "me", "us", "no", "number", "num", "of", "are"];
    let mut last = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'').rev().filter(|w| !w.is_empty()).take(4) {
        last = word.to_ascii_lowercase();
        if !FILLERS.contains(&last.as_str()) {
            break;
        }
    }
    last
}

/// `text` without the marks and words that may stand between a Chinese noun and its number.
pub(super) fn bare(text: &str) -> &str {
    text.trim_end_matches([' ', ':', '：', '是', '为', '#', '"', '“', '「', '(', '（', '，', ','])
}
