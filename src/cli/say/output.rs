//! Where `say` sends sound, progress and figures.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use super::args::Args;
use super::dump::Dump;
use crate::audio::pcm::{FadeOut, fade_in};
use crate::audio::{self, Sink};
use crate::cli::printable;
use crate::engine::Slot;
use crate::engine::cpu::CpuEngine;
use crate::model::dims::Dims;
use crate::model::sampling::Sampling;
use crate::session::{Listener, PieceReport, Report, SpeakError};
use crate::text::Prepared;

pub struct Output {
    sinks: Vec<Box<dyn Sink>>,
    /// What the sound goes to, for the last line.
    target: String,
    fade: FadeOut,
    dump: Option<(Dump, File)>,
    json: bool,
    /// Standard output is taken by the sound.
    to_stdout: bool,
    progress: bool,
    rate: u32,
    /// When the first sound could have begun: set once everything is loaded.
    started: Instant,
    heard: usize,
    pieces: usize,
    rejected: Vec<Value>,
    model: String,
    status: Option<String>,
    note: Option<String>,
}

impl Output {
    pub fn open(args: &Args, rate: u32) -> anyhow::Result<Self> {
        let name = args.output_name();
        let mut sinks = Vec::new();
        if let Some(name) = &name {
            sinks.push(audio::open(name, args.container(), rate)?);
        }
        if args.play {
            sinks.push(audio::play::open(rate)?);
        }
        let dump = args.dump.as_ref().map(|path| {
            let file = File::create(path).with_context(|| format!("--dump {}", path.display()))?;
            Ok::<_, anyhow::Error>((Dump::default(), file))
        });
        let dump = dump.transpose()?;
        Ok(Self {
            sinks,
            target: name.clone().unwrap_or_else(|| "player".into()),
            fade: FadeOut::new(rate),
            dump,
            json: args.json,
            to_stdout: name.as_deref() == Some("-"),
            progress: std::io::stderr().is_terminal() && !args.json,
            rate,
            started: Instant::now(),
            heard: 0,
            pieces: 0,
            rejected: Vec::new(),
            model: String::new(),
            status: None,
            note: None,
        })
    }

    /// What the listener should know before the sound.
    pub fn announce(&mut self, dims: &Dims, prepared: &Prepared, note: Option<&str>) {
        self.pieces = prepared.pieces.len();
        (self.model, self.status) = (dims.name.clone(), dims.capabilities.status.clone());
        self.note = note.map(str::to_string);
        if self.json {
            return;
        }
        if let Some(status) = &dims.capabilities.status {
            tell!("note: model {}: {}", dims.name, printable(status));
        }
        for skip in &prepared.skipped {
            tell!("note: not spoken: {:?} at byte {} ({})", skip.text, skip.span.start, skip.why);
        }
        if let Some(note) = note {
            tell!("note: {note}");
        }
    }

    pub fn refinement_rejected(&mut self, piece: usize, refined: &str, why: &str) {
        if !self.json {
            tell!("note: piece {}: refinement not used ({why}): {refined:?}", piece + 1);
        }
        self.rejected.push(json!({ "piece": piece, "refined": refined, "why": why }));
    }

    /// Loading is over; from here on time counts.
    pub fn start(&mut self) {
        self.started = Instant::now();
    }

    /// A text without words is no error: an empty recording.
    pub fn nothing_to_say(mut self, prepared: &Prepared) -> anyhow::Result<()> {
        self.close()?;
        if self.json {
            let figures = json!({ "nothing_to_say": true, "audio_seconds": 0.0, "skipped": prepared.skipped });
            return self.print(&figures.to_string());
        }
        self.print("nothing to say: the text has no words the model can speak")
    }

    pub fn finish(
        mut self,
        args: &Args,
        report: &Report,
        prepared: &Prepared,
        sampling: &Sampling,
    ) -> anyhow::Result<()> {
        let tail = std::mem::replace(&mut self.fade, FadeOut::new(self.rate)).finish();
        self.emit(&tail)?;
        self.close()?;
        if let (Some((dump, file)), Some(name)) = (self.dump.take(), &args.dump) {
            dump.write(file, name)?;
        }
        let seconds = report.samples as f64 / f64::from(self.rate);
        let elapsed = report.elapsed.as_secs_f64();
        let first = report.first_audio.map(|d| d.as_secs_f64() * 1e3);
        if self.json {
            let figures = json!({
                "model": self.model,
                "model_status": self.status,
                "note": self.note,
                "audio_seconds": seconds,
                "compute_seconds": elapsed,
                "rtf": elapsed / seconds,
                "first_chunk_ms": first,
                "steps": report.steps,
                "seed": sampling.seed,
                "pieces": report.pieces,
                "capped": report.capped,
                "retries": report.retries,
                "rewritten": prepared.rewritten,
                "skipped": prepared.skipped,
                "refinements_rejected": self.rejected,
                "output": self.target,
            });
            return self.print(&figures.to_string());
        }
        self.clear_progress();
        if report.capped > 0 {
            tell!("note: {} of {} pieces hit the step cap and may be cut off", report.capped, report.pieces.len());
        }
        self.print(&format!(
            "{seconds:.2} s of audio, RTF {:.3}, first chunk {:.0} ms, seed {} -> {}",
            elapsed / seconds,
            first.unwrap_or_default(),
            sampling.seed,
            self.target
        ))
    }

    /// The last line: on standard output, unless that is the sound.
    fn print(&self, line: &str) -> anyhow::Result<()> {
        if self.to_stdout {
            tell!("{line}");
            return Ok(());
        }
        match writeln!(std::io::stdout(), "{line}") {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e).context("standard output"),
            _ => Ok(()),
        }
    }

    fn emit(&mut self, pcm: &[f32]) -> Result<(), SpeakError> {
        self.sinks.iter_mut().try_for_each(|sink| sink.write(pcm)).map_err(SpeakError::from)
    }

    fn close(&mut self) -> anyhow::Result<()> {
        self.sinks.drain(..).try_for_each(|sink| sink.finish().map_err(Into::into))
    }

    fn show_progress(&self, piece: usize) {
        if self.progress {
            let seconds = self.heard as f64 / f64::from(self.rate);
            let spent = self.started.elapsed().as_secs_f64();
            let rtf = spent / seconds;
            tell_on_line!("\r\x1b[Kpiece {}/{}  {seconds:.1} s of audio  RTF {rtf:.2}", piece + 1, self.pieces);
        }
    }

    fn clear_progress(&self) {
        if self.progress {
            tell_on_line!("\r\x1b[K");
        }
    }
}

impl Listener<CpuEngine> for Output {
    fn audio(&mut self, pcm: &[f32], piece: usize, from: usize) -> Result<(), SpeakError> {
        self.heard += pcm.len();
        self.show_progress(piece);
        if let Some((dump, _)) = &mut self.dump {
            dump.audio(pcm);
        }
        let mut pcm = pcm.to_vec();
        fade_in(&mut pcm, from, self.rate);
        let ready = self.fade.push(&pcm);
        self.emit(&ready)
    }

    fn piece(&mut self, engine: &CpuEngine, slot: Slot, report: &PieceReport) -> Result<(), SpeakError> {
        if let Some((dump, _)) = &mut self.dump {
            dump.piece(engine, slot, report)?;
        }
        Ok(())
    }
}
