//! A model's map of characters it reads badly to common ones of the same sound: `{"粡":"同"}`. The published model's comes
//! with `models pull`; a model without the file does without.

use std::collections::HashMap;
use std::path::Path;

use super::ChangeKind;
use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, is_han};

/// Most bytes of the file.
pub const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum HomophonesError {
    #[error("homophones {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error("homophones {file}: expected at most {MAX_BYTES} bytes, found {found}")]
    TooLarge { file: String, found: u64 },
    #[error("homophones {file}: expected a JSON object of strings, found {error}")]
    Json { file: String, error: serde_json::Error },
    #[error("homophones {file}: expected one Chinese character for another, found {from:?}: {to:?}")]
    Entry { file: String, from: String, to: String },
}

/// Characters and what is given to the model in their place.
#[derive(Debug, Default)]
pub struct Homophones {
    map: HashMap<char, char>,
}

impl Homophones {
    /// From the file at `path`, `None` where there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, HomophonesError> {
        let file = path.display().to_string();
        let found = match std::fs::metadata(path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(HomophonesError::Read { file, error }),
        };
        if found > MAX_BYTES {
            return Err(HomophonesError::TooLarge { file, found });
        }
        let text = std::fs::read_to_string(path);
        Self::parse(&file, &text.map_err(|error| HomophonesError::Read { file: file.clone(), error })?).map(Some)
    }

    /// From text; `file` is for errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, HomophonesError> {
        let entries: HashMap<String, String> =
            serde_json::from_str(text).map_err(|error| HomophonesError::Json { file: file.to_string(), error })?;
        let one = |text: &str| {
            let mut chars = text.chars();
            chars.next().filter(|c| is_han(*c) && chars.next().is_none())
        };
        let pair = |(from, to): (String, String)| match (one(&from), one(&to)) {
            (Some(a), Some(b)) => Ok((a, b)),
            _ => Err(HomophonesError::Entry { file: file.to_string(), from, to }),
        };
        Ok(Self { map: entries.into_iter().map(pair).collect::<Result<_, _>>()? })
    }

    /// What is given to the model in place of `from`.
    pub fn get(&self, from: char) -> Option<char> {
        self.map.get(&from).copied()
    }

    /// How many characters it changes.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

/// Stage 9: characters the model reads badly. What the user's lexicon says goes through it too.
#[derive(Default)]
pub(super) struct Swap {
    pub log: Log,
}

impl Stage for Swap {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let known = |c: &char| (context.options.knows)(*c);
        let swapped = unit.as_char().and_then(|from| {
            let to = context.options.homophones?.get(from).filter(known)?;
            (to != from).then_some(to)
        });
        if let Some(to) = swapped {
            self.log.change(context.raw, unit.span(), &to.to_string(), ChangeKind::Homophone);
        }
        out.push(swapped.map_or(unit, |to| unit.with(to)));
        Ok(i + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Intake, Lexicon, Options, chattts_knows, explain};

    const MAP: &str = r#"{"粡":"同","枒":"牙","好":"好","猫":"毛"}"#;

    #[test]
    fn characters_are_swapped_and_each_is_reported() {
        let homophones = Homophones::parse("map", MAP).unwrap();
        assert_eq!((homophones.len(), homophones.is_empty()), (4, false));
        let lexicon = Lexicon::parse("words", "狗\t粡").unwrap();
        let options =
            Options { homophones: Some(&homophones), lexicon: Some(&lexicon), ..Options::new(&chattts_knows) };
        let raw = "枒粡好，3只猫和狗。";
        let shown = explain(raw, &options, true).unwrap();
        assert_eq!(shown.spoken, "牙同好，三只毛和同。");
        let swaps: Vec<_> = shown.prepared.rewritten.iter().filter(|c| c.kind == ChangeKind::Homophone).collect();
        let seen: Vec<_> = swaps.iter().map(|c| (c.from.as_str(), c.to.as_str(), c.chars.clone())).collect();
        assert_eq!(seen, [("枒粡", "牙同", 0..2), ("猫", "毛", 6..7), ("狗", "同", 8..9)]);
        assert_eq!(serde_json::to_value(swaps[0].kind).unwrap(), "homophone");
        let stages: Vec<_> = shown.stages.iter().rev().take(3).map(|s| (s.stage, s.text.as_str())).collect();
        assert_eq!(
            stages,
            [
                ("homophones", "牙同好，三只毛和同。"),
                ("lexicon", "枒粡好，三只猫和粡。"),
                ("marks", "枒粡好，三只猫和狗。")
            ]
        );
        // Whatever way the text came.
        let mut intake = Intake::new(usize::MAX);
        let parts = raw.split_inclusive(|_| true).map(|c| intake.push(c, &options).unwrap());
        let mut pieces = parts.collect::<Vec<_>>().concat();
        let last = intake.finish(&options);
        pieces.extend(last.pieces);
        assert_eq!((pieces, last.rewritten), (shown.prepared.pieces, shown.prepared.rewritten));
    }

    #[test]
    fn what_the_model_does_not_know_is_not_given_to_it_and_without_a_map_nothing_changes() {
        let homophones = Homophones::parse("map", MAP).unwrap();
        let knows = |c| c != '牙' && chattts_knows(c);
        let options = Options { homophones: Some(&homophones), ..Options::new(&knows) };
        assert_eq!(explain("枒粡", &options, false).unwrap().spoken, "枒同");
        let without = explain("枒粡", &Options::new(&chattts_knows), true).unwrap();
        assert_eq!((without.spoken.as_str(), without.prepared.rewritten.len()), ("枒粡", 0));
        assert_eq!(without.stages.last().unwrap().stage, "marks");
    }

    #[test]
    fn errors_name_the_file_and_what_is_wrong() {
        for (text, message) in [
            ("[]", "homophones f: expected a JSON object of strings, found invalid type: sequence, expected a map"),
            (r#"{"a":"b"}"#, r#"homophones f: expected one Chinese character for another, found "a": "b""#),
            (r#"{"你":""}"#, r#"homophones f: expected one Chinese character for another, found "你": """#),
            (r#"{"你":"你们"}"#, r#"homophones f: expected one Chinese character for another, found "你": "你们""#),
        ] {
            let error = Homophones::parse("f", text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map.json");
        assert!(Homophones::load(&path).unwrap().is_none());
        std::fs::write(&path, MAP).unwrap();
        assert_eq!(Homophones::load(&path).unwrap().unwrap().len(), 4);
        std::fs::write(&path, " ".repeat(MAX_BYTES as usize + 1)).unwrap();
        assert!(matches!(Homophones::load(&path), Err(HomophonesError::TooLarge { .. })));
    }
}
