//! A hub and a package index on 127.0.0.1, small and with faults on demand; and a model small enough to pull from it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use voxwire::cli::models::pull::Sources;
use voxwire::model::manifest::{Manifest, Sha256};

pub const STATS: &str = "愐穤巩㴆";

/// What the server does beside serving.
#[derive(Clone, Default)]
pub struct Faults {
    /// The next answer with more than so many bytes breaks off after them.
    pub cut_once_at: Option<usize>,
    /// Every later request for a whole file is answered with this status.
    pub status_after_cut: Option<u16>,
    /// Every request is answered with this status.
    pub status: Option<u16>,
    /// Requests without this token are answered with 401.
    pub token: Option<String>,
    pub etag: Option<String>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Vec<u8>>,
    faults: Faults,
    requests: Vec<String>,
}

pub struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || answer(stream, &shared));
            }
        });
        Self { address, state }
    }

    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.state.lock().unwrap().files.insert(path.into(), bytes.into());
    }

    pub fn remove(&self, path: &str) {
        self.state.lock().unwrap().files.remove(path).unwrap();
    }

    pub fn fault(&self, faults: Faults) {
        self.state.lock().unwrap().faults = faults;
    }

    /// Every request so far as `PATH RANGE`.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    pub fn sources(&self) -> Sources {
        Sources {
            hub: self.address.clone(),
            token: None,
            index: format!("{}/simple", self.address),
            ca_file: None,
            backoff: Duration::from_millis(1),
        }
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let (mut reader, mut head) = (BufReader::new(stream.try_clone().ok()?), Vec::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_string());
    }
    let path = head.first()?.split(' ').nth(1)?.to_string();
    let header = |name: &str| {
        let found = head.iter().filter_map(|l| l.split_once(": ")).find(|(k, _)| k.eq_ignore_ascii_case(name));
        found.map(|(_, v)| v.to_string())
    };
    let range = header("range");
    let mut state = state.lock().unwrap();
    state.requests.push(format!("{path} {}", range.as_deref().unwrap_or("-")));
    let whole_wanted = range.as_deref() != Some("bytes=0-0");
    let denied = state.faults.token.as_ref().is_some_and(|t| header("authorization") != Some(format!("Bearer {t}")));
    let cut_before = state.faults.cut_once_at.is_none() && whole_wanted;
    let status = state.faults.status.or(state.faults.status_after_cut.filter(|_| cut_before));
    let Some(body) = state.files.get(&path).cloned().filter(|_| !denied && status.is_none()) else {
        let code = status.unwrap_or(if denied { 401 } else { 404 });
        return write!(stream, "HTTP/1.1 {code} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    };
    let etag = state.faults.etag.clone().unwrap_or_else(|| Sha256::of(&body).to_string());
    let (from, to) = bounds(range.as_deref(), body.len());
    if from >= body.len() {
        return write!(stream, "HTTP/1.1 416 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    }
    let part = &body[from..to];
    let sent = match state.faults.cut_once_at {
        Some(n) if part.len() > n => {
            state.faults.cut_once_at = None;
            n
        }
        _ => part.len(),
    };
    drop(state);
    let kind = if path.ends_with('/') { "application/vnd.pypi.simple.v1+json" } else { "application/octet-stream" };
    let code = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    write!(
        stream,
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{}\r\n\
         ETag: \"{etag}\"\r\nX-Repo-Commit: c0ffee\r\nConnection: close\r\n\r\n",
        part.len(),
        to - 1,
        body.len()
    )
    .ok()?;
    stream.write_all(&part[..sent]).ok()
}

fn bounds(range: Option<&str>, len: usize) -> (usize, usize) {
    let Some((from, to)) = range.and_then(|r| r.strip_prefix("bytes=")?.split_once('-')) else { return (0, len) };
    (from.parse().unwrap(), to.parse::<usize>().map_or(len, |t| (t + 1).min(len)))
}

/// A model of two hub files and an archive, served by `server`.
pub struct Model {
    pub manifest: Manifest,
    pub big: Vec<u8>,
    pub archive: Vec<u8>,
}

pub const BIG: &str = "/o/n/resolve/rev1/asset/big.bin";
pub const SMALL: &str = "/o/n/resolve/rev1/asset/gpt/config.json";
pub const PAGE: &str = "/simple/proj/";
pub const ARCHIVE: &str = "/files/proj-1.tar.gz";
const CONFIG: &[u8] = b"{\"hidden_size\": 8}";
const HOMOPHONES: &[u8] = br#"{"a":"b"}"#;

impl Model {
    /// `salt` makes another version of the weights.
    pub fn served_by(server: &Server, salt: u8) -> Self {
        let big: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ salt).collect();
        let source = format!("class C:\n    stat: str = (\n        \"{STATS}\"\n    )\n");
        let archive = tar_gz(&[("proj-1/config.py", source.as_bytes()), ("proj-1/map.json", HOMOPHONES)]);
        let manifest = Manifest::parse(&manifest_text(&big, &archive), "test.toml").unwrap();
        server.put(BIG, big.clone());
        server.put(SMALL, CONFIG);
        server.put(ARCHIVE, archive.clone());
        let hash = Sha256::of(&archive);
        let file = format!(r#"{{"filename":"x","url":"../../files/proj-1.tar.gz","hashes":{{"sha256":"{hash}"}}}}"#);
        server.put(PAGE, format!(r#"{{"meta":{{}},"files":[{file}]}}"#));
        Self { manifest, big, archive }
    }
}

fn manifest_text(big: &[u8], archive: &[u8]) -> String {
    let entry = |path: &str, bytes: &[u8]| {
        format!("path = \"{path}\"\nsize = {}\nsha256 = \"{}\"\n", bytes.len(), Sha256::of(bytes))
    };
    format!(
        "name = \"tiny\"\ntitle = \"Tiny\"\nrepository = \"o/n\"\nrevision = \"rev1\"\n\
         [licence]\nname = \"L\"\nurl = \"u\"\n\
         [[files]]\n{}[[files]]\n{}\
         [source_archive]\nproject = \"proj\"\nversion = \"1\"\nfile = \"proj-1.tar.gz\"\nsize = {}\nsha256 = \"{}\"\n\
         licence = \"L\"\n\
         [speaker_stats]\nmember = \"proj-1/config.py\"\nconstant = \"stat\"\n{}\
         [homophones_map]\nmember = \"proj-1/map.json\"\n{}",
        entry("asset/big.bin", big),
        entry("asset/gpt/config.json", CONFIG),
        archive.len(),
        Sha256::of(archive),
        entry("speaker_stats.txt", STATS.as_bytes()),
        entry("homophones_map.json", HOMOPHONES),
    )
}

pub fn tar_gz(members: &[(&str, &[u8])]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gz);
    for (path, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}
