//! Error codes, and what a refused message is answered with.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most characters of a client's value that a refusal repeats, quotes and ellipsis not counted.
const MAX_ECHO: usize = 36;

/// What went wrong, for a program to read. On the wire in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Not a JSON object.
    BadJson,
    UnknownType,
    BadValue,
    MissingField,
    /// The id is that of an utterance still alive.
    DuplicateId,
    UnknownId,
    /// The utterance has had its final text.
    Finished,
    TooMuchText,
    TooManyUtterances,
    /// The text cannot be read.
    BadText,
    /// The model ended before its first sound.
    NoAudio,
    NotFinite,
    DeviceFailed,
    Internal,
    /// Audio waited longer than the limit for a client that does not read.
    SlowReader,
    /// No room; nothing was spoken.
    Overloaded,
}

impl ErrorCode {
    pub const ALL: [Self; 16] = [
        Self::BadJson,
        Self::UnknownType,
        Self::BadValue,
        Self::MissingField,
        Self::DuplicateId,
        Self::UnknownId,
        Self::Finished,
        Self::TooMuchText,
        Self::TooManyUtterances,
        Self::BadText,
        Self::NoAudio,
        Self::NotFinite,
        Self::DeviceFailed,
        Self::Internal,
        Self::SlowReader,
        Self::Overloaded,
    ];

    /// The code the WebSocket is closed with after this error; `None` where it stays open.
    pub fn close_code(&self) -> Option<u16> {
        match self {
            Self::SlowReader => Some(1008),
            Self::Overloaded => Some(1013),
            Self::BadJson
            | Self::UnknownType
            | Self::BadValue
            | Self::MissingField
            | Self::DuplicateId
            | Self::UnknownId
            | Self::Finished
            | Self::TooMuchText
            | Self::TooManyUtterances
            | Self::BadText
            | Self::NoAudio
            | Self::NotFinite
            | Self::DeviceFailed
            | Self::Internal => None,
        }
    }
}

/// Why a client's message was not taken. Repeats at most 40 characters of a value, with control characters escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: ErrorCode,
    /// One line: the field, what was expected, what was found.
    pub message: String,
    /// The field's dotted path, such as `sampling.top_p`; `None` where the message as a whole is refused.
    pub field: Option<String>,
    /// The message's `id`, where it could be read.
    pub id: Option<String>,
}

impl Refusal {
    /// Refuses the value of `field`. `expected` and `found` complete "expected ..., found ...".
    pub fn of_field(code: ErrorCode, field: String, expected: &str, found: &str) -> Self {
        Self { code, message: format!("{field}: expected {expected}, found {found}"), field: Some(field), id: None }
    }

    /// Refuses a text frame that is not a JSON object.
    pub(super) fn not_an_object(found: &str) -> Self {
        let message = format!("message: expected a JSON object, found {found}");
        Self { code: ErrorCode::BadJson, message, field: None, id: None }
    }
}

/// The JSON type of a value, with its article.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value of the right JSON type, shortened.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(s) => quoted(s),
        Value::Null | Value::Array(_) | Value::Object(_) => kind(value).into(),
    }
}

/// A value of a wrong JSON type: the type, and the value where it is short.
pub(super) fn kind_and_value(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => format!("{} ({value})", kind(value)),
        Value::String(s) if !s.is_empty() => format!("a string ({})", quoted(s)),
        Value::String(_) => "an empty string".into(),
        Value::Null | Value::Array(_) | Value::Object(_) => kind(value).into(),
    }
}

/// Text in quotes, at most 40 characters in all; what does not print, or turns the direction of writing, is escaped.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut room = MAX_ECHO;
    let mut escape = String::new();
    for c in text.chars() {
        escape.clear();
        let _ = match c {
            '\'' => write!(escape, "'"),
            _ => write!(escape, "{}", c.escape_debug()),
        };
        let Some(left) = room.checked_sub(escape.chars().count()) else {
            out.push('…');
            break;
        };
        room = left;
        out.push_str(&escape);
    }
    out.push('"');
    out
}
