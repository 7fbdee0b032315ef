//! The protocol's JSON, as far as a load generator speaks and reads it.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    Opus,
    #[serde(rename = "pcm_s16le")]
    #[value(name = "pcm_s16le")]
    PcmS16le,
}

impl Codec {
    pub fn name(self) -> &'static str {
        match self {
            Self::Opus => "opus",
            Self::PcmS16le => "pcm_s16le",
        }
    }
}

/// The format of a stream as `started` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Format {
    pub codec: Codec,
    /// Of media time, in Hz.
    pub sample_rate: u32,
    pub frame_ms: f64,
    /// Samples at 48 kHz that an Opus decoder drops at the beginning.
    #[serde(default)]
    pub pre_skip: u32,
}

/// Nothing the protocol allows is outside this, and no arithmetic on it overflows.
const SAMPLE_RATES: std::ops::RangeInclusive<u32> = 1..=192_000;
const FRAMES_MS: std::ops::RangeInclusive<f64> = 1.0..=1000.0;

impl Format {
    /// Whether the figures can be meant.
    pub fn plausible(&self) -> bool {
        SAMPLE_RATES.contains(&self.sample_rate) && FRAMES_MS.contains(&self.frame_ms) && self.pre_skip < 48_000
    }

    pub fn pre_skip_ms(&self) -> f64 {
        f64::from(self.pre_skip) / 48.0
    }

    /// Samples in a packet with a payload of that many bytes; `None` when it cannot be a packet.
    pub fn samples(&self, payload: usize) -> Option<u32> {
        let whole = (f64::from(self.sample_rate) * self.frame_ms / 1000.0).round() as u32;
        match self.codec {
            Codec::Opus => (payload > 0).then_some(whole),
            Codec::PcmS16le => {
                let samples = u32::try_from(payload / 2).ok()?;
                (payload.is_multiple_of(2) && (1..=whole).contains(&samples)).then_some(samples)
            }
        }
    }
}

/// A message from the server. Fields nobody measures are left out.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Incoming {
    Ready {
        #[serde(default)]
        server: String,
        #[serde(default)]
        model: Model,
    },
    Started {
        id: String,
        stream: u32,
        format: Format,
    },
    Piece {
        id: String,
        length_ms: f64,
    },
    Done(Done),
    Cancelled {
        id: String,
    },
    Error {
        code: String,
        #[serde(default)]
        message: String,
        id: Option<String>,
        retry_after_ms: Option<f64>,
    },
    /// `pong`, and whatever later versions bring.
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Model {
    #[serde(default)]
    pub name: String,
}

/// Milliseconds, and a ratio; `None` where the server had no figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Done {
    pub id: String,
    pub reason: String,
    pub audio_ms: Option<f64>,
    pub queue_ms: Option<f64>,
    pub ttfa_ms: Option<f64>,
    pub engine_ms: Option<f64>,
    pub rtf: Option<f64>,
}

/// What every utterance of a run has in common.
#[derive(Clone, Debug)]
pub struct StartFields {
    pub voice: Option<String>,
    pub codec: Codec,
    pub frame_ms: u32,
    /// PCM only.
    pub sample_rate: Option<u32>,
    pub pace: Pace,
    pub lead_ms: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Pace {
    Realtime,
    Fast,
}

impl Pace {
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
            Self::Fast => "fast",
        }
    }
}

impl StartFields {
    /// The `start` message; with `text`, all of the text and its end in the same message.
    pub fn message(&self, id: &str, seed: u64, text: Option<&str>) -> String {
        let mut format = json!({ "codec": self.codec.name(), "frame_ms": self.frame_ms });
        if let Some(rate) = self.sample_rate {
            format["sample_rate"] = rate.into();
        }
        let mut start = json!({ "type": "start", "id": id, "seed": seed, "format": format, "pace": self.pace.name() });
        let mut put = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                start[field] = value;
            }
        };
        put("voice", self.voice.clone().map(Value::from));
        put("lead_ms", self.lead_ms.map(Value::from));
        put("text", text.map(Value::from));
        put("final", text.map(|_| true.into()));
        start.to_string()
    }
}

pub fn text_message(id: &str, text: &str, last: bool) -> String {
    json!({ "type": "text", "id": id, "text": text, "final": last }).to_string()
}

pub fn cancel_message(id: &str) -> String {
    json!({ "type": "cancel", "id": id }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_by_type_and_unknown_ones_are_let_be() {
        let read = |text: &str| serde_json::from_str::<Incoming>(text);
        let started = r#"{"type":"started","id":"b1","stream":3,"voice":{"kind":"model"},
            "format":{"codec":"opus","sample_rate":24000,"channels":1,"frame_ms":20,"pre_skip":312}}"#;
        let format = Format { codec: Codec::Opus, sample_rate: 24000, frame_ms: 20.0, pre_skip: 312 };
        assert_eq!(read(started).unwrap(), Incoming::Started { id: "b1".into(), stream: 3, format });
        assert_eq!(format.pre_skip_ms(), 6.5);
        let done = r#"{"type":"done","id":"b1","reason":"nothing_to_say","audio_ms":0,"ttfa_ms":null,"pieces":0}"#;
        let Incoming::Done(done) = read(done).unwrap() else { panic!("not a done") };
        assert_eq!((done.audio_ms, done.ttfa_ms, done.rtf), (Some(0.0), None, None));
        assert_eq!(read(r#"{"type":"pong","data":[1]}"#).unwrap(), Incoming::Other);
        assert_eq!(read(r#"{"type":"later","x":1}"#).unwrap(), Incoming::Other);
        assert!(read(r#"{"type":"started","id":"b1"}"#).is_err());
        assert!(read("[]").is_err());
    }

    #[test]
    fn start_says_only_what_was_asked_for() {
        let plain = StartFields {
            voice: None,
            codec: Codec::Opus,
            frame_ms: 20,
            sample_rate: None,
            pace: Pace::Realtime,
            lead_ms: None,
        };
        let parsed = |s: String| serde_json::from_str::<Value>(&s).unwrap();
        assert_eq!(
            parsed(plain.message("b1", 9, None)),
            json!({"type":"start","id":"b1","seed":9,"format":{"codec":"opus","frame_ms":20},"pace":"realtime"})
        );
        let full = StartFields {
            voice: Some("2222".into()),
            codec: Codec::PcmS16le,
            sample_rate: Some(8000),
            pace: Pace::Fast,
            lead_ms: Some(0),
            ..plain
        };
        assert_eq!(
            parsed(full.message("b2", 9, Some("Hi \"you\""))),
            json!({"type":"start","id":"b2","seed":9,"format":{"codec":"pcm_s16le","frame_ms":20,"sample_rate":8000},
                "pace":"fast","voice":"2222","lead_ms":0,"text":"Hi \"you\"","final":true})
        );
    }

    #[test]
    fn figures_that_cannot_be_meant_are_not_plausible() {
        let good = Format { codec: Codec::Opus, sample_rate: 24000, frame_ms: 20.0, pre_skip: 312 };
        assert!(good.plausible());
        assert!(!Format { sample_rate: 0, ..good }.plausible());
        assert!(!Format { frame_ms: f64::NAN, ..good }.plausible());
        assert!(!Format { frame_ms: 0.0, ..good }.plausible());
    }
}
