//! The reference: plain Rust, every machine.

use half::{bf16, f16};

use super::{LANES, Simd};

#[derive(Clone, Copy)]
pub struct Scalar;

#[inline(always)]
fn map(a: [f32; LANES], f: impl Fn(f32) -> f32) -> [f32; LANES] {
    a.map(f)
}

#[inline(always)]
fn zip(a: [f32; LANES], b: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    std::array::from_fn(|j| f(a[j], b[j]))
}

// SAFETY: no instruction beyond the target's own is used; pointers are read within the trait's contract.
unsafe impl Simd for Scalar {
    type F = [f32; LANES];
    type I = i32;
    const FLOAT_TILE: usize = 1;
    const INT_TILE: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::F {
        [x; LANES]
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        // SAFETY: the caller guarantees sixteen readable elements; likewise below.
        unsafe { p.cast::<[f32; LANES]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self::F {
        // SAFETY: see `load`.
        unsafe { p.cast::<[f16; LANES]>().read_unaligned() }.map(f16::to_f32)
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self::F {
        // SAFETY: see `load`.
        unsafe { p.cast::<[bf16; LANES]>().read_unaligned() }.map(bf16::to_f32)
    }

    #[inline(always)]
    unsafe fn store(p: *mut f32, x: Self::F) {
        // SAFETY: the caller guarantees sixteen writable elements.
        unsafe { p.cast::<[f32; LANES]>().write_unaligned(x) }
    }

    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        std::array::from_fn(|j| a[j].mul_add(b[j], c[j]))
    }

    // The comparisons are written as x86 defines its min and max: the second operand when one is NaN.
    #[inline(always)]
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn abs(a: Self::F) -> Self::F {
        map(a, f32::abs)
    }

    #[inline(always)]
    unsafe fn round(a: Self::F) -> Self::F {
        map(a, f32::round_ties_even)
    }

    #[inline(always)]
    unsafe fn scale2(a: Self::F, n: Self::F) -> Self::F {
        zip(a, n, |a, n| a * f32::from_bits(((n as i32 + 127) as u32) << 23))
    }

    #[inline(always)]
    unsafe fn sum(mut a: Self::F) -> f32 {
        for half in [8, 4, 2, 1] {
            for j in 0..half {
                a[j] += a[j + half];
            }
        }
        a[0]
    }

    #[inline(always)]
    unsafe fn max_lane(a: Self::F) -> f32 {
        a.into_iter().fold(f32::NEG_INFINITY, |m, x| if x > m { x } else { m })
    }

    #[inline(always)]
    unsafe fn store_i16(p: *mut i16, x: Self::F) {
        // SAFETY: the caller guarantees sixteen writable elements.
        unsafe { p.cast::<[i16; LANES]>().write_unaligned(x.map(|x| x.round_ties_even() as i16)) }
    }

    #[inline(always)]
    unsafe fn zero_i() -> Self::I {
        0
    }

    #[inline(always)]
    unsafe fn dot_i8(acc: Self::I, w: *const i8, x: *const i16) -> Self::I {
        // SAFETY: the caller guarantees 32 readable elements of each.
        let (w, x) = unsafe { (w.cast::<[i8; 32]>().read_unaligned(), x.cast::<[i16; 32]>().read_unaligned()) };
        acc + w.iter().zip(&x).map(|(w, x)| i32::from(*w) * i32::from(*x)).sum::<i32>()
    }

    #[inline(always)]
    unsafe fn sum_i(a: Self::I) -> i32 {
        a
    }

    #[inline(always)]
    unsafe fn prefetch(_: *const i8) {}
}
