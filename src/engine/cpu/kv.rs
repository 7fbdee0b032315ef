//! The key/value cache of one slot and the attention that reads it.
//!
//! Layout: `[layer][head][keys, values][position][head_dim]`, so that one head's keys are one linear stream and the
//! members of the team, who share out heads, never touch each other's memory.

use std::sync::atomic::{AtomicBool, Ordering};

use half::f16;

use super::arena::{Arena, ArenaSlice, Plain};
use super::simd::{Isa, LANES, Simd, dispatch, exp};

/// How keys and values are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvPrecision {
    F32,
    F16,
}

#[derive(Clone, Copy, Debug)]
pub struct KvShape {
    pub layers: usize,
    pub heads: usize,
    pub head_dim: usize,
    pub positions: usize,
}

impl KvShape {
    /// Head size rounded up to whole vectors; the rest stays zero.
    pub fn padded_dim(&self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    fn half_head(&self) -> usize {
        self.positions * self.padded_dim()
    }

    fn elements(&self) -> usize {
        self.layers * self.heads * 2 * self.half_head()
    }

    pub fn bytes(&self, precision: KvPrecision) -> usize {
        let size = if precision == KvPrecision::F32 { 4 } else { 2 };
        Arena::padded(self.elements() * size)
    }
}

pub struct KvCache {
    shape: KvShape,
    data: Data,
    /// A key or value was not finite. Softmax could turn an infinite score into ordinary weights, so from then on
    /// every result is NaN, which ends the row.
    poisoned: AtomicBool,
}

enum Data {
    F32(Cells<f32>),
    F16(Cells<f16>),
}

/// Memory that members of the team write in disjoint parts.
struct Cells<T> {
    start: *mut T,
    len: usize,
    /// Keeps the memory; never looked into, because that would be a reference to all of it.
    _slice: ArenaSlice<T>,
}

// SAFETY: `KvCache::attend` is the only access; its contract keeps concurrent calls on different heads.
unsafe impl<T: Plain> Send for Cells<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Cells<T> {}

impl<T: Plain> Cells<T> {
    fn new(mut slice: ArenaSlice<T>) -> Self {
        let (start, len) = (slice.as_mut_ptr(), slice.len());
        Self { start, len, _slice: slice }
    }

    /// # Safety
    /// No other reference into this range may be alive.
    #[allow(clippy::mut_from_ref)]
    unsafe fn range(&self, range: std::ops::Range<usize>) -> &mut [T] {
        assert!(range.end <= self.len);
        // SAFETY: inside the slice by the assertion, exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// One row's query, key and value of one head, `padded_dim` values each.
pub struct HeadRow<'a> {
    pub query: &'a [f32],
    pub key: &'a [f32],
    pub value: &'a [f32],
}

impl KvCache {
    pub fn new(arena: &mut Arena, shape: KvShape, precision: KvPrecision) -> Self {
        let data = match precision {
            KvPrecision::F32 => Data::F32(Cells::new(arena.take(shape.elements()))),
            KvPrecision::F16 => Data::F16(Cells::new(arena.take(shape.elements()))),
        };
        Self { shape, data, poisoned: AtomicBool::new(false) }
    }

    /// Ready for another row. What the last one left is overwritten before it is read.
    pub fn reset(&mut self) {
        *self.poisoned.get_mut() = false;
    }

    /// Stores the key and value at `position`, attends over positions 0..=position and writes `padded_dim` values to
    /// `out`. The query must already carry the 1/sqrt(head_dim).
    ///
    /// # Safety
    /// No other thread may be in a call with the same cache, layer and head.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn attend(
        &self,
        isa: Isa,
        layer: usize,
        head: usize,
        position: usize,
        row: HeadRow<'_>,
        scores: &mut Vec<f32>,
        out: &mut [f32],
    ) {
        let s = &self.shape;
        let dim = s.padded_dim();
        assert!(layer < s.layers && head < s.heads && position < s.positions);
        assert!([row.query.len(), row.key.len(), row.value.len(), out.len()].iter().all(|n| *n == dim));
        let keys_at = (layer * s.heads + head) * 2 * s.half_head();
        let values_at = keys_at + s.half_head();
        let (n, at) = (position + 1, position * dim);
        scores.resize(n.next_multiple_of(LANES), 0.0);
        // SAFETY: ranges of one (layer, head), which the caller keeps to one thread.
        unsafe {
            match &self.data {
                Data::F32(cells) => {
                    let keys = cells.range(keys_at..keys_at + n * dim);
                    let values = cells.range(values_at..values_at + n * dim);
                    keys[at..].copy_from_slice(row.key);
                    values[at..].copy_from_slice(row.value);
                    attend_f32(isa, row.query, keys, values, scores, out);
                }
                Data::F16(cells) => {
                    let keys = cells.range(keys_at..keys_at + n * dim);
                    let values = cells.range(values_at..values_at + n * dim);
                    // Beyond f16's range is infinity.
                    keys[at..].iter_mut().zip(row.key).for_each(|(k, x)| *k = f16::from_f32(*x));
                    values[at..].iter_mut().zip(row.value).for_each(|(v, x)| *v = f16::from_f32(*x));
                    attend_f16(isa, row.query, keys, values, scores, out);
                }
            }
        }
        // f16 holds up to 65,504.
        let largest = if matches!(self.data, Data::F16(_)) { f16::MAX.to_f32() } else { f32::MAX };
        if !row.key.iter().chain(row.value).all(|x| x.abs() <= largest) {
            self.poisoned.store(true, Ordering::Relaxed);
        }
        if self.poisoned.load(Ordering::Relaxed) {
            out.fill(f32::NAN);
        }
    }
}

dispatch! {
    fn attend_f32(q: &[f32], keys: &[f32], values: &[f32], scores: &mut [f32], out: &mut [f32]) = attend_f32_in
}
dispatch! {
    fn attend_f16(q: &[f32], keys: &[f16], values: &[f16], scores: &mut [f32], out: &mut [f32]) = attend_f16_in
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn attend_f32_in<S: Simd>(q: &[f32], keys: &[f32], values: &[f32], scores: &mut [f32], out: &mut [f32]) {
    // SAFETY: the caller runs code compiled for `S`; likewise below.
    unsafe { attend_in::<S, f32>(q, keys, values, scores, out, |p| S::load(p)) }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn attend_f16_in<S: Simd>(q: &[f32], keys: &[f16], values: &[f16], scores: &mut [f32], out: &mut [f32]) {
    // SAFETY: as above.
    unsafe { attend_in::<S, f16>(q, keys, values, scores, out, |p| S::load_f16(p)) }
}

/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn attend_in<S: Simd, T>(
    q: &[f32],
    keys: &[T],
    values: &[T],
    scores: &mut [f32],
    out: &mut [f32],
    load: impl Fn(*const T) -> S::F + Copy,
) {
    let dim = q.len();
    let n = keys.len() / dim;
    // SAFETY: every load lies in a row of `dim` values, a multiple of the lanes.
    unsafe {
        for ((score, key), value) in scores.iter_mut().zip(keys.chunks_exact(dim)).zip(values.chunks_exact(dim)) {
            fetch::<S, T>(value.as_ptr(), dim);
            let mut acc = S::splat(0.0);
            for d in (0..dim).step_by(LANES) {
                acc = S::fma(S::load(q[d..].as_ptr()), load(key[d..].as_ptr()), acc);
            }
            *score = S::sum(acc);
        }
        softmax_in::<S>(scores, n);
        // The next head's keys follow this head's values at the distance this head's keys stand before them.
        for t in 0..n {
            fetch::<S, T>(
                values.as_ptr().wrapping_add(values.as_ptr().offset_from(keys.as_ptr()) as usize + t * dim),
                dim,
            );
        }
        for d in (0..dim).step_by(4 * LANES) {
            match dim - d {
                LANES => mix::<S, T, 1>(values, dim, d, scores, out, load),
                32 => mix::<S, T, 2>(values, dim, d, scores, out, load),
                48 => mix::<S, T, 3>(values, dim, d, scores, out, load),
                _ => mix::<S, T, 4>(values, dim, d, scores, out, load),
            }
        }
    }
}

/// Asks for the `dim` values at `p`, so that the memory works on two streams while the processor works on one: alone,
/// the keys' stream reaches half the bandwidth (2026-11, Sapphire Rapids).
///
/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn fetch<S: Simd, T>(p: *const T, dim: usize) {
    for line in (0..dim * size_of::<T>()).step_by(64) {
        // SAFETY: a prefetch is a hint; any address will do.
        unsafe { S::prefetch(p.cast::<i8>().wrapping_add(line)) }
    }
}

/// `out[d..] = sum over positions of scores[t] * values[t][d..]`, for `N` vectors.
///
/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn mix<S: Simd, T, const N: usize>(
    values: &[T],
    dim: usize,
    d: usize,
    scores: &[f32],
    out: &mut [f32],
    load: impl Fn(*const T) -> S::F,
) {
    // SAFETY: `d + N * LANES <= dim`; see the caller.
    unsafe {
        let mut acc = [S::splat(0.0); N];
        for (score, value) in scores.iter().zip(values.chunks_exact(dim)) {
            let weight = S::splat(*score);
            for (i, acc) in acc.iter_mut().enumerate() {
                *acc = S::fma(weight, load(value[d + i * LANES..].as_ptr()), *acc);
            }
        }
        for (i, acc) in acc.into_iter().enumerate() {
            S::store(out[d + i * LANES..][..LANES].as_mut_ptr(), acc);
        }
    }
}

/// Softmax over the first `n` of `scores`, whose length is `n` rounded up to whole vectors.
///
/// # Safety
/// Only inside code compiled for `S`; see [`Simd`].
#[inline(always)]
unsafe fn softmax_in<S: Simd>(scores: &mut [f32], n: usize) {
    scores[n..].fill(f32::NEG_INFINITY);
    // SAFETY: the length is a multiple of the lanes.
    unsafe {
        let mut largest = S::splat(f32::NEG_INFINITY);
        for chunk in scores.chunks_exact(LANES) {
            largest = S::max(largest, S::load(chunk.as_ptr()));
        }
        let largest = S::splat(S::max_lane(largest));
        for chunk in scores.chunks_exact_mut(LANES) {
            S::store(chunk.as_mut_ptr(), exp::<S>(S::sub(S::load(chunk.as_ptr()), largest)));
        }
        // The padding's exponentials are tiny but not zero; a sum must not depend on how much padding there is.
        scores[n..].fill(0.0);
        let mut total = S::splat(0.0);
        for chunk in scores.chunks_exact(LANES) {
            total = S::add(total, S::load(chunk.as_ptr()));
        }
        let total = S::splat(S::sum(total));
        for chunk in scores.chunks_exact_mut(LANES) {
            S::store(chunk.as_mut_ptr(), S::div(S::load(chunk.as_ptr()), total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Pages;
    use super::*;
    use crate::model::rng::Philox;

    fn run(isa: Isa, precision: KvPrecision, head_dim: usize, positions: usize) -> Vec<f32> {
        let shape = KvShape { layers: 2, heads: 3, head_dim, positions };
        let mut arena = Arena::new(shape.bytes(precision), Pages::Small).unwrap();
        let cache = KvCache::new(&mut arena, shape, precision);
        let rng = Philox::new(9);
        let (mut scores, mut all) = (Vec::new(), Vec::new());
        for t in 0..positions {
            let row = |which: u32| -> Vec<f32> {
                (0..shape.padded_dim())
                    .map(|d| if d < head_dim { rng.uniform(d as u32, which, t as u32) * 4.0 - 2.0 } else { 0.0 })
                    .collect()
            };
            let (query, key, value) = (row(0), row(1), row(2));
            let mut out = vec![0.0; shape.padded_dim()];
            let row = HeadRow { query: &query, key: &key, value: &value };
            // SAFETY: one thread.
            unsafe { cache.attend(isa, 1, 2, t, row, &mut scores, &mut out) };
            all.extend_from_slice(&out[..head_dim]);
        }
        all
    }

    /// Plain f64 attention over the same values.
    fn exact(head_dim: usize, positions: usize) -> Vec<f64> {
        let rng = Philox::new(9);
        let at = |which: u32, t: usize, d: usize| f64::from(rng.uniform(d as u32, which, t as u32) * 4.0 - 2.0);
        let mut all = Vec::new();
        for t in 0..positions {
            let weights: Vec<f64> =
                (0..=t).map(|u| (0..head_dim).map(|d| at(0, t, d) * at(1, u, d)).sum::<f64>().exp()).collect();
            let total: f64 = weights.iter().sum();
            all.extend((0..head_dim).map(|d| (0..=t).map(|u| weights[u] * at(2, u, d)).sum::<f64>() / total));
        }
        all
    }

    #[test]
    fn a_key_that_is_not_finite_poisons_its_cache_until_the_reset() {
        let shape = KvShape { layers: 1, heads: 1, head_dim: 16, positions: 4 };
        for (precision, bad) in
            [(KvPrecision::F16, 1e6), (KvPrecision::F32, f32::INFINITY), (KvPrecision::F16, f32::NAN)]
        {
            let mut arena = Arena::new(shape.bytes(precision), Pages::Small).unwrap();
            let mut cache = KvCache::new(&mut arena, shape, precision);
            let at = |cache: &KvCache, position, key: f32| {
                let (key, ones, mut out) = ([key; 16], [1.0; 16], [0.0; 16]);
                let row = HeadRow { query: &ones, key: &key, value: &ones };
                // SAFETY: one thread.
                unsafe { cache.attend(Isa::best(), 0, 0, position, row, &mut Vec::new(), &mut out) };
                out[0]
            };
            assert_eq!(at(&cache, 0, 1.0), 1.0);
            assert!(at(&cache, 1, bad).is_nan() && at(&cache, 2, 1.0).is_nan());
            cache.reset();
            assert_eq!(at(&cache, 0, 1.0), 1.0);
        }
    }

    #[test]
    fn attention_is_right_and_the_same_on_every_instruction_set() {
        for head_dim in [16, 20, 48, 64, 96] {
            let exact = exact(head_dim, 70);
            for (precision, tolerance) in [(KvPrecision::F32, 2e-5), (KvPrecision::F16, 1e-2)] {
                let scalar = run(Isa::scalar(), precision, head_dim, 70);
                let error = scalar.iter().zip(&exact).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
                assert!(error < tolerance, "{precision:?} {head_dim}: {error}");
                for isa in Isa::available() {
                    let out = run(isa, precision, head_dim, 70);
                    assert!(out.iter().zip(&scalar).all(|(a, b)| a.to_bits() == b.to_bits()), "{}", isa.name());
                }
            }
        }
    }
}
