//! Which files a published model consists of, by sha256; and whether a folder holds exactly them.
//!
//! A folder says that it is a pinned model by carrying `manifest.toml` beside `asset/` (`voxwire models pull` writes
//! it last). Such a folder is checked at every start by [`Manifest::check`]; a folder without one is somebody's own
//! model, and only tensor names and shapes can be checked there.
//!
//! Reading 1.2 GB takes seconds, so a passed check leaves a stamp, `.verified`: size, modification time and sha256 of
//! every file, and the sha256 of the manifest. While all of these still agree with the file system, nothing is read
//! again. A changed, touched or replaced file makes the stamp stale, and everything is hashed. The stamp protects
//! against damage and mix-ups, not against somebody who can write into the folder and set file times.

mod parse;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::Digest;

/// The manifest of the published ChatTTS model, `models/chattts.toml`.
pub const CHATTTS: &str = include_str!("../../models/chattts.toml");
/// Beside `asset/`: the manifest that a folder claims to follow.
pub const MANIFEST_FILE: &str = "manifest.toml";
/// Beside `asset/`: what the last passed check saw.
pub const STAMP_FILE: &str = ".verified";
/// Longest manifest read from a folder.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("{manifest}: {source}")]
    Toml { manifest: String, source: OneLine },
    #[error("{manifest}: {key}: expected {expected}, found {found}")]
    Value { manifest: String, key: String, expected: &'static str, found: String },
    #[error("{file}: {source}")]
    Io { file: PathBuf, source: std::io::Error },
    #[error("{file}: expected sha256 {expected}, found no such file (run `voxwire models pull {model}`)")]
    Missing { file: PathBuf, expected: Sha256, model: String },
    #[error("{file}: expected sha256 {expected}, found {found} (run `voxwire models pull {model}`)")]
    Wrong { file: PathBuf, expected: Sha256, found: String, model: String },
}

/// A TOML error on a single line; the parser's own report draws the source over several.
#[derive(Debug)]
pub struct OneLine(String);

impl fmt::Display for OneLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OneLine {}

/// What a folder is, as far as hashes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// No `manifest.toml`: somebody's own model, of which only the shapes can be checked.
    Unpinned,
    /// The stamp of an earlier check still holds; nothing was read.
    Stamped,
    /// Every file was hashed just now and is right.
    Hashed,
}

/// The state of one file of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum FileState {
    Ok,
    Missing,
    /// `found` is a sha256, or in words what is there instead of the file.
    Wrong {
        found: String,
    },
}

/// A published model. Every value is checked when it is parsed: paths are relative and stay inside the folder, no two
/// entries share a path, hashes are 32 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub name: String,
    pub title: String,
    /// `owner/name` on the hub.
    pub repository: String,
    /// Commit hash, branch or tag on the hub.
    pub revision: String,
    pub licence: Licence,
    /// What the hub serves.
    pub files: Vec<Entry>,
    pub archive: Archive,
    pub speaker_stats: Extract,
    pub homophones_map: Extract,
    /// The text this was parsed from: what `models pull` writes beside the files.
    pub text: String,
}

/// The licence of the weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Licence {
    pub name: String,
    pub url: String,
    #[serde(default)]
    pub note: String,
}

/// One file of the model's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: RelPath,
    /// Bytes.
    pub size: u64,
    pub sha256: Sha256,
}

/// A source archive (sdist) on a Python package index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Project name in the index, normalised (lower case, `-`).
    pub project: String,
    pub version: String,
    /// File name in the index.
    pub file: String,
    pub size: u64,
    pub sha256: Sha256,
    pub licence: String,
}

/// A file made from one member of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    pub member: RelPath,
    /// The string constant to take out of the member; the whole member when absent.
    pub constant: Option<String>,
    /// What it becomes in the model's folder.
    pub entry: Entry,
}

impl Manifest {
    /// The embedded manifest of the published model.
    pub fn chattts() -> Result<Self, ManifestError> {
        Self::parse(CHATTTS, "chattts.toml")
    }

    /// Parses a manifest; `source` names it in errors.
    pub fn parse(text: &str, source: &str) -> Result<Self, ManifestError> {
        parse::manifest(text, source)
    }

    /// The manifest that the folder `dir` claims to follow, if it carries one.
    pub fn of_dir(dir: &Path) -> Result<Option<Self>, ManifestError> {
        let path = dir.join(MANIFEST_FILE);
        let io = |source| ManifestError::Io { file: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(io(e)),
        };
        let mut text = String::new();
        file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text).map_err(io)?;
        Self::parse(&text, &path.display().to_string()).map(Some)
    }

    /// Every file of the folder: the hub's, then the two that come out of the archive.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.files.iter().chain([&self.speaker_stats.entry, &self.homophones_map.entry])
    }

    /// Bytes of all files together.
    pub fn total_size(&self) -> u64 {
        self.entries().map(|e| e.size).fold(0, u64::saturating_add)
    }

    /// The check at every start: `dir` follows its own `manifest.toml`, or has none.
    ///
    /// Reads nothing but the stamp when that is fresh; otherwise hashes every file, stops at the first that is missing
    /// or wrong, and leaves a new stamp when all are right. A folder that cannot be written is hashed every time.
    pub fn check(dir: &Path) -> Result<Check, ManifestError> {
        let Some(manifest) = Self::of_dir(dir)? else { return Ok(Check::Unpinned) };
        if manifest.stamp_is_fresh(dir) {
            return Ok(Check::Stamped);
        }
        // Taken before the files are read: one that changes meanwhile is then newer than the stamp and hashed again.
        let before = manifest.stamp(dir);
        for entry in manifest.entries() {
            let (file, expected, model) = (entry.path.under(dir), entry.sha256, manifest.name.clone());
            match entry.state(dir)? {
                FileState::Ok => {}
                FileState::Missing => return Err(ManifestError::Missing { file, expected, model }),
                FileState::Wrong { found } => return Err(ManifestError::Wrong { file, expected, found, model }),
            }
        }
        // Without a stamp the next start is slower, never wrong.
        let _ = before.and_then(|stamp| stamp.write(dir));
        Ok(Check::Hashed)
    }

    /// Whether the stamp in `dir` vouches for every file as it is now.
    pub fn stamp_is_fresh(&self, dir: &Path) -> bool {
        let Ok(text) = std::fs::read(dir.join(STAMP_FILE)) else { return false };
        let Ok(stamp) = serde_json::from_slice::<Stamp>(&text) else { return false };
        self.stamp(dir).is_ok_and(|now| now == stamp)
    }

    /// Records that every file of `dir` has just been found right. Only to be called after that.
    pub fn write_stamp(&self, dir: &Path) -> Result<(), ManifestError> {
        self.stamp(dir)?.write(dir)
    }

    fn stamp(&self, dir: &Path) -> Result<Stamp, ManifestError> {
        let files = self.entries().map(|e| Stamped::of(e, dir)).collect::<Result<_, _>>()?;
        Ok(Stamp { manifest: Sha256::of(self.text.as_bytes()).to_string(), files })
    }
}

impl Entry {
    /// Hashes this file of the model in `dir`. Errors other than absence (no permission, a failing disk) are errors.
    pub fn state(&self, dir: &Path) -> Result<FileState, ManifestError> {
        self.state_of(&self.path.under(dir))
    }

    /// Hashes `file`, wherever it is, as a candidate for this entry.
    pub fn state_of(&self, file: &Path) -> Result<FileState, ManifestError> {
        let size = match std::fs::metadata(file) {
            Ok(meta) if !meta.is_file() => return Ok(FileState::Wrong { found: "something that is no file".into() }),
            Ok(meta) => meta.len(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(FileState::Missing),
            Err(source) => return Err(ManifestError::Io { file: file.to_path_buf(), source }),
        };
        let found = hash_file(file)?;
        if found == self.sha256 {
            return Ok(FileState::Ok);
        }
        Ok(FileState::Wrong { found: describe(file, size).unwrap_or_else(|| format!("{found} ({size} bytes)")) })
    }
}

/// The sha256 of a file's content.
pub fn hash_file(path: &Path) -> Result<Sha256, ManifestError> {
    let io = |source| ManifestError::Io { file: path.to_path_buf(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = sha2::Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).map_err(io)? {
            0 => return Ok(Sha256(hasher.finalize().into())),
            n => hasher.update(&block[..n]),
        }
    }
}

/// What a small wrong file is, when that is recognisable: a hash alone would not tell the user what happened.
fn describe(path: &Path, size: u64) -> Option<String> {
    if size > 4096 {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    match bytes.as_slice() {
        [] => Some("an empty file".into()),
        b if b.starts_with(b"version https://git-lfs") => {
            Some("a Git-LFS pointer text: the file itself was not fetched".into())
        }
        b if b.trim_ascii_start().starts_with(b"<") => Some("a page of HTML or XML instead of the file".into()),
        _ => None,
    }
}

/// 32 bytes; shown and parsed as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl FromStr for Sha256 {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A path that stays inside the folder it is joined to: relative, `/` between parts, no `.`, `..`, drive or backslash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelPath(String);

impl RelPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn under(&self, dir: &Path) -> PathBuf {
        dir.join(&self.0)
    }
}

impl FromStr for RelPath {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let plain = |c: char| !c.is_control() && !matches!(c, '\\' | ':');
        let part = |p: &str| !p.is_empty() && p != "." && p != "..";
        let good = text.len() <= 512 && text.chars().all(plain) && text.split('/').all(part);
        if good { Ok(Self(text.into())) } else { Err(()) }
    }
}

/// What a passed check saw.
#[derive(PartialEq, Serialize, Deserialize)]
struct Stamp {
    manifest: String,
    files: Vec<Stamped>,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Stamped {
    path: String,
    size: u64,
    /// Seconds and nanoseconds since 1970: as two numbers, because not every JSON reader keeps 64 bits.
    modified: (u64, u32),
    sha256: String,
}

impl Stamp {
    /// By rename, so that a reader never sees half a stamp.
    fn write(&self, dir: &Path) -> Result<(), ManifestError> {
        let path = dir.join(STAMP_FILE);
        let fresh = dir.join(format!("{STAMP_FILE}.{}", std::process::id()));
        let text = serde_json::to_vec_pretty(self).expect("a stamp of strings and numbers is valid JSON");
        let io = |source| ManifestError::Io { file: path.clone(), source };
        std::fs::write(&fresh, text).map_err(io)?;
        std::fs::rename(&fresh, &path).map_err(io)
    }
}

impl Stamped {
    fn of(entry: &Entry, dir: &Path) -> Result<Self, ManifestError> {
        let file = entry.path.under(dir);
        let read = || {
            let meta = std::fs::metadata(&file)?;
            let age = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok((meta.len(), (age.as_secs(), age.subsec_nanos())))
        };
        let (size, modified) = read().map_err(|source| ManifestError::Io { file: file.clone(), source })?;
        Ok(Self { path: entry.path.as_str().into(), size, modified, sha256: entry.sha256.to_string() })
    }
}
