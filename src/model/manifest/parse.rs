//! TOML text -> a checked [`Manifest`]. Whatever is wrong is one line naming the manifest and the key.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::Deserialize;

use super::{Archive, Entry, Extract, Licence, MANIFEST_FILE, Manifest, ManifestError, OneLine, RelPath, STAMP_FILE};

pub(super) fn manifest(text: &str, source: &str) -> Result<Manifest, ManifestError> {
    let raw: RawManifest = toml::from_str(text).map_err(|e| one_line(&e, text, source))?;
    let checker = Checker(source);
    let manifest = raw.into_manifest(text, &checker)?;
    checker.refuse_duplicates(&manifest)?;
    Ok(manifest)
}

fn one_line(error: &toml::de::Error, text: &str, source: &str) -> ManifestError {
    let at = error.span().map(|s| text.get(..s.start).unwrap_or(text).lines().count().max(1));
    let line = at.map_or(String::new(), |n| format!("line {n}: "));
    let message = error.message().replace('\n', ", ");
    ManifestError::Toml { manifest: source.into(), source: OneLine(format!("{line}{message}")) }
}

/// Turns raw strings into checked values; holds the manifest's name for the errors.
struct Checker<'a>(&'a str);

impl Checker<'_> {
    fn error(&self, key: &str, expected: &'static str, found: &str) -> ManifestError {
        let found = format!("{:?}", found.chars().take(80).collect::<String>());
        ManifestError::Value { manifest: self.0.into(), key: key.into(), expected, found }
    }

    fn parse<T: FromStr>(&self, key: &str, expected: &'static str, text: &str) -> Result<T, ManifestError> {
        text.parse().map_err(|_| self.error(key, expected, text))
    }

    fn path(&self, key: &str, text: &str) -> Result<RelPath, ManifestError> {
        self.parse(key, "a relative path inside the model's folder, without `..`", text)
    }

    fn entry(&self, key: &str, path: &str, size: u64, sha256: &str) -> Result<Entry, ManifestError> {
        let path = self.path(&format!("{key}.path"), path)?;
        let sha256 = self.parse(&format!("{key}.sha256"), "64 hex digits", sha256)?;
        Ok(Entry { path, size, sha256 })
    }

    /// A text that becomes part of an address.
    fn word(&self, key: &str, text: &str) -> Result<String, ManifestError> {
        let good = is_word(text);
        if good { Ok(text.into()) } else { Err(self.error(key, "one word of letters, digits, `-`, `_` and `.`", text)) }
    }

    fn repository(&self, key: &str, text: &str) -> Result<String, ManifestError> {
        let good = text.split_once('/').is_some_and(|(owner, name)| is_word(owner) && is_word(name));
        if good { Ok(text.into()) } else { Err(self.error(key, "owner/name", text)) }
    }

    fn refuse_duplicates(&self, manifest: &Manifest) -> Result<(), ManifestError> {
        let mut seen = BTreeSet::from([MANIFEST_FILE.to_string(), STAMP_FILE.to_string()]);
        for (i, entry) in manifest.entries().enumerate() {
            // In lower case: on a case-insensitive file system two spellings would be one file.
            if seen.insert(entry.path.as_str().to_lowercase()) {
                continue;
            }
            let key = match i.checked_sub(manifest.files.len()) {
                None => format!("files[{i}].path"),
                Some(0) => "speaker_stats.path".into(),
                Some(_) => "homophones_map.path".into(),
            };
            return Err(self.error(&key, "a path that no other entry has", entry.path.as_str()));
        }
        Ok(())
    }
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.len() <= 128 && text.chars().all(plain) && text.chars().any(|c| c != '.')
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    name: String,
    title: String,
    repository: String,
    revision: String,
    licence: Licence,
    files: Vec<RawEntry>,
    source_archive: RawArchive,
    speaker_stats: RawExtract,
    homophones_map: RawExtract,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    path: String,
    size: u64,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArchive {
    project: String,
    version: String,
    file: String,
    size: u64,
    sha256: String,
    licence: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExtract {
    member: String,
    constant: Option<String>,
    path: String,
    size: u64,
    sha256: String,
}

impl RawManifest {
    fn into_manifest(self, text: &str, checker: &Checker<'_>) -> Result<Manifest, ManifestError> {
        let file = |(i, f): (usize, &RawEntry)| checker.entry(&format!("files[{i}]"), &f.path, f.size, &f.sha256);
        Ok(Manifest {
            name: checker.word("name", &self.name)?,
            title: self.title,
            repository: checker.repository("repository", &self.repository)?,
            revision: checker.word("revision", &self.revision)?,
            licence: self.licence,
            files: self.files.iter().enumerate().map(file).collect::<Result<_, _>>()?,
            archive: self.source_archive.into_archive(checker)?,
            speaker_stats: self.speaker_stats.into_extract("speaker_stats", checker)?,
            homophones_map: self.homophones_map.into_extract("homophones_map", checker)?,
            text: text.into(),
        })
    }
}

impl RawArchive {
    fn into_archive(self, checker: &Checker<'_>) -> Result<Archive, ManifestError> {
        Ok(Archive {
            project: checker.word("source_archive.project", &self.project)?,
            version: checker.word("source_archive.version", &self.version)?,
            file: checker.word("source_archive.file", &self.file)?,
            size: self.size,
            sha256: checker.parse("source_archive.sha256", "64 hex digits", &self.sha256)?,
            licence: self.licence,
        })
    }
}

impl RawExtract {
    fn into_extract(self, key: &str, checker: &Checker<'_>) -> Result<Extract, ManifestError> {
        let member = checker.path(&format!("{key}.member"), &self.member)?;
        let constant = self.constant.map(|c| checker.word(&format!("{key}.constant"), &c)).transpose()?;
        Ok(Extract { member, constant, entry: checker.entry(key, &self.path, self.size, &self.sha256)? })
    }
}
