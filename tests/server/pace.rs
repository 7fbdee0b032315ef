//! When packets leave.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, Spoken};
use crate::{harness, steps, with};

/// A timer's own resolution, and the way here.
const EARLY: Duration = Duration::from_millis(20);

/// How early each packet came, against a listener who plays from the first one on.
fn leads(spoken: &Spoken) -> Vec<f64> {
    let first = spoken.packets[0].at;
    let lead = |media: u32, at: Instant| f64::from(media) / 24e3 - (at - first).as_secs_f64();
    spoken.packets.iter().map(|p| lead(p.media, p.at)).collect()
}

/// Ten seconds on the absolute clock: no packet more than `lead_ms` (and a timer's tick) early, and the last second as
/// early as the first ones, so nothing adds up.
#[tokio::test]
async fn realtime_keeps_to_the_clock_and_does_not_drift() {
    let server = harness::fake_alone(&[]).await;
    let mut client = Client::connect(&server).await;
    let start = with(steps("a", 480), json!({ "pace": "realtime", "lead_ms": 200, "format": "opus" }));
    let spoken = client.speak(start).await;
    spoken.check();
    assert_eq!(spoken.audio_ms(), 10_240.0);
    let leads = leads(&spoken);
    let most = leads.iter().copied().fold(f64::MIN, f64::max);
    assert!(most <= (Duration::from_millis(200) + EARLY).as_secs_f64(), "a packet came {most:.3} s early");
    // The best of a second is its pace; a busy machine makes single packets late.
    let best = |leads: &[f64]| leads.iter().copied().fold(f64::MIN, f64::max);
    let (early, late) = (best(&leads[50..100]), best(&leads[leads.len() - 50..]));
    assert!((early - late).abs() < 0.015, "{early:.3} s ahead at the beginning, {late:.3} s at the end");
    assert!(late > 0.15, "it is sent ahead by about the lead: {late:.3} s");
    assert_eq!(spoken.end["underruns"], 0, "{}", spoken.end);
}

#[tokio::test]
async fn without_a_lead_nothing_comes_before_its_time() {
    let server = harness::fake_alone(&[]).await;
    let mut client = Client::connect(&server).await;
    let spoken = client.speak(with(steps("a", 47), json!({ "pace": "realtime", "lead_ms": 0 }))).await;
    let most = leads(&spoken).into_iter().fold(f64::MIN, f64::max);
    assert!(most <= EARLY.as_secs_f64(), "a packet came {most:.3} s early");
}

#[tokio::test]
async fn fast_is_sent_as_it_is_made() {
    let server = harness::fake_alone(&["--fake-step-us", "1000"]).await;
    let mut client = Client::connect(&server).await;
    let spoken = client.speak(steps("a", 470)).await;
    spoken.check().check_tones();
    let took = spoken.packets.last().unwrap().at - spoken.packets[0].at;
    // 10 s of sound; the engine needs half a second, or a few on a busy machine.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// The lead is the socket's, not each utterance's: many short ones in a row are no further ahead than one.
#[tokio::test]
async fn the_lead_does_not_add_up_over_utterances() {
    let server = harness::fake_alone(&[]).await;
    let mut client = Client::connect(&server).await;
    let mut started = Vec::new();
    for i in 0..6 {
        let start = with(steps(&format!("{i}"), 24), json!({ "pace": "realtime", "lead_ms": 200 }));
        started.push(client.start(start).await);
    }
    let mut first = None;
    let (mut before, mut most) = (0.0, f64::MIN);
    for started in started {
        let spoken = client.rest_of(started).await;
        spoken.check();
        for packet in &spoken.packets {
            let position = before + f64::from(packet.media) / 24e3;
            let first = *first.get_or_insert(packet.at);
            most = f64::max(most, position - (packet.at - first).as_secs_f64());
        }
        before += spoken.audio_ms() / 1e3;
    }
    assert!(most <= (Duration::from_millis(200) + EARLY).as_secs_f64(), "a packet came {most:.3} s early");
}

/// Where the engine is slower than speech a listener runs dry, and the figures say so.
#[tokio::test]
async fn a_listener_who_runs_dry_is_counted() {
    let server = harness::fake_alone(&["--fake-step-us", "40000"]).await;
    let mut client = Client::connect(&server).await;
    let spoken = client.speak(with(steps("a", 24), json!({ "pace": "realtime" }))).await;
    spoken.check();
    let underrun = spoken.end["underrun_ms"].as_f64().unwrap();
    assert!(spoken.end["underruns"].as_u64().unwrap() >= 1, "{}", spoken.end);
    // 20 steps after the first four take 800 ms and last 427 ms; the last packets wait for all of them.
    assert!(underrun > 300.0, "{}", spoken.end);
}
