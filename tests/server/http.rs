//! HTTP/1.1 by hand, so that tests see the bytes.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// A chunked body had its last chunk; otherwise the transfer was broken off.
    pub complete: bool,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The `error` object, which has four keys whatever happened.
    pub fn error(&self) -> Value {
        let error = self.json()["error"].clone();
        let keys: Vec<&str> = error.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["code", "message", "param", "type"]);
        assert!(error["message"].is_string() && error["type"].is_string(), "{error}");
        error
    }
}

pub async fn get(addr: SocketAddr, path: &str) -> Reply {
    request(addr, "GET", path, "", b"").await
}

pub async fn speech(addr: SocketAddr, body: &Value) -> Reply {
    request(addr, "POST", "/v1/audio/speech", "content-type: application/json\r\n", body.to_string().as_bytes()).await
}

/// `headers`: lines, each with its end.
pub async fn request(addr: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
    let mut stream = open(addr, method, path, headers, body).await;
    let mut bytes = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer in time").expect("an answer");
    parse(&bytes)
}

/// Sends a request and leaves the answer on the wire.
pub async fn open(addr: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.expect("it listens");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("a head");
    // A server that refuses a body early may have closed already.
    let _ = stream.write_all(body).await;
    stream
}

pub fn parse(bytes: &[u8]) -> Reply {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("the end of a head");
    let head = std::str::from_utf8(&bytes[..end]).expect("ASCII");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|l| l.split(' ').nth(1)).and_then(|s| s.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> =
        lines.filter_map(|l| l.split_once(": ")).map(|(n, v)| (n.to_lowercase(), v.to_string())).collect();
    let mut reply = Reply { status, headers, body: bytes[end + 4..].to_vec(), complete: true };
    if reply.header("transfer-encoding") == Some("chunked") {
        (reply.body, reply.complete) = unchunk(&reply.body);
    }
    reply
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(line) = rest.windows(2).position(|w| w == b"\r\n") else { return (body, false) };
        let size = std::str::from_utf8(&rest[..line]).ok().and_then(|s| usize::from_str_radix(s, 16).ok());
        let size = size.expect("a chunk's size");
        rest = &rest[line + 2..];
        if size == 0 {
            return (body, rest == b"\r\n");
        }
        if rest.len() < size + 2 {
            return (body, false);
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}
