//! More clients than there is room for, and many that ask for nothing.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::client::{Client, PATIENCE};
use crate::harness::Server;
use crate::{harness, http, steps, with};

fn long() -> Value {
    with(steps("a", 3000), json!({ "pace": "realtime" }))
}

/// So many that speak, and hold their places.
async fn holders(server: &Server, n: u64) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..n {
        let mut client = Client::connect(server).await;
        client.start(long()).await;
        clients.push(client);
    }
    server.until("utterances_active", n, PATIENCE).await;
    clients
}

/// Case B05: one more than the slots and the queue hold is refused at once: on a socket by an error and 1013, over HTTP
/// by 503, Retry-After and the error object.
#[tokio::test]
async fn one_more_than_there_is_room_for_is_refused_at_once() {
    let server = harness::fake(&["--slots", "2", "--queue", "2"]).await;
    let mut holders = holders(&server, 4).await;
    server.until("rows_active", 2, PATIENCE).await;
    let mut client = Client::connect(&server).await;
    let began = Instant::now();
    client.start(steps("over", 3)).await;
    let error = client.control("error").await;
    assert_eq!((&error["code"], &error["id"]), (&json!("overloaded"), &json!("over")), "{error}");
    assert!(error["retry_after_ms"].as_u64().unwrap() > 0, "{error}");
    assert!(error["message"].as_str().unwrap().contains('4'), "it names the limit: {error}");
    assert_eq!(client.closed().await.0, 1013);
    let reply = http::speech(server.addr, &json!({ "input": "Hello there." })).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert_eq!((&reply.error()["code"], &reply.error()["type"]), (&json!("overloaded"), &json!("server_error")));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // A place that comes free is taken.
    holders.pop().unwrap().reset();
    server.until("utterances_active", 3, PATIENCE).await;
    assert_eq!(holders.len(), 3);
    holders.pop().unwrap().reset();
    holders.pop().unwrap().reset();
    server.until("utterances_active", 1, PATIENCE).await;
    Client::connect(&server).await.speak(steps("b", 3)).await.check().check_tones();
}

/// Who has nothing to say takes no place, however full it is.
#[tokio::test]
async fn nothing_to_say_needs_no_room() {
    let server = harness::fake(&["--slots", "1", "--queue", "0"]).await;
    let _holder = holders(&server, 1).await;
    let mut client = Client::connect(&server).await;
    let spoken = client.speak(json!({ "text": "...", "final": true })).await;
    assert_eq!(spoken.end["reason"], "nothing_to_say");
    let reply = http::speech(server.addr, &json!({ "input": "" })).await;
    assert_eq!(reply.status, 200);
}

/// Case B03: one more than the batch holds waits, and none fails.
#[tokio::test]
async fn one_more_than_the_batch_holds_waits() {
    let server = harness::fake(&["--slots", "3"]).await;
    let all = (0..4).map(async |i| {
        let mut client = Client::connect(&server).await;
        client.speak(with(steps("a", 60), json!({ "seed": i }))).await
    });
    let all = join_all(all).await;
    all.iter().for_each(|spoken| {
        spoken.check().check_tones();
    });
    let mut queues: Vec<f64> = all.iter().map(|s| s.end["queue_ms"].as_f64().unwrap()).collect();
    queues.sort_by(f64::total_cmp);
    // The fourth began when the first of the others was over: 60 steps of 5 ms.
    assert!(queues[3] >= 200.0, "one waited: {queues:?}");
    assert!(queues[2] < queues[3] / 2.0, "and the others did not: {queues:?}");
}

/// Case B04: 200 sockets are open and 10 speak; the others cost no row.
#[tokio::test]
async fn idle_sockets_cost_no_row() {
    let server = harness::fake(&[]).await;
    let idle = join_all((0..190).map(|_| Client::connect(&server))).await;
    let speaking = join_all((0..10).map(async |i| {
        let mut client = Client::connect(&server).await;
        let start = with(steps("a", 47), json!({ "pace": "realtime", "seed": i }));
        let started = client.start(start).await;
        (client, started)
    }))
    .await;
    server.until("sessions", 200, PATIENCE).await;
    assert!(server.metric("rows_active").await <= 10);
    assert!(server.metric("utterances_active").await <= 10);
    let spoken = join_all(speaking.into_iter().map(async |(mut client, started)| client.rest_of(started).await)).await;
    spoken.iter().for_each(|s| {
        s.check().check_tones();
    });
    drop(idle);
    server.until_idle(PATIENCE).await;
}

/// More sockets than may be open are refused before they are any.
#[tokio::test]
async fn one_socket_too_many_is_refused() {
    let server = harness::fake(&["--sockets", "2"]).await;
    let _open = (Client::connect(&server).await, Client::connect(&server).await);
    let headers = "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let reply = http::request(server.addr, "GET", "/v1/ws", headers, b"").await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert_eq!(reply.error()["code"], "overloaded");
}

/// An utterance that waits behind another on its socket takes the place that the other leaves, though the server is full.
#[tokio::test]
async fn a_held_utterance_has_the_place_of_the_one_before_it() {
    let server = harness::fake(&["--slots", "1", "--queue", "1"]).await;
    let mut client = Client::connect(&server).await;
    let a = client.start(with(steps("a", 30), json!({ "pace": "realtime" }))).await;
    let b = client.start(steps("b", 5)).await;
    client.audio().await;
    // Waits in the queue's one place for the slot.
    let mut other = Client::connect(&server).await;
    let c = other.start(steps("c", 20)).await;
    let mine = async { (client.rest_of(a).await.end, client.rest_of(b).await) };
    let ((first, second), third) = tokio::join!(mine, other.rest_of(c));
    assert_eq!((&first["type"], &first["audio_ms"]), (&json!("done"), &json!(640.0)));
    second.check().check_tones();
    third.check().check_tones();
}
