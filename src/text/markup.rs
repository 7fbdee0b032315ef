//! Stage 2: markup. What Markdown, HTML and SSML mark is spoken, the marks are not.
//!
//! Nothing here waits for a closing mark without a bound: beyond it, an opening mark is text like any other.
//!
//! | opened by | looks ahead | at most |
//! |---|---|---|
//! | a line's first mark: heading, list, quote, rule, table | the marks themselves, a rule to its line's end | [`MAX_LINE`] |
//! | a code fence, `<script>`, `<style>`, `<!--` | the end of the block | [`MAX_BLOCK`] |
//! | `<` and a letter, `](` | the end of the tag, of the link's target | [`MAX_TAG`] |
//! | a backtick, `![`, `<https:` | its closing mark | [`MAX_SPAN`] |
//! | `&` | `;` | [`MAX_ENTITY`] |
//! | `*`, `~`, `=` | the end of the run and one character | [`MAX_RUN`] |
//!
//! Text that only looks like markup stays: `a < b`, `x<y`, `3 * 4`, `snake_case`, `#1`. Underscores and round brackets
//! are left to the marks stage, which parts words at them.

use std::ops::Range;

use super::stage::{Context, More, Stage, Window};
use super::tags::{pause, pause_text};
use super::unit::{Log, Reading, Unit};
use super::{ChangeKind, SkipReason};

mod blocks;
mod entities;
mod html;
mod spans;

use blocks::Search;

/// Longest line that is looked at as a whole: a rule, a fence's language.
const MAX_LINE: usize = 200;
/// Longest code block, script, style or comment. A longer one is text.
const MAX_BLOCK: usize = 8192;
/// Longest tag and longest link target.
const MAX_TAG: usize = 512;
/// Longest inline code, image label and address in angle brackets.
const MAX_SPAN: usize = 256;
/// Longest entity.
const MAX_ENTITY: usize = 10;
/// Longest run of emphasis marks taken as one.
const MAX_RUN: usize = 64;

#[derive(Default)]
pub(super) struct Markup {
    pub log: Log,
    /// Inside a line: something other than spaces and line marks has come.
    inside: bool,
    line: Line,
    /// Square brackets that are open, up to [`MAX_BRACKETS`]: only behind one can a link's target follow.
    brackets: usize,
    /// A code block that is longer than [`MAX_BLOCK`], or was flushed, is spoken; its closing fence must not open another.
    fence: Option<blocks::Fence>,
    /// The reading asked for, and for how many more units.
    hint: Option<(Reading, usize)>,
    search: Search,
}

/// Longest content of `<say-as>`: one that is not closed hints at no more than this.
const MAX_HINT: usize = 256;

/// Brackets counted. A paragraph's end closes all.
const MAX_BRACKETS: usize = 8;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Plain,
    Heading,
    TableRow,
}

/// What a step decided: what becomes of the units before `end`.
enum Found {
    /// They are marks, and say nothing.
    Marks { end: usize },
    /// Line marks, after which the line still begins.
    LineMarks { end: usize },
    /// The number of a list's item and its mark: a sentence begins, and a short pause follows the number.
    Item { end: usize, mark: char },
    /// They are marks that mean the units in `says`.
    Say { end: usize, says: Vec<Unit> },
    /// Of them, only these are text, and hold no more markup.
    Keep { end: usize, text: Range<usize> },
    /// They are so much silence.
    Pause { end: usize, ms: u32 },
    /// They are not spoken; `says` keeps the words around them apart.
    Skip { end: usize, why: SkipReason, says: &'static str },
}

impl Markup {
    /// A new line begins.
    pub fn restart(&mut self) {
        (self.inside, self.line, self.brackets) = (false, Line::Plain, 0);
        (self.hint, self.search) = (None, Search::default());
    }

    fn find(&mut self, input: &Window, i: usize, c: char) -> Result<Option<Found>, More> {
        if !self.inside
            && let Some(found) = self.line_mark(input, i, c)?
        {
            return Ok(Some(found));
        }
        match c {
            '*' | '~' | '=' => spans::emphasis(input, i, c),
            '`' => spans::code(input, i),
            '#' if self.line == Line::Heading => spans::closing_hashes(input, i),
            '|' if self.line == Line::TableRow => self.cell(input, i),
            '[' => spans::footnote(input, i),
            ']' if self.brackets > 0 => self.link_target(input, i),
            '!' => spans::image(input, i),
            '<' => self.angle(input, i),
            '&' => entities::entity(input, i),
            '\\' => spans::escape(input, i),
            _ => Ok(None),
        }
    }

    fn angle(&mut self, input: &Window, i: usize) -> Result<Option<Found>, More> {
        if let Some(found) = html::special(input, i, &mut self.search)? {
            return Ok(Some(found));
        }
        match html::tag(input, i)? {
            Some(tag) => self.act_on(input, i, tag).map(Some),
            None => spans::address(input, i),
        }
    }

    fn link_target(&mut self, input: &Window, i: usize) -> Result<Option<Found>, More> {
        let end = spans::link_target_end(input, i + 1)?;
        if end.is_some() {
            self.brackets -= 1;
        }
        Ok(end.map(|end| Found::Skip { end, why: SkipReason::LinkTarget, says: " " }))
    }

    /// The border of two cells is a pause; with spaces, so that it groups no digits.
    fn cell(&mut self, input: &Window, i: usize) -> Result<Option<Found>, More> {
        if spans::line_ends(input, i + 1)? {
            return Ok(Some(Found::Marks { end: i + 1 }));
        }
        Ok(Some(Found::Say { end: i + 1, says: between_words(input, i, i + 1, " , ")? }))
    }

    /// Puts out what was found from `i` on; returns the end of it.
    fn put(
        &mut self,
        found: Found,
        input: &Window,
        i: usize,
        context: &Context,
        out: &mut Window,
    ) -> Result<usize, More> {
        let span = |end: usize| -> Result<Range<usize>, More> {
            let start = input.at(i)?.map_or(0, |u| u.start);
            Ok(start..input.at(end - 1)?.map_or(start, |u| u.end))
        };
        let hint = self.hint.map(|(reading, _)| reading);
        let log = &mut self.log;
        let (end, at_line_start) = match found {
            Found::Marks { end } => {
                log.change(context.raw, span(end)?, "", ChangeKind::Markup);
                (end, false)
            }
            Found::LineMarks { end } => {
                log.change(context.raw, span(end)?, "", ChangeKind::Markup);
                (end, true)
            }
            Found::Item { end, mark } => {
                let start = span(end)?.start;
                out.push(Unit::char('\n', start..start));
                for k in i..end - 1 {
                    input.at(k)?.into_iter().for_each(|unit| out.push(unit.hinted(hint)));
                }
                out.push(Unit::char(mark, raw_span(input, end - 1, end)?));
                (end, false)
            }
            Found::Say { end, says } => {
                let to: String = says.iter().filter_map(Unit::as_char).collect();
                // The marks stage reports pauses.
                if to.trim() != "," {
                    log.change(context.raw, span(end)?, to.trim(), ChangeKind::Markup);
                }
                let new_line = says.last().is_some_and(|u| u.as_char() == Some('\n'));
                says.into_iter().for_each(|unit| out.push(unit.hinted(hint)));
                (end, new_line)
            }
            Found::Keep { end, text } => {
                if text.start > i {
                    log.change(context.raw, raw_span(input, i, text.start)?, "", ChangeKind::Markup);
                }
                for k in text.clone() {
                    input.at(k)?.into_iter().for_each(|unit| out.push(unit.hinted(hint)));
                }
                if end > text.end {
                    log.change(context.raw, raw_span(input, text.end, end)?, "", ChangeKind::Markup);
                }
                (end, false)
            }
            Found::Pause { end, ms } => {
                let span = span(end)?;
                log.change(context.raw, span.clone(), &pause_text(ms), ChangeKind::Pause);
                pause(ms, span).into_iter().for_each(|unit| out.push(unit));
                (end, false)
            }
            Found::Skip { end, why, says } => {
                let span = span(end)?;
                log.skip(context.raw, span.clone(), why);
                says.chars().for_each(|c| out.push(Unit::char(c, span.clone())));
                (end, says.ends_with('\n'))
            }
        };
        self.inside = !at_line_start;
        Ok(end)
    }
}

impl Stage for Markup {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let c = unit.as_char();
        let found = match c {
            Some(c) if !c.is_alphanumeric() => self.find(input, i, c)?,
            Some('0'..='9') if !self.inside => blocks::item(input, i)?,
            _ => None,
        };
        let end = match found {
            Some(found) => self.put(found, input, i, context, out)?,
            None => {
                self.pass(unit, out);
                i + 1
            }
        };
        self.search.pass(end - i);
        self.hint = self.hint.and_then(|(reading, left)| Some((reading, left.checked_sub(end - i)?)));
        Ok(end)
    }
}

impl Markup {
    fn pass(&mut self, unit: Unit, out: &mut Window) {
        let unit = unit.hinted(self.hint.map(|(reading, _)| reading));
        match unit.as_char() {
            Some('\n') => {
                // A heading is a sentence, with or without a mark at its end.
                if self.line == Line::Heading {
                    out.push(unit);
                }
                if !self.inside {
                    self.brackets = 0;
                }
                (self.inside, self.line) = (false, Line::Plain);
            }
            Some(' ') => {}
            c => {
                match c {
                    Some('[') => self.brackets = (self.brackets + 1).min(MAX_BRACKETS),
                    Some(']') => self.brackets = self.brackets.saturating_sub(1),
                    _ => {}
                }
                self.inside = true;
            }
        }
        out.push(unit);
    }
}

/// Raw bytes of the units from `start` to before `end`.
fn raw_span(input: &Window, start: usize, end: usize) -> Result<Range<usize>, More> {
    let from = input.at(start)?.map_or(0, |u| u.start);
    Ok(from..input.at(end - 1)?.map_or(from, |u| u.end))
}

/// `text` as units that stand for those from `start` to before `end`.
fn between_words(input: &Window, start: usize, end: usize, text: &str) -> Result<Vec<Unit>, More> {
    let span = raw_span(input, start, end)?;
    Ok(text.chars().map(|c| Unit::char(c, span.clone())).collect())
}

#[cfg(test)]
mod tests;
