//! The CPU engine's promises: a row depends on itself alone, chunks are the whole, a resumed row is an uninterrupted
//! one, a faulty row ends alone.

mod common;

use common::{Golden, tiny};
use voxwire::audio::pcm::{FadeOut, to_i16};
use voxwire::codec::lookahead_steps;
use voxwire::engine::cpu::matrix::Precision;
use voxwire::engine::cpu::simd::Isa;
use voxwire::engine::cpu::{CpuEngine, CpuOptions};
use voxwire::engine::{DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use voxwire::model::dims::Dims;
use voxwire::model::prompt::{DecodePath, Prompt, PromptVoice};
use voxwire::model::sampling::Sampling;
use voxwire::model::tokenizer::Tokenizer;

const TEXTS: [&str; 8] = [
    "hello world",
    "a",
    "today we go to the school and read a long book about the weather in the city",
    "music",
    "please think about the question before you answer it",
    "one two three",
    "the morning light",
    "speech model test",
];

struct Bench {
    dims: Dims,
    tokenizer: Tokenizer,
    speaker: Vec<f32>,
}

impl Bench {
    fn new() -> Self {
        let dims = Dims::load(&tiny()).unwrap();
        let tokenizer = Tokenizer::load(&tiny(), dims.gpt.num_text_tokens).unwrap();
        let vector = Golden::tiny().f32("spk.seed1234");
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        Self { dims, tokenizer, speaker: vector.iter().map(|x| x / norm).collect() }
    }

    fn engine(&self, change: impl FnOnce(&mut CpuOptions)) -> CpuEngine {
        let paths = vec![DecodePath::Hidden, DecodePath::Codes];
        let mut options = CpuOptions { slots: 9, positions: 400, paths, ..CpuOptions::default() };
        change(&mut options);
        CpuEngine::load(&tiny(), &self.dims, options).unwrap()
    }

    fn row(&self, i: usize) -> Row {
        let embedding = i.is_multiple_of(2).then_some(self.speaker.as_slice());
        let voice = PromptVoice { embedding, sample: None };
        let prompt = Prompt::code(&self.tokenizer, TEXTS[i], "[speed_5]", voice).unwrap();
        let sampling = Sampling { min_steps: 60, ..Sampling::code(i as u64) };
        Row { prompt, sampling, decode: DecodePath::Hidden, made: Vec::new() }
    }
}

fn codes(outcome: &StepOutcome) -> Vec<u16> {
    match outcome {
        StepOutcome::Codes(codes) => codes.clone(),
        other => panic!("expected codes, found {other:?}"),
    }
}

/// Runs rows together for `steps` steps and gives each row's codes and audio.
fn run(engine: &mut CpuEngine, rows: Vec<Row>, steps: usize) -> Vec<(Vec<Vec<u16>>, Vec<f32>)> {
    let slots = engine.prefill(rows).unwrap();
    let mut made = vec![Vec::new(); slots.len()];
    for _ in 0..steps {
        let outcomes = engine.step(&slots).unwrap();
        made.iter_mut().zip(&outcomes).for_each(|(m, o)| m.push(codes(o)));
    }
    let jobs: Vec<_> = slots.iter().map(|slot| DecodeJob { slot: *slot, steps, last: true }).collect();
    let audio = engine.decode(&jobs).unwrap();
    slots.into_iter().for_each(|s| engine.release(s).unwrap());
    made.into_iter().zip(audio).collect()
}

#[test]
fn a_row_in_a_batch_equals_the_row_alone() {
    let bench = Bench::new();
    for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
        for temperature in [0.3, 0.0] {
            let row = |i: usize| {
                let mut row = bench.row(i);
                row.sampling.temperature = temperature;
                row
            };
            let mut engine = bench.engine(|o| o.precision = precision);
            let alone: Vec<_> = (0..8).map(|i| run(&mut engine, vec![row(i)], 40).remove(0)).collect();
            for batch in [2, 8] {
                let together = run(&mut engine, (0..batch).map(row).collect(), 40);
                for (i, (one, many)) in alone.iter().zip(&together).enumerate() {
                    assert_eq!(one.0, many.0, "{precision:?} T {temperature} batch {batch} row {i}: codes");
                    assert_eq!(one.1, many.1, "{precision:?} T {temperature} batch {batch} row {i}: audio");
                }
            }
        }
    }
}

#[test]
fn every_instruction_set_and_thread_count_draws_the_same_codes() {
    let bench = Bench::new();
    let rows = || (0..4).map(|i| bench.row(i)).collect();
    for precision in [Precision::F32, Precision::Int8] {
        let expected = run(&mut bench.engine(|o| o.precision = precision), rows(), 30);
        for isa in Isa::available() {
            for threads in [1, 2, 3, 5] {
                let set = |o: &mut CpuOptions| (o.precision, o.isa, o.threads) = (precision, isa, Some(threads));
                let found = run(&mut bench.engine(set), rows(), 30);
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.0, expected.0, "{precision:?} {} {threads} threads", isa.name());
                }
            }
        }
    }
}

#[test]
fn rows_join_and_leave_without_touching_their_neighbours() {
    let bench = Bench::new();
    let mut engine = bench.engine(|_| ());
    let alone = run(&mut engine, vec![bench.row(2)], 50).remove(0).0;
    let slot = engine.prefill(vec![bench.row(2)]).unwrap()[0];
    let mut others: Vec<Slot> = Vec::new();
    let mut made = Vec::new();
    for step in 0..50 {
        if step % 3 == 0 && others.len() < 7 {
            others.extend(engine.prefill(vec![bench.row(step % 8)]).unwrap());
        }
        if step % 7 == 0 {
            let leaving = others.remove(0);
            engine.release(leaving).unwrap();
        }
        // The row's place in the batch changes too.
        let mut slots = others.clone();
        slots.insert(step % (others.len() + 1), slot);
        let outcomes = engine.step(&slots).unwrap();
        made.push(codes(&outcomes[step % (others.len() + 1)]));
    }
    assert_eq!(made, alone);
}

#[test]
fn chunks_of_any_size_give_the_whole() {
    let bench = Bench::new();
    let mut engine = bench.engine(|_| ());
    for path in [DecodePath::Hidden, DecodePath::Codes] {
        let row = || Row { decode: path, ..bench.row(4) };
        let whole = run(&mut engine, vec![row()], 50).remove(0).1;
        assert_eq!(whole.len(), 50 * 512 - 256);
        for chunk in [1, 2, 3, 7, 24] {
            let slot = engine.prefill(vec![row()]).unwrap()[0];
            let mut streamed = Vec::new();
            let mut left = 50;
            while left > 0 {
                let steps = chunk.min(left);
                (0..steps).for_each(|_| drop(engine.step(&[slot]).unwrap()));
                left -= steps;
                let job = DecodeJob { slot, steps, last: left == 0 };
                streamed.extend(engine.decode(&[job]).unwrap().remove(0));
                let made = 50 - left;
                let sure = made.saturating_sub(lookahead_steps(&bench.dims, path));
                assert!(streamed.len() >= sure * 512, "{path:?}: what is past the look-ahead is out");
            }
            engine.release(slot).unwrap();
            assert_eq!(streamed, whole, "{path:?} in chunks of {chunk}");
        }
    }
}

#[test]
fn a_resumed_row_continues_with_the_same_codes_and_samples() {
    let bench = Bench::new();
    for path in [DecodePath::Hidden, DecodePath::Codes] {
        for precision in [Precision::F32, Precision::Int8] {
            let mut engine = bench.engine(|o| o.precision = precision);
            let row = |made: &[Vec<u16>]| Row { decode: path, made: made.to_vec(), ..bench.row(4) };
            let (codes, audio) = run(&mut engine, vec![row(&[])], 50).remove(0);
            for already in [1, 2, 17, 49] {
                let slot = engine.prefill(vec![row(&codes[..already])]).unwrap()[0];
                let rest: Vec<_> = (already..50).map(|_| self::codes(&engine.step(&[slot]).unwrap()[0])).collect();
                assert_eq!(rest, codes[already..], "{path:?} {precision:?} after {already}");
                let job = DecodeJob { slot, steps: 50, last: true };
                assert_eq!(engine.decode(&[job]).unwrap()[0], audio, "{path:?} {precision:?} after {already}");
                engine.release(slot).unwrap();
            }
        }
    }
}

#[test]
fn the_same_request_gives_the_same_codes_every_time() {
    let bench = Bench::new();
    let mut engine = bench.engine(|_| ());
    let first = run(&mut engine, vec![bench.row(6)], 40);
    for _ in 0..2 {
        assert_eq!(run(&mut engine, vec![bench.row(6)], 40), first);
    }
}

#[test]
fn a_row_that_stops_being_finite_ends_alone() {
    let bench = Bench::new();
    for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
        let mut engine = bench.engine(|o| o.precision = precision);
        let good: Vec<_> = (0..4).map(|i| run(&mut engine, vec![bench.row(i)], 20).remove(0).0).collect();
        for bad in [f32::NAN, f32::INFINITY] {
            let mut rows: Vec<Row> = (0..4).map(|i| bench.row(i)).collect();
            rows[2].prompt.speaker.as_mut().unwrap()[5] = bad;
            let slots = engine.prefill(rows).unwrap();
            let outcomes = engine.step(&slots).unwrap();
            assert_eq!(outcomes[2], StepOutcome::Failed, "{precision:?}");
            let rest: Vec<Slot> = [0, 1, 3].map(|i| slots[i]).to_vec();
            let mut made: Vec<_> = [0, 1, 3].iter().map(|i| vec![codes(&outcomes[*i])]).collect();
            for _ in 1..20 {
                let outcomes = engine.step(&rest).unwrap();
                made.iter_mut().zip(&outcomes).for_each(|(m, o)| m.push(codes(o)));
            }
            for (made, i) in made.iter().zip([0, 1, 3]) {
                assert_eq!(*made, good[i], "{precision:?} row {i}");
            }
            assert!(matches!(engine.step(&slots[2..3]), Err(EngineError::StaleSlot(_))));
            slots.into_iter().for_each(|s| engine.release(s).unwrap());
        }
    }
}

#[test]
fn a_released_slot_is_refused_even_after_its_place_is_taken_again() {
    let bench = Bench::new();
    let mut engine = bench.engine(|o| o.slots = 1);
    let old = engine.prefill(vec![bench.row(0)]).unwrap()[0];
    assert!(matches!(engine.prefill(vec![bench.row(1)]), Err(EngineError::Full(1))));
    engine.release(old).unwrap();
    let new = engine.prefill(vec![bench.row(1)]).unwrap()[0];
    assert_eq!(new.index, old.index);
    assert!(matches!(engine.step(&[old]), Err(EngineError::StaleSlot(_))));
    assert!(matches!(engine.release(old), Err(EngineError::StaleSlot(_))));
    assert!(engine.step(&[new]).is_ok());
    let job = DecodeJob { slot: new, steps: 2, last: false };
    assert!(matches!(engine.decode(&[job]), Err(EngineError::TooFewSteps { asked: 2, available: 1 })));
}

#[test]
fn a_job_that_cannot_be_decoded_touches_no_neighbour() {
    let bench = Bench::new();
    let mut engine = bench.engine(|_| ());
    let slots = engine.prefill(vec![bench.row(0), bench.row(4)]).unwrap();
    (0..20).for_each(|_| drop(engine.step(&slots).unwrap()));
    let job = |slot, steps, last| DecodeJob { slot, steps, last };
    assert!(engine.decode(&[job(slots[1], 10, false), job(slots[0], 5, false), job(slots[0], 5, false)]).is_err());
    assert!(engine.decode(&[job(slots[1], 10, false), job(slots[0], 21, false)]).is_err());
    engine.decode(&[job(slots[0], 20, true)]).unwrap();
    assert!(engine.decode(&[job(slots[1], 10, false), job(slots[0], 0, true)]).is_err(), "already flushed");
    // The neighbour still has all of its steps.
    assert_eq!(engine.decode(&[job(slots[1], 20, true)]).unwrap()[0].len(), 20 * 512 - 256);
}

#[test]
fn what_cannot_run_is_refused_before_anything_starts() {
    let bench = Bench::new();
    let mut engine = bench.engine(|o| (o.positions, o.paths) = (30, vec![DecodePath::Codes]));
    type Change<'a> = &'a dyn Fn(&mut Row);
    let row = |change: Change<'_>| {
        let mut row = Row { decode: DecodePath::Codes, ..bench.row(0) };
        change(&mut row);
        row
    };
    let bad: [(Change<'_>, &str); 6] = [
        (&|r| r.made = vec![vec![0; 4]; 40], "positions"),
        (&|r| r.prompt.tokens.clear(), "at least one token"),
        (&|r| r.prompt.tokens[0] = 1 << 20, "token: expected below"),
        (&|r| r.prompt.speaker = Some(vec![0.0; 3]), "speaker vector: expected 64 values, found 3"),
        (&|r| r.prompt.sample = vec![vec![625; 4]], "codes: expected 4 below 625"),
        (&|r| r.decode = DecodePath::Hidden, "decode path"),
    ];
    for (change, message) in bad {
        // The good row beside it must not have been started.
        let error = engine.prefill(vec![row(&|_| ()), row(change)]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let slots = engine.prefill(vec![row(&|_| ()); 9]).unwrap();
    assert_eq!(slots.len(), 9);
}

#[test]
fn a_slot_without_room_ends_as_full() {
    let bench = Bench::new();
    let mut engine = bench.engine(|o| o.positions = 20);
    let slots = engine.prefill(vec![bench.row(1), bench.row(0)]).unwrap();
    let length = bench.row(0).prompt.len();
    let outcomes: Vec<_> = (0..30).map(|_| engine.step(&slots[1..]).unwrap().remove(0)).collect();
    let made = outcomes.iter().take_while(|o| matches!(o, StepOutcome::Codes(_))).count();
    assert_eq!(made, 20 - length + 1);
    assert!(outcomes[made..].iter().all(|o| *o == StepOutcome::Full));
    codes(&engine.step(&slots).unwrap()[0]);
}

#[test]
fn speech_ends_in_silence() {
    let dims = Dims::load(&tiny()).unwrap();
    let bench = Bench::new();
    let pcm = run(&mut bench.engine(|_| ()), vec![bench.row(3)], 40).remove(0).1;
    let mut fade = FadeOut::new(dims.vocos.sample_rate);
    let mut faded = fade.push(&pcm);
    faded.extend(fade.finish());
    assert_eq!(faded.len(), pcm.len());
    let quiet = 120; // 5 ms
    assert_eq!(faded[..pcm.len() - quiet], pcm[..pcm.len() - quiet], "only the very end fades");
    assert_eq!(faded.last().map(|x| to_i16(*x)), Some(0));
    let tail = &faded[faded.len() - quiet..];
    let original = &pcm[pcm.len() - quiet..];
    assert!(tail.iter().zip(original).all(|(a, b)| a.abs() <= b.abs()));
}
