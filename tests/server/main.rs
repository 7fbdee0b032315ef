//! The live server from outside: the real binary on a free port, spoken to over TCP.
//!
//! Most tests use the fake engine, whose sound is known to the sample: each piece is a tone that its seed stands for,
//! and `min_steps` and `max_steps` say how long it is (a step is 512 samples, 21.33 ms). Tests that measure time have
//! the machine to themselves, as far as this binary goes.

mod bad_input;
mod cancel;
mod client;
mod company;
mod formats;
mod gone;
mod harness;
mod http;
mod load;
mod ordering;
mod pace;
mod ready;
mod requests;
mod slow;
mod soak;
mod sound;
mod speech;
mod stop;
mod text;

use serde_json::{Value, json};

/// A `start` of 24 kHz PCM, sent as made, that makes exactly `steps` steps of its one piece.
fn steps(id: &str, steps: u32) -> Value {
    json!({
        "id": id, "text": "Hello there.", "final": true, "pace": "fast", "format": "pcm_s16le",
        "sampling": { "min_steps": steps, "max_steps": steps },
    })
}

/// `base` with the fields of `change`.
fn with(mut base: Value, change: Value) -> Value {
    for (name, value) in change.as_object().expect("an object") {
        base[name] = value.clone();
    }
    base
}
