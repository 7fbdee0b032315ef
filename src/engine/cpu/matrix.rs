//! Weight matrices and their products with a few activation rows.
//!
//! A product reads each weight once from memory whatever the number of rows: four weight rows at a time, taken from
//! four distant places so that the hardware follows four streams (one stream reaches about half the machine's
//! bandwidth), and all activation rows against them while they are in the first-level cache.
//!
//! int8 products are exact integers: weights are int8 with one scale per row, activations 16-bit with one scale per
//! vector. The activation range of a matrix is chosen at load from its largest row sum of magnitudes, so that no
//! 32-bit sum can overflow; for the published model that leaves 13 to 15 bits.

use half::bf16;

use super::arena::{Arena, ArenaSlice};
use super::simd::{Isa, LANES, Simd, dispatch};
use crate::model::weights::Tensor;
use crate::parallel::Team;

/// Row strides are multiples of this many elements, so that kernels need no tails.
pub const STRIDE: usize = 64;

/// How the language model's weights are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As published; what parity with the Python package is measured on.
    F32,
    Bf16,
    /// int8 with a scale per output row: a quarter of the memory traffic, and the default.
    Int8,
}

impl Precision {
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::Bf16 => 2,
            Precision::Int8 => 1,
        }
    }
}

/// A `[rows, cols]` weight matrix, row-major.
pub struct Matrix {
    pub rows: usize,
    pub cols: usize,
    stride: usize,
    data: Data,
}

enum Data {
    F32(ArenaSlice<f32>),
    Bf16(ArenaSlice<bf16>),
    Int8 { weights: ArenaSlice<i8>, scales: Vec<f32>, activation_max: f32 },
}

pub fn stride(cols: usize) -> usize {
    cols.next_multiple_of(STRIDE)
}

/// Bytes of arena a matrix takes.
pub fn arena_bytes(rows: usize, cols: usize, precision: Precision) -> usize {
    Arena::padded(rows * stride(cols) * precision.bytes())
}

/// Activations as a matrix wants them, for up to the forward pass's maximum number of rows.
#[derive(Default)]
pub struct Activations {
    floats: Vec<f32>,
    ints: Vec<i16>,
    scales: Vec<f32>,
    stride: usize,
}

impl Matrix {
    /// Converts a tensor read from a file; its mapped pages are given back afterwards.
    pub fn from_tensor(arena: &mut Arena, tensor: &Tensor<'_>, precision: Precision, team: &Team) -> Self {
        let matrix = Self::from_rows(arena, (tensor.shape[0], tensor.shape[1]), precision, team, |row, out| {
            tensor.read_f32(row * out.len(), out);
        });
        tensor.release_pages();
        matrix
    }

    /// Converts `rows x cols` values that `read(row, out)` delivers row by row.
    pub fn from_rows(
        arena: &mut Arena,
        (rows, cols): (usize, usize),
        precision: Precision,
        team: &Team,
        read: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Self {
        let stride = stride(cols);
        let data = match precision {
            Precision::F32 => {
                let mut weights: ArenaSlice<f32> = arena.take(rows * stride);
                each_row(team, weights.rows_mut(stride), cols, &read, |row, out| out[..cols].copy_from_slice(row));
                Data::F32(weights)
            }
            Precision::Bf16 => {
                let mut weights: ArenaSlice<bf16> = arena.take(rows * stride);
                each_row(team, weights.rows_mut(stride), cols, &read, |row, out| {
                    row.iter().zip(out).for_each(|(x, o)| *o = bf16::from_f32(*x));
                });
                Data::Bf16(weights)
            }
            Precision::Int8 => {
                let mut weights: ArenaSlice<i8> = arena.take(rows * stride);
                let mut meta = vec![(0.0f32, 0i64); rows];
                let jobs: Vec<_> = weights.rows_mut(stride).into_iter().zip(meta.iter_mut()).collect();
                let isa = Isa::best();
                each_row(team, jobs, cols, &read, |row, (out, meta)| *meta = quantize_row(isa, row, out));
                let largest = meta.iter().map(|m| m.1).max().unwrap_or(0).max(1);
                let activation_max = (i64::from(i32::MAX) / largest).min(32_767) as f32;
                Data::Int8 { weights, scales: meta.into_iter().map(|m| m.0).collect(), activation_max }
            }
        };
        Self { rows, cols, stride, data }
    }

    /// Bytes a product reads: weights and scales.
    pub fn bytes(&self) -> usize {
        let weights = self.rows * self.stride;
        match &self.data {
            Data::F32(_) => weights * 4,
            Data::Bf16(_) => weights * 2,
            Data::Int8 { scales, .. } => weights + scales.len() * 4,
        }
    }

    /// Prepares `rows` activation vectors of `cols` values each (packed in `x`) for products with this matrix.
    pub fn prepare(&self, isa: Isa, x: &[f32], rows: usize, to: &mut Activations) {
        to.stride = self.stride;
        match &self.data {
            Data::Int8 { activation_max, .. } => {
                to.ints.resize(rows * self.stride, 0);
                to.scales.resize(rows, 0.0);
                for r in 0..rows {
                    let out = &mut to.ints[r * self.stride..(r + 1) * self.stride];
                    to.scales[r] =
                        quantize_activations(isa, &x[r * self.cols..(r + 1) * self.cols], *activation_max, out);
                }
            }
            _ => {
                to.floats.resize(rows * self.stride, 0.0);
                for r in 0..rows {
                    let out = &mut to.floats[r * self.stride..(r + 1) * self.stride];
                    out[..self.cols].copy_from_slice(&x[r * self.cols..(r + 1) * self.cols]);
                    out[self.cols..].fill(0.0);
                }
            }
        }
    }

    /// `out[r][n - range.start] = row n of the matrix . activation r`, for the weight rows in `range`. Rows of `out`
    /// are `out_stride` apart.
    pub fn multiply(
        &self,
        isa: Isa,
        activations: &Activations,
        rows: usize,
        range: std::ops::Range<usize>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        assert!(activations.stride == self.stride && range.end <= self.rows);
        assert!(rows == 0 || range.is_empty() || (rows - 1) * out_stride + range.len() <= out.len());
        let shape = Shape { stride: self.stride, rows, out_stride };
        match &self.data {
            Data::F32(w) => {
                let x = &activations.floats[..rows * self.stride];
                multiply_f32(isa, &w[range.start * self.stride..range.end * self.stride], x, out, shape);
            }
            Data::Bf16(w) => {
                let x = &activations.floats[..rows * self.stride];
                multiply_bf16(isa, &w[range.start * self.stride..range.end * self.stride], x, out, shape);
            }
            Data::Int8 { weights, scales, .. } => {
                let x = Ints { x: &activations.ints[..rows * self.stride], scales: &activations.scales[..rows] };
                let w = &weights[range.start * self.stride..range.end * self.stride];
                multiply_i8(isa, w, &scales[range], x, out, shape);
            }
        }
    }
}

/// Converts rows in parallel: `convert(values, target)` for each row's target.
fn each_row<T: Send>(
    team: &Team,
    targets: Vec<T>,
    cols: usize,
    read: &(impl Fn(usize, &mut [f32]) + Sync),
    convert: impl Fn(&[f32], T) + Sync,
) {
    let (n, threads) = (targets.len(), team.threads());
    let mut targets = targets.into_iter();
    let shares: Vec<_> = (0..threads)
        .map(|m| {
            let range = Team::range(n, threads, m, 1);
            (range.start, std::sync::Mutex::new(targets.by_ref().take(range.len()).collect::<Vec<T>>()))
        })
        .collect();
    team.run(|member| {
        let (start, share) = &shares[member];
        let share = std::mem::take(&mut *share.lock().expect("each share is locked by one member once"));
        let mut row = vec![0.0; cols];
        for (i, target) in share.into_iter().enumerate() {
            read(start + i, &mut row);
            convert(&row, target);
        }
    });
}

dispatch! {
    /// Fills `out` and returns the row's scale and its sum of magnitudes.
    fn quantize_row(row: &[f32], out: &mut [i8]) -> (f32, i64) = quantize_row_in
}

/// Plain Rust: compiled for the instruction set it becomes vectors, and rounds without a call.
///
/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // `dispatch` names the set by it
unsafe fn quantize_row_in<S: Simd>(row: &[f32], out: &mut [i8]) -> (f32, i64) {
    let largest = row.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let inverse = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let mut sum = 0;
    for (x, o) in row.iter().zip(out) {
        *o = (x * inverse).round_ties_even() as i8;
        sum += i64::from(o.unsigned_abs());
    }
    (largest / 127.0, sum)
}

dispatch! {
    /// Rounds a vector to integers of magnitude at most `limit` and returns the scale that undoes it: NaN when the
    /// vector is not finite, so that the fault reaches the row's results. `out` beyond the vector is zeroed.
    fn quantize_activations(x: &[f32], limit: f32, out: &mut [i16]) -> f32 = quantize_activations_in
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn quantize_activations_in<S: Simd>(x: &[f32], limit: f32, out: &mut [i16]) -> f32 {
    let whole = x.len() / LANES * LANES;
    let mut tail = [0.0; LANES];
    tail[..x.len() - whole].copy_from_slice(&x[whole..]);
    // SAFETY: loads and stores stay inside `x[..whole]`, `tail` and `out`, whose bounds are checked by slicing.
    unsafe {
        // Infinities and NaNs leave a NaN in `poison`, whatever the maximum does with them.
        let (mut largest, mut poison) = (S::abs(S::load(tail.as_ptr())), S::splat(0.0));
        for chunk in x[..whole].chunks_exact(LANES).chain(std::iter::once(&tail[..])) {
            let v = S::load(chunk.as_ptr());
            largest = S::max(S::abs(v), largest);
            poison = S::add(poison, S::sub(v, v));
        }
        let largest = S::max_lane(largest);
        // Kept off zero so that the division below stays finite; an all-zero vector gives zeros all the same.
        let scale = largest.max(1e-30) / limit;
        let inverse = S::splat(limit / largest.max(1e-30));
        let mut targets = out.chunks_exact_mut(LANES);
        for chunk in x[..whole].chunks_exact(LANES).chain(std::iter::once(&tail[..])) {
            let Some(target) = targets.next() else { break };
            S::store_i16(target.as_mut_ptr(), S::mul(S::load(chunk.as_ptr()), inverse));
        }
        targets.for_each(|t| t.fill(0));
        if S::sum(poison) == 0.0 { scale } else { f32::NAN }
    }
}

#[derive(Clone, Copy)]
struct Shape {
    stride: usize,
    rows: usize,
    out_stride: usize,
}

#[derive(Clone, Copy)]
struct Ints<'a> {
    x: &'a [i16],
    scales: &'a [f32],
}

dispatch! { fn multiply_f32(w: &[f32], x: &[f32], out: &mut [f32], s: Shape) = multiply_f32_in }
dispatch! { fn multiply_bf16(w: &[bf16], x: &[f32], out: &mut [f32], s: Shape) = multiply_bf16_in }
dispatch! { fn multiply_i8(w: &[i8], scales: &[f32], x: Ints<'_>, out: &mut [f32], s: Shape) = multiply_i8_in }

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn multiply_f32_in<S: Simd>(w: &[f32], x: &[f32], out: &mut [f32], s: Shape) {
    // SAFETY: the caller runs code compiled for `S`; likewise below.
    unsafe { walk(w, s, |w4, row4| float_rows::<S, f32>(w4, row4, x, out, s, |p| S::load(p))) }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn multiply_bf16_in<S: Simd>(w: &[bf16], x: &[f32], out: &mut [f32], s: Shape) {
    // SAFETY: as above.
    unsafe { walk(w, s, |w4, row4| float_rows::<S, bf16>(w4, row4, x, out, s, |p| S::load_bf16(p))) }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn multiply_i8_in<S: Simd>(w: &[i8], scales: &[f32], x: Ints<'_>, out: &mut [f32], s: Shape) {
    // SAFETY: as above.
    unsafe { walk(w, s, |w4, row4| int_rows::<S>(w4, row4, scales, x, out, s)) }
}

/// Visits all weight rows four at a time, one from each quarter; the last visit of an uneven range repeats rows, which
/// recomputes the same values.
#[inline(always)]
fn walk<T>(w: &[T], s: Shape, mut visit: impl FnMut([*const T; 4], [usize; 4])) {
    let rows = w.len() / s.stride;
    let quarter = rows.div_ceil(4);
    for i in 0..quarter {
        let at: [usize; 4] = std::array::from_fn(|q| (q * quarter + i).min(rows - 1));
        visit(at.map(|row| w[row * s.stride..].as_ptr()), at);
    }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn float_rows<S: Simd, T>(
    w4: [*const T; 4],
    at: [usize; 4],
    x: &[f32],
    out: &mut [f32],
    s: Shape,
    load: impl Fn(*const T) -> S::F + Copy,
) {
    let mut r = 0;
    while r < s.rows {
        // SAFETY: `walk` gives pointers to whole rows of `stride` weights, and `x` holds `rows` rows of `stride`.
        unsafe {
            if S::FLOAT_TILE >= 4 && s.rows - r >= 4 {
                float_tile::<S, T, 4>(w4, at, x, out, s, r, load);
                r += 4;
            } else if S::FLOAT_TILE >= 2 && s.rows - r >= 2 {
                float_tile::<S, T, 2>(w4, at, x, out, s, r, load);
                r += 2;
            } else {
                float_tile::<S, T, 1>(w4, at, x, out, s, r, load);
                r += 1;
            }
        }
    }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn float_tile<S: Simd, T, const B: usize>(
    w4: [*const T; 4],
    at: [usize; 4],
    x: &[f32],
    out: &mut [f32],
    s: Shape,
    first: usize,
    load: impl Fn(*const T) -> S::F,
) {
    // SAFETY: offsets stay below `stride` within each row; see the caller.
    unsafe {
        let xs: [*const f32; B] = std::array::from_fn(|b| x[(first + b) * s.stride..].as_ptr());
        let mut acc = [[S::splat(0.0); B]; 4];
        for k in (0..s.stride).step_by(LANES) {
            let xv: [S::F; B] = std::array::from_fn(|b| S::load(xs[b].add(k)));
            for q in 0..4 {
                let w = load(w4[q].add(k));
                for b in 0..B {
                    acc[q][b] = S::fma(w, xv[b], acc[q][b]);
                }
            }
        }
        for q in 0..4 {
            for b in 0..B {
                out[(first + b) * s.out_stride + at[q]] = S::sum(acc[q][b]);
            }
        }
    }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn int_rows<S: Simd>(
    w4: [*const i8; 4],
    at: [usize; 4],
    scales: &[f32],
    x: Ints<'_>,
    out: &mut [f32],
    s: Shape,
) {
    let mut r = 0;
    while r < s.rows {
        // SAFETY: as in `float_rows`.
        unsafe {
            if S::INT_TILE >= 4 && s.rows - r >= 4 {
                int_tile::<S, 4>(w4, at, scales, x, out, s, r);
                r += 4;
            } else if S::INT_TILE >= 2 && s.rows - r >= 2 {
                int_tile::<S, 2>(w4, at, scales, x, out, s, r);
                r += 2;
            } else {
                int_tile::<S, 1>(w4, at, scales, x, out, s, r);
                r += 1;
            }
        }
    }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn int_tile<S: Simd, const B: usize>(
    w4: [*const i8; 4],
    at: [usize; 4],
    scales: &[f32],
    x: Ints<'_>,
    out: &mut [f32],
    s: Shape,
    first: usize,
) {
    // SAFETY: offsets stay below `stride` within each row, a multiple of 64; prefetched addresses are only hints.
    unsafe {
        let xs: [*const i16; B] = std::array::from_fn(|b| x.x[(first + b) * s.stride..].as_ptr());
        let mut acc = [[S::zero_i(); B]; 4];
        // One product per sum and round: LLVM splits `vpdpwssd` in two where a round has a chain of them.
        for k in (0..s.stride).step_by(32) {
            for q in 0..4 {
                S::prefetch(w4[q].wrapping_add(k + PREFETCH));
                for b in 0..B {
                    acc[q][b] = S::dot_i8(acc[q][b], w4[q].add(k), xs[b].add(k));
                }
            }
        }
        for b in 0..B {
            let sums = S::sum4_i(std::array::from_fn(|q| acc[q][b]));
            let row = &mut out[(first + b) * s.out_stride..];
            for q in 0..4 {
                row[at[q]] = sums[q] as f32 * (scales[at[q]] * x.scales[first + b]);
            }
        }
    }
}

/// Bytes ahead of the current position that are fetched: rows of a stream follow each other in memory.
const PREFETCH: usize = 1024;

#[cfg(test)]
mod tests {
    use super::super::arena::Pages;
    use super::*;
    use crate::model::rng::Philox;

    fn values(seed: u64, n: usize) -> Vec<f32> {
        let rng = Philox::new(seed);
        (0..n).map(|i| rng.uniform(i as u32, 0, 0) * 2.0 - 1.0).collect()
    }

    fn matrix(arena: &mut Arena, w: &[f32], rows: usize, cols: usize, precision: Precision) -> Matrix {
        let team = Team::new(2);
        Matrix::from_rows(arena, (rows, cols), precision, &team, |r, out| {
            out.copy_from_slice(&w[r * cols..(r + 1) * cols]);
        })
    }

    fn product(m: &Matrix, isa: Isa, x: &[f32], rows: usize) -> Vec<f32> {
        let mut activations = Activations::default();
        let mut out = vec![f32::NAN; rows * m.rows];
        m.prepare(isa, x, rows, &mut activations);
        m.multiply(isa, &activations, rows, 0..m.rows, &mut out, m.rows);
        out
    }

    #[test]
    fn every_instruction_set_gives_the_scalar_bits_at_every_batch() {
        for (rows, cols) in [(1, 16), (7, 64), (626, 192), (37, 160), (64, 3072), (5, 100)] {
            let (w, x) = (values(1, rows * cols), values(2, 9 * cols));
            for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
                let mut arena = Arena::new(arena_bytes(rows, cols, precision), Pages::Huge).unwrap();
                let m = matrix(&mut arena, &w, rows, cols, precision);
                let single: Vec<f32> =
                    (0..9).flat_map(|r| product(&m, Isa::scalar(), &x[r * cols..(r + 1) * cols], 1)).collect();
                for isa in Isa::available() {
                    for batch in [1, 2, 3, 4, 6, 9] {
                        let out = product(&m, isa, &x[..batch * cols], batch);
                        let same = out.iter().zip(&single).all(|(a, b)| a.to_bits() == b.to_bits());
                        assert!(same, "{} {precision:?} {rows}x{cols} batch {batch}", isa.name());
                    }
                }
            }
        }
    }

    #[test]
    fn products_are_close_to_f64() {
        let (rows, cols) = (50, 768);
        let (w, x) = (values(3, rows * cols), values(4, cols));
        for (precision, tolerance) in [(Precision::F32, 1e-5), (Precision::Bf16, 2e-2), (Precision::Int8, 5e-2)] {
            let mut arena = Arena::new(arena_bytes(rows, cols, precision), Pages::Huge).unwrap();
            let out = product(&matrix(&mut arena, &w, rows, cols, precision), Isa::best(), &x, 1);
            for (r, y) in out.iter().enumerate() {
                let row = &w[r * cols..(r + 1) * cols];
                let exact: f64 = row.iter().zip(&x).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let size = (cols as f64).sqrt() / 3.0;
                assert!((f64::from(*y) - exact).abs() < tolerance * size, "{precision:?} row {r}: {y} {exact}");
            }
        }
    }

    #[test]
    fn the_largest_sums_do_not_overflow() {
        let cols = 3072;
        let (w, x) = (vec![1.0; 4 * cols], vec![1.0; cols]);
        let mut arena = Arena::new(arena_bytes(4, cols, Precision::Int8), Pages::Huge).unwrap();
        let m = matrix(&mut arena, &w, 4, cols, Precision::Int8);
        for isa in Isa::available() {
            for y in product(&m, isa, &x, 1) {
                assert!((y - cols as f32).abs() < 0.5, "{}: {y}", isa.name());
            }
        }
    }

    #[test]
    fn a_vector_that_is_not_finite_poisons_its_own_row_only() {
        let cols = 100;
        let w = values(5, 8 * cols);
        for precision in [Precision::F32, Precision::Int8] {
            let mut arena = Arena::new(arena_bytes(8, cols, precision), Pages::Huge).unwrap();
            let m = matrix(&mut arena, &w, 8, cols, precision);
            for bad in [f32::NAN, f32::INFINITY] {
                let mut x = values(6, 2 * cols);
                x[97] = bad;
                let out = product(&m, Isa::best(), &x, 2);
                assert!(out[..8].iter().all(|y| !y.is_finite()));
                assert!(out[8..].iter().all(|y| y.is_finite()));
            }
        }
    }
}
