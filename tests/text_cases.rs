//! Spoken text for given input, case by case.
//!
//! Compared as: both sides in lower case, without white space and punctuation (save `[`, `]` and `_`) unless the case
//! sets `marks`; the spoken text contains one of `any_of` and none of `none_of`. `spoken`, `pieces` and `skipped` are
//! compared as they are. `VOXWIRE_CASES` names another file to run instead of the committed one.

use std::collections::BTreeSet;

use serde::Deserialize;
use voxwire::text::{Intake, Options, prepare};

#[derive(Deserialize)]
struct Case {
    id: String,
    /// What our own variations vary, and their language.
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    lang: Option<String>,
    #[serde(default)]
    input: Option<String>,
    #[serde(default)]
    any_of: Vec<String>,
    #[serde(default)]
    none_of: Vec<String>,
    #[serde(default)]
    marks: bool,
    /// The spoken text, to the letter.
    #[serde(default)]
    spoken: Option<String>,
    #[serde(default)]
    pieces: Option<usize>,
    /// What is skipped, and why.
    #[serde(default)]
    skipped: Option<Vec<(String, String)>>,
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
    if let Some(t) = case.none_of.iter().find(|t| has(t)) {
        return Some(format!("{spoken:?} has {t:?}"));
    }
    let said = prepared.spoken();
    if let Some(expected) = case.spoken.as_ref().filter(|t| **t != said) {
        return Some(format!("{input:?}: expected {expected:?}, found {said:?}"));
    }
    if let Some(expected) = case.pieces.filter(|n| *n != prepared.pieces.len()) {
        return Some(format!("{input:?}: expected {expected} pieces, found {:?}", prepared.pieces));
    }
    if prepared.nothing_to_say != said.is_empty() {
        return Some(format!("{input:?}: nothing to say: {}", prepared.nothing_to_say));
    }
    let why = |skip: &voxwire::text::Skip| serde_json::to_value(skip.why).unwrap().as_str().unwrap().to_string();
    let skipped: Vec<_> = prepared.skipped.iter().map(|skip| (skip.text.clone(), why(skip))).collect();
    let wrong = case.skipped.as_ref().is_some_and(|expected| *expected != skipped);
    wrong.then(|| format!("{input:?}: expected {:?} to be skipped, found {skipped:?}", case.skipped))
}

fn cases() -> Vec<Case> {
    let file = std::env::var("VOXWIRE_CASES")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_cases.jsonl").to_string());
    let lines = std::fs::read_to_string(file).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn spoken_text() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases() {
        let Some(input) = case.input.as_deref() else { continue };
        let expects = case.spoken.is_some() || case.pieces.is_some() || case.skipped.is_some();
        if case.any_of.is_empty() && case.none_of.is_empty() && !expects {
            continue;
        }
        count += 1;
        wrong.extend(complaint(&case, input).map(|what| format!("{}: {what}", case.id)));
    }
    println!("{} of {count} cases pass", count - wrong.len());
    assert!(count > 0 && wrong.is_empty(), "{} of {count} cases fail:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each kind is varied at least five times in each language that has it.
#[test]
fn variations() {
    let chinese_only = ["era", "zero", "liang", "yao", "event"];
    let cases = cases();
    let kinds: BTreeSet<&str> = cases.iter().filter_map(|case| case.kind.as_deref()).collect();
    for kind in &kinds {
        for lang in ["zh", "en"] {
            let of = |case: &&Case| case.kind.as_deref() == Some(kind) && case.lang.as_deref() == Some(lang);
            let count = cases.iter().filter(of).count();
            assert!(count >= 5 || (lang == "en" && chinese_only.contains(kind)), "{kind}, {lang}: {count}");
        }
    }
    assert!(std::env::var_os("VOXWIRE_CASES").is_some() || kinds.len() > 20);
}

/// All texts, each alone and all of them as one: what comes one character at a time is spoken as what comes whole.
#[test]
fn one_character_at_a_time() {
    let mut texts: Vec<String> = cases().into_iter().filter_map(|case| case.input).collect();
    assert!(texts.len() > 20);
    texts.push(texts.join("\n"));
    for text in texts {
        let options = Options::new(&knows);
        let mut intake = Intake::new(text.chars().count());
        let mut pieces = Vec::new();
        for c in text.split_inclusive(|_| true) {
            pieces.extend(intake.push(c, &options).unwrap());
        }
        let last = intake.finish(&options);
        pieces.extend(last.pieces);
        let whole = prepare(&text, &options).unwrap();
        assert_eq!(pieces, whole.pieces, "{text:?}");
        assert_eq!((last.rewritten, last.skipped), (whole.rewritten, whole.skipped), "{text:?}");
        assert_eq!(last.nothing_to_say, whole.nothing_to_say, "{text:?}");
    }
}
