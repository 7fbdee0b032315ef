//! The options, and what they mean together.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio_tungstenite::tungstenite::http::Uri;

use super::texts;
use super::wire::{Codec, Pace, StartFields};
use crate::cli::Usage;

const EXPLAINED: &str = "\
What is measured:
  TTFA         first audio packet - text sent (open loop: - when the utterance was due, so that waiting for a free
               socket counts). Cancelled utterances are left out.
  continuity   a listener begins at the first packet (held back by --jitter-ms) and plays in real time; a packet that
               comes after its turn leaves a gap. An utterance is continuous when it was spoken to its end and no gap
               was over 100 ms; refused and failed ones are not continuous.
  overhead     the server's own ttfa_ms - engine_ms
  RTF          at the client: (last packet - text sent) / audio; the server's: time on the device / audio
  faults       holes, repetitions, wrong lengths, audio after an end: what no server may send; counted from the start,
               warm-up included
Exit code: 0; 1 when nothing was spoken; 2 for wrong options.";

/// Put load on a voxwire server and measure what its listeners hear
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXPLAINED)]
pub struct Args {
    /// The server: ws://HOST:PORT[/PATH], or http://HOST:PORT for its /v1/ws
    #[arg(long, default_value = "ws://127.0.0.1:8080/v1/ws")]
    url: String,
    /// Sockets that speak (open loop: at most; with --find-capacity: to begin with)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    sockets: u32,
    /// Closed loop: milliseconds a socket waits between utterances
    #[arg(long, value_name = "MS", default_value_t = 0)]
    think: u64,
    /// Closed loop: milliseconds over which the sockets' first utterances are spread
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    spread: u64,
    /// Open loop: utterances a second, at random times, whether or not earlier ones have ended
    #[arg(long, value_name = "R", conflicts_with_all = ["think", "spread", "find_capacity"], value_parser = positive)]
    rate: Option<f64>,
    /// Utterances to measure
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    utterances: Option<u64>,
    /// Measure what begins within this time [default: 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Seconds of load before measuring [default: 0; with --find-capacity 2]
    #[arg(long, value_name = "S", value_parser = seconds)]
    warmup: Option<Duration>,
    /// A text a line [default: ordinary English sentences]
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Voice of all utterances [default: the server's]
    #[arg(long)]
    voice: Option<String>,
    #[arg(long, value_enum, default_value_t = Codec::Opus)]
    format: Codec,
    /// Audio a packet holds, in milliseconds (10, 20, 40, 60)
    #[arg(long, value_name = "MS", default_value_t = 20)]
    frame_ms: u32,
    /// Sample rate of pcm_s16le, in Hz [default: the server's]
    #[arg(long, value_name = "HZ")]
    sample_rate: Option<u32>,
    #[arg(long, value_enum, default_value_t = Pace::Realtime)]
    pace: Pace,
    /// How far the server sends ahead of real time [default: the server's]
    #[arg(long, value_name = "MS")]
    lead_ms: Option<u32>,
    /// Send texts word by word, so many words a second, as a language model does
    #[arg(long, value_name = "RATE", value_parser = positive)]
    word_by_word: Option<f64>,
    /// Further sockets that are opened and left idle
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=65_536))]
    idle: u32,
    /// Share of utterances cancelled at a random time (0 to 1)
    #[arg(long, value_name = "P", default_value = "0", value_parser = share)]
    cancel_share: f64,
    /// What the listener holds back before playing; the server's lead comes on top. A browser page holds 60 to 100
    #[arg(long, value_name = "MS", default_value = "0", value_parser = not_negative)]
    jitter_ms: f64,
    /// Seconds without a sign of life after which an utterance has failed
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    timeout: Duration,
    /// Repeats arrivals, cancels and the seeds of utterances
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The server's process: tells its CPU time and memory (same machine)
    #[arg(long)]
    pub pid: Option<u32>,
    /// Raise the number of streams until the continuous share is under --continuity
    #[arg(long, visible_alias = "ramp", conflicts_with = "utterances")]
    pub find_capacity: bool,
    /// Least continuous share of a step that passes, in percent
    #[arg(long, value_name = "PERCENT", default_value = "99.9", value_parser = percent, requires = "find_capacity")]
    pub continuity: f64,
    /// Most streams to try
    #[arg(long, value_name = "N", default_value_t = 4096, requires = "find_capacity",
        value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_streams: u32,
    /// One JSON object instead of the table
    #[arg(long)]
    pub json: bool,
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| "expected a number".to_string())
}

fn positive(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|v| *v > 0.0 && *v <= 1e5)
        .ok_or_else(|| "expected a number above 0, at most 100000".into())
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|v| (0.0..=1e5).contains(v)).ok_or_else(|| "expected 0 to 100000".into())
}

fn share(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|v| (0.0..=1.0).contains(v)).ok_or_else(|| "expected 0 to 1".into())
}

fn percent(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|v| (0.0..=100.0).contains(v)).ok_or_else(|| "expected 0 to 100".into())
}

fn seconds(text: &str) -> Result<Duration, String> {
    not_negative(text).map(Duration::from_secs_f64)
}

/// Where to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// HOST:PORT, as a resolver takes it.
    pub address: String,
    /// The whole `ws://` URL, a token in it included: for the request only.
    pub request: String,
    /// The URL without its query, which may hold a token: for people.
    pub shown: String,
}

impl Target {
    /// Reads a `ws://` or `http://` URL.
    ///
    /// # Errors
    /// When it is neither, or names no host.
    pub(in crate::cli) fn parse(url: &str) -> Result<Self, Usage> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let shown = |rest: &str| rest.split(['?', '#']).next().unwrap_or_default().to_string();
        let wrong = |found: String| Usage(format!("--url: expected ws://HOST:PORT or http://HOST:PORT, found {found}"));
        match scheme.to_ascii_lowercase().as_str() {
            "ws" | "http" => {}
            "wss" | "https" => {
                return Err(wrong(format!(
                    "{scheme}://{}, which needs TLS (put the load behind the proxy)",
                    shown(rest)
                )));
            }
            _ => return Err(wrong(format!("{:?}", shown(url)))),
        }
        let uri: Uri = format!("ws://{rest}").parse().map_err(|_| wrong(format!("{:?}", shown(url))))?;
        let host = uri.host().filter(|h| !h.is_empty()).ok_or_else(|| wrong(format!("{:?}", shown(url))))?;
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        let authority = uri.authority().map_or(address.as_str(), |a| a.as_str());
        let path = if uri.path() == "/" { "/v1/ws" } else { uri.path() };
        let query = uri.query().map(|q| format!("?{q}")).unwrap_or_default();
        Ok(Self { request: format!("ws://{authority}{path}{query}"), shown: format!("ws://{address}{path}"), address })
    }
}

/// When utterances begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Each socket speaks one after the other.
    Closed { think: Duration, spread: Duration },
    /// Utterances a second, whatever became of earlier ones.
    Open { rate: f64 },
}

/// What is measured, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    Utterances(u64),
    Time(Duration),
}

/// One run, ready to be carried out.
#[derive(Clone, Debug)]
pub struct Load {
    pub target: Target,
    pub sockets: usize,
    pub shape: Shape,
    pub quota: Quota,
    pub warmup: Duration,
    pub texts: Rc<[String]>,
    pub start: StartFields,
    /// Words a second.
    pub word_rate: Option<f64>,
    pub idle: usize,
    pub cancel_share: f64,
    pub jitter_ms: f64,
    pub timeout: Duration,
    pub seed: u64,
}

const FRAMES_MS: [u32; 4] = [10, 20, 40, 60];
const SAMPLE_RATES: [u32; 3] = [24_000, 16_000, 8_000];

impl Args {
    /// # Errors
    /// [`Usage`] for options that do not fit together; otherwise when the file of texts cannot be used.
    pub fn load(&self) -> anyhow::Result<Load> {
        let wrong = |text: String| Err(Usage(text).into());
        if !FRAMES_MS.contains(&self.frame_ms) {
            return wrong(format!("--frame-ms: expected 10, 20, 40 or 60, found {}", self.frame_ms));
        }
        match (self.format, self.sample_rate) {
            (Codec::Opus, Some(_)) => {
                return wrong("--sample-rate: expected with --format pcm_s16le only, found opus".into());
            }
            (Codec::PcmS16le, Some(rate)) if !SAMPLE_RATES.contains(&rate) => {
                return wrong(format!("--sample-rate: expected 24000, 16000 or 8000, found {rate}"));
            }
            _ => {}
        }
        if self.find_capacity && self.pace == Pace::Fast {
            return wrong("--find-capacity: expected --pace realtime, found fast".into());
        }
        if self.find_capacity && self.sockets > self.max_streams {
            let (sockets, most) = (self.sockets, self.max_streams);
            return wrong(format!("--sockets: expected at most --max-streams {most}, found {sockets}"));
        }
        if self.timeout.is_zero() || self.seconds.is_some_and(|s| s.is_zero()) {
            return wrong("--timeout, --seconds: expected more than 0, found 0".into());
        }
        Ok(Load {
            target: Target::parse(&self.url)?,
            sockets: self.sockets as usize,
            shape: match self.rate {
                Some(rate) => Shape::Open { rate },
                None => Shape::Closed {
                    think: Duration::from_millis(self.think),
                    spread: Duration::from_millis(self.spread),
                },
            },
            quota: match (self.utterances, self.seconds) {
                (Some(n), _) => Quota::Utterances(n),
                (None, time) => Quota::Time(time.unwrap_or(Duration::from_secs(10))),
            },
            warmup: self.warmup.unwrap_or(Duration::from_secs(if self.find_capacity { 2 } else { 0 })),
            texts: self.text.as_deref().map_or_else(|| Ok(texts::ordinary()), texts::read)?,
            start: StartFields {
                voice: self.voice.clone(),
                codec: self.format,
                frame_ms: self.frame_ms,
                sample_rate: self.sample_rate,
                pace: self.pace,
                lead_ms: self.lead_ms,
            },
            word_rate: self.word_by_word,
            idle: self.idle as usize,
            cancel_share: self.cancel_share,
            jitter_ms: self.jitter_ms,
            timeout: self.timeout,
            seed: self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn load(line: &str) -> anyhow::Result<Load> {
        Command::try_parse_from(std::iter::once("bench").chain(line.split_whitespace()))?.args.load()
    }

    #[test]
    fn urls_become_what_a_socket_needs() {
        let of = |url: &str| Target::parse(url).map(|t| (t.address, t.request)).map_err(|e| e.to_string());
        let ok = |address: &str, request: &str| Ok((address.to_string(), request.to_string()));
        assert_eq!(of("http://localhost:9000"), ok("localhost:9000", "ws://localhost:9000/v1/ws"));
        assert_eq!(of("HTTP://localhost:9000/"), ok("localhost:9000", "ws://localhost:9000/v1/ws"));
        assert_eq!(of("ws://h/other?token=a"), ok("h:80", "ws://h/other?token=a"));
        assert_eq!(of("ws://[::1]:8/v1/ws"), ok("[::1]:8", "ws://[::1]:8/v1/ws"));
        for wrong in ["", "localhost:80", "ftp://h", "ws://", "ws://:80/", "ws://a b/"] {
            assert!(of(wrong).unwrap_err().starts_with("--url: expected ws://"), "{wrong}");
        }
        assert!(of("wss://h").unwrap_err().contains("needs TLS"));
        // A token is not for people to see, not even in an error.
        assert_eq!(Target::parse("ws://h/p?token=secret").unwrap().shown, "ws://h:80/p");
        assert!(!of("wss://h/?token=secret").unwrap_err().contains("secret"));
    }

    #[test]
    fn the_defaults_are_one_socket_for_ten_seconds() {
        let plain = load("").unwrap();
        assert_eq!((plain.sockets, plain.quota), (1, Quota::Time(Duration::from_secs(10))));
        assert_eq!(plain.shape, Shape::Closed { think: Duration::ZERO, spread: Duration::from_secs(1) });
        assert_eq!((plain.start.codec, plain.start.pace, plain.texts.len()), (Codec::Opus, Pace::Realtime, 12));
    }

    #[test]
    fn options_are_taken_over() {
        let all = load(
            "--url http://h:1 --sockets 3 --rate 2.5 --utterances 7 --warmup 0.5 --voice female --format pcm_s16le \
             --frame-ms 40 --sample-rate 8000 --pace fast --lead-ms 0 --word-by-word 5 --idle 9 --cancel-share 0.5 \
             --jitter-ms 80 --timeout 2 --seed 4",
        )
        .unwrap();
        assert_eq!((all.shape, all.quota, all.idle), (Shape::Open { rate: 2.5 }, Quota::Utterances(7), 9));
        assert_eq!((all.warmup, all.timeout), (Duration::from_millis(500), Duration::from_secs(2)));
        assert_eq!((all.start.frame_ms, all.start.sample_rate, all.start.lead_ms), (40, Some(8000), Some(0)));
        assert_eq!((all.word_rate, all.cancel_share, all.jitter_ms, all.seed), (Some(5.0), 0.5, 80.0, 4));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for line in [
            "--sockets 0",
            "--utterances 0",
            "--seconds 0",
            "--seconds 5 --utterances 5",
            "--rate 0",
            "--rate nan",
            "--rate 1 --think 5",
            "--rate 1 --find-capacity",
            "--cancel-share 1.5",
            "--frame-ms 25",
            "--sample-rate 16000",
            "--format pcm_s16le --sample-rate 44100",
            "--format mp3",
            "--find-capacity --pace fast",
            "--find-capacity --sockets 9 --max-streams 8",
            "--continuity 99",
            "--jitter-ms -1",
            "--url wss://h",
        ] {
            assert!(load(line).is_err(), "{line}");
        }
        // Those that clap cannot see are marked, so that they exit with 2.
        assert!(load("--frame-ms 25").unwrap_err().is::<Usage>());
        assert!(load("--url ftp://h").unwrap_err().is::<Usage>());
    }
}
