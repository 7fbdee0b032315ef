/**
 * Plays voxwire's audio: Opus by WebCodecs (or s16le samples) -> jitter buffer on the audio thread -> loudspeaker.
 * One utterance at a time; a new one cuts the old. No page code, no DOM.
 *
 * ```js
 * const player = new Player();
 * button.onclick = async () => {
 *   player.unlock();                                        // in a user gesture: browsers demand it
 *   const utterance = client.start({ text, final: true, format: await player.codec() });
 *   player.play(utterance);
 * };
 * stop.onclick = () => { player.stop(); utterance.cancel(); };
 * ```
 *
 * Where the browser has no AudioWorklet or no WebCodecs (both are withheld from plain http:// pages of other hosts), the
 * same buffer runs on the main thread and samples are asked for instead of Opus.
 *
 * @module player
 */

import { JitterBuffer } from './jitter.js';
import { Upsampler } from './resample.js';
import { Emitter } from './voxwire.js';

/** @import { AudioPacket, TrueFormat } from './protocol.js' */
/** @import { Utterance } from './voxwire.js' */
/** @import { Command, Report } from './jitter.js' */

/** The rate everything is brought to: Opus's own. */
export const RATE = 48000;

/** Decoded audio held ahead of the loudspeaker; the rest waits as packets, which are small. */
const AHEAD = 3 * RATE;

/**
 * @typedef {object} PlayerFigures Of the utterance playing, or last played.
 * @property {number} playedMs
 * @property {number} gaps times it ran dry before its end
 * @property {number} gapMs silence heard by that
 * @property {number | null} firstSoundAt `performance.now()` clock: when its first sample was rendered
 *
 * @typedef {object} PlayerEvents
 * @property {PlayerFigures} first sound begins
 * @property {PlayerFigures} position about every 40 ms
 * @property {PlayerFigures} gap ran dry and came back
 * @property {PlayerFigures} starved ran dry
 * @property {PlayerFigures} ended all was played
 * @property {Error} failed the decoder gave up; `codec()` says pcm_s16le from then on
 */

/** @extends {Emitter<PlayerEvents & Record<string, any>>} */
export class Player extends Emitter {
  /** @type {Promise<void> | null} */
  #opening = null;
  /** @type {Sink | null} */
  #sink = null;
  /** @type {Command[]} */
  #waiting = [];
  #key = 0;
  /** @type {Decoder | null} */
  #decoder = null;
  /** @type {AudioPacket[]} */
  #packets = [];
  #noMore = false;
  #decoded = 0;
  #opusFailed = false;
  /** @type {Promise<'opus' | 'pcm_s16le'> | null} */
  #codec = null;
  /** @type {AudioContext | null} */
  context = null;
  /** Everything that is played goes through here: connect an analyser. @type {GainNode | null} */
  output = null;
  /** @type {PlayerFigures} */
  figures = noFigures();

  /** Sound is to come or being played. */
  busy = false;

  /** The codec to ask the server for: `opus` when this browser decodes it, else `pcm_s16le`. */
  codec() {
    this.#codec ??= opusSupported();
    return this.#codec.then(codec => (this.#opusFailed ? 'pcm_s16le' : codec));
  }

  /** Which side the jitter buffer runs on, once unlocked. */
  get thread() {
    return this.#sink?.thread ?? null;
  }

  /**
   * Opens the audio output. Must be called in a user gesture; calling again is cheap and wakes a sleeping output.
   * @returns {Promise<void>}
   */
  unlock() {
    this.#opening ??= this.#openOutput();
    if (this.context && this.context.state !== 'running') void this.context.resume();
    return this.#opening;
  }

  /**
   * Plays an utterance as it comes.
   * @param {Utterance} utterance
   */
  play(utterance) {
    this.stop();
    const key = ++this.#key;
    this.busy = true;
    this.#command({ type: 'begin', key });
    const ours = (/** @type {() => void} */ act) => { if (key === this.#key) act(); };
    utterance.on('started', started => ours(() => this.#prepare(started.format)));
    utterance.on('audio', packet => ours(() => this.#push(packet)));
    utterance.on('end', outcome => ours(() => this.#finish(outcome.type === 'done' ? outcome.audio_ms : null)));
  }

  /** Silence within a few milliseconds; nothing of the utterance is heard after. */
  stop() {
    this.#key += 1;
    this.busy = false;
    this.#decoder?.close();
    this.#decoder = null;
    this.#packets = [];
    this.#noMore = false;
    this.#decoded = 0;
    this.figures = noFigures();
    this.#command({ type: 'flush' });
  }

  async #openOutput() {
    const context = new AudioContext({ sampleRate: RATE, latencyHint: 'interactive' });
    this.context = context;
    this.output = context.createGain();
    this.output.connect(context.destination);
    const report = this.#report.bind(this);
    const sink = await workletSink(context, report).catch(() => scriptSink(context, report));
    sink.node.connect(this.output);
    this.#sink = sink;
    for (const command of this.#waiting) sink.send(command);
    this.#waiting = [];
  }

  /** @param {Command} command */
  #command(command) {
    if (this.#sink) this.#sink.send(command);
    else if (command.type === 'flush') this.#waiting = [];
    else this.#waiting.push(command);
  }

  /** @param {TrueFormat} format */
  #prepare(format) {
    const key = this.#key;
    const take = (/** @type {Float32Array} */ samples) => {
      if (key !== this.#key) return;
      this.#decoded += samples.length;
      this.#command({ type: 'push', key, samples });
    };
    const fail = (/** @type {Error} */ error) => {
      if (key !== this.#key) return;
      this.#opusFailed = true;
      this.stop();
      this.emit('failed', error);
    };
    this.#decoder = format.codec === 'opus' ? new OpusDecoder(format, take, fail) : new PcmDecoder(format, take);
  }

  /** @param {AudioPacket} packet */
  #push(packet) {
    this.#packets.push(packet);
    this.#pump();
    if (packet.last) this.#lastCame();
  }

  #pump() {
    const played = (this.figures.playedMs * RATE) / 1000;
    // What the decoder has not given back yet is at most some packets.
    while (this.#packets.length > 0 && this.#decoded - played < AHEAD) {
      const packet = /** @type {AudioPacket} */ (this.#packets.shift());
      this.#decoder?.push(packet);
      if (this.#decoder instanceof OpusDecoder && this.#decoder.queued > 64) break;
    }
    if (this.#noMore && this.#packets.length === 0 && this.#decoder) {
      const decoder = this.#decoder;
      const key = this.#key;
      this.#noMore = false;
      void decoder.end().then(() => {
        if (key === this.#key) this.#command({ type: 'end', key });
      });
    }
  }

  #lastCame() {
    this.#noMore = true;
    this.#pump();
  }

  /** @param {number | null} audioMs length of the whole, when the server said it */
  #finish(audioMs) {
    const key = this.#key;
    const total = audioMs === null ? null : Math.round((audioMs * RATE) / 1000);
    if (this.#decoder === null || total === 0) {
      this.#command({ type: 'end', key });
      return;
    }
    if (total !== null) this.#command({ type: 'total', key, total });
    if (this.#decoder.open) this.#lastCame();
  }

  /** @param {Report} report */
  #report(report) {
    if (report.key !== this.#key || !this.context) return;
    const figures = this.figures;
    if ('played' in report) figures.playedMs = (report.played * 1000) / RATE;
    switch (report.type) {
      case 'first':
        figures.firstSoundAt = performance.now() - (this.context.currentTime - report.frame / this.context.sampleRate) * 1000;
        break;
      case 'gap':
        figures.gaps += 1;
        figures.gapMs += (report.length * 1000) / RATE;
        break;
      case 'ended':
        this.busy = false;
        this.#decoder?.close();
        this.#decoder = null;
        break;
    }
    this.#pump();
    this.emit(report.type, figures);
  }
}

/** @returns {PlayerFigures} */
function noFigures() {
  return { playedMs: 0, gaps: 0, gapMs: 0, firstSoundAt: null };
}

/** @returns {Promise<'opus' | 'pcm_s16le'>} */
async function opusSupported() {
  if (typeof AudioDecoder === 'undefined') return 'pcm_s16le';
  try {
    const { supported } = await AudioDecoder.isConfigSupported({ codec: 'opus', sampleRate: RATE, numberOfChannels: 1 });
    return supported ? 'opus' : 'pcm_s16le';
  } catch {
    return 'pcm_s16le';
  }
}

/** @typedef {OpusDecoder | PcmDecoder} Decoder */

class OpusDecoder {
  open = true;
  #skip;
  #time = 0;
  #frameUs;
  /** @type {Upsampler | null} */
  #upsampler = null;

  /**
   * @param {TrueFormat} format
   * @param {(samples: Float32Array) => void} take
   * @param {(error: Error) => void} fail
   */
  constructor(format, take, fail) {
    this.take = take;
    this.fail = fail;
    this.#skip = format.pre_skip ?? 0;
    this.#frameUs = format.frame_ms * 1000;
    this.decoder = new AudioDecoder({ output: data => this.#output(data), error: fail });
    this.decoder.configure({ codec: 'opus', sampleRate: RATE, numberOfChannels: 1 });
  }

  get queued() {
    return this.decoder.decodeQueueSize;
  }

  /** @param {AudioPacket} packet */
  push(packet) {
    if (this.decoder.state !== 'configured') return;
    this.decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp: this.#time, data: packet.payload }));
    this.#time += this.#frameUs;
  }

  async end() {
    this.open = false;
    if (this.decoder.state === 'configured') await this.decoder.flush().catch(() => {});
    if (this.#upsampler) this.take(this.#upsampler.end());
  }

  close() {
    this.open = false;
    if (this.decoder.state !== 'closed') this.decoder.close();
  }

  /** @param {AudioData} data */
  #output(data) {
    let samples = new Float32Array(data.numberOfFrames);
    data.copyTo(samples, { planeIndex: 0, format: 'f32-planar' });
    const rate = data.sampleRate;
    data.close();
    if (rate !== RATE) {
      if (RATE % rate !== 0) return this.fail(new Error(`Opus decoder: sample rate: expected a divisor of ${RATE}, found ${rate}`));
      this.#upsampler ??= new Upsampler(RATE / rate);
      samples = new Float32Array(this.#upsampler.push(samples));
    }
    const skip = Math.min(this.#skip, samples.length);
    this.#skip -= skip;
    this.take(skip > 0 ? samples.slice(skip) : samples);
  }
}

class PcmDecoder {
  open = true;

  /** @param {TrueFormat} format @param {(samples: Float32Array) => void} take */
  constructor(format, take) {
    this.take = take;
    this.upsampler = new Upsampler(RATE / format.sample_rate);
  }

  /** @param {AudioPacket} packet */
  push({ payload }) {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const samples = new Float32Array(payload.byteLength >> 1);
    for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true) / 32768;
    this.take(this.upsampler.push(samples));
  }

  async end() {
    this.open = false;
    this.take(this.upsampler.end());
  }

  close() {
    this.open = false;
  }
}

/**
 * @typedef {object} Sink Where the jitter buffer lives.
 * @property {AudioNode} node
 * @property {'worklet' | 'main'} thread
 * @property {(command: Command) => void} send
 */

/**
 * @param {AudioContext} context
 * @param {(report: Report) => void} report
 * @returns {Promise<Sink>}
 */
async function workletSink(context, report) {
  await context.audioWorklet.addModule(new URL('./worklet.js', import.meta.url));
  const node = new AudioWorkletNode(context, 'voxwire', { numberOfInputs: 0, outputChannelCount: [1] });
  node.port.onmessage = event => report(event.data);
  return {
    node,
    thread: 'worklet',
    send: command => node.port.postMessage(command, command.type === 'push' ? [command.samples.buffer] : []),
  };
}

/**
 * @param {AudioContext} context
 * @param {(report: Report) => void} report
 * @returns {Sink}
 */
function scriptSink(context, report) {
  // The main thread is late at times: a larger block, and a longer start.
  const buffer = new JitterBuffer(context.sampleRate, { startMs: 120 });
  const node = context.createScriptProcessor(1024, 1, 1);
  node.onaudioprocess = event => {
    const frame = Math.round(event.playbackTime * context.sampleRate);
    for (const entry of buffer.render(event.outputBuffer.getChannelData(0), frame)) report(entry);
  };
  return { node, thread: 'main', send: command => buffer.handle(command) };
}
