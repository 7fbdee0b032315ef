//! What bare Opus encoding of one second of a stream costs, 24 kHz mono at 32 kb/s: the limit that streams per core are
//! held against. A core carries at most the inverse.
//!
//! `cargo bench --bench opus`

use std::fs;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use voxwire::audio::encode::{OpusFormat, StreamEncoder, StreamFormat};

const RATE: usize = 24_000;

/// Seconds of sound that are gone through in turn.
const SECONDS: usize = 20;

fn one_second(c: &mut Criterion) {
    let sound = speech_like(SECONDS * RATE);
    let default = OpusFormat::default();
    let mut group = c.benchmark_group("opus, one second of a stream");
    let by_complexity = [0, 2, 5, 6, 9, 10].map(|complexity| OpusFormat { complexity, ..default });
    let by_frame = [10, 40, 60].map(|frame_ms| OpusFormat { frame_ms, ..default });
    // Above 64 kb/s libopus leaves its speech modes, which are what costs.
    let transform = OpusFormat { bitrate: 96_000, ..default };
    for format in by_complexity.into_iter().chain(by_frame).chain([transform]) {
        let OpusFormat { frame_ms, bitrate, complexity, .. } = format;
        let name = format!("{frame_ms} ms, {bitrate} bit/s, complexity {complexity}");
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            let mut encoder = StreamEncoder::new(&StreamFormat::Opus(format), RATE as u32).expect("a valid format");
            let mut seconds = sound.chunks_exact(RATE).cycle();
            let mut packets = Vec::new();
            b.iter_custom(|times| {
                let start = now();
                for _ in 0..times {
                    packets.clear();
                    encoder.push(seconds.next().expect("endless"), &mut packets).expect("libopus encodes");
                    black_box(&packets);
                }
                now() - start
            });
        });
    }
}

/// CPU time of this thread where the system tells it (Linux), so that other work on the machine does not count; else
/// wall time. The kernel's figure may be a timer tick old: nothing beside the 50 ms and more that are measured at once.
fn now() -> Duration {
    let spent = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = spent.and_then(|line| line.split_whitespace().next()?.parse().ok());
    spent.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Like speech in what an encoder spends effort on: voiced stretches with formants and a gliding pitch, hissing ones,
/// and pauses. Costs within 5% of the demo model's speech up to complexity 9 (2026-12).
fn speech_like(n: usize) -> Vec<f32> {
    use std::f32::consts::{PI, TAU};
    let (mut phase, mut seed) = (0.0f32, 1u32);
    let mut noise = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 8_388_608.0 - 1.0
    };
    // Three formants: two-pole resonators.
    let mut state = [[0.0f32; 2]; 3];
    let radius = (-PI * 90.0 / RATE as f32).exp();
    (0..n)
        .map(|i| {
            let t = i as f32 / RATE as f32;
            // Syllables of 160 ms: every third begins with a hiss, every twelfth is a pause.
            let (syllable, within) = ((t / 0.16) as usize, t % 0.16 / 0.16);
            let level = if syllable % 12 == 11 { 0.0 } else { (within * PI).sin() };
            let hiss = syllable.is_multiple_of(3) && within < 0.4;
            phase = (phase + (120.0 + 30.0 * (t * 2.3).sin() + 5.0 * (t * 31.0).sin()) / RATE as f32).fract();
            let source = if hiss { noise() * 0.5 } else { 1.0 - 2.0 * phase + noise() * 0.02 };
            let vowel = (syllable * 7 % 5) as f32 / 5.0;
            let formants = [350.0 + 450.0 * vowel, 2100.0 - 1100.0 * vowel, if hiss { 6000.0 } else { 2700.0 }];
            let sum: f32 = formants
                .iter()
                .zip(&mut state)
                .map(|(hz, s)| {
                    let turn = 2.0 * radius * (TAU * hz / RATE as f32).cos();
                    let y = source * (1.0 - radius) + turn * s[0] - radius * radius * s[1];
                    *s = [y, s[0]];
                    y
                })
                .sum();
            sum * level * 0.5
        })
        .collect()
}

criterion_group!(benches, one_second);
criterion_main!(benches);
