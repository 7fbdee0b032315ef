//! Spoken text for given input, case by case.
//!
//! Compared as: both sides in lower case, without white space and punctuation (save `[`, `]` and `_`) unless the case
//! sets `marks`; the spoken text contains one of `any_of` and none of `none_of`. `VOXWIRE_CASES` names another file to
//! run instead of the committed one.

use serde::Deserialize;
use voxwire::text::{Options, prepare};

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    input: Option<String>,
    #[serde(default)]
    any_of: Vec<String>,
    #[serde(default)]
    none_of: Vec<String>,
    #[serde(default)]
    marks: bool,
}

/// As ChatTTS's tokenizer: lower-case Latin, digits, Chinese, kana, ASCII and Chinese marks.
fn knows(c: char) -> bool {
    matches!(c, '!'..='@' | '['..='~' | '\u{3001}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{FF01}'..='\u{FF5E}')
        || "—…“”‘’·℃①②③".contains(c)
}

fn comparable(text: &str, marks: bool) -> String {
    let kept = |c: &char| marks || c.is_alphanumeric() || "[]_".contains(*c);
    text.to_lowercase().chars().filter(kept).collect()
}

/// What is wrong with the spoken text, if anything.
fn complaint(case: &Case, input: &str) -> Option<String> {
    let prepared = match prepare(input, &Options::new(&knows)) {
        Ok(prepared) => prepared,
        Err(e) => return Some(e.to_string()),
    };
    let spoken = comparable(&prepared.spoken(), case.marks);
    let has = |t: &String| spoken.contains(&comparable(t, case.marks));
    if !case.any_of.is_empty() && !case.any_of.iter().any(has) {
        return Some(format!("{spoken:?} has none of {:?}", case.any_of));
    }
    case.none_of.iter().find(|t| has(t)).map(|t| format!("{spoken:?} has {t:?}"))
}

#[test]
fn spoken_text() {
    let file = std::env::var("VOXWIRE_CASES")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_cases.jsonl").to_string());
    let lines = std::fs::read_to_string(file).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let Some(input) = case.input.as_deref() else { continue };
        if case.any_of.is_empty() && case.none_of.is_empty() {
            continue;
        }
        count += 1;
        wrong.extend(complaint(&case, input).map(|what| format!("{}: {what}", case.id)));
    }
    println!("{} of {count} cases pass", count - wrong.len());
    assert!(count > 0 && wrong.is_empty(), "{} of {count} cases fail:\n{}", wrong.len(), wrong.join("\n"));
}
