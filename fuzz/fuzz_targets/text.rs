//! Any text, cut anywhere: no panic, only what the model knows, spans that tile the text, nothing dropped in silence, and
//! the same pieces however it arrives.
#![no_main]
// Of the front end, only what is fuzzed is used.
#![allow(dead_code, unused_imports)]

use libfuzzer_sys::fuzz_target;

// The front end is a leaf: it is fuzzed without the rest, which takes minutes to build.
#[path = "../../src/text/mod.rs"]
mod text;

use text::{ChangeKind, Intake, Options, Prepared, TEXT_TAGS, chattts_knows, prepare};

fuzz_target!(|input: (&str, Vec<u8>)| {
    let (raw, cuts) = input;
    let options = Options::new(&chattts_knows);
    let Ok(whole) = prepare(raw, &options) else {
        assert!(raw.contains('\0'), "only a NUL is refused");
        return;
    };
    check(raw, &whole);
    let mut intake = Intake::new(usize::MAX);
    let mut pieces = Vec::new();
    let mut rest = raw;
    for cut in cuts {
        let mut at = rest.len().min(usize::from(cut));
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (part, after) = rest.split_at(at);
        pieces.extend(intake.push(part, &options).expect("the whole was taken"));
        rest = after;
    }
    pieces.extend(intake.push(rest, &options).expect("the whole was taken"));
    let last = intake.finish(&options);
    pieces.extend(last.pieces.iter().cloned());
    assert_eq!(Prepared { pieces, ..last }, whole);
});

fn check(raw: &str, p: &Prepared) {
    let mut at = 0;
    for piece in &p.pieces {
        assert_eq!(piece.span.start, at);
        at = piece.span.end;
        assert!(raw.is_char_boundary(at) && !piece.text.trim().is_empty());
        let plain = TEXT_TAGS.iter().fold(piece.text.clone(), |t, tag| t.replace(&format!("[{tag}]"), ""));
        assert!(plain.chars().all(|c| c == ' ' || (chattts_knows(c) && !"[]".contains(c))), "{plain:?}");
    }
    let pause = p.rewritten.iter().rev().find(|c| c.kind == ChangeKind::Pause);
    assert!(p.nothing_to_say || at == raw.len() || pause.is_some_and(|c| c.span.start >= at));
    let mut reported = vec![false; raw.len()];
    let spans = p.skipped.iter().map(|s| &s.span).chain(p.rewritten.iter().map(|c| &c.span));
    spans.for_each(|span| reported[span.clone()].fill(true));
    let spoken = p.spoken();
    let mut rest = spoken.chars();
    for (at, c) in raw.char_indices().filter(|(at, c)| !reported[*at] && !c.is_whitespace() && !c.is_control()) {
        let said = c.to_lowercase().all(|c| rest.any(|s| s.to_lowercase().eq([c])));
        assert!(p.nothing_to_say || said, "{c:?} at {at} vanished");
    }
}
