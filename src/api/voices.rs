//! From what a client names as a voice to what prompts take.

use super::ws::message::{Refusal, VoiceInUse, VoiceSpec};
use crate::api::ws::message::ErrorCode;
use crate::model::speaker::{Source, Voice, VoiceKind};
use crate::session::frontend::{Frontend, FrontendError, Speaker};

/// Who speaks when the client names nobody. The same voice for everyone and every time.
pub struct DefaultVoice {
    pub speaker: Speaker,
    pub name: VoiceInUse,
}

/// Seed of the default voice of a model without named voices: the one most ChatTTS tools begin with.
const DEFAULT_SEED: u32 = 2222;

impl DefaultVoice {
    /// `spec`: what the operator chose; otherwise the model's first named voice, else a seed, else the model's own.
    pub fn choose(frontend: &Frontend, spec: Option<&str>) -> Result<Self, FrontendError> {
        let seed = frontend.has_stats().then(|| DEFAULT_SEED.to_string());
        let spec = spec.map(str::to_string).or_else(|| frontend.voices.keys().next().cloned()).or(seed);
        let Some(spec) = spec else {
            return Ok(Self { speaker: Speaker::default(), name: VoiceInUse::Model });
        };
        let voice = frontend.voice(&spec, None)?;
        Ok(Self { speaker: frontend.speaker(&voice, false)?, name: name_of(frontend, &spec, &voice) })
    }
}

fn name_of(frontend: &Frontend, spec: &str, voice: &Voice) -> VoiceInUse {
    if frontend.voices.contains_key(spec) {
        return VoiceInUse::Name { name: spec.to_string() };
    }
    match (voice.source(), voice.kind()) {
        (Source::Seed(seed), _) => VoiceInUse::Seed { seed },
        (_, VoiceKind::Embedding(_)) => VoiceInUse::Speaker,
        (_, VoiceKind::Sample(_)) => VoiceInUse::Sample,
    }
}

/// The voice a client asked for.
pub fn resolve(
    frontend: &Frontend,
    default: &DefaultVoice,
    spec: Option<&VoiceSpec>,
) -> Result<(Speaker, VoiceInUse), Refusal> {
    let text = match spec {
        None => return Ok((default.speaker.clone(), default.name.clone())),
        Some(VoiceSpec::Seed(seed)) => seed.to_string(),
        Some(VoiceSpec::Text(text)) => text.clone(),
    };
    let refused = |e: &dyn std::fmt::Display| {
        let mut message = format!("voice: {e}");
        if !frontend.voices.is_empty() {
            let names: Vec<&str> = frontend.voices.keys().map(String::as_str).collect();
            message = format!("{message}; named voices: {}", names.join(", "));
        }
        Refusal { code: ErrorCode::BadValue, message, field: Some("voice".into()), id: None }
    };
    let voice = frontend.remote_voice(&text).map_err(|e| refused(&e))?;
    let speaker = frontend.speaker(&voice, false).map_err(|e| refused(&e))?;
    Ok((speaker, name_of(frontend, &text, &voice)))
}
