//! Several utterances on one socket, several sockets, and what their packets say of themselves.

use std::time::Duration;

use serde_json::json;

use crate::client::{Client, Heard};
use crate::{harness, steps, with};

#[tokio::test]
async fn utterances_are_spoken_in_the_order_of_their_start() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let mut streams = Vec::new();
    for (id, n) in [("a", 40), ("b", 5), ("c", 20), ("d", 1)] {
        streams.push(client.start(steps(id, n)).await["stream"].as_u64().unwrap());
    }
    assert_eq!(streams, [1, 2, 3, 4]);
    let (mut heard, mut done) = (Vec::new(), Vec::new());
    while done.len() < 4 {
        match client.next().await {
            Heard::Audio(packet) => heard.push(packet.stream),
            Heard::Control(m) if m["type"] == "done" => done.push(m["id"].as_str().unwrap().to_string()),
            Heard::Control(m) => assert_eq!(m["type"], "piece", "{m}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(done, ["a", "b", "c", "d"]);
    assert!(heard.is_sorted(), "no packet of a later one before the end of an earlier one: {heard:?}");
}

#[tokio::test]
async fn a_later_utterance_may_be_filled_and_finished_while_an_earlier_one_speaks() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let open = json!({ "id": "a", "pace": "fast", "format": "pcm_s16le" });
    let a = client.start(open).await;
    client.text(&a["id"], "One is here. And then ", false).await;
    assert!(client.audio().await.first);
    let b = client.start(steps("b", 12)).await;
    client.text(&a["id"], "one more is to come.", true).await;
    let (a, b) = (client.rest_of(a).await, client.rest_of(b).await);
    assert_eq!(a.texts(), ["one is here.", "and then one more is to come."]);
    assert_eq!(a.end["type"], "done");
    b.check().check_tones();
    assert_eq!(b.audio_ms(), 256.0);
}

/// Both are made and sent in real time; the second follows the first without a hole a listener would hear.
#[tokio::test]
async fn the_next_utterance_follows_without_a_gap() {
    let server = harness::fake_alone(&[]).await;
    let mut client = Client::connect(&server).await;
    let paced = |id| with(steps(id, 47), json!({ "pace": "realtime" }));
    let a = client.start(paced("a")).await;
    let b = client.start(paced("b")).await;
    let (a, b) = (client.rest_of(a).await, client.rest_of(b).await);
    a.check().check_tones();
    b.check().check_tones();
    // A listener plays the first from its first packet on, and the second right after it.
    let ends = a.packets[0].at + Duration::from_secs_f64(a.audio_ms() / 1e3);
    let begins = b.packets[0].at;
    assert!(begins < ends, "the second began {:?} after the first was over", begins - ends);
    assert_eq!((&a.end["underruns"], &b.end["underruns"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn ids_are_used_as_documented() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let error = async |client: &mut Client, code: &str, id: Option<&str>| {
        let error = client.control("error").await;
        assert_eq!((&error["code"], &error["id"]), (&json!(code), &json!(id)), "{error}");
        assert_eq!(error["field"], "id", "{error}");
    };
    client.send(json!({ "type": "text", "text": "x" })).await;
    error(&mut client, "unknown_id", None).await;
    client.send(json!({ "type": "text", "id": "nobody", "text": "x" })).await;
    error(&mut client, "unknown_id", Some("nobody")).await;
    client.send(json!({ "type": "flush", "id": "nobody" })).await;
    error(&mut client, "unknown_id", Some("nobody")).await;
    let a = client.start(json!({ "id": "a", "pace": "fast", "format": "pcm_s16le" })).await;
    client.send(json!({ "type": "start", "id": "a", "text": "Again.", "final": true })).await;
    error(&mut client, "duplicate_id", Some("a")).await;
    client.text(&a["id"], "All of it.", true).await;
    client.send(json!({ "type": "text", "id": "a", "text": "more" })).await;
    // Either it had its final text, or it is over already.
    let late = client.control("error").await;
    assert!(late["code"] == "finished" || late["code"] == "unknown_id", "{late}");
    client.rest_of(a).await.check().check_tones();
    // What is over frees its id.
    client.speak(steps("a", 3)).await.check().check_tones();
}

#[tokio::test]
async fn text_after_the_final_one_is_refused_and_changes_nothing() {
    let server = harness::fake(&["--fake-step-us", "20000"]).await;
    let mut client = Client::connect(&server).await;
    let a = client.start(steps("a", 20)).await;
    client.send(json!({ "type": "text", "id": "a", "text": "And more.", "final": true })).await;
    let error = client.control("error").await;
    assert_eq!((&error["code"], &error["field"]), (&json!("finished"), &json!("text")), "{error}");
    let a = client.rest_of(a).await;
    assert_eq!(a.check().texts(), ["hello there."]);
}

#[tokio::test]
async fn ids_the_server_draws_avoid_those_in_use() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    assert_eq!(client.start(json!({})).await["id"], "u1");
    assert_eq!(client.start(json!({ "id": "u3" })).await["id"], "u3");
    assert_eq!(client.start(json!({})).await["id"], "u4");
}

#[tokio::test]
async fn a_socket_has_so_many_utterances_as_it_was_told() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let limit = client.ready["limits"]["utterances"].as_u64().unwrap();
    for i in 0..limit {
        client.start(json!({ "id": format!("{i}") })).await;
    }
    client.send(json!({ "type": "start", "id": "over" })).await;
    let error = client.control("error").await;
    assert_eq!((&error["code"], &error["id"]), (&json!("too_many_utterances"), &json!("over")));
    assert!(error["message"].as_str().unwrap().contains(&limit.to_string()), "{error}");
    client.send(json!({ "type": "cancel", "id": "0" })).await;
    client.control("cancelled").await;
    client.start(json!({ "id": "over" })).await;
}

/// The same client id on two sockets at once: each hears the tones of its own seed, to the byte.
#[tokio::test]
async fn two_sockets_with_one_id_never_mix() {
    let server = harness::fake(&[]).await;
    let (mut one, mut two) = (Client::connect(&server).await, Client::connect(&server).await);
    assert_ne!(one.ready["session"], two.ready["session"]);
    let a = one.start(with(steps("same", 60), json!({ "seed": 1 }))).await;
    let b = two.start(with(steps("same", 40), json!({ "seed": 2 }))).await;
    assert_eq!((&a["seed"], &b["seed"]), (&json!(1), &json!(2)));
    let (a, b) = tokio::join!(one.rest_of(a), two.rest_of(b));
    a.check().check_tones();
    b.check().check_tones();
    assert_eq!((a.audio_ms(), b.audio_ms()), (1280.0, 853.333));
    assert_ne!(a.bytes()[..1000], b.bytes()[..1000]);
    // And a cancel reaches its own socket's only.
    let a = one.start(with(steps("same", 3000), json!({ "pace": "realtime" }))).await;
    let b = two.start(steps("same", 30)).await;
    one.audio().await;
    one.send(json!({ "type": "cancel", "id": "same" })).await;
    assert_eq!(one.rest_of(a).await.end["type"], "cancelled");
    two.rest_of(b).await.check().check_tones();
}
