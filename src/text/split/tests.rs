//! Prose of random sentences, with things in it that must not be cut.

use proptest::prelude::*;
use proptest::sample::select;

use crate::text::{Options, Prepared, chattts_knows, prepare};

/// Each stays whole, whatever the limit.
const WHOLE: [&str; 12] = [
    "J. R. R. Tolkien",
    "3.14159",
    "$12,345.67",
    "e.g.",
    "U.S.",
    "i7-12700K",
    "10:30 a.m.",
    "2024-04-15",
    "ChatGPT",
    "-5 °C",
    "5–10 km/h",
    "George R. R. Martin",
];
const WHOLE_CHINESE: [&str; 10] = [
    "2024年4月15日",
    "3.14159",
    "¥12,345.67",
    "13800138000",
    "第38届",
    "零下5℃",
    "3.5%",
    "-5℃",
    "192.168.1.1",
    "5月1日",
];
const WORDS: [&str; 12] =
    ["we", "went", "along", "the", "river", "until", "evening", "came", "and", "talked", "about", "music"];
const WORDS_CHINESE: [&str; 10] = ["我们", "一直", "沿着", "河边", "走到", "天黑", "然后", "谈起", "音乐", "和书"];

/// A text, and where in it stands what must not be cut, in bytes.
#[derive(Debug, Clone)]
struct Prose {
    raw: String,
    whole: Vec<std::ops::Range<usize>>,
}

fn prose(chinese: bool) -> impl Strategy<Value = Prose> {
    let (words, whole) = match chinese {
        true => (WORDS_CHINESE.to_vec(), WHOLE_CHINESE.to_vec()),
        false => (WORDS.to_vec(), WHOLE.to_vec()),
    };
    let token = prop_oneof![
        6 => select(words).prop_map(|word| (word, false)),
        1 => select(whole).prop_map(|word| (word, true)),
    ];
    let sentence = (proptest::collection::vec(token, 6..14), any::<bool>());
    proptest::collection::vec(sentence, 1..40).prop_map(move |sentences| {
        let mut prose = Prose { raw: String::new(), whole: Vec::new() };
        for (tokens, comma) in sentences {
            let half = tokens.len() / 2;
            for (i, (token, whole)) in tokens.iter().enumerate() {
                let start = prose.raw.len();
                prose.raw.push_str(token);
                if *whole {
                    prose.whole.push(start..prose.raw.len());
                }
                let last = i + 1 == tokens.len();
                prose.raw.push_str(match (chinese, last, comma && i + 1 == half) {
                    (true, true, _) => "。",
                    (true, _, true) => "，",
                    (true, ..) if *whole => "的",
                    (true, ..) => "",
                    (false, true, _) => " today. ",
                    (false, _, true) => ", ",
                    (false, ..) => " ",
                });
            }
        }
        prose
    })
}

/// As the splitter reckons.
fn seconds(text: &str) -> f32 {
    let han = text.chars().filter(|c| super::is_han(*c)).count();
    han as f32 * super::SECONDS_PER_HAN + (text.chars().count() - han) as f32 * super::SECONDS_PER_CHAR
}

fn check(prose: &Prose) -> Result<(), TestCaseError> {
    let Prepared { pieces, skipped, .. } = prepare(&prose.raw, &Options::new(&chattts_knows)).unwrap();
    prop_assert!(skipped.is_empty());
    for piece in &pieces[1..] {
        let cut = prose.whole.iter().find(|whole| whole.start < piece.span.start && piece.span.start < whole.end);
        prop_assert!(cut.is_none(), "cut inside {:?}: {pieces:?}", cut.map(|whole| &prose.raw[whole.clone()]));
    }
    let lengths: Vec<f32> = pieces.iter().map(|piece| seconds(&piece.text)).collect();
    let count = lengths.len();
    // Early sound: no more than a sentence, or what a long one is cut to.
    prop_assert!(lengths[0] <= 11.0, "{lengths:?}");
    for (i, length) in lengths.iter().enumerate() {
        prop_assert!(*length <= 25.0, "piece {i}: {lengths:?}");
        prop_assert!(pieces[i].text.chars().filter(|c| c.is_alphanumeric()).count() > 3, "an orphan: {pieces:?}");
    }
    // Once the listener has something to hear, a piece is full, or the next sentence would have been too much for it. A
    // sentence that fills more than a piece is cut where it can be.
    let spoken: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let overlong = spoken.split(['.', '。']).any(|sentence| seconds(sentence) > 19.5);
    for pair in lengths[3.min(count)..].windows(2) {
        prop_assert!(overlong || pair[0] >= 14.9 || pair[0] + pair[1] > 19.5, "{lengths:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn english_prose_is_cut_where_it_may_be(prose in prose(false)) {
        check(&prose)?;
    }

    #[test]
    fn chinese_prose_is_cut_where_it_may_be(prose in prose(true)) {
        check(&prose)?;
    }
}
