//! Text -> token ids, by the model's own `tokenizer.json`, and the control tokens' ids by name.

use std::path::{Path, PathBuf};

use tokenizers::Tokenizer as Inner;

#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    #[error("{file}: {source}")]
    Io { file: PathBuf, source: std::io::Error },
    #[error("{file}: expected a tokenizer, found {found}")]
    Broken { file: PathBuf, found: String },
    #[error("{file}: expected the token {token}, found no such token")]
    MissingToken { file: PathBuf, token: &'static str },
    #[error("{file}: expected {expected} tokens as the model's config says, found {found}")]
    Size { file: PathBuf, expected: usize, found: usize },
    #[error("the text could not be tokenized: {0}")]
    Encode(String),
}

/// Ids of the control tokens. They differ from model to model, so they are read by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    /// `[spk_emb]`: its embedding is replaced by the speaker vector.
    pub spk_emb: u32,
    /// `[Ebreak]`: ends a refinement.
    pub end_of_refine: u32,
    /// `[break_0]`: from here up come tokens that are no words.
    pub break_0: u32,
}

pub struct Tokenizer {
    inner: Inner,
    pub specials: Specials,
    unknown: Option<u32>,
}

impl Tokenizer {
    /// Loads `asset/tokenizer/` of the model in `dir`. `vocabulary` is the model's number of text tokens.
    pub fn load(dir: &Path, vocabulary: usize) -> Result<Self, TokenizerError> {
        let file = dir.join("asset/tokenizer/tokenizer.json");
        let mut json = read_json(&file)?;
        // The Python package lets `do_lower_case` of the second file override the first's normalizer.
        let config = dir.join("asset/tokenizer/tokenizer_config.json");
        if super::file::is_file(&config)
            && let Some(lower) = read_json(&config)?.get("do_lower_case").and_then(|v| v.as_bool())
            && let Some(normalizer) = json.get_mut("normalizer").filter(|n| n["type"] == "BertNormalizer")
        {
            normalizer["lowercase"] = lower.into();
        }
        let bytes = serde_json::to_vec(&json).expect("a parsed JSON value can be written");
        let inner = Inner::from_bytes(bytes)
            .map_err(|e| TokenizerError::Broken { file: file.clone(), found: e.to_string() })?;
        let found = inner.get_vocab(true).values().max().map_or(0, |id| *id as usize + 1);
        if found != vocabulary {
            return Err(TokenizerError::Size { file, expected: vocabulary, found });
        }
        let id =
            |token| inner.token_to_id(token).ok_or_else(|| TokenizerError::MissingToken { file: file.clone(), token });
        let specials =
            Specials { spk_emb: id("[spk_emb]")?, end_of_refine: id("[Ebreak]")?, break_0: id("[break_0]")? };
        for token in ["[Stts]", "[Ptts]", "[empty_spk]", "[Sbreak]", "[Pbreak]"] {
            id(token)?;
        }
        Ok(Self { unknown: inner.token_to_id("[UNK]"), inner, specials })
    }

    /// Token ids of `text`; control tags in it become their tokens, and nothing is added around it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let encoding = self.inner.encode_fast(text, false).map_err(|e| TokenizerError::Encode(e.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Text of `ids`, control tokens included.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.inner.decode(ids, false).map_err(|e| TokenizerError::Encode(e.to_string()))
    }

    /// Whether the model has a token for this character (a space needs none).
    pub fn knows(&self, c: char) -> bool {
        let mut buffer = [0; 4];
        c == ' '
            || self
                .encode(c.encode_utf8(&mut buffer))
                .is_ok_and(|ids| !ids.is_empty() && !ids.iter().any(|id| Some(*id) == self.unknown))
    }

    /// Whether the tokenizer itself lower-cases.
    pub fn folds_case(&self) -> bool {
        matches!((self.encode("A"), self.encode("a")), (Ok(upper), Ok(lower)) if upper == lower)
    }

    /// Whether the model's vocabulary has this control tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.inner.token_to_id(tag).is_some()
    }
}

fn read_json(file: &Path) -> Result<serde_json::Value, TokenizerError> {
    let text = super::file::read(file).map_err(|source| TokenizerError::Io { file: file.to_path_buf(), source })?;
    let lfs = text.starts_with(b"version https://git-lfs");
    serde_json::from_slice(&text).map_err(|e| TokenizerError::Broken {
        file: file.to_path_buf(),
        found: if lfs { "a Git-LFS pointer text: the file itself was not fetched".into() } else { e.to_string() },
    })
}
