//! The files of a model: on disk, or inside the program.
//!
//! The demo voice is part of the program, so that one file speaks wherever it is put. Its paths begin with [`EMBEDDED`],
//! which is no folder; everything that opens a model's file does it here.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// Stands for the folder of the demo voice inside the program.
pub const EMBEDDED: &str = "embedded:demo";

/// The published tokenizer.json has 0.4 MB.
const LIMIT: u64 = 64 << 20;

macro_rules! demo {
    ($($file:literal),+ $(,)?) => {
        [$(($file, include_bytes!(concat!("../../models/demo/", $file)) as &[u8])),+]
    };
}

static DEMO: [(&str, &[u8]); 11] = demo![
    "config.json",
    "voices.json",
    "asset/DVAE.safetensors",
    "asset/Decoder.safetensors",
    "asset/Embed.safetensors",
    "asset/Vocos.safetensors",
    "asset/gpt/config.json",
    "asset/gpt/model.safetensors",
    "asset/tokenizer/special_tokens_map.json",
    "asset/tokenizer/tokenizer.json",
    "asset/tokenizer/tokenizer_config.json",
];

/// What the program holds at this path.
fn embedded(path: &Path) -> Option<&'static [u8]> {
    let file = path.strip_prefix(EMBEDDED).ok()?;
    DEMO.iter().find(|(name, _)| Path::new(name) == file).map(|(_, bytes)| *bytes)
}

/// Whether `dir` holds the weights of a model, whole or not.
pub fn is_model(dir: &Path) -> bool {
    dir == Path::new(EMBEDDED) || dir.join("asset").is_dir()
}

pub fn is_file(path: &Path) -> bool {
    embedded(path).is_some() || path.is_file()
}

/// Bytes of the model inside the program.
pub fn embedded_bytes() -> u64 {
    DEMO.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}

/// Reads a regular file of at most 64 MiB: a pipe could wait for ever, a device never end.
pub fn read(path: &Path) -> Result<Cow<'static, [u8]>> {
    if let Some(bytes) = embedded(path) {
        return Ok(Cow::Borrowed(bytes));
    }
    regular(path)?;
    let mut bytes = Vec::new();
    File::open(path)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("expected at most {LIMIT} bytes, found more")));
    }
    Ok(Cow::Owned(bytes))
}

/// The same as text; `None` where there is no such file.
pub fn read_text(path: &Path) -> Result<Option<String>> {
    match read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes.into_owned());
            text.map(Some).map_err(|e| Error::new(ErrorKind::InvalidData, format!("expected UTF-8, found {e}")))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Refuses what is not a regular file.
fn regular(path: &Path) -> Result<()> {
    match std::fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "expected a regular file, found another kind")),
    }
}

/// A file's bytes, read as they are touched.
pub enum Contents {
    Mapped(Mmap),
    Embedded(&'static [u8]),
}

impl Contents {
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(bytes) = embedded(path) {
            return Ok(Self::Embedded(bytes));
        }
        regular(path)?;
        // SAFETY: the mapping is read-only; a model file that is changed in place while mapped may yield other
        // weights or a bus error, which is why `models pull` replaces files by rename and never writes into them.
        Ok(Self::Mapped(unsafe { Mmap::map(&File::open(path)?) }?))
    }

    /// Tells the kernel that these pages may leave memory.
    pub fn release(&self, start: usize, len: usize) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            // SAFETY: the mapping is file-backed and read-only, so dropped pages are read again on the next access.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, len) };
        }
    }
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Embedded(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is added to the demo voice must be added to the list too.
    #[test]
    fn the_program_holds_the_demo_voice_as_it_is_on_disk() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
        let mut found = 0;
        let mut folders = vec![demo.join("asset")];
        let mut files: Vec<_> = ["config.json", "voices.json"].map(|f| demo.join(f)).into();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        for path in files {
            let inside = Path::new(EMBEDDED).join(path.strip_prefix(&demo).unwrap());
            assert!(is_file(&inside), "{}", inside.display());
            assert_eq!(*read(&inside).unwrap(), *std::fs::read(&path).unwrap(), "{}", inside.display());
            found += 1;
        }
        assert_eq!(found, DEMO.len());
        assert!(is_model(Path::new(EMBEDDED)));
    }

    #[test]
    fn what_is_not_inside_is_not_found() {
        let path = Path::new(EMBEDDED).join("asset/../config.json");
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read_text(&Path::new(EMBEDDED).join("homophones_map.json")).unwrap(), None);
    }
}
