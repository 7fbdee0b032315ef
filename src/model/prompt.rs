//! What stands before the first generated step, and how the finished steps become sound.

/// Which of the codec's two inputs an utterance is decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodePath {
    /// The language model's hidden states through `Decoder`: the Python package's default.
    Hidden,
    /// The sampled codes through `DVAE`.
    Codes,
}
