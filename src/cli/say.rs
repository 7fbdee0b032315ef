//! `voxwire say`: text in, speech out.

mod args;
mod dump;
mod output;

use std::io::{IsTerminal, Read};

use anyhow::{Context, bail};

pub use args::Args;

use self::output::Output;
use super::Usage;
use crate::engine::cpu::CpuEngine;
use crate::model::manifest::Manifest;
use crate::model::prompt::Sample;
use crate::model::sampling::Sampling;
use crate::model::speaker::Voice;
use crate::session::frontend::{Frontend, Speaker};
use crate::session::refine::{Refined, refine};
use crate::session::{ChunkPlan, Plan, SpeakError, speak};
use crate::text::Prepared;

/// Longest text read from standard input, in bytes: a book chapter.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The tokenizer takes longer words for one unknown token.
const LONGEST_WORD: usize = 100;

pub fn run(args: Args) -> anyhow::Result<()> {
    let sampling = args.sampling()?;
    let raw = read_text(&args)?;
    let dir = super::model_dir(args.model.clone())?;
    Manifest::check(&dir)?;
    let model = Frontend::open(&dir)?.with_lexicon(args.lexicon.as_deref())?;
    let decode = model.decode_path(args.decode.map(args::Decode::path))?;
    let prepared = model.prepare(&raw, args.raw_text)?;
    args.check_output()?;
    if prepared.nothing_to_say {
        return Output::open(&args, model.dims.vocos.sample_rate)?.nothing_to_say(&prepared);
    }
    let (voice, note) = choose_voice(&args, &model, prepared.pieces.len(), sampling.seed)?;
    if let Some(word) =
        prepared.pieces.iter().flat_map(|p| p.text.split(' ')).find(|w| w.chars().count() > LONGEST_WORD)
    {
        let start: String = word.chars().take(20).collect();
        tell!("note: a word of over {LONGEST_WORD} letters is not spoken: {start}...");
    }
    let options = args.engine_options(decode, args.dump.is_some());
    let mut engine = CpuEngine::load(&dir, &model.dims, options)?;
    // Only now: what can fail has not touched an existing file.
    let mut output = Output::open(&args, model.dims.vocos.sample_rate)?;
    output.announce(&model.dims, &prepared, note.as_deref());
    let pieces = refined_pieces(&args, &mut engine, &model, &prepared, &sampling, &mut output)?;
    let speaker = voice.map_or_else(|| Ok(Speaker::default()), |v| model.speaker(&v, args.raw_text))?;
    let prompt = |text: &str, carried: Option<Sample<'_>>| {
        let closed = if args.raw_text { text.to_string() } else { model.closed(text) };
        let (prompt, cap) = model.code_prompt(&closed, "[speed_5]", &speaker, carried)?;
        Ok::<_, SpeakError>((prompt, args.max_steps.unwrap_or(cap.max(args.min_steps))))
    };
    let samples =
        |pause: std::time::Duration| (pause.as_secs_f64() * f64::from(model.dims.vocos.sample_rate)).round() as usize;
    let pauses = prepared.pieces.iter().map(|p| p.pause_before).chain([prepared.pause_after]);
    let pauses: Vec<usize> = pauses.map(samples).collect();
    let plan = Plan {
        pieces: &pieces,
        pauses: &pauses,
        prompt: &prompt,
        sampling: sampling.clone(),
        decode,
        chunks: ChunkPlan::default(),
        parallel: args.parallel(),
        carry_voice: args.carry_voice,
    };
    output.start();
    let report = speak(&mut engine, &plan, &mut output)?;
    output.finish(&args, &report, &prepared, &sampling)
}

fn read_text(args: &Args) -> anyhow::Result<String> {
    if let Some(text) = args.text.as_ref().filter(|t| *t != "-") {
        return Ok(text.clone());
    }
    let input = std::io::stdin();
    if args.text.is_none() && input.is_terminal() {
        bail!(Usage("text: expected words to say, or text on standard input, found neither".into()));
    }
    let mut bytes = Vec::new();
    input.lock().take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes).context("standard input")?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        bail!("standard input: expected at most {MAX_TEXT_BYTES} bytes of text, found more");
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        anyhow::anyhow!("standard input: expected UTF-8 text, found another byte at {at}")
    })
}

/// The voice to speak with, and what to tell about the choice. Without one the model picks its own for each piece, so
/// a text of several pieces gets one drawn by its seed.
fn choose_voice(
    args: &Args,
    model: &Frontend,
    pieces: usize,
    seed: u64,
) -> anyhow::Result<(Option<Voice>, Option<String>)> {
    if let Some(spec) = &args.voice {
        return Ok((Some(model.voice(spec, args.voice_text.as_deref())?), None));
    }
    if pieces < 2 || args.carry_voice || !model.has_stats() {
        return Ok((None, None));
    }
    let drawn = (seed as u32).to_string();
    let voice = model.voice(&drawn, None)?;
    Ok((Some(voice), Some(format!("voice {drawn}, drawn so that all pieces share one (choose with --voice)"))))
}

/// The texts to speak: refined where that was asked for and the result has the same words.
fn refined_pieces(
    args: &Args,
    engine: &mut CpuEngine,
    model: &Frontend,
    prepared: &Prepared,
    sampling: &Sampling,
    output: &mut Output,
) -> anyhow::Result<Vec<String>> {
    let texts = prepared.pieces.iter().map(|p| p.text.clone());
    if !args.refine {
        return Ok(texts.collect());
    }
    if !engine.dims().capabilities.refine_text {
        bail!("--refine: expected a model whose text head is trained, found {}", engine.dims().name);
    }
    let sampling = Sampling { rng: sampling.rng, ..Sampling::refine(sampling.seed) };
    let control = args.refine_prompt.as_deref().unwrap_or("");
    texts
        .enumerate()
        .map(|(i, text)| match refine(engine, &model.tokenizer, &text, control, sampling.clone())? {
            Refined::Accepted(refined) => Ok(refined),
            Refined::Rejected { refined, why } => {
                output.refinement_rejected(i, &refined, &why.to_string());
                Ok(text)
            }
        })
        .collect()
}
