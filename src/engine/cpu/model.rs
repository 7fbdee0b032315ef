//! The language model's weights on the CPU, and the forward pass over a few rows.
//!
//! A row is one position of one slot. Prefill and decode step are the same pass: prefill gives it many positions of a
//! slot, a step gives it one position of many slots.

use std::path::Path;
use std::sync::PoisonError;

use super::arena::{Arena, Pages};
use super::kv::{HeadRow, KvCache};
use super::matrix::{Activations, Matrix, Precision, arena_bytes};
use super::ops::{Rope, rms_norm, silu_mul};
use super::rows::Rows;
use super::simd::Isa;
use crate::model::dims::GptDims;
use crate::model::weights::{Checkpoint, WeightsError};
use crate::parallel::Team;

/// Rows of one pass; more are done in several.
pub const MAX_ROWS: usize = 16;

pub struct Gpt {
    pub dims: GptDims,
    layers: Vec<Layer>,
    final_norm: Vec<f32>,
    rope: Rope,
    pub code_heads: Matrix,
    pub text_head: Option<Matrix>,
    embed: Checkpoint,
    code_embeddings: Vec<Vec<f32>>,
}

struct Layer {
    attention_norm: Vec<f32>,
    q: Matrix,
    k: Matrix,
    v: Matrix,
    o: Matrix,
    mlp_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

/// One row of a pass.
pub struct RowAt<'a> {
    pub cache: &'a KvCache,
    pub position: usize,
}

impl Gpt {
    /// Loads `asset/gpt/model.safetensors` and `asset/Embed.safetensors` of the model in `dir`.
    pub fn load(
        dir: &Path,
        dims: &GptDims,
        precision: Precision,
        positions: usize,
        with_text_head: bool,
        team: &Team,
    ) -> Result<Self, WeightsError> {
        let file = Checkpoint::open(dir.join("asset/gpt/model.safetensors"))?;
        let embed = Checkpoint::open(dir.join("asset/Embed.safetensors"))?;
        // Some exports keep the wrapper's name in front of every tensor.
        let prefix = if file.contains("model.norm.weight") { "model." } else { "" };
        let n = dims.num_hidden_layers;
        file.check_layers(&format!("{prefix}layers.{n}.input_layernorm.weight"), n)?;
        let (h, f) = (dims.hidden_size, dims.intermediate_size);
        let heads_rows = dims.num_vq * dims.num_audio_tokens;
        let mut bytes = arena_bytes(heads_rows, h, precision);
        bytes += dims.num_hidden_layers
            * (4 * arena_bytes(h, h, precision) + 2 * arena_bytes(f, h, precision) + arena_bytes(h, f, precision));
        if with_text_head {
            bytes += arena_bytes(dims.num_text_tokens, h, precision);
        }
        let io = |source| WeightsError::Io { file: file.path().to_path_buf(), source };
        let mut arena = Arena::new(bytes, Pages::Huge).map_err(io)?;
        let layers = (0..dims.num_hidden_layers).map(|i| {
            let norm =
                |n: &str| Ok(file.tensor(&format!("{prefix}layers.{i}.{n}.weight"), &[h])?.to_f32().into_owned());
            let mut matrix = |n: &str, rows, cols| {
                let tensor = file.tensor(&format!("{prefix}layers.{i}.{n}_proj.weight"), &[rows, cols])?;
                Ok(Matrix::from_tensor(&mut arena, &tensor, precision, team))
            };
            Ok(Layer {
                attention_norm: norm("input_layernorm")?,
                q: matrix("self_attn.q", h, h)?,
                k: matrix("self_attn.k", h, h)?,
                v: matrix("self_attn.v", h, h)?,
                o: matrix("self_attn.o", h, h)?,
                mlp_norm: norm("post_attention_layernorm")?,
                gate: matrix("mlp.gate", f, h)?,
                up: matrix("mlp.up", f, h)?,
                down: matrix("mlp.down", h, f)?,
            })
        });
        let layers = layers.collect::<Result<Vec<_>, WeightsError>>()?;
        let final_norm = file.tensor(&format!("{prefix}norm.weight"), &[h])?.to_f32().into_owned();
        let mut heads = Vec::with_capacity(heads_rows * h);
        for vq in 0..dims.num_vq {
            heads.extend_from_slice(&embed.folded(&format!("head_code.{vq}"), &[dims.num_audio_tokens, h])?);
        }
        let row = |all: &[f32], r: usize, out: &mut [f32]| out.copy_from_slice(&all[r * h..(r + 1) * h]);
        let code_heads = Matrix::from_rows(&mut arena, (heads_rows, h), precision, team, |r, out| row(&heads, r, out));
        let text_head = if with_text_head {
            let folded = embed.folded("head_text", &[dims.num_text_tokens, h])?;
            let size = (dims.num_text_tokens, h);
            Some(Matrix::from_rows(&mut arena, size, precision, team, |r, out| row(&folded, r, out)))
        } else {
            None
        };
        embed.tensor("emb_text.weight", &[dims.num_text_tokens, h])?;
        let code_embedding = |vq| {
            let name = format!("emb_code.{vq}.weight");
            Ok(embed.tensor(&name, &[dims.num_audio_tokens, h])?.to_f32().into_owned())
        };
        let code_embeddings = (0..dims.num_vq).map(code_embedding).collect::<Result<_, WeightsError>>()?;
        let rope = Rope::new(dims.head_dim(), dims.rope_theta, positions);
        Ok(Self { dims: dims.clone(), layers, final_norm, rope, code_heads, text_head, embed, code_embeddings })
    }

    /// Bytes of weights one code step reads.
    pub fn step_bytes(&self) -> usize {
        let layers = self.layers.iter().flat_map(|l| [&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down]);
        layers.chain([&self.code_heads]).map(Matrix::bytes).sum()
    }

    /// The embedding of a text token, read from the mapped file. `token` must be below `num_text_tokens`.
    pub fn embed_text(&self, token: u32, out: &mut [f32]) {
        let h = self.dims.hidden_size;
        let table = self.embed.tensor("emb_text.weight", &[self.dims.num_text_tokens, h]);
        table.expect("checked at load").read_f32(token as usize * h, out);
    }

    /// The sum of the embeddings of one step's codes.
    pub fn embed_codes(&self, codes: &[u16], out: &mut [f32]) {
        let h = self.dims.hidden_size;
        out.fill(0.0);
        for (table, code) in self.code_embeddings.iter().zip(codes) {
            let row = &table[usize::from(*code) * h..][..h];
            out.iter_mut().zip(row).for_each(|(o, x)| *o += x);
        }
    }
}

/// The memory of a pass.
pub struct Workspace {
    /// Input and residual stream: `[rows, hidden]`.
    pub x: Rows,
    /// After the final norm: `[rows, hidden]`.
    pub hidden: Vec<f32>,
    attended: Rows,
    gated: Rows,
    members: Vec<std::sync::Mutex<Member>>,
}

/// What one member of the team keeps for itself.
#[derive(Default)]
struct Member {
    normed: Vec<f32>,
    activations: Activations,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    head: [Vec<f32>; 4],
    scores: Vec<f32>,
}

impl Workspace {
    pub fn new(dims: &GptDims, team: &Team) -> Self {
        Self {
            x: Rows::new(MAX_ROWS, dims.hidden_size),
            hidden: vec![0.0; MAX_ROWS * dims.hidden_size],
            attended: Rows::new(MAX_ROWS, dims.hidden_size),
            gated: Rows::new(MAX_ROWS, dims.intermediate_size),
            members: (0..team.threads()).map(|_| std::sync::Mutex::default()).collect(),
        }
    }
}

impl Gpt {
    /// Runs the rows whose embeddings stand in `space.x` and leaves their hidden states, after the final norm, in
    /// `space.hidden`. Rows of one slot must come in order of position.
    pub fn forward(&self, isa: Isa, team: &Team, rows: &[RowAt<'_>], space: &mut Workspace) {
        assert!(rows.len() <= MAX_ROWS);
        let threads = team.threads();
        for (i, layer) in self.layers.iter().enumerate() {
            let Workspace { x, attended, gated, members, .. } = space;
            let member = |m: usize| members[m].lock().unwrap_or_else(PoisonError::into_inner);
            let n = rows.len();
            team.run(|m| self.attention(isa, threads, m, layer, i, rows, x, attended, &mut member(m)));
            team.run(|m| add_product(isa, threads, m, &layer.o, attended, n, x, &mut member(m)));
            team.run(|m| self.gate_up(isa, threads, m, layer, n, x, gated, &mut member(m)));
            team.run(|m| add_product(isa, threads, m, &layer.down, gated, n, x, &mut member(m)));
        }
        let h = self.dims.hidden_size;
        for (r, out) in space.hidden.chunks_exact_mut(h).take(rows.len()).enumerate() {
            rms_norm(isa, space.x.row(r), &self.final_norm, self.dims.rms_norm_eps, out);
        }
    }

    /// `head` times the hidden states of the listed rows: `[len, head.rows]`.
    pub fn logits(&self, isa: Isa, team: &Team, head: &Matrix, rows: &[usize], space: &Workspace, out: &mut Rows) {
        let h = self.dims.hidden_size;
        let chosen: Vec<f32> = rows.iter().flat_map(|r| &space.hidden[r * h..(r + 1) * h]).copied().collect();
        let threads = team.threads();
        let out = &*out;
        team.run(|m| {
            let member = &mut *space.members[m].lock().unwrap_or_else(PoisonError::into_inner);
            head.prepare(isa, &chosen, rows.len(), &mut member.activations);
            let range = Team::range(head.rows, threads, m, 4);
            multiply(isa, head, &member.activations, rows.len(), range.clone(), &mut member.a);
            for (r, values) in member.a.chunks_exact(range.len().max(1)).take(rows.len()).enumerate() {
                // SAFETY: the members' ranges do not overlap, and nobody reads `out` before the run ends.
                unsafe { out.put(r, range.start, values) };
            }
        });
    }

    /// Norm, projections, rotation, cache and attention for this member's heads.
    #[allow(clippy::too_many_arguments)]
    fn attention(
        &self,
        isa: Isa,
        threads: usize,
        m: usize,
        layer: &Layer,
        index: usize,
        rows: &[RowAt<'_>],
        x: &Rows,
        attended: &Rows,
        member: &mut Member,
    ) {
        let (dim, n) = (self.dims.head_dim(), rows.len());
        let heads = Team::range(self.dims.num_attention_heads, threads, m, 1);
        if heads.is_empty() {
            return;
        }
        self.norm(isa, &layer.attention_norm, n, x, &mut member.normed);
        let range = heads.start * dim..heads.end * dim;
        // Each matrix has an activation range of its own.
        for (matrix, out) in [(&layer.q, &mut member.a), (&layer.k, &mut member.b), (&layer.v, &mut member.c)] {
            matrix.prepare(isa, &member.normed, n, &mut member.activations);
            multiply(isa, matrix, &member.activations, n, range.clone(), out);
        }
        let padded = dim.next_multiple_of(super::simd::LANES);
        let [query, key, value, out] = &mut member.head;
        for vector in [&mut *query, &mut *key, &mut *value, &mut *out] {
            vector.resize(padded, 0.0);
        }
        let scale = 1.0 / (dim as f32).sqrt();
        for (r, row) in rows.iter().enumerate() {
            for (i, head) in heads.clone().enumerate() {
                let at = r * range.len() + i * dim..r * range.len() + (i + 1) * dim;
                query[..dim].copy_from_slice(&member.a[at.clone()]);
                key[..dim].copy_from_slice(&member.b[at.clone()]);
                value[..dim].copy_from_slice(&member.c[at]);
                self.rope.rotate(row.position, &mut query[..dim]);
                self.rope.rotate(row.position, &mut key[..dim]);
                query.iter_mut().for_each(|q| *q *= scale);
                let head_row = HeadRow { query, key, value };
                // SAFETY: heads are shared out over the members, so no other thread is at this head; this member's
                // rows of one slot come in order of position.
                unsafe { row.cache.attend(isa, index, head, row.position, head_row, &mut member.scores, out) };
                // SAFETY: as above; nobody reads `attended` before the run ends.
                unsafe { attended.put(r, head * dim, &out[..dim]) };
            }
        }
    }

    /// Norm and the gated half of the feed-forward layer for this member's share of it.
    #[allow(clippy::too_many_arguments)]
    fn gate_up(
        &self,
        isa: Isa,
        threads: usize,
        m: usize,
        layer: &Layer,
        n: usize,
        x: &Rows,
        gated: &Rows,
        member: &mut Member,
    ) {
        let range = Team::range(layer.gate.rows, threads, m, 4);
        if range.is_empty() {
            return;
        }
        self.norm(isa, &layer.mlp_norm, n, x, &mut member.normed);
        for (matrix, out) in [(&layer.gate, &mut member.a), (&layer.up, &mut member.b)] {
            matrix.prepare(isa, &member.normed, n, &mut member.activations);
            multiply(isa, matrix, &member.activations, n, range.clone(), out);
        }
        silu_mul(isa, &mut member.a[..n * range.len()], &member.b[..n * range.len()]);
        for (r, values) in member.a[..n * range.len()].chunks_exact(range.len()).enumerate() {
            // SAFETY: the members' ranges do not overlap, and nobody reads `gated` before the run ends.
            unsafe { gated.put(r, range.start, values) };
        }
    }

    fn norm(&self, isa: Isa, weight: &[f32], n: usize, x: &Rows, out: &mut Vec<f32>) {
        let h = self.dims.hidden_size;
        out.resize(n * h, 0.0);
        for (r, out) in out.chunks_exact_mut(h).enumerate() {
            rms_norm(isa, x.row(r), weight, self.dims.rms_norm_eps, out);
        }
    }
}

/// `x += input . matrix` for this member's share of the columns.
#[allow(clippy::too_many_arguments)]
fn add_product(
    isa: Isa,
    threads: usize,
    m: usize,
    matrix: &Matrix,
    input: &Rows,
    n: usize,
    x: &Rows,
    member: &mut Member,
) {
    let range = Team::range(matrix.rows, threads, m, 4);
    if range.is_empty() {
        return;
    }
    matrix.prepare(isa, input.rows(n), n, &mut member.activations);
    multiply(isa, matrix, &member.activations, n, range.clone(), &mut member.a);
    for (r, values) in member.a[..n * range.len()].chunks_exact(range.len()).enumerate() {
        // SAFETY: the members' ranges do not overlap, and nobody else reads `x` during this run.
        unsafe { x.add(r, range.start, values) };
    }
}

/// The product for `range`, packed: `[n, range.len()]`.
fn multiply(isa: Isa, m: &Matrix, a: &Activations, n: usize, range: std::ops::Range<usize>, out: &mut Vec<f32>) {
    let width = range.len();
    out.resize(n * width, 0.0);
    m.multiply(isa, a, n, range, out, width);
}
