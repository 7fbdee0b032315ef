//! `voxwire bench`: a load generator that measures what listeners hear.
//!
//! It knows the protocol only, nothing of the server: the wire in [`wire`] and [`header`], one utterance in
//! [`utterance`] with its arithmetic in [`playout`] and [`track`], one socket in [`client`], all of them together in
//! [`drive`], figures in [`report`].

mod args;
mod arrivals;
mod capacity;
mod client;
mod drive;
mod header;
mod playout;
mod record;
mod report;
mod stats;
mod table;
mod texts;
mod track;
mod usage;
mod utterance;
mod wire;

use std::io::Write;

use anyhow::bail;

pub use args::Args;

use self::args::Load;
use self::capacity::{Capacity, Search, Step};
use self::report::Report;
use self::usage::Process;
use super::Usage;

pub fn run(args: Args) -> anyhow::Result<()> {
    let load = args.load()?;
    let process = args.pid.map(Process::open).transpose().map_err(|e| Usage(e.to_string()))?;
    usage::raise_file_limit();
    if args.find_capacity {
        return find_capacity(&args, &load, process);
    }
    let report = one_run(load, process)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{}", table::text(&report))?;
    }
    drop(out);
    if !report.anything_spoken() {
        bail!("{}: nothing was spoken: {}", report.url, why_nothing(&report));
    }
    Ok(())
}

fn one_run(load: Load, process: Option<Process>) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let outcome = local.block_on(&runtime, drive::drive(load.clone(), process))?;
    Ok(Report::new(&load, &outcome))
}

fn why_nothing(report: &Report) -> String {
    let worst = report.errors.iter().max_by_key(|(_, n)| **n);
    match worst {
        Some((code, n)) => {
            let message =
                report.messages.get(code).filter(|m| !m.is_empty()).map_or(String::new(), |m| format!(": {m}"));
            format!("{n} utterances failed with {code}{message}")
        }
        None if report.interrupted => "interrupted before the first utterance ended".into(),
        None => format!("{} utterances did not end in time", report.utterances.unfinished),
    }
}

fn find_capacity(args: &Args, load: &Load, process: Option<Process>) -> anyhow::Result<()> {
    let mut search = Search::new(load.sockets, args.max_streams as usize);
    let mut steps = Vec::new();
    while let Some(streams) = search.next() {
        let report = one_run(Load { sockets: streams, ..load.clone() }, process)?;
        let interrupted = report.interrupted;
        let passed = report.continuity.share.is_some_and(|share| share * 100.0 >= args.continuity);
        let step = Step { streams, passed, report };
        if args.json {
            tell!("{}", table::step(&step));
        } else {
            writeln!(std::io::stdout(), "{}", table::step(&step))?;
        }
        if interrupted {
            bail!("interrupted at {streams} streams");
        }
        search.tell(streams, passed);
        steps.push(step);
    }
    let capacity = Capacity::new(&search, args.continuity, steps);
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&capacity)?)?;
        return Ok(());
    }
    write!(out, "{}", table::capacity(&capacity))?;
    if let Some(best) = capacity.steps.iter().rev().find(|s| Some(s.streams) == capacity.streams) {
        write!(out, "\n{}", table::text(&best.report))?;
    }
    Ok(())
}
