//! When finished steps are decoded: the first chunk small so that sound comes early, then growing so that the codec
//! works in efficient batches.

/// Sizes in steps, after the codec's look-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPlan {
    pub first: usize,
    pub largest: usize,
}

impl Default for ChunkPlan {
    /// 4 steps are 85 ms of sound, 24 are half a second.
    fn default() -> Self {
        Self { first: 4, largest: 24 }
    }
}

/// Where one piece stands in its plan.
#[derive(Clone, Copy, Debug)]
pub struct Chunks {
    plan: ChunkPlan,
    /// Steps the next chunk waits for.
    next: usize,
    begun: bool,
}

impl Chunks {
    /// Nothing comes out of the codec before `lookahead` steps have gone in, so the first chunk takes them along.
    pub fn new(plan: ChunkPlan, lookahead: usize) -> Self {
        Self { plan, next: plan.first + lookahead, begun: false }
    }

    /// Whether the next chunk is full.
    pub fn is_due(&self, waiting: usize) -> bool {
        waiting >= self.next
    }

    /// How many of the `waiting` steps to decode now: none until the next chunk is full, all once the piece has ended.
    pub fn due(&mut self, waiting: usize, ended: bool) -> usize {
        if !ended && waiting < self.next {
            return 0;
        }
        self.next = if self.begun { (self.next * 2).min(self.plan.largest) } else { self.plan.first };
        self.begun = true;
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_start_small_and_grow() {
        let mut chunks = Chunks::new(ChunkPlan::default(), 52);
        let (mut waiting, mut sizes) = (0, Vec::new());
        for _ in 0..200 {
            waiting += 1;
            let n = chunks.due(waiting, false);
            if n > 0 {
                sizes.push(n);
                waiting -= n;
            }
        }
        assert_eq!(sizes, [56, 4, 8, 16, 24, 24, 24, 24]);
        assert_eq!(chunks.due(waiting, true), waiting);
    }
}
