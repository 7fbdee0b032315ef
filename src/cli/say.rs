//! `voxwire say`: text in, speech out.

mod args;
mod dump;
mod output;

use std::io::{IsTerminal, Read};

use anyhow::{Context, bail};

pub use args::Args;

use self::output::Output;
use super::Usage;
use super::voices::Model;
use crate::engine::cpu::CpuEngine;
use crate::model::manifest::Manifest;
use crate::model::prompt::{DecodePath, Prompt, PromptVoice, Sample};
use crate::model::sampling::Sampling;
use crate::model::speaker::{Voice, VoiceKind};
use crate::model::tokenizer::Tokenizer;
use crate::session::refine::{Refined, refine};
use crate::session::{ChunkPlan, Plan, SpeakError, speak, step_cap};
use crate::text::{self, Language, Prepared};

/// Longest text read from standard input, in bytes: a book chapter.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The tokenizer takes longer words for one unknown token.
const LONGEST_WORD: usize = 100;

pub fn run(args: Args) -> anyhow::Result<()> {
    let sampling = args.sampling()?;
    let raw = read_text(&args)?;
    let dir = super::model_dir(args.model.clone())?;
    Manifest::check(&dir)?;
    let model = Model::open(&dir)?;
    let decode = args.decode_path(&model.dims)?;
    let tokenizer = Tokenizer::load(&dir, model.dims.gpt.num_text_tokens)?;
    let prepared = prepare(&raw, &args, &model, &tokenizer)?;
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
    let pieces = refined_pieces(&args, &mut engine, &tokenizer, &prepared, &sampling, &mut output)?;
    let embedding = voice.as_ref().and_then(Voice::normalized);
    let voice_sample = voice.as_ref().and_then(|v| match v.kind() {
        VoiceKind::Sample(sample) => Some(sample),
        VoiceKind::Embedding(_) => None,
    });
    // The words of a sample are a caller's text like any other: made ready, and free of the prompt's own tokens.
    let words = voice_sample.map(|s| Ok::<_, anyhow::Error>(prepare(s.words()?, &args, &model, &tokenizer)?.spoken()));
    let words = words.transpose()?;
    let own = voice_sample.zip(words.as_deref()).map(|(s, text)| Sample { text, codes: &s.codes });
    let prompt = |text: &str, carried: Option<Sample<'_>>| {
        let text = &closed(text, model.dims.capabilities.closing_mark && !args.raw_text);
        let voice = PromptVoice { embedding: embedding.as_deref(), sample: carried.or(own) };
        let prompt = Prompt::code(&tokenizer, text, "[speed_5]", voice)?;
        let cap = match args.max_steps {
            Some(steps) => steps,
            None => step_cap(tokenizer.encode(text)?.len()).max(args.min_steps),
        };
        Ok::<_, SpeakError>((prompt, cap))
    };
    let plan = Plan {
        pieces: &pieces,
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

fn prepare(raw: &str, args: &Args, model: &Model, tokenizer: &Tokenizer) -> anyhow::Result<Prepared> {
    let capabilities = &model.dims.capabilities;
    let languages: Vec<Language> = capabilities.languages.iter().filter_map(|l| Language::of_code(l)).collect();
    let folds = tokenizer.folds_case();
    // The front end asks for each character of the text; most texts have few different ones.
    let known = std::cell::RefCell::new(std::collections::HashMap::new());
    let knows = |c: char| {
        // A tokenizer that folds case accepts capitals, but only as the letters it turns them into.
        *known.borrow_mut().entry(c).or_insert_with(|| !(folds && c.is_uppercase()) && tokenizer.knows(c))
    };
    let tags: Vec<&str> = text::TEXT_TAGS.into_iter().filter(|t| tokenizer.has_tag(&format!("[{t}]"))).collect();
    let options = text::Options {
        tags: &tags,
        languages: &languages,
        limits: text::Limits { max_words: capabilities.max_words, ..text::Limits::default() },
        raw: args.raw_text,
        ..text::Options::new(&knows)
    };
    Ok(text::prepare(raw, &options)?)
}

/// The piece with a closing mark at its end, where the model needs one.
fn closed(text: &str, needed: bool) -> String {
    let end = text.trim_end_matches([' ', ',', ';', ':']);
    if !needed || end.is_empty() || end.ends_with(['.', '?', '!', ']']) {
        return text.to_string();
    }
    format!("{end}.")
}

/// The voice to speak with, and what to tell about the choice. Without one the model picks its own for each piece, so
/// a text of several pieces gets one drawn by its seed.
fn choose_voice(
    args: &Args,
    model: &Model,
    pieces: usize,
    seed: u64,
) -> anyhow::Result<(Option<Voice>, Option<String>)> {
    if let Some(spec) = &args.voice {
        return Ok((Some(model.parse(spec, args.voice_text.as_deref())?), None));
    }
    if pieces < 2 || args.carry_voice || !model.has_stats() {
        return Ok((None, None));
    }
    let drawn = (seed as u32).to_string();
    let voice = model.parse(&drawn, None)?;
    Ok((Some(voice), Some(format!("voice {drawn}, drawn so that all pieces share one (choose with --voice)"))))
}

/// The texts to speak: refined where that was asked for and the result has the same words.
fn refined_pieces(
    args: &Args,
    engine: &mut CpuEngine,
    tokenizer: &Tokenizer,
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
        .map(|(i, text)| match refine(engine, tokenizer, &text, control, sampling.clone())? {
            Refined::Accepted(refined) => Ok(refined),
            Refined::Rejected { refined, why } => {
                output.refinement_rejected(i, &refined, &why.to_string());
                Ok(text)
            }
        })
        .collect()
}

impl Args {
    fn decode_path(&self, dims: &crate::model::dims::Dims) -> anyhow::Result<DecodePath> {
        let capabilities = &dims.capabilities;
        match self.decode {
            Some(args::Decode::Hidden) if !capabilities.decoder => {
                bail!("--decode: expected codes, the only path model {} has, found hidden", dims.name)
            }
            Some(args::Decode::Hidden) => Ok(DecodePath::Hidden),
            Some(args::Decode::Codes) => Ok(DecodePath::Codes),
            None if capabilities.decoder && capabilities.use_decoder_default => Ok(DecodePath::Hidden),
            None => Ok(DecodePath::Codes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn a_closing_mark_is_added_only_where_one_is_needed_and_missing() {
        let cases =
            [("hi there", "hi there."), ("one, ", "one."), ("what?", "what?"), ("so [laugh]", "so [laugh]"), ("", "")];
        for (text, expected) in cases {
            assert_eq!(closed(text, true), expected);
            assert_eq!(closed(text, false), text);
        }
    }
}
