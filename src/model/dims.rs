//! Every dimension of a ChatTTS model, read from its configuration files.
//!
//! `asset/gpt/config.json` is always there and gives the language model. The codec's sizes are constants inside the
//! Python package and in no file of the published tree, so they default to the published model's; `config.json` or
//! `model_config.json` beside `asset/` overrides them (the demo model and the test fixtures carry one).

use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Debug, thiserror::Error)]
pub enum DimsError {
    #[error("{file}: {source}")]
    Io { file: PathBuf, source: std::io::Error },
    #[error("{file}: {source}")]
    Json { file: PathBuf, source: serde_json::Error },
    #[error("{file}: {field}: expected {expected}, found {found}")]
    Value { file: PathBuf, field: &'static str, expected: String, found: String },
}

/// The language model: Llama without biases, `num_vq` code heads and a text head.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct GptDims {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_hidden_layers: usize,
    /// Code vocabulary of each codebook, the end code included (625 codes + end).
    pub num_audio_tokens: usize,
    pub num_text_tokens: usize,
    pub num_vq: usize,
    #[serde(default = "default_positions")]
    pub max_position_embeddings: usize,
    #[serde(default = "default_eps")]
    pub rms_norm_eps: f32,
    #[serde(default = "default_theta")]
    pub rope_theta: f32,
}

impl GptDims {
    pub fn head_dim(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }

    /// The code that ends an utterance.
    pub fn end_code(&self) -> u16 {
        (self.num_audio_tokens - 1) as u16
    }
}

/// A stack of ConvNeXt blocks between two convolutions, as in the Decoder and both halves of the DVAE.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ConvStackDims {
    pub idim: usize,
    pub odim: usize,
    pub n_layer: usize,
    pub bn_dim: usize,
    pub hidden: usize,
    #[serde(default = "default_kernel")]
    pub kernel: usize,
    #[serde(default = "default_dilation")]
    pub dilation: usize,
}

/// Grouped residual finite scalar quantiser.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct VqDims {
    pub dim: usize,
    pub levels: Vec<usize>,
    #[serde(rename = "G")]
    pub groups: usize,
    #[serde(rename = "R")]
    pub residuals: usize,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DvaeDims {
    pub encoder: ConvStackDims,
    pub decoder: ConvStackDims,
    pub vq: VqDims,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VocosDims {
    pub n_mels: usize,
    pub dim: usize,
    pub intermediate_dim: usize,
    pub num_layers: usize,
    pub n_fft: usize,
    pub hop_length: usize,
    pub sample_rate: u32,
}

/// What a model can do beyond its dimensions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// The text head is trained: refinement may be offered.
    pub refine_text: bool,
    /// The Decoder (hidden-state path) is there.
    pub decoder: bool,
    /// The hidden-state path is the default, as in the Python package.
    pub use_decoder_default: bool,
    pub languages: Vec<String>,
    /// The longest piece the model was trained on, in words.
    pub max_words: Option<usize>,
    /// Pieces must end with a full stop or question mark: the model was trained on whole sentences only.
    pub closing_mark: bool,
    /// What a user should be told before hearing it; absent for a finished model.
    pub status: Option<String>,
}

impl Default for Capabilities {
    fn default() -> Self {
        let languages = vec!["zh".into(), "en".into()];
        Self {
            refine_text: true,
            decoder: true,
            use_decoder_default: true,
            languages,
            max_words: None,
            closing_mark: false,
            status: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Dims {
    pub name: String,
    pub gpt: GptDims,
    pub decoder: ConvStackDims,
    pub dvae: DvaeDims,
    pub vocos: VocosDims,
    pub capabilities: Capabilities,
    /// Speaker statistics as the configuration carries them: base16384 text of 2 x hidden f16 (std, then mean).
    pub spk_stat: Option<String>,
}

impl Dims {
    /// Reads the configuration of the model in `dir` (the folder that holds `asset/`).
    pub fn load(dir: &Path) -> Result<Self, DimsError> {
        let gpt_path = dir.join("asset/gpt/config.json");
        let gpt: GptDims = read_json(&gpt_path)?;
        let side = ["config.json", "model_config.json"].iter().map(|f| dir.join(f)).find(|p| super::file::is_file(p));
        let file: ModelFile = match &side {
            Some(path) => read_json(path)?,
            None => ModelFile::default(),
        };
        let dims = file.into_dims(gpt);
        dims.validate(&gpt_path, side.as_deref().unwrap_or(&gpt_path))?;
        Ok(dims)
    }

    /// Mel frames for one decode step: the codec's input halves pair up into two frames.
    pub const FRAMES_PER_STEP: usize = 2;

    /// PCM samples for one decode step (512 in the published model, 21.33 ms).
    pub fn samples_per_step(&self) -> usize {
        Self::FRAMES_PER_STEP * self.vocos.hop_length
    }

    pub fn steps_per_second(&self) -> f64 {
        f64::from(self.vocos.sample_rate) / self.samples_per_step() as f64
    }

    fn validate(&self, gpt_path: &Path, side: &Path) -> Result<(), DimsError> {
        let g = &self.gpt;
        let check = |ok: bool, file: &Path, field, expected: String, found: String| {
            if ok { Ok(()) } else { Err(DimsError::Value { file: file.to_path_buf(), field, expected, found }) }
        };
        let sizes = [
            g.hidden_size,
            g.intermediate_size,
            g.num_attention_heads,
            g.num_hidden_layers,
            g.num_vq,
            g.max_position_embeddings,
        ];
        check(
            sizes.iter().all(|n| (1..=65_536).contains(n)),
            gpt_path,
            "sizes",
            "1 to 65536 each".into(),
            format!("{sizes:?}"),
        )?;
        let divides = g.hidden_size.is_multiple_of(g.num_attention_heads) && g.head_dim().is_multiple_of(2);
        let heads = format!("a divisor of hidden_size {} that leaves an even head size", g.hidden_size);
        check(divides, gpt_path, "num_attention_heads", heads, g.num_attention_heads.to_string())?;
        let vocab = (2..=65_535).contains(&g.num_audio_tokens) && (2..=1 << 24).contains(&g.num_text_tokens);
        let found = format!("{} and {}", g.num_audio_tokens, g.num_text_tokens);
        check(vocab, gpt_path, "num_audio_tokens, num_text_tokens", "2 to 65535 and 2 to 16777216".into(), found)?;
        let eps_ok = g.rms_norm_eps > 0.0 && g.rope_theta > 1.0;
        check(
            eps_ok,
            gpt_path,
            "rms_norm_eps, rope_theta",
            "> 0 and > 1".into(),
            format!("{} and {}", g.rms_norm_eps, g.rope_theta),
        )?;
        let (v, vq) = (&self.vocos, &self.dvae.vq);
        let stacks = [&self.decoder, &self.dvae.encoder, &self.dvae.decoder];
        let stacks = stacks.iter().flat_map(|s| [s.idim, s.odim, s.n_layer, s.bn_dim, s.hidden, s.kernel, s.dilation]);
        let vocos = [v.n_mels, v.dim, v.intermediate_dim, v.num_layers, v.n_fft, v.hop_length];
        let mut codec = stacks.chain(vocos).chain([vq.dim, vq.groups, vq.residuals]).chain(vq.levels.iter().copied());
        let bad = codec.find(|n| !(1..=65_536).contains(n));
        check(bad.is_none(), side, "codec sizes", "1 to 65536 each".into(), bad.unwrap_or_default().to_string())?;
        let deep = |s: &ConvStackDims| s.n_layer > 256 || s.dilation > 64 || s.kernel > 255;
        let shallow =
            ![&self.decoder, &self.dvae.encoder, &self.dvae.decoder].into_iter().any(deep) && v.num_layers <= 256;
        check(shallow, side, "n_layer, dilation, kernel", "at most 256, 64 and 255".into(), "more".into())?;
        let rate_ok = (8_000..=192_000).contains(&v.sample_rate);
        check(rate_ok, side, "sample_rate", "8000 to 192000".into(), v.sample_rate.to_string())?;
        let pairs = self.decoder.idim * 2 == g.hidden_size;
        check(
            pairs,
            side,
            "decoder.idim",
            format!("half of hidden_size {}", g.hidden_size),
            self.decoder.idim.to_string(),
        )?;
        let books = vq.groups * vq.residuals == g.num_vq;
        check(
            books,
            side,
            "dvae.vq.G x R",
            format!("num_vq {}", g.num_vq),
            format!("{} x {}", vq.groups, vq.residuals),
        )?;
        let codes = vq.levels.iter().try_fold(1usize, |product, n| product.checked_mul(*n)).unwrap_or(usize::MAX);
        let levels = format!("a product of num_audio_tokens - 1 = {}", g.num_audio_tokens - 1);
        check(codes == g.num_audio_tokens - 1, side, "dvae.vq.levels", levels, format!("{:?}", vq.levels))?;
        let odd =
            [&self.decoder, &self.dvae.decoder, &self.dvae.encoder].iter().all(|s| s.kernel % 2 == 1 && s.dilation > 0);
        check(odd, side, "kernel, dilation", "an odd kernel and a dilation of at least 1".into(), "another".into())?;
        let hop_ok = v.n_fft.is_multiple_of(v.hop_length) && v.n_fft / v.hop_length >= 2;
        check(
            hop_ok,
            side,
            "vocos n_fft, hop_length",
            "n_fft a multiple (2 or more) of hop_length".into(),
            format!("{} and {}", v.n_fft, v.hop_length),
        )
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, DimsError> {
    let file = || path.to_path_buf();
    let text = super::file::read(path).map_err(|source| DimsError::Io { file: file(), source })?;
    serde_json::from_slice(&text).map_err(|source| DimsError::Json { file: file(), source })
}

/// The optional file beside `asset/`: the layout of the Python package's `Config`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelFile {
    name: Option<String>,
    decoder: Option<ConvStackDims>,
    dvae: Option<DvaeDims>,
    vocos: Option<VocosFile>,
    capabilities: Option<Capabilities>,
    spk_stat: Option<String>,
}

#[derive(Deserialize)]
struct VocosFile {
    feature_extractor: Section<FeatureFile>,
    backbone: Section<BackboneFile>,
    head: Section<HeadFile>,
}

/// The Python package nests each section under `init_args`; the demo model does not.
#[derive(Deserialize)]
#[serde(untagged)]
enum Section<T> {
    Nested { init_args: T },
    Flat(T),
}

impl<T> Section<T> {
    fn into_inner(self) -> T {
        match self {
            Section::Nested { init_args } | Section::Flat(init_args) => init_args,
        }
    }
}

#[derive(Deserialize)]
struct FeatureFile {
    sample_rate: u32,
    n_mels: usize,
}

#[derive(Deserialize)]
struct BackboneFile {
    dim: usize,
    intermediate_dim: usize,
    num_layers: usize,
}

#[derive(Deserialize)]
struct HeadFile {
    n_fft: usize,
    hop_length: usize,
}

impl ModelFile {
    fn into_dims(self, gpt: GptDims) -> Dims {
        Dims {
            name: self.name.unwrap_or_else(|| "chattts".into()),
            gpt,
            decoder: self.decoder.unwrap_or_else(published_decoder),
            dvae: self.dvae.unwrap_or_else(published_dvae),
            vocos: self.vocos.map_or_else(published_vocos, |v| {
                let (f, b, h) = (v.feature_extractor.into_inner(), v.backbone.into_inner(), v.head.into_inner());
                VocosDims {
                    n_mels: f.n_mels,
                    sample_rate: f.sample_rate,
                    dim: b.dim,
                    intermediate_dim: b.intermediate_dim,
                    num_layers: b.num_layers,
                    n_fft: h.n_fft,
                    hop_length: h.hop_length,
                }
            }),
            capabilities: self.capabilities.unwrap_or_default(),
            spk_stat: self.spk_stat,
        }
    }
}

fn published_decoder() -> ConvStackDims {
    ConvStackDims { idim: 384, odim: 384, n_layer: 12, bn_dim: 128, hidden: 512, kernel: 7, dilation: 2 }
}

fn published_dvae() -> DvaeDims {
    let stack = |odim| ConvStackDims { idim: 512, odim, n_layer: 12, bn_dim: 128, hidden: 256, kernel: 7, dilation: 2 };
    let vq = VqDims { dim: 1024, levels: vec![5, 5, 5, 5], groups: 2, residuals: 2 };
    DvaeDims { encoder: stack(1024), decoder: stack(512), vq }
}

fn published_vocos() -> VocosDims {
    VocosDims {
        n_mels: 100,
        dim: 512,
        intermediate_dim: 1536,
        num_layers: 8,
        n_fft: 1024,
        hop_length: 256,
        sample_rate: 24_000,
    }
}

fn default_positions() -> usize {
    4096
}

fn default_eps() -> f32 {
    1e-6
}

fn default_theta() -> f32 {
    1e4
}

fn default_kernel() -> usize {
    7
}

fn default_dilation() -> usize {
    2
}
