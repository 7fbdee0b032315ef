//! Text refinement: the model writes pauses and laughs into the text before it is spoken.

use super::MAX_REFINE_TOKENS;
use crate::engine::{Engine, EngineError, Row, StepOutcome};
use crate::model::prompt::{DecodePath, Prompt};
use crate::model::sampling::Sampling;
use crate::model::tokenizer::{Tokenizer, TokenizerError};
use crate::text::{RefineRejection, accept_refined};

#[derive(Debug, thiserror::Error)]
pub enum RefineError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error("internal: refinement: the model's values stopped being finite")]
    NotFinite,
}

/// What became of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Refined {
    Accepted(String),
    /// The input is to be spoken as it was.
    Rejected {
        refined: String,
        why: RefineRejection,
    },
}

/// Refines `text`. `control` is such as `[oral_2][laugh_0][break_6]`, or empty. The result is accepted only if its
/// words are the input's words and it is at most four times as long.
pub fn refine<E: Engine + ?Sized>(
    engine: &mut E,
    tokenizer: &Tokenizer,
    text: &str,
    control: &str,
    sampling: Sampling,
) -> Result<Refined, RefineError> {
    let prompt = Prompt::refine(tokenizer, text, control)?;
    let row = Row { prompt, sampling, decode: DecodePath::Codes, made: Vec::new() };
    let slot = engine.prefill(vec![row])?[0];
    let mut ids = Vec::new();
    let result = loop {
        let outcome = match engine.step(&[slot]) {
            Ok(outcome) => outcome[0].clone(),
            Err(e) => break Err(e.into()),
        };
        match outcome {
            StepOutcome::Token(id) => ids.push(id),
            StepOutcome::End | StepOutcome::Full => break Ok(()),
            StepOutcome::Failed | StepOutcome::Codes(_) => break Err(RefineError::NotFinite),
        }
        if ids.len() == MAX_REFINE_TOKENS {
            break Ok(());
        }
    };
    engine.release(slot)?;
    result?;
    let refined = words_of(tokenizer, ids)?;
    Ok(match accept_refined(text, &refined) {
        Ok(()) => Refined::Accepted(refined),
        Err(why) => Refined::Rejected { refined, why },
    })
}

/// The text of a refinement's tokens.
pub(super) fn words_of(tokenizer: &Tokenizer, mut ids: Vec<u32>) -> Result<String, TokenizerError> {
    // From [break_0] up are tokens that steer and are not said.
    ids.retain(|id| *id < tokenizer.specials.break_0);
    tokenizer.decode(&ids)
}
