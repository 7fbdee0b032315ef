//! The user's lexicon: words and how they are to be spoken.
//!
//! A file in UTF-8 of lines `word<TAB>reading`; empty lines and lines that begin with `#` say nothing. A word in Latin
//! letters stands for itself in any case and only as a whole; Chinese characters also inside longer words. Where several
//! entries fit, the longest one counts; of two lines for one word the later.
//!
//! The words are compared with the text as it is about to be spoken, so a word with digits or signs is first put through
//! the front end itself: `5G` finds 五g and "five g". What an entry makes is not looked at again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::stage::{Context, More, Stage, Window};
use super::unit::{Log, Unit, is_han, is_latin, is_word};
use super::{ChangeKind, Language, Options, chattts_knows, prepare};

/// Most bytes of a lexicon file.
pub const MAX_BYTES: u64 = 1 << 20;

/// Most entries of a lexicon.
pub const MAX_ENTRIES: usize = 20_000;

/// Most characters of a word, which bounds how far ahead is looked, and of a reading.
pub const MAX_CHARS: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum LexiconError {
    #[error("lexicon {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error("lexicon {file}: expected at most {MAX_BYTES} bytes, found {found}")]
    TooLarge { file: String, found: u64 },
    #[error("lexicon {file}, line {line}: expected {expected}, found {found}")]
    Line { file: String, line: usize, expected: String, found: String },
}

/// Words and their readings. Made once, shared by all texts.
#[derive(Debug, Default)]
pub struct Lexicon {
    /// Edges of a tree of characters; node 0 is its root.
    edges: HashMap<(u32, char), u32>,
    /// The reading that ends at each node, as an index.
    ends: Vec<Option<u32>>,
    readings: Vec<String>,
}

impl Lexicon {
    /// From the file at `path`. Errors name the file, and the line where one is wrong.
    pub fn load(path: &Path) -> Result<Self, LexiconError> {
        let file = path.display().to_string();
        let unread = |error| LexiconError::Read { file: file.clone(), error };
        let found = std::fs::metadata(path).map_err(unread)?.len();
        if found > MAX_BYTES {
            return Err(LexiconError::TooLarge { file, found });
        }
        Self::parse(&file, &std::fs::read_to_string(path).map_err(unread)?)
    }

    /// From text; `file` is for errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, LexiconError> {
        let mut lexicon = Self { ends: vec![None], ..Self::default() };
        for (n, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let wrong = |expected: &str, found: &str| {
                let (expected, found) = (expected.to_string(), found.to_string());
                LexiconError::Line { file: file.to_string(), line: n + 1, expected, found }
            };
            if lexicon.readings.len() == MAX_ENTRIES {
                return Err(wrong(&format!("at most {MAX_ENTRIES} entries"), "one more"));
            }
            let Some((word, reading)) = line.split_once('\t') else {
                return Err(wrong("word<TAB>reading", &format!("no tab in {line:?}")));
            };
            let (word, reading) = (word.trim(), reading.trim());
            for (name, part) in [("word", word), ("reading", reading)] {
                let count = part.chars().count();
                if !(1..=MAX_CHARS).contains(&count) {
                    return Err(wrong(&format!("a {name} of 1 to {MAX_CHARS} characters"), &count.to_string()));
                }
            }
            if let Some(c) = reading.chars().find(|c| !is_speakable(*c)) {
                return Err(wrong(
                    "a reading of letters, Chinese characters, spaces and `,` `，` `、` `'`",
                    &format!("{c:?}"),
                ));
            }
            if lexicon.add(word, reading) == 0 {
                return Err(wrong("a word with a letter, a digit or a sign that is spoken", &format!("{word:?}")));
            }
        }
        Ok(lexicon)
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.readings.len()
    }

    pub fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }

    /// Adds the forms in which `word` is about to be spoken; returns how many.
    fn add(&mut self, word: &str, reading: &str) -> usize {
        let index = self.readings.len() as u32;
        self.readings.push(reading.split_whitespace().collect::<Vec<_>>().join(" "));
        let forms = spoken_forms(word);
        for form in &forms {
            let mut node = 0;
            for c in form.chars() {
                let fresh = self.ends.len() as u32;
                node = *self.edges.entry((node, c)).or_insert(fresh);
                if node == fresh {
                    self.ends.push(None);
                }
            }
            self.ends[node as usize] = Some(index);
        }
        forms.len()
    }

    /// The longest entry that fits at `i`: the index after it, and its reading.
    fn longest(&self, input: &Window, i: usize) -> Result<Option<(usize, &str)>, More> {
        let in_word = |c: Option<char>| c.is_some_and(|c| is_latin(c) || c.is_ascii_digit() || c == '\'');
        if in_word(input.char_before(i, 1)) && in_word(input.char_at(i)?) {
            return Ok(None);
        }
        let (mut node, mut k, mut found) = (0, i, None);
        while let Some(c) = input.char_at(k)? {
            let Some(next) = self.edges.get(&(node, lower(c))) else { break };
            node = *next;
            k += 1;
            if let Some(index) = self.ends[node as usize]
                && !(in_word(Some(c)) && in_word(input.char_at(k)?))
            {
                found = Some((k, self.readings[index as usize].as_str()));
            }
        }
        Ok(found)
    }
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn is_speakable(c: char) -> bool {
    is_han(c) || is_latin(c) || matches!(c, ' ' | '\'' | ',' | '，' | '、')
}

/// `word` as the front end speaks it, in Chinese, in English, and where nothing tells which.
fn spoken_forms(word: &str) -> Vec<String> {
    let plain = word.chars().all(|c| is_han(c) && c != '〇') || word.chars().all(|c| c.is_ascii_lowercase());
    if plain {
        return vec![word.to_string()];
    }
    // Between Chinese characters, in English, and alone.
    let among = format!("中{word}中");
    let (both, english) = (&[Language::Chinese, Language::English][..], &[Language::English][..]);
    // SQL is spoken as letters, and sql is not.
    let small = word.chars().all(|c| c.is_ascii_alphabetic()).then(|| word.to_ascii_lowercase());
    let mut forms: Vec<String> = Vec::from_iter(small);
    for (raw, languages) in [(among.as_str(), both), (word, english), (word, both)] {
        let options = Options { languages, ..Options::new(&chattts_knows) };
        let spoken = prepare(raw, &options).map(|p| p.spoken()).unwrap_or_default();
        let inner = if raw == among {
            spoken.trim_end_matches('。').strip_prefix('中').and_then(|s| s.strip_suffix('中'))
        } else {
            None
        };
        let spoken = inner.unwrap_or(&spoken);
        let form: String = spoken.trim_matches(|c: char| !is_word(c)).chars().map(lower).collect();
        if !form.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// A lexicon file that may change while the program runs.
#[derive(Debug)]
pub struct LexiconFile {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lexicon: Arc<Lexicon>,
    /// Length and time of change of the file as last read, right or wrong.
    seen: Option<(u64, SystemTime)>,
}

impl LexiconFile {
    /// Reads the file for the first time; it must be right.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, LexiconError> {
        let path = path.into();
        let seen = stamp(&path);
        let lexicon = Arc::new(Lexicon::load(&path)?);
        Ok(Self { path, state: Mutex::new(State { lexicon, seen }) })
    }

    /// The lexicon as the file has it now. A file that was changed is read again; one that is wrong or gone is logged
    /// once, and the lexicon stays as it was. Costs a look at the file's date.
    pub fn current(&self) -> Arc<Lexicon> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.path);
        if now != state.seen {
            state.seen = now;
            match Lexicon::load(&self.path) {
                Ok(lexicon) => {
                    tracing::info!(file = %self.path.display(), entries = lexicon.len(), "lexicon read again");
                    state.lexicon = Arc::new(lexicon);
                }
                Err(error) => tracing::error!(%error, "lexicon kept as it was"),
            }
        }
        state.lexicon.clone()
    }
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()?))
}

/// Stage 8: words of the user's lexicon. Without one it hands on what comes, at once.
#[derive(Default)]
pub(super) struct Lookup {
    pub log: Log,
    last: Option<char>,
}

impl Lookup {
    pub fn restart(&mut self) {
        self.last = None;
    }
}

impl Stage for Lookup {
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More> {
        let Some(unit) = input.at(i)? else {
            return Ok(i + 1);
        };
        let found = match context.options.lexicon {
            Some(lexicon) => lexicon.longest(input, i)?,
            None => None,
        };
        // A model that lacks a character of the reading does better with the word.
        let known = |c: char| c == ' ' || (context.options.knows)(c);
        let spoken = found.map(|(end, reading)| {
            let lower_all = context.facts.lower_all;
            (end, if lower_all { reading.to_lowercase() } else { reading.to_string() })
        });
        let Some((end, reading)) = spoken.filter(|(_, reading)| reading.chars().all(known)) else {
            self.last = unit.as_char();
            out.push(unit);
            return Ok(i + 1);
        };
        let latin = |c: Option<char>| c.is_some_and(|c| is_latin(c) || c == '\'');
        let after = if latin(reading.chars().next_back()) { input.char_at(end)? } else { None };
        let span = unit.start..input.at(end - 1)?.unwrap_or(unit).end;
        self.log.change(context.raw, span.clone(), &reading, ChangeKind::Lexicon);
        if latin(reading.chars().next()) && self.last.is_some_and(is_word) {
            out.push(Unit::char(' ', span.clone()));
        }
        reading.chars().for_each(|c| out.push(Unit::char(c, span.clone())));
        if after.is_some_and(is_word) {
            out.push(Unit::char(' ', span));
        }
        self.last = reading.chars().next_back();
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Intake;

    fn spoken(lexicon: &str, raw: &str) -> String {
        let lexicon = Lexicon::parse("test", lexicon).unwrap();
        let options = Options { lexicon: Some(&lexicon), ..Options::new(&chattts_knows) };
        let whole = prepare(raw, &options).unwrap();
        let mut intake = Intake::new(usize::MAX);
        let mut pieces = Vec::new();
        for c in raw.split_inclusive(|_| true) {
            pieces.extend(intake.push(c, &options).unwrap());
        }
        let last = intake.finish(&options);
        pieces.extend(last.pieces);
        assert_eq!((&pieces, &last.rewritten), (&whole.pieces, &whole.rewritten), "{raw:?}");
        whole.spoken()
    }

    #[test]
    fn words_get_their_readings() {
        for (lexicon, raw, expected) in [
            ("行长\t航掌", "银行行长长大了", "银行航掌长大了"),
            ("行长\t航掌\n银行行长\t银航航掌", "银行行长长大了", "银航航掌长大了"),
            ("SQL\tsequel", "Use SQL, sql and MySQL.", "use sequel, sequel and my sequel."),
            ("New York\tbig apple", "in new york. New Yorker.", "in big apple. new yorker."),
            ("5G\t五鸡", "5G时代", "五鸡时代"),
            ("C++\tsee plus plus", "Learn C++ now", "learn see plus plus now"),
            ("你\tyou", "爱你a", "爱 you a"),
            ("don't\tdo not", "I don't. Don'ts", "i do not. don'ts"),
            ("# none\n\n", "你好", "你好"),
            ("重庆\t虫庆\r\n重\t仲\r\n", "重庆很重", "虫庆很仲"),
        ] {
            assert_eq!(spoken(lexicon, raw), expected, "{lexicon:?}");
        }
        assert_eq!(prepare("银行行长长大了", &Options::new(&chattts_knows)).unwrap().spoken(), "银行行长长大了");
    }

    #[test]
    fn changes_are_reported_with_their_source() {
        let lexicon = Lexicon::parse("test", "行长\t航掌").unwrap();
        let options = Options { lexicon: Some(&lexicon), ..Options::new(&chattts_knows) };
        let p = prepare("银行行长", &options).unwrap();
        let change = &p.rewritten[0];
        assert_eq!((change.from.as_str(), change.to.as_str(), change.chars.clone()), ("行长", "航掌", 2..4));
        assert_eq!(change.kind, ChangeKind::Lexicon);
        // A model without the reading's characters speaks the word.
        let options = Options { knows: &|c| c != '航' && chattts_knows(c), ..options };
        assert_eq!(prepare("行长", &options).unwrap().spoken(), "行长");
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, message) in [
            ("a\tb\nab", "lexicon f, line 2: expected word<TAB>reading, found no tab in \"ab\""),
            ("a\t", "lexicon f, line 1: expected a reading of 1 to 64 characters, found 0"),
            ("\tb", "lexicon f, line 1: expected a word of 1 to 64 characters, found 0"),
            (
                "a\t5",
                "lexicon f, line 1: expected a reading of letters, Chinese characters, spaces and `,` `，` `、` `'`, found '5'",
            ),
            (
                "。\tb",
                "lexicon f, line 1: expected a word with a letter, a digit or a sign that is spoken, found \"。\"",
            ),
        ] {
            assert_eq!(Lexicon::parse("f", text).unwrap_err().to_string(), message);
        }
        let long = "一\t二\n".repeat(MAX_ENTRIES + 1);
        let error = Lexicon::parse("f", &long).unwrap_err().to_string();
        assert_eq!(error, "lexicon f, line 20001: expected at most 20000 entries, found one more");
        assert!(
            Lexicon::load(Path::new("no such file")).unwrap_err().to_string().starts_with("lexicon no such file: ")
        );
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words.tsv");
        std::fs::write(&path, "行长\t航掌\n").unwrap();
        let file = LexiconFile::open(&path).unwrap();
        let first = file.current();
        assert!(Arc::ptr_eq(&first, &file.current()));
        std::fs::write(&path, "行长\t航掌\n你\t您\n").unwrap();
        assert_eq!(file.current().len(), 2);
        std::fs::write(&path, "no tab\n").unwrap();
        assert_eq!(file.current().len(), 2);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.current().len(), 2);
        std::fs::write(&path, "a\tb\n").unwrap();
        assert_eq!(file.current().len(), 1);
    }
}
