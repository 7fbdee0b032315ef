//! `POST /v1/audio/speech`.

use std::io::Cursor;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::client::PATIENCE;
use crate::{harness, http};

const TEXT: &str = "Hello there. This is the second sentence of them.";

fn body(format: &str) -> Value {
    json!({ "model": "tts-1", "input": TEXT, "response_format": format, "seed": 11 })
}

/// Samples of the first piece's tone that a reply begins with.
fn assert_tone(samples: &[i16], seed: u64) {
    let expected = crate::sound::piece_of(seed, 2000).map(|x| (x * 32767.0).round() as i16);
    assert!(expected.eq(samples[..2000].iter().copied()), "the tone of its seed");
}

fn s16le(bytes: &[u8]) -> Vec<i16> {
    bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect()
}

#[tokio::test]
async fn wav_pcm_and_opus_are_the_same_sound() {
    let server = harness::fake(&[]).await;
    let pcm = http::speech(server.addr, &body("pcm")).await;
    assert_eq!((pcm.status, pcm.header("content-type")), (200, Some("audio/pcm")));
    assert!(pcm.complete);
    let samples = s16le(&pcm.body);
    assert_tone(&samples, 11);
    assert_eq!(samples.len() % 512, 0, "whole steps");

    let wav = http::speech(server.addr, &body("wav")).await;
    assert_eq!((wav.status, wav.header("content-type")), (200, Some("audio/wav")));
    let mut patched = wav.body.clone();
    // The length was not known when the header left; readers take what there is.
    let data = patched.windows(4).position(|w| w == b"data").expect("a data chunk") + 8;
    let length = (patched.len() - data) as u32;
    patched[data - 4..data].copy_from_slice(&length.to_le_bytes());
    patched[4..8].copy_from_slice(&((wav.body.len() - 8) as u32).to_le_bytes());
    let reader = hound::WavReader::new(Cursor::new(patched)).unwrap();
    assert_eq!((reader.spec().sample_rate, reader.spec().channels, reader.spec().bits_per_sample), (24_000, 1, 16));
    let from_wav: Vec<i16> = reader.into_samples::<i16>().map(Result::unwrap).collect();
    assert_eq!(from_wav, samples);

    let opus = http::speech(server.addr, &body("opus")).await;
    assert_eq!((opus.status, opus.header("content-type")), (200, Some("audio/ogg; codecs=opus")));
    let (pre_skip, end, decoded) = ogg(&opus.body);
    assert_eq!((end - u64::from(pre_skip)) / 2, samples.len() as u64, "the granule of the last page says the length");
    assert!(decoded.len() * 2 >= end as usize, "{} samples decode", decoded.len());

    let default = http::speech(server.addr, &json!({ "input": TEXT, "seed": 11 })).await;
    assert_eq!(default.body, wav.body, "WAV is what is meant where nothing is said");
    server.until_idle(PATIENCE).await;
}

/// Pre-skip, last granule position (both at 48 kHz) and what the packets decode to.
fn ogg(bytes: &[u8]) -> (u16, u64, Vec<i16>) {
    let mut reader = ogg::PacketReader::new(Cursor::new(bytes));
    let head = reader.read_packet_expected().unwrap();
    assert_eq!((&head.data[..8], head.data[9]), (&b"OpusHead"[..], 1));
    let pre_skip = u16::from_le_bytes([head.data[10], head.data[11]]);
    assert_eq!(&reader.read_packet_expected().unwrap().data[..8], b"OpusTags");
    let mut decoder = opus::Decoder::new(24_000, opus::Channels::Mono).unwrap();
    let (mut end, mut out, mut part) = (0, Vec::new(), vec![0; 24_000]);
    let mut complete = false;
    while let Some(packet) = reader.read_packet().unwrap() {
        let n = decoder.decode(&packet.data, &mut part, false).unwrap();
        out.extend_from_slice(&part[..n]);
        end = packet.absgp_page();
        complete = packet.last_in_stream();
    }
    assert!(complete, "the stream says where it ends");
    (pre_skip, end, out)
}

#[tokio::test]
async fn sound_comes_while_it_is_made() {
    let server = harness::fake(&["--fake-step-us", "20000"]).await;
    let text = "This is said over and over again, and it takes a while. ".repeat(6);
    let body = json!({ "input": text, "response_format": "pcm" }).to_string();
    let mut stream = http::open(server.addr, "POST", "/v1/audio/speech", "", body.as_bytes()).await;
    let mut bytes = vec![0; 6000];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut bytes)).await.unwrap().unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 200"));
    assert_eq!(server.metric("utterances_active").await, 1, "the rest is still being made");
    // The client has heard enough.
    drop(stream);
    server.until_idle(PATIENCE).await;
    assert_eq!(server.metric("utterances_cancelled_total").await, 1);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_first_sound_frees_its_place() {
    let server = harness::fake(&["--fake-step-us", "200000", "--slots", "1"]).await;
    let body = body("wav").to_string();
    for reset in [false, true] {
        let first = http::open(server.addr, "POST", "/v1/audio/speech", "", body.as_bytes()).await;
        let second = http::open(server.addr, "POST", "/v1/audio/speech", "", body.as_bytes()).await;
        server.until("utterances_active", 2, PATIENCE).await;
        for stream in [first, second] {
            if reset {
                socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
            }
        }
        server.until_idle(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn empty_text_is_empty_sound() {
    let server = harness::fake(&[]).await;
    for input in ["", "  ", "?!"] {
        let pcm = http::speech(server.addr, &json!({ "input": input, "response_format": "pcm" })).await;
        assert_eq!((pcm.status, pcm.body.len(), pcm.complete), (200, 0, true), "{input:?}");
        let wav = http::speech(server.addr, &json!({ "input": input, "response_format": "wav" })).await;
        assert_eq!((wav.status, &wav.body[..4]), (200, &b"RIFF"[..]), "{input:?}");
        assert_eq!(wav.body.len(), 44, "{input:?}: a header and no sample");
        let opus = http::speech(server.addr, &json!({ "input": input, "response_format": "opus" })).await;
        assert_eq!((opus.status, &opus.body[..4]), (200, &b"OggS"[..]), "{input:?}");
    }
}

#[tokio::test]
async fn speed_sets_the_length() {
    let server = harness::fake(&[]).await;
    let length = async |speed: f64| {
        let mut body = body("pcm");
        body["speed"] = speed.into();
        http::speech(server.addr, &body).await.body.len() / 2
    };
    let normal = length(1.0).await;
    assert_eq!((length(0.5).await, length(2.0).await), (normal * 2, normal / 2));
}

#[tokio::test]
async fn wrong_requests_have_a_status_and_an_error_object() {
    let server = harness::fake(&[]).await;
    for (body, param) in [
        (json!([]), Value::Null),
        (json!({}), json!("input")),
        (json!({ "input": 7 }), json!("input")),
        (json!({ "input": "a", "voice": "nobody" }), json!("voice")),
        (json!({ "input": "a", "voice": "/etc/passwd" }), json!("voice")),
        (json!({ "input": "a", "response_format": "mp4" }), json!("response_format")),
        (json!({ "input": "a", "speed": 9 }), json!("speed")),
        (json!({ "input": "a", "seed": -1 }), json!("seed")),
        (json!({ "input": "a\0b" }), json!("input")),
    ] {
        let reply = http::speech(server.addr, &body).await;
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let error = reply.error();
        assert_eq!((&error["param"], &error["type"]), (&param, &json!("invalid_request_error")), "{body}: {error}");
        assert!(error["code"].is_string(), "{error}");
        assert!(error["message"].as_str().unwrap().contains("expected"), "{error}");
    }
    let path = "/v1/audio/speech";
    assert_eq!(http::request(server.addr, "POST", path, "", b"{\"input\":").await.status, 400);
    assert_eq!(http::request(server.addr, "POST", path, "", b"").await.status, 400);
    assert_eq!(http::request(server.addr, "POST", path, "", b"{\"input\":\"\xff\"}").await.status, 400);
    let big = format!("{{\"input\":\"{}\"}}", "a".repeat(2 << 20));
    let reply = http::request(server.addr, "POST", path, "", big.as_bytes()).await;
    assert_eq!(reply.status, 413);
    reply.error();
    let long = json!({ "input": "a".repeat(200_000) });
    let reply = http::speech(server.addr, &long).await;
    assert_eq!((reply.status, &reply.error()["param"]), (400, &json!("input")));
}

/// An empty recording would not say why it is one.
#[tokio::test]
async fn words_that_no_model_here_speaks_are_an_error() {
    let server = harness::fake(&[]).await;
    for input in ["こんにちは", "Привет!", "สวัสดี 123 [laugh]😀"] {
        let reply = http::speech(server.addr, &json!({ "input": input })).await;
        if input.contains('1') {
            assert_eq!(reply.status, 200, "{input}: a number is left to say");
            continue;
        }
        assert_eq!((reply.status, reply.error()["param"].clone()), (400, json!("input")), "{input}");
        let message = reply.error()["message"].to_string();
        assert!(message.contains("a script the model does not speak"), "{message}");
    }
    for input in ["😀", "...", "**", "[laugh]"] {
        assert_eq!(http::speech(server.addr, &json!({ "input": input })).await.status, 200, "{input}: nothing to say");
    }
    server.until_idle(PATIENCE).await;
}
