use serde_json::{Value, json};

use super::*;

mod bad;
mod docs;
mod properties;

fn started(json: &str) -> Start {
    match parse(json) {
        Ok(ClientMessage::Start(start)) => start,
        other => panic!("{json}: {other:?}"),
    }
}

#[test]
fn an_empty_start_is_all_defaults() {
    assert_eq!(started(r#"{"type":"start"}"#), Start::default());
}

#[test]
fn null_is_the_same_as_no_field() {
    let nulls = r#"{"type":"start","id":null,"voice":null,"seed":null,"format":null,"sampling":null,"refine":null,
        "speed":null,"pace":null,"lead_ms":null,"text":null,"final":null}"#;
    assert_eq!(started(nulls), Start::default());
    let inner = r#"{"type":"start","format":{"codec":"opus","bitrate":null},"sampling":{"top_k":null}}"#;
    assert_eq!(started(inner), Start::default());
}

#[test]
fn a_full_start() {
    let start = started(
        r#"{"type":"start","id":"a","voice":2222,"seed":9007199254740991,
            "format":{"codec":"opus","frame_ms":60,"bitrate":6000,"complexity":0,"fec":true,"dtx":true},
            "sampling":{"temperature":0,"top_p":1,"top_k":1,"repetition_penalty":3,"min_steps":7,"max_steps":7},
            "refine":{"oral":9,"laugh":2,"break":7},"speed":0.25,"pace":"fast","lead_ms":0,"text":"Hi","final":true}"#,
    );
    let expected = Start {
        id: Some("a".into()),
        voice: Some(VoiceSpec::Seed(2222)),
        seed: Some(9_007_199_254_740_991),
        format: FormatSpec::Opus { frame_ms: 60, bitrate: 6_000, complexity: Some(0), fec: true, dtx: true },
        sampling: SamplingSpec {
            temperature: Some(0.0),
            top_p: Some(1.0),
            top_k: Some(1),
            repetition_penalty: Some(3.0),
            min_steps: Some(7),
            max_steps: Some(7),
        },
        refine: Some(RefineSpec { oral: Some(9), laugh: Some(2), pause: Some(7) }),
        speed: 0.25,
        pace: Pace::Fast,
        lead_ms: 0,
        text: Some("Hi".into()),
        last: true,
    };
    assert_eq!(start, expected);
}

#[test]
fn integers_may_be_written_as_floats() {
    let start = started(r#"{"type":"start","voice":2222.0,"seed":1e3,"lead_ms":5E2,"sampling":{"top_k":2.0e1}}"#);
    assert_eq!(start.voice, Some(VoiceSpec::Seed(2222)));
    assert_eq!((start.seed, start.lead_ms, start.sampling.top_k), (Some(1000), 500, Some(20)));
    assert_eq!(started(r#"{"type":"start","seed":-0}"#).seed, Some(0));
}

#[test]
fn formats_and_refinement_have_short_forms() {
    assert_eq!(started(r#"{"type":"start","format":"pcm_s16le"}"#).format, FormatSpec::PCM);
    assert_eq!(started(r#"{"type":"start","format":{"codec":"pcm_s16le"}}"#).format, FormatSpec::PCM);
    assert_eq!(started(r#"{"type":"start","refine":true}"#).refine, Some(RefineSpec::default()));
    assert_eq!(started(r#"{"type":"start","refine":false}"#).refine, None);
}

#[test]
fn unknown_fields_are_ignored_at_every_level() {
    let start = started(
        r#"{"type":"start","token":"t","format":{"codec":"pcm_s16le","bitrate":1},"sampling":{"top_q":9},
            "refine":{"mood":"x"},"x":{"y":[1]}}"#,
    );
    let refine = Some(RefineSpec::default());
    assert_eq!(start, Start { format: FormatSpec::PCM, refine, ..Start::default() });
}

#[test]
fn of_a_key_there_twice_the_last_counts() {
    assert_eq!(started(r#"{"type":"ping","id":"a","type":"start","id":"b"}"#).id.as_deref(), Some("b"));
}

#[test]
fn ids_are_counted_in_characters() {
    let id = "语".repeat(64);
    assert_eq!(started(&json!({"type": "start", "id": id}).to_string()).id, Some(id));
}

#[test]
fn a_ping_carries_any_json() {
    let data = json!([null, {"a": 1.5}, "x"]);
    let ping = json!({"type": "ping", "data": data}).to_string();
    assert_eq!(parse(&ping), Ok(ClientMessage::Ping { data }));
    assert_eq!(parse(r#"{"type":"ping"}"#), Ok(ClientMessage::Ping { data: Value::Null }));
}

/// What the texts of these messages join to.
fn joined(texts: &[(&str, bool)]) -> String {
    let mut joiner = Joiner::default();
    let read = |&(text, last): &(&str, bool)| {
        let json = format!(r#"{{"type":"text","id":"a","text":"{text}","final":{last}}}"#);
        match parse(&json) {
            Ok(ClientMessage::Text { id, text, last }) if id.as_deref() == Some("a") => joiner.push(text, last),
            other => panic!("{json}: {other:?}"),
        }
    };
    texts.iter().map(read).collect()
}

#[test]
fn halves_of_a_character_are_joined_across_messages() {
    assert_eq!(joined(&[(r"a\ud83d", false), (r"\ude00b", true)]), "a😀b");
    assert_eq!(joined(&[(r"\ud83d", false), ("", false), (r"\ude00\ud83d", false), (r"\ude01", true)]), "😀😁");
    assert_eq!(joined(&[(r"语\ud83d\ude00\\ud83d", true)]), r"语😀\ud83d");
}

#[test]
fn a_half_without_its_partner_is_replaced() {
    assert_eq!(joined(&[(r"a\ud83db", true)]), "a\u{fffd}b");
    assert_eq!(joined(&[(r"a\ud83d", true)]), "a\u{fffd}");
    assert_eq!(joined(&[(r"\ude00a", false), (r"b", true)]), "\u{fffd}ab");
    assert_eq!(joined(&[(r"\ud83d", false), (r"\ud83d\ude00", true)]), "\u{fffd}😀");
    assert_eq!(joined(&[(r"\ud83d", false), (r"x\ude00", true)]), "\u{fffd}x\u{fffd}");
}

#[test]
fn halves_are_taken_in_start_and_nowhere_but_in_text() {
    let start = started(r#"{"type":"start","text":"\ud83d","sampling":{"top_k":3}}"#);
    assert_eq!(start.sampling.top_k, Some(3));
    assert_eq!(Joiner::default().push(start.text.unwrap(), false), "");
    let refusal = parse(r#"{"type":"ping","text":"\ud83d","data":"\ud83d"}"#).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::BadJson);
}

#[test]
fn figures_are_written_to_the_microsecond() {
    let piece = Piece {
        id: "a".into(),
        index: 0,
        source: Span { start: 0, end: 6 },
        text: "hello.".into(),
        start_ms: 0.0,
        length_ms: 1001.0 / 24.0,
        end: PieceEnd::Natural,
        seed: 7,
    };
    let expected = r#"{"type":"piece","id":"a","index":0,"source":{"start":0,"end":6},"text":"hello.","start_ms":0.0,"length_ms":41.708,"end":"natural","seed":7}"#;
    assert_eq!(ServerMessage::Piece(piece).to_json(), expected);
}

#[test]
fn overload_and_slow_reading_close_the_socket_and_overload_tells_when_to_come_back() {
    for code in ErrorCode::ALL {
        let expected = match code {
            ErrorCode::Overloaded => Some(1013),
            ErrorCode::SlowReader => Some(1008),
            _ => None,
        };
        assert_eq!(code.close_code(), expected, "{code:?}");
    }
    let error = Error {
        code: ErrorCode::Overloaded,
        message: "m".into(),
        field: None,
        id: Some("a".into()),
        ended: true,
        retry_after_ms: Some(500),
    };
    let expected =
        r#"{"type":"error","code":"overloaded","message":"m","field":null,"id":"a","ended":true,"retry_after_ms":500}"#;
    assert_eq!(ServerMessage::Error(error.clone()).to_json(), expected);
    let other = Error { code: ErrorCode::Internal, retry_after_ms: None, ..error };
    assert!(!ServerMessage::Error(other).to_json().contains("retry_after_ms"));
}
