//! Stage 10: pieces, made while the text arrives.
//!
//! The first piece is the first sentence, so that its audio can begin early. Later ones hold as many sentences as their
//! limit allows, and the limit grows: a slow writer does not starve the listener, a fast one gets long natural pieces.
//! A sentence over its piece's limit is cut at a clause end; where it has none, between words; and only if even that is
//! impossible inside a number or a word.
//!
//! One word or three letters, and tags without a word, are not spoken alone where they have a neighbour: the models
//! stumble over such texts. So a piece ends only when enough is seen of what follows it: two words with four letters, as
//! a rule. A pause ends the piece whatever follows.

use super::Limits;
use super::stage::count_work;
use super::unit::{Part, Unit, is_han};

/// Up to how many seconds sentences are joined, from the second piece on; beyond these, up to the longest piece.
const JOIN_SECONDS: [f32; 2] = [5.0, 10.0];

/// The first so many pieces are no longer than this, in seconds, if the text can be cut.
const EARLY_PIECES: usize = 3;
const EARLY_SECONDS: f32 = 10.0;

/// A piece this full ends with its sentence, and does not wait to see whether the next one fits.
const FULL: f32 = 0.75;

/// A clause end is a place to cut where the piece is at least this full.
const CLAUSE_FROM: f32 = 0.5;

/// A sentence without a clause end is cut when it is seen to be this long, or when it ends.
const FORCED_FROM: f32 = 1.5;

/// What takes this long to say is no orphan, however few its words.
const ORPHAN_SECONDS: f32 = 2.0;

const SECONDS_PER_HAN: f32 = 1.0 / 4.0;
const SECONDS_PER_CHAR: f32 = 1.0 / 15.0;
const SECONDS_PER_TAG: f32 = 0.3;

/// How good a place for a piece to end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    /// Before a mark or a space, which belong to the piece before.
    Never,
    /// Between any two characters.
    Any,
    /// Between the words of one number or name.
    WordOfNumber,
    Word,
    Clause,
    Sentence,
}

/// Speaking time, words and letters up to some unit.
#[derive(Clone, Copy, Default)]
struct Sum {
    seconds: f32,
    words: usize,
    letters: usize,
}

/// Most silence between two pieces, however many pauses were asked for: it waits, encoded, for the sender.
const MAX_SILENCE_MS: u32 = 30_000;

/// A piece: its units, the silence before it, and the byte where the next one begins, `None` if nothing has followed.
pub(super) struct Cut {
    pub units: Vec<Unit>,
    pub pause_ms: u32,
    pub next: Option<usize>,
}

/// The piece being made.
#[derive(Default)]
pub(super) struct Splitter {
    /// How many pieces came before.
    index: usize,
    /// Silence before the piece.
    pause_ms: u32,
    /// Whether the text so far has a word. Until then everything is kept: no text of tags and marks alone is spoken.
    spoken: bool,
    units: Vec<Unit>,
    /// What ending before each unit would be, and the sums up to it.
    breaks: Vec<Break>,
    sums: Vec<Sum>,
    total: Sum,
    in_word: bool,
    /// Letters of the last word.
    last_word: usize,
    /// Where the sentence begins that is being added, orphans before it not counted.
    base: usize,
    /// The last sentence end at which the piece could end.
    sentence: Option<usize>,
    /// Whether the sentence is over the limit, and has no clause end to cut it at.
    over: bool,
    /// Where the piece ends, once enough is seen of what follows.
    agreed: Option<usize>,
}

impl Splitter {
    /// Takes the next unit of tidied text; hands out the pieces that are certain now.
    pub fn push(&mut self, unit: Unit, limits: Limits, out: &mut Vec<Cut>) {
        if let Some(ms) = unit.pause_ms() {
            let index = self.index;
            if self.spoken {
                self.finish(limits, Some(unit.start), out);
                // More text was seen than a flush lets one assume: the pieces go on growing.
                self.index = index + 1;
            }
            self.pause_ms = self.pause_ms.saturating_add(ms).min(MAX_SILENCE_MS);
            return;
        }
        if !self.spoken {
            self.units.push(unit);
            if unit.is_word() {
                self.spoken = true;
                let held = std::mem::take(&mut self.units);
                self.feed(held, limits, out);
            }
            return;
        }
        self.add(unit);
        if let Some(end) = self.end(limits) {
            let rest = self.cut(end, out);
            self.feed(rest, limits, out);
        }
    }

    /// The text ends here: hands out the rest, and begins anew. Without a word there is nothing to say, and what tags
    /// there were wait for the words that follow.
    /// `next`: where the text after it begins, if there is any.
    pub fn finish(&mut self, limits: Limits, next: Option<usize>, out: &mut Vec<Cut>) {
        if !self.spoken {
            return;
        }
        while let Some(end) = self.last_cut(limits) {
            let rest = self.cut(end, out);
            self.feed(rest, limits, out);
        }
        let units = std::mem::take(&mut self.units);
        if !units.is_empty() {
            let pause_ms = std::mem::take(&mut self.pause_ms);
            out.push(Cut { units, pause_ms, next });
        }
        *self = Self { pause_ms: self.pause_ms, ..Self::default() };
    }

    /// Tags that still wait for a word.
    pub fn lone_tags(&self) -> impl Iterator<Item = &Unit> {
        let held = if self.spoken { &[] } else { self.units.as_slice() };
        held.iter().filter(|u| u.as_char().is_none())
    }

    /// Silence that no piece has followed yet.
    pub fn pause_ms(&self) -> u32 {
        self.pause_ms
    }

    fn feed(&mut self, units: Vec<Unit>, limits: Limits, out: &mut Vec<Cut>) {
        let mut waiting = units;
        waiting.reverse();
        while let Some(unit) = waiting.pop() {
            self.add(unit);
            if let Some(end) = self.end(limits) {
                let rest = self.cut(end, out);
                waiting.extend(rest.into_iter().rev());
            }
        }
    }

    /// Hands out the units before `end` as a piece; returns the others.
    fn cut(&mut self, end: usize, out: &mut Vec<Cut>) -> Vec<Unit> {
        let rest = self.units.split_off(end);
        count_work(rest.len());
        let units = std::mem::take(&mut self.units);
        out.push(Cut { units, pause_ms: self.pause_ms, next: rest.first().map(|u| u.start) });
        *self = Self { index: self.index + 1, spoken: true, ..Self::default() };
        rest
    }

    fn add(&mut self, unit: Unit) {
        count_work(1);
        self.breaks.push(self.break_before(&unit));
        self.sums.push(self.total);
        let c = unit.as_char();
        let han = c.is_some_and(is_han);
        let letter = unit.is_word();
        let goes_on = self.in_word && (letter || c == Some('\''));
        self.total.seconds += match c {
            None => SECONDS_PER_TAG,
            Some(_) if han => SECONDS_PER_HAN,
            Some(_) => SECONDS_PER_CHAR,
        };
        self.total.words += usize::from(han || (letter && !goes_on));
        self.total.letters += usize::from(letter);
        self.last_word = match letter {
            true if goes_on => self.last_word + 1,
            true => 1 + usize::from(han),
            false => self.last_word,
        };
        self.in_word = !han && (letter || goes_on);
        self.units.push(unit);
    }

    fn break_before(&self, next: &Unit) -> Break {
        let Some(before) = self.units.last() else {
            return Break::Never;
        };
        if next.as_char().is_some() && !next.is_word() {
            return Break::Never;
        }
        let spaced = before.as_char() == Some(' ');
        let mark = if spaced { self.units.iter().nth_back(1) } else { Some(before) };
        let han = |u: &Unit| u.as_char().is_some_and(is_han);
        match mark.and_then(|m| m.as_char()) {
            Some('.' | '。' | '?' | '？') => Break::Sentence,
            // The groups of a telephone number stay together.
            Some(',' | '，' | '、') if before.span() == next.span() => Break::WordOfNumber,
            Some(',' | '，' | '、') => Break::Clause,
            _ if before.span() == next.span() => {
                if spaced {
                    Break::WordOfNumber
                } else {
                    Break::Any
                }
            }
            // 五|个, 五月|一日: a number stays with what it counts, and a date is one.
            _ if !spaced && before.part == Part::Number && han(next) => Break::WordOfNumber,
            _ if !spaced
                && next.part == Part::Number
                && before.as_char().is_some_and(|c| "年月日号號时時点點分第到至零下之".contains(c)) =>
            {
                Break::WordOfNumber
            }
            _ if before.as_char() == Some('零') && next.as_char() == Some('下') => Break::WordOfNumber,
            // The parts of i7-12700K, and what no space parted in the text.
            _ if spaced
                && mark
                    .is_some_and(|m| (m.part == Part::Number && next.part == Part::Number) || m.end == next.start) =>
            {
                Break::WordOfNumber
            }
            _ if next.part == Part::Initial => Break::WordOfNumber,
            // "J R R Tolkien", "a house": a single letter goes with what follows it.
            _ if spaced && self.last_word == 1 => Break::WordOfNumber,
            _ if spaced || han(before) || han(next) => Break::Word,
            _ => Break::Any,
        }
    }

    /// Where the piece ends, if that is certain.
    fn end(&mut self, limits: Limits) -> Option<usize> {
        if self.agreed.is_none() {
            self.agreed = self.agree(limits);
        }
        let end = self.agreed?;
        (!self.is_orphan(end, self.units.len())).then_some(end)
    }

    /// Where the piece is to end, now that a unit was added.
    fn agree(&mut self, limits: Limits) -> Option<usize> {
        let (join, most) = self.limits(limits);
        let len = self.units.len();
        let last = len - 1;
        if self.breaks[last] == Break::Sentence {
            if self.is_orphan(0, last) {
                (self.base, self.over) = (last, false);
                return None;
            }
            if self.over {
                // One that is too long by a word, after orphans, stays whole if it cannot be cut well.
                return self.best_end(last, true, most).or(Some(last));
            }
            if self.index == 0 || fill(self.sum(0, last), join) >= FULL {
                return Some(last);
            }
            self.sentence = Some(last);
        }
        if self.sentence.is_some() {
            return self.sentence.filter(|_| fill(self.sum(0, len), join) > 1.0);
        }
        let full = fill(self.sum(self.base, len), most);
        if full > 1.0 && !self.over {
            self.over = true;
            return self.clause_end(most);
        }
        if full > FORCED_FROM {
            return self.best_end(last, false, most);
        }
        None
    }

    /// Where to cut before the end of the text, if what is left is more than one piece.
    fn last_cut(&self, limits: Limits) -> Option<usize> {
        let (_, most) = self.limits(limits);
        let len = self.units.len();
        if self.agreed.is_some() || self.sentence.is_some() || fill(self.sum(self.base, len), most) <= 1.0 {
            return None;
        }
        self.best_end(len, true, most)
    }

    /// Up to where sentences are joined, and from where a sentence is cut.
    fn limits(&self, limits: Limits) -> (Limits, Limits) {
        let most = limits.max_seconds.max(0.1);
        let join = self.index.checked_sub(1).and_then(|i| JOIN_SECONDS.get(i)).copied().unwrap_or(most);
        let cut = if self.index < EARLY_PIECES { EARLY_SECONDS } else { most };
        let limited = |seconds: f32| Limits { max_seconds: seconds.min(most), ..limits };
        (limited(join), limited(cut))
    }

    fn sum(&self, start: usize, end: usize) -> Sum {
        let at = |i| self.sums.get(i).copied().unwrap_or(self.total);
        let (from, to) = (at(start), at(end));
        Sum { seconds: to.seconds - from.seconds, words: to.words - from.words, letters: to.letters - from.letters }
    }

    fn is_orphan(&self, start: usize, end: usize) -> bool {
        let sum = self.sum(start, end);
        (sum.words <= 1 || sum.letters <= 3) && sum.seconds < ORPHAN_SECONDS
    }

    /// The clause end nearest to a full piece's middle of the allowed fill.
    fn clause_end(&self, most: Limits) -> Option<usize> {
        count_work(self.units.len() - self.base);
        let far = |end: usize| {
            let full = fill(self.sum(self.base, end), most);
            (CLAUSE_FROM..=1.0).contains(&full).then_some((full - FULL).abs())
        };
        let ends =
            (self.base + 1..self.units.len()).filter(|i| self.breaks[*i] == Break::Clause && !self.is_orphan(0, *i));
        ends.filter_map(|i| Some((far(i)?, i))).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, i)| i)
    }

    /// Where to cut the sentence before `limit`, which is its end if `ended`: at the best kind of break, of those the
    /// nearest to the wanted fill. That is half of a sentence that ends, and else as much as a piece may hold.
    fn best_end(&self, limit: usize, ended: bool, most: Limits) -> Option<usize> {
        let whole = fill(self.sum(self.base, limit), most);
        let wanted = if ended { whole / whole.ceil().max(1.0) } else { 1.0 };
        let leaves_orphan = |end: usize| self.is_orphan(0, end) || (ended && self.is_orphan(end, limit));
        let mut best: Option<(Break, f32, usize)> = None;
        let mut beyond: Option<(Break, usize)> = None;
        count_work(limit - self.base);
        for end in (self.base + 1..limit).filter(|end| !leaves_orphan(*end)) {
            let kind = self.breaks[end];
            if kind == Break::Never {
                continue;
            }
            let full = fill(self.sum(self.base, end), most);
            if full > 1.0 {
                // Only limits of a few letters leave no place within them.
                let better = beyond.is_none_or(|(k, _)| k < Break::Word && kind >= Break::Word);
                beyond = if better { Some((kind, end)) } else { beyond };
                continue;
            }
            let far = (full - wanted).abs();
            // A clause end is worth going out of the way for, but not a part under half of what is wanted.
            let kind = if kind == Break::Clause && full < wanted * 0.5 { Break::Word } else { kind };
            if best.is_none_or(|(k, f, _)| kind > k || (kind == k && far < f)) {
                best = Some((kind, far, end));
            }
        }
        best.map(|(_, _, end)| end).or(beyond.map(|(_, end)| end))
    }
}

/// How full a piece of this much is; above 1 it is too long.
fn fill(sum: Sum, limits: Limits) -> f32 {
    let seconds = sum.seconds / limits.max_seconds;
    limits.max_words.map_or(seconds, |max| seconds.max(sum.words as f32 / max.max(1) as f32))
}

#[cfg(test)]
mod tests;
