//! `voxwire models pull|verify|list`: the model folders on this machine.

pub mod hub;
pub mod installed;
pub mod pull;
pub mod sdist;
mod verify;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Subcommand;
use indicatif::DecimalBytes;

use crate::model::manifest::Manifest;
use pull::{Plan, Sources};

/// Fetch, check and list models
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Download a published model; what is there and right already is kept
    Pull(PullArgs),
    /// Hash every file of a model and compare with its manifest
    Verify(verify::Args),
    /// List the models on this machine
    List {
        /// One JSON array instead of text
        #[arg(long)]
        json: bool,
    },
}

const ENVIRONMENT: &str = "\
Environment:
  VOXWIRE_MODELS              folder that holds pulled models
  HF_ENDPOINT, HF_TOKEN       a mirror of the hub; a token for it
  VOXWIRE_PYPI, PIP_INDEX_URL a Python package index, for two small pieces of data
  SSL_CERT_FILE               certificates to trust for the package index (the hub is trusted by public ones only)
  HTTPS_PROXY, ALL_PROXY, NO_PROXY";

#[derive(Debug, clap::Args)]
#[command(after_help = ENVIRONMENT)]
struct PullArgs {
    /// Which model
    #[arg(default_value = "chattts")]
    model: String,
    /// Folder to put it in [default: VOXWIRE_MODELS/MODEL, else the user's data folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only the speaker statistics and the homophone map (0.2 MB from the package index), for weights that are there
    #[arg(long, conflicts_with = "json")]
    voices_only: bool,
    /// Accept licence and size without being asked
    #[arg(long)]
    yes: bool,
    /// A last line of JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Pull(args) => pull(&args),
        Command::Verify(args) => verify::run(&args),
        Command::List { json } => list(json),
    }
}

/// The manifest of a model known by name.
fn known_manifest(name: &str) -> anyhow::Result<Manifest> {
    match name {
        "chattts" => Ok(Manifest::chattts()?),
        other => bail!("model {other:?}: expected a known name (chattts)"),
    }
}

fn pull(args: &PullArgs) -> anyhow::Result<()> {
    let manifest = known_manifest(&args.model)?;
    let dir = args.dir.clone().map_or_else(|| installed::folder_of(&args.model), Ok)?;
    let sources = Sources::from_env()?;
    tell!("{} from {} at {}, into {}", manifest.title, sources.hub, manifest.revision, dir.display());
    tell!("{}", licence_text(&manifest));
    let plan = Plan::make(&manifest, &dir)?;
    if plan.missing_bytes() > 0 && !args.voices_only {
        let (files, bytes) = (plan.missing_files(), DecimalBytes(plan.missing_bytes()));
        tell!("To download: {files} of {} files, {bytes}", manifest.entries().count());
        if !args.yes {
            ask()?;
        }
    }
    let fetched = plan.missing_files();
    if args.voices_only {
        plan.carry_out_voices(&sources)?;
        writeln!(std::io::stdout(), "speaker statistics and homophone map are in {}", dir.display())?;
        return Ok(());
    }
    plan.carry_out(&sources)?;
    let bytes = manifest.total_size();
    let mut out = std::io::stdout().lock();
    if args.json {
        let line = serde_json::json!({ "model": manifest.name, "dir": dir, "fetched_files": fetched, "bytes": bytes });
        writeln!(out, "{line}")?;
    } else {
        writeln!(
            out,
            "{} is complete in {} ({}, every sha256 right)",
            manifest.name,
            dir.display(),
            DecimalBytes(bytes)
        )?;
    }
    Ok(())
}

fn licence_text(manifest: &Manifest) -> String {
    let (l, a) = (&manifest.licence, &manifest.archive);
    format!(
        "Licence of the weights: {} <{}>. {}\n\
         Speaker statistics and homophone map are data taken out of {} (package licence {}); none of its code is kept.",
        l.name, l.url, l.note, a.file, a.licence
    )
}

/// Asks on the terminal; without one, `--yes` is the only answer.
fn ask() -> anyhow::Result<()> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        bail!("no terminal to ask on: run again with --yes to accept the licence and the download");
    }
    tell_on_line!("Download under this licence? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("reading the answer")?;
    if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        bail!("not downloaded: the answer was not yes");
    }
    Ok(())
}

fn list(json: bool) -> anyhow::Result<()> {
    let models = installed::all();
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&models)?)?;
        return Ok(());
    }
    if models.is_empty() {
        writeln!(out, "no models on this machine; `voxwire models pull chattts` fetches the published one")?;
    }
    for m in &models {
        let (dir, bytes) = (m.dir.display(), DecimalBytes(m.bytes));
        writeln!(
            out,
            "{}\n  folder   {dir}\n  licence  {}\n  size     {bytes}\n  state    {}",
            m.name, m.licence, m.state
        )?;
    }
    Ok(())
}
