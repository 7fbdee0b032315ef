//! Stage 6: punctuation. The models know commas, full stops and question marks; every other mark becomes one of them
//! or nothing.
//!
//! | written | spoken as |
//! |---|---|
//! | `, ， ; ； : ：`, dashes, `…`, `...`, a line's end | comma |
//! | `、` | itself if known, else comma |
//! | `. 。 ! ！`, an empty line | full stop |
//! | `? ？` (also `?!`) | question mark if known, else full stop |
//! | quotes, brackets, `/ _ \ |`, a hyphen in a word | nothing; words stay apart |
//! | `* ~ ^ `` ` `` #`, bullets | nothing |
//!
//! A run of marks is one pause, the longest of them. No pause comes before the first word; a comma after the last one
//! becomes a full stop. After Chinese the Chinese form is used, else the ASCII one, or whichever the model knows.

use super::unit::{Log, Unit, char_at, char_before, is_han, is_latin};
use super::{ChangeKind, Options};

/// What a character that is no letter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Space,
    NewLine,
    Pause(Pause),
    /// `-`, `'` and `.`: it depends on what stands around.
    Depends,
    /// Parts words, says nothing.
    Boundary,
    /// Says nothing and parts nothing.
    Silent,
}

/// From short to long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pause {
    Enumeration,
    Comma,
    Stop,
    Question,
}

/// `None` for letters, digits and everything that is no punctuation.
pub(super) fn role(c: char) -> Option<Role> {
    Some(match c {
        ' ' => Role::Space,
        '\n' => Role::NewLine,
        '、' | '､' => Role::Pause(Pause::Enumeration),
        ',' | '，' | ';' | '；' | ':' | '：' | '–' | '—' | '―' | '…' | '⋯' => Role::Pause(Pause::Comma),
        '。' | '｡' | '．' | '!' | '！' | '¡' => Role::Pause(Pause::Stop),
        '?' | '？' => Role::Pause(Pause::Question),
        '.' | '-' | '\'' => Role::Depends,
        '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』' => {
            Role::Boundary
        }
        '《' | '》' | '〈' | '〉' | '【' | '】' | '〔' | '〕' | '（' | '）' | '(' | ')' => Role::Boundary,
        '{' | '}' | '<' | '>' | '[' | ']' | '/' | '_' | '\\' | '|' | '·' | '・' => Role::Boundary,
        '*' | '~' | '〜' | '^' | '`' | '#' | '•' | '¿' => Role::Silent,
        _ => return None,
    })
}

/// What has come since the last word or tag.
#[derive(Default)]
struct Gap {
    pause: Option<Pause>,
    parted: bool,
    lines: usize,
    /// The units from the first to the last that were more than white space.
    marks: Option<(usize, usize)>,
    start: Option<usize>,
}

pub(super) fn tidy(units: Vec<Unit>, options: &Options, log: &mut Log) -> Vec<Unit> {
    let mut tidier = Tidier { units: &units, options, log, out: Vec::with_capacity(units.len()), spoken: false };
    let mut gap = Gap::default();
    for (i, unit) in units.iter().enumerate() {
        if !tidier.joins(i, &mut gap) {
            tidier.close(std::mem::take(&mut gap), i);
            tidier.spoken |= unit.is_word();
            tidier.out.push(*unit);
        }
    }
    tidier.close(gap, units.len());
    tidier.out
}

struct Tidier<'a, 'b> {
    units: &'a [Unit],
    options: &'a Options<'a>,
    log: &'a mut Log<'b>,
    out: Vec<Unit>,
    /// Whether a word has been put out.
    spoken: bool,
}

impl Tidier<'_, '_> {
    /// Takes unit `i` into the gap; `false` if it is a word or a tag.
    fn joins(&self, i: usize, gap: &mut Gap) -> bool {
        let Some(role) = self.units[i].as_char().and_then(role) else {
            return false;
        };
        let role = match role {
            Role::Depends => match self.depends(i) {
                Some(role) => role,
                None => return false,
            },
            role => role,
        };
        gap.start.get_or_insert(i);
        match role {
            Role::Space => gap.parted = true,
            Role::NewLine => gap.lines += 1,
            Role::Pause(pause) => gap.pause = gap.pause.max(Some(pause)),
            Role::Boundary => gap.parted = true,
            Role::Silent | Role::Depends => {}
        }
        if !matches!(role, Role::Space | Role::NewLine) {
            let first = gap.marks.map_or(i, |(first, _)| first);
            gap.marks = Some((first, i));
        }
        true
    }

    /// What a hyphen, an apostrophe or a full stop does at `i`; `None` if it is part of a word.
    fn depends(&self, i: usize) -> Option<Role> {
        let (before, after) = (char_before(self.units, i), char_at(self.units, i + 1));
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
        Some(match self.units[i].as_char()? {
            '\'' if before.is_some_and(is_latin) && after.is_some_and(is_latin) => {
                if (self.options.knows)('\'') {
                    return None;
                }
                Role::Silent
            }
            '\'' => Role::Boundary,
            // Two or more full stops are an ellipsis.
            '.' if before == Some('.') || after == Some('.') => Role::Pause(Pause::Comma),
            '.' => Role::Pause(Pause::Stop),
            '-' if before == Some('-') || after == Some('-') => Role::Pause(Pause::Comma),
            '-' if word(before) || word(after) => Role::Boundary,
            // A bullet at a line's start is none of the text's pauses; between words a spaced hyphen is a dash.
            _ if before.is_none_or(|c| c == '\n') => Role::Silent,
            _ => Role::Pause(Pause::Comma),
        })
    }

    /// Puts out what the gap before unit `next` amounts to.
    fn close(&mut self, gap: Gap, next: usize) {
        let Some(start) = gap.start else {
            return;
        };
        let last = next == self.units.len();
        let span = self.units[start].start..self.units[next - 1].end;
        let pause = gap.pause.max(match gap.lines {
            0 => None,
            1 => Some(Pause::Comma),
            _ => Some(Pause::Stop),
        });
        // A text that merely ends with a line's end has no pause of its own.
        let pause = pause.filter(|_| self.spoken && !(last && gap.pause.is_none()));
        let pause = if last { pause.map(|p| p.max(Pause::Stop)) } else { pause };
        let han = |unit: Option<&Unit>| unit.and_then(Unit::as_char).is_some_and(is_han);
        let after_han = han(self.out.iter().rev().find(|u| u.is_word()));
        let mark = pause.and_then(|p| self.mark(p, after_han));
        if let Some((first, last)) = gap.marks {
            let span = self.units[first].start..self.units[last].end;
            let to = mark.map(String::from).unwrap_or_default();
            if self.log.raw(span.clone()) != to {
                self.log.change(span, &to, ChangeKind::Punctuation);
            }
        }
        let parted = gap.parted || gap.lines > 0 || gap.pause.is_some();
        // Chinese and tags need no room.
        let solid = |unit: Option<&Unit>| unit.is_some_and(|u| u.as_char().is_none_or(is_han));
        let (after, before) = (self.out.last(), self.units.get(next));
        let space = match mark {
            // Full-width marks bring their own room.
            Some(mark) => mark.is_ascii() && !solid(before),
            None => parted && after.is_some() && !(solid(after) && solid(before)),
        };
        self.out.extend(mark.map(|c| Unit::char(c, span.clone())));
        if space && !last {
            self.out.push(Unit::char(' ', span));
        }
    }

    /// The mark for a pause, in the form that fits and that the model knows.
    fn mark(&self, pause: Pause, after_han: bool) -> Option<char> {
        let forms = match pause {
            Pause::Enumeration => "、，,",
            Pause::Comma => "，,",
            Pause::Stop => "。.",
            Pause::Question => "？?",
        };
        let known = |c: &char| (self.options.knows)(*c);
        let found = match after_han {
            true => forms.chars().find(known),
            false => forms.chars().rev().find(known),
        };
        match pause {
            Pause::Question => found.or_else(|| self.mark(Pause::Stop, after_han)),
            _ => found,
        }
    }
}
