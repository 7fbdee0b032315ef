//! Stage 3: abbreviations and initials, whose full stops end no sentence. Split follows, so what is spelt out here
//! cannot be cut there.

use super::unit::{Log, Unit, char_at, char_before, is_latin};
use super::{ChangeKind, Language, Options};

/// What may follow an abbreviation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// A name or word: the full stop is never a sentence's.
    Word,
    /// Anything; before a capital or at the end of the text its full stop ends the sentence too.
    Any,
    /// Only a number: otherwise it is an ordinary word at a sentence's end.
    Number,
}

/// Most letters taken for one abbreviation, which bounds the time spent on texts like "a.a.a.a".
const MAX_INITIALS: usize = 8;

const ABBREVIATIONS: [(&str, &str, Follow); 17] = [
    ("mr.", "mister", Follow::Word),
    ("mrs.", "missus", Follow::Word),
    ("ms.", "miss", Follow::Word),
    ("dr.", "doctor", Follow::Word),
    ("prof.", "professor", Follow::Word),
    ("st.", "saint", Follow::Word),
    ("e.g.", "for example", Follow::Word),
    ("i.e.", "that is", Follow::Word),
    ("vs.", "versus", Follow::Word),
    ("approx.", "approximately", Follow::Word),
    ("etc.", "et cetera", Follow::Any),
    ("jr.", "junior", Follow::Any),
    ("sr.", "senior", Follow::Any),
    ("inc.", "incorporated", Follow::Any),
    ("no.", "number", Follow::Number),
    ("fig.", "figure", Follow::Number),
    ("p.", "page", Follow::Number),
];

pub(super) fn expand(units: Vec<Unit>, options: &Options, log: &mut Log) -> Vec<Unit> {
    if !options.languages.contains(&Language::English) {
        return units;
    }
    let mut out = Vec::with_capacity(units.len());
    // Whether the word before was a name: a capital, or an initial.
    let mut after_name = true;
    let mut i = 0;
    while let Some(&unit) = units.get(i) {
        let starts_word = unit.as_char().is_some_and(|c| c.is_ascii_alphabetic())
            && !char_before(&units, i).is_some_and(|c| is_latin(c) || c.is_ascii_digit() || c == '\'');
        let found =
            if starts_word { abbreviation(&units, i).or_else(|| initials(&units, i, after_name)) } else { None };
        let Some((text, end, keeps_stop)) = found else {
            match unit.as_char() {
                Some(c) if starts_word => after_name = c.is_ascii_uppercase(),
                // A sentence may begin with an initial.
                Some('.' | '!' | '?' | '\n' | '。' | '！' | '？') => after_name = true,
                _ => {}
            }
            out.push(unit);
            i += 1;
            continue;
        };
        let span = unit.start..units[end - 1].end;
        log.change(span.clone(), &text, ChangeKind::Abbreviation);
        out.extend(text.chars().map(|c| Unit::char(c, span.clone())));
        if keeps_stop {
            out.push(units[end - 1]);
        }
        after_name = true;
        i = end;
    }
    out
}

/// What stands at `i` and where it ends, if it is in the table; and whether its last full stop is a sentence's.
fn abbreviation(units: &[Unit], i: usize) -> Option<(String, usize, bool)> {
    ABBREVIATIONS.iter().find_map(|(short, long, follow)| {
        let end = i + short.len();
        let same = |(k, c): (usize, char)| char_at(units, i + k).is_some_and(|u| u.to_ascii_lowercase() == c);
        if !short.chars().enumerate().all(same)
            || char_at(units, end).is_some_and(|c| is_latin(c) || c.is_ascii_digit())
        {
            return None;
        }
        let next = next_visible(units, end);
        let keeps = match follow {
            Follow::Word if next.is_none() => return None,
            Follow::Word => false,
            Follow::Any => next.is_none_or(|c| c.is_ascii_uppercase()),
            Follow::Number if !next.is_some_and(|c| c.is_ascii_digit()) => return None,
            Follow::Number => false,
        };
        Some((long.to_string(), end, keeps))
    })
}

/// `U.S.`, `J. R. R. Tolkien`: single letters with full stops.
fn initials(units: &[Unit], i: usize, after_name: bool) -> Option<(String, usize, bool)> {
    let letter = |k| char_at(units, k).filter(|c| c.is_ascii_alphabetic());
    let dotted = |k| letter(k).filter(|_| char_at(units, k + 1) == Some('.'));
    let first = dotted(i)?;
    let mut text = first.to_string();
    let mut end = i + 2;
    while let Some(c) = dotted(end).filter(|_| end < i + 2 * MAX_INITIALS) {
        text.push(' ');
        text.push(c);
        end += 2;
    }
    // "a.com" is no initial, nor is the "b.c" of "a.b.com".
    if letter(end).is_some() && end < i + 2 * MAX_INITIALS {
        return None;
    }
    if letter(end).is_some() {
        text.push(' ');
    }
    let next = next_visible(units, end);
    if end > i + 2 {
        // "at 5 p.m. Then": a sentence ends. "the U.S. Army": none does, far more often than not.
        return Some((text, end, next.is_none_or(|c| c.is_ascii_uppercase() && first.is_ascii_lowercase())));
    }
    let before_name = char_at(units, end) == Some(' ') && next.is_some_and(|c| c.is_ascii_uppercase());
    // "I." is the pronoun far more often than a name.
    (first.is_ascii_uppercase() && first != 'I' && after_name && before_name).then_some((text, end, false))
}

/// The first character from `i` on that is no space; a line's end counts as the text's.
fn next_visible(units: &[Unit], i: usize) -> Option<char> {
    (i..i + 4).map_while(|k| char_at(units, k)).find(|c| *c != ' ').filter(|c| *c != '\n')
}
