//! The demo voice's sound where chunks meet: what the program hands out while it speaks is the sound decoded at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use safetensors::SafeTensors;
use voxwire::codec::{Codec, Input, Stream, lookahead_steps, samples_given};
use voxwire::device::{ChunkPlan, Chunks};
use voxwire::model::dims::Dims;
use voxwire::model::prompt::DecodePath;
use voxwire::parallel::Team;

const SENTENCE: &str = "please remember to bring your umbrella, because it will rain tomorrow.";

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo")
}

/// What `voxwire say --dump` writes of one spoken sentence.
struct Said {
    codes: Vec<u16>,
    hidden: Vec<f32>,
    wav: Vec<f32>,
}

fn say(voice: &str, path: &str) -> Said {
    let (dir, model) = (tempfile::tempdir().unwrap(), demo());
    let voices: serde_json::Value = serde_json::from_slice(&std::fs::read(model.join("voices.json")).unwrap()).unwrap();
    let dump = dir.path().join("d.safetensors");
    let output = Command::new(env!("CARGO_BIN_EXE_voxwire"))
        .args(["say", SENTENCE, "--seed", "1", "--decode", path, "--voice", voices[voice].as_str().unwrap()])
        .arg("--model")
        .arg(&model)
        .arg("--dump")
        .arg(&dump)
        .arg("-o")
        .arg(dir.path().join("o.wav"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(dump).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let f32s = |name: &str| {
        let data = file.tensor(name).unwrap().data().to_vec();
        data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let code = |b: &[u8]| u16::try_from(i64::from_le_bytes(b.try_into().unwrap())).unwrap();
    let codes = file.tensor("codes").unwrap().data().chunks_exact(8).map(code).collect();
    Said { codes, hidden: f32s("hidden"), wav: f32s("wav") }
}

/// Samples after which the program hands out the next chunk, the piece's end not among them.
fn joins(dims: &Dims, path: DecodePath, steps: usize) -> Vec<usize> {
    let (mut chunks, mut waiting, mut places) =
        (Chunks::new(ChunkPlan::default(), lookahead_steps(dims, path)), 0, Vec::new());
    for step in 1..steps {
        waiting += 1;
        let due = chunks.due(waiting, false);
        waiting -= due;
        if due > 0 {
            places.push(samples_given(dims, path, step, false));
        }
    }
    places
}

#[test]
fn there_is_no_click_where_chunks_meet() {
    let dims = Dims::load(&demo()).unwrap();
    for (path, name) in [(DecodePath::Codes, "codes"), (DecodePath::Hidden, "hidden")] {
        let codec = Codec::load(&demo(), &dims, &[path]).unwrap();
        for voice in ["female", "male"] {
            let said = say(voice, name);
            let input = match path {
                DecodePath::Codes => Input::Codes(&said.codes),
                DecodePath::Hidden => Input::Hidden(&said.hidden),
            };
            let mut whole = Vec::new();
            Stream::new(&codec).push(&codec, &Team::new(1), input, true, &mut whole).unwrap();
            assert!(said.wav == whole, "{voice}, from {name}: chunks differ from the sound decoded at once");

            let joins = joins(&dims, path, said.codes.len() / dims.gpt.num_vq);
            assert!(joins.len() >= 5, "{voice}, from {name}: {joins:?}");
            let step = |at: usize| (said.wav[at] - said.wav[at - 1]).abs();
            let at_joins = joins.iter().map(|at| step(*at)).fold(0.0, f32::max);
            let anywhere = (1..said.wav.len()).map(step).fold(0.0, f32::max);
            println!("{voice}, from {name}: {} joins, step {at_joins:.4} there, {anywhere:.4} anywhere", joins.len());
            assert!(at_joins < anywhere, "{voice}, from {name}: the largest step, {at_joins}, is at a join");
        }
    }
}
