//! One source for the CPU kernels, four instruction sets, the same bits from each.
//!
//! Float sums run in sixteen lanes (lane `j` takes elements `j`, `j + 16`, ..) with fused multiply-adds and are folded
//! in one fixed tree, on every instruction set; integer sums are exact. So a result depends neither on the machine's
//! vector width nor on how many rows were computed together.

mod math;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use math::exp;
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use scalar::Scalar;

/// Lanes of a float vector, whatever the registers' width.
pub const LANES: usize = 16;

/// An instruction set this machine has; only detection makes one, so that kernels may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    /// AVX2 with FMA and F16C (2013 and later).
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, VL, DQ with VNNI (Ice Lake, Zen 4 and later).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Isa {
    /// Plain Rust: every machine has it.
    pub fn scalar() -> Isa {
        Isa(Kind::Scalar)
    }

    /// Every instruction set this machine can run, the fastest last.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut)]
        let mut all = vec![Kind::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma") && has!("f16c");
            let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq");
            if avx2 {
                all.push(Kind::Avx2);
            }
            if avx2 && avx512 && has!("avx512vnni") {
                all.push(Kind::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Kind::Neon);
        }
        all.into_iter().map(Isa).collect()
    }

    pub fn best() -> Isa {
        *Self::available().last().expect("the scalar kernels are always there")
    }

    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512-vnni",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        }
    }
}

/// The primitives a kernel is written in. Implementations are zero-sized; every method is inlined into a function
/// that enables the instruction set.
///
/// # Safety
/// The methods may use instructions of their set: call them only inside a function compiled for that set (see
/// [`dispatch`]) on a machine that has it. Pointers must be valid for [`LANES`] elements ([`Simd::dot_i8`]: 32).
#[allow(clippy::missing_safety_doc)] // one contract for all methods: the trait's
pub unsafe trait Simd: Copy + Send + Sync + 'static {
    /// Sixteen f32.
    type F: Copy;
    /// Partial sums of an integer dot product, in any arrangement.
    type I: Copy;
    /// Activation rows a float tile holds beside four weight rows without spilling registers.
    const FLOAT_TILE: usize;
    /// The same for integer tiles.
    const INT_TILE: usize;

    unsafe fn splat(x: f32) -> Self::F;
    unsafe fn load(p: *const f32) -> Self::F;
    unsafe fn load_f16(p: *const half::f16) -> Self::F;
    unsafe fn load_bf16(p: *const half::bf16) -> Self::F;
    unsafe fn store(p: *mut f32, x: Self::F);
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn div(a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c` with one rounding.
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn abs(a: Self::F) -> Self::F;
    /// To the nearest integer, ties to even.
    unsafe fn round(a: Self::F) -> Self::F;
    /// `a * 2^n` for integral `n` in -126..=127.
    unsafe fn scale2(a: Self::F, n: Self::F) -> Self::F;
    /// The sum of the lanes: j + (j + 8), then + 4, + 2, + 1.
    unsafe fn sum(a: Self::F) -> f32;
    unsafe fn max_lane(a: Self::F) -> f32;
    /// Rounds sixteen values in -32768..=32767 to the nearest integer, ties to even, and stores them.
    unsafe fn store_i16(p: *mut i16, x: Self::F);

    unsafe fn zero_i() -> Self::I;
    /// Adds the products of 32 weights and 32 activations.
    unsafe fn dot_i8(acc: Self::I, w: *const i8, x: *const i16) -> Self::I;
    unsafe fn sum_i(a: Self::I) -> i32;
    /// Four sums at once: together they cost little more than one.
    #[inline(always)]
    unsafe fn sum4_i(a: [Self::I; 4]) -> [i32; 4] {
        // SAFETY: as for the call.
        a.map(|a| unsafe { Self::sum_i(a) })
    }
    /// Hints that the line at `p` is needed soon; `p` may be any address.
    unsafe fn prefetch(p: *const i8);
}

/// Defines `pub fn name(isa, args..)` that runs `imp::<S>(args..)` compiled for the instruction set `isa`.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $imp:ident) => {
        $(#[$meta])*
        $vis fn $name(isa: $crate::engine::cpu::simd::Isa, $($arg: $ty),*) $(-> $ret)? {
            use $crate::engine::cpu::simd;
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: this function enables the instruction set.
                unsafe { $imp::<simd::Avx2>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: this function enables the instruction set.
                unsafe { $imp::<simd::Avx512>($($arg),*) }
            }
            match isa.0 {
                // SAFETY: the scalar set needs no instructions beyond the target's own.
                simd::Kind::Scalar => unsafe { $imp::<simd::Scalar>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: an `Isa` beyond scalar comes from `Isa::available`, which asked the processor.
                simd::Kind::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                simd::Kind::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "aarch64")]
                // SAFETY: NEON is part of every aarch64 target Rust builds for by default.
                simd::Kind::Neon => unsafe { $imp::<simd::Neon>($($arg),*) },
            }
        }
    };
}
pub(crate) use dispatch;
