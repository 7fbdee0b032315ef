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
    /// A name, which begins with a capital.
    Name,
    /// Only a number: otherwise it is an ordinary word at a sentence's end.
    Number,
}

/// Most letters taken for one abbreviation, which bounds the time spent on texts like "a.a.a.a".
const MAX_INITIALS: usize = 8;

/// In either case; those with a capital only with it.
const ABBREVIATIONS: [(&str, &str, Follow); 45] = [
    ("Lt.", "lieutenant", Follow::Name),
    ("Col.", "colonel", Follow::Name),
    ("Maj.", "major", Follow::Name),
    ("Cmdr.", "commander", Follow::Name),
    ("Rev.", "reverend", Follow::Name),
    ("Gov.", "governor", Follow::Name),
    ("Sen.", "senator", Follow::Name),
    ("Rep.", "representative", Follow::Name),
    ("Hon.", "honorable", Follow::Name),
    ("Pres.", "president", Follow::Name),
    ("Corp.", "corporation", Follow::Any),
    ("Co.", "company", Follow::Any),
    ("Bros.", "brothers", Follow::Any),
    ("Dept.", "department", Follow::Any),
    ("Univ.", "university", Follow::Any),
    ("ph.d.", "p h d", Follow::Any),
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

/// Written just so, whatever follows but a letter. The numerals are read by the stage behind.
const EXACT: [(&str, &str); 8] = [
    ("PhD", "p h d"),
    ("WWII", "World War II"),
    ("WWI", "World War I"),
    ("WW2", "World War II"),
    ("WW1", "World War I"),
    ("w/o", "without"),
    ("b/c", "because"),
    ("w/", "with"),
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
    if let Some(found) = street(input, i)? {
        return Ok(Some(found));
    }
    for (short, long, follow) in ABBREVIATIONS {
        let end = i + short.len();
        let capital = short.starts_with(|c: char| c.is_ascii_uppercase());
        if (capital && !is_capital(input.char_at(i)?))
            || !is_written(input, i, short)?
            || input.char_at(end)?.is_some_and(|c| is_latin(c) || (c.is_ascii_digit() && follow != Follow::Number))
        {
            continue;
        }
        let next = next_visible(input, end)?;
        let keeps = match follow {
            Follow::Word if next.is_none() => continue,
            Follow::Word => false,
            Follow::Name if !is_capital(next) => continue,
            Follow::Name => false,
            Follow::Any => next.is_none_or(|c| c.is_ascii_uppercase()),
            Follow::Number if !next.is_some_and(|c| c.is_ascii_digit()) => continue,
            Follow::Number => false,
        };
        // NO.20231108: the number is none of a name.
        let apart = if input.char_at(end)?.is_some_and(|c| c.is_ascii_digit()) { " " } else { "" };
        return Ok(Some((format!("{long}{apart}"), end, keeps)));
    }
    for (short, long) in EXACT {
        let end = i + short.len();
        if is_exactly(input, i, short)? && !input.char_at(end)?.is_some_and(|c| c.is_ascii_alphanumeric()) {
            return Ok(Some((long.to_string(), end, false)));
        }
    }
    // No1, NO1
    let digit = |k: usize| Ok(input.char_at(k)?.is_some_and(|c| c.is_ascii_digit()));
    if input.char_at(i)? == Some('N') && matches!(input.char_at(i + 1)?, Some('o' | 'O')) && digit(i + 2)? {
        return Ok(Some(("number ".to_string(), i + 2, false)));
    }
    Ok(None)
}

/// Main St., Fifth Ave.: a kind of street behind a name. St. and Dr. before a name are a saint and a doctor.
fn street(input: &Window, i: usize) -> Result<Option<Found>, More> {
    const STREETS: [(&str, &str, bool); 6] = [
        ("St.", "street", true),
        ("Dr.", "drive", true),
        ("Ave.", "avenue", false),
        ("Rd.", "road", false),
        ("Blvd.", "boulevard", false),
        ("Ln.", "lane", false),
    ];
    // The word before: a name, or 5th.
    let letters =
        (2..20).take_while(|n| input.char_before(i, *n).is_some_and(|c| c.is_ascii_alphanumeric() || c == '\''));
    let first = letters.last().and_then(|n| input.char_before(i, n));
    if input.char_before(i, 1) != Some(' ') || !first.is_some_and(|c| c.is_ascii_uppercase() || c.is_ascii_digit()) {
        return Ok(None);
    }
    for (short, long, title) in STREETS {
        if is_exactly(input, i, short)? {
            let end = i + short.len();
            let next = next_visible(input, end)?;
            let capital = next.is_some_and(|c| c.is_ascii_uppercase());
            return Ok((!title || !capital).then(|| (long.to_string(), end, next.is_none())));
        }
    }
    Ok(None)
}

/// A month's short name at `i` that a day follows. Its long one keeps its capital, by which a month is known.
fn month(input: &Window, i: usize) -> Result<Option<Found>, More> {
    for (short, long) in MONTHS {
        if input.char_at(i)? != short.chars().next() || !is_written(input, i, short)? {
            continue;
        }
        let end = i + short.len();
        let end = end + usize::from(input.char_at(end)? == Some('.'));
        let day = |k: usize| Ok(input.char_at(k)?.is_some_and(|c| c.is_ascii_digit()));
        if input.char_at(end)? == Some(' ') && day(end + 1)? {
            return Ok(Some((long.to_string(), end, false)));
        }
        // 6 Jan
        let behind =
            input.char_before(i, 1) == Some(' ') && input.char_before(i, 2).is_some_and(|c| c.is_ascii_digit());
        if behind && !input.char_at(i + short.len())?.is_some_and(is_latin) {
            return Ok(Some((long.to_string(), i + short.len(), false)));
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
    let comma = stop + usize::from(input.char_at(stop)? == Some(','));
    if input.char_at(comma)? == Some(' ') && date_follows(input, comma + 1)? {
        return Ok(Some((first.to_string(), stop, false)));
    }
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

/// Whether "Jan 5" or "3 June" stands at `i`.
fn date_follows(input: &Window, i: usize) -> Result<bool, More> {
    let digit = |k: usize| Ok(input.char_at(k)?.is_some_and(|c| c.is_ascii_digit()));
    let word = capitalised(input, i)?;
    if month_name(&word).is_some() {
        let end = i + word.len() + usize::from(input.char_at(i + word.len())? == Some('.'));
        return Ok(input.char_at(end)? == Some(' ') && digit(end + 1)?);
    }
    let mut end = i;
    while end < i + 2 && digit(end)? {
        end += 1;
    }
    Ok(end > i && input.char_at(end)? == Some(' ') && month_name(&capitalised(input, end + 1)?).is_some())
}

/// The day whose short name stands at `i` whole, and where that ends.
fn day_name(input: &Window, i: usize) -> Result<Option<(&'static str, usize)>, More> {
    for (short, long) in DAYS {
        let end = i + short.len();
        if input.char_at(i)? == short.chars().next()
            && is_written(input, i, short)?
            && !input.char_at(end)?.is_some_and(is_latin)
        {
            return Ok(Some((long, end)));
        }
    }
    Ok(None)
}

fn is_capital(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_uppercase())
}

/// Whether `word` stands at `i` just so.
fn is_exactly(input: &Window, i: usize, word: &str) -> Result<bool, More> {
    for (k, c) in word.chars().enumerate() {
        if input.char_at(i + k)? != Some(c) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether `short`, in either case, stands at `i`.
fn is_written(input: &Window, i: usize, short: &str) -> Result<bool, More> {
    for (k, c) in short.chars().enumerate() {
        if input.char_at(i + k)?.is_none_or(|u| !u.eq_ignore_ascii_case(&c)) {
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
        let keeps = next.is_none_or(|c| c.is_ascii_uppercase() && first.is_ascii_lowercase()) && !moment(input, end)?;
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

/// Whether a time zone, a day or a month follows at `i`, which belongs to the "p.m." before it.
fn moment(input: &Window, i: usize) -> Result<bool, More> {
    const ZONES: [&str; 19] = [
        "EST", "EDT", "ET", "CST", "CDT", "CT", "MST", "MDT", "MT", "PST", "PDT", "PT", "GMT", "UTC", "BST", "CET",
        "CEST", "IST", "JST",
    ];
    if input.char_at(i)? != Some(' ') {
        return Ok(false);
    }
    let word = capitalised(input, i + 1)?;
    let day = DAYS.iter().any(|(short, long)| word == *short || word == *long);
    Ok(day || month_name(&word).is_some() || ZONES.contains(&word.as_str()))
}

/// The letters from `i` on, if they begin with a capital; none of the words looked for is longer than nine.
fn capitalised(input: &Window, i: usize) -> Result<String, More> {
    let mut word = String::new();
    while word.len() < 10
        && let Some(c) = input.char_at(i + word.len())?.filter(char::is_ascii_alphabetic)
    {
        word.push(c);
    }
    Ok(if word.starts_with(|c: char| c.is_ascii_uppercase()) { word } else { String::new() })
}

/// The month of this name, short or long.
fn month_name(word: &str) -> Option<&'static str> {
    MONTHS
        .iter()
        .find(|(short, long)| word == *short || word == *long)
        .map(|m| m.1)
        .or((word == "May").then_some("May"))
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
