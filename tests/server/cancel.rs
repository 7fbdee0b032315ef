//! Cancelling: at once, whole, and of the right one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, Heard, PATIENCE};
use crate::{harness, steps, with};

/// Long enough that it never ends by itself here.
fn long(id: &str) -> Value {
    with(steps(id, 3000), json!({ "pace": "realtime" }))
}

async fn cancel(client: &mut Client, id: &str) -> (Value, Duration) {
    let began = Instant::now();
    client.send(json!({ "type": "cancel", "id": id })).await;
    loop {
        match client.next().await {
            Heard::Control(m) if m["type"] == "cancelled" => return (m, began.elapsed()),
            Heard::Control(_) | Heard::Audio(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Ten times: answered within 100 ms, no packet of it after the answer, the row back within a step, new text spoken
/// from its own beginning.
#[tokio::test]
async fn a_cancel_is_answered_at_once_and_nothing_follows() {
    const STEP: Duration = Duration::from_millis(10);
    let server = harness::fake_alone(&["--fake-step-us", "10000"]).await;
    let mut client = Client::connect(&server).await;
    let (mut answers, mut rows) = (Vec::new(), Vec::new());
    for i in 0..10 {
        let old = client.start(long("a")).await["stream"].as_u64().unwrap() as u32;
        for _ in 0..=i {
            client.audio().await;
        }
        assert_eq!(server.metric("rows_active").await, 1);
        let (cancelled, took) = cancel(&mut client, "a").await;
        assert_eq!(cancelled["state"], "speaking");
        assert!(cancelled["audio_ms"].as_f64().unwrap() >= f64::from(i + 1) * 19.9, "{cancelled}");
        answers.push(took);
        rows.push(server.until("rows_active", 0, PATIENCE).await);
        // The same id, in the same moment: its own tones and nothing of the old ones.
        let started = client.start(steps("a", 10)).await;
        let spoken = loop {
            match client.next().await {
                Heard::Audio(packet) => assert_ne!(packet.stream, old, "audio after `cancelled`"),
                Heard::Control(m) if m["type"] == "done" => break m,
                Heard::Control(m) => assert_eq!(m["type"], "piece", "{m}"),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((&spoken["id"], &spoken["audio_ms"]), (&started["id"], &json!(213.333)));
    }
    answers.sort();
    rows.sort();
    assert!(answers[8] < Duration::from_millis(100), "nine of ten answers within 100 ms: {answers:?}");
    // Looking takes a request's time.
    assert!(rows[5] < STEP + Duration::from_millis(40), "the row is free at the next step: {rows:?}");
}

#[tokio::test]
async fn after_a_cancel_new_text_has_no_tail_of_the_old() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for format in [json!("pcm_s16le"), json!("opus"), json!({ "codec": "pcm_s16le", "sample_rate": 8000 })] {
        let alone = client.speak(with(steps("a", 12), json!({ "format": format, "seed": 4 }))).await;
        client.start(with(long("b"), json!({ "format": format, "seed": 90 }))).await;
        client.audio().await;
        client.send(json!({ "type": "cancel", "id": "b" })).await;
        let after = client.speak(with(steps("a", 12), json!({ "format": format, "seed": 4 }))).await;
        assert_eq!(alone.bytes(), after.check().bytes(), "{format}");
    }
}

/// Case I02: a cancel before the first audio is answered, and says that there was none.
#[tokio::test]
async fn a_cancel_before_the_first_audio() {
    let server = harness::fake(&["--fake-step-us", "100000"]).await;
    let mut client = Client::connect(&server).await;
    // With its row at work.
    client.start(long("a")).await;
    server.until("rows_active", 1, PATIENCE).await;
    let (cancelled, _) = cancel(&mut client, "a").await;
    assert_eq!((&cancelled["state"], &cancelled["audio_ms"]), (&json!("waiting"), &json!(0.0)), "{cancelled}");
    server.until("rows_active", 0, PATIENCE).await;
    // With no text at all.
    client.start(json!({ "id": "b" })).await;
    let (cancelled, _) = cancel(&mut client, "b").await;
    assert_eq!((&cancelled["state"], &cancelled["audio_ms"]), (&json!("waiting"), &json!(0.0)), "{cancelled}");
    let quiet = client.next_within(Duration::from_millis(300)).await;
    assert!(quiet.is_none(), "{quiet:?}");
    server.until("utterances_active", 0, PATIENCE).await;
}

/// Case I04: a second cancel and one of an unknown id are answered, and the socket stays.
#[tokio::test]
async fn a_cancel_of_what_is_not_there() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    client.start(long("a")).await;
    client.audio().await;
    let (first, _) = cancel(&mut client, "a").await;
    assert_eq!(first["state"], "speaking");
    for id in ["a", "never"] {
        let (again, _) = cancel(&mut client, id).await;
        assert_eq!(again, json!({ "type": "cancelled", "id": id, "state": "unknown", "audio_ms": 0.0 }));
    }
    client.send(json!({ "type": "cancel" })).await;
    let none = client.control("cancelled").await;
    assert_eq!(none, json!({ "type": "cancelled", "id": null, "state": "unknown", "audio_ms": 0.0 }));
    client.speak(steps("a", 3)).await.check().check_tones();
}

#[tokio::test]
async fn a_waiting_utterance_can_be_cancelled_alone() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let a = client.start(with(steps("a", 30), json!({ "pace": "realtime" }))).await;
    client.start(long("b")).await;
    let c = client.start(steps("c", 7)).await;
    client.audio().await;
    let (cancelled, _) = cancel(&mut client, "b").await;
    assert_eq!((&cancelled["id"], &cancelled["state"]), (&json!("b"), &json!("waiting")), "{cancelled}");
    let a = client.rest_of(a).await;
    assert_eq!((&a.end["type"], &a.end["audio_ms"]), (&json!("done"), &json!(640.0)));
    client.rest_of(c).await.check().check_tones();
}

#[tokio::test]
async fn a_cancel_without_an_id_is_of_all() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for id in ["a", "b", "c"] {
        client.start(long(id)).await;
    }
    client.audio().await;
    client.send(json!({ "type": "cancel" })).await;
    for (id, state) in [("a", "speaking"), ("b", "waiting"), ("c", "waiting")] {
        let cancelled = client.control("cancelled").await;
        assert_eq!((&cancelled["id"], &cancelled["state"]), (&json!(id), &json!(state)));
    }
    server.until("utterances_active", 0, PATIENCE).await;
    client.speak(steps("a", 5)).await.check().check_tones();
}

/// One that is made and waits only to be sent is cancelled like any other.
#[tokio::test]
async fn what_is_made_and_not_yet_sent_is_not_sent() {
    let server = harness::fake(&["--fake-step-us", "100"]).await;
    let mut client = Client::connect(&server).await;
    let old = client.start(with(steps("a", 140), json!({ "pace": "realtime" }))).await["stream"].clone();
    client.control("piece").await;
    server.until("rows_active", 0, PATIENCE).await;
    let (cancelled, _) = cancel(&mut client, "a").await;
    assert!(cancelled["audio_ms"].as_f64().unwrap() < 2900.0, "{cancelled}");
    while let Some(heard) = client.next_within(Duration::from_millis(100)).await {
        assert!(!matches!(&heard, Heard::Audio(p) if old == p.stream), "{heard:?}");
    }
}
