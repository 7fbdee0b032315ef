//! Emoji as wholes: with their skin tones, joined ones, flags and keycaps.

use super::super::stage::{More, Window};

/// Most characters of one emoji. The longest in use, the flag of a region, has 7; a family of four with skin tones 11.
const MAX_EMOJI: usize = 32;

const JOINER: char = '\u{200D}';
const AS_EMOJI: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// Where the emoji ends that starts with the character at `i`, which is `c`; `None` if it is none.
pub(super) fn end(input: &Window, i: usize, c: char) -> Result<Option<usize>, More> {
    if matches!(c, '0'..='9' | '#' | '*') {
        let sign = i + 1 + usize::from(input.char_at(i + 1)? == Some(AS_EMOJI));
        return Ok((input.char_at(sign)? == Some(KEYCAP)).then_some(sign + 1));
    }
    if is_flag_letter(c) {
        let pair = input.char_at(i + 1)?.is_some_and(is_flag_letter);
        return Ok(Some(i + 1 + usize::from(pair)));
    }
    let shown_as_emoji = is_pictograph(c) || (may_be_emoji(c) && input.char_at(i + 1)? == Some(AS_EMOJI));
    if !shown_as_emoji {
        return Ok(None);
    }
    let mut end = i + 1;
    while end < i + MAX_EMOJI {
        end += match input.char_at(end)? {
            Some('\u{FE0E}' | AS_EMOJI | KEYCAP | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0020}'..='\u{E007F}') => 1,
            Some(JOINER) if input.char_at(end + 1)?.is_some_and(|c| is_pictograph(c) || may_be_emoji(c)) => 2,
            _ => break,
        };
    }
    Ok(Some(end))
}

fn is_flag_letter(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

/// What is shown as an emoji by itself.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{1F000}'..='\u{1F0FF}' | '\u{1F18E}' | '\u{1F191}'..='\u{1F19A}' | '\u{1F200}'..='\u{1F265}')
        || matches!(c, '\u{1F300}'..='\u{1F64F}' | '\u{1F680}'..='\u{1F6FF}' | '\u{1F7E0}'..='\u{1F7FF}')
        || matches!(c, '\u{1F900}'..='\u{1FAFF}' | '⌚' | '⌛' | '⏩'..='⏳' | '◽' | '◾')
        || matches!(
            c,
            '☔' | '☕' | '♈'..='♓' | '♿' | '⚓' | '⚡' | '⚪' | '⚫' | '⚽' | '⚾' | '⛄' | '⛅' | '⛎' | '⛔'
        )
        || matches!(
            c,
            '⛪' | '⛲' | '⛳' | '⛵' | '⛺' | '⛽' | '✅' | '✊' | '✋' | '✨' | '❌' | '❎' | '❓'..='❕' | '❗'
        )
        || matches!(c, '➕'..='➗' | '➰' | '➿' | '⬛' | '⬜' | '⭐' | '⭕')
}

/// What is shown as an emoji where a variation selector or a joiner asks for it.
fn may_be_emoji(c: char) -> bool {
    matches!(c, '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙')
        || matches!(c, '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | 'Ⓜ' | '\u{25A0}'..='\u{27BF}')
        || matches!(c, '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{1F100}'..='\u{1FAFF}')
}
