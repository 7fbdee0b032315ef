//! `voxwire text`: what the model is given for a text, and why.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};

use super::Usage;
use crate::session::frontend::Frontend;
use crate::text::{Explained, Lexicon, Options, chattts_knows, explain};

/// Longest line of a file, and longest text from standard input, in bytes.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Show how a text is read: what is spoken, in which pieces, what was rewritten and what is skipped
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The text; - reads it from standard input
    #[arg(
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "lines",
        conflicts_with = "lines"
    )]
    text: Option<String>,
    /// A file with a text in each line; - is standard input
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// One JSON object for each text, on a line
    #[arg(long)]
    json: bool,
    /// What each stage made of the text
    #[arg(long)]
    stages: bool,
    /// Model folder (holds asset/) whose characters, tags and languages count [default: those of the published ChatTTS]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Words and their readings: a line each, with a tab between
    #[arg(long, env = "VOXWIRE_LEXICON", value_name = "FILE")]
    lexicon: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let model = args.model.clone().map(|dir| super::model_dir(Some(dir)));
    let frontend = model.transpose()?.map(|dir| Frontend::open(&dir)).transpose()?;
    let lexicon = args.lexicon.as_deref().map(Lexicon::load).transpose()?;
    let mut out = std::io::stdout().lock();
    let mut show = |text: &str| -> anyhow::Result<()> {
        let explained = match &frontend {
            Some(frontend) => frontend.with_text_options(false, |options| {
                explain(text, &Options { lexicon: lexicon.as_ref(), ..*options }, args.stages)
            }),
            None => {
                let options = Options { lexicon: lexicon.as_ref(), ..Options::new(&chattts_knows) };
                explain(text, &options, args.stages)
            }
        }?;
        let shown = if args.json { serde_json::to_string(&explained)? + "\n" } else { describe(&explained) };
        Ok(out.write_all(shown.as_bytes())?)
    };
    match (&args.lines, args.text.as_deref()) {
        (Some(file), _) => for_each_line(file, show),
        (None, Some("-")) => {
            let mut text = String::new();
            std::io::stdin().lock().take(MAX_TEXT_BYTES + 1).read_to_string(&mut text).context("standard input")?;
            if text.len() as u64 > MAX_TEXT_BYTES {
                bail!("standard input: expected at most {MAX_TEXT_BYTES} bytes of text, found more");
            }
            show(&text)
        }
        (None, Some(text)) => show(text),
        (None, None) => bail!(Usage("text: expected a text, found none".into())),
    }
}

fn for_each_line(file: &PathBuf, mut show: impl FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let name = file.display();
    let input: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(file).with_context(|| name.to_string())?),
    };
    let mut input = BufReader::new(input);
    for number in 1.. {
        let mut line = Vec::new();
        input.by_ref().take(MAX_TEXT_BYTES + 1).read_until(b'\n', &mut line).with_context(|| name.to_string())?;
        if line.is_empty() {
            break;
        }
        if line.len() as u64 > MAX_TEXT_BYTES {
            bail!("{name}: line {number}: expected at most {MAX_TEXT_BYTES} bytes, found more");
        }
        let line = std::str::from_utf8(&line).map_err(|e| {
            anyhow::anyhow!("{name}: line {number}: expected UTF-8, found another byte at {}", e.valid_up_to())
        })?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        show(line.strip_suffix('\r').unwrap_or(line)).with_context(|| format!("{name}: line {number}"))?;
    }
    Ok(())
}

/// For people: the pieces, then what happened to the text.
fn describe(explained: &Explained) -> String {
    let mut out = String::new();
    let prepared = &explained.prepared;
    let widest = explained.stages.iter().map(|s| s.stage.len()).max().unwrap_or(0).max(6);
    let mut line = |name: &str, what: String| writeln!(out, "{name:widest$}  {what}");
    let mut written = Ok(());
    for stage in &explained.stages {
        written = written.and(line(stage.stage, format!("{:?}", stage.text)));
    }
    for (i, piece) in prepared.pieces.iter().enumerate() {
        if !piece.pause_before.is_zero() {
            written = written.and(line("pause", format!("{:?}", piece.pause_before)));
        }
        written = written.and(line(if i == 0 { "spoken" } else { "" }, piece.text.clone()));
    }
    if prepared.nothing_to_say {
        written = written.and(line("spoken", "nothing to say".into()));
    }
    if !prepared.pause_after.is_zero() {
        written = written.and(line("pause", format!("{:?}", prepared.pause_after)));
    }
    for change in &prepared.rewritten {
        let (at, kind) = (change.chars.start, name_of(&change.kind));
        written = written.and(line("wrote", format!("{:?} as {:?} ({kind}, character {at})", change.from, change.to)));
    }
    for skip in &prepared.skipped {
        written = written.and(line("left", format!("{:?} ({}, character {})", skip.text, skip.why, skip.chars.start)));
    }
    // Writing to a string does not fail.
    debug_assert!(written.is_ok());
    out
}

fn name_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}
