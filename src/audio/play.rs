//! Plays through whatever player the system has: a child process fed a WAV stream on its standard input.
//!
//! A sound library would drag in each platform's audio stack for something `say --play` alone needs.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::wav::{FileSink, StreamSink};
use super::{AudioError, Sink};

/// How a player takes its audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    /// A WAV stream on standard input.
    Stdin,
    /// Only from a file: the audio is spooled and played at the end.
    File,
}

/// Players in order of preference: the sound servers' own first, then the general ones.
const PLAYERS: [(&str, &[&str], Feed); 5] = [
    ("paplay", &[], Feed::Stdin),
    ("aplay", &["-q", "-"], Feed::Stdin),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error", "-i", "pipe:0"], Feed::Stdin),
    ("play", &["-q", "-t", "wav", "-"], Feed::Stdin),
    ("afplay", &[], Feed::File),
];

/// Starts the first player found on the PATH.
pub fn open(sample_rate: u32) -> Result<Box<dyn Sink>, AudioError> {
    open_in(env::var_os("PATH").as_deref(), sample_rate)
}

fn open_in(path: Option<&OsStr>, sample_rate: u32) -> Result<Box<dyn Sink>, AudioError> {
    let found = PLAYERS.iter().find_map(|(name, args, feed)| Some((find(path?, name)?, *args, *feed)));
    let Some((program, args, feed)) = found else {
        let tried = PLAYERS.map(|(name, ..)| name).join(", ");
        return Err(AudioError::NoPlayer { tried });
    };
    match feed {
        Feed::Stdin => Ok(Box::new(Piped::start(&program, args, sample_rate)?)),
        Feed::File => Ok(Box::new(Spooled::start(program, sample_rate)?)),
    }
}

fn find(path: &OsStr, name: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn player_error(program: &Path, what: impl ToString) -> AudioError {
    AudioError::Player { player: program.display().to_string(), what: what.to_string() }
}

/// A player that reads standard input.
struct Piped {
    program: PathBuf,
    child: Child,
    wav: Option<Box<StreamSink<ChildStdin>>>,
}

impl Piped {
    fn start(program: &Path, args: &[&str], sample_rate: u32) -> Result<Self, AudioError> {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| player_error(program, e))?;
        let stdin = child.stdin.take().expect("stdin was asked to be a pipe");
        let mut piped = Self { program: program.to_path_buf(), child, wav: None };
        match StreamSink::new(stdin, "player", sample_rate) {
            Ok(wav) => piped.wav = Some(Box::new(wav)),
            Err(e) => return Err(piped.died(e)),
        }
        Ok(piped)
    }

    /// A pipe that breaks means that the player ended: its exit status says more than the broken pipe.
    fn died(&mut self, error: AudioError) -> AudioError {
        self.wav = None;
        match self.child.wait() {
            Ok(status) => player_error(&self.program, format_args!("stopped before the audio's end ({status})")),
            Err(_) => error,
        }
    }
}

impl Sink for Piped {
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError> {
        let Some(wav) = &mut self.wav else {
            return Err(player_error(&self.program, "has already stopped"));
        };
        let written = wav.write(pcm);
        written.map_err(|e| self.died(e))
    }

    /// Waits until the player has played everything.
    fn finish(mut self: Box<Self>) -> Result<(), AudioError> {
        if let Some(wav) = self.wav.take() {
            wav.finish()?;
        }
        let status = self.child.wait().map_err(|e| player_error(&self.program, e))?;
        if status.success() { Ok(()) } else { Err(player_error(&self.program, format_args!("failed ({status})"))) }
    }
}

impl Drop for Piped {
    /// Reaps a player whose utterance was given up: closing its input ends it, so stop it first and do not wait for
    /// what it still has to say.
    fn drop(&mut self) {
        if self.wav.take().is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A player that takes only files.
struct Spooled {
    program: PathBuf,
    file: PathBuf,
    wav: Option<Box<FileSink>>,
}

impl Spooled {
    fn start(program: PathBuf, sample_rate: u32) -> Result<Self, AudioError> {
        let file = env::temp_dir().join(format!("voxwire-play-{}.wav", std::process::id()));
        let name = file.display().to_string();
        let out = File::create(&file).map_err(AudioError::io(&name))?;
        let wav = Some(Box::new(FileSink::new(out, &name, sample_rate)?));
        Ok(Self { program, file, wav })
    }
}

impl Sink for Spooled {
    fn write(&mut self, pcm: &[f32]) -> Result<(), AudioError> {
        self.wav.as_mut().expect("only finish takes it").write(pcm)
    }

    fn finish(mut self: Box<Self>) -> Result<(), AudioError> {
        self.wav.take().expect("finish runs once").finish()?;
        let status = Command::new(&self.program)
            .arg(&self.file)
            .stdin(Stdio::null())
            .status()
            .map_err(|e| player_error(&self.program, e))?;
        if status.success() { Ok(()) } else { Err(player_error(&self.program, format_args!("failed ({status})"))) }
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A script is "busy" while a child forked by another test still holds it open for writing: one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn player(dir: &Path, name: &str, script: &str) {
        let file = dir.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn pcm() -> Vec<f32> {
        (0..5000).map(|i| (i as f32 * 0.05).sin() * 0.5).collect()
    }

    #[test]
    fn the_player_gets_a_wav_stream() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let heard = dir.path().join("heard.wav");
        player(dir.path(), "aplay", &format!("/bin/cat > '{}'", heard.display()));
        let mut sink = open_in(Some(dir.path().as_os_str()), 24_000).unwrap();
        for chunk in pcm().chunks(700) {
            sink.write(chunk).unwrap();
        }
        sink.finish().unwrap();
        let bytes = std::fs::read(heard).unwrap();
        assert_eq!(bytes[44..], super::super::wav::encode(&pcm(), 24_000)[44..]);
    }

    #[test]
    fn a_player_that_needs_a_file_gets_one() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let heard = dir.path().join("heard.wav");
        player(dir.path(), "afplay", &format!("/bin/cp \"$1\" '{}'", heard.display()));
        let mut sink = open_in(Some(dir.path().as_os_str()), 24_000).unwrap();
        sink.write(&pcm()).unwrap();
        sink.finish().unwrap();
        assert_eq!(std::fs::read(heard).unwrap(), super::super::wav::encode(&pcm(), 24_000));
    }

    #[test]
    fn no_player_is_one_clear_line() {
        let dir = tempfile::tempdir().unwrap();
        for path in [Some(dir.path().as_os_str()), None] {
            let error = open_in(path, 24_000).err().unwrap().to_string();
            assert_eq!(error, "play: expected one of paplay, aplay, ffplay, play, afplay on the PATH, found none");
        }
    }

    #[test]
    fn a_player_that_fails_says_so() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        player(dir.path(), "aplay", "exit 3");
        let mut sink = match open_in(Some(dir.path().as_os_str()), 24_000) {
            Ok(sink) => sink,
            Err(e) => return assert!(e.to_string().contains("exit status: 3"), "{e}"),
        };
        let long = vec![0.1; 200_000];
        let error = sink.write(&long).and_then(|()| sink.finish()).unwrap_err().to_string();
        assert!(error.contains("aplay") && error.contains("exit status: 3"), "{error}");
    }
}
