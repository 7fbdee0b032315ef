//! What no client should send: refused with the documented code, and never a crash.

use futures_util::SinkExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, Heard, PATIENCE, frame};
use crate::harness::{self, Server};
use crate::{http, steps};

async fn closed_after(server: &Server, bytes: &[u8]) -> (u16, String) {
    let mut client = Client::connect(server).await;
    client.tcp().write_all(bytes).await.unwrap();
    client.closed().await
}

async fn still_speaks(server: &Server) {
    Client::connect(server).await.speak(steps("a", 3)).await.check().check_tones();
    server.until_idle(PATIENCE).await;
}

#[tokio::test]
async fn broken_frames_are_closed_with_their_code() {
    let server = harness::fake(&[]).await;
    for (what, bytes, code) in [
        ("a binary frame", frame(0x82, b"\x01\x02\x03"), 1003),
        ("a binary fragment", frame(0x02, b"\x01"), 1003),
        ("no UTF-8", frame(0x81, b"{\"type\":\"\xff\"}"), 1007),
        ("half a character at the end", frame(0x81, b"\"\xe4\xbd"), 1007),
        ("no UTF-8 in two fragments", [frame(0x01, b"\"\xff"), frame(0x80, b"\"")].concat(), 1007),
        ("a continuation of nothing", frame(0x80, b"x"), 1002),
        ("a reserved opcode", frame(0x83, b"x"), 1002),
        ("a ping that is too long", frame(0x89, &[b'a'; 126]), 1002),
        ("a message over the limit", frame(0x81, &vec![b' '; 2 << 20]), 1009),
        (
            "fragments over the limit",
            [frame(0x01, &vec![b' '; 700_000]), frame(0x80, &vec![b' '; 700_000])].concat(),
            1009,
        ),
    ] {
        let (found, reason) = closed_after(&server, &bytes).await;
        assert_eq!(found, code, "{what}: {reason:?}");
    }
    still_speaks(&server).await;
}

/// Case L14, the other half: UTF-8 cut between the frames of one message is joined.
#[tokio::test]
async fn a_character_cut_between_fragments_is_joined() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let message = json!({ "type": "ping", "data": "你好🙂" }).to_string();
    let bytes = message.as_bytes();
    for cut in 1..bytes.len() {
        let parts = [frame(0x01, &bytes[..cut]), frame(0x80, &bytes[cut..])].concat();
        client.tcp().write_all(&parts).await.unwrap();
        assert_eq!(client.control("pong").await["data"], "你好🙂");
    }
}

#[tokio::test]
async fn control_frames_between_fragments_are_allowed() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let parts = [frame(0x01, b"{\"type\":"), frame(0x89, b"hi"), frame(0x80, b"\"ping\"}")].concat();
    client.tcp().write_all(&parts).await.unwrap();
    assert_eq!(client.control("pong").await["data"], json!(null));
}

#[tokio::test]
async fn a_binary_frame_in_mid_sentence_frees_everything() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    client.start(crate::with(steps("a", 3000), json!({ "pace": "realtime" }))).await;
    client.audio().await;
    client.ws.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(client.closed().await.0, 1003);
    server.until_idle(PATIENCE).await;
}

/// Two hundred messages that are none: each has its error, in one line and short, and the socket stays.
#[tokio::test]
async fn garbage_is_answered_and_the_socket_stays() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let shapes = [
        "",
        "hello",
        "[]",
        "{",
        "{}",
        "null",
        "\"start\"",
        "{\"type\":null}",
        "{\"type\":\"strat\"}",
        "{\"type\":7}",
        "{\"type\":\"text\"}",
        "{\"type\":\"text\",\"id\":7,\"text\":\"x\"}",
        "{\"type\":\"start\",\"speed\":\"fast\"}",
        "{\"type\":\"start\",\"format\":{\"codec\":[]}}",
        "{\"type\":\"start\",\"voice\":{}}",
        "{\"type\":\"cancel\",\"id\":[]}",
        "{\"type\":\"start\",\"sampling\":7}",
        "{\"type\":\"text\",\"text\":\"\\ud83d",
        "{\"type\":\"start\",\"id\":\"\u{1}\"",
        "{\"type\":\"flush\",\"id\":\"x\"}",
    ];
    for round in 0..10 {
        for shape in shapes {
            client.send_text(shape).await;
            let error = match client.next().await {
                Heard::Control(message) => message,
                other => panic!("{shape:?} in round {round}: {other:?}"),
            };
            assert_eq!(error["type"], "error", "{shape:?}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.len() < 400 && !message.contains('\n'), "{shape:?}: {message}");
        }
    }
    // Deep nesting must not exhaust a stack.
    client.send_text(&"[".repeat(100_000)).await;
    assert_eq!(client.control("error").await["code"], "bad_json");
    client.speak(steps("a", 3)).await.check().check_tones();
}

#[tokio::test]
async fn http_garbage_is_refused_and_the_server_lives() {
    let server = harness::fake(&[]).await;
    let huge = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(1 << 20));
    for bytes in [
        &b"\0\0\0\0"[..],
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        huge.as_bytes(),
    ] {
        let mut stream = tokio::net::TcpStream::connect(server.addr).await.unwrap();
        // It may hang up before it has read all of it.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        read.expect("an end of the connection").ok();
        if !answer.is_empty() {
            let status = http::parse(&answer).status;
            assert!(
                (400..600).contains(&status),
                "{:?}: {status}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
            );
        }
    }
    still_speaks(&server).await;
}

#[tokio::test]
async fn what_is_no_upgrade_is_told_so() {
    let server = harness::fake(&[]).await;
    let plain = http::get(server.addr, "/v1/ws").await;
    assert_eq!((plain.status, plain.header("upgrade")), (426, Some("websocket")));
    assert_eq!(plain.error()["code"], "upgrade_required");
    let old = "upgrade: websocket\r\nsec-websocket-version: 7\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    assert_eq!(http::request(server.addr, "GET", "/v1/ws", old, b"").await.status, 426);
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_are_told_apart() {
    let server = harness::fake(&[]).await;
    for path in ["/nothing", "/v1", "/v1/ws/x", "/v1/audio", "/../etc/passwd", "/%2e%2e/etc/passwd", "/index.html/"] {
        let reply = http::get(server.addr, path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.error()["code"], "not_found", "{path}");
    }
    for (method, path, allowed) in [
        ("POST", "/v1/ws", "GET"),
        ("GET", "/v1/audio/speech", "POST"),
        ("DELETE", "/v1/audio/speech", "POST"),
        ("POST", "/healthz", "GET"),
        ("PUT", "/readyz", "GET"),
        ("POST", "/metrics", "GET"),
        ("POST", "/", "GET"),
    ] {
        let reply = http::request(server.addr, method, path, "", b"").await;
        assert_eq!(reply.status, 405, "{method} {path}");
        let allow = reply.header("allow").unwrap_or_default();
        assert!(allow.split(", ").any(|m| m == allowed), "{method} {path}: {allow:?}");
        assert_eq!(reply.error()["code"], "method_not_allowed", "{method} {path}");
    }
    for path in ["/", "/voxwire.js", "/healthz", "/readyz", "/metrics"] {
        let (whole, head) =
            (http::get(server.addr, path).await, http::request(server.addr, "HEAD", path, "", b"").await);
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-type"), whole.header("content-type"), "{path}");
        assert!(whole.status == 200 && !whole.body.is_empty(), "{path}");
    }
}
