//! Voices against PyTorch and the Python package (golden values in tests/data, made by tests/data/make_voices.py), the
//! voice cases, and properties of the parsers on arbitrary input.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use half::f16;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use voxwire::model::dims::Dims;
use voxwire::model::speaker::string::{self, Payload};
use voxwire::model::speaker::{LISTED_BUT_NOT_SEEDS, base16384, numbers, voice};
use voxwire::model::speaker::{Source, SpeakerStats, StringLayout, Voice, VoiceContext, VoiceKind};
use voxwire::model::torch_rng::{Mt19937, exponential_f32, multinomial, randn_f32};

const HIDDEN: usize = 768;

fn data(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The first of `files` in the folder of golden values too large to commit.
fn golden(files: &[&str]) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let dir = std::env::var_os("VOXWIRE_GOLDEN").map_or_else(default, PathBuf::from);
    let found = files.iter().map(|file| dir.join(file)).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: no {} in the golden folder", files.join(" or "));
    }
    found
}

/// The published model's dimensions.
fn published_dims() -> Dims {
    static DIMS: LazyLock<Dims> = LazyLock::new(load_published_dims);
    DIMS.clone()
}

fn load_published_dims() -> Dims {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("asset/gpt")).unwrap();
    let config = json!({
        "hidden_size": HIDDEN, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 20,
        "num_audio_tokens": 626, "num_text_tokens": 21178, "num_vq": 4
    });
    std::fs::write(dir.path().join("asset/gpt/config.json"), config.to_string()).unwrap();
    Dims::load(dir.path()).unwrap()
}

fn layout(hidden: usize) -> StringLayout {
    StringLayout { hidden, num_vq: 4, codes: 625, max_steps: 2048 }
}

fn plain_stats() -> SpeakerStats {
    SpeakerStats { std: vec![1.0; HIDDEN], mean: vec![0.0; HIDDEN] }
}

fn f32_bits(v: &Value) -> Vec<u32> {
    v.as_array().unwrap().iter().map(|b| b.as_u64().unwrap() as u32).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn sha256(values: &[f32]) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

// ---------------------------------------------------------------- random streams

#[test]
fn random_streams_equal_torch_bit_for_bit() {
    let golden = data("voices.json");
    let streams = golden["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 5);
    for s in streams {
        let seed = s["seed"].as_u64().unwrap();
        let mut mt = Mt19937::new(seed);
        let words: Vec<u32> = (0..8).map(|_| mt.next_u32() & 0x7FFF_FFFF).collect();
        assert_eq!(words, f32_bits(&s["words_low31"]), "seed {seed}: words");
        let normals = randn_f32(seed, HIDDEN);
        assert_eq!(bits(&normals[..8]), f32_bits(&s["randn768_first8"]), "seed {seed}: randn(768)");
        assert_eq!(sha256(&normals), s["randn768_sha256"], "seed {seed}: randn(768)");
        assert_eq!(sha256(&randn_f32(seed, 773)), s["randn773_sha256"], "seed {seed}: randn(773)");
        assert_eq!(bits(&randn_f32(seed, 15)), f32_bits(&s["randn15"]), "seed {seed}: randn(15)");
        let noise = exponential_f32(seed, 4 * 626);
        assert_eq!(bits(&noise[..8]), f32_bits(&s["exponential_first8"]), "seed {seed}: exponential");
        assert_eq!(sha256(&noise), s["exponential2504_sha256"], "seed {seed}: exponential");
        let ids: Vec<usize> = sampled_rows().iter().zip(noise.chunks(626)).map(|(p, q)| multinomial(p, q)).collect();
        assert_eq!(json!(ids), s["multinomial"], "seed {seed}: multinomial");
    }
}

/// The four rows of probabilities that make_voices.py draws from.
fn sampled_rows() -> [Vec<f32>; 4] {
    let ramp: Vec<f32> = (0..626).map(|i| ((i * 7919) % 626 + 1) as f32 / 1024.0).collect();
    let squared = |x: f32| x * x;
    [
        ramp.clone(),
        ramp.iter().rev().copied().collect(),
        ramp.iter().map(|&x| squared(squared(x))).collect(),
        ramp.iter().map(|&x| x.max(0.5)).collect(),
    ]
}

// ---------------------------------------------------------------- golden voices

#[test]
fn strings_of_the_python_package_decode() {
    for s in data("voices.json")["strings"].as_array().unwrap() {
        let number = |key: &str| s[key].as_u64().unwrap() as usize;
        let (hidden, steps, layout) = (number("hidden"), number("steps"), layout(number("hidden")));
        let expected: Vec<f32> =
            randn_f32(s["seed"].as_u64().unwrap(), hidden).iter().map(|&v| f16::from_f32(v).to_f32()).collect();
        let text = s["speaker_string"].as_str().unwrap();
        assert_eq!(string::decode(text, &layout).unwrap(), Payload::Embedding(expected.clone()));
        let again = string::encode_embedding(&expected).unwrap();
        assert_eq!(string::decode(&again, &layout).unwrap(), Payload::Embedding(expected));

        let code = |t: usize, q: usize| ((q * 131 + t * 37 + t * t) % 625) as u16;
        let codes: Vec<Vec<u16>> = (0..steps).map(|t| (0..4).map(|q| code(t, q)).collect()).collect();
        let text = s["sample_string"].as_str().unwrap();
        assert_eq!(string::decode(text, &layout).unwrap(), Payload::Codes(codes.clone()));
        let again = string::encode_codes(&codes, &layout).unwrap();
        assert_eq!(string::decode(&again, &layout).unwrap(), Payload::Codes(codes));
    }
}

#[test]
fn a_speaker_string_normalises_as_in_the_python_package() {
    let (golden, dims) = (data("voices.json"), published_dims());
    let s = &golden["strings"][0];
    let voice = Voice::parse_text(s["speaker_string"].as_str().unwrap(), &VoiceContext::new(&dims)).unwrap();
    let halves: Vec<u32> =
        voice.normalized().unwrap()[..64].iter().map(|&v| u32::from(f16::from_f32(v).to_bits())).collect();
    assert_eq!(halves, f32_bits(&s["normalized_bits"]));
}

#[test]
fn statistics_turn_seeds_into_voices() {
    let golden = data("voices.json");
    let golden = &golden["statistics"];
    let stats = SpeakerStats::parse(golden["text"].as_str().unwrap(), 64, "voices.json").unwrap();
    for v in golden["voices"].as_array().unwrap() {
        let expected: Vec<f32> = serde_json::from_value(v["values"].clone()).unwrap();
        assert_eq!(stats.voice(v["seed"].as_u64().unwrap() as u32), expected, "seed {}", v["seed"]);
    }
}

/// The published model's statistics are not ours to commit: `speaker_stats.txt`, or the configuration of the full-size
/// random model, in the golden folder.
fn published_stats() -> Option<SpeakerStats> {
    let path = golden(&["speaker_stats.txt", "assets/full/model_config.json"])?;
    let mut text = std::fs::read_to_string(&path).unwrap();
    if path.extension().is_some_and(|e| e == "json") {
        let config: Value = serde_json::from_str(&text).unwrap();
        text = config["spk_stat"].as_str().unwrap().to_string();
    }
    Some(SpeakerStats::parse(&text, HIDDEN, "golden folder").unwrap())
}

/// Cases V02 and V03 and the seeds of the public lists, with the published model's statistics.
#[test]
fn public_seeds_give_the_public_voices() {
    let Some(stats) = published_stats() else { return };
    let close = |got: f32, expected: &Value, what: &str| {
        assert!((f64::from(got) - expected.as_f64().unwrap()).abs() < 1e-4, "{what}: {got}, expected {expected}");
    };
    for (seed, first) in [(1111, json!([-1.63022, 1.02232, -8.09497])), (9999, json!([-3.50892, -1.38150, 15.28669]))] {
        let voice = stats.voice(seed);
        (0..3).for_each(|i| close(voice[i], &first[i], &format!("seed {seed}, value {i}")));
    }
    let golden = data("golden_seeds.json");
    assert_eq!(golden["not_seeds"], json!(LISTED_BUT_NOT_SEEDS));
    let seeds = golden["seeds"].as_object().unwrap();
    assert!(seeds.len() >= 9);
    for (seed, expected) in seeds {
        let voice = stats.voice(seed.parse().unwrap());
        (0..4).for_each(|i| close(voice[i], &expected["first4"][i], &format!("seed {seed}, value {i}")));
        (0..2).for_each(|i| close(voice[HIDDEN - 2 + i], &expected["last2"][i], &format!("seed {seed}, from the end")));
        let sum: f64 = voice.iter().map(|&v| f64::from(v)).sum();
        assert!((sum - expected["sum"].as_f64().unwrap()).abs() < 2e-3, "seed {seed}: sum {sum}");
        assert!((voice::l2_norm(&voice) - expected["l2"].as_f64().unwrap()).abs() < 1e-3, "seed {seed}: norm");
    }
}

/// The strings in the full-size golden run, against the tensors they were made from.
#[test]
fn golden_run_strings_decode_to_their_tensors() {
    let (Some(json_path), Some(tensors)) = (golden(&["full.json"]), golden(&["full.safetensors"])) else { return };
    let golden: Value = serde_json::from_slice(&std::fs::read(json_path).unwrap()).unwrap();
    let bytes = std::fs::read(tensors).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let halves = |name: &str| -> Vec<f32> {
        tensors
            .tensor(name)
            .unwrap()
            .data()
            .chunks_exact(2)
            .map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32())
            .collect()
    };
    let dims = published_dims();
    let parse = |key: &str| Voice::parse_text(golden[key].as_str().unwrap(), &VoiceContext::new(&dims)).unwrap();
    let voice = parse("spk_seed1234");
    assert_eq!(voice.embedding().unwrap(), halves("spk.seed1234"));
    assert_eq!(voice.normalized().unwrap(), halves("spk.normalized_f16"));
    let sample = parse("spk_smp");
    let codes = &sample.sample().unwrap().codes;
    let expected = tensors.tensor("dvae.sample_audio_codes").unwrap();
    let steps = expected.shape()[1];
    assert_eq!(codes.len(), steps);
    for (i, b) in expected.data().chunks_exact(4).enumerate() {
        let id = i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        assert_eq!(i32::from(codes[i % steps][i / steps]), id, "step {}, codebook {}", i % steps, i / steps);
    }
}

// ---------------------------------------------------------------- what a user may name

fn parse(spec: &str) -> Result<Voice, String> {
    let (dims, stats) = (published_dims(), plain_stats());
    Voice::parse(spec, &VoiceContext::new(&dims).with_stats(Some(&stats))).map_err(|e| e.to_string())
}

fn csv(values: &[f32]) -> String {
    values.iter().map(f32::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn seeds() {
    let voice = parse(" 2222 ").unwrap();
    assert_eq!(voice.source(), Source::Seed(2222));
    assert_eq!(voice.embedding().unwrap(), randn_f32(2222, HIDDEN));
    let norm = voice::l2_norm(&voice.normalized().unwrap());
    assert!((norm - 1.0).abs() < 1e-6, "norm {norm}");
    for spec in ["0", "4294967295"] {
        assert_eq!(parse(spec), parse(spec), "case V07, V08: seed {spec}");
        assert!(parse(spec).is_ok());
    }
    assert_eq!(parse("4294967296").unwrap_err(), "voice seed: expected 0 to 4294967295, found 4294967296");
    assert_eq!(parse("-1").unwrap_err(), "voice seed: expected 0 to 4294967295, found -1");
    let dims = published_dims();
    let fault = Voice::parse("7", &VoiceContext::new(&dims)).unwrap_err().to_string();
    assert!(fault.starts_with("voice seed 7: expected the model's speaker statistics"), "{fault}");
}

#[test]
fn drawn_seeds_differ_and_are_told() {
    let (dims, stats) = (published_dims(), plain_stats());
    let ctx = VoiceContext::new(&dims).with_stats(Some(&stats));
    let voices: Vec<Voice> = (0..8).map(|_| Voice::draw(&ctx).unwrap()).collect();
    for v in &voices {
        let Source::Seed(seed) = v.source() else { panic!("a drawn voice has a seed") };
        assert_eq!(*v, Voice::from_seed(seed, &ctx).unwrap());
    }
    assert!(voices.windows(2).any(|w| w[0] != w[1]));
}

/// Cases V15, V17, V18, V23 and V30.
#[test]
fn malformed_voices_name_the_step_that_failed() {
    let unknown = parse("hello").unwrap_err();
    let expected = "voice \"hello\": expected a seed, an existing file, 768 numbers or a speaker string (speaker string: \
                    base16384: character 1 'h' is not in U+4E00..U+8DFF)";
    assert_eq!(unknown, expected);
    let short = string::encode_embedding(&vec![0.5; 767]).unwrap();
    assert_eq!(parse(&short).unwrap_err(), "speaker string: expected 768 f16 values, found 767");
    let long = string::encode_embedding(&vec![0.5; 769]).unwrap();
    assert_eq!(parse(&long).unwrap_err(), "speaker string: expected 768 f16 values, found 769");
    let mut wrong: Vec<char> = string::encode_embedding(&randn_f32(3, HIDDEN)).unwrap().chars().collect();
    wrong[16] = 'x';
    let wrong: String = wrong.into_iter().collect();
    let line = parse(&wrong).unwrap_err();
    assert_eq!(line, "speaker string: base16384: character 17 'x' is not in U+4E00..U+8DFF");
    let cut: String = string::encode_embedding(&randn_f32(3, HIDDEN)).unwrap().chars().take(400).collect();
    let line = parse(&cut).unwrap_err();
    assert_eq!(line, "speaker string: LZMA2: expected an end marker, found the end of the data (cut off?)");
    let mut values = randn_f32(3, HIDDEN);
    values[12] = f32::NAN;
    assert_eq!(parse(&csv(&values)).unwrap_err(), "numbers: value 13: expected a finite number, found NaN");
    assert_eq!(
        string::encode_embedding(&values).unwrap_err().to_string(),
        "speaker string: value 13: expected a finite number, found NaN"
    );
    let zeros = csv(&[0.0; HIDDEN]);
    assert_eq!(parse(&zeros).unwrap_err(), "numbers: expected a vector with a direction, found all zeros");
    assert_eq!(parse("1.5, 2.5").unwrap_err(), "numbers: expected 768, found 2");
    let huge = "一".repeat(350_000);
    assert!(parse(&huge).unwrap_err().starts_with("speaker string: expected at most "));
    let path = "../".repeat(3000);
    for spec in ["../../etc/passwd-none", "a/b", "%2e%2e%2f", "", "nul\0byte", path.as_str()] {
        let line = parse(spec).unwrap_err();
        assert!(line.starts_with("voice ") && line.len() < 400 && !line.contains('\n'), "{spec:?}: {line}");
    }
}

/// Cases V19 and V20.
#[test]
fn the_other_kind_is_named() {
    let embedding = parse("1").unwrap();
    assert_eq!(embedding.sample().unwrap_err().to_string(), "expected a sample string, found a speaker string");
    let text = string::encode_codes(&vec![vec![1, 2, 3, 4]; 50], &layout(HIDDEN)).unwrap();
    let sample = parse(&text).unwrap();
    assert_eq!(sample.embedding().unwrap_err().to_string(), "expected a speaker string, found a sample string");
    assert_eq!(sample.normalized(), None);
    let words = sample.sample().unwrap().words().unwrap_err();
    assert_eq!(words.to_string(), "sample: expected the words spoken in it, found none");
}

#[test]
fn sample_strings_are_checked_against_the_model() {
    let check = |codes: Vec<Vec<u16>>, from: StringLayout| {
        string::decode(&string::encode_codes(&codes, &from).unwrap(), &layout(HIDDEN)).unwrap_err().to_string()
    };
    let shape = check(vec![vec![1, 2, 3]; 5], StringLayout { num_vq: 3, ..layout(HIDDEN) });
    assert_eq!(shape, "sample string: shape: expected 4 codebooks and 1 to 2048 steps, found [3, 5]");
    let code = check(vec![vec![1, 2, 3, 4], vec![1, 625, 3, 4]], StringLayout { codes: 1000, ..layout(HIDDEN) });
    assert_eq!(code, "sample string: step 2, codebook 2: expected a code below 625, found 625");
    assert!(string::encode_codes(&[], &layout(HIDDEN)).is_err());
    assert!(string::encode_codes(&[vec![1, 2, 3, 4], vec![1]], &layout(HIDDEN)).is_err());
}

#[test]
fn one_codebook_is_told_apart_too() {
    let one = StringLayout { num_vq: 1, ..layout(4) };
    for steps in [1, 2, 255, 256, 257, 2048] {
        let codes: Vec<Vec<u16>> = (0..steps).map(|t| vec![t as u16 % 625]).collect();
        let text = string::encode_codes(&codes, &one).unwrap();
        assert_eq!(string::decode(&text, &one).unwrap(), Payload::Codes(codes), "{steps} steps");
    }
    let text = string::encode_embedding(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(string::decode(&text, &one).unwrap(), Payload::Embedding(vec![1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn files_hold_any_form_and_nothing_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    };
    let values = randn_f32(5, HIDDEN);
    let text = string::encode_embedding(&values).unwrap();
    let column: String = values.iter().map(|v| format!("{v}\r\n")).collect();
    for (name, bytes, source) in [
        ("seed.txt", b"\xEF\xBB\xBF2222\n".to_vec(), Source::Seed(2222)),
        ("v.csv", csv(&values).into_bytes(), Source::Numbers),
        ("column.csv", column.into_bytes(), Source::Numbers),
        ("list.pt", format!("[{}]", csv(&values)).into_bytes(), Source::Numbers),
        ("v.spk", format!("{text}\n").into_bytes(), Source::SpeakerString),
    ] {
        let path = write(name, &bytes);
        let voice = parse(&path).unwrap();
        assert_eq!((voice.source(), voice.file()), (source, Some(Path::new(&path))), "{name}");
    }
    for (name, bytes) in [
        ("voice.csv", b"PK\x03\x04\x00\x00archive/data.pkl".to_vec()),
        ("old.pt", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.".to_vec()),
        ("text.pkl", b"cos\nsystem\n(S'true'\ntR.".to_vec()),
    ] {
        let line = parse(&write(name, &bytes)).unwrap_err();
        assert!(line.contains(name) && line.contains("can run code"), "{line}");
    }
    for (name, bytes) in
        [("e.txt", &b""[..]), ("v.npy", b"\x93NUMPY\x01"), ("v.ogg", b"OggS"), ("b.txt", b"\xff\xfe1\0")]
    {
        let line = parse(&write(name, bytes)).unwrap_err();
        assert!(line.contains(name) && line.contains("found") && !line.contains('\n'), "{line}");
    }
    let two = parse(&write("two.spk", format!("{text}\nwords").as_bytes())).unwrap_err();
    assert!(two.ends_with("found a speaker string with more lines after it"), "{two}");
}

#[test]
fn a_file_of_a_sample_string_carries_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sample.txt");
    let codes = vec![vec![1, 2, 3, 4]; 50];
    let text = string::encode_codes(&codes, &layout(HIDDEN)).unwrap();
    std::fs::write(&path, format!("{text}\nthese are\nthe words\n")).unwrap();
    let voice = parse(path.to_str().unwrap()).unwrap();
    let sample = voice.sample().unwrap();
    assert_eq!((sample.codes.as_slice(), sample.words().unwrap()), (codes.as_slice(), "these are\nthe words"));
}

#[test]
fn a_recording_becomes_a_sample() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("me.wav");
    let pcm: Vec<f32> = (0..48_000 * 4).map(|i| (i as f32 * 0.05).sin() * 0.3).collect();
    std::fs::write(&path, voxwire::audio::wav::encode(&pcm, 48_000)).unwrap();
    let dims = published_dims();
    let spec = path.to_str().unwrap();
    let encode = |pcm: &[f32]| Ok(vec![7u16; 4 * (pcm.len() / 512)]);
    let ctx = VoiceContext::new(&dims).with_encoder(&encode);
    let sample = |ctx: &VoiceContext| Voice::parse(spec, ctx).unwrap().sample().unwrap().clone();
    assert_eq!(sample(&ctx).codes.len(), 4 * 24_000 / 512, "resampled to the model's rate first");
    assert!(sample(&ctx).words().is_err());
    std::fs::write(dir.path().join("me.txt"), "from the file beside\n").unwrap();
    assert_eq!(sample(&ctx).words().unwrap(), "from the file beside");
    assert_eq!(sample(&ctx.with_sample_text(Some(" given "))).words().unwrap(), "given");

    let fault = |ctx: VoiceContext| Voice::parse(spec, &ctx).unwrap_err().to_string();
    let none = fault(VoiceContext::new(&dims));
    assert!(none.ends_with("recording: expected a model that can encode audio, found none"), "{none}");
    let wrong = |_: &[f32]| Ok(vec![7, 625, 7, 7]);
    let wrong = fault(VoiceContext::new(&dims).with_encoder(&wrong));
    assert!(wrong.contains("DVAE encoder") && wrong.contains("found 625"), "{wrong}");
    let uneven = |_: &[f32]| Ok(vec![7; 9]);
    let uneven = fault(VoiceContext::new(&dims).with_encoder(&uneven));
    assert!(uneven.contains("expected 4 codebooks"), "{uneven}");
    let failing = |_: &[f32]| Err("no such tensor".to_string());
    let failing = fault(VoiceContext::new(&dims).with_encoder(&failing));
    assert!(failing.ends_with("recording: DVAE encoder: no such tensor"), "{failing}");
}

#[test]
fn values_that_f16_cannot_hold_are_not_encoded() {
    let mut values = randn_f32(5, HIDDEN);
    values[1] = 1e6;
    let line = string::encode_embedding(&values).unwrap_err().to_string();
    assert_eq!(line, "speaker string: value 2: expected at most 65504, which f16 can hold, found 1000000");
    assert!(string::encode_embedding(&[1e-20; HIDDEN]).is_err(), "all of it rounds to zero");
}

// ---------------------------------------------------------------- properties

/// A voice is what it claims to be, whatever it was parsed from.
fn assert_sound(voice: &Voice) {
    match voice.kind() {
        VoiceKind::Embedding(values) => {
            assert_eq!(values.len(), HIDDEN);
            let unit = voice.normalized().unwrap();
            assert!(unit.iter().all(|v| v.is_finite()));
            assert!((voice::l2_norm(&unit) - 1.0).abs() < 0.05);
        }
        VoiceKind::Sample(sample) => {
            assert!((1..=2048).contains(&sample.codes.len()));
            assert!(sample.codes.iter().all(|step| step.len() == 4 && step.iter().all(|&c| c < 625)));
        }
    }
}

fn assert_no_panic(text: &str, bytes: &[u8]) {
    let (dims, stats) = (published_dims(), plain_stats());
    let ctx = VoiceContext::new(&dims).with_stats(Some(&stats));
    for result in [Voice::parse_text(text, &ctx), Voice::from_bytes(bytes, &ctx)] {
        match result {
            Ok(voice) => assert_sound(&voice),
            Err(e) => {
                let line = e.to_string();
                assert!(!line.is_empty() && line.len() < 1000 && !line.contains('\n'), "{line:?}");
            }
        }
    }
}

fn cjk(range: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = String> {
    let character =
        prop_oneof![40 => 0x4E00u32..0x8E00, 1 => 0x3D00u32..0x3D08].prop_map(|c| char::from_u32(c).unwrap());
    prop::collection::vec(character, range).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn base16384_round_trip(bytes in prop::collection::vec(any::<u8>(), 1..400)) {
        let text = base16384::encode(&bytes);
        prop_assert!(text.chars().all(base16384::is_base16384));
        prop_assert_eq!(base16384::decode(&text).unwrap(), bytes);
    }

    #[test]
    fn embedding_round_trip(bits in prop::collection::vec(any::<u16>(), 1..900)) {
        let values: Vec<f32> = bits.iter().map(|&b| f16::from_bits(b).to_f32()).filter(|v| v.is_finite()).collect();
        prop_assume!(values.iter().any(|&v| v != 0.0));
        let text = string::encode_embedding(&values).unwrap();
        let Payload::Embedding(got) = string::decode(&text, &layout(values.len())).unwrap() else { panic!("a sample") };
        prop_assert_eq!(got, values);
    }

    #[test]
    fn codes_round_trip(codes in prop::collection::vec(prop::collection::vec(0u16..625, 4), 1..400)) {
        let text = string::encode_codes(&codes, &layout(HIDDEN)).unwrap();
        prop_assert_eq!(string::decode(&text, &layout(HIDDEN)).unwrap(), Payload::Codes(codes));
    }

    #[test]
    fn numbers_round_trip(values in prop::collection::vec(prop::num::f32::NORMAL, 1..60), separator in "[ \n]|, ?|,\n") {
        let text = values.iter().map(f32::to_string).collect::<Vec<_>>().join(&separator);
        prop_assert!(numbers::looks_like_numbers(&text));
        prop_assert_eq!(numbers::parse(&text, values.len()).unwrap(), values);
    }

    #[test]
    fn arbitrary_text_and_bytes_do_not_panic(text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_no_panic(&text, &bytes);
    }

    #[test]
    fn arbitrary_base16384_does_not_panic(text in cjk(0..200)) {
        assert_no_panic(&text, text.as_bytes());
    }

    #[test]
    fn arbitrary_numbers_do_not_panic(text in r"[-+0-9.eE,\[\]() \nainf]{0,200}") {
        assert_no_panic(&text, text.as_bytes());
    }

    #[test]
    fn arbitrary_wav_files_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..44, value: u8) {
        let pcm: Vec<f32> = (0..32_000).map(|i| (i as f32 * 0.05).sin()).collect();
        let mut wav = voxwire::audio::wav::encode(&pcm, 8_000);
        wav[at] = value;
        assert_no_panic("", &wav);
        bytes.splice(0..0, *b"RIFF\0\0\0\0WAVEfmt ");
        assert_no_panic("", &bytes);
    }

    /// Payload bytes behind a valid outer coding: the LZMA2 decoder sees anything.
    #[test]
    fn arbitrary_payloads_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 1..600), start in prop_oneof![
        Just(vec![]), Just(vec![0xE0, 5, 0xFF, 2, 0, 0x5D, 0]), Just(vec![4, 0, 40, 0, 0xE0, 1, 0x3F, 2, 0, 0x5D, 0]), Just(vec![1, 0, 200]),
    ]) {
        bytes.splice(0..0, start);
        assert_no_panic(&base16384::encode(&bytes), &bytes);
    }

    /// Real strings with a few characters replaced, removed or doubled: an error or a sound voice.
    #[test]
    fn mutated_strings_do_not_panic(seed: u32, sample: bool, edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3, 0x4E00u32..0x8E00), 1..4)) {
        let text = if sample {
            let codes: Vec<Vec<u16>> = exponential_f32(seed.into(), 800).chunks(4).map(|c| c.iter().map(|v| (v * 100.0) as u16 % 625).collect()).collect();
            string::encode_codes(&codes, &layout(HIDDEN)).unwrap()
        } else {
            string::encode_embedding(&randn_f32(seed.into(), HIDDEN)).unwrap()
        };
        let mut chars: Vec<char> = text.chars().collect();
        for (index, what, value) in edits {
            let at = index.index(chars.len());
            match what {
                0 => chars[at] = char::from_u32(value).unwrap(),
                1 => drop(chars.remove(at)),
                _ => chars.insert(at, chars[at]),
            }
        }
        assert_no_panic(&chars.into_iter().collect::<String>(), b"x");
    }
}
