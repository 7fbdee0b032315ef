//! Text that arrives bit by bit becomes the pieces that the whole text would.
//!
//! [`super::prepare`] is this with everything pushed at once: there is no other way through the stages. Each stage decides
//! from units that no later text can change, so where the text was cut on its way makes no
//! difference.
//!
//! How much of what follows must have arrived before something is certain:
//!
//! | what | waits for |
//! |---|---|
//! | most letters | nothing |
//! | a word that begins as an abbreviation or is one letter long so far | that it is none: up to 16 letters and full stops, and 4 characters |
//! | a full stop, a hyphen, an apostrophe | 1 character, 6 where digits stand around |
//! | two capitals or more | their end, at most 6, and the next word's capitals, at most 12 |
//! | a number | its end, at most 64 characters, 20 more (the other end of a range, a unit), and as many as the letter before it is away, at most 32 |
//! | what may become a word of the lexicon | the first character that is none of it, at most 64, and one more |
//! | an opening square bracket | its closing one, at most 25 characters |
//! | markup | as [`super::markup`] says |
//! | what may be an emoji | the first character that is no part of it |
//! | marks, spaces and skipped characters | the next word or tag; they hold back the sentence before them, however many they are |
//! | a piece | two words with four letters, or 2 s of speech, or a pause |
//! | a sentence over its limit without a clause end | half its limit more |
//!
//! Characters that show nothing do not count, and wait for nothing. A digit waits for one that could make it a keycap.

use std::ops::Range;
use std::time::Duration;

use super::decode::Decode;
use super::homophones::Swap;
use super::letters::Letters;
use super::lexicon::Lookup;
use super::marks::Marks;
use super::markup::Markup;
use super::readings::Readings;
use super::shorthand::Shorthand;
use super::split::{Cut, Splitter};
use super::stage::{Context, Facts, Stage, Window, run};
use super::tags::Tags;
use super::unit::{Log, Symbol, Unit};
use super::{Change, Options, Piece, Prepared, Skip, SkipReason, StageText, TextError};

/// Bytes of a long text that go through the stages together: the room they take is that of a slice, not of the text.
const SLICE: usize = 4096;

/// A text that is still arriving. Holds all of it, up to the limit it was made with.
///
/// The options must be the same in every call. Time is linear in the text, however it is cut.
pub struct Intake {
    max_chars: usize,
    raw: String,
    chars: usize,
    /// How much of `raw` has become pieces, in bytes and in characters.
    done: (usize, usize),
    facts: Option<Facts>,
    stages: Stages,
    anything_said: bool,
}

impl Intake {
    /// Takes texts of up to `max_chars` Unicode code points.
    pub fn new(max_chars: usize) -> Self {
        Self {
            max_chars,
            raw: String::new(),
            chars: 0,
            done: (0, 0),
            facts: None,
            stages: Stages::default(),
            anything_said: false,
        }
    }

    /// One that remembers what each stage makes of the text, for [`Intake::stages`].
    pub fn traced(max_chars: usize) -> Self {
        let stages = Stages { trace: Some(Box::default()), ..Stages::default() };
        Self { stages, ..Self::new(max_chars) }
    }

    /// What the stages made of the text so far, in their order; empty unless it is [`Intake::traced`].
    pub fn stages(&self) -> Vec<StageText> {
        let Some(trace) = &self.stages.trace else {
            return Vec::new();
        };
        // Without a lexicon or a map, or where it changed nothing, there is nothing to show.
        let changed = |i: &usize| *i <= MARKS || trace[*i] != trace[*i - 1];
        let shown = (0..STAGES.len()).filter(changed);
        shown.map(|i| StageText { stage: STAGES[i], text: trace[i].clone() }).collect()
    }

    /// Adds text as sent. Returns the pieces that no later text can change.
    ///
    /// An error leaves the intake as it was: [`TextError::Nul`], its position counted from the start of the whole text,
    /// or [`TextError::TooLong`].
    pub fn push(&mut self, text: &str, options: &Options) -> Result<Vec<Piece>, TextError> {
        if let Some(at) = text.find('\0') {
            return Err(TextError::Nul { at: self.raw.len() + at });
        }
        let found = self.chars + text.chars().count();
        if found > self.max_chars {
            return Err(TextError::TooLong { limit: self.max_chars, found });
        }
        let from = self.raw.len();
        self.raw.push_str(text);
        self.chars = found;
        if options.raw {
            return Ok(Vec::new());
        }
        let facts = self.facts.get_or_insert_with(|| Facts::new(options));
        let context = Context { raw: &self.raw, options, facts };
        let cuts = self.stages.take(from, &context);
        Ok(self.pieces(cuts, options))
    }

    /// The pieces of everything that has arrived and is none yet: the sentence ends here. None if it has no word; tags
    /// then wait for the words that follow. The next text begins with a first piece again.
    pub fn flush(&mut self, options: &Options) -> Vec<Piece> {
        if options.raw {
            return self.verbatim();
        }
        let facts = self.facts.get_or_insert_with(|| Facts::new(options));
        let context = Context { raw: &self.raw, options, facts };
        let cuts = self.stages.finish(&context);
        self.pieces(cuts, options)
    }

    /// The text ends: its last pieces, and what was rewritten and skipped in all of it.
    pub fn finish(&mut self, options: &Options) -> Prepared {
        let pieces = self.flush(options);
        let (rewritten, skipped) = self.changes();
        let pause_after = self.pause_after();
        Prepared { pieces, rewritten, skipped, nothing_to_say: !self.anything_said, pause_after }
    }

    /// Silence asked for after the last piece; zero where there is none to follow.
    pub fn pause_after(&self) -> Duration {
        let ms = if self.anything_said { self.stages.splitter.pause_ms() } else { 0 };
        Duration::from_millis(ms.into())
    }

    /// What was rewritten and skipped so far, each in the order of the text. A stretch that goes on in text to come is
    /// then reported as one, and a tag that waits for a word as one without.
    pub fn changes(&self) -> (Vec<Change>, Vec<Skip>) {
        let logs = self.stages.logs();
        let mut changes: Vec<Change> = logs.iter().flat_map(|log| log.changes.iter().cloned()).collect();
        let mut skips: Vec<Skip> = logs.iter().flat_map(|log| log.skips.iter().cloned()).collect();
        changes.sort_by_key(|c| c.span.start);
        skips.extend(self.stages.splitter.lone_tags().map(|unit| {
            let text = self.raw[unit.span()].to_string();
            Skip { span: unit.span(), chars: 0..0, text, why: SkipReason::LoneTag }
        }));
        skips.sort_by_key(|s| s.span.start);
        // What a code block or a comment holds goes with it.
        let mut end = 0;
        skips.retain(|s| {
            let apart = s.span.start >= end;
            end = end.max(s.span.end);
            apart
        });
        let mut later = skips.as_slice();
        changes.retain(|c| {
            while later.first().is_some_and(|s| s.span.end <= c.span.start) {
                later = &later[1..];
            }
            !later.first().is_some_and(|s| s.span.start <= c.span.start && c.span.end <= s.span.end)
        });
        let mut chars = Chars { raw: &self.raw, at: (0, 0) };
        changes.iter_mut().for_each(|c| c.chars = chars.of(&c.span));
        let mut chars = Chars { raw: &self.raw, at: (0, 0) };
        skips.iter_mut().for_each(|s| s.chars = chars.of(&s.span));
        (changes, skips)
    }

    /// The text so far, as sent.
    pub fn text(&self) -> &str {
        &self.raw
    }

    /// Unicode code points of the text so far.
    pub fn chars(&self) -> usize {
        self.chars
    }

    fn pieces(&mut self, cuts: Vec<Cut>, options: &Options) -> Vec<Piece> {
        let make = |cut: Cut| self.piece(cut.next, cut.pause_ms, text_of(&cut.units, options));
        cuts.into_iter().map(make).collect()
    }

    /// The piece from where the last one ended to byte `next`, or to the end of the text so far.
    fn piece(&mut self, next: Option<usize>, pause_ms: u32, text: String) -> Piece {
        let (start, chars) = self.done;
        // Only a number too long for one piece is cut inside: its raw digits all go to the last one.
        let end = next.unwrap_or(self.raw.len()).max(start);
        self.done = (end, chars + self.raw[start..end].chars().count());
        self.anything_said = true;
        let pause_before = Duration::from_millis(pause_ms.into());
        Piece { text, span: start..end, chars: chars..self.done.1, pause_before }
    }

    fn verbatim(&mut self) -> Vec<Piece> {
        let rest = &self.raw[self.done.0..];
        match rest.trim().is_empty() {
            true => Vec::new(),
            false => {
                let text = rest.to_string();
                vec![self.piece(None, 0, text)]
            }
        }
    }
}

/// Everything between the raw text and the pieces: each stage's window holds the units that wait for it.
#[derive(Default)]
struct Stages {
    decode: (Window, Decode),
    markup: (Window, Markup),
    tags: (Window, Tags),
    shorthand: (Window, Shorthand),
    readings: (Window, Readings),
    letters: (Window, Letters),
    marks: (Window, Marks),
    lookup: (Window, Lookup),
    homophones: (Window, Swap),
    tidied: Window,
    splitter: Splitter,
    trace: Option<Box<Trace>>,
}

/// The names of the stages before the pieces are cut.
const STAGES: [&str; 9] =
    ["decode", "markup", "tags", "shorthand", "readings", "letters", "marks", "lexicon", "homophones"];

/// The place of `marks` in them, which has a word to say when the text ends.
const MARKS: usize = 6;

/// What each stage put out so far.
type Trace = [String; STAGES.len()];

impl Stages {
    /// Takes the text from byte `from` on.
    fn take(&mut self, from: usize, context: &Context) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let mut start = from;
        while start < context.raw.len() {
            let mut end = context.raw.len().min(start + SLICE);
            while !context.raw.is_char_boundary(end) {
                end += 1;
            }
            for (at, c) in context.raw[start..end].char_indices() {
                self.decode.0.push(Unit::char(c, start + at..start + at + c.len_utf8()));
            }
            self.run(context);
            self.split(context, &mut cuts);
            start = end;
        }
        cuts
    }

    /// Decides everything, since nothing will follow, and begins anew.
    fn finish(&mut self, context: &Context) -> Vec<Cut> {
        self.windows().into_iter().for_each(Window::end);
        self.run(context);
        let seen = self.lookup.0.units().len();
        self.marks.1.finish(context, &mut self.lookup.0);
        if let Some(trace) = &mut self.trace {
            write(&self.lookup.0.units()[seen..], context.options, &mut trace[MARKS]);
        }
        self.lookup.0.end();
        let mut texts = self.trace.iter_mut().flat_map(|trace| trace[MARKS + 1..].iter_mut());
        pass(&mut self.lookup, &mut self.homophones.0, context, texts.next());
        self.homophones.0.end();
        pass(&mut self.homophones, &mut self.tidied, context, texts.next());
        let mut cuts = Vec::new();
        self.split(context, &mut cuts);
        self.splitter.finish(context.options.limits, None, &mut cuts);
        self.markup.1.restart();
        self.shorthand.1.restart();
        self.readings.1.restart();
        self.letters.1.restart();
        self.lookup.1.restart();
        self.windows().into_iter().for_each(|window| *window = Window::default());
        self.lookup.0 = Window::default();
        self.homophones.0 = Window::default();
        cuts
    }

    /// Of the stages before `lexicon`, for which more comes when `marks` ends.
    fn windows(&mut self) -> [&mut Window; 7] {
        let Self { decode, markup, tags, shorthand, readings, letters, marks, .. } = self;
        [&mut decode.0, &mut markup.0, &mut tags.0, &mut shorthand.0, &mut readings.0, &mut letters.0, &mut marks.0]
    }

    fn run(&mut self, context: &Context) {
        let Self {
            decode, markup, tags, shorthand, readings, letters, marks, lookup, homophones, tidied, trace, ..
        } = self;
        let mut texts = trace.iter_mut().flat_map(|trace| trace.iter_mut());
        pass(decode, &mut markup.0, context, texts.next());
        pass(markup, &mut tags.0, context, texts.next());
        pass(tags, &mut shorthand.0, context, texts.next());
        pass(shorthand, &mut readings.0, context, texts.next());
        pass(readings, &mut letters.0, context, texts.next());
        pass(letters, &mut marks.0, context, texts.next());
        pass(marks, &mut lookup.0, context, texts.next());
        pass(lookup, &mut homophones.0, context, texts.next());
        pass(homophones, tidied, context, texts.next());
    }

    fn split(&mut self, context: &Context, cuts: &mut Vec<Cut>) {
        for unit in self.tidied.drain() {
            self.splitter.push(unit, context.options.limits, cuts);
        }
    }

    /// In the order of the stages.
    fn logs(&self) -> [&Log; 9] {
        let Self { decode, markup, tags, shorthand, readings, letters, marks, lookup, homophones, .. } = self;
        let (early, numbers) = ((&decode.1.log, &markup.1.log, &tags.1.log), (&shorthand.1.log, &readings.1.log));
        [
            early.0,
            early.1,
            early.2,
            numbers.0,
            numbers.1,
            &letters.1.log,
            &marks.1.log,
            &lookup.1.log,
            &homophones.1.log,
        ]
    }
}

/// Counts the characters before spans that come in order.
struct Chars<'a> {
    raw: &'a str,
    /// A position in bytes and in characters.
    at: (usize, usize),
}

impl Chars<'_> {
    fn of(&mut self, span: &Range<usize>) -> Range<usize> {
        let (bytes, chars) = self.at;
        let start = chars + self.raw[bytes..span.start].chars().count();
        self.at = (span.start, start);
        start..start + self.raw[span.clone()].chars().count()
    }
}

/// Runs a stage, and writes down what it put out.
fn pass(stage: &mut (Window, impl Stage), out: &mut Window, context: &Context, text: Option<&mut String>) {
    let seen = out.units().len();
    run(&mut stage.1, &mut stage.0, context, out);
    if let Some(text) = text {
        write(&out.units()[seen..], context.options, text);
    }
}

fn text_of(units: &[Unit], options: &Options) -> String {
    let mut out = String::new();
    write(units, options, &mut out);
    out
}

fn write(units: &[Unit], options: &Options, out: &mut String) {
    for unit in units {
        match unit.symbol {
            Symbol::Char(c) => out.push(c),
            // In no piece: the splitter makes a length of it.
            Symbol::Pause(ms) => out.push_str(&format!("[pause:{ms}ms]")),
            Symbol::Tag(i) => {
                out.push('[');
                out.push_str(options.tags[i]);
                out.push(']');
            }
        }
    }
}

#[cfg(test)]
mod tests;
