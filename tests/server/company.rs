//! What a text sounds like does not depend on who else is being served: the CPU engine with the demo model, by bytes.
//!
//! The cases ask for speech recognition; that the bytes are those of the same text spoken alone says as much, for what
//! is right alone is right in company. Whether it is right alone is another test's matter.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::client::{Client, Spoken};
use crate::harness;
use crate::harness::Server;

const WORDS: [&str; 25] = [
    "river", "table", "seven", "garden", "window", "paper", "yellow", "mountain", "coffee", "winter", "summer",
    "doctor", "letter", "music", "bridge", "orange", "pencil", "silver", "forest", "kitchen", "planet", "rabbit",
    "engine", "market", "thunder",
];

fn start(text: &str, seed: usize, steps: u32) -> Value {
    json!({
        "id": "a", "text": text, "final": true, "seed": seed, "pace": "fast", "format": "pcm_s16le",
        "voice": if seed.is_multiple_of(2) { "female" } else { "male" }, "sampling": { "max_steps": steps },
    })
}

async fn say(server: &Server, start: Value) -> Spoken {
    let mut client = Client::connect(server).await;
    let spoken = client.speak(start).await;
    spoken.check();
    assert!(spoken.audio_ms() > 0.0, "{}", spoken.end);
    spoken
}

async fn alone_and_together(server: &Server, starts: &[Value]) {
    let together = join_all(starts.iter().map(|s| say(server, s.clone()))).await;
    for (start, together) in starts.iter().zip(together) {
        let alone = say(server, start.clone()).await;
        assert_eq!(alone.pieces, together.pieces, "{start}");
        assert!(alone.bytes() == together.bytes(), "{start}: other bytes in company than alone");
        // A tone or silence would be the same in any company, too.
        let loud =
            alone.bytes().chunks_exact(2).filter(|b| i16::from_le_bytes([b[0], b[1]]).unsigned_abs() > 300).count();
        assert!(loud > 200, "{start}: {loud} samples can be heard");
    }
    server.until_idle(crate::client::PATIENCE).await;
}

/// Case B01: 20 different texts at once.
#[tokio::test]
async fn twenty_texts_at_once_are_each_as_alone() {
    let server = harness::cpu(&["--slots", "8"]).await;
    let text = |i: usize| format!("The {} is near the {}.", WORDS[i], WORDS[(i + 7) % WORDS.len()]);
    let starts: Vec<Value> = (0..20).map(|i| start(&text(i), i, 24)).collect();
    alone_and_together(&server, &starts).await;
}

/// Case B02: a very short and a long text together.
#[tokio::test]
async fn a_short_and_a_long_text_together_are_each_as_alone() {
    let server = harness::cpu(&[]).await;
    let long = "This one has a good deal more to say, and it takes its time to say all of it. ".repeat(4);
    alone_and_together(&server, &[start("Hi.", 1, 400), start(&long[..300], 2, 40)]).await;
}

/// Case B09: 50 callers, each with a word of its own, hear only their own.
#[tokio::test]
async fn fifty_callers_hear_only_their_own() {
    let server = harness::cpu(&["--slots", "16"]).await;
    let text = |i: usize| format!("The word is {} {}.", WORDS[i % 25], WORDS[(i * 3 + i / 25) % 25]);
    let starts: Vec<Value> = (0..50).map(|i| start(&text(i), 100 + i, 10)).collect();
    alone_and_together(&server, &starts).await;
    let heard: std::collections::HashSet<Vec<u8>> =
        join_all(starts[..10].iter().map(|s| say(&server, s.clone()))).await.iter().map(Spoken::bytes).collect();
    assert_eq!(heard.len(), 10, "different words are different sounds");
}
