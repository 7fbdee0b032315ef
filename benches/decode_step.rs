//! One decode step of the language model, at each precision and batch, beside the memory read bandwidth of the same
//! moment. `VOXWIRE_MODEL` names the model; the published size is what the bars are about.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use voxwire::engine::cpu::matrix::Precision;
use voxwire::engine::cpu::{CpuEngine, CpuOptions};
use voxwire::engine::{Engine, Row, Slot};
use voxwire::model::dims::Dims;
use voxwire::model::prompt::{DecodePath, Prompt, PromptVoice};
use voxwire::model::sampling::Sampling;
use voxwire::model::tokenizer::Tokenizer;
use voxwire::parallel::Team;

fn model() -> PathBuf {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tiny");
    PathBuf::from(std::env::var("VOXWIRE_MODEL").unwrap_or_else(|_| fixture.into()))
}

/// Starts `batch` rows and brings them to a context of about `context` positions.
fn start(engine: &mut CpuEngine, dir: &Path, batch: usize, context: usize) -> Vec<Slot> {
    let tokenizer = Tokenizer::load(dir, engine.dims().gpt.num_text_tokens).unwrap();
    let text = "the quick brown fox jumps over the lazy dog ".repeat(2);
    let rows = (0..batch).map(|i| Row {
        prompt: Prompt::code(&tokenizer, &text, "[speed_5]", PromptVoice::default()).unwrap(),
        sampling: Sampling { min_steps: usize::MAX, ..Sampling::code(i as u64) },
        decode: DecodePath::Hidden,
        made: vec![vec![1; engine.dims().gpt.num_vq]; context],
    });
    let rows = rows.collect();
    engine.prefill(rows).unwrap()
}

fn decode_step(c: &mut Criterion) {
    let dir = model();
    let dims = Dims::load(&dir).unwrap();
    for (name, precision) in [("int8", Precision::Int8), ("bf16", Precision::Bf16), ("f32", Precision::F32)] {
        let mut group = c.benchmark_group(format!("decode_step/{name}"));
        group.sample_size(20).measurement_time(Duration::from_secs(4));
        let mut engine =
            CpuEngine::load(&dir, &dims, CpuOptions { precision, slots: 8, ..CpuOptions::default() }).unwrap();
        group.throughput(Throughput::Bytes(engine.step_bytes() as u64));
        for batch in [1, 2, 4, 8] {
            group.bench_function(BenchmarkId::from_parameter(batch), |b| {
                // Each round starts at a context of 200 and stays below 400, as in the baseline's measurement.
                b.iter_custom(|iterations| {
                    let (mut total, mut done) = (Duration::ZERO, 0);
                    while done < iterations {
                        let slots = start(&mut engine, &dir, batch, 180);
                        let round = (iterations - done).min(200);
                        let begin = Instant::now();
                        for _ in 0..round {
                            black_box(engine.step(&slots).unwrap());
                        }
                        total += begin.elapsed();
                        done += round;
                        slots.into_iter().for_each(|s| engine.release(s).unwrap());
                    }
                    total
                });
            });
        }
        group.finish();
    }
}

fn read_bandwidth(c: &mut Criterion) {
    let team = Team::for_machine();
    let mut group = c.benchmark_group("read_bandwidth");
    group.sample_size(20);
    // The size of the int8 weights, and one that no cache holds.
    for megabytes in [189, 1024] {
        let probe = voxwire::machine::ReadProbe::new(megabytes << 20).unwrap();
        group.throughput(Throughput::Bytes(probe.bytes() as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{megabytes}MB")), |b| {
            b.iter(|| black_box(probe.read(&team)));
        });
    }
    group.finish();
}

criterion_group!(benches, read_bandwidth, decode_step);
criterion_main!(benches);
