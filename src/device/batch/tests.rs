use super::*;
use crate::device::testing::{Call, Ear, Watched, job};
use crate::engine::fake::{FakeOptions, Fault, tone};

const SAMPLES_PER_STEP: usize = 512;

fn engine(slots: usize) -> Watched {
    Watched::new(FakeOptions { slots, ..FakeOptions::default() })
}

fn faulty(slots: usize, faults: &[Fault]) -> Watched {
    Watched::new(FakeOptions { slots, faults: faults.to_vec(), ..FakeOptions::default() })
}

fn batch() -> Batch {
    Batch::new(24_000)
}

/// Turns until nothing is left to do.
fn run(batch: &mut Batch, engine: &mut Watched) {
    for _ in 0..10_000 {
        if batch.turn(engine).unwrap() == Turn::Idle {
            return;
        }
    }
    panic!("a batch that has no end");
}

/// All sound of a row of so many steps.
fn sound(seed: u64, steps: usize) -> Vec<f32> {
    (0..steps * SAMPLES_PER_STEP).map(|i| tone(seed, i)).collect()
}

#[test]
fn rows_join_and_leave_at_step_boundaries() {
    let (mut batch, mut engine) = (batch(), engine(4));
    let (a, b) = (Ear::default(), Ear::default());
    batch.submit(job(2, 7, &a));
    for _ in 0..3 {
        batch.turn(&mut engine).unwrap();
    }
    batch.submit(job(1, 8, &b));
    assert_eq!(batch.load(), Load { rows: 1, paused: 0, waiting: 1, steps: 3 });
    run(&mut batch, &mut engine);
    let steps: Vec<&Call> = engine.calls.iter().filter(|c| matches!(c, Call::Step(_) | Call::Prefill(_))).collect();
    let both = Call::Step(vec![7, 8]);
    let (alone, joined) = (Call::Step(vec![7]), Call::Prefill(vec![8]));
    // Eight steps and an end of the one, four and an end of the other.
    let mut expected = vec![Call::Prefill(vec![7]), alone.clone(), alone.clone(), alone.clone(), joined];
    expected.extend([both.clone(), both.clone(), both.clone(), both.clone(), both, alone]);
    assert_eq!(steps, expected.iter().collect::<Vec<_>>());
    assert_eq!((a.pcm(), b.pcm()), (sound(7, 8), sound(8, 4)));
    assert_eq!((a.end().outcome, b.end().outcome), (RowOutcome::Natural, RowOutcome::Natural));
    assert_eq!((a.began(), b.began()), (1, 1));
    assert_eq!((engine.engine.in_use(), batch.is_empty()), (0, true));
}

/// What a row sounds like does not depend on who comes and goes beside it.
#[test]
fn a_row_in_a_batch_is_the_row_alone() {
    let (mut batch, mut engine) = (batch(), engine(3));
    let ears: Vec<Ear> = (0..12).map(|_| Ear::default()).collect();
    for (i, ear) in ears.iter().enumerate() {
        batch.submit(job(1 + i * 5 % 7, 50 + i as u64, ear));
        for _ in 0..i % 4 {
            batch.turn(&mut engine).unwrap();
        }
    }
    run(&mut batch, &mut engine);
    for (i, ear) in ears.iter().enumerate() {
        let steps = (1 + i * 5 % 7) * 4;
        assert_eq!(ear.pcm(), sound(50 + i as u64, steps), "row {i}");
        let end = ear.end();
        assert_eq!((end.steps, end.samples, end.codes.len()), (steps, steps * SAMPLES_PER_STEP, steps), "row {i}");
    }
    assert_eq!(engine.engine.in_use(), 0);
}

#[test]
fn rows_somebody_listens_to_go_before_new_ones() {
    let (mut batch, mut engine) = (batch(), engine(1));
    let ears: Vec<Ear> = (0..4).map(|_| Ear::default()).collect();
    for (i, ear) in ears.iter().enumerate() {
        let continues = i >= 2;
        batch.submit(Job { continues, ..job(1, i as u64, ear) });
    }
    run(&mut batch, &mut engine);
    let order: Vec<u64> =
        engine.calls.iter().filter_map(|c| if let Call::Release(s) = c { Some(*s) } else { None }).collect();
    assert_eq!(order, [2, 3, 0, 1]);
}

#[test]
fn a_turn_prefills_only_so_much() {
    let (mut batch, mut engine) = (batch(), engine(8));
    let ears: Vec<Ear> = (0..5).map(|_| Ear::default()).collect();
    for (i, (ear, tokens)) in ears.iter().zip([200, 200, 200, 900, 10]).enumerate() {
        batch.submit(job(tokens, i as u64, ear));
    }
    for _ in 0..4 {
        batch.turn(&mut engine).unwrap();
    }
    let prefills: Vec<&Call> = engine.calls.iter().filter(|c| matches!(c, Call::Prefill(_))).collect();
    // One that is over the bound by itself goes alone; nobody overtakes it.
    let expected = [vec![0, 1], vec![2], vec![3], vec![4]].map(Call::Prefill);
    assert_eq!(prefills, expected.iter().collect::<Vec<_>>());
    let steps = engine.calls.iter().filter(|c| matches!(c, Call::Step(_))).count();
    assert_eq!(steps, 4, "those who speak make a step in every turn");
}

#[test]
fn an_empty_result_is_tried_again_with_the_next_seed() {
    let (mut batch, mut engine) = (batch(), faulty(2, &[Fault::EmptyRow(0), Fault::EmptyRow(2)]));
    let (a, b) = (Ear::default(), Ear::default());
    batch.submit(job(1, 7, &a));
    batch.submit(job(1, 8, &b));
    run(&mut batch, &mut engine);
    // The first try of the one, and its second; the other is not disturbed.
    let end = a.end();
    assert_eq!((end.outcome, end.seed, end.retries), (RowOutcome::Natural, 2007, 2));
    assert_eq!(a.pcm(), sound(2007, 4));
    assert_eq!((b.pcm(), b.end().retries), (sound(8, 4), 0));
    assert_eq!(engine.engine.in_use(), 0);
}

#[test]
fn a_row_that_stays_empty_ends_without_sound() {
    let (mut batch, mut engine) = (batch(), faulty(1, &[0, 1, 2].map(Fault::EmptyRow)));
    let ear = Ear::default();
    batch.submit(job(1, 7, &ear));
    run(&mut batch, &mut engine);
    assert_eq!(ear.end().outcome, RowOutcome::NoAudio { tries: 3 });
    assert_eq!((ear.chunks().len(), engine.engine.in_use()), (0, 0));
}

#[test]
fn a_row_that_runs_away_is_cut_at_its_cap() {
    let (mut batch, mut engine) = (batch(), faulty(1, &[Fault::RunsAway(0), Fault::RunsAway(1)]));
    let ear = Ear::default();
    batch.submit(Job { cap: 10, ..job(1, 7, &ear) });
    run(&mut batch, &mut engine);
    assert_eq!((ear.end().outcome, ear.end().steps), (RowOutcome::Cap, 10));
    assert_eq!(ear.pcm(), sound(7, 10));
    // Or where its slot ends.
    let ear = Ear::default();
    batch.submit(job(4000, 8, &ear));
    run(&mut batch, &mut engine);
    assert_eq!((ear.end().outcome, ear.end().steps), (RowOutcome::Cap, 96));
    assert_eq!((ear.pcm(), engine.engine.in_use()), (sound(8, 96), 0));
}

#[test]
fn a_row_the_engine_refuses_is_refused_alone() {
    let (mut batch, mut engine) =
        (batch(), Watched::new(FakeOptions { positions: 100, slots: 4, ..FakeOptions::default() }));
    let ears: Vec<Ear> = (0..3).map(|_| Ear::default()).collect();
    for (i, (ear, tokens)) in ears.iter().zip([2, 300, 3]).enumerate() {
        batch.submit(job(tokens, i as u64, ear));
    }
    run(&mut batch, &mut engine);
    assert_eq!(engine.calls[0], Call::Prefill(vec![0, 1, 2]), "they were tried together");
    assert_eq!((ears[0].pcm(), ears[2].pcm()), (sound(0, 8), sound(2, 12)));
    let RowOutcome::Refused(why) = ears[1].end().outcome else { panic!("{:?}", ears[1].end()) };
    assert_eq!(why, "prompt: expected at most 99 positions, found 300");
    assert_eq!(engine.engine.in_use(), 0);
}

#[test]
fn values_that_are_not_finite_end_their_row_alone() {
    // In the model: what was made before it is heard.
    let (mut batch, mut engine) = (batch(), faulty(4, &[Fault::RowFails { row: 0, step: 6 }]));
    let ears: Vec<Ear> = (0..3).map(|_| Ear::default()).collect();
    for (i, ear) in ears[..2].iter().enumerate() {
        batch.submit(job(2, i as u64, ear));
    }
    run(&mut batch, &mut engine);
    assert_eq!((ears[0].end().outcome, ears[0].pcm()), (RowOutcome::NotFinite, sound(0, 6)));
    assert_eq!((ears[1].end().outcome, ears[1].pcm()), (RowOutcome::Natural, sound(1, 8)));
    // In the codec: none of it is.
    engine.spoiled = Some(2);
    let other = Ear::default();
    batch.submit(job(9, 2, &ears[2]));
    batch.submit(job(9, 3, &other));
    run(&mut batch, &mut engine);
    assert_eq!((ears[2].end().outcome, ears[2].chunks().len()), (RowOutcome::NotFinite, 0));
    assert_eq!(other.pcm(), sound(3, 36));
    assert_eq!(engine.engine.in_use(), 0);
}

#[test]
fn a_lost_device_ends_every_row_and_every_waiting_job_once() {
    let (mut batch, mut engine) = (batch(), faulty(2, &[Fault::DeviceLost(5)]));
    let ears: Vec<Ear> = (0..4).map(|_| Ear::default()).collect();
    for (i, ear) in ears.iter().enumerate() {
        batch.submit(Job { continues: i == 3, ..job(5, i as u64, ear) });
    }
    let error = (0..1000).find_map(|_| batch.turn(&mut engine).err()).expect("a lost device");
    assert_eq!(error.to_string(), "the device failed: lost on demand");
    batch.lose(&error.to_string());
    for ear in &ears {
        assert_eq!(ear.end().outcome, RowOutcome::DeviceLost(error.to_string()));
    }
    let made: Vec<usize> = ears.iter().map(|e| e.pcm().len()).collect();
    assert_eq!(made, [4 * 512, 0, 0, 4 * 512], "what was made before is theirs");
    assert_eq!((batch.is_empty(), batch.load().rows), (true, 0));
}

/// A device that is lost while it is found out whose row was refused loses nobody's end.
#[test]
fn a_device_lost_in_the_middle_of_a_refusal_ends_all_once() {
    let (mut batch, mut engine) = (batch(), engine(4));
    let ears: Vec<Ear> = (0..4).map(|_| Ear::default()).collect();
    for (i, ear) in ears.iter().enumerate() {
        batch.submit(job(2, i as u64, ear));
    }
    engine.hook = Some(Box::new(|call| match call {
        Call::Prefill(seeds) if seeds.len() > 1 => Some(EngineError::Prompt("one of them".into())),
        Call::Prefill(seeds) if seeds[0] == 1 => Some(EngineError::Device("gone".into())),
        _ => None,
    }));
    let error = batch.turn(&mut engine).unwrap_err();
    batch.lose(&error.to_string());
    for (i, ear) in ears.iter().enumerate() {
        assert!(ear.has_ended(), "row {i}");
        assert_eq!(ear.end().outcome, RowOutcome::DeviceLost("the device failed: gone".into()), "row {i}");
    }
}

#[test]
fn a_row_nobody_wants_is_free_at_the_next_turn() {
    let (mut batch, mut engine) = (batch(), engine(2));
    let ears: Vec<Ear> = (0..4).map(|_| Ear::default()).collect();
    for (i, ear) in ears.iter().enumerate() {
        batch.submit(job(20, i as u64, ear));
    }
    for _ in 0..6 {
        batch.turn(&mut engine).unwrap();
    }
    ears[0].want(Demand::Stop);
    ears[2].want(Demand::Stop);
    let heard = ears[0].pcm().len();
    batch.turn(&mut engine).unwrap();
    assert_eq!((ears[0].end().outcome, ears[2].end().outcome), (RowOutcome::Stopped, RowOutcome::Stopped));
    assert_eq!(ears[0].pcm().len(), heard, "no sound after that");
    assert_eq!(ears[2].began(), 0, "one that waited never had a slot");
    assert_eq!((ears[3].began(), batch.load().rows), (1, 2), "its slot is another's in the same turn");
    run(&mut batch, &mut engine);
    assert_eq!((ears[1].pcm(), ears[3].pcm()), (sound(1, 80), sound(3, 80)));
}

#[test]
fn a_paused_row_keeps_its_slot_and_makes_no_steps() {
    let (mut batch, mut engine) = (batch(), engine(2));
    let (a, b) = (Ear::default(), Ear::default());
    batch.submit(job(10, 1, &a));
    batch.submit(job(10, 2, &b));
    for _ in 0..5 {
        batch.turn(&mut engine).unwrap();
    }
    a.want(Demand::Pause);
    engine.calls.clear();
    run(&mut batch, &mut engine);
    assert!(engine.calls.iter().all(|c| !matches!(c, Call::Step(seeds) if seeds.contains(&1))), "{:?}", engine.calls);
    assert_eq!(b.pcm(), sound(2, 40), "its neighbour goes on");
    assert_eq!((batch.load().rows, batch.load().paused), (1, 1));
    assert_eq!(batch.turn(&mut engine).unwrap(), Turn::Idle);
    a.want(Demand::Run);
    run(&mut batch, &mut engine);
    assert_eq!((a.pcm(), a.end().outcome), (sound(1, 40), RowOutcome::Natural));
    assert_eq!(batch.load().paused, 0);
}

/// The one whose listener has nothing comes before the one whose listener has something, whoever was first.
#[test]
fn chunks_are_decoded_in_the_order_of_need() {
    let (mut batch, mut engine) = (batch(), engine(4));
    let (a, b) = (Ear::default(), Ear::default());
    // Two seconds a chunk: these few turns take less.
    let chunks = ChunkPlan { first: 96, largest: 96 };
    for (seed, ear) in [(1, &a), (2, &b)] {
        batch.submit(Job { chunks, ..job(50, seed, ear) });
        for _ in 0..96 {
            batch.turn(&mut engine).unwrap();
        }
    }
    let decodes: Vec<&Call> = engine.calls.iter().filter(|c| matches!(c, Call::Decode(_))).collect();
    let expected = [Call::Decode(vec![(1, 96)]), Call::Decode(vec![(2, 96), (1, 96)])];
    assert_eq!(decodes, expected.iter().collect::<Vec<_>>());
    run(&mut batch, &mut engine);
    assert_eq!((a.pcm(), b.pcm()), (sound(1, 200), sound(2, 200)));
}

#[test]
fn chunks_are_small_first_and_then_grow() {
    let (mut batch, mut engine) = (batch(), engine(1));
    let ear = Ear::default();
    batch.submit(job(20, 1, &ear));
    run(&mut batch, &mut engine);
    let steps: Vec<usize> = ear.chunks().iter().map(|n| n / SAMPLES_PER_STEP).collect();
    assert_eq!(steps, [4, 4, 8, 16, 24, 24]);
    assert_eq!(ear.pcm(), sound(1, 80));
}

/// However many chunks are due at once, one call of the codec holds no more than a group.
#[test]
fn decoding_goes_in_groups() {
    let (mut batch, mut engine) = (batch(), engine(20));
    let ears: Vec<Ear> = (0..20).map(|_| Ear::default()).collect();
    for (i, ear) in ears.iter().enumerate() {
        batch.submit(job(2, i as u64, ear));
    }
    run(&mut batch, &mut engine);
    let sizes: Vec<usize> =
        engine.calls.iter().filter_map(|c| if let Call::Decode(rows) = c { Some(rows.len()) } else { None }).collect();
    assert_eq!(sizes[..3], [8, 8, 4]);
    assert!(sizes.iter().all(|n| *n <= DECODE_GROUP), "{sizes:?}");
    ears.iter().enumerate().for_each(|(i, ear)| assert_eq!(ear.pcm(), sound(i as u64, 8)));
}

/// A refinement gives tokens and no sound.
#[test]
fn a_refinement_ends_with_its_tokens() {
    let (mut batch, mut engine) = (batch(), engine(1));
    let ear = Ear::default();
    let mut refine = job(2, 7, &ear);
    refine.prompt.stage = crate::model::prompt::Stage::Refine;
    batch.submit(refine);
    run(&mut batch, &mut engine);
    let end = ear.end();
    assert_eq!((end.outcome, end.tokens), (RowOutcome::Natural, (0..8).collect::<Vec<u32>>()));
    assert!(ear.chunks().is_empty());
    assert!(!engine.calls.iter().any(|c| matches!(c, Call::Decode(_))));
}
