//! What is spoken: a file, a text a line, or ordinary sentences.

use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, bail};

/// Texts read from a file are held to this many bytes together.
const MAX_BYTES: u64 = 16 << 20;

/// Short and long ones as an assistant says them, of common words. Their order mixes lengths.
const ORDINARY: [&str; 12] = [
    "Good morning, how can I help you today?",
    "The train to the city leaves at ten past nine from the second platform.",
    "Yes, of course.",
    "I have found three places near you that are open now. Would you like to hear about the first one?",
    "It will be sunny in the morning, with some rain late in the afternoon.",
    "Please wait a moment while I look that up for you.",
    "Your order was sent yesterday. It should be with you by the end of the week.",
    "No, I am afraid we do not have that one any more.",
    "Turn left at the end of the road, then walk straight on until you see the old church on your right.",
    "Thank you, and have a nice day.",
    "Let me say that again, a little slower this time.",
    "The meeting is on Monday at four. I can remind you an hour before, if you want me to.",
];

pub fn ordinary() -> Rc<[String]> {
    ORDINARY.iter().map(ToString::to_string).collect()
}

/// The lines of a UTF-8 file; empty ones are skipped.
///
/// # Errors
/// When it cannot be read, is too large, or has no text.
pub fn read(path: &Path) -> anyhow::Result<Rc<[String]>> {
    let size = std::fs::metadata(path).with_context(|| format!("--text {}", path.display()))?.len();
    if size > MAX_BYTES {
        bail!("--text {}: expected at most {MAX_BYTES} bytes, found {size}", path.display());
    }
    let all = std::fs::read_to_string(path).with_context(|| format!("--text {}", path.display()))?;
    let lines: Rc<[String]> = all.lines().map(str::trim).filter(|l| !l.is_empty()).map(ToString::to_string).collect();
    if lines.is_empty() {
        bail!("--text {}: expected a text on each line, found none", path.display());
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_text_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("texts");
        std::fs::write(&path, "One.\r\n\n  两个。 \n").unwrap();
        assert_eq!(*read(&path).unwrap(), ["One.".to_string(), "两个。".to_string()]);
        std::fs::write(&path, " \n\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("expected a text on each line"));
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert!(read(&path).is_err());
        assert!(format!("{:#}", read(&dir.path().join("none")).unwrap_err()).contains("none"));
    }
}
