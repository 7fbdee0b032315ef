//! What a line's beginning can mark: headings, lists, quotes, rules, tables, code blocks.

use super::super::SkipReason;
use super::super::stage::{More, Window};
use super::spans::{is_address, line_ends};
use super::{Found, Line, MAX_BLOCK, MAX_LINE, MAX_SPAN, Markup};

/// An opening code fence: so many of a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    len: usize,
}

impl Markup {
    /// The mark at `i`, with which a line begins.
    pub(super) fn line_mark(&mut self, input: &Window, i: usize, c: char) -> Result<Option<Found>, More> {
        if matches!(c, '`' | '~')
            && let Some(found) = self.fence(input, i, c)?
        {
            return Ok(Some(found));
        }
        if matches!(c, '-' | '*' | '_' | '=' | '|' | ':')
            && let Some(end) = rule(input, i)?
        {
            return Ok(Some(Found::LineMarks { end }));
        }
        let next = |n: usize| input.char_at(i + n);
        Ok(match c {
            '#' => {
                let len = run(input, i, c, 7)?;
                let is_heading = len <= 6 && matches!(next(len)?, Some(' ' | '\n') | None);
                if is_heading {
                    self.line = Line::Heading;
                }
                is_heading.then_some(Found::LineMarks { end: i + len })
            }
            '>' => {
                let maths = matches!(next(1)?, Some('=' | '0'..='9'));
                (!maths).then_some(Found::LineMarks { end: i + 1 })
            }
            '-' | '*' | '+' | '•' | '◦' | '▪' | '‣' | '●' | '○' | '■' | '□' | '◆' | '◇' | '▸' | '►' =>
            {
                let solid = !matches!(c, '-' | '*' | '+');
                let is_item = next(1)? == Some(' ') || (solid && next(1)?.is_some_and(char::is_alphanumeric));
                let end = i + 1;
                let after_box = if is_item { task_box(input, end)? } else { None };
                is_item.then_some(Found::LineMarks { end: after_box.unwrap_or(end) })
            }
            '|' => {
                self.line = Line::TableRow;
                Some(Found::LineMarks { end: i + 1 })
            }
            '[' => definition(input, i)?,
            _ => None,
        })
    }

    /// A code block, skipped as a whole if its end is there; or a fence that is spoken past.
    fn fence(&mut self, input: &Window, i: usize, c: char) -> Result<Option<Found>, More> {
        let len = run(input, i, c, MAX_LINE)?;
        if len < 3 {
            return Ok(None);
        }
        if let Some(open) = self.fence {
            let closes = open.mark == c && len >= open.len && line_ends(input, i + len)?;
            if closes {
                self.fence = None;
            }
            return Ok(closes.then_some(Found::LineMarks { end: i + len }));
        }
        let Some(first_line) = fence_line_end(input, i + len, c)? else {
            return Ok(None);
        };
        let fence = Fence { mark: c, len };
        let found = self.search.find(Block::Fence(fence), input, i, first_line, |k| fence_closes(input, k, fence))?;
        Ok(Some(match found {
            Some(end) => Found::Skip { end, why: SkipReason::Code, says: "\n\n" },
            None => {
                self.fence = Some(fence);
                Found::LineMarks { end: i + len }
            }
        }))
    }
}

/// How many of `c` stand from `i` on, at most `most`.
pub(super) fn run(input: &Window, i: usize, c: char, most: usize) -> Result<usize, More> {
    let mut len = 0;
    while len < most && input.char_at(i + len)? == Some(c) {
        len += 1;
    }
    Ok(len)
}

/// The end of a line of dashes, stars, underscores or equals signs, or of what stands under a table's head.
fn rule(input: &Window, i: usize) -> Result<Option<usize>, More> {
    let (mut marks, mut kinds, mut column) = (0, None, false);
    for k in i..i + MAX_LINE {
        match input.char_at(k)? {
            None if input.at(k)?.is_some() => return Ok(None),
            None | Some('\n') => {
                let enough = if column { marks >= 1 } else { marks >= 3 || (kinds == Some('=') && marks >= 2) };
                return Ok(enough.then_some(k));
            }
            Some(' ') => {}
            Some('|' | ':') => column = true,
            Some(c @ ('-' | '*' | '_' | '=')) if kinds.is_none_or(|k| k == c) => {
                kinds = Some(c);
                marks += 1;
            }
            _ => return Ok(None),
        }
        if column && kinds.is_some_and(|k| k != '-') {
            return Ok(None);
        }
    }
    Ok(None)
}

/// `1. `, `2) ` or `3、`.
pub(super) fn item(input: &Window, i: usize) -> Result<Option<Found>, More> {
    let mut at = i;
    while at - i <= 3 && input.char_at(at)?.is_some_and(|c| c.is_ascii_digit()) {
        at += 1;
    }
    let mark = match input.char_at(at)? {
        Some('.' | ')') if at - i <= 3 && input.char_at(at + 1)? == Some(' ') => ',',
        Some('、') if at - i <= 3 => '、',
        _ => return Ok(None),
    };
    Ok(Some(Found::Item { end: at + 1, mark }))
}

/// The end of `[ ] ` or `[x] `.
fn task_box(input: &Window, i: usize) -> Result<Option<usize>, More> {
    let written = [|c| c == ' ', |c| c == '[', |c| matches!(c, ' ' | 'x' | 'X'), |c| c == ']', |c| c == ' '];
    for (k, is_right) in written.into_iter().enumerate() {
        if !input.char_at(i + k)?.is_some_and(is_right) {
            return Ok(None);
        }
    }
    Ok(Some(i + written.len()))
}

/// `[label]: target` is no text; of a footnote, `[^1]: text`, the text is.
fn definition(input: &Window, i: usize) -> Result<Option<Found>, More> {
    let note = input.char_at(i + 1)? == Some('^');
    let mut k = i + 1;
    loop {
        match input.char_at(k)? {
            Some(']') => break,
            Some('[' | '\n') | None => return Ok(None),
            Some(_) if k - i > MAX_SPAN => return Ok(None),
            Some(_) => k += 1,
        }
    }
    if input.char_at(k + 1)? != Some(':') {
        return Ok(None);
    }
    let mut start = k + 2;
    if note {
        return Ok(Some(Found::LineMarks { end: start }));
    }
    while start - k < 6 && input.char_at(start)? == Some(' ') {
        start += 1;
    }
    let mut target = String::new();
    let mut end = start;
    loop {
        match input.char_at(end)? {
            None | Some('\n') => break,
            Some(_) if end - i > MAX_LINE + MAX_SPAN => return Ok(None),
            Some(c) => target.push(c),
        }
        end += 1;
    }
    let first = target.split(' ').next().unwrap_or_default();
    let is_target = is_address(first);
    Ok(is_target.then_some(Found::Skip { end, why: SkipReason::LinkTarget, says: "" }))
}

/// Where the line of an opening fence ends; `None` if this is none, as in ```` ```code``` ````.
fn fence_line_end(input: &Window, start: usize, mark: char) -> Result<Option<usize>, More> {
    for k in start..start + MAX_LINE {
        match input.char_at(k)? {
            Some('\n') => return Ok(Some(k)),
            None => return Ok(None),
            // What follows a fence is the name of a language: "~~~ 哈哈" holds back no text.
            Some(c) if c == mark || !c.is_ascii() => return Ok(None),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// The end of the closing fence that stands in the line after the newline at `k`.
fn fence_closes(input: &Window, k: usize, fence: Fence) -> Result<Option<usize>, More> {
    if input.char_at(k)? != Some('\n') {
        return Ok(None);
    }
    let mut at = k + 1;
    while at - k <= 16 && matches!(input.char_at(at)?, Some(' ' | '>')) {
        at += 1;
    }
    let len = run(input, at, fence.mark, MAX_LINE)?;
    Ok((len >= fence.len && line_ends(input, at + len)?).then_some(at + len))
}

/// What is looked for far ahead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Fence(Fence),
    Script,
    Style,
    Comment,
}

/// Looking far ahead, once: what was seen to hold no end is not looked at again, neither when more text has come nor
/// from the next opening mark.
#[derive(Default)]
pub(super) struct Search {
    /// No end of this kind stands in so many of the next units.
    clear: Option<(Block, usize)>,
}

impl Search {
    /// So many units are behind.
    pub(super) fn pass(&mut self, units: usize) {
        if let Some((_, left)) = &mut self.clear {
            *left = left.saturating_sub(units);
            if *left == 0 {
                self.clear = None;
            }
        }
    }

    /// Where the block ends that opens at `i`: the first answer of `ends` for a unit from `start` on. `None` if it has no
    /// end in [`MAX_BLOCK`] units, or in the text.
    pub(super) fn find(
        &mut self,
        block: Block,
        input: &Window,
        i: usize,
        start: usize,
        ends: impl Fn(usize) -> Result<Option<usize>, More>,
    ) -> Result<Option<usize>, More> {
        let known = self.clear.filter(|(b, _)| *b == block).map_or(0, |(_, left)| left);
        let mut k = start.max(i + known);
        let limit = i + MAX_BLOCK;
        let found = loop {
            if k >= limit {
                break Ok(None);
            }
            match input.at(k).and_then(|unit| unit.map_or(Ok(None), |_| ends(k).map(Some))) {
                Ok(Some(Some(end))) => return Ok(Some(end)),
                Ok(Some(None)) => k += 1,
                // The text ends.
                Ok(None) => {
                    k = limit;
                    break Ok(None);
                }
                Err(more) => break Err(more),
            }
        };
        self.clear = Some((block, k - i));
        found
    }
}
