//! From what the session core says to the messages of the protocol.

use super::message::{
    self, Done, DoneReason, FormatInUse, FormatSpec, Limits, Model, Ready, RefineRejected, Rewritten, SamplingInUse,
    SamplingSpec, Skipped, Span,
};
use crate::api::state::App;
use crate::audio::encode::{OpusFormat, PcmFormat, StreamFormat};
use crate::model::sampling::Sampling;
use crate::session::PieceEnd;
use crate::session::report::{PieceDone, Reason, Summary};

pub fn ready(app: &App, session: &str) -> Ready {
    let frontend = app.service.frontend();
    let (dims, capabilities) = (&frontend.dims, &frontend.dims.capabilities);
    Ready {
        protocol: message::PROTOCOL,
        server: concat!("voxwire ", env!("CARGO_PKG_VERSION")).into(),
        session: session.into(),
        model: Model {
            name: dims.name.clone(),
            languages: capabilities.languages.clone(),
            status: capabilities.status.clone(),
            voices: frontend.voices.keys().cloned().collect(),
            default_voice: app.voice.name.clone(),
            draw: frontend.has_stats(),
            tags: frontend.tags().iter().map(|t| t.to_string()).collect(),
            refine: capabilities.refine_text,
        },
        sample_rate: dims.vocos.sample_rate,
        limits: Limits {
            message_bytes: app.sockets.message_bytes,
            text_chars: app.service.limits().text_chars,
            utterances: app.sockets.utterances,
            idle_ms: Some(app.sockets.ping_timeout.as_millis() as u64),
        },
    }
}

/// The format asked for. Its values are within their ranges already.
pub fn stream_format(spec: FormatSpec) -> StreamFormat {
    match spec {
        FormatSpec::Opus { frame_ms, bitrate, complexity, fec, dtx } => {
            let complexity = complexity.unwrap_or(OpusFormat::default().complexity);
            StreamFormat::Opus(OpusFormat { frame_ms, bitrate, complexity, fec, dtx })
        }
        FormatSpec::Pcm { sample_rate, frame_ms } => StreamFormat::Pcm(PcmFormat { sample_rate, frame_ms }),
    }
}

pub fn format_in_use(format: &StreamFormat, pre_skip: u32) -> FormatInUse {
    match format {
        StreamFormat::Opus(opus) => FormatInUse::Opus {
            sample_rate: format.sample_rate(),
            channels: 1,
            frame_ms: opus.frame_ms,
            pre_skip,
            bitrate: opus.bitrate,
            complexity: opus.complexity,
            fec: opus.fec,
            dtx: opus.dtx,
        },
        StreamFormat::Pcm(pcm) => {
            FormatInUse::Pcm { sample_rate: pcm.sample_rate, channels: 1, frame_ms: pcm.frame_ms }
        }
    }
}

/// ChatTTS's parameters with what the client changed.
pub fn sampling(spec: &SamplingSpec, seed: u64) -> Sampling {
    let default = Sampling::code(seed);
    Sampling {
        temperature: spec.temperature.unwrap_or(default.temperature),
        top_p: spec.top_p.unwrap_or(default.top_p),
        top_k: spec.top_k.map_or(default.top_k, |k| k as usize),
        repetition_penalty: spec.repetition_penalty.unwrap_or(default.repetition_penalty),
        min_steps: spec.min_steps.map_or(default.min_steps, |n| n as usize),
        ..default
    }
}

pub fn sampling_in_use(sampling: &Sampling, max_steps: Option<u32>) -> SamplingInUse {
    SamplingInUse {
        temperature: sampling.temperature,
        top_p: sampling.top_p,
        top_k: u32::try_from(sampling.top_k).unwrap_or(u32::MAX),
        repetition_penalty: sampling.repetition_penalty,
        min_steps: u32::try_from(sampling.min_steps).unwrap_or(u32::MAX),
        max_steps,
    }
}

pub fn piece(id: &str, piece: PieceDone) -> message::Piece {
    message::Piece {
        id: id.into(),
        index: piece.index,
        source: Span { start: piece.source.start, end: piece.source.end },
        text: piece.text,
        start_ms: piece.start_ms,
        length_ms: piece.length_ms,
        end: match piece.end {
            PieceEnd::Natural => message::PieceEnd::Natural,
            PieceEnd::Cap => message::PieceEnd::Cap,
        },
        seed: piece.seed,
    }
}

pub fn done(id: &str, summary: Summary) -> Done {
    let span = |span: &std::ops::Range<usize>| Span { start: span.start, end: span.end };
    Done {
        id: id.into(),
        reason: match summary.reason {
            Reason::Complete => DoneReason::Complete,
            Reason::NothingToSay => DoneReason::NothingToSay,
        },
        audio_ms: summary.audio_ms,
        queue_ms: summary.queue_ms(),
        ttfa_ms: summary.ttfa_ms(),
        engine_ms: summary.engine_ms(),
        rtf: summary.rtf(),
        underruns: summary.underruns,
        underrun_ms: summary.underrun.as_secs_f64() * 1e3,
        pieces: summary.pieces,
        rewritten: summary
            .rewritten
            .into_iter()
            .map(|c| Rewritten { source: span(&c.chars), from: c.from, to: c.to, kind: name(&c.kind) })
            .collect(),
        skipped: summary
            .skipped
            .into_iter()
            .map(|s| Skipped { source: span(&s.chars), text: s.text, why: name(&s.why) })
            .collect(),
        refine_rejected: summary
            .refine_rejected
            .into_iter()
            .map(|r| RefineRejected { piece: r.piece, why: r.why })
            .collect(),
    }
}

/// The name an enum has on the wire.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}
