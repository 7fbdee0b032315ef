//! What this machine can do: measured, not assumed.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::engine::cpu::arena::{Arena, ArenaSlice, Pages};
use crate::engine::cpu::{CpuEngine, CpuOptions, LoadError};
use crate::engine::{DecodeJob, Engine, EngineError, Row};
use crate::model::dims::{Dims, DimsError};
use crate::model::prompt::{DecodePath, Prompt, PromptVoice};
use crate::model::sampling::Sampling;
use crate::model::tokenizer::{Tokenizer, TokenizerError};
use crate::parallel::Team;

/// Streams each member reads at once: one stream reaches about half the bandwidth, four nearly all of it.
const STREAMS: usize = 4;

/// Steps decoded at once while measuring: the session's largest chunk.
const CHUNK_STEPS: usize = 24;

/// Measures how fast a block of memory can be read, which bounds a decode step: a step reads every weight once.
pub struct ReadProbe {
    block: ArenaSlice<f32>,
}

impl ReadProbe {
    /// A block of `bytes`, in huge pages where the system has them, written once so that its pages exist.
    ///
    /// # Errors
    /// When the memory cannot be had.
    pub fn new(bytes: usize) -> std::io::Result<Self> {
        let mut arena = Arena::new(bytes, Pages::Huge)?;
        let mut block: ArenaSlice<f32> = arena.take(bytes / size_of::<f32>());
        block.fill(1.0);
        Ok(Self { block })
    }

    pub fn bytes(&self) -> usize {
        self.block.len() * size_of::<f32>()
    }

    /// Reads the block once and returns a sum of it, so that the reading cannot be left out.
    pub fn read(&self, team: &Team) -> u32 {
        let threads = team.threads();
        let sum = std::sync::atomic::AtomicU32::new(0);
        let block = &self.block[..];
        team.run(|m| {
            let share = &block[Team::range(block.len(), threads, m, 64)];
            let quarter = share.len() / STREAMS / 64 * 64;
            let streams: [&[f32]; STREAMS] = std::array::from_fn(|i| &share[i * quarter..(i + 1) * quarter]);
            let mut acc = [0u32; 64];
            for at in (0..quarter).step_by(64) {
                for stream in streams {
                    for (a, x) in acc.iter_mut().zip(&stream[at..at + 64]) {
                        *a ^= x.to_bits();
                    }
                }
            }
            sum.fetch_xor(acc.into_iter().fold(0, |a, b| a ^ b), std::sync::atomic::Ordering::Relaxed);
        });
        sum.into_inner()
    }
}

/// Bytes per second that the team reads, measured for about `time`; `None` when the memory cannot be had.
pub fn read_bandwidth(team: &Team, bytes: usize, time: Duration) -> Option<f64> {
    let probe = ReadProbe::new(bytes).ok()?;
    let (began, mut passes) = (Instant::now(), 0u32);
    while began.elapsed() < time {
        std::hint::black_box(probe.read(team));
        passes += 1;
    }
    Some(f64::from(passes) * probe.bytes() as f64 / began.elapsed().as_secs_f64())
}

#[derive(Debug, thiserror::Error)]
pub enum RtfError {
    #[error(transparent)]
    Dims(#[from] DimsError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Speaks with the model in `dir` for about `time` and returns the real-time factor: compute time / audio time, the
/// prompt and the codec included, loading not.
pub fn measure_rtf(dir: &Path, time: Duration) -> Result<f64, RtfError> {
    let dims = Dims::load(dir)?;
    let tokenizer = Tokenizer::load(dir, dims.gpt.num_text_tokens)?;
    let hidden = dims.capabilities.decoder && dims.capabilities.use_decoder_default;
    let decode = if hidden { DecodePath::Hidden } else { DecodePath::Codes };
    let options = CpuOptions { slots: 1, paths: vec![decode], ..CpuOptions::default() };
    let mut engine = CpuEngine::load(dir, &dims, options)?;
    let prompt = Prompt::code(&tokenizer, "how fast is this machine", "[speed_5]", PromptVoice::default())?;
    let most = engine.capacity().positions.saturating_sub(prompt.len() + 1);
    let sampling = Sampling { min_steps: usize::MAX, ..Sampling::code(0) };
    let began = Instant::now();
    let slot = engine.prefill(vec![Row { prompt, sampling, decode, made: Vec::new() }])?[0];
    let mut steps = 0;
    while steps < most && began.elapsed() < time {
        engine.step(&[slot])?;
        steps += 1;
        if steps % CHUNK_STEPS == 0 {
            engine.decode(&[DecodeJob { slot, steps: CHUNK_STEPS, last: false }])?;
        }
    }
    engine.decode(&[DecodeJob { slot, steps: steps % CHUNK_STEPS, last: true }])?;
    Ok(began.elapsed().as_secs_f64() * dims.steps_per_second() / f64::from(steps as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_block_is_read() {
        let mut probe = ReadProbe::new(1 << 20).unwrap();
        let team = Team::new(2);
        let before = probe.read(&team);
        for at in [0, 1, 777, 100_000, probe.block.len() - 1] {
            probe.block[at] = 2.0;
            assert_ne!(probe.read(&team), before, "word {at}");
            probe.block[at] = 1.0;
        }
    }

    #[test]
    fn figures_are_plausible() {
        let rate = read_bandwidth(&Team::new(1), 64 << 20, Duration::from_millis(50)).unwrap();
        assert!((1e8..1e13).contains(&rate), "{rate}");
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny");
        let rtf = measure_rtf(&model, Duration::from_millis(50)).unwrap();
        assert!(rtf > 0.0 && rtf < 100.0, "{rtf}");
    }
}
