//! Parity with the Python package: tokens, hidden states, logits, sampled ids, on the tiny model always and on the
//! full-size random weights when `make golden` has been run.

mod common;

use std::path::{Path, PathBuf};

use common::{Golden, cosine, golden, peak_error, tiny};
use voxwire::engine::cpu::matrix::Precision;
use voxwire::engine::cpu::{CpuEngine, CpuOptions};
use voxwire::engine::{Engine, Row, StepOutcome};
use voxwire::model::dims::Dims;
use voxwire::model::prompt::{DecodePath, Prompt, PromptVoice};
use voxwire::model::sampling::{RngKind, Sampling};
use voxwire::model::tokenizer::Tokenizer;

struct Reference {
    dir: PathBuf,
    dims: Dims,
    golden: Golden,
    tokenizer: Tokenizer,
    speaker: Vec<f32>,
}

impl Reference {
    fn new(dir: PathBuf, golden: Golden) -> Self {
        let dims = Dims::load(&dir).unwrap();
        let tokenizer = Tokenizer::load(&dir, dims.gpt.num_text_tokens).unwrap();
        // The Python package normalises a speaker string's vector in f16.
        let speaker = golden.f32("spk.normalized_f16");
        Self { dir, dims, golden, tokenizer, speaker }
    }

    fn all() -> Vec<Self> {
        let mut all = vec![Self::new(tiny(), Golden::tiny())];
        if let Some(dir) = golden() {
            all.push(Self::new(dir.join("assets/full"), Golden::read(&dir, "full")));
        }
        all
    }

    fn engine(&self, options: CpuOptions) -> CpuEngine {
        CpuEngine::load(&self.dir, &self.dims, CpuOptions { trace: true, ..options }).unwrap()
    }

    /// The rows of one recorded case, as the Python package's batch had them.
    fn rows(&self, case: &str, sample: &[Vec<u16>]) -> (Vec<Row>, usize) {
        let json = &self.golden.json[case];
        let steps = json["steps"].as_u64().unwrap() as usize;
        let texts = json["texts"].as_array().unwrap();
        let rows = texts.iter().enumerate().map(|(row, text)| {
            let embedding = Some(self.speaker.as_slice());
            let voice = PromptVoice { embedding, sample: None };
            let mut prompt = Prompt::code(&self.tokenizer, text.as_str().unwrap(), "[speed_5]", voice).unwrap();
            prompt.sample = sample.to_vec();
            let sampling = Sampling {
                rng: RngKind::Reference { row },
                min_steps: steps,
                ..Sampling::code(json["seed"].as_u64().unwrap())
            };
            Row { prompt, sampling, decode: DecodePath::Hidden, made: Vec::new() }
        });
        (rows.collect(), steps)
    }

    /// The sample codes of the `code_smp` case: `[4, T]` in the file, `[T][4]` here.
    fn sample(&self) -> Vec<Vec<u16>> {
        let codes = self.golden.i64("dvae.sample_audio_codes");
        let steps = codes.len() / 4;
        (0..steps).map(|t| (0..4).map(|vq| codes[vq * steps + t] as u16).collect()).collect()
    }
}

#[test]
fn tokens_are_those_of_the_python_package() {
    for reference in Reference::all() {
        for entry in reference.golden.json["tokenizer"].as_array().unwrap() {
            let text = entry["text"].as_str().unwrap();
            let expected: Vec<u32> = serde_json::from_value(entry["ids"].clone()).unwrap();
            assert_eq!(reference.tokenizer.encode(text).unwrap(), expected, "{text:?}");
        }
        for entry in reference.golden.json["decode"].as_array().unwrap() {
            let ids: Vec<u32> = serde_json::from_value(entry["ids"].clone()).unwrap();
            assert_eq!(reference.tokenizer.decode(&ids).unwrap(), entry["text"].as_str().unwrap());
        }
    }
}

fn codes(outcomes: &[StepOutcome]) -> impl Iterator<Item = Vec<u16>> {
    outcomes.iter().map(|o| match o {
        StepOutcome::Codes(codes) => codes.clone(),
        other => panic!("expected codes, found {other:?}"),
    })
}

#[test]
fn hidden_states_logits_and_sampled_ids_equal_the_python_package() {
    for reference in Reference::all() {
        let mut engine = reference.engine(CpuOptions { precision: Precision::F32, ..CpuOptions::default() });
        for (case, sample) in [("code1", vec![]), ("code2", vec![]), ("code_smp", reference.sample())] {
            let (rows, steps) = reference.rows(case, &sample);
            let lengths: Vec<usize> = rows.iter().map(|r| r.prompt.len()).collect();
            let slots = engine.prefill(rows).unwrap();
            let mut drawn = vec![Vec::new(); slots.len()];
            for _ in 0..steps {
                let outcomes = engine.step(&slots).unwrap();
                drawn.iter_mut().zip(codes(&outcomes)).for_each(|(d, c)| d.push(c));
            }
            let h = reference.dims.gpt.hidden_size;
            let padded = reference.golden.shape(&format!("{case}.prefill_hidden"))[1];
            let prefill = reference.golden.f32(&format!("{case}.prefill_hidden"));
            let step_hidden = reference.golden.f32(&format!("{case}.step_hidden"));
            let logits = reference.golden.f32(&format!("{case}.logits_first4"));
            let sampled = reference.golden.i64(&format!("{case}.sampled"));
            for (row, slot) in slots.iter().enumerate() {
                let trace = engine.trace(*slot).unwrap();
                // The Python batch is padded on the left.
                let real = (row + 1) * padded - lengths[row]..(row + 1) * padded - 1;
                let error = peak_error(&trace.prefill_hidden, &prefill[real.start * h..real.end * h]);
                println!("{} {case} row {row}: prefill hidden {error:.1e}", reference.dims.name);
                assert!(error < 1e-5, "{case} row {row}: prefill hidden {error}");
                let error = peak_error(&trace.step_hidden, &step_hidden[row * steps * h..(row + 1) * steps * h]);
                println!("{} {case} row {row}: step hidden {error:.1e}", reference.dims.name);
                assert!(error < 1e-5, "{case} row {row}: step hidden {error}");
                let four = logits.len() / slots.len();
                let error = peak_error(&trace.logits[..four], &logits[row * four..(row + 1) * four]);
                println!("{} {case} row {row}: logits {error:.1e}", reference.dims.name);
                assert!(error < 1e-5, "{case} row {row}: logits {error}");
                for (step, codes) in drawn[row].iter().enumerate() {
                    let at = (step * slots.len() + row) * 4;
                    let expected: Vec<u16> = sampled[at..at + 4].iter().map(|x| *x as u16).collect();
                    assert_eq!(*codes, expected, "{case} row {row} step {step}");
                }
                engine.release(*slot).unwrap();
            }
        }
    }
}

#[test]
fn refinement_samples_the_ids_of_the_python_package() {
    for reference in Reference::all() {
        let options = CpuOptions { precision: Precision::F32, refine: true, ..CpuOptions::default() };
        let mut engine = reference.engine(options);
        let json = &reference.golden.json["text1"];
        let text = json["texts"][0].as_str().unwrap();
        let prompt = Prompt::refine(&reference.tokenizer, text, "[oral_2][laugh_0][break_6]").unwrap();
        let steps = json["steps"].as_u64().unwrap() as usize;
        let sampling = Sampling {
            rng: RngKind::Reference { row: 0 },
            min_steps: steps,
            ..Sampling::refine(json["seed"].as_u64().unwrap())
        };
        let slot = engine.prefill(vec![Row { prompt, sampling, decode: DecodePath::Hidden, made: vec![] }]).unwrap()[0];
        let drawn = (0..steps).map(|_| match engine.step(&[slot]).unwrap()[0] {
            StepOutcome::Token(id) => i64::from(id),
            ref other => panic!("expected a token, found {other:?}"),
        });
        assert_eq!(drawn.collect::<Vec<_>>(), reference.golden.i64("text1.ids.0"));
    }
}

#[test]
fn mel_and_wav_from_the_engine_equal_the_python_package() {
    for reference in Reference::all() {
        let mut engine = reference.engine(CpuOptions { precision: Precision::F32, ..CpuOptions::default() });
        let (rows, steps) = reference.rows("code1", &[]);
        let slots = engine.prefill(rows).unwrap();
        for _ in 0..steps {
            engine.step(&slots).unwrap();
        }
        let job = voxwire::engine::DecodeJob { slot: slots[0], steps, last: true };
        let wav = engine.decode(&[job]).unwrap().remove(0);
        let frames = reference.golden.shape("dec.mel")[2];
        let mel = &engine.trace(slots[0]).unwrap().mel;
        let transposed: Vec<f32> = (0..100).flat_map(|c| (0..frames).map(move |f| mel[f * 100 + c])).collect();
        let error = peak_error(&transposed, &reference.golden.f32("dec.mel"));
        println!("{}: mel {error:.1e}", reference.dims.name);
        assert!(error < 1e-4, "mel {error}");
        let error = peak_error(&wav, &reference.golden.f32("dec.wav"));
        println!("{}: wav {error:.1e}", reference.dims.name);
        assert!(error < 1e-4, "wav {error}");
    }
}

/// The logits of the first steps at another precision, on the same codes.
fn cosines(dir: &Path, reference: &Reference, precision: Precision) -> Vec<f64> {
    let load = |precision| {
        let options = CpuOptions { precision, trace: true, ..CpuOptions::default() };
        CpuEngine::load(dir, &reference.dims, options).unwrap()
    };
    let (mut exact, mut tested) = (load(Precision::F32), load(precision));
    let (rows, steps) = reference.rows("code1", &[]);
    let exact_slots = exact.prefill(rows.clone()).unwrap();
    let mut made = Vec::new();
    for _ in 0..steps {
        made.extend(codes(&exact.step(&exact_slots).unwrap()));
    }
    let exact_logits = &exact.trace(exact_slots[0]).unwrap().logits;
    let width = exact_logits.len() / steps;
    // Each step anew from the exact codes, so that one different draw does not end the comparison.
    (0..steps)
        .step_by(7)
        .map(|step| {
            let row = Row { made: made[..step].to_vec(), ..rows[0].clone() };
            let slot = tested.prefill(vec![row]).unwrap();
            assert_eq!(codes(&tested.step(&slot).unwrap()).count(), 1);
            let cosine =
                cosine(&tested.trace(slot[0]).unwrap().logits, &exact_logits[step * width..(step + 1) * width]);
            tested.release(slot[0]).unwrap();
            cosine
        })
        .collect()
}

#[test]
fn lower_precisions_stay_close_to_f32() {
    for reference in Reference::all() {
        for precision in [Precision::Bf16, Precision::Int8] {
            let worst = cosines(&reference.dir, &reference, precision).into_iter().fold(1.0, f64::min);
            println!("{} {precision:?}: worst cosine {worst:.6}", reference.dims.name);
            assert!(worst > 0.999, "{precision:?}: {worst}");
        }
    }
}
