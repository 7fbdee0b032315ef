use std::path::Path;
use std::sync::atomic::AtomicUsize;

use actix::{Actor, Arbiter};
use futures_util::{FutureExt, StreamExt};

use super::*;
use crate::audio::encode::PcmFormat;
use crate::audio::pcm::{FadeOut, fade_in, to_i16};
use crate::device::actor::{DeviceActor, DeviceHandle};
use crate::device::testing::{Call, Watched};
use crate::device::thread::Shared;
use crate::engine::fake::{FakeEngine, FakeOptions, Fault, tone};
use crate::engine::{Capacity, DecodeJob, Engine, EngineError, Row, Slot, StepOutcome};
use crate::session::pool::Pool;
use crate::session::report::{PieceDone, Reason, Summary};
use crate::session::service::{Limits, Opened};

const PATIENCE: Duration = Duration::from_secs(20);

struct Room {
    service: Arc<Service>,
    shared: Arc<Shared>,
}

fn frontend() -> Frontend {
    Frontend::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo")).unwrap()
}

/// A service on this engine.
async fn room(engine: impl Engine + 'static, limits: Limits) -> Room {
    let shared = Shared::new(1024);
    let actor = DeviceActor::new(shared.clone(), 24_000, Box::new(move || Ok(Box::new(engine))), 1024);
    let mut loaded = actor.loaded();
    let addr = DeviceActor::start_in_arbiter(&Arbiter::new().handle(), |_| actor);
    loaded.wait_for(Option::is_some).await.unwrap().clone().unwrap().unwrap();
    let device = DeviceHandle::new(addr, shared.clone());
    Room { service: Service::new(frontend(), device, Pool::new(2).unwrap(), limits), shared }
}

fn fake(faults: &[Fault]) -> FakeEngine {
    FakeEngine::new(FakeOptions { faults: faults.to_vec(), ..FakeOptions::default() })
}

fn request(seed: u64) -> Request {
    Request {
        speaker: Speaker::default(),
        sampling: Sampling::code(seed),
        max_steps: None,
        refine: None,
        speed: 1.0,
        decode: DecodePath::Codes,
        format: StreamFormat::Pcm(PcmFormat::default()),
        pace: Pace::Fast,
        parallel: 1,
        ahead: Duration::from_secs(600),
        stall: Duration::from_secs(60),
    }
}

/// The first samples of a piece: its tone, faded in.
fn beginning(seed: u64, n: usize) -> Vec<f32> {
    let mut pcm: Vec<f32> = (0..n).map(|i| tone(seed, i)).collect();
    fade_in(&mut pcm, 0, 24_000);
    pcm
}

#[test]
fn a_turn_takes_a_portion_of_text_and_all_else() {
    let text = |text: String| Input::Text { text, at: Instant::now() };
    let long = "好a".repeat(10_000);
    let parts = portions(long.clone());
    assert!(parts.len() > 4 && parts.iter().all(|p| p.len() <= PORTION) && parts.concat() == long);
    assert!(portions(String::new()).is_empty());
    assert_eq!(portions(format!("{long}\0")).len(), 1);
    let mut inbox: VecDeque<Input> = parts.iter().cloned().map(text).collect();
    inbox.push_front(Input::Release);
    inbox.push_back(Input::Finish { at: Instant::now() });
    let mut turns = Vec::new();
    while !inbox.is_empty() {
        turns.push(next_inputs(&mut inbox).len());
    }
    // The release goes with the first part, the end with the last, which is short.
    assert_eq!((turns[0], turns.len(), turns.iter().sum::<usize>()), (2, parts.len(), parts.len() + 2), "{turns:?}");
    let small = (0..100).map(|n| text(n.to_string())).collect::<VecDeque<_>>();
    assert_eq!(next_inputs(&mut small.into_iter().collect()).len(), 100);
    assert_eq!(next_inputs(&mut VecDeque::from([text("a".repeat(2 * PORTION)), Input::Release])).len(), 1);
    assert!(next_inputs(&mut VecDeque::new()).is_empty());
}

/// All of an utterance.
struct Told {
    pieces: Vec<PieceDone>,
    samples: Vec<i16>,
    made: usize,
    end: Event,
}

impl Told {
    fn texts(&self) -> Vec<&str> {
        self.pieces.iter().map(|p| p.text.trim_end()).collect()
    }

    fn summary(&self) -> &Summary {
        match &self.end {
            Event::Done(summary) => summary,
            other => panic!("expected an utterance that was said, found {other:?}"),
        }
    }

    fn failure(&self) -> &Failure {
        match &self.end {
            Event::Failed(failure) => failure,
            other => panic!("expected a failure, found {other:?}"),
        }
    }

    /// The tones of its pieces, in order and without a hole, each faded in, and faded out at the very end.
    fn check_sound(&self) {
        let mut fade = FadeOut::new(24_000);
        let (mut expected, mut at) = (Vec::new(), 0.0);
        for (i, piece) in self.pieces.iter().enumerate() {
            assert_eq!(piece.index, i);
            assert!((piece.start_ms - at).abs() < 1e-6, "piece {i} begins where the one before ends");
            at += piece.length_ms;
            let n = (piece.length_ms * 24.0).round() as usize;
            expected.extend(fade.push(&beginning(piece.seed, n)));
        }
        expected.extend(fade.finish());
        let expected: Vec<i16> = expected.into_iter().map(to_i16).collect();
        assert_eq!(self.samples.len(), expected.len());
        assert!(self.samples == expected, "the tones of its pieces");
    }
}

/// Up to the end, after which there is nothing.
async fn all(events: &mut Events) -> Told {
    let mut told = Told { pieces: Vec::new(), samples: Vec::new(), made: 0, end: Event::Made };
    let mut ends = 0;
    let listen = async {
        while let Some(event) = events.next().await {
            assert_eq!(ends, 0, "something after the end: {event:?}");
            match event {
                Event::Piece(piece) => told.pieces.push(piece),
                Event::Made => told.made += 1,
                Event::Audio { packet, .. } => {
                    told.samples.extend(packet.data.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])));
                }
                end => {
                    ends += 1;
                    told.end = end;
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, listen).await.expect("an end in time");
    assert_eq!(ends, 1, "one end");
    told
}

/// Throws away what comes before an event that must come before the end.
async fn until_event(events: &mut Events, found: impl Fn(&Event) -> bool) {
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.expect("an event in time");
        let event = event.expect("an event before the end");
        if found(&event) {
            return;
        }
        assert!(!matches!(event, Event::Done(_) | Event::Failed(_)), "an early end: {event:?}");
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

impl Room {
    fn open(&self, request: Request) -> Opened {
        self.service.open(request, None, false).unwrap()
    }

    /// Says a text that is there at once.
    async fn say(&self, request: Request, text: &str) -> Told {
        let Opened { mut control, mut events, .. } = self.open(request);
        control.text(text.into()).unwrap();
        control.finish();
        all(&mut events).await
    }

    /// Nothing is on the device, and nobody has a place.
    async fn empty(&self) {
        until("rows are free", || self.shared.load().rows + self.shared.load().waiting == 0).await;
        until("places are free", || self.service.under_way() == 0).await;
    }
}

/// Four pieces of very different lengths: later ones are made before earlier ones are heard, and nobody can tell.
#[actix::test]
async fn pieces_are_heard_in_order_however_many_rows_run() {
    let pieces =
        ["First this one here.", "The second is a good deal longer than all of the others.", "Short.", "And the end."];
    let mut sounds = Vec::new();
    for parallel in [1, 2, 3] {
        let most = Arc::new(AtomicUsize::new(0));
        let mut engine =
            Watched::new(FakeOptions { slots: 8, step_time: Duration::from_micros(200), ..FakeOptions::default() });
        let seen = most.clone();
        engine.hook = Some(Box::new(move |call| {
            if let Call::Step(rows) = call {
                seen.fetch_max(rows.len(), Ordering::Relaxed);
            }
            None
        }));
        let room = room(engine, Limits::default()).await;
        let Opened { mut control, mut events, .. } = room.open(Request { parallel, ..request(7) });
        for piece in pieces {
            control.text(piece.into()).unwrap();
            control.flush();
        }
        control.finish();
        let told = all(&mut events).await;
        told.check_sound();
        assert_eq!((told.pieces.len(), told.made, told.summary().pieces), (4, 1, 4));
        assert_eq!(told.texts()[2], "short.");
        assert_eq!(most.load(Ordering::Relaxed), parallel, "rows at once");
        room.empty().await;
        sounds.push(told.samples);
    }
    assert!(sounds[0] == sounds[1] && sounds[0] == sounds[2], "the same sound");
}

#[actix::test]
async fn a_piece_is_spoken_as_soon_as_its_end_is_certain() {
    let room = room(fake(&[]), Limits::default()).await;
    let Opened { mut control, mut events, .. } = room.open(request(7));
    control.text("So we begin".into()).unwrap();
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(events.next().now_or_never().is_none(), "its end is not certain");
    control.flush();
    let first = events.next().await;
    assert!(matches!(first, Some(Event::Audio { .. } | Event::Piece(_))), "{first:?}");
    control.text(" and go on.".into()).unwrap();
    control.finish();
    let told = all(&mut events).await;
    assert_eq!((told.summary().pieces, told.texts().last().copied()), (2, Some("and go on.")));
}

/// Who waits for a writer keeps neither a row nor a place from others.
#[actix::test]
async fn waiting_for_text_holds_nothing() {
    let room = room(fake(&[]), Limits { queue: 0, ..Limits::default() }).await;
    let Opened { mut control, mut events, .. } = room.open(request(7));
    control.text("One is here.".into()).unwrap();
    control.flush();
    until_event(&mut events, |event| matches!(event, Event::Piece(_))).await;
    room.empty().await;
    control.text("And another.".into()).unwrap();
    control.finish();
    let told = all(&mut events).await;
    assert_eq!((told.summary().reason, told.summary().pieces), (Reason::Complete, 2));
}

#[actix::test]
async fn a_held_utterance_begins_when_it_is_released() {
    let room = room(fake(&[]), Limits::default()).await;
    let Opened { mut control, mut events, .. } = room.service.open(request(7), None, true).unwrap();
    control.text("All of it is here.".into()).unwrap();
    control.finish();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(events.next().now_or_never().is_none());
    assert_eq!((room.shared.load().steps, room.service.under_way()), (0, 0), "it has no place on the device");
    control.release();
    let told = all(&mut events).await;
    told.check_sound();
    assert_eq!(told.texts(), ["all of it is here."]);
}

#[actix::test]
async fn text_over_the_limit_is_refused_and_the_rest_is_spoken() {
    let room = room(fake(&[]), Limits { text_chars: 20, ..Limits::default() }).await;
    let Opened { mut control, mut events, .. } = room.open(request(7));
    control.text("One is here. ".into()).unwrap();
    let refused = control.text("Another one.".into()).unwrap_err();
    assert_eq!(refused, TextRefused::TooMuch { limit: 20, found: 25 });
    assert_eq!(refused.to_string(), "expected at most 20 characters of text in an utterance, found 25");
    control.text("It fits.".into()).unwrap_err();
    control.text("So so 7".into()).unwrap();
    control.finish();
    assert_eq!(control.text("x".into()), Err(TextRefused::Finished));
    control.finish();
    let told = all(&mut events).await;
    told.check_sound();
    assert_eq!(told.pieces.last().unwrap().source.end, 20);
}

#[actix::test]
async fn nothing_to_say_is_done_at_once() {
    let room = room(fake(&[]), Limits { queue: 0, ..Limits::default() }).await;
    for text in ["", " \n", "...", "[laugh]"] {
        let told = room.say(request(7), text).await;
        let summary = told.summary();
        assert_eq!((summary.reason, summary.pieces, summary.audio_ms), (Reason::NothingToSay, 0, 0.0), "{text:?}");
        assert_eq!((told.samples.len(), summary.ttfa_ms(), summary.rtf()), (0, None, None), "{text:?}");
    }
    assert_eq!(room.shared.load().steps, 0);
}

#[actix::test]
async fn what_a_summary_says_adds_up() {
    let step_time = Duration::from_millis(1);
    let room = room(FakeEngine::new(FakeOptions { step_time, ..FakeOptions::default() }), Limits::default()).await;
    let told = room.say(request(7), "It has 3 of them here.").await;
    let summary = told.summary();
    let steps = summary.steps;
    assert_eq!(summary.audio_ms, steps as f64 * 512.0 / 24.0);
    assert!(summary.device_time >= step_time * steps as u32, "{:?} for {steps} steps", summary.device_time);
    let (queue, engine, ttfa) = (summary.queue_ms().unwrap(), summary.engine_ms().unwrap(), summary.ttfa_ms().unwrap());
    assert!(engine >= 4.0, "four steps of a millisecond make the first chunk: {engine}");
    assert!(ttfa + 1e-6 >= queue + engine, "{ttfa} is less than {queue} and {engine}");
    assert_eq!((summary.rewritten.len(), summary.rewritten[0].from.as_str()), (1, "3"));
}

/// The fake engine, whose refinements say what a test wants.
struct Refining(FakeEngine, Vec<u32>);

impl Engine for Refining {
    fn capacity(&self) -> Capacity {
        self.0.capacity()
    }

    fn lookahead(&self, path: DecodePath) -> usize {
        self.0.lookahead(path)
    }

    fn prefill(&mut self, rows: Vec<Row>) -> Result<Vec<Slot>, EngineError> {
        self.0.prefill(rows)
    }

    fn step(&mut self, slots: &[Slot]) -> Result<Vec<StepOutcome>, EngineError> {
        let said = |outcome| match outcome {
            StepOutcome::Token(i) => self.1.get(i as usize).map_or(StepOutcome::End, |t| StepOutcome::Token(*t)),
            other => other,
        };
        let outcomes = self.0.step(slots)?;
        Ok(outcomes.into_iter().map(said).collect())
    }

    fn decode(&mut self, jobs: &[DecodeJob]) -> Result<Vec<Vec<f32>>, EngineError> {
        self.0.decode(jobs)
    }

    fn release(&mut self, slot: Slot) -> Result<(), EngineError> {
        self.0.release(slot)
    }
}

async fn refined(text: &str, as_what: &str) -> Told {
    let tokens = frontend().tokenizer.encode(as_what).unwrap();
    let room = room(Refining(fake(&[]), tokens), Limits::default()).await;
    let told = room.say(Request { refine: Some(String::new()), ..request(7) }, text).await;
    room.empty().await;
    told.check_sound();
    told
}

#[actix::test]
async fn a_refinement_with_the_same_words_is_spoken() {
    let told = refined("Hello there.", "hello [uv_break] there.").await;
    assert!(told.pieces[0].text.contains("[uv_break]"), "{:?}", told.pieces[0].text);
    assert!(told.summary().refine_rejected.is_empty());
}

#[actix::test]
async fn a_refinement_with_other_words_is_told_and_the_text_is_spoken_as_it_was() {
    for (as_what, why) in [
        ("hello here.", "in place of"),
        ("hello hello hello hello hello hello hello hello hello there", "at most"),
        ("", "words"),
    ] {
        let told = refined("Hello there.", as_what).await;
        assert_eq!(told.texts(), ["hello there."], "{as_what:?}");
        let rejected = &told.summary().refine_rejected;
        assert_eq!((rejected.len(), rejected[0].piece), (1, 0), "{as_what:?}");
        assert!(rejected[0].why.contains(why), "{as_what:?}: {}", rejected[0].why);
    }
}

#[actix::test]
async fn an_empty_result_is_made_up_for_by_another_seed() {
    let room = room(fake(&[Fault::EmptyRow(0), Fault::EmptyRow(1)]), Limits::default()).await;
    let told = room.say(request(7), "Hello there.").await;
    told.check_sound();
    assert_eq!((told.summary().retries, told.summary().pieces), (2, 1));
    assert_ne!(told.pieces[0].seed, 7, "the piece tells the seed that was used");
}

#[actix::test]
async fn a_model_that_says_nothing_is_an_error() {
    let room = room(fake(&[0, 1, 2].map(Fault::EmptyRow)), Limits::default()).await;
    let told = room.say(request(7), "Hello there.").await;
    assert_eq!(*told.failure(), Failure::NoAudio { piece: 0, tries: 3 });
    assert_eq!((told.samples.len(), told.pieces.len()), (0, 0));
    room.empty().await;
    room.say(request(7), "Hello there.").await.check_sound();
}

/// What was good before it is heard, to the piece that was whole; then comes the reason.
#[actix::test]
async fn values_that_are_not_finite_end_the_utterance_after_what_is_good() {
    let room = room(fake(&[Fault::RowFails { row: 1, step: 6 }]), Limits::default()).await;
    let Opened { mut control, mut events, .. } = room.open(request(7));
    control.text("First this one.".into()).unwrap();
    control.flush();
    control.text("And then that one.".into()).unwrap();
    control.finish();
    let told = all(&mut events).await;
    assert_eq!(*told.failure(), Failure::NotFinite { piece: 1 });
    assert_eq!(told.texts(), ["first this one."]);
    let n = (told.pieces[0].length_ms * 24.0).round() as usize;
    assert!(told.samples.len() >= n, "{} samples of {n}", told.samples.len());
    let expected: Vec<i16> = beginning(7, n).into_iter().map(to_i16).collect();
    assert!(told.samples[..n] == expected, "all of the first piece");
    room.empty().await;
}

#[actix::test]
async fn a_lost_device_ends_who_speaks_and_who_comes_after() {
    let room = room(fake(&[Fault::DeviceLost(10)]), Limits::default()).await;
    let told = room.say(request(7), "Hello there, and so on.").await;
    let why = "the device failed: lost on demand".to_string();
    assert_eq!(*told.failure(), Failure::DeviceLost { piece: 0, why });
    room.empty().await;
    assert_eq!(*room.say(request(7), "Hello there.").await.failure(), Failure::NoDevice);
}

#[actix::test]
async fn one_more_than_there_is_room_for_is_refused() {
    let options = FakeOptions {
        slots: 1,
        step_time: Duration::from_millis(1),
        faults: vec![Fault::RunsAway(0)],
        ..FakeOptions::default()
    };
    let room = room(FakeEngine::new(options), Limits { queue: 1, ..Limits::default() }).await;
    let long = || Request { max_steps: Some(100_000), ..request(7) };
    let (speaks, waits) = (room.open(long()), room.open(request(8)));
    for opened in [&speaks, &waits] {
        opened.control.text("Hello there.".into()).unwrap();
        opened.control.flush();
    }
    until("both have a place", || room.service.under_way() == 2).await;
    assert_eq!(*room.say(request(9), "Hello there.").await.failure(), Failure::Overloaded { limit: 2 });
    // Leaving is enough to make room.
    drop(speaks);
    let Opened { mut control, mut events, .. } = waits;
    control.finish();
    all(&mut events).await.check_sound();
    room.empty().await;
}

#[actix::test]
async fn a_listener_who_leaves_frees_the_row() {
    let options =
        FakeOptions { step_time: Duration::from_millis(1), faults: vec![Fault::RunsAway(0)], ..FakeOptions::default() };
    let room = room(FakeEngine::new(options), Limits::default()).await;
    let Opened { control, mut events, .. } = room.open(Request { max_steps: Some(100_000), ..request(7) });
    control.text("Hello there.".into()).unwrap();
    control.flush();
    assert!(matches!(events.next().await, Some(Event::Audio { .. })));
    drop(events);
    room.empty().await;
}

#[actix::test]
async fn a_listener_who_takes_nothing_is_given_up() {
    let options = FakeOptions { faults: vec![Fault::RunsAway(0)], positions: 1 << 20, ..FakeOptions::default() };
    let room = room(FakeEngine::new(options), Limits::default()).await;
    let gate = Arc::new(Gate::new(Duration::from_millis(100)));
    let request = Request {
        max_steps: Some(100_000),
        ahead: Duration::from_millis(500),
        stall: Duration::from_millis(150),
        ..request(7)
    };
    let Opened { control, mut events, .. } = room.service.open(request, Some(gate.clone()), false).unwrap();
    control.text("Hello there.".into()).unwrap();
    control.flush();
    let told = all(&mut events).await;
    assert_eq!(*told.failure(), Failure::Stalled { after: Duration::from_millis(150) });
    assert_eq!(told.samples.len(), 5 * 480, "what the gate let through");
    let steps = room.shared.load().steps;
    assert!(steps < 100, "its row paused: {steps} steps");
    room.empty().await;
}

/// Its place is free when the end is told, not a moment later: whoever hears it may begin at once.
#[actix::test]
async fn the_end_comes_after_the_place_is_free() {
    let options =
        FakeOptions { slots: 1, faults: vec![Fault::RowFails { row: 50, step: 3 }], ..FakeOptions::default() };
    let room = room(FakeEngine::new(options), Limits { queue: 0, ..Limits::default() }).await;
    for i in 0..100 {
        let told = room.say(request(i), "Hello.").await;
        match &told.end {
            Event::Failed(Failure::NotFinite { .. }) if i == 50 => {}
            _ => assert_eq!(told.summary().reason, Reason::Complete, "utterance {i}"),
        }
        assert_eq!(room.service.under_way(), 0, "utterance {i}");
    }
}

/// The next utterance of a socket begins when this one is made, before all of it is encoded: in a full house, too.
#[actix::test]
async fn the_place_is_free_when_all_is_made() {
    let room = room(
        FakeEngine::new(FakeOptions { slots: 1, ..FakeOptions::default() }),
        Limits { queue: 0, ..Limits::default() },
    )
    .await;
    for i in 0..50 {
        let Opened { mut control, mut events, .. } = room.open(request(i));
        control.text("This one is long enough that its last chunk takes several turns to encode.".into()).unwrap();
        control.finish();
        until_event(&mut events, |event| matches!(event, Event::Made)).await;
        room.say(request(1000 + i), "Hello.").await.check_sound();
        assert_eq!(all(&mut events).await.summary().reason, Reason::Complete);
    }
}

/// A NUL ends the utterance, whatever else was in the same text; others go on.
#[actix::test]
async fn a_text_that_cannot_be_read_ends_its_utterance() {
    let room = room(fake(&[]), Limits::default()).await;
    let told = room.say(request(7), "So far so good.\0").await;
    assert!(matches!(told.failure(), Failure::Text(_)), "{:?}", told.failure());
    room.empty().await;
    room.say(request(7), "Hello there.").await.check_sound();
}
