/**
 * voxwire's WebSocket protocol, version 1, as types; its binary header; and how a text fits its messages. Pure.
 * The messages are described in docs/PROTOCOL.md.
 *
 * @module protocol
 */

/** The protocol version this client speaks. */
export const PROTOCOL = 1;

/** Bytes before the audio in a binary frame. */
export const HEADER_BYTES = 16;

/**
 * @typedef {{kind: 'seed', seed: number} | {kind: 'name', name: string} | {kind: 'speaker'} | {kind: 'sample'}
 *   | {kind: 'model'}} VoiceInUse `model`: its own voice, no speaker given
 *
 * @typedef {object} Model What the server's model is and can do.
 * @property {string} name
 * @property {string[]} languages two-letter codes
 * @property {string | null} [status] what a user should be told before hearing it
 * @property {string[]} voices named voices
 * @property {VoiceInUse} default_voice
 * @property {boolean} draw true when any seed is a voice
 * @property {string[]} tags tags the model knows, without brackets
 * @property {boolean} refine
 *
 * @typedef {object} Limits
 * @property {number} message_bytes
 * @property {number} text_chars code points in one utterance
 * @property {number} utterances alive on one socket
 * @property {number | null} idle_ms
 *
 * @typedef {object} Ready The server's greeting.
 * @property {'ready'} type
 * @property {number} protocol
 * @property {string} server
 * @property {string} session
 * @property {Model} model
 * @property {number} sample_rate
 * @property {Limits} limits
 *
 * @typedef {object} OpusFormat
 * @property {'opus'} codec
 * @property {10 | 20 | 40 | 60} [frame_ms]
 * @property {number} [bitrate] bit/s, 6000 to 256000
 * @property {number} [complexity] 0 to 10
 * @property {boolean} [fec]
 * @property {boolean} [dtx]
 *
 * @typedef {object} PcmFormat
 * @property {'pcm_s16le'} codec
 * @property {24000 | 16000 | 8000} [sample_rate]
 * @property {10 | 20 | 40 | 60} [frame_ms]
 *
 * @typedef {OpusFormat | PcmFormat} Format
 *
 * @typedef {object} TrueFormat The format in use, as `started` names it.
 * @property {'opus' | 'pcm_s16le'} codec
 * @property {number} sample_rate
 * @property {number} channels
 * @property {number} frame_ms
 * @property {number} [pre_skip] Opus: samples at 48 kHz to drop at the start
 *
 * @typedef {object} Sampling
 * @property {number} [temperature]
 * @property {number} [top_p]
 * @property {number} [top_k]
 * @property {number} [repetition_penalty]
 * @property {number} [min_steps]
 * @property {number} [max_steps]
 *
 * @typedef {object} StartOptions What to speak with; every field may be left out.
 * @property {string} [id] drawn by the client when left out
 * @property {number | string} [voice]
 * @property {number} [seed]
 * @property {Format | 'opus' | 'pcm_s16le'} [format]
 * @property {Sampling} [sampling]
 * @property {boolean | {oral?: number, laugh?: number, break?: number}} [refine]
 * @property {number} [speed] 0.25 to 4
 * @property {'realtime' | 'fast'} [pace]
 * @property {number} [lead_ms]
 * @property {string} [text] the first text, sent in the same message
 * @property {boolean} [final] no text follows
 *
 * @typedef {object} Started
 * @property {'started'} type
 * @property {string} id
 * @property {number} stream
 * @property {TrueFormat} format
 * @property {VoiceInUse} voice
 * @property {number} seed
 * @property {Sampling} sampling
 * @property {number} speed
 * @property {'realtime' | 'fast'} pace
 * @property {number} lead_ms
 *
 * @typedef {object} Span
 * @property {number} start first code point
 * @property {number} end code point after the last
 *
 * @typedef {object} Piece
 * @property {'piece'} type
 * @property {string} id
 * @property {number} index
 * @property {Span} source
 * @property {string} text as spoken
 * @property {number} start_ms
 * @property {number} length_ms
 * @property {'natural' | 'cap'} end
 * @property {number} seed
 *
 * @typedef {object} Done
 * @property {'done'} type
 * @property {string} id
 * @property {'complete' | 'nothing_to_say'} reason
 * @property {number} audio_ms
 * @property {number | null} queue_ms
 * @property {number | null} ttfa_ms
 * @property {number | null} engine_ms
 * @property {number | null} rtf
 * @property {number} pieces
 * @property {{source: Span, from: string, to: string, kind: string}[]} rewritten
 * @property {{source: Span, text: string, why: string}[]} skipped
 * @property {{piece: number, why: string}[]} refine_rejected
 *
 * @typedef {object} Cancelled
 * @property {'cancelled'} type
 * @property {string | null} id
 * @property {'speaking' | 'waiting' | 'unknown'} state
 * @property {number} audio_ms
 *
 * @typedef {object} ServerError
 * @property {'error'} type
 * @property {string} code
 * @property {string} message
 * @property {string | null} [field]
 * @property {string | null} [id]
 * @property {boolean} ended it is the end of that utterance, in the place of `done`
 * @property {number} [retry_after_ms]
 *
 * @typedef {object} Lost The connection went away while the utterance was alive.
 * @property {'lost'} type
 *
 * @typedef {Done | Cancelled | ServerError | Lost} Outcome How an utterance ended.
 *
 * @typedef {object} AudioPacket One binary frame.
 * @property {boolean} first
 * @property {boolean} last
 * @property {number} stream
 * @property {number} sequence from 0, +1 with each packet of the stream
 * @property {number} mediaTime position of the first sample at the format's sample rate, pre-skip included
 * @property {Uint8Array} payload one Opus packet, or s16le samples
 *
 * @typedef {object} Figures What the client saw of one utterance; times from `start()`, null until they happen.
 * @property {number | null} startedMs `started` arrived
 * @property {number | null} firstAudioMs first audio packet arrived
 * @property {number | null} endMs outcome known
 * @property {number} packets
 * @property {number} bytes audio payload
 * @property {number} longestWaitMs longest time between two audio packets
 * @property {number} missing sequence numbers that never came
 *
 * @typedef {'closed' | 'connecting' | 'ready' | 'lost'} ConnectionState
 *
 * @typedef {object} StateEvent
 * @property {ConnectionState} state
 * @property {number} [retryMs] lost: time until the next try
 * @property {number} [attempt] lost: how many tries have failed in a row
 * @property {number} [code] lost: WebSocket close code
 * @property {string} [reason] lost: what the server or the client said
 */

/** An error of this client; `code` is a short name. */
export class VoxwireError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = 'VoxwireError';
    this.code = code;
  }
}

/**
 * Reads a binary frame.
 * @param {ArrayBuffer} frame
 * @returns {AudioPacket} `payload` is a view into `frame`
 * @throws {VoxwireError} `bad_frame` when it is shorter than the header, empty, or no audio
 */
export function parseAudio(frame) {
  if (frame.byteLength <= HEADER_BYTES) {
    throw new VoxwireError('bad_frame', `binary frame: expected more than ${HEADER_BYTES} bytes, found ${frame.byteLength}`);
  }
  const view = new DataView(frame);
  if (view.getUint8(0) !== 1) {
    throw new VoxwireError('bad_frame', `binary frame: byte 0: expected 1 (audio), found ${view.getUint8(0)}`);
  }
  const flags = view.getUint8(1);
  return {
    first: (flags & 1) !== 0,
    last: (flags & 2) !== 0,
    stream: view.getUint32(4, true),
    sequence: view.getUint32(8, true),
    mediaTime: view.getUint32(12, true),
    payload: new Uint8Array(frame, HEADER_BYTES),
  };
}

/**
 * Cuts a text so that each part fits a message of `bytes`, whatever its characters; never inside a surrogate pair.
 * @param {string} text
 * @param {number} bytes
 * @returns {string[]} at least one part
 */
export function splitText(text, bytes) {
  // A UTF-16 unit takes at most 6 bytes as JSON (\u0001); 512 bytes are for the message around it.
  const units = Math.max(16, Math.floor((bytes - 512) / 6));
  if (text.length <= units) return [text];
  const parts = [];
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + units);
    const unit = text.charCodeAt(end - 1);
    if (end < text.length && unit >= 0xd800 && unit < 0xdc00) end -= 1;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}
