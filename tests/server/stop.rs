//! Stopping: nobody is cut off before the limit, and nothing goes on after it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::client::{Client, Heard, PATIENCE};
use crate::{harness, http, steps, with};

fn paced(id: &str, n: u32) -> Value {
    with(steps(id, n), json!({ "pace": "realtime" }))
}

/// Told to stop in mid-sentence: not ready, the sentence is finished, then 1001, and the process ends well.
#[tokio::test]
async fn a_stream_under_way_is_finished() {
    let mut server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let mut idle = Client::connect(&server).await;
    let started = client.start(paced("a", 70)).await;
    client.audio().await;
    server.terminate();
    assert_eq!(idle.closed().await.0, 1001, "who says nothing is closed at once");
    let ready = http::get(server.addr, "/readyz").await;
    assert_eq!((ready.status, &ready.json()["state"]), (503, &json!("draining")));
    assert_eq!(http::get(server.addr, "/v1/ws").await.status, 503, "no new sockets");
    let refused = http::speech(server.addr, &json!({ "input": "Hello." })).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.error()["code"], "overloaded");
    client.send(json!({ "type": "start", "id": "late", "text": "Me too.", "final": true })).await;
    let error = client.control("error").await;
    assert_eq!((&error["code"], &error["id"]), (&json!("overloaded"), &json!("late")), "{error}");
    let rest = client.rest_of(started).await;
    assert_eq!((&rest.end["type"], &rest.end["audio_ms"]), (&json!("done"), &json!(1493.333)), "{}", rest.end);
    assert_eq!(client.closed().await.0, 1001);
    let status = server.exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
}

#[tokio::test]
async fn a_stream_longer_than_the_limit_is_cut() {
    let mut server = harness::fake(&["--drain", "1"]).await;
    let mut client = Client::connect(&server).await;
    client.start(paced("a", 3000)).await;
    client.audio().await;
    let began = Instant::now();
    server.terminate();
    assert_eq!(client.closed().await.0, 1001);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(950), "it had its second: {took:?}");
    let status = server.exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test]
async fn told_twice_it_stops_at_once() {
    let mut server = harness::fake(&["--drain", "60"]).await;
    let mut client = Client::connect(&server).await;
    client.start(paced("a", 3000)).await;
    client.audio().await;
    server.terminate();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    server.terminate();
    let status = server.exit(PATIENCE).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(1), "{status}");
    loop {
        match client.next().await {
            Heard::Lost => break,
            Heard::Closed(code, _) => panic!("closed with {code} though it was told to stop at once"),
            Heard::Audio(_) | Heard::Control(_) => {}
        }
    }
}

#[tokio::test]
async fn with_nothing_under_way_it_stops_soon() {
    let mut server = harness::fake(&[]).await;
    let began = Instant::now();
    server.terminate();
    let status = server.exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

/// A download that is still being taken counts as under way, though the device has long made all of it.
#[tokio::test]
async fn a_download_under_way_is_finished() {
    let mut server = harness::fake(&["--fake-step-us", "100"]).await;
    let text = "This is said over and over again, and it takes a while. ".repeat(12);
    let body = json!({ "input": text, "response_format": "wav" }).to_string();
    let mut stream = http::open(server.addr, "POST", "/v1/audio/speech", "", body.as_bytes()).await;
    let mut bytes = vec![0; 30_000];
    stream.read_exact(&mut bytes).await.unwrap();
    server.terminate();
    // A reader that takes two seconds for it.
    let mut part = vec![0; 1 << 16];
    let began = Instant::now();
    loop {
        let n = tokio::time::timeout(PATIENCE, stream.read(&mut part)).await.unwrap().expect("not cut");
        if n == 0 {
            break;
        }
        bytes.extend_from_slice(&part[..n]);
        if began.elapsed() < Duration::from_secs(2) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let reply = http::parse(&bytes);
    assert!(reply.complete, "{} bytes and no end", reply.body.len());
    assert_eq!(server.exit(PATIENCE).await.code(), Some(0));
}

/// Whoever reads the log may go away: the server still hears that it should stop. Logging everything, as the harness does.
#[tokio::test]
async fn a_server_whose_log_nobody_reads_stops_as_well() {
    let mut server = harness::fake_unheard(&[]).await;
    let mut client = Client::connect(&server).await;
    let started = client.start(steps("a", 5)).await;
    client.rest_of(started).await.check();
    server.terminate();
    let status = server.exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
}
