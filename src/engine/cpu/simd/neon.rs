//! NEON: sixteen lanes are four registers.

use std::arch::aarch64::*;
use std::arch::asm;

use half::{bf16, f16};

use super::Simd;

#[derive(Clone, Copy)]
pub struct Neon;

type F = [float32x4_t; 4];

#[inline(always)]
fn each(f: impl FnMut(usize) -> float32x4_t) -> F {
    std::array::from_fn(f)
}

// SAFETY: NEON is part of every aarch64 target; each method's intrinsics touch at most the elements the trait's
// contract promises.
unsafe impl Simd for Neon {
    type F = F;
    type I = int32x4_t;
    const FLOAT_TILE: usize = 1;
    const INT_TILE: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> F {
        // SAFETY: see the impl; likewise for every block below.
        unsafe { [vdupq_n_f32(x); 4] }
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vld1q_f32(p.add(4 * i)) })
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> F {
        // Every NEON has the conversion, but its intrinsic came only with Rust 1.94.
        // SAFETY: see the impl.
        each(|i| unsafe {
            let wide: float32x4_t;
            let narrow = vld1_u16(p.cast::<u16>().add(4 * i));
            asm!("fcvtl {0:v}.4s, {1:v}.4h", out(vreg) wide, in(vreg) narrow, options(pure, nomem, nostack));
            wide
        })
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p.cast::<u16>().add(4 * i)))) })
    }

    #[inline(always)]
    unsafe fn store(p: *mut f32, x: F) {
        for (i, x) in x.into_iter().enumerate() {
            // SAFETY: see the impl.
            unsafe { vst1q_f32(p.add(4 * i), x) }
        }
    }

    #[inline(always)]
    unsafe fn add(a: F, b: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vaddq_f32(a[i], b[i]) })
    }

    #[inline(always)]
    unsafe fn sub(a: F, b: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vsubq_f32(a[i], b[i]) })
    }

    #[inline(always)]
    unsafe fn mul(a: F, b: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vmulq_f32(a[i], b[i]) })
    }

    #[inline(always)]
    unsafe fn div(a: F, b: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vdivq_f32(a[i], b[i]) })
    }

    #[inline(always)]
    unsafe fn fma(a: F, b: F, c: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vfmaq_f32(c[i], a[i], b[i]) })
    }

    // Selected by comparison, because NEON's own min and max return NaN where x86 returns the second operand.
    #[inline(always)]
    unsafe fn min(a: F, b: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vbslq_f32(vcltq_f32(a[i], b[i]), a[i], b[i]) })
    }

    #[inline(always)]
    unsafe fn max(a: F, b: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vbslq_f32(vcgtq_f32(a[i], b[i]), a[i], b[i]) })
    }

    #[inline(always)]
    unsafe fn abs(a: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vabsq_f32(a[i]) })
    }

    #[inline(always)]
    unsafe fn round(a: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe { vrndnq_f32(a[i]) })
    }

    #[inline(always)]
    unsafe fn scale2(a: F, n: F) -> F {
        // SAFETY: see the impl.
        each(|i| unsafe {
            let biased = vaddq_s32(vcvtnq_s32_f32(n[i]), vdupq_n_s32(127));
            vmulq_f32(a[i], vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased)))
        })
    }

    #[inline(always)]
    unsafe fn sum(a: F) -> f32 {
        // SAFETY: see the impl.
        unsafe {
            let a = vaddq_f32(vaddq_f32(a[0], a[2]), vaddq_f32(a[1], a[3]));
            let a = vadd_f32(vget_low_f32(a), vget_high_f32(a));
            vget_lane_f32::<0>(a) + vget_lane_f32::<1>(a)
        }
    }

    #[inline(always)]
    unsafe fn max_lane(a: F) -> f32 {
        // SAFETY: see the impl. These pass over NaNs, and all of them leave -inf, as in the reference.
        unsafe {
            let a = vmaxnmq_f32(vmaxnmq_f32(a[0], a[1]), vmaxnmq_f32(a[2], a[3]));
            vmaxnmvq_f32(vmaxnmq_f32(a, vdupq_n_f32(f32::NEG_INFINITY)))
        }
    }

    #[inline(always)]
    unsafe fn store_i16(p: *mut i16, x: F) {
        for (i, x) in x.into_iter().enumerate() {
            // SAFETY: see the impl.
            unsafe { vst1_s16(p.add(4 * i), vqmovn_s32(vcvtnq_s32_f32(x))) }
        }
    }

    #[inline(always)]
    unsafe fn zero_i() -> Self::I {
        // SAFETY: see the impl.
        unsafe { vdupq_n_s32(0) }
    }

    #[inline(always)]
    unsafe fn dot_i8(mut acc: Self::I, w: *const i8, x: *const i16) -> Self::I {
        for i in 0..4 {
            // SAFETY: see the impl.
            unsafe {
                let (w, x) = (vmovl_s8(vld1_s8(w.add(8 * i))), vld1q_s16(x.add(8 * i)));
                acc = vmlal_s16(acc, vget_low_s16(w), vget_low_s16(x));
                acc = vmlal_high_s16(acc, w, x);
            }
        }
        acc
    }

    #[inline(always)]
    unsafe fn sum_i(a: Self::I) -> i32 {
        // SAFETY: see the impl.
        unsafe { vaddvq_s32(a) }
    }

    #[inline(always)]
    unsafe fn prefetch(_: *const i8) {}
}
