//! The command line of `say`.

use std::path::PathBuf;

use anyhow::bail;
use clap::ValueEnum;

use crate::audio::Format;
use crate::cli::Usage;
use crate::engine::cpu::CpuOptions;
use crate::engine::cpu::matrix::Precision;
use crate::model::prompt::DecodePath;
use crate::model::sampling::{RngKind, Sampling};

/// Speak a text
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What to say; standard input when left out or "-"
    pub text: Option<String>,
    /// Model folder (holds asset/) [default: models/demo, else a pulled model, else the demo voice inside the program]
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// Words and their readings: a line each, with a tab between
    #[arg(long, env = "VOXWIRE_LEXICON", value_name = "FILE")]
    pub lexicon: Option<PathBuf>,
    /// Voice: a seed (0 to 4294967295), a file (numbers, string or WAV), a speaker or sample string [default: the model's own choice]
    #[arg(long, value_name = "2222|FILE|STRING", allow_hyphen_values = true)]
    pub voice: Option<String>,
    /// Words spoken in a voice recording or sample
    #[arg(long, value_name = "TEXT", requires = "voice")]
    pub voice_text: Option<String>,
    /// Sampling seed, another thing than the voice's [default: drawn, and told at the end]
    #[arg(long, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// 0 takes the most likely code [default: 0.3]
    #[arg(long, allow_negative_numbers = true)]
    pub temperature: Option<f32>,
    /// [default: 0.7]
    #[arg(long, allow_negative_numbers = true)]
    pub top_p: Option<f32>,
    /// [default: 20]
    #[arg(long, allow_negative_numbers = true)]
    pub top_k: Option<usize>,
    /// [default: 1.05]
    #[arg(long, allow_negative_numbers = true)]
    pub repetition_penalty: Option<f32>,
    /// Steps (21.33 ms each) before which a piece may not end
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = steps_or_none)]
    pub min_steps: usize,
    /// Steps at which a piece is cut off [default: from its text, at least 280]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub max_steps: Option<usize>,
    /// Let the model write pauses and laughs into the text first
    #[arg(long)]
    pub refine: bool,
    /// Steers the refinement, such as "[oral_2][laugh_0][break_6]"
    #[arg(long, value_name = "TAGS", requires = "refine")]
    pub refine_prompt: Option<String>,
    /// What the sound is decoded from [default: the model's own choice]
    #[arg(long, value_enum)]
    pub decode: Option<Decode>,
    /// Where to write: a .wav, .opus or .ogg file, or - for standard output [default: out.wav, or nothing with --play]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,
    /// Container, where the name does not say
    #[arg(long, value_enum)]
    pub format: Option<FormatArg>,
    /// Play through the system's player
    #[arg(long)]
    pub play: bool,
    /// Figures as one JSON object on standard output (standard error when the sound goes there)
    #[arg(long)]
    pub json: bool,
    /// Weights of the language model: f32 for parity, int8 for speed
    #[arg(long, value_enum, default_value_t = PrecisionArg::Int8)]
    pub precision: PrecisionArg,
    /// Random numbers: our own, or those the Python package draws after manual_seed
    #[arg(long, value_enum, default_value_t = Rng::Counter)]
    pub rng: Rng,
    /// Give the model the text as it is: no normalisation, no splitting
    #[arg(long)]
    pub raw_text: bool,
    /// Speak later pieces of a long text as continuations of the first
    #[arg(long)]
    pub carry_voice: bool,
    /// Pieces of a long text made at once, from the first sound on
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    parallel: u8,
    /// Threads [default: one for each processor; one for a small model]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Write input_ids, codes, hidden, mel and wav for comparison with other implementations
    #[arg(long, value_name = "FILE.safetensors")]
    pub dump: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decode {
    /// Hidden states, through the Decoder
    Hidden,
    /// Codes, through the DVAE
    Codes,
}

impl Decode {
    pub fn path(self) -> DecodePath {
        match self {
            Self::Hidden => DecodePath::Hidden,
            Self::Codes => DecodePath::Codes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Wav,
    Opus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrecisionArg {
    F32,
    Bf16,
    Int8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rng {
    Counter,
    Reference,
}

impl Args {
    pub fn sampling(&self) -> anyhow::Result<Sampling> {
        let mut sampling = Sampling::code(self.seed.unwrap_or_else(|| crate::model::speaker::draw_seed().into()));
        if self.rng == Rng::Reference {
            sampling.rng = RngKind::Reference { row: 0 };
        }
        sampling.temperature = self.temperature.unwrap_or(sampling.temperature);
        sampling.top_p = self.top_p.unwrap_or(sampling.top_p);
        sampling.top_k = self.top_k.unwrap_or(sampling.top_k);
        sampling.repetition_penalty = self.repetition_penalty.unwrap_or(sampling.repetition_penalty);
        sampling.min_steps = self.min_steps;
        if let Err(e) = sampling.validate() {
            bail!(Usage(e.to_string()));
        }
        if let Some(max) = self.max_steps.filter(|max| *max < self.min_steps) {
            bail!(Usage(format!("min_steps: expected at most max_steps {max}, found {}", self.min_steps)));
        }
        Ok(sampling)
    }

    pub fn engine_options(&self, decode: DecodePath, trace: bool) -> CpuOptions {
        CpuOptions {
            precision: match self.precision {
                PrecisionArg::F32 => Precision::F32,
                PrecisionArg::Bf16 => Precision::Bf16,
                PrecisionArg::Int8 => Precision::Int8,
            },
            slots: self.parallel(),
            threads: self.threads.map(usize::from),
            paths: vec![decode],
            refine: self.refine,
            trace,
            ..CpuOptions::default()
        }
    }

    /// Refuses a name that says no container, before anything is computed or overwritten.
    pub fn check_output(&self) -> anyhow::Result<()> {
        let name = self.output_name();
        let (by_name, asked) = (name.as_deref().and_then(|n| Format::of_path(n.as_ref())), self.container());
        if let (Some(by_name), Some(asked), Some(name)) = (by_name, asked, &name)
            && by_name != asked
        {
            bail!(Usage(format!("--format: expected the one output {name:?} is named for, found another")));
        }
        if self.dump.is_some() && self.dump.as_deref() == name.as_deref().map(std::path::Path::new) {
            bail!(Usage("--dump: expected another file than the output's".into()));
        }
        let named = name.as_deref().is_none_or(|n| n == "-" || Format::of_path(n.as_ref()).is_some());
        if !named && self.format.is_none() {
            let name = name.unwrap_or_default();
            bail!(Usage(format!(
                "output {name:?}: expected a name ending in .wav, .opus or .ogg, or -, or a --format"
            )));
        }
        Ok(())
    }

    /// Where the sound goes; nowhere when it is only played.
    pub fn output_name(&self) -> Option<String> {
        self.output.clone().or_else(|| (!self.play).then(|| "out.wav".to_string()))
    }

    pub fn parallel(&self) -> usize {
        self.parallel.into()
    }

    /// The container asked for by name.
    pub fn container(&self) -> Option<Format> {
        self.format.map(|f| match f {
            FormatArg::Wav => Format::Wav,
            FormatArg::Opus => Format::Opus,
        })
    }
}

fn steps_or_none(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (0..=65_536).contains(n)).ok_or_else(|| "expected 0 to 65536".into())
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=65_536).contains(n)).ok_or_else(|| "expected 1 to 65536".into())
}
