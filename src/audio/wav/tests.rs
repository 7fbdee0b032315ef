use proptest::prelude::*;

use super::*;

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i as f32 * 0.05).sin() * 0.5).collect()
}

/// A file as hound, an independent writer, makes it.
fn hound_file(spec: hound::WavSpec, frames: usize, value: impl Fn(usize, u16) -> f32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut bytes, spec).unwrap();
    for i in 0..frames {
        for c in 0..spec.channels {
            match spec.sample_format {
                hound::SampleFormat::Float => writer.write_sample(value(i, c)).unwrap(),
                hound::SampleFormat::Int => {
                    let full = (1i64 << (spec.bits_per_sample - 1)) as f32;
                    writer.write_sample((value(i, c) * full) as i32).unwrap()
                }
            }
        }
    }
    writer.finalize().unwrap();
    bytes.into_inner()
}

#[test]
fn reads_every_format_an_independent_writer_makes() {
    use hound::SampleFormat::{Float, Int};
    for (bits, sample_format) in [(8, Int), (16, Int), (24, Int), (32, Int), (32, Float)] {
        for channels in 1..=8 {
            let spec = hound::WavSpec { channels, sample_rate: 44_100, bits_per_sample: bits, sample_format };
            let bytes = hound_file(spec, 50, |i, c| (i as f32 * 0.1).sin() * 0.5 + c as f32 * 0.02);
            let wav = decode(&bytes, "x.wav").unwrap();
            assert_eq!((wav.sample_rate, wav.channels, wav.pcm.len()), (44_100, channels, 50));
            let tolerance = if bits == 8 { 1.0 / 64.0 } else { 1e-4 };
            for (i, x) in wav.pcm.iter().enumerate() {
                let mean = (i as f32 * 0.1).sin() * 0.5 + (channels - 1) as f32 * 0.01;
                assert!((x - mean).abs() < tolerance, "{bits} bits, {channels} channels, frame {i}: {x} for {mean}");
            }
        }
    }
}

#[test]
fn a_file_has_exact_sizes_and_a_stream_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.wav");
    let mut sink = Box::new(FileSink::new(File::create(&path).unwrap(), "x.wav", 24_000).unwrap());
    for chunk in ramp(1001).chunks(77) {
        sink.write(chunk).unwrap();
    }
    sink.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes, encode(&ramp(1001), 24_000));
    assert_eq!(u32_at(&bytes, 4), Some(bytes.len() as u32 - 8));
    assert_eq!(u32_at(&bytes, 40), Some(2002));
    let hound = hound::WavReader::new(&bytes[..]).unwrap();
    assert_eq!((hound.duration(), hound.spec().sample_rate, hound.spec().channels), (1001, 24_000, 1));

    let mut out = Vec::new();
    let mut sink = Box::new(StreamSink::new(&mut out, "pipe", 24_000).unwrap());
    for chunk in ramp(1001).chunks(500) {
        sink.write(chunk).unwrap();
    }
    sink.finish().unwrap();
    assert_eq!((u32_at(&out, 4), u32_at(&out, 40)), (Some(UNKNOWN), Some(UNKNOWN)));
    assert_eq!(out[44..], bytes[44..]);
    assert_eq!(out.windows(4).filter(|w| w == b"RIFF").count(), 1);
    assert_eq!(decode(&out, "pipe").unwrap(), decode(&bytes, "x.wav").unwrap());
}

#[test]
fn each_wrong_field_is_named() {
    let good = encode(&ramp(100), 24_000);
    let patched = |at: usize, bytes: &[u8]| {
        let mut out = good.clone();
        out[at..at + bytes.len()].copy_from_slice(bytes);
        decode(&out, "x.wav").unwrap_err().to_string()
    };
    for (at, bytes, expected) in [
        (0, &b"OggS"[..], "x.wav: RIFF: expected a WAV file (RIFF ... WAVE), found \"OggS\""),
        (8, b"AVI ", "x.wav: RIFF form: expected WAVE, found \"AVI \""),
        (12, b"junk", "x.wav: fmt: expected a format chunk before the data, found none"),
        (20, &[2, 0], "x.wav: fmt format tag: expected 1 (PCM) or 3 (float), found 2"),
        (22, &[9, 0], "x.wav: fmt channels: expected 1 to 8, found 9"),
        (22, &[0, 0], "x.wav: fmt channels: expected 1 to 8, found 0"),
        (24, &[0xA0, 0x0F, 0, 0], "x.wav: fmt sample rate: expected 8000 to 96000 Hz, found 4000"),
        (32, &[3, 0], "x.wav: fmt block align: expected channels x bytes per sample, found 3"),
        (34, &[12, 0], "x.wav: fmt bits per sample: expected 8, 16, 24 or 32 for PCM, found 12"),
        (36, b"LIST", "x.wav: data: expected a chunk of samples, found none (truncated?)"),
        (40, &[201, 0], "x.wav: data: expected as many bytes as its size says, found 200 of 201 (truncated)"),
        (40, &[199, 0], "x.wav: data size: expected a whole number of frames, found 199 bytes"),
    ] {
        assert_eq!(patched(at, bytes), expected);
    }
    let nan = hound::WavSpec {
        channels: 2,
        sample_rate: 24_000,
        bits_per_sample: 32,
        sample_format: hound::SampleFormat::Float,
    };
    let bytes = hound_file(nan, 4, |i, _| if i == 2 { f32::NAN } else { 0.0 });
    let error = decode(&bytes, "x.wav").unwrap_err().to_string();
    assert_eq!(error, "x.wav: data: expected finite samples, found NaN in frame 2");
    assert!(decode(&[], "x.wav").unwrap_err().to_string().contains("found nothing"));
}

#[test]
fn chunks_before_the_data_are_skipped() {
    let good = encode(&ramp(10), 24_000);
    let mut with_list = good[..36].to_vec();
    with_list.extend_from_slice(b"LIST\x03\0\0\0abc\0"); // odd size, padded
    with_list.extend_from_slice(&good[36..]);
    assert_eq!(decode(&with_list, "x").unwrap(), decode(&good, "x").unwrap());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes, "x");
    }

    /// Arbitrary damage to a good file gets further into the parser than noise does.
    #[test]
    fn damaged_files_never_panic(
        at in 0usize..60,
        damage in proptest::collection::vec(any::<u8>(), 1..8),
        keep in 0usize..100,
    ) {
        let mut bytes = encode(&ramp(20), 24_000);
        for (b, d) in bytes.iter_mut().skip(at).zip(&damage) {
            *b = *d;
        }
        bytes.truncate(keep);
        let _ = decode(&bytes, "x");
    }
}
