//! What a convolution remembers between two pushes, and the buffer in which it meets the new frames.
//!
//! A same-size convolution of reach `pad` frames to either side starts with `pad` zero frames behind it and gets
//! `pad` more after the last real frame: *its own* zeros, whatever the layers before it would have computed there.
//! So each layer keeps the last `2 * pad` frames of its input, and gives as many frames as it can see both sides of.

use std::ops::Range;

/// Frames that the next layer is about to read: `[frames, channels]`, with room in front for what it remembers.
pub(super) struct Window {
    pub data: Vec<f32>,
    /// Where new frames start: floats of room in front of them.
    pub head: usize,
}

impl Window {
    pub fn new(head: usize, room: usize) -> Self {
        Self { data: vec![0.0; head + room], head }
    }

    /// The new frames, `[frames, channels]`.
    pub fn fresh(&self, frames: usize, channels: usize) -> &[f32] {
        &self.data[self.head..self.head + frames * channels]
    }

    /// Room for new frames, to the end of the buffer.
    pub fn fresh_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.head..]
    }
}

/// The tail of one layer's input.
pub(super) struct Carry {
    channels: usize,
    pad: usize,
    frames: usize,
    data: Vec<f32>,
}

/// What a layer may compute now: its input lies at `input` of the window and gives `outputs` frames, the first of
/// which is centred on the window's frame `pad`.
pub(super) struct Joined {
    pub input: Range<usize>,
    pub outputs: usize,
}

impl Carry {
    pub fn new(channels: usize, pad: usize) -> Self {
        Self { channels, pad, frames: pad, data: vec![0.0; 2 * pad * channels] }
    }

    /// Floats of room a window needs in front for this layer.
    pub fn head(&self) -> usize {
        2 * self.pad * self.channels
    }

    /// Back to the start of an utterance.
    pub fn reset(&mut self) {
        self.frames = self.pad;
        self.data.fill(0.0);
    }

    /// Puts what is remembered in front of the window's `frames` new frames (and, at the end of the utterance, this
    /// layer's own zeros behind them) and remembers the new tail.
    pub fn join(&mut self, window: &mut Window, frames: usize, last: bool) -> Joined {
        let (c, head) = (self.channels, window.head);
        let start = head - self.frames * c;
        window.data[start..head].copy_from_slice(&self.data[..self.frames * c]);
        let mut total = self.frames + frames;
        if last {
            let end = head + frames * c;
            window.data[end..end + self.pad * c].fill(0.0);
            total += self.pad;
        }
        let kept = total.min(2 * self.pad);
        let end = start + total * c;
        self.data[..kept * c].copy_from_slice(&window.data[end - kept * c..end]);
        self.frames = kept;
        Joined { input: start..end, outputs: total.saturating_sub(2 * self.pad) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A one-channel sum over `2 * pad + 1` frames, fed in chunks.
    fn sums(input: &[f32], pad: usize, chunks: &[usize]) -> Vec<f32> {
        let mut carry = Carry::new(1, pad);
        let mut window = Window::new(carry.head(), input.len() + pad);
        let (mut out, mut at) = (Vec::new(), 0);
        for (i, n) in chunks.iter().enumerate() {
            window.fresh_mut()[..*n].copy_from_slice(&input[at..at + n]);
            at += n;
            let joined = carry.join(&mut window, *n, i + 1 == chunks.len());
            let seen = &window.data[joined.input];
            out.extend((0..joined.outputs).map(|j| seen[j..j + 2 * pad + 1].iter().sum::<f32>()));
        }
        assert_eq!(at, input.len());
        out
    }

    #[test]
    fn any_chunking_gives_the_padded_convolution() {
        let input: Vec<f32> = (1..=9).map(|x| x as f32).collect();
        for pad in [1, 3, 6] {
            let whole: Vec<f32> = (0..9i32)
                .map(|i| (i - pad..=i + pad).filter(|j| (0..9).contains(j)).map(|j| input[j as usize]).sum())
                .collect();
            for chunks in [&[9][..], &[1; 9], &[2, 7], &[3, 3, 3], &[0, 4, 0, 5, 0]] {
                assert_eq!(sums(&input, pad as usize, chunks), whole, "pad {pad}, chunks {chunks:?}");
            }
        }
        assert_eq!(sums(&[5.0], 6, &[1]), [5.0]);
    }
}
