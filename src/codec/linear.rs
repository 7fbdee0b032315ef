//! Dense layers: `out[row][o] = sum over k of input[row][k] * weight[o][k]`, then an elementwise epilogue.
//!
//! A dense convolution over `[frame][channel]` is one of these: the input of an output frame is `taps` neighbouring
//! frames, which lie side by side in memory, so a row is read in place with a stride of one frame.
//!
//! Weights are repacked at load into panels of a few output channels, `[panel][k][PANEL]`: the matrix product then
//! vectorises over output channels and is as fast for 8 rows as for 64, which it is not for weights used in place
//! (they would have to be transposed in every call, or vectorise over frames and waste most lanes in a first chunk).
//!
//! Huge pages for the panels were tried (2026-11, 2 Sapphire Rapids cores): 10% off a chunk, but 0.2 to 0.5 s more
//! to load, which a command that speaks one sentence never earns back.
//!
//! Every output is summed in the same order whatever the number of rows and threads, so the bits do not depend on
//! how an utterance is cut into chunks. That is why K is cut here, in blocks that `gemm` does not cut again, and why
//! no call has a single row (for which `gemm` takes another path).

use std::ops::Range;

use gemm::Parallelism;

use super::shared::Shared;
use super::simd;
use crate::parallel::Team;

/// K per call: at most what `gemm` runs as one block.
const DEPTH: usize = 512;

/// Rows per call: more would make `gemm` copy the panel (beyond 8 tiles of 6 rows).
const ROWS: usize = 48;

/// Rows of a matrix that may overlap (`stride` < `width` of the layer that reads them).
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub count: usize,
}

/// What happens to each output right after its sum, while it is in the cache.
#[derive(Clone, Copy)]
pub(super) enum Epilogue<'a> {
    Plain,
    Bias,
    BiasGelu,
    /// out *= scale.
    Scale(&'a [f32]),
    /// out = (out + bias) * scale + residual, the residual `[rows, outputs]`.
    Residual {
        scale: &'a [f32],
        residual: &'a [f32],
    },
}

/// One layer's weights.
pub(super) struct Linear {
    panels: Vec<f32>,
    panel: usize,
    inputs: usize,
    outputs: usize,
    bias: Vec<f32>,
}

impl Linear {
    /// Packs `weight`, `[outputs, channels, taps]` row-major as convolutions are stored; `taps` is 1 for a plain
    /// matrix. An input row is `[taps, channels]`.
    pub fn new(weight: &[f32], outputs: usize, channels: usize, taps: usize, bias: Vec<f32>) -> Self {
        assert_eq!(weight.len(), outputs * channels * taps);
        Self::packed(weight, (outputs, channels, taps), bias, panel_width())
    }

    fn packed(weight: &[f32], (outputs, channels, taps): (usize, usize, usize), bias: Vec<f32>, panel: usize) -> Self {
        let inputs = channels * taps;
        let mut panels = vec![0.0; outputs.div_ceil(panel) * panel * inputs];
        for (packed, rows) in panels.chunks_exact_mut(panel * inputs).zip(weight.chunks(panel * inputs)) {
            for tap in 0..taps {
                for c in 0..channels {
                    let to = &mut packed[(tap * channels + c) * panel..][..panel];
                    for (x, row) in to.iter_mut().zip(rows.chunks_exact(inputs)) {
                        *x = row[c * taps + tap];
                    }
                }
            }
        }
        Self { panels, panel, inputs, outputs, bias }
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Computes `input.count` rows into `out`, `[count, outputs]`, each member of the team some of the columns.
    /// `out` must have room for two rows even when there is only one.
    pub fn forward(&self, team: &Team, input: Rows<'_>, out: &mut [f32], epilogue: Epilogue<'_>) {
        let Some(past_first) = input.count.checked_sub(1) else { return };
        assert!(input.data.len() >= past_first * input.stride + self.inputs, "the input holds all rows");
        assert!(out.len() >= input.count.max(2) * self.outputs, "the output has room for all rows");
        let (out, threads) = (Shared::new(out), team.threads());
        team.run(|member| {
            for p in Team::range(self.outputs.div_ceil(self.panel), threads, member, 1) {
                let columns = p * self.panel..((p + 1) * self.panel).min(self.outputs);
                // SAFETY: each panel, and so each column range, belongs to one member only.
                unsafe {
                    self.multiply(p, input, columns.clone(), out);
                    self.finish(input.count, columns, out, epilogue);
                }
            }
        });
    }

    /// # Safety
    /// Nobody else may touch these columns of `out`. `forward` has checked the sizes.
    unsafe fn multiply(&self, p: usize, input: Rows<'_>, columns: Range<usize>, out: Shared<'_, f32>) {
        let panel = &self.panels[p * self.panel * self.inputs..][..self.panel * self.inputs];
        for depth in (0..self.inputs).step_by(DEPTH) {
            let k = DEPTH.min(self.inputs - depth);
            let mut row = 0;
            while row < input.count {
                // A single row is computed twice, and none is ever left alone at the end.
                let (rows, stride) = match input.count - row {
                    1 => (2, 0),
                    n if n == ROWS + 1 => (ROWS / 2, input.stride),
                    n => (n.min(ROWS), input.stride),
                };
                // SAFETY: the input rows and the panel are in bounds by `forward`'s assertions; of the output only
                // rows below max(count, 2) and the caller's own columns are written; `gemm` reads no destination
                // when told not to, and all three matrices are disjoint.
                unsafe {
                    gemm::gemm(
                        columns.len(),
                        rows,
                        k,
                        out.as_ptr().add(row * self.outputs + columns.start),
                        self.outputs as isize,
                        1,
                        depth > 0,
                        panel.as_ptr().add(depth * self.panel),
                        self.panel as isize,
                        1,
                        input.data.as_ptr().add(row * input.stride + depth),
                        stride as isize,
                        1,
                        1.0,
                        1.0,
                        false,
                        false,
                        false,
                        Parallelism::None,
                    );
                }
                row += rows;
            }
        }
    }

    /// # Safety
    /// Nobody else may touch these columns of `out`.
    unsafe fn finish(&self, rows: usize, columns: Range<usize>, out: Shared<'_, f32>, epilogue: Epilogue<'_>) {
        for r in 0..rows {
            let place = r * self.outputs + columns.start..r * self.outputs + columns.end;
            // SAFETY: the caller's promise.
            let row = unsafe { out.part(place.clone()) };
            match epilogue {
                Epilogue::Plain => return,
                Epilogue::Bias => simd::bias(row, &self.bias[columns.clone()]),
                Epilogue::BiasGelu => simd::bias_gelu(row, &self.bias[columns.clone()]),
                Epilogue::Scale(scale) => simd::scale(row, &scale[columns.clone()]),
                Epilogue::Residual { scale, residual } => {
                    let c = columns.clone();
                    simd::residual(row, &self.bias[c.clone()], &scale[c], &residual[place]);
                }
            }
        }
    }
}

/// Output channels per panel: what `gemm`'s kernel covers with all registers in use (four AVX-512 vectors by 6 rows;
/// elsewhere 16 channels, here two tiles of them), and a divisor of the model's widths that leaves two or four members
/// equal shares. 64 instead of 32 with AVX-512: 5% off a chunk (2026-11).
fn panel_width() -> usize {
    #[cfg(target_arch = "x86_64")]
    if simd::has_avx512() {
        return 64;
    }
    32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn a_row_alone_has_the_bits_it_has_among_others() {
        // Widths that fill panels and ones that do not; K of one block and of several; the panels of other machines.
        let shapes = [(64, 512, 1), (100, 30, 3), (1026, 64, 1), (48, 2048, 1), (2, 5, 7)];
        for ((outputs, channels, taps), panel) in shapes.into_iter().flat_map(|s| [(s, 32), (s, 64)]) {
            let weight = noise(outputs * channels * taps, 1);
            let layer = Linear::packed(&weight, (outputs, channels, taps), noise(outputs, 2), panel);
            let rows = 131;
            let data = noise((rows + taps) * channels, 3);
            let run = |team: &Team, first: usize, count: usize| {
                let mut out = vec![f32::NAN; count.max(2) * outputs];
                let input = Rows { data: &data[first * channels..], stride: channels, count };
                layer.forward(team, input, &mut out, Epilogue::Bias);
                out.truncate(count * outputs);
                out
            };
            let (one, three) = (Team::new(1), Team::new(3));
            let whole = run(&one, 0, rows);
            assert_eq!(run(&three, 0, rows), whole);
            for (first, count) in [(0, 1), (7, 2), (1, 3), (64, 49), (0, 50), (130, 1), (3, 48), (34, 97), (1, 129)] {
                assert_eq!(run(&one, first, count), whole[first * outputs..(first + count) * outputs]);
            }
            let exact = |row: usize, o: usize| {
                let sum = (0..channels * taps).map(|k| {
                    let (tap, c) = (k / channels, k % channels);
                    f64::from(data[row * channels + k]) * f64::from(weight[(o * channels + c) * taps + tap])
                });
                sum.sum::<f64>() + f64::from(layer.bias[o])
            };
            for (row, o) in [(0, 0), (77, outputs / 2), (130, outputs - 1)] {
                assert!((f64::from(whole[row * outputs + o]) - exact(row, o)).abs() < 1e-4);
            }
        }
    }
}
