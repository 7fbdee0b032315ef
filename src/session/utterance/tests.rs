use super::*;
use crate::engine::fake::{FakeEngine, FakeOptions, Fault, tone};
use crate::model::prompt::Stage;

fn prompt(text: &str, sample: Option<Sample<'_>>) -> Result<(Prompt, usize), SpeakError> {
    let prompt = Prompt {
        stage: Stage::Code,
        tokens: text.bytes().map(u32::from).collect(),
        speaker: None,
        speaker_token: None,
        sample: sample.map_or_else(Vec::new, |s| s.codes.to_vec()),
        end_of_refine: 0,
    };
    Ok((prompt, 50))
}

#[derive(Default)]
struct Heard {
    pcm: Vec<f32>,
    chunks: Vec<usize>,
    pieces: Vec<PieceReport>,
}

impl Listener<FakeEngine> for Heard {
    fn audio(&mut self, pcm: &[f32], _: usize, _: usize) -> Result<(), SpeakError> {
        self.pcm.extend_from_slice(pcm);
        self.chunks.push(pcm.len());
        Ok(())
    }

    fn piece(&mut self, _: &FakeEngine, _: Slot, report: &PieceReport) -> Result<(), SpeakError> {
        self.pieces.push(report.clone());
        Ok(())
    }
}

fn say(
    options: FakeOptions,
    texts: &[&str],
    change: impl FnOnce(&mut Plan<'_>),
) -> (Result<Report, SpeakError>, Heard) {
    say_with(options, texts, &prompt, change)
}

fn say_with(
    options: FakeOptions,
    texts: &[&str],
    prompt: &PromptFn<'_>,
    change: impl FnOnce(&mut Plan<'_>),
) -> (Result<Report, SpeakError>, Heard) {
    let pieces: Vec<String> = texts.iter().map(|t| t.to_string()).collect();
    let mut plan = Plan {
        pieces: &pieces,
        pauses: &[],
        prompt,
        sampling: Sampling::code(7),
        decode: DecodePath::Hidden,
        chunks: ChunkPlan::default(),
        parallel: 1,
        carry_voice: false,
    };
    change(&mut plan);
    let (mut engine, mut heard) = (FakeEngine::new(options), Heard::default());
    let result = speak(&mut engine, &plan, &mut heard);
    assert_eq!(engine.in_use(), 0, "every slot is free again");
    (result, heard)
}

#[test]
fn pieces_come_out_whole_and_in_order_however_many_run_at_once() {
    let options = || FakeOptions { lookahead: 10, ..FakeOptions::default() };
    let texts = ["three", "a", "longer one", "b"];
    let (report, alone) = say(options(), &texts, |_| ());
    let report = report.unwrap();
    assert_eq!(report.samples, alone.pcm.len());
    assert_eq!(alone.pcm.len(), texts.iter().map(|t| t.len() * 4 * 512).sum::<usize>());
    assert!(alone.pieces.iter().map(|p| p.index).eq(0..4));
    assert_eq!(alone.pcm[..512], (0..512).map(|i| tone(7, i)).collect::<Vec<_>>()[..]);
    for parallel in [2, 3, 8] {
        let (_, heard) = say(options(), &texts, |plan| plan.parallel = parallel);
        assert_eq!(heard.pcm, alone.pcm, "{parallel} at once");
    }
}

#[test]
fn pieces_draw_from_different_seeds_that_follow_from_the_request() {
    let (report, _) = say(FakeOptions::default(), &["a", "b", "c"], |_| ());
    let seeds: Vec<u64> = report.unwrap().pieces.iter().map(|p| p.seed).collect();
    assert_eq!(seeds, (0..3).map(|i| crate::session::piece_seed(&Sampling::code(7), i, 0)).collect::<Vec<_>>());
    assert_eq!(seeds[0], 7);
}

#[test]
fn an_empty_result_is_tried_again_with_another_seed() {
    let options = FakeOptions { faults: vec![Fault::EmptyRow(0), Fault::EmptyRow(1)], ..FakeOptions::default() };
    let (report, heard) = say(options, &["abc"], |_| ());
    let report = report.unwrap();
    assert_eq!((report.retries, report.pieces[0].retries), (2, 2));
    assert_eq!(heard.pcm.len(), 3 * 4 * 512);
    assert_ne!(report.pieces[0].seed, 7);
}

#[test]
fn the_third_empty_result_is_an_error() {
    let faults = (0..3).map(Fault::EmptyRow).collect();
    let (result, heard) = say(FakeOptions { faults, ..FakeOptions::default() }, &["abc"], |_| ());
    assert!(matches!(result.unwrap_err(), SpeakError::NoAudio { piece: 0, tries: 3 }));
    assert!(heard.pcm.is_empty());
}

#[test]
fn an_empty_second_piece_is_an_error_and_frees_its_neighbours() {
    let faults = vec![Fault::EmptyRow(1), Fault::EmptyRow(3), Fault::EmptyRow(4)];
    let options = FakeOptions { faults, ..FakeOptions::default() };
    let (result, _) = say(options, &["a long first piece", "x", "and a third"], |plan| plan.parallel = 3);
    assert!(matches!(result.unwrap_err(), SpeakError::NoAudio { piece: 1, .. }));
}

#[test]
fn a_runaway_stops_at_its_cap_and_is_counted() {
    let options = FakeOptions { faults: vec![Fault::RunsAway(0)], ..FakeOptions::default() };
    let (report, heard) = say(options, &["ab", "c"], |_| ());
    let report = report.unwrap();
    assert_eq!((report.capped, report.pieces[0].steps, report.pieces[0].end), (1, 50, PieceEnd::Cap));
    assert_eq!(heard.pcm.len(), (50 + 4) * 512);
}

#[test]
fn a_full_slot_ends_the_piece_as_a_cap_does() {
    let options = FakeOptions { positions: 10, faults: vec![Fault::RunsAway(0)], ..FakeOptions::default() };
    let (report, _) = say(options, &["abcd"], |_| ());
    assert_eq!((report.as_ref().unwrap().capped, report.unwrap().steps), (1, 6));
}

#[test]
fn a_failing_row_is_an_error_after_what_was_heard() {
    let options = FakeOptions { faults: vec![Fault::RowFails { row: 0, step: 30 }], ..FakeOptions::default() };
    let (result, heard) = say(options, &["a text of many tokens"], |_| ());
    assert!(matches!(result.unwrap_err(), SpeakError::NotFinite { piece: 0 }));
    assert!(!heard.pcm.is_empty());
}

#[test]
fn a_lost_device_is_an_error() {
    let (mut engine, mut heard) = (
        FakeEngine::new(FakeOptions { faults: vec![Fault::DeviceLost(5)], ..FakeOptions::default() }),
        Heard::default(),
    );
    let plan = Plan {
        pieces: &["some text".into()],
        pauses: &[],
        prompt: &prompt,
        sampling: Sampling::code(7),
        decode: DecodePath::Hidden,
        chunks: ChunkPlan::default(),
        parallel: 1,
        carry_voice: false,
    };
    let result = speak(&mut engine, &plan, &mut heard);
    assert!(matches!(result.unwrap_err(), SpeakError::Engine(EngineError::Device(_))));
}

#[test]
fn later_pieces_can_continue_the_first() {
    let lengths = std::cell::RefCell::new(Vec::new());
    let recording = |text: &str, sample: Option<Sample<'_>>| {
        lengths.borrow_mut().push(sample.map(|s| (s.text.to_string(), s.codes.len())));
        prompt(text, None)
    };
    let (report, _) = say_with(FakeOptions::default(), &["abc", "d", "e"], &recording, |plan| {
        (plan.carry_voice, plan.parallel) = (true, 3);
    });
    assert_eq!(report.unwrap().pieces.len(), 3);
    let carried = Some(("abc".to_string(), 12));
    assert_eq!(lengths.into_inner(), [None, carried.clone(), carried]);
}

#[test]
fn the_first_chunk_is_small_and_later_ones_grow() {
    let uncapped = |text: &str, sample: Option<Sample<'_>>| Ok((prompt(text, sample)?.0, 1000));
    let options = FakeOptions { lookahead: 10, ..FakeOptions::default() };
    let (_, heard) = say_with(options, &["many many tokens here"], &uncapped, |_| ());
    assert_eq!(heard.chunks[..4], [4, 4, 8, 16].map(|steps| steps * 512));
}

#[test]
fn silence_stands_where_it_was_asked_for_to_the_sample() {
    let texts = ["one", "two two", "three"];
    let (_, plain) = say(FakeOptions::default(), &texts, |_| ());
    for parallel in [1, 3] {
        let (report, heard) = say(FakeOptions::default(), &texts, |plan| {
            (plan.pauses, plan.parallel) = (&[1000, 0, 4801, 24_000], parallel);
        });
        let report = report.unwrap();
        let lengths: Vec<usize> = report.pieces.iter().map(|p| p.samples).collect();
        let mut expected = vec![0.0; 1000];
        expected.extend(&plain.pcm[..lengths[0] + lengths[1]]);
        expected.extend(vec![0.0; 4801]);
        expected.extend(&plain.pcm[lengths[0] + lengths[1]..]);
        expected.extend(vec![0.0; 24_000]);
        assert_eq!(heard.pcm, expected, "{parallel} at once");
        assert_eq!(report.samples, expected.len());
    }
}
