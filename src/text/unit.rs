//! What the stages hand to each other, and the record of what they did.

use std::ops::Range;

use super::{Change, ChangeKind, Skip, SkipReason};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Char(char),
    /// An index into the allowed tags.
    Tag(usize),
    /// Silence of so many milliseconds, at which a piece ends.
    Pause(u32),
}

/// A reading asked for by name: the values of SSML's `interpret-as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Every digit by itself.
    Digits,
    /// A quantity.
    Cardinal,
    /// A place in a row: 第三, "third".
    Ordinal,
    Telephone,
    Date,
    Time,
    Year,
    /// Every letter and digit by itself.
    Characters,
    Money,
    Fraction,
    /// A quantity with its unit of measure.
    Unit,
}

impl Reading {
    /// The reading for a value of `interpret-as`, in any case. "spell-out" is `characters`, "number" is `cardinal`,
    /// "currency" is `money`.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Some(match name.as_str() {
            "digits" => Self::Digits,
            "cardinal" | "number" => Self::Cardinal,
            "ordinal" => Self::Ordinal,
            "telephone" => Self::Telephone,
            "date" => Self::Date,
            "time" => Self::Time,
            "year" => Self::Year,
            "characters" | "spell-out" => Self::Characters,
            "money" | "currency" => Self::Money,
            "fraction" => Self::Fraction,
            "unit" => Self::Unit,
            _ => return None,
        })
    }
}

/// What a character is part of, as far as a piece's end is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Word,
    /// The words of a number.
    Number,
    /// Initials, which stay with the names around them.
    Initial,
}

/// One character or tag of the text so far, and the bytes of the raw text it stands for. Units made from one stretch,
/// such as the words of a number, share its span; a piece never ends between them if it can be helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub symbol: Symbol,
    pub start: usize,
    pub end: usize,
    /// How the writer wants it read, as in `<say-as>`; the stages before `readings` hand it on.
    pub hint: Option<Reading>,
    pub part: Part,
}

impl Unit {
    pub fn char(c: char, span: Range<usize>) -> Self {
        Self { symbol: Symbol::Char(c), start: span.start, end: span.end, hint: None, part: Part::Word }
    }

    /// Another character in its place.
    pub fn with(self, c: char) -> Self {
        Self { symbol: Symbol::Char(c), ..self }
    }

    pub fn hinted(self, hint: Option<Reading>) -> Self {
        Self { hint, ..self }
    }

    pub fn as_char(&self) -> Option<char> {
        match self.symbol {
            Symbol::Char(c) => Some(c),
            Symbol::Tag(_) | Symbol::Pause(_) => None,
        }
    }

    /// The length of a silence.
    pub fn pause_ms(&self) -> Option<u32> {
        match self.symbol {
            Symbol::Pause(ms) => Some(ms),
            _ => None,
        }
    }

    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether this is a character that is spoken, not a mark, a space or a tag.
    pub fn is_word(&self) -> bool {
        self.as_char().is_some_and(is_word)
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || is_han(c) || (!c.is_ascii() && c.is_alphanumeric())
}

/// Chinese characters, with 々 and 〇.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
        || matches!(c, '々' | '〇')
}

/// Letters of the Latin script, accented ones too.
pub(super) fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || (c.is_alphabetic() && matches!(c, '\u{AA}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' | '\u{FB00}'..='\u{FB06}'))
}

/// Characters that show nothing and are not spoken.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}')
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
        || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E0FFF}')
}

/// What one stage changed and left out. Each stage has its own: together they would depend on how far one stage had
/// come when another made its entry, and so on how the text arrived.
#[derive(Default)]
pub(super) struct Log {
    pub changes: Vec<Change>,
    pub skips: Vec<Skip>,
}

impl Log {
    /// Notes that `span` of `raw` is spoken as `to`. Neighbours of one kind become one entry, save for words, which
    /// are each their own.
    pub fn change(&mut self, raw: &str, span: Range<usize>, to: &str, kind: ChangeKind) {
        let from = &raw[span.clone()];
        let apart = matches!(kind, ChangeKind::Number | ChangeKind::Symbol | ChangeKind::Lexicon);
        match self.changes.last_mut() {
            Some(last) if last.kind == kind && last.span.end == span.start && !apart => {
                last.span.end = span.end;
                last.from.push_str(from);
                last.to.push_str(to);
            }
            _ => {
                let (from, to) = (from.to_string(), to.to_string());
                self.changes.push(Change { span, chars: 0..0, from, to, kind });
            }
        }
    }

    /// Notes that `span` of `raw` is not spoken. Neighbours of one kind become one entry, save for emoji, which are each
    /// their own.
    pub fn skip(&mut self, raw: &str, span: Range<usize>, why: SkipReason) {
        if let Some(last) = self.skips.last_mut()
            && last.span.end <= span.start
            && last.why == why
            && why != SkipReason::Emoji
            // The joiners of an emoji are gone by now.
            && raw[last.span.end..span.start].chars().all(is_invisible)
        {
            last.text.push_str(&raw[last.span.end..span.end]);
            last.span.end = span.end;
            return;
        }
        // A stretch that became several units is reported once.
        if self.skips.last().is_none_or(|last| last.span != span) {
            let text = raw[span.clone()].to_string();
            self.skips.push(Skip { span, chars: 0..0, text, why });
        }
    }
}
