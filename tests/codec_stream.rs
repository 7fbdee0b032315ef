//! Streamed equals whole, and one stream is nobody else's business.

mod common;

use common::{Golden, golden, tiny};
use proptest::prelude::*;
use voxwire::codec::{Codec, CodecError, Input, Stream, lookahead_frames, lookahead_steps, samples_given};
use voxwire::model::dims::Dims;
use voxwire::model::prompt::DecodePath;
use voxwire::parallel::Team;

const PATHS: [DecodePath; 2] = [DecodePath::Hidden, DecodePath::Codes];

/// A model with inputs for any number of steps.
struct Bench {
    codec: Codec,
    hidden: Vec<f32>,
    codes: Vec<u16>,
}

impl Bench {
    fn load(dir: &std::path::Path, golden: &Golden, steps: usize) -> Self {
        let dims = Dims::load(dir).unwrap();
        let codec = Codec::load(dir, &dims, &PATHS).unwrap();
        let hidden = golden.f32("code1.hiddens.0").into_iter().cycle().take(steps * dims.gpt.hidden_size).collect();
        let limit = dims.gpt.num_audio_tokens - 1;
        let codes = (0..steps * dims.gpt.num_vq).map(|i| (i * i * 31 % limit) as u16).collect();
        Self { codec, hidden, codes }
    }

    fn tiny(steps: usize) -> Self {
        Self::load(&tiny(), &Golden::tiny(), steps)
    }

    fn input(&self, path: DecodePath, steps: std::ops::Range<usize>) -> Input<'_> {
        let (h, q) = (self.codec.dims().gpt.hidden_size, self.codec.dims().gpt.num_vq);
        match path {
            DecodePath::Hidden => Input::Hidden(&self.hidden[steps.start * h..steps.end * h]),
            DecodePath::Codes => Input::Codes(&self.codes[steps.start * q..steps.end * q]),
        }
    }

    /// PCM and mel of these chunks; checks on the way that each push gives what it can.
    fn run(&self, stream: &mut Stream, team: &Team, path: DecodePath, chunks: &[usize]) -> (Vec<f32>, Vec<f32>) {
        let (mut pcm, mut mel, mut at) = (Vec::new(), Vec::new(), 0);
        for (i, n) in chunks.iter().enumerate() {
            let last = i + 1 == chunks.len();
            let keep = |frames: &[f32]| mel.extend_from_slice(frames);
            stream.push_with_mel(&self.codec, team, self.input(path, at..at + n), last, &mut pcm, keep).unwrap();
            at += n;
            assert_eq!(pcm.len(), samples_given(self.codec.dims(), path, at, last), "after {at} steps of {chunks:?}");
        }
        (pcm, mel)
    }

    fn whole(&self, path: DecodePath, steps: usize) -> (Vec<f32>, Vec<f32>) {
        self.run(&mut Stream::new(&self.codec), &Team::new(1), path, &[steps])
    }
}

fn cut(total: usize, size: usize) -> Vec<usize> {
    (0..total).step_by(size).map(|at| size.min(total - at)).collect()
}

#[test]
fn chunked_equals_whole_bit_for_bit() {
    let bench = Bench::tiny(150);
    let (mut stream, team) = (Stream::new(&bench.codec), Team::new(2));
    for path in PATHS {
        // Up to three steps the utterance is shorter than any look-ahead; 150 is longer than all of it.
        for total in [1, 2, 3, 10, 53, 64, 150] {
            let whole = bench.whole(path, total);
            assert_eq!(whole.0.len(), (2 * total - 1) * 256);
            assert_eq!(whole.1.len(), 2 * total * 100);
            assert!(whole.0.iter().all(|x| x.is_finite()));
            for size in [1, 2, 3, 7, 24] {
                stream.reset();
                assert_eq!(bench.run(&mut stream, &team, path, &cut(total, size)), whole, "{total} steps by {size}");
            }
        }
    }
}

#[test]
fn chunked_equals_whole_at_full_size() {
    let Some(dir) = golden() else { return };
    let bench = Bench::load(&dir.join("assets/full"), &Golden::read(&dir, "full"), 60);
    let (mut stream, team) = (Stream::new(&bench.codec), Team::new(2));
    for path in PATHS {
        let whole = bench.whole(path, 60);
        for chunks in [&cut(60, 1)[..], &cut(60, 7), &cut(60, 24), &[4, 8, 24, 0, 24]] {
            stream.reset();
            assert_eq!(bench.run(&mut stream, &team, path, chunks), whole, "{chunks:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_chunks_give_the_whole(chunks in prop::collection::vec(0usize..40, 1..8), codes: bool, threads in 1usize..4) {
        let bench = Bench::tiny(chunks.iter().sum());
        let path = if codes { DecodePath::Codes } else { DecodePath::Hidden };
        let whole = bench.whole(path, chunks.iter().sum());
        let streamed = bench.run(&mut Stream::new(&bench.codec), &Team::new(threads), path, &chunks);
        prop_assert_eq!(streamed, whole);
    }
}

#[test]
fn an_utterance_without_steps_is_silent_and_short() {
    let bench = Bench::tiny(0);
    assert_eq!(bench.whole(DecodePath::Hidden, 0), (vec![], vec![]));
}

#[test]
fn the_look_ahead_is_the_one_stated() {
    let mut dims = Dims::load(&tiny()).unwrap();
    assert_eq!(lookahead_frames(&dims, DecodePath::Hidden), 3 + 3 * 6 + 3 * 3 + 2);
    assert_eq!(lookahead_frames(&dims, DecodePath::Codes), 3 + 2 * 6 + 3 * 3 + 2);
    (dims.decoder.n_layer, dims.dvae.decoder.n_layer, dims.vocos.num_layers) = (12, 12, 8);
    assert!(PATHS.iter().all(|path| lookahead_frames(&dims, *path) == 104 && lookahead_steps(&dims, *path) == 52));

    // And it is needed: another frame at its far end changes the last samples, one beyond does not.
    let (steps, path) = (40, DecodePath::Hidden);
    let mut bench = Bench::tiny(steps);
    let ahead = lookahead_steps(bench.codec.dims(), path);
    let whole = bench.whole(path, steps).0;
    let changed_from = |bench: &mut Bench, step: usize| {
        let h = bench.codec.dims().gpt.hidden_size;
        bench.hidden[step * h..].iter_mut().for_each(|x| *x += 1.0);
        let other = bench.whole(path, steps).0;
        bench.hidden[step * h..].iter_mut().for_each(|x| *x -= 1.0);
        other.iter().zip(&whole).position(|(a, b)| a != b).expect("the change is heard")
    };
    let certain = samples_given(bench.codec.dims(), path, ahead + 3, false);
    let first = changed_from(&mut bench, ahead + 3);
    // The window is zero at its first sample, so the first changed sample may lie a little after the bound.
    assert!((certain..certain + 256).contains(&first), "{first} changed, {certain} were certain");
}

#[test]
fn nan_stays_in_its_own_stream() {
    let bench = Bench::tiny(30);
    let (team, path) = (Team::new(2), DecodePath::Hidden);
    let alone = bench.whole(path, 30).0;
    let (mut sick, mut well) = (Stream::new(&bench.codec), Stream::new(&bench.codec));
    let (mut bad, mut good) = (Vec::new(), Vec::new());
    let nan = vec![f32::NAN; 10 * bench.codec.dims().gpt.hidden_size];
    for i in 0..3 {
        sick.push(&bench.codec, &team, Input::Hidden(&nan), i == 2, &mut bad).unwrap();
        well.push(&bench.codec, &team, bench.input(path, i * 10..i * 10 + 10), i == 2, &mut good).unwrap();
    }
    assert!(bad.iter().all(|x| x.is_nan()));
    assert_eq!(good, alone);
    // Nor does it outlive a reset.
    sick.reset();
    assert_eq!(bench.run(&mut sick, &team, path, &[30]).0, alone);
}

#[test]
fn unfit_input_is_refused_and_changes_nothing() {
    let bench = Bench::tiny(12);
    let (codec, team, path) = (&bench.codec, Team::new(1), DecodePath::Codes);
    let (mut stream, mut pcm) = (Stream::new(codec), Vec::new());
    stream.push(codec, &team, bench.input(path, 0..6), false, &mut pcm).unwrap();
    let mut push = |input, last| stream.push(codec, &team, input, last, &mut pcm);
    let error = push(Input::Codes(&[1, 2, 3, 4, 5, 625, 7, 8]), true).unwrap_err();
    assert_eq!(error.to_string(), "decode input: step 1, codebook 1: expected a code below 625, found 625");
    assert!(matches!(push(Input::Codes(&[1, 2, 3]), true), Err(CodecError::Length { width: 4, found: 3 })));
    assert!(matches!(push(bench.input(DecodePath::Hidden, 0..1), true), Err(CodecError::Mixed { .. })));
    push(bench.input(path, 6..12), true).unwrap();
    assert!(matches!(push(bench.input(path, 0..1), false), Err(CodecError::Finished)));
    assert_eq!(pcm, bench.whole(path, 12).0);
}

#[test]
fn only_what_a_path_needs_is_loaded_and_faults_are_named() {
    let dims = Dims::load(&tiny()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("asset")).unwrap();
    for file in ["asset/Decoder.safetensors", "asset/Vocos.safetensors"] {
        std::fs::copy(tiny().join(file), dir.path().join(file)).unwrap();
    }
    let codec = Codec::load(dir.path(), &dims, &[DecodePath::Hidden]).unwrap();
    let codes = [0; 4];
    let refused = Stream::new(&codec).push(&codec, &Team::new(1), Input::Codes(&codes), true, &mut Vec::new());
    assert!(matches!(refused, Err(CodecError::NotLoaded(DecodePath::Codes))));
    let error = Codec::load(dir.path(), &dims, &[DecodePath::Codes]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("DVAE.safetensors"), "{error}");

    let load = |change: fn(&mut Dims)| {
        let mut dims = dims.clone();
        change(&mut dims);
        Codec::load(&tiny(), &dims, &PATHS).map(|_| ()).unwrap_err().to_string()
    };
    let error = load(|d| d.vocos.num_layers += 1);
    assert!(
        error.contains(
            "Vocos.safetensors: tensor backbone.convnext.2.dwconv.weight: expected shape [64, 1, 7], found no"
        ),
        "{error}"
    );
    let error = load(|d| d.decoder.bn_dim = 25);
    assert!(error.contains("conv_in.0.bias: expected shape [25], found [24]"), "{error}");
    let error = load(|d| d.dvae.vq.dim = 130);
    assert_eq!(error, "dvae.vq.dim: expected twice dvae.decoder.idim, 128, found 130");
}
