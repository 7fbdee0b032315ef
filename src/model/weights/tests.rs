use std::path::Path;

use proptest::prelude::*;

use super::*;

fn write(dir: &Path, bytes: &[u8]) -> PathBuf {
    let file = dir.join("m.safetensors");
    std::fs::write(&file, bytes).unwrap();
    file
}

/// A file with `a` [2, 3] f32 = 0..6, `h` [4] f16, `b` [4] bf16 and `i` [1] i64.
fn sample() -> Vec<u8> {
    let f32s: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let f16s: Vec<u8> = (0..4).flat_map(|i| f16::from_f32(i as f32 / 2.0).to_le_bytes()).collect();
    let bf16s: Vec<u8> = (0..4).flat_map(|i| bf16::from_f32(-(i as f32)).to_le_bytes()).collect();
    let view =
        |dtype, shape: &[usize], data| safetensors::tensor::TensorView::new(dtype, shape.to_vec(), data).unwrap();
    let tensors = [
        ("a", view(Dtype::F32, &[2, 3], &f32s)),
        ("h", view(Dtype::F16, &[4], &f16s)),
        ("b", view(Dtype::BF16, &[4], &bf16s)),
        ("i", view(Dtype::I64, &[1], &[0; 8])),
    ];
    safetensors::serialize(tensors, None).unwrap()
}

#[test]
fn three_float_types_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = Checkpoint::open(write(dir.path(), &sample())).unwrap();
    assert_eq!(*file.tensor("a", &[2, 3]).unwrap().to_f32(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(*file.tensor("h", &[4]).unwrap().to_f32(), [0.0, 0.5, 1.0, 1.5]);
    assert_eq!(*file.tensor("b", &[4]).unwrap().to_f32(), [0.0, -1.0, -2.0, -3.0]);
    let mut row = [0.0; 3];
    file.tensor("a", &[2, 3]).unwrap().read_f32(3, &mut row);
    assert_eq!(row, [3.0, 4.0, 5.0]);
    file.tensor("a", &[2, 3]).unwrap().release_pages();
    assert_eq!(file.tensor("a", &[2, 3]).unwrap().to_f32()[5], 5.0);
}

#[test]
fn errors_name_file_tensor_expected_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), &sample());
    let file = Checkpoint::open(&path).unwrap();
    let message = |name: &str, shape: &[usize]| file.tensor(name, shape).err().unwrap().to_string();
    let start = path.display().to_string();
    assert_eq!(message("a", &[3, 2]), format!("{start}: tensor a: expected shape [3, 2], found [2, 3]"));
    assert_eq!(message("z", &[1]), format!("{start}: tensor z: expected shape [1], found no such tensor"));
    assert_eq!(message("i", &[1]), format!("{start}: tensor i: expected dtype F32, F16 or BF16, found I64"));
    let whole = sample();
    let error = Checkpoint::open(write(dir.path(), &whole[..whole.len() - 1])).err().unwrap().to_string();
    assert!(error.contains("tensor") && error.contains("truncated"), "{error}");
    for (bytes, found) in [
        (&b"version https://git-lfs.github.com/spec/v1"[..], "Git-LFS pointer"),
        (b"PK\x03\x04 and more", "pickle"),
        (b"abc", "3 bytes"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff1", "a header of"),
        (b"\x04\0\0\0\0\0\0\0{{{{", "a broken header"),
    ] {
        let error = Checkpoint::open(write(dir.path(), bytes)).err().unwrap().to_string();
        assert!(error.contains(found), "{error}");
    }
}

#[test]
fn weight_norm_pairs_are_folded() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let (g, v) = (bytes(&[10.0, 2.0]), bytes(&[3.0, 4.0, 0.0, 0.0]));
    let view = |shape: &[usize], data| safetensors::tensor::TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap();
    let tensors = [
        ("m.parametrizations.weight.original0", view(&[2, 1], &g)),
        ("m.parametrizations.weight.original1", view(&[2, 2], &v)),
        ("n.weight", view(&[2, 2], &v)),
    ];
    let file = Checkpoint::open(write(dir.path(), &safetensors::serialize(tensors, None).unwrap())).unwrap();
    assert_eq!(*file.folded("m", &[2, 2]).unwrap(), [6.0, 8.0, 0.0, 0.0]);
    assert_eq!(*file.folded("n", &[2, 2]).unwrap(), [3.0, 4.0, 0.0, 0.0]);
    assert!(file.folded("m", &[2, 3]).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        let _ = Checkpoint::open(write(dir.path(), &bytes));
    }

    #[test]
    fn damaged_files_do_not_make_it_panic(at in 0usize..400, byte in any::<u8>(), keep in 0usize..600) {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = sample();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(keep.max(1));
        if let Ok(file) = Checkpoint::open(write(dir.path(), &bytes)) {
            for name in file.names().collect::<Vec<_>>() {
                let shape = file.shape(&name).unwrap().to_vec();
                let _ = file.tensor(&name, &shape).map(|t| t.to_f32().len());
            }
        }
    }
}
