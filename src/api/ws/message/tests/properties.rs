//! Any input is answered, and what is valid survives the wire.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// What every refusal keeps to.
fn check_refusal(refusal: &Refusal) {
    let start = format!("{}: expected ", refusal.field.as_deref().unwrap_or("message"));
    assert!(refusal.message.starts_with(&start) && refusal.message.contains(", found "), "{refusal}");
    assert!(!refusal.message.chars().any(char::is_control), "{refusal:?}");
    assert!(refusal.message.chars().count() < 240, "{refusal}");
    assert_eq!(refusal.field.is_none(), refusal.code == ErrorCode::BadJson, "{refusal:?}");
    let error = ServerMessage::from(refusal.clone()).to_json();
    let read: ServerMessage = serde_json::from_str(&error).unwrap();
    assert_eq!(read, ServerMessage::from(refusal.clone()));
}

fn json_value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("opus".to_string()),
        Just("fast".to_string()),
        Just("\u{202e}\n".repeat(30)),
        ".{0,80}".prop_map(String::from)
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-2i64..100).prop_map(Value::from),
    ];
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number, word.prop_map(Value::from)];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((field_name(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn field_name() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "id",
        "voice",
        "seed",
        "format",
        "sampling",
        "refine",
        "speed",
        "pace",
        "lead_ms",
        "text",
        "final",
        "codec",
        "frame_ms",
        "bitrate",
        "complexity",
        "fec",
        "dtx",
        "sample_rate",
        "temperature",
        "top_p",
        "top_k",
        "repetition_penalty",
        "min_steps",
        "max_steps",
        "oral",
        "laugh",
        "break",
        "data",
    ];
    prop_oneof![9 => prop::sample::select(KNOWN).prop_map(String::from), 1 => ".{0,8}".prop_map(String::from)]
}

fn format_spec() -> impl Strategy<Value = FormatSpec> {
    let frame_ms = || prop::sample::select(&[10u32, 20, 40, 60][..]);
    let opus = (frame_ms(), 6_000..=256_000, option::of(0..=10), any::<bool>(), any::<bool>());
    let pcm = (prop::sample::select(&[24_000u32, 16_000, 8_000][..]), frame_ms());
    prop_oneof![
        opus.prop_map(|(frame_ms, bitrate, complexity, fec, dtx)| FormatSpec::Opus {
            frame_ms,
            bitrate,
            complexity,
            fec,
            dtx
        }),
        pcm.prop_map(|(sample_rate, frame_ms)| FormatSpec::Pcm { sample_rate, frame_ms }),
    ]
}

fn sampling_spec() -> impl Strategy<Value = SamplingSpec> {
    let temperature = prop_oneof![Just(0.0f32), 0.01f32..=5.0];
    let top_p = f32::MIN_POSITIVE..=1.0;
    let steps = (option::of(0u32..=65_536), option::of(0u32..=65_536));
    let fields =
        (option::of(temperature), option::of(top_p), option::of(1..=u32::MAX), option::of(0.5f32..=3.0), steps);
    fields.prop_map(|(temperature, top_p, top_k, repetition_penalty, (a, b))| {
        let ordered = a.zip(b).map(|(a, b)| (Some(a.min(b)), Some(a.max(b))));
        let (min_steps, max_steps) = ordered.unwrap_or((a, b));
        SamplingSpec { temperature, top_p, top_k, repetition_penalty, min_steps, max_steps }
    })
}

fn start() -> impl Strategy<Value = Start> {
    let voice = prop_oneof![
        any::<u32>().prop_map(VoiceSpec::Seed),
        "[^ ].{0,40}".prop_filter_map("blank", |s: String| { (!s.trim().is_empty()).then_some(VoiceSpec::Text(s)) })
    ];
    let levels = (option::of(0u8..=9), option::of(0u8..=2), option::of(0u8..=7));
    let refine = levels.prop_map(|(oral, laugh, pause)| RefineSpec { oral, laugh, pause });
    let head = (option::of(".{1,64}"), option::of(voice), option::of(0..=(1u64 << 53) - 1), format_spec());
    let pace = prop_oneof![Just(Pace::Realtime), Just(Pace::Fast)];
    let tail = (option::of(refine), 0.25f32..=4.0, pace, 0u32..=10_000, option::of(".{0,60}"), any::<bool>());
    (head, sampling_spec(), tail).prop_map(|((id, voice, seed, format), sampling, tail)| {
        let (refine, speed, pace, lead_ms, text, last) = tail;
        Start { id, voice, seed, format, sampling, refine, speed, pace, lead_ms, text, last }
    })
}

fn client_message() -> impl Strategy<Value = ClientMessage> {
    let id = || option::of(".{1,64}");
    prop_oneof![
        start().prop_map(ClientMessage::Start),
        (id(), ".{0,200}", any::<bool>()).prop_map(|(id, text, last)| ClientMessage::Text { id, text, last }),
        id().prop_map(|id| ClientMessage::Flush { id }),
        id().prop_map(|id| ClientMessage::Cancel { id }),
        json_value().prop_map(|data| ClientMessage::Ping { data }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", bytes in vec(any::<u8>(), 0..200)) {
        for text in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            if let Err(refusal) = parse(&text) {
                check_refusal(&refusal);
            }
        }
    }

    #[test]
    fn any_object_is_read_or_refused(
        kind in prop::sample::select(&["start", "text", "flush", "cancel", "ping"][..]),
        fields in vec((field_name(), json_value()), 0..8),
    ) {
        let mut map: serde_json::Map<String, Value> = fields.into_iter().collect();
        map.insert("type".into(), kind.into());
        if let Err(refusal) = parse(&Value::Object(map).to_string()) {
            check_refusal(&refusal);
            prop_assert!(refusal.field.is_some());
        }
    }

    /// A valid message with one byte changed, cut short or said twice.
    #[test]
    fn damaged_messages_are_read_or_refused(message in client_message(), at in any::<prop::sample::Index>(), byte: u8) {
        let json = serde_json::to_string(&message).unwrap();
        let at = at.index(json.len());
        let mut damaged = json.clone().into_bytes();
        damaged[at] = byte;
        let cut = String::from_utf8_lossy(&json.as_bytes()[..at]).into_owned();
        for text in [String::from_utf8_lossy(&damaged).into_owned(), cut, json.repeat(2)] {
            if let Err(refusal) = parse(&text) {
                check_refusal(&refusal);
            }
        }
    }

    #[test]
    fn valid_messages_survive_the_wire(message in client_message()) {
        let json = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(parse(&json), Ok(message), "{}", json);
    }

    /// Cut anywhere between UTF-16 units, as JavaScript cuts, a text arrives whole.
    #[test]
    fn texts_cut_between_utf16_units_are_joined(text in "[a😀語\"\\\\\u{e000}\u{ffff}é]{0,20}", cuts in vec(any::<prop::sample::Index>(), 0..8)) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(units.len() + 1)).chain([0, units.len()]).collect();
        cuts.sort_unstable();
        let mut joiner = Joiner::default();
        let mut joined = String::new();
        for pair in cuts.windows(2) {
            let escaped: String = units[pair[0]..pair[1]].iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!(r#"{{"type":"text","text":"{escaped}"}}"#);
            let Ok(ClientMessage::Text { text, .. }) = parse(&json) else { panic!("{json}") };
            joined += &joiner.push(text, false);
        }
        joined += &joiner.push(String::new(), true);
        prop_assert_eq!(joined, text);
    }
}
