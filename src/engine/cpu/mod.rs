pub mod arena;
pub mod matrix;
pub mod simd;
