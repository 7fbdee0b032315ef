//! Files of a model from the hub, through the `hf-hub` crate: resumed, retried, and accepted by sha256 only.
//!
//! hf-hub keeps a cache of its own layout in the staging folder: `blobs/ETAG.part` while a file is coming in. What it
//! leaves to its caller is done here: a retry that reopens the partial file (its own appends to the wrong place when
//! no byte came between two failures), file names out of response headers, the hash.

use std::fs;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, anyhow};
use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};
use indicatif::ProgressBar;

use super::pull::{Sources, move_synced, remove_if_there};
use crate::model::manifest::{Entry, FileState, Manifest, hash_file};

/// The hub when `HF_ENDPOINT` names no other.
pub const DEFAULT_HUB: &str = "https://huggingface.co";
/// Attempts in a row without a single new byte before a file is given up.
const FRUITLESS_ATTEMPTS: u32 = 5;

/// One repository of the hub at one revision.
pub struct Hub {
    api: Api,
    repo: ApiRepo,
    repository: String,
    revision: String,
    address: String,
    blobs: PathBuf,
    backoff: Duration,
}

/// Why an attempt failed, and whether another one may help.
enum Fault {
    Passing(anyhow::Error),
    Final(anyhow::Error),
}

impl Hub {
    /// Nothing is sent yet. `staging` is hf-hub's cache folder.
    pub fn connect(sources: &Sources, manifest: &Manifest, staging: &Path) -> anyhow::Result<Self> {
        let api = ApiBuilder::from_cache(Cache::new(staging.to_path_buf()))
            .with_endpoint(sources.hub.clone())
            .with_token(sources.token.clone())
            .with_user_agent("voxwire", env!("CARGO_PKG_VERSION"))
            .with_progress(false)
            .with_retries(0)
            .build()
            .context("hub client")?;
        let repo = Repo::with_revision(manifest.repository.clone(), RepoType::Model, manifest.revision.clone());
        Ok(Self {
            blobs: staging.join(repo.folder_name()).join("blobs"),
            repo: api.repo(repo),
            api,
            repository: manifest.repository.clone(),
            revision: manifest.revision.clone(),
            address: sources.hub.clone(),
            backoff: sources.backoff,
        })
    }

    /// Fetches one file to `to`. A partial file of an earlier run is continued.
    pub fn fetch(&self, entry: &Entry, to: &Path, bar: &ProgressBar) -> anyhow::Result<()> {
        let (mut fruitless, mut restarted) = (0, false);
        loop {
            let before = self.bytes_so_far();
            let fault = match self.attempt(entry, bar) {
                Ok((blob, resumed)) => match self.accept(entry, &blob, to)? {
                    FileState::Ok => return Ok(()),
                    // A partial file can be damaged, or be of another revision; a file fetched whole cannot.
                    _ if resumed && !restarted => {
                        restarted = true;
                        continue;
                    }
                    found => return Err(self.wrong(entry, &found)),
                },
                Err(Fault::Final(e)) => return Err(e),
                Err(Fault::Passing(e)) => e,
            };
            fruitless = if self.bytes_so_far() > before { 0 } else { fruitless + 1 };
            if fruitless >= FRUITLESS_ATTEMPTS {
                return Err(fault.context(format!("given up after {fruitless} attempts")));
            }
            let wait = self.backoff * 2u32.pow(fruitless.saturating_sub(1));
            bar.suspend(|| tell!("{fault:#}; trying again in {:.1} s", wait.as_secs_f64()));
            sleep(wait);
        }
    }

    /// One try. Returns where the bytes are, and whether they began with those of an earlier try.
    fn attempt(&self, entry: &Entry, bar: &ProgressBar) -> Result<(PathBuf, bool), Fault> {
        let file = entry.path.as_str();
        let url = self.repo.url(file);
        let metadata = guarded(|| self.api.metadata(&url)).map_err(|e| self.fault(file, e))?;
        // These two become file names in hf-hub's cache: a mirror must not choose where it is written.
        for name in [metadata.etag(), metadata.commit_hash()] {
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
                let found: String = name.chars().take(80).collect();
                return Err(Fault::Final(anyhow!(
                    "{file}: expected a plain ETag and commit from {}, found {found:?}",
                    self.address
                )));
            }
        }
        let (size, expected) = (metadata.size() as u64, entry.size);
        // A small stranger is fetched all the same: what it is (a pointer text, an error page) helps more than its size.
        if size != expected && size > 4096 {
            return Err(Fault::Final(anyhow!("{file}: expected {expected} bytes, found {size} at {}", self.address)));
        }
        let part = self.blobs.join(format!("{}.part", metadata.etag()));
        let had = fs::metadata(&part).map_or(0, |m| m.len());
        if had >= size {
            // Complete but for the last rename, or longer than it can be: asking for the rest would be an error.
            if had == size && hash_file(&part).is_ok_and(|h| h == entry.sha256) {
                return Ok((part, false));
            }
            remove_if_there(&part).map_err(Fault::Final)?;
        }
        let resumed = had > 0 && had < size;
        let pointer =
            guarded(|| self.repo.download_with_progress(file, Reporter(bar))).map_err(|e| self.fault(file, e))?;
        let blob = fs::canonicalize(&pointer).with_context(|| pointer.display().to_string()).map_err(Fault::Final)?;
        // The pointer is of no use here, and a dangling one would stop a second download.
        remove_if_there(&pointer).map_err(Fault::Final)?;
        Ok((blob, resumed))
    }

    /// Moves a right file to `to`; removes a wrong one and says what it was.
    fn accept(&self, entry: &Entry, blob: &Path, to: &Path) -> anyhow::Result<FileState> {
        let state = entry.state_of(blob)?;
        match state {
            FileState::Ok => move_synced(blob, to)?,
            _ => remove_if_there(blob)?,
        }
        Ok(state)
    }

    /// Bytes of the partial and unaccepted files in the cache: grows exactly when an attempt got something.
    fn bytes_so_far(&self) -> u64 {
        let entries = fs::read_dir(&self.blobs).into_iter().flatten().flatten();
        entries.filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum()
    }

    fn wrong(&self, entry: &Entry, found: &FileState) -> anyhow::Error {
        let (file, expected, address) = (entry.path.as_str(), entry.sha256, &self.address);
        let found = match found {
            FileState::Wrong { found } => found.as_str(),
            _ => "no file",
        };
        anyhow!("{file}: expected sha256 {expected}, found {found} from {address}; nothing was replaced")
    }

    /// What a failed request means, in one line.
    fn fault(&self, file: &str, error: ApiError) -> Fault {
        let (address, repository, revision) = (&self.address, &self.repository, &self.revision);
        let status = match &error {
            ApiError::RequestError(e) => match **e {
                ureq::Error::StatusCode(code) => Some(code),
                _ => None,
            },
            _ => None,
        };
        match status {
            Some(code @ (401 | 403)) => Fault::Final(anyhow!(
                "{file}: expected access to {repository} at {address}, found HTTP {code} (set HF_TOKEN to a token that may read it)"
            )),
            Some(404) => Fault::Final(anyhow!(
                "{file}: expected it in {repository} at revision {revision}, found HTTP 404 at {address}"
            )),
            Some(code) if code != 429 && code < 500 => {
                Fault::Final(anyhow!("{file}: expected the file from {address}, found HTTP {code}"))
            }
            _ => {
                let lasting = match &error {
                    ApiError::MissingHeader(_) | ApiError::InvalidHeader(_) => true,
                    ApiError::IoError(e) => matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::PermissionDenied),
                    _ => false,
                };
                let text = error.to_string();
                let distrust = text.contains("invalid peer certificate");
                // hf-hub 0.5 offers no way to hand it other certificates.
                let hint = if distrust {
                    " (only public certificates are trusted here: set HF_ENDPOINT to a mirror that has one)"
                } else {
                    ""
                };
                let error = anyhow!("{file}: fetching from {address}: {text}{hint}");
                if lasting || distrust { Fault::Final(error) } else { Fault::Passing(error) }
            }
        }
    }
}

/// hf-hub 0.5 unwraps parts of what a server answers (a redirect without an address, for one): a broken mirror must be
/// an error here, not the end of the process.
fn guarded<T>(call: impl FnOnce() -> Result<T, ApiError>) -> Result<T, ApiError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(ApiError::InvalidHeader("answer that hf-hub cannot read")))
}

/// Passes hf-hub's progress on to a bar.
struct Reporter<'a>(&'a ProgressBar);

impl Progress for Reporter<'_> {
    fn init(&mut self, size: usize, _: &str) {
        self.0.set_length(size as u64);
        self.0.set_position(0);
        self.0.reset_eta();
    }

    fn update(&mut self, size: usize) {
        self.0.inc(size as u64);
    }

    fn finish(&mut self) {}
}
