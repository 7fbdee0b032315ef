//! Small files of a model, read whole.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The published tokenizer.json has 0.4 MB.
const LIMIT: u64 = 64 << 20;

/// Reads a regular file of at most 64 MiB: a pipe could wait for ever, a device never end.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    regular(path)?;
    let mut bytes = Vec::new();
    File::open(path)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("expected at most {LIMIT} bytes, found more")));
    }
    Ok(bytes)
}

/// Refuses what is not a regular file.
pub fn regular(path: &Path) -> Result<()> {
    match std::fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "expected a regular file, found another kind")),
    }
}
