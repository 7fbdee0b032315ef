//! A thousand utterances with cancels, resets and stalls at random, from one seed: afterwards nothing is left.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::client::{Client, Deaf, Heard, PATIENCE};
use crate::harness::Server;
use crate::{harness, steps, with};

/// Numerical Recipes' 64-bit generator: what happens is the same in every run, when is up to the machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

#[derive(Default)]
struct Count {
    done: usize,
    cancelled: usize,
    reset: usize,
    closed: usize,
    stalled: usize,
}

/// So many utterances of one caller, who takes a new socket where the old one is gone.
async fn caller(server: &Server, seed: u64, utterances: usize) -> Count {
    let mut random = Random(seed);
    let mut count = Count::default();
    let mut client = Client::connect(server).await;
    for i in 0..utterances {
        let n = 1 + random.below(40) as u32;
        let pace = if random.below(3) == 0 { "realtime" } else { "fast" };
        let format = if random.below(2) == 0 { "opus" } else { "pcm_s16le" };
        let start = with(steps(&format!("{i}"), n), json!({ "pace": pace, "format": format, "lead_ms": 5000 }));
        let started = client.start(start).await;
        let fate = random.below(100);
        if fate < 28 {
            for _ in 0..random.below(4) {
                client.next().await;
            }
        }
        match fate {
            0..20 => {
                client.send(json!({ "type": "cancel", "id": started["id"] })).await;
                let cancelled = client.control("cancelled").await;
                assert_eq!(cancelled["id"], started["id"]);
                count.cancelled += 1;
            }
            20..24 => {
                client.reset();
                client = Client::connect(server).await;
                count.reset += 1;
            }
            24..28 => {
                // A close frame in mid-word.
                client.ws.close(None).await.unwrap();
                client = Client::connect(server).await;
                count.closed += 1;
            }
            28..30 => {
                // Somebody else answers nothing until it is given up; this socket goes on meanwhile.
                let deaf = Deaf::say(server, &with(steps("d", 3000), json!({ "type": "start" }))).await;
                client.rest_of(started).await.check();
                let heard = deaf.all().await;
                assert!(matches!(heard.last(), Some(Heard::Closed(1001 | 1008, _))), "{:?}", heard.last());
                // Nobody read the old socket meanwhile, so its pings went without an answer too.
                client = Client::connect(server).await;
                count.stalled += 1;
            }
            _ => {
                let spoken = client.rest_of(started).await;
                spoken.check();
                assert!((spoken.audio_ms() - f64::from(n) * 512.0 / 24.0).abs() < 0.001);
                count.done += 1;
            }
        }
    }
    while let Some(heard) = client.next_within(Duration::from_millis(1)).await {
        assert!(!matches!(heard, Heard::Lost | Heard::Closed(..)), "{heard:?}");
    }
    count
}

/// After the first half the server has all the memory that so many callers need; the second half may add a tenth and
/// 8 MiB, for what an allocator keeps.
#[tokio::test]
async fn a_thousand_utterances_leave_nothing_behind() {
    const CALLERS: u64 = 25;
    let server = harness::fake_alone(&["--fake-step-us", "500", "--ping-ms", "100", "--stall-ms", "500"]).await;
    let mut memory = Vec::new();
    let mut all = Count::default();
    for half in 0..2 {
        let counts = join_all((0..CALLERS).map(|i| caller(&server, half * 1000 + i, 20))).await;
        for count in counts {
            all.done += count.done;
            all.cancelled += count.cancelled;
            all.reset += count.reset;
            all.closed += count.closed;
            all.stalled += count.stalled;
        }
        server.until_idle(PATIENCE).await;
        memory.push(server.memory());
    }
    let total = all.done + all.cancelled + all.reset + all.closed + all.stalled;
    assert_eq!(total, 1000);
    println!(
        "{} spoken, {} cancelled, {} reset, {} closed, {} stalled; {memory:?} KiB",
        all.done, all.cancelled, all.reset, all.closed, all.stalled
    );
    assert!(all.done > 500 && all.cancelled > 100 && all.reset > 10 && all.closed > 10 && all.stalled > 5);
    assert_eq!(server.metric("rows_active").await, 0);
    assert_eq!(server.metric("rows_waiting").await, 0);
    assert_eq!(server.metric("rows_paused").await, 0);
    assert!(memory[1] <= memory[0] + memory[0] / 10 + 8192, "{memory:?} KiB after 500 and after 1,000");
    Client::connect(&server).await.speak(steps("a", 10)).await.check().check_tones();
}
