//! AVX-512 with VNNI: one register is sixteen lanes, and `vpdpwssd` multiplies 32 pairs.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::Simd;

#[derive(Clone, Copy)]
pub struct Avx512;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// SAFETY: used only through `dispatch`, inside functions that enable these instructions; each method's intrinsics
// touch at most the elements the trait's contract promises.
#[allow(clippy::missing_safety_doc)]
unsafe impl Simd for Avx512 {
    type F = __m512;
    type I = __m512i;
    const FLOAT_TILE: usize = 4;
    const INT_TILE: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::F {
        // SAFETY: see the impl; likewise for every block below.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_loadu_ps(p) }
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast())), 16)) }
    }

    #[inline(always)]
    unsafe fn store(p: *mut f32, x: Self::F) {
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_ps(p, x) }
    }

    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn div(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn abs(a: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_abs_ps(a) }
    }

    #[inline(always)]
    unsafe fn round(a: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_roundscale_ps::<NEAREST>(a) }
    }

    #[inline(always)]
    unsafe fn scale2(a: Self::F, n: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { _mm512_scalef_ps(a, n) }
    }

    #[inline(always)]
    unsafe fn sum(a: Self::F) -> f32 {
        // SAFETY: see the impl.
        unsafe {
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(a)));
            super::avx2::sum8(_mm256_add_ps(_mm512_castps512_ps256(a), high))
        }
    }

    #[inline(always)]
    unsafe fn max_lane(a: Self::F) -> f32 {
        // SAFETY: see the impl.
        unsafe { _mm512_reduce_max_ps(a) }
    }

    #[inline(always)]
    unsafe fn store_i16(p: *mut i16, x: Self::F) {
        // SAFETY: see the impl. The conversion rounds by the default mode: nearest, ties to even.
        unsafe { _mm256_storeu_si256(p.cast(), _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(x))) }
    }

    #[inline(always)]
    unsafe fn zero_i() -> Self::I {
        // SAFETY: see the impl.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn dot_i8(acc: Self::I, w: *const i8, x: *const i16) -> Self::I {
        // SAFETY: see the impl.
        unsafe {
            let w = _mm512_cvtepi8_epi16(_mm256_loadu_si256(w.cast()));
            _mm512_dpwssd_epi32(acc, w, _mm512_loadu_si512(x.cast()))
        }
    }

    #[inline(always)]
    unsafe fn sum_i(a: Self::I) -> i32 {
        // SAFETY: see the impl.
        unsafe { _mm512_reduce_add_epi32(a) }
    }

    #[inline(always)]
    unsafe fn sum4_i(a: [Self::I; 4]) -> [i32; 4] {
        // SAFETY: see the impl. Interleaving adds leaves each 128-bit part with [a0, a1, a2, a3]; then the parts add up.
        unsafe {
            let pair = |x, y| _mm512_add_epi32(_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y));
            let (low, high) = (pair(a[0], a[1]), pair(a[2], a[3]));
            let all = _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
            let half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all));
            super::avx2::store4(_mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half)))
        }
    }

    #[inline(always)]
    unsafe fn prefetch(p: *const i8) {
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p) }
    }
}
