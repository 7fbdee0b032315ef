//! Grouped residual finite scalar quantisation (Mentzer et al. 2023): codes to vectors and back.
//!
//! Channels are cut into groups; each group is projected to one coordinate per level count and rounded to a grid,
//! `residuals` times, each time what the last left over on a grid finer by (levels - 1). A code's digits are the
//! grid indices, the first coordinate the least significant. Codebooks are ordered group by group. The residual
//! scale is that of vector-quantize-pytorch 1.14 to 1.17, which the published weights were trained with.

use super::weights::Source;
use crate::model::dims::VqDims;
use crate::model::weights::WeightsError;

/// Widens the grid's outermost cells a little, so that the bound tanh sets can be rounded to.
const BOUND_MARGIN: f32 = 1e-3;

struct Projection {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

fn projections(
    source: &Source<'_>,
    dims: &VqDims,
    name: &str,
    outputs: usize,
    inputs: usize,
) -> Result<Vec<Projection>, WeightsError> {
    let load = |group: usize| {
        let source = source.child(format!("vq_layer.quantizer.rvqs.{group}.{name}"));
        let weight = source.vector("weight", &[outputs, inputs])?;
        Ok(Projection { weight, bias: source.vector("bias", &[outputs])? })
    };
    (0..dims.groups).map(load).collect()
}

/// Grid index of each coordinate in a code.
fn digits(levels: &[usize], code: u16) -> impl Iterator<Item = usize> {
    levels.iter().scan(usize::from(code), |rest, n| {
        let digit = *rest % n;
        *rest /= n;
        Some(digit)
    })
}

/// Spacing of residual step `r`, relative to the first.
fn residual_scale(levels: usize, r: usize) -> f32 {
    ((levels - 1) as f32).powi(-(r as i32))
}

/// Codes to vectors.
pub(super) struct Embedding {
    dims: VqDims,
    groups: Vec<Projection>,
}

impl Embedding {
    pub fn load(source: &Source<'_>, dims: &VqDims) -> Result<Self, WeightsError> {
        let groups = projections(source, dims, "project_out", dims.dim / dims.groups, dims.levels.len())?;
        Ok(Self { dims: dims.clone(), groups })
    }

    /// How many codes a codebook has.
    pub fn codes(&self) -> usize {
        self.dims.levels.iter().product()
    }

    /// `codes` is `[T, groups * residuals]`, `out` `[T, dim]`.
    pub fn forward(&self, codes: &[u16], out: &mut [f32]) {
        let levels = &self.dims.levels;
        let mut point = vec![0.0f32; levels.len()];
        let steps = codes.chunks_exact(self.dims.groups * self.dims.residuals);
        for (step, out) in steps.zip(out.chunks_exact_mut(self.dims.dim)) {
            let groups = step.chunks_exact(self.dims.residuals).zip(&self.groups);
            for ((books, project), out) in groups.zip(out.chunks_exact_mut(self.dims.dim / self.dims.groups)) {
                point.fill(0.0);
                for (r, code) in books.iter().enumerate() {
                    for ((x, n), digit) in point.iter_mut().zip(levels).zip(digits(levels, *code)) {
                        let half = (n / 2) as f32;
                        *x += (digit as f32 - half) / half * residual_scale(*n, r);
                    }
                }
                for ((o, w), b) in out.iter_mut().zip(project.weight.chunks_exact(levels.len())).zip(&project.bias) {
                    *o = b + w.iter().zip(&point).map(|(w, x)| w * x).sum::<f32>();
                }
            }
        }
    }
}

/// Vectors to codes.
pub(super) struct Quantiser {
    dims: VqDims,
    groups: Vec<Projection>,
}

impl Quantiser {
    pub fn load(source: &Source<'_>, dims: &VqDims) -> Result<Self, WeightsError> {
        let groups = projections(source, dims, "project_in", dims.levels.len(), dims.dim / dims.groups)?;
        Ok(Self { dims: dims.clone(), groups })
    }

    /// `vectors` is `[T, dim]`; returns `[T, groups * residuals]`.
    pub fn forward(&self, vectors: &[f32]) -> Vec<u16> {
        let width = self.dims.dim / self.dims.groups;
        let groups = vectors.chunks_exact(width).zip(self.groups.iter().cycle());
        groups.flat_map(|(vector, project)| self.quantise(vector, project)).collect()
    }

    fn quantise(&self, vector: &[f32], project: &Projection) -> Vec<u16> {
        let levels = &self.dims.levels;
        let rows = project.weight.chunks_exact(vector.len()).zip(&project.bias);
        let project = |(w, b): (&[f32], &f32)| b + w.iter().zip(vector).map(|(w, x)| w * x).sum::<f32>();
        // Bounded here and again at every residual step: odd, but what the published codes were made with.
        let mut point: Vec<f32> = rows.map(project).zip(levels).map(|(x, n)| bound(x, *n)).collect();
        let step = |r: usize| {
            let (mut code, mut basis) = (0, 1);
            for (x, n) in point.iter_mut().zip(levels) {
                let (half, scale) = ((n / 2) as f32, residual_scale(*n, r));
                let grid = bound(*x / scale, *n).round_ties_even();
                *x -= grid / half * scale;
                code += (grid + half) as usize * basis;
                basis *= n;
            }
            code as u16
        };
        (0..self.dims.residuals).map(step).collect()
    }
}

/// Squashes a coordinate into the span of `levels` grid points around 0.
fn bound(x: f32, levels: usize) -> f32 {
    let half = (levels - 1) as f32 * (1.0 + BOUND_MARGIN) / 2.0;
    let offset = if levels.is_multiple_of(2) { 0.5 } else { 0.0 };
    (x + (offset / half).atanh()).tanh() * half - offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{Golden, assert_close, transposed};
    use crate::model::weights::Checkpoint;

    #[test]
    fn embedded_codes_match_the_python_package() {
        for golden in Golden::all() {
            let dims = &golden.dims.dvae.vq;
            let checkpoint = Checkpoint::open(golden.dir.join("asset/DVAE.safetensors")).expect("the file opens");
            let embedding = Embedding::load(&Source::new(&checkpoint), dims).expect("the embedding loads");
            let codes = transposed(&golden.codes("dvae.codes_in"), golden.dims.gpt.num_vq);
            let mut found = vec![0.0; codes.len() / golden.dims.gpt.num_vq * dims.dim];
            embedding.forward(&codes, &mut found);
            assert_close(&found, &transposed(&golden.floats("dvae.vq_embed"), dims.dim), 1e-6, "vq embedding");
        }
    }

    #[test]
    fn digits_count_the_first_coordinate_fastest() {
        assert_eq!(digits(&[5, 5, 5, 5], 624).collect::<Vec<_>>(), [4, 4, 4, 4]);
        assert_eq!(digits(&[5, 5, 5, 5], 7).collect::<Vec<_>>(), [2, 1, 0, 0]);
        assert_eq!(digits(&[8, 3], 17).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn bounds_round_to_every_grid_point_and_no_other() {
        for levels in [2, 3, 5, 8] {
            let points: Vec<i32> = (-1000..=1000)
                .map(|i| bound(i as f32 / 50.0, levels).round_ties_even() as i32 + (levels / 2) as i32)
                .collect();
            assert!(points.is_sorted());
            assert_eq!((points[0], points[2000]), (0, levels as i32 - 1));
        }
    }
}
