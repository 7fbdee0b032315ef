//! A JSON object read field by field; every refusal names the field by its dotted path.
//!
//! `null` is the same as leaving a field out. Fields that nobody asks for are ignored.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::refusal::{ErrorCode, Refusal, kind_and_value, quoted, shown};

/// Beyond this a float does not tell an integer from its neighbour.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

pub(super) struct Fields<'a> {
    /// Path of the object with a dot behind it; empty at the top.
    prefix: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub fn top(map: &'a Map<String, Value>) -> Self {
        Self { prefix: String::new(), map }
    }

    /// The fields of the object that is the value of `name`.
    pub fn within(&self, name: &str, map: &'a Map<String, Value>) -> Self {
        Self { prefix: format!("{}{name}.", self.prefix), map }
    }

    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A value of the right JSON type that is not allowed.
    pub fn bad_value(&self, name: &str, expected: &str, found: &Value) -> Refusal {
        Refusal::of_field(ErrorCode::BadValue, self.path(name), expected, &shown(found))
    }

    /// A value of a wrong JSON type.
    pub fn bad_kind(&self, name: &str, expected: &str, found: &Value) -> Refusal {
        Refusal::of_field(ErrorCode::BadValue, self.path(name), expected, &kind_and_value(found))
    }

    pub fn missing(&self, name: &str, expected: &str) -> Refusal {
        let found = if self.map.contains_key(name) { "null" } else { "no such field" };
        Refusal::of_field(ErrorCode::MissingField, self.path(name), expected, found)
    }

    pub fn string(&self, name: &str, expected: &str) -> Result<Option<&'a str>, Refusal> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.bad_kind(name, expected, other)),
        }
    }

    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.bad_kind(name, "true or false", other)),
        }
    }

    /// An integer in `range`, however it is written: 20, 20.0 and 2e1 are one.
    pub fn integer<T: TryFrom<i64>>(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<T>, Refusal> {
        let expected = format!("an integer {} to {}", range.start(), range.end());
        self.integer_where(name, &expected, |n| range.contains(&n))
    }

    /// One of a few integers.
    pub fn integer_of<T: TryFrom<i64>>(&self, name: &str, allowed: &[i64]) -> Result<Option<T>, Refusal> {
        self.integer_where(name, &list(allowed.iter().map(i64::to_string)), |n| allowed.contains(&n))
    }

    fn integer_where<T: TryFrom<i64>>(
        &self,
        name: &str,
        expected: &str,
        allowed: impl Fn(i64) -> bool,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let Value::Number(_) = value else { return Err(self.bad_kind(name, expected, value)) };
        let read = integral(value).filter(|n| allowed(*n)).and_then(|n| T::try_from(n).ok());
        read.map(Some).ok_or_else(|| self.bad_value(name, expected, value))
    }

    /// A number that is `allowed` after rounding to f32.
    pub fn number(&self, name: &str, expected: &str, allowed: impl Fn(f32) -> bool) -> Result<Option<f32>, Refusal> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let Some(wide) = value.as_f64() else { return Err(self.bad_kind(name, expected, value)) };
        let narrow = wide as f32;
        if allowed(narrow) { Ok(Some(narrow)) } else { Err(self.bad_value(name, expected, value)) }
    }

    /// One of a few words.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Refusal> {
        let expected = list(words.iter().map(|(word, _)| quoted(word)));
        let Some(found) = self.string(name, &expected)? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == found) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(self.bad_value(name, &expected, &Value::from(found))),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// `a, b or c`.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    match items.pop() {
        Some(last) if !items.is_empty() => format!("{} or {last}", items.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// The integer a number stands for, if it is one.
pub(super) fn integral(value: &Value) -> Option<i64> {
    let exact = |x: &f64| x.fract() == 0.0 && x.abs() < MAX_EXACT;
    value.as_i64().or_else(|| value.as_f64().filter(exact).map(|x| x as i64))
}
