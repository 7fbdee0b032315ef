//! `/healthz`, `/readyz`, `/metrics`: before the first word, and while the server serves.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::client::{Client, PATIENCE};
use crate::{harness, http, steps};

/// The warm-up takes its time on purpose: alive and not ready meanwhile, ready after it.
#[tokio::test]
async fn alive_at_once_and_ready_when_warm() {
    let server = harness::cold(&["--fake-step-us", "60000"]);
    let began = Instant::now();
    while TcpStream::connect(server.addr).await.is_err() {
        assert!(began.elapsed() < PATIENCE, "it listens");
        sleep(Duration::from_millis(10)).await;
    }
    let cold = http::get(server.addr, "/readyz").await;
    assert_eq!(cold.status, 503);
    assert_eq!(cold.json()["ready"], false);
    assert!(["loading", "warming"].contains(&cold.json()["state"].as_str().unwrap()), "{}", cold.json());
    let health = http::get(server.addr, "/healthz").await;
    assert_eq!((health.status, &health.body[..]), (200, &b"ok\n"[..]));
    while http::get(server.addr, "/readyz").await.status != 200 {
        assert!(began.elapsed() < PATIENCE * 2, "it gets ready");
        sleep(Duration::from_millis(20)).await;
    }
    let warm = http::get(server.addr, "/readyz").await;
    assert_eq!(warm.json(), json!({ "ready": true, "state": "serving" }));
}

#[tokio::test]
async fn what_is_counted_adds_up() {
    let server = harness::fake(&["--slots", "7"]).await;
    assert_eq!(server.metric("slots").await, 7);
    let mut client = Client::connect(&server).await;
    assert_eq!(server.metric("sessions").await, 1);
    for i in 0..3 {
        client.speak(steps(&format!("{i}"), 30)).await;
    }
    client.start(json!({ "id": "x" })).await;
    client.send(json!({ "type": "cancel" })).await;
    client.control("cancelled").await;
    let count = async |name: &str| server.metric(name).await;
    assert_eq!(count("utterances_started_total").await, 4);
    assert_eq!(count("utterances_done_total").await, 3);
    assert_eq!(count("utterances_cancelled_total").await, 1);
    assert_eq!(count("utterances_failed_total").await, 0);
    assert_eq!(count("audio_milliseconds_total").await, 3 * 640);
    assert_eq!(count("ttfa_seconds_count").await, 3);
    server.until_idle_but_for_sessions(PATIENCE).await;
    drop(client);
    server.until_idle(PATIENCE).await;
}
