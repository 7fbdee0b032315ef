//! Messages that are refused, and how.

use super::*;

/// (message, field, message of the refusal); refused as a bad value.
const BAD_VALUES: &[(&str, &str, &str)] = &[
    (r#"{"type":5}"#, "type", "type: expected start, text, flush, cancel or ping, found a number (5)"),
    (r#"{"type":["start"]}"#, "type", "type: expected start, text, flush, cancel or ping, found a list"),
    (r#"{"type":"start","id":7}"#, "id", "id: expected a string of 1 to 64 characters, found a number (7)"),
    (r#"{"type":"start","id":""}"#, "id", "id: expected a string of 1 to 64 characters, found an empty string"),
    (r#"{"type":"flush","id":["a"]}"#, "id", "id: expected a string of 1 to 64 characters, found a list"),
    (r#"{"type":"cancel","id":true}"#, "id", "id: expected a string of 1 to 64 characters, found a boolean (true)"),
    (r#"{"type":"text","text":"a","id":{}}"#, "id", "id: expected a string of 1 to 64 characters, found an object"),
    (
        r#"{"type":"start","voice":-1}"#,
        "voice",
        "voice: expected a seed (an integer 0 to 4294967295), a voice's name, or a speaker or sample string, found -1",
    ),
    (r#"{"type":"start","voice":4294967296}"#, "voice", "found 4294967296"),
    (r#"{"type":"start","voice":2.5}"#, "voice", "found 2.5"),
    (r#"{"type":"start","voice":1e300}"#, "voice", "found 1e+300"),
    (r#"{"type":"start","voice":""}"#, "voice", "found an empty string"),
    (r#"{"type":"start","voice":"  "}"#, "voice", "found a string (\"  \")"),
    (r#"{"type":"start","voice":true}"#, "voice", "found a boolean (true)"),
    (r#"{"type":"start","voice":[0.1,0.2]}"#, "voice", "found a list"),
    (r#"{"type":"start","seed":-1}"#, "seed", "seed: expected an integer 0 to 9007199254740991, found -1"),
    (r#"{"type":"start","seed":9007199254740992}"#, "seed", "found 9007199254740992"),
    (r#"{"type":"start","seed":9007199254740993.0}"#, "seed", "found 9007199254740992.0"),
    (r#"{"type":"start","seed":18446744073709551615}"#, "seed", "found 18446744073709551615"),
    (r#"{"type":"start","seed":-9223372036854775809}"#, "seed", "found -9.223372036854776e+18"),
    (r#"{"type":"start","seed":0.5}"#, "seed", "found 0.5"),
    (r#"{"type":"start","seed":"7"}"#, "seed", "found a string (\"7\")"),
    (r#"{"type":"start","format":"mp3"}"#, "format", "format: expected \"opus\" or \"pcm_s16le\", found \"mp3\""),
    (r#"{"type":"start","format":"Opus"}"#, "format", "found \"Opus\""),
    (r#"{"type":"start","format":""}"#, "format", "found \"\""),
    (
        r#"{"type":"start","format":7}"#,
        "format",
        "format: expected \"opus\", \"pcm_s16le\" or an object with a codec, found a number (7)",
    ),
    (r#"{"type":"start","format":["opus"]}"#, "format", "found a list"),
    (
        r#"{"type":"start","format":{"codec":"flac"}}"#,
        "format.codec",
        "format.codec: expected \"opus\" or \"pcm_s16le\", found \"flac\"",
    ),
    (r#"{"type":"start","format":{"codec":1}}"#, "format.codec", "found a number (1)"),
    (
        r#"{"type":"start","format":{"codec":"opus","frame_ms":5}}"#,
        "format.frame_ms",
        "format.frame_ms: expected 10, 20, 40 or 60, found 5",
    ),
    (r#"{"type":"start","format":{"codec":"opus","frame_ms":2.5}}"#, "format.frame_ms", "found 2.5"),
    (r#"{"type":"start","format":{"codec":"opus","frame_ms":"20"}}"#, "format.frame_ms", "found a string (\"20\")"),
    (
        r#"{"type":"start","format":{"codec":"opus","bitrate":5999}}"#,
        "format.bitrate",
        "format.bitrate: expected an integer 6000 to 256000, found 5999",
    ),
    (r#"{"type":"start","format":{"codec":"opus","bitrate":256001}}"#, "format.bitrate", "found 256001"),
    (r#"{"type":"start","format":{"codec":"opus","bitrate":"auto"}}"#, "format.bitrate", "found a string (\"auto\")"),
    (
        r#"{"type":"start","format":{"codec":"opus","complexity":11}}"#,
        "format.complexity",
        "format.complexity: expected an integer 0 to 10, found 11",
    ),
    (
        r#"{"type":"start","format":{"codec":"opus","fec":1}}"#,
        "format.fec",
        "format.fec: expected true or false, found a number (1)",
    ),
    (
        r#"{"type":"start","format":{"codec":"opus","dtx":"no"}}"#,
        "format.dtx",
        "format.dtx: expected true or false, found a string (\"no\")",
    ),
    (
        r#"{"type":"start","format":{"codec":"pcm_s16le","sample_rate":44100}}"#,
        "format.sample_rate",
        "format.sample_rate: expected 24000, 16000 or 8000, found 44100",
    ),
    (r#"{"type":"start","format":{"codec":"pcm_s16le","frame_ms":30}}"#, "format.frame_ms", "found 30"),
    (r#"{"type":"start","sampling":0.3}"#, "sampling", "sampling: expected an object, found a number (0.3)"),
    (r#"{"type":"start","sampling":[]}"#, "sampling", "found a list"),
    (
        r#"{"type":"start","sampling":{"temperature":-0.1}}"#,
        "sampling.temperature",
        "sampling.temperature: expected a number, 0 or 0.01 to 5, found -0.1",
    ),
    (r#"{"type":"start","sampling":{"temperature":0.001}}"#, "sampling.temperature", "found 0.001"),
    (r#"{"type":"start","sampling":{"temperature":5.001}}"#, "sampling.temperature", "found 5.001"),
    (r#"{"type":"start","sampling":{"temperature":"hot"}}"#, "sampling.temperature", "found a string (\"hot\")"),
    (
        r#"{"type":"start","sampling":{"top_p":0}}"#,
        "sampling.top_p",
        "sampling.top_p: expected a number above 0, at most 1, found 0",
    ),
    (r#"{"type":"start","sampling":{"top_p":1e-60}}"#, "sampling.top_p", "found 1e-60"),
    (r#"{"type":"start","sampling":{"top_p":1.01}}"#, "sampling.top_p", "found 1.01"),
    (r#"{"type":"start","sampling":{"top_p":1e308}}"#, "sampling.top_p", "found 1e+308"),
    (r#"{"type":"start","sampling":{"top_p":"NaN"}}"#, "sampling.top_p", "found a string (\"NaN\")"),
    (
        r#"{"type":"start","sampling":{"top_k":0}}"#,
        "sampling.top_k",
        "sampling.top_k: expected an integer 1 to 4294967295, found 0",
    ),
    (r#"{"type":"start","sampling":{"top_k":4294967296}}"#, "sampling.top_k", "found 4294967296"),
    (r#"{"type":"start","sampling":{"top_k":20.5}}"#, "sampling.top_k", "found 20.5"),
    (
        r#"{"type":"start","sampling":{"repetition_penalty":0.4}}"#,
        "sampling.repetition_penalty",
        "sampling.repetition_penalty: expected a number 0.5 to 3, found 0.4",
    ),
    (r#"{"type":"start","sampling":{"repetition_penalty":[1]}}"#, "sampling.repetition_penalty", "found a list"),
    (
        r#"{"type":"start","sampling":{"min_steps":-1}}"#,
        "sampling.min_steps",
        "sampling.min_steps: expected an integer 0 to 65536, found -1",
    ),
    (r#"{"type":"start","sampling":{"max_steps":65537}}"#, "sampling.max_steps", "found 65537"),
    (r#"{"type":"start","sampling":{"max_steps":{}}}"#, "sampling.max_steps", "found an object"),
    (
        r#"{"type":"start","sampling":{"min_steps":9,"max_steps":8}}"#,
        "sampling.min_steps",
        "sampling.min_steps: expected at most max_steps (8), found 9",
    ),
    (
        r#"{"type":"start","refine":"yes"}"#,
        "refine",
        "refine: expected true, false or an object of oral, laugh and break, found a string (\"yes\")",
    ),
    (r#"{"type":"start","refine":1}"#, "refine", "found a number (1)"),
    (r#"{"type":"start","refine":{"oral":10}}"#, "refine.oral", "refine.oral: expected an integer 0 to 9, found 10"),
    (r#"{"type":"start","refine":{"laugh":3}}"#, "refine.laugh", "refine.laugh: expected an integer 0 to 2, found 3"),
    (r#"{"type":"start","refine":{"break":8}}"#, "refine.break", "refine.break: expected an integer 0 to 7, found 8"),
    (r#"{"type":"start","refine":{"oral":256}}"#, "refine.oral", "found 256"),
    (r#"{"type":"start","speed":0}"#, "speed", "speed: expected a number 0.25 to 4, found 0"),
    (r#"{"type":"start","speed":4.01}"#, "speed", "found 4.01"),
    (r#"{"type":"start","speed":"fast"}"#, "speed", "speed: expected a number 0.25 to 4, found a string (\"fast\")"),
    (r#"{"type":"start","pace":"slow"}"#, "pace", "pace: expected \"realtime\" or \"fast\", found \"slow\""),
    (r#"{"type":"start","pace":1}"#, "pace", "pace: expected \"realtime\" or \"fast\", found a number (1)"),
    (r#"{"type":"start","lead_ms":-1}"#, "lead_ms", "lead_ms: expected an integer 0 to 10000, found -1"),
    (r#"{"type":"start","lead_ms":10001}"#, "lead_ms", "found 10001"),
    (r#"{"type":"start","text":["a"]}"#, "text", "text: expected a string (it may be empty), found a list"),
    (r#"{"type":"start","final":"true"}"#, "final", "final: expected true or false, found a string (\"true\")"),
    (r#"{"type":"text","text":5}"#, "text", "text: expected a string (it may be empty), found a number (5)"),
    (r#"{"type":"text","text":"a","final":0}"#, "final", "final: expected true or false, found a number (0)"),
];

#[test]
fn each_bad_value_is_named() {
    const { assert!(BAD_VALUES.len() >= 60) };
    for (json, field, message) in BAD_VALUES {
        let refusal = parse(json).expect_err(json);
        assert_eq!((refusal.code, refusal.field.as_deref()), (ErrorCode::BadValue, Some(*field)), "{json}");
        let whole = if message.starts_with("found") {
            refusal.message.ends_with(message)
        } else {
            refusal.message.starts_with(message)
        };
        assert!(whole, "{json}: expected {message:?}, found {:?}", refusal.message);
        assert!(refusal.message.starts_with(&format!("{field}: expected ")), "{json}: {refusal}");
        assert_eq!(refusal.to_string(), refusal.message);
    }
}

#[test]
fn missing_fields_are_named() {
    let cases = [
        ("{}", "type", "type: expected start, text, flush, cancel or ping, found no such field"),
        (r#"{"type":null}"#, "type", "type: expected start, text, flush, cancel or ping, found null"),
        (r#"{"type":"text"}"#, "text", "text: expected a string (it may be empty), found no such field"),
        (r#"{"type":"text","final":true}"#, "text", "text: expected a string (it may be empty), found no such field"),
        (r#"{"type":"text","text":null}"#, "text", "text: expected a string (it may be empty), found null"),
        (
            r#"{"type":"start","format":{}}"#,
            "format.codec",
            "format.codec: expected \"opus\" or \"pcm_s16le\", found no such field",
        ),
    ];
    for (json, field, message) in cases {
        let refusal = parse(json).expect_err(json);
        let expected = (ErrorCode::MissingField, Some(field), message);
        assert_eq!((refusal.code, refusal.field.as_deref(), refusal.message.as_str()), expected, "{json}");
    }
}

#[test]
fn unknown_types_are_named() {
    for (name, shown) in [("strat", "\"strat\""), ("", "\"\""), ("Start", "\"Start\""), ("started", "\"started\"")] {
        let refusal = parse(&json!({"type": name, "id": "a"}).to_string()).unwrap_err();
        let message = format!("type: expected start, text, flush, cancel or ping, found {shown}");
        let expected =
            Refusal { code: ErrorCode::UnknownType, message, field: Some("type".into()), id: Some("a".into()) };
        assert_eq!(refusal, expected);
    }
}

#[test]
fn what_is_no_object_is_bad_json() {
    let cases = [
        ("", "message: expected a JSON object, found invalid JSON (EOF while parsing a value at line 1 column 0)"),
        ("hello", "message: expected a JSON object, found invalid JSON (expected value at line 1 column 1)"),
        ("{\"type\":\"start\"", "found invalid JSON (EOF while parsing an object at line 1 column 15)"),
        ("{\"type\":\"start\"} x", "found invalid JSON (trailing characters at line 1 column 18)"),
        ("{'type':'start'}", "found invalid JSON (key must be a string at line 1 column 2)"),
        ("{\"type\":\"start\",\"speed\":NaN}", "found invalid JSON (expected value at line 1 column 25)"),
        ("{\"type\":\"start\",\"seed\":1e999}", "found invalid JSON (number out of range at line 1 column 28)"),
        ("[]", "found a list"),
        ("\"start\"", "found a string"),
        ("5", "found a number"),
        ("null", "found null"),
        ("true", "found a boolean"),
    ];
    for (text, message) in cases {
        let refusal = parse(text).unwrap_err();
        assert_eq!((refusal.code, refusal.field, refusal.id), (ErrorCode::BadJson, None, None), "{text}");
        assert!(refusal.message.starts_with("message: expected a JSON object, found "), "{text}: {}", refusal.message);
        assert!(refusal.message.ends_with(message), "{text}: {}", refusal.message);
    }
}

#[test]
fn deep_nesting_is_refused_and_harms_nothing() {
    for open in ["[", "{\"a\":"] {
        let deep = format!("{{\"type\":\"ping\",\"data\":{}", open.repeat(100_000));
        let refusal = parse(&deep).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::BadJson);
        assert!(refusal.message.contains("recursion limit"), "{}", refusal.message);
        let halved = format!("{{\"text\":\"\\ud83d\",\"data\":{}", open.repeat(100_000));
        assert_eq!(parse(&halved).unwrap_err().code, ErrorCode::BadJson);
    }
}

#[test]
fn the_id_is_told_where_it_could_be_read() {
    let id_of = |json: &str| parse(json).unwrap_err().id;
    assert_eq!(id_of(r#"{"id":"a","type":"start","speed":9}"#).as_deref(), Some("a"));
    assert_eq!(id_of(r#"{"id":"a"}"#).as_deref(), Some("a"));
    assert_eq!(id_of(r#"{"id":5,"type":"start"}"#), None);
    assert_eq!(id_of(&json!({"id": "a".repeat(65), "type": "flush"}).to_string()), None);
}

#[test]
fn values_are_shortened_and_escaped() {
    let message = |value: &str| parse(&json!({"type": "start", "pace": value}).to_string()).unwrap_err().message;
    let long = message(&"x".repeat(1 << 20));
    assert_eq!(long, format!("pace: expected \"realtime\" or \"fast\", found \"{}…\"", "x".repeat(36)));
    assert!(message("a\nb\0c\u{1b}[31m").ends_with(r#"found "a\nb\0c\u{1b}[31m""#));
    assert!(message("\u{202e}\u{200b}say \"it's\"").ends_with(r#"found "\u{202e}\u{200b}say \"it's\"""#));
    let wide = parse(&json!({"type": "start", "id": "a".repeat(1 << 20)}).to_string()).unwrap_err().message;
    assert_eq!(wide, "id: expected a string of 1 to 64 characters, found 1048576 characters");
}

#[test]
fn an_escape_is_never_cut() {
    for text in ["\u{202e}".repeat(40), format!("{}\n\n", "x".repeat(35)), "\\".repeat(60)] {
        let shown = quoted(&text);
        assert!(shown.chars().count() <= 40 && shown.ends_with("…\""), "{shown}");
        let inside = shown.trim_matches('"').trim_end_matches('…');
        let opened = inside.matches("\\u{").count();
        assert_eq!(opened, inside.matches('}').count(), "{shown}");
        assert_eq!((inside.len() - inside.trim_end_matches('\\').len()) % 2, 0, "{shown}");
    }
    assert_eq!(quoted(&"x".repeat(36)), format!("\"{}\"", "x".repeat(36)));
}
