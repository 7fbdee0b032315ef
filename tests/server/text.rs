//! Text that arrives bit by bit: what is spoken, and what `piece` and `done` say of it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Heard, Spoken};
use crate::harness;

fn open() -> Value {
    json!({ "id": "a", "pace": "fast", "format": "pcm_s16le", "seed": 3 })
}

async fn in_parts(client: &mut Client, parts: &[&str]) -> Spoken {
    let started = client.start(open()).await;
    for part in parts {
        client.text(&started["id"], part, false).await;
    }
    client.text(&started["id"], "", true).await;
    client.rest_of(started).await
}

const TEXTS: [&str; 3] = [
    "Dr. Smith paid $21.50 at 9:30 [laugh] on Main St. for 3 buses. Did the other 40 people see it? Yes!",
    "One. Two three. This one, which is rather long, has clauses, and it goes on for quite a while before it ends.",
    "No end here, a tag [uv_break] and 🚌 that nobody can say",
];

/// Case L11: one character a message gives the same pieces and the same audio as all of it at once.
#[tokio::test]
async fn text_sent_character_by_character_is_spoken_as_sent_whole() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for text in TEXTS {
        let whole = in_parts(&mut client, &[text]).await;
        whole.check().check_tones();
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let cut: Vec<&str> = characters.iter().map(String::as_str).collect();
        let cut = in_parts(&mut client, &cut).await;
        cut.check();
        assert_eq!(whole.pieces, cut.pieces, "{text}");
        assert_eq!(whole.bytes(), cut.bytes(), "{text}");
        for list in ["rewritten", "skipped", "audio_ms", "pieces"] {
            assert_eq!(whole.end[list], cut.end[list], "{text}");
        }
    }
}

/// Case L13: a tag cut between two messages is one tag.
#[tokio::test]
async fn a_tag_cut_in_two_is_one_tag() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for parts in [["so [lau", "gh] it goes"], ["so [", "laugh] it goes"], ["so [laugh", "] it goes"]] {
        let spoken = in_parts(&mut client, &parts).await;
        assert_eq!(spoken.check().texts(), ["so [laugh] it goes"]);
        assert_eq!(spoken.end["skipped"], json!([]));
    }
    // The demo model speaks English: what it cannot say is told, and the tag is still one.
    let spoken = in_parts(&mut client, &["你好 hi [lau", "gh] there 世界"]).await;
    assert!(spoken.check().texts().concat().contains("hi [laugh] there"), "{:?}", spoken.texts());
}

/// Case L14: the two halves of a surrogate pair in two messages are one character; a half alone is U+FFFD and no crash.
#[tokio::test]
async fn a_character_cut_between_messages_is_joined() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let send = async |client: &mut Client, parts: [&str; 2]| {
        let started = client.start(open()).await;
        for part in parts {
            client.send_text(&format!(r#"{{"type":"text","id":"a","text":"{part}"}}"#)).await;
        }
        client.text(&started["id"], "", true).await;
        client.rest_of(started).await
    };
    let joined = send(&mut client, [r"wait \ud83d", r"\ude8c here"]).await;
    assert_eq!(joined.check().end["skipped"][0]["text"], "🚌");
    assert_eq!(joined.end["skipped"][0]["source"], json!({ "start": 5, "end": 6 }));
    let alone = send(&mut client, [r"wait \ud83d", r" here"]).await;
    assert_eq!(alone.check().end["skipped"][0]["text"], "\u{fffd}");
}

/// Case I09: of three sentences each piece says its index, span, spoken text, start and length; sums equal the audio.
#[tokio::test]
async fn pieces_say_where_they_come_from_and_how_long_they_are() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let text = "The first one has 3 words. The second of them is rather longer than that, and so it takes a good while \
                to say all of it. The third one is short again, and then there is nothing more to say about this.";
    let spoken = in_parts(&mut client, &[text]).await;
    spoken.check().check_tones();
    assert!(spoken.pieces.len() >= 2, "{:?}", spoken.texts());
    let mut end = 0;
    for piece in &spoken.pieces {
        let span = |name: &str| piece["source"][name].as_u64().unwrap() as usize;
        assert_eq!(span("start"), end, "a piece begins where the one before ends");
        end = span("end");
        assert_eq!(piece["end"], "natural");
    }
    assert_eq!(end, text.chars().count());
    assert_eq!(spoken.texts()[0], "the first one has three words.");
    let rewritten = &spoken.end["rewritten"][0];
    assert_eq!((&rewritten["from"], &rewritten["to"]), (&json!("3"), &json!("three")));
    assert_eq!(rewritten["source"], json!({ "start": 18, "end": 19 }));
}

#[tokio::test]
async fn nothing_to_say_is_done_with_no_audio() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for text in ["", "   \n", "...!?", "[laugh]", "🚌🚌"] {
        let spoken = in_parts(&mut client, &[text]).await;
        spoken.check();
        assert_eq!(spoken.end["reason"], "nothing_to_say", "{text:?}");
        assert_eq!((spoken.packets.len(), spoken.audio_ms()), (0, 0.0), "{text:?}");
        for figure in ["queue_ms", "ttfa_ms", "engine_ms", "rtf"] {
            assert_eq!(spoken.end[figure], Value::Null, "{text:?}");
        }
    }
    let bare = client.speak(json!({ "final": true })).await;
    assert_eq!(bare.end["reason"], "nothing_to_say");
}

#[tokio::test]
async fn a_flush_speaks_what_has_no_end_yet() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let started = client.start(open()).await;
    client.text(&started["id"], "so we begin here", false).await;
    let early = client.next_within(Duration::from_millis(200)).await;
    assert!(early.is_none(), "nothing is spoken before its end is certain: {early:?}");
    client.send(json!({ "type": "flush" })).await;
    assert!(client.audio().await.first);
    client.text(&started["id"], " and go on.", true).await;
    let spoken = client.rest_of(started).await;
    assert_eq!(spoken.texts(), ["so we begin here", "and go on."]);
}

#[tokio::test]
async fn figures_of_a_done_hang_together() {
    let server = harness::fake(&["--fake-step-us", "2000"]).await;
    let mut client = Client::connect(&server).await;
    let spoken = client.speak(crate::steps("a", 30)).await;
    let figure = |name: &str| spoken.end[name].as_f64().unwrap_or_else(|| panic!("{name} in {}", spoken.end));
    // The first chunk takes four steps of at least 2 ms.
    assert!(figure("engine_ms") >= 8.0, "{}", spoken.end);
    assert!(figure("ttfa_ms") >= figure("engine_ms") + figure("queue_ms") - 0.01, "{}", spoken.end);
    assert!((figure("rtf") * 640.0) >= 60.0, "30 steps of at least 2 ms: {}", spoken.end);
    assert_eq!(spoken.end["reason"], "complete");
}

#[tokio::test]
async fn a_text_that_cannot_be_read_ends_its_utterance_and_no_other() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let a = client.start(open()).await;
    client.text(&a["id"], "so far so good. And \0 here.", true).await;
    let a = client.rest_of(a).await;
    assert_eq!((&a.end["type"], &a.end["code"]), (&json!("error"), &json!("bad_text")), "{}", a.end);
    assert_eq!(a.end["ended"], true, "{}", a.end);
    client.speak(open_with("Still here.")).await.check().check_tones();
}

fn open_with(text: &str) -> Value {
    crate::with(open(), json!({ "text": text, "final": true }))
}

/// Case I13: a megabyte of text is refused with the limit's name, or by the frame's; the server lives.
#[tokio::test]
async fn too_much_text_is_refused_by_the_limit_it_passed() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let limits = client.ready["limits"].clone();
    let (chars, bytes) = (limits["text_chars"].as_u64().unwrap(), limits["message_bytes"].as_u64().unwrap());
    let a = client.start(open()).await;
    client.text(&a["id"], "Some of it. ", false).await;
    let long = "a".repeat(chars as usize);
    if long.len() + 100 < bytes as usize {
        client.text(&a["id"], &long, true).await;
        let error = client.control("error").await;
        assert_eq!((&error["code"], &error["id"]), (&json!("too_much_text"), &json!("a")), "{error}");
        assert!(error["message"].as_str().unwrap().contains(&chars.to_string()), "{error}");
        assert_eq!(error["ended"], false, "{error}");
        // It goes on with what it had, to its end: that was the final text.
        let a = client.rest_of(a).await;
        a.check().check_tones();
        assert_eq!(a.texts(), ["some of it."]);
    }
    for size in [1_000_000, 1_100_000, 2_000_000] {
        let mut client = Client::connect(&server).await;
        client.send(json!({ "type": "start", "id": "a", "text": "a".repeat(size), "final": true })).await;
        match client.next().await {
            Heard::Control(error) => {
                assert_eq!(error["code"], "too_much_text", "{error}");
                assert!(error["message"].as_str().unwrap().contains(&chars.to_string()), "{error}");
                assert_eq!(error["ended"], false, "{error}");
                client.speak(open_with("Fine.")).await.check();
            }
            Heard::Closed(code, reason) => {
                assert_eq!(code, 1009, "{size}: {reason}");
                assert!(reason.contains(&bytes.to_string()), "{reason}");
                assert!(size as u64 > bytes, "{size} bytes are within the limit");
            }
            other => panic!("{size}: {other:?}"),
        }
    }
    server.until("sessions", 1, crate::client::PATIENCE).await;
}
