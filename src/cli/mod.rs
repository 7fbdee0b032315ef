//! The commands, one file each: read the arguments, call the rooms below, say what happened.
//!
//! Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong arguments.

/// Says a line on standard error. A reader that has gone away is no reason to stop (`eprintln!` would panic).
macro_rules! tell {
    ($($arg:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($arg)*)));
    }};
}
/// As [`tell`], without ending the line.
macro_rules! tell_on_line {
    ($($arg:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!($($arg)*));
    }};
}

pub mod bench;
pub mod doctor;
pub mod models;
pub mod say;
pub mod serve;
pub mod text;
pub mod voices;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::model::file;

/// Speech from ChatTTS, while it is still being made
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Say(Box<say::Args>),
    Serve(serve::Args),
    Text(text::Args),
    /// Draw a voice, tell what a voice is, write it as text
    Voices(voices::Args),
    /// Fetch, check and list models
    Models(models::Args),
    Doctor(doctor::Args),
    Bench(Box<bench::Args>),
}

/// The program: parses the command line, runs one command, reports failure in one line.
pub fn main() -> ExitCode {
    // Logs are for whoever asks for them (VOXWIRE_LOG=info); a command's own output is not a log.
    let filter = EnvFilter::try_from_env("VOXWIRE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        // It would tell of a failed write on standard error, which is what failed: the task that logged would panic, and
        // a server whose log has lost its reader would not even hear that it should stop.
        .log_internal_errors(false)
        .init();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() && e.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = e.to_string();
            // clap's first paragraph; usage and tips follow it.
            let first = text.split("\n\n").next().unwrap_or(&text);
            tell!("{} (see --help)", printable(first));
            return ExitCode::from(2);
        }
        Err(e) => e.exit(),
    };
    let result = match cli.command {
        Command::Say(args) => say::run(*args),
        Command::Serve(args) => serve::run(args),
        Command::Text(args) => text::run(args),
        Command::Voices(args) => voices::run(args),
        Command::Models(args) => models::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => bench::run(*args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // `voxwire models list | head -1`: whoever read has seen enough.
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(e) => {
            tell!("error: {}", one_line(&e));
            ExitCode::from(if e.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// The error and its causes in one line, each said once: our own errors already contain their causes.
fn one_line(e: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in e.chain().map(ToString::to_string) {
        if !line.contains(&cause) {
            let joint = if line.is_empty() { "" } else { ": " };
            line = format!("{line}{joint}{cause}");
        }
    }
    printable(&line)
}

/// Text from outside on one line and without control characters, which a terminal would obey.
fn printable(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c == ' ').filter(|w| !w.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// An argument that clap accepts but the command cannot use.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// The model folder to use: what the user named, else the default. Says what to do when there is none.
fn model_dir(arg: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = arg.unwrap_or_else(models::installed::default_dir);
    if !file::is_model(&dir) {
        bail!("{}: expected a model folder that holds asset/, found none", dir.display());
    }
    Ok(dir)
}
