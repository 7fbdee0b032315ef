//! Stage 7: pieces. At sentence ends; a sentence that is too long at clause ends; a clause that is too long between
//! words, in parts of about equal length; and only if even that is impossible inside a number or a word.
//!
//! The first piece of a long text is its first sentence, so that its audio can begin early. A piece of one word or three
//! letters is not spoken alone where it has a neighbour: the models stumble over such texts.

use std::ops::Range;

use super::Limits;
use super::unit::{Unit, is_han};

/// A text that fills no more than this of a piece is one: starting with less would not make its audio come earlier.
const WHOLE: f32 = 0.5;

const SECONDS_PER_HAN: f32 = 1.0 / 4.0;
const SECONDS_PER_CHAR: f32 = 1.0 / 15.0;
const SECONDS_PER_TAG: f32 = 0.3;

/// How good a place for a piece to end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    /// Between any two characters.
    Any,
    /// Between the words of one number.
    WordOfNumber,
    Word,
    Clause,
    Sentence,
}

/// The pieces as ranges of units: in order, without gaps, none empty. `units` is tidied text with at least one word.
pub(super) fn split(units: &[Unit], limits: Limits) -> Vec<Range<usize>> {
    let text = Measured::new(units, limits);
    if text.fill(0..units.len()) <= WHOLE {
        return std::iter::once(0..units.len()).collect();
    }
    let mut atoms = Vec::new();
    let mut start = 0;
    for end in 1..=units.len() {
        if text.break_at(end) == Break::Sentence {
            text.cut(start..end, &mut atoms);
            start = end;
        }
    }
    text.pack(&atoms)
}

struct Measured<'a> {
    units: &'a [Unit],
    limits: Limits,
    /// Speaking time, words and letters of the first n units.
    seconds: Vec<f32>,
    words: Vec<usize>,
    letters: Vec<usize>,
}

impl<'a> Measured<'a> {
    fn new(units: &'a [Unit], limits: Limits) -> Self {
        let (mut seconds, mut words, mut letters) = (vec![0.0], vec![0], vec![0]);
        let (mut s, mut w, mut l) = (0.0f64, 0, 0);
        let mut in_word = false;
        for unit in units {
            let c = unit.as_char();
            let han = c.is_some_and(is_han);
            let letter = unit.is_word();
            s += f64::from(match c {
                None => SECONDS_PER_TAG,
                Some(_) if han => SECONDS_PER_HAN,
                Some(_) => SECONDS_PER_CHAR,
            });
            let goes_on = in_word && (letter || c == Some('\''));
            w += usize::from(han || (letter && !goes_on));
            l += usize::from(letter);
            in_word = !han && (letter || goes_on);
            seconds.push(s as f32);
            words.push(w);
            letters.push(l);
        }
        Self { units, limits, seconds, words, letters }
    }

    /// How full a piece of these units is; above 1 it is too long.
    fn fill(&self, range: Range<usize>) -> f32 {
        let seconds = (self.seconds[range.end] - self.seconds[range.start]) / self.limits.max_seconds.max(0.1);
        let words = (self.words[range.end] - self.words[range.start]) as f32;
        self.limits.max_words.map_or(seconds, |max| seconds.max(words / max.max(1) as f32))
    }

    fn is_orphan(&self, range: &Range<usize>) -> bool {
        self.words[range.end] - self.words[range.start] <= 1 || self.letters[range.end] - self.letters[range.start] <= 3
    }

    /// What a piece's end before unit `i` (or at the text's end) would be.
    fn break_at(&self, i: usize) -> Break {
        let (Some(next), Some(before)) = (self.units.get(i), i.checked_sub(1).map(|k| self.units[k])) else {
            return Break::Sentence;
        };
        // A space belongs to the piece before it.
        if next.as_char() == Some(' ') {
            return Break::Any;
        }
        let spaced = before.as_char() == Some(' ');
        let mark = if spaced { i.checked_sub(2).map(|k| self.units[k]) } else { Some(before) };
        match mark.and_then(|m| m.as_char()) {
            Some('.' | '。' | '?' | '？') => Break::Sentence,
            Some(',' | '，' | '、') => Break::Clause,
            _ if before.span() == next.span() => {
                if spaced {
                    Break::WordOfNumber
                } else {
                    Break::Any
                }
            }
            _ if spaced || before.as_char().is_some_and(is_han) || next.as_char().is_some_and(is_han) => Break::Word,
            _ => Break::Any,
        }
    }

    /// Cuts a sentence into parts that are not too long.
    fn cut(&self, range: Range<usize>, out: &mut Vec<Range<usize>>) {
        let mut start = range.start;
        while start < range.end {
            let fill = self.fill(start..range.end);
            if fill <= 1.0 {
                out.push(start..range.end);
                return;
            }
            let end = self.best_end(start, range.end, fill / fill.ceil());
            out.push(start..end);
            start = end;
        }
    }

    /// Where the part from `start` should end: at the best kind of break, of those nearest to the wanted fill.
    fn best_end(&self, start: usize, limit: usize, wanted: f32) -> usize {
        let mut best: Option<(Break, f32, usize)> = None;
        for end in start + 1..limit {
            let fill = self.fill(start..end);
            if fill > 1.0 {
                break;
            }
            let kind = self.break_at(end);
            let far = (fill - wanted).abs();
            // A clause end is worth going out of the way for, but not a part under half of what is wanted.
            let kind = if kind == Break::Clause && fill < wanted * 0.5 { Break::Word } else { kind };
            if best.is_none_or(|(k, f, _)| kind > k || (kind == k && far < f)) {
                best = Some((kind, far, end));
            }
        }
        best.map_or(start + 1, |(_, _, end)| end)
    }

    /// Joins parts into pieces as full as they may be.
    fn pack(&self, atoms: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = Vec::new();
        for atom in atoms {
            match out.last_mut() {
                Some(last) if self.belongs(last, atom, atom.end == self.units.len()) => last.end = atom.end,
                _ => out.push(atom.clone()),
            }
        }
        out
    }

    fn belongs(&self, piece: &Range<usize>, atom: &Range<usize>, at_end: bool) -> bool {
        let fits = self.fill(piece.start..atom.end) <= 1.0;
        let first = piece.start == 0;
        self.is_orphan(piece) || (self.is_orphan(atom) && (fits || at_end)) || (fits && !first)
    }
}
