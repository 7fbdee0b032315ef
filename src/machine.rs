//! What this machine can do: measured, not assumed.

use crate::engine::cpu::arena::{Arena, ArenaSlice, Pages};
use crate::parallel::Team;

/// Streams each member reads at once: one stream reaches about half the bandwidth, four nearly all of it.
const STREAMS: usize = 4;

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
