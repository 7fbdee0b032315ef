//! `--dump`: what the model computed, as a safetensors file other implementations can be compared with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use safetensors::tensor::{Dtype, TensorView};

use crate::engine::cpu::CpuEngine;
use crate::engine::{EngineError, Slot};
use crate::session::PieceReport;

/// Tensors by name. A text of one piece has `input_ids` [n], `codes` [T, num_vq], `hidden` [T, H], `mel` [n_mels, F]
/// and `wav` [N]; of several pieces, all but `wav` (the whole) carry `pieceI.` in front from the second on.
#[derive(Default)]
pub struct Dump {
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
    wav: Vec<f32>,
}

impl Dump {
    pub fn audio(&mut self, pcm: &[f32]) {
        self.wav.extend_from_slice(pcm);
    }

    pub fn piece(&mut self, engine: &CpuEngine, slot: Slot, report: &PieceReport) -> Result<(), EngineError> {
        let trace = engine.trace(slot)?;
        let (dims, steps) = (engine.dims(), report.steps);
        let (hidden, mels) = (dims.gpt.hidden_size, dims.vocos.n_mels);
        let prefix = if report.index == 0 { String::new() } else { format!("piece{}.", report.index) };
        let mut put = |name: &str, dtype, shape, bytes| {
            self.tensors.insert(format!("{prefix}{name}"), (dtype, shape, bytes));
        };
        let ids = report.prompt.tokens.iter().flat_map(|id| i64::from(*id).to_le_bytes()).collect();
        put("input_ids", Dtype::I64, vec![report.prompt.tokens.len()], ids);
        let codes = report.codes.iter().flatten().flat_map(|c| i64::from(*c).to_le_bytes()).collect();
        put("codes", Dtype::I64, vec![steps, dims.gpt.num_vq], codes);
        // The step that drew the end is no audio.
        put("hidden", Dtype::F32, vec![steps, hidden], bytes(&trace.step_hidden[..steps * hidden]));
        let frames = trace.mel.len() / mels;
        let transposed: Vec<f32> = (0..mels).flat_map(|m| trace.mel[m..].iter().step_by(mels).copied()).collect();
        put("mel", Dtype::F32, vec![mels, frames], bytes(&transposed));
        Ok(())
    }

    /// Writes to a file that was opened before the work began.
    pub fn write(mut self, mut file: File, name: &Path) -> anyhow::Result<()> {
        self.tensors.insert("wav".into(), (Dtype::F32, vec![self.wav.len()], bytes(&self.wav)));
        let views = self.tensors.iter().map(|(name, (dtype, shape, data))| {
            let view = TensorView::new(*dtype, shape.clone(), data).expect("shapes are those of the data");
            (name.as_str(), view)
        });
        let bytes = safetensors::serialize(views, None).context("--dump")?;
        file.write_all(&bytes).with_context(|| format!("--dump {}", name.display()))
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}
