//! The manifest's parser: what it accepts is safe to join to a folder, and what it refuses is named by its key.

use std::path::{Component, Path};

use proptest::prelude::*;
use voxwire::model::manifest::{CHATTTS, Manifest, RelPath, Sha256};

fn error(text: &str) -> String {
    let error = Manifest::parse(text, "m.toml").unwrap_err().to_string();
    assert!(!error.contains('\n') && error.starts_with("m.toml: "), "{error}");
    error
}

/// The embedded manifest with one piece replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(CHATTTS.contains(from), "{from}");
    CHATTTS.replacen(from, to, 1)
}

#[test]
fn the_embedded_manifest_is_the_published_model() {
    let m = Manifest::chattts().unwrap();
    assert_eq!(
        (m.name.as_str(), m.repository.as_str(), m.licence.name.as_str()),
        ("chattts", "2Noise/ChatTTS", "CC BY-NC 4.0")
    );
    assert_eq!((m.files.len(), m.entries().count()), (9, 11));
    assert_eq!(m.total_size(), 1_218_193_844);
    let gpt = m.files.iter().find(|f| f.path.as_str() == "asset/gpt/model.safetensors").unwrap();
    assert_eq!(gpt.sha256.to_string(), "cd0806fd971f52f6a22c923ec64982b305e817bcc41ca83417fcf9141b984a0f");
    // A pinned commit, not a branch that moves.
    assert!(m.revision.len() == 40 && m.revision.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn each_bad_value_is_refused_by_its_key() {
    let hash = "1d0b044a8368c0513100a2eca98456b289e6be6a18b7a63be1bcaa315ea874d9";
    for (from, to, key) in [
        (hash, &hash[1..], "files[0].sha256: expected 64 hex digits"),
        (hash, &format!("+{}", &hash[1..]), "files[0].sha256"),
        ("asset/Decoder.safetensors", "../Decoder.safetensors", "files[1].path: expected a relative path"),
        ("asset/Decoder.safetensors", "asset/../../x", "files[1].path"),
        ("asset/Decoder.safetensors", "/etc/passwd", "files[1].path"),
        ("asset/Decoder.safetensors", "C:/x", "files[1].path"),
        ("asset/Decoder.safetensors", "asset//x", "files[1].path"),
        ("asset/Decoder.safetensors", "manifest.toml", "files[1].path: expected a path that no other entry has"),
        (
            "asset/Decoder.safetensors",
            "asset/dvae.safetensors",
            "files[1].path: expected a path that no other entry has",
        ),
        ("\"homophones_map.json\"", "\"speaker_stats.txt\"", "homophones_map.path: expected a path that no other"),
        ("\"2Noise/ChatTTS\"", "\"2Noise\"", "repository: expected owner/name"),
        ("\"2Noise/ChatTTS\"", "\"../..\"", "repository: expected owner/name"),
        ("\"chattts-0.2.5.tar.gz\"", "\"a/b\"", "source_archive.file"),
        ("\"spk_stat\"", "\"spk stat\"", "speaker_stats.constant"),
        ("size = 762", "size = -1", "line"),
        ("size = 762", "size = 762\nmode = 1", "unknown field `mode`"),
        ("revision = ", "revisoin = ", "unknown field `revisoin`"),
        ("[licence]", "[licence", "line"),
    ] {
        let error = error(&changed(from, to));
        assert!(error.contains(key), "expected {key:?} in {error}");
    }
}

#[test]
fn a_hash_reads_back_as_it_was_written() {
    let hash = Sha256::of(b"abc");
    assert_eq!(hash.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(hash.to_string().to_uppercase().parse(), Ok(hash));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        let _ = Manifest::parse(&text, "m.toml");
    }

    #[test]
    fn a_damaged_manifest_never_panics_and_its_error_is_one_line(at in 0..CHATTTS.len(), n in 0usize..40, put in "(?s).{0,6}") {
        let mut bytes = CHATTTS.as_bytes().to_vec();
        let end = (at + n).min(bytes.len());
        bytes.splice(at..end, put.bytes());
        let text = String::from_utf8_lossy(&bytes);
        if let Err(e) = Manifest::parse(&text, "m.toml") {
            prop_assert!(!e.to_string().contains('\n'), "{e}");
        }
    }

    #[test]
    fn an_accepted_path_stays_inside(text in r"[a./\\:~ \x00-\x1f]{1,12}|(?s).{1,20}") {
        if let Ok(path) = text.parse::<RelPath>() {
            let path = path.under(Path::new("root"));
            prop_assert!(path.starts_with("root") && path != Path::new("root"));
            prop_assert!(path.components().all(|c| matches!(c, Component::Normal(_))));
        }
    }
}
