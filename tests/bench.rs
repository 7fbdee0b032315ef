//! `voxwire bench` from outside, against a server that behaves well, and against ones that do not.

mod bench_support;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bench_support::{Manners, serve};
use serde_json::{Value, json};

fn bench(address: &str, options: &str) -> Output {
    let url = format!("http://{address}");
    Command::new(env!("CARGO_BIN_EXE_voxwire"))
        .args(["bench", "--url", &url])
        .args(options.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The report of a run that has to succeed, against a server with these manners. The listener holds back enough that a
/// busy test machine makes no gap that the server did not.
fn report(manners: Manners, options: &str) -> Value {
    let output = bench(&serve(manners), &format!("--json --jitter-ms 300 {options}"));
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn faults(report: &Value) -> Vec<(&str, u64)> {
    report["faults"].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), v.as_u64().unwrap())).collect()
}

fn between(value: &Value, range: std::ops::RangeInclusive<f64>) {
    let found = value.as_f64().unwrap_or_else(|| panic!("no figure: {value}"));
    assert!(range.contains(&found), "expected {range:?}, found {found}");
}

#[test]
fn a_good_server_is_measured() {
    let r = report(Manners::default(), "--sockets 4 --utterances 12 --spread 50");
    assert_eq!((&r["utterances"]["done"], &r["utterances"]["failed"]), (&12.into(), &0.into()));
    assert_eq!((&r["continuity"]["share"], &r["continuity"]["of"]), (&1.0.into(), &12.into()));
    assert_eq!(faults(&r), []);
    between(&r["ttfa_ms"]["p50"], 30.0..=300.0);
    assert_eq!((&r["ttfa_ms"]["count"], &r["packet_gap_ms"]["count"]), (&12.into(), &(12 * 14).into()));
    // What the server said of itself.
    assert_eq!((&r["server"], &r["model"]), (&"mock 1".into(), &"tones".into()));
    assert_eq!(r["server_figures"]["overhead_ms"]["p99"], 5.0);
    assert_eq!(r["server_figures"]["rtf"]["max"], 0.03);
    // 293.5 ms an utterance; the first 200 come at once, so it is there in about half the time.
    between(&r["audio"]["seconds"], 3.59..=3.61);
    between(&r["rtf"]["p50"], 0.4..=2.0);
    between(&r["audio"]["payload_kbit_per_s"], 31.9..=32.1);
    between(&r["client_usage"]["cpu_s"], 0.0001..=5.0);
    assert_eq!((&r["sockets"]["used"], &r["sockets"]["closes"]), (&4.into(), &json!({})));
}

#[test]
fn both_formats_and_fast_and_word_by_word() {
    let r = report(
        Manners::default(),
        "--utterances 2 --format pcm_s16le --pace fast --word-by-word 40 --voice female --lead-ms 100",
    );
    assert_eq!((&r["utterances"]["done"], faults(&r)), (&2.into(), vec![]));
    assert_eq!((&r["load"]["format"], &r["load"]["pace"]), (&"pcm_s16le".into(), &"fast".into()));
    // Nine words at 40 a second: the first is 200 ms before the last, after which the server speaks.
    between(&r["ttfa_last_word_ms"]["p50"], 29.0..=200.0);
    let [first, last] = ["ttfa_sent_ms", "ttfa_last_word_ms"].map(|name| r[name]["max"].as_f64().unwrap());
    assert!(first - last > 190.0, "{first} {last}");
    assert_eq!(r["transport_ms"]["count"], 0);
}

#[test]
fn a_stall_is_a_gap_of_its_length() {
    let stall = Manners { stall: Some((12, Duration::from_millis(900))), ..Manners::default() };
    let r = report(stall, "--utterances 2");
    assert_eq!((&r["continuity"]["continuous"], &r["continuity"]["of"]), (&0.into(), &2.into()));
    // 240 ms were sent within 70, and 300 are held back: all but about 470 of the 920 ms are heard.
    between(&r["continuity"]["worst_gap_ms"], 350.0..=800.0);
    between(&r["packet_gap_ms"]["max"], 900.0..=1400.0);
    assert_eq!(r["continuity"]["gaps_over_limit"], 2);
    assert_eq!((&r["utterances"]["done"], faults(&r)), (&2.into(), vec![]));
}

#[test]
fn holes_repetitions_and_wrong_lengths_are_found() {
    let good = Manners::default;
    for (manners, expected) in [
        (Manners { drop: Some(5), ..good() }, vec![("sequence_hole", 2)]),
        (Manners { repeat: Some(5), ..good() }, vec![("sequence_repeat", 2)]),
        (Manners { skew: Some(7), ..good() }, vec![("media_hole", 2)]),
        (Manners { claim_ms: 500.0, ..good() }, vec![("audio_length", 2)]),
        (Manners { drop: Some(14), ..good() }, vec![("audio_length", 2), ("last_flag", 2)]),
        (Manners { rubbish: true, ..good() }, vec![("bad_header", 2), ("bad_message", 2)]),
    ] {
        let shown = format!("{manners:?}");
        let r = report(manners, "--utterances 2");
        assert_eq!(faults(&r), expected, "{shown}");
        assert_eq!(r["utterances"]["done"], 2, "{shown}");
        // Whose stream is damaged is not continuous, however timely it was.
        let damaged = expected[0].0 != "bad_header";
        assert_eq!(r["continuity"]["continuous"], if damaged { 0 } else { 2 }, "{shown}");
    }
}

#[test]
fn audio_after_the_end_is_found() {
    let r = report(Manners { after_done: 2, ..Manners::default() }, "--utterances 3 --think 50");
    assert_eq!(faults(&r), [("audio_after_end", 6)]);
}

#[test]
fn cancels_are_answered_and_nothing_comes_after() {
    let long = Manners { packets: 300, ..Manners::default() };
    let r = report(long.clone(), "--sockets 2 --utterances 6 --cancel-share 1");
    assert_eq!((&r["utterances"]["cancelled"], &r["utterances"]["done"]), (&6.into(), &0.into()));
    assert_eq!((&r["cancel"]["sent"], &r["cancel"]["audio_bytes_after_answer"]), (&6.into(), &0.into()));
    between(&r["cancel"]["answer_ms"]["p50"], 5.0..=100.0);
    // Their times to first audio would be the short ones only.
    assert_eq!((&r["ttfa_ms"]["count"], &r["continuity"]["of"], faults(&r)), (&0.into(), &0.into(), vec![]));

    let bad = Manners { after_cancel: 3, ..long };
    let r = report(bad, "--utterances 2 --cancel-share 1");
    // The last one's too, although the run is over by then.
    assert_eq!(faults(&r), [("audio_after_cancel", 6)]);
    assert_eq!(r["cancel"]["audio_bytes_after_answer"], 6 * 80);
}

#[test]
fn a_cancel_after_the_end_is_too_late_and_no_fault() {
    // Spoken at once, long before any cancel.
    let quick = Manners { ttfa: Duration::ZERO, lead: 15, ..Manners::default() };
    let r = report(quick, "--utterances 20 --cancel-share 1 --seed 5");
    let [late, sent] = ["too_late", "sent"].map(|n| r["cancel"][n].as_u64().unwrap());
    assert_eq!(r["utterances"]["done"].as_u64().unwrap() + r["utterances"]["cancelled"].as_u64().unwrap(), 20);
    assert!(sent < 10 && late <= sent, "{late} {sent}");
    assert_eq!(faults(&r), []);
}

#[test]
fn failures_are_counted_by_code_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let texts = dir.path().join("texts");
    std::fs::write(&texts, "Fine.\nThis one breaks.\nFine again.\n").unwrap();
    let some = |manners| Manners { only: Some("breaks"), ..manners };
    let options = format!("--utterances 6 --idle 2 --text {}", texts.display());
    // The socket is opened again after each.
    let r = report(some(Manners { close_at: Some((8, 1008)), ..Manners::default() }), &options);
    assert_eq!((&r["utterances"]["done"], &r["errors"]), (&4.into(), &json!({"closed_1008": 2})));
    assert_eq!((&r["sockets"]["closes"], &r["sockets"]["idle_held"]), (&json!({"1008": 2}), &2.into()));
    assert_eq!((&r["continuity"]["continuous"], &r["continuity"]["of"]), (&4.into(), &6.into()));
    assert_eq!(r["sockets"]["connect_ms"]["count"], 1 + 2 + 2);
    // A refusal that leaves the socket open costs the utterance only.
    let r = report(some(Manners { refuse: Some(("bad_text", None)), ..Manners::default() }), &options);
    assert_eq!((&r["utterances"]["done"], &r["errors"]), (&4.into(), &json!({"bad_text": 2})));
    assert_eq!(
        (&r["messages"]["bad_text"], &r["sockets"]["closes"]),
        (&"bad_text: expected room, found none".into(), &json!({}))
    );
    assert_eq!((&r["sockets"]["connect_ms"]["count"], faults(&r)), (&3.into(), vec![]));
}

#[test]
fn nothing_spoken_is_exit_code_1_with_the_reason() {
    let good = Manners::default;
    for (manners, reason) in [
        (
            Manners { refuse: Some(("overloaded", Some(1013))), ..good() },
            "2 utterances failed with overloaded: overloaded: expected room",
        ),
        (Manners { refuse: Some(("bad_value", None)), ..good() }, "2 utterances failed with bad_value"),
        (Manners { close_at: Some((3, 0)), ..good() }, "2 utterances failed with closed_1006"),
        (Manners { hang_at: Some(3), ..good() }, "2 utterances failed with timeout"),
        (Manners { full: true, ..good() }, "refused: sessions: expected at most 0 (overloaded)"),
    ] {
        let output = bench(&serve(manners), "--utterances 2 --timeout 0.5");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(reason) && stderr.lines().count() == 1, "{reason}: {stderr}");
    }
    // Nobody listens on a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = bench(&free.to_string(), "--utterances 2");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains(&format!("ws://{free}/v1/ws: ")) && stderr.contains("refused"), "{stderr}");
}

#[test]
fn wrong_options_are_exit_code_2() {
    for options in ["--frame-ms 25", "--sockets 0", "--rate 1 --think 2", "--pid 4294967295", "--url wss://localhost"] {
        let output = Command::new(env!("CARGO_BIN_EXE_voxwire"))
            .arg("bench")
            .args(options.split_whitespace())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {output:?}");
    }
}

#[test]
fn nothing_to_say_is_a_success_without_figures() {
    let r = report(Manners { silent: true, ..Manners::default() }, "--utterances 2");
    assert_eq!((&r["utterances"]["nothing_to_say"], &r["continuity"]["of"]), (&2.into(), &0.into()));
    assert_eq!((&r["continuity"]["share"], &r["ttfa_ms"]["p50"], faults(&r)), (&Value::Null, &Value::Null, vec![]));
}

#[test]
fn an_open_loop_counts_the_wait_for_a_socket() {
    // 400 ms an utterance and one socket carry 2.5 a second; 8 come.
    let slow = Manners { packets: 20, lead: 1, ttfa: Duration::from_millis(20), ..Manners::default() };
    let r = report(slow.clone(), "--rate 8 --sockets 1 --utterances 10");
    assert_eq!((&r["utterances"]["done"], &r["sockets"]["used"]), (&10.into(), &1.into()));
    assert!(r["utterances"]["late"].as_u64().unwrap() >= 5, "{}", r["utterances"]);
    // The queue grows: those who came last waited for seconds, while each was spoken at once when its turn came.
    between(&r["ttfa_ms"]["max"], 1500.0..=20_000.0);
    between(&r["ttfa_sent_ms"]["p50"], 19.0..=300.0);
    // With sockets enough nobody waits, and only as many are opened as are needed.
    let r = report(slow, "--rate 8 --sockets 50 --utterances 10");
    assert_eq!((&r["utterances"]["done"], &r["utterances"]["late"]), (&10.into(), &0.into()));
    assert!((2..=10).contains(&r["sockets"]["used"].as_u64().unwrap()), "{}", r["sockets"]);
    between(&r["ttfa_ms"]["max"], 20.0..=1000.0);
}

#[test]
fn time_limits_and_warm_up_leave_out_what_is_outside() {
    let began = Instant::now();
    let r = report(Manners::default(), "--sockets 2 --spread 50 --warmup 0.6 --seconds 1");
    assert!(began.elapsed() > Duration::from_millis(1600));
    between(&r["measured_s"], 0.99..=1.3);
    // Two sockets speak about 160 ms each time: at most so many begin within a second.
    let done = r["utterances"]["done"].as_u64().unwrap();
    assert!((4..=16).contains(&done), "{done}");
    assert_eq!((&r["ttfa_ms"]["count"], &r["utterances"]["failed"]), (&done.into(), &0.into()));
    // What was under way at the end is given up: no fault of the server.
    assert_eq!(faults(&r), []);
}

#[test]
fn a_server_that_hangs_does_not_hold_the_client() {
    let r_began = Instant::now();
    let output = bench(&serve(Manners { hang_at: Some(5), ..Manners::default() }), "--seconds 0.3 --timeout 0.7");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(r_began.elapsed() < Duration::from_secs(8));
}

#[test]
fn capacity_is_found_between_a_step_that_passes_and_one_that_fails() {
    let three = Manners { packets: 40, lead: 2, carries: Some(3), ..Manners::default() };
    let options = "--find-capacity --warmup 0.3 --seconds 0.8 --spread 50 --json";
    let output = bench(&serve(three), options);
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tried: Vec<_> = found["steps"].as_array().unwrap().iter().map(|s| s["streams"].as_u64().unwrap()).collect();
    assert_eq!((&found["streams"], tried), (&3.into(), vec![1, 2, 4, 3]), "{output:?}");
    assert_eq!(found["reached_max"], false);
    // A line for each step, so that a long search shows where it is.
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn the_table_tells_all_of_it_and_the_servers_cost() {
    // The mock is in this process.
    let options = format!("--sockets 3 --utterances 6 --idle 5 --jitter-ms 300 --pid {}", std::process::id());
    let output = bench(&serve(Manners::default()), &options);
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    for part in [
        "mock 1, model tones",
        "closed loop, 3 sockets, opus 20 ms, realtime",
        "6 done, 0 failed",
        "100.000 % (6 of 6 without a gap over 100 ms; played 300 ms after the first packet)",
        "faults        none",
        "5 of 5 still open at the end",
        "per idle socket",
        "per speaking socket",
        "server: overhead                6       5.0       5.0       5.0       5.0",
        "RTF on the device               6     0.030",
    ] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
}
