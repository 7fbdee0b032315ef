//! Where models live, and what a folder holds, without reading whole weights.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::model::dims::{Capabilities, Dims};
use crate::model::file;
use crate::model::manifest::{MANIFEST_FILE, Manifest};
use crate::model::weights::Checkpoint;

/// Weight files of every ChatTTS model; the Decoder is asked for only where the model says that it has one.
const WEIGHTS: [&str; 4] =
    ["asset/gpt/model.safetensors", "asset/Embed.safetensors", "asset/DVAE.safetensors", "asset/Vocos.safetensors"];
const DECODER: &str = "asset/Decoder.safetensors";
const TOKENIZER: &str = "asset/tokenizer/tokenizer.json";

/// One model folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Installed {
    pub dir: PathBuf,
    pub name: String,
    pub licence: String,
    /// Bytes under `asset/` and beside it.
    pub bytes: u64,
    pub state: State,
    pub refine_text: bool,
    pub decoder: bool,
    pub languages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum State {
    /// Pinned by a manifest, and the stamp of the last full check still holds.
    Verified,
    /// Pinned by a manifest; hashes are compared at the next start or by `models verify`.
    Unverified,
    /// Complete, without a manifest: only shapes can be checked.
    Own,
    /// Why it cannot be loaded.
    Broken(String),
}

impl State {
    pub fn usable(&self) -> bool {
        !matches!(self, State::Broken(_))
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Verified => f.write_str("complete, every sha256 right"),
            State::Unverified => f.write_str("complete, hashes not compared since the files changed"),
            State::Own => f.write_str("complete, no manifest (checked by shape at load)"),
            State::Broken(why) => write!(f, "cannot be used: {why}"),
        }
    }
}

/// The folder that holds pulled models: `VOXWIRE_MODELS`, else `voxwire/models` in the user's data folder.
pub fn root() -> anyhow::Result<PathBuf> {
    root_from(|name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from))
}

fn root_from(var: impl Fn(&str) -> Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(root) = var("VOXWIRE_MODELS") {
        return Ok(root);
    }
    // The XDG specification: a relative value is to be ignored.
    let data = var("XDG_DATA_HOME").filter(|p| p.is_absolute());
    let data = data.or_else(|| var("LOCALAPPDATA")).or_else(|| var("HOME").map(|home| home.join(".local/share")));
    match data {
        Some(data) => Ok(data.join("voxwire/models")),
        None => {
            bail!("no folder for models: expected one of VOXWIRE_MODELS, XDG_DATA_HOME, HOME to be set, found none")
        }
    }
}

/// Where `models pull NAME` puts a model.
pub fn folder_of(name: &str) -> anyhow::Result<PathBuf> {
    Ok(root().context("choose a folder with --dir")?.join(name))
}

/// The model that speaks when none is named: `models/demo` under the working folder; where that is not, `demo` and then
/// `chattts` among the pulled ones; else the demo voice inside the program.
pub fn default_dir() -> PathBuf {
    let here = PathBuf::from("models/demo");
    let pulled = root().into_iter().flat_map(|r| ["demo", "chattts"].map(|name| r.join(name)));
    let found = std::iter::once(here).chain(pulled).find(|dir| dir.join("asset").is_dir());
    found.unwrap_or_else(|| file::EMBEDDED.into())
}

/// The default model and every model in the models' folder.
pub fn all() -> Vec<Installed> {
    let mut dirs = vec![default_dir()];
    let entries = root().ok().and_then(|root| std::fs::read_dir(root).ok());
    let mut pulled: Vec<_> = entries.into_iter().flatten().flatten().map(|e| e.path()).collect();
    pulled.sort();
    dirs.extend(pulled.into_iter().filter(|p| *p != dirs[0]).collect::<Vec<_>>());
    // A folder that only holds an unfinished download has no `asset` yet and is no model.
    dirs.iter().filter(|d| file::is_model(d)).map(|d| inspect(d)).collect()
}

/// What `dir` holds. Opens every file's header, so that an absent, truncated or foreign file shows.
pub fn inspect(dir: &Path) -> Installed {
    let dims = Dims::load(dir);
    let manifest = Manifest::of_dir(dir);
    let state = state_of(dir, &dims, &manifest);
    let manifest = manifest.ok().flatten();
    let licence = manifest.as_ref().map(|m| m.licence.name.clone()).or_else(|| stated_licence(dir));
    let unknown = || dir.file_name().map_or_else(|| "unknown".into(), |n| n.to_string_lossy().into_owned());
    let capabilities = dims.as_ref().map(|d| d.capabilities.clone()).unwrap_or_else(|_| no_capabilities());
    Installed {
        dir: dir.to_path_buf(),
        name: dims.map(|d| d.name).ok().or(manifest.map(|m| m.name)).unwrap_or_else(unknown),
        licence: licence.unwrap_or_else(|| "not stated".into()),
        bytes: match dir == Path::new(file::EMBEDDED) {
            true => file::embedded_bytes(),
            false => bytes_under(&dir.join("asset"), 3) + bytes_under(dir, 0),
        },
        state,
        refine_text: capabilities.refine_text,
        decoder: capabilities.decoder,
        languages: capabilities.languages,
    }
}

fn state_of<E: fmt::Display, F: fmt::Display>(
    dir: &Path,
    dims: &Result<Dims, E>,
    manifest: &Result<Option<Manifest>, F>,
) -> State {
    let (dims, manifest) = match (dims, manifest) {
        (Ok(d), Ok(m)) => (d, m),
        (Err(e), _) => return State::Broken(e.to_string()),
        (_, Err(e)) => return State::Broken(e.to_string()),
    };
    let decoder = dims.capabilities.decoder.then_some(DECODER);
    for file in WEIGHTS.into_iter().chain(decoder) {
        if let Err(e) = Checkpoint::open(dir.join(file)) {
            return State::Broken(e.to_string());
        }
    }
    if !file::is_file(&dir.join(TOKENIZER)) {
        return State::Broken(format!("{}: expected the tokenizer, found no such file", dir.join(TOKENIZER).display()));
    }
    match manifest {
        None => State::Own,
        Some(m) if m.stamp_is_fresh(dir) => State::Verified,
        Some(_) => State::Unverified,
    }
}

fn no_capabilities() -> Capabilities {
    Capabilities {
        refine_text: false,
        decoder: false,
        use_decoder_default: false,
        languages: Vec::new(),
        max_words: None,
        closing_mark: false,
        status: None,
    }
}

/// `license` in the configuration beside `asset/`.
fn stated_licence(dir: &Path) -> Option<String> {
    let read = |name| serde_json::from_slice::<serde_json::Value>(&file::read(&dir.join(name)).ok()?).ok();
    let config = read("config.json").or_else(|| read("model_config.json"))?;
    Some(config.get("license").or_else(|| config.get("licence"))?.as_str()?.to_string())
}

/// Bytes of the files in `dir` and at most `depth` folders below; symbolic links to folders are not followed.
fn bytes_under(dir: &Path, depth: usize) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|e| match e.file_type() {
            Ok(t) if t.is_dir() => depth.checked_sub(1).map_or(0, |d| bytes_under(&e.path(), d)),
            Ok(_) => std::fs::metadata(e.path()).map_or(0, |m| if m.is_file() { m.len() } else { 0 }),
            Err(_) => 0,
        })
        .sum()
}

/// Whether a folder is somebody's own model, into which a published one must not be written.
pub fn foreign_model(dir: &Path, name: &str) -> anyhow::Result<Option<String>> {
    if let Some(manifest) = Manifest::of_dir(dir).with_context(|| format!("{}/{MANIFEST_FILE}", dir.display()))? {
        return Ok((manifest.name != name).then_some(manifest.name));
    }
    let config = ["config.json", "model_config.json"].into_iter().find(|f| dir.join(f).exists());
    Ok(config.map(|file| format!("a model of its own ({file})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_follows_the_environment_in_order() {
        let vars = |given: &'static [(&'static str, &'static str)]| {
            root_from(move |name| given.iter().find(|(k, _)| *k == name).map(|(_, v)| PathBuf::from(v)))
        };
        assert_eq!(vars(&[("VOXWIRE_MODELS", "/m"), ("XDG_DATA_HOME", "/x")]).unwrap(), PathBuf::from("/m"));
        assert_eq!(vars(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")]).unwrap(), PathBuf::from("/x/voxwire/models"));
        assert_eq!(vars(&[("HOME", "/h")]).unwrap(), PathBuf::from("/h/.local/share/voxwire/models"));
        let relative = vars(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")]).unwrap();
        assert_eq!(relative, PathBuf::from("/h/.local/share/voxwire/models"));
        assert!(vars(&[]).unwrap_err().to_string().contains("VOXWIRE_MODELS"));
    }

    #[test]
    fn an_empty_folder_is_broken_and_says_which_file_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let found = inspect(dir.path());
        assert!(!found.state.usable());
        assert!(found.state.to_string().contains("asset/gpt/config.json"), "{}", found.state);
        assert!(!found.decoder && !found.refine_text);
    }

    #[test]
    fn the_licence_comes_from_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.json"), r#"{"license":"Apache-2.0"}"#).unwrap();
        assert_eq!(inspect(dir.path()).licence, "Apache-2.0");
        assert!(foreign_model(dir.path(), "chattts").unwrap().unwrap().contains("config.json"));
    }
}
