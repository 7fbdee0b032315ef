//! Functions built from the primitives, so that they too give the same bits on every instruction set.

use super::Simd;

/// e^x, relative error below 2e-7. Inputs are clamped to -87..=88, where the result is a normal f32.
///
/// Cody-Waite reduction to |r| <= ln 2 / 2 and the degree-6 minimax polynomial of the Cephes library's `expf`.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
pub unsafe fn exp<S: Simd>(x: S::F) -> S::F {
    // SAFETY: the caller runs code compiled for `S`.
    unsafe {
        let c = |v| S::splat(v);
        let x = S::min(S::max(x, c(-87.0)), c(88.0));
        let n = S::round(S::mul(x, c(std::f32::consts::LOG2_E)));
        let r = S::fma(n, c(-0.693_359_4), x);
        let r = S::fma(n, c(2.121_944_4e-4), r);
        let mut p = c(1.987_569_1e-4);
        for k in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = S::fma(p, r, c(k));
        }
        let y = S::add(S::fma(p, S::mul(r, r), r), c(1.0));
        S::scale2(y, n)
    }
}
