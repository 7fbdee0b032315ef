//! The codec against the Python package: hidden states and codes to mel and waveform, audio to codes, on the tiny
//! model always and on the full-size random weights when `make golden` has been run.

mod common;

use common::{Golden, golden, peak_error, tiny};
use voxwire::codec::{Codec, Encoder, Input, Stream};
use voxwire::model::dims::Dims;
use voxwire::model::prompt::DecodePath;
use voxwire::parallel::Team;

/// Bar of the project: 1e-3 of the peak. Measured 2026-11: 1e-6 for mel and 1e-5 for the waveform.
const TOLERANCE: f32 = 5e-5;

/// Each model's folder and golden values.
fn models() -> Vec<(std::path::PathBuf, Golden)> {
    let full = golden().map(|dir| (dir.join("assets/full"), Golden::read(&dir, "full")));
    [(tiny(), Golden::tiny())].into_iter().chain(full).collect()
}

/// `[rows, columns]` as `[columns, rows]`.
fn transposed<T: Copy>(x: &[T], rows: usize) -> Vec<T> {
    let columns = x.len() / rows;
    (0..x.len()).map(|i| x[i % rows * columns + i / rows]).collect()
}

fn decode(codec: &Codec, input: Input<'_>) -> (Vec<f32>, Vec<f32>) {
    let (mut mel, mut pcm) = (Vec::new(), Vec::new());
    let mut stream = Stream::new(codec);
    let keep = |frames: &[f32]| mel.extend_from_slice(frames);
    stream.push_with_mel(codec, &Team::new(2), input, true, &mut pcm, keep).unwrap();
    (mel, pcm)
}

#[test]
fn both_paths_give_the_python_packages_mel_and_waveform() {
    for (dir, golden) in models() {
        let dims = Dims::load(&dir).unwrap();
        let codec = Codec::load(&dir, &dims, &[DecodePath::Hidden, DecodePath::Codes]).unwrap();
        let hidden = golden.f32("code1.hiddens.0");
        let codes: Vec<u16> = golden.i64("dvae.codes_in").into_iter().map(|c| c as u16).collect();
        let codes = transposed(&codes, dims.gpt.num_vq);
        for (name, input) in [("dec", Input::Hidden(&hidden)), ("dvae", Input::Codes(&codes))] {
            let (mel, pcm) = decode(&codec, input);
            let want = transposed(&golden.f32(&format!("{name}.mel")), dims.vocos.n_mels);
            let errors = (peak_error(&mel, &want), peak_error(&pcm, &golden.f32(&format!("{name}.wav"))));
            println!("{} {name}: mel {:.1e}, wav {:.1e} of the peak", dims.gpt.hidden_size, errors.0, errors.1);
            assert!(errors.0 < TOLERANCE && errors.1 < TOLERANCE, "{name}: {errors:?}");
        }
    }
}

#[test]
fn a_recording_gives_the_python_packages_codes() {
    for (dir, golden) in models() {
        let dims = Dims::load(&dir).unwrap();
        let encoder = Encoder::load(&dir, &dims).unwrap();
        let codes = encoder.encode(&Team::new(2), &golden.f32("dec.wav")).unwrap();
        let want: Vec<u16> = golden.i64("dvae.sample_audio_codes").into_iter().map(|c| c as u16).collect();
        assert_eq!(codes, transposed(&want, dims.gpt.num_vq));
    }
}
