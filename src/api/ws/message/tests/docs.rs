//! The documents cannot drift: every example in them goes through the types that are on the wire.

use std::collections::{BTreeSet, HashSet};

use base64::prelude::{BASE64_STANDARD, Engine};

use super::*;
use crate::api::ws::frame::Header;

const PROTOCOL_MD: &str = include_str!("../../../../../docs/PROTOCOL.md");
const ASYNCAPI: &str = include_str!("../../../../../docs/asyncapi.yaml");

const CLIENT_TYPES: [&str; 5] = ["start", "text", "flush", "cancel", "ping"];
const SERVER_TYPES: [&str; 7] = ["ready", "started", "piece", "done", "cancelled", "pong", "error"];

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{json}: {e}"))
}

/// Reads a client's message and gives it as it is written again. All that the example says must be in it: a field that
/// the reader ignores is a misspelt one.
fn client_example(json: &str) -> Value {
    let message = parse(json).unwrap_or_else(|refusal| panic!("{json}: {refusal}"));
    let written = value(&serde_json::to_string(&message).unwrap());
    if let ClientMessage::Text { .. } = message {
        // The escape of half a character is no text for `value`.
        let read = if json.contains(r"\ud") { written.clone() } else { value(json) };
        assert_covers(&written, &read, json);
    } else {
        assert_covers(&written, &value(json), json);
    }
    written
}

fn assert_covers(written: &Value, said: &Value, example: &str) {
    match (written, said) {
        (Value::Object(written), Value::Object(said)) => {
            for (key, said) in said {
                let Some(written) = written.get(key) else { panic!("{example}: nobody reads {key}") };
                assert_covers(written, said, example);
            }
        }
        // Short forms.
        (Value::Object(written), Value::String(codec)) => assert_eq!(written["codec"], codec.as_str(), "{example}"),
        (Value::Object(levels), Value::Bool(true)) => assert!(levels.contains_key("oral"), "{example}"),
        (Value::Number(written), Value::Number(said)) => assert_eq!(written.as_f64(), said.as_f64(), "{example}"),
        _ => assert_eq!(written, said, "{example}"),
    }
}

/// Reads a server's message; it must be written again exactly as the example has it.
fn server_example(json: &str) -> Value {
    let message: ServerMessage = serde_json::from_str(json).unwrap_or_else(|e| panic!("{json}: {e}"));
    let written = value(&message.to_json());
    assert_eq!(written, value(json));
    written
}

/// Every key of a message, but for those of a ping's data.
fn keys(message: &Value, into: &mut BTreeSet<String>) {
    match message {
        Value::Object(map) => {
            for (key, inner) in map {
                into.insert(key.clone());
                if key != "data" {
                    keys(inner, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

/// Messages of both documents' examples, as the types write them.
fn asyncapi_examples() -> Vec<Value> {
    let payloads = ASYNCAPI.lines().filter_map(|line| line.trim().strip_prefix("payload: "));
    let json = payloads.filter(|payload| payload.starts_with("{\""));
    json.map(|json| {
        let kind = value(json)["type"].as_str().unwrap_or_default().to_string();
        if CLIENT_TYPES.contains(&kind.as_str()) { client_example(json) } else { server_example(json) }
    })
    .collect()
}

fn protocol_examples() -> Vec<Value> {
    let mut written = Vec::new();
    let mut lines = PROTOCOL_MD.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(json) = line.strip_prefix("< {") {
            written.push(server_example(&format!("{{{json}")));
        } else if let Some(json) = line.strip_prefix("> ") {
            let answer = lines.peek().and_then(|next| next.strip_prefix("< "));
            match answer.filter(|answer| answer.contains(r#""type":"error""#)) {
                None => written.push(client_example(json)),
                Some(answer) => {
                    let refusal = parse(json).expect_err(json);
                    assert_eq!(value(&ServerMessage::from(refusal).to_json()), value(answer), "{json}");
                }
            }
        }
    }
    written
}

#[test]
fn examples_of_every_type_are_what_is_sent() {
    let types: HashSet<&str> = CLIENT_TYPES.into_iter().chain(SERVER_TYPES).collect();
    for (document, examples) in [("asyncapi.yaml", asyncapi_examples()), ("PROTOCOL.md", protocol_examples())] {
        let shown: HashSet<&str> = examples.iter().map(|example| example["type"].as_str().unwrap()).collect();
        assert_eq!(shown, types, "{document}");
        assert!(examples.len() >= 20, "{document}: {}", examples.len());
    }
}

#[test]
fn every_field_and_code_is_documented() {
    let mut names = BTreeSet::new();
    asyncapi_examples().iter().chain(&protocol_examples()).for_each(|example| keys(example, &mut names));
    assert!(names.len() > 60, "{names:?}");
    for name in &names {
        let in_words = [format!("`{name}`"), format!("\"{name}\":")].iter().any(|form| PROTOCOL_MD.contains(form));
        assert!(in_words, "PROTOCOL.md: {name}");
        assert!(ASYNCAPI.lines().any(|line| line.trim().starts_with(&format!("{name}:"))), "asyncapi.yaml: {name}");
    }
    for code in ErrorCode::ALL {
        let name = serde_json::to_value(code).unwrap();
        let name = name.as_str().unwrap();
        assert!(PROTOCOL_MD.contains(&format!("`{name}`")), "PROTOCOL.md: {name}");
        assert!(ASYNCAPI.lines().any(|line| line.trim() == format!("- {name}")), "asyncapi.yaml: {name}");
    }
}

#[test]
fn changes_skips_and_limits_are_documented_as_they_are() {
    let names = |value: Value| value.as_str().unwrap().to_string();
    let kinds = crate::text::ChangeKind::ALL.map(|kind| names(serde_json::to_value(kind).unwrap()));
    let reasons = crate::text::SkipReason::ALL.map(|why| names(serde_json::to_value(why).unwrap()));
    for (field, all) in [("kind", &kinds[..]), ("why", &reasons[..])] {
        assert!(ASYNCAPI.contains(&format!("examples: [{}]", all.join(", "))), "asyncapi.yaml: {field}");
        for name in all {
            let row = |line: &&str| line.starts_with("| ") && line.contains(&format!("`{name}`"));
            assert!(PROTOCOL_MD.lines().any(|line| row(&line)), "PROTOCOL.md: {name}");
        }
    }
    let sockets = crate::api::state::SocketLimits::default();
    let limits = serde_json::json!({
        "message_bytes": sockets.message_bytes,
        "text_chars": crate::session::service::Limits::default().text_chars,
        "utterances": sockets.utterances,
        "idle_ms": sockets.ping_timeout.as_millis() as u64,
    });
    let ready = protocol_examples().into_iter().find(|example| example["type"] == "ready").unwrap();
    assert_eq!(ready["limits"], limits);
}

#[test]
fn examples_of_frames_are_what_is_sent() {
    let frames: Vec<Vec<u8>> = ASYNCAPI
        .lines()
        .filter_map(|line| line.trim().strip_prefix("payload: \"")?.strip_suffix('"'))
        .map(|frame| BASE64_STANDARD.decode(frame).unwrap())
        .collect();
    let first = Header { first: true, last: false, stream: 1, sequence: 0, media: 0 };
    let last = Header { first: false, last: true, stream: 1, sequence: 42, media: 42 * 480 };
    assert_eq!(frames.len(), 2);
    for (frame, header) in frames.iter().zip([first, last]) {
        assert_eq!(Header::parse(frame), Ok((header, &[0xf8, 0xff, 0xfe][..])));
        assert_eq!(frame[..16], header.encode());
    }
}
