//! The text front end on 10,000 characters: of speech, and of what could make it slow.
//!
//! `cargo bench --bench text`. The aim is under 20 ms for any of them.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use voxwire::text::{Intake, Options, chattts_knows, prepare};

const CHARS: usize = 10_000;

const TEXTS: [(&str, &str); 24] = [
    ("English", "The 12 quick foxes jumped over Mr. Smith's lazy dog, slowly; it was 3.5 miles away. "),
    ("Chinese", "今天天气很好，我们有3只猫和1,000条鱼。你觉得怎么样？"),
    ("Markdown", "## A heading\n- **bold** and [a link](https://example.com/x), `code`\n\n| a | b |\n|---|---|\n"),
    ("HTML", "<p>One <b>bold</b> &amp; <a href=\"https://example.com\">linked</a> word.</p><br/>\n"),
    ("digits", "1"),
    ("digits and commas", "1,"),
    ("letters and stops", "a."),
    ("[", "["),
    ("<", "<"),
    ("<a b=\"", "<a b=\""),
    ("*", "*"),
    ("(", "("),
    ("](", "[a]("),
    ("![](", "![a]("),
    ("&", "&"),
    ("`", "`"),
    ("``a`", "``a`"),
    ("code fences", "```x\n"),
    ("comments", "<!--"),
    ("scripts", "<script>"),
    ("joined emoji", "👨\u{200D}"),
    ("flags", "🇨🇳"),
    ("|", "|"),
    ("pauses", "a[pause:1s]"),
];

fn whole(c: &mut Criterion) {
    let mut group = c.benchmark_group("10,000 characters at once");
    for (name, unit) in TEXTS {
        let text: String = unit.chars().cycle().take(CHARS).collect();
        group.bench_with_input(BenchmarkId::from_parameter(name), &text, |b, text| {
            b.iter(|| prepare(black_box(text), &Options::new(&chattts_knows)).map(|p| p.pieces.len()));
        });
    }
}

fn one_by_one(c: &mut Criterion) {
    let mut group = c.benchmark_group("10,000 characters one by one");
    for (name, unit) in TEXTS {
        let text: String = unit.chars().cycle().take(CHARS).collect();
        group.bench_with_input(BenchmarkId::from_parameter(name), &text, |b, text| {
            b.iter(|| {
                let options = Options::new(&chattts_knows);
                let mut intake = Intake::new(CHARS);
                let pushed = |part: &str| intake.push(part, &options).map_or(0, |pieces| pieces.len());
                let pieces: usize = black_box(text).split_inclusive(|_| true).map(pushed).sum();
                pieces + intake.finish(&options).pieces.len()
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_millis(500));
    targets = whole, one_by_one
}
criterion_main!(benches);
