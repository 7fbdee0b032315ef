//! `voxwire models verify`: every file of a manifest hashed, one line each.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;

use super::installed;
use crate::model::dims::Dims;
use crate::model::manifest::{Entry, FileState, Manifest};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A model's folder, or the name of a pulled model
    #[arg(default_value = "chattts", value_name = "DIR|MODEL")]
    model: String,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    expected: String,
    #[serde(flatten)]
    state: FileState,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let dir = resolve(&args.model)?;
    let manifest = manifest_for(&dir)?;
    let lines = manifest.entries().map(|e| line(e, &dir)).collect::<anyhow::Result<Vec<_>>>()?;
    let faults = lines.iter().filter(|l| l.state != FileState::Ok).count();
    print(args.json, &manifest, &dir, &lines, faults)?;
    if faults > 0 {
        let (dir, n, name) = (dir.display(), lines.len(), &manifest.name);
        bail!("{dir}: {faults} of {n} files missing or wrong (run `voxwire models pull {name} --dir {dir}`)");
    }
    // Only a folder that claims the manifest has a start-up check that a stamp could spare; a read-only one keeps none.
    if Manifest::of_dir(&dir)?.is_some() {
        let _ = manifest.write_stamp(&dir);
    }
    Ok(())
}

fn line<'a>(entry: &'a Entry, dir: &Path) -> anyhow::Result<Line<'a>> {
    Ok(Line { path: entry.path.as_str(), expected: entry.sha256.to_string(), state: entry.state(dir)? })
}

fn print(json: bool, manifest: &Manifest, dir: &Path, lines: &[Line<'_>], faults: usize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        let value = serde_json::json!({ "model": manifest.name, "dir": dir, "ok": faults == 0, "files": lines });
        writeln!(out, "{value}")?;
        return Ok(());
    }
    for l in lines {
        match &l.state {
            FileState::Ok => writeln!(out, "ok       {}", l.path)?,
            FileState::Missing => {
                writeln!(out, "missing  {}: expected sha256 {}, found no such file", l.path, l.expected)?
            }
            FileState::Wrong { found } => {
                writeln!(out, "wrong    {}: expected sha256 {}, found {found}", l.path, l.expected)?;
            }
        }
    }
    Ok(())
}

/// A folder if there is one of that name, else the folder of the model of that name.
fn resolve(model: &str) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(model);
    if path.is_dir() {
        return Ok(path);
    }
    let known = super::known_manifest(model).is_ok();
    let dir = if known { installed::folder_of(model)? } else { path };
    if !dir.is_dir() {
        let hint = if known { " (run `voxwire models pull`)" } else { "" };
        bail!("{}: expected a model's folder, found none{hint}", dir.display());
    }
    Ok(dir)
}

/// The folder's own manifest; the published one for a folder that has the published layout but no manifest.
fn manifest_for(dir: &Path) -> anyhow::Result<Manifest> {
    if let Some(manifest) = Manifest::of_dir(dir)? {
        return Ok(manifest);
    }
    let dims = Dims::load(dir)?;
    if dims.name != "chattts" {
        let (dir, name) = (dir.display(), &dims.name);
        bail!("{dir}: expected a manifest.toml to verify against, found none: {name} is checked by its shapes at load");
    }
    Ok(Manifest::chattts()?)
}
