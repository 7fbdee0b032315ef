use std::sync::mpsc::channel;
use std::time::Instant;

use super::*;
use crate::device::Demand;
use crate::device::testing::{Call, Ear, Watched, job};
use crate::engine::fake::{FakeOptions, Fault};

const PATIENCE: Duration = Duration::from_secs(20);

/// A thread with this engine, once it is made.
fn thread(limit: usize, engine: Watched) -> (Arc<Shared>, JoinHandle<()>) {
    let shared = Shared::new(limit);
    let (tell, told) = channel();
    let make: MakeEngine = Box::new(move || Ok(Box::new(engine)));
    let handle = spawn(shared.clone(), 24_000, make, move |result| tell.send(result).unwrap()).unwrap();
    told.recv_timeout(PATIENCE).unwrap().unwrap();
    (shared, handle)
}

fn engine(faults: &[Fault]) -> Watched {
    let step_time = Duration::from_micros(200);
    Watched::new(FakeOptions { faults: faults.to_vec(), slots: 4, step_time, ..FakeOptions::default() })
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ended(ear: &Ear) -> RowOutcome {
    until("an end", || ear.has_ended());
    ear.end().outcome
}

#[test]
fn a_job_wakes_an_idle_thread() {
    let (shared, handle) = thread(8, engine(&[]));
    assert_eq!((shared.state(), shared.slots()), (DeviceState::Warming, 4));
    for seed in 0..3 {
        let ear = Ear::default();
        shared.submit(job(2, seed, &ear));
        assert_eq!(ended(&ear), RowOutcome::Natural);
        assert_eq!(ear.pcm().len(), 8 * 512);
        until("the row is gone", || shared.load().rows == 0);
    }
    shared.stop();
    handle.join().unwrap();
    assert_eq!(shared.state(), DeviceState::Failed);
}

#[test]
fn an_engine_that_panics_is_lost_and_its_rows_are_told_once() {
    let mut engine = engine(&[]);
    engine.hook = Some(Box::new(|call| {
        assert!(!matches!(call, Call::Step(seeds) if seeds.len() == 2), "an engine that panics");
        None
    }));
    let (shared, handle) = thread(8, engine);
    let (a, b) = (Ear::default(), Ear::default());
    // The first alone for a while: it has been heard when the second brings the panic.
    shared.submit(job(1000, 1, &a));
    until("sound", || !a.pcm().is_empty());
    shared.submit(job(2, 2, &b));
    for ear in [&a, &b] {
        assert_eq!(ended(ear), RowOutcome::DeviceLost("the device failed: it panicked".into()));
    }
    handle.join().expect("the thread itself does not panic");
    assert_eq!((shared.state(), shared.load().rows), (DeviceState::Failed, 0));
    let late = Ear::default();
    shared.submit(job(2, 3, &late));
    assert_eq!(late.end().outcome, RowOutcome::DeviceLost("it has stopped".into()));
}

#[test]
fn an_engine_that_cannot_be_made_is_told_and_waiting_jobs_end() {
    let make: [(MakeEngine, &str); 2] = [
        (Box::new(|| Err(anyhow::anyhow!("no weights"))), "no weights"),
        (Box::new(|| panic!("an engine that panics")), "it panicked"),
    ];
    for (make, why) in make {
        let shared = Shared::new(8);
        let ear = Ear::default();
        shared.submit(job(2, 1, &ear));
        let (tell, told) = channel();
        let handle = spawn(shared.clone(), 24_000, make, move |result| tell.send(result).unwrap()).unwrap();
        assert_eq!(told.recv_timeout(PATIENCE).unwrap().unwrap_err().to_string(), why);
        handle.join().unwrap();
        assert_eq!(ear.end().outcome, RowOutcome::DeviceLost(why.into()));
        assert_eq!(shared.state(), DeviceState::Failed);
    }
}

#[test]
fn a_lost_device_ends_the_rows_it_had_and_those_to_come() {
    let (shared, handle) = thread(8, engine(&[Fault::DeviceLost(6)]));
    let ear = Ear::default();
    shared.submit(job(5, 1, &ear));
    assert_eq!(ended(&ear), RowOutcome::DeviceLost("the device failed: lost on demand".into()));
    handle.join().unwrap();
    assert_eq!(ear.pcm().len(), 4 * 512, "the first chunk came out before");
}

#[test]
fn a_full_queue_ends_a_job_at_once() {
    // Nobody takes anything out: there is no thread.
    let shared = Shared::new(2);
    let ears: Vec<Ear> = (0..3).map(|_| Ear::default()).collect();
    ears.iter().for_each(|ear| shared.submit(job(2, 1, ear)));
    assert!(!ears[0].has_ended() && !ears[1].has_ended());
    assert_eq!(ears[2].end().outcome, RowOutcome::DeviceLost("its queue is full".into()));
}

/// Paused rows cost nothing, and a nudge is enough to let one go on or to free it.
#[test]
fn a_nudge_wakes_a_thread_whose_rows_are_paused() {
    let (shared, handle) = thread(8, engine(&[]));
    let (a, b) = (Ear::default(), Ear::default());
    for (seed, ear) in [(1, &a), (2, &b)] {
        ear.want(Demand::Pause);
        shared.submit(job(3, seed, ear));
    }
    until("both are paused", || shared.load().paused == 2);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(shared.load().steps, 0);
    a.want(Demand::Run);
    shared.nudge().nudge();
    assert_eq!(ended(&a), RowOutcome::Natural);
    b.want(Demand::Stop);
    shared.nudge().nudge();
    assert_eq!(ended(&b), RowOutcome::Stopped);
    until("nothing is left", || shared.load().rows == 0);
    shared.stop();
    handle.join().unwrap();
}

#[test]
fn stopping_ends_rows_that_are_at_work() {
    let (shared, handle) = thread(8, engine(&[Fault::RunsAway(0)]));
    let ear = Ear::default();
    shared.submit(job(3, 1, &ear));
    until("sound", || !ear.pcm().is_empty());
    shared.stop();
    handle.join().unwrap();
    assert_eq!(ear.end().outcome, RowOutcome::DeviceLost("it was stopped".into()));
}
