//! Stage 3: abbreviations and initials, whose full stops end no sentence. Split follows, so what is spelt out here
//! cannot be cut there.

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Part, Unit, is_latin};
use super::{ChangeKind, Language};

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

const ABBREVIATIONS: [(&str, &str, Follow); 29] = [
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
    ("ltd.", "limited", Follow::Any),
    ("gen.", "general", Follow::Word),
    ("capt.", "captain", Follow::Word),
    ("sgt.", "sergeant", Follow::Word),
    ("mt.", "mount", Follow::Word),
    ("vol.", "volume", Follow::Number),
    ("pp.", "pages", Follow::Number),
    ("ch.", "chapter", Follow::Number),
    ("sec.", "section", Follow::Number),
    ("eq.", "equation", Follow::Number),
    ("ext.", "extension", Follow::Number),
    ("nos.", "numbers", Follow::Number),
];

/// Before a day only, with a full stop or without; a capital tells them from words such as "mar".
const MONTHS: [(&str, &str); 12] = [
    ("Jan", "January"),
    ("Feb", "February"),
    ("Mar", "March"),
    ("Apr", "April"),
    ("Jun", "June"),
    ("Jul", "July"),
    ("Aug", "August"),
    ("Sept", "September"),
    ("Sep", "September"),
    ("Oct", "October"),
    ("Nov", "November"),
    ("Dec", "December"),
];

/// With a full stop before a comma or a number, or two of them with a dash between: "sat." and "sun" are words else.
const DAYS: [(&str, &str); 10] = [
    ("Mon", "Monday"),
    ("Tues", "Tuesday"),
    ("Tue", "Tuesday"),
    ("Wed", "Wednesday"),
    ("Thurs", "Thursday"),
    ("Thur", "Thursday"),
    ("Thu", "Thursday"),
    ("Fri", "Friday"),
    ("Sat", "Saturday"),
    ("Sun", "Sunday"),
];

pub(super) struct Shorthand {
    pub log: Log,
    /// Whether the word before was a name: a capital, or an initial. A text may begin with an initial.
    after_name: bool,
}

impl Default for Shorthand {
    fn default() -> Self {
        Self { log: Log::default(), after_name: true }
    }
}

impl Shorthand {
    /// A sentence begins, whatever came before.
    pub fn restart(&mut self) {
        self.after_name = true;
    }
}

impl Stage for Shorthand {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        if !context.options.languages.contains(&Language::English) {
            out.push(unit);
            return Ok(i + 1);
        }
        let starts_word = unit.as_char().is_some_and(|c| c.is_ascii_alphabetic())
            && !input.char_before(i, 1).is_some_and(|c| is_latin(c) || c.is_ascii_digit() || c == '\'');
        let found = match starts_word {
            true => match abbreviation(input, i)? {
                None => match month(input, i)? {
                    None => match day(input, i)? {
                        None => initials(input, i, self.after_name)?,
                        found => found,
                    },
                    found => found,
                },
                found => found,
            },
            false => None,
        };
        let Some((text, end, keeps_stop)) = found else {
            match unit.as_char() {
                Some(c) if starts_word => self.after_name = c.is_ascii_uppercase(),
                // A sentence may begin with an initial.
                Some('.' | '!' | '?' | '\n' | '。' | '！' | '？') => self.after_name = true,
                _ => {}
            }
            out.push(unit);
            return Ok(i + 1);
        };
        let last = input.at(end - 1)?.unwrap_or(unit);
        let span = unit.start..last.end;
        self.log.change(context.raw, span.clone(), &text, ChangeKind::Abbreviation);
        // "J. R. R.", "U.S."; the table's abbreviations are longer.
        let initials = text.split(' ').all(|word| word.len() == 1);
        let part = if initials { Part::Initial } else { Part::Word };
        text.chars().for_each(|c| out.push(Unit { part, ..Unit::char(c, span.clone()) }));
        if keeps_stop {
            out.push(last);
        }
        self.after_name = true;
        Ok(end)
    }
}

/// What stands for a shorthand, where that ends, and whether its last full stop is a sentence's.
type Found = (String, usize, bool);

/// What stands at `i`, if it is in the table.
fn abbreviation(input: &Window, i: usize) -> Result<Option<Found>, More> {
    for (short, long, follow) in ABBREVIATIONS {
        let end = i + short.len();
        if !is_written(input, i, short)?
            || input.char_at(end)?.is_some_and(|c| is_latin(c) || (c.is_ascii_digit() && follow != Follow::Number))
        {
            continue;
        }
        let next = next_visible(input, end)?;
        let keeps = match follow {
            Follow::Word if next.is_none() => continue,
            Follow::Word => false,
            Follow::Any => next.is_none_or(|c| c.is_ascii_uppercase()),
            Follow::Number if !next.is_some_and(|c| c.is_ascii_digit()) => continue,
            Follow::Number => false,
        };
        // NO.20231108: the number is none of a name.
        let apart = if input.char_at(end)?.is_some_and(|c| c.is_ascii_digit()) { " " } else { "" };
        return Ok(Some((format!("{long}{apart}"), end, keeps)));
    }
    // No1, NO1
    let digit = |k: usize| Ok(input.char_at(k)?.is_some_and(|c| c.is_ascii_digit()));
    if input.char_at(i)? == Some('N') && matches!(input.char_at(i + 1)?, Some('o' | 'O')) && digit(i + 2)? {
        return Ok(Some(("number ".to_string(), i + 2, false)));
    }
    Ok(None)
}

/// A month's short name at `i` that a day follows. Its long one keeps its capital, by which a month is known.
fn month(input: &Window, i: usize) -> Result<Option<Found>, More> {
    for (short, long) in MONTHS {
        if input.char_at(i)? != short.chars().next() || !is_written(input, i, &short.to_ascii_lowercase())? {
            continue;
        }
        let end = i + short.len();
        let end = end + usize::from(input.char_at(end)? == Some('.'));
        let day = |k: usize| Ok(input.char_at(k)?.is_some_and(|c| c.is_ascii_digit()));
        if input.char_at(end)? == Some(' ') && day(end + 1)? {
            return Ok(Some((long.to_string(), end, false)));
        }
    }
    Ok(None)
}

/// A day's short name at `i`: "Tues.," and "Mon-Fri".
fn day(input: &Window, i: usize) -> Result<Option<Found>, More> {
    let Some((first, end)) = day_name(input, i)? else {
        return Ok(None);
    };
    let stop = end + usize::from(input.char_at(end)? == Some('.'));
    if stop > end && next_visible(input, stop)?.is_some_and(|c| c == ',' || c.is_ascii_digit()) {
        return Ok(Some((first.to_string(), stop, false)));
    }
    if matches!(input.char_at(stop)?, Some('-' | '–'))
        && let Some((last, end)) = day_name(input, stop + 1)?
    {
        let end = end + usize::from(input.char_at(end)? == Some('.') && next_visible(input, end + 1)?.is_some());
        return Ok(Some((format!("{first} to {last}"), end, false)));
    }
    Ok(None)
}

/// The day whose short name stands at `i` whole, and where that ends.
fn day_name(input: &Window, i: usize) -> Result<Option<(&'static str, usize)>, More> {
    for (short, long) in DAYS {
        let end = i + short.len();
        if input.char_at(i)? == short.chars().next()
            && is_written(input, i, &short.to_ascii_lowercase())?
            && !input.char_at(end)?.is_some_and(is_latin)
        {
            return Ok(Some((long, end)));
        }
    }
    Ok(None)
}

/// Whether `short`, in either case, stands at `i`.
fn is_written(input: &Window, i: usize, short: &str) -> Result<bool, More> {
    for (k, c) in short.chars().enumerate() {
        if input.char_at(i + k)?.is_none_or(|u| u.to_ascii_lowercase() != c) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `U.S.`, `J. R. R. Tolkien`: single letters with full stops.
fn initials(input: &Window, i: usize, after_name: bool) -> Result<Option<Found>, More> {
    let letter = |k| Ok(input.char_at(k)?.filter(|c| c.is_ascii_alphabetic()));
    let dotted = |k| match letter(k)? {
        Some(c) if input.char_at(k + 1)? == Some('.') => Ok(Some(c)),
        _ => Ok(None),
    };
    let Some(first) = dotted(i)? else {
        return Ok(None);
    };
    let mut text = first.to_string();
    let mut end = i + 2;
    while end < i + 2 * MAX_INITIALS
        && let Some(c) = dotted(end)?
    {
        text.push(' ');
        text.push(c);
        end += 2;
    }
    // "a.com" is no initial, nor is the "b.c" of "a.b.com".
    if letter(end)?.is_some() && end < i + 2 * MAX_INITIALS {
        return Ok(None);
    }
    if letter(end)?.is_some() {
        text.push(' ');
    }
    let next = next_visible(input, end)?;
    if end > i + 2 {
        // "at 5 p.m. Then": a sentence ends. "the U.S. Army": none does, far more often than not.
        let keeps = next.is_none_or(|c| c.is_ascii_uppercase() && first.is_ascii_lowercase());
        return Ok(Some((text, end, keeps)));
    }
    let before_name = input.char_at(end)? == Some(' ') && next.is_some_and(|c| c.is_ascii_uppercase());
    // "I." is the pronoun far more often than a name.
    let named = first != 'I' && after_name && before_name;
    // After any word: met J. R. R. Tolkien.
    let row = before_name && input.char_at(end + 2)? == Some('.');
    let is_initial = first.is_ascii_uppercase() && (named || row);
    Ok(is_initial.then_some((text, end, false)))
}

/// The first character from `i` on that is no space; a line's end counts as the text's.
fn next_visible(input: &Window, i: usize) -> Result<Option<char>, More> {
    for k in i..i + 4 {
        match input.char_at(k)? {
            Some(' ') => {}
            found => return Ok(found.filter(|c| *c != '\n')),
        }
    }
    Ok(None)
}
