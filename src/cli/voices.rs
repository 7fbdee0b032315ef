//! `voxwire voices`: draw a voice, tell what a voice is, write it as text.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};

use crate::codec::{CodecError, Encoder};
use crate::model::dims::Dims;
use crate::model::speaker::voice::l2_norm;
use crate::model::speaker::{LISTED_BUT_NOT_SEEDS, Source, SpeakerStats, Voice, VoiceContext, VoiceKind};
use crate::parallel::Team;

#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Model folder (holds asset/) [default: the model in use]
    #[arg(long, global = true, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Print one JSON object a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Draw random voices: prints each seed and its speaker string
    Draw {
        /// How many
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        count: u32,
    },
    /// Tell what a voice is: its kind, seed, norm and first values; a sample's length and words
    Show {
        /// A seed (0 to 4294967295), a file, numbers, a speaker string or a sample string
        #[arg(allow_hyphen_values = true)]
        spec: String,
        /// The words spoken in a sample or recording
        #[arg(long)]
        text: Option<String>,
    },
    /// Write a voice as text: a speaker string, or a sample string for a recording
    Encode {
        /// A seed (0 to 4294967295), a file, numbers, a speaker string or a sample string
        #[arg(allow_hyphen_values = true)]
        spec: String,
        /// Write to FILE, with a sample's words on the lines after it [default: standard output, the string alone]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The words spoken in a sample or recording
        #[arg(long)]
        text: Option<String>,
    },
}

/// A reader that goes away (`voxwire voices draw --count 100 | head -1`) is not an error.
pub fn run(args: Args) -> anyhow::Result<()> {
    match run_to(args, &mut std::io::stdout().lock()) {
        Err(e) if e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => Ok(()),
        result => result,
    }
}

fn run_to(args: Args, out: &mut impl Write) -> anyhow::Result<()> {
    let model = Model::open(&super::model_dir(args.model)?)?;
    match args.command {
        Command::Draw { count } => (0..count).try_for_each(|_| model.draw(args.json, out)),
        Command::Show { spec, text } => model.show(&spec, text.as_deref(), args.json, out),
        Command::Encode { spec, output, text } => {
            model.encode(&spec, text.as_deref(), output.as_deref(), args.json, out)
        }
    }
}

/// What voices need of a model: its dimensions and statistics; the weights stay on disk.
struct Model {
    dir: PathBuf,
    dims: Dims,
    stats: Option<SpeakerStats>,
}

impl Model {
    fn open(dir: &Path) -> anyhow::Result<Self> {
        let dims = Dims::load(dir)?;
        let stats = SpeakerStats::load(dir, &dims)?;
        Ok(Self { dir: dir.to_path_buf(), dims, stats })
    }

    fn context<'a>(&'a self, text: Option<&'a str>) -> VoiceContext<'a> {
        VoiceContext::new(&self.dims).with_stats(self.stats.as_ref()).with_sample_text(text)
    }

    pub(super) fn parse(&self, spec: &str, text: Option<&str>) -> anyhow::Result<Voice> {
        let encode = |pcm: &[f32]| self.encode_recording(pcm).map_err(|e| e.to_string());
        Ok(Voice::parse(spec, &self.context(text).with_encoder(&encode))?)
    }

    /// The only step that needs weights and threads, taken when the voice turns out to be a recording.
    fn encode_recording(&self, pcm: &[f32]) -> Result<Vec<u16>, CodecError> {
        Encoder::load(&self.dir, &self.dims)?.encode(&Team::for_machine(), pcm)
    }

    fn draw(&self, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
        let ctx = self.context(None);
        let voice = Voice::draw(&ctx)?;
        let Source::Seed(seed) = voice.source() else { unreachable!("a drawn voice has a seed") };
        let string = voice.encode(&ctx)?;
        match json {
            true => writeln!(out, "{}", json!({ "seed": seed, "string": string }))?,
            false => writeln!(out, "{seed} {string}")?,
        }
        Ok(())
    }

    fn show(&self, spec: &str, text: Option<&str>, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
        let fields = self.describe(&self.parse(spec, text)?);
        if json {
            writeln!(out, "{}", object(fields))?;
        } else {
            for (name, value) in &fields {
                writeln!(out, "{name:<8} {}", value.as_str().map_or_else(|| value.to_string(), str::to_string))?;
            }
        }
        Ok(())
    }

    /// Names and values in the order they are shown in.
    fn describe(&self, voice: &Voice) -> Vec<(&'static str, Value)> {
        let mut fields = Vec::new();
        let mut put = |name, value| fields.push((name, value));
        put("source", json!(voice.source().to_string()));
        if let Some(file) = voice.file() {
            put("file", json!(file.display().to_string()));
        }
        match voice.kind() {
            VoiceKind::Embedding(values) => {
                put("kind", json!("embedding"));
                if let Source::Seed(seed) = voice.source() {
                    put("seed", json!(seed));
                    if LISTED_BUT_NOT_SEEDS.contains(&seed) {
                        put("note", json!("public lists give this number to a voice file, which this seed is not"));
                    }
                }
                put("values", json!(values.len()));
                put("norm", json!(rounded(l2_norm(values))));
                put("first", json!(values.iter().take(4).map(|&v| rounded(v.into())).collect::<Vec<_>>()));
            }
            VoiceKind::Sample(sample) => {
                put("kind", json!("sample"));
                put("steps", json!(sample.codes.len()));
                put("seconds", json!(rounded(sample.codes.len() as f64 / self.dims.steps_per_second())));
                put("first", json!(sample.codes[0]));
                put("text", json!(sample.text));
            }
        }
        fields
    }

    fn encode(
        &self,
        spec: &str,
        text: Option<&str>,
        output: Option<&Path>,
        json: bool,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let voice = self.parse(spec, text)?;
        let string = voice.encode(&self.context(None))?;
        let words = match voice.kind() {
            VoiceKind::Sample(sample) => sample.text.as_deref(),
            VoiceKind::Embedding(_) => None,
        };
        if let Some(file) = output {
            let lines = words.map_or_else(|| format!("{string}\n"), |words| format!("{string}\n{words}\n"));
            std::fs::write(file, lines).map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?;
        }
        match (json, output) {
            (true, _) => {
                let mut fields = self.describe(&voice);
                fields.push(("string", json!(string)));
                fields.push(("output", json!(output.map(|f| f.display().to_string()))));
                writeln!(out, "{}", object(fields))?;
            }
            (false, None) => writeln!(out, "{string}")?,
            (false, Some(file)) => writeln!(out, "{}", file.display())?,
        }
        Ok(())
    }
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Five decimals, as voice lists print values.
fn rounded(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::model::speaker::{StringLayout, base16384, string};

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    /// A model of 64 hidden values: configuration and statistics, which is all that voices need.
    fn model_dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("asset/gpt")).unwrap();
        let gpt = json!({
            "hidden_size": 64, "intermediate_size": 160, "num_attention_heads": 4, "num_hidden_layers": 3,
            "num_audio_tokens": 626, "num_text_tokens": 200, "num_vq": 4
        });
        let side = json!({"decoder": {"idim": 32, "odim": 32, "n_layer": 3, "bn_dim": 24, "hidden": 48}});
        let halves = [[1.5f32; 64], [0.25; 64]].concat();
        let stats: Vec<u8> = halves.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
        std::fs::write(dir.path().join("asset/gpt/config.json"), gpt.to_string()).unwrap();
        std::fs::write(dir.path().join("config.json"), side.to_string()).unwrap();
        std::fs::write(dir.path().join("speaker_stats.txt"), base16384::encode(&stats)).unwrap();
        dir
    }

    fn voices(dir: &Path, words: &[&str]) -> Result<String, String> {
        let words = ["voices"].iter().chain(words).map(|w| w.to_string());
        let words = words.chain(["--model".into(), dir.display().to_string()]);
        let cli = <Cli as clap::Parser>::try_parse_from(words).map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        run_to(cli.args, &mut out).map_err(|e| e.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_drawn_seed_gives_its_string_again() {
        let dir = model_dir();
        let lines = voices(dir.path(), &["draw", "--count", "3"]).unwrap();
        assert_eq!(lines.lines().count(), 3);
        for line in lines.lines() {
            let (seed, string) = line.split_once(' ').unwrap();
            assert_eq!(voices(dir.path(), &["encode", seed]).unwrap().trim_end(), string);
        }
        let object: Value = serde_json::from_str(&voices(dir.path(), &["draw", "--json"]).unwrap()).unwrap();
        assert!(object["seed"].is_u64() && object["string"].is_string());
    }

    #[test]
    fn show_tells_what_a_voice_is() {
        let dir = model_dir();
        let show = |spec: &str| -> Value {
            serde_json::from_str(&voices(dir.path(), &["show", spec, "--json"]).unwrap()).unwrap()
        };
        let by_seed = show("2222");
        assert_eq!(
            (&by_seed["kind"], &by_seed["seed"], &by_seed["values"]),
            (&json!("embedding"), &json!(2222), &json!(64))
        );
        assert!(by_seed.get("note").is_none() && show("11")["note"].is_string());
        let string = voices(dir.path(), &["encode", "2222"]).unwrap();
        let by_string = show(&string);
        assert_eq!(by_string["source"], "speaker string");
        let (a, b) = (by_seed["norm"].as_f64().unwrap(), by_string["norm"].as_f64().unwrap());
        assert!((a - b).abs() < 1e-3 * a, "{a} and, in f16, {b}");
        assert!(
            voices(dir.path(), &["show", "--json", "2222"]).unwrap().starts_with('{'),
            "an option before the voice"
        );
        let numbers = vec!["-0.5"; 64].join(",");
        assert_eq!(show(&numbers)["first"], json!([-0.5, -0.5, -0.5, -0.5]));
        assert!(voices(dir.path(), &["show", "2222"]).unwrap().contains("seed 2222"));
    }

    #[test]
    fn a_sample_keeps_its_words_in_a_file() {
        let dir = model_dir();
        let layout = StringLayout { hidden: 64, num_vq: 4, codes: 625, max_steps: 2048 };
        let sample = string::encode_codes(&vec![vec![1, 2, 3, 4]; 375], &layout).unwrap();
        let file = dir.path().join("sample.txt");
        let file = file.to_str().unwrap();
        voices(dir.path(), &["encode", &sample, "--text", "some words", "-o", file]).unwrap();
        let shown: Value = serde_json::from_str(&voices(dir.path(), &["show", file, "--json"]).unwrap()).unwrap();
        assert_eq!((&shown["kind"], &shown["steps"], &shown["seconds"]), (&json!("sample"), &json!(375), &json!(8.0)));
        assert_eq!(shown["text"], "some words");
    }

    #[test]
    fn errors_are_one_line() {
        let dir = model_dir();
        for words in [&["show", "-1"][..], &["show", "4294967296"], &["encode", "hello"], &["show", "1,2,3"]] {
            let line = voices(dir.path(), words).unwrap_err();
            assert!(line.contains("expected") && !line.contains('\n'), "{words:?}: {line}");
        }
        let line = voices(&dir.path().join("none"), &["draw"]).unwrap_err();
        assert!(line.contains("expected a model folder") && !line.contains('\n'), "{line}");
        std::fs::remove_file(dir.path().join("speaker_stats.txt")).unwrap();
        assert!(voices(dir.path(), &["draw"]).unwrap_err().contains("speaker_stats.txt"));
    }
}
