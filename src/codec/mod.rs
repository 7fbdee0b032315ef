//! Codes or hidden states -> mel -> PCM, incrementally: what comes out in chunks is what one pass over the whole
//! utterance gives. And the way back, audio -> codes, for speaker samples.
