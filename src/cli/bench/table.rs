//! A report for a terminal.

use std::fmt::Write;

use super::capacity::{Capacity, Step};
use super::record::Counts;
use super::report::Report;
use super::stats::Summary;
use crate::cli::printable;

/// The report as text of at most 100 columns (but for what the server names itself), with a line end at its end.
pub fn text(r: &Report) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<14}{value}");
    };
    line("server", printable(&format!("{} ({}, model {})", r.url, or_unnamed(&r.server), or_unnamed(&r.model))));
    line("load", load(r));
    line("utterances", utterances(r));
    line("continuity", continuity(r));
    if !r.errors.is_empty() {
        line("errors", with_messages(&r.errors, r));
    }
    if !r.notices.is_empty() {
        line("notices", with_messages(&r.notices, r));
    }
    if !r.sockets.connect_failures.is_empty() {
        line("not connected", with_messages(&r.sockets.connect_failures, r));
    }
    if !r.sockets.closes.is_empty() {
        line("closed with", counts(&r.sockets.closes));
    }
    let faults = r.faults.0.iter().map(|(fault, n)| (name_of(fault), *n)).collect();
    line("faults", if r.faults.0.is_empty() { "none".into() } else { counts(&faults) });
    if r.cancel.sent > 0 {
        line("cancels", cancels(r));
    }
    line("audio", audio(r));
    if r.sockets.idle_opened > 0 {
        let (held, opened) = (r.sockets.idle_held, r.sockets.idle_opened);
        line("idle sockets", format!("{held} of {opened} still open at the end"));
    }
    line("client", client(r));
    if let Some(server) = server_usage(r) {
        line("server's cost", server);
    }
    out.push('\n');
    out + &distributions(r)
}

/// One line for a step of the search for capacity.
pub fn step(s: &Step) -> String {
    let r = &s.report;
    let percent = r.continuity.share.map_or("-".into(), |share| format!("{:.2} %", share * 100.0));
    let cores = r.server_usage.as_ref().map_or(String::new(), |u| format!(", server {:.2} cores", u.cores));
    format!(
        "{:>5} streams  {}  continuous {percent} of {}, worst gap {} ms, TTFA p50 {} p99 {} ms{cores}{}",
        s.streams,
        if s.passed { "pass" } else { "FAIL" },
        r.continuity.of,
        figure(Some(r.continuity.worst_gap_ms)),
        figure(r.ttfa_ms.p50),
        figure(r.ttfa_ms.p99),
        if r.client_usage.saturated { ", CLIENT TOO BUSY" } else { "" },
    )
}

/// What the search for capacity found.
pub fn capacity(c: &Capacity) -> String {
    let what = format!("at {:.2} % continuous utterances", c.at_least_percent);
    let client =
        if c.client_bound { "; the client was too busy in a step that failed: the server may carry more" } else { "" };
    match (c.streams, c.reached_max) {
        (Some(n), true) => format!("capacity: at least {n} streams {what} (--max-streams){client}\n"),
        (Some(n), false) => format!("capacity: {n} streams {what}{client}\n"),
        (None, _) => format!("capacity: not one stream {what}{client}\n"),
    }
}

fn or_unnamed(name: &str) -> &str {
    if name.is_empty() { "unnamed" } else { name }
}

fn load(r: &Report) -> String {
    let l = &r.load;
    let mut parts = vec![match l.rate {
        Some(rate) => format!("open loop, {rate} utterances/s on up to {} sockets", l.sockets),
        None => format!("closed loop, {} sockets", l.sockets),
    }];
    parts.extend(l.words_per_s.map(|rate| format!("word by word at {rate}/s")));
    parts.push(format!("{} {} ms", l.format, l.frame_ms));
    parts.push(l.pace.to_string());
    let warm = if l.warmup_s > 0.0 { format!(" after {} s of warm-up", l.warmup_s) } else { String::new() };
    parts.push(format!("{:.1} s{warm}", r.measured_s));
    if r.interrupted {
        parts.push("interrupted".into());
    }
    parts.join(", ")
}

fn utterances(r: &Report) -> String {
    let u = &r.utterances;
    let mut parts = vec![format!("{} done", u.done), format!("{} failed", u.failed)];
    for (n, name) in [
        (u.nothing_to_say, "with nothing to say"),
        (u.cancelled, "cancelled"),
        (u.late, "late (all sockets spoke)"),
        (u.unfinished, "unfinished"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {name}"));
        }
    }
    parts.join(", ")
}

fn continuity(r: &Report) -> String {
    let c = &r.continuity;
    let Some(share) = c.share else { return "nothing to judge".into() };
    let buffer = if c.jitter_ms > 0.0 { format!("{} ms after the", c.jitter_ms) } else { "at the".into() };
    format!(
        "{:.3} % ({} of {} without a gap over {} ms; played {buffer} first packet)\n{:14}worst gap {} ms; {} gaps over 5 ms, {} over {} ms",
        share * 100.0,
        c.continuous,
        c.of,
        c.gap_limit_ms,
        "",
        figure(Some(c.worst_gap_ms)),
        c.gaps,
        c.gaps_over_limit,
        c.gap_limit_ms,
    )
}

fn cancels(r: &Report) -> String {
    let c = &r.cancel;
    format!(
        "{} sent, {} after the end, {} unanswered; {} bytes of audio after the answer",
        c.sent, c.too_late, c.unanswered, c.audio_bytes_after_answer
    )
}

fn audio(r: &Report) -> String {
    let a = &r.audio;
    let rate = a.payload_kbit_per_s.map_or(String::new(), |k| format!(", {k:.1} kbit/s"));
    format!("{:.1} s in {} packets, {:.1} s a second{rate}", a.seconds, a.packets, a.streams)
}

fn client(r: &Report) -> String {
    let c = &r.client_usage;
    let Some((cpu_s, share)) = c.cpu_s.zip(c.cpu_share) else { return "its own CPU time is not known here".into() };
    let busy = if c.saturated {
        "\n              TOO BUSY: these figures are the client's as much as the server's"
    } else {
        ""
    };
    let per = c.cpu_ms_per_stream_s.map_or(String::new(), |p| format!(", {p:.2} ms per second of audio"));
    format!(
        "{cpu_s:.2} s CPU ({:.1} % of a core){per}; timers {} ms late at p99{busy}",
        share * 100.0,
        figure(c.lag_ms.p99)
    )
}

fn server_usage(r: &Report) -> Option<String> {
    let u = r.server_usage.as_ref()?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let per = u.cpu_ms_per_stream_s.map_or(String::new(), |p| format!(", {p:.2} ms per second of audio"));
    let mut text = format!(
        "{:.2} s CPU ({:.2} cores; {:.2} user, {:.2} system){per}\n{:14}{:.1} MiB before the first socket, {:.1} MiB at most",
        u.cpu_s,
        u.cores,
        u.user_s,
        u.system_s,
        "",
        mib(u.rss_before_bytes),
        mib(u.rss_peak_bytes),
    );
    let threads = &u.cpu_ms_per_stream_s_by_thread;
    if !threads.is_empty() {
        let parts: Vec<String> = threads.iter().map(|(name, ms)| format!("{name} {ms:.2}")).collect();
        let _ = write!(text, "\n{:14}ms per second of audio by thread: {}", "", parts.join(", "));
    }
    for (bytes, kind) in [(u.bytes_per_idle_socket, "idle"), (u.bytes_per_speaking_socket, "speaking")] {
        if let Some(bytes) = bytes {
            let _ = write!(text, "; {:.1} KiB per {kind} socket", bytes / 1024.0);
        }
    }
    Some(text)
}

fn distributions(r: &Report) -> String {
    let s = &r.server_figures;
    let from_due = match (r.load.rate, r.load.words_per_s) {
        (Some(_), _) => "TTFA (from when due)",
        (None, Some(_)) => "TTFA (first word)",
        (None, None) => "TTFA",
    };
    let rows = [
        (from_due, &r.ttfa_ms, true),
        ("TTFA (from sending)", &r.ttfa_sent_ms, r.load.rate.is_some()),
        ("TTFA (last word before)", &r.ttfa_last_word_ms, r.load.words_per_s.is_some()),
        ("between packets", &r.packet_gap_ms, true),
        ("silence an utterance", &r.continuity.silence_ms, true),
        ("server: TTFA", &s.ttfa_ms, true),
        ("server: queue", &s.queue_ms, true),
        ("server: engine", &s.engine_ms, true),
        ("server: overhead", &s.overhead_ms, true),
        ("transport", &r.transport_ms, r.transport_ms.count > 0),
        ("cancel to answer", &r.cancel.answer_ms, r.cancel.sent > 0),
        ("connect", &r.sockets.connect_ms, true),
        ("RTF at the client", &r.rtf, true),
        ("RTF on the device", &s.rtf, true),
    ];
    let mut out =
        format!("{:<24}{:>9}{:>10}{:>10}{:>10}{:>10}\n", "ms (RTF: ratio)", "count", "p50", "p95", "p99", "max");
    for (name, summary, _) in rows.into_iter().filter(|(.., shown)| *shown) {
        let Summary { count, p50, p95, p99, max, .. } = *summary;
        let digits = |v: Option<f64>| if name.starts_with("RTF") { ratio(v) } else { figure(v) };
        let _ = writeln!(
            out,
            "{name:<24}{count:>9}{:>10}{:>10}{:>10}{:>10}",
            digits(p50),
            digits(p95),
            digits(p99),
            digits(max)
        );
    }
    out
}

fn figure(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.1}"))
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.3}"))
}

fn counts(counts: &Counts) -> String {
    let parts = counts.iter().map(|(name, n)| format!("{} x {n}", printable(name)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Counts, with what the server or the system said about each.
fn with_messages(all: &Counts, r: &Report) -> String {
    let parts = all.iter().map(|(name, n)| {
        let message = r.messages.get(name).filter(|m| !m.is_empty()).map_or(String::new(), |m| format!(" ({m})"));
        printable(&format!("{name} x {n}{message}"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn name_of(fault: &super::track::Fault) -> String {
    // The name it has in JSON.
    serde_json::to_value(fault).ok().and_then(|v| v.as_str().map(ToString::to_string)).unwrap_or_default()
}
