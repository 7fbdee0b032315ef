//! How fast all cores together read memory: what a decode step, which reads every weight once, is bounded by.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use memmap2::MmapMut;

/// Bytes read over and over. Larger than most last-level caches, and cheap enough to be written once before.
const BUFFER: u64 = 512 << 20;
/// Under this, caches would be measured.
const SMALLEST: u64 = 64 << 20;
const DURATION: Duration = Duration::from_millis(300);
/// Streams per thread. One stream leaves a core waiting: four read about twice as much on a Zen 3 (2026-11).
const STREAMS: usize = 4;

/// Bytes per second, or `None` when a quarter of the free memory is too little to measure with.
pub(super) fn measure(threads: usize, free: u64) -> Option<f64> {
    let bytes = BUFFER.min(free / 4);
    if bytes < SMALLEST || threads == 0 {
        return None;
    }
    let each = bytes as usize / threads;
    let start = Barrier::new(threads);
    let rates = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| read_for(each, &start))).collect();
        workers.into_iter().map(|w| w.join().ok().flatten()).collect::<Vec<_>>()
    });
    rates.into_iter().sum()
}

/// One thread's own buffer, written so that it has pages of its own, then read for [`DURATION`].
fn read_for(bytes: usize, start: &Barrier) -> Option<f64> {
    let buffer = MmapMut::map_anon(bytes).ok().map(|mut map| {
        // 4 KiB pages cost a quarter of the bandwidth in TLB misses; where the advice is not taken, so be it.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        map.fill(1);
        map
    });
    // Before `?`: a thread that stays away would leave the others waiting.
    start.wait();
    let buffer = buffer?;
    let (began, mut passes) = (Instant::now(), 0u64);
    while began.elapsed() < DURATION {
        black_box(sum(black_box(&buffer)));
        passes += 1;
    }
    Some(passes as f64 * bytes as f64 / began.elapsed().as_secs_f64())
}

/// Adds up a buffer, [`STREAMS`] places at a time.
fn sum(bytes: &[u8]) -> u64 {
    const BLOCK: usize = 256;
    let quarter = bytes.len() / STREAMS / BLOCK * BLOCK;
    let mut lanes = [0u64; BLOCK / 8];
    for at in (0..quarter).step_by(BLOCK) {
        for stream in 0..STREAMS {
            let block = &bytes[stream * quarter + at..][..BLOCK];
            for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
                *lane = lane.wrapping_add(u64::from_ne_bytes(word.try_into().expect("chunks of 8 bytes")));
            }
        }
    }
    lanes.iter().fold(0, |a, b| a.wrapping_add(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read() {
        let bytes = vec![1u8; 1 << 16];
        assert_eq!(sum(&bytes), 0x0101_0101_0101_0101u64.wrapping_mul((1 << 16) / 8));
    }

    #[test]
    fn a_plausible_figure_or_none_when_memory_is_short() {
        assert_eq!(measure(2, 100 << 20), None);
        let rate = measure(1, 256 << 20).unwrap();
        assert!((1e8..1e13).contains(&rate), "{rate}");
    }
}
