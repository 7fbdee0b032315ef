/**
 * Choosing a voice: by name, by seed, or by luck; drawn voices are kept to go back to.
 *
 * @module voices
 */

import { say } from './i18n.js';
import { recall, remember } from './store.js';

/** @import { Model, VoiceInUse } from './protocol.js' */

export const TOP_SEED = 4294967295;
const KEPT = 12;

/** @typedef {{kind: 'model'} | {kind: 'name', name: string} | {kind: 'seed', seed: number}} Choice */

export class Voices {
  /** @type {Choice} */
  #choice = recall('voice', /** @type {Choice} */ ({ kind: 'model' }));
  /** @type {number[]} newest first */
  #drawn = recall('drawn', /** @type {number[]} */ ([])).filter(isSeed);
  /** @type {Model | null} */
  #model = null;

  /**
   * @param {{names: HTMLElement, draw: HTMLElement, seed: HTMLInputElement, button: HTMLButtonElement, history: HTMLElement}} parts
   * @param {(message: string) => void} complain
   */
  constructor(parts, complain) {
    this.parts = parts;
    parts.button.addEventListener('click', () => this.draw());
    parts.seed.addEventListener('change', () => {
      const seed = readSeed(parts.seed.value, TOP_SEED);
      parts.seed.setAttribute('aria-invalid', String(seed === undefined));
      if (seed === undefined) complain(say('seedWrong'));
      else if (seed === null) this.#choose(this.#fallback());
      else this.#chooseSeed(seed);
    });
  }

  /** What to send as `voice`; undefined is the server's default. @returns {number | string | undefined} */
  get value() {
    if (this.#choice.kind === 'seed') return this.#choice.seed;
    return this.#choice.kind === 'name' ? this.#choice.name : undefined;
  }

  /** A voice nobody has heard. */
  draw() {
    this.#chooseSeed(crypto.getRandomValues(new Uint32Array(1))[0]);
  }

  /** @param {Model} model */
  offer(model) {
    this.#model = model;
    const { kind } = this.#choice;
    const gone = kind === 'name' ? !model.voices.includes(this.#choice.name) : kind === 'seed' ? !model.draw : model.voices.length > 0;
    if (gone || !['model', 'name', 'seed'].includes(kind)) this.#choice = this.#fallback();
    this.render();
  }

  /** The default voice as a choice that can be shown. @returns {Choice} */
  #fallback() {
    const inUse = /** @type {VoiceInUse | undefined} */ (this.#model?.default_voice);
    if (inUse?.kind === 'name' && this.#model?.voices.includes(inUse.name)) return { kind: 'name', name: inUse.name };
    return { kind: 'model' };
  }

  /** @param {number} seed */
  #chooseSeed(seed) {
    this.#drawn = [seed, ...this.#drawn.filter(other => other !== seed)].slice(0, KEPT);
    remember('drawn', this.#drawn);
    this.#choose({ kind: 'seed', seed });
  }

  /** @param {Choice} choice */
  #choose(choice) {
    this.#choice = choice;
    remember('voice', choice);
    this.render();
  }

  render() {
    const { names, draw, seed, history } = this.parts;
    const model = this.#model;
    const choice = this.#choice;
    const focused = document.activeElement?.getAttribute('data-voice');
    const named = (model?.voices ?? []).map(name =>
      chip(name, name, choice.kind === 'name' && choice.name === name, () => this.#choose({ kind: 'name', name })));
    // The server's default may be none of the names: then it is a choice of its own.
    if (model && this.#fallback().kind === 'model') {
      named.unshift(chip('', say('ownVoice'), choice.kind === 'model', () => this.#choose({ kind: 'model' })));
    }
    names.replaceChildren(...named);
    draw.hidden = model !== null && !model.draw;
    seed.value = choice.kind === 'seed' ? String(choice.seed) : '';
    seed.setAttribute('aria-invalid', 'false');
    history.replaceChildren(...this.#drawn.map(drawn =>
      chip(String(drawn), String(drawn), choice.kind === 'seed' && choice.seed === drawn, () => this.#choose({ kind: 'seed', seed: drawn }))));
    if (focused !== null && focused !== undefined) {
      /** @type {HTMLElement | null} */ (document.querySelector(`[data-voice="${CSS.escape(focused)}"]`))?.focus();
    }
  }
}

/** @param {unknown} value */
function isSeed(value) {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= TOP_SEED;
}

/**
 * @param {string} text
 * @param {number} most
 * @returns {number | null | undefined} null when empty, undefined when it is no whole number from 0 to `most`
 */
export function readSeed(text, most) {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return /^\d+$/.test(trimmed) && Number(trimmed) <= most ? Number(trimmed) : undefined;
}

/**
 * @param {string} key
 * @param {string} label
 * @param {boolean} pressed
 * @param {() => void} choose
 */
function chip(key, label, pressed, choose) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'chip';
  button.dataset.voice = key;
  button.setAttribute('aria-pressed', String(pressed));
  button.append(sigil(key), label);
  button.addEventListener('click', choose);
  return button;
}

/**
 * A small drawing that is the same for the same voice, and unlike that of its neighbours: a face for a number.
 * @param {string} key
 */
function sigil(key) {
  const SVG = 'http://www.w3.org/2000/svg';
  let hash = 2166136261;
  for (const unit of `voice ${key}`) hash = Math.imul(hash ^ unit.charCodeAt(0), 16777619);
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 26 18');
  svg.setAttribute('aria-hidden', 'true');
  for (let i = 0; i < 6; i++) {
    hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
    const height = 4 + ((hash >>> 8) % 1000) / 1000 * 14;
    const bar = document.createElementNS(SVG, 'rect');
    const at = { x: 0.5 + i * 4.4, y: 9 - height / 2, width: 3, height, rx: 1.5, fill: `hsl(${(hash >>> 4) % 360} 58% 56%)` };
    for (const [name, value] of Object.entries(at)) bar.setAttribute(name, String(value));
    svg.append(bar);
  }
  return svg;
}
