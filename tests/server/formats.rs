//! Every format carries the sound it says, to the sample.

use serde_json::json;

use crate::client::Client;
use crate::{harness, steps, with};

const FRAMES: [u32; 4] = [10, 20, 40, 60];

/// Case F05: binary messages of a PCM stream are whole samples, and here every frame length and rate at once. (Case F06,
/// sessions in base64, has nothing to run on: there are none.)
#[tokio::test]
async fn pcm_has_exactly_the_length_it_says() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for rate in [24_000, 16_000, 8_000] {
        for frame_ms in FRAMES {
            let format = json!({ "codec": "pcm_s16le", "sample_rate": rate, "frame_ms": frame_ms });
            // 47 steps are 1002.67 ms: at no rate and length whole frames.
            let spoken = client.speak(with(steps("a", 47), json!({ "format": format }))).await;
            let samples = spoken.check().bytes().len() / 2;
            assert_eq!(spoken.audio_ms(), 1002.667);
            assert_eq!(samples, (47.0 * 512.0 * f64::from(rate) / 24e3).ceil() as usize);
            assert!(spoken.packets.iter().all(|p| p.data.len() % 2 == 0), "whole samples");
            if rate == 24_000 {
                spoken.check_tones();
            }
        }
    }
}

#[tokio::test]
async fn opus_decodes_to_exactly_the_length_it_says() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for frame_ms in FRAMES {
        for steps_made in [1, 2, 30, 47] {
            let format = json!({ "codec": "opus", "frame_ms": frame_ms });
            let spoken = client.speak(with(steps("a", steps_made), json!({ "format": format }))).await;
            spoken.check();
            assert!((spoken.audio_ms() - f64::from(steps_made) * 512.0 / 24.0).abs() < 0.001);
        }
    }
}

/// What comes out of the decoder is the engine's tone, at the place where pre-skip says.
#[tokio::test]
async fn opus_is_the_sound_that_was_made() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let format = json!({ "codec": "opus", "bitrate": 128_000, "complexity": 10 });
    let spoken = client.speak(with(steps("a", 47), json!({ "format": format, "seed": 20 }))).await;
    let found = crate::sound::Format::of(&spoken.started).decode(&spoken.packets);
    let expected: Vec<f64> = crate::sound::expected(&spoken.pieces)
        .chunks_exact(2)
        .map(|b| i16::from_le_bytes([b[0], b[1]]).into())
        .collect();
    let (mut signal, mut noise) = (0.0, 0.0);
    for (x, y) in expected.iter().zip(&found).skip(2400).take(19_200) {
        signal += x * x;
        noise += (x - f64::from(*y)).powi(2);
    }
    let ratio = 10.0 * (signal / noise).log10();
    assert!(ratio > 20.0, "{ratio:.1} dB of signal to noise: a place wrong by one sample would be 20 dB at best");
}

#[tokio::test]
async fn all_settings_of_opus_are_spoken() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let mut bytes = Vec::new();
    for (bitrate, complexity, fec, dtx) in
        [(6_000, 0, false, false), (16_000, 3, true, false), (64_000, 10, false, true), (256_000, 5, true, true)]
    {
        let format = json!({ "codec": "opus", "bitrate": bitrate, "complexity": complexity, "fec": fec, "dtx": dtx });
        let spoken = client.speak(with(steps("a", 47), json!({ "format": format }))).await;
        bytes.push(spoken.check().bytes().len());
    }
    assert!(bytes.is_sorted(), "a higher bitrate is more bytes: {bytes:?}");
}

#[tokio::test]
async fn speed_sets_the_length_to_the_sample() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for format in [json!("pcm_s16le"), json!("opus"), json!({ "codec": "pcm_s16le", "sample_rate": 16000 })] {
        for (speed, ms) in [(0.5, 2005.333), (1.0, 1002.667), (2.0, 501.333), (4.0, 250.667)] {
            let spoken = client.speak(with(steps("a", 47), json!({ "speed": speed, "format": format }))).await;
            spoken.check();
            assert_eq!(spoken.audio_ms(), ms, "{format} at speed {speed}");
        }
    }
}

/// The same text, seed and parameters give the same bytes, whatever the pace.
#[tokio::test]
async fn the_same_request_gives_the_same_audio() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let text = "First this was said. And then it was something else that was said.";
    let start = |pace| json!({ "id": "a", "text": text, "final": true, "seed": 5, "pace": pace, "lead_ms": 10000 });
    let fast = client.speak(start("fast")).await;
    let paced = client.speak(start("realtime")).await;
    fast.check();
    assert_eq!(fast.bytes(), paced.bytes());
    assert_eq!(fast.pieces.len(), 2);
    assert_eq!(fast.pieces[0]["seed"], 5);
    let other = client.speak(with(start("fast"), json!({ "seed": 6 }))).await;
    assert_ne!(fast.bytes(), other.bytes());
}
