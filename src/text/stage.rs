//! How a stage reads text that is still arriving.
//!
//! A stage decides one unit at a time, and sees what follows only through [`Window::at`]. A look beyond what has arrived
//! is answered by [`More`], and the decision is put off. So every decision is made from units that no later text can
//! change, and comes out the same however the text was cut on its way here. What a stage carries from one decision to the
//! next is changed only after the last look ahead.

use super::unit::Unit;
use super::{Language, Options};

/// Units kept behind the one being decided, for looking back. The farthest look is that for the word before a number.
const HISTORY: usize = 32;

/// Units done with from which it is worth moving the rest to the front.
const COMPACT: usize = 256;

/// The decision needs text that has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct More;

/// What a stage may know besides its units.
pub(super) struct Context<'a> {
    /// The whole text as sent so far, which spans of units point into.
    pub raw: &'a str,
    pub options: &'a Options<'a>,
    pub facts: &'a Facts,
}

/// What is asked of the options once and not for each character.
pub(super) struct Facts {
    /// Languages numbers can be read in, the default first.
    pub readable: Vec<Language>,
    /// Whether the model does not know capitals.
    pub lower_all: bool,
}

impl Facts {
    pub fn new(options: &Options) -> Self {
        let readable = options.languages.iter().copied().filter(|l| options.reads(*l)).collect();
        Self { readable, lower_all: !('A'..='Z').all(options.knows) }
    }
}

/// The units that wait for a stage.
#[derive(Default)]
pub(super) struct Window {
    units: Vec<Unit>,
    next: usize,
    ended: bool,
}

impl Window {
    pub fn push(&mut self, unit: Unit) {
        self.units.push(unit);
    }

    /// All units it holds.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// No more units will come; looks ahead find the end of the text.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The unit at `i`, `None` past the end of the text. Indices count from anywhere; they hold for one decision.
    pub fn at(&self, i: usize) -> Result<Option<Unit>, More> {
        count_work(1);
        match self.units.get(i) {
            Some(unit) => Ok(Some(*unit)),
            None if self.ended => Ok(None),
            None => Err(More),
        }
    }

    /// The character at `i`; `None` for a tag and past the end.
    pub fn char_at(&self, i: usize) -> Result<Option<char>, More> {
        Ok(self.at(i)?.and_then(|u| u.as_char()))
    }

    /// The character `n` units before `i`, which is no unit to come; `None` for a tag and before the start.
    pub fn char_before(&self, i: usize, n: usize) -> Option<char> {
        count_work(1);
        self.units.get(i.checked_sub(n)?)?.as_char()
    }

    /// Takes all units out, for what needs no look ahead.
    pub fn drain(&mut self) -> impl Iterator<Item = Unit> {
        self.units.drain(..)
    }

    fn advance(&mut self, to: usize) {
        self.next = to;
        if to > COMPACT && to > self.units.len() / 2 {
            count_work(self.units.len() - to);
            self.units.drain(..to - HISTORY);
            self.next = HISTORY;
        }
    }
}

pub(super) trait Stage {
    /// Decides what the unit at `i`, and as many after it as belong to it, become. Returns the index after them.
    fn step(&mut self, input: &Window, i: usize, context: &Context, out: &mut Window) -> Result<usize, More>;
}

/// Decides all that can be decided.
pub(super) fn run(stage: &mut impl Stage, input: &mut Window, context: &Context, out: &mut Window) {
    while input.next < input.units.len()
        && let Ok(end) = stage.step(input, input.next, context, out)
    {
        input.advance(end);
    }
}

#[cfg(not(test))]
#[inline(always)]
pub(super) fn count_work(_: usize) {}

/// Units looked at: time that depends on nothing but the text.
#[cfg(test)]
pub(super) fn count_work(units: usize) {
    WORK.with(|work| work.set(work.get() + units));
}

#[cfg(test)]
thread_local! {
    pub(super) static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
