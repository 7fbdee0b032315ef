//! Safetensors files, memory-mapped and checked tensor by tensor.
//!
//! Opening parses the header only; a tensor's bytes are touched when somebody converts them. Whatever is wrong
//! with a file (absent, truncated, a Git-LFS pointer, a tensor of another shape) is one line that names the file,
//! the tensor, what was expected and what was found.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
pub use safetensors::Dtype;
use safetensors::tensor::{Metadata, SafeTensors};

use super::file::Contents;

/// Longest header accepted: the published files stay under 40 KB.
const MAX_HEADER_BYTES: u64 = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("{file}: expected a safetensors file, found {found}")]
    NotSafetensors { file: PathBuf, found: String },
    #[error(
        "{file}: tensor {tensor}: expected a file of {expected} bytes, found {found} (truncated or still downloading)"
    )]
    Truncated { file: PathBuf, tensor: String, expected: usize, found: usize },
    #[error("{file}: tensor {tensor}: expected shape {expected:?}, found no such tensor")]
    Missing { file: PathBuf, tensor: String, expected: Vec<usize> },
    #[error("{file}: tensor {tensor}: expected shape {expected:?}, found {found:?}")]
    Shape { file: PathBuf, tensor: String, expected: Vec<usize>, found: Vec<usize> },
    #[error("{file}: tensor {tensor}: expected {layers} layers as the configuration says, found more")]
    Layers { file: PathBuf, tensor: String, layers: usize },
    #[error("{file}: tensor {tensor}: expected dtype F32, F16 or BF16, found {found:?}")]
    Dtype { file: PathBuf, tensor: String, found: Dtype },
    #[error("{file}: {source}")]
    Io { file: PathBuf, source: std::io::Error },
}

/// One memory-mapped safetensors file.
pub struct Checkpoint {
    path: PathBuf,
    map: Contents,
    metadata: Metadata,
    data_start: usize,
}

impl Checkpoint {
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WeightsError> {
        let path = path.as_ref().to_path_buf();
        let map = Contents::open(&path).map_err(|source| WeightsError::Io { file: path.clone(), source })?;
        if let Some(found) = foreign_content(&map) {
            return Err(WeightsError::NotSafetensors { file: path, found });
        }
        if let Some((tensor, expected)) = first_cut_off(&map) {
            return Err(WeightsError::Truncated { file: path, tensor, expected, found: map.len() });
        }
        let (header, metadata) = SafeTensors::read_metadata(&map).map_err(|e| WeightsError::NotSafetensors {
            file: path.clone(),
            found: format!("a broken header ({e})"),
        })?;
        let data_start = header + 8;
        Ok(Self { path, map, metadata, data_start })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn contains(&self, name: &str) -> bool {
        self.metadata.info(name).is_some()
    }

    pub fn names(&self) -> impl Iterator<Item = String> {
        self.metadata.offset_keys().into_iter()
    }

    /// Refuses a file that has `tensor`, the first of a layer beyond the configuration's `layers`.
    pub fn check_layers(&self, tensor: &str, layers: usize) -> Result<(), WeightsError> {
        if !self.contains(tensor) {
            return Ok(());
        }
        Err(WeightsError::Layers { file: self.path.clone(), tensor: tensor.to_string(), layers })
    }

    /// The shape of a tensor, whatever it is; `None` when absent.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.metadata.info(name).map(|t| t.shape.as_slice())
    }

    /// A floating-point tensor of exactly this shape.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor<'_>, WeightsError> {
        let (file, tensor, expected) = (|| self.path.clone(), || name.to_string(), || shape.to_vec());
        let info = self.metadata.info(name).ok_or_else(|| WeightsError::Missing {
            file: file(),
            tensor: tensor(),
            expected: expected(),
        })?;
        if info.shape != shape {
            let found = info.shape.clone();
            return Err(WeightsError::Shape { file: file(), tensor: tensor(), expected: expected(), found });
        }
        if !matches!(info.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
            return Err(WeightsError::Dtype { file: file(), tensor: tensor(), found: info.dtype });
        }
        let (start, end) = (self.data_start + info.data_offsets.0, self.data_start + info.data_offsets.1);
        Ok(Tensor { dtype: info.dtype, shape: info.shape.clone(), bytes: &self.map[start..end], owner: self, start })
    }

    /// A weight stored plainly as `NAME`, or as the weight-norm pair `NAME`'s module keeps under `parametrizations`
    /// (`original0` the norms `[out, 1, ..]`, `original1` the directions), folded: row = g * v / |v|.
    pub fn folded(&self, module: &str, shape: &[usize]) -> Result<Cow<'_, [f32]>, WeightsError> {
        let pair = format!("{module}.parametrizations.weight.original");
        if !self.contains(&format!("{pair}1")) {
            return Ok(self.tensor(&format!("{module}.weight"), shape)?.to_f32());
        }
        let mut norms = vec![1; shape.len()];
        norms[0] = shape[0];
        let g = self.tensor(&format!("{pair}0"), &norms)?.to_f32();
        let mut v = self.tensor(&format!("{pair}1"), shape)?.to_f32().into_owned();
        for (row, g) in v.chunks_exact_mut(shape[1..].iter().product()).zip(g.iter()) {
            let norm = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
            // A zero direction has no scale to fold; it stays zero instead of becoming NaN.
            let scale = if norm > 0.0 { (f64::from(*g) / norm) as f32 } else { 0.0 };
            row.iter_mut().for_each(|x| *x *= scale);
        }
        Ok(Cow::Owned(v))
    }
}

/// A checked view of one tensor, row-major.
pub struct Tensor<'a> {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    bytes: &'a [u8],
    owner: &'a Checkpoint,
    start: usize,
}

impl<'a> Tensor<'a> {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values as f32: borrowed from the mapping when the file is f32 and aligned, converted otherwise.
    pub fn to_f32(&self) -> Cow<'a, [f32]> {
        if self.dtype == Dtype::F32 {
            // SAFETY: every bit pattern is a valid f32; `align_to` puts misaligned bytes into the outer slices.
            let (head, values, tail) = unsafe { self.bytes.align_to::<f32>() };
            if cfg!(target_endian = "little") && head.is_empty() && tail.is_empty() {
                return Cow::Borrowed(values);
            }
        }
        let mut out = vec![0.0; self.len()];
        self.read_f32(0, &mut out);
        Cow::Owned(out)
    }

    /// Converts `out.len()` values starting at element `first`.
    pub fn read_f32(&self, first: usize, out: &mut [f32]) {
        match self.dtype {
            Dtype::F32 => {
                let bytes = &self.bytes[first * 4..(first + out.len()) * 4];
                for (o, b) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                    *o = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                }
            }
            _ => {
                let bytes = &self.bytes[first * 2..(first + out.len()) * 2];
                let is_f16 = self.dtype == Dtype::F16;
                for (o, b) in out.iter_mut().zip(bytes.chunks_exact(2)) {
                    let bits = u16::from_le_bytes([b[0], b[1]]);
                    *o = if is_f16 { f16::from_bits(bits).to_f32() } else { bf16::from_bits(bits).to_f32() };
                }
            }
        }
    }

    /// Tells the kernel that the mapped pages may leave memory: called once a tensor has been repacked, so that
    /// loading a 750 MB file does not count twice in the process's peak.
    pub fn release_pages(&self) {
        self.owner.map.release(self.start, self.bytes.len());
    }
}

/// What a file holds instead of safetensors, when that is recognisable.
fn foreign_content(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(b"version https://git-lfs") {
        return Some("a Git-LFS pointer text: the file itself was not fetched (run `git lfs pull`)".into());
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\x80\x02") {
        return Some("a PyTorch pickle, which is not read because it can run code".into());
    }
    if bytes.len() < 8 {
        return Some(format!("{} bytes", bytes.len()));
    }
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    if header > MAX_HEADER_BYTES {
        return Some(format!("a header of {header} bytes"));
    }
    None
}

/// The first tensor whose bytes end after the file does, and the size the file should at least have.
fn first_cut_off(bytes: &[u8]) -> Option<(String, usize)> {
    let start =
        usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("checked before"))).ok()?.checked_add(8)?;
    let header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes.get(8..start)?).ok()?;
    let ends = header.into_iter().filter_map(|(name, entry)| {
        let end = entry.get("data_offsets")?.get(1)?.as_u64()?;
        Some((name, start.checked_add(usize::try_from(end).ok()?)?))
    });
    ends.filter(|(_, end)| *end > bytes.len()).min_by_key(|(_, end)| *end)
}

#[cfg(test)]
mod tests;
