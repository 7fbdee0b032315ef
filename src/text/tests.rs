use std::time::Duration;

use proptest::prelude::*;

use super::*;
use std::ops::Range;

/// As ChatTTS's own tokenizer: lower-case Latin, Chinese, digits, marks and many symbols it cannot speak.
pub(super) fn chattts(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '\u{4E00}'..='\u{9FFF}' | 'あ'..='ん')
        || ",.?!'，。？！、；：—…%$&+@#[]()\"*".contains(c)
}

/// As a small English model: letters and four marks.
pub(super) fn small(c: char) -> bool {
    matches!(c, 'a'..='z' | ',' | '.' | '?' | '\'')
}

fn zh(raw: &str) -> Prepared {
    prepare(raw, &Options::new(&chattts)).unwrap()
}

fn en(raw: &str) -> Prepared {
    let options = Options { languages: &[Language::English], ..Options::new(&small) };
    prepare(raw, &options).unwrap()
}

fn skipped(p: &Prepared) -> Vec<(&str, SkipReason)> {
    p.skipped.iter().map(|s| (s.text.as_str(), s.why)).collect()
}

#[test]
fn marks_become_those_the_model_knows() {
    for (raw, spoken) in [
        ("Hello, world!", "hello, world."),
        ("Wait... what?!", "wait, what?"),
        ("One; two: three.", "one, two, three."),
        ("\"Quoted\" (and bracketed) text", "quoted and bracketed text"),
        ("well-known, half - half -- done", "well known, half, half, done"),
        ("it’s the dogs' day", "it's the dogs day"),
        ("...and then", "and then"),
        ("he said so,", "he said so."),
        ("snake_case_name and/or", "snake case name and or"),
        ("- one\n- two\n\nthree\n", "one, two. three"),
        ("naïve café Straße", "naive cafe strasse"),
        ("FOUR SEASONS", "four seasons"),
        ("so~~~ *good*", "so good"),
    ] {
        assert_eq!(en(raw).spoken(), spoken, "{raw:?}");
    }
    for (raw, spoken) in [
        ("今天心情怎么样？我很好！", "今天心情怎么样？我很好。"),
        ("它——真的……吗", "它，真的，吗"),
        ("“你好”、《书》；（笑）好的", "你好、书，笑，好的"),
        ("你好\r\n世界", "你好，世界"),
        ("New York City 很大", "new york city 很大"),
        ("你 好", "你好"),
    ] {
        assert_eq!(zh(raw).spoken(), spoken, "{raw:?}");
    }
}

#[test]
fn numbers_are_read_in_the_language_around_them() {
    for (raw, spoken) in [
        ("I have 21 cats.", "i have twenty one cats."),
        ("It costs 1,000 or -3.5%", "it costs one thousand or minus three point five percent"),
        ("agent 007", "agent zero zero seven"),
        (
            "1,234,567 and 1,2345",
            "one million two hundred thirty four thousand five hundred sixty seven and one, two thousand three hundred forty five",
        ),
        ("5G", "five g"),
        (".5", "zero point five"),
        ("pages 5-10", "pages five to ten"),
        ("R&D, me@x.com", "r and d, me at x dot com"),
    ] {
        assert_eq!(en(raw).spoken(), spoken, "{raw:?}");
    }
    for (raw, spoken) in [
        ("我有2只猫和101本书", "我有两只猫和一百零一本书"),
        ("版本2.0.1，涨了-3.5%", "版本二点零点一，涨了负百分之三点五"),
        ("10 5", "十，五"),
        ("5-10斤", "五到十斤"),
        ("他说 I have 3 dogs 和2只猫", "他说 i have three dogs 和两只猫"),
        ("12,345", "一万二千三百四十五"),
        ("A380客机2024年", "a三八零客机二零二四年"),
        ("请拨打010-65551234", "请拨打零幺零，六五五五幺二三四"),
    ] {
        assert_eq!(zh(raw).spoken(), spoken, "{raw:?}");
    }
    // A model without Chinese reads everything in English.
    let english = Options { languages: &[Language::Chinese, Language::English], ..Options::new(&small) };
    assert_eq!(prepare("7", &english).unwrap().spoken(), "seven");
}

#[test]
fn digits_no_language_can_read_are_reported() {
    let han_only = |c: char| matches!(c, '你' | '好');
    let p = prepare("你好42", &Options::new(&han_only)).unwrap();
    assert_eq!(p.spoken(), "你好");
    assert_eq!(skipped(&p), [("42", SkipReason::UnknownCharacter)]);
}

#[test]
fn a_long_number_is_read_digit_by_digit_as_one() {
    let ones = "1".repeat(200);
    assert_eq!(zh(&ones).spoken(), "一".repeat(200));
    assert_eq!(zh(&format!("圆周率3.{ones}米，还有5")).spoken(), format!("圆周率三点{}米，还有五", "一".repeat(200)));
    assert_eq!(en(&format!("it is {ones}.5 now")).spoken(), format!("it is{} point five now", " one".repeat(200)));
    assert_eq!(zh(&"1.".repeat(100)).spoken(), format!("{}。", vec!["一"; 100].join("点")));
    assert_eq!(zh(&format!("{ones} 5")).spoken(), format!("{}，五", "一".repeat(200)));
}

#[test]
fn abbreviations_end_no_sentence() {
    for (raw, spoken) in [
        (
            "Mr. Smith met Dr. Who, e.g. in the U.S. economy.",
            "mister smith met doctor who, for example in the u s economy.",
        ),
        ("J. R. R. Tolkien wrote it.", "j r r tolkien wrote it."),
        ("At 5 p.m. We left, etc. Then slept.", "at five p m. we left, et cetera. then slept."),
        ("No. 5 said no. Then I. She too.", "number five said no. then i. she too."),
        ("Made in the U.S.", "made in the u s."),
        ("a.b.c.d.e.f.g.h.i.j.", "a b c d e f g h i j."),
    ] {
        assert_eq!(en(raw).spoken(), spoken, "{raw:?}");
    }
}

#[test]
fn tags_pass_by_name_and_reserved_tokens_never_do() {
    assert_eq!(zh("[uv_break]你好[LAUGH]").spoken(), "[uv_break]你好[laugh]");
    assert_eq!(zh("今天怎么样？[laugh]").spoken(), "今天怎么样？[laugh]");
    assert_eq!(zh("[uv break]你好").spoken(), "[uv_break]你好");
    let p = zh("[spk_emb]你好[empty_spk][Stts] [speed_5][break_3] [unused7]");
    assert_eq!(p.spoken(), "你好");
    assert_eq!(p.skipped.len(), 4, "{:?}", p.skipped);
    assert!(p.skipped.iter().all(|s| s.why == SkipReason::ReservedToken));
    assert_eq!(zh("价格[含税是多少，a]b").spoken(), "价格含税是多少，a b");
    assert_eq!(zh("[[laugh]]好").spoken(), "[laugh]好");
    assert_eq!(skipped(&zh("你好[pause:later]世界")), [("[pause:later]", SkipReason::UnsupportedTag)]);
    // Zero-width or full-width tricks build no token either.
    for trick in ["[St\u{200B}ts]", "［Stts］", "[[Stts]Stts]", "[ｓｐｋ＿ｅｍｂ]"] {
        assert!(!zh(&format!("你好{trick}")).spoken().contains('['), "{trick}");
    }
}

#[test]
fn what_is_not_spoken_is_reported() {
    let p = zh("👨‍👩‍👧你好😀こんにちは");
    assert_eq!(p.spoken(), "你好");
    let expected = [("👨‍👩‍👧", SkipReason::Emoji), ("😀", SkipReason::Emoji), ("こんにちは", SkipReason::UnknownScript)];
    assert_eq!(skipped(&p), expected);
    assert_eq!(
        skipped(&en("hello 你好 ♫")),
        [("你好", SkipReason::UnknownCharacter), ("♫", SkipReason::UnknownCharacter)]
    );
}

#[test]
fn changes_say_what_became_what() {
    let p = zh("我有3只猫！");
    let seen: Vec<_> = p.rewritten.iter().map(|c| (c.from.as_str(), c.to.as_str(), c.kind)).collect();
    assert_eq!(seen, [("3", "三", ChangeKind::Number), ("！", "。", ChangeKind::Punctuation)]);
    assert!(zh("你好，世界。").rewritten.is_empty());
}

#[test]
fn nothing_to_say() {
    for raw in ["", "  \n\t", "。", "—", "*", "😀😀", "[laugh]", "[Stts]", "...", "[]"] {
        let p = zh(raw);
        assert!(p.nothing_to_say && p.pieces.is_empty(), "{raw:?}: {p:?}");
    }
    assert!(!zh("1。").nothing_to_say);
}

#[test]
fn raw_text_is_left_alone() {
    let raw = "Hello [Stts] 123!\n";
    let p = prepare(raw, &Options { raw: true, ..Options::new(&small) }).unwrap();
    assert_eq!(
        p.pieces,
        [Piece { text: raw.to_string(), span: 0..raw.len(), chars: 0..raw.len(), pause_before: Duration::ZERO }]
    );
    assert!(p.rewritten.is_empty() && p.skipped.is_empty());
}

#[test]
fn nul_is_refused() {
    for raw in [false, true] {
        let error = prepare("ab\0c", &Options { raw, ..Options::new(&small) }).unwrap_err();
        assert_eq!(error.to_string(), "text: byte 2: expected text, found a NUL character");
    }
}

fn texts(p: &Prepared) -> Vec<&str> {
    p.pieces.iter().map(|p| p.text.as_str()).collect()
}

fn short(raw: &str, max_words: usize) -> Prepared {
    let limits = Limits { max_words: Some(max_words), ..Default::default() };
    prepare(raw, &Options { languages: &[Language::English], limits, ..Options::new(&small) }).unwrap()
}

#[test]
fn pieces_end_at_sentences_then_clauses_then_words() {
    let raw = "The first one is here. The second one follows it. And the third is the last of them.";
    let expected = ["the first one is here. ", "the second one follows it. ", "and the third is the last of them."];
    assert_eq!(texts(&short(raw, 8)), expected);
    let clauses = "when the long day was over, we all went home, and slept until the morning came";
    assert_eq!(
        texts(&short(clauses, 10)),
        ["when the long day was over, ", "we all went home, and slept until the morning came"]
    );
    let flat = "a b c d e f g h i j k l m n o p q r s t u v w x y";
    let pieces = short(flat, 10);
    assert_eq!(pieces.pieces.len(), 3);
    assert!(texts(&pieces).iter().all(|t| (7..=10).contains(&t.split_whitespace().count())), "{:?}", texts(&pieces));
}

#[test]
fn no_piece_is_an_orphan_and_no_number_is_cut() {
    // The first piece takes the orphan before it, and the last one that behind it.
    assert_eq!(
        texts(&short("Yes. we have all of the things that you want. This is the end of all of it. No.", 9)),
        ["yes. we have all of the things that you want. ", "this is the end of all of it. no."]
    );
    // No word remains alone where the limit would have it.
    assert_eq!(
        texts(&short("a bee sees all the seven seas at once now. the end is near to all ten of us my friend.", 9)),
        ["a bee sees all the ", "seven seas at once now. ", "the end is near to ", "all ten of us my friend."]
    );
    let p = short("we counted exactly three hundred of them and then 123,456 more of them came", 10);
    assert!(texts(&p).iter().any(|t| t.contains("one hundred twenty three thousand four hundred fifty six")), "{p:?}");
}

#[test]
fn a_short_text_is_one_piece() {
    assert_eq!(zh("你好。今天天气不错。").pieces.len(), 1);
    assert_eq!(en("Hi! How are you?").pieces.len(), 1);
}

#[test]
fn pieces_grow() {
    let raw = format!("这是第一句话。{}", "后面还有很多内容。".repeat(60));
    let p = zh(&raw);
    assert_eq!(p.pieces[0].text, "这是第一句话。");
    let seconds = |p: &Piece| p.text.chars().map(|c| if c == '。' { 1.0 / 15.0 } else { 0.25 }).sum::<f32>();
    let lengths: Vec<f32> = p.pieces.iter().map(seconds).collect();
    for (length, limit) in
        lengths[1..lengths.len() - 1].iter().zip([5.0, 10.0].into_iter().chain(std::iter::repeat(20.0)))
    {
        assert!((limit * 0.75..=limit).contains(length), "{lengths:?}");
    }
}

#[test]
fn a_long_sentence_is_cut_early_at_a_clause_end() {
    let raw = "这是一个很长的句子，".repeat(40);
    let p = zh(&raw);
    assert!(p.pieces.iter().all(|p| p.text.ends_with(['，', '。'])), "{:?}", texts(&p));
    assert!(p.pieces[..3].iter().all(|p| p.text.chars().count() <= 42), "{:?}", texts(&p));
}

#[test]
fn a_text_without_marks_is_cut_between_words() {
    let p = zh(&"很长的一段话没有标点".repeat(60));
    assert!(p.pieces.len() >= 7 && p.pieces.iter().all(|p| p.text.chars().count() <= 80));
    let p = en(&"word ".repeat(600));
    assert!(p.pieces.iter().all(|p| p.text.split_whitespace().all(|w| w == "word")));
}

/// What every result must be, whatever the text was.
pub(super) fn check(raw: &str, p: &Prepared, knows: &dyn Fn(char) -> bool) {
    let mut at = 0;
    for piece in &p.pieces {
        assert_eq!(piece.span.start, at, "pieces join: {raw:?}");
        assert!(raw.is_char_boundary(piece.span.end) && piece.span.end >= at);
        assert!(!piece.text.trim().is_empty());
        at = piece.span.end;
        let plain = TEXT_TAGS.iter().fold(piece.text.clone(), |t, tag| t.replace(&format!("[{tag}]"), ""));
        for c in plain.chars() {
            assert!(c == ' ' || (knows(c) && !"[]".contains(c)), "{c:?} in {:?} of {raw:?}", piece.text);
        }
    }
    let chars = |span: &Range<usize>| raw[..span.start].chars().count()..raw[..span.end].chars().count();
    assert!(p.pieces.iter().all(|p| p.chars == chars(&p.span)));
    assert!(p.skipped.iter().all(|s| s.chars == chars(&s.span)));
    assert!(p.rewritten.iter().all(|c| c.chars == chars(&c.span)));
    assert_eq!(p.pieces.is_empty(), p.nothing_to_say, "{raw:?}");
    let pause = p.rewritten.iter().rev().find(|c| c.kind == ChangeKind::Pause);
    let covered = at == raw.len() || pause.is_some_and(|pause| pause.span.start >= at);
    assert!(p.nothing_to_say || covered, "pieces cover the text: {raw:?}");
    let mut end = 0;
    for skip in &p.skipped {
        assert!(skip.span.start >= end && skip.span.start < skip.span.end, "skips in order: {raw:?} {:?}", p.skipped);
        assert_eq!(raw[skip.span.clone()], skip.text);
        end = skip.span.end;
    }
    for change in &p.rewritten {
        assert!(raw.is_char_boundary(change.span.start) && raw.is_char_boundary(change.span.end));
        assert!(
            matches!(change.kind, ChangeKind::Width | ChangeKind::Invisible) || raw[change.span.clone()] == change.from
        );
    }
    // Nothing vanishes in silence: what is in no report is spoken, as it is, in its order.
    let mut reported = vec![false; raw.len()];
    let spans = p.skipped.iter().map(|s| &s.span).chain(p.rewritten.iter().map(|c| &c.span));
    spans.for_each(|span| reported[span.clone()].fill(true));
    let spoken = p.spoken();
    let mut rest = spoken.chars();
    let silent = |c: char| c.is_whitespace() || c.is_control();
    for (at, c) in raw.char_indices().filter(|(at, c)| !reported[*at] && !silent(*c)) {
        // A text without a word is not spoken, whatever its marks and tags.
        let said = c.to_lowercase().all(|c| rest.any(|s| s.to_lowercase().eq([c])));
        assert!(p.nothing_to_say || said, "{c:?} at byte {at} vanished from {raw:?}: {p:?}");
    }
}

pub(super) fn awkward_text() -> impl Strategy<Value = String> {
    let parts = [
        "a",
        "B",
        "word",
        " ",
        "  ",
        ".",
        "...",
        ",",
        "?!",
        "你好",
        "世界",
        "。",
        "，",
        "、",
        "1",
        "42",
        "1,000",
        "3.14",
        "-",
        "--",
        "%",
        "[",
        "]",
        "[laugh]",
        "[uv_break]",
        "[Stts]",
        "[break_3]",
        "😀",
        "👨‍👩‍👧",
        "é",
        "e\u{301}",
        "\n",
        "\r\n",
        "'",
        "’",
        "\u{200B}",
        "Mr. ",
        "e.g. ",
        "U.S.",
        "@",
        "+",
        "#",
        "こ",
        "ß",
        "ﬁ",
        "年",
        "～",
        "５",
        "_",
        "# ",
        "##",
        "- ",
        "> ",
        "|",
        "|---|",
        "---",
        "===",
        "**",
        "*",
        "~~",
        "`",
        "```",
        "```rs\n",
        "![",
        "](",
        ")",
        "(",
        "https://a.b/c",
        "[^1]",
        "[x]: ",
        "\\",
        "<",
        ">",
        "<b>",
        "</p>",
        "<br/>",
        "<break time='1s'/>",
        "<say-as interpret-as=\"date\">",
        "</say-as>",
        "<x y=\"",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<sub alias='b'>",
        "</sub>",
        "<sup>",
        "&amp;",
        "&lt;",
        "&#91;",
        "&#0;",
        "&",
        ";",
        "[pause:1.5s]",
        "[pause:x]",
        "[spk_emb]",
        "1\u{FE0F}\u{20E3}",
        "🇨",
        "🇳",
        "👍🏽",
        "❤\u{FE0F}",
        "\u{200D}",
        "①",
        "Ⅳ",
        "½",
        "𝐀",
        "（",
        "【",
    ];
    proptest::collection::vec(proptest::sample::select(parts.to_vec()), 0..60).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_text(raw in "\\PC{0,80}") {
        check(&raw, &zh(&raw), &chattts);
        check(&raw, &en(&raw), &small);
    }

    #[test]
    fn awkward_text_in_short_pieces(raw in awkward_text(), max_words in 1usize..12, max_seconds in 0.0f32..6.0) {
        let limits = Limits { max_seconds, max_words: Some(max_words) };
        for (knows, languages) in [
            (&chattts as &dyn Fn(char) -> bool, &[Language::Chinese, Language::English][..]),
            (&small, &[Language::English]),
        ] {
            let options = Options { languages, limits, ..Options::new(knows) };
            let p = prepare(&raw, &options).unwrap();
            check(&raw, &p, knows);
            // Cutting adds and loses nothing.
            let whole = Options { limits: Limits { max_seconds: 1e9, max_words: None }, ..options };
            prop_assert_eq!(p.spoken(), prepare(&raw, &whole).unwrap().spoken());
        }
    }

    #[test]
    fn any_string_at_all(raw in any::<String>()) {
        if !raw.contains('\0') {
            check(&raw, &zh(&raw), &chattts);
        }
    }
}

/// Units looked at by all stages.
pub(super) fn work(raw: &str) -> usize {
    stage::WORK.with(|work| work.set(0));
    zh(raw);
    stage::WORK.with(|work| work.get())
}

/// Texts whose repetition a stage could stumble over.
pub(super) const AWKWARD_UNITS: [&str; 88] = [
    "1",
    "1,",
    "1.",
    "a.",
    "a.a",
    "1,111,",
    "[",
    "[laugh",
    "]",
    "-1",
    "a",
    "你",
    ".",
    " ",
    "😀",
    "你好，",
    "Mr. ",
    "a1 ",
    "1-",
    "\n",
    "(",
    "[[[](",
    "<",
    "<a",
    "<a ",
    "<a b=\"",
    "</",
    "<!--",
    "<script>",
    "<style",
    "<sub alias='a'>",
    "&",
    "&#",
    "&amp",
    "*",
    "**a",
    "`",
    "`a",
    "``a`",
    "```\n",
    "```x\n",
    "~~~",
    "~~~\n```\n",
    "# ",
    "> ",
    "- ",
    "|",
    "|-",
    "\n|-|x",
    "---\nx",
    "![",
    "![a](",
    "[a](b c",
    "[^",
    "[^1",
    "\n[a]: b ",
    "\\",
    "👨\u{200D}",
    "🇨",
    "1\u{FE0F}",
    "[pause:1s]",
    "<br>",
    "=",
    "-",
    "AB ",
    "aB",
    "110或",
    "打110、",
    "1h30min",
    "50cm×",
    "5L/100km/",
    "1 000 ",
    "１．",
    "2024.5.1-5.3 ",
    "1:",
    "1/",
    "1e-",
    "2^n",
    "5 x ",
    "a < ",
    "a@b.",
    "http://a.b/c?1=",
    "你a",
    "ก",
    "e\u{301}",
    "$",
    "%",
    "\u{200B}",
];

/// Room for a slow or busy machine (which shares caches even where it does not share time), and for a build without
/// optimisation.
pub(super) const SLOW: u64 = if cfg!(debug_assertions) { 100 } else { 5 };

/// Time this thread has spent on a processor.
pub(super) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

#[test]
fn ten_thousand_characters_of_anything_take_little_time() {
    let options = Options::new(&chattts);
    let fastest = |f: &dyn Fn()| {
        let times = (0..4).map(|_| {
            let start = thread_time();
            f();
            thread_time() - start
        });
        times.min().unwrap_or_default()
    };
    for unit in AWKWARD_UNITS {
        let raw: String = unit.chars().cycle().take(10_000).collect();
        let whole = fastest(&|| drop(prepare(&raw, &options).unwrap()));
        let letters = fastest(&|| {
            let mut intake = Intake::new(usize::MAX);
            raw.split_inclusive(|_| true).for_each(|c| drop(intake.push(c, &options).unwrap()));
            intake.finish(&options);
        });
        println!("{unit:?}: {whole:?} as one, {letters:?} letter by letter");
        for took in [whole, letters] {
            assert!(took < Duration::from_millis(20 * SLOW), "{unit:?}: {took:?}");
        }
    }
}

#[test]
fn work_is_linear_whatever_the_text() {
    let mut wrong = Vec::new();
    for unit in AWKWARD_UNITS {
        let of = |n: usize| work(&unit.repeat(n / unit.chars().count()));
        let (small, large) = (of(20_000), of(40_000));
        println!("{unit:?}: {small} units looked at for 20,000 characters, {large} for 40,000");
        if large as f64 > 2.2 * small as f64 || large > 40_000 * 300 {
            wrong.push((unit, small, large));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
