/**
 * The advanced drawer: what an utterance is started with besides its text and voice.
 *
 * @module settings
 */

import { say } from './i18n.js';
import { recall, remember } from './store.js';
import { readSeed } from './voices.js';

/** @import { Format, Sampling, Started } from './protocol.js' */

/** @typedef {{temperature: number | null, speed: number, seed: string, format: string, pace: string}} Values */

/** @type {Values} */
const DEFAULTS = { temperature: null, speed: 1, seed: '', format: 'opus-32', pace: 'realtime' };
const TOP_SEED = Number.MAX_SAFE_INTEGER;

export class Settings {
  /** @type {Values} */
  #values = { ...DEFAULTS, ...recall('settings', DEFAULTS) };
  /** @type {number | null} */
  #lastSeed = null;
  #opus = true;

  /** @param {(id: string) => HTMLElement} part finds an element of the page */
  constructor(part) {
    const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (part(id));
    this.parts = {
      temperature: input('s-temperature'), speed: input('s-speed'), seed: input('s-seed'), format: input('s-format'), pace: input('s-pace'),
      temperatureOut: part('o-temperature'), speedOut: part('o-speed'), hint: part('format-hint'), summary: part('drawer-now'),
      keep: /** @type {HTMLButtonElement} */ (part('keep')),
    };
    const { temperature, speed, seed, format, pace, keep } = this.parts;
    temperature.addEventListener('input', () => this.#set({ temperature: Number(temperature.value) }));
    speed.addEventListener('input', () => this.#set({ speed: Number(speed.value) }));
    seed.addEventListener('input', () => this.#set({ seed: seed.value }));
    format.addEventListener('change', () => this.#set({ format: format.value }));
    pace.addEventListener('change', () => this.#set({ pace: pace.value }));
    keep.addEventListener('click', () => this.#set({ seed: String(this.#lastSeed ?? '') }));
    part('reset').addEventListener('click', () => this.#set({ ...DEFAULTS }));
    this.render();
  }

  /**
   * Options for `start`.
   * @returns {{seed?: number, sampling?: Sampling, speed?: number, pace: 'realtime' | 'fast', format: Format} | null}
   *   null when the seed cannot be read
   */
  options() {
    const { temperature, speed, seed, pace } = this.#values;
    const number = readSeed(seed, TOP_SEED);
    if (number === undefined) return null;
    return {
      ...(number === null ? {} : { seed: number }),
      ...(temperature === null ? {} : { sampling: { temperature } }),
      ...(speed === 1 ? {} : { speed }),
      pace: pace === 'fast' ? 'fast' : 'realtime',
      format: this.#format(),
    };
  }

  /** Whether this browser decodes Opus; if not, PCM is asked for whatever is chosen. @param {boolean} opus */
  set opus(opus) {
    this.#opus = opus;
    this.render();
  }

  /** Shows what the server used where nothing was chosen. @param {Started} started */
  used(started) {
    this.#lastSeed = started.seed;
    const { temperature } = started.sampling;
    if (this.#values.temperature === null && temperature !== undefined) this.parts.temperature.value = String(temperature);
    this.render();
  }

  /** @returns {Format} */
  #format() {
    const [codec, figure] = this.#values.format.split('-');
    if (codec === 'opus' && this.#opus) return { codec, bitrate: Number(figure) * 1000 };
    const rate = codec === 'pcm' ? Number(figure) : 24000;
    return { codec: 'pcm_s16le', sample_rate: rate === 8000 || rate === 16000 ? rate : 24000 };
  }

  /** @param {Partial<Values>} change */
  #set(change) {
    this.#values = { ...this.#values, ...change };
    remember('settings', this.#values);
    this.render();
  }

  render() {
    const values = this.#values;
    const parts = this.parts;
    const percent = (/** @type {number} */ x) => x.toFixed(2);
    if (values.temperature !== null) parts.temperature.value = String(values.temperature);
    parts.temperatureOut.textContent = values.temperature === null ? say('modelDefault') : percent(values.temperature);
    parts.speed.value = String(values.speed);
    parts.speedOut.textContent = `${percent(values.speed)} ×`;
    if (parts.seed.value !== values.seed) parts.seed.value = values.seed;
    parts.seed.setAttribute('aria-invalid', String(readSeed(values.seed, TOP_SEED) === undefined));
    parts.format.value = values.format;
    parts.pace.value = values.pace;
    parts.keep.disabled = this.#lastSeed === null;
    parts.keep.title = this.#lastSeed === null ? '' : String(this.#lastSeed);
    const forced = !this.#opus && values.format.startsWith('opus');
    parts.hint.textContent = say(forced ? 'formatNoOpus' : 'formatHint');
    const format = this.#format();
    parts.summary.textContent = format.codec === 'opus' ? `Opus ${(format.bitrate ?? 0) / 1000} kbit/s` : `PCM ${(format.sample_rate ?? 0) / 1000} kHz`;
  }
}
