use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::text::tests::{AWKWARD_UNITS, awkward_text, chattts, check, small};
use crate::text::{Language, Limits, prepare, stage};

fn options() -> Options<'static> {
    Options::new(&chattts)
}

/// The text in parts that end before these bytes, wherever they are between characters.
fn parts<'a>(raw: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (raw.len() + 1)).filter(|c| raw.is_char_boundary(*c)).collect();
    cuts.sort_unstable();
    let mut start = 0;
    let mut out = Vec::new();
    for cut in cuts.into_iter().chain([raw.len()]) {
        out.push(&raw[start..cut]);
        start = cut;
    }
    out
}

fn in_parts<'a>(parts: impl IntoIterator<Item = &'a str>, options: &Options) -> Result<Prepared, TextError> {
    let mut intake = Intake::new(usize::MAX);
    let mut pieces = Vec::new();
    for part in parts {
        pieces.extend(intake.push(part, options)?);
    }
    let mut prepared = intake.finish(options);
    pieces.append(&mut prepared.pieces);
    Ok(Prepared { pieces, ..prepared })
}

fn one_by_one(raw: &str) -> impl Iterator<Item = &str> {
    raw.split_inclusive(|_| true)
}

/// The text up to and with the character that made the first piece certain, and that piece.
fn first_piece(raw: &str) -> Option<(&str, String)> {
    let mut intake = Intake::new(usize::MAX);
    for part in one_by_one(raw) {
        if let Some(piece) = intake.push(part, &options()).unwrap().first() {
            return Some((&raw[..intake.text().len()], piece.text.clone()));
        }
    }
    None
}

#[test]
fn a_first_sentence_is_certain_when_what_follows_is_no_orphan() {
    for (text, piece) in [
        ("Hello there. How ar", "hello there. "),
        ("我们今天出发。明天再来", "我们今天出发。"),
        ("Is it you? \"Your wo", "is it you? "),
        ("It costs 3.5. Then pl", "it costs three point five. "),
        ("我有3.5元。你有没有", "我有三点五元。"),
        ("He met Mr. Smith. They me", "he met mister smith. "),
        ("Is it 5 p.m. We go", "is it five p m. "),
        ("Yes. No. Of co", "yes. no. "),
        ("Wait... what? They wo", "wait, what? "),
        ("“你好不好？”他说他好", "你好不好？"),
        ("1. Take it. Then gi", "one, take it. "),
        ("今天怎么样？[laugh]很好很好", "今天怎么样？"),
        ("Wait for it.[pause:1s]e", "wait for it."),
    ] {
        assert_eq!(first_piece(&format!("{text}e end of it")), Some((text, piece.to_string())));
    }
}

#[test]
fn a_tag_or_a_number_may_be_cut_anywhere() {
    let p = in_parts(["你好[lau", "gh]世界"], &options()).unwrap();
    assert_eq!(p.spoken(), "你好[laugh]世界");
    assert!(p.rewritten.is_empty() && p.skipped.is_empty());
    let p = in_parts(["it is 1", "2,", "00", "0.5", "% of it"], &options()).unwrap();
    assert_eq!(p.spoken(), "it is twelve thousand point five percent of it");
    assert_eq!(p.rewritten.len(), 1);
    assert_eq!(in_parts(["你好\r", "\n世界"], &options()).unwrap().spoken(), "你好，世界");
}

#[test]
fn a_flush_ends_a_sentence_and_a_text_goes_on_after_it() {
    let mut intake = Intake::new(100);
    assert!(intake.push("Mr. Smith, ", &options()).unwrap().is_empty());
    let flushed = intake.flush(&options());
    assert_eq!(
        flushed,
        [Piece { text: "mister smith.".into(), span: 0..11, chars: 0..11, pause_before: Duration::ZERO }]
    );
    assert!(intake.flush(&options()).is_empty());
    assert!(intake.push("[laugh] ", &options()).unwrap().is_empty());
    assert!(intake.flush(&options()).is_empty(), "tags without a word wait");
    assert!(intake.push("，你好 3", &options()).unwrap().is_empty());
    let last = intake.finish(&options());
    assert_eq!(
        last.pieces,
        [Piece { text: "[laugh]你好三".into(), span: 11..30, chars: 11..24, pause_before: Duration::ZERO }]
    );
    assert_eq!(last.rewritten.len(), 4, "{:?}", last.rewritten);
    assert!(!last.nothing_to_say);
    let mut silent = Intake::new(100);
    silent.push("😀", &options()).unwrap();
    assert!(silent.flush(&options()).is_empty());
    assert!(silent.finish(&options()).nothing_to_say);
}

#[test]
fn a_flush_inside_a_code_block_turns_nothing_around() {
    let mut intake = Intake::new(1000);
    let mut spoken = String::new();
    for part in ["Look at this.\n```py\ncode one\n", "code two\n```\nWords again.\n```\ncode three\n```\nThe end."] {
        let mut pieces = intake.push(part, &options()).unwrap();
        pieces.extend(intake.flush(&options()));
        pieces.iter().for_each(|p| spoken.push_str(&p.text));
    }
    assert!(spoken.ends_with("words again. the end."), "{spoken}");
}

#[test]
fn a_refused_text_changes_nothing() {
    let mut intake = Intake::new(9);
    intake.push("你好 ", &options()).unwrap();
    let error = intake.push("1234567", &options()).unwrap_err();
    assert_eq!(error.to_string(), "text: expected at most 9 characters, found 10");
    assert_eq!(intake.push("12\0", &options()), Err(TextError::Nul { at: 9 }));
    intake.push("世界", &options()).unwrap();
    assert_eq!((intake.text(), intake.chars()), ("你好 世界", 5));
    assert_eq!(intake.finish(&options()).pieces[0].text, "你好世界");
}

#[test]
fn raw_text_waits_for_its_end() {
    let raw = Options { raw: true, ..options() };
    let mut intake = Intake::new(100);
    assert!(intake.push("Hello. [Stts]", &raw).unwrap().is_empty());
    assert_eq!(intake.flush(&raw)[0].text, "Hello. [Stts]");
    intake.push(" \n", &raw).unwrap();
    let last = intake.finish(&raw);
    assert!(last.pieces.is_empty() && !last.nothing_to_say);
}

#[test]
fn nothing_holds_text_back_without_end() {
    for unit in [
        "1",
        "1,",
        "1.",
        "1.5",
        "1,111,",
        "-1",
        "a",
        "A",
        "a.",
        "a.a",
        "Mr. ",
        "word ",
        "你",
        "你好，",
        "[ a",
        "[laugh",
        "[a]",
        "é",
        "5年",
        "No. ",
        "I. ",
        "a b ",
        "'a",
        "a-",
        "好5",
        "[laugh]",
        ". a",
        "5 ",
        "&",
        "...a",
    ] {
        let raw = format!("Here we go. {}", unit.repeat(4000 / unit.len()));
        let mut intake = Intake::new(usize::MAX);
        let mut spoken_to = 0;
        for part in one_by_one(&raw) {
            for piece in intake.push(part, &options()).unwrap() {
                spoken_to = piece.chars.end;
            }
            // 30 s of the slowest to write, and the looks ahead.
            let held = intake.chars() - spoken_to;
            assert!(held <= 800, "{unit:?}: {held} characters held");
        }
    }
}

#[test]
fn what_is_opened_and_never_closed_is_text_after_a_bound() {
    for (opened, bound) in [
        ("[", 30),
        ("<b class=\"", 512),
        ("<x ", 40),
        ("`", 260),
        ("![", 260),
        ("[x](", 520),
        ("&amp", 12),
        ("<!--", 8192),
        ("<script>", 8192),
        ("\n```py\n", 8192),
        ("**", 2),
        ("<sub alias='x'>", 270),
        ("<https://", 260),
    ] {
        let raw = format!("Here we go again. {opened}{}", "words".repeat(1 + (bound + 600) / 5));
        let mut intake = Intake::new(usize::MAX);
        let before = raw.find(opened).unwrap() + opened.len();
        let until_spoken = one_by_one(&raw).position(|part| {
            let pieces = intake.push(part, &options()).unwrap();
            pieces.iter().any(|p| p.chars.end > before)
        });
        // A word of this length is cut where the piece is 15 s long: 225 characters.
        let held = until_spoken.unwrap_or_else(|| panic!("{opened:?}: all of it is held")) - before;
        assert!(held <= bound + 240, "{opened:?}: {held} characters held");
        let last = intake.finish(&options());
        assert!(!last.skipped.iter().any(|s| s.text.contains("words")), "{opened:?}: {:?}", last.skipped);
    }
}

#[test]
fn work_is_linear_one_character_at_a_time() {
    for unit in AWKWARD_UNITS {
        let of = |n: usize| {
            let raw = unit.repeat(n / unit.chars().count());
            stage::WORK.with(|work| work.set(0));
            in_parts(one_by_one(&raw), &options()).unwrap();
            stage::WORK.with(|work| work.get())
        };
        let (small, large) = (of(20_000), of(40_000));
        println!("{unit:?}: {small} units looked at for 20,000 characters one by one, {large} for 40,000");
        assert!(large as f64 <= 2.2 * small as f64, "{unit:?}: {small}, then {large}");
        assert!(large <= 40_000 * 800, "{unit:?}: {large}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cuts_make_no_difference(
        raw in prop_oneof![awkward_text(), "\\PC{0,80}", any::<String>()],
        cuts in proptest::collection::vec(any::<usize>(), 0..40),
        max_words in proptest::option::of(1usize..20),
        max_seconds in prop_oneof![Just(20.0f32), 0.0f32..6.0],
    ) {
        let limits = Limits { max_seconds, max_words };
        for options in [
            Options { limits, ..options() },
            Options { limits, languages: &[Language::English], ..Options::new(&small) },
        ] {
            let whole = prepare(&raw, &options);
            prop_assert_eq!(&in_parts(parts(&raw, &cuts), &options), &whole);
            prop_assert_eq!(&in_parts(one_by_one(&raw), &options), &whole);
            if let Ok(whole) = whole {
                check(&raw, &whole, options.knows);
            }
        }
    }

    #[test]
    fn a_nul_is_found_where_it_is(before in awkward_text(), after in awkward_text(), cuts in proptest::collection::vec(any::<usize>(), 0..40)) {
        let raw = format!("{before}\0{after}");
        let expected = Err(TextError::Nul { at: before.len() });
        prop_assert_eq!(&prepare(&raw, &options()), &expected);
        prop_assert_eq!(&in_parts(parts(&raw, &cuts), &options()), &expected);
    }

    #[test]
    fn flushes_lose_nothing(sections in proptest::collection::vec(awkward_text(), 1..5)) {
        let mut intake = Intake::new(usize::MAX);
        let mut pieces = Vec::new();
        for section in &sections {
            for part in one_by_one(section) {
                pieces.extend(intake.push(part, &options()).unwrap());
            }
            pieces.extend(intake.flush(&options()));
        }
        let last = intake.finish(&options());
        prop_assert!(last.pieces.is_empty());
        let mut at = (0, 0);
        for piece in &pieces {
            prop_assert_eq!((piece.span.start, piece.chars.start), at);
            prop_assert!(!piece.text.trim().is_empty());
            at = (piece.span.end, piece.chars.end);
        }
        prop_assert_eq!(pieces.is_empty(), last.nothing_to_say);
        // What comes after the last word of all is in no piece. A flush ends what a mark before it could have changed.
        let mut rest = Intake::new(usize::MAX);
        let mut start = 0;
        for section in &sections {
            let from = at.0.clamp(start, start + section.len()) - start;
            rest.push(&section[from..], &options()).unwrap();
            prop_assert!(rest.flush(&options()).is_empty());
            start += section.len();
        }
    }
}
