//! Tags of HTML and SSML.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::super::SkipReason;
use super::super::stage::{More, Window};
use super::super::tags::milliseconds;
use super::super::unit::Reading;
use super::blocks::{Block, Search};
use super::entities::decode_all;
use super::{Found, MAX_HINT, MAX_SPAN, MAX_TAG, Markup, between_words};

/// Tags of what is a sentence, or more, of its own.
const BLOCKS: &str = "p br div hr li ul ol dl dt dd h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr caption blockquote pre \
    section article header footer main nav aside figure figcaption title form fieldset legend option details summary \
    address s sentence paragraph html head body";
/// Tags inside a sentence.
const INLINE: &str = "a abbr b bdi bdo big button cite code data del dfn em font i ins kbd label mark q ruby rp rt samp \
    small span strike strong sub sup time tt u var wbr img input select textarea video audio source track canvas iframe \
    svg path object embed meta link base template noscript script style td th col colgroup center \
    speak voice prosody emphasis break say-as phoneme lang w token lexicon desc think";
/// Attributes that may stand without a value.
const BARE: [&str; 14] = [
    "checked", "disabled", "hidden", "async", "defer", "controls", "autoplay", "loop", "muted", "open", "required",
    "selected", "readonly", "download",
];

const MAX_NAME: usize = 32;

pub(super) struct Tag {
    /// In lower case.
    name: String,
    closing: bool,
    attributes: Vec<(String, String)>,
    end: usize,
}

impl Tag {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

type Names = LazyLock<HashSet<&'static str>>;

static IS_BLOCK: Names = LazyLock::new(|| BLOCKS.split_whitespace().collect());
static IS_INLINE: Names = LazyLock::new(|| INLINE.split_whitespace().collect());

/// The tag that begins at `i`. `x<y` is none, nor is `Vec<T>`: of a name that is not known, an opening tag stands after no
/// letter or digit.
pub(super) fn tag(input: &Window, i: usize) -> Result<Option<Tag>, More> {
    let closing = input.char_at(i + 1)? == Some('/');
    let mut at = i + 1 + usize::from(closing);
    let mut name = String::new();
    while name.len() < MAX_NAME
        && let Some(c) = input.char_at(at)?
        && (c.is_ascii_alphabetic() || (!name.is_empty() && (c.is_ascii_digit() || matches!(c, '-' | ':' | '_'))))
    {
        name.push(c.to_ascii_lowercase());
        at += 1;
    }
    if name.is_empty() {
        return Ok(None);
    }
    let is_known = |name: &str| IS_BLOCK.contains(name) || IS_INLINE.contains(name) || name.contains([':', '-']);
    let glued = input.char_before(i, 1).is_some_and(|c| c.is_ascii_alphanumeric());
    if glued && !closing && !is_known(&name) {
        return Ok(None);
    }
    let mut tag = Tag { name, closing, attributes: Vec::new(), end: at };
    let stop = i + MAX_TAG;
    loop {
        let spaces = spaces(input, &mut at, stop)?;
        match input.char_at(at)? {
            Some('>') => {
                tag.end = at + 1;
                return Ok(Some(tag));
            }
            Some('/') if input.char_at(at + 1)? == Some('>') => {
                tag.end = at + 2;
                return Ok(Some(tag));
            }
            Some(_) if spaces && at < stop => match attribute(input, &mut at, stop)? {
                Some(attribute) => tag.attributes.push(attribute),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
}

fn spaces(input: &Window, at: &mut usize, stop: usize) -> Result<bool, More> {
    let start = *at;
    while *at < stop && matches!(input.char_at(*at)?, Some(' ' | '\n')) {
        *at += 1;
    }
    Ok(*at > start)
}

/// `name="value"`, `name='value'`, `name=value`, or one of the names that need no value.
fn attribute(input: &Window, at: &mut usize, stop: usize) -> Result<Option<(String, String)>, More> {
    let mut name = String::new();
    while name.len() < MAX_NAME
        && let Some(c) = input.char_at(*at)?
        && (c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '_' | '@' | '.'))
    {
        name.push(c.to_ascii_lowercase());
        *at += 1;
    }
    spaces(input, at, stop)?;
    if input.char_at(*at)? != Some('=') {
        // The spaces part it from the next one.
        *at -= usize::from(input.char_before(*at, 1) == Some(' '));
        return Ok(BARE.contains(&name.as_str()).then_some((name, String::new())));
    }
    *at += 1;
    spaces(input, at, stop)?;
    let quote = input.char_at(*at)?.filter(|c| matches!(c, '"' | '\''));
    *at += usize::from(quote.is_some());
    let mut value = String::new();
    while *at < stop {
        let Some(c) = input.char_at(*at)? else {
            return Ok(None);
        };
        match quote {
            Some(quote) if c == quote => {
                *at += 1;
                break;
            }
            None if matches!(c, ' ' | '\n' | '>') => break,
            None if matches!(c, '<' | '"' | '\'') => return Ok(None),
            _ => value.push(c),
        }
        *at += 1;
    }
    Ok((!name.is_empty() && *at < stop).then(|| (name, decode_all(&value))))
}

/// Comments, declarations and the tokens of chat models.
pub(super) fn special(input: &Window, i: usize, search: &mut Search) -> Result<Option<Found>, More> {
    match input.char_at(i + 1)? {
        Some('!') if input.char_at(i + 2)? == Some('-') && input.char_at(i + 3)? == Some('-') => {
            let ends = |k| Ok(is_written(input, k, "-->")?.then_some(k + 3));
            let end = search.find(Block::Comment, input, i, i + 4, ends)?;
            Ok(Some(match end {
                Some(end) => Found::Skip { end, why: SkipReason::Comment, says: " " },
                None => Found::Marks { end: i + 4 },
            }))
        }
        Some('!' | '?') => {
            let first = input.char_at(i + 2)?;
            if !first.is_some_and(|c| c.is_ascii_alphabetic()) {
                return Ok(None);
            }
            let closed = |c: char| (c == '>').then_some(true).or((c == '<').then_some(false));
            let end = until(input, i + 2, MAX_TAG, closed)?;
            Ok(end.map(|end| Found::Skip { end, why: SkipReason::UnsupportedTag, says: " " }))
        }
        Some('|') => {
            let closed = |c: char| match c {
                '|' => Some(true),
                c if c.is_ascii_alphanumeric() || c == '_' => None,
                _ => Some(false),
            };
            let end = until(input, i + 2, MAX_NAME, closed)?.filter(|end| *end > i + 3);
            let Some(end) = end else { return Ok(None) };
            let closes = input.char_at(end)? == Some('>');
            Ok(closes.then_some(Found::Skip { end: end + 1, why: SkipReason::ReservedToken, says: " " }))
        }
        _ => Ok(None),
    }
}

/// Behind the first character for which `closed` says true, unless it says false before.
fn until(
    input: &Window,
    start: usize,
    most: usize,
    closed: impl Fn(char) -> Option<bool>,
) -> Result<Option<usize>, More> {
    for k in start..start + most {
        match input.char_at(k)?.map(&closed) {
            Some(Some(true)) => return Ok(Some(k + 1)),
            Some(None) => {}
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Whether `text`, of lower-case ASCII, stands at `i` in either case.
fn is_written(input: &Window, i: usize, text: &str) -> Result<bool, More> {
    for (k, c) in text.chars().enumerate() {
        if input.char_at(i + k)?.is_none_or(|u| u.to_ascii_lowercase() != c) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Markup {
    pub(super) fn act_on(&mut self, input: &Window, i: usize, tag: Tag) -> Result<Found, More> {
        let end = tag.end;
        let say = |end: usize, text: &str| Ok(Found::Say { end, says: between_words(input, i, end, text)? });
        match tag.name.as_str() {
            "break" if tag.closing => Ok(Found::Marks { end }),
            "break" => Ok(match break_ms(&tag) {
                Some(ms) => Found::Pause { end, ms },
                None => Found::Skip { end, why: SkipReason::UnsupportedTag, says: " " },
            }),
            "say-as" => {
                let reading = tag.attribute("interpret-as").and_then(Reading::of_name);
                self.hint = reading.map(|reading| (reading, MAX_HINT + end - i));
                let known = tag.closing || reading.is_some();
                let unknown = Found::Skip { end, why: SkipReason::UnsupportedTag, says: " " };
                Ok(if known { Found::Marks { end } } else { unknown })
            }
            "script" | "style" if !tag.closing => {
                let (block, close) =
                    if tag.name == "script" { (Block::Script, "</script") } else { (Block::Style, "</style") };
                let ends = |k| match is_written(input, k, close)? {
                    true => until(input, k + close.len(), MAX_NAME, |c| (c == '>').then_some(true)),
                    false => Ok(None),
                };
                Ok(match self.search.find(block, input, i, end, ends)? {
                    Some(end) => Found::Skip { end, why: SkipReason::Code, says: "\n\n" },
                    None => Found::Marks { end },
                })
            }
            "sub" if tag.attribute("alias").is_some() => {
                let alias = tag.attribute("alias").unwrap_or_default();
                for k in end..end + MAX_SPAN {
                    if input.at(k)?.is_none() {
                        break;
                    }
                    if is_written(input, k, "</sub>")? {
                        return say(k + 6, alias);
                    }
                }
                Ok(Found::Marks { end })
            }
            "img" => say(end, &format!(" {} ", tag.attribute("alt").unwrap_or_default())),
            // 10<sup>8</sup> is not 108.
            "sup" if !tag.closing && input.char_at(end)?.is_some_and(|c| c.is_ascii_digit()) => say(end, "^"),
            "sup" | "sub" if tag.closing => say(end, " "),
            "td" | "th" if !tag.closing => say(end, " , "),
            name if IS_BLOCK.contains(name) => say(end, "\n\n"),
            name if IS_INLINE.contains(name) => Ok(Found::Marks { end }),
            _ => Ok(Found::Skip { end, why: SkipReason::UnsupportedTag, says: " " }),
        }
    }
}

/// The silence a `<break>` asks for: its time, or one that fits its strength.
fn break_ms(tag: &Tag) -> Option<u32> {
    if let Some(time) = tag.attribute("time") {
        return milliseconds(time);
    }
    Some(match tag.attribute("strength").unwrap_or("medium") {
        "none" => 0,
        "x-weak" => 100,
        "weak" => 200,
        "medium" => 400,
        "strong" => 700,
        "x-strong" => 1200,
        _ => return None,
    })
}
