/**
 * The jitter buffer: decoded audio in, an unbroken stream of samples out. Pure; runs in the audio worklet, on the main
 * thread where there is no worklet, and in tests.
 *
 * One voice at a time: `begin` cuts what was speaking. Playback starts when `startMs` are there (or the whole text is,
 * if shorter), and when it runs dry before the end, it waits for more, counts a gap, and asks for a longer start from
 * then on.
 *
 * @module jitter
 */

/**
 * @typedef {{type: 'begin', key: number}
 *   | {type: 'push', key: number, samples: Float32Array}
 *   | {type: 'total', key: number, total: number}
 *   | {type: 'end', key: number}
 *   | {type: 'flush'}} Command
 *   `total`: frames to be played in all, what comes beyond is dropped; `end`: no more samples follow.
 *
 * @typedef {{type: 'first', key: number, frame: number}
 *   | {type: 'position', key: number, frame: number, played: number, buffered: number}
 *   | {type: 'starved', key: number, frame: number, played: number}
 *   | {type: 'gap', key: number, frame: number, played: number, length: number}
 *   | {type: 'ended', key: number, frame: number, played: number}} Report
 *   `frame` is on the audio clock; `played` counts frames of this utterance; all at the buffer's sample rate.
 *
 * @typedef {object} JitterOptions
 * @property {number} [startMs] buffered before the first sound, 60 by default
 * @property {number} [mostStartMs] the same after gaps, 400 by default
 * @property {number} [fadeMs] ramps at cuts, 4 by default
 * @property {number} [reportMs] between position reports, 40 by default
 */

export class JitterBuffer {
  /** @type {Float32Array[]} */
  #queue = [];
  #offset = 0;
  /** Samples mixed over the output: what fades out after a cut. */
  #tail = new Float32Array(0);
  #tailAt = 0;
  #key = 0;
  /** @type {'idle' | 'filling' | 'playing' | 'starved'} */
  #state = 'idle';
  #noMore = false;
  /** @type {number | null} */
  #total = null;
  #fadeIn = 0;
  #last = 0;
  #gapBegan = 0;
  #gaps = 0;
  #nextReport = 0;
  /** @type {Report[]} */
  #reports = [];

  /** @param {number} sampleRate @param {JitterOptions} [options] */
  constructor(sampleRate, { startMs = 60, mostStartMs = 400, fadeMs = 4, reportMs = 40 } = {}) {
    const frames = (/** @type {number} */ ms) => Math.round((ms * sampleRate) / 1000);
    this.leastStart = frames(startMs);
    this.mostStart = frames(mostStartMs);
    this.fade = Math.max(1, frames(fadeMs));
    this.report = frames(reportMs);
    /** Frames wanted before sound starts or resumes; grows with gaps, shrinks with clean utterances. */
    this.start = this.leastStart;
    /** Frames waiting. */
    this.buffered = 0;
    /** Frames of the current utterance already rendered. */
    this.played = 0;
  }

  /** @param {Command} command */
  handle(command) {
    switch (command.type) {
      case 'begin':
        this.#cut();
        this.#key = command.key;
        this.#state = 'filling';
        break;
      case 'push':
        if (command.key !== this.#key || this.#state === 'idle' || command.samples.length === 0) return;
        this.#queue.push(command.samples);
        this.buffered += command.samples.length;
        break;
      case 'end':
        if (command.key !== this.#key || this.#state === 'idle') return;
        this.#noMore = true;
        break;
      case 'total':
        if (command.key === this.#key) this.#total = command.total;
        break;
      case 'flush':
        this.#cut();
        break;
    }
  }

  /**
   * Fills `out` (all of it) and says what happened.
   * @param {Float32Array} out mono
   * @param {number} frame position of `out[0]` on the audio clock
   * @returns {Report[]}
   */
  render(out, frame) {
    this.#reports = [];
    out.fill(0);
    let at = 0;
    if (this.#ready()) this.#resume(frame);
    if (this.#state === 'playing') at = this.#copy(out);
    const left = this.#left();
    if (this.#state !== 'idle' && left === 0 && this.#noMore) this.#finish(frame + at);
    else if (this.#state === 'playing' && left === 0) this.#starve(frame + at, at);
    if (this.#state === 'playing' && frame >= this.#nextReport) {
      this.#nextReport = frame + this.report;
      this.#reports.push({ type: 'position', key: this.#key, frame: frame + at, played: this.played, buffered: left });
    }
    this.#mixTail(out);
    return this.#reports;
  }

  /** Frames that are here and are to be played. */
  #left() {
    return this.#total === null ? this.buffered : Math.max(0, Math.min(this.buffered, this.#total - this.played));
  }

  #ready() {
    if (this.#state !== 'filling' && this.#state !== 'starved') return false;
    const left = this.#left();
    return left > 0 && (left >= this.start || this.#noMore);
  }

  /** @param {number} frame */
  #resume(frame) {
    if (this.#state === 'filling') {
      this.#reports.push({ type: 'first', key: this.#key, frame });
      this.#nextReport = frame;
    } else {
      const length = frame - this.#gapBegan;
      this.#gaps += 1;
      this.start = Math.min(this.mostStart, Math.round(this.start * 1.6));
      this.#reports.push({ type: 'gap', key: this.#key, frame, played: this.played, length });
      this.#fadeIn = this.fade;
    }
    this.#state = 'playing';
  }

  /** @param {Float32Array} out @returns {number} frames written */
  #copy(out) {
    const want = Math.min(out.length, this.#left());
    let at = 0;
    while (at < want) {
      const chunk = this.#queue[0];
      const n = Math.min(want - at, chunk.length - this.#offset);
      out.set(chunk.subarray(this.#offset, this.#offset + n), at);
      at += n;
      this.#offset += n;
      if (this.#offset === chunk.length) {
        this.#queue.shift();
        this.#offset = 0;
      }
    }
    this.buffered -= want;
    this.played += want;
    for (let i = 0; i < want && this.#fadeIn > 0; i++) out[i] *= 1 - this.#fadeIn-- / this.fade;
    if (want > 0) this.#last = out[want - 1];
    return want;
  }

  /** @param {number} frame @param {number} at where in the block it ran dry */
  #starve(frame, at) {
    this.#state = 'starved';
    this.#gapBegan = frame;
    // From the last sample down to rest: a hard edge would click.
    this.#startTail(i => this.#last * (1 - i / this.fade), this.fade, at);
    this.#reports.push({ type: 'starved', key: this.#key, frame, played: this.played });
  }

  /** @param {number} frame */
  #finish(frame) {
    this.#reports.push({ type: 'ended', key: this.#key, frame, played: this.played });
    if (this.#gaps === 0) this.start = Math.max(this.leastStart, Math.round(this.start * 0.8));
    this.#clear();
  }

  /** Drops everything; what was audible fades within `fade` frames. */
  #cut() {
    if (this.#state === 'playing') {
      const fading = new Float32Array(Math.min(this.fade, this.#left()));
      this.#copy(fading);
      this.#startTail(i => fading[i] * (1 - i / fading.length), fading.length, 0);
    }
    this.#clear();
  }

  #clear() {
    this.#queue = [];
    this.#offset = 0;
    this.#state = 'idle';
    this.#noMore = false;
    this.#total = null;
    this.#fadeIn = 0;
    this.#last = 0;
    this.#gaps = 0;
    this.buffered = 0;
    this.played = 0;
  }

  /** @param {(i: number) => number} value @param {number} length @param {number} delay */
  #startTail(value, length, delay) {
    const tail = new Float32Array(delay + length);
    for (let i = 0; i < length; i++) tail[delay + i] = value(i);
    this.#tail = tail;
    this.#tailAt = 0;
  }

  /** @param {Float32Array} out */
  #mixTail(out) {
    const n = Math.min(out.length, this.#tail.length - this.#tailAt);
    for (let i = 0; i < n; i++) out[i] += this.#tail[this.#tailAt + i];
    this.#tailAt += n;
  }
}
