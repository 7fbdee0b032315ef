//! Clients that go away, politely and otherwise: nothing of theirs stays.

use std::time::{Duration, Instant};

use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::client::{Client, PATIENCE};
use crate::{harness, steps, with};

fn long() -> Value {
    with(steps("a", 3000), json!({ "pace": "realtime" }))
}

async fn speaking(server: &harness::Server) -> Client {
    let mut client = Client::connect(server).await;
    client.start(long()).await;
    // And one that waits.
    client.start(with(long(), json!({ "id": "b" }))).await;
    client.audio().await;
    server.until("rows_active", 1, PATIENCE).await;
    client
}

/// Case I05: a close frame in mid-stream gives the row back within 100 ms.
#[tokio::test]
async fn a_close_frame_frees_the_row() {
    let server = harness::fake_alone(&[]).await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let mut client = speaking(&server).await;
        let began = Instant::now();
        client.ws.send(tokio_tungstenite::tungstenite::Message::Close(None)).await.unwrap();
        server.until("rows_active", 0, PATIENCE).await;
        took.push(began.elapsed());
        server.until_idle(PATIENCE).await;
        assert_eq!(client.closed().await.0, 1000, "it answers in kind");
    }
    took.sort();
    assert!(took[2] < Duration::from_millis(100), "{took:?}");
}

#[tokio::test]
async fn a_reset_frees_the_row() {
    let server = harness::fake_alone(&[]).await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let client = speaking(&server).await;
        let began = Instant::now();
        client.reset();
        server.until("rows_active", 0, PATIENCE).await;
        took.push(began.elapsed());
        server.until_idle(PATIENCE).await;
    }
    took.sort();
    assert!(took[2] < Duration::from_millis(100), "{took:?}");
}

#[tokio::test]
async fn a_reset_of_an_idle_socket_ends_its_session() {
    let server = harness::fake(&[]).await;
    let client = Client::connect(&server).await;
    assert_eq!(server.metric("sessions").await, 1);
    client.reset();
    server.until_idle(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_fin_without_a_close_frame_frees_everything() {
    let server = harness::fake(&[]).await;
    let client = speaking(&server).await;
    drop(client.ws.into_inner());
    server.until_idle(Duration::from_secs(5)).await;
}

/// Half closed: the client says it will send no more, and does not close.
#[tokio::test]
async fn half_a_close_is_a_close() {
    let server = harness::fake(&[]).await;
    let mut client = speaking(&server).await;
    client.tcp().shutdown().await.unwrap();
    server.until_idle(Duration::from_secs(5)).await;
}

/// Case I07: the cable is pulled, so nothing comes any more, not even the answer to a ping. Three pings' time later the
/// socket is closed and its row free.
#[tokio::test]
async fn a_client_that_answers_no_ping_is_gone() {
    let server = harness::fake(&["--ping-ms", "100"]).await;
    // Not polled any more, it neither reads nor answers; its side of the connection stays open.
    let client = speaking(&server).await;
    let took = server.until("rows_active", 0, PATIENCE).await;
    assert!(took > Duration::from_millis(100), "it had its time: {took:?}");
    server.until_idle(Duration::from_secs(5)).await;
    drop(client);
}

/// Case I10: an idle socket stays open, as long as it answers pings: here for fifty pings' time and sixteen timeouts.
#[tokio::test]
async fn an_idle_socket_that_answers_pings_stays_open() {
    let server = harness::fake(&["--ping-ms", "40"]).await;
    let mut client = Client::connect(&server).await;
    let heard = client.next_within(Duration::from_secs(2)).await;
    assert!(heard.is_none(), "{heard:?}");
    client.speak(steps("a", 3)).await.check().check_tones();
}
