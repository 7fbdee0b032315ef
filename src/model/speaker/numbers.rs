//! A speaker vector written as decimal numbers: a line of CSV, a column, or a bracketed list.

use super::string::{VectorError, check_vector};

/// Longest text of numbers accepted: 768 numbers with all their digits take 10 to 20 KB.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NumbersError {
    #[error("numbers: expected {expected}, found {found}")]
    Count { expected: usize, found: usize },
    #[error("numbers: value {position}: expected a number, found {found:?}")]
    NotANumber { position: usize, found: String },
    #[error("numbers: {0}")]
    Vector(#[from] VectorError),
    #[error("numbers: expected at most {MAX_TEXT_BYTES} bytes, found {0}")]
    TooLong(usize),
}

/// Whether `text` is meant as numbers: its first word, brackets aside, is one.
pub fn looks_like_numbers(text: &str) -> bool {
    let inner = strip_brackets(text);
    let word = inner.split(|c: char| c == ',' || c.is_whitespace()).find(|w| !w.is_empty()).unwrap_or("");
    word.len() <= MAX_WORD && word.parse::<f32>().is_ok() || text.trim_start().starts_with('[')
}

const MAX_WORD: usize = 64;

/// Parses exactly `hidden` numbers separated by commas or white space, on one line or many, with or without brackets
/// and quotes around them. Positions in errors count from 1. The values are not normalised.
pub fn parse(text: &str, hidden: usize) -> Result<Vec<f32>, NumbersError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(NumbersError::TooLong(text.len()));
    }
    let inner = strip_brackets(text);
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    let mut values = Vec::new();
    let mut push = |word: &str| -> Result<(), NumbersError> {
        let position = values.len() + 1;
        let found = || word.chars().take(24).collect();
        values.push(word.parse::<f32>().map_err(|_| NumbersError::NotANumber { position, found: found() })?);
        Ok(())
    };
    for field in inner.split(',') {
        let mut words = field.split_whitespace().peekable();
        if words.peek().is_none() {
            push("")?;
        }
        words.try_for_each(&mut push)?;
    }
    if values.len() != hidden {
        return Err(NumbersError::Count { expected: hidden, found: values.len() });
    }
    check_vector(&values)?;
    Ok(values)
}

/// Takes off quotes, brackets and white space, in pairs, from outside in.
fn strip_brackets(text: &str) -> &str {
    let mut text = text.trim();
    for (open, close) in [('"', '"'), ('[', ']'), ('[', ']'), ('(', ')')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|t| t.strip_suffix(close)) {
            text = inner.trim();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_of_the_same_numbers() {
        for text in [
            "1,-2.5,3e-1",
            " 1 -2.5 0.3 ",
            "1\n-2.5\n0.3\n",
            "1,\n-2.5,\r\n0.3,\n",
            "[1, -2.5, 0.3]",
            "\"[[1,-2.5,.3]]\"",
        ] {
            assert!(looks_like_numbers(text), "{text:?}");
            assert_eq!(parse(text, 3), Ok(vec![1.0, -2.5, 0.3]), "{text:?}");
        }
    }

    #[test]
    fn faults_are_named_by_position() {
        let fault = |text: &str| parse(text, 3).unwrap_err().to_string();
        assert_eq!(fault("1,2"), "numbers: expected 3, found 2");
        assert_eq!(fault("1,2,3,4"), "numbers: expected 3, found 4");
        assert_eq!(fault("1,two,3"), "numbers: value 2: expected a number, found \"two\"");
        assert_eq!(fault("1,,3"), "numbers: value 2: expected a number, found \"\"");
        assert_eq!(fault("1,2,NaN"), "numbers: value 3: expected a finite number, found NaN");
        assert_eq!(fault("1,-1e39,2"), "numbers: value 2: expected a finite number, found -inf");
        assert_eq!(fault("0,0,0"), "numbers: expected a vector with a direction, found all zeros");
    }

    #[test]
    fn words_are_not_numbers() {
        for text in ["hello", "", "蘁淰救", "alloy,1"] {
            assert!(!looks_like_numbers(text), "{text:?}");
        }
    }
}
