//! Whether a refined text may replace its input. Refinement is for pauses and laughs; a model that also changes words
//! has misspoken, and the input is used.

use super::{TEXT_TAGS, unit::is_word};

/// How much longer a refined text may be.
const MAX_GROWTH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefineRejection {
    #[error("refined text: expected the input's words, found {found:?} in place of {expected:?}")]
    OtherWords { expected: String, found: String },
    #[error("refined text: expected at most {limit} characters and tags, found {found}")]
    TooLong { limit: usize, found: usize },
}

/// Whether two texts have the same words: the tags of [`TEXT_TAGS`], punctuation, case and spaces do not count.
pub fn same_words(a: &str, b: &str) -> bool {
    words(a).eq(words(b))
}

/// Accepts a refined text if its words are the input's and it is at most four times as long. Lengths are counted in
/// characters other than spaces; a tag is one.
pub fn accept_refined(input: &str, refined: &str) -> Result<(), RefineRejection> {
    let (limit, found) = (length(input).max(1) * MAX_GROWTH, length(refined));
    if found > limit {
        return Err(RefineRejection::TooLong { limit, found });
    }
    let (mut expected, mut got) = (words(input), words(refined));
    loop {
        match (expected.next(), got.next()) {
            (None, None) => return Ok(()),
            (a, b) if a == b => {}
            (a, b) => {
                let excerpt = |first: Option<char>, rest: &mut dyn Iterator<Item = char>| {
                    first.into_iter().chain(rest.take(11)).collect()
                };
                let (expected, found) = (excerpt(a, &mut expected), excerpt(b, &mut got));
                return Err(RefineRejection::OtherWords { expected, found });
            }
        }
    }
}

/// Letters and digits in lower case, without tags.
fn words(text: &str) -> impl Iterator<Item = char> {
    parts(text).flatten().filter(|c| is_word(*c)).flat_map(char::to_lowercase)
}

fn length(text: &str) -> usize {
    parts(text).filter(|part| part.is_none_or(|c| !c.is_whitespace())).count()
}

/// The characters of a text; `None` for a tag.
fn parts(text: &str) -> impl Iterator<Item = Option<char>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if let Some(after) = strip_tag(rest) {
            rest = after;
            return Some(None);
        }
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        Some(Some(c))
    })
}

fn strip_tag(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[')?;
    TEXT_TAGS.iter().find_map(|tag| inside.strip_prefix(tag)?.strip_prefix(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_marks_case_and_spaces_do_not_count() {
        assert!(same_words("Hello, world.", "hello [uv_break] world [laugh] [lbreak]"));
        assert!(same_words("你好，世界", "你好 [uv_break] 世界 。"));
        assert!(same_words("it's", "its"));
        assert!(!same_words("hello world", "hello word"));
        assert!(!same_words("hello", "hello hello"));
        // Another token is read as what it is: something that was not in the input.
        assert!(!same_words("hello", "hello [speed_5]"));
    }

    #[test]
    fn a_refinement_with_other_words_is_refused() {
        assert_eq!(accept_refined("the cat sat", "the [uv_break] cat sat [lbreak]"), Ok(()));
        let error = accept_refined("the cat sat", "the cat sang").unwrap_err();
        assert_eq!(error, RefineRejection::OtherWords { expected: "t".into(), found: "ng".into() });
        assert!(error.to_string().contains("\"ng\" in place of \"t\""));
        assert!(accept_refined("the cat sat", "").is_err());
        assert!(accept_refined("", "cat").is_err());
        assert_eq!(accept_refined("", ""), Ok(()));
    }

    #[test]
    fn a_refinement_four_times_as_long_is_refused() {
        let with = |tags: usize| format!("好{}", "[uv_break]".repeat(tags));
        assert_eq!(accept_refined("好", &with(3)), Ok(()));
        assert_eq!(accept_refined("好", &with(4)), Err(RefineRejection::TooLong { limit: 4, found: 5 }));
    }
}
