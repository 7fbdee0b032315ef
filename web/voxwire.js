/**
 * The voxwire client: one WebSocket, many utterances. No page code, no dependency; browsers, and Node with any
 * WebSocket class that has the browser's interface.
 *
 * ```js
 * import { VoxwireClient } from './voxwire.js';
 *
 * const client = new VoxwireClient({ url: 'ws://127.0.0.1:8080/v1/ws' });
 * await client.connect();
 * const utterance = client.start({ voice: 2222, format: 'pcm_s16le' });
 * utterance.on('audio', packet => play(packet.payload));
 * utterance.text('Hello ');
 * utterance.text('there.', { final: true });
 * const outcome = await utterance.finished;       // { type: 'done', audio_ms: 812, ... }
 * client.close();
 * ```
 *
 * A lost connection is told (`state` event), tried again with growing waits, and ends what was alive with the outcome
 * `lost`: the client never speaks a text twice on its own. Times are milliseconds, rates Hz, text positions Unicode code
 * points of the text as sent. The messages themselves are described in docs/PROTOCOL.md.
 *
 * @module voxwire
 */

import { parseAudio, PROTOCOL, splitText, VoxwireError } from './protocol.js';

export { HEADER_BYTES, parseAudio, PROTOCOL, splitText, VoxwireError } from './protocol.js';

/**
 * @import { AudioPacket, ConnectionState, Figures, Outcome, Piece, Ready, ServerError, Started, StartOptions, StateEvent }
 *   from './protocol.js'
 */

/**
 * Typed listeners.
 * @template {Record<string, any>} Events
 */
export class Emitter {
  /** @type {Map<keyof Events, Set<(event: any) => void>>} */
  #listeners = new Map();

  /**
   * Calls `listener` at each event `name`; the returned function ends that.
   * @template {keyof Events} K
   * @param {K} name
   * @param {(event: Events[K]) => void} listener
   * @returns {() => void}
   */
  on(name, listener) {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(listener));
    return () => void set.delete(listener);
  }

  /**
   * @template {keyof Events} K
   * @param {K} name
   * @param {Events[K]} event
   */
  emit(name, event) {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(event);
  }
}

/**
 * How long to wait before try number `attempt` (from 1): doubling, with a quarter of chance so that many clients of one
 * server do not come back in the same moment.
 * @param {number} attempt
 * @param {{firstMs: number, mostMs: number}} backoff
 * @param {number} [random] 0 to 1
 */
export function backoffMs(attempt, backoff, random = Math.random()) {
  const wait = Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(wait * (0.875 + 0.25 * random));
}

/**
 * One text being spoken. Made by {@link VoxwireClient#start}.
 *
 * Events: `started`, `audio` (packets in order), `piece`, `error` (it may live on), `end` (its one outcome).
 * @extends {Emitter<{started: Started, audio: AudioPacket, piece: Piece, error: ServerError, end: Outcome}>}
 */
export class Utterance extends Emitter {
  /** @type {(message: object) => void} */
  #send;
  #messageBytes;
  #began = now();
  /** @type {number | null} */
  #lastAudio = null;
  #sequence = 0;
  /** @type {(outcome: Outcome) => void} */
  #resolve = () => {};

  /**
   * @param {string} id
   * @param {(message: object) => void} send
   * @param {number} messageBytes
   */
  constructor(id, send, messageBytes) {
    super();
    this.#send = send;
    this.#messageBytes = messageBytes;
    /** @readonly */
    this.id = id;
    /** @type {Started | null} */
    this.started = null;
    /** @type {Piece[]} */
    this.pieces = [];
    /** @type {Outcome | null} */
    this.outcome = null;
    /** @type {Figures} */
    this.figures = { startedMs: null, firstAudioMs: null, endMs: null, packets: 0, bytes: 0, longestWaitMs: 0, missing: 0 };
    /** Resolves with the outcome; never rejects. @type {Promise<Outcome>} */
    this.finished = new Promise(resolve => { this.#resolve = resolve; });
  }

  /** Bytes of audio may still come. */
  get alive() {
    return this.outcome === null;
  }

  /**
   * Adds text, as it comes; parts are joined as they are, no space is added.
   * @param {string} text
   * @param {{final?: boolean}} [options] `final`: no more text follows
   */
  text(text, { final = false } = {}) {
    if (!this.alive) return;
    const parts = splitText(text, this.#messageBytes);
    parts.forEach((part, i) => {
      this.#send({ type: 'text', id: this.id, text: part, ...(final && i === parts.length - 1 ? { final } : {}) });
    });
  }

  /** No more text follows. */
  end() {
    this.text('', { final: true });
  }

  /** Speaks what has arrived without waiting for the end of a sentence. */
  flush() {
    if (this.alive) this.#send({ type: 'flush', id: this.id });
  }

  /** Stops it. No `audio` event follows this call, whatever is still on its way. */
  cancel() {
    if (!this.alive) return;
    this.#send({ type: 'cancel', id: this.id });
    this.receive({ type: 'cancelled', id: this.id, state: 'speaking', audio_ms: 0 });
  }

  /**
   * Takes a server message. Called by the client.
   * @param {Started | Piece | Outcome} message
   */
  receive(message) {
    if (!this.alive) return;
    switch (message.type) {
      case 'started':
        this.started = message;
        this.figures.startedMs = now() - this.#began;
        this.emit('started', message);
        break;
      case 'piece':
        this.pieces.push(message);
        this.emit('piece', message);
        break;
      case 'error':
        this.emit('error', message);
        // Before `started`, a refused value means that there is no utterance; a text too long leaves one.
        if (message.ended || (this.started === null && message.code !== 'too_much_text')) this.#finish(message);
        break;
      default:
        this.#finish(message);
    }
  }

  /**
   * Takes an audio packet. Called by the client.
   * @param {AudioPacket} packet
   */
  receiveAudio(packet) {
    if (!this.alive) return;
    const at = now();
    const figures = this.figures;
    figures.firstAudioMs ??= at - this.#began;
    if (this.#lastAudio !== null) figures.longestWaitMs = Math.max(figures.longestWaitMs, at - this.#lastAudio);
    this.#lastAudio = at;
    figures.missing += Math.max(0, packet.sequence - this.#sequence);
    this.#sequence = packet.sequence + 1;
    figures.packets += 1;
    figures.bytes += packet.payload.byteLength;
    this.emit('audio', packet);
  }

  /** @param {Outcome} outcome */
  #finish(outcome) {
    this.outcome = outcome;
    this.figures.endMs = now() - this.#began;
    this.emit('end', outcome);
    this.#resolve(outcome);
  }
}

/**
 * @typedef {object} ClientOptions
 * @property {string | URL} url `ws://host/v1/ws`, or wss
 * @property {string} [token] sent as a subprotocol, or as `?token=` when its characters do not allow that
 * @property {{firstMs?: number, mostMs?: number}} [backoff] waits between tries; 500 and 15000 by default
 * @property {number} [heartbeatMs] how often an answer is asked for, 10000 by default; two silences are a loss
 * @property {number} [connectMs] longest wait for `ready`, 10000 by default
 * @property {typeof WebSocket} [WebSocket] for Node without one
 */

/**
 * A connection that looks after itself.
 *
 * Events: `state` (each change), `ready` (each greeting), `latency` (round trip in ms, at each heartbeat),
 * `error` (errors that name no living utterance, and frames that cannot be read).
 * @extends {Emitter<{state: StateEvent, ready: Ready, latency: number, error: ServerError | VoxwireError}>}
 */
export class VoxwireClient extends Emitter {
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Map<string, Utterance>} */
  #byId = new Map();
  /** @type {Map<number, Utterance>} */
  #byStream = new Map();
  /** @type {Map<number, (ms: number) => void>} */
  #pings = new Map();
  #pingNumber = 0;
  #idNumber = 0;
  #attempt = 0;
  #leastWaitMs = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #connectTimer;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #heartbeat;

  /** @param {ClientOptions} options */
  constructor(options) {
    super();
    /** @readonly */
    this.options = {
      ...options,
      backoff: { firstMs: 500, mostMs: 15000, ...options.backoff },
      heartbeatMs: options.heartbeatMs ?? 10000,
      connectMs: options.connectMs ?? 10000,
    };
    /** @type {ConnectionState} */
    this.state = 'closed';
    /** The greeting of the connection in use, else null. @type {Ready | null} */
    this.ready = null;
  }

  /**
   * Connects, and keeps connecting until {@link close}. Resolves at the first `ready`.
   * @returns {Promise<Ready>}
   */
  connect() {
    if (this.ready) return Promise.resolve(this.ready);
    const ready = new Promise(/** @param {(ready: Ready) => void} resolve */ resolve => {
      const off = this.on('ready', event => { off(); resolve(event); });
    });
    if (this.#socket === null) this.#open();
    return ready;
  }

  /** While lost: tries now instead of at the end of the wait. */
  retry() {
    if (this.state === 'lost') this.#open();
  }

  /** Ends the connection for good (until the next {@link connect}); living utterances end as `lost`. */
  close() {
    clearTimeout(this.#retryTimer);
    const socket = this.#drop();
    socket?.close(1000);
    if (this.state !== 'closed') this.#setState({ state: 'closed' });
  }

  /**
   * Starts an utterance. Give `text` and `final` here when the whole text is known: it saves a message.
   * @param {StartOptions} [options]
   * @returns {Utterance}
   * @throws {VoxwireError} `not_connected`
   */
  start(options = {}) {
    const ready = this.ready;
    if (ready === null) throw new VoxwireError('not_connected', `start: expected a connection that is ready, it is ${this.state}`);
    const id = options.id ?? `c${++this.#idNumber}`;
    const messageBytes = ready.limits?.message_bytes ?? 65536;
    const utterance = new Utterance(id, message => this.#send(message), messageBytes);
    this.#byId.set(id, utterance);
    utterance.on('end', () => this.#forget(utterance));
    const { text, final, ...rest } = options;
    if (text !== undefined && splitText(text, messageBytes).length > 1) {
      this.#send({ type: 'start', ...rest, id });
      utterance.text(text, { final });
    } else {
      this.#send({ type: 'start', ...rest, id, ...(text === undefined ? {} : { text }), ...(final ? { final } : {}) });
    }
    return utterance;
  }

  /** Cancels all utterances of this connection. */
  cancel() {
    for (const utterance of [...this.#byId.values()]) utterance.cancel();
  }

  /**
   * Measures the round trip through the server.
   * @returns {Promise<number>} milliseconds; does not resolve when the connection is lost
   */
  ping() {
    const number = ++this.#pingNumber;
    const sent = now();
    return new Promise(resolve => {
      this.#pings.set(number, () => resolve(now() - sent));
      this.#send({ type: 'ping', data: number });
    });
  }

  #open() {
    clearTimeout(this.#retryTimer);
    this.#setState({ state: 'connecting' });
    const url = new URL(this.options.url);
    const protocols = [`voxwire.v${PROTOCOL}`];
    const { token } = this.options;
    if (token !== undefined) {
      if (/^[\w!#$%&'*+.^`|~-]+$/.test(token)) protocols.push(`voxwire.token.${token}`);
      else url.searchParams.set('token', token);
    }
    const Socket = this.options.WebSocket ?? WebSocket;
    const socket = new Socket(url, protocols);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    // A dropped socket may still report; only the one in use is listened to.
    const ours = (/** @type {(event: any) => void} */ handle) => (/** @type {any} */ event) => {
      if (this.#socket === socket) handle(event);
    };
    socket.onmessage = ours(event => this.#receive(event.data));
    socket.onclose = ours(event => this.#lose(event.code, event.reason));
    socket.onerror = () => {};
    this.#connectTimer = setTimeout(ours(() => this.#lose(1006, 'no answer in time')), this.options.connectMs);
  }

  /** Forgets the socket and all that lived on it. */
  #drop() {
    clearTimeout(this.#connectTimer);
    clearInterval(this.#heartbeat);
    const socket = this.#socket;
    this.#socket = null;
    this.ready = null;
    this.#pings.clear();
    for (const utterance of [...this.#byId.values()]) utterance.receive({ type: 'lost' });
    this.#byId.clear();
    this.#byStream.clear();
    return socket;
  }

  /** @param {number} code @param {string} reason */
  #lose(code, reason) {
    const socket = this.#drop();
    if (socket && socket.readyState < 2) socket.close();
    this.#attempt += 1;
    const retryMs = Math.max(this.#leastWaitMs, backoffMs(this.#attempt, this.options.backoff));
    this.#leastWaitMs = 0;
    this.#retryTimer = setTimeout(() => this.#open(), retryMs);
    this.#setState({ state: 'lost', retryMs, attempt: this.#attempt, code, reason });
  }

  /** @param {StateEvent} event */
  #setState(event) {
    this.state = event.state;
    this.emit('state', event);
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message));
  }

  /** @param {string | ArrayBuffer} data */
  #receive(data) {
    if (typeof data === 'string') {
      this.#receiveMessage(data);
      return;
    }
    try {
      const packet = parseAudio(data);
      this.#byStream.get(packet.stream)?.receiveAudio(packet);
    } catch (error) {
      if (!(error instanceof VoxwireError)) throw error;
      this.emit('error', error);
    }
  }

  /** @param {string} data */
  #receiveMessage(data) {
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      this.emit('error', new VoxwireError('bad_json', `message: expected a JSON object, found ${data.slice(0, 80)}`));
      return;
    }
    const utterance = this.#byId.get(message.id);
    switch (message.type) {
      case 'ready':
        this.#greet(message);
        break;
      case 'pong':
        this.#pings.get(message.data)?.(message.data);
        this.#pings.delete(message.data);
        break;
      case 'started':
        if (utterance) this.#byStream.set(message.stream, utterance);
        utterance?.receive(message);
        break;
      case 'piece':
      case 'done':
      case 'cancelled':
        utterance?.receive(message);
        break;
      case 'error':
        if (message.retry_after_ms > 0) this.#leastWaitMs = message.retry_after_ms;
        if (utterance) utterance.receive(message);
        else this.emit('error', message);
        break;
      default: // A later server may say more; what this client does not know does not concern it.
    }
  }

  /** @param {Ready} ready */
  #greet(ready) {
    if (ready.protocol !== PROTOCOL) {
      this.close();
      this.emit('error', new VoxwireError('protocol', `ready: protocol: expected ${PROTOCOL}, found ${ready.protocol}`));
      return;
    }
    clearTimeout(this.#connectTimer);
    this.#attempt = 0;
    this.ready = ready;
    this.#setState({ state: 'ready' });
    this.emit('ready', ready);
    this.#beat();
    this.#heartbeat = setInterval(() => this.#beat(), this.options.heartbeatMs);
  }

  #beat() {
    // Two unanswered pings: the other end is gone although no one said so (a dead route sends no FIN).
    if (this.#pings.size >= 2) this.#lose(1006, 'no answer to pings');
    else void this.ping().then(ms => this.emit('latency', ms));
  }

  /** @param {Utterance} utterance */
  #forget(utterance) {
    if (this.#byId.get(utterance.id) === utterance) this.#byId.delete(utterance.id);
    const stream = utterance.started?.stream;
    if (stream !== undefined) this.#byStream.delete(stream);
  }
}

function now() {
  return performance.now();
}
