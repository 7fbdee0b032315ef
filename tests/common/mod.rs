//! What the integration tests share: where the models are, and how golden values are read.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

/// The tiny random-weight model that is committed, with its golden values.
pub fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny")
}

/// The folder `make golden` fills: `assets/full`, `full.safetensors`, `full.json`. `None`, and a line saying so, when
/// it is not there.
pub fn golden() -> Option<PathBuf> {
    let dir = std::env::var_os("VOXWIRE_GOLDEN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("golden"), PathBuf::from);
    if dir.join("full.safetensors").is_file() {
        return Some(dir);
    }
    println!("skipped: {} is not there (`make golden` makes it)", dir.join("full.safetensors").display());
    None
}

/// Golden tensors of one model.
pub struct Golden {
    bytes: Vec<u8>,
    pub json: serde_json::Value,
}

impl Golden {
    /// Reads `NAME.safetensors` and `NAME.json` in `dir`.
    pub fn read(dir: &Path, name: &str) -> Self {
        let bytes = std::fs::read(dir.join(format!("{name}.safetensors"))).unwrap();
        let json = std::fs::read(dir.join(format!("{name}.json"))).unwrap();
        Self { bytes, json: serde_json::from_slice(&json).unwrap() }
    }

    pub fn tiny() -> Self {
        Self::read(&tiny(), "golden")
    }

    fn tensor(&self, name: &str) -> (Dtype, Vec<usize>, Vec<u8>) {
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let view = file.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        (view.dtype(), view.shape().to_vec(), view.data().to_vec())
    }

    pub fn shape(&self, name: &str) -> Vec<usize> {
        self.tensor(name).1
    }

    pub fn f32(&self, name: &str) -> Vec<f32> {
        let (dtype, _, data) = self.tensor(name);
        match dtype {
            Dtype::F32 => data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(),
            Dtype::F16 => {
                data.chunks_exact(2).map(|b| half::f16::from_le_bytes(b.try_into().unwrap()).to_f32()).collect()
            }
            other => panic!("{name}: {other:?}"),
        }
    }

    pub fn i64(&self, name: &str) -> Vec<i64> {
        let (dtype, _, data) = self.tensor(name);
        match dtype {
            Dtype::I64 => data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect(),
            Dtype::I32 => data.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// The largest difference, relative to the largest magnitude of `expected`.
pub fn peak_error(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().chain(expected).all(|x| x.is_finite()), "a value is not finite");
    let peak = expected.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / peak
}

pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    assert!(a.iter().chain(b).all(|x| x.is_finite()), "a value is not finite");
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
