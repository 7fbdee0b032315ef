use futures_util::{FutureExt, StreamExt};

use super::*;
use crate::device::Demand;
use crate::device::thread::Nudge;
use crate::session::PieceEnd;
use crate::session::flow::RowFlow;

const RATE: u32 = 24_000;
/// Samples of 20 ms.
const FRAME: u32 = 480;
const FRAME_TIME: Duration = Duration::from_millis(20);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn packets(range: std::ops::Range<u64>, last: bool) -> Vec<Packet> {
    let packet = |i: u64| Packet {
        data: vec![i as u8],
        start: i * u64::from(FRAME),
        samples: FRAME,
        source_end: (i + 1) * u64::from(FRAME),
        last: last && i + 1 == range.end,
    };
    range.clone().map(packet).collect()
}

struct Ends {
    outbox: Arc<Outbox>,
    flow: Arc<Flow>,
    events: Events,
}

fn ends(pace: Pace, gate: Option<&Arc<Gate>>) -> Ends {
    let outbox = Arc::new(Outbox::default());
    let flow = Arc::new(Flow::new(u64::from(FRAME) * 3, Duration::from_secs(60), Nudge::default()));
    let events = Events::new(outbox.clone(), flow.clone(), pace, gate.cloned(), RATE, 0);
    Ends { outbox, flow, events }
}

impl Ends {
    /// What comes without waiting: packets as their first byte, other events by name.
    fn now(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(Some(event)) = self.events.next().now_or_never() {
            out.push(name(&event));
        }
        out
    }
}

fn name(event: &Event) -> String {
    match event {
        Event::Piece(piece) => format!("piece {}", piece.index),
        Event::Made => "made".into(),
        Event::Audio { packet, sequence } => {
            assert_eq!(u32::from(packet.data[0]), *sequence, "sequence numbers count the packets");
            format!("{sequence}")
        }
        Event::Done(_) => "done".into(),
        Event::Failed(_) => "failed".into(),
    }
}

fn piece(index: usize) -> Event {
    Event::Piece(PieceDone {
        index,
        source: 0..1,
        text: "a".into(),
        start_ms: 0.0,
        length_ms: 20.0,
        end: PieceEnd::Natural,
        seed: 1,
    })
}

fn done() -> Event {
    Event::Done(Box::default())
}

/// The next packet, or `None` at the end.
async fn packet(events: &mut Events) -> Option<(Packet, Instant)> {
    match events.next().await {
        Some(Event::Audio { packet, .. }) => Some((packet, Instant::now())),
        _ => None,
    }
}

#[tokio::test]
async fn notes_overtake_audio_and_the_last_event_comes_after_all_of_it() {
    let mut ends = ends(Pace::Fast, None);
    ends.outbox.audio(packets(0..2, false));
    ends.outbox.end(done());
    ends.outbox.note(piece(0));
    ends.outbox.audio(packets(2..3, true));
    ends.outbox.note(Event::Made);
    assert_eq!(ends.now(), ["piece 0", "made", "0", "1", "2", "done"]);
    assert!(matches!(ends.events.next().now_or_never(), Some(None)), "and nothing after the last one");
}

#[tokio::test]
async fn of_two_ends_the_first_counts() {
    let mut ends = ends(Pace::Fast, None);
    ends.outbox.end(Event::Failed(Failure::NotFinite { piece: 0 }));
    ends.outbox.end(done());
    assert_eq!(ends.now(), ["failed"]);
    assert!(matches!(ends.events.next().now_or_never(), Some(None)));
}

/// Bad news of a model comes after the sound that is good; that nobody takes the sound cannot wait behind it.
#[tokio::test]
async fn a_failure_waits_for_the_sound_before_it_unless_nobody_takes_that() {
    let mut failed = ends(Pace::Fast, None);
    failed.outbox.audio(packets(0..2, false));
    failed.outbox.end(Event::Failed(Failure::NotFinite { piece: 0 }));
    assert_eq!(failed.now(), ["0", "1", "failed"]);
    let mut stalled = ends(Pace::Fast, Some(&Arc::new(Gate::new(FRAME_TIME))));
    stalled.outbox.audio(packets(0..5, false));
    assert_eq!(stalled.now(), ["0"]);
    stalled.outbox.end(Event::Failed(Failure::Stalled { after: ms(1) }));
    assert_eq!(stalled.now(), ["failed"]);
}

/// A reader that waits is woken by whatever comes.
#[tokio::test]
async fn a_waiting_reader_is_woken() {
    let Ends { outbox, mut events, .. } = ends(Pace::Fast, None);
    let reader = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(event) = events.next().await {
            heard.push(name(&event));
        }
        heard
    });
    for step in 0..4 {
        tokio::task::yield_now().await;
        match step {
            0 => outbox.audio(packets(0..1, false)),
            1 => outbox.note(piece(0)),
            2 => outbox.audio(packets(1..2, true)),
            _ => outbox.end(done()),
        }
    }
    assert_eq!(reader.await.unwrap(), ["0", "piece 0", "1", "done"]);
}

/// The clock stands still but for waiting, so each packet leaves at its time exactly, to a timer's millisecond.
#[tokio::test(start_paused = true)]
async fn each_packet_leaves_at_its_time() {
    let lead = ms(40);
    let begin = Instant::now();
    let Ends { outbox, mut events, .. } = ends(Pace::Realtime { lead }, None);
    outbox.audio(packets(0..12, true));
    outbox.end(done());
    for i in 0..12 {
        let (packet, at) = packet(&mut events).await.expect("a packet");
        let due = begin + (FRAME_TIME * i).saturating_sub(lead);
        assert!(due <= at && at <= due + ms(1), "packet {} left {:?} after the first", packet.start, at - begin);
    }
    assert!(packet(&mut events).await.is_none());
}

#[tokio::test]
async fn fast_packets_leave_at_once() {
    let mut ends = ends(Pace::Fast, None);
    ends.outbox.audio(packets(0..200, true));
    assert_eq!(ends.now().len(), 200);
}

/// The pacer alone, on a clock of the test's own.
#[test]
fn deadlines_are_absolute() {
    let lead = ms(200);
    let mut pacer = Pacer { pace: Pace::Realtime { lead }, origin: None, underruns: 0, underrun: Duration::ZERO };
    let start = Instant::now();
    assert_eq!(pacer.due(Duration::ZERO), None, "the first packet leaves when it is there");
    pacer.sent(Duration::ZERO, FRAME_TIME, start);
    for i in 1..1000 {
        let position = FRAME_TIME * i;
        let due = pacer.due(position).unwrap();
        assert_eq!(due, start + position - lead);
        // Sent a little late, each time: the next one's deadline does not move.
        pacer.sent(position, FRAME_TIME, due + ms(u64::from(i % 100)));
    }
    assert_eq!((pacer.underruns, pacer.underrun), (0, Duration::ZERO));
}

#[test]
fn a_listener_who_runs_dry_is_counted_and_hears_the_rest_later() {
    let lead = ms(100);
    let mut pacer = Pacer { pace: Pace::Realtime { lead }, origin: None, underruns: 0, underrun: Duration::ZERO };
    let start = Instant::now();
    let mut send = |i: u32, after: u64| {
        pacer.sent(FRAME_TIME * i, FRAME_TIME, start + ms(after));
        (pacer.underruns, pacer.underrun, pacer.origin.unwrap() - start)
    };
    assert_eq!(send(0, 0), (0, ms(0), ms(0)));
    assert_eq!(send(1, 20), (0, ms(0), ms(0)));
    assert_eq!(send(2, 55), (0, ms(0), ms(0)), "less than a packet late: a timer's doing");
    assert_eq!(send(3, 360), (1, ms(300), ms(300)), "wanted at 60");
    assert_eq!(send(4, 380), (1, ms(300), ms(300)), "what follows is wanted later as well");
    assert_eq!(send(5, 500), (2, ms(400), ms(400)), "wanted at 400");
    assert_eq!(pacer.due(FRAME_TIME * 6), Some(start + ms(120 + 400 - 100)));
}

#[test]
fn a_fast_listener_runs_dry_too_and_has_no_deadlines() {
    let mut pacer = Pacer { pace: Pace::Fast, origin: None, underruns: 0, underrun: Duration::ZERO };
    let start = Instant::now();
    pacer.sent(Duration::ZERO, FRAME_TIME, start);
    assert_eq!(pacer.due(FRAME_TIME), None);
    pacer.sent(FRAME_TIME, FRAME_TIME, start + ms(100));
    assert_eq!((pacer.underruns, pacer.underrun), (1, ms(80)));
    assert_eq!(pacer.heard_at(FRAME_TIME), None, "nobody is known to be listening");
}

#[tokio::test(start_paused = true)]
async fn underruns_are_told_in_the_summary() {
    let Ends { outbox, mut events, .. } = ends(Pace::Realtime { lead: ms(0) }, None);
    outbox.audio(packets(0..1, false));
    let (_, first) = packet(&mut events).await.unwrap();
    tokio::time::sleep(ms(80)).await;
    outbox.audio(packets(1..2, true));
    outbox.end(done());
    packet(&mut events).await.unwrap();
    let Some(Event::Done(summary)) = events.next().await else { panic!("no end") };
    assert_eq!(summary.underruns, 1);
    // Wanted at 20 ms, there 80 ms after the first.
    assert!((ms(60)..=ms(61)).contains(&summary.underrun), "{:?}", summary.underrun);
    assert_eq!(summary.first_sent, Some(first.into_std()));
}

#[tokio::test]
async fn the_gate_holds_what_is_not_confirmed() {
    let gate = Arc::new(Gate::new(ms(50)));
    let mut a = ends(Pace::Fast, Some(&gate));
    a.outbox.audio(packets(0..9, true));
    // Open while less than 50 ms are on their way: 0, 20 and 40.
    assert_eq!(a.now(), ["0", "1", "2"]);
    assert_eq!((gate.sent(), gate.in_flight()), (60_000, ms(60)));
    gate.deliver(60_001);
    assert_eq!(a.now(), [""; 0], "more than was sent cannot have been delivered");
    gate.deliver(20_000);
    assert_eq!((a.now(), gate.in_flight()), (vec!["3".to_string()], ms(60)));
    gate.deliver(10_000);
    assert_eq!((a.now().len(), gate.in_flight()), (0, ms(60)), "an old answer changes nothing");
    gate.deliver(80_000);
    assert_eq!(a.now(), ["4", "5", "6"]);
    // The next utterance of the same socket goes through the same gate; notes do not.
    let mut b = ends(Pace::Fast, Some(&gate));
    b.outbox.audio(packets(0..2, true));
    b.outbox.note(Event::Made);
    assert_eq!(b.now(), ["made"]);
    gate.deliver(gate.sent());
    assert_eq!(b.now(), ["0", "1"]);
}

#[tokio::test]
async fn a_confirmation_wakes_who_waits_at_the_gate() {
    let gate = Arc::new(Gate::new(FRAME_TIME));
    let Ends { outbox, mut events, .. } = ends(Pace::Fast, Some(&gate));
    outbox.audio(packets(0..3, true));
    outbox.end(done());
    let reader = tokio::spawn(async move {
        let mut n = 0;
        while let Some(Event::Audio { .. }) = events.next().await {
            n += 1;
        }
        n
    });
    for sent in [20_000, 40_000, 60_000] {
        tokio::task::yield_now().await;
        assert_eq!(gate.sent(), sent, "one at a time");
        gate.deliver(sent);
    }
    assert_eq!(reader.await.unwrap(), 3);
}

/// What the reader takes lets the row go on; a reader that is gone ends it.
#[tokio::test]
async fn taking_moves_the_flow_and_leaving_cancels_it() {
    let mut ends = ends(Pace::Fast, None);
    let row = RowFlow::default();
    row.become_front(0);
    ends.flow.add_made(&row, FRAME as usize * 3);
    assert_eq!(ends.flow.demand(&row), Demand::Pause);
    ends.outbox.audio(packets(0..1, false));
    assert_eq!(ends.now(), ["0"]);
    assert_eq!(ends.flow.demand(&row), Demand::Run);
    drop(ends.events);
    assert_eq!(ends.flow.demand(&row), Demand::Stop);
}

/// An utterance that follows another is heard after it, so it is not sent a further lead ahead.
#[tokio::test(start_paused = true)]
async fn utterances_in_a_row_keep_to_one_clock() {
    let gate = Arc::new(Gate::new(Duration::from_secs(5)));
    let pace = Pace::Realtime { lead: ms(40) };
    let mut a = ends(pace, Some(&gate));
    a.outbox.audio(packets(0..3, true));
    for _ in 0..3 {
        packet(&mut a.events).await.unwrap();
    }
    let heard = a.events.pacer.origin.unwrap() + FRAME_TIME * 3;
    let mut b = ends(pace, Some(&gate));
    b.outbox.audio(packets(0..2, true));
    for i in 0..2 {
        let (_, at) = packet(&mut b.events).await.unwrap();
        let due = (heard + FRAME_TIME * i).checked_sub(ms(40)).unwrap();
        assert!(due <= at && at <= due + ms(1), "packet {i} left at {at:?}, due at {due:?}");
    }
    // What the listener threw away is not waited for.
    let mut c = ends(Pace::Realtime { lead: ms(0) }, Some(&gate));
    *gate.heard_at() = Some(Instant::now() + Duration::from_secs(600));
    c.outbox.audio(packets(0..1, true));
    assert_eq!(c.now(), [""; 0]);
    gate.forget();
    let mut d = ends(Pace::Realtime { lead: ms(0) }, Some(&gate));
    d.outbox.audio(packets(0..1, true));
    assert_eq!(d.now(), ["0"]);
    // Nor is one that was over long ago.
    *gate.heard_at() = Instant::now().checked_sub(ms(1));
    let mut e = ends(Pace::Realtime { lead: ms(0) }, Some(&gate));
    e.outbox.audio(packets(0..1, true));
    assert_eq!(e.now(), ["0"]);
}

/// A player drops pre-skip, so that much less of an utterance is heard; without it a thousand of them would drift apart.
#[tokio::test]
async fn pre_skip_is_not_heard() {
    let gate = Arc::new(Gate::new(Duration::from_secs(5)));
    let outbox = Arc::new(Outbox::default());
    let flow = Arc::new(Flow::new(1_000_000, Duration::from_secs(60), Nudge::default()));
    let pace = Pace::Realtime { lead: Duration::from_secs(1) };
    // 480 ticks at 48 kHz are 10 ms.
    let mut events = Events::new(outbox.clone(), flow, pace, Some(gate.clone()), RATE, 480);
    outbox.audio(packets(0..2, true));
    packet(&mut events).await.unwrap();
    packet(&mut events).await.unwrap();
    let heard = gate.heard_at().unwrap() - events.pacer.origin.unwrap();
    assert_eq!(heard, ms(30));
}
