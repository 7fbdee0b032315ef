//! What a chunk of 4, 12 and 24 steps costs in the codec at full size (random weights), after 1 s and after 60 s of
//! audio: the two must be the same. The rate in steps a second divided by the model's 46.875 is the inverse of the
//! codec's real-time factor.
//!
//! `cargo bench --bench codec`; threads from VOXWIRE_THREADS, else one for each processor.

use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use safetensors::tensor::{Dtype, TensorView};
use voxwire::codec::{Codec, Input, Stream};
use voxwire::model::dims::{ConvStackDims, Dims};
use voxwire::model::prompt::DecodePath;
use voxwire::parallel::Team;

/// Steps in a chunk of the largest size measured, also used to bring a stream to its place.
const LONGEST: usize = 24;

/// Chunks measured before a stream goes back to its place: few enough that "after 1 s" stays near it.
const CHUNKS_IN_PLACE: u64 = 4;

struct Bench {
    codec: Codec,
    team: Team,
    hidden: Vec<f32>,
    codes: Vec<u16>,
}

impl Bench {
    fn push(&self, stream: &mut Stream, path: DecodePath, steps: usize) -> Vec<f32> {
        let (h, q) = (self.codec.dims().gpt.hidden_size, self.codec.dims().gpt.num_vq);
        let input = match path {
            DecodePath::Hidden => Input::Hidden(&self.hidden[..steps * h]),
            DecodePath::Codes => Input::Codes(&self.codes[..steps * q]),
        };
        let mut pcm = Vec::with_capacity(LONGEST * self.codec.dims().samples_per_step());
        stream.push(&self.codec, &self.team, input, false, &mut pcm).expect("the input fits the model");
        pcm
    }

    /// Brings a stream to `seconds` of audio.
    fn place(&self, stream: &mut Stream, path: DecodePath, seconds: f64) {
        stream.reset();
        let chunks = (seconds * self.codec.dims().steps_per_second() / LONGEST as f64).ceil() as usize;
        (0..chunks).for_each(|_| drop(self.push(stream, path, LONGEST)));
    }
}

fn chunks(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let dims = write_model(dir.path());
    let codec = Codec::load(dir.path(), &dims, &[DecodePath::Hidden, DecodePath::Codes]).expect("the model loads");
    let threads = std::env::var("VOXWIRE_THREADS").ok().and_then(|n| n.parse().ok());
    let team = threads.map_or_else(Team::for_machine, Team::new);
    let hidden = noise(LONGEST * dims.gpt.hidden_size, 1.0, 7);
    let codes = (0..LONGEST * dims.gpt.num_vq).map(|i| (i * 97 % 625) as u16).collect();
    let bench = Bench { codec, team, hidden, codes };

    let mut group = c.benchmark_group(format!("codec chunk, {} threads", bench.team.threads()));
    group.sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(300));
    for path in [DecodePath::Hidden, DecodePath::Codes] {
        for steps in [4, 12, LONGEST] {
            group.throughput(Throughput::Elements(steps as u64));
            for seconds in [1.0, 60.0] {
                let mut stream = Stream::new(&bench.codec);
                bench.place(&mut stream, path, seconds);
                let id = BenchmarkId::new(format!("{path:?}, {steps} steps"), format!("after {seconds} s"));
                group.bench_function(id, |b| {
                    b.iter_custom(|iterations| {
                        let mut spent = Duration::ZERO;
                        for i in 0..iterations {
                            if seconds == 1.0 && i % CHUNKS_IN_PLACE == 0 {
                                bench.place(&mut stream, path, seconds);
                            }
                            let start = Instant::now();
                            std::hint::black_box(bench.push(&mut stream, path, steps));
                            spent += start.elapsed();
                        }
                        spent
                    });
                });
            }
        }
    }
    group.finish();
}

/// `n` values in [-scale, scale).
fn noise(n: usize, scale: f32, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * scale
    };
    (0..n).map(|_| next()).collect()
}

/// One safetensors file of random weights, in the making.
#[derive(Default)]
struct File(Vec<(String, Vec<usize>, Vec<u8>)>);

impl File {
    fn constant(&mut self, name: &str, shape: &[usize], value: f32) {
        let bytes = value.to_le_bytes().repeat(shape.iter().product());
        self.0.push((name.to_string(), shape.to_vec(), bytes));
    }

    /// A layer's weight, scaled so that activations keep their size, and its bias where it has one.
    fn layer(&mut self, name: &str, shape: &[usize], bias: bool) {
        let fan_in: usize = shape[1..].iter().product();
        let weight = noise(shape.iter().product(), (3.0 / fan_in as f32).sqrt(), self.0.len() as u32);
        let bytes = weight.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.0.push((format!("{name}.weight"), shape.to_vec(), bytes));
        if bias {
            self.constant(&format!("{name}.bias"), &shape[..1], 0.01);
        }
    }

    fn norm(&mut self, name: &str, channels: usize) {
        self.constant(&format!("{name}.weight"), &[channels], 1.0);
        self.constant(&format!("{name}.bias"), &[channels], 0.0);
    }

    fn block(&mut self, name: &str, channels: usize, inner: usize, scale: &str) {
        self.layer(&format!("{name}.dwconv"), &[channels, 1, 7], true);
        self.norm(&format!("{name}.norm"), channels);
        self.layer(&format!("{name}.pwconv1"), &[inner, channels], true);
        self.layer(&format!("{name}.pwconv2"), &[channels, inner], true);
        self.constant(&format!("{name}.{scale}"), &[channels], 0.1);
    }

    fn mel_decoder(&mut self, d: &ConvStackDims, n_mels: usize) {
        self.layer("decoder.conv_in.0", &[d.bn_dim, d.idim, 3], true);
        self.layer("decoder.conv_in.2", &[d.hidden, d.bn_dim, 3], true);
        (0..d.n_layer)
            .for_each(|i| self.block(&format!("decoder.decoder_block.{i}"), d.hidden, 4 * d.hidden, "weight"));
        self.layer("decoder.conv_out", &[d.odim, d.hidden, 1], false);
        self.layer("out_conv", &[n_mels, d.odim, 3], false);
        self.constant("coef", &[1, n_mels, 1], 1.0);
    }

    fn write(&self, path: &Path) {
        let views = self.0.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("the bytes fill the shape");
            (name.as_str(), view)
        });
        safetensors::serialize_to_file(views, None, path).expect("the temporary folder takes the file");
    }
}

/// Writes a model of the published size and random weights; only what the codec reads.
fn write_model(dir: &Path) -> Dims {
    std::fs::create_dir_all(dir.join("asset/gpt")).expect("a folder");
    let config = r#"{"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 20,
        "num_audio_tokens": 626, "num_text_tokens": 21178, "num_vq": 4}"#;
    std::fs::write(dir.join("asset/gpt/config.json"), config).expect("the temporary folder takes the file");
    let dims = Dims::load(dir).expect("the published dimensions");
    let n_mels = dims.vocos.n_mels;

    let mut decoder = File::default();
    decoder.mel_decoder(&dims.decoder, n_mels);
    decoder.write(&dir.join("asset/Decoder.safetensors"));

    let (mut dvae, vq) = (File::default(), &dims.dvae.vq);
    dvae.mel_decoder(&dims.dvae.decoder, n_mels);
    for group in 0..vq.groups {
        let name = format!("vq_layer.quantizer.rvqs.{group}.project_out");
        dvae.layer(&name, &[vq.dim / vq.groups, vq.levels.len()], true);
    }
    dvae.write(&dir.join("asset/DVAE.safetensors"));

    let (mut vocos, v) = (File::default(), &dims.vocos);
    vocos.layer("backbone.embed", &[v.dim, n_mels, 7], true);
    vocos.norm("backbone.norm", v.dim);
    (0..v.num_layers).for_each(|i| vocos.block(&format!("backbone.convnext.{i}"), v.dim, v.intermediate_dim, "gamma"));
    vocos.norm("backbone.final_layer_norm", v.dim);
    vocos.layer("head.out", &[v.n_fft + 2, v.dim], true);
    vocos.constant("head.istft.window", &[v.n_fft], 0.5);
    vocos.write(&dir.join("asset/Vocos.safetensors"));
    dims
}

criterion_group!(benches, chunks);
criterion_main!(benches);
