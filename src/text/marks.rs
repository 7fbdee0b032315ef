//! Stage 7: punctuation. The models know commas, full stops and question marks; every other mark becomes one of them
//! or nothing.
//!
//! | written | spoken as |
//! |---|---|
//! | `, ， ; ； : ：`, `（ ）`, `】`, dashes, `…`, `...`, a line's end | comma |
//! | `、` | itself if known, else comma |
//! | `. 。 ! ！`, an empty line | full stop |
//! | `? ？` (also `?!`) | question mark if known, else full stop |
//! | quotes, other brackets, `/ _ \ | * ^`, a hyphen in a word | nothing; words stay apart |
//! | `` ~ ` # ``, bullets | nothing |
//!
//! A run of marks is one pause, the longest of them. No pause comes before the first word; a comma after the last one
//! becomes a full stop. After Chinese the Chinese form is used, else the ASCII one, or whichever the model knows.

use std::ops::Range;

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Unit, is_han, is_latin};
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
        ',' | '，' | ';' | '；' | ':' | '：' | '–' | '—' | '―' | '…' | '⋯' | '‒' | '⸺' | '⸻' | '─' | '━' | '（'
        | '）' | '】' => Role::Pause(Pause::Comma),
        '。' | '｡' | '．' | '!' | '！' | '¡' => Role::Pause(Pause::Stop),
        '?' | '？' => Role::Pause(Pause::Question),
        '.' | '-' | '\'' => Role::Depends,
        '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』' | '〝' | '〞' | '〟' | '‚'
        | '{' | '}' | '<' | '>' | '[' | ']' | '/' | '_' | '\\' | '|' | '·' | '・' | '*' | '^' => Role::Boundary,
        '《' | '》' | '〈' | '〉' | '【' | '〔' | '〕' | '(' | ')' => Role::Boundary,
        '~' | '〜' | '`' | '#' | '•' | '¿' => Role::Silent,
        _ => return None,
    })
}

/// What has come since the last word or tag.
#[derive(Default)]
struct Gap {
    pause: Option<Pause>,
    parted: bool,
    lines: usize,
    /// Raw bytes of all its units, `None` while it has none.
    span: Option<Range<usize>>,
    /// Raw bytes from the first to the last of its units that were more than white space.
    marks: Option<Range<usize>>,
}

#[derive(Default)]
pub(super) struct Marks {
    pub log: Log,
    gap: Gap,
    /// Whether a word has been put out.
    spoken: bool,
    /// Whether the last word put out was Chinese.
    after_han: bool,
    last: Option<Unit>,
}

impl Stage for Marks {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        match role_at(input, i, &unit, context)? {
            Some(role) => self.widen(role, &unit),
            None => {
                self.close(Some(&unit), context, out);
                self.put(unit, out);
            }
        }
        Ok(i + 1)
    }
}

/// The role of the unit at `i`; `None` if it is part of a word, or a tag.
fn role_at(input: &Window, i: usize, unit: &Unit, context: &Context) -> Result<Option<Role>, More> {
    match unit.as_char().and_then(|c| Some((c, role(c)?))) {
        None => Ok(None),
        Some((c, Role::Depends)) => depends(input, i, c, context),
        Some((_, role)) => Ok(Some(role)),
    }
}

/// What a hyphen, an apostrophe or a full stop does at `i`; `None` if it is part of a word.
fn depends(input: &Window, i: usize, c: char, context: &Context) -> Result<Option<Role>, More> {
    let (before, after) = (input.char_before(i, 1), input.char_at(i + 1)?);
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    Ok(Some(match c {
        '\'' if before.is_some_and(is_latin) && after.is_some_and(is_latin) => {
            if (context.options.knows)('\'') {
                return Ok(None);
            }
            Role::Silent
        }
        '\'' => Role::Boundary,
        // Two or more full stops are an ellipsis.
        '.' if before == Some('.') || after == Some('.') => Role::Pause(Pause::Comma),
        '.' => Role::Pause(Pause::Stop),
        '-' if before == Some('-') || after == Some('-') => Role::Pause(Pause::Comma),
        '-' if word(before) || word(after) || is_inside_name(input, i, context)? => Role::Boundary,
        // A bullet at a line's start is none of the text's pauses; between words a spaced hyphen is a dash.
        _ if before.is_none_or(|c| c == '\n') => Role::Silent,
        _ => Role::Pause(Pause::Comma),
    }))
}

/// Whether letters or digits stand right beside the hyphen at `i` in the text as it was sent. The words of i7-13700K have
/// spaces around them by now.
fn is_inside_name(input: &Window, i: usize, context: &Context) -> Result<bool, More> {
    let Some(unit) = input.at(i)? else {
        return Ok(false);
    };
    // What follows has arrived.
    if input.at(i + 1)?.is_none() {
        return Ok(false);
    }
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    Ok(word(context.raw[..unit.start].chars().next_back()) && word(context.raw[unit.end..].chars().next()))
}

impl Marks {
    /// Puts out what is left where the text ends, and begins anew: the next word is the first one.
    pub fn finish(&mut self, context: &Context, out: &mut Window) {
        self.close(None, context, out);
        *self = Self { log: std::mem::take(&mut self.log), ..Self::default() };
    }

    fn put(&mut self, unit: Unit, out: &mut Window) {
        if unit.is_word() {
            self.spoken = true;
            self.after_han = unit.as_char().is_some_and(is_han);
        }
        self.last = Some(unit);
        // After a silence the text begins anew.
        if unit.pause_ms().is_some() {
            (self.spoken, self.last) = (false, None);
        }
        out.push(unit);
    }

    fn widen(&mut self, role: Role, unit: &Unit) {
        let gap = &mut self.gap;
        match role {
            Role::Space | Role::Boundary => gap.parted = true,
            Role::NewLine => gap.lines += 1,
            Role::Pause(pause) => gap.pause = gap.pause.max(Some(pause)),
            Role::Silent | Role::Depends => {}
        }
        let to_here = |span: &Option<Range<usize>>| Some(span.as_ref().map_or(unit.start, |s| s.start)..unit.end);
        gap.span = to_here(&gap.span);
        if !matches!(role, Role::Space | Role::NewLine) {
            gap.marks = to_here(&gap.marks);
        }
    }

    /// Puts out what the gap before `next`, or before the end of the text, amounts to.
    fn close(&mut self, next: Option<&Unit>, context: &Context, out: &mut Window) {
        let gap = std::mem::take(&mut self.gap);
        let Some(span) = gap.span else {
            return;
        };
        let at_end = next.is_none();
        let pause = gap.pause.max(match gap.lines {
            0 => None,
            1 => Some(Pause::Comma),
            _ => Some(Pause::Stop),
        });
        // A text that merely ends with a line's end has no pause of its own.
        let pause = pause.filter(|_| self.spoken && !(at_end && gap.pause.is_none()));
        let pause = if at_end { pause.map(|p| p.max(Pause::Stop)) } else { pause };
        let mark = pause.and_then(|p| Self::mark(context.options, p, self.after_han));
        if let Some(span) = gap.marks {
            let to = mark.map(String::from).unwrap_or_default();
            if context.raw[span.clone()] != to {
                self.log.change(context.raw, span, &to, ChangeKind::Punctuation);
            }
        }
        let parted = gap.parted || gap.lines > 0 || gap.pause.is_some();
        // Chinese and tags need no room.
        let solid = |unit: Option<&Unit>| unit.is_some_and(|u| u.as_char().is_none_or(is_han));
        let space = match mark {
            // Full-width marks bring their own room.
            Some(mark) => mark.is_ascii() && !solid(next),
            None => parted && self.last.is_some() && !(solid(self.last.as_ref()) && solid(next)),
        };
        if let Some(c) = mark {
            self.put(Unit::char(c, span.clone()), out);
        }
        if space && !at_end {
            self.put(Unit::char(' ', span), out);
        }
    }

    /// The mark for a pause, in the form that fits and that the model knows.
    fn mark(options: &Options, pause: Pause, after_han: bool) -> Option<char> {
        let forms = match pause {
            Pause::Enumeration => "、，,",
            Pause::Comma => "，,",
            Pause::Stop => "。.",
            Pause::Question => "？?",
        };
        let known = |c: &char| (options.knows)(*c);
        let found = match after_han {
            true => forms.chars().find(known),
            false => forms.chars().rev().find(known),
        };
        match pause {
            Pause::Question => found.or_else(|| Self::mark(options, Pause::Stop, after_han)),
            _ => found,
        }
    }
}
