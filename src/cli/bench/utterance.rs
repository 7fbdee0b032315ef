//! One utterance as the client sees it, from its `start` to its end. Knows no socket: it is told what came, and when.

use tokio::time::{Duration, Instant};

use super::header::Header;
use super::playout::Playout;
use super::record::Record;
use super::track::{Fault, Track};
use super::wire::{Done, Format};

/// An utterance that is to be spoken.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which utterance of the run: picks its text, its seed and its random choices.
    pub index: u64,
    /// When it should begin.
    pub due: Instant,
    /// It is measured (it is not part of the warm-up).
    pub counted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Done,
    NothingToSay,
    Cancelled,
    /// With the server's error code, or what became of the socket.
    Failed(String),
}

#[derive(Debug)]
pub struct Utterance {
    pub id: String,
    pub counted: bool,
    pub due: Instant,
    /// The first text (or, without one, `start`) was handed to the socket.
    pub sent: Instant,
    /// The latest text before the first audio was handed to the socket.
    pub last_text_before_audio: Instant,
    pub stream: Option<u32>,
    pub track: Option<Track>,
    pub playout: Option<Playout>,
    pub first_audio: Option<Instant>,
    pub last_audio: Option<Instant>,
    pub cancel_sent: Option<Instant>,
    pub cancel_answered: Option<Instant>,
    pub done: Option<Done>,
    pub end: Option<End>,
    /// Its stream was not whole.
    pub damaged: bool,
    /// Something of it came, or was sent.
    pub last_seen: Instant,
}

impl Utterance {
    pub fn new(id: String, job: &Job, now: Instant) -> Self {
        Self {
            id,
            counted: job.counted,
            due: job.due,
            sent: now,
            last_text_before_audio: now,
            stream: None,
            track: None,
            playout: None,
            first_audio: None,
            last_audio: None,
            cancel_sent: None,
            cancel_answered: None,
            done: None,
            end: None,
            damaged: false,
            last_seen: now,
        }
    }

    /// Ended, and nothing is owed to it.
    pub fn over(&self) -> bool {
        self.end.is_some() && (self.cancel_sent.is_none() || self.cancel_answered.is_some())
    }

    pub fn text_sent(&mut self, now: Instant) {
        if self.first_audio.is_none() {
            self.last_text_before_audio = now;
        }
        self.last_seen = now;
    }

    pub fn started(&mut self, stream: u32, format: Format, jitter_ms: f64) {
        self.stream = Some(stream);
        self.playout = Some(Playout::new(jitter_ms, format.pre_skip_ms()));
        self.track = Some(Track::new(format));
    }

    /// A packet of this utterance's stream.
    pub fn packet(&mut self, header: &Header, payload: usize, now: Instant, record: &mut Record) {
        let Some((track, playout)) = self.track.as_mut().zip(self.playout.as_mut()) else {
            record.fault(Fault::UnknownStream);
            return;
        };
        self.last_seen = now;
        let before = record.faults.total();
        let length_ms = track.packet(header, payload, &mut record.faults);
        self.damaged |= record.faults.total() > before;
        let Some(length_ms) = length_ms else { return };
        record.flow.audio_ms += length_ms;
        playout.packet((now - self.sent).as_secs_f64() * 1e3, length_ms);
        if let Some(last) = self.last_audio.filter(|_| self.counted) {
            record.packet_gap.add((now - last).as_secs_f64() * 1e3);
        }
        self.first_audio.get_or_insert(now);
        self.last_audio = Some(now);
    }

    pub fn piece(&mut self, length_ms: f64) {
        if let Some(track) = &mut self.track {
            track.piece(length_ms);
        }
    }

    pub fn done(&mut self, done: Done, record: &mut Record) {
        let audio_ms = done.audio_ms.unwrap_or(0.0);
        let before = record.faults.total();
        match &self.track {
            Some(track) => track.done(audio_ms, &mut record.faults),
            None => record.fault(Fault::UnexpectedMessage),
        }
        self.damaged |= record.faults.total() > before;
        let silent = audio_ms <= 0.0 && self.first_audio.is_none();
        self.end = Some(if silent { End::NothingToSay } else { End::Done });
        self.done = Some(done);
    }

    pub fn cancelled(&mut self, now: Instant) {
        self.cancel_answered = Some(now);
        self.last_seen = now;
        self.end.get_or_insert(End::Cancelled);
    }

    pub fn failed(&mut self, code: impl Into<String>) {
        self.end.get_or_insert_with(|| End::Failed(code.into()));
    }
}

/// A text sent word by word; the words joined are the text.
#[derive(Debug)]
pub struct Words<'a> {
    words: std::iter::Peekable<std::str::SplitInclusive<'a, char>>,
    every: Duration,
    due: Instant,
}

impl<'a> Words<'a> {
    /// `rate` words a second, the first one now.
    pub fn new(text: &'a str, rate: f64, now: Instant) -> Self {
        Self { words: text.split_inclusive(' ').peekable(), every: Duration::from_secs_f64(1.0 / rate), due: now }
    }

    /// When the next word is due; `None` after the last.
    pub fn due(&mut self) -> Option<Instant> {
        self.words.peek().map(|_| self.due)
    }

    /// The next word, and whether it is the last.
    pub fn next(&mut self) -> Option<(&'a str, bool)> {
        let word = self.words.next()?;
        self.due += self.every;
        Some((word, self.words.peek().is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_joined_are_the_text() {
        for text in ["One two  three. ", "one", "两个 词"] {
            let now = Instant::now();
            let mut words = Words::new(text, 4.0, now);
            let (mut joined, mut lasts, mut at) = (String::new(), 0, Vec::new());
            while let Some(due) = words.due() {
                at.push((due - now).as_millis());
                let (word, last) = words.next().unwrap();
                joined += word;
                lasts += usize::from(last);
            }
            assert_eq!((joined.as_str(), lasts), (text, 1));
            assert!(at.iter().enumerate().all(|(i, t)| *t == i as u128 * 250));
        }
    }
}
