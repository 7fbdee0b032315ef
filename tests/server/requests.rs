//! `ready`, and what `started` says is in use.

use serde_json::json;

use crate::client::Client;
use crate::harness;

#[tokio::test]
async fn the_first_message_says_what_there_is() {
    let server = harness::fake(&[]).await;
    let ready = Client::connect(&server).await.ready;
    assert_eq!((&ready["protocol"], &ready["sample_rate"]), (&json!(1), &json!(24000)));
    assert!(ready["server"].as_str().unwrap().starts_with("voxwire "));
    assert_eq!(ready["model"]["voices"], json!(["female", "male"]));
    assert_eq!(ready["model"]["languages"], json!(["en"]));
    assert!(ready["limits"].as_object().unwrap().contains_key("idle_ms"));
    for limit in ["message_bytes", "text_chars", "utterances"] {
        assert!(ready["limits"][limit].as_u64().unwrap() > 0, "{limit}");
    }
}

#[tokio::test]
async fn what_is_left_out_has_the_documented_default() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let started = client.start(json!({})).await;
    let pre_skip = started["format"]["pre_skip"].as_u64().unwrap();
    assert!((1..=960).contains(&pre_skip), "a look-ahead of libopus: {pre_skip}");
    let complexity = started["format"]["complexity"].as_u64().unwrap();
    assert!(complexity <= 10);
    let format = json!({
        "codec": "opus", "sample_rate": 24000, "channels": 1, "frame_ms": 20, "pre_skip": pre_skip,
        "bitrate": 32000, "complexity": complexity, "fec": false, "dtx": false,
    });
    assert_eq!(started["format"], format);
    let sampling = json!({
        "temperature": 0.3, "top_p": 0.7, "top_k": 20, "repetition_penalty": 1.05, "min_steps": 0, "max_steps": null,
    });
    assert_eq!(started["sampling"], sampling);
    assert_eq!(started["voice"], client.ready["model"]["default_voice"]);
    assert_eq!((&started["refine"], &started["speed"]), (&json!(false), &json!(1.0)));
    assert_eq!((&started["pace"], &started["lead_ms"]), (&json!("realtime"), &json!(200)));
    assert!(started["seed"].as_u64().unwrap() < 1 << 53);
    let other = client.start(json!({})).await;
    assert_ne!(started["seed"], other["seed"], "seeds are drawn");
}

#[tokio::test]
async fn what_was_asked_for_is_in_use() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    let started = client
        .start(json!({
            "id": "x", "voice": "male", "seed": 9007199254740991u64, "speed": 1.5, "lead_ms": 0, "pace": "fast",
            "format": { "codec": "opus", "frame_ms": 60, "bitrate": 6000, "complexity": 0, "fec": true, "dtx": true },
            "sampling": { "temperature": 0, "top_p": 1, "top_k": 1, "repetition_penalty": 3, "min_steps": 2, "max_steps": 9 },
            "unknown": { "is": "ignored" },
        }))
        .await;
    assert_eq!(started["voice"], json!({ "kind": "name", "name": "male" }));
    assert_eq!(started["seed"], 9007199254740991u64);
    let format = &started["format"];
    assert_eq!((&format["frame_ms"], &format["bitrate"]), (&json!(60), &json!(6000)));
    assert_eq!((&format["complexity"], &format["fec"], &format["dtx"]), (&json!(0), &json!(true), &json!(true)));
    let sampling = &started["sampling"];
    assert_eq!((&sampling["temperature"], &sampling["top_p"]), (&json!(0.0), &json!(1.0)));
    assert_eq!((&sampling["min_steps"], &sampling["max_steps"]), (&json!(2), &json!(9)));
    assert_eq!((&started["speed"], &started["lead_ms"], &started["pace"]), (&json!(1.5), &json!(0), &json!("fast")));
}

#[tokio::test]
async fn values_out_of_range_are_refused_by_name_and_the_socket_stays() {
    let server = harness::fake(&[]).await;
    let mut client = Client::connect(&server).await;
    for (start, field) in [
        (json!({ "speed": 9 }), "speed"),
        (json!({ "pace": "slow" }), "pace"),
        (json!({ "format": "mp3" }), "format"),
        (json!({ "format": { "codec": "mp3" } }), "format.codec"),
        (json!({ "format": { "codec": "pcm_s16le", "sample_rate": 44100 } }), "format.sample_rate"),
        (json!({ "format": { "codec": "opus", "frame_ms": 30 } }), "format.frame_ms"),
        (json!({ "sampling": { "top_p": 0 } }), "sampling.top_p"),
        (json!({ "seed": 9007199254740992u64 }), "seed"),
        (json!({ "voice": "nobody" }), "voice"),
        (json!({ "voice": "/etc/passwd" }), "voice"),
        (json!({ "id": "" }), "id"),
        (json!({ "lead_ms": 10001 }), "lead_ms"),
        (json!({ "refine": true }), "refine"),
    ] {
        let mut message = start.clone();
        message["type"] = "start".into();
        client.send(message).await;
        let error = client.control("error").await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_value"), &json!(field)), "{start} {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(field) && message.contains("expected") && !message.contains('\n'), "{message}");
    }
    client.start(json!({})).await;
}

/// Case Z02: a token as query or as subprotocol is taken, and never logged. (This server asks for none yet.)
#[tokio::test]
async fn a_token_is_taken_and_not_logged() {
    use tokio_tungstenite::tungstenite::client::IntoClientRequest;
    let server = harness::fake(&[]).await;
    let connect = async |url: String, offered: Option<&'static str>| {
        let mut request = url.into_client_request().unwrap();
        if let Some(offered) = offered {
            request.headers_mut().insert("sec-websocket-protocol", offered.parse().unwrap());
        }
        let stream = tokio::net::TcpStream::connect(server.addr).await.unwrap();
        let (_, reply) = tokio_tungstenite::client_async(request, stream).await.expect("an upgrade");
        reply.headers().get("sec-websocket-protocol").map(|v| v.to_str().unwrap().to_string())
    };
    assert_eq!(connect(format!("{}?token=sesame42", server.ws()), None).await, None);
    let both = connect(server.ws(), Some("voxwire.v1, voxwire.token.sesame43")).await;
    assert_eq!(both.as_deref(), Some("voxwire.v1"));
    server.until_idle(crate::client::PATIENCE).await;
    let log = server.log();
    assert!(!log.is_empty(), "the log is on");
    assert!(!log.contains("sesame"), "{log}");
}
