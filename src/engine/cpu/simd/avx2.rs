//! AVX2 with FMA and F16C: sixteen lanes are two registers.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::Simd;

#[derive(Clone, Copy)]
pub struct Avx2;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// The last three folds of the sixteen-lane sum: + 4, + 2, + 1.
///
/// # Safety
/// Needs AVX.
#[inline(always)]
pub(super) unsafe fn sum8(a: __m256) -> f32 {
    // SAFETY: the caller has AVX.
    unsafe {
        let a = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
        let a = _mm_add_ps(a, _mm_movehl_ps(a, a));
        _mm_cvtss_f32(_mm_add_ss(a, _mm_shuffle_ps::<1>(a, a)))
    }
}

/// # Safety
/// Needs SSE2, which every x86-64 has.
#[inline(always)]
pub(super) unsafe fn store4(a: __m128i) -> [i32; 4] {
    let mut out = [0; 4];
    // SAFETY: writes the sixteen bytes of `out`.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), a) }
    out
}

// SAFETY: used only through `dispatch`, inside functions that enable these instructions; each method's intrinsics
// touch at most the elements the trait's contract promises.
#[allow(clippy::missing_safety_doc)]
unsafe impl Simd for Avx2 {
    type F = [__m256; 2];
    type I = __m256i;
    const FLOAT_TILE: usize = 1;
    const INT_TILE: usize = 2;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::F {
        // SAFETY: see the impl; likewise for every block below.
        unsafe { [_mm256_set1_ps(x); 2] }
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))] }
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self::F {
        // SAFETY: see the impl.
        unsafe {
            let p: *const __m128i = p.cast();
            [_mm256_cvtph_ps(_mm_loadu_si128(p)), _mm256_cvtph_ps(_mm_loadu_si128(p.add(1)))]
        }
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self::F {
        // SAFETY: see the impl.
        unsafe {
            let p: *const __m128i = p.cast();
            let widen = |x| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x)));
            [widen(_mm_loadu_si128(p)), widen(_mm_loadu_si128(p.add(1)))]
        }
    }

    #[inline(always)]
    unsafe fn store(p: *mut f32, x: Self::F) {
        // SAFETY: see the impl.
        unsafe {
            _mm256_storeu_ps(p, x[0]);
            _mm256_storeu_ps(p.add(8), x[1]);
        }
    }

    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn div(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_min_ps(a[0], b[0]), _mm256_min_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn abs(a: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe {
            let sign = _mm256_set1_ps(-0.0);
            [_mm256_andnot_ps(sign, a[0]), _mm256_andnot_ps(sign, a[1])]
        }
    }

    #[inline(always)]
    unsafe fn round(a: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe { [_mm256_round_ps::<NEAREST>(a[0]), _mm256_round_ps::<NEAREST>(a[1])] }
    }

    #[inline(always)]
    unsafe fn scale2(a: Self::F, n: Self::F) -> Self::F {
        // SAFETY: see the impl.
        unsafe {
            let power = |n| {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
            };
            [_mm256_mul_ps(a[0], power(n[0])), _mm256_mul_ps(a[1], power(n[1]))]
        }
    }

    #[inline(always)]
    unsafe fn sum(a: Self::F) -> f32 {
        // SAFETY: see the impl.
        unsafe { sum8(_mm256_add_ps(a[0], a[1])) }
    }

    #[inline(always)]
    unsafe fn max_lane(a: Self::F) -> f32 {
        // SAFETY: see the impl.
        unsafe {
            let a = _mm256_max_ps(a[0], a[1]);
            let a = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let a = _mm_max_ps(a, _mm_movehl_ps(a, a));
            _mm_cvtss_f32(_mm_max_ss(a, _mm_shuffle_ps::<1>(a, a)))
        }
    }

    #[inline(always)]
    unsafe fn store_i16(p: *mut i16, x: Self::F) {
        // SAFETY: see the impl. The conversion rounds by the default mode: nearest, ties to even. `packs` works
        // within 128-bit halves, so the quarters come out as 0 2 1 3 and are put in order.
        unsafe {
            let packed = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
            _mm256_storeu_si256(p.cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
        }
    }

    #[inline(always)]
    unsafe fn zero_i() -> Self::I {
        // SAFETY: see the impl.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn dot_i8(acc: Self::I, w: *const i8, x: *const i16) -> Self::I {
        // SAFETY: see the impl.
        unsafe {
            let (w, x): (*const __m128i, *const __m256i) = (w.cast(), x.cast());
            let low = _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(w)), _mm256_loadu_si256(x));
            let high = _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(w.add(1))), _mm256_loadu_si256(x.add(1)));
            _mm256_add_epi32(acc, _mm256_add_epi32(low, high))
        }
    }

    #[inline(always)]
    unsafe fn sum_i(a: Self::I) -> i32 {
        // SAFETY: see the impl.
        unsafe {
            let a = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
            let a = _mm_add_epi32(a, _mm_unpackhi_epi64(a, a));
            _mm_cvtsi128_si32(_mm_add_epi32(a, _mm_shuffle_epi32::<1>(a)))
        }
    }

    #[inline(always)]
    unsafe fn sum4_i(a: [Self::I; 4]) -> [i32; 4] {
        // SAFETY: see the impl; as for AVX-512.
        unsafe {
            let pair = |x, y| _mm256_add_epi32(_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y));
            let (low, high) = (pair(a[0], a[1]), pair(a[2], a[3]));
            let all = _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
            store4(_mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all)))
        }
    }

    #[inline(always)]
    unsafe fn prefetch(p: *const i8) {
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p) }
    }
}
