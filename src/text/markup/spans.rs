//! Marks inside a line: emphasis, code, links, images, escapes.

use super::super::SkipReason;
use super::super::stage::{More, Window};
use super::blocks::run;
use super::{Found, MAX_RUN, MAX_SPAN, MAX_TAG};

/// How far a run of marks is looked back over; more are kept nowhere.
const MAX_BACK: usize = 8;

/// Round brackets within a link's target.
const MAX_DEPTH: usize = 8;

/// Longest name of a footnote.
const MAX_NOTE: usize = 32;

/// Whether nothing but spaces comes before the line's end.
pub(super) fn line_ends(input: &Window, i: usize) -> Result<bool, More> {
    for k in i..i + 16 {
        match input.char_at(k)? {
            Some(' ') => {}
            c => return Ok(matches!(c, None | Some('\n'))),
        }
    }
    Ok(false)
}

/// A run of emphasis marks. With spaces on both sides, or between letters, digits and round brackets, it is a sign.
pub(super) fn emphasis(input: &Window, i: usize, c: char) -> Result<Option<Found>, More> {
    let len = run(input, i, c, MAX_RUN)?;
    let back = (1..=MAX_BACK).find(|n| input.char_before(i, *n) != Some(c)).unwrap_or(MAX_BACK);
    // One wave or equals sign marks nothing.
    if len + back <= 2 && c != '*' {
        return Ok(None);
    }
    let (before, after) = (input.char_before(i, back), input.char_at(i + len)?);
    let is_space = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\n'));
    // Two stars in a word are emphasis, between digits a power; one star may be a product of names.
    let number = len + back > 2 && c != '=';
    let is_operand = |c: Option<char>, bracket| {
        c.is_some_and(|c| c.is_ascii_digit() || (!number && c.is_ascii_alphabetic()) || c == bracket)
    };
    let is_sign = (is_space(before) && is_space(after)) || (is_operand(before, ')') && is_operand(after, '('));
    Ok((!is_sign).then_some(Found::Marks { end: i + len }))
}

/// Code in a line: its content is text without markup.
pub(super) fn code(input: &Window, i: usize) -> Result<Option<Found>, More> {
    let len = run(input, i, '`', MAX_RUN)?;
    let start = i + len;
    let mut k = start;
    while k < start + MAX_SPAN {
        match input.char_at(k)? {
            None => break,
            Some('\n') if input.char_at(k + 1)? == Some('\n') => break,
            Some('`') => {
                let closing = run(input, k, '`', MAX_SPAN)?;
                if closing == len {
                    return Ok(Some(Found::Keep { end: k + len, text: start..k }));
                }
                k += closing;
            }
            Some(_) => k += 1,
        }
    }
    Ok(Some(Found::Marks { end: start }))
}

/// The `##` at a heading's end.
pub(super) fn closing_hashes(input: &Window, i: usize) -> Result<Option<Found>, More> {
    if input.char_before(i, 1) != Some(' ') {
        return Ok(None);
    }
    let end = i + run(input, i, '#', MAX_RUN)?;
    Ok(line_ends(input, end)?.then_some(Found::Marks { end }))
}

/// `[^1]`: where a footnote belongs.
pub(super) fn footnote(input: &Window, i: usize) -> Result<Option<Found>, More> {
    if input.char_at(i + 1)? != Some('^') {
        return Ok(None);
    }
    for k in i + 2..i + 2 + MAX_NOTE {
        match input.char_at(k)? {
            Some(']') if k > i + 2 => {
                return Ok(Some(Found::Skip { end: k + 1, why: SkipReason::Footnote, says: " " }));
            }
            Some(c) if !c.is_whitespace() && c != '[' && c != ']' => {}
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The exclamation mark of `![label](target)`.
pub(super) fn image(input: &Window, i: usize) -> Result<Option<Found>, More> {
    if input.char_at(i + 1)? != Some('[') {
        return Ok(None);
    }
    for k in i + 2..i + 2 + MAX_SPAN {
        match input.char_at(k)? {
            Some(']') => {
                let is_image = link_target_end(input, k + 1)?.is_some();
                return Ok(is_image.then_some(Found::Marks { end: i + 1 }));
            }
            Some('[' | '\n') | None => return Ok(None),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Where `(target)` or `(target "title")` ends, from its opening bracket at `i` on.
pub(super) fn link_target_end(input: &Window, i: usize) -> Result<Option<usize>, More> {
    if input.char_at(i)? != Some('(') {
        return Ok(None);
    }
    let (mut target, mut depth, mut title) = (String::new(), 1, false);
    for k in i + 1..i + 1 + MAX_TAG {
        let Some(c) = input.char_at(k)? else {
            return Ok(None);
        };
        match c {
            '\n' => return Ok(None),
            ' ' => {
                // Only a title in quotation marks may follow.
                title |= !target.is_empty() && matches!(input.char_at(k + 1)?, Some('"' | '\''));
                if !title {
                    return Ok(None);
                }
            }
            '(' if depth == MAX_DEPTH => return Ok(None),
            '(' => depth += 1,
            ')' if depth == 1 => {
                let is_target = target.chars().all(|c| c.is_ascii_graphic()) || is_address(&target);
                return Ok(is_target.then_some(k + 1));
            }
            ')' => depth -= 1,
            _ => {}
        }
        if !title {
            target.push(c);
        }
    }
    Ok(None)
}

/// Whether this can only be an address: `[含税](价格)` is no link.
pub(super) fn is_address(text: &str) -> bool {
    text.contains("://") || ["/", "#", "<", "./", "../", "www.", "mailto:", "data:"].iter().any(|s| text.starts_with(s))
}

/// `<https://example.com>` or `<me@example.com>`: the address is text.
pub(super) fn address(input: &Window, i: usize) -> Result<Option<Found>, More> {
    let mut text = String::new();
    for k in i + 1..i + 1 + MAX_SPAN {
        match input.char_at(k)? {
            Some('>') => {
                let is_mail = text.split('@').count() == 2 && !text.starts_with('@') && !text.ends_with('@');
                let found = Found::Keep { end: k + 1, text: i + 1..k };
                return Ok((text.contains("://") || is_mail).then_some(found));
            }
            Some(c) if c.is_ascii_graphic() && c != '<' => text.push(c),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// A backslash before a mark, which is then a mark like any other; before a line's end it is the break itself.
pub(super) fn escape(input: &Window, i: usize) -> Result<Option<Found>, More> {
    Ok(match input.char_at(i + 1)? {
        Some('\n') => Some(Found::Marks { end: i + 1 }),
        // Square brackets would yet become tags.
        Some('[') => Some(Found::Say { end: i + 2, says: super::between_words(input, i, i + 2, "(")? }),
        Some(']') => Some(Found::Say { end: i + 2, says: super::between_words(input, i, i + 2, ")")? }),
        Some(c) if c.is_ascii_punctuation() => Some(Found::Keep { end: i + 2, text: i + 1..i + 2 }),
        _ => None,
    })
}
