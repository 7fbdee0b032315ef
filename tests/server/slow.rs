//! Readers that stop reading: bounded, paused, and closed after a while; their neighbours notice nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::client::{Client, Deaf, Heard, PATIENCE};
use crate::harness::Server;
use crate::{harness, http, steps, with};

const STALL: Duration = Duration::from_millis(1000);
const ARGS: [&str; 4] = ["--stall-ms", "1000", "--fake-step-us", "1000"];

/// A client whose system takes little for it while it does not read.
async fn small(server: &Server) -> Client {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&server.addr.into()).unwrap();
    socket.set_nonblocking(true).unwrap();
    Client::over(server, tokio::net::TcpStream::from_std(socket.into()).unwrap()).await
}

/// Speaks in real time, and says how long the longest hole was that its listener heard, with 200 ms of buffer.
async fn neighbour(server: &Server, steps_made: u32) -> (Value, f64) {
    let mut client = Client::connect(server).await;
    let start = with(steps("n", steps_made), json!({ "pace": "realtime", "format": "opus" }));
    let spoken = client.speak(start).await;
    spoken.check();
    let first = spoken.packets[0].at;
    let late = |media: u32, at: Instant| (at - first).as_secs_f64() - f64::from(media) / 24e3;
    let worst = spoken.packets.iter().map(|p| late(p.media, p.at)).fold(f64::MIN, f64::max);
    (spoken.end, worst)
}

/// Stops reading in the middle of four kinds of stream.
#[tokio::test]
async fn a_reader_that_stops_is_paused_and_then_closed() {
    let server = harness::fake_alone(&ARGS).await;
    let slow = async |format: &'static str, pace: &'static str| {
        let mut client = small(&server).await;
        client.start(with(steps("a", 3000), json!({ "pace": pace, "format": format }))).await;
        for _ in 0..5 {
            client.audio().await;
        }
        // 64 s of sound are wanted; nobody reads any more.
        client
    };
    let readers = [
        slow("opus", "realtime").await,
        slow("pcm_s16le", "realtime").await,
        slow("opus", "fast").await,
        slow("pcm_s16le", "fast").await,
    ];
    let began = Instant::now();
    let watched = async {
        let mut paused = 0;
        while began.elapsed() < PATIENCE && server.metric("rows_active").await > 1 {
            paused = paused.max(server.metric("rows_paused").await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        (paused, began.elapsed())
    };
    let (neighbour, (paused, freed)) = tokio::join!(neighbour(&server, 330), watched);
    assert!(paused >= 2, "rows of those who are sent sound as it is made pause: {paused}");
    assert!(freed > STALL, "they had their time: {freed:?}");
    assert!(freed < STALL * 8, "and no more: {freed:?}");
    let (end, worst) = neighbour;
    assert_eq!(end["underruns"], 0, "the neighbour ran dry: {end}");
    assert!(worst < 0.2, "the neighbour's packets came up to {worst:.3} s late");
    server.until_idle(STALL * 4).await;
    assert!(server.metric("slow_readers_total").await >= 1);
    drop(readers);
}

/// What waits for a reader is bounded in time: when it reads again, it finds no more than was allowed on its way.
#[tokio::test]
async fn sound_on_its_way_to_a_slow_reader_is_bounded() {
    let server = harness::fake(&["--stall-ms", "1500", "--fake-step-us", "500"]).await;
    let start = with(steps("a", 3000), json!({ "type": "start", "format": "opus" }));
    let client = Deaf::say(&server, &start).await;
    server.until("rows_paused", 1, PATIENCE).await;
    let made = server.metric("device_steps").await;
    assert!(made < 1500, "its row pauses: {made} steps of 3000");
    let waited = server.until("rows_active", 0, PATIENCE).await;
    assert!(waited > Duration::from_millis(500), "it had its time: {waited:?}");
    server.until_idle(PATIENCE).await;
    // Reads again, too late: what had been sent, then the reason.
    let heard = client.all().await;
    let packets = heard.iter().filter(|h| matches!(h, Heard::Audio(_))).count();
    // 5 s of unconfirmed sound at the most.
    assert!((240..=260).contains(&packets), "{packets} packets of 20 ms");
    let [.., Heard::Control(error), Heard::Closed(code, _)] = &heard[..] else { panic!("{:?}", heard.last()) };
    assert_eq!((&error["code"], &error["id"]), (&json!("slow_reader"), &json!("a")));
    assert_eq!(*code, 1008);
}

/// Who reads slowly but reads is served to the end.
#[tokio::test]
async fn a_reader_that_takes_its_time_is_not_closed() {
    let server = harness::fake(&["--stall-ms", "800", "--fake-step-us", "500"]).await;
    let mut client = Client::connect(&server).await;
    let started = client.start(with(steps("a", 800), json!({ "format": "opus" }))).await;
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        for _ in 0..60 {
            client.next().await;
        }
    }
    let rest = client.rest_of(started).await;
    assert_eq!((&rest.end["type"], &rest.end["audio_ms"]), (&json!("done"), &json!(17066.667)), "{}", rest.end);
}

/// A download that nobody reads does not hold a row for ever, and its pause costs the neighbours nothing.
#[tokio::test]
async fn a_download_that_is_not_read_pauses_its_row() {
    let server = harness::fake(&["--fake-step-us", "200"]).await;
    let text = "This is said over and over again, and it takes a while. ".repeat(120);
    let body = json!({ "input": text, "response_format": "wav" }).to_string();
    let stream = http::open(server.addr, "POST", "/v1/audio/speech", "", body.as_bytes()).await;
    server.until("rows_paused", 1, PATIENCE).await;
    Client::connect(&server).await.speak(steps("n", 10)).await.check().check_tones();
    drop(stream);
    server.until_idle(PATIENCE).await;
}
