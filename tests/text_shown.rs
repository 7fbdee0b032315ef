//! The text front end from outside: `voxwire text`, `POST /v1/text/normalize`, and pauses in what is heard.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

fn voxwire(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_voxwire"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A model whose tokenizer has one character for many reads all that its homophones turn into it.
#[test]
fn a_character_the_homophones_make_known_is_spoken() {
    let (demo, model) =
        (std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo"), tempfile::tempdir().unwrap());
    let put = |name: &str, change: &dyn Fn(String) -> String| {
        let to = model.path().join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(to, change(std::fs::read_to_string(demo.join(name)).unwrap())).unwrap();
    };
    put("config.json", &|text| {
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["capabilities"]["languages"] = json!(["en", "zh"]);
        config.to_string()
    });
    for name in ["gpt/config.json", "tokenizer/tokenizer.json"] {
        put(&format!("asset/{name}"), &|text| text.replacen("\"0\":", "\"人\":", 1));
    }
    std::fs::write(model.path().join("homophones_map.json"), r#"{"仁":"人"}"#).unwrap();
    let found = lines(&voxwire(&["text", "--json", "--model", model.path().to_str().unwrap(), "人仁义"], ""));
    assert_eq!(found[0]["spoken"], "人人");
    assert_eq!(
        (&found[0]["rewritten"][0]["kind"], &found[0]["skipped"][0]["text"]),
        (&json!("homophone"), &json!("义"))
    );
}

#[test]
fn each_line_is_one_object() {
    let found = lines(&voxwire(&["text", "--lines", "-", "--json"], "# 标题\n\n好😀[laugh]\r\n。\nlast [pause:1s]one"));
    assert_eq!(found.len(), 5);
    let spoken: Vec<_> = found.iter().map(|f| f["spoken"].as_str().unwrap()).collect();
    assert_eq!(spoken, ["标题", "", "好[laugh]", "", "last,one"]);
    let nothing: Vec<_> = found.iter().map(|f| f["nothing_to_say"].as_bool().unwrap()).collect();
    assert_eq!(nothing, [false, true, false, true, false]);
    assert_eq!(found[2]["skipped"][0]["text"], "😀");
    assert_eq!(found[2]["skipped"][0]["why"], "emoji");
    assert_eq!(found[2]["skipped"][0]["chars"], json!({"start": 1, "end": 2}));
    assert_eq!(found[4]["pieces"][1]["pause_before_ms"], 1000);
    assert!(found[0]["stages"].is_null());
}

#[test]
fn a_text_is_shown_to_people_and_with_its_stages() {
    let plain = voxwire(&["text", "**Hi** there 😀"], "");
    let shown = String::from_utf8(plain.stdout).unwrap();
    assert!(shown.contains("hi there") && shown.contains("an emoji") && shown.contains("\"**\" as \"\""), "{shown}");
    let stages = &lines(&voxwire(&["text", "--json", "--stages", "-"], "a&amp;b"))[0]["stages"];
    let names: Vec<_> = stages.as_array().unwrap().iter().map(|s| s["stage"].as_str().unwrap()).collect();
    assert!(names.starts_with(&["decode", "markup", "tags"]), "{names:?}");
    assert_eq!(stages[1]["text"], "a&b");
    // A model's own characters count, where one is named: the demo speaks no Chinese.
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/models/demo");
    assert_eq!(lines(&voxwire(&["text", "--json", "--model", demo, "hi 你好"], ""))[0]["spoken"], "hi");
    for (args, code) in
        [(&["text"][..], 2), (&["text", "--lines", "/no/such/file"], 1), (&["text", "a", "--lines", "-"], 2)]
    {
        let output = voxwire(args, "");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1, "{args:?}");
    }
}

/// A server with the fake engine, which speaks tones.
struct Server(Child, String);

impl Server {
    fn start() -> Self {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/models/demo");
        let mut child = Command::new(env!("CARGO_BIN_EXE_voxwire"))
            .args(["serve", "--bind", "127.0.0.1:0", "--engine", "fake", "--model", demo])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = line.trim().strip_prefix("listening on http://").expect("the server says where it listens");
        Self(child, addr.to_string())
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Vec<u8>) {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("http://{}{path}", self.1);
        let mut reply = agent.post(url).send(body.to_string()).unwrap();
        (reply.status().as_u16(), reply.body_mut().with_config().limit(1 << 28).read_to_vec().unwrap())
    }

    fn pcm(&self, text: &str, speed: f64) -> Vec<i16> {
        let body = json!({"input": text, "response_format": "pcm", "seed": 7, "speed": speed});
        let (status, bytes) = self.post("/v1/audio/speech", &body);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
        bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_route_shows_what_the_models_front_end_does() {
    let server = Server::start();
    let (status, body) = server.post("/v1/text/normalize", &json!({"text": "# Hi\n<b>there</b> 你好"}));
    let found: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, found["spoken"].as_str()), (200, Some("hi. there")));
    assert_eq!(found["skipped"][0]["text"], "你好");
    assert_eq!(found["stages"][1]["stage"], "markup");
    for (body, field) in [(json!({}), json!("text")), (json!([]), Value::Null), (json!({"text": "a\0"}), json!("text"))]
    {
        let (status, reply) = server.post("/v1/text/normalize", &body);
        let error: Value = serde_json::from_slice(&reply).unwrap();
        assert_eq!((status, &error["error"]["param"]), (400, &field), "{error}");
    }
}

#[test]
fn a_pause_is_silence_to_the_sample() {
    let server = Server::start();
    let text = |a: &str, b: &str, c: &str| format!("{a}This is one sentence.{b}This is another one.{c}");
    let without = server.pcm(&text("", "[pause:0s]", ""), 1.0);
    let with = server.pcm(&text("[pause:250ms]", "[pause:1.5s]", "<break time='2s'/>"), 1.0);
    assert_eq!(with.len(), without.len() + 6_000 + 36_000 + 48_000);
    assert!(with[..6_000].iter().all(|s| *s == 0) && with[with.len() - 48_000..].iter().all(|s| *s == 0));
    // The last samples fade out, which silence after them makes unnecessary.
    let (spoken, sure) = (&with[6_000..with.len() - 48_000], without.len() - 480);
    let at = (0..sure).find(|at| spoken[*at] != without[*at]).expect("the silence is somewhere");
    let start = (0..=at).rev().find(|s| spoken[*s..*s + 36_000].iter().all(|s| *s == 0)).expect("silence");
    assert_eq!(spoken[..start], without[..start]);
    assert_eq!(spoken[start + 36_000..36_000 + sure], without[start..sure]);
    // Silence is a listener's time, whatever the tempo.
    for speed in [0.5, 2.0] {
        let without = server.pcm(&text("", "[pause:0s]", ""), speed).len();
        let with = server.pcm(&text("", "[pause:1.5s]", ""), speed).len();
        assert!(with.abs_diff(without + 36_000) <= 2, "{speed}: {with}, {without}");
    }
    assert!(server.pcm("[pause:1s]", 1.0).is_empty());
}

#[test]
fn pauses_count_in_the_times_of_pieces() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told = runtime.block_on(async {
        let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{}/v1/ws", server.1)).await.unwrap();
        let start = json!({"type": "start", "id": "a", "pace": "fast", "format": "pcm_s16le"});
        socket.send(Message::text(start.to_string())).await.unwrap();
        // A tag is cut anywhere, and the pause comes before what follows has arrived.
        for part in ["[pause:1s]This is one sentence.[pau", "se:2s]", " This is another one.[pause:500ms]"] {
            let text = json!({"type": "text", "id": "a", "text": part});
            socket.send(Message::text(text.to_string())).await.unwrap();
        }
        socket.send(Message::text(json!({"type": "text", "text": "", "final": true}).to_string())).await.unwrap();
        let (mut told, mut bytes) = (Vec::new(), 0);
        while let Some(Ok(message)) = socket.next().await {
            match message {
                Message::Binary(packet) => bytes += packet.len() - 16,
                Message::Text(text) => {
                    let value: Value = serde_json::from_str(&text).unwrap();
                    let over = matches!(value["type"].as_str(), Some("done" | "error"));
                    told.push(value);
                    if over {
                        break;
                    }
                }
                _ => {}
            }
        }
        told.push(json!(bytes));
        told
    });
    let pieces: Vec<&Value> = told.iter().filter(|m| m["type"] == "piece").collect();
    let done = told.iter().find(|m| m["type"] == "done").expect("it ended well");
    let number = |v: &Value| v.as_f64().unwrap();
    assert_eq!(pieces.len(), 2);
    assert_eq!(number(&pieces[0]["start_ms"]), 1000.0);
    let first_end = 1000.0 + number(&pieces[0]["length_ms"]);
    assert!((number(&pieces[1]["start_ms"]) - first_end - 2000.0).abs() < 0.01);
    let end = number(&pieces[1]["start_ms"]) + number(&pieces[1]["length_ms"]) + 500.0;
    assert!((number(&done["audio_ms"]) - end).abs() < 0.01);
    assert_eq!(told.last().unwrap().as_u64().unwrap(), (end * 48.0).round() as u64);
}
