//! `voxwire say` from outside: the real binary, its files, its figures and its errors.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Golden, peak_error, tiny};
use safetensors::SafeTensors;

fn voxwire(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_voxwire")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn say(args: &[&str]) -> Output {
    let dir = tiny();
    let mut all = vec!["say", "--model", dir.to_str().unwrap()];
    all.extend(args);
    voxwire(&all)
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// (sample rate, channels, samples) of a 16-bit WAV.
fn wav(path: &Path) -> (u32, u16, usize) {
    let reader = hound::WavReader::open(path).unwrap();
    (reader.spec().sample_rate, reader.spec().channels, reader.duration() as usize)
}

#[test]
fn a_dump_equals_the_python_package() {
    let golden = Golden::tiny();
    let dir = tempfile::tempdir().unwrap();
    let (dump, out) = (dir.path().join("d.safetensors"), dir.path().join("o.wav"));
    let text = golden.json["code1"]["texts"][0].as_str().unwrap();
    let voice = golden.json["spk_seed1234"].as_str().unwrap();
    let figures = json(&say(&[
        text,
        "--raw-text",
        "--rng",
        "reference",
        "--seed",
        "42",
        "--precision",
        "f32",
        "--voice",
        voice,
        "--min-steps",
        "64",
        "--max-steps",
        "64",
        "--decode",
        "hidden",
        "--json",
        "--dump",
        dump.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ]));
    assert_eq!((figures["steps"].as_u64(), figures["seed"].as_u64()), (Some(64), Some(42)));
    let bytes = std::fs::read(dump).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let i64s = |name: &str| -> Vec<i64> {
        let data = file.tensor(name).unwrap();
        data.data().chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let f32s = |name: &str| -> Vec<f32> {
        let data = file.tensor(name).unwrap();
        data.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let golden_ids: Vec<i64> = golden.i64("code1.input_ids").chunks_exact(4).map(|c| c[0]).collect();
    assert_eq!(i64s("input_ids"), golden_ids);
    assert_eq!(file.tensor("codes").unwrap().shape(), [64, 4]);
    assert_eq!(i64s("codes"), golden.i64("code1.sampled"));
    for (name, expected) in [("hidden", "code1.hiddens.0"), ("mel", "dec.mel"), ("wav", "dec.wav")] {
        let error = peak_error(&f32s(name), &golden.f32(expected));
        assert!(error < 1e-3, "{name}: {error}");
    }
    assert_eq!(wav(&out), (24_000, 1, f32s("wav").len()));
}

#[test]
fn the_demo_model_speaks_a_sentence_in_either_voice_and_ends_in_silence() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
    let voices: serde_json::Value = serde_json::from_slice(&std::fs::read(model.join("voices.json")).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut heard = Vec::new();
    for (voice, decode) in [("female", "codes"), ("male", "codes"), ("female", "hidden")] {
        let out = dir.path().join(format!("{voice}-{decode}.wav"));
        let figures = json(&voxwire(&[
            "say",
            "The train to the city leaves at 7 every morning",
            "--model",
            model.to_str().unwrap(),
            "--voice",
            voices[voice].as_str().unwrap(),
            "--decode",
            decode,
            "--seed",
            "1",
            "--json",
            "-o",
            out.to_str().unwrap(),
        ]));
        assert_eq!(figures["pieces"][0]["end"], "natural", "{voice} {decode}");
        let samples: Vec<i16> = hound::WavReader::open(out).unwrap().samples().map(Result::unwrap).collect();
        // Ten words take two to four seconds.
        assert!((48_000..96_000).contains(&samples.len()), "{voice} {decode}: {}", samples.len());
        let level = |part: &[i16]| {
            let power = part.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / part.len() as f64;
            10.0 * (power / 32_768f64.powi(2)).log10()
        };
        assert!(level(&samples) > -35.0, "{voice} {decode}: {} dBFS", level(&samples));
        let end = level(&samples[samples.len() - 240..]);
        assert!(end < -50.0, "{voice} {decode}: the last 10 ms at {end} dBFS");
        heard.push(samples);
    }
    assert!(heard[0] != heard[1] && heard[0] != heard[2]);
}

#[test]
fn text_comes_from_standard_input_and_sound_goes_to_standard_output() {
    let dir = tiny();
    let mut child = Command::new(env!("CARGO_BIN_EXE_voxwire"))
        .args(["say", "--model", dir.to_str().unwrap(), "--max-steps", "20", "--json", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("hello world".as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(&output.stdout[..4], b"RIFF");
    // The figures give way to the sound.
    let figures: serde_json::Value = serde_json::from_str(stderr(&output).lines().last().unwrap()).unwrap();
    let samples = figures["pieces"][0]["samples"].as_u64().unwrap() as usize;
    assert_eq!(output.stdout.len(), 44 + 2 * samples);
}

#[test]
fn opus_by_name_and_by_format() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o.opus");
    let output = say(&["hello", "--max-steps", "30", "-o", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(&std::fs::read(out).unwrap()[..4], b"OggS");
    let output = say(&["hello", "--max-steps", "30", "--format", "opus", "-o", "-"]);
    assert_eq!(&output.stdout[..4], b"OggS");
}

#[test]
fn a_seed_repeats_a_reading_and_is_told_when_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, seed: Option<u64>| {
        let out = dir.path().join(name);
        let seed = seed.map(|s| s.to_string());
        let mut args = vec!["hello world", "--max-steps", "40", "--json", "-o", out.to_str().unwrap()];
        args.extend(seed.as_deref().map(|s| ["--seed", s]).into_iter().flatten());
        let figures = json(&say(&args));
        (figures["seed"].as_u64().unwrap(), std::fs::read(out).unwrap())
    };
    let (seed, first) = run("a.wav", None);
    assert_eq!(run("b.wav", Some(seed)), (seed, first));
}

#[test]
fn long_text_is_spoken_piece_by_piece_however_many_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let text = "Hello world. ".repeat(60);
    let run = |parallel: &str| {
        let out = dir.path().join(format!("{parallel}.wav"));
        let figures = json(&say(&[
            &text,
            "--seed",
            "5",
            "--max-steps",
            "30",
            "--parallel",
            parallel,
            "--json",
            "-o",
            out.to_str().unwrap(),
        ]));
        assert!(figures["pieces"].as_array().unwrap().len() > 2);
        std::fs::read(out).unwrap()
    };
    let alone = run("1");
    assert_eq!(run("4"), alone);
}

#[test]
fn a_request_that_fails_leaves_the_old_recording() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("keep.wav");
    std::fs::write(&out, b"old").unwrap();
    let output = say(&["hi", "--voice", "no such voice", "-o", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read(out).unwrap(), b"old");
}

#[test]
fn a_sample_text_cannot_bring_in_tokens_of_the_prompt() {
    let golden = Golden::tiny();
    let dir = tempfile::tempdir().unwrap();
    let ids = |text: &str, name: &str| {
        let (dump, out) = (dir.path().join(name), dir.path().join("o.wav"));
        let figures = say(&[
            "hello",
            "--voice",
            golden.json["spk_smp"].as_str().unwrap(),
            "--voice-text",
            text,
            "--max-steps",
            "5",
            "--json",
            "--dump",
            dump.to_str().unwrap(),
            "-o",
            out.to_str().unwrap(),
        ]);
        json(&figures);
        let bytes = std::fs::read(dump).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        file.tensor("input_ids").unwrap().data().to_vec()
    };
    assert_eq!(ids("good [Ptts][spk_emb]morning", "a"), ids("good morning", "b"));
}

#[test]
fn nothing_to_say_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o.wav");
    for text in ["", "  ", "...", "!?", "\u{1F600}"] {
        let figures = json(&say(&[text, "--json", "-o", out.to_str().unwrap()]));
        assert_eq!(figures["nothing_to_say"], true, "{text:?}");
        assert_eq!(wav(&out).2, 0);
    }
}

#[test]
fn errors_are_one_line_that_names_what_was_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o.wav");
    let out = out.to_str().unwrap();
    let bad: [(&[&str], i32, &str); 13] = [
        (&["hi", "--temperature", "9"], 2, "temperature: expected 0, or 0.01 to 5, found 9"),
        (&["hi", "--top-p", "0"], 2, "top_p: expected above 0, at most 1, found 0"),
        (&["hi", "--top-k", "0"], 2, "top_k"),
        (&["hi", "--min-steps", "9", "--max-steps", "3"], 2, "min_steps: expected at most max_steps 3, found 9"),
        (&["hi", "--voice", "4294967296"], 1, "voice seed: expected 0 to 4294967295"),
        (&["hi", "--voice", "no such voice"], 1, "voice"),
        (&["hi", "-o", "x.txt"], 2, "expected a name ending in .wav, .opus or .ogg"),
        (&["hi", "--refine"], 1, "--refine"),
        (&["hi", "--max-steps", "0"], 2, "expected 1 to 65536"),
        (&["hi", "--temperature", "-1"], 2, "temperature: expected 0, or 0.01 to 5, found -1"),
        (&["--jsn"], 2, "--jsn"),
        (&["hi", "--format", "opus"], 2, "--format"),
        (&["hi", "--voice-text", "words"], 2, "--voice"),
    ];
    for (args, code, message) in bad {
        let mut args = args.to_vec();
        if !args.contains(&"-o") {
            args.extend(["-o", out]);
        }
        let output = if args.contains(&"--refine") { refine_without_a_head(dir.path(), &args) } else { say(&args) };
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        let errors: Vec<&str> = text.lines().filter(|l| l.starts_with("error")).collect();
        assert!(errors.len() == 1 && errors[0].contains(message), "{args:?}: {text}");
    }
    let output = voxwire(&["say", "hi", "--model", "no/such/model"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no/such/model"));
}

/// The tiny model with a configuration that says its text head is untrained.
fn refine_without_a_head(dir: &Path, args: &[&str]) -> Output {
    let model = dir.join("model");
    if !model.exists() {
        std::fs::create_dir(&model).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(tiny().join("asset"), model.join("asset")).unwrap();
        let config = std::fs::read(tiny().join("model_config.json")).unwrap();
        let mut config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        config["capabilities"] = serde_json::json!({ "refine_text": false });
        std::fs::write(model.join("config.json"), config.to_string()).unwrap();
    }
    let mut all = vec!["say", "--model", model.to_str().unwrap()];
    all.extend(args);
    voxwire(&all)
}

#[test]
fn a_nul_and_broken_utf8_on_standard_input_are_errors() {
    let dir = tiny();
    for (bytes, message) in [(&b"a\0b"[..], "byte 1"), (b"abc\xff", "UTF-8")] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_voxwire"))
            .args(["say", "--model", dir.to_str().unwrap(), "-o", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_refinement_with_other_words_is_not_used_and_told() {
    // Random weights refine into random words.
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o.wav");
    let figures = json(&say(&[
        "hello world",
        "--refine",
        "--seed",
        "1",
        "--max-steps",
        "10",
        "--json",
        "-o",
        out.to_str().unwrap(),
    ]));
    assert_eq!(figures["refinements_rejected"].as_array().unwrap().len(), 1);
}

#[test]
fn broken_model_files_stop_the_start_with_file_and_reason() {
    let dir = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let to = dir.path().join(name);
        for sub in ["asset/gpt", "asset/tokenizer"] {
            std::fs::create_dir_all(to.join(sub)).unwrap();
        }
        let files = [
            "model_config.json",
            "asset/gpt/config.json",
            "asset/gpt/model.safetensors",
            "asset/Embed.safetensors",
            "asset/Decoder.safetensors",
            "asset/DVAE.safetensors",
            "asset/Vocos.safetensors",
            "asset/tokenizer/tokenizer.json",
            "asset/tokenizer/tokenizer_config.json",
        ];
        for file in files {
            std::fs::copy(tiny().join(file), to.join(file)).unwrap();
        }
        to
    };
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    type Damage<'a> = &'a dyn Fn(&Path);
    let damage: [(&str, &str, Damage<'_>, &str); 8] = [
        ("lfs", "asset/Vocos.safetensors", &|p| std::fs::write(p, lfs).unwrap(), "Git-LFS pointer"),
        ("cut", "asset/gpt/model.safetensors", &cut, "truncated"),
        ("gone", "asset/Decoder.safetensors", &|p| std::fs::remove_file(p).unwrap(), "Decoder.safetensors"),
        ("tokenizer", "asset/tokenizer/tokenizer.json", &|p| std::fs::write(p, "{}").unwrap(), "tokenizer.json"),
        ("shape", "model_config.json", &wider, "expected shape"),
        ("layers", "asset/gpt/config.json", &shallower, "expected 2 layers"),
        ("dilation", "model_config.json", &dilated, "dilation"),
        ("poison", "asset/Decoder.safetensors", &poison, "finite"),
    ];
    for (name, file, damage, message) in damage {
        let model = copy(name);
        damage(&model.join(file));
        let out = dir.path().join("o.wav");
        let output = voxwire(&["say", "hi", "--model", model.to_str().unwrap(), "-o", out.to_str().unwrap()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{name}: {text}");
        assert!(text.contains(message), "{name}: {text}");
    }
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// A vocoder wider than its file.
fn wider(path: &Path) {
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    config["vocos"]["backbone"]["init_args"]["dim"] = 72.into();
    config["vocos"]["head"]["init_args"]["dim"] = 72.into();
    std::fs::write(path, config.to_string()).unwrap();
}

/// One layer fewer than the weights have.
fn shallower(path: &Path) {
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    config["num_hidden_layers"] = 2.into();
    std::fs::write(path, config.to_string()).unwrap();
}

fn dilated(path: &Path) {
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    config["decoder"]["dilation"] = (1u64 << 62).into();
    std::fs::write(path, config.to_string()).unwrap();
}

/// Weights that are no numbers.
fn poison(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[header..].fill(0xff);
    std::fs::write(path, bytes).unwrap();
}

/// Put anywhere, without a file beside it and without a home, the program speaks with the demo voice inside it.
#[test]
fn the_program_alone_speaks() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_voxwire"));
        command.args(args).current_dir(&dir).stdin(Stdio::null()).env_clear();
        command.output().unwrap()
    };
    let figures = json(&run(&["say", "Hello there.", "--seed", "1", "-o", "o.wav", "--json"]));
    let on_disk = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
    let same = ["say", "Hello there.", "--seed", "1", "-o", "p.wav", "--json", "--model", on_disk.to_str().unwrap()];
    assert_eq!(figures["model"], json(&run(&same))["model"]);
    let file = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    assert_eq!(file("o.wav"), file("p.wav"));
    let listed = run(&["models", "list"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.contains("embedded:demo") && text.contains("voxwire-demo-en"), "{text}");
    let none = run(&["say", "Hello.", "--model", "nowhere", "-o", "q.wav"]);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(stderr(&none).trim(), "error: nowhere: expected a model folder that holds asset/, found none");
}
