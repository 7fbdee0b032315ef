//! `voxwire models verify`: every file of a manifest hashed, one line each.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;

use super::installed;
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

/// The folder's own manifest; the published one for a folder of the published layout that was fetched by other means.
fn manifest_for(dir: &Path) -> anyhow::Result<Manifest> {
    if let Some(manifest) = Manifest::of_dir(dir)? {
        return Ok(manifest);
    }
    if let Some(own) = installed::foreign_model(dir, "chattts")? {
        let dir = dir.display();
        bail!(
            "{dir}: expected a manifest.toml to verify against, found {own}: its shapes are checked when it is loaded"
        );
    }
    Ok(Manifest::chattts()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::{CHATTTS, Check, MANIFEST_FILE, Sha256};

    /// A folder that is right by its own manifest: each of the eleven files holds its own path.
    fn right_folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut text = CHATTTS.to_string();
        for entry in Manifest::chattts().unwrap().entries() {
            let (path, file) = (entry.path.as_str(), entry.path.under(dir.path()));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, path).unwrap();
            text = text.replace(&entry.sha256.to_string(), &Sha256::of(path.as_bytes()).to_string());
        }
        std::fs::write(dir.path().join(MANIFEST_FILE), text).unwrap();
        dir
    }

    fn verify(dir: &Path) -> Result<(), String> {
        run(&Args { model: dir.display().to_string(), json: true }).map_err(|e| e.to_string())
    }

    #[test]
    fn a_right_folder_passes_and_spares_the_start_its_hashing() {
        let dir = right_folder();
        verify(dir.path()).unwrap();
        assert_eq!(Manifest::check(dir.path()).unwrap(), Check::Stamped);
    }

    #[test]
    fn one_wrong_and_one_missing_file_fail_and_are_told_apart() {
        let dir = right_folder();
        std::fs::write(dir.path().join("asset/DVAE.safetensors"), "other").unwrap();
        std::fs::remove_file(dir.path().join("asset/gpt/config.json")).unwrap();
        assert!(verify(dir.path()).unwrap_err().contains("2 of 11 files missing or wrong"));
        let manifest = Manifest::of_dir(dir.path()).unwrap().unwrap();
        let states: Vec<_> = manifest.files.iter().map(|e| e.state(dir.path()).unwrap()).collect();
        assert!(matches!(&states[0], FileState::Wrong { found } if found.ends_with("(5 bytes)")), "{states:?}");
        assert_eq!(states[4], FileState::Missing);
        assert!(states[1..4].iter().chain(&states[5..]).all(|s| *s == FileState::Ok), "{states:?}");
    }

    #[test]
    fn somebodys_own_model_has_nothing_to_be_verified_against() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.json"), "{}").unwrap();
        assert!(verify(dir.path()).unwrap_err().contains("expected a manifest.toml"));
        assert!(verify(&dir.path().join("none")).unwrap_err().contains("expected a model's folder"));
    }
}
