//! Characters cut in half.
//!
//! JavaScript strings are UTF-16: a client that sends a text unit by unit cuts an emoji or a rare Chinese character into
//! two messages, each with half a surrogate pair as a JSON escape. No Rust string can hold a half, so between [`parse`]
//! and [`Joiner::push`] U+D800 to U+DFFF stand at U+10D800 to U+10DFFF, private-use characters that no model speaks.
//!
//! [`parse`]: super::parse

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// From a half to the character that stands for it.
const SHIFT: u32 = 0x10_0000;

/// Puts the texts of one utterance together, one message after the other.
#[derive(Clone, Debug, Default)]
pub struct Joiner {
    /// First half of a pair, as its stand-in, waiting for the second.
    high: Option<char>,
}

impl Joiner {
    /// What `text` adds to the utterance. A first half at its end is kept back until the next text; a half that finds no
    /// partner becomes U+FFFD, as it does wherever browsers write UTF-8. `last`: no text follows.
    pub fn push(&mut self, text: String, last: bool) -> String {
        let is_half = |c: char| (0x10_d800..0x10_e000).contains(&u32::from(c));
        if self.high.is_none() && !text.contains(is_half) {
            return text;
        }
        let mut out = String::with_capacity(text.len() + 3);
        for c in text.chars() {
            let held = self.high.take();
            match (held, c) {
                (Some(high), '\u{10dc00}'..='\u{10dfff}') => out.push(pair(high, c)),
                _ => {
                    out.extend(held.map(|_| char::REPLACEMENT_CHARACTER));
                    match c {
                        '\u{10d800}'..='\u{10dbff}' => self.high = Some(c),
                        c if is_half(c) => out.push(char::REPLACEMENT_CHARACTER),
                        c => out.push(c),
                    }
                }
            }
        }
        if last {
            out.extend(self.high.take().map(|_| char::REPLACEMENT_CHARACTER));
        }
        out
    }
}

/// The character of two halves, given their stand-ins.
fn pair(high: char, low: char) -> char {
    let code = 0x1_0000 + ((u32::from(high) & 0x3ff) << 10) + (u32::from(low) & 0x3ff);
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Reads an object whose `text` may hold halves; none may be anywhere else.
pub(super) fn read(json: &str) -> Option<Map<String, Value>> {
    #[derive(Deserialize)]
    struct Message {
        text: Text,
        #[serde(flatten)]
        rest: Map<String, Value>,
    }
    let Message { text, mut rest } = serde_json::from_str(json).ok()?;
    rest.insert("text".into(), Value::String(text.0));
    Some(rest)
}

/// A string with stand-ins for its halves.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Asked for bytes, the JSON reader gives halves in the form of three bytes each (WTF-8).
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
        let mut out = String::with_capacity(bytes.len() + 4);
        let mut rest = bytes;
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.push_str(text);
                    return Ok(Text(out));
                }
                Err(error) => error,
            };
            let (text, bad) = rest.split_at(error.valid_up_to());
            out.push_str(std::str::from_utf8(text).map_err(E::custom)?);
            let [0xed, b @ 0xa0..=0xbf, c @ 0x80..=0xbf, after @ ..] = bad else { return Err(E::custom(error)) };
            let half = 0xd000 | u32::from(b & 0x3f) << 6 | u32::from(c & 0x3f);
            out.extend(char::from_u32(SHIFT + half));
            rest = after;
        }
    }
}
