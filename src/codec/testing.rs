//! Golden values of the Python package, for the codec's own tests.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

use crate::model::dims::Dims;

/// A model of random weights and what the Python package computed with it.
pub struct Golden {
    pub dir: PathBuf,
    pub dims: Dims,
    file: Vec<u8>,
}

impl Golden {
    /// The committed model.
    pub fn tiny() -> Self {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny");
        Self::open(dir.clone(), dir.join("golden.safetensors"))
    }

    /// The committed model, and the full-size one where it has been made (`make golden`).
    pub fn all() -> Vec<Self> {
        let root = std::env::var_os("VOXWIRE_GOLDEN").map(PathBuf::from);
        let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("golden"));
        let file = root.join("full.safetensors");
        if !file.is_file() {
            eprintln!("skipped at full size: {} is not there", file.display());
            return vec![Self::tiny()];
        }
        vec![Self::tiny(), Self::open(root.join("assets/full"), file)]
    }

    fn open(dir: PathBuf, file: PathBuf) -> Self {
        let dims = Dims::load(&dir).expect("the fixture's configuration is readable");
        let file = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        Self { dir, dims, file }
    }

    pub fn floats(&self, name: &str) -> Vec<f32> {
        self.values(name, |dtype, b| match dtype {
            Dtype::F32 => f32::from_le_bytes(b.try_into().expect("4 bytes")),
            other => panic!("{name}: {other:?}"),
        })
    }

    pub fn codes(&self, name: &str) -> Vec<u16> {
        self.values(name, |_, b| u16::from_le_bytes([b[0], b[1]]))
    }

    fn values<T>(&self, name: &str, read: impl Fn(Dtype, &[u8]) -> T) -> Vec<T> {
        let tensors = SafeTensors::deserialize(&self.file).expect("the golden file is intact");
        let tensor = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let count: usize = tensor.shape().iter().product();
        tensor.data().chunks_exact(tensor.data().len() / count).map(|b| read(tensor.dtype(), b)).collect()
    }
}

/// `[rows, columns]` as `[columns, rows]`.
pub fn transposed<T: Copy>(x: &[T], rows: usize) -> Vec<T> {
    let columns = x.len() / rows;
    (0..x.len()).map(|i| x[i % rows * columns + i / rows]).collect()
}

/// Asserts a largest difference of at most `tolerance` of the peak.
pub fn assert_close(found: &[f32], want: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), want.len(), "{what}: length");
    let peak = want.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let worst = found.iter().zip(want).fold(0.0f32, |m, (a, b)| if (a - b).abs() <= m { m } else { (a - b).abs() });
    eprintln!("{what}: largest difference {:.1e} of the peak {peak}", worst / peak);
    assert!(worst <= tolerance * peak, "{what}: differs by {worst}, peak {peak}");
}
